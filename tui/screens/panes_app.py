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
    """The screen below all others. Another focus draws the two panes that it is about again, not everything."""

    focused = Reactive[Widget | None](None, repaint=False)


class PanesApp(BaseApp[int]):
    """A stop of a model, in panes. ``actions``: the table of what can be done, with the keys of this person;
    ``arrangement``: how the panes stood the last time."""

    AUTO_FOCUS = "#body"
    ESCAPE_TO_MINIMIZE = False

    def __init__(
        self, model: str, complete: Completer, actions: Sequence[Action], arrangement: PaneArrangement | None = None
    ) -> None:
        super().__init__(ScreenKind.PANES, actions)
        self._actions_by_textual_action = _group_by_textual_action(actions_on(ScreenKind.PANES, self.actions))
        # Kept, not looked up: a lookup searches the screen on top, which may be the help.
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
        #: What follows the cursor, where there is room for it.
        self.value_pane = ValuePane(id="value")
        self.graph_overview = GraphOverview(id="overview")
        placed = {name: self.panes[name] for name in PANES}
        self.pane_grid = PaneGrid({**placed, "value": self.value_pane, "overview": self.graph_overview}, id="main")
        self.screen_state: ScreenState | None = None
        self._mouse_enabled = True
        #: A command runs for so long that the screen says so.
        self._long_running = False
        #: The pane that had the focus last; the console takes it and gives it back.
        self._focused_pane: Pane = self.source_pane
        if arrangement is not None:
            self.pane_grid.tab, self.pane_grid.maximized_pane = arrangement.tab, arrangement.maximized_pane
            self._focused_pane = self.panes.get(arrangement.maximized_pane, self.source_pane)
            self.source_pane.restore_folds(arrangement.folded)

    @property
    def arrangement(self) -> PaneArrangement:
        """How the panes stand."""
        return PaneArrangement(self.pane_grid.tab, self.pane_grid.maximized_pane, self.source_pane.folded_lines)

    @property
    def busy(self) -> bool:
        """Whether something runs or waits."""
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
        """At once, and not where a line was opened meanwhile: what is typed ahead is for that."""
        if self._base_screen.focused is not self.console_pane.input_line:
            self._base_screen.set_focus(self._focused_pane)

    def _show_state(self, shown: ScreenState) -> None:
        if self.screen_state is None and self._base_screen.focused is None:
            # Where the first stop came quickly, the panes were not visible yet when the focus was asked for.
            self.call_after_refresh(self._focus_pane)
        self.screen_state = shown
        self._base_screen.add_class("-ready")
        above = next((screen for screen in self.screen_stack if isinstance(screen, GraphScreen)), None)
        if above is None:
            self._show_panes()
        else:
            # It covers them: they are built once it is left.
            above.show_state(shown)

    def _show_panes(self) -> None:
        """Put the stop into the panes."""
        shown = self.screen_state
        if shown is None:
            return
        needs = {name: pane.space_request(shown) for name, pane in self.pane_grid.panes.items()}
        self.pane_grid.set_requests({name: need for name, need in needs.items() if need is not None})
        self.header.screen_state = shown
        for pane in self.panes.values():
            pane.screen_state = shown
        self.refresh_context()

    @on(PaneGrid.PanesPlaced)
    def handle_panes_placed(self) -> None:
        """The panes stand elsewhere, or others are visible."""
        self.tab_bar.display = self.pane_grid.is_small
        self._base_screen.set_class(self.pane_grid.is_small, "-small")
        self.tab_bar.show_tabs(self.pane_grid.front_tab, self.pane_grid.non_empty_tabs)
        if not self._focused_pane.display:
            # What a tab is about comes first on it.
            names = (*(TABS[self.pane_grid.front_tab].panes if self.pane_grid.is_small else ()), *PANES)
            self._focused_pane = next(
                (self.panes[name] for name in names if self.panes[name].display), self.source_pane
            )
            if not self.console_pane.input_line.has_focus and self._no_modal_open:
                self._focused_pane.focus()
        self.refresh_context()

    @on(TabBar.TabSelected)
    def handle_tab_selected(self, message: TabBar.TabSelected) -> None:
        """A tab was clicked."""
        self.pane_grid.show_tab(message.tab)

    @property
    def _no_modal_open(self) -> bool:
        """No screen is above the panes."""
        return self.screen_stack[-1:] == [self._base_screen]

    def refresh_context(self) -> None:
        """After anything changed that the last two lines tell of."""
        now = self.action_context
        if now == self.key_bar.action_context:
            return
        self.key_bar.action_context = now
        if now.screen_state is not None:
            self.detail_line.say("" if now.target is None else now.target.text(now.screen_state))
            self.value_pane.follow_cursor(now.screen_state, now.target)
            self.graph_overview.follow_cursor(now.screen_state, self.source_pane.cursor_node)

    @property
    def action_context(self) -> ActionContext:
        """What the screen stands at, as far as actions depend on it."""
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
        """What a person calls the key that interrupts what runs now."""
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
        """A line does not begin with a space: in an empty one the key means what it means in the panes."""
        stop = actions_by_id(self.actions)["stop"]
        if self.busy and "space" in stop.keys:
            await self.run_action(stop.textual_action)

    @property
    def target(self) -> Target | None:
        """What the cursor is on, in the pane that has the focus or had it last."""
        return self._focused_pane.target

    @on(events.DescendantFocus)
    def handle_focus_changed(self, event: events.DescendantFocus) -> None:
        """Another pane, or the console, takes the keys."""
        if isinstance(event.widget, Pane):
            self._focused_pane = event.widget
        self.refresh_context()

    @on(Pane.CursorMoved)
    def handle_cursor_moved(self) -> None:
        """The cursor of a pane moved."""
        self.refresh_context()

    @on(GraphOverview.NodeSelected)
    def handle_node_selected(self, message: GraphOverview.NodeSelected) -> None:
        """A box of the graph was clicked."""
        self.source_pane.go_to_node(message.node)

    # -- actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key's action is free to be done now; see :meth:`..actions.Action.bound`."""
        written = action if not parameters else f"{action}({', '.join(map(repr, parameters))})"
        meant = self._actions_by_textual_action.get(written)
        return meant is None or any(one.is_bound(self.action_context) for one in meant)

    # -- panes

    def action_pane(self, name: str) -> None:
        """Put the focus on a pane."""
        pane = self.panes[name]
        if self.pane_grid.bring_to_front(name, switch_tab=pane.has_focus):
            self._focused_pane = pane
            # What had the focus may be hidden just now, and hand it on.
            self.call_after_refresh(pane.focus)
        else:
            self.status_message.say(f"{pane.pane_title}: nothing to show here")

    def action_zoom(self) -> None:
        self.pane_grid.toggle_maximized(self._focused_pane.id or "")

    def action_tab(self, step: int) -> None:
        """The tab after (-1: before) the one in front."""
        if not self.pane_grid.is_small and not self.pane_grid.maximized_pane:
            self.status_message.say("all panes are in sight: smaller screens have tabs")
            return
        tabs = self.pane_grid.non_empty_tabs
        self.pane_grid.show_tab(tabs[(tabs.index(self.pane_grid.front_tab) + step) % len(tabs)])

    def action_fold(self, hide: bool) -> None:
        if not self.source_pane.fold(hide):
            self.status_message.say("nothing to hide here: the cursor is inside of no loop and no If")

    def action_walk(self, made: bool) -> None:
        if not self.source_pane.go_to_related(made):
            self.status_message.say(
                "no line makes what this one reads" if made else "no line reads what this one makes"
            )

    def action_code(self) -> None:
        if not self.source_pane.toggle_code():
            self.status_message.say("the model does not tell what code it comes from")

    def action_mouse(self) -> None:
        """Let the terminal have the mouse, to select text, or take it again."""
        self._mouse_enabled = not self._mouse_enabled
        driver = self._driver
        # Textual's driver asks its own mark before it switches, and again when the program comes back to the front.
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

    def action_cursor(self, where: str) -> None:
        self._focused_pane.move(where)

    def action_find(self) -> None:
        """Ask for a text, and go to the next line with it."""
        self.console_pane.open("/", once=True)
        self._update_console_class()

    def action_find_next(self, way: int) -> None:
        if not self._focused_pane.find_text(self._focused_pane.search_text, way):
            self.status_message.say(f"'{self._focused_pane.search_text}' is not in this pane", error=True)

    @on(ConsolePane.SearchRequested)
    def handle_search(self, message: ConsolePane.SearchRequested) -> None:
        """A text to find was typed; an empty one is the one before."""
        self.action_close()
        text = message.text or self._focused_pane.search_text
        if text and not self._focused_pane.find_text(text):
            self._focused_pane.search_text = ""
            self.status_message.say(f"'{text}' is not in this pane", error=True)
        self.refresh_context()

    def action_go_to_line(self) -> None:
        """Ask for the number of a line, or for the name of what it makes or runs."""
        self.console_pane.open("@", once=True)
        self._update_console_class()

    @on(ConsolePane.LineRequested)
    def handle_line_requested(self, message: ConsolePane.LineRequested) -> None:
        """A line of the source was asked for; nothing: the line is closed."""
        self.action_close()
        if not message.text:
            return
        self.action_pane("body")
        try:
            self.source_pane.go_to_line(message.text)
        except UsageError as problem:
            self.status_message.say(str(problem), error=True)

    def action_copy(self) -> None:
        """Copy what the cursor is on, where the terminal has a clipboard."""
        target = self.target
        if target is None or self.screen_state is None:
            self.status_message.say("nothing to copy on this line")
            return
        text = target.copy_text(self.screen_state)
        self.copy_to_clipboard(text)
        self.status_message.say(f"copied {escape_unprintable(text) if len(text) < 60 else f'{len(text)} characters'}")

    # -- the line that is typed into

    def action_console(self, text: str) -> None:
        """Open the console; with something typed already it is for that line alone."""
        self.console_pane.open(text, once=bool(text))
        self._update_console_class()

    def on_paste(self, event: events.Paste) -> None:
        """What was pasted where nothing is typed into: it is for a line that was opened meanwhile, or for none."""
        line = self.focused
        if isinstance(line, LineInput):
            line.post_message(events.Paste(event.text))
        elif pasted_lines(event.text):
            self.status_message.say("nothing is typed into here: : opens the console for what was pasted")

    def _update_console_class(self) -> None:
        """After the console was opened or closed."""
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

    # -- above the panes

    def action_help(self) -> None:
        pane, lesson = self._focused_pane, self.action_context.lesson_open
        self.push_screen(HelpScreen(self.actions, pane=pane.id or "", name=pane.pane_title, lesson=lesson))

    def action_palette(self) -> None:
        """Find an action by its words; a second time: close that."""
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
        """The panes that have something to show, with what there would be if each had the focus."""
        now = self.action_context
        shown = {name: pane for name, pane in self.panes.items() if self.pane_grid.has_content(name)}
        return {
            name: (pane.pane_title, replace(now, pane=name, target=pane.target, typing=False))
            for name, pane in shown.items()
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
    """Actions by what they do, as Textual asks for it."""
    found: dict[str, list[Action]] = {}
    for one in actions:
        if one.textual_action:
            found.setdefault(one.textual_action.removeprefix("app."), []).append(one)
    return found
