"""SIGTERM and SIGHUP raise an exception, as Ctrl-C does, so that a command can clean up."""

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
#: Seconds until a deferred signal is sent again, and the longest wait for an import.
_RESEND_SECONDS, _IMPORT_WAIT_MAX_SECONDS = 0.02, 5.0
#: Arrival time of a signal deferred until the end of an import.
_waiting_since: float | None = None


@contextmanager
def terminate_on_signals() -> Iterator[None]:
    """Raise :class:`TerminationExit` in the block when SIGTERM or SIGHUP arrives, and end the process by the same
    signal after the block has cleaned up. A second signal ends the process at once; ignored signals (nohup) stay
    ignored.

    No-op outside the main thread.
    """
    try:
        handled = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
        for number in handled:
            signal.signal(number, _raise_terminated)
    except ValueError:  # not the main thread
        yield
        return
    previous_hook = sys.unraisablehook

    def handle_unraisable(unraisable: Any) -> None:
        """Send a signal again whose exception was dropped in ``__del__`` or a weak reference callback."""
        if isinstance(unraisable.exc_value, TerminationExit):
            for number in handled:
                signal.signal(number, _raise_terminated)
            _resend_signal_later(unraisable.exc_value.signal_number)
        elif issubclass(unraisable.exc_type, KeyboardInterrupt):
            _resend_signal_later(signal.SIGINT)
        else:
            previous_hook(unraisable)

    sys.unraisablehook = handle_unraisable
    try:
        yield
    except TerminationExit as error:
        _exit_by_signal(error.signal_number)
    finally:
        sys.unraisablehook = previous_hook
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _raise_terminated(number: int, frame: FrameType | None) -> None:
    global _waiting_since
    if _is_importing(frame):
        # A compiled module whose import was interrupted can crash the process during clean-up.
        _waiting_since = _waiting_since or time.monotonic()
        if time.monotonic() - _waiting_since < _IMPORT_WAIT_MAX_SECONDS:
            _resend_signal_later(number)
            return
    for signal_number in _SIGNALS:
        if signal.getsignal(signal_number) is _raise_terminated:
            signal.signal(signal_number, _exit_handler)
    raise TerminationExit(number)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _resend_signal_later(number: int) -> None:
    timer = threading.Timer(_RESEND_SECONDS, os.kill, (os.getpid(), number))
    timer.daemon = True
    timer.start()


def _exit_handler(number: int, frame: FrameType | None) -> None:
    _exit_by_signal(number)


def _exit_by_signal(number: int) -> None:
    """End the process by a signal, so that its parent sees it."""
    # Looked up instead of imported: without the module there are no unfinished files.
    files = sys.modules.get("loopdbg.runtime.atomic_file")
    if files is not None:
        files.discard_unfinished()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
