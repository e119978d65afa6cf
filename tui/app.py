"""The Textual app: puts the widgets together, turns actions into commands and stops into what the widgets show."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingsMap
from textual.reactive import Reactive
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from ..debugger.words.names import quote
from ..runtime.errors import LoopdbgError, UsageError
from ..runtime.model import Data, Model
from . import settings
from .actions import PANES, Action, Now, remapped
from .driver import Driver, Stopped
from .requests import Command, Listed, Panel, Request, Typed
from .screen.layout import TABS
from .screen.targets import BreakpointTarget, FrameTarget, LineTarget, MomentTarget, Target, ValueTarget, value_of
from .screen.text import printable
from .screen.view import FrameView, Shown, View, while_running
from .screens.help import HelpScreen
from .screens.inspector import InspectorScreen
from .screens.palette import PaletteScreen
from .screens.panel import LeaveScreen, PanelScreen
from .themes import DARK, LIGHT, THEMES
from .widgets.back_edges import BackEdges
from .widgets.body import Body
from .widgets.breakpoints import BreakpointList
from .widgets.condition import Condition
from .widgets.console import ConsolePane
from .widgets.detail import Detail
from .widgets.header import Header
from .widgets.inputs import Inputs
from .widgets.keys import Keys
from .widgets.message import Message
from .widgets.outputs import Outputs
from .widgets.pane import Pane
from .widgets.scans import Scans
from .widgets.stack import Stack
from .widgets.tabs import Tabs
from .widgets.timeline import Timeline
from .widgets.workbench import Workbench

if TYPE_CHECKING:
    from ..debugger.recording.replay import Replay

#: What runs shorter than this never shows as running, so that the screen stays calm while stepping.
PATIENCE = 0.15


class _Panes(Screen[None]):
    """The screen below all others. Another focus draws the two panes that it is about again, not everything."""

    focused = Reactive[Widget | None](None, repaint=False)


class LoopdbgApp(App[int]):
    """The debugger on one model. Holds no model logic: the driver steps, views come back, widgets show them.

    ``actions``: the table of what can be done, with the keys of this person.
    """

    TITLE = "loopdbg"
    CSS_PATH = "app.tcss"
    AUTO_FOCUS = "#body"
    #: Its own is ours.
    ENABLE_COMMAND_PALETTE = False
    ESCAPE_TO_MINIMIZE = False

    def __init__(self, driver: Driver, inputs_note: str = "", actions: Sequence[Action] | None = None) -> None:
        super().__init__()
        self.driver = driver
        #: The one that is shown.
        self.model = driver.model
        self.actions = remapped({}) if actions is None else tuple(actions)
        self._bindings = _bindings(self.actions)
        #: What is wrong with this program, found in the thread that drives the session.
        self.fault: Exception | None = None
        # Kept, not looked up: a lookup searches the screen on top, which may be the help.
        self._base = _Panes(id="_default")
        self.header = Header(driver.model.name, id="header")
        self.message = Message(id="message")
        self.detail = Detail(id="detail")
        self.prompt = ConsolePane(driver.complete, id="console")
        self.body = Body(id="body")
        self.keys = Keys(self.actions, self._run_action, id="keys")
        self.panes: dict[str, Pane] = {
            "body": self.body,
            "stack": Stack(id="stack"),
            "inputs": Inputs(id="inputs"),
            "back-edges": BackEdges(id="back-edges"),
            "condition": Condition(id="condition"),
            "scans": Scans(id="scans"),
            "outputs": Outputs(id="outputs"),
            "breakpoints": BreakpointList(id="breakpoints"),
            "timeline": Timeline(id="timeline"),
        }
        for number, name in enumerate(PANES, 1):
            self.panes[name].set_number(number)
        self.tabs = Tabs(id="tabs")
        self.bench = Workbench({name: self.panes[name] for name in PANES}, id="main")
        self.shown: Shown | None = None
        self._inputs_note = inputs_note
        self._idle = asyncio.Event()
        self._ticker: Timer | None = None
        self._mouse = True
        #: So many ends of commands were shown.
        self._stops = 0
        #: A command runs for so long that the screen says so.
        self._slow = False
        #: The pane that had the focus last; the console takes it and gives it back.
        self._pane: Pane = self.body

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own colours, for themes that do not name them."""
        return {"muted": DARK.variables["muted"]}

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
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = LIGHT.name if settings.theme() == LIGHT.name else DARK.name
        self._ticker = self.set_interval(0.1, self._tick, pause=True)
        self.driver.post = self.post_message
        self.body.focus()
        self.ask(Command.START)

    def show(self, view: View, error: str | None = None) -> None:
        """Put a stop on the screen, the selected frame in focus."""
        self._show(Shown(view, view.selected, self.model.graph, self._inputs_note, error))
        stop = view.snapshot.stop
        self.message.say(stop.text if not view.snapshot.outputs else f"{stop.text}; r restarts it")

    def _show(self, shown: Shown) -> None:
        self.shown = shown
        self._base.add_class("-ready")
        needs = {name: pane.need(shown) for name, pane in self.panes.items()}
        self.bench.need({name: need for name, need in needs.items() if need is not None})
        self.header.shown = shown
        for pane in self.panes.values():
            pane.shown = shown
        self.look_around()

    @on(Workbench.Placed)
    def placed(self) -> None:
        """The panes stand elsewhere, or others are seen."""
        self.tabs.display = self.bench.small
        self._base.set_class(self.bench.small, "-small")
        self.tabs.show(self.bench.tab)
        if not self._pane.display:
            self._pane = next((pane for pane in self.panes.values() if pane.display), self.body)
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
        self.keys.now = self.now
        if self.shown is None:
            return
        target = self.target
        self.detail.say("" if target is None else target.text(self.shown))

    @property
    def now(self) -> Now:
        """What the screen stands at, as far as actions depend on it."""
        typing = self.prompt.line.has_focus
        return Now(
            self.shown,
            self.driver.busy,
            self._slow,
            self.prompt.display,
            typing,
            bool(self.bench.full),
            bool(self._pane.search),
            self._pane.id or "",
            self.target,
        )

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

    # -- actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key's action is free to be done now; see :meth:`.actions.Action.bound`."""
        now = self.now
        meant = [one for one in self.actions if _does(one, action, parameters)]
        return not meant or any(one.bound(now) for one in meant)

    def _run_action(self, action: Action) -> None:
        self.call_later(self.run_action, action.does)

    def ask(self, command: Request) -> None:
        """Start a command, or run a line in the console; the screen follows when it stops."""
        if self.driver.ask(command):
            self._idle.clear()
            if self._ticker is not None:
                self._ticker.resume()
        else:
            self.message.say("still running: space interrupts")

    def action_ask(self, command: str) -> None:
        self.ask(Command(command))

    def action_console(self, text: str) -> None:
        """Open the console; with something typed already it is for that line alone."""
        self.prompt.open(text, once=bool(text))
        self._make_room()

    def action_line(self, line: str) -> None:
        """Run a line in the console."""
        self.prompt.say(f"> {line}")
        self._make_room()
        self.ask(Listed(line))

    def action_ask_line(self, line: str) -> None:
        """Run a line whose answer is seen elsewhere than in the console."""
        self.ask(line)

    def action_why(self) -> None:
        self.ask(Panel("why"))

    def _make_room(self) -> None:
        """After the console was opened or closed."""
        self._base.set_class(self.prompt.display, "-console")
        self.look_around()

    @on(ConsolePane.Entered)
    def entered(self, message: ConsolePane.Entered) -> None:
        """A line was typed into the console."""
        line = message.line
        try:
            if not self.driver.busy:
                self.ask(Typed(line))
            elif (said := self.driver.aside(line)) is not None:
                self.prompt.say(*said)
            elif not self.driver.ask(Typed(line)):
                raise UsageError("still running: ^c interrupts; help and info breakpoints can be asked meanwhile")
        except LoopdbgError as problem:
            self.prompt.say(f"error: {self.driver.told(problem)}")
            self.prompt.refused(line)

    def action_interrupt(self) -> None:
        self.driver.interrupt()

    def action_interrupt_always(self) -> None:
        self.driver.interrupt()

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

    def action_stop(self) -> None:
        """As interrupt, for keys that mean it elsewhere: where nothing runs they say so."""
        if self.driver.busy:
            self.driver.interrupt()
        else:
            self.message.say("nothing runs; q quits")

    # -- frames, panes, cursor

    def action_frame(self, step: int) -> None:
        """Look at the frame around (-1) or inside (1) the one in focus."""
        if self.shown is None or self.shown.depth is None:
            return
        self.select(min(max(self.shown.depth + step, 0), len(self.shown.view.frames) - 1))

    def select(self, depth: int) -> None:
        """Look at a frame, 0 the main graph; commands are about it as well."""
        if self.shown is None:
            return
        frames = self.shown.view.frames
        try:
            free = self.driver.select(len(frames) - 1 - depth)
        except LoopdbgError as problem:
            self.message.say(self.driver.told(problem), error=True)
            return
        if not free:
            self.message.say("still running: space interrupts")
            return
        self._look_at(frames[depth])

    def _look_at(self, frame: FrameView) -> None:
        if self.shown is not None:
            self._show(Shown(self.shown.view, frame, self.shown.main, self._inputs_note, self.shown.error))

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
        self.bench.show_tab((self.bench.tab + step) % len(TABS))

    def action_fold(self, hide: bool) -> None:
        if not self.body.fold(hide):
            self.message.say("nothing to hide here: the cursor is inside of no loop and no If")

    def action_mouse(self) -> None:
        """Let the terminal have the mouse, to select text, or take it again."""
        self._mouse = not self._mouse
        driver = self._driver
        for name in ("_enable_mouse_support",) if self._mouse else ("_disable_mouse_support",):
            switch = getattr(driver, name, None)
            if switch is not None:
                switch()
        self.message.say("the mouse is loopdbg's" if self._mouse else "the mouse is the terminal's; m takes it back")

    @on(Body.Gutter)
    def gutter(self) -> None:
        """The place for a breakpoint was clicked."""
        self.action_break_here()

    @on(Timeline.Picked)
    def picked(self, message: Timeline.Picked) -> None:
        """An iteration was pointed at."""
        if not self.driver.busy:
            self.travel(message.target)

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
        """A text to look for was typed; an empty one is the one before."""
        self.action_close()
        text = message.text or self._pane.search
        if text and not self._pane.find(text):
            self._pane.search = ""
            self.message.say(f"'{text}' is not in this pane", error=True)
        self.look_around()

    # -- what the cursor is on

    @on(Pane.Opened)
    def opened(self) -> None:
        """A line was clicked twice."""
        self.action_open()

    def action_open(self) -> None:
        """Open what the cursor is on."""
        target = self.target
        if isinstance(target, FrameTarget):
            if target.depth is not None:
                self.select(target.depth)
        elif isinstance(target, BreakpointTarget):
            self._toggle(target.number)
        elif isinstance(target, MomentTarget):
            self.travel(target)
        elif isinstance(target, LineTarget) and target.head:
            self.body.fold()
        elif (value := value_of(target)) is not None:
            self.inspect(value)

    def inspect(self, target: ValueTarget, plot: bool = False) -> None:
        """Open a value on a screen of its own."""
        if self.shown is not None:
            self.push_screen(InspectorScreen(self.driver, target, self.shown, plot), self._inspected)

    def _inspected(self, line: str | None) -> None:
        """The inspector was left, with a line for the console where one was begun."""
        if line:
            self.action_console(line)

    def travel(self, target: MomentTarget) -> None:
        """Go to an iteration, on another branch after it was gone to."""
        if target.branch is not None:
            self.ask(f"branch {target.branch}")
        else:
            self.ask(f"goto {target.iteration}")

    def action_copy(self) -> None:
        """Copy what the cursor is on, where the terminal has a clipboard."""
        target = self.target
        if target is None or self.shown is None:
            return
        text = target.copied(self.shown)
        self.copy_to_clipboard(text)
        self.message.say(f"copied {printable(text) if len(text) < 60 else f'{len(text)} characters'}")

    def action_plot(self) -> None:
        value = value_of(self.target)
        if value is not None:
            self.inspect(value, plot=True)
        else:
            self.message.say("plot needs the cursor on a value")

    def action_break_here(self) -> None:
        """A breakpoint on the line of the cursor, or none any more."""
        target = self.target
        if isinstance(target, LineTarget) and target.node and not self.now.recorded:
            self._toggle_line(target.number)
        elif isinstance(target, ValueTarget):
            self.action_console(f"break if {quote(target.name)} ")
        else:
            self.action_console("break ")

    def _toggle_line(self, number: int) -> None:
        if self.shown is None:
            return
        node = next((line.node for line in self.body.listing_lines if line.number == number), None)
        breakpoints = self.shown.view.snapshot.breakpoints
        found = [one.number for one in breakpoints if node is not None and node in (*one.nodes, *one.heads)]
        self.ask(f"delete {' '.join(map(str, found))}" if found else f"break line {number}")

    def _toggle(self, number: int) -> None:
        breakpoints = self.shown.view.snapshot.breakpoints if self.shown is not None else ()
        for one in breakpoints:
            if one.number == number:
                self.ask(f"{'disable' if one.enabled else 'enable'} {number}")

    def action_delete_breakpoint(self) -> None:
        if isinstance(self.target, BreakpointTarget):
            self.ask(f"delete {self.target.number}")

    def action_edit_breakpoint(self) -> None:
        if isinstance(self.target, BreakpointTarget):
            self.action_console(f"condition {self.target.number} ")

    def action_watch(self) -> None:
        value = value_of(self.target)
        self.action_console("watch " if value is None else f"watch {quote(value.name)}")

    def action_edit(self) -> None:
        value = value_of(self.target)
        self.action_console("set " if value is None else f"set {quote(value.name)} = ")

    # -- the screen itself

    def action_help(self) -> None:
        self.push_screen(HelpScreen(self.actions, self._pane.id or "", self._pane.name_shown))

    def action_palette(self) -> None:
        """Find an action by its words."""
        if isinstance(self.screen, PaletteScreen):
            self.screen.action_leave()
        elif self._alone:
            self.push_screen(PaletteScreen(self.actions, self.now), self._chosen)

    def _chosen(self, action: Action | None) -> None:
        if action is not None:
            self._run_action(action)

    def action_theme(self) -> None:
        self.theme = LIGHT.name if self.theme == DARK.name else DARK.name
        settings.remember(theme=self.theme)

    async def action_quit(self) -> None:
        branches = self.shown.view.snapshot.branches if self.shown is not None else ()
        lost = [f"branch {one.number}: {'; '.join(one.edits)}" for one in branches if one.edits]
        if lost:
            self.push_screen(LeaveScreen(lost), self._leave)
        else:
            self._leave(True)

    def _leave(self, sure: bool | None) -> None:
        if sure:
            self.driver.close()
            self.exit(0)

    def on_unmount(self) -> None:
        self.driver.close()

    # -- what comes back

    @on(Stopped)
    def stopped(self, message: Stopped) -> None:
        """A command ended."""
        if message.fault is not None:
            self.fault = message.fault
            self.exit(1)
        try:
            self.header.progress = None
            self._slow = False
            if message.quits:
                self.exit(0)
            if message.model is not None:
                self.model = message.model
            if message.view is not None:
                self.show(message.view, message.error)
            self._answer(message)
        finally:
            self._make_room()
            self._stops += 1
            self._rest()

    def _rest(self) -> None:
        """Wait for the next command, once all have ended and the screen shows it; those that an interrupt drops never
        end."""
        if not self.driver.commanded and self._stops == self.driver.stops:
            if self._ticker is not None:
                self._ticker.pause()
            self._idle.set()

    def _answer(self, message: Stopped) -> None:
        """Put what a command said, or what went wrong, where it belongs, once."""
        command, said, error = message.command, message.said, message.error
        transcript = isinstance(command, Typed | Listed)
        if isinstance(command, Panel) and error is None:
            self.push_screen(PanelScreen(command.capitalize(), said))
        elif isinstance(command, Command) or transcript:
            self.prompt.say(*said)
        elif said and error is None:
            self.message.say("; ".join(said))
        if error is not None and transcript:
            self.prompt.say(f"error: {error}")
            self.prompt.refused(command)
        elif error is not None:
            self.message.say(error, error=True)
        elif isinstance(command, Typed) and self.prompt.once:
            self.action_close()
            if said and message.view is not None and said[0] != message.view.snapshot.stop.text:
                self.message.say("; ".join(said))

    def _tick(self) -> None:
        self._rest()
        progress = self.driver.progress()
        if progress is None or progress.seconds < PATIENCE:
            return
        if not self._slow:
            self._slow = True
            self.look_around()
        self.header.progress = progress
        frame = None if self.shown is None else self.shown.frame.frame
        if frame is not None:
            self.message.say_running(progress, frame.name, progress.iterations.get(frame.path))
        running = None if self.shown is None else while_running(self.shown, progress.lately, progress.underway)
        if running is not None:
            for name in ("back-edges", "condition", "scans", "timeline"):
                self.panes[name].shown = running

    async def idle(self) -> None:
        """Wait until no command runs or waits, and the screen shows the last stop."""
        await self._idle.wait()


def _bindings(actions: Sequence[Action]) -> BindingsMap:
    return BindingsMap(
        Binding(",".join(one.keys), one.does, one.label or one.id, show=False, priority=one.first)
        for one in actions
        if one.keys and one.does
    )


def _does(action: Action, name: str, parameters: tuple[object, ...]) -> bool:
    """Whether an action of the table is what Textual is about to do."""
    if not action.does or not action.does.removeprefix("app.").startswith(name):
        return False
    written = name if not parameters else f"{name}({', '.join(map(repr, parameters))})"
    return action.does.removeprefix("app.") == written


def run_app(
    model: Model,
    inputs: Mapping[str, Data],
    inputs_note: str,
    max_iterations: int | None,
    told: Callable[[LoopdbgError], str],
) -> int:
    """Open the debugger on a model; returns the exit status once it is closed. ``told``: an error's text there.

    Raises:
        InputError: inputs that do not fit the signature.
        UnsupportedError: an operator that nothing can run.
        UsageError: the keys that a config file sets make no sense.
    """
    actions = _chosen_keys()
    return _run(Driver(model, inputs, max_iterations, told=told), inputs_note, actions)


def replay_app(replay: Replay, told: Callable[[LoopdbgError], str]) -> int:
    """Open the debugger on a recording; returns the exit status once it is closed.

    Raises:
        UsageError: the keys that a config file sets make no sense.
    """
    actions = _chosen_keys()
    return _run(Driver(replay.model, {}, None, replay, told), f"from {replay.trace.path.name}", actions)


def _chosen_keys() -> tuple[Action, ...]:
    """The table of actions with the keys of this person."""
    keymap = settings.keymap()
    try:
        return remapped(keymap)
    except UsageError as error:
        raise UsageError.at(str(settings.keys_file()), error) from error


def _run(driver: Driver, inputs_note: str, actions: Sequence[Action]) -> int:
    app = LoopdbgApp(driver, inputs_note, actions)
    try:
        status = app.run() or 0
        if app.fault is not None:
            raise app.fault
        return status
    finally:
        driver.close()
