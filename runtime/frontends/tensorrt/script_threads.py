"""Tracks threads that a script starts: they must not delay program exit or outlive the script."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: How long a thread may continue after the end of the script, in seconds.
_JOIN_TIMEOUT_SECONDS = 2.0


@contextmanager
def track_threads(is_own_file: Callable[[str], bool]) -> Iterator[Callable[[], list[str]]]:
    """Track threads that are started in files of the script (``is_own_file``).

    Yields a function that returns the threads still running after the script: ``model.py:12: thread 'Thread-1'``. They
    are daemons, so that they end with the program.
    """
    started: list[tuple[threading.Thread, str]] = []
    start = threading.Thread.start

    def start_tracked(self: threading.Thread, *args: Any, **kwargs: Any) -> None:
        caller = sys._getframe(1)
        if is_own_file(caller.f_code.co_filename) and not self.daemon:
            self.daemon = True
            started.append((self, f"{Path(caller.f_code.co_filename).name}:{caller.f_lineno}"))
        start(self, *args, **kwargs)

    def running_threads() -> list[str]:
        for thread, _ in started:
            thread.join(_JOIN_TIMEOUT_SECONDS)
        return [f"{location}: thread '{thread.name}'" for thread, location in started if thread.is_alive()]

    threading.Thread.start = start_tracked  # type: ignore[method-assign]
    try:
        yield running_threads
    finally:
        threading.Thread.start = start  # type: ignore[method-assign]
