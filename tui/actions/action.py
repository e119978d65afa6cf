"""What an action is, where its keys mean it, and when it would do something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from ...runtime.graph import loops
from ..screen.target import Target
from ..screen.view import Shown
from .keys import key_name


@dataclass(frozen=True)
class Looking:
    """What an inspector stands at."""

    #: The value is a tensor; ``elements``: its selected part has some. Or it is a sequence with items.
    tensor: bool = False
    elements: bool = False
    items: bool = False
    #: The selected iteration, None if the value is of none, and the newest that can be asked for.
    iteration: int | None = None
    last: int = -1
    #: A breakpoint can ask for it.
    breaks: bool = False

    @property
    def before(self) -> bool:
        """There is an iteration before."""
        return bool(self.iteration)

    @property
    def compares(self) -> bool:
        """There is another iteration to compare with."""
        return self.tensor and self.iteration is not None and self.last > 0


@dataclass(frozen=True)
class Now:
    """What the screen stands at, as far as actions depend on it. ``pane``: the id of the one that has the focus;
    ``target``: what its cursor is on."""

    shown: Shown | None = None
    #: A command runs or waits; ``slow``: for so long that the screen says so.
    busy: bool = False
    slow: bool = False
    #: The console is open; ``typing``: its line has the focus.
    console: bool = False
    typing: bool = False
    #: Some line, on whatever screen, takes what is typed.
    in_line: bool = False
    full: bool = False
    #: A search is under way in the pane.
    searching: bool = False
    pane: str = ""
    target: Target | None = None
    #: A lesson is open beside the panes; its card takes an answer, and has its question with other numbers.
    lesson: bool = False
    asks: bool = False
    again: bool = False
    #: What is inspected, where the inspector is in front.
    looking: Looking = Looking()

    @cached_property
    def here(self) -> bool:
        """Something is shown, and nothing runs for long."""
        return self.shown is not None and not self.slow

    @cached_property
    def ahead(self) -> bool:
        """There is something left to run."""
        return self.here and self.shown is not None and not self.shown.done

    @cached_property
    def behind(self) -> bool:
        """There is somewhere to go back to."""
        return self.here and self.shown is not None and not self.shown.view.beginning

    @cached_property
    def recorded(self) -> bool:
        """A recording is shown: nothing runs."""
        return self.shown is not None and self.shown.view.recorded

    @cached_property
    def looping(self) -> bool:
        """A loop is in focus."""
        return self.here and self.shown is not None and self.shown.frame.frame.loop is not None

    @cached_property
    def loops(self) -> bool:
        """The model has loops."""
        return self.shown is not None and self.shown.has_loops

    @cached_property
    def around(self) -> bool:
        """The loop in focus has one inside."""
        frame = None if self.shown is None else self.shown.frame.frame
        return frame is not None and frame.loop is not None and next(loops(frame.loop.body), None) is not None

    @cached_property
    def nested(self) -> bool:
        """There are frames to choose from."""
        return self.here and self.shown is not None and len(self.shown.view.frames) > 1


class Place(StrEnum):
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


class Section(StrEnum):
    """A chapter of the help."""

    STEPS = "Steps"
    BREAK = "Breakpoints and values"
    LOOK = "Looking"
    MOVE = "Cursor"
    SCREEN = "Screen"
    LESSON = "In a lesson"
    CONSOLE = "In the console"
    INSPECTED = "In the inspector"
    ELEMENTS = "In the inspector: elements"
    GRAPH = "In the graph"
    FIELDS = "In the fields of a breakpoint"
    INPUTS = "On the inputs of a model that came with none"
    CHOICE = "In a list of models or actions"
    TEXT = "In a help or an answer"
    LEAVE = "Before leaving"

    @property
    def place(self) -> Place:
        """The screen that it is about."""
        return _PLACES.get(self, Place.PANES)


_PLACES = {
    Section.INSPECTED: Place.INSPECTOR,
    Section.ELEMENTS: Place.INSPECTOR,
    Section.GRAPH: Place.GRAPH,
    Section.FIELDS: Place.BREAKPOINT,
    Section.INPUTS: Place.INPUTS,
    Section.CHOICE: Place.CHOICE,
    Section.TEXT: Place.TEXT,
    Section.LEAVE: Place.LEAVE,
}

When = Callable[[Now], bool]


def always(now: Now) -> bool:
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
    does: str
    section: Section
    when: When = always
    panes: tuple[str, ...] = ()
    rank: int = 50
    only: bool = False
    #: Before what the focused widget makes of the key, and on every screen.
    first: bool = False
    #: While a line is typed as well.
    typed: bool = False
    #: Where its key is free for others outside of ``when``, but is to say within why it does nothing now.
    use: When = always

    def applies(self, now: Now) -> bool:
        """Whether it would do something now."""
        there = (not self.panes or now.pane in self.panes) and (self.typed or not now.typing)
        return there and self.when(now) and self.use(now)

    def bound(self, now: Now) -> bool:
        """Whether its key means it now."""
        if self.panes and (now.pane not in self.panes or now.typing):
            return False
        return not self.only or self.when(now)

    @property
    def keys_text(self) -> str:
        """All its keys."""
        return " ".join(map(key_name, self.keys))
