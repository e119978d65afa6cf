"""What an inspector stands at: the value in an iteration, an item of it, the other iteration that it is compared with,
and what is known of them so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ...debugger.statistics.growth import Growth
from ...debugger.statistics.histogram import Histogram
from ...debugger.statistics.onepass import Change, Statistics
from ...debugger.statistics.tensor import TensorRef
from ...debugger.words.names import quote
from ..driver import Driver, Question
from ..screen.inspected import Course
from .inspected_value import Inspected, as_tensor
from .inspector_work import Background


class Onlooker(Protocol):
    """Who shows it."""

    def say(self, text: str) -> None:
        """A word about what was just asked for."""

    def say_busy(self) -> None:
        """Nothing can be asked while a command runs."""

    def took(self) -> None:
        """It stands at another value."""

    def learned(self) -> None:
        """More is known of the value."""

    def hand(self, come: Callable[..., None], *found: Any) -> None:
        """Call something in the screen's thread, from any other."""


class Subject:
    """Moves through iterations without moving the session."""

    def __init__(self, inspected: Inspected, driver: Driver, onlooker: Onlooker, work: Background) -> None:
        self.inspected = inspected
        self._driver = driver
        self._onlooker = onlooker
        self._work = work
        self.value: Any = inspected.value
        self.there = inspected.there
        self.tensor: TensorRef | None = None
        #: The selected iteration, and the one that differences are to, with the value there once it is known.
        self.iteration = inspected.iteration
        self.other_iteration = None if not self.iteration else self.iteration - 1
        self.other: TensorRef | None = None
        #: How the shape differs from that of the other one.
        self.growth: Growth | None = None
        #: The selected item of a sequence, and the sequence.
        self.item: int | None = None
        self._sequence: Any = None
        self.found = Statistics()
        self.changed: Change | None = None
        self.bars: Histogram | None = None
        self.course: Course | None = inspected.course()
        self.take(self.value, self.there)

    # -- what it stands at

    @property
    def called(self) -> str:
        """The name, with the number of the item."""
        name = quote(self.inspected.target.name)
        return name if self.item is None else f"{name}[{self.item}]"

    @property
    def items(self) -> list[Any] | tuple[Any, ...]:
        """The items of a sequence; none of anything else."""
        return self.value if isinstance(self.value, list | tuple) else ()

    def head(self, width: int) -> str:
        """A line that says what is shown."""
        return self.inspected.head(self.called, self.value, self.tensor, self.iteration, width)

    @property
    def span(self) -> tuple[float, float] | None:
        """The least and the largest element, once all were read."""
        low, high = self.found.min, self.found.max
        done = self.tensor is not None and self.found.size == self.tensor.size
        return (float(low or 0), float(high or 0)) if done and low is not None and high is not None else None

    def take(self, value: Any, there: bool) -> None:
        """Show a value; what was computed of the one before is forgotten."""
        self.value, self.there = value, there
        self._work.forget()
        self.tensor = as_tensor(value) if there else None
        self.found, self.changed, self.bars = Statistics(), None, None
        self.other, self.growth = None, None

    def begin(self) -> None:
        """Compute what the value holds, in a thread of its own."""
        self._onlooker.took()
        tensor = self.tensor
        if tensor is not None and tensor.size and tensor.dtype.kind not in "OUST":
            self._work.statistics(tensor, self._statistics_came)
        if self.inspected.previous is not None and self.iteration == self.inspected.iteration:
            self.bring_other()

    def _statistics_came(self, found: Statistics, bars: Histogram | None) -> None:
        self.found, self.bars = found, bars
        self._onlooker.learned()

    def _change_came(self, found: Change) -> None:
        self.changed = found
        self._onlooker.learned()

    def open_item(self, at: int) -> None:
        """Show an item of the sequence."""
        self.item, self._sequence = at, self.value
        self.take(self.value[at], True)
        self.begin()

    def close_item(self) -> int:
        """Back to the sequence; returns which item it was."""
        at, self.item = self.item or 0, None
        self.take(self._sequence, True)
        self.begin()
        return at

    # -- other iterations

    def _ask(self, find: Callable[[Any], Any], came: Callable[[Any], None]) -> None:
        """Ask the session; the answer comes back in the screen's thread."""

        def answer(found: Any, error: str | None) -> None:
            if error is not None:
                self._onlooker.hand(self._onlooker.say, error)
            else:
                self._onlooker.hand(came, found)

        if not self._driver.find_out(Question(find, answer)):
            self._onlooker.say_busy()

    def ask_course(self) -> None:
        """Compute the course, where the stop does not know it."""
        if self.course is None and self.inspected.asks:
            self._onlooker.say("looking at other iterations …")
            self._ask(self.inspected.course_question(), self._course_came)

    def _course_came(self, course: Course) -> None:
        self.course = course
        self._onlooker.say("")
        self._onlooker.learned()

    def go_to(self, iteration: int, then: Callable[[], None]) -> None:
        """Show the value in another iteration, and go on."""
        inspected = self.inspected
        if inspected.iteration is None:
            self._onlooker.say("this value is of no iteration")
        elif iteration < 0:
            self._onlooker.say("iteration 0 is the first")
        elif iteration == inspected.iteration:
            self._moved(iteration, inspected.value, inspected.there, then)
        elif iteration > inspected.last:
            self._onlooker.say(f"iteration {iteration} has not run yet: esc, then s")
        else:
            self._ask(inspected.question(iteration), lambda value: self._moved(iteration, value, True, then))

    def _moved(self, iteration: int, value: Any, there: bool, then: Callable[[], None]) -> None:
        self.iteration = iteration
        self.other_iteration = iteration - 1 if iteration else None
        self.take(value, there)
        self._onlooker.say("")
        self.begin()
        then()

    def compare_with(self, iteration: int, then: Callable[[], None]) -> None:
        """Compare with another iteration, and go on.

        Raises:
            ValueError: it has not run yet.
        """
        if iteration > max(self.inspected.last, self.inspected.iteration or 0):
            raise ValueError(f"iteration {iteration} has not run yet")
        self.other_iteration, self.other = iteration, None
        self.bring_other(then)

    def bring_other(self, then: Callable[[], None] | None = None) -> None:
        """Have the value of the other iteration, compare with it, and go on."""
        iteration, tensor = self.other_iteration, self.tensor
        if iteration is None or tensor is None:
            self._onlooker.say("there is no iteration before to compare with; d names one")
            return
        if self.other is not None:
            if then is not None:
                then()
            return

        def came(value: Any) -> None:
            other = as_tensor(value)
            if self.tensor is not tensor:
                return
            growth = None if other is None else Growth.between(other.shape, tensor.shape)
            if other is None or (other.shape != tensor.shape and growth is None):
                self._onlooker.say(f"in iteration {iteration} it has another shape")
                return
            self.other, self.growth = other, growth
            self._compare(self._change_came)
            if then is not None:
                then()

        inspected = self.inspected
        if iteration == inspected.iteration:
            came(inspected.value)
        elif inspected.previous is not None and iteration + 1 == inspected.iteration:
            # It lies there already.
            came(inspected.previous)
        else:
            self._ask(inspected.question(iteration), came)

    def largest_change(self, came: Callable[[Change], None]) -> None:
        """Find the element that changed most since the other iteration."""

        self.bring_other(lambda: self._compare(came))

    def _compare(self, came: Callable[[Change], None]) -> None:
        """Find what changed in what both have."""
        tensor, other = self.tensor, self.other
        if tensor is None or other is None:
            return
        if self.growth is not None:
            other, tensor = self.growth.shared(other), self.growth.shared(tensor)
        self._work.compare(other, tensor, came)

    def place_of(self, found: Change) -> int:
        """Where the element that changed most lies in the value, as a flat position; -1 where nothing changed."""
        if self.growth is None or self.tensor is None or found.at < 0:
            return found.at
        return self.growth.place(found.at, self.tensor.shape)
