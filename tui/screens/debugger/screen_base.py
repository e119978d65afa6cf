"""What the parts of the debugger screen use of it."""

from __future__ import annotations

from ...actions import ActionContext
from ...render.stop_view import ScreenState
from ...widgets.console import ConsolePane
from ...widgets.header import Header
from ...widgets.status_message import StatusMessage
from ..main_screen_base import MainScreen
from .lesson_panel import LessonPanel
from .pane_control import PaneControl


class DebuggerScreenBase(MainScreen):
    """The widgets of a debugger screen, and what its parts ask of it."""

    screen_state: ScreenState | None
    header: Header
    status_message: StatusMessage
    console_pane: ConsolePane
    pane_control: PaneControl
    lesson: LessonPanel | None

    def show_state(self, state: ScreenState) -> None:
        """Show a stop, in the panes or in the graph above them."""
        raise NotImplementedError

    def show_panes(self) -> None:
        """Show the stop in the panes."""
        raise NotImplementedError

    def refresh_context(self) -> None:
        """Update what depends on the cursor and on what runs."""
        raise NotImplementedError

    def open_graph(self) -> None:
        """Show the graph above the panes."""
        raise NotImplementedError

    def close_console(self) -> None:
        """Close the console line."""
        raise NotImplementedError

    @property
    def lesson_refusal_text(self) -> str:
        """The refusal of what could give away the answer of a lesson; "" unless it waits for one."""
        raise NotImplementedError

    @property
    def action_context(self) -> ActionContext:
        """The state that decides which actions apply."""
        raise NotImplementedError

    @property
    def interrupt_key(self) -> str:
        """The name of the key that interrupts the running command."""
        raise NotImplementedError
