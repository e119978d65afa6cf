"""The debugger's app: turns actions into commands for the driver, and stops into what the panes show."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from textual import on
from textual.timer import Timer

from ..debugger.session.stop import Reason
from ..debugger.words.names import quote
from ..runtime.errors import LoopdbgError, UsageError
from .actions import ACTIONS, Action
from .driver import Driver, Stopped
from .requests import BreakpointEdit, Command, Listed, Panel, Request, Typed
from .screen.displayed import Displayed
from .screen.layout import Arrangement
from .screen.targets import (
    BreakpointTarget,
    DisplayTarget,
    FrameTarget,
    LineTarget,
    MomentTarget,
    ValueTarget,
    value_of,
)
from .screen.view import FrameView, Shown, View, while_running
from .screens.breakpoint import BreakpointScreen
from .screens.graph import GraphScreen
from .screens.inspector import InspectorScreen
from .screens.panel import LeaveScreen, PanelScreen
from .screens.panes import PanesApp
from .widgets.body import Body
from .widgets.console import ConsolePane
from .widgets.header import Header
from .widgets.pane import Pane
from .widgets.timeline import Timeline

#: What runs shorter than this never shows as running, so that the screen does not flicker while stepping.
PATIENCE = 0.15
#: What the source says of its values meanwhile.
_STALE = ", at the last stop"


class LoopdbgApp(PanesApp):
    """The debugger on one model. Holds no model logic: the driver steps, views come back, panes show them.

    ``inputs_note``: where the inputs come from; ``seeds``: those of the random ones among them, by name.
    """

    def __init__(
        self,
        driver: Driver,
        inputs_note: str = "",
        actions: Sequence[Action] | None = None,
        seeds: Mapping[str, int] | None = None,
        arrangement: Arrangement | None = None,
    ) -> None:
        super().__init__(driver.model.name, driver.complete, ACTIONS if actions is None else actions, arrangement)
        self.driver = driver
        #: The one that is shown.
        self.model = driver.model
        #: What is wrong with this program, found in the thread that drives the session.
        self.fault: Exception | None = None
        self._inputs_note = inputs_note
        self._seeds = dict(seeds or {})
        self._idle = asyncio.Event()
        self._ticker: Timer | None = None
        #: So many ends of commands were shown.
        self._stops = 0

    @property
    def busy(self) -> bool:
        """Whether a command runs or waits."""
        return self.driver.busy

    def on_mount(self) -> None:
        # Textual calls that of each class.
        self._ticker = self.set_interval(0.1, self._tick, pause=True)
        self.driver.post = self.post_message
        self.ask(Command.START)

    def show(self, view: View, error: str | None = None) -> None:
        """Put a stop on the screen, the selected frame in focus."""
        again = view.given_again
        seeds = tuple(sorted({seed for name, seed in self._seeds.items() if name not in again}))
        first = self.shown is None
        self._show(Shown(view, view.selected, self.model.graph, self._noted(again), error, seeds=seeds))
        stop = view.snapshot.stop
        told = stop.text
        if view.snapshot.outputs:
            # On a small screen another tab has them.
            told += "; r restarts it" if self.panes["outputs"].display else "; 9 shows what it gave, r restarts it"
        self.message.say(told, error=stop.reason is Reason.ERROR)
        if first and self.shown is not None and not (self.shown.has_loops or self.shown.done):
            # Once the panes have their places.
            self.call_after_refresh(self.action_graph)

    def _noted(self, again: Collection[str]) -> str:
        """Where the inputs come from, some of which a restart gave."""
        if not again:
            return self._inputs_note
        names = [port.name for port in self.model.inputs]
        told = f"{', '.join(name for name in names if name in again)} by restart"
        return told if set(again) >= set(names) or not self._inputs_note else f"{told}; {self._inputs_note}"

    # -- commands

    def ask(self, command: Request) -> None:
        """Start a command, or run a line in the console; the screen follows when it stops."""
        if command is Command.RESTART:
            self.prompt.drop_waiting()
        if self.driver.ask(command):
            self._idle.clear()
            if self._ticker is not None:
                self._ticker.resume()
        else:
            self.message.say(f"still running: {self.interrupt_key} interrupts")

    def action_ask(self, command: str) -> None:
        self.ask(Command(command))

    def action_line(self, line: str) -> None:
        """Run a line in the console."""
        self.prompt.say(f"> {line}")
        self._make_room()
        self.ask(Listed(line))

    def action_ask_line(self, line: str) -> None:
        """Run a line whose answer is shown elsewhere than in the console."""
        self.ask(line)

    def action_graph(self) -> None:
        if self.shown is not None:
            self.push_screen(
                GraphScreen(self.actions, self.shown, self.ask, self.inspect), lambda _: self._show_panes()
            )

    def action_why(self) -> None:
        self.ask(Panel("why"))

    @on(ConsolePane.Entered)
    def entered(self, message: ConsolePane.Entered) -> None:
        """A line was typed into the console."""
        line = message.line
        try:
            if not self.driver.busy:
                self.ask(Typed(line))
            elif (said := self.driver.aside(line)) is not None:
                self.prompt.say(*said)
                self.prompt.run_waiting()
            elif not self.driver.ask(Typed(line)):
                raise UsageError(
                    f"still running: {self.interrupt_key} interrupts; help and info breakpoints can be asked meanwhile"
                )
        except LoopdbgError as problem:
            self.prompt.say(f"error: {self.driver.told(problem)}")
            self.prompt.refused(line)

    def action_interrupt(self) -> None:
        self.driver.interrupt()
        self.prompt.drop_waiting()

    def action_interrupt_always(self) -> None:
        self.action_interrupt()

    def action_stop(self) -> None:
        """As interrupt, for keys that mean it elsewhere: where nothing runs they say so."""
        if self.driver.busy:
            self.action_interrupt()
        else:
            self.message.say("nothing runs; q quits")

    # -- frames

    def action_frame(self, step: int) -> None:
        """Select the frame around (-1) or inside (1) the one in focus."""
        if self.shown is None:
            return
        depth = None if self.shown.depth is None else self.shown.depth + step
        if depth is not None and 0 <= depth < len(self.shown.view.frames):
            self.select(depth)
        else:
            self.message.say(f"no frame {'around' if step < 0 else 'inside'} this one is running")

    def select(self, depth: int) -> None:
        """Select a frame, 0 the main graph; commands are about it as well."""
        if self.shown is None:
            return
        frames = self.shown.view.frames
        try:
            free = self.driver.select(len(frames) - 1 - depth)
        except LoopdbgError as problem:
            self.message.say(self.driver.told(problem), error=True)
            return
        if not free:
            self.message.say(f"still running: {self.interrupt_key} interrupts")
            return
        self._look_at(frames[depth])
        if self.shown.view.displays:
            view = self.shown.view
            self.driver.find_displays(lambda found, error: self.call_later(self._show_displays, view, found))

    def _show_displays(self, view: View, displays: tuple[Displayed, ...] | None) -> None:
        """Other values of what is displayed at a stop: another frame is in focus."""
        if displays is not None and self.shown is not None and self.shown.view is view:
            self._show(replace(self.shown, view=replace(view, displays=displays)))

    @on(Header.Chosen)
    def frame_chosen(self, message: Header.Chosen) -> None:
        """The name of a frame was clicked."""
        self.select(message.depth)

    def _look_at(self, frame: FrameView) -> None:
        if self.shown is not None:
            self._show(replace(self.shown, frame=frame))

    # -- what the cursor is on

    @on(Body.Gutter)
    def gutter(self) -> None:
        """The place for a breakpoint was clicked."""
        self.action_break_here()

    @on(Timeline.Picked)
    def picked(self, message: Timeline.Picked) -> None:
        """An iteration was pointed at."""
        if not self.driver.busy:
            self.travel(message.target)

    @on(Pane.Opened)
    def opened(self) -> None:
        """A line was clicked twice."""
        self.action_open()

    def action_open(self) -> None:
        """Open what the cursor is on."""
        target = self.target
        if self._pane.is_line and self.bench.unfold(self._pane.id or ""):
            self.call_after_refresh(self._pane.focus)
        elif isinstance(target, FrameTarget):
            if target.depth is not None:
                self.select(target.depth)
        elif isinstance(target, BreakpointTarget):
            self._toggle(target.number)
        elif isinstance(target, DisplayTarget):
            self.action_edit_display()
        elif isinstance(target, MomentTarget):
            self.travel(target)
        elif isinstance(target, LineTarget) and target.head:
            self.body.fold()
        elif (value := value_of(target)) is not None:
            self.inspect(value)
        else:
            self.message.say("nothing to open on this line")

    def inspect(self, target: ValueTarget, plot: bool = False) -> None:
        """Open a value on a screen of its own."""
        if self.shown is not None:
            self.push_screen(InspectorScreen(self.driver, target, self.shown, plot, self.actions), self._inspected)

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

    def action_plot(self) -> None:
        value = value_of(self.target)
        if value is not None:
            self.inspect(value, plot=True)
        else:
            self.message.say("plot needs the cursor on a value")

    def action_break_here(self) -> None:
        """A breakpoint on the line of the cursor, or none any more."""
        target, value = self.target, value_of(self.target)
        if isinstance(target, LineTarget) and target.node and not self.now.recorded:
            self._toggle_line(target.number)
        elif value is not None:
            self.action_console(f"break if {quote(value.name)} ")
        else:
            self.action_console("break ")

    def action_run_here(self) -> None:
        """Run to the node on the line of the cursor."""
        if isinstance(self.target, LineTarget) and self.target.node:
            self.ask(f"advance line {self.target.number}")
        else:
            self.message.say("nothing runs on this line: the cursor has to be on one with a node")

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
        else:
            self.message.say("nothing to delete: the cursor is on no breakpoint")

    def action_edit_breakpoint(self) -> None:
        target, shown = self.target, self.shown
        found = shown.view.snapshot.breakpoints if shown is not None else ()
        one = next((b for b in found if isinstance(target, BreakpointTarget) and b.number == target.number), None)
        if one is not None:
            self.push_screen(BreakpointScreen(self.actions, one, self.ask))

    def action_watch(self) -> None:
        value = value_of(self.target)
        self.action_console("watch " if value is None else f"watch {quote(value.name)}")

    def action_display(self) -> None:
        value = value_of(self.target)
        self.action_console("display " if value is None else f"display {quote(value.name)}")

    def action_edit_display(self) -> None:
        if isinstance(self.target, DisplayTarget):
            self.action_console(f"display {self.target.number}: {self.target.expression}")

    def action_delete_display(self) -> None:
        if isinstance(self.target, DisplayTarget):
            self.ask(f"undisplay {self.target.number}")

    def action_edit(self) -> None:
        if self.now.recorded:
            # At once, not after a line was typed.
            self.message.say(self.driver.refusal("changing a value"), error=True)
            return
        value = value_of(self.target)
        self.action_console("set " if value is None else f"set {quote(value.name)} = ")

    # -- leaving

    async def action_quit(self) -> None:
        branches = self.shown.view.snapshot.branches if self.shown is not None else ()
        lost = [f"branch {one.number}: {'; '.join(one.edits)}" for one in branches if one.edits]
        if lost:
            self.push_screen(LeaveScreen(self.actions, lost), self._leave)
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
            if self.body.heading[1].endswith(_STALE) and message.view is None:
                self.body.rebuild(follow=False)
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
        if isinstance(message.command, BreakpointEdit) and isinstance(self.screen, BreakpointScreen):
            self.screen.answered(message.error)
            if message.error is not None:
                return
        command, said, error = message.command, message.said, message.error
        transcript = isinstance(command, Typed | Listed)
        if isinstance(command, Panel) and error is None:
            self.push_screen(PanelScreen(self.actions, command, command.capitalize(), said))
        elif isinstance(command, Command) or transcript:
            self.prompt.say(*said)
        elif error is None and not self._told(message):
            self.message.say("; ".join(said))
        if error is not None and transcript:
            self.prompt.say(f"error: {error}")
            self.prompt.refused(command)
        elif error is not None:
            self.message.say(error, error=True)
        elif isinstance(command, Typed) and self.prompt.once:
            self.action_close()
            if not self._told(message):
                self.message.say("; ".join(said))
        elif isinstance(command, Typed):
            self.prompt.run_waiting()

    @staticmethod
    def _told(message: Stopped) -> bool:
        """Whether the stop on the screen tells all that a command said."""
        said, view = message.said, message.view
        return not said or (view is not None and said[0] == view.snapshot.stop.text)

    def _tick(self) -> None:
        self._rest()
        progress = self.driver.progress()
        if progress is None or progress.seconds < PATIENCE:
            return
        if not self._slow:
            self._slow = True
            self.look_around()
            # It alone does not move along.
            title, of = self.body.heading
            self.body.set_title(title, f"{of}{_STALE}")
            self.value.set_title(self.value.heading[0], _STALE.removeprefix(", "))
        self.header.progress = progress
        frame = None if self.shown is None else self.shown.frame.frame
        if frame is not None:
            self.message.say_running(progress, frame.name, progress.iterations.get(frame.path), self.interrupt_key)
            if isinstance(self.screen, GraphScreen):
                # It covers the message.
                self.screen.say(self.message.text)
        running = None if self.shown is None else while_running(self.shown, progress.lately, progress.underway)
        if running is not None:
            for name in ("back-edges", "condition", "scans", "stack", "timeline"):
                self.panes[name].shown = running

    async def idle(self) -> None:
        """Wait until no command runs or waits, and the screen shows the last stop."""
        await self._idle.wait()
