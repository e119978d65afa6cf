"""``--timeout``: a run that is not over in time is ended as by Ctrl-C, and where that does not help, without asking."""

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

#: Seconds that an interrupt is given. The first one is answered at the next boundary or node, a second one by a Python
#: function that hangs there; then the process is left.
INTERRUPT_GRACE_SECONDS = 1.0


class OutOfTime(LoopdbgError):
    """A run that was not over in time; its status is the one that ``timeout`` of the system has."""

    exit_status = 124


class TimeLimit:
    """Interrupts what runs inside of it once the time is over. ``last``: called before the process is left for lack of
    an answer, with what is wrong."""

    def __init__(self, seconds: float | None, last: Callable[[str], object] = lambda text: None) -> None:
        self._seconds = seconds
        self._on_abandon = last
        self._timer = None if seconds is None else threading.Timer(seconds, self._interrupt)
        self._lock = threading.Lock()
        self._finished = threading.Event()
        #: The time is over, and what ran was told.
        self.expired = False

    @property
    def message(self) -> str:
        """What is wrong."""
        return f"the run did not end within {self._seconds:g} s (--timeout)"

    def reword_interrupt(self, interrupted: str) -> str:
        """The text of an interrupt, or of this one."""
        return f"{self.message}: {interrupted}" if self.expired else interrupted

    def __enter__(self) -> TimeLimit:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """End of the time limit.

        Raises:
            OutOfTime: an interrupt ends what ran, and it is ours.
        """
        # The interrupt may come just now, when nothing is left to be interrupted.
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
        """Nothing answers: an operator hangs, or something waits for what does not come."""
        text = f"{self.message}, and nothing answered an interrupt"
        with contextlib.suppress(Exception):
            self._on_abandon(text)
        terminal.err(f"loopdbg: {text}")
        with contextlib.suppress(Exception):
            terminal.flush_stdout()
        discard_unfinished()
        os._exit(OutOfTime.exit_status)
