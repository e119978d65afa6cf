"""Every command of the README runs: the first ones as written in an empty folder, those for the
samples in their folder, the others on samples under the names that README has."""

from __future__ import annotations

import io
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cli_runner import run_cli
from ir_builder import IrNetBuilder
from loopdbg.debugger.lessons.course.catalog import COURSE
from loopdbg.runtime.errors import LimitError, LoopdbgError
from loopdbg.tui.cli import _choose_command
from text_models import SAMPLES

README = Path(__file__).parents[4] / "README.md"
_FENCE = re.compile(r"^```(\w*).*?\n(.*?)^```$", re.S | re.M)
#: Placeholder names in the README, and the samples used for them.
OWN = {
    "MODEL": "newton_sqrt.onnx",
    "M.xml": "kept.xml",
    "XS.npz": "xs.npz",
    "REFERENCE.npz": "reference.npz",
    "FP32.onnx": "fp32.onnx",
    "FP16.onnx": "fp16.onnx",
    "SET": "set",
}
#: Commands that need a user, an editor or an agent; other tests check that they start.
ATTENDED = {"", "serve", "dap", "mcp", "learn"}
#: Expected exit statuses other than 0: here there is nothing to reproduce.
STATUS = {"repro": 8}
#: Of what finds a fault in a sample: a loop that never ends.
FINDINGS = {"fuzz": LimitError.exit_status}


def commands() -> Iterator[list[str]]:
    """The command lines of each of the README's plain blocks, without comments."""
    for language, block in _FENCE.findall(README.read_text(encoding="utf-8")):
        lines = [line for line in block.splitlines() if line.startswith(("loopdbg ", "cd "))]
        if lines and not language:
            yield [re.split(r"\s+#\s", line)[0].strip() for line in lines]


#: What works as it is in any folder, then in the folder of samples, and what takes something of one's own.
FIRST_LINES, SAMPLE_LINES, OWN_LINES = commands()
LINES = [line for line in (*FIRST_LINES, *SAMPLE_LINES, *OWN_LINES) if not line.startswith("cd ")]


def words_of(line: str) -> list[str]:
    return [OWN.get(word, word) for word in shlex.split(line)[1:]]


def test_commands_are_found() -> None:
    assert len(LINES) > 15
    assert {"run", "diff", "convert"} <= {line.split()[1] for line in LINES}
    assert any("--break" in line for line in LINES)
    # Upper-case words in the block for the user's own files are placeholders.
    assert all(word in OWN for line in OWN_LINES for word in shlex.split(line) if word.split(".")[0].isupper())
    assert not any(word in OWN for line in SAMPLE_LINES for word in shlex.split(line))


@pytest.mark.parametrize("line", LINES)
def test_command_is_valid(line: str) -> None:
    command, rest = _choose_command(words_of(line))
    try:
        options = command.parser().parse(rest)
    except LoopdbgError as error:
        pytest.fail(f"{line}: {error}")
    assert options is not None


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The samples under the README's names, with the files that it mentions."""
    for path in SAMPLES.iterdir():
        if path.suffix in (".onnx", ".xml", ".bin", ".npz"):
            shutil.copy(path, tmp_path)
    for name in ("fp32", "fp16"):
        for suffix in (".onnx", ".inputs.npz"):
            shutil.copy(SAMPLES / f"newton_sqrt{suffix}", tmp_path / f"{name}{suffix}")
    (tmp_path / "set").mkdir()
    shutil.copy(SAMPLES / "newton_sqrt.inputs.npz", tmp_path / "set" / "1.npz")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with np.load("newton_sqrt.inputs.npz") as file:
        inputs = dict(file)
    from loopdbg.runtime.model import load

    outputs = load("newton_sqrt.onnx").run(inputs)
    np.savez("reference.npz", x=outputs["xs"])
    write_variable_model(tmp_path)
    return tmp_path


def write_variable_model(folder: Path) -> None:
    """``kept.xml``: an IR with a variable, and three requests to it."""
    net = IrNetBuilder()
    x = net.parameter("2", name="x")
    variable = 'variable_id="sum" variable_type="f32" variable_shape="2"'
    before = net.layer("ReadValue", version="opset6", data=variable, shape="2")
    total = net.layer("Add", [before, x], shape="2")
    net.layer("Assign", [total], version="opset6", data=variable, shape="2")
    net.result(total)
    (folder / "net").mkdir()
    for path in (net.save(folder / "net"), folder / "net" / "model.bin"):
        shutil.copy(path, folder / f"kept{path.suffix}")
    np.savez(folder / "xs.npz", x=np.ones((3, 2), np.float32))


@pytest.mark.parametrize(
    "line", [line for line in OWN_LINES if _choose_command(words_of(line))[0].name not in ATTENDED]
)
def test_command_runs(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = words_of(line)
    ran = run_cli(capsys, *words)
    assert ran.status == STATUS.get(words[0], 0), f"{line}\n{ran.out}{ran.err}"
    assert ran.out or words[0] in STATUS


def test_first_commands_and_sample_commands_run_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    for line in (*FIRST_LINES, *SAMPLE_LINES):
        program, *words = shlex.split(line)
        if program == "cd":
            monkeypatch.chdir(words[0])
            continue
        if _choose_command(words)[0].name in ATTENDED:
            assert Path(words[0]).is_file()
            continue
        ran = run_cli(capsys, *words)
        assert ran.status == FINDINGS.get(words[0], 0), f"{line}\n{ran.out}{ran.err}"
        assert ran.out or "-i" in words, line


def test_lesson_count_matches_the_course() -> None:
    assert {int(number) for number in re.findall(r"(\d+) lessons", README.read_text("utf-8"))} == {
        COURSE.highest_lesson_number
    }
