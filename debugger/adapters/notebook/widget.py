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
from ...console.command import Quit
from ...console.console import Console
from ...console.report import next_line
from ...session.debuggee import Debuggee
from ...session.snapshot import take
from ..visible import Lines, visible
from .moves import Moves
from .view import View

#: The page: one module of JavaScript, as it is.
PAGE = Path(__file__).with_name("stepper.js")
#: So many lines of what commands said are kept for the page.
_SAID = 200


class Stepper(anywidget.AnyWidget):  # type: ignore[misc]
    """What a page and a session have in common.

    ``view``: the stop, as :mod:`.view` makes it. ``state``: whether a loop runs, how far it is, what went wrong, what
    commands said. ``asked``: what the page wants: a ``line`` of the console, to ``stop``, or a ``hover`` on a line,
    each with a ``number`` that grows; ``told``: the answer to the last hover.
    """

    _esm = PAGE
    view = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)
    told = traitlets.Dict().tag(sync=True)

    def __init__(self, session: Debuggee) -> None:
        self._session = session
        self._said: list[str] = []
        self._console = Console(session, self._said.append)
        self._moves = Moves(self._moved, self._going, session.interrupt)
        self._shown = View(session, take(session))
        super().__init__(view=self._shown.data(), state=_state())
        self.observe(self._asked, "asked")

    @traitlets.validate("view", "state", "told")  # type: ignore[untyped-decorator]
    def _visible(self, proposed: Any) -> Any:
        return visible(proposed["value"])

    # -- from Python

    def do(self, line: str) -> None:
        """Carry out a command of the console, as a button or a typed line does."""
        self._begin(line, False)

    def refresh(self) -> None:
        """Show where the session stands now, after other cells moved it."""
        self._moved("")

    # -- from the page

    def _asked(self, change: Any) -> None:
        asked: Mapping[str, Any] = change["new"]
        if "stop" in asked:
            self._session.interrupt()
        elif "hover" in asked:
            self._hover(asked)
        elif "line" in asked:
            self._begin(str(asked["line"]), bool(asked.get("typed")))

    def _begin(self, line: str, typed: bool) -> None:
        if self._moves.busy:
            self._tell("a loop is running; stop it first")
            return
        if typed:
            self._said.append(f"(loopdbg) {line}")
        self._moves.run(lambda: self._execute(line, typed))

    def _execute(self, line: str, typed: bool) -> None:
        """Where it stops after a button the page shows by itself; what else is said is kept."""
        before = len(self._said)
        try:
            self._console.execute(line)
        except Quit:
            raise UsageError("the session goes on; session.close() ends it") from None
        if not typed:
            shown = {self._session.stop.text, *next_line(self._session)}
            self._said[before:] = [told for told in self._said[before:] if told not in shown]

    def _hover(self, asked: Mapping[str, Any]) -> None:
        """The values of a line; nothing while a loop runs, when they are over."""
        try:
            text = Lines() if self._moves.busy else self._shown.value(int(asked["hover"]))
        except (LoopdbgError, ValueError, TypeError):
            text = Lines()
        self.told = {"number": asked.get("number"), "line": asked["hover"], "text": text}

    # -- to the page

    def _moved(self, error: str) -> None:
        try:
            self._shown = View(self._session, take(self._session))
            self.view = self._shown.data()
        except LoopdbgError as problem:
            error = error or str(problem)
        self._tell(error)

    def _going(self) -> None:
        counts = self._session.progress.items()
        self._tell("", ", ".join(f"{path}: iteration {count}" for path, count in counts))

    def _tell(self, error: str, progress: str = "") -> None:
        del self._said[:-_SAID]
        self.state = _state(self._moves.busy, error, progress, list(self._said))


def _state(running: bool = False, error: str = "", progress: str = "", said: list[str] | None = None) -> dict[str, Any]:
    return {"running": running, "error": error, "progress": progress, "said": said or []}
