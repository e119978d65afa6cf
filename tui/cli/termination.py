"""SIGTERM and SIGHUP: like Ctrl-C they end a command by an exception, so that what it has begun is undone."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ...runtime.errors import Terminated

_SIGNALS = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]


@contextmanager
def terminated_by_signals() -> Iterator[None]:
    """Raise :class:`Terminated` in the block when SIGTERM or SIGHUP arrives, and end the process by the same signal
    once the block has cleaned up. A second signal does not wait for that; a signal that is ignored (nohup) stays so.

    Call it in the main thread; in another one it does nothing.
    """
    try:
        ours = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
        for number in ours:
            signal.signal(number, _unwind)
    except ValueError:  # not the main thread
        ours = []
    try:
        yield
    except Terminated as terminated:
        _end(terminated.number)
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _unwind(number: int, frame: FrameType | None) -> None:
    for other in _SIGNALS:
        if signal.getsignal(other) is _unwind:
            signal.signal(other, _end_at_once)
    raise Terminated(number)


def _end_at_once(number: int, frame: FrameType | None) -> None:
    _end(number)


def _end(number: int) -> None:
    """End the process by a signal, which its parent sees."""
    # Nothing is unfinished where the module was not needed, and --help does not wait for its import.
    files = sys.modules.get("loopdbg.runtime.atomic_file")
    if files is not None:
        files.discard_unfinished()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
