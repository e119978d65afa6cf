"""The Textual app: puts the widgets together, turns keys into commands and stops into what the widgets show."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.theme import Theme
from textual.timer import Timer
from textual.widgets import Footer

from ..runtime.errors import LoopdbgError
from ..runtime.model import Data, Model
from .driver import Command, Driver, Request, Stopped
from .screen.text import printable
from .screen.view import Shown, View
from .screens.help import HelpScreen
from .widgets.back_edges import BackEdges
from .widgets.body import Body
from .widgets.condition import Condition, plottable
from .widgets.console import ConsolePane
from .widgets.header import Header
from .widgets.inputs import Inputs
from .widgets.message import Message
from .widgets.outputs import Outputs
from .widgets.pane import Pane
from .widgets.scans import Scans
from .widgets.stack import Stack

if TYPE_CHECKING:
    from ..debugger.recording.replay import Replay

#: What runs shorter than this never shows as running, so that the screen stays calm while stepping.
PATIENCE = 0.15

THEME = Theme(
    name="loopdbg",
    primary="#7d9fc4",
    secondary="#8a93a0",
    accent="#d8b26a",
    warning="#d8b26a",
    error="#e07a72",
    success="#92b885",
    foreground="#ccd1d9",
    background="#14171b",
    surface="#14171b",
    panel="#1f242a",
    dark=True,
)


class LoopdbgApp(App[int]):
    """The debugger on one model. Holds no model logic: the driver steps, views come back, widgets show them."""

    TITLE = "loopdbg"
    CSS_PATH = "app.tcss"
    AUTO_FOCUS = "#body"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (28, "-tall")]
    BINDINGS = [
        Binding("s", "ask('step')", "step", tooltip="Run to the next boundary of this loop"),
        Binding("n", "ask('next node')", "node", tooltip="Run one node of the body"),
        Binding("i", "ask('into')", "into", tooltip="Run one node, but stop inside it where it is a loop"),
        Binding("f", "ask('finish')", "finish", tooltip="Run to the end of this loop"),
        Binding("c", "ask('continue')", "continue", tooltip="Run to the next breakpoint, or to the end of the model"),
        Binding("backspace", "ask('back')", "back", key_display="←", tooltip="Back by one iteration"),
        # Panes scroll by it, though never sideways.
        Binding("left", "ask('back')", show=False, priority=True),
        Binding("shift+left,N", "ask('back node')", show=False),
        Binding("C", "ask('reverse-continue')", show=False),
        Binding("r", "ask('restart')", "restart", show=False, tooltip="Back to the first loop's entry"),
        Binding("b", "console('break ')", show=False),
        Binding("w", "console('watch ')", show=False),
        Binding("e", "console('set ')", show=False),
        Binding("g", "console('goto ')", show=False),
        Binding("W", "line('why')", show=False),
        Binding("l", "line('list')", show=False),
        Binding("colon", "console('')", "command", key_display=":"),
        Binding("escape", "interrupt", "interrupt", key_display="esc"),
        Binding("escape", "close", "close", key_display="esc"),
        Binding("x,ctrl+c", "stop", show=False),
        Binding("left_square_bracket", "frame(-1)", show=False),
        Binding("right_square_bracket", "frame(1)", show=False),
        Binding("question_mark,f1", "help", "help", key_display="?"),
        Binding("q", "quit", "quit"),
        Binding("ctrl+p", "command_palette", "commands", show=False, priority=True),
    ]

    def __init__(self, driver: Driver, inputs_note: str = "") -> None:
        super().__init__()
        self.driver = driver
        #: What is wrong with this program, found in the thread that drives the session.
        self.fault: Exception | None = None
        # Kept, not looked up: a lookup searches the screen on top, which may be the help.
        self.header = Header(driver.model.name, id="header")
        self.message = Message(id="message")
        self.prompt = ConsolePane(driver.complete, id="console")
        self.body = Body(id="body")
        self.scans = Scans(id="scans")
        self.footer = Footer(compact=True)
        self.panes: dict[str, Pane] = {
            "body": self.body,
            "stack": Stack(id="stack"),
            "inputs": Inputs(id="inputs"),
            "back-edges": BackEdges(id="back-edges"),
            "condition": Condition(id="condition"),
            "scans": self.scans,
            "outputs": Outputs(id="outputs"),
        }
        self.shown: Shown | None = None
        self._inputs_note = inputs_note
        self._idle = asyncio.Event()
        self._ticker: Timer | None = None
        #: A command runs for so long that the screen says so.
        self._slow = False

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own colours, for themes that do not name them."""
        return {"muted": "#7c8591"}

    # -- what is on the screen

    def compose(self) -> ComposeResult:
        yield self.header
        with Horizontal(id="main"):
            with Vertical(id="left"):
                yield self.body
                with Horizontal(id="below"):
                    yield self.panes["stack"]
                    yield self.panes["inputs"]
            with Vertical(id="right"):
                for name in ("back-edges", "condition", "scans", "outputs"):
                    yield self.panes[name]
        yield self.prompt
        yield self.message
        yield self.footer

    def on_mount(self) -> None:
        self.register_theme(THEME)
        self.theme = THEME.name
        self._ticker = self.set_interval(0.1, self._tick, pause=True)
        self.driver.post = self.post_message
        self.body.focus()
        self.ask(Command.START)

    def show(self, view: View, error: str | None = None) -> None:
        """Put a stop on the screen, its innermost frame in focus."""
        self._show(Shown(view, view.top, self.driver.model.graph, self._inputs_note, error))
        stop = view.snapshot.stop
        self.message.say(stop.text if not view.snapshot.outputs else f"{stop.text}; r restarts it")

    def _show(self, shown: Shown) -> None:
        self.shown = shown
        frame = shown.frame.frame
        classes = {
            "-ready": True,
            "-done": shown.done,
            "-no-loop": frame.loop is None,
            "-plot": plottable(shown),
            "-bare": not frame.scans,
        }
        screen = self.screen_stack[0]
        for name, there in classes.items():
            screen.set_class(there, name)
        self.scans.roomy = not classes["-plot"] or screen.has_class("-narrow")
        self.header.shown = shown
        for pane in self.panes.values():
            pane.shown = shown

    # -- commands

    def ask(self, command: Request) -> None:
        """Start a command, or run a line in the console; the screen follows when it stops."""
        if self.driver.ask(command):
            self._idle.clear()
            if self._ticker is not None:
                self._ticker.resume()
        else:
            self.message.say("still running: esc interrupts")

    def action_ask(self, command: str) -> None:
        self.ask(Command(command))

    def action_console(self, text: str) -> None:
        """Open the console with something typed already."""
        self.prompt.open(text)
        self._make_room()

    def action_line(self, line: str) -> None:
        """Run a line in the console."""
        self.prompt.say(f"> {line}")
        self._make_room()
        self.ask(line)

    def _make_room(self) -> None:
        """After the console was opened or closed."""
        self.screen_stack[0].set_class(self.prompt.display, "-console")
        self.refresh_bindings()

    @on(ConsolePane.Entered)
    def entered(self, message: ConsolePane.Entered) -> None:
        """A line was typed into the console."""
        self.ask(message.line)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The footer shows what can be done now: interrupting what runs, or starting something."""
        if action == "interrupt":
            return self.driver.busy
        if action == "close":
            return self.prompt.display and not self.driver.busy
        if action == "ask" and self.prompt.line.has_focus:
            return False
        if action == "ask" and self._slow:
            return parameters == (str(Command.RESTART),)
        return True

    def action_interrupt(self) -> None:
        self.driver.interrupt()

    def action_close(self) -> None:
        """Hide the console."""
        self.prompt.close()
        self.body.focus()
        self._make_room()

    def action_stop(self) -> None:
        """As interrupt, for keys that mean it elsewhere: where nothing runs they say so."""
        if self.driver.busy:
            self.driver.interrupt()
        else:
            self.message.say("nothing runs; q quits")

    def action_frame(self, step: int) -> None:
        """Look at the frame around (-1) or inside (1) the one in focus."""
        if self.shown is None or self.shown.depth is None:
            return
        frames = self.shown.view.frames
        depth = min(max(self.shown.depth + step, 0), len(frames) - 1)
        self._show(Shown(self.shown.view, frames[depth], self.shown.main, self._inputs_note, self.shown.error))

    def action_help(self) -> None:
        self.push_screen(HelpScreen())

    async def action_quit(self) -> None:
        self.driver.close()
        self.exit(0)

    def on_resize(self, event: events.Resize) -> None:
        roomy = event.size.width >= 100
        if roomy != self.footer.show_command_palette:
            self.footer.show_command_palette = roomy
            self.footer.refresh(recompose=True)

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
            self._set_slow(False)
            self.prompt.say(*message.said)
            self._make_room()
            if message.quits:
                self.exit(0)
            if message.view is not None:
                self.show(message.view, message.error)
            if message.error is not None:
                typed = not isinstance(message.command, Command)
                if typed:
                    self.prompt.say(f"error: {message.error}")
                self.message.say(message.error, error=True)
                if not typed:
                    self.notify(
                        printable(message.error), title=f"{message.command} failed", severity="error", markup=False
                    )
        finally:
            if not self.driver.busy:
                if self._ticker is not None:
                    self._ticker.pause()
                self._idle.set()

    def _tick(self) -> None:
        progress = self.driver.progress()
        if progress is None or progress.seconds < PATIENCE:
            return
        self._set_slow(True)
        self.header.progress = progress
        frame = None if self.shown is None else self.shown.frame.frame
        if frame is not None:
            self.message.say_running(progress, frame.name, progress.iterations.get(frame.path))

    def _set_slow(self, slow: bool) -> None:
        if slow != self._slow:
            self._slow = slow
            self.refresh_bindings()

    async def idle(self) -> None:
        """Wait until no command runs or waits, and the screen shows the last stop."""
        await self._idle.wait()


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
    """
    return _run(Driver(model, inputs, max_iterations, told=told), inputs_note)


def replay_app(replay: Replay, told: Callable[[LoopdbgError], str]) -> int:
    """Open the debugger on a recording; returns the exit status once it is closed."""
    return _run(Driver(replay.model, {}, None, replay, told), f"from {replay.trace.path.name}")


def _run(driver: Driver, inputs_note: str) -> int:
    app = LoopdbgApp(driver, inputs_note)
    try:
        status = app.run() or 0
        if app.fault is not None:
            raise app.fault
        return status
    finally:
        driver.close()
