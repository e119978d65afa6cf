"""The panes, which of them is in focus, and the actions that select, search and arrange them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ....runtime.errors import UsageError
from ...actions import PANE_KEYS, ActionContext, ActionTarget
from ...render.pane_layout import TABS, PaneArrangement
from ...render.stop_view import ScreenState
from ...widgets.back_edges import BackEdgesPane
from ...widgets.breakpoints import BreakpointsPane
from ...widgets.condition import ConditionPane
from ...widgets.displays import DisplaysPane
from ...widgets.graph_overview import GraphOverview
from ...widgets.inputs import InputsPane
from ...widgets.outputs import OutputsPane
from ...widgets.pane import Pane
from ...widgets.pane_grid import PaneGrid
from ...widgets.scans import ScansPane
from ...widgets.source import SourcePane
from ...widgets.stack import StackPane
from ...widgets.tab_bar import TabBar
from ...widgets.timeline import TimelinePane
from ...widgets.value_at_cursor import ValuePane

#: Appended to the source's subtitle during a long run.
_STALE_SUFFIX = ", at the last stop"
#: The panes that are updated during a long run.
_LIVE_PANES = ("back-edges", "condition", "scans", "stack", "timeline")


class PaneControl(ActionTarget):
    """``arrangement``: the saved layout of the panes; ``say`` shows a message, an error if its second argument is
    true."""

    def __init__(self, arrangement: PaneArrangement | None, say: Callable[[str, bool], None]) -> None:
        self._say = say
        self.source_pane = SourcePane(id="body")
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
        for name, key in PANE_KEYS.items():
            self.panes[name].set_focus_key(key)
        #: Panes that follow the cursor, on large screens.
        self.value_pane = ValuePane(id="value")
        self.graph_overview = GraphOverview(id="overview")
        panes = {name: self.panes[name] for name in PANE_KEYS}
        self.pane_grid = PaneGrid({**panes, "value": self.value_pane, "overview": self.graph_overview}, id="main")
        self.tab_bar = TabBar(id="tabs")
        #: The pane that has the focus, or had it before the console.
        self.focused_pane: Pane = self.source_pane
        if arrangement is not None:
            self.pane_grid.tab, self.pane_grid.maximized_pane = arrangement.tab, arrangement.maximized_pane
            self.focused_pane = self.panes.get(arrangement.maximized_pane, self.source_pane)
            self.source_pane.restore_folds(arrangement.folded)

    @property
    def arrangement(self) -> PaneArrangement:
        """The layout of the panes, to be saved."""
        return PaneArrangement(self.pane_grid.tab, self.pane_grid.maximized_pane, self.source_pane.folded_lines)

    def show_state(self, state: ScreenState) -> None:
        """Show a stop in the panes."""
        requests = {name: pane.space_request(state) for name, pane in self.pane_grid.panes.items()}
        self.pane_grid.set_space_requests({name: request for name, request in requests.items() if request is not None})
        for pane in self.panes.values():
            pane.screen_state = state

    def show_live_state(self, state: ScreenState) -> None:
        """Show the progress of a long run."""
        for name in _LIVE_PANES:
            self.panes[name].screen_state = state

    def mark_stale(self) -> None:
        """Mark the panes that are not updated during a long run."""
        title, subtitle = self.source_pane.heading
        self.source_pane.set_title(title, f"{subtitle}{_STALE_SUFFIX}")
        self.value_pane.set_title(self.value_pane.heading[0], _STALE_SUFFIX.removeprefix(", "))

    def unmark_stale(self) -> None:
        """Remove the mark of the source after a run that led to no other stop."""
        if self.source_pane.heading[1].endswith(_STALE_SUFFIX):
            self.source_pane.rebuild(follow=False)

    def follow_cursor(self, context: ActionContext) -> None:
        """Update the panes that follow the cursor."""
        if context.screen_state is not None:
            self.value_pane.follow_cursor(context.screen_state, context.target)
            self.graph_overview.follow_cursor(context.screen_state, self.source_pane.cursor_node)

    def handle_new_layout(self, takes_focus: bool) -> None:
        """Update the tabs, and choose another pane if the one in focus is hidden now; ``takes_focus``: focus it."""
        grid = self.pane_grid
        self.tab_bar.display = grid.is_small
        self.tab_bar.show_tabs(grid.front_tab, grid.non_empty_tabs)
        if self.focused_pane.display:
            return
        # The main pane of a tab comes first.
        names = (*(TABS[grid.front_tab].panes if grid.is_small else ()), *PANE_KEYS)
        self.focused_pane = next((self.panes[name] for name in names if self.panes[name].display), self.source_pane)
        if takes_focus:
            self.focused_pane.focus()

    def expand_focused(self) -> bool:
        """Show the pane in focus as a box if it is one line; False if it is a box, or has no further content."""
        pane = self.focused_pane
        if not pane.is_one_line or not self.pane_grid.expand_pane(pane.id or ""):
            return False
        pane.app.call_after_refresh(pane.focus)
        return True

    def find(self, text: str) -> None:
        """Find a text in the pane in focus; "" repeats the previous search."""
        pane = self.focused_pane
        text = text or pane.search_text
        if text and not pane.find_text(text):
            pane.search_text = ""
            self._say(f"'{text}' is not in this pane", True)

    def go_to_line(self, text: str) -> None:
        """Go to a source line, given by number or name."""
        self.action_pane("body")
        try:
            self.source_pane.go_to_line(text)
        except UsageError as problem:
            self._say(str(problem), True)

    def contexts_by_pane(self, context: ActionContext) -> dict[str, tuple[str, ActionContext]]:
        """The title of each non-empty pane, and the context if it had the focus."""
        return {
            name: (pane.pane_title, replace(context, pane=name, target=pane.target, typing=False))
            for name, pane in self.panes.items()
            if self.pane_grid.has_content(name)
        }

    # -- actions

    def action_pane(self, name: str) -> None:
        """Focus a pane."""
        pane = self.panes[name]
        if self.pane_grid.bring_to_front(name, switch_tab=pane.has_focus):
            self.focused_pane = pane
            # Deferred: the pane that had the focus may be hidden just now, which moves the focus.
            pane.app.call_after_refresh(pane.focus)
        else:
            self._say(f"{pane.pane_title}: nothing to show here", False)

    def action_zoom(self) -> None:
        self.pane_grid.toggle_maximized(self.focused_pane.id or "")

    def action_tab(self, step: int) -> None:
        """Show the next tab (-1: the previous one)."""
        if not self.pane_grid.is_small and not self.pane_grid.maximized_pane:
            self._say("all panes are in sight: smaller screens have tabs", False)
            return
        tabs = self.pane_grid.non_empty_tabs
        self.pane_grid.show_tab(tabs[(tabs.index(self.pane_grid.front_tab) + step) % len(tabs)])

    def action_fold(self, hide: bool) -> None:
        if not self.source_pane.fold(hide):
            self._say("nothing to hide here: the cursor is inside of no loop and no If", False)

    def action_walk(self, producer: bool) -> None:
        if not self.source_pane.go_to_related(producer):
            self._say("no line makes what this one reads" if producer else "no line reads what this one makes", False)

    def action_code(self) -> None:
        if not self.source_pane.toggle_code():
            self._say("the model does not tell what code it comes from", False)

    def action_cursor(self, direction: str) -> None:
        self.focused_pane.move(direction)

    def action_find_next(self, direction: int) -> None:
        if not self.focused_pane.find_text(self.focused_pane.search_text, direction):
            self._say(f"'{self.focused_pane.search_text}' is not in this pane", True)
