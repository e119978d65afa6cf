"""Moves of a session that a page asks for, in a thread of their own: a page is answered while a loop runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from ....runtime.errors import LoopdbgError, one_line

#: Seconds that a move is waited for; most are over by then, and the page is told once.
PATIENCE = 0.25
#: Seconds between two tellings of how far a long one is.
_EVERY = 0.1
Move = Callable[[], Any]


class Moves:
    """Runs one move at a time. ``done`` gets what went wrong, "" if nothing did; ``going`` is called now and then while
    one takes long. Both are called in the thread that asked, or in its event loop: a kernel has one thread that may
    talk to pages."""

    def __init__(self, done: Callable[[str], object], going: Callable[[], object]) -> None:
        self._done, self._going = done, going
        self._thread: threading.Thread | None = None
        self._error = ""
        self._following: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """A move is under way."""
        return self._thread is not None

    def run(self, move: Move) -> None:
        """Begin a move; returns when it is over, or soon where an event loop can follow it."""
        self._error = ""
        self._thread = threading.Thread(target=self._run, args=(move,), name="loopdbg-notebook-move", daemon=True)
        self._thread.start()
        self._thread.join(PATIENCE)
        try:
            loop = asyncio.get_running_loop() if self._thread.is_alive() else None
        except RuntimeError:
            loop = None
        if loop is not None:
            self._going()
            self._following = loop.create_task(self._follow())
            return
        self._thread.join()
        self._end()

    async def _follow(self) -> None:
        while self._thread is not None and self._thread.is_alive():
            self._going()
            await asyncio.sleep(_EVERY)
        self._end()

    def _end(self) -> None:
        self._thread = None
        self._done(self._error)

    def _run(self, move: Move) -> None:
        try:
            move()
        except LoopdbgError as error:
            self._error = str(error)
        except Exception as error:  # a page that hears nothing waits for good
            self._error = f"internal error: {type(error).__name__}: {one_line(error)}"
