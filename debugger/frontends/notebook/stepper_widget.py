"""The widget: runs requests of a page on a session, and updates the page.

Requests are console commands, so a button has the effect of the command.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ....runtime.errors import LoopdbgError, UsageError
from ...session.session import Session
from ...session.stop_state import read_stop
from ...session.worker import SessionWorker, failure_text
from ..console.command_registry import QuitRequest
from ..console.console import Console
from ..console.text_output import next_statement_lines
from ..sanitize import MultilineText, sanitize
from .stop_view import NotebookStopView

#: The JavaScript module of the page.
PAGE_MODULE = Path(__file__).with_name("stepper.js")
#: Number of output lines that are kept for the page.
_MAX_OUTPUT_LINES = 200
#: Seconds of synchronous waiting for a move; most end by then and need only one page update.
_SYNC_WAIT_SECONDS = 0.25
#: Interval of progress updates of a long move.
_PROGRESS_INTERVAL_SECONDS = 0.1


class Stepper(anywidget.AnyWidget):  # type: ignore[misc]
    """The model of the page, backed by a session.

    ``view``: the stop, from :mod:`.stop_view`. ``state``: whether a loop runs, progress, error, output of commands.
    ``request``: a ``line`` of the console, ``stop``, or a ``hover`` on a line, each with a growing ``number``;
    ``answer``: the answer to the last hover.
    """

    _esm = PAGE_MODULE
    view = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    request = traitlets.Dict().tag(sync=True)
    answer = traitlets.Dict().tag(sync=True)

    def __init__(self, session: Session) -> None:
        self._session = session
        self._output_lines: list[str] = []
        self._console = Console(session, self._output_lines.append)
        #: Callbacks of the worker; only the thread of the kernel may talk to pages.
        self._callbacks: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._worker = SessionWorker(lambda: session, self._callbacks.put)
        #: Whether a move runs, or its result was not shown yet.
        self._running = False
        self._follower: asyncio.Task[None] | None = None
        self._stop_view = NotebookStopView(session, read_stop(session))
        super().__init__(view=self._stop_view.as_json(), state=_state_entry())
        self.observe(self._on_request, "request")

    @traitlets.validate("view", "state", "answer")  # type: ignore[untyped-decorator]
    def _sanitize_trait(self, proposed: Any) -> Any:
        return sanitize(proposed["value"])

    # -- from Python

    def do(self, line: str) -> None:
        """Run a console command, as a button or a typed line does."""
        self._start_console_line(line, False)

    def refresh(self) -> None:
        """Show the current stop, after other cells moved the session."""
        self._show_stop("")

    # -- from the page

    def _on_request(self, change: Any) -> None:
        request: Mapping[str, Any] = change["new"]
        if "stop" in request:
            self._worker.interrupt()
        elif "hover" in request:
            self._answer_hover(request)
        elif "line" in request:
            self._start_console_line(str(request["line"]), bool(request.get("typed")))

    def _start_console_line(self, line: str, typed: bool) -> None:
        """Run a line; returns when its result is shown, or soon if an event loop can follow it."""
        self._run_next_callback(0)
        if self._running:
            self._update_state("a loop is running; stop it first")
            return
        if typed:
            self._output_lines.append(f"(loopdbg) {line}")
        self._worker.enqueue(partial(self._execute, line, typed), self._end_move, line)
        self._running = True
        self._run_next_callback(_SYNC_WAIT_SECONDS)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            while self._running:
                self._run_next_callback(None)
        else:
            self._show_progress()
            if self._running and (self._follower is None or self._follower.done()):
                self._follower = loop.create_task(self._follow_move())

    def _run_next_callback(self, seconds: float | None) -> None:
        """Run the next callback, waiting for it; an interrupt of the kernel stops the move."""
        try:
            callback = self._callbacks.get(timeout=seconds)
        except queue.Empty:
            return
        except KeyboardInterrupt:
            self._worker.interrupt()
            return
        callback()

    async def _follow_move(self) -> None:
        while self._running:
            await asyncio.sleep(_PROGRESS_INTERVAL_SECONDS)
            self._show_progress()
            self._run_next_callback(0)

    def _end_move(self, result: None, error: Exception | None) -> None:
        self._running = False
        self._show_stop("" if error is None else failure_text(error))

    def _execute(self, line: str, typed: bool) -> None:
        """Run a line; the output about the stop after a button is dropped, since the page shows it."""
        count = len(self._output_lines)
        try:
            self._console.execute(line)
        except QuitRequest:
            raise UsageError("the session goes on; session.close() ends it") from None
        if not typed:
            displayed = {self._session.stop.text, *next_statement_lines(self._session)}
            self._output_lines[count:] = [line_ for line_ in self._output_lines[count:] if line_ not in displayed]

    def _answer_hover(self, request: Mapping[str, Any]) -> None:
        """Answer with the values of a line; with nothing while a loop runs."""
        try:
            text = MultilineText() if self._running else self._stop_view.hover_text(int(request["hover"]))
        except (LoopdbgError, ValueError, TypeError):
            text = MultilineText()
        self.answer = {"number": request.get("number"), "line": request["hover"], "text": text}

    # -- to the page

    def _show_stop(self, error: str) -> None:
        try:
            self._stop_view = NotebookStopView(self._session, read_stop(self._session))
            self.view = self._stop_view.as_json()
        except LoopdbgError as exception:
            error = error or str(exception)
        self._update_state(error)

    def _show_progress(self) -> None:
        if (progress := self._worker.progress()) is not None:
            self._update_state("", progress.text)

    def _update_state(self, error: str, progress: str = "") -> None:
        del self._output_lines[:-_MAX_OUTPUT_LINES]
        self.state = _state_entry(self._running, error, progress, list(self._output_lines))


def _state_entry(
    running: bool = False, error: str = "", progress: str = "", output: list[str] | None = None
) -> dict[str, Any]:
    return {"running": running, "error": error, "progress": progress, "output": output or []}
