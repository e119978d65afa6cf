"""Moves of a session that a page asks for, in a thread of their own: a page is answered while a loop runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from ....runtime.errors import LoopdbgError, one_line

#: Seconds that a move is waited for; most are over by then, and the page is told once.
SYNC_WAIT_SECONDS = 0.25
#: Seconds between two tellings of how far a long one is.
_PROGRESS_INTERVAL_SECONDS = 0.1
Move = Callable[[], Any]


class NotebookMoveRunner:
    """Runs one move at a time. ``done`` gets what went wrong, "" if nothing did; ``going`` is called now and then while
    one takes long. Both are called in the thread that asked, or in its event loop: a kernel has one thread that may
    talk to pages. ``stop`` ends a move soon."""

    def __init__(self, done: Callable[[str], object], going: Callable[[], object], stop: Callable[[], object]) -> None:
        self._on_done, self._on_progress, self._interrupt = done, going, stop
        #: Set where the move that was begun last is over; None where the page knows that. No thread is joined: in
        #: Python 3.11 one whose join is interrupted counts as ended.
        self._finished: threading.Event | None = None
        self._error = ""
        self._progress_task: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """A move is under way."""
        return self._finished is not None and not self._finished.is_set()

    def start(self, move: Move) -> None:
        """Begin a move; returns when it is over, or soon where an event loop can follow it."""
        self._error = ""
        over = self._finished = threading.Event()
        threading.Thread(target=self._run, args=(move, over), name="loopdbg-notebook-move", daemon=True).start()
        if not self._wait(over, SYNC_WAIT_SECONDS):
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                while not self._wait(over, None):
                    pass
            else:
                self._on_progress()
                self._progress_task = loop.create_task(self._poll_progress(over))
                return
        self._report_done()

    def _wait(self, over: threading.Event, seconds: float | None) -> bool:
        """Wait for a move; whether it is over. An interrupt of the kernel stops it."""
        try:
            over.wait(seconds)
        except KeyboardInterrupt:
            self._interrupt()
        return over.is_set()

    async def _poll_progress(self, over: threading.Event) -> None:
        while not over.is_set():
            self._on_progress()
            await asyncio.sleep(_PROGRESS_INTERVAL_SECONDS)
        self._report_done()

    def _report_done(self) -> None:
        self._finished = None
        self._on_done(self._error)

    def _run(self, move: Move, over: threading.Event) -> None:
        try:
            move()
        except LoopdbgError as error:
            self._error = str(error)
        except Exception as error:  # a page that hears nothing waits for good
            self._error = f"internal error: {type(error).__name__}: {one_line(error)}"
        finally:
            over.set()
