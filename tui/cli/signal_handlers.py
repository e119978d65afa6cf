"""SIGTERM and SIGHUP: like Ctrl-C they end a command by an exception, so that what it has begun is undone."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ...runtime.errors import TerminationExit

_SIGNALS = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
#: Seconds until a signal that came at a bad moment is sent again, and how long imports are waited for.
_RESEND_SECONDS, _IMPORT_WAIT_MAX_SECONDS = 0.02, 5.0
#: When the signal came that waits for the end of an import.
_waiting_since: float | None = None


@contextmanager
def terminate_on_signals() -> Iterator[None]:
    """Raise :class:`TerminationExit` in the block when SIGTERM or SIGHUP arrives, and end the process by the same
    signal once the block has cleaned up. A second signal does not wait for that; a signal that is ignored
    (nohup) stays so.

    Call it in the main thread; in another one it does nothing.
    """
    try:
        ours = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
        for number in ours:
            signal.signal(number, _raise_terminated)
    except ValueError:  # not the main thread
        yield
        return
    hook = sys.unraisablehook

    def lost(unraisable: Any) -> None:
        """An exception came in a callback of the interpreter (``__del__``, a weak reference), which drops it."""
        if isinstance(unraisable.exc_value, TerminationExit):
            for number in ours:
                signal.signal(number, _raise_terminated)
            _resend_later(unraisable.exc_value.signal_number)
        elif issubclass(unraisable.exc_type, KeyboardInterrupt):
            _resend_later(signal.SIGINT)
        else:
            hook(unraisable)

    sys.unraisablehook = lost
    try:
        yield
    except TerminationExit as terminated:
        _exit_by_signal(terminated.signal_number)
    finally:
        sys.unraisablehook = hook
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _raise_terminated(number: int, frame: FrameType | None) -> None:
    global _waiting_since
    if _is_importing(frame):
        # What is left of a compiled module whose import was broken off can crash the process in the clean-up.
        _waiting_since = _waiting_since or time.monotonic()
        if time.monotonic() - _waiting_since < _IMPORT_WAIT_MAX_SECONDS:
            _resend_later(number)
            return
    for other in _SIGNALS:
        if signal.getsignal(other) is _raise_terminated:
            signal.signal(other, _exit_handler)
    raise TerminationExit(number)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _resend_later(number: int) -> None:
    timer = threading.Timer(_RESEND_SECONDS, os.kill, (os.getpid(), number))
    timer.daemon = True
    timer.start()


def _exit_handler(number: int, frame: FrameType | None) -> None:
    _exit_by_signal(number)


def _exit_by_signal(number: int) -> None:
    """End the process by a signal, which its parent sees."""
    # Nothing is unfinished where the module was not needed, and --help does not wait for its import.
    files = sys.modules.get("loopdbg.runtime.atomic_file")
    if files is not None:
        files.discard_unfinished()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
