"""``-`` as a model: read from standard input; keys are then read from the terminal."""

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
#: Signatures of files and their suffixes. The default is binary ONNX.
_FILE_SIGNATURES = (
    (b"SQLite format 3\x00", ".loopdb"),
    (b"<?xml", ".xml"),
    (b"<net", ".xml"),
    (b"{", ".json"),
    (b"<", ".onnxtxt"),
    (b"ir_version", ".textproto"),
)
#: White space and UTF-8 byte order mark before a signature.
_LEADING_BYTES = b"\xef\xbb\xbf \t\r\n"


@contextmanager
def models_from_stdin(options: argparse.Namespace, screen: bool) -> Iterator[None]:
    """Replace ``-`` by a temporary file with the contents of standard input, while the command runs.

    ``screen``: the command needs a terminal.

    Raises:
        UsageError: Standard input is empty or a terminal, several models are ``-``, or there is no terminal.
    """
    arguments = [name for name in _MODEL_ARGUMENTS if getattr(options, name, None) == "-"]
    if not arguments:
        yield
        return
    if len(arguments) > 1:
        raise UsageError("standard input holds one model; name a file for the other")
    if sys.stdin.isatty():
        raise UsageError("- is a model from standard input, which is the terminal: loopdbg run - < model.onnx")
    from ...runtime.atomic_file import scratch_folder

    with scratch_folder() as folder:
        path = str(_spool_stream(sys.stdin.buffer, folder))
        setattr(options, arguments[0], path)
        _reopen_terminal_stdin(screen)
        try:
            yield
        except LoopdbgError as error:  # hide the name of the temporary file
            error.what = error.what.replace(path, "standard input")
            raise


def _spool_stream(stream: BinaryIO, folder: Path) -> Path:
    """Copy a stream to a file with a suffix that matches its contents."""
    from ...runtime.atomic_file import atomic_binary

    raw = folder / "raw"
    with atomic_binary(raw) as file:
        shutil.copyfileobj(stream, file)
    with raw.open("rb") as file:
        head = file.read(256)
    if not head:
        raise UsageError("standard input is empty: loopdbg run - < model.onnx")
    text = head.lstrip(_LEADING_BYTES)
    suffix = next((suffix for signature, suffix in _FILE_SIGNATURES if text.startswith(signature)), ".onnx")
    return raw.rename(folder / f"stdin{suffix}")


def _reopen_terminal_stdin(screen: bool) -> None:
    """Reopen standard input on the terminal, if there is one, as pagers do."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:
        if screen:
            reason = error.strerror or "it is not there"
            raise UsageError(
                f"the debugger needs a terminal to type at, and /dev/tty cannot be opened ({reason}); without one use: "
                "loopdbg run -"
            ) from None
        return
    with contextlib.suppress(OSError):
        os.dup2(terminal, 0)
        os.close(terminal)
