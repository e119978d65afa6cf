"""The inputs of a model that came with none: made, typed or loaded, before it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from ...debugger.console.arguments import typed_path
from ...runtime.errors import LoopdbgError
from ..actions import ACTIONS, Action, Place
from ..screen.lines import Column, Role, line, table
from ..screen.text import printable
from ..widgets.inspector_lines import LineBox
from ..widgets.line_input import LineInput
from .help import HelpScreen
from .small import SmallApp


class Draft(Protocol):
    """What the screen changes; ``tui/cli/draft.py`` is one."""

    def __len__(self) -> int: ...
    def rows(self, width: int = 60) -> list[tuple[str, str, str, str]]: ...
    def make(self, k: int, kind: str) -> None: ...
    def edit(self, k: int, text: str) -> None: ...
    def load(self, k: int, path: Path) -> str: ...
    def set_dim(self, text: str) -> None: ...
    def finished(self) -> object: ...


_PROMPTS = {
    "edit": "a number, [a, list], a file.npy, or an expression of other inputs",
    "load": "a file: x.npy for this input, x.npz for all",
    "dim": "the size of an unknown dimension: N=16, or x:0=16",
}
_COLUMNS = (
    Column("", 1),
    Column("input", 6),
    Column("type", 8, rank=1),
    Column("value", 10),
    Column("from", 6, rank=2),
)


class InputsApp(SmallApp[bool]):
    """A row for each input; the end is whether to open the model with them."""

    AUTO_FOCUS = ""

    def __init__(self, draft: Draft, model: str, told: str = "", actions: Sequence[Action] = ACTIONS) -> None:
        super().__init__(Place.INPUTS, actions)
        self.draft = draft
        self.at = 0
        self._model = model
        self._asked = ""
        self.box = LineBox("Inputs", "given-rows")
        self.prompt = LineInput(compact=True, id="given-line")
        self.said = Static(told, id="given-said")
        self.note = told

    def compose(self) -> ComposeResult:
        head = f"{printable(self._model)} needs inputs, and none were given: these are random"
        yield Static(Content.assemble(("loopdbg", "bold"), f"  {head}"), id="start-head")
        yield self.box
        yield self.prompt
        yield self.said
        yield self.keys

    def on_mount(self) -> None:
        self.prompt.display = False

    @on(LineBox.Resized)
    def resized(self) -> None:
        self.draw()

    def draw(self) -> None:
        """Show what each input is."""
        size = self.box.inner
        if size.width <= 0:
            return
        rows = [
            [
                ("▌" if k == self.at else " ", Role.MARK),
                (name, Role.NAME),
                (kind, Role.DIM),
                (value, Role.VALUE),
                (source, Role.DIM),
            ]
            for k, (name, kind, value, source) in enumerate(self.draft.rows(max(20, size.width // 2)))
        ]
        lines = table(_COLUMNS, rows, size.width)
        top = max(0, min(self.at + 1 - size.height // 2, len(lines) - size.height))
        self.box.show([lines[0], *lines[1 + top : size.height + top]] if top else lines)
        if not rows:
            self.box.show([line(("this model has no inputs", Role.DIM))])

    def say(self, text: str) -> None:
        """A word about what was just asked for."""
        self.note = text
        self.said.update(Content(printable(text)))

    @on(LineBox.Pointed)
    def pointed(self, message: LineBox.Pointed) -> None:
        """A click chooses an input."""
        self.at = max(0, min(len(self.draft) - 1, message.line - 1))
        self.draw()

    def action_move(self, step: int) -> None:
        self.at = max(0, min(len(self.draft) - 1, self.at + step))
        self.draw()

    def action_make(self, kind: str) -> None:
        self._do(lambda: self.draft.make(self.at, kind))

    def _do(self, change: object) -> bool:
        """Change something; what is wrong with it is said."""
        try:
            told = change() if callable(change) else None
        except LoopdbgError as problem:
            self.say(str(problem))
            return False
        self.say(told if isinstance(told, str) else "")
        self.draw()
        return True

    def action_ask(self, what: str) -> None:
        self._asked = what
        self.prompt.placeholder = _PROMPTS[what]
        self.prompt.value = ""
        self.prompt.display = True
        self.screen.set_focus(self.prompt)
        self.look_around(typing=True)

    @on(Input.Submitted)
    def typed(self, event: Input.Submitted) -> None:
        """What was typed; an error leaves the line open."""
        text = event.value.strip()
        changes = {
            "edit": lambda: self.draft.edit(self.at, text),
            "load": lambda: self.draft.load(self.at, typed_path(text)),
            "dim": lambda: self.draft.set_dim(text),
        }
        if self._do(changes[self._asked]):
            self._close()

    def _close(self) -> None:
        self.prompt.display = False
        self.set_focus(None)
        self.look_around(typing=False)

    def action_start(self) -> None:
        if self._do(self.draft.finished):
            self.exit(True)

    def action_leave(self) -> None:
        if self.prompt.display:
            self._close()
        else:
            self.exit(False)

    def action_help(self) -> None:
        self.push_screen(HelpScreen(self.actions, Place.INPUTS, opened="inputs-help"))

    def action_quit_now(self) -> None:
        self.exit(False)
