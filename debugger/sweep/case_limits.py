"""How much time and memory a case may take.

The memory is what the process has more than when the case began: what a loop collects, whoever holds it.
"""

from __future__ import annotations

import os
import resource
import sys
import time

from ...runtime.text import size_text
from .outcome import CaseOutcome
from .row import Status

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_STATM_PATH = "/proc/self/statm"


def resident_bytes() -> int:
    """The bytes of memory that this process has; where the system does not tell, the most that it ever had."""
    try:
        with open(_STATM_PATH, "rb") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class CaseLimits:
    """Seconds and bytes of one case, None: without a limit; looked at now and then while it runs. ``passed``: what it
    took too much of, if anything: :attr:`Status.TIMEOUT` or :attr:`Status.LIMIT`."""

    def __init__(self, seconds: float | None, nbytes: int | None) -> None:
        self._max_seconds = seconds
        self._max_bytes = nbytes
        self.begin()

    def begin(self) -> None:
        """Another case begins."""
        #: When it was first looked at, a few milliseconds after the case began, and the memory then; 0: not yet.
        self.started_at = 0.0
        self._start_bytes = 0
        self.exceeded: Status | None = None

    def check(self) -> float:
        """See how far it is; returns the time."""
        now = time.monotonic()
        if not self.started_at:
            self.started_at = now
            self._start_bytes = resident_bytes() if self._max_bytes is not None else 0
        if self._max_seconds is not None and now - self.started_at >= self._max_seconds:
            self.exceeded = Status.TIMEOUT
        elif self._max_bytes is not None and resident_bytes() - self._start_bytes >= self._max_bytes:
            self.exceeded = Status.LIMIT
        return now

    def outcome(self, loops: int, where: str) -> CaseOutcome:
        """What becomes of a case that was stopped. How far it came depends on the machine, and is not told.

        Raises:
            KeyboardInterrupt: it passed no bound, so it was Ctrl-C.
        """
        if self.exceeded is None:
            raise KeyboardInterrupt
        if self.exceeded is Status.LIMIT:
            told = f"took more than {size_text(self._max_bytes or 0)} of memory without ending, {where}"
            return CaseOutcome(Status.LIMIT, [(None, "limit")] * loops, message=told)
        return CaseOutcome(
            Status.TIMEOUT, [(None, None)] * loops, message=f"no end within {self._max_seconds:g} s, {where}"
        )
