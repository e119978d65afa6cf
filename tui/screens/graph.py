"""The loop in focus as a graph: the body in layers, back edges around it. It follows every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from ...debugger.picture.moment import Marks
from ...debugger.picture.records import Kind
from ..actions import Action, Now, Place
from ..requests import Command
from ..screen.graph import GraphState
from ..screen.graph_places import Level
from ..screen.targets import Of, ValueTarget
from ..screen.text import printable
from ..screen.view import Shown
from ..widgets.detail import Detail
from ..widgets.graph import GraphView
from .above import Above
from .help import HelpScreen


class GraphScreen(Above[None]):
    """The graph of a stop. ``ask`` runs a command, ``inspect`` opens a value on a screen of its own."""

    AUTO_FOCUS = ""

    def __init__(
        self,
        actions: Sequence[Action],
        shown: Shown,
        ask: Callable[[Command], None],
        inspect: Callable[[ValueTarget], None],
    ) -> None:
        super().__init__(Place.GRAPH, actions)
        self.state = GraphState(shown)
        self._ask, self._inspect = ask, inspect
        self.header = Static(id="graph-head")
        self.graph = GraphView("graph")
        self.detail = Detail("graph-detail")
        self.said = Static(id="graph-said")
        self._marks = Marks()

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.graph
        yield self.said
        yield self.detail
        yield self.keys

    def on_mount(self) -> None:
        self.set_focus(self.graph)
        self.say(self.state.shown.view.snapshot.stop.text)

    @property
    def text(self) -> str:
        """All that it says."""
        return "\n".join([str(self.header.content), self.graph.text, self.detail.text])

    @property
    def now(self) -> Now:
        """What it stands at, as far as actions depend on it."""
        return Now(self.state.shown)

    def show(self, shown: Shown) -> None:
        """Another stop."""
        self.state.show(shown)
        self.say(shown.error or shown.view.snapshot.stop.text)
        self._draw()
        self._bring()

    def say(self, text: str) -> None:
        """A word about what was asked for, or the stop."""
        self.said.update(Content(printable(text)), layout=False)

    def _draw(self) -> None:
        face = self.state.face()
        self._marks = face.marks
        self.graph.show(face.lines, self.state.places)
        self.header.update(Content(self.state.title()), layout=False)
        self.detail.say(self.state.detail(face.marks))
        self.keys.now = self.now

    def _bring(self) -> None:
        if self.state.picture.boxes:
            self.graph.bring(self.state.at)

    def _moved(self) -> None:
        self._draw()
        self._bring()

    # -- actions

    def action_ask(self, command: str) -> None:
        """Run a command; the graph follows when it stops."""
        self._ask(Command(command))

    def action_move(self, right: int, down: int) -> None:
        self.state.move(right, down)
        self._moved()

    def action_pan(self, right: int, down: int) -> None:
        self.graph.pan(right, down)

    def action_next(self) -> None:
        self.state.go_to_next()
        self._moved()

    def action_zoom(self, by: int) -> None:
        """Show more or less of each box."""
        level = self.state.level + by
        if level not in tuple(Level):
            self.say("nothing more to show of a box" if by > 0 else "no smaller than this")
            return
        self.state.asked = Level(level)
        self._moved()

    def action_open(self) -> None:
        """Open or close a loop, or open a value."""
        if self.state.toggle():
            self._moved()
            return
        box, frame = self.state.box, self.state.shown
        if box is None or not box.values:
            self.say("nothing to open here")
            return
        value = box.values[0]
        carried = box.kind is Kind.CARRIED and box.edge is not None
        self._inspect(ValueTarget(value.name, frame.depth, Of.CARRIED if carried else Of.BODY, declared=value))

    @on(GraphView.Resized)
    def resized(self) -> None:
        """Another size has room for more of each box, or less; the first one is told before anything is drawn."""
        self.state.window = self.graph.size
        self._moved()

    @on(GraphView.Picked)
    def picked(self, message: GraphView.Picked) -> None:
        """A box was clicked."""
        self.state.pick(message.box)
        self._moved()
        if message.twice:
            self.action_open()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.actions, Place.GRAPH, opened="graph-help"))
