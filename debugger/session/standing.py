"""What stands somewhere in a model's loops and has breakpoints: a session, and a recording under the debugger."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ...runtime.errors import UsageError
from ...runtime.graph import Loop, Node
from ...runtime.model import LoopTotals, Model
from ..breakpoints.collection import Breakpoint, Breakpoints, Kind
from ..text import printable
from .places import Places
from .stop import ENDED, Reason, Stop
from .surface import FrameSurface, TimedFrame

#: Stops after which a step with a count goes on.
_ON_THE_WAY = (Reason.NODE, Reason.STEP, Reason.ENTRY, Reason.LOOP_END)


class Standing(ABC):
    """Something that stands somewhere, and stops where its breakpoints say."""

    def __init__(self, model: Model, places: Places) -> None:
        self.model = model
        self.places = places
        self.stop = Stop(Reason.ENTRY, "")
        self.breakpoints = Breakpoints(self)
        #: What logpoints printed since somebody last took it; ``on_log`` gets each line at once, where it is set.
        self.logged: list[str] = []
        self.on_log: Callable[[str], object] | None = None
        self._lock = threading.Lock()
        #: Held while an interrupt is set or forgotten, so that none outlives the step that it was meant for.
        self._interrupting = threading.Lock()

    @property
    def done(self) -> bool:
        """True once the model ran to its end."""
        return self.stop.reason is Reason.DONE

    @property
    @abstractmethod
    def totals(self) -> list[LoopTotals]:
        """How often each loop ran so far."""

    @property
    @abstractmethod
    def frame(self) -> TimedFrame:
        """The innermost running loop; the main graph where none runs; after the end the loop that ended last."""

    @property
    @abstractmethod
    def frames(self) -> Sequence[TimedFrame]:
        """All running loops, outermost first, the main graph before them."""

    @abstractmethod
    def prime(self, *breakpoints: Breakpoint) -> None:
        """Tell breakpoints that compare with the boundary before where this stands now."""

    @abstractmethod
    def add(self, breakpoint_: Breakpoint) -> None:
        """Look for a breakpoint from now on."""

    @abstractmethod
    def remove(self, breakpoint_: Breakpoint) -> None:
        """Look for it no more."""

    @abstractmethod
    def is_slow(self, breakpoint_: Breakpoint) -> bool:
        """True where testing a breakpoint slows the run down."""

    def check(self) -> Stop:
        """Test the breakpoints at the boundary that this stands at, as if it had just come there; without a hit nothing
        changes. For breakpoints that are set at the boundary which they are about; of a model without loops, before its
        first node."""
        with self._held():
            if self.places.at_boundary() or self.frame.loop is None:
                for breakpoint_ in self.breakpoints:
                    breakpoint_.passed = False
                hits = self._hits(self.frame)
                if hits:
                    self.stop = self._hit_stop(hits)
            return self.stop

    def interrupt(self) -> None:
        """Stop what is under way at the next boundary; from any thread. Without anything it does nothing."""
        with self._interrupting:
            if self._lock.locked():
                self._ask_to_stop()

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Nobody else moves it meanwhile."""
        if not self._lock.acquire(blocking=False):
            raise UsageError("the session is running; interrupt it first")
        try:
            yield
        finally:
            with self._interrupting:
                self._forget_to_stop()
                self._lock.release()

    @abstractmethod
    def _ask_to_stop(self) -> None:
        """Let what runs stop soon."""

    @abstractmethod
    def _forget_to_stop(self) -> None:
        """Let what runs next not stop for that."""

    @abstractmethod
    def _at_beginning(self) -> bool:
        """True where there is nothing to go back to."""

    def _repeat(self, count: int, move: Callable[[], Stop], *, back: bool = False) -> Stop:
        if count < 1:
            raise UsageError(f"{count} times makes no sense; give 1 or more")
        stop = move()
        for _ in range(count - 1):
            if stop.reason not in _ON_THE_WAY or self.done or (back and self._at_beginning()):
                break
            stop = move()
        return stop

    # -- breakpoints

    def _hits(self, frame: TimedFrame, position: int = -1, *, silently: bool = False) -> list[Breakpoint]:
        """The breakpoints that stop at the boundary of a frame, or before the node of a position in it; counts hits and
        prints what logpoints say, unless ``silently``."""
        hits = []
        for breakpoint_ in self.breakpoints:
            if not (breakpoint_.enabled and self._matches(breakpoint_, frame, position)):
                continue
            if silently:
                if breakpoint_.log is None or breakpoint_.failure:
                    hits.append(breakpoint_)
                continue
            breakpoint_.hits += 1
            if breakpoint_.ignore > 0:
                breakpoint_.ignore -= 1
            elif breakpoint_.log is not None and not breakpoint_.failure:
                self._log(breakpoint_.said(frame))
            else:
                hits.append(breakpoint_)
        return hits

    def _matches(self, breakpoint_: Breakpoint, frame: TimedFrame, position: int) -> bool:
        if position >= 0 and not breakpoint_.in_main:
            met = breakpoint_.kind is Kind.NODE and position in breakpoint_.nodes
        else:
            met = breakpoint_.holds(frame)
        return met and breakpoint_.allows(frame)

    def _log(self, text: str) -> None:
        if self.on_log is not None:
            self.on_log(text)
        else:
            self.logged.append(text)

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
        watched = all(breakpoint_.kind is Kind.WATCH for breakpoint_ in hits)
        if self.places.at_boundary() and all(b.kind is Kind.NAN for b in hits):
            # One that is about any value knows best: a carried value is made by no node.
            first = min(hits, key=lambda hit: hit.expression is not None)
            where = self._to_first_nan(first) or where
        reason = Reason.WATCHPOINT if watched else Reason.BREAKPOINT
        changes = [b.change for b in hits if b.kind is Kind.WATCH]
        return Stop(reason, f"{'; '.join([', '.join(told), *changes])}: {where}", numbers)

    @abstractmethod
    def _to_first_nan(self, breakpoint_: Breakpoint) -> str:
        """Find the node that made the NaN which a boundary shows, and go to it where that can be; says which, "" if
        none did."""

    # -- in words

    @abstractmethod
    def _where(self) -> Stop:
        """The stop for where this stands, whatever led here."""


def boundary_stop(frame: FrameSurface) -> Stop:
    """The stop at a boundary."""
    name, iteration = loop_name(frame.loop), frame.iteration
    if frame.stopped_by is not None:
        why = ENDED.get(frame.stopped_by, frame.stopped_by.value)
        if iteration == 0:
            return Stop(Reason.ENTRY, f"{name} runs no iteration: {why} before the first")
        return Stop(Reason.LOOP_END, f"{name} ends after {iteration} iterations: {why}")
    return Stop(Reason.STEP if iteration else Reason.ENTRY, f"before iteration {iteration} of {name}")


def interrupted(frame: FrameSurface) -> Stop:
    """The stop for an interrupt."""
    where = f"in {loop_name(frame.loop)}, iteration {frame.iteration}" if frame.loop else "outside of any loop"
    return Stop(Reason.INTERRUPT, f"interrupted {where}")


def gave_nan(node: Node, iteration: int, loop: Loop | None) -> str:
    """Where a NaN came from."""
    return f"{node.op_type} '{printable(node.name)}' gave NaN or Inf in iteration {iteration} of {loop_name(loop)}"


def no_iteration(loop: Loop, iteration: int, ran: int) -> str:
    """Why an iteration cannot be gone to."""
    return f"loop '{loop.name}' has no iteration {iteration}: it ends after {ran} iteration{'' if ran == 1 else 's'}"


def loop_name(loop: Loop | None) -> str:
    """What texts call a loop, or the main graph."""
    return "the main graph" if loop is None else f"loop '{loop.name}'"
