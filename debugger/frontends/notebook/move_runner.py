"""Runs moves of a session in a separate thread, so that the page is served while a loop runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from ....runtime.errors import LoopdbgError, one_line

#: Seconds of synchronous waiting for a move; most end by then and need only one page update.
SYNC_WAIT_SECONDS = 0.25
#: Interval of progress updates of a long move.
_PROGRESS_INTERVAL_SECONDS = 0.1
Move = Callable[[], Any]


class NotebookMoveRunner:
    """Runs one move at a time. ``on_done`` gets the error, or ""; ``on_progress`` is called periodically during a long
    move. Both are called in the caller's thread or its event loop, since only one thread of a kernel may talk to
    pages. ``interrupt`` ends a move soon."""

    def __init__(
        self, on_done: Callable[[str], object], on_progress: Callable[[], object], interrupt: Callable[[], object]
    ) -> None:
        self._on_done, self._on_progress, self._interrupt = on_done, on_progress, interrupt
        #: Set when the last move is finished; None after the page was updated. Threads are not joined: in Python 3.11
        #: a thread with an interrupted join counts as ended.
        self._finished: threading.Event | None = None
        self._error = ""
        self._progress_task: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """True while a move runs."""
        return self._finished is not None and not self._finished.is_set()

    def start(self, move: Move) -> None:
        """Start a move; returns when it is finished, or soon if an event loop can track it."""
        self._error = ""
        finished = self._finished = threading.Event()
        threading.Thread(target=self._run, args=(move, finished), name="loopdbg-notebook-move", daemon=True).start()
        if not self._wait(finished, SYNC_WAIT_SECONDS):
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                while not self._wait(finished, None):
                    pass
            else:
                self._on_progress()
                self._progress_task = loop.create_task(self._poll_progress(finished))
                return
        self._report_done()

    def _wait(self, finished: threading.Event, seconds: float | None) -> bool:
        """Wait for a move; returns whether it is finished. An interrupt of the kernel stops it."""
        try:
            finished.wait(seconds)
        except KeyboardInterrupt:
            self._interrupt()
        return finished.is_set()

    async def _poll_progress(self, finished: threading.Event) -> None:
        while not finished.is_set():
            self._on_progress()
            await asyncio.sleep(_PROGRESS_INTERVAL_SECONDS)
        self._report_done()

    def _report_done(self) -> None:
        self._finished = None
        self._on_done(self._error)

    def _run(self, move: Move, finished: threading.Event) -> None:
        try:
            move()
        except LoopdbgError as error:
            self._error = str(error)
        except Exception as error:  # a page would wait forever for the result
            self._error = f"internal error: {type(error).__name__}: {one_line(error)}"
        finally:
            finished.set()
