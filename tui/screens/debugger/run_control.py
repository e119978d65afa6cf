"""Runs the session: submits commands to the worker, and shows their progress, stops and output."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace

from textual.timer import Timer

from ....debugger.session.stop import Reason
from ....debugger.session.worker import RunProgress
from ....runtime.errors import LoopdbgError, UsageError
from ...actions import ActionTarget
from ...command_worker import CommandFinished, CommandWorker
from ...render.display_expressions import EvaluatedDisplay
from ...render.stop_view import ScreenState, StopView, live_screen_state
from ...render.targets import IterationTarget
from ...worker_requests import BreakpointEdit, EchoedCommand, PanelQuery, SessionCommand, TypedLine, WorkerRequest
from ..breakpoint_editor import BreakpointScreen
from ..graph import GraphScreen
from ..output_panel import PanelScreen
from .screen_base import DebuggerScreenBase

#: Shorter commands never show as running, so that the screen does not flicker while stepping.
RUNNING_SHOWN_AFTER_SECONDS = 0.15


class RunControl(ActionTarget):
    """The run of a model, shown in a debugger screen. ``inputs_note``: the source of the inputs; ``seeds``: the seeds
    of random inputs by name."""

    def __init__(
        self, screen: DebuggerScreenBase, worker: CommandWorker, inputs_note: str, seeds: Mapping[str, int] | None
    ) -> None:
        self._screen = screen
        self.session_worker = worker
        #: The model shown.
        self.model = worker.model
        #: An unexpected exception in the worker thread, to be raised by the caller.
        self.internal_error: Exception | None = None
        #: A command runs long enough for its progress to be shown.
        self.long_running = False
        self._inputs_note = inputs_note
        self._seeds = dict(seeds or {})
        self._idle = asyncio.Event()
        self._ticker: Timer | None = None
        #: The number of finished commands that the screen has shown.
        self._finished_shown = 0

    def start(self) -> None:
        """Start the session once the screen can receive messages."""
        self._ticker = self._screen.set_interval(0.1, self._refresh_progress, pause=True)
        self.session_worker.post = self._screen.post_message
        self.submit(SessionCommand.START)

    async def wait_until_idle(self) -> None:
        """Wait until no command runs or waits, and the screen shows the last stop."""
        await self._idle.wait()

    # -- commands

    def submit(self, command: WorkerRequest) -> None:
        """Start a command or a console line; the screen updates when it stops."""
        if command is SessionCommand.RESTART:
            self._screen.console_pane.drop_pasted()
        if self.session_worker.submit(command):
            self._idle.clear()
            if self._ticker is not None:
                self._ticker.resume()
        else:
            self._say_still_running()

    def _say_still_running(self) -> None:
        self._screen.say(f"still running: {self._screen.interrupt_key} interrupts")

    def action_ask(self, command: str) -> None:
        self.submit(SessionCommand(command))

    def action_line(self, line: str) -> None:
        """Run a line in the console."""
        self._screen.console_pane.say(f"> {line}")
        self._screen.refresh_context()
        self.submit(EchoedCommand(line))

    def action_ask_line(self, line: str) -> None:
        """Run a line whose output is not shown in the console."""
        self.submit(line)

    def action_why(self) -> None:
        self.submit(PanelQuery("why"))

    def run_typed_line(self, line: str) -> None:
        """Run a line that was typed into the console."""
        console, worker = self._screen.console_pane, self.session_worker
        try:
            if not worker.busy:
                self.submit(TypedLine(line))
            elif (output := worker.answer_while_busy(line)) is not None:
                console.say(*output)
                console.run_next_pasted()
            elif not worker.submit(TypedLine(line)):
                key = self._screen.interrupt_key
                raise UsageError(f"still running: {key} interrupts; help and info breakpoints can be asked meanwhile")
        except LoopdbgError as problem:
            console.say(f"error: {worker.error_text(problem)}")
            console.restore_failed_line(line)

    def action_interrupt(self) -> None:
        self.session_worker.interrupt()
        self._screen.console_pane.drop_pasted()

    def action_stop(self) -> None:
        """Interrupt, or report that nothing runs: for keys that users of other programs expect to interrupt."""
        if self.session_worker.busy:
            self.action_interrupt()
        else:
            self._screen.say("nothing runs; q quits")

    def go_to_iteration(self, target: IterationTarget) -> None:
        """Go to an iteration; on another branch, first to that branch."""
        self.submit(f"goto {target.iteration}" if target.branch is None else f"branch {target.branch}")

    # -- frames

    def action_frame(self, step: int) -> None:
        """Select the frame around (-1) or inside (1) the one in focus."""
        state = self._screen.screen_state
        if state is None:
            return
        depth = None if state.depth is None else state.depth + step
        if depth is not None and 0 <= depth < len(state.view.frames):
            self.select_frame(depth)
        else:
            self._screen.say(f"no frame {'around' if step < 0 else 'inside'} this one is running")

    def select_frame(self, depth: int) -> None:
        """Select a frame, 0 the main graph, for display and commands."""
        state = self._screen.screen_state
        if state is None:
            return
        view = state.view
        try:
            is_free = self.session_worker.select_frame(len(view.frames) - 1 - depth)
        except LoopdbgError as problem:
            self._screen.say(self.session_worker.error_text(problem), error=True)
            return
        if not is_free:
            self._say_still_running()
            return
        self._screen.show_state(replace(state, frame=view.frames[depth]))
        if view.displays:
            self.session_worker.query_displays(
                lambda values, error: self._screen.app.call_later(self._update_displays, view, values)
            )

    def _update_displays(self, view: StopView, displays: tuple[EvaluatedDisplay, ...] | None) -> None:
        """Show the displays evaluated in the newly selected frame."""
        state = self._screen.screen_state
        if displays is not None and state is not None and state.view is view:
            self._screen.show_state(replace(state, view=replace(view, displays=displays)))

    # -- results

    def show_command_result(self, message: CommandFinished) -> None:
        """Show the result of a command."""
        screen = self._screen
        if message.internal_error is not None:
            self.internal_error = message.internal_error
            screen.app.exit(1)
        try:
            screen.header.progress = None
            self.long_running = False
            if message.quit_requested:
                screen.app.exit(0)
            if message.model is not None:
                self.model = message.model
            if message.view is not None:
                self._show_stop(message.view, message.error)
            self._show_output(message)
        finally:
            if message.view is None:
                screen.pane_control.unmark_stale()
            screen.refresh_context()
            self._finished_shown += 1
            self._pause_ticker_if_idle()

    def _show_stop(self, view: StopView, error: str | None) -> None:
        """Show a stop with the selected frame in focus."""
        screen, replaced = self._screen, view.stop_state.restart_inputs
        seeds = tuple(sorted({seed for name, seed in self._seeds.items() if name not in replaced}))
        is_first = screen.screen_state is None
        state = ScreenState(view, view.selected, self.model.graph, self._inputs_source(replaced), error, seeds=seeds)
        screen.show_state(state)
        stop = view.stop_state.stop
        message = stop.text
        if view.stop_state.outputs:
            # On a small screen the outputs are on another tab.
            shown = screen.pane_control.panes["outputs"].display
            message += "; r restarts it" if shown else "; 9 shows what it gave, r restarts it"
        screen.say(message, error=stop.reason is Reason.ERROR)
        if is_first and not (state.has_loops or state.done):
            # Deferred until the panes are placed.
            screen.call_after_refresh(screen.open_graph)
        if screen.lesson_refusal_text:
            screen.say(screen.lesson_refusal_text)

    def _inputs_source(self, replaced: Collection[str]) -> str:
        """The source of the inputs, some of which a restart may have replaced."""
        if not replaced:
            return self._inputs_note
        names = [port.name for port in self.model.inputs]
        note = f"{', '.join(name for name in names if name in replaced)} by restart"
        return note if set(replaced) >= set(names) or not self._inputs_note else f"{note}; {self._inputs_note}"

    def _show_output(self, message: CommandFinished) -> None:
        """Show the output or the error of a command in the place for its kind."""
        screen, top = self._screen, self._screen.app.screen
        if isinstance(message.command, BreakpointEdit) and isinstance(top, BreakpointScreen):
            top.handle_result(message.error)
            if message.error is not None:
                return
        console, command, output, error = screen.console_pane, message.command, message.output, message.error
        transcript = isinstance(command, TypedLine | EchoedCommand)
        if isinstance(command, PanelQuery) and error is None:
            screen.app.push_screen(PanelScreen(screen.actions, command, command.capitalize(), output))
        elif isinstance(command, SessionCommand) or transcript:
            console.say(*output)
        elif error is None and not _stop_covers_output(message):
            screen.say("; ".join(output))
        if error is not None and transcript:
            console.say(f"error: {error}")
            console.restore_failed_line(command)
        elif error is not None:
            screen.say(error, error=True)
        elif isinstance(command, TypedLine) and console.one_shot:
            screen.close_console()
            if not _stop_covers_output(message):
                screen.say("; ".join(output))
        elif isinstance(command, TypedLine):
            console.run_next_pasted()

    # -- progress

    def _pause_ticker_if_idle(self) -> None:
        """Pause the ticker once all commands have ended and are shown; commands dropped by an interrupt never end."""
        if not self.session_worker.has_pending_command and self._finished_shown == self.session_worker.finished_count:
            if self._ticker is not None:
                self._ticker.pause()
            self._idle.set()

    def _refresh_progress(self) -> None:
        self._pause_ticker_if_idle()
        progress = self.session_worker.progress()
        if progress is not None and progress.seconds >= RUNNING_SHOWN_AFTER_SECONDS:
            self._show_progress(progress)

    def _show_progress(self, progress: RunProgress) -> None:
        screen, state = self._screen, self._screen.screen_state
        if not self.long_running:
            self.long_running = True
            screen.refresh_context()
            screen.pane_control.mark_stale()
        screen.header.progress = progress
        if state is None:
            return
        frame = state.frame
        count = progress.iterations.get(frame.path)
        screen.status_message.show_command_progress(progress, frame.name, count, screen.interrupt_key)
        if isinstance(screen.app.screen, GraphScreen):
            # The graph screen covers the status line.
            screen.app.screen.say(screen.status_message.text)
        live_state = live_screen_state(state, progress.histories, progress.live_status)
        if live_state is not None:
            screen.pane_control.show_live_state(live_state)


def _stop_covers_output(message: CommandFinished) -> bool:
    """Whether the displayed stop already contains the command's output."""
    output, view = message.output, message.view
    return not output or (view is not None and output[0] == view.stop_state.stop.text)
