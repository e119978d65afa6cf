"""The debugger's app: turns actions into commands for the session worker, and stops into views for the panes."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from textual import on
from textual.timer import Timer

from ..debugger.describe.value_names import quote
from ..debugger.session.stop import Reason
from ..runtime.errors import LoopdbgError, UsageError
from .actions import ACTIONS, Action
from .render.display_values import DisplayValue
from .render.pane_layout import PaneArrangement
from .render.stop_view import FrameView, ScreenState, StopView, live_screen_state
from .render.targets import (
    BreakpointTarget,
    DisplayTarget,
    FrameTarget,
    IterationTarget,
    LineTarget,
    ValueTarget,
    value_target,
)
from .screens.breakpoint_editor import BreakpointScreen
from .screens.graph import GraphScreen
from .screens.inspector import InspectorScreen
from .screens.panel import PanelScreen, QuitConfirmScreen
from .screens.panes_app import PanesApp
from .session_worker import CommandFinished, SessionWorker
from .widgets.console import ConsolePane
from .widgets.header import Header
from .widgets.pane import Pane
from .widgets.source import SourcePane
from .widgets.timeline import TimelinePane
from .worker_requests import BreakpointEdit, EchoedCommand, PanelQuery, SessionCommand, TypedLine, WorkerRequest

#: Shorter commands never show as running, so that the screen does not flicker while stepping.
RUNNING_SHOWN_AFTER_SECONDS = 0.15
#: Appended to the source's subtitle during a long run.
_STALE_SUFFIX = ", at the last stop"


class LoopdbgApp(PanesApp):
    """The debugger on one model. Contains no model logic: the worker steps and returns views, which the panes show.

    ``inputs_note``: the source of the inputs; ``seeds``: the seeds of random inputs by name.
    """

    def __init__(
        self,
        worker: SessionWorker,
        inputs_note: str = "",
        actions: Sequence[Action] | None = None,
        seeds: Mapping[str, int] | None = None,
        arrangement: PaneArrangement | None = None,
    ) -> None:
        super().__init__(worker.model.name, worker.complete, ACTIONS if actions is None else actions, arrangement)
        self.session_worker = worker
        #: The model shown.
        self.model = worker.model
        #: An unexpected exception in the worker thread, to be raised by the caller.
        self.internal_error: Exception | None = None
        self._inputs_note = inputs_note
        self._seeds = dict(seeds or {})
        self._idle = asyncio.Event()
        self._ticker: Timer | None = None
        #: The number of finished commands that the screen has shown.
        self._finished_shown = 0

    @property
    def busy(self) -> bool:
        """Whether a command runs or waits."""
        return self.session_worker.busy

    def on_mount(self) -> None:
        # Textual calls on_mount of every class in the MRO.
        self._ticker = self.set_interval(0.1, self._tick, pause=True)
        self.session_worker.post = self.post_message
        self.submit(SessionCommand.START)

    def show_stop(self, view: StopView, error: str | None = None) -> None:
        """Show a stop with the selected frame in focus."""
        replaced = view.restart_inputs
        seeds = tuple(sorted({seed for name, seed in self._seeds.items() if name not in replaced}))
        is_first = self.screen_state is None
        self._show_state(
            ScreenState(view, view.selected, self.model.graph, self._inputs_source(replaced), error, seeds=seeds)
        )
        stop = view.snapshot.stop
        message = stop.text
        if view.snapshot.outputs:
            # On a small screen the outputs are on another tab.
            message += "; r restarts it" if self.panes["outputs"].display else "; 9 shows what it gave, r restarts it"
        self.status_message.say(message, error=stop.reason is Reason.ERROR)
        if is_first and self.screen_state is not None and not (self.screen_state.has_loops or self.screen_state.done):
            # Deferred until the panes are placed.
            self.call_after_refresh(self.action_graph)

    def _inputs_source(self, replaced: Collection[str]) -> str:
        """The source of the inputs, some of which a restart may have replaced."""
        if not replaced:
            return self._inputs_note
        names = [port.name for port in self.model.inputs]
        note = f"{', '.join(name for name in names if name in replaced)} by restart"
        return note if set(replaced) >= set(names) or not self._inputs_note else f"{note}; {self._inputs_note}"

    # -- commands

    def submit(self, command: WorkerRequest) -> None:
        """Start a command or a console line; the screen updates when it stops."""
        if command is SessionCommand.RESTART:
            self.console_pane.drop_pasted()
        if self.session_worker.submit(command):
            self._idle.clear()
            if self._ticker is not None:
                self._ticker.resume()
        else:
            self.status_message.say(f"still running: {self.interrupt_key} interrupts")

    def action_ask(self, command: str) -> None:
        self.submit(SessionCommand(command))

    def action_line(self, line: str) -> None:
        """Run a line in the console."""
        self.console_pane.say(f"> {line}")
        self._update_console_class()
        self.submit(EchoedCommand(line))

    def action_ask_line(self, line: str) -> None:
        """Run a line whose output is not shown in the console."""
        self.submit(line)

    def action_graph(self) -> None:
        if self.screen_state is not None:
            self.push_screen(
                GraphScreen(self.actions, self.screen_state, self.submit, self.open_inspector),
                lambda _: self._show_panes(),
            )

    def action_why(self) -> None:
        self.submit(PanelQuery("why"))

    @on(ConsolePane.LineEntered)
    def handle_console_line(self, message: ConsolePane.LineEntered) -> None:
        """A line was typed into the console."""
        line = message.line
        try:
            if not self.session_worker.busy:
                self.submit(TypedLine(line))
            elif (output := self.session_worker.answer_while_busy(line)) is not None:
                self.console_pane.say(*output)
                self.console_pane.run_next_pasted()
            elif not self.session_worker.submit(TypedLine(line)):
                raise UsageError(
                    f"still running: {self.interrupt_key} interrupts; help and info breakpoints can be asked meanwhile"
                )
        except LoopdbgError as problem:
            self.console_pane.say(f"error: {self.session_worker.error_text(problem)}")
            self.console_pane.reject_line(line)

    def action_interrupt(self) -> None:
        self.session_worker.interrupt()
        self.console_pane.drop_pasted()

    def action_interrupt_always(self) -> None:
        self.action_interrupt()

    def action_stop(self) -> None:
        """Interrupt, or report that nothing runs: for keys that users of other programs expect to interrupt."""
        if self.session_worker.busy:
            self.action_interrupt()
        else:
            self.status_message.say("nothing runs; q quits")

    # -- frames

    def action_frame(self, step: int) -> None:
        """Select the frame around (-1) or inside (1) the one in focus."""
        if self.screen_state is None:
            return
        depth = None if self.screen_state.depth is None else self.screen_state.depth + step
        if depth is not None and 0 <= depth < len(self.screen_state.view.frames):
            self.select_frame(depth)
        else:
            self.status_message.say(f"no frame {'around' if step < 0 else 'inside'} this one is running")

    def select_frame(self, depth: int) -> None:
        """Select a frame, 0 the main graph, for display and commands."""
        if self.screen_state is None:
            return
        frames = self.screen_state.view.frames
        try:
            is_free = self.session_worker.select_frame(len(frames) - 1 - depth)
        except LoopdbgError as problem:
            self.status_message.say(self.session_worker.error_text(problem), error=True)
            return
        if not is_free:
            self.status_message.say(f"still running: {self.interrupt_key} interrupts")
            return
        self._focus_frame(frames[depth])
        if self.screen_state.view.displays:
            view = self.screen_state.view
            self.session_worker.query_displays(
                lambda values, error: self.call_later(self._update_displays, view, values)
            )

    def _update_displays(self, view: StopView, displays: tuple[DisplayValue, ...] | None) -> None:
        """Show the displays evaluated in the newly selected frame."""
        if displays is not None and self.screen_state is not None and self.screen_state.view is view:
            self._show_state(replace(self.screen_state, view=replace(view, displays=displays)))

    @on(Header.FrameSelected)
    def handle_frame_selected(self, message: Header.FrameSelected) -> None:
        """The name of a frame was clicked."""
        self.select_frame(message.depth)

    def _focus_frame(self, frame: FrameView) -> None:
        if self.screen_state is not None:
            self._show_state(replace(self.screen_state, frame=frame))

    # -- the target of the cursor

    @on(SourcePane.GutterClicked)
    def handle_gutter_click(self) -> None:
        """Toggle the breakpoint of the clicked line."""
        self.action_break_here()

    @on(TimelinePane.IterationPicked)
    def handle_iteration_picked(self, message: TimelinePane.IterationPicked) -> None:
        """Go to the clicked iteration."""
        if not self.session_worker.busy:
            self.go_to_iteration(message.target)

    @on(Pane.LineOpened)
    def handle_line_opened(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Open the target of the cursor."""
        target = self.target
        if self._focused_pane.is_one_line and self.pane_grid.expand_pane(self._focused_pane.id or ""):
            self.call_after_refresh(self._focused_pane.focus)
        elif isinstance(target, FrameTarget):
            if target.depth is not None:
                self.select_frame(target.depth)
        elif isinstance(target, BreakpointTarget):
            self._toggle_breakpoint(target.number)
        elif isinstance(target, DisplayTarget):
            self.action_edit_display()
        elif isinstance(target, IterationTarget):
            self.go_to_iteration(target)
        elif isinstance(target, LineTarget) and target.is_head:
            self.source_pane.fold()
        elif (value := value_target(target)) is not None:
            self.open_inspector(value)
        else:
            self.status_message.say("nothing to open on this line")

    def open_inspector(self, target: ValueTarget, plot: bool = False) -> None:
        """Open the inspector of a value."""
        if self.screen_state is not None:
            self.push_screen(
                InspectorScreen(self.session_worker, target, self.screen_state, plot, self.actions),
                self._inspector_closed,
            )

    def _inspector_closed(self, line: str | None) -> None:
        """Continue a console line begun in the inspector."""
        if line:
            self.action_console(line)

    def go_to_iteration(self, target: IterationTarget) -> None:
        """Go to an iteration; on another branch, first to that branch."""
        if target.branch is not None:
            self.submit(f"branch {target.branch}")
        else:
            self.submit(f"goto {target.iteration}")

    def action_plot(self) -> None:
        value = value_target(self.target)
        if value is not None:
            self.open_inspector(value, plot=True)
        else:
            self.status_message.say("plot needs the cursor on a value")

    def action_break_here(self) -> None:
        """Toggle the breakpoint on the line of the cursor, or begin one on its value."""
        target, value = self.target, value_target(self.target)
        if isinstance(target, LineTarget) and target.node and not self.action_context.is_recording:
            self._toggle_line_breakpoint(target.number)
        elif value is not None:
            self.action_console(f"break if {quote(value.name)} ")
        else:
            self.action_console("break ")

    def action_run_here(self) -> None:
        """Run to the node on the line of the cursor."""
        if isinstance(self.target, LineTarget) and self.target.node:
            self.submit(f"advance line {self.target.number}")
        else:
            self.status_message.say("nothing runs on this line: the cursor has to be on one with a node")

    def _toggle_line_breakpoint(self, number: int) -> None:
        if self.screen_state is None:
            return
        node = next((line.node for line in self.source_pane.listing_lines if line.number == number), None)
        breakpoints = self.screen_state.view.snapshot.breakpoints
        hits = [b.number for b in breakpoints if node is not None and node in (*b.nodes, *b.boundary_loops)]
        self.submit(f"delete {' '.join(map(str, hits))}" if hits else f"break line {number}")

    def _toggle_breakpoint(self, number: int) -> None:
        breakpoints = self.screen_state.view.snapshot.breakpoints if self.screen_state is not None else ()
        for bp in breakpoints:
            if bp.number == number:
                self.submit(f"{'disable' if bp.enabled else 'enable'} {number}")

    def action_delete_breakpoint(self) -> None:
        if isinstance(self.target, BreakpointTarget):
            self.submit(f"delete {self.target.number}")
        else:
            self.status_message.say("nothing to delete: the cursor is on no breakpoint")

    def action_edit_breakpoint(self) -> None:
        target, state = self.target, self.screen_state
        items = state.view.snapshot.breakpoints if state is not None else ()
        bp = next((b for b in items if isinstance(target, BreakpointTarget) and b.number == target.number), None)
        if bp is not None:
            self.push_screen(BreakpointScreen(self.actions, bp, self.submit))

    def action_watch(self) -> None:
        value = value_target(self.target)
        self.action_console("watch " if value is None else f"watch {quote(value.name)}")

    def action_display(self) -> None:
        value = value_target(self.target)
        self.action_console("display " if value is None else f"display {quote(value.name)}")

    def action_edit_display(self) -> None:
        if isinstance(self.target, DisplayTarget):
            self.action_console(f"display {self.target.number}: {self.target.expression}")

    def action_delete_display(self) -> None:
        if isinstance(self.target, DisplayTarget):
            self.submit(f"undisplay {self.target.number}")

    def action_edit(self) -> None:
        if self.action_context.is_recording:
            # Refuse at once, not after a line was typed.
            self.status_message.say(self.session_worker.refusal("changing a value"), error=True)
            return
        value = value_target(self.target)
        self.action_console("set " if value is None else f"set {quote(value.name)} = ")

    # -- leaving

    async def action_quit(self) -> None:
        branches = self.screen_state.view.snapshot.branches if self.screen_state is not None else ()
        edits = [f"branch {branch.number}: {'; '.join(branch.edits)}" for branch in branches if branch.edits]
        if edits:
            self.push_screen(QuitConfirmScreen(self.actions, edits), self._quit_if_confirmed)
        else:
            self._quit_if_confirmed(True)

    def _quit_if_confirmed(self, confirmed: bool | None) -> None:
        if confirmed:
            self.session_worker.close()
            self.exit(0)

    def on_unmount(self) -> None:
        self.session_worker.close()

    # -- results

    @on(CommandFinished)
    def handle_command_finished(self, message: CommandFinished) -> None:
        """Show the result of a command."""
        if message.internal_error is not None:
            self.internal_error = message.internal_error
            self.exit(1)
        try:
            self.header.progress = None
            self._long_running = False
            if message.quit_requested:
                self.exit(0)
            if message.model is not None:
                self.model = message.model
            if message.view is not None:
                self.show_stop(message.view, message.error)
            self._show_result(message)
        finally:
            if self.source_pane.heading[1].endswith(_STALE_SUFFIX) and message.view is None:
                self.source_pane.rebuild(follow=False)
            self._update_console_class()
            self._finished_shown += 1
            self._pause_ticker_if_idle()

    def _pause_ticker_if_idle(self) -> None:
        """Pause the ticker once all commands have ended and are shown; commands dropped by an interrupt never end."""
        if not self.session_worker.has_pending_command and self._finished_shown == self.session_worker.finished_count:
            if self._ticker is not None:
                self._ticker.pause()
            self._idle.set()

    def _show_result(self, message: CommandFinished) -> None:
        """Show the output or the error of a command in the place for its kind."""
        if isinstance(message.command, BreakpointEdit) and isinstance(self.screen, BreakpointScreen):
            self.screen.handle_result(message.error)
            if message.error is not None:
                return
        command, output, error = message.command, message.output, message.error
        transcript = isinstance(command, TypedLine | EchoedCommand)
        if isinstance(command, PanelQuery) and error is None:
            self.push_screen(PanelScreen(self.actions, command, command.capitalize(), output))
        elif isinstance(command, SessionCommand) or transcript:
            self.console_pane.say(*output)
        elif error is None and not self._stop_covers_output(message):
            self.status_message.say("; ".join(output))
        if error is not None and transcript:
            self.console_pane.say(f"error: {error}")
            self.console_pane.reject_line(command)
        elif error is not None:
            self.status_message.say(error, error=True)
        elif isinstance(command, TypedLine) and self.console_pane.one_shot:
            self.action_close()
            if not self._stop_covers_output(message):
                self.status_message.say("; ".join(output))
        elif isinstance(command, TypedLine):
            self.console_pane.run_next_pasted()

    @staticmethod
    def _stop_covers_output(message: CommandFinished) -> bool:
        """Whether the displayed stop already contains the command's output."""
        output, view = message.output, message.view
        return not output or (view is not None and output[0] == view.snapshot.stop.text)

    def _tick(self) -> None:
        self._pause_ticker_if_idle()
        progress = self.session_worker.progress()
        if progress is None or progress.seconds < RUNNING_SHOWN_AFTER_SECONDS:
            return
        if not self._long_running:
            self._long_running = True
            self.refresh_context()
            # The source and the value pane are not updated during the run.
            title, subtitle = self.source_pane.heading
            self.source_pane.set_title(title, f"{subtitle}{_STALE_SUFFIX}")
            self.value_pane.set_title(self.value_pane.heading[0], _STALE_SUFFIX.removeprefix(", "))
        self.header.progress = progress
        frame = None if self.screen_state is None else self.screen_state.frame.frame
        if frame is not None:
            self.status_message.say_running(
                progress, frame.name, progress.iterations.get(frame.path), self.interrupt_key
            )
            if isinstance(self.screen, GraphScreen):
                # The graph screen covers the status line.
                self.screen.say(self.status_message.text)
        live_state = (
            None
            if self.screen_state is None
            else live_screen_state(self.screen_state, progress.histories, progress.live_status)
        )
        if live_state is not None:
            for name in ("back-edges", "condition", "scans", "stack", "timeline"):
                self.panes[name].screen_state = live_state

    async def wait_until_idle(self) -> None:
        """Wait until no command runs or waits, and the screen shows the last stop."""
        await self._idle.wait()
