"""What is debugged: a model that runs, or a recording of a run. It stands somewhere, is moved, and has breakpoints.

Front ends and commands know nothing else; what one of the two cannot do it refuses.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ...runtime.errors import Remedy, UsageError
from ...runtime.graph import Node
from ...runtime.model import Data, LoopTotals, Model
from ...runtime.turns import Turns
from ..breakpoints.breakpoint import Breakpoint, Trigger
from ..breakpoints.collection import Breakpoints
from ..breakpoints.places import Places
from ..expression.language import Expression
from ..expression.tokens import quote
from ..frame import AnyFrame
from ..statistics.history import NOTHING, Evolution, History
from ..values.iterations import TimedFrame
from .boundary import Boundary
from .branches import Branch
from .stop import Reason, Stop
from .timeline import Timeline
from .underway import Underway

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Stops after which a step with a count goes on.
_ON_THE_WAY = (Reason.NODE, Reason.STEP, Reason.ENTRY, Reason.LOOP_END)


class Debuggee(ABC):
    """Something that stands somewhere, and stops where its breakpoints say.

    Every command returns the :class:`Stop` that it came to, and raises a :class:`UsageError` where it is not possible.
    """

    #: Why what is refused is not possible.
    why_not = "nothing can be run here"
    #: And what can be done about it.
    remedy: Remedy | None = None
    #: False where nothing but boundaries can be stopped at.
    has_nodes = True
    #: False where there is one line of time only.
    has_branches = True

    def __init__(self, model: Model, places: Places, inputs: Mapping[str, Data]) -> None:
        self.model = model
        self.name = model.name
        self.places = places
        self.inputs = dict(inputs)
        #: Those that a restart gave.
        self.given_again: frozenset[str] = frozenset()
        self.stop = Stop(Reason.ENTRY, "")
        self.breakpoints = Breakpoints(self)
        #: What logpoints printed since somebody last took it; ``on_log`` gets each line at once, where it is set.
        self.logged: list[str] = []
        self.on_log: Callable[[str], object] | None = None
        #: Nobody else moves it meanwhile: ``with self._turns.turn():``.
        self._turns = Turns(self._ask_to_stop, self._forget_to_stop)

    def refuse(self, what: str) -> NoReturn:
        """Say that something is not possible, and why.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"{what} is not possible: {self.why_not}", self.remedy)

    # -- where it stands

    @property
    def done(self) -> bool:
        """True once the model ran to its end."""
        return self.stop.reason is Reason.DONE

    @property
    @abstractmethod
    def running(self) -> bool:
        """True while another thread moves it."""

    @property
    @abstractmethod
    def moment(self) -> int:
        """Grows whenever it moves, or is edited."""

    @property
    @abstractmethod
    def outputs(self) -> dict[str, Data] | None:
        """The model's outputs by name once it ran to its end; None before."""

    @property
    @abstractmethod
    def totals(self) -> list[LoopTotals]:
        """How often each loop ran so far."""

    @property
    @abstractmethod
    def progress(self) -> Mapping[str, int]:
        """The iterations of each loop by path, as they were lately; from any thread, while another one moves this."""

    @property
    def lately(self) -> Mapping[str, Evolution]:
        """What the values of each loop were, by path, as it was lately; from any thread, while another one moves this.
        Empty where nothing is known of it."""
        return {}

    @property
    def underway(self) -> Mapping[str, Underway]:
        """Where each loop that runs stood, by path, as it was lately; from any thread, while another one moves this."""
        return {}

    def history(self, name: str, entry: int | None = None) -> History:
        """What a carried value, or a side of the comparison that decides a loop, was in all iterations so far.

        The loop is the innermost running one that has it, or else any; ``entry``: of which of its entries, by number
        from 0 (the last ones are remembered), the present or last one by default.

        Raises:
            UsageError: nothing is known of that value, or of that entry.
        """
        running = [frame.index for frame in (self.frame, *reversed(self.frames)) if frame.loop is not None]
        known: list[str] = []
        for index in dict.fromkeys([*running, *(one.index for one in self.places.loops)]):
            evolution = self.evolution(index)
            if name in evolution:
                return (evolution if entry is None else self.evolution(index, entry))[name]
            known += evolution
        have = f"; there is one of {', '.join(map(quote, dict.fromkeys(known)))}" if known else ""
        raise UsageError(f"there is no history of '{name}'{have}")

    def plot(self, name: str | None = None) -> Figure:
        """A figure: a value over iterations, or all that the innermost loop carries, in the entry that ran last where
        those that run carry nothing; a scan output as it is so far.

        Raises:
            UsageError: no running loop has anything of that name that could be drawn.
        """
        from ..plots import frames as plots

        frames = dict.fromkeys(frame for frame in (self.frame, *reversed(self.frames)) if frame.loop is not None)
        for frame in list(frames)[:-1]:
            with contextlib.suppress(UsageError):
                return plots.over_iterations(frame, name)
        last = list(frames)[-1] if frames else self.frame
        for place in self.places.loops if name is None and last.loop is not None and not last.loop.back_edges else ():
            evolution = self.evolution(place.index)
            if place.loop.back_edges and len(evolution):
                return plots.all_carried(place.loop, evolution, place.path)
        return plots.over_iterations(last, name)

    def evolution(self, index: int, entry: int | None = None) -> Evolution:
        """What the values of a loop were in one of its entries, the present or last one by default.

        Raises:
            UsageError: that is not remembered.
        """
        if entry is not None:
            self.refuse("the history of another entry")
        found = [frame for frame in (self.frame, *self.frames) if frame.index == index]
        return found[0].evolution if found else NOTHING

    @property
    @abstractmethod
    def position(self) -> tuple[int, ...]:
        """Where this stands in the execution; positions of one branch compare in the order of time."""

    @property
    def at_beginning(self) -> bool:
        """True where there is nothing to go back to."""
        return False

    @property
    @abstractmethod
    def frame(self) -> TimedFrame:
        """The innermost running loop; the main graph where none runs; after the end the loop that ended last."""

    @property
    @abstractmethod
    def frames(self) -> Sequence[TimedFrame]:
        """All running loops, outermost first, the main graph before them."""

    def standing(self, frame: Any) -> AnyFrame:
        """One of its frames, to be read before it moves: what is large may be references
        (:class:`..statistics.tensor.TensorRef`)."""
        shown: AnyFrame = frame
        return shown

    @abstractmethod
    def at_boundary(self) -> bool:
        """True where a boundary of the innermost loop is what is stopped at."""

    @abstractmethod
    def here(self) -> int:
        """The index of the loop that is stopped in; else of the one that ended last, else of the first; -1: there is
        none."""

    def node_here(self) -> Node:
        """The node that runs next.

        Raises:
            UsageError: none does.
        """
        self.refuse("stopping at a node")

    # -- on

    def restart(self, inputs: Mapping[str, Data] | None = None) -> Stop:
        """Go back to before iteration 0 of the first loop, on the first branch.

        ``inputs``: those that are to be others from now on; the rest stays as it is. That begins a new run: its
        branches and the history of the old one are forgotten, breakpoints are kept.

        Raises:
            InputError: an input is unknown or does not fit.
        """
        self.refuse("a restart")

    def step(self, count: int = 1) -> Stop:
        """Go on to the next boundary of this loop, ``count`` times; inner loops run through.

        The last iteration's boundary, where the loop ends, is a stop as well; a step from there leaves the loop and
        goes on to the next boundary of any loop.
        """
        self.refuse("stepping")

    def next_node(self, count: int = 1) -> Stop:
        """Run one node of this body, ``count`` times; an inner loop counts as one node. After the last node: the
        boundary."""
        self.refuse("stepping by nodes")

    def into(self) -> Stop:
        """Run one node, but stop at the first boundary of the loop where it is a loop."""
        self.refuse("stepping")

    def finish(self, count: int = 1) -> Stop:
        """Go on to the end of this loop and stop there; at its end already: to the end of the loop around it.

        ``count``: so many loops, from the inside out.
        """
        self.refuse("stepping")

    def until(self, iteration: int) -> Stop:
        """Go on to the boundary of this loop before an iteration ahead, or to its end.

        Raises:
            UsageError: the iteration is not ahead, or no loop is running.
        """
        self.refuse("stepping")

    def continue_(self) -> Stop:
        """Go on to the next breakpoint, the end of the model, or the first limit."""
        self.refuse("going on")

    # -- back

    def back(self, count: int = 1) -> Stop:
        """Go back to the boundary before, up to ``count`` times.

        Raises:
            UsageError: there is nothing before.
        """
        self.refuse("going back")

    def back_node(self, count: int = 1) -> Stop:
        """Go back by one node of this body, up to ``count`` times; an inner loop counts as one node.

        Raises:
            UsageError: there is nothing before.
        """
        self.refuse("stepping by nodes")

    def goto(self, iteration: int) -> Stop:
        """Go to the boundary of this loop before an iteration, back or ahead; breakpoints in between do not stop it.

        Raises:
            UsageError: no loop is running, or it ends before that iteration (and this stands at its end).
        """
        self.refuse("going to an iteration")

    def reverse_continue(self) -> Stop:
        """Go back to the last stop that a breakpoint or watchpoint would have made before this; without one to where
        it began."""
        self.refuse("going back")

    # -- what if

    def set(self, target: str, value: Any) -> Branch:
        """Change a value and begin a branch of the timeline with it.

        ``target``: a carried, computed or captured value or a constant by name, ``name[indices]``, ``cond`` or
        ``trip_count``; ``value``: what it becomes. Tensors keep their dtype.

        Raises:
            UsageError: there is no such value, it is not computed yet, or the new one does not fit.
        """
        self.refuse("changing a value")

    def assign(self, text: str, frame: Any = None) -> Branch:
        """``h = zeros_like(h)``, ``h[0, 3] = 1.5``, ``cond = false``, ``trip_count = 10``: as :meth:`set`, from text.

        ``frame``: the one whose values are meant, the innermost by default.

        Raises:
            UsageError: as for :meth:`set`, or the text is no assignment.
        """
        self.refuse("changing a value")

    def undo(self) -> Stop:
        """Leave the current branch for the one that it came from, where it began.

        Raises:
            UsageError: nothing was set on this line.
        """
        self.refuse("changing a value")

    def switch(self, number: int) -> Stop:
        """Go to the last position that was reached on another branch.

        Raises:
            UsageError: there is no such branch.
        """
        self.refuse("a branch")

    @property
    def branches(self) -> list[Branch]:
        """The lines of time: the first run, and one more for each edit."""
        self.refuse("a branch")

    @property
    def branch(self) -> Branch:
        """The line of time that this is on."""
        self.refuse("a branch")

    @property
    def timeline(self) -> Timeline:
        """The checkpoints and the branches."""
        self.refuse("a checkpoint")

    def side_by_side(self, first: Branch, second: Branch) -> Iterator[tuple[Boundary, Boundary]]:
        """The boundaries of two branches in pairs, from where they parted to where either was left."""
        self.refuse("a branch")

    # -- breakpoints

    def watch(self, text: str) -> Breakpoint:
        """Set a watchpoint: ``session.watch("h")``, ``session.watch("err crosses 1e-3")``; see
        :meth:`..breakpoints.collection.Breakpoints.watch`."""
        return self.breakpoints.watch(text)

    def check_expression(self, expression: Expression, index: int) -> None:
        """See that an expression can be tested in a loop's body (-1: in the main graph).

        Raises:
            UsageError: it cannot; the text says why.
        """
        self.places.check(expression, index)

    # What is read while something moves has nothing to prepare.
    def prime(self, *breakpoints: Breakpoint) -> None:  # noqa: B027
        """Tell breakpoints that compare with the boundary before where this stands now."""

    def add(self, breakpoint_: Breakpoint) -> None:  # noqa: B027
        """Test a breakpoint from now on."""

    def remove(self, breakpoint_: Breakpoint) -> None:  # noqa: B027
        """Test it no more."""

    def is_slow(self, breakpoint_: Breakpoint) -> bool:
        """True where testing a breakpoint slows the run down: in Python at every boundary of some loop, which takes
        microseconds."""
        return False

    def log(self, text: str) -> None:
        """What a logpoint says."""
        if self.on_log is not None:
            self.on_log(text)
        else:
            self.logged.append(text)

    def check(self) -> Stop:
        """Test the breakpoints at the boundary that this stands at, as if it had just come there; without a hit nothing
        changes. For breakpoints that are set at the boundary which they are about; of a model without loops, before its
        first node."""
        with self._turns.turn():
            if self.at_boundary() or self.frame.loop is None:
                for breakpoint_ in self.breakpoints:
                    breakpoint_.passed = False
                hits = self.breakpoints.hits(self.frame)
                if hits:
                    self.stop = self._hit_stop(hits)
            return self.stop

    # -- how

    def interrupt(self) -> None:
        """Stop what is under way at the next boundary; from any thread. Without anything it does nothing."""
        self._turns.interrupt()

    @abstractmethod
    def _ask_to_stop(self) -> None:
        """Let what runs stop soon."""

    @abstractmethod
    def _forget_to_stop(self) -> None:
        """Let what runs next not stop for that."""

    def _repeat(self, count: int, move: Callable[[], Stop], *, back: bool = False) -> Stop:
        if count < 1:
            raise UsageError(f"{count} times makes no sense; give 1 or more")
        stop = move()
        for _ in range(count - 1):
            if stop.reason not in _ON_THE_WAY or self.done or (back and self.at_beginning):
                break
            stop = move()
        return stop

    def _hit_stop(self, hits: list[Breakpoint], where: str = "") -> Stop:
        """The stop for breakpoints that hit here; one that waits for NaN says which node made it, if it can. ``where``:
        what the text calls this place, instead of what it is called without breakpoints."""
        told = []
        for breakpoint_ in hits:
            told.append(f"{breakpoint_.word} {breakpoint_.number} ({breakpoint_.title})")
            if breakpoint_.temporary:
                self.breakpoints.delete(breakpoint_.number)
        numbers = tuple(breakpoint_.number for breakpoint_ in hits)
        where = where or self._where().text
        failed = next((breakpoint_ for breakpoint_ in hits if breakpoint_.failure), None)
        if failed is not None:
            text = f"{failed.word} {failed.number} cannot be tested: {failed.failure}"
            return Stop(Reason.ERROR, f"{text}; {where}", numbers)
        watched = all(breakpoint_.kind is Trigger.WATCH for breakpoint_ in hits)
        if self.at_boundary() and all(b.kind is Trigger.NAN for b in hits):
            # One that is about any value knows best: a carried value is made by no node.
            first = min(hits, key=lambda hit: hit.expression is not None)
            where = self._to_first_nan(first) or where
        reason = Reason.WATCHPOINT if watched else Reason.BREAKPOINT
        changes = [b.change for b in hits if b.kind is Trigger.WATCH]
        return Stop(reason, f"{'; '.join([', '.join(told), *changes])}: {where}", numbers)

    def _to_first_nan(self, breakpoint_: Breakpoint) -> str:
        """Find the node that made the NaN of a boundary, and go to it where that can be; says which, "" if
        none did."""
        return ""

    @abstractmethod
    def _where(self) -> Stop:
        """The stop for where this stands, whatever led here."""
