"""``loopdbg repro``: what it writes, prints and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import run_cli as command
from loopdbg.tui.cli.progress import StatusLine
from text_models import SAMPLES

MODEL = SAMPLES / "vanishing_scale.onnx"


def test_repro_writes_a_folder_for_a_bug_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "report"
    ran = command(capsys, "repro", MODEL, "--break", "nan", "-o", folder)
    assert ran.status == 0
    lines = ran.out.splitlines()
    assert lines[0] == "Div makes an infinity: 'q'"
    assert lines[1].startswith("9 nodes -> 1 (") and lines[-1] == f"wrote {folder}: the files in it show it again"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    scripts = {"run_onnxruntime.py", "run_openvino.py", "run_torch.py"}
    data = {f"test_data_set_0/{name}.pb" for name in ("input_0", "input_1", "output_0")}
    assert files == {"model.onnx", "README.md", *scripts, *data}
    for name in scripts:
        compile((folder / name).read_text(encoding="utf-8"), name, "exec")
    # The folder is ONNX test data, so that a run compares the outputs.
    assert command(capsys, "run", folder / "model.onnx").status == 0


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        ([MODEL], 2, "repro needs one finding"),
        ([MODEL, MODEL, "--break", "nan"], 2, "repro needs one finding"),
        ([MODEL, "--break", "nan", "--peer-timeout", "3"], 2, "--peer-option and --peer-timeout"),
        ([MODEL, "--break", "nan", "--rtol", "1"], 2, "--break compares none"),
        ([MODEL, "--break", "q >"], 2, "it ends where a value should come"),
        ([MODEL, MODEL], 8, "nothing to reproduce: their outputs are the same"),
        ([SAMPLES / "newton_sqrt.onnx", "--break", "nan"], 8, "nothing to reproduce"),
        ([SAMPLES / "lstm.xml", "--against", "onnxruntime"], 2, "onnxruntime cannot read lstm.xml"),
        (["no_such.onnx", "--break", "nan"], 1, "no such file"),
    ],
)
def test_repro_without_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[object], status: int, text: str
) -> None:
    ran = command(capsys, "repro", *arguments, "-o", tmp_path / "report")
    assert ran.status == status and text in ran.err
    assert "Traceback" not in ran.err and not (tmp_path / "report").exists()


def test_repro_keeps_a_folder_with_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    ran = command(capsys, "repro", MODEL, "--break", "nan", "-o", tmp_path)
    assert ran.status == 2 and "--force writes into it" in ran.err
    assert command(capsys, "repro", MODEL, "--break", "nan", "-o", tmp_path, "--force").status == 0
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_repro_with_few_tests_gives_the_best_so_far(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = command(capsys, "repro", MODEL, "--break", "nan", "-o", tmp_path / "r", "--max-tests", "1")
    assert ran.status == 0 and "(1 test, ended by a limit)" in ran.out


class FakeTerminal:
    """A stream that keeps what is written."""

    def __init__(self, is_present: bool) -> None:
        self.is_present = is_present
        self.text = ""

    def isatty(self) -> bool:
        return self.is_present

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize(("is_present", "message"), [(True, "\rsecond\x1b[K\r\x1b[K"), (False, "")])
def test_progress_line_is_updated_in_place(is_present: bool, message: str) -> None:
    now = [0.0]
    stream = FakeTerminal(is_present)
    with StatusLine(stream, lambda: now[0]) as line:  # type: ignore[arg-type]
        line.say("first")
        now[0] = 1.5
        line.say("second")
        line.say("third")
    assert stream.text == message
