"""The view part of the app: shows a stop in panes, with cursor, layout and modal screens.

It has no session and runs nothing: :class:`..app.LoopdbgApp` does.
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
from .. import user_state
from ..actions import PANES, Action, ActionContext, ScreenKind, actions_by_id, actions_on, interrupt_key, key_name
from ..render.formatting import escape_unprintable
from ..render.pane_layout import TABS, PaneArrangement
from ..render.stop_view import ScreenState
from ..render.target_base import Target
from ..themes import DARK, LIGHT
from ..widgets.back_edges import BackEdgesPane
from ..widgets.breakpoints import BreakpointsPane
from ..widgets.cached_styles import cache_rows
from ..widgets.condition import ConditionPane
from ..widgets.console import Completer, ConsolePane
from ..widgets.detail_line import DetailLine
from ..widgets.displays import DisplaysPane
from ..widgets.graph_overview import GraphOverview
from ..widgets.header import Header
from ..widgets.inputs import InputsPane
from ..widgets.line_input import LineInput, pasted_lines
from ..widgets.outputs import OutputsPane
from ..widgets.pane import Pane
from ..widgets.pane_grid import PaneGrid
from ..widgets.scans import ScansPane
from ..widgets.source import SourcePane
from ..widgets.stack import StackPane
from ..widgets.status_message import StatusMessage
from ..widgets.tab_bar import TabBar
from ..widgets.timeline import TimelinePane
from ..widgets.value_at_cursor import ValuePane
from .base_app import BaseApp
from .graph import GraphScreen
from .help import HelpScreen
from .inspector import InspectorScreen
from .palette import PaletteScreen, pane_action_groups, screen_action_groups


class _PanesScreen(Screen[None]):
    """The base screen. A change of focus redraws only the two panes concerned."""

    focused = Reactive[Widget | None](None, repaint=False)


class PanesApp(BaseApp[int]):
    """A stop of a model, in panes. ``actions``: the action table with the user's keys; ``arrangement``: the saved
    layout of the panes."""

    AUTO_FOCUS = "#body"
    ESCAPE_TO_MINIMIZE = False

    def __init__(
        self, model: str, complete: Completer, actions: Sequence[Action], arrangement: PaneArrangement | None = None
    ) -> None:
        super().__init__(ScreenKind.PANES, actions)
        self._actions_by_textual_action = _group_by_textual_action(actions_on(ScreenKind.PANES, self.actions))
        # Stored, because a query searches the top screen only, which may be the help.
        self._base_screen = _PanesScreen(id="_default")
        cache_rows(self._base_screen)
        self.header = Header(model, id="header")
        self.status_message = StatusMessage(id="message")
        self.detail_line = DetailLine(id="detail")
        self.source_pane = SourcePane(id="body")
        self.console_pane = ConsolePane(complete, lambda: self.source_pane.line_names, id="console")
        self.panes: dict[str, Pane] = {
            "body": self.source_pane,
            "stack": StackPane(id="stack"),
            "inputs": InputsPane(id="inputs"),
            "back-edges": BackEdgesPane(id="back-edges"),
            "condition": ConditionPane(id="condition"),
            "scans": ScansPane(id="scans"),
            "outputs": OutputsPane(id="outputs"),
            "breakpoints": BreakpointsPane(id="breakpoints"),
            "displays": DisplaysPane(id="displays"),
            "timeline": TimelinePane(id="timeline"),
        }
        for number, name in enumerate(PANES, 1):
            self.panes[name].set_number(number)
        self.tab_bar = TabBar(id="tabs")
        #: Panes that follow the cursor, on large screens.
        self.value_pane = ValuePane(id="value")
        self.graph_overview = GraphOverview(id="overview")
        panes = {name: self.panes[name] for name in PANES}
        self.pane_grid = PaneGrid({**panes, "value": self.value_pane, "overview": self.graph_overview}, id="main")
        self.screen_state: ScreenState | None = None
        self._mouse_enabled = True
        #: A command runs long enough for its progress to be shown.
        self._long_running = False
        #: The pane that has the focus, or had it before the console.
        self._focused_pane: Pane = self.source_pane
        if arrangement is not None:
            self.pane_grid.tab, self.pane_grid.maximized_pane = arrangement.tab, arrangement.maximized_pane
            self._focused_pane = self.panes.get(arrangement.maximized_pane, self.source_pane)
            self.source_pane.restore_folds(arrangement.folded)

    @property
    def arrangement(self) -> PaneArrangement:
        """The layout of the panes, to be saved."""
        return PaneArrangement(self.pane_grid.tab, self.pane_grid.maximized_pane, self.source_pane.folded_lines)

    @property
    def busy(self) -> bool:
        """Whether a command runs or waits."""
        return False

    def get_default_screen(self) -> Screen[None]:
        """See :class:`~textual.app.App`."""
        return self._base_screen

    # -- what is on the screen

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.tab_bar
        yield self.pane_grid
        yield self.console_pane
        yield self.status_message
        yield self.detail_line
        yield self.key_bar

    def on_mount(self) -> None:
        self._focus_pane()

    def _focus_pane(self) -> None:
        """Focus the pane at once, unless the console line opened meanwhile: typed-ahead keys belong to it."""
        if self._base_screen.focused is not self.console_pane.input_line:
            self._base_screen.set_focus(self._focused_pane)

    def _show_state(self, state: ScreenState) -> None:
        if self.screen_state is None and self._base_screen.focused is None:
            # If the first stop came early, the panes were not yet visible when they were focused.
            self.call_after_refresh(self._focus_pane)
        self.screen_state = state
        self._base_screen.add_class("-ready")
        graph = next((screen for screen in self.screen_stack if isinstance(screen, GraphScreen)), None)
        if graph is None:
            self._show_panes()
        else:
            # The graph covers the panes: they are built when it closes.
            graph.show_state(state)

    def _show_panes(self) -> None:
        """Show the stop in the panes."""
        state = self.screen_state
        if state is None:
            return
        requests = {name: pane.space_request(state) for name, pane in self.pane_grid.panes.items()}
        self.pane_grid.set_requests({name: request for name, request in requests.items() if request is not None})
        self.header.screen_state = state
        for pane in self.panes.values():
            pane.screen_state = state
        self.refresh_context()

    @on(PaneGrid.PanesPlaced)
    def handle_panes_placed(self) -> None:
        """Update tabs and focus after a new layout."""
        self.tab_bar.display = self.pane_grid.is_small
        self._base_screen.set_class(self.pane_grid.is_small, "-small")
        self.tab_bar.show_tabs(self.pane_grid.front_tab, self.pane_grid.non_empty_tabs)
        if not self._focused_pane.display:
            # The main pane of a tab comes first.
            names = (*(TABS[self.pane_grid.front_tab].panes if self.pane_grid.is_small else ()), *PANES)
            self._focused_pane = next(
                (self.panes[name] for name in names if self.panes[name].display), self.source_pane
            )
            if not self.console_pane.input_line.has_focus and self._no_modal_open:
                self._focused_pane.focus()
        self.refresh_context()

    @on(TabBar.TabSelected)
    def handle_tab_selected(self, message: TabBar.TabSelected) -> None:
        """Show the clicked tab."""
        self.pane_grid.show_tab(message.tab)

    @property
    def _no_modal_open(self) -> bool:
        """No screen is above the panes."""
        return self.screen_stack[-1:] == [self._base_screen]

    def refresh_context(self) -> None:
        """Update the key bar, the detail line and the panes that follow the cursor."""
        context = self.action_context
        if context == self.key_bar.action_context:
            return
        self.key_bar.action_context = context
        if context.screen_state is not None:
            self.detail_line.say("" if context.target is None else context.target.text(context.screen_state))
            self.value_pane.follow_cursor(context.screen_state, context.target)
            self.graph_overview.follow_cursor(context.screen_state, self.source_pane.cursor_node)

    @property
    def action_context(self) -> ActionContext:
        """The state that decides which actions apply."""
        return ActionContext(
            self.screen_state,
            self.busy,
            self._long_running,
            self.console_pane.display,
            self.console_pane.input_line.has_focus,
            any(isinstance(screen.focused, Input | TextArea) for screen in self.screen_stack[-1:]),
            bool(self.pane_grid.maximized_pane),
            bool(self._focused_pane.search_text),
            self._focused_pane.id or "",
            self.target,
        )

    @property
    def interrupt_key(self) -> str:
        """The name of the key that interrupts the running command."""
        stop = actions_by_id(self.actions)["stop"]
        if (
            self.focused is self.console_pane.input_line
            and not self.console_pane.input_line.value
            and "space" in stop.keys
        ):
            return key_name("space")
        return interrupt_key(self.actions, self.action_context)

    @on(ConsolePane.SpacePressed)
    async def handle_space(self) -> None:
        """In an empty line the space key acts as in the panes: no command begins with a space."""
        stop = actions_by_id(self.actions)["stop"]
        if self.busy and "space" in stop.keys:
            await self.run_action(stop.textual_action)

    @property
    def target(self) -> Target | None:
        """The target of the cursor in the pane that has or had the focus."""
        return self._focused_pane.target

    @on(events.DescendantFocus)
    def handle_focus_changed(self, event: events.DescendantFocus) -> None:
        """Record the pane that has the focus."""
        if isinstance(event.widget, Pane):
            self._focused_pane = event.widget
        self.refresh_context()

    @on(Pane.CursorMoved)
    def handle_cursor_moved(self) -> None:
        self.refresh_context()

    @on(GraphOverview.NodeSelected)
    def handle_node_selected(self, message: GraphOverview.NodeSelected) -> None:
        """Go to the source line of the clicked box."""
        self.source_pane.go_to_node(message.node)

    # -- actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether the key of an action is bound now; see :meth:`..actions.Action.is_bound`."""
        call = action if not parameters else f"{action}({', '.join(map(repr, parameters))})"
        candidates = self._actions_by_textual_action.get(call)
        return candidates is None or any(candidate.is_bound(self.action_context) for candidate in candidates)

    # -- panes

    def action_pane(self, name: str) -> None:
        """Focus a pane."""
        pane = self.panes[name]
        if self.pane_grid.bring_to_front(name, switch_tab=pane.has_focus):
            self._focused_pane = pane
            # Deferred: the pane that had the focus may be hidden just now, which moves the focus.
            self.call_after_refresh(pane.focus)
        else:
            self.status_message.say(f"{pane.pane_title}: nothing to show here")

    def action_zoom(self) -> None:
        self.pane_grid.toggle_maximized(self._focused_pane.id or "")

    def action_tab(self, step: int) -> None:
        """Show the next tab (-1: the previous one)."""
        if not self.pane_grid.is_small and not self.pane_grid.maximized_pane:
            self.status_message.say("all panes are in sight: smaller screens have tabs")
            return
        tabs = self.pane_grid.non_empty_tabs
        self.pane_grid.show_tab(tabs[(tabs.index(self.pane_grid.front_tab) + step) % len(tabs)])

    def action_fold(self, hide: bool) -> None:
        if not self.source_pane.fold(hide):
            self.status_message.say("nothing to hide here: the cursor is inside of no loop and no If")

    def action_walk(self, producer: bool) -> None:
        if not self.source_pane.go_to_related(producer):
            self.status_message.say(
                "no line makes what this one reads" if producer else "no line reads what this one makes"
            )

    def action_code(self) -> None:
        if not self.source_pane.toggle_code():
            self.status_message.say("the model does not tell what code it comes from")

    def action_mouse(self) -> None:
        """Release the mouse to the terminal, to select text, or capture it again."""
        self._mouse_enabled = not self._mouse_enabled
        driver = self._driver
        # Textual's driver checks its own flag before it switches, and again when the process resumes.
        if driver is not None:
            driver._mouse = True
            switch = getattr(driver, "_enable_mouse_support" if self._mouse_enabled else "_disable_mouse_support", None)
            if switch is not None:
                switch()
            driver._mouse = self._mouse_enabled
        self.status_message.say(
            "the mouse is loopdbg's" if self._mouse_enabled else "the mouse is the terminal's; m takes it back"
        )

    # -- the cursor

    def action_cursor(self, direction: str) -> None:
        self._focused_pane.move(direction)

    def action_find(self) -> None:
        """Open the search prompt."""
        self.console_pane.open("/", one_shot=True)
        self._update_console_class()

    def action_find_next(self, direction: int) -> None:
        if not self._focused_pane.find_text(self._focused_pane.search_text, direction):
            self.status_message.say(f"'{self._focused_pane.search_text}' is not in this pane", error=True)

    @on(ConsolePane.SearchRequested)
    def handle_search(self, message: ConsolePane.SearchRequested) -> None:
        """Find the typed text; an empty one repeats the previous search."""
        self.action_close()
        text = message.text or self._focused_pane.search_text
        if text and not self._focused_pane.find_text(text):
            self._focused_pane.search_text = ""
            self.status_message.say(f"'{text}' is not in this pane", error=True)
        self.refresh_context()

    def action_go_to_line(self) -> None:
        """Open the prompt for a line number, or the name of a value or node."""
        self.console_pane.open("@", one_shot=True)
        self._update_console_class()

    @on(ConsolePane.LineRequested)
    def handle_line_requested(self, message: ConsolePane.LineRequested) -> None:
        """Go to the requested source line; an empty request only closes the prompt."""
        self.action_close()
        if not message.text:
            return
        self.action_pane("body")
        try:
            self.source_pane.go_to_line(message.text)
        except UsageError as problem:
            self.status_message.say(str(problem), error=True)

    def action_copy(self) -> None:
        """Copy the target of the cursor, if the terminal has a clipboard."""
        target = self.target
        if target is None or self.screen_state is None:
            self.status_message.say("nothing to copy on this line")
            return
        text = target.copy_text(self.screen_state)
        self.copy_to_clipboard(text)
        self.status_message.say(f"copied {escape_unprintable(text) if len(text) < 60 else f'{len(text)} characters'}")

    # -- the console

    def action_console(self, text: str) -> None:
        """Open the console; with prefilled text for one line only."""
        self.console_pane.open(text, one_shot=bool(text))
        self._update_console_class()

    def on_paste(self, event: events.Paste) -> None:
        """Forward a paste outside of any input to the line opened meanwhile, if any."""
        line = self.focused
        if isinstance(line, LineInput):
            line.post_message(events.Paste(event.text))
        elif pasted_lines(event.text):
            self.status_message.say("nothing is typed into here: : opens the console for what was pasted")

    def _update_console_class(self) -> None:
        """Update the screen after the console opened or closed."""
        self._base_screen.set_class(self.console_pane.display, "-console")
        self.refresh_context()

    def action_close(self) -> None:
        """Hide the console, or end the search."""
        if self.console_pane.display:
            self.console_pane.close()
            self._focused_pane.focus()
            self._update_console_class()
        elif self._focused_pane.search_text:
            self._focused_pane.search_text = ""
            self.refresh_context()
        elif self.pane_grid.maximized_pane:
            self.pane_grid.toggle_maximized("")

    # -- modal screens

    def action_help(self) -> None:
        pane, lesson = self._focused_pane, self.action_context.lesson_open
        self.push_screen(HelpScreen(self.actions, pane=pane.id or "", name=pane.pane_title, lesson=lesson))

    def action_palette(self) -> None:
        """Open the palette, or close it if open."""
        top = self.screen
        if isinstance(top, PaletteScreen):
            top.action_leave()
        elif isinstance(top, InspectorScreen):
            self.push_screen(
                PaletteScreen(
                    self.actions, screen_action_groups(ScreenKind.INSPECTOR, self.actions, top.action_context)
                ),
                top.run_chosen_action,
            )
        elif isinstance(top, GraphScreen):
            self.push_screen(
                PaletteScreen(self.actions, screen_action_groups(ScreenKind.GRAPH, self.actions, top.action_context)),
                top.run_chosen_action,
            )
        elif self._no_modal_open:
            groups = pane_action_groups(self.actions, self.action_context, self._non_empty_panes())
            self.push_screen(PaletteScreen(self.actions, groups), self._run_palette_action)

    def _non_empty_panes(self) -> dict[str, tuple[str, ActionContext]]:
        """The title of each non-empty pane, and the context if it had the focus."""
        context = self.action_context
        panes = {name: pane for name, pane in self.panes.items() if self.pane_grid.has_content(name)}
        return {
            name: (pane.pane_title, replace(context, pane=name, target=pane.target, typing=False))
            for name, pane in panes.items()
        }

    def _run_palette_action(self, action: Action | None) -> None:
        if action is None:
            return
        if action.panes and self._focused_pane.id not in action.panes:
            self.action_pane(action.panes[0])
        self._run_clicked_action(action)

    def action_theme(self) -> None:
        self.theme = LIGHT.name if self.theme == DARK.name else DARK.name
        user_state.update_state(theme=self.theme)


def _group_by_textual_action(actions: Sequence[Action]) -> dict[str, list[Action]]:
    """The actions by Textual action string."""
    groups: dict[str, list[Action]] = {}
    for action in actions:
        if action.textual_action:
            groups.setdefault(action.textual_action.removeprefix("app."), []).append(action)
    return groups
