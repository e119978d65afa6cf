"""The screen of the debugger: the panes, with the parts that run the session, open prompts and dialogs, or a lesson."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.reactive import Reactive
from textual.widget import Widget
from textual.widgets import Input, TextArea

from ....debugger.lessons.learner import Learner
from ....debugger.lessons.locked_session import LOCKED_MESSAGE
from ...actions import (
    ACTIONS,
    Action,
    ActionContext,
    Condition,
    ScreenKind,
    actions_by_id,
    actions_of_screen,
    interrupt_key,
    key_name,
)
from ...command_worker import CommandFinished, CommandWorker
from ...render.pane_layout import PaneArrangement
from ...render.stop_view import ScreenState
from ...widgets.console import FIND_SIGN, ConsolePane
from ...widgets.detail_line import DetailLine
from ...widgets.graph_overview import GraphOverview
from ...widgets.header import Header
from ...widgets.pane import Pane
from ...widgets.pane_grid import PaneGrid
from ...widgets.row_cache import enable_row_cache
from ...widgets.source import SourcePane
from ...widgets.status_message import StatusMessage
from ...widgets.tab_bar import TabBar
from ...widgets.timeline import TimelinePane
from ..graph import GraphScreen
from .dialogs import Dialogs
from .lesson_panel import LessonPanel
from .pane_control import PaneControl
from .run_control import RunControl
from .screen_base import DebuggerScreenBase
from .target_actions import TargetActions


class DebuggerScreen(DebuggerScreenBase):
    """A stop of a model, in panes. Contains no model logic: the worker steps and returns views, which the panes show.

    ``inputs_note``: the source of the inputs; ``actions``: the action table with the user's keys; ``seeds``: the seeds
    of random inputs by name; ``arrangement``: the saved layout of the panes; ``learner``: whoever takes a lesson,
    attached to the worker's console.
    """

    AUTO_FOCUS = "#body"
    PASTE_HINT = "nothing is typed into here: : opens the console for what was pasted"
    #: A change of focus redraws only the two panes concerned.
    focused = Reactive[Widget | None](None, repaint=False)

    def __init__(
        self,
        worker: CommandWorker,
        inputs_note: str = "",
        actions: Sequence[Action] | None = None,
        seeds: Mapping[str, int] | None = None,
        arrangement: PaneArrangement | None = None,
        learner: Learner | None = None,
    ) -> None:
        super().__init__(ScreenKind.PANES, ACTIONS if actions is None else actions)
        enable_row_cache(self)
        self.screen_state: ScreenState | None = None
        self._releasable_actions = _conditional_actions_by_name(actions_of_screen(ScreenKind.PANES, self.actions))
        self.header = Header(worker.model.name, id="header")
        self.status_message = StatusMessage(id="message")
        self.detail_line = DetailLine(id="detail")
        self.lesson = None if learner is None else LessonPanel(learner)
        self.pane_control = PaneControl(arrangement, self.say)
        source = self.pane_control.source_pane
        self.console_pane = ConsolePane(worker.complete, lambda: source.line_names, id="console")
        self.run_control = RunControl(self, worker, inputs_note, seeds)
        self.dialogs = Dialogs(self, self.run_control)
        self._target_actions = TargetActions(self, self.run_control, self.dialogs)
        self.action_targets = {
            "run": self.run_control,
            "panes": self.pane_control,
            "cursor": self._target_actions,
            "dialogs": self.dialogs,
        }

    def compose(self) -> ComposeResult:
        yield self.header
        if self.lesson is not None:
            yield self.lesson.pane
        yield self.pane_control.tab_bar
        yield self.pane_control.pane_grid
        yield self.console_pane
        yield self.status_message
        yield self.detail_line
        yield self.key_bar

    def on_mount(self) -> None:
        if self.lesson is not None:
            self.lesson.pane.show_card(self.lesson.card)
            if problem := self.lesson.learner.progress.storage_error:
                self.notify(problem, severity="warning", markup=False)
        self._focus_pane()
        self.run_control.start()

    def on_unmount(self) -> None:
        self.run_control.session_worker.close()

    # -- what is on the screen

    def _focus_pane(self) -> None:
        """Focus the pane at once, unless the console line opened meanwhile: typed-ahead keys belong to it."""
        if self.focused is not self.console_pane.input_line:
            self.set_focus(self.pane_control.focused_pane)

    def show_state(self, state: ScreenState) -> None:
        """Show a stop, in the panes or in the graph above them."""
        if self.lesson is not None:
            state = self.lesson.show_state(state, self.pane_control.panes.values(), self.header)
        if self.screen_state is None and self.focused is None:
            # If the first stop came early, the panes were not yet visible when they were focused.
            self.call_after_refresh(self._focus_pane)
        self.screen_state = state
        self.add_class("-ready")
        graph = None if self.is_current else self._open_graph_screen()
        if graph is None:
            self.show_panes()
        else:
            # The graph covers the panes: they are built when it closes.
            graph.show_state(state)

    def open_graph(self) -> None:
        self.dialogs.action_graph()

    def close_console(self) -> None:
        self.dialogs.action_close()

    def _open_graph_screen(self) -> GraphScreen | None:
        return next((screen for screen in self.app.screen_stack if isinstance(screen, GraphScreen)), None)

    def show_panes(self) -> None:
        """Show the stop in the panes."""
        if self.screen_state is not None:
            self.header.screen_state = self.screen_state
            self.pane_control.show_state(self.screen_state)
            self.refresh_context()

    def say(self, text: str, error: bool = False) -> None:
        self.status_message.say(text, error)

    @property
    def lesson_refusal_text(self) -> str:
        """The refusal of what could give away the answer of a lesson; "" unless it waits for one."""
        return LOCKED_MESSAGE if self.lesson is not None and self.lesson.card.locked else ""

    def refresh_context(self) -> None:
        """Update the key bar, the detail line and the panes that follow the cursor."""
        context = self.action_context
        if context == self.key_bar.action_context:
            return
        self.key_bar.action_context = context
        if context.screen_state is None:
            return
        target = None if self.lesson_refusal_text else context.target
        self.detail_line.say("" if target is None else target.text(context.screen_state))
        self.pane_control.follow_cursor(context)

    @property
    def action_context(self) -> ActionContext:
        """The state that decides which actions apply."""
        pane, card = self.pane_control.focused_pane, None if self.lesson is None else self.lesson.card
        busy, searching, top = self.run_control.session_worker.busy, bool(pane.search_text), self.app.screen_stack[-1:]
        closable = self.console_pane.display or searching or bool(self.pane_control.pane_grid.maximized_pane)
        flags = {
            Condition.BUSY: busy,
            Condition.CAN_STOP: busy and not (top and isinstance(top[0].focused, Input | TextArea)),
            Condition.SEARCHING: searching,
            Condition.CAN_CLOSE: closable,
            Condition.IN_LESSON: card is not None,
            Condition.TAKES_ANSWER: card is not None and card.takes_answer,
            Condition.REPEATABLE: card is not None and card.repeatable,
        }
        typing, long_running = self.console_pane.input_line.has_focus, self.run_control.long_running
        return ActionContext(self.screen_state, long_running, typing, pane.id or "", pane.target, flags)

    def is_bound(self, textual_action: str) -> bool:
        """See :class:`.main_screen.MainScreen`; an action of several is bound if one of them is."""
        candidates = self._releasable_actions.get(textual_action)
        return candidates is None or any(candidate.is_bound(self.action_context) for candidate in candidates)

    @property
    def interrupt_key(self) -> str:
        """The name of the key that interrupts the running command."""
        line = self.console_pane.input_line
        if self.app.focused is line and not line.value and self._is_space_interrupt_key:
            return key_name("space")
        return interrupt_key(self.actions, isinstance(self.app.focused, Input | TextArea))

    @property
    def _is_space_interrupt_key(self) -> bool:
        return "space" in actions_by_id(self.actions)["stop"].keys

    # -- messages of widgets and of the worker

    @on(CommandFinished)
    def handle_command_finished(self, message: CommandFinished) -> None:
        """Show the result of a command; the console closes where the card of a lesson shows the reply."""
        self.run_control.show_command_result(message)
        if self.lesson is not None and self.lesson.shows_reply_to(message):
            self.call_later(self._close_console_line)

    def _close_console_line(self) -> None:
        if not self.run_control.session_worker.busy and self.console_pane.display:
            self.dialogs.action_close()

    @on(PaneGrid.PanesPlaced)
    def handle_panes_placed(self) -> None:
        self.set_class(self.pane_control.pane_grid.is_small, "-small")
        self.pane_control.handle_new_layout(self.is_current and not self.console_pane.input_line.has_focus)
        self.refresh_context()

    @on(TabBar.TabSelected)
    def handle_tab_selected(self, message: TabBar.TabSelected) -> None:
        self.pane_control.pane_grid.show_tab(message.tab)

    @on(events.DescendantFocus)
    def handle_focus_changed(self, event: events.DescendantFocus) -> None:
        if isinstance(event.widget, Pane):
            self.pane_control.focused_pane = event.widget
        self.refresh_context()

    @on(Pane.CursorMoved)
    def handle_cursor_moved(self) -> None:
        self.refresh_context()

    @on(Pane.LineOpened)
    def handle_line_opened(self) -> None:
        self._target_actions.action_open()

    @on(GraphOverview.NodeSelected)
    def handle_node_selected(self, message: GraphOverview.NodeSelected) -> None:
        """Go to the source line of the clicked box."""
        self.pane_control.source_pane.go_to_node(message.node)

    @on(Header.FrameSelected)
    def handle_frame_selected(self, message: Header.FrameSelected) -> None:
        self.run_control.select_frame(message.depth)

    @on(SourcePane.GutterClicked)
    def handle_gutter_click(self) -> None:
        """Toggle the breakpoint of the clicked line."""
        self._target_actions.action_break_here()

    @on(TimelinePane.IterationPicked)
    def handle_iteration_picked(self, message: TimelinePane.IterationPicked) -> None:
        if not self.run_control.session_worker.busy:
            self.run_control.go_to_iteration(message.target)

    @on(ConsolePane.LineEntered)
    def handle_line_entered(self, message: ConsolePane.LineEntered) -> None:
        if not message.sign:
            self.run_control.run_typed_line(message.line)
            return
        self.dialogs.action_close()
        if message.sign == FIND_SIGN:
            self.pane_control.find(message.line)
            self.refresh_context()
        elif message.line:
            self.pane_control.go_to_line(message.line)

    @on(ConsolePane.SpacePressed)
    def handle_space(self) -> None:
        """In an empty line the space key acts as in the panes: no command begins with a space."""
        if self.run_control.session_worker.busy and self._is_space_interrupt_key:
            self.run_control.action_interrupt()


def _conditional_actions_by_name(actions: Sequence[Action]) -> dict[str, list[Action]]:
    """By Textual action, the actions whose keys are not always bound."""
    groups: dict[str, list[Action]] = {}
    for action in actions:
        groups.setdefault(action.textual_action, []).append(action)
    return {name: group for name, group in groups.items() if all(a.panes or a.releases_key for a in group)}


def make_lesson_screen(learner: Learner, actions: Sequence[Action] | None = None) -> DebuggerScreen:
    """The debugger on a lesson, with the learner attached to its console."""
    session = learner.create_session()
    worker = CommandWorker(session.model, {}, None, session)
    learner.attach_console(worker.console)
    return DebuggerScreen(worker, "of the lesson", actions, learner=learner)
