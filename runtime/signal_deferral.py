"""Signals that wait until something is done that must not be broken off."""

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
    """Let Ctrl-C, SIGTERM and SIGHUP wait for the end of the block, in the main thread; in others do nothing.

    Signals that the operating system blocks in one thread it hands to another, so the handlers are replaced.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    handlers = {number: signal.getsignal(number) for number in _DEFERRED_SIGNALS}
    try:
        for number, handler in handlers.items():
            if handler is not None and handler is not signal.SIG_IGN:
                signal.signal(number, hold)
        yield
    finally:
        for number, handler in reversed(handlers.items()):  # SIGINT last: its handler may raise
            if handler is not None and handler is not signal.SIG_IGN:
                signal.signal(number, handler)
        for number in dict.fromkeys(arrived):
            signal.raise_signal(number)
