"""``-``: a model from standard input."""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from cli_runner import CliResult, run_cli, start_cli, wait_for_exit
from pseudo_terminal import start_command, strip_escapes
from text_models import SAMPLES

NEWTON = SAMPLES / "newton_sqrt.onnx"
INPUTS = ("--input", "a=2", "--input", "tol=1e-6")


def run_piped(data: Path | bytes, *words: object) -> CliResult:
    """Run a command line with bytes on its standard input, and no terminal."""
    with tempfile.TemporaryFile() as file:
        file.write(data.read_bytes() if isinstance(data, Path) else data)
        file.seek(0)
        return wait_for_exit(start_cli(*words, stdin=file, start_new_session=True))


def normalize_output(ran: CliResult) -> str:
    return re.sub(r" in [\d.]+ \w+ \(.*? each\)", "", ran.out)


def test_piped_model_equals_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    of_the_file = run_cli(capsys, "run", NEWTON, *INPUTS)
    ran = run_piped(NEWTON, "run", "-", *INPUTS)
    assert (ran.status, ran.err) == (0, "")
    assert normalize_output(ran).splitlines()[1:] == normalize_output(of_the_file).splitlines()[1:]
    assert normalize_output(ran).startswith("stdin.onnx: 5 iterations of 'sqrt'")


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("lstm.xml", ["run", "-", "--weights", SAMPLES / "lstm.bin"], "stdin.xml: 25 iterations of 'rnn'"),
        ("newton_sqrt.onnx", ["explain", "-"], "Loop 'sqrt' (ONNX Loop, opset 16)"),
        ("newton_sqrt.onnx", ["diff", NEWTON, "-", *INPUTS], "same: newton_sqrt.onnx and stdin.onnx"),
        ("newton_sqrt.onnx", ["run", "-", *INPUTS, "-ex", "step 3", "--batch"], "before iteration 3 of loop 'sqrt'"),
    ],
    ids=["openvino", "explain", "diff", "session"],
)
def test_every_command_accepts_standard_input(name: str, words: Sequence[object], message: str) -> None:
    ran = run_piped(SAMPLES / name, *words)
    assert ran.status == 0, ran.err
    assert message in ran.out


def test_trace_is_detected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "run.loopdb"
    assert run_cli(capsys, "run", NEWTON, *INPUTS, "--record", trace).status == 0
    ran = run_piped(trace, "run", "-", "-ex", "goto 2", "--batch")
    assert ran.status == 0 and "before iteration 2 of loop 'sqrt'" in ran.out


@pytest.mark.parametrize(
    ("data", "words", "message"),
    [
        (b"", ["run", "-"], "standard input is empty: loopdbg run - < model.onnx"),
        (b"no model", ["run", "-"], "standard input: not an ONNX model"),
        (b"<?xml version='1.0'?><html/>", ["run", "-"], "standard input, line 1: not an OpenVINO IR"),
        (b"any", ["diff", "-", "-"], "standard input holds one model; name a file for the other"),
        (b"any", ["-"], "the debugger needs a terminal to type at, and /dev/tty cannot be opened"),
    ],
    ids=["empty", "rubbish", "html", "two", "screen"],
)
def test_invalid_piped_model_is_one_line(data: bytes, words: list[str], message: str) -> None:
    ran = run_piped(data, *words)
    assert ran.status in (1, 2)
    assert message in ran.error_line


def test_no_temporary_files_remain(tmp_path: Path) -> None:
    process = start_cli("run", "-", *INPUTS, stdin=NEWTON.open(), environment={"TMPDIR": str(tmp_path)})
    assert wait_for_exit(process).status == 0
    assert list(tmp_path.iterdir()) == []


def run_in_shell(model: Path, *words: str) -> list[str]:
    """Run a command in a shell on a terminal: the model is on standard input, and keys come from the terminal."""
    command = " ".join(shlex.quote(word) for word in (sys.executable, "-P", "-m", "loopdbg", *words))
    return ["sh", "-c", f"{command} < {shlex.quote(str(model))}"]


def test_screen_reads_keys_from_the_terminal(tmp_path: Path) -> None:
    with start_command(run_in_shell(NEWTON, "-", *INPUTS), tmp_path, rows=36, columns=120) as result:
        result.wait(lambda seen: "q quit" in strip_escapes(seen) and "before iteration 0" in strip_escapes(seen))
        result.press("s")
        result.wait(lambda seen: "before iteration 1" in strip_escapes(seen) or "iteration 1" in strip_escapes(seen))
        result.press("q")
        assert result.wait_until_exit() == 0


def test_console_prompts_at_the_terminal(tmp_path: Path) -> None:
    with start_command(run_in_shell(NEWTON, "run", "-", "-i", *INPUTS), tmp_path) as result:
        result.wait(lambda seen: "(loopdbg) " in strip_escapes(seen))
        result.press("step 2\n")
        result.wait(lambda seen: "before iteration 2" in strip_escapes(seen))
        result.press("quit\n")
        assert result.wait_until_exit() == 0


def test_model_from_a_terminal_is_refused(tmp_path: Path) -> None:
    with start_command([sys.executable, "-P", "-m", "loopdbg", "run", "-"], tmp_path, columns=200) as result:
        assert result.wait_until_exit() == 2
        assert "- is a model from standard input, which is the terminal" in strip_escapes(result.output)
