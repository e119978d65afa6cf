"""``loopdbg samples`` and ``loopdbg demo``: what works in an empty folder after an installation."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from cli_runner import run_cli
from loopdbg.tui.cli.commands.samples import SAMPLES_FOLDER, sample_files
from text_models import SAMPLES


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path) -> dict[str, bytes]:
    """The files of a folder by name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def next_command(out: str) -> list[str]:
    """The arguments of the command that the last line suggests."""
    last = out.splitlines()[-1]
    assert last.startswith("next: loopdbg ")
    return shlex.split(last, comments=True)[2:]


def test_samples_are_models_with_inputs_and_not_what_builds_them() -> None:
    names = {str(path.relative_to(SAMPLES_FOLDER)) for path in sample_files()}
    assert {"newton_sqrt.onnx", "newton_sqrt.inputs.npz", "loop_for.xml", "loop_for.bin"} <= names
    assert {"trt/counted.py", "trt/counted.inputs.npz", "power_iteration.py"} <= names
    assert not names & {"build.py", "onnx_models.py", "README.md"}
    assert not [name for name in names if name.startswith("lessons")]


def test_samples_go_into_the_default_folder(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "samples")
    assert (ran.status, ran.err) == (0, "")
    files = {str(path.relative_to(SAMPLES_FOLDER)): path.read_bytes() for path in sample_files()}
    assert written(Path("sample_models")) == files
    assert ran.out.startswith(f"wrote {len(files)} files into sample_models; the models among them:\n  collatz.onnx ")
    assert "trt/counted.py" in ran.out and "power_iteration.py" not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_the_next_command_names_a_model_in_the_folder(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "samples", "my models/of loops")
    assert ran.status == 0
    assert next_command(ran.out) == ["my models/of loops/newton_sqrt.onnx"]
    assert run_cli(capsys, "run", *next_command(ran.out)).status == 0


def test_changed_files_are_kept_without_force(capsys: pytest.CaptureFixture[str]) -> None:
    run_cli(capsys, "samples", "samples")
    complete = written(Path("samples"))
    changed, missing = Path("samples/counter.onnx"), Path("samples/trt/counted.py")
    changed.write_bytes(b"mine")
    missing.unlink()
    ran = run_cli(capsys, "samples", "samples")
    assert ran.status == 0
    assert ran.out.startswith("wrote 1 file into samples; the models among them:\n  trt/counted.py\nnext: ")
    assert ran.err == "kept, because it was changed: samples/counter.onnx (--force overwrites it)\n"
    assert written(Path("samples")) == {**complete, "counter.onnx": b"mine"}
    ran = run_cli(capsys, "samples", "samples", "--force")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines()[:2] == ["wrote 1 file into samples; the models among them:", "  counter.onnx"]
    assert written(Path("samples")) == complete


def test_nothing_is_written_where_the_samples_are(capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in SAMPLES.rglob("*")}
    ran = run_cli(capsys, "samples", SAMPLES)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("nothing to write: the sample models are already in ")
    assert {path: path.stat().st_mtime_ns for path in SAMPLES.rglob("*")} == before


def test_a_file_is_no_folder(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").touch()
    ran = run_cli(capsys, "samples", "file")
    assert (ran.status, ran.error_line) == (2, "'file' is no folder; name another one")
    ran = run_cli(capsys, "samples", "file/inside")
    assert (ran.status, ran.error_line) == (2, "cannot create 'file/inside': Not a directory; name another folder")


def test_a_demo_finds_the_bug_and_writes_nothing(capsys: pytest.CaptureFixture[str], empty_folder: Path) -> None:
    ran = run_cli(capsys, "demo")
    assert ran.status == 0
    assert "Div 'Div_1' gave NaN or Inf in iteration 137" in ran.out
    assert not list(empty_folder.iterdir())
    command = ran.out.splitlines()[0]
    assert command.startswith("$ loopdbg run vanishing_scale.onnx ")
    assert next_command(ran.out) == ["samples"]
    # What it shows it runs is a command of the folder that the next one writes.
    assert run_cli(capsys, *next_command(ran.out)).status == 0
    words = shlex.split(command)[2:]
    again = run_cli(capsys, words[0], f"sample_models/{words[1]}", *words[2:])
    assert again.out.splitlines() == ran.out.splitlines()[1:-1]
