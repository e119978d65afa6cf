"""The actions on what the cursor is on: a value, a line, a frame, a breakpoint, a display, an iteration."""

from __future__ import annotations

from ....debugger.describe.value_names import quote
from ....debugger.session.stop_state import BreakpointState
from ...actions import ActionTarget
from ...render.formatting import escape_unprintable
from ...render.target_base import Target
from ...render.targets import BreakpointTarget, DisplayTarget, FrameTarget, IterationTarget, LineTarget, value_target
from ..breakpoint_editor import BreakpointScreen
from .dialogs import Dialogs
from .run_control import RunControl
from .screen_base import DebuggerScreenBase


class TargetActions(ActionTarget):
    """Acts on the target of the cursor in the pane that has or had the focus."""

    def __init__(self, screen: DebuggerScreenBase, run: RunControl, dialogs: Dialogs) -> None:
        self._screen, self._run, self._dialogs = screen, run, dialogs

    @property
    def _cursor_target(self) -> Target | None:
        return self._screen.pane_control.focused_pane.target

    @property
    def _is_recording(self) -> bool:
        state = self._screen.screen_state
        return state is not None and state.view.stop_state.is_recording

    @property
    def _breakpoints(self) -> tuple[BreakpointState, ...]:
        state = self._screen.screen_state
        return () if state is None else state.view.stop_state.breakpoints

    @property
    def _breakpoint_at_cursor(self) -> BreakpointState | None:
        """The breakpoint that the cursor is on."""
        target = self._cursor_target
        numbers = (target.number,) if isinstance(target, BreakpointTarget) else ()
        return next((bp for bp in self._breakpoints if bp.number in numbers), None)

    def _submit(self, line: str) -> None:
        self._run.submit(line)

    def action_open(self) -> None:
        """Open the target of the cursor."""
        screen, target = self._screen, self._cursor_target
        if screen.pane_control.expand_focused():
            return
        if isinstance(target, FrameTarget):
            if target.depth is not None:
                self._run.select_frame(target.depth)
        elif isinstance(target, BreakpointTarget):
            if (bp := self._breakpoint_at_cursor) is not None:
                self._submit(f"{'disable' if bp.enabled else 'enable'} {bp.number}")
        elif isinstance(target, DisplayTarget):
            self.action_edit_display()
        elif isinstance(target, IterationTarget):
            self._run.go_to_iteration(target)
        elif isinstance(target, LineTarget) and target.is_head:
            screen.pane_control.source_pane.fold()
        elif (value := value_target(target)) is not None:
            self._dialogs.open_inspector(value)
        else:
            screen.say("nothing to open on this line")

    def action_plot(self) -> None:
        value = value_target(self._cursor_target)
        if value is not None:
            self._dialogs.open_inspector(value, plot=True)
        else:
            self._screen.say("plot needs the cursor on a value")

    def action_copy(self) -> None:
        """Copy the target, if the terminal has a clipboard."""
        screen, target = self._screen, self._cursor_target
        if target is None or screen.screen_state is None:
            screen.say("nothing to copy on this line")
            return
        text = target.copy_text(screen.screen_state)
        screen.app.copy_to_clipboard(text)
        screen.say(f"copied {escape_unprintable(text) if len(text) < 60 else f'{len(text)} characters'}")

    def action_run_here(self) -> None:
        """Run to the node on the line of the cursor."""
        if isinstance(self._cursor_target, LineTarget) and self._cursor_target.node:
            self._submit(f"advance line {self._cursor_target.number}")
        else:
            self._screen.say("nothing runs on this line: the cursor has to be on one with a node")

    # -- breakpoints

    def action_break_here(self) -> None:
        """Toggle the breakpoint on the line of the cursor, or begin one on its value."""
        target, value = self._cursor_target, value_target(self._cursor_target)
        if isinstance(target, LineTarget) and target.node and not self._is_recording:
            self._toggle_line_breakpoint(target.number)
        else:
            self._dialogs.action_console("break " if value is None else f"break if {quote(value.name)} ")

    def _toggle_line_breakpoint(self, number: int) -> None:
        if self._screen.screen_state is None:
            return
        lines = self._screen.pane_control.source_pane.all_source_lines
        node = next((line.node for line in lines if line.number == number), None)
        hits = [bp.number for bp in self._breakpoints if node is not None and node in (*bp.nodes, *bp.boundary_loops)]
        self._submit(f"delete {' '.join(map(str, hits))}" if hits else f"break line {number}")

    def action_delete_breakpoint(self) -> None:
        if isinstance(self._cursor_target, BreakpointTarget):
            self._submit(f"delete {self._cursor_target.number}")
        else:
            self._screen.say("nothing to delete: the cursor is on no breakpoint")

    def action_edit_breakpoint(self) -> None:
        if (bp := self._breakpoint_at_cursor) is not None:
            screen = self._screen
            screen.app.push_screen(BreakpointScreen(screen.actions, bp, self._run.submit))

    # -- console lines that begin with the value

    def _begin_console_line(self, command: str, suffix: str = "") -> None:
        value = value_target(self._cursor_target)
        self._dialogs.action_console(f"{command} " if value is None else f"{command} {quote(value.name)}{suffix}")

    def action_watch(self) -> None:
        self._begin_console_line("watch")

    def action_display(self) -> None:
        self._begin_console_line("display")

    def action_edit(self) -> None:
        if self._is_recording:
            # Refuse at once, not after a line was typed.
            self._screen.say(self._run.session_worker.refusal_message("changing a value"), error=True)
        else:
            self._begin_console_line("set", " = ")

    def action_edit_display(self) -> None:
        if isinstance(self._cursor_target, DisplayTarget):
            self._dialogs.action_console(f"display {self._cursor_target.number}: {self._cursor_target.expression}")

    def action_delete_display(self) -> None:
        if isinstance(self._cursor_target, DisplayTarget):
            self._submit(f"undisplay {self._cursor_target.number}")
