"""Output to stdout and stderr, robust against closed pipes and ASCII-only terminals."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any, TextIO

from ...runtime.errors import LoopdbgError
from ...runtime.text import escape_unprintable

#: ASCII replacements of our symbols, for streams that cannot encode them.
_ASCII_SIGNS = {
    "▸": ">",
    "→": "->",
    "←": "<-",
    "…": "...",
    "±": "+/-",
    "×": "x",
    "·": ".",
    "Δ": "d",
    "✓": "+",
    **dict(zip("▁▂▃▄▅▆▇█", "_..--==#", strict=True)),
}


def _encode_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_ASCII_SIGNS.get(character, "?") for character in error.object[error.start : error.end]), error.end


codecs.register_error("loopdbg", _encode_ascii)


def prepare_streams() -> None:
    """Configure both streams to replace characters that they cannot encode."""
    _colorizers.clear()
    # None: the stream was closed by the parent.
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="loopdbg")


#: The same for a screen, where every replacement has one cell.
_ASCII_CELLS = {
    **{sign: text for sign, text in _ASCII_SIGNS.items() if len(text) == 1},
    **dict.fromkeys("─━╼┄┈╌═", "-"),
    **dict.fromkeys("│┃┊┤├┼", "|"),
    **dict.fromkeys("┌┐└┘╭╮╰╯┬┴", "+"),
    **{
        "▶": ">",
        "▸": ">",
        "◂": "<",
        "▌": "|",
        "●": "*",
        "○": "o",
        "✗": "x",
        "✎": "e",
        "⚑": "!",
        "▼": "v",
        "▲": "^",
        "■": "#",
        "▪": "#",
        "▐": "|",
        "▤": "=",
        "≡": "=",
        "↻": "@",
        "⟳": "@",
        "◆": "*",
        "±": "~",
        "≠": "!",
    },
    **{"⌫": "<", "←": "<", "→": ">", "↑": "^", "↓": "v", "…": ".", "‥": ":", "–": "-", "░": ".", "▒": ":", "▓": "#"},
    # Scroll bars.
    **dict(zip("▉▊▋▍▎▏", "##||||", strict=True)),
    # Braille: dots in the upper half, in the lower half, in both.
    **{chr(0x2800 + k): " '.:"[bool(k & 0b00011011) + 2 * bool(k & 0b11100100)] for k in range(256)},
}


def _encode_ascii_cells(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_ASCII_CELLS.get(character, "?") for character in error.object[error.start : error.end]), error.end


codecs.register_error("loopdbg-screen", _encode_ascii_cells)


def prepare_screen() -> None:
    """Prepare for drawing on a terminal with a limited character set.

    Raises:
        LoopdbgError: The terminal cannot draw a screen.
    """
    if os.environ.get("TERM", "") in ("dumb", "unknown"):
        raise LoopdbgError(
            f"the debugger draws on the whole screen, which TERM={os.environ['TERM']} cannot; set TERM to what the "
            "terminal is, or use: loopdbg run MODEL -ex COMMAND"
        )
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None and hasattr(stream, "reconfigure") and not supports_unicode(stream):
            stream.reconfigure(errors="loopdbg-screen")


def supports_unicode(stream: TextIO) -> bool:
    """Whether the stream can write any character."""
    return (getattr(stream, "encoding", None) or "").lower().startswith("utf")


#: Colorizers by stream; empty before :func:`enable_colors`.
_colorizers: dict[str, Callable[[str], str]] = {}


def enable_colors() -> None:
    """Colour further output on each stream that may have colours.

    Raises:
        UsageError: The config file is invalid.
    """
    from ..config import color_decision

    for name in ("stdout", "stderr"):
        if color_decision(_is_terminal(getattr(sys, name)))[0]:
            from .ansi_colors import colorize

            _colorizers[name] = colorize


def _colorize(name: str, text: str) -> str:
    colorizer = _colorizers.get(name)
    return text if colorizer is None else colorizer(text)


def out(text: str) -> None:
    """Write one line to stdout; no-op after its reader has closed it.

    This function, :func:`err` and :func:`out_json` escape control characters, line ends and bidirectional marks, so
    callers need not.
    """
    _write_stdout(_colorize("stdout", _safe_line(text)))


def out_json(value: Any) -> None:
    """Write a JSON object to stdout; control characters are escaped in JSON."""
    text = json.dumps(value, ensure_ascii=not supports_unicode(sys.stdout), allow_nan=False)
    if not text.isprintable():
        text = "".join(character if character.isprintable() else json.dumps(character)[1:-1] for character in text)
    _write_stdout(text.replace("##[", "\\u0023#[") if _is_github_actions() else text)


def _write_stdout(text: str) -> None:
    try:
        print(text, file=sys.stdout)
    except BrokenPipeError:
        _redirect_to_null(sys.stdout)


def err(text: str) -> None:
    """Write one line to stderr; errors are ignored."""
    with contextlib.suppress(OSError):
        print(_colorize("stderr", _safe_line(text)), file=sys.stderr, flush=True)


def err_workflow_command(text: str) -> None:
    """Write a workflow command of GitHub Actions to stderr; ``text`` is already escaped for it."""
    with contextlib.suppress(OSError):
        print(escape_unprintable(text), file=sys.stderr, flush=True)


def _safe_line(text: str) -> str:
    """A text as one line without terminal control sequences or workflow commands."""
    text = escape_unprintable(text)
    if _is_github_actions():
        # GitHub executes lines that begin with ::, and ##[ anywhere.
        text = re.sub(r"^(\s*:):", r"\1\\x3a", text).replace("##[", r"\x23#[")
    return text


def _is_github_actions() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def flush_stdout() -> int:
    """Flush stdout; returns the exit status 0.

    Raises:
        OSError: Stdout cannot be written, for another reason than a closed pipe.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _redirect_to_null(sys.stdout)
    except OSError:
        _redirect_to_null(sys.stdout)
        raise
    return 0


def _redirect_to_null(stream: TextIO) -> None:
    """Redirect a stream to the null device, so that the interpreter's flush at exit does not fail."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def has_terminal() -> bool:
    """Whether the user has a screen and a keyboard."""
    return is_served_in_browser() or (_is_terminal(sys.stdin) and _is_terminal(sys.stdout))


def is_served_in_browser() -> bool:
    """Whether the screen is in a browser, which shows a single app."""
    return "WebDriver" in os.environ.get("TEXTUAL_DRIVER", "")


def _is_terminal(stream: object) -> bool:
    return bool(stream is not None and getattr(stream, "isatty", lambda: False)())
