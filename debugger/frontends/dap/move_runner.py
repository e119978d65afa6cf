"""Runs moves of a session in a separate thread, so that the editor is served while a loop runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from ....runtime.api_boundary import ApiBoundary
from ....runtime.errors import LoopdbgError, one_line
from ...session.session import Session
from ...session.stop import Reason, Stop

#: Delay of the first progress report, and the interval between reports.
_PROGRESS_DELAY_SECONDS, _PROGRESS_INTERVAL_SECONDS = 1.0, 0.5
Move = Callable[[], Stop]


class DapMoveRunner:
    """Runs one move at a time. ``on_stopped`` gets its stop, ``on_failed`` its error, ``on_progress`` periodic progress
    of a long move; all are called in the thread of the move."""

    def __init__(
        self,
        session: Session,
        on_stopped: Callable[[Stop], None],
        on_failed: Callable[[str], None],
        on_progress: Callable[[str | None], None],
    ) -> None:
        self.session = session
        self._on_stopped, self._on_failed, self._on_progress = on_stopped, on_failed, on_progress
        self._thread: threading.Thread | None = None
        self._pending_changes: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    @property
    def busy(self) -> bool:
        """True while a move runs."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, move: Move) -> None:
        """Start a move; none may be running."""
        self._thread = threading.Thread(target=self._run, args=(move,), name="loopdbg-dap-move", daemon=True)
        self._thread.start()

    def run_while_paused(self, change: Callable[[], Any]) -> Any:
        """Apply a change that needs a stopped session: a running loop is paused for it, and continues.

        Raises:
            LoopdbgError: the change failed.
        """
        done = threading.Event()
        result: list[Any] = [None, None]

        def apply() -> None:
            try:
                with ApiBoundary():
                    result[0] = change()
            except LoopdbgError as error:
                result[1] = error
            finally:
                done.set()

        with self._lock:
            is_busy = self.busy
            if is_busy:
                self._pending_changes.append(apply)
        if not is_busy:
            apply()
        while not done.is_set():
            # Repeat, since the move may not have started yet, or may be ending.
            self.session.interrupt()
            done.wait(0.02)
        if result[1] is not None:
            raise result[1]
        return result[0]

    def interrupt_and_wait(self, seconds: float) -> None:
        """Interrupt a move and wait for it, at the end of a connection."""
        thread = self._thread
        deadline = time.monotonic() + seconds
        while thread is not None and thread.is_alive() and time.monotonic() < deadline:
            self.session.interrupt()
            thread.join(0.05)

    def _run(self, move: Move) -> None:
        done = threading.Event()
        reporter = threading.Thread(
            target=self._report_progress, args=(done,), name="loopdbg-dap-progress", daemon=True
        )
        reporter.start()
        stop: Stop | None = None
        error = ""
        try:
            while True:
                stop = move()
                if not (self._apply_pending_changes() and stop.reason is Reason.INTERRUPT):
                    break
                move = self.session.continue_
        except LoopdbgError as exception:
            error = str(exception)
        except Exception as exception:  # an editor would wait forever for the stop
            error = f"internal error: {type(exception).__name__}: {one_line(exception)}"
        finally:
            done.set()
            reporter.join()
            with self._lock:
                self._thread = None
                changes, self._pending_changes = self._pending_changes, []
            for change in changes:
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

    def _report_progress(self, done: threading.Event) -> None:
        if done.wait(_PROGRESS_DELAY_SECONDS):
            return
        while not done.wait(_PROGRESS_INTERVAL_SECONDS):
            progress = self.session._internals.progress
            self._on_progress(", ".join(f"{path}: iteration {count}" for path, count in progress.items()) or "running")
        self._on_progress(None)
