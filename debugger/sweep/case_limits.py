"""Time and memory limits of a case.

Memory is the growth of the process since the case began, including all that its loops collect.
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
    """Return the resident memory of this process in bytes; if the system does not report it, the peak memory."""
    try:
        with open(_STATM_PATH, "rb") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class CaseLimits:
    """Seconds and bytes of one case, None: no limit; checked periodically while it runs. ``exceeded``: the exceeded
    limit, if any: :attr:`Status.TIMEOUT` or :attr:`Status.LIMIT`."""

    def __init__(self, seconds: float | None, nbytes: int | None) -> None:
        self._max_seconds = seconds
        self._max_bytes = nbytes
        self.begin()

    def begin(self) -> None:
        """Begin another case."""
        #: Time of the first check, a few milliseconds after the case began, and the memory then; 0: not yet.
        self.started_at = 0.0
        self._start_bytes = 0
        self.exceeded: Status | None = None

    def check(self) -> None:
        """Check the limits."""
        time_ = time.monotonic()
        if not self.started_at:
            self.started_at = time_
            self._start_bytes = resident_bytes() if self._max_bytes is not None else 0
        if self._max_seconds is not None and time_ - self.started_at >= self._max_seconds:
            self.exceeded = Status.TIMEOUT
        elif self._max_bytes is not None and resident_bytes() - self._start_bytes >= self._max_bytes:
            self.exceeded = Status.LIMIT

    def outcome(self, loops: int, location: str) -> CaseOutcome:
        """Return the outcome of a stopped case. Its progress depends on the machine, and is not reported.

        Raises:
            KeyboardInterrupt: no limit was exceeded, so it was Ctrl-C.
        """
        if self.exceeded is None:
            raise KeyboardInterrupt
        if self.exceeded is Status.LIMIT:
            message = f"took more than {size_text(self._max_bytes or 0)} of memory without ending, {location}"
            return CaseOutcome(Status.LIMIT, [(None, "limit")] * loops, message=message)
        return CaseOutcome(
            Status.TIMEOUT, [(None, None)] * loops, message=f"no end within {self._max_seconds:g} s, {location}"
        )
