"""The definition of an action, and the contexts in which it is bound and enabled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from functools import cached_property

from ...runtime.graph import loops
from ..render.stop_view import ScreenState
from ..render.target_base import Target
from ..render.targets import BreakpointTarget, DisplayTarget, LineTarget, value_target
from .key_names import key_name


class Condition(Enum):
    """What the state of a screen allows; an action depends on one of them."""

    ALWAYS = auto()
    TYPING = auto()
    NOT_TYPING = auto()
    #: A stop is shown, and no long command runs; so for all of the following up to HAS_EDITS.
    READY = auto()
    #: The run has not ended; also: the model has loops; no recording is replayed; a node or a loop can be entered.
    CAN_ADVANCE = auto()
    CAN_STEP = auto()
    CAN_STEP_NODE = auto()
    CAN_ENTER = auto()
    #: The stop is not at the beginning; also: no recording is replayed.
    CAN_GO_BACK = auto()
    CAN_GO_BACK_NODE = auto()
    IN_LOOP = auto()
    NESTED_FRAMES = auto()
    #: What the cursor is on.
    CAN_OPEN = auto()
    CAN_BREAK_HERE = auto()
    CAN_RUN_HERE = auto()
    CAN_PLOT = auto()
    ON_BREAKPOINT = auto()
    ON_DISPLAY = auto()
    #: The current branch has edits.
    HAS_EDITS = auto()
    CAN_COPY = auto()
    CAN_RESTART = auto()
    #: A command runs or waits; also: no input line has the focus.
    BUSY = auto()
    CAN_STOP = auto()
    SEARCHING = auto()
    #: The console, a search or a maximized pane can be closed.
    CAN_CLOSE = auto()
    IN_LESSON = auto()
    TAKES_ANSWER = auto()
    REPEATABLE = auto()
    #: In the inspector: the value is a tensor, its slice has elements, it is a sequence with items.
    IS_TENSOR = auto()
    HAS_ELEMENTS = auto()
    HAS_ITEMS = auto()
    #: There is an earlier, a later, another iteration; one to compare with.
    HAS_PREVIOUS = auto()
    HAS_NEXT = auto()
    HAS_ITERATIONS = auto()
    CAN_COMPARE = auto()
    #: A breakpoint can test the value.
    CAN_BREAK_IF = auto()


@dataclass(frozen=True)
class ActionContext:
    """The state of the screen, as far as actions depend on it.

    ``long_running``: a command runs long enough for its progress to be shown; ``typing``: the console line has the
    focus; ``pane``: the id of the pane in focus; ``target``: the target of its cursor; ``flags``: the conditions that
    follow from nothing of these, and whether each holds.
    """

    screen_state: ScreenState | None = None
    long_running: bool = False
    typing: bool = False
    pane: str = ""
    target: Target | None = None
    flags: Mapping[Condition, bool] = field(default_factory=dict)

    @cached_property
    def conditions(self) -> frozenset[Condition]:
        """All conditions that hold."""
        holds = {
            **self.flags,
            Condition.ALWAYS: True,
            Condition.TYPING: self.typing,
            Condition.NOT_TYPING: not self.typing,
            Condition.CAN_COPY: self.target is not None,
            Condition.CAN_RESTART: self.long_running,
        }
        if self.screen_state is not None and not self.long_running:
            holds |= _stop_conditions(self.screen_state, self.target)
        return frozenset([condition for condition, is_met in holds.items() if is_met])


def _stop_conditions(state: ScreenState, target: Target | None) -> Mapping[Condition, bool]:
    """The conditions of a stop while no long command runs, and whether each holds."""
    view, loop = state.view, state.frame.loop
    can_go_back, can_advance, live = not view.stop_state.at_beginning, not state.done, not view.stop_state.is_recording
    on_node_line = live and isinstance(target, LineTarget) and bool(target.node)
    on_value = value_target(target) is not None
    return {
        Condition.READY: True,
        Condition.CAN_ADVANCE: can_advance,
        Condition.CAN_STEP: can_advance and state.has_loops,
        Condition.CAN_STEP_NODE: can_advance and live,
        Condition.CAN_ENTER: can_advance and (live or (loop is not None and bool(loops(loop.body)))),
        Condition.CAN_GO_BACK: can_go_back,
        Condition.CAN_GO_BACK_NODE: can_go_back and live,
        Condition.CAN_RESTART: can_go_back,
        Condition.IN_LOOP: loop is not None,
        Condition.NESTED_FRAMES: len(view.frames) > 1,
        Condition.CAN_OPEN: target is not None,
        Condition.CAN_BREAK_HERE: on_node_line or on_value,
        Condition.CAN_RUN_HERE: can_advance and on_node_line,
        Condition.CAN_PLOT: on_value and state.has_loops,
        Condition.ON_BREAKPOINT: isinstance(target, BreakpointTarget),
        Condition.ON_DISPLAY: isinstance(target, DisplayTarget),
        Condition.HAS_EDITS: live and any(branch.current and branch.edits for branch in view.stop_state.branches),
    }


class ScreenKind(StrEnum):
    """The screens with their own key bindings."""

    PANES = "panes"
    INSPECTOR = "inspector"
    GRAPH = "graph"
    INPUTS = "inputs"
    #: The fields of a breakpoint.
    BREAKPOINT = "breakpoint"
    #: A list to choose from: models before the debugger, the palette.
    CHOICE = "choice"
    #: Text to read: the help, command output.
    TEXT = "text"
    LEAVE = "leave"


class HelpSection(StrEnum):
    """A chapter of the help."""

    STEPS = "Steps"
    BREAK = "Breakpoints and values"
    LOOK = "Looking"
    MOVE = "Cursor"
    SCREEN = "Screen"
    LESSON = "In a lesson"
    CONSOLE = "In the console"
    INSPECTOR = "In the inspector"
    ELEMENTS = "In the inspector: elements"
    GRAPH = "In the graph"
    FIELDS = "In the fields of a breakpoint"
    INPUTS = "On the inputs of a model that came with none"
    CHOICE = "In a list of models or actions"
    TEXT = "In a help or an answer"
    LEAVE = "Before leaving"

    @property
    def screen(self) -> ScreenKind:
        """The screen of the section's actions."""
        return _SECTION_SCREENS.get(self, ScreenKind.PANES)


_SECTION_SCREENS = {
    HelpSection.INSPECTOR: ScreenKind.INSPECTOR,
    HelpSection.ELEMENTS: ScreenKind.INSPECTOR,
    HelpSection.GRAPH: ScreenKind.GRAPH,
    HelpSection.FIELDS: ScreenKind.BREAKPOINT,
    HelpSection.INPUTS: ScreenKind.INPUTS,
    HelpSection.CHOICE: ScreenKind.CHOICE,
    HelpSection.TEXT: ScreenKind.TEXT,
    HelpSection.LEAVE: ScreenKind.LEAVE,
}


@dataclass(frozen=True)
class Action:
    """A user action. ``textual_action``: the Textual action string, "" for what an input line does itself; ``label``:
    the text in the key bar, "" to leave it out.

    ``enabled_when``: the key bar and the palette show the action only while it holds. ``panes``: the ids of the panes
    to which it is limited; there its keys take precedence. ``rank``: the order in the key bar, lowest first.
    ``releases_key``: its keys are unbound while it is disabled; else they report why it does nothing.
    """

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    textual_action: str
    section: HelpSection
    enabled_when: Condition = Condition.ALWAYS
    panes: tuple[str, ...] = ()
    rank: int = 50
    releases_key: bool = False
    #: Takes precedence over the focused widget, on every screen.
    priority: bool = False
    #: Also applies while an input line has the focus.
    while_typing: bool = False
    #: A further condition to be enabled, during which the key stays bound to report why it does nothing.
    useful_when: Condition = Condition.ALWAYS

    def is_bound(self, context: ActionContext) -> bool:
        """Whether its keys are bound now."""
        if self.panes and (context.pane not in self.panes or context.typing):
            return False
        return not self.releases_key or self.enabled_when in context.conditions

    @property
    def keys_text(self) -> str:
        """The names of all its keys."""
        return " ".join(map(key_name, self.keys))


class ActionTarget:
    """A part of a screen that has actions: the methods ``action_NAME``, which the action table calls ``PART.NAME``."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Whether an action may run; called by Textual."""
        return True


def enabled_actions(actions: Iterable[Action], context: ActionContext) -> list[Action]:
    """The actions that would do something now."""
    conditions, pane, typing = context.conditions, context.pane, context.typing
    return [
        action
        for action in actions
        if action.enabled_when in conditions
        and action.useful_when in conditions
        and (not action.panes or pane in action.panes)
        and (action.while_typing or not typing)
    ]
