"""``-`` where a command takes a model: it is read from standard input, and what a person types from the terminal."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ...runtime.errors import LoopdbgError, UsageError

#: Arguments that are models or traces.
_MODEL_ARGUMENTS = ("model", "a", "b", "trace")
#: What files begin with, and the suffix that says the same. Anything else is ONNX in its own form.
_FILE_SIGNATURES = (
    (b"SQLite format 3\x00", ".loopdb"),
    (b"<?xml", ".xml"),
    (b"<net", ".xml"),
    (b"{", ".json"),
    (b"<", ".onnxtxt"),
    (b"ir_version", ".textproto"),
)
#: Spaces before that, and an editor's mark of UTF-8.
_LEADING_BYTES = b"\xef\xbb\xbf \t\r\n"


@contextmanager
def models_from_stdin(options: argparse.Namespace, screen: bool) -> Iterator[None]:
    """Put the file that standard input holds in the place of ``-``, for as long as the command runs.

    ``screen``: what comes next needs a terminal.

    Raises:
        UsageError: there is nothing to read, several models are to be read from it, or there is no terminal.
    """
    given = [name for name in _MODEL_ARGUMENTS if getattr(options, name, None) == "-"]
    if not given:
        yield
        return
    if len(given) > 1:
        raise UsageError("standard input holds one model; name a file for the other")
    if sys.stdin.isatty():
        raise UsageError("- is a model from standard input, which is the terminal: loopdbg run - < model.onnx")
    from ...runtime.atomic_file import scratch_folder

    with scratch_folder() as folder:
        path = str(_spool_stream(sys.stdin.buffer, folder))
        setattr(options, given[0], path)
        _reopen_terminal_stdin(screen)
        try:
            yield
        except LoopdbgError as error:  # nobody knows the file that it was kept in
            error.what = error.what.replace(path, "standard input")
            raise


def _spool_stream(stream: BinaryIO, folder: Path) -> Path:
    """All that comes, as a file with the suffix of what it is."""
    from ...runtime.atomic_file import atomic_binary

    raw = folder / "raw"
    with atomic_binary(raw) as file:
        shutil.copyfileobj(stream, file)
    with raw.open("rb") as file:
        first = file.read(256)
    if not first:
        raise UsageError("standard input is empty: loopdbg run - < model.onnx")
    text = first.lstrip(_LEADING_BYTES)
    suffix = next((suffix for beginning, suffix in _FILE_SIGNATURES if text.startswith(beginning)), ".onnx")
    return raw.rename(folder / f"stdin{suffix}")


def _reopen_terminal_stdin(screen: bool) -> None:
    """Let standard input be the terminal, as pagers do, where there is one."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:
        if screen:
            told = error.strerror or "it is not there"
            raise UsageError(
                f"the debugger needs a terminal to type at, and /dev/tty cannot be opened ({told}); without one use: "
                "loopdbg run -"
            ) from None
        return
    with contextlib.suppress(OSError):
        os.dup2(terminal, 0)
        os.close(terminal)
