"""In a real terminal: ^z suspends to the shell, and fg restores the whole screen; m returns the mouse to the terminal
for good."""

from __future__ import annotations

import ctypes
import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path

import pytest

from pseudo_terminal import (
    ENTER_ALTERNATE_SCREEN,
    LEAVE_ALTERNATE_SCREEN,
    PseudoTerminal,
    open_loopdbg,
    start_command,
    strip_escapes,
)
from text_models import SAMPLES

_ROWS = 24
_MOUSE_ON, _MOUSE_OFF = "\x1b[?1000h", "\x1b[?1000l"
_MOVE = re.compile(r"\x1b\[(\d+);\d+H")
#: The rows of a complete redraw; the cursor is already in the first one.
_ALL = set(range(2, _ROWS + 1))


def _rows(seen: str) -> set[int]:
    """The rows that were written to."""
    return {int(row) for row in _MOVE.findall(seen)}


@contextmanager
def debugger(settings: Path) -> Iterator[PseudoTerminal]:
    """The debugger on a sample, once its first stop is on the screen."""
    with open_loopdbg(settings, str(SAMPLES / "newton_sqrt.onnx"), rows=_ROWS) as result:
        result.wait(lambda seen: "q quit" in strip_escapes(seen) and "before iteration 0" in strip_escapes(seen))
        result.wait_until_quiet()
        yield result


def at_its_inputs(folder: Path) -> tuple[str, ...]:
    """A model that asks for its inputs, without the input files next to it."""
    for suffix in (".xml", ".bin"):
        (folder / f"lstm{suffix}").write_bytes((SAMPLES / f"lstm{suffix}").read_bytes())
    return (str(folder / "lstm.xml"),)


def suspend_and_resume(terminal: PseudoTerminal, *wanted: str, rows: Set[int] = frozenset()) -> str:
    """Suspend to a shell and resume; returns the output after the resume, once all expected texts and rows were
    written."""
    terminal.press("\x1a")
    assert terminal.wait_until_stopped()
    assert LEAVE_ALTERNATE_SCREEN in terminal.output, "the shell has its own screen"
    terminal.resume()
    return terminal.wait(
        lambda seen: (
            ENTER_ALTERNATE_SCREEN in seen
            and all(item in strip_escapes(seen) for item in wanted)
            and _rows(seen) >= rows
        )
    )


def test_resume_redraws_the_whole_screen(tmp_path: Path) -> None:
    with debugger(tmp_path) as result:
        result.press("s")
        result.wait(lambda seen: "before iteration 1" in strip_escapes(seen))
        whole = ("newton_sqrt.onnx", "[Source]", "1 Source", "half = x * 0.5", "2 Back edges", "3 Condition", "q quit")
        suspend_and_resume(result, *whole, rows=_ALL)
        # Keys are handled again.
        result.press("s")
        result.wait(lambda seen: "before iteration 2" in strip_escapes(seen))
        result.press("q")
        assert result.wait_until_exit() == 0


def test_resume_leaves_the_mouse_to_the_terminal(tmp_path: Path) -> None:
    with debugger(tmp_path) as result:
        result.press("m")
        seen = result.wait(lambda seen: "m takes it back" in strip_escapes(seen))
        assert _MOUSE_OFF in seen
        assert _MOUSE_ON not in suspend_and_resume(result, "q quit")
        result.press("m")
        seen = result.wait(lambda seen: "the mouse is loopdbg's" in strip_escapes(seen))
        assert _MOUSE_ON in seen
        result.press("q")
        assert result.wait_until_exit() == 0


@pytest.mark.parametrize(
    ("model", "head", "foot"),
    [(False, "open a model", "esc leave"), (True, "needs inputs", "esc quit")],
)
def test_suspend_works_before_the_debugger(tmp_path: Path, model: bool, head: str, foot: str) -> None:
    with open_loopdbg(tmp_path, *(at_its_inputs(tmp_path) if model else ())) as result:
        result.wait(lambda seen: head in strip_escapes(seen) and foot in strip_escapes(seen))
        result.wait_until_quiet()
        suspend_and_resume(result, head, foot)
        result.press("\x1b")
        assert result.wait_until_exit() in (0, 130)


@pytest.mark.skipif(sys.platform != "linux", reason="a signal for one thread of another process")
def test_signal_taken_by_another_thread_is_handled(tmp_path: Path) -> None:
    """Nothing else wakes the event loop there: no cursor blinks."""
    send = getattr(ctypes.CDLL(None), "tgkill", None)
    if send is None:
        pytest.skip("a C library without tgkill")
    with open_loopdbg(tmp_path, *at_its_inputs(tmp_path)) as result:
        result.wait(lambda seen: "needs inputs" in strip_escapes(seen) and "esc quit" in strip_escapes(seen))
        result.wait_until_quiet()
        others = {int(name) for name in os.listdir(f"/proc/{result.pid}/task")} - {result.pid}
        assert send(result.pid, max(others), signal.SIGCONT) == 0
        result.wait(lambda seen: ENTER_ALTERNATE_SCREEN in seen)


@pytest.mark.parametrize(("asks", "number"), [(True, signal.SIGTERM), (False, signal.SIGTERM), (False, signal.SIGHUP)])
def test_external_termination_restores_the_terminal(tmp_path: Path, asks: bool, number: signal.Signals) -> None:
    arguments = at_its_inputs(tmp_path) if asks else (str(SAMPLES / "newton_sqrt.onnx"),)
    with open_loopdbg(tmp_path, *arguments) as result:
        result.wait(lambda seen: ("needs inputs" if asks else "before iteration 0") in strip_escapes(seen))
        result.wait_until_quiet()
        os.kill(result.pid, number)
        assert result.wait_until_exit() == -number
        assert LEAVE_ALTERNATE_SCREEN in result.output
        assert "Traceback" not in result.output


def test_closed_terminal_leaves_no_files(tmp_path: Path) -> None:
    """A model from standard input is kept in TMPDIR during the session."""
    settings, scratch = tmp_path / "settings", tmp_path / "scratch"
    scratch.mkdir()
    command = f"exec {shlex.quote(sys.executable)} -m loopdbg - --input a=2 --input tol=1e-6 < newton_sqrt.onnx"
    with start_command(
        ["sh", "-c", f"cd {SAMPLES} && {command}"], settings, environment={"TMPDIR": str(scratch)}
    ) as result:
        result.wait(lambda seen: "before iteration 0" in strip_escapes(seen))
        assert os.listdir(scratch) != []
        result.hang_up()
        assert result.wait_until_exit() in (-signal.SIGHUP, 128 + signal.SIGHUP), (
            "the latter where Textual waits for ever"
        )
    assert os.listdir(scratch) == []
