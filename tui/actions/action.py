"""What an action is, where its keys mean it, and when it would do something."""

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
    """What an inspector stands at."""

    #: The value is a tensor; ``elements``: its selected part has some. Or it is a sequence with items.
    is_tensor: bool = False
    has_elements: bool = False
    has_items: bool = False
    #: The selected iteration, None if the value is of none, and the newest that can be asked for.
    iteration: int | None = None
    last_iteration: int = -1
    #: A breakpoint can ask for it.
    can_break: bool = False

    @property
    def has_previous(self) -> bool:
        """There is an iteration before."""
        return bool(self.iteration)

    @property
    def can_compare(self) -> bool:
        """There is another iteration to compare with."""
        return self.is_tensor and self.iteration is not None and self.last_iteration > 0


@dataclass(frozen=True)
class ActionContext:
    """What the screen stands at, as far as actions depend on it. ``pane``: the id of the one that has the focus;
    ``target``: what its cursor is on."""

    screen_state: ScreenState | None = None
    #: A command runs or waits; ``slow``: for so long that the screen says so.
    busy: bool = False
    long_running: bool = False
    #: The console is open; ``typing``: its line has the focus.
    console_open: bool = False
    typing: bool = False
    #: Some line, on whatever screen, takes what is typed.
    text_input_focused: bool = False
    pane_maximized: bool = False
    #: A search is under way in the pane.
    searching: bool = False
    pane: str = ""
    target: Target | None = None
    #: A lesson is open beside the panes; its card takes an answer, and has its question with other numbers.
    lesson_open: bool = False
    card_takes_answer: bool = False
    card_repeatable: bool = False
    #: What is inspected, where the inspector is in front.
    inspector: InspectorContext = InspectorContext()

    @cached_property
    def is_ready(self) -> bool:
        """Something is shown, and nothing runs for long."""
        return self.screen_state is not None and not self.long_running

    @cached_property
    def can_advance(self) -> bool:
        """There is something left to run."""
        return self.is_ready and self.screen_state is not None and not self.screen_state.done

    @cached_property
    def can_go_back(self) -> bool:
        """There is somewhere to go back to."""
        return self.is_ready and self.screen_state is not None and not self.screen_state.view.at_beginning

    @cached_property
    def is_recording(self) -> bool:
        """A recording is shown: nothing runs."""
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
        """The loop in focus has one inside."""
        frame = None if self.screen_state is None else self.screen_state.frame.frame
        return frame is not None and frame.loop is not None and next(loops(frame.loop.body), None) is not None

    @cached_property
    def has_nested_frames(self) -> bool:
        """There are frames to choose from."""
        return self.is_ready and self.screen_state is not None and len(self.screen_state.view.frames) > 1


class ScreenKind(StrEnum):
    """Screens with keys of their own: one key may mean something else on each."""

    PANES = "panes"
    INSPECTOR = "inspector"
    GRAPH = "graph"
    INPUTS = "inputs"
    #: The fields of a breakpoint.
    BREAKPOINT = "breakpoint"
    #: A list to choose from: models before the debugger, the palette.
    CHOICE = "choice"
    #: Something to read: the help, an answer.
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
        """The screen that it is about."""
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


def unconditional(now: ActionContext) -> bool:
    """What it needs is always there."""
    return True


@dataclass(frozen=True)
class Action:
    """One thing to do. ``does``: the action of the app or the screen, as Textual writes it, "" for what a line that is
    typed into does itself; ``label``: at the foot, "" for never there.

    ``when``: whether it would do something now; the foot and the palette show it only then. ``panes``: where it is
    about a pane, the ids of those; keys mean this only there, before what they mean elsewhere. ``rank``: at the foot
    the lowest come first. ``only``: False where its key is to say why not, instead of being free for others.
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
    #: Before what the focused widget makes of the key, and on every screen.
    priority: bool = False
    #: While a line is typed as well.
    while_typing: bool = False
    #: Where its key is free for others outside of ``when``, but is to say within why it does nothing now.
    useful_when: ContextPredicate = unconditional

    def is_enabled(self, now: ActionContext) -> bool:
        """Whether it would do something now."""
        there = (not self.panes or now.pane in self.panes) and (self.while_typing or not now.typing)
        return there and self.enabled_when(now) and self.useful_when(now)

    def is_bound(self, now: ActionContext) -> bool:
        """Whether its key means it now."""
        if self.panes and (now.pane not in self.panes or now.typing):
            return False
        return not self.releases_key or self.enabled_when(now)

    @property
    def keys_text(self) -> str:
        """All its keys."""
        return " ".join(map(key_name, self.keys))
