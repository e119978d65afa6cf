"""A breakpoint, watchpoint or logpoint: its trigger, and the test for a hit.

The engine itself tests for iterations, nodes and loop ends. A breakpoint with an expression is tested at every boundary
of its loops: by the engine if the expression can be lowered to native kernels, else in Python, which is slower and
reported as such.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from ...runtime.frame_internals import FrameValues
from ...runtime.graph import Node, Value
from ...runtime.text import count_text
from ..diagnostics.integer_overflow import find_overflow
from ..diagnostics.node_checks import exceeds_float16_range
from ..expression.expression import Expression, ExpressionError, NoValueError, Scope, format_value
from ..expression.template import LogTemplate
from ..expression.value_types import describe_value
from ..frame_protocol import FrameProtocol, FrameReader
from ..scope.frame_scope import FrameScope, IterationLookup

#: A boundary: the loop, the iterations of the loops around it, its own iteration.
_BoundaryKey = tuple[int, tuple[int, ...], int]


class Trigger(StrEnum):
    """The event that a breakpoint waits for."""

    ITERATION = "iteration"
    NODE = "node"
    CONDITION = "condition"
    END = "end"
    NAN = "nan"
    OVERFLOW = "overflow"
    FLOAT16 = "beyond float16"
    WATCH = "watch"
    #: Every boundary of a loop.
    BOUNDARY = "boundary"


#: Triggers that wait for results of nodes, and what a node did to give one.
NODE_RESULT_TRIGGERS: Mapping[Trigger, str] = {
    Trigger.NAN: "gave NaN or Inf",
    Trigger.OVERFLOW: "gave an integer that its type cannot hold",
    Trigger.FLOAT16: "gave a number beyond float16",
}
#: Loop index of the main graph.
MAIN_GRAPH = -1


class WatchMode(StrEnum):
    """The kind of difference from the previous boundary that a watchpoint waits for."""

    CHANGES = "changes"
    CROSSES = "crosses"
    SETTLES = "settles"
    SHAPE = "shape"
    NAN = "nan"
    SIGN = "sign"


@dataclass
class LastTest:
    """The last boundary at which a breakpoint was tested, the value there, and whether that was a hit."""

    boundary_key: _BoundaryKey | None = None
    value: Any = None
    hit: bool = False
    settled: bool = False


@dataclass(eq=False, repr=False)
class Breakpoint:
    """One breakpoint, watchpoint or logpoint.

    ``loops``: indices of the loops at whose boundaries it is tested, or :data:`MAIN_GRAPH` alone: it is tested once, as
    soon as all its values are computed, before a node in ``traps``. ``nodes``: the nodes that it stops before.
    ``iterations``: outermost loop first. ``log``: template to print instead of stopping. ``commands``: console commands
    that a stop runs. ``around``: text before and after the condition of a conditional breakpoint.
    """

    number: int
    kind: Trigger
    text: str
    loops: tuple[int, ...] = ()
    nodes: frozenset[Node] = frozenset()
    traps: frozenset[Node] = frozenset()
    iterations: tuple[int, ...] = ()
    expression: Expression | None = None
    condition: Expression | None = None
    mode: WatchMode | None = None
    level: float | None = None
    temporary: bool = False
    enabled: bool = True
    ignore: int = 0
    hits: int = 0
    #: Whether its expression had a value at any test.
    evaluated: bool = False
    #: A main-graph breakpoint was already tested before the current position.
    already_tested: bool = False
    log: LogTemplate | None = None
    commands: list[str] = field(default_factory=list)
    around: tuple[str, str] = ("", "")
    #: The engine's predicates for it, by loop.
    predicates: dict[int, tuple[int, ...]] = field(default_factory=dict, repr=False)
    #: By loop: whether the engine has just found the condition true at the current boundary.
    engine_verdicts: dict[int, Callable[[], bool]] = field(default_factory=dict, repr=False)
    #: The last test, by loop.
    last_tests: dict[int, LastTest] = field(default_factory=dict, repr=False)
    #: The change that a watchpoint hit, and why the last test failed to evaluate.
    change_text: str = ""
    failure: str = ""

    def __repr__(self) -> str:
        hits = f", hit {count_text(self.hits, 'time')}" if self.hits else ""
        return f"<{self.kind_name} {self.number}: {self.title}{'' if self.enabled else ', disabled'}{hits}>"

    @property
    def title(self) -> str:
        """Its location and condition in command syntax."""
        if self.condition is None:
            return self.text
        return f"{self.text} if {self.condition.text}"

    @property
    def condition_text(self) -> str:
        """Its condition; "" if it has none."""
        condition = self.expression if self.kind is Trigger.CONDITION else self.condition
        return "" if condition is None else condition.text

    def replace_with(self, source: Breakpoint) -> None:
        """Take over another breakpoint's location and condition; keep number, hit count and commands."""
        for name in ("kind", "text", "loops", "nodes", "traps", "expression", "condition", "around"):
            setattr(self, name, getattr(source, name))
        self.evaluated = self.already_tested = False
        self.change_text = self.failure = ""
        self.last_tests.clear()

    @property
    def kind_name(self) -> str:
        """``breakpoint``, ``watchpoint`` or ``logpoint``."""
        return "logpoint" if self.log is not None else "watchpoint" if self.kind is Trigger.WATCH else "breakpoint"

    @property
    def is_tested_at_boundaries(self) -> bool:
        """True if it must be tested at every boundary of its loops."""
        return self.kind in (Trigger.CONDITION, Trigger.WATCH, *NODE_RESULT_TRIGGERS)

    @property
    def is_in_main_graph(self) -> bool:
        """True if it tests values of the main graph, outside any loop boundary."""
        return self.loops == (MAIN_GRAPH,)

    def trigger_matches(self, frame: FrameReader) -> bool:
        """Whether it hits at the boundary of a frame, ignoring its extra condition.

        A test that cannot be evaluated is a hit; ``failure`` has the reason.
        """
        self.failure = ""
        if frame.index not in self.loops:
            return False
        if self.kind is Trigger.ITERATION:
            outer_iterations = self.iterations[:-1]
            entry = frame.entry[len(frame.entry) - len(outer_iterations) :] if outer_iterations else ()
            return frame.iteration == self.iterations[-1] and entry == outer_iterations and frame.stopped_by is None
        if self.kind is Trigger.END:
            return frame.stopped_by is not None
        if self.kind is Trigger.BOUNDARY:
            return True
        if self.already_tested:
            return False
        verdict = self.engine_verdicts.get(frame.index)
        if verdict is not None and verdict():
            return True
        try:
            return self.is_tested_at_boundaries and self._test_trigger(frame)
        except ExpressionError as error:
            self.already_tested = self.is_in_main_graph
            self.failure = str(error)
            return True

    def hit(self, frame: FrameReader, node: Node | None) -> bool:
        """Whether it stops at the boundary of a frame, or before a node in it."""
        matches = (
            self.trigger_matches(frame)
            if node is None or self.is_in_main_graph
            else self.kind is Trigger.NODE and node in self.nodes
        )
        return matches and self.condition_true(frame)

    def record_baseline_at(self, frame: FrameReader) -> None:
        """Record the current values at a boundary, or in the main graph, that was reached by a jump."""
        if self.is_in_main_graph:
            self.already_tested = False
            self.last_tests.clear()
            self.trigger_matches(frame)
        elif (
            frame.index in self.loops
            and self.is_tested_at_boundaries
            and (self.mode is WatchMode.SETTLES or not self._is_stateless(frame))
        ):
            self.last_tests.pop(frame.index, None)
            self.trigger_matches(frame)

    def condition_true(self, frame: FrameReader) -> bool:
        """Whether its extra condition is true; a missing value makes it false. A condition that cannot be evaluated is
        a hit; ``failure`` has the reason."""
        if self.condition is None:
            return True
        if self.kind is Trigger.NODE:
            self.failure = ""
        try:
            return self.condition.truth(FrameScope(frame, frame.history))
        except NoValueError:
            return False
        except ExpressionError as error:
            self.failure = str(error)
            return True

    def suppress_repeated_hit(self, memory: LastTest) -> None:
        """Suppress a second report of the same hit after re-execution."""
        if memory.boundary_key is not None:
            self.last_tests[memory.boundary_key[0]] = replace(memory, hit=False)

    def format_log(self, frame: FrameReader) -> str:
        """The text of a logpoint with each ``{expression}`` evaluated."""
        assert self.log is not None
        return self.log.format(FrameScope(frame, frame.history))

    def is_triggered_by_node(self, frame: FrameReader, node: Node, before: Mapping[Value, Any]) -> bool:
        """Whether a node that has just run gave what this breakpoint waits for, in a value that it tests. ``before``:
        what the body got."""
        if self.kind is Trigger.OVERFLOW:
            return _node_overflows(frame.values, node, before)
        names = {name for v in node.outputs if v is not None for name in v.names}
        if self.expression is not None:
            names &= self.expression.names
        values = frame.values
        test = _RESULT_TESTS[self.kind]
        return any(test(values[name]) for name in names if isinstance(values.get(name), np.ndarray))

    def _is_stateless(self, frame: FrameReader) -> bool:
        """True if the test reads only the boundary itself."""
        if self.kind is Trigger.CONDITION:
            return True
        assert frame.loop is not None
        carried = {edge.param.name for edge in frame.loop.back_edges}
        return self.kind is Trigger.WATCH and self.expression is not None and self.expression.names <= carried

    def _test_trigger(self, frame: FrameReader) -> bool:
        key = (frame.index, frame.entry, frame.iteration)
        last_test = self.last_tests.get(frame.index, LastTest())
        if last_test.boundary_key == key:
            return last_test.hit
        scope = FrameScope(frame, frame.history)
        try:
            if self.kind is Trigger.CONDITION:
                assert self.expression is not None
                hit = self.expression.truth(scope)
                self.evaluated, self.already_tested = True, self.is_in_main_graph
                return hit
            value = self._observed_quantity(frame, scope)
        except NoValueError:
            return False
        self.evaluated, self.already_tested = True, self.is_in_main_graph
        settled = False
        if self.kind is Trigger.OVERFLOW:
            before = self._previous_observation(key, last_test, frame, scope)
            hit = before is not _UNKNOWN and any(
                _node_overflows(frame.values, entry.node, before) for entry in frame.nodes
            )
        elif self.kind in _RESULT_TESTS:
            hit = bool(value) and self._previous_observation(key, last_test, frame, scope) is not True
        else:
            previous = self._previous_observation(key, last_test, frame, scope)
            hit = previous is not _UNKNOWN and self._value_changed(previous, value)
            if self.mode is WatchMode.SETTLES:
                # Hit only at the first settled boundary.
                settled = hit
                hit = hit and not self._was_settled(key, last_test, frame)
            assert self.expression is not None
            if hit:
                self.change_text = f"{self.expression.text}: {format_value(previous, 40)} → {format_value(value, 40)}"
        self.last_tests[frame.index] = LastTest(key, value, hit, settled)
        return hit

    def _watched_value(self, scope: Scope) -> Any:
        assert self.expression is not None
        return self.expression.evaluate(scope)

    def _observed_quantity(self, frame: FrameProtocol, scope: FrameScope) -> Any:
        """The quantity compared between boundaries: the watched value, whether there is a NaN or the like, or what the
        body gets, of which the next boundary has the results."""
        if self.kind is Trigger.OVERFLOW:
            return frame.values.read_all(frame.loop.body.inputs if frame.loop is not None else ())
        if self.kind in _RESULT_TESTS:
            return _any_result_matches(frame, self.expression, scope, _RESULT_TESTS[self.kind])
        return self._watched_value(scope)

    def _previous_observation(
        self, key: _BoundaryKey, last_test: LastTest, frame: FrameReader, scope: FrameScope
    ) -> Any:
        """The observation at the previous boundary."""
        index, entry, iteration = key
        previous_frame = frame.previous_frame()
        if previous_frame is not None:
            is_previous = last_test.boundary_key == (index, entry, previous_frame.iteration)
            return (
                last_test.value
                if is_previous
                else self._observed_quantity_or_unknown(previous_frame, previous_frame.history)
            )
        if self._is_stateless(frame):
            try:
                return self._watched_value(_PreviousIterationScope(scope)) if iteration else _UNKNOWN
            except NoValueError:
                return _UNKNOWN
        if last_test.boundary_key == (index, entry, iteration - 1):
            return last_test.value
        # The previous boundary was not tested: a jump, or the engine's predicate excluded a hit there.
        if iteration:
            boundary_frame = frame.boundary(iteration - 1)
            return _UNKNOWN if boundary_frame is None else self._observed_quantity_or_unknown(boundary_frame)
        # Values from the enclosing loop were tested there.
        outer_frame = frame.around if self.kind in _RESULT_TESTS and self.expression is None else None
        return (
            _UNKNOWN
            if outer_frame is None or outer_frame.loop is None
            else self._observed_quantity_or_unknown(outer_frame)
        )

    def _observed_quantity_or_unknown(self, frame: FrameProtocol, history: IterationLookup | None = None) -> Any:
        try:
            return self._observed_quantity(frame, FrameScope(frame, history))
        except NoValueError:
            return _UNKNOWN

    def _was_settled(self, key: _BoundaryKey, last_test: LastTest, frame: FrameReader) -> bool:
        """Whether the value was already settled at the previous boundary."""
        index, entry, iteration = key
        earlier = frame.previous_frame()
        previous_iteration = iteration - 1 if earlier is None else earlier.iteration
        if earlier is None or last_test.boundary_key == (index, entry, previous_iteration):
            return last_test.settled and last_test.boundary_key == (index, entry, previous_iteration)
        first = earlier.previous_frame()
        if first is None:
            return False
        old, new = (
            self._observed_quantity_or_unknown(first, first.history),
            self._observed_quantity_or_unknown(earlier, earlier.history),
        )
        return old is not _UNKNOWN and new is not _UNKNOWN and self._value_changed(old, new)

    def _value_changed(self, old: Any, new: Any) -> bool:
        if self.mode is WatchMode.CHANGES:
            return not _equal_values(old, new)
        if self.mode is WatchMode.NAN:
            return _contains_nan(new) and not _contains_nan(old)
        try:
            with np.errstate(all="ignore"):
                return self._numbers_changed(_as_numeric(old), _as_numeric(new))
        except (TypeError, ValueError):
            assert self.expression is not None
            message = f"'{self.mode}' is not defined on {describe_value(new)}"
            raise ExpressionError(self.expression.text, 0, message) from None

    def _numbers_changed(self, old: Any, new: Any) -> bool:
        """Whether the numbers changed in the watched way."""
        if self.mode is WatchMode.SHAPE or old.shape != new.shape:
            return self.mode is WatchMode.SHAPE and old.shape != new.shape
        if self.mode is WatchMode.CROSSES:
            level = self.level
            return bool(np.any((old < level) & (new >= level) | (old > level) & (new <= level)))
        if self.mode is WatchMode.SETTLES:
            return bool(np.all(np.abs(new - old) < self.level))
        return bool(np.any(np.sign(old) != np.sign(new)))


_UNKNOWN = object()


class _PreviousIterationScope:
    """A scope as of the previous iteration."""

    def __init__(self, scope: FrameScope) -> None:
        self._scope = scope
        self.iteration = scope.iteration - 1
        self.trip_count = scope.trip_count
        self.condition = scope.condition

    def names(self) -> Any:
        return self._scope.names()

    def value(self, name: str) -> Any:
        return self._scope.previous(name)

    def previous(self, name: str) -> Any:
        return self._scope.value_at(name, self.iteration - 1)

    def initial(self, name: str) -> Any:
        return self._scope.initial(name)

    def value_at(self, name: str, iteration: int) -> Any:
        return self._scope.value_at(name, iteration)

    def history(self, name: str) -> Any:
        return self._scope.history(name)[:-1]


def _as_numeric(value: Any) -> Any:
    """A value as an array; truth values count as 0 and 1."""
    array = np.asarray(value)
    return array.astype(np.int8) if array.dtype == np.bool_ else array


def _equal_values(before: Any, now: Any) -> bool:
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(map(_equal_values, before, now))
    old, new = np.asarray(before), np.asarray(now)
    if old.dtype.kind in "fc" and new.dtype.kind in "fc":
        return bool(np.array_equal(old, new, equal_nan=True))
    return bool(np.array_equal(old, new))


def _contains_nan(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_contains_nan, value))
    array = np.asarray(value)
    if array.dtype.kind in "fc":
        return not bool(np.isfinite(array).all())
    if array.dtype.kind == "V" or array.dtype.name.startswith(("bfloat", "float")):
        return not bool(np.isfinite(array.astype(np.float32)).all())
    return False


#: Tests of one result.
_RESULT_TESTS: Mapping[Trigger, Callable[[Any], bool]] = {
    Trigger.NAN: _contains_nan,
    Trigger.FLOAT16: exceeds_float16_range,
}


def _any_result_matches(
    frame: FrameProtocol, expression: Expression | None, scope: FrameScope, test: Callable[[Any], bool]
) -> bool:
    if expression is not None:
        return test(np.asarray(expression.evaluate(scope)))
    values = frame.values
    names = [*frame.carried, *(v.name for n in frame.nodes for v in n.node.outputs if v is not None)]
    return any(test(value) for name in names if isinstance(value := values.get(name), np.ndarray))


def _node_overflows(values: FrameValues, node: Node, before: Mapping[Value, Any]) -> bool:
    """Whether a result of a node is an integer that its type cannot hold. ``before``: what its body got."""
    known = {**values.read_all([value for value in (*node.inputs, *node.outputs) if value is not None]), **before}
    inputs, outputs = (
        [None if value is None else known.get(value) for value in ports] for ports in (node.inputs, node.outputs)
    )
    return find_overflow(node, inputs, outputs) is not None
