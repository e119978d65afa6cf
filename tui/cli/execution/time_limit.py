"""``--timeout``: interrupts a late run as Ctrl-C does; if that fails, ends the process."""

from __future__ import annotations

import _thread
import contextlib
import os
import threading
from collections.abc import Callable
from types import TracebackType

from ....runtime.atomic_file import discard_unfinished
from ....runtime.errors import InterruptError, LoopdbgError
from .. import terminal

#: Seconds to wait after an interrupt. The first is handled at the next boundary or node, the second by a hanging Python
#: function; then the process is ended.
INTERRUPT_GRACE_SECONDS = 1.0


class OutOfTime(LoopdbgError):
    """A run that exceeded the time limit; its status is that of the ``timeout`` command."""

    exit_status = 124


class TimeLimit:
    """Interrupts its block after the time limit. ``on_abandon``: called with a message before the process is ended
    because an interrupt had no effect."""

    def __init__(self, seconds: float | None, on_abandon: Callable[[str], object] = lambda text: None) -> None:
        self._seconds = seconds
        self._on_abandon = on_abandon
        self._timer = None if seconds is None else threading.Timer(seconds, self._interrupt)
        self._lock = threading.Lock()
        self._finished = threading.Event()
        #: The time limit has expired, and an interrupt was sent.
        self.expired = False

    @property
    def message(self) -> str:
        """The error message."""
        return f"the run did not end within {self._seconds:g} s (--timeout)"

    def reword_interrupt(self, message: str) -> str:
        """The text of an interrupt, with the time limit if that caused it."""
        return f"{self.message}: {message}" if self.expired else message

    def __enter__(self) -> TimeLimit:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the timer.

        Raises:
            OutOfTime: The interrupt of the time limit ended the block.
        """
        # The interrupt may arrive during this clean-up.
        with contextlib.suppress(KeyboardInterrupt):
            self._finished.set()
            if self._timer is not None:
                self._timer.cancel()
            with self._lock:
                pass
        if self.expired and isinstance(error, KeyboardInterrupt | InterruptError):
            raise OutOfTime(self.reword_interrupt(str(error)) if str(error) else self.message) from None

    def _interrupt(self) -> None:
        with self._lock:
            if self._finished.is_set():
                return
            self.expired = True
            _thread.interrupt_main()
        if not self._finished.wait(INTERRUPT_GRACE_SECONDS):
            _thread.interrupt_main()
        if not self._finished.wait(INTERRUPT_GRACE_SECONDS):
            self._abandon_process()

    def _abandon_process(self) -> None:
        """End the process: the run does not respond to interrupts."""
        text = f"{self.message}, and nothing answered an interrupt"
        with contextlib.suppress(Exception):
            self._on_abandon(text)
        terminal.err(f"loopdbg: {text}")
        with contextlib.suppress(Exception):
            terminal.flush_stdout()
        discard_unfinished()
        os._exit(OutOfTime.exit_status)
