"""Moves of a session beside the connection: the editor is answered while a loop runs, and told where it stops."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from ....runtime.api_boundary import ApiBoundary
from ....runtime.errors import LoopdbgError, one_line
from ...session.session_base import SessionBase
from ...session.stop import Reason, Stop

#: Seconds after which progress is told, and between two tellings of it.
_PROGRESS_DELAY_SECONDS, _PROGRESS_INTERVAL_SECONDS = 1.0, 0.5
Move = Callable[[], Stop]


class DapMoveRunner:
    """Runs one move at a time. ``stopped`` gets what it came to, ``failed`` why it could not be made, ``progress``
    where the loops are now and then while one takes long; all in the thread of the move."""

    def __init__(
        self,
        session: SessionBase,
        stopped: Callable[[Stop], None],
        failed: Callable[[str], None],
        progress: Callable[[str | None], None],
    ) -> None:
        self.session = session
        self._on_stopped, self._on_failed, self._on_progress = stopped, failed, progress
        self._thread: threading.Thread | None = None
        self._pending_changes: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    @property
    def busy(self) -> bool:
        """A move is under way."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, move: Move) -> None:
        """Begin a move; none may be under way."""
        self._thread = threading.Thread(target=self._run, args=(move,), name="loopdbg-dap-move", daemon=True)
        self._thread.start()

    def run_while_paused(self, change: Callable[[], Any]) -> Any:
        """Do something that needs the session to stand still: a loop that runs is held for it, and goes on.

        Raises:
            LoopdbgError: what was to be done failed.
        """
        done = threading.Event()
        outcome: list[Any] = [None, None]

        def carried_out() -> None:
            try:
                with ApiBoundary():
                    outcome[0] = change()
            except LoopdbgError as error:
                outcome[1] = error
            finally:
                done.set()

        with self._lock:
            waiting = self.busy
            if waiting:
                self._pending_changes.append(carried_out)
        if not waiting:
            carried_out()
        while not done.is_set():
            # Once is not enough: the move may not have begun, or be at its end.
            self.session.interrupt()
            done.wait(0.02)
        if outcome[1] is not None:
            raise outcome[1]
        return outcome[0]

    def interrupt_and_wait(self, seconds: float) -> None:
        """Let a move come to its end, interrupted; for the end of a connection."""
        thread = self._thread
        until = time.monotonic() + seconds
        while thread is not None and thread.is_alive() and time.monotonic() < until:
            self.session.interrupt()
            thread.join(0.05)

    def _run(self, move: Move) -> None:
        over = threading.Event()
        teller = threading.Thread(target=self._report_progress, args=(over,), name="loopdbg-dap-progress", daemon=True)
        teller.start()
        stop: Stop | None = None
        error = ""
        try:
            while True:
                stop = move()
                if not (self._apply_pending_changes() and stop.reason is Reason.INTERRUPT):
                    break
                move = self.session.continue_
        except LoopdbgError as problem:
            error = str(problem)
        except Exception as problem:  # an editor that hears nothing waits for good
            error = f"internal error: {type(problem).__name__}: {one_line(problem)}"
        finally:
            over.set()
            teller.join()
            with self._lock:
                self._thread = None
                left, self._pending_changes = self._pending_changes, []
            for change in left:
                change()
        if stop is None:
            self._on_failed(error)
        else:
            self._on_stopped(stop)

    def _apply_pending_changes(self) -> bool:
        with self._lock:
            changes, self._pending_changes = self._pending_changes, []
        for change in changes:
            change()
        return bool(changes)

    def _report_progress(self, over: threading.Event) -> None:
        if over.wait(_PROGRESS_DELAY_SECONDS):
            return
        while not over.wait(_PROGRESS_INTERVAL_SECONDS):
            progress = self.session._internals.progress
            self._on_progress(", ".join(f"{path}: iteration {count}" for path, count in progress.items()) or "running")
        self._on_progress(None)
