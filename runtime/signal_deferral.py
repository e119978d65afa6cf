"""Deferral of signals during critical sections."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_DEFERRED_SIGNALS = [
    number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
]


@contextmanager
def defer_signals() -> Iterator[None]:
    """Defer Ctrl-C, SIGTERM and SIGHUP to the end of the block, in the main thread; no-op in other threads.

    Replaces handlers, since the operating system delivers signals blocked in one thread to another.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def record_signal(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    handlers = {number: signal.getsignal(number) for number in _DEFERRED_SIGNALS}
    try:
        for number, handler in handlers.items():
            if handler is not None and handler is not signal.SIG_IGN:
                signal.signal(number, record_signal)
        yield
    finally:
        for number, handler in reversed(handlers.items()):  # SIGINT last: its handler may raise
            if handler is not None and handler is not signal.SIG_IGN:
                signal.signal(number, handler)
        for number in dict.fromkeys(arrived):
            signal.raise_signal(number)
