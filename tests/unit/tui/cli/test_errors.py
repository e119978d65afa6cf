"""An error is one line on stderr and an exit status, never a traceback."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cli_runner import run_cli, save_text_model
from loopdbg.runtime.errors import InterruptError, LimitError, LoopdbgError, UsageError
from loopdbg.tui.cli import COMMANDS, run_guarded
from text_models import COUNT, SAMPLES

# ------------------------------------------------------------------ usage


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "no model given"),
        (["rnu", "m.onnx"], "'rnu' is neither a command nor a file; did you mean 'run'?"),
        (["inof"], "did you mean 'info'?"),
        (["frobnicate"], "commands are run, info"),
        (["run"], "required: MODEL"),
        (["info"], "required: MODEL"),
        (["run", "m.onnx", "--jsno"], "unknown option '--jsno'; did you mean '--json' or '--junit'?"),
        (["run", "m.onnx", "--max-iteration", "3"], "did you mean '--max-iterations'?"),
        (["run", "m.onnx", "--max"], "unknown option '--max'"),
        (["m.onnx", "--inptus=x.npz"], "unknown option '--inptus=x.npz'; did you mean '--inputs' or '--input'?"),
        (["run", "m.onnx", "n.onnx"], "unexpected argument 'n.onnx'"),
        (["run", "m.onnx", "--max-iterations", "many"], "'many' is no whole number from 1 on"),
        (["run", "m.onnx", "--max-iterations", "0"], "'0' is no whole number from 1 on"),
        (["run", "m.onnx", "--seed"], "--seed: expected one argument"),
        (["--json", "run", "m.onnx"], "the command comes first: loopdbg run --json ..."),
        (["info", "m.onnx", "--seed", "1"], "unknown option '--seed'"),
    ],
)
def test_wrong_usage_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], why: str) -> None:
    ran = run_cli(capsys, *arguments)
    assert ran.status == 2
    assert why in ran.error_line


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["run", "--help"], ["run", "m.onnx", "-h"], ["info", "-h"]])
def test_help_option(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    ran = run_cli(capsys, *arguments)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("usage: loopdbg ")
    assert "exit status:" in ran.out
    assert ran.out.count("\n") < 120


def test_every_option_has_a_help_text() -> None:
    for command in COMMANDS.values():
        for action in command.parser()._actions:
            assert action.help, f"{command.name} {action.dest}"


def test_version_option(capsys: pytest.CaptureFixture[str]) -> None:
    import loopdbg as package

    assert run_cli(capsys, "--version") == (0, f"loopdbg {package.__version__}\n", "")


def test_file_named_like_a_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_text_model(tmp_path, COUNT).rename(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    # Both are opened, and fail here only for lack of a terminal.
    assert "use: loopdbg run ./run" in run_cli(capsys, "./run").error_line
    assert "use: loopdbg run" in run_cli(capsys, save_text_model(tmp_path, COUNT, "model")).error_line


def test_debugger_needs_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, SAMPLES / "lstm.xml")
    assert ran.status == 2
    assert ran.error_line == f"the debugger needs a terminal; without one use: loopdbg run {SAMPLES / 'lstm.xml'}"


def test_mistyped_path_is_reported_before_a_missing_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["nowhere.onnx"], ["run", "nowhere.onnx"], ["info", "nowhere.onnx"]):
        ran = run_cli(capsys, *arguments)
        assert ran.status == 1
        assert ran.error_line.startswith("nowhere.onnx: no such file")


def test_debugger_opens_with_model_and_inputs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = pytest.importorskip("loopdbg.tui.cli.app_launcher")
    seen = []
    monkeypatch.setattr("loopdbg.tui.cli.terminal._is_terminal", lambda stream: True)
    monkeypatch.setattr(app, "run_model_app", lambda *arguments: seen.append(arguments) or 0)
    ran = run_cli(capsys, SAMPLES / "newton_sqrt.onnx", "--input", "a=3", "--max-iterations", 9)
    assert (ran.status, ran.err) == (0, "")
    ((model, inputs, limit, *_),) = seen
    assert model.name == "newton_sqrt.onnx"
    assert inputs.values["a"] == 3
    assert inputs.note == "tol from newton_sqrt.inputs.npz (next to the model); a as given"
    assert limit == 9


# ------------------------------------------------------------------ models


def broken_onnx(folder: Path) -> Path:
    whole = save_text_model(folder, COUNT).read_bytes()
    (folder / "broken.onnx").write_bytes(whole[: len(whole) // 2])
    return folder / "broken.onnx"


def ir(change: Callable[[str], str], keep_bin: bool = True) -> Callable[[Path], Path]:
    """A sample IR with its text changed."""

    def write(folder: Path) -> Path:
        source = SAMPLES / "loop_slice_concat.xml"
        before = source.read_text(encoding="utf-8")
        after = change(before)
        assert after != before or not keep_bin
        (folder / "m.xml").write_text(after)
        if keep_bin:
            shutil.copy(source.with_suffix(".bin"), folder / "m.bin")
        return folder / "m.xml"

    return write


def without_condition(text: str) -> str:
    return re.sub(r'\s*<output external_port_id="-1"[^>]*purpose="execution_condition"[^>]*/>', "", text)


def onnx(text: str) -> Callable[[Path], Path]:
    return lambda folder: save_text_model(folder, text)


CHANGING_SCAN = """g (int64 M) => (float[N] s) {
    one = Constant <value = float[1] {1.0}> ()
    last, s = Loop <body = body (int64 i, bool c, float[N] v) => (bool c_out, float[L] w, float[L] e) {
        c_out = Identity (c)
        w = Concat <axis = 0> (v, v)
        e = Identity (v)
    }> (M, , one)
}"""


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (broken_onnx, "broken.onnx"),
        (ir(lambda text: text[: len(text) // 2]), "m.xml"),
        (ir(lambda text: text, keep_bin=False), "m.bin"),
        (ir(lambda text: re.sub(r'offset="\d+"', 'offset="99999"', text)), "99999"),
        (ir(lambda text: text.replace('external_port_id="3"', 'external_port_id="33"')), "33"),
        (ir(lambda text: text.replace('internal_layer_id="8"', 'internal_layer_id="88"')), "88"),
        (ir(lambda text: text.replace('from-layer="9" to-layer="1"', 'from-layer="9" to-layer="77"')), "77"),
        (ir(without_condition), "condition"),
        (onnx(CHANGING_SCAN), "'s'"),
        (onnx("g (float x) => (float y) { y = Frobnicate (x) }"), "Frobnicate"),
    ],
)
def test_bad_models_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, write: Callable[[Path], Path], why: str
) -> None:
    model = write(tmp_path)
    inputs = ["--input", "M=3"] if model.suffix == ".onnx" and "M" in str(model.read_bytes()) else []
    ran = run_cli(capsys, "run", model, *inputs[: 2 if why == "'s'" else 0])
    assert ran.status == 1
    assert why in ran.error_line


def test_folder_is_not_a_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ran = run_cli(capsys, "run", tmp_path)
    assert ran.status == 1
    assert ran.error_line.startswith(f"{tmp_path}: ")


# ------------------------------------------------------------------ any error


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (LoopdbgError("a\n  b"), 1, "a b"),
        (UsageError("x"), 2, "x"),
        (LimitError("x"), 4, "x"),
        (InterruptError("x"), 130, "x"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError("9 TB"), 1, "out of memory: 9 TB"),
        (PermissionError(13, "Permission denied", "m.onnx"), 1, "Permission denied: 'm.onnx'"),
        (LoopdbgError("\x1b[2J"), 1, "\\x1b[2J"),
        (
            KeyError("x"),
            1,
            "internal error: KeyError: 'x' (LOOPDBG_TRACEBACK=1 shows where; please report it)",
        ),
    ],
)
def test_exit_statuses_of_errors(
    capsys: pytest.CaptureFixture[str], error: BaseException, status: int, line: str
) -> None:
    def fail() -> int:
        raise error

    assert run_guarded(fail) == status
    assert capsys.readouterr().err == f"loopdbg: {line}\n"


def test_closed_pipe_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise BrokenPipeError

    assert run_guarded(fail) == 0
    assert capsys.readouterr().err == ""


def test_traceback_is_shown_on_request(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPDBG_TRACEBACK", "1")
    ran = run_cli(capsys, "run", "nowhere.onnx")
    assert ran.status == 1
    assert ran.err.startswith("Traceback")
    assert ran.err.splitlines()[-1].startswith("loopdbg: nowhere.onnx: no such file")
