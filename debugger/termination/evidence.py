"""The values behind a loop's last decision, and how they moved: what :mod:`.why` reasons about.

While a loop stands at a boundary its parameters already hold what the next iteration gets, and inside an iteration some
results are new and others old. What decided is the iteration that ended last, so that is the one that is read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...runtime.cycle_detection import bitwise_equal
from ...runtime.graph import Loop, Node, Value
from ..describe.condition import ConditionalDecision, DecidingComparison, Decision, LogicalDecision, NegatedDecision
from ..describe.node_text import NodeFormatter
from ..frame_protocol import FrameProtocol

_COMPARISON_UFUNCS = {
    ">": np.greater,
    ">=": np.greater_equal,
    "<": np.less,
    "<=": np.less_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
#: One boundary: carried values by parameter, as the next iteration gets them, and what the last iteration computed.
RecentBoundaries = Sequence[Mapping[str, Any]]


class ConditionEvidence:
    """Values of the iteration that decided last, and of those before it as far as ``recent`` knows them.

    ``recent``: consecutive boundaries, oldest first; the last is the one at which the frame stands, or the one before
    the iteration that runs. ``nodes``: those of the body whose results are asked for.
    """

    def __init__(
        self, frame: FrameProtocol, loop: Loop, recent: RecentBoundaries, phrases: NodeFormatter, nodes: Iterable[Node]
    ) -> None:
        self.frame = frame
        self.loop = loop
        self.formatter = phrases
        #: The iteration ahead decides by itself: what a boundary knows of the condition is about it.
        self._tests_first = loop.condition_node_count is not None
        self._values = frame.values
        self._edges = {edge.param: edge for edge in loop.back_edges}
        self._results = {edge.result: edge for edge in loop.back_edges}
        self._body_values = {value for node in nodes for value in node.outputs if value is not None}
        self.recent = self._complete_recent(recent)

    def _complete_recent(self, recent: RecentBoundaries) -> list[Mapping[str, Any]]:
        """What is given, and what the frame itself still knows of the last two boundaries."""
        frame = self.frame
        if not frame.at_boundary:
            carried = dict(frame.carried)
            return [*recent[:-1], {**carried, **recent[-1]}] if recent else [carried]
        computed = {}
        if frame.iteration:
            for value in self._body_values:
                there, data = self._values.read(value)
                if there:
                    computed[value.name] = data
        now = {**computed, **(recent[-1] if recent else {}), **frame.carried}
        if len(recent) > 1:
            return [*recent[:-1], now]
        if not frame.iteration:
            return [now]
        # None: nothing, or nothing that was recorded.
        return [{edge.param: edge.previous for edge in frame.back_edges if edge.previous is not None}, now]

    # -- the iteration that decided

    def value_of(self, value: Value) -> tuple[bool, Any]:
        """Whether a value is known, and what it was in the iteration that decided last."""
        data = self.formatter.constant(value)
        if data is not None:
            return True, data
        frame = self.frame
        if value is self.loop.iteration:
            return frame.iteration > 0, np.int64(frame.iteration - 1)
        if value in self._edges:
            before = self.recent[-1] if self._tests_first else self.recent[-2] if len(self.recent) > 1 else {}
            return value.name in before, before.get(value.name)
        if not frame.at_boundary and value in self._body_values and not self._tests_first:
            return self._previous_result(value)
        return self._values.read(value)

    def _previous_result(self, value: Value) -> tuple[bool, Any]:
        """A result of the iteration before the one that runs."""
        last = self.recent[-1]
        if value.name in last:
            return True, last[value.name]
        if value in self._results and self._results[value].param.name in last:
            return True, last[self._results[value].param.name]
        computed = {output for node in self.frame.nodes if node.state == "done" for output in node.node.outputs}
        return (False, None) if value in computed else self._values.read(value)

    def truth_of(self, of: Decision) -> bool | None:
        """What a decision was; None where that is not known."""
        there, data = self.value_of(of.value)
        if there:
            return _truth(data)
        if isinstance(of, DecidingComparison):
            (one, left), (two, right) = self.value_of(of.left), self.value_of(of.right)
            if not (one and two):
                return None
            with np.errstate(all="ignore"):
                return _truth(_COMPARISON_UFUNCS[of.sign](left, right))
        if isinstance(of, NegatedDecision):
            inner = self.truth_of(of.operand)
            return None if inner is None else not inner
        if isinstance(of, LogicalDecision):
            sides = [self.truth_of(part) for part in of.operands]
            decided = of.operator == "or"
            if decided in sides:
                return decided
            return None if None in sides else not decided
        if isinstance(of, ConditionalDecision):
            branch = self.taken_branch(of)
            return None if branch is None else self.truth_of(branch)
        return None

    def taken_branch(self, of: ConditionalDecision) -> Decision | None:
        """The decision of the branch that an If took; None where its condition is not known."""
        there, data = self.value_of(of.condition)
        word = _truth(data) if there else None
        return None if word is None else of.then_decision if word else of.else_decision

    # -- the iterations before it

    def dtype_of(self, value: Value) -> np.dtype[Any] | None:
        """The dtype that a value had; None where it is not known."""
        there, data = self.value_of(value)
        return np.asarray(data).dtype if there and not isinstance(data, list | tuple) and data is not None else None

    def series(self, value: Value) -> list[float]:
        """A number in the iterations that ended last, oldest first, without gaps; empty where it is none. Integers are
        Python's."""
        found: list[float] = []
        for k in reversed(range(len(self.recent))):
            number = self._number_at(value, k)
            if number is None:
                break
            found.insert(0, number)
        return found

    def _number_at(self, value: Value, k: int) -> float | None:
        """The number that a value had in the iteration that ended at boundary ``k`` of the recent ones."""
        iteration = self.frame.iteration - (len(self.recent) - 1 - k) - 1
        if self._tests_first and (value in self._edges or value in self._body_values):
            return as_number(self.recent[k].get(value.name))
        if iteration < 0:
            return None
        if value is self.loop.iteration:
            return iteration
        if value in self._edges:
            return as_number(self.recent[k - 1].get(value.name)) if k else None
        if value in self._body_values:
            seen = self.recent[k]
            if value.name in seen:
                return as_number(seen[value.name])
            edge = self._results.get(value)
            if edge is not None:
                return as_number(seen.get(edge.param.name))
            return None
        if any(value is sliced.inner for sliced in self.loop.sliced_inputs):
            return None
        there, data = self.value_of(value)
        return as_number(data) if there else None

    def repetition_period(self, names: Iterable[str]) -> int | None:
        """After how many iterations the named carried values are what they were, bit for bit; None: none was found."""
        wanted = list(names)
        now = self.recent[-1]
        for back in range(1, len(self.recent)):
            then = self.recent[-1 - back]
            if not all(name in then and name in now for name in wanted):
                return None
            if all(bitwise_equal(then[name], now[name]) for name in wanted):
                return back
        return None


def as_number(data: Any) -> float | None:
    """The one number of a value, an integer as Python's; None where it is not one."""
    if isinstance(data, list | tuple) or data is None:
        return None
    array = np.asarray(data)
    if array.size != 1 or array.dtype.kind in "cOUSTM":
        return None
    one = array.reshape(-1)[0]
    return int(one) if "int" in array.dtype.name else float(one)


def _truth(data: Any) -> bool | None:
    array = np.asarray(data)
    return bool(array.reshape(-1)[0]) if array.size == 1 else None
