"""The two streams: writing that survives a closed pipe and a terminal that knows only ASCII."""

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

#: Signs of our own texts, for streams that cannot encode them.
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
    return "".join(_ASCII_SIGNS.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


codecs.register_error("loopdbg", _encode_ascii)


def prepare_streams() -> None:
    """Let both streams write what they cannot encode in plain signs, instead of failing."""
    _colorizers.clear()
    # None: closed before the start.
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="loopdbg")


#: The same for a screen, where every sign has one cell.
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
    # Those of scroll bars.
    **dict(zip("▉▊▋▍▎▏", "##||||", strict=True)),
    # Dots: those of the upper half, of the lower half, of both.
    **{chr(0x2800 + k): " '.:"[bool(k & 0b00011011) + 2 * bool(k & 0b11100100)] for k in range(256)},
}


def _encode_ascii_cells(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_ASCII_CELLS.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


codecs.register_error("loopdbg-screen", _encode_ascii_cells)


def prepare_screen() -> None:
    """Let a screen be drawn on a terminal that knows only some signs.

    Raises:
        LoopdbgError: on this one nothing can be drawn.
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
    """True where the stream can write any character."""
    return (getattr(stream, "encoding", None) or "").lower().startswith("utf")


#: What paints the lines of a stream; nothing does before :func:`enable_colors`.
_colorizers: dict[str, Callable[[str], str]] = {}


def enable_colors() -> None:
    """Paint what comes from now on, on each stream that may have colours.

    Raises:
        UsageError: the config file makes no sense.
    """
    from ..config import color_decision

    for name in ("stdout", "stderr"):
        if color_decision(_is_terminal(getattr(sys, name)))[0]:
            from .ansi_colors import colorize

            _colorizers[name] = colorize


def _colorize(name: str, text: str) -> str:
    painter = _colorizers.get(name)
    return text if painter is None else painter(text)


def out(text: str) -> None:
    """Write one line to stdout; once its reader is gone, to nowhere.

    Here and in :func:`err` and :func:`out_json` names and strings out of files lose what would move the cursor, end the
    line or turn text around: whatever made the line need not think of it.
    """
    _write_stdout(_colorize("stdout", _safe_line(text)))


def out_json(told: Any) -> None:
    """Write a JSON object to stdout. Its strings stay what they are: what a terminal would obey is escaped."""
    text = json.dumps(told, ensure_ascii=not supports_unicode(sys.stdout), allow_nan=False)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    _write_stdout(text.replace("##[", "\\u0023#[") if _is_github_actions() else text)


def _write_stdout(text: str) -> None:
    try:
        print(text, file=sys.stdout)
    except BrokenPipeError:
        _redirect_to_null(sys.stdout)


def err(text: str) -> None:
    """Write one line to stderr; what is wrong there is nothing that could be told."""
    with contextlib.suppress(OSError):
        print(_colorize("stderr", _safe_line(text)), file=sys.stderr, flush=True)


def err_command(text: str) -> None:
    """Write a workflow command of GitHub Actions to stderr; ``text`` is escaped as it asks for."""
    with contextlib.suppress(OSError):
        print(escape_unprintable(text), file=sys.stderr, flush=True)


def _safe_line(text: str) -> str:
    """A text as one line, which a terminal and GitHub Actions print and do not obey."""
    text = escape_unprintable(text)
    if _is_github_actions():
        # Of what is printed in a step GitHub obeys lines that begin with ::, and ##[ anywhere.
        text = re.sub(r"^(\s*:):", r"\1\\x3a", text).replace("##[", r"\x23#[")
    return text


def _is_github_actions() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def flush_stdout() -> int:
    """Write out what is still buffered; returns the exit status 0.

    Raises:
        OSError: stdout cannot be written, for another reason than that its reader is gone.
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
    """Send the rest to nowhere: else the interpreter complains at exit about what it could not write."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def has_terminal() -> bool:
    """Whether a person can read a screen and press keys."""
    return is_served() or (_is_terminal(sys.stdin) and _is_terminal(sys.stdout))


def is_served() -> bool:
    """Whether the screen is in a browser, which shows one app only."""
    return "WebDriver" in os.environ.get("TEXTUAL_DRIVER", "")


def _is_terminal(stream: object) -> bool:
    return bool(stream is not None and getattr(stream, "isatty", lambda: False)())
