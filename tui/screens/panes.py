"""The app as far as it shows a stop: the panes, the cursor in them, where they stand, and what stands above them.

It runs nothing and knows no session: :class:`..app.LoopdbgApp` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from textual import events, on
from textual.app import ComposeResult
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, TextArea

from ...runtime.errors import UsageError
from .. import settings
from ..actions import PANES, Action, Now, Place, at, by_id, interrupt_key, key_name
from ..screen.layout import TABS, Arrangement
from ..screen.target import Target
from ..screen.text import printable
from ..screen.view import Shown
from ..themes import DARK, LIGHT
from ..widgets.back_edges import BackEdges
from ..widgets.body import Body
from ..widgets.breakpoints import BreakpointList
from ..widgets.condition import Condition
from ..widgets.console import Complete, ConsolePane
from ..widgets.detail import Detail
from ..widgets.displays import Displays
from ..widgets.header import Header
from ..widgets.inputs import Inputs
from ..widgets.kept import keep_rows
from ..widgets.line_input import LineInput, pasted_lines
from ..widgets.message import Message
from ..widgets.outputs import Outputs
from ..widgets.overview import Overview
from ..widgets.pane import Pane
from ..widgets.scans import Scans
from ..widgets.stack import Stack
from ..widgets.tabs import Tabs
from ..widgets.timeline import Timeline
from ..widgets.value import ValuePane
from ..widgets.workbench import Workbench
from .common import CommonApp
from .graph import GraphScreen
from .help import HelpScreen
from .inspector import InspectorScreen
from .palette import PaletteScreen, of_panes, of_place


class _Panes(Screen[None]):
    """The screen below all others. Another focus draws the two panes that it is about again, not everything."""

    focused = Reactive[Widget | None](None, repaint=False)


class PanesApp(CommonApp[int]):
    """A stop of a model, in panes. ``actions``: the table of what can be done, with the keys of this person;
    ``arrangement``: how the panes stood the last time."""

    AUTO_FOCUS = "#body"
    ESCAPE_TO_MINIMIZE = False

    def __init__(
        self, model: str, complete: Complete, actions: Sequence[Action], arrangement: Arrangement | None = None
    ) -> None:
        super().__init__(Place.PANES, actions)
        self._by_doing = _by_doing(at(Place.PANES, self.actions))
        # Kept, not looked up: a lookup searches the screen on top, which may be the help.
        self._base = _Panes(id="_default")
        keep_rows(self._base)
        self.header = Header(model, id="header")
        self.message = Message(id="message")
        self.detail = Detail(id="detail")
        self.body = Body(id="body")
        self.prompt = ConsolePane(complete, lambda: self.body.line_names, id="console")
        self.panes: dict[str, Pane] = {
            "body": self.body,
            "stack": Stack(id="stack"),
            "inputs": Inputs(id="inputs"),
            "back-edges": BackEdges(id="back-edges"),
            "condition": Condition(id="condition"),
            "scans": Scans(id="scans"),
            "outputs": Outputs(id="outputs"),
            "breakpoints": BreakpointList(id="breakpoints"),
            "displays": Displays(id="displays"),
            "timeline": Timeline(id="timeline"),
        }
        for number, name in enumerate(PANES, 1):
            self.panes[name].set_number(number)
        self.tabs = Tabs(id="tabs")
        #: What follows the cursor, where there is room for it.
        self.value = ValuePane(id="value")
        self.overview = Overview(id="overview")
        placed = {name: self.panes[name] for name in PANES}
        self.bench = Workbench({**placed, "value": self.value, "overview": self.overview}, id="main")
        self.shown: Shown | None = None
        self._mouse = True
        #: A command runs for so long that the screen says so.
        self._slow = False
        #: The pane that had the focus last; the console takes it and gives it back.
        self._pane: Pane = self.body
        if arrangement is not None:
            self.bench.tab, self.bench.full = arrangement.tab, arrangement.full
            self._pane = self.panes.get(arrangement.full, self.body)
            self.body.keep_folded(arrangement.folded)

    @property
    def arrangement(self) -> Arrangement:
        """How the panes stand."""
        return Arrangement(self.bench.tab, self.bench.full, self.body.folded_lines)

    @property
    def busy(self) -> bool:
        """Whether something runs or waits."""
        return False

    def get_default_screen(self) -> Screen[None]:
        """See :class:`~textual.app.App`."""
        return self._base

    # -- what is on the screen

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.tabs
        yield self.bench
        yield self.prompt
        yield self.message
        yield self.detail
        yield self.keys

    def on_mount(self) -> None:
        self._focus_pane()

    def _focus_pane(self) -> None:
        """At once, and not where a line was opened meanwhile: what is typed ahead is for that."""
        if self._base.focused is not self.prompt.line:
            self._base.set_focus(self._pane)

    def _show(self, shown: Shown) -> None:
        if self.shown is None and self._base.focused is None:
            # Where the first stop came quickly, the panes were not visible yet when the focus was asked for.
            self.call_after_refresh(self._focus_pane)
        self.shown = shown
        self._base.add_class("-ready")
        above = next((screen for screen in self.screen_stack if isinstance(screen, GraphScreen)), None)
        if above is None:
            self._show_panes()
        else:
            # It covers them: they are built once it is left.
            above.show(shown)

    def _show_panes(self) -> None:
        """Put the stop into the panes."""
        shown = self.shown
        if shown is None:
            return
        needs = {name: pane.need(shown) for name, pane in self.bench.panes.items()}
        self.bench.need({name: need for name, need in needs.items() if need is not None})
        self.header.shown = shown
        for pane in self.panes.values():
            pane.shown = shown
        self.look_around()

    @on(Workbench.Placed)
    def placed(self) -> None:
        """The panes stand elsewhere, or others are visible."""
        self.tabs.display = self.bench.small
        self._base.set_class(self.bench.small, "-small")
        self.tabs.show(self.bench.front, self.bench.tabs)
        if not self._pane.display:
            # What a tab is about comes first on it.
            names = (*(TABS[self.bench.front].panes if self.bench.small else ()), *PANES)
            self._pane = next((self.panes[name] for name in names if self.panes[name].display), self.body)
            if not self.prompt.line.has_focus and self._alone:
                self._pane.focus()
        self.look_around()

    @on(Tabs.Chosen)
    def tab_chosen(self, message: Tabs.Chosen) -> None:
        """A tab was clicked."""
        self.bench.show_tab(message.tab)

    @property
    def _alone(self) -> bool:
        """No screen is above the panes."""
        return self.screen_stack[-1:] == [self._base]

    def look_around(self) -> None:
        """After anything changed that the last two lines tell of."""
        now = self.now
        if now == self.keys.now:
            return
        self.keys.now = now
        if now.shown is not None:
            self.detail.say("" if now.target is None else now.target.text(now.shown))
            self.value.look(now.shown, now.target)
            self.overview.look(now.shown, self.body.node)

    @property
    def now(self) -> Now:
        """What the screen stands at, as far as actions depend on it."""
        return Now(
            self.shown,
            self.busy,
            self._slow,
            self.prompt.display,
            self.prompt.line.has_focus,
            any(isinstance(screen.focused, Input | TextArea) for screen in self.screen_stack[-1:]),
            bool(self.bench.full),
            bool(self._pane.search),
            self._pane.id or "",
            self.target,
        )

    @property
    def interrupt_key(self) -> str:
        """What a person calls the key that interrupts what runs now."""
        stop = by_id(self.actions)["stop"]
        if self.focused is self.prompt.line and not self.prompt.line.value and "space" in stop.keys:
            return key_name("space")
        return interrupt_key(self.actions, self.now)

    @on(ConsolePane.Spaced)
    async def spaced(self) -> None:
        """A line does not begin with a space: in an empty one the key means what it means in the panes."""
        stop = by_id(self.actions)["stop"]
        if self.busy and "space" in stop.keys:
            await self.run_action(stop.does)

    @property
    def target(self) -> Target | None:
        """What the cursor is on, in the pane that has the focus or had it last."""
        return self._pane.target

    @on(events.DescendantFocus)
    def focused_changed(self, event: events.DescendantFocus) -> None:
        """Another pane, or the console, takes the keys."""
        if isinstance(event.widget, Pane):
            self._pane = event.widget
        self.look_around()

    @on(Pane.Moved)
    def moved(self) -> None:
        """The cursor of a pane moved."""
        self.look_around()

    @on(Overview.Chosen)
    def chosen_in_graph(self, message: Overview.Chosen) -> None:
        """A box of the graph was clicked."""
        self.body.to_node(message.node)

    # -- actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key's action is free to be done now; see :meth:`..actions.Action.bound`."""
        written = action if not parameters else f"{action}({', '.join(map(repr, parameters))})"
        meant = self._by_doing.get(written)
        return meant is None or any(one.bound(self.now) for one in meant)

    # -- panes

    def action_pane(self, name: str) -> None:
        """Put the focus on a pane."""
        pane = self.panes[name]
        if self.bench.to_front(name, again=pane.has_focus):
            self._pane = pane
            # What had the focus may be hidden just now, and hand it on.
            self.call_after_refresh(pane.focus)
        else:
            self.message.say(f"{pane.name_shown}: nothing to show here")

    def action_zoom(self) -> None:
        self.bench.zoom(self._pane.id or "")

    def action_tab(self, step: int) -> None:
        """The tab after (-1: before) the one in front."""
        if not self.bench.small and not self.bench.full:
            self.message.say("all panes are in sight: smaller screens have tabs")
            return
        tabs = self.bench.tabs
        self.bench.show_tab(tabs[(tabs.index(self.bench.front) + step) % len(tabs)])

    def action_fold(self, hide: bool) -> None:
        if not self.body.fold(hide):
            self.message.say("nothing to hide here: the cursor is inside of no loop and no If")

    def action_walk(self, made: bool) -> None:
        if not self.body.walk(made):
            self.message.say("no line makes what this one reads" if made else "no line reads what this one makes")

    def action_code(self) -> None:
        if not self.body.switch_code():
            self.message.say("the model does not tell what code it comes from")

    def action_mouse(self) -> None:
        """Let the terminal have the mouse, to select text, or take it again."""
        self._mouse = not self._mouse
        driver = self._driver
        # Textual's driver asks its own mark before it switches, and again when the program comes back to the front.
        if driver is not None:
            driver._mouse = True
            switch = getattr(driver, "_enable_mouse_support" if self._mouse else "_disable_mouse_support", None)
            if switch is not None:
                switch()
            driver._mouse = self._mouse
        self.message.say("the mouse is loopdbg's" if self._mouse else "the mouse is the terminal's; m takes it back")

    # -- the cursor

    def action_cursor(self, where: str) -> None:
        self._pane.move(where)

    def action_find(self) -> None:
        """Ask for a text, and go to the next line with it."""
        self.prompt.open("/", once=True)
        self._make_room()

    def action_find_next(self, way: int) -> None:
        if not self._pane.find(self._pane.search, way):
            self.message.say(f"'{self._pane.search}' is not in this pane", error=True)

    @on(ConsolePane.Searched)
    def searched(self, message: ConsolePane.Searched) -> None:
        """A text to find was typed; an empty one is the one before."""
        self.action_close()
        text = message.text or self._pane.search
        if text and not self._pane.find(text):
            self._pane.search = ""
            self.message.say(f"'{text}' is not in this pane", error=True)
        self.look_around()

    def action_go_to_line(self) -> None:
        """Ask for the number of a line, or for the name of what it makes or runs."""
        self.prompt.open("@", once=True)
        self._make_room()

    @on(ConsolePane.Sought)
    def sought(self, message: ConsolePane.Sought) -> None:
        """A line of the source was asked for; nothing: the line is closed."""
        self.action_close()
        if not message.text:
            return
        self.action_pane("body")
        try:
            self.body.go_to(message.text)
        except UsageError as problem:
            self.message.say(str(problem), error=True)

    def action_copy(self) -> None:
        """Copy what the cursor is on, where the terminal has a clipboard."""
        target = self.target
        if target is None or self.shown is None:
            self.message.say("nothing to copy on this line")
            return
        text = target.copied(self.shown)
        self.copy_to_clipboard(text)
        self.message.say(f"copied {printable(text) if len(text) < 60 else f'{len(text)} characters'}")

    # -- the line that is typed into

    def action_console(self, text: str) -> None:
        """Open the console; with something typed already it is for that line alone."""
        self.prompt.open(text, once=bool(text))
        self._make_room()

    def on_paste(self, event: events.Paste) -> None:
        """What was pasted where nothing is typed into: it is for a line that was opened meanwhile, or for none."""
        line = self.focused
        if isinstance(line, LineInput):
            line.post_message(events.Paste(event.text))
        elif pasted_lines(event.text):
            self.message.say("nothing is typed into here: : opens the console for what was pasted")

    def _make_room(self) -> None:
        """After the console was opened or closed."""
        self._base.set_class(self.prompt.display, "-console")
        self.look_around()

    def action_close(self) -> None:
        """Hide the console, or end the search."""
        if self.prompt.display:
            self.prompt.close()
            self._pane.focus()
            self._make_room()
        elif self._pane.search:
            self._pane.search = ""
            self.look_around()
        elif self.bench.full:
            self.bench.zoom("")

    # -- above the panes

    def action_help(self) -> None:
        pane, lesson = self._pane, self.now.lesson
        self.push_screen(HelpScreen(self.actions, pane=pane.id or "", name=pane.name_shown, lesson=lesson))

    def action_palette(self) -> None:
        """Find an action by its words; a second time: close that."""
        top = self.screen
        if isinstance(top, PaletteScreen):
            top.action_leave()
        elif isinstance(top, InspectorScreen):
            self.push_screen(PaletteScreen(self.actions, of_place(Place.INSPECTOR, self.actions, top.now)), top.chosen)
        elif isinstance(top, GraphScreen):
            self.push_screen(PaletteScreen(self.actions, of_place(Place.GRAPH, self.actions, top.now)), top.chosen)
        elif self._alone:
            groups = of_panes(self.actions, self.now, self._panes_with_something())
            self.push_screen(PaletteScreen(self.actions, groups), self._chosen)

    def _panes_with_something(self) -> dict[str, tuple[str, Now]]:
        """The panes that have something to show, with what there would be if each had the focus."""
        now = self.now
        shown = {name: pane for name, pane in self.panes.items() if self.bench.has(name)}
        return {
            name: (pane.name_shown, replace(now, pane=name, target=pane.target, typing=False))
            for name, pane in shown.items()
        }

    def _chosen(self, action: Action | None) -> None:
        if action is None:
            return
        if action.panes and self._pane.id not in action.panes:
            self.action_pane(action.panes[0])
        self._run_action(action)

    def action_theme(self) -> None:
        self.theme = LIGHT.name if self.theme == DARK.name else DARK.name
        settings.remember(theme=self.theme)


def _by_doing(actions: Sequence[Action]) -> dict[str, list[Action]]:
    """Actions by what they do, as Textual asks for it."""
    found: dict[str, list[Action]] = {}
    for one in actions:
        if one.does:
            found.setdefault(one.does.removeprefix("app."), []).append(one)
    return found
