"""Why a loop ended or goes on: the decision with its values, and whether and when it can change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...runtime.graph import Graph, If, Loop, Node, StoppedBy, Value, walk
from ...runtime.graph.producers import ProducerMap
from ...runtime.lazy_function_registry import load_plugin
from ...runtime.model import Model
from ...runtime.text import count_text, escape_lines
from ..describe.condition_analysis import (
    NEGATED_SIGN,
    ConditionalDecision,
    ConditionSlice,
    DecidingComparison,
    Decision,
    LogicalDecision,
    NegatedDecision,
    OpaqueDecision,
    condition_slice,
    decision_text,
    decompose_condition,
)
from ..describe.frame_text import declared_trip_count
from ..describe.node_source_lines import CodeLines
from ..describe.node_text import NodeFormatter
from ..describe.termination import TerminationRule, end_reason, termination_rule
from ..describe.value_names import display_name
from ..frame_protocol import FrameProtocol
from ..value_text import value_text
from .evidence import ConditionEvidence, RecentBoundaries
from .trend import Trend, TurningEstimate, estimate_turning

_VALUE_WIDTH = 24
#: Maximum number of the newest values of a carried value to show.
_MAX_SHOWN_VALUES = 6
_TITLE_WIDTH = 11
#: Of larger values only the newest two are shown.
_SMALL_VALUE_ELEMENTS = 1
#: Trends that do not predict how long the result of a comparison lasts.
_UNPREDICTABLE_TRENDS = frozenset({Trend.CONSTANT, Trend.ACCELERATING, Trend.IRREGULAR})
#: Parts of a decision, each with the result that lets the loop go on.
_WantedDecisions = tuple[tuple[Decision, bool], ...]


@runtime_checkable
class DebugSubject(Protocol):
    """The common interface of a session and a recording."""

    @property
    def model(self) -> Model: ...
    @property
    def frame(self) -> FrameProtocol: ...


@dataclass(frozen=True, eq=False)
class DecidingNode:
    """A node that the condition depends on, as pseudo-code, and its result; ``known`` is false if that is not
    available. ``code``: the line of source code, if the model records it."""

    node: Node
    text: str
    value: Any = None
    known: bool = False
    code: str = ""


@dataclass(frozen=True, eq=False)
class ConditionComparison:
    """A comparison that the condition depends on: as code, with values, its result and its trend."""

    comparison: DecidingComparison
    text: str
    values: str
    holds: bool | None
    estimate: TurningEstimate | None = None


@dataclass(frozen=True, eq=False)
class ConditionInput:
    """A value that the condition depends on; ``kind``: carried, capture, iteration number or sliced input."""

    name: str
    kind: str
    #: Over the last iterations, oldest first; one value if it does not change.
    values: tuple[Any, ...]


class NeverEndsCause(StrEnum):
    """Why the condition will never end a loop."""

    NO_CONDITION = "no condition"
    CONSTANT_CONDITION = "constant condition"
    ENTRY_CONDITION = "condition of the entry"
    UNCHANGING_INPUTS = "unchanging inputs"
    REPETITION = "repetition"


@dataclass(frozen=True, eq=False)
class Why:
    """Why a loop ended or goes on; ``lines()`` and ``str()`` return it as text.

    >>> _ = session.step(4)
    >>> reason = session.why()
    >>> reason.headline
    "loop 'sqrt' goes on to iteration 4: keep = err_new > tol is true: 2.1457672e-06 > 1e-06"
    >>> reason.loop, reason.iteration, reason.condition_name, reason.about
    ('sqrt', 4, 'keep', 1)
    >>> [side.text for side in reason.sides]
    ['err_new > tol']
    """

    path: str
    iteration: int
    headline: str
    ended: StoppedBy | None = None
    #: The execution condition that was decided last; None if the loop has none.
    condition: bool | None = None
    slice: ConditionSlice | None = None
    steps: tuple[DecidingNode, ...] = ()
    sides: tuple[ConditionComparison, ...] = ()
    reads: tuple[ConditionInput, ...] = ()
    trip_count: int | None = None
    #: Iterations that the trip count still allows.
    left: int | None = None
    #: Why the condition will never end the loop; empty if that is not certain.
    never: str = ""
    #: Period with which the carried values repeat.
    repeats: int | None = None
    #: Estimated number of iterations until the condition ends the loop; None: no estimate, or no end in sight.
    about: int | None = None
    #: The loop may end earlier: another part of the condition has no trend, or a trend accelerates.
    at_most: bool = False
    remarks: tuple[str, ...] = ()
    #: Name of the loop; None outside of loops.
    loop: str | None = None
    #: Name of the value that decided; None if no condition did.
    condition_name: str | None = None
    #: The cause of ``never``.
    never_cause: NeverEndsCause | None = None

    def lines(self) -> Iterator[str]:
        """Yield the explanation as text, the headline first.

        >>> next(session.why().lines())
        "loop 'sqrt' begins: keep0 = err0 > tol is true: 2.0 > 1e-06"
        """
        yield self.headline
        # A trip count ends the loop nevertheless.
        title = "never ends" if self.trip_count is None else "stays true"
        yield from _titled_rows(title, [self.never] if self.never else [])
        comparisons = [f"{side.text}: {side.values}" if side.values else side.text for side in self.sides]
        yield from _titled_rows("compares", comparisons)
        yield from _titled_rows(
            "estimate", [text for side in self.sides for text in _estimate_lines(side, len(self.sides))]
        )
        if self.left is not None and self.trip_count is not None and self.ended is None:
            yield from _titled_rows("trip count", [f"{self.trip_count}, {self.left} left"])
        width = max((len(step.text) for step in self.steps), default=0)
        cells = [(step.text, _value_text(step.value) if step.known else "·") for step in self.steps]
        yield from _titled_rows("computed by", [f"{text:<{min(width, 48)}}  {value}" for text, value in cells])
        yield from _titled_rows("comes from", list(dict.fromkeys(step.code for step in self.steps if step.code)))
        for kind in dict.fromkeys(read.kind for read in self.reads):
            yield from _titled_rows(kind, [_input_text(read) for read in self.reads if read.kind == kind])
        yield from _titled_rows("note", list(self.remarks))

    def __str__(self) -> str:
        return escape_lines(self.lines())

    def _repr_html_(self) -> str:
        html: str = load_plugin("html")("text", self)
        return html


def _value_text(value: Any) -> str:
    """A value as text; a single element without brackets."""
    if isinstance(value, np.ndarray) and value.ndim and value.size == 1:
        value = value.reshape(())
    return value_text(value, _VALUE_WIDTH)


def _titled_rows(title: str, rows: list[str]) -> Iterator[str]:
    for row in rows:
        yield f"  {title:<{_TITLE_WIDTH}} {row}"
        title = ""


def _estimate_lines(side: ConditionComparison, count: int) -> list[str]:
    if side.estimate is None:
        return []
    return [side.estimate.text if count == 1 else f"{side.text}: {side.estimate.text}"]


def _input_text(read: ConditionInput) -> str:
    values = [_value_text(value) for value in read.values]
    if any(np.size(value) > _SMALL_VALUE_ELEMENTS for value in read.values):
        values = values[-2:]
    return f"{read.name} = {' → '.join(values)}" if values else read.name


def explain_termination(
    subject: FrameProtocol | DebugSubject, recent: RecentBoundaries = (), graph: Graph | None = None
) -> Why:
    """Why the loop of a frame ended, or why it goes on.

    ``recent``: the last boundaries of this entry of the loop, consecutive, oldest first: the carried values by
    parameter, as the next iteration receives them, and the known results of the iteration that just ended. The last is
    the frame's boundary, or the one before the current iteration. More boundaries show trends and longer cycles;
    without any, the frame's own values are used. ``graph``: the model's main graph, if the subject is no session; it
    shows the origin of an initial condition.
    """
    if isinstance(subject, DebugSubject):
        graph = subject.model.graph
        subject = subject.frame
    loop = subject.loop
    if loop is None:
        return Why(subject.path, 0, "no loop runs here, so there is nothing that could end or go on")
    main = graph if graph is not None else loop.body
    return _TerminationAnalysis(subject, loop, recent, ProducerMap.for_graph(main), CodeLines(main)).analyze()


class _TerminationAnalysis:
    def __init__(
        self, frame: FrameProtocol, loop: Loop, recent: RecentBoundaries, origins: ProducerMap, code: CodeLines
    ) -> None:
        self.frame = frame
        self.loop = loop
        self.formatter = NodeFormatter(origins)
        self.code_lines = code
        self.termination: TerminationRule = termination_rule(loop, origins)
        self.condition_slice = condition_slice(loop)
        self.evidence = ConditionEvidence(frame, loop, recent, self.formatter, self.condition_slice.nodes)
        self.iteration = frame.iteration
        self.ended = frame.stopped_by
        #: The source of the current condition: the initial one before any iteration ended, then that of the body.
        tested = loop.condition_node_count is not None
        self.deciding_value = loop.condition if self.iteration or tested else loop.initial_condition
        if tested and self.ended is StoppedBy.TRIP_COUNT:
            self.deciding_value = None  # it was not tested any more
        self.decision: Decision | None = (
            None if self.deciding_value is None else decompose_condition(self.deciding_value, origins)
        )

    def analyze(self) -> Why:
        truth = self.frame.condition
        trips = self.frame.trip_count
        remaining = None if trips is None or self.ended is not None else max(trips - self.iteration, 0)
        repeats = self._repetition_period() if self.ended is None and truth is not False else None
        never_cause = self._never_ends_cause(repeats) if self.ended is None and truth is not False else None
        body = self.deciding_value is not None and (self.iteration > 0 or self.loop.condition_node_count is not None)
        sides = (
            tuple(self._counted_comparisons(self.decision, True))
            if self.decision is not None and self.termination.condition_decides
            else ()
        )
        if self.decision is not None:
            sides = tuple(self._bound_estimates(sides, dict(self._independent_endings(self.decision, True, ()))))
        expected = (
            None
            if never_cause or self.ended is not None or not body
            else self._estimated_iterations(self.decision, True, sides)
        )
        at_most = any(e.at_most for side in sides if (e := side.estimate) is not None and e.iterations == expected)
        return Why(
            self.frame.path,
            self.iteration,
            self._headline(),
            self.ended,
            truth,
            self.condition_slice,
            tuple(self._deciding_nodes(self.loop.body)) if body else (),
            sides,
            tuple(self._condition_inputs()) if self.deciding_value is not None else (),
            trips,
            remaining,
            "" if never_cause is None else self._never_ends_text(never_cause, repeats),
            repeats,
            expected,
            at_most,
            tuple(self._remarks(expected, at_most, remaining)),
            self.loop.name,
            None if self.deciding_value is None else display_name(self.deciding_value),
            never_cause,
        )

    # -- the headline

    def _headline(self) -> str:
        name = f"loop '{self.frame.name}'"
        if self.ended is not None:
            return self._ended_headline(name)
        runs = self.iteration
        if not self.frame.at_boundary:
            headline = f"{name} runs iteration {runs}"
        else:
            headline = f"{name} goes on to iteration {runs}" if runs else f"{name} begins"
        if self.deciding_value is not None and (
            self.termination.condition_decides or (not runs and self.loop.condition_node_count is None)
        ):
            return f"{headline}: {self._condition_text()}"
        if self.frame.trip_count is not None:
            counts = "the sliced inputs have" if self.loop.counted_by_slices else "the trip count is"
            parts = " parts" if self.loop.counted_by_slices else ""
            return f"{headline}: nothing but the count ends it, and {counts} {self.frame.trip_count}{parts}"
        return f"{headline}: nothing in it can end it"

    def _ended_headline(self, name: str) -> str:
        runs = self.iteration
        headline = f"{name} ended after {count_text(runs, 'iteration')}" if runs else f"{name} runs no iteration"
        if self.ended is StoppedBy.CONDITION:
            trip_count_note = ""
            if runs and self.frame.trip_count == runs:
                trip_count_note = ", and the trip count is reached as well"
            return f"{headline}: {self._condition_text()}{trip_count_note}"
        if self.ended is StoppedBy.TRIP_COUNT:
            condition_note = ""
            if runs and self.termination.condition_decides and self.deciding_value is not None:
                condition_note = f"; {self._condition_text()}, so it would have gone on"
            trip_count = declared_trip_count(self.frame)
            negative = ", and a negative one runs nothing" if trip_count is not None and trip_count < 0 else ""
            return f"{headline}: the trip count is {trip_count}{negative}{condition_note}"
        if self.ended is StoppedBy.INPUT_EXHAUSTED:
            names = ", ".join(display_name(sliced.outer) for sliced in self.termination.slices)
            return f"{headline}: {names} has {'no' if not runs else 'no more'} part"
        return headline if self.ended is None else f"{headline}: {end_reason(self.ended)}"

    def _condition_text(self) -> str:
        """Text such as ``keep = err_new > tol is false: 0.0 > 1e-06``."""
        if self.deciding_value is None or self.decision is None:
            return "the condition is true"
        was_set = self._override_text()
        if was_set:
            return was_set
        if self.formatter.constant(self.deciding_value) is not None:
            kind = "condition" if self.iteration or self.loop.condition_node_count is not None else "initial condition"
            return f"the {kind} is the constant {'true' if self.frame.condition else 'false'}"
        name = self.formatter.operand(self.deciding_value, bare=True)
        text = decision_text(self.decision, self.formatter)
        truth = self.frame.condition
        word = "true" if truth else "false"
        sentence = f"{name} is {word}" if text == name else f"{name} = {text} is {word}"
        values = self._deciding_values_text()
        remark = "" if self.frame.at_boundary or not self.iteration else f" (decided by iteration {self.iteration - 1})"
        return f"{sentence}{f': {values}' if values else ''}{remark}"

    def _override_text(self) -> str:
        """Text for a condition that the user has overridden; "" if it was computed."""
        assert self.deciding_value is not None and self.decision is not None
        data = self.formatter.constant(self.deciding_value)
        computed = (
            self.evidence.truth_of(self.decision) if data is None else bool(np.asarray(data).reshape(-1)[:1].all())
        )
        current = self.frame.condition
        if computed is None or current is None or computed is current:
            return ""
        name = self.formatter.operand(self.deciding_value, bare=True)
        text = decision_text(self.decision, self.formatter)
        subject = name if data is None else f"the {'condition' if self.iteration else 'initial condition'}"
        values = self._deciding_values_text() if data is None else ""
        sub = f"{name} = {text}" if data is None and text != name else subject
        words = {True: "true", False: "false"}
        return f"the condition was set to {words[current]}; {sub} is {words[computed]}{f': {values}' if values else ''}"

    def _deciding_values_text(self) -> str:
        """The values of a condition that is one comparison."""
        node = self.decision
        if isinstance(node, NegatedDecision) and isinstance(node.operand, DecidingComparison):
            sign = NEGATED_SIGN[node.operand.sign] if node.operand.sign in ("==", "!=") else node.operand.sign
            return self._comparison_values_text(node.operand, sign)
        return self._comparison_values_text(node, node.sign) if isinstance(node, DecidingComparison) else ""

    def _comparison_values_text(self, comparison: DecidingComparison, sign: str) -> str:
        """The comparison with its values; "" if they are unknown."""
        sides = [self.evidence.value_of(side) for side in (comparison.left, comparison.right)]
        if not all(is_known for is_known, _ in sides):
            return ""
        return f" {sign} ".join(_value_text(data) for _, data in sides)

    # -- the comparisons, and where they are heading

    def _counted_comparisons(self, node: Decision, wanted: bool) -> Iterator[ConditionComparison]:
        """Every comparison that counted, in order; ``wanted``: the result that lets the loop go on."""
        if isinstance(node, DecidingComparison):
            holds = self.evidence.truth_of(node)
            sign = node.sign if wanted else NEGATED_SIGN[node.sign]
            heading = None
            if self.ended is None and self.iteration and holds is wanted:
                left, right = (self.evidence.number_series(side) for side in (node.left, node.right))
                count = min(len(left), len(right))
                names = (self.formatter.operand(node.left, bare=True), self.formatter.operand(node.right, bare=True))
                dtype = self.evidence.dtype_of(node.left) or self.evidence.dtype_of(node.right)
                if count and (dtype is None or dtype.kind != "b"):
                    heading = estimate_turning(
                        left[len(left) - count :], right[len(right) - count :], sign, names, dtype
                    )
            yield self._make_comparison(node, wanted, holds, heading)
        elif isinstance(node, NegatedDecision):
            yield from self._counted_comparisons(node.operand, not wanted)
        elif isinstance(node, LogicalDecision):
            for part in node.operands:
                yield from self._counted_comparisons(part, wanted)
        elif isinstance(node, ConditionalDecision):
            branch = self.evidence.taken_branch(node)
            if branch is not None:
                yield from self._counted_comparisons(branch, wanted)

    def _make_comparison(
        self, node: DecidingComparison, wanted: bool, holds: bool | None, heading: TurningEstimate | None
    ) -> ConditionComparison:
        """As the model compares, but ``not a == b`` as ``a != b``, which is equivalent also for NaN."""
        decision: Decision = node
        if not wanted and node.sign in ("==", "!="):
            decision = NegatedDecision(node.value, node)
            holds = None if holds is None else not holds
        values = self._comparison_values_text(node, NEGATED_SIGN[node.sign] if decision is not node else node.sign)
        word = "" if holds is None else f" is {'true' if holds else 'false'}"
        return ConditionComparison(
            node, decision_text(decision, self.formatter), f"{values}{word}" if values else "", holds, heading
        )

    def _estimated_iterations(
        self, node: Decision | None, wanted: bool, sides: tuple[ConditionComparison, ...]
    ) -> int | None:
        """When a decision changes: if all parts have to hold at the first change of a part, else at the last."""
        if isinstance(node, DecidingComparison):
            estimate = next((side.estimate for side in sides if side.comparison is node), None)
            return None if estimate is None else estimate.iterations
        if isinstance(node, NegatedDecision):
            return self._estimated_iterations(node.operand, not wanted, sides)
        if isinstance(node, ConditionalDecision):
            return self._estimated_iterations(self.evidence.taken_branch(node), wanted, sides)
        if isinstance(node, LogicalDecision):
            true_parts = [part for part in node.operands if self.evidence.truth_of(part) is wanted]
            all_have_to = (node.operator == "and") is wanted
            times = [
                self._estimated_iterations(part, wanted, sides)
                for part in (node.operands if all_have_to else true_parts)
            ]
            estimates = [time for time in times if time is not None]
            if all_have_to:
                return min(estimates, default=None)
            return max(estimates) if estimates and len(estimates) == len(times) else None
        return None

    # -- what else may end it before

    def _independent_endings(
        self, node: Decision, wanted: bool, others: _WantedDecisions
    ) -> Iterator[tuple[DecidingComparison, _WantedDecisions]]:
        """Every comparison that can end the loop by itself, with the other parts that can end it too."""
        if isinstance(node, DecidingComparison):
            yield node, others
        elif isinstance(node, NegatedDecision):
            yield from self._independent_endings(node.operand, not wanted, others)
        elif isinstance(node, ConditionalDecision):
            branch = self.evidence.taken_branch(node)
            if branch is not None:
                yield from self._independent_endings(branch, wanted, (*others, (OpaqueDecision(node.condition), True)))
        elif isinstance(node, LogicalDecision):
            if (node.operator == "and") is wanted:
                for k, part in enumerate(node.operands):
                    yield from self._independent_endings(part, wanted, (*others, (node.operands[1 - k], wanted)))
            else:
                true_parts = [part for part in node.operands if self.evidence.truth_of(part) is wanted]
                if len(true_parts) == 1:
                    yield from self._independent_endings(true_parts[0], wanted, others)

    def _bound_estimates(
        self, sides: tuple[ConditionComparison, ...], rivals: Mapping[DecidingComparison, _WantedDecisions]
    ) -> Iterator[ConditionComparison]:
        """The estimates; as upper bounds where another part of the condition may change first."""
        estimates = {side.comparison: side.estimate for side in sides}
        for side in sides:
            estimate, others = side.estimate, rivals.get(side.comparison, ())
            count = None if estimate is None else estimate.iterations
            if (
                estimate is not None
                and count is not None
                and any(self._may_turn_before(*part, count, estimates) for part in others)
            ):
                yield replace(side, estimate=estimate.as_upper_bound())
            else:
                yield side

    def _may_turn_before(
        self, node: Decision, wanted: bool, count: int, times: Mapping[DecidingComparison, TurningEstimate | None]
    ) -> bool:
        """Whether a part may change within ``more`` iterations."""
        if isinstance(node, NegatedDecision):
            return self._may_turn_before(node.operand, not wanted, count, times)
        if isinstance(node, LogicalDecision):
            can_turn = [self._may_turn_before(part, wanted, count, times) for part in node.operands]
            return any(can_turn) if (node.operator == "and") is wanted else all(can_turn)
        if not self._can_vary(node.value):
            return False
        estimate = times.get(node) if isinstance(node, DecidingComparison) else None
        if estimate is None or estimate.trend in _UNPREDICTABLE_TRENDS:
            return True
        return estimate.iterations is not None and estimate.iterations < count

    def _can_vary(self, value: Value) -> bool:
        """Whether a value can differ between iterations."""
        if value in self.loop.body.inputs or any(value in node.outputs for node in self.loop.body.nodes):
            return condition_slice(replace(self.loop, condition=value)).depends_on_varying_values
        # A value of an If inside the loop, or of an outer graph.
        return any(value in node.outputs for node in walk(self.loop.body))

    # -- whether it can end at all

    def _repetition_period(self) -> int | None:
        if (
            not self.condition_slice.all_carried
            or not self.condition_slice.depends_on_carried_only
            or not self.termination.condition_decides
        ):
            return None
        return self.evidence.repetition_period(edge.param.name for edge in self.condition_slice.all_carried)

    def _never_ends_cause(self, repeats: int | None) -> NeverEndsCause | None:
        if not self.termination.condition_decides:
            if self.frame.trip_count is not None:
                return None
            if self.loop.condition is None:
                return NeverEndsCause.NO_CONDITION
            if self.termination.constant_condition:
                return NeverEndsCause.CONSTANT_CONDITION
            return NeverEndsCause.ENTRY_CONDITION
        if self.loop.condition is None:
            return None
        if not self.condition_slice.depends_on_varying_values:
            return NeverEndsCause.UNCHANGING_INPUTS if self.iteration else None
        return None if repeats is None else NeverEndsCause.REPETITION

    def _never_ends_text(self, cause: NeverEndsCause, repeats: int | None) -> str:
        if self.loop.condition is None:
            return "it has neither a trip count nor a condition"
        if cause is NeverEndsCause.CONSTANT_CONDITION:
            return "there is no trip count, and the condition is always true"
        if cause is NeverEndsCause.ENTRY_CONDITION:
            return "there is no trip count, and the condition stays what it was at the entry"
        trips = self.frame.trip_count
        trip_count_note = "" if trips is None else f"; the trip count of {trips} ends it"
        name = display_name(self.loop.condition)
        if cause is NeverEndsCause.UNCHANGING_INPUTS:
            fixed = [*self.condition_slice.captures, *self.condition_slice.constants]
            names = ", ".join(self.formatter.operand(value, bare=True) for value in fixed[:4])
            names += ", ..." if len(fixed) > 4 else ""
            verb = "stays" if len(fixed) == 1 else "stay"
            dependency = f"only on {names}, which {verb} the same" if fixed else "on nothing that changes"
            return f"{name} depends {dependency} in every iteration, so it stays true{trip_count_note}"
        names = ", ".join(display_name(edge.param) for edge in self.condition_slice.all_carried)
        is_single = len(self.condition_slice.all_carried) == 1
        if repeats == 1:
            reason = f"{names} {'is' if is_single else 'are'} bit for bit as one iteration ago"
        else:
            reason = f"{names} {'repeats' if is_single else 'repeat'} bit for bit every {repeats} iterations"
        return f"{reason}, and {name} depends on nothing else that changes{trip_count_note}"

    # -- the slice

    def _deciding_nodes(self, graph: Graph) -> Iterator[DecidingNode]:
        """The nodes of the slice in execution order, without those of branches not taken."""
        slice_nodes = set(self.condition_slice.nodes)
        for node in graph.nodes:
            if node not in slice_nodes or node.op_type == "Constant":
                continue
            text = self.formatter.assignment(node)
            if isinstance(node, If):
                text = self._if_text(node)
                for branch in self._taken_branches(node):
                    yield from self._deciding_nodes(branch)
            output = next((value for value in node.outputs if value is not None), None)
            is_known, value = (False, None) if output is None else self.evidence.value_of(output)
            yield DecidingNode(node, text, value, is_known, self.code_lines.describe_node(node))

    def _taken_branches(self, node: If) -> tuple[Graph, ...]:
        """The branch that ran; both if that is unknown."""
        condition = node.inputs[0]
        truth = None if condition is None else self.evidence.truth_of(OpaqueDecision(condition))
        if truth is None:
            return (node.then_branch, node.else_branch)
        return (node.then_branch,) if truth else (node.else_branch,)

    def _if_text(self, node: If) -> str:
        condition = self.formatter.operand(node.inputs[0], bare=True)
        texts = []
        for k, output in enumerate(node.outputs):
            if output is not None:
                then_text, else_text = (
                    self.formatter.operand(branch.outputs[k]) for branch in (node.then_branch, node.else_branch)
                )
                texts.append(f"{display_name(output)} = {then_text} if {condition} else {else_text}")
        return "; ".join(texts)

    def _condition_inputs(self) -> Iterator[ConditionInput]:
        condition_slice = self.condition_slice
        for edge in condition_slice.all_carried:
            name = edge.param.name
            values = [boundary[name] for boundary in self.evidence.recent if name in boundary]
            yield ConditionInput(display_name(edge.param), "carried", tuple(values[-_MAX_SHOWN_VALUES:]))
        if condition_slice.depends_on_iteration and self.loop.iteration is not None:
            yield ConditionInput(display_name(self.loop.iteration), "iteration", ())
        for sliced in condition_slice.all_slices:
            yield ConditionInput(
                f"{display_name(sliced.inner)}, a part of {display_name(sliced.outer)} each", "sliced", ()
            )
        for value in condition_slice.captures:
            is_known, data = self.evidence.value_of(value)
            yield ConditionInput(display_name(value), "unchanged", (data,) if is_known else ())

    def _remarks(self, expected: int | None, at_most: bool, remaining: int | None) -> Iterator[str]:
        if expected is not None and remaining is not None and remaining < expected:
            yield f"the trip count comes {'before that' if at_most else 'first'}: {remaining} left"
        ignored = self.loop.ignored_condition
        if ignored is not None and self.formatter.origins.constant_scalar(ignored) is not True:
            yield f"{display_name(ignored)} is ignored, since the loop's cond is absent"
        for node in self.condition_slice.random_nodes:
            yield f"{node.describe()} draws random numbers, which reach the condition"
