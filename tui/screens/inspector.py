"""One value in full."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ...debugger.console.report import value_lines
from ..driver import Driver
from ..screen.targets import ValueTarget
from ..screen.text import printable
from ..screen.view import Shown


class InspectorScreen(ModalScreen[None]):
    """What a value is at a stop: its type, its statistics, its corners."""

    BINDINGS = [Binding("escape,q,enter", "dismiss", "close")]

    def __init__(self, driver: Driver, target: ValueTarget, shown: Shown, plot: bool = False) -> None:
        super().__init__()
        self.driver = driver
        self.target = target
        self.plot = plot
        there, value = target.find(shown.view)
        told = [target.text(shown), "", *(value_lines(value) if there else ())]
        self.text = "\n".join(map(printable, told))

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="inspector") as box:
            box.border_title = Content(printable(self.target.name))
            box.border_subtitle = "esc closes"
            yield Static(Content(self.text))
