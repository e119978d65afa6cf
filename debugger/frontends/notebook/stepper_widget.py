"""The widget itself: what a page asks for is carried out on a session, and the page is told what there is to see.

What a page asks for are commands of the console, so a button does what the same word does there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ....runtime.errors import LoopdbgError, UsageError
from ...session.session_base import SessionBase
from ...session.snapshot import take_snapshot
from ..console.command_registry import QuitRequest
from ..console.console import Console
from ..console.text_output import next_statement_lines
from ..sanitize import MultilineText, sanitize
from .move_runner import NotebookMoveRunner
from .stop_view import NotebookStopView

#: The page: one module of JavaScript, as it is.
PAGE_MODULE = Path(__file__).with_name("stepper.js")
#: So many lines of what commands said are kept for the page.
_MAX_OUTPUT_LINES = 200


class Stepper(anywidget.AnyWidget):  # type: ignore[misc]
    """What a page and a session have in common.

    ``view``: the stop, as :mod:`.view` makes it. ``state``: whether a loop runs, how far it is, what went wrong, what
    commands said. ``asked``: what the page wants: a ``line`` of the console, to ``stop``, or a ``hover`` on a line,
    each with a ``number`` that grows; ``told``: the answer to the last hover.
    """

    _esm = PAGE_MODULE
    view = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)
    told = traitlets.Dict().tag(sync=True)

    def __init__(self, session: SessionBase) -> None:
        self._session = session
        self._output_lines: list[str] = []
        self._console = Console(session, self._output_lines.append)
        self._move_runner = NotebookMoveRunner(self._show_stop, self._show_progress, session.interrupt)
        self._stop_view = NotebookStopView(session, take_snapshot(session))
        super().__init__(view=self._stop_view.as_json(), state=_state_entry())
        self.observe(self._on_request, "asked")

    @traitlets.validate("view", "state", "told")  # type: ignore[untyped-decorator]
    def _sanitize_trait(self, proposed: Any) -> Any:
        return sanitize(proposed["value"])

    # -- from Python

    def do(self, line: str) -> None:
        """Carry out a command of the console, as a button or a typed line does."""
        self._start_line(line, False)

    def refresh(self) -> None:
        """Show where the session stands now, after other cells moved it."""
        self._show_stop("")

    # -- from the page

    def _on_request(self, change: Any) -> None:
        asked: Mapping[str, Any] = change["new"]
        if "stop" in asked:
            self._session.interrupt()
        elif "hover" in asked:
            self._answer_hover(asked)
        elif "line" in asked:
            self._start_line(str(asked["line"]), bool(asked.get("typed")))

    def _start_line(self, line: str, typed: bool) -> None:
        if self._move_runner.busy:
            self._update_state("a loop is running; stop it first")
            return
        if typed:
            self._output_lines.append(f"(loopdbg) {line}")
        self._move_runner.start(lambda: self._execute(line, typed))

    def _execute(self, line: str, typed: bool) -> None:
        """Where it stops after a button the page shows by itself; what else is said is kept."""
        before = len(self._output_lines)
        try:
            self._console.execute(line)
        except QuitRequest:
            raise UsageError("the session goes on; session.close() ends it") from None
        if not typed:
            shown = {self._session.stop.text, *next_statement_lines(self._session)}
            self._output_lines[before:] = [told for told in self._output_lines[before:] if told not in shown]

    def _answer_hover(self, asked: Mapping[str, Any]) -> None:
        """The values of a line; nothing while a loop runs, when they are over."""
        try:
            text = MultilineText() if self._move_runner.busy else self._stop_view.hover_text(int(asked["hover"]))
        except (LoopdbgError, ValueError, TypeError):
            text = MultilineText()
        self.told = {"number": asked.get("number"), "line": asked["hover"], "text": text}

    # -- to the page

    def _show_stop(self, error: str) -> None:
        try:
            self._stop_view = NotebookStopView(self._session, take_snapshot(self._session))
            self.view = self._stop_view.as_json()
        except LoopdbgError as problem:
            error = error or str(problem)
        self._update_state(error)

    def _show_progress(self) -> None:
        counts = self._session.progress.items()
        self._update_state("", ", ".join(f"{path}: iteration {count}" for path, count in counts))

    def _update_state(self, error: str, progress: str = "") -> None:
        del self._output_lines[:-_MAX_OUTPUT_LINES]
        self.state = _state_entry(self._move_runner.busy, error, progress, list(self._output_lines))


def _state_entry(
    running: bool = False, error: str = "", progress: str = "", said: list[str] | None = None
) -> dict[str, Any]:
    return {"running": running, "error": error, "progress": progress, "said": said or []}
