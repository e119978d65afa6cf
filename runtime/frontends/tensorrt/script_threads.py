"""Threads that a script starts: none may hold up the end of the program, and none may go on after the script."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: How long a thread may take to come to its end once the script has, seconds.
_JOIN_TIMEOUT_SECONDS = 2.0


@contextmanager
def track_threads(own: Callable[[str], bool]) -> Iterator[Callable[[], list[str]]]:
    """Watch threads that are started in files of a script's own (``own``).

    Yields what tells, once the script is done, which of them still run: ``model.py:12: thread 'Thread-1'``. They are
    daemons then, so that they end with the program.
    """
    started: list[tuple[threading.Thread, str]] = []
    start = threading.Thread.start

    def watch(self: threading.Thread, *given: Any, **named: Any) -> None:
        caller = sys._getframe(1)
        if own(caller.f_code.co_filename) and not self.daemon:
            self.daemon = True
            started.append((self, f"{Path(caller.f_code.co_filename).name}:{caller.f_lineno}"))
        start(self, *given, **named)

    def left() -> list[str]:
        for thread, _ in started:
            thread.join(_JOIN_TIMEOUT_SECONDS)
        return [f"{at}: thread '{thread.name}'" for thread, at in started if thread.is_alive()]

    threading.Thread.start = watch  # type: ignore[method-assign]
    try:
        yield left
    finally:
        threading.Thread.start = start  # type: ignore[method-assign]
