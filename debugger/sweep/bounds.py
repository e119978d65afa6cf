"""How much time and memory a case may take.

The memory is what the process has more than when the case began: what a loop collects, whoever holds it.
"""

from __future__ import annotations

import os
import resource
import sys
import time

from ...runtime.text import size_text
from .outcome import Outcome
from .row import Status

_PAGE = os.sysconf("SC_PAGE_SIZE")
_STATM = "/proc/self/statm"


def memory_now() -> int:
    """The bytes of memory that this process has; where the system does not tell, the most that it ever had."""
    try:
        with open(_STATM, "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class Bounds:
    """Seconds and bytes of one case, None: without a limit; looked at now and then while it runs. ``passed``: what it
    took too much of, if anything: :attr:`Status.TIMEOUT` or :attr:`Status.LIMIT`."""

    def __init__(self, seconds: float | None, nbytes: int | None) -> None:
        self._seconds = seconds
        self._bytes = nbytes
        self.begin()

    def begin(self) -> None:
        """Another case begins."""
        #: When it was first looked at, a few milliseconds after the case began, and the memory then; 0: not yet.
        self.start = 0.0
        self._memory = 0
        self.passed: Status | None = None

    def look(self) -> float:
        """See how far it is; returns the time."""
        now = time.monotonic()
        if not self.start:
            self.start = now
            self._memory = memory_now() if self._bytes is not None else 0
        if self._seconds is not None and now - self.start >= self._seconds:
            self.passed = Status.TIMEOUT
        elif self._bytes is not None and memory_now() - self._memory >= self._bytes:
            self.passed = Status.LIMIT
        return now

    def outcome(self, loops: int, where: str) -> Outcome:
        """What becomes of a case that was stopped. How far it came depends on the machine, and is not told.

        Raises:
            KeyboardInterrupt: it passed no bound, so it was Ctrl-C.
        """
        if self.passed is None:
            raise KeyboardInterrupt
        if self.passed is Status.LIMIT:
            told = f"took more than {size_text(self._bytes or 0)} of memory without ending, {where}"
            return Outcome(Status.LIMIT, [(None, "limit")] * loops, message=told)
        return Outcome(Status.TIMEOUT, [(None, None)] * loops, message=f"no end within {self._seconds:g} s, {where}")
