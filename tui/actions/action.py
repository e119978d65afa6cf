"""The definition of an action, and the contexts in which it is bound and enabled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from ...runtime.graph import loops
from ..render.stop_view import ScreenState
from ..render.target_base import Target
from .key_names import key_name


@dataclass(frozen=True)
class InspectorContext:
    """The state of an inspector, as far as actions depend on it."""

    #: The value is a tensor, the selected slice has elements, or the value is a sequence with items.
    is_tensor: bool = False
    has_elements: bool = False
    has_items: bool = False
    #: The selected iteration, None if the value has none, and the newest that can be queried.
    iteration: int | None = None
    last_iteration: int = -1
    #: A breakpoint can test the value.
    can_break: bool = False

    @property
    def has_previous(self) -> bool:
        """Whether there is a previous iteration."""
        return bool(self.iteration)

    @property
    def can_compare(self) -> bool:
        """Whether there is another iteration to compare with."""
        return self.is_tensor and self.iteration is not None and self.last_iteration > 0


@dataclass(frozen=True)
class ActionContext:
    """The state of the screen, as far as actions depend on it. ``pane``: the id of the pane in focus; ``target``: the
    target of its cursor."""

    screen_state: ScreenState | None = None
    #: A command runs or waits; ``long_running``: long enough for its progress to be shown.
    busy: bool = False
    long_running: bool = False
    #: The console is open; ``typing``: its line has the focus.
    console_open: bool = False
    typing: bool = False
    #: An input line on any screen has the focus.
    text_input_focused: bool = False
    pane_maximized: bool = False
    #: The pane has a search text.
    searching: bool = False
    pane: str = ""
    target: Target | None = None
    #: A lesson is open; its card takes an answer; its question can be repeated with other numbers.
    lesson_open: bool = False
    card_takes_answer: bool = False
    card_repeatable: bool = False
    #: The state of the inspector, if it is open.
    inspector: InspectorContext = InspectorContext()

    @cached_property
    def is_ready(self) -> bool:
        """A stop is shown, and no long command runs."""
        return self.screen_state is not None and not self.long_running

    @cached_property
    def can_advance(self) -> bool:
        """The run has not ended."""
        return self.is_ready and self.screen_state is not None and not self.screen_state.done

    @cached_property
    def can_go_back(self) -> bool:
        """The stop is not at the beginning."""
        return self.is_ready and self.screen_state is not None and not self.screen_state.view.at_beginning

    @cached_property
    def is_recording(self) -> bool:
        """A recording is replayed."""
        return self.screen_state is not None and self.screen_state.view.is_recording

    @cached_property
    def in_loop(self) -> bool:
        """A loop is in focus."""
        return self.is_ready and self.screen_state is not None and self.screen_state.frame.frame.loop is not None

    @cached_property
    def model_has_loops(self) -> bool:
        """The model has loops."""
        return self.screen_state is not None and self.screen_state.has_loops

    @cached_property
    def has_inner_loop(self) -> bool:
        """The loop in focus contains a loop."""
        frame = None if self.screen_state is None else self.screen_state.frame.frame
        return frame is not None and frame.loop is not None and next(loops(frame.loop.body), None) is not None

    @cached_property
    def has_nested_frames(self) -> bool:
        """There are several frames to choose from."""
        return self.is_ready and self.screen_state is not None and len(self.screen_state.view.frames) > 1


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

ContextPredicate = Callable[[ActionContext], bool]


def unconditional(context: ActionContext) -> bool:
    """The predicate that always holds."""
    return True


@dataclass(frozen=True)
class Action:
    """A user action. ``textual_action``: the Textual action string, "" for what an input line does itself; ``label``:
    the text in the key bar, "" to leave it out.

    ``enabled_when``: the key bar and the palette show the action only then. ``panes``: the ids of the panes to which it
    is limited; there its keys take precedence. ``rank``: the order in the key bar, lowest first. ``releases_key``: its
    keys are unbound while it is disabled; else they report why it does nothing.
    """

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    textual_action: str
    section: HelpSection
    enabled_when: ContextPredicate = unconditional
    panes: tuple[str, ...] = ()
    rank: int = 50
    releases_key: bool = False
    #: Takes precedence over the focused widget, on every screen.
    priority: bool = False
    #: Also applies while an input line has the focus.
    while_typing: bool = False
    #: A further condition to be enabled, during which the key stays bound to report why it does nothing.
    useful_when: ContextPredicate | None = None

    def is_enabled(self, context: ActionContext) -> bool:
        """Whether the action would do something now."""
        applies = (not self.panes or context.pane in self.panes) and (self.while_typing or not context.typing)
        applies = applies and self.enabled_when(context)
        return applies and (self.useful_when is None or self.useful_when(context))

    def is_bound(self, context: ActionContext) -> bool:
        """Whether its keys are bound now."""
        if self.panes and (context.pane not in self.panes or context.typing):
            return False
        return not self.releases_key or self.enabled_when(context)

    @property
    def keys_text(self) -> str:
        """The names of all its keys."""
        return " ".join(map(key_name, self.keys))
