"""The values behind a loop's last decision and their movement, as input for :mod:`.explanation`.

At a boundary the parameters of a loop already hold the values of the next iteration; inside an iteration some results
are new and others old. The decision was made by the iteration that ended last, so that iteration is read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...runtime.graph import Loop, Node, Value
from ...runtime.infinite_loop_detection import bitwise_equal
from ..describe.condition_analysis import (
    ConditionalDecision,
    DecidingComparison,
    Decision,
    LogicalDecision,
    NegatedDecision,
)
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
#: One boundary: carried values by parameter, as the next iteration receives them, and results of the last iteration.
RecentBoundaries = Sequence[Mapping[str, Any]]


class ConditionEvidence:
    """Values of the iteration that made the last decision, and of earlier iterations as far as ``recent`` knows them.

    ``recent``: consecutive boundaries, oldest first; the last is the frame's boundary or the one before the current
    iteration. ``nodes``: the body nodes whose results are needed.
    """

    def __init__(
        self, frame: FrameProtocol, loop: Loop, recent: RecentBoundaries, phrases: NodeFormatter, nodes: Iterable[Node]
    ) -> None:
        self.frame = frame
        self.loop = loop
        self.formatter = phrases
        #: The next iteration decides by itself: the condition known at a boundary is about that iteration.
        self._tests_first = loop.condition_node_count is not None
        self._values = frame.values
        self._edges = {edge.param: edge for edge in loop.back_edges}
        self._results = {edge.result: edge for edge in loop.back_edges}
        self._body_values = {value for node in nodes for value in node.outputs if value is not None}
        self.recent = self._complete_recent_boundaries(recent)

    def _complete_recent_boundaries(self, recent: RecentBoundaries) -> list[Mapping[str, Any]]:
        """The given boundaries, completed with what the frame knows of the last two."""
        frame = self.frame
        if not frame.at_boundary:
            carried = dict(frame.carried)
            return [*recent[:-1], {**carried, **recent[-1]}] if recent else [carried]
        computed = {}
        if frame.iteration:
            for value in self._body_values:
                is_known, data = self._values.read(value)
                if is_known:
                    computed[value.name] = data
        current = {**computed, **(recent[-1] if recent else {}), **frame.carried}
        if len(recent) > 1:
            return [*recent[:-1], current]
        if not frame.iteration:
            return [current]
        # None: no value, or an unrecorded one.
        return [{edge.param: edge.previous for edge in frame.back_edges if edge.previous is not None}, current]

    # -- the iteration that decided

    def value_of(self, value: Value) -> tuple[bool, Any]:
        """Whether a value is known, and its value in the iteration that made the last decision."""
        data = self.formatter.constant(value)
        if data is not None:
            return True, data
        frame = self.frame
        if value is self.loop.iteration:
            return frame.iteration > 0, np.int64(frame.iteration - 1)
        if value in self._edges:
            boundary = self.recent[-1] if self._tests_first else self.recent[-2] if len(self.recent) > 1 else {}
            return value.name in boundary, boundary.get(value.name)
        if not frame.at_boundary and value in self._body_values and not self._tests_first:
            return self._previous_result(value)
        return self._values.read(value)

    def _previous_result(self, value: Value) -> tuple[bool, Any]:
        """A result of the iteration before the current one."""
        boundary = self.recent[-1]
        if value.name in boundary:
            return True, boundary[value.name]
        if value in self._results and self._results[value].param.name in boundary:
            return True, boundary[self._results[value].param.name]
        computed = {output for node in self.frame.nodes if node.state == "done" for output in node.node.outputs}
        return (False, None) if value in computed else self._values.read(value)

    def truth_of(self, decision: Decision) -> bool | None:
        """The result of a decision; None if unknown."""
        is_known, data = self.value_of(decision.value)
        if is_known:
            return _as_truth(data)
        if isinstance(decision, DecidingComparison):
            (left_known, left), (right_known, right) = self.value_of(decision.left), self.value_of(decision.right)
            if not (left_known and right_known):
                return None
            with np.errstate(all="ignore"):
                return _as_truth(_COMPARISON_UFUNCS[decision.sign](left, right))
        if isinstance(decision, NegatedDecision):
            inner = self.truth_of(decision.operand)
            return None if inner is None else not inner
        if isinstance(decision, LogicalDecision):
            sides = [self.truth_of(part) for part in decision.operands]
            dominant = decision.operator == "or"
            if dominant in sides:
                return dominant
            return None if None in sides else not dominant
        if isinstance(decision, ConditionalDecision):
            branch = self.taken_branch(decision)
            return None if branch is None else self.truth_of(branch)
        return None

    def taken_branch(self, decision: ConditionalDecision) -> Decision | None:
        """The decision of the branch that an If took; None if its condition is unknown."""
        is_known, data = self.value_of(decision.condition)
        truth = _as_truth(data) if is_known else None
        return None if truth is None else decision.then_decision if truth else decision.else_decision

    # -- the iterations before it

    def dtype_of(self, value: Value) -> np.dtype[Any] | None:
        """The dtype of a value; None if unknown."""
        is_known, data = self.value_of(value)
        return np.asarray(data).dtype if is_known and not isinstance(data, list | tuple) and data is not None else None

    def number_series(self, value: Value) -> list[float]:
        """The numbers of a value in the last iterations, oldest first, without gaps; empty if it is not one number."""
        numbers: list[float] = []
        for k in reversed(range(len(self.recent))):
            number = self._number_at(value, k)
            if number is None:
                break
            numbers.insert(0, number)
        return numbers

    def _number_at(self, value: Value, k: int) -> float | None:
        """The number of a value in the iteration that ended at boundary ``k`` of the recent ones."""
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
            boundary = self.recent[k]
            if value.name in boundary:
                return as_number(boundary[value.name])
            edge = self._results.get(value)
            if edge is not None:
                return as_number(boundary.get(edge.param.name))
            return None
        if any(value is sliced.inner for sliced in self.loop.sliced_inputs):
            return None
        is_known, data = self.value_of(value)
        return as_number(data) if is_known else None

    def repetition_period(self, names: Iterable[str]) -> int | None:
        """The period with which the named carried values repeat bit for bit; None: no repetition was found."""
        required = list(names)
        newest = self.recent[-1]
        for period in range(1, len(self.recent)):
            earlier = self.recent[-1 - period]
            if not all(name in earlier and name in newest for name in required):
                return None
            if all(bitwise_equal(earlier[name], newest[name]) for name in required):
                return period
        return None


def as_number(data: Any) -> float | None:
    """Return a value of one element as a number, an integer as Python's; None for other values."""
    if isinstance(data, list | tuple) or data is None:
        return None
    array = np.asarray(data)
    if array.size != 1 or array.dtype.kind in "cOUSTM":
        return None
    element = array.reshape(-1)[0]
    return int(element) if "int" in array.dtype.name else float(element)


def _as_truth(data: Any) -> bool | None:
    array = np.asarray(data)
    return bool(array.reshape(-1)[0]) if array.size == 1 else None
