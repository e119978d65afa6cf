"""Why a loop ended, or why it goes on: what decided, with values, and whether and when that can change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...runtime.graph import Graph, If, Loop, Node, StoppedBy, Value, walk
from ...runtime.graph.producers import ProducerMap
from ...runtime.model import Model
from ...runtime.plugin_registry import load_plugin
from ...runtime.text import count_text, escape_lines
from ..describe.code_lines import CodeLines
from ..describe.condition import (
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
from ..describe.node_text import NodeFormatter
from ..describe.termination import TerminationRule, end_reason, termination_rule
from ..describe.value_names import display_name
from ..frame_protocol import FrameProtocol
from ..value_text import value_text
from .evidence import ConditionEvidence, RecentBoundaries
from .trend import Trend, TurningEstimate, estimate_turning

_VALUE_WIDTH = 24
#: So many of the newest values of a carried value are shown.
_MAX_SHOWN_VALUES = 6
_TITLE_WIDTH = 11
#: Of larger values only the newest two are shown.
_SMALL_VALUE_ELEMENTS = 1
#: Trends that do not tell how long a comparison will stay as it is.
_UNPREDICTABLE_TRENDS = frozenset({Trend.CONSTANT, Trend.ACCELERATING, Trend.IRREGULAR})
#: Parts of a decision, each with what it has to be for the loop to go on.
_WantedDecisions = tuple[tuple[Decision, bool], ...]


@runtime_checkable
class DebugSubject(Protocol):
    """What a session offers, and a recording."""

    @property
    def model(self) -> Model: ...
    @property
    def frame(self) -> FrameProtocol: ...


@dataclass(frozen=True, eq=False)
class DecidingNode:
    """One node that the condition depends on, as pseudo-code, and its result; ``known`` is false where that is not at
    hand. ``code``: the line of code that it comes from, where the model tells that."""

    node: Node
    text: str
    value: Any = None
    known: bool = False
    code: str = ""


@dataclass(frozen=True, eq=False)
class ConditionComparison:
    """One comparison behind the condition: as code, with values, whether it holds, and where it is heading."""

    comparison: DecidingComparison
    text: str
    values: str
    holds: bool | None
    estimate: TurningEstimate | None = None


@dataclass(frozen=True, eq=False)
class ConditionInput:
    """A value that the condition depends on; ``what``: carried, capture, iteration number or sliced input."""

    name: str
    kind: str
    #: Over the last iterations, oldest first; of what stays the same one.
    values: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Why:
    """Why a loop ended or goes on. ``lines()`` and ``str()`` are all of it as text.

    >>> _ = session.step(4)
    >>> reason = session.why()
    >>> reason.headline
    "loop 'sqrt' goes on to iteration 4: keep = err_new > tol is true: 2.1457672e-06 > 1e-06"
    >>> reason.about
    1
    >>> [side.text for side in reason.sides]
    ['err_new > tol']
    """

    path: str
    iteration: int
    headline: str
    ended: StoppedBy | None = None
    #: The execution condition that was decided last; None where the loop has none.
    condition: bool | None = None
    slice: ConditionSlice | None = None
    steps: tuple[DecidingNode, ...] = ()
    sides: tuple[ConditionComparison, ...] = ()
    reads: tuple[ConditionInput, ...] = ()
    trip_count: int | None = None
    #: Iterations that the trip count still allows.
    left: int | None = None
    #: Why the condition will never end the loop; empty where nothing says so for certain.
    never: str = ""
    #: The carried values are what they were so many iterations ago, so they will be again.
    repeats: int | None = None
    #: About so many more iterations until the condition ends the loop; None: no estimate, or it does not seem to.
    about: int | None = None
    #: It may well end it earlier: another part of it has no trend, or a trend gets faster.
    at_most: bool = False
    remarks: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """The explanation as text, the headline first.

        >>> next(session.why().lines())
        "loop 'sqrt' begins: keep0 = err0 > tol is true: 2.0 > 1e-06"
        """
        yield self.headline
        # A trip count ends it all the same.
        title = "never ends" if self.trip_count is None else "stays true"
        yield from _rows(title, [self.never] if self.never else [])
        compared = [f"{side.text}: {side.values}" if side.values else side.text for side in self.sides]
        yield from _rows("compares", compared)
        yield from _rows("estimate", [text for side in self.sides for text in _estimate_lines(side, len(self.sides))])
        if self.left is not None and self.trip_count is not None and self.ended is None:
            yield from _rows("trip count", [f"{self.trip_count}, {self.left} left"])
        wide = max((len(step.text) for step in self.steps), default=0)
        shown = [(step.text, _value_text(step.value) if step.known else "·") for step in self.steps]
        yield from _rows("computed by", [f"{text:<{min(wide, 48)}}  {value}" for text, value in shown])
        yield from _rows("comes from", list(dict.fromkeys(step.code for step in self.steps if step.code)))
        for what in dict.fromkeys(read.kind for read in self.reads):
            yield from _rows(what, [_input_text(read) for read in self.reads if read.kind == what])
        yield from _rows("note", list(self.remarks))

    def __str__(self) -> str:
        return escape_lines(self.lines())

    def _repr_html_(self) -> str:
        drawn: str = load_plugin("html")("text", self)
        return drawn


def _value_text(value: Any) -> str:
    """A value as text; one element without its brackets."""
    if isinstance(value, np.ndarray) and value.ndim and value.size == 1:
        value = value.reshape(())
    return value_text(value, _VALUE_WIDTH)


def _rows(title: str, rows: list[str]) -> Iterator[str]:
    for row in rows:
        yield f"  {title:<{_TITLE_WIDTH}} {row}"
        title = ""


def _estimate_lines(side: ConditionComparison, of: int) -> list[str]:
    if side.estimate is None:
        return []
    return [side.estimate.text if of == 1 else f"{side.text}: {side.estimate.text}"]


def _input_text(read: ConditionInput) -> str:
    values = [_value_text(value) for value in read.values]
    if any(np.size(value) > _SMALL_VALUE_ELEMENTS for value in read.values):
        values = values[-2:]
    return f"{read.name} = {' → '.join(values)}" if values else read.name


def explain_termination(
    subject: FrameProtocol | DebugSubject, recent: RecentBoundaries = (), graph: Graph | None = None
) -> Why:
    """Why the loop of a frame ended, or why it goes on.

    ``recent``: the last boundaries of this entry of the loop, one after the other, oldest first: of each the carried
    values by parameter, as the next iteration gets them, and as far as known what the iteration that just ended
    computed. The last is the one at which the frame stands, or before the iteration that runs. More of them show
    trends and longer cycles; without any, what the frame itself knows is used. ``graph``: the model's main graph, where
    the subject is no session; it tells where an initial condition comes from.
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
        #: What the condition in force comes from: the initial one before any iteration ended, the body's after that.
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
        left = None if trips is None or self.ended is not None else max(trips - self.iteration, 0)
        repeats = self._repetition_period() if self.ended is None and truth is not False else None
        never = self._never_ends_reason(repeats) if self.ended is None and truth is not False else ""
        body = self.deciding_value is not None and (self.iteration > 0 or self.loop.condition_node_count is not None)
        sides = (
            tuple(self._comparisons(self.decision, True))
            if self.decision is not None and self.termination.condition_decides
            else ()
        )
        if self.decision is not None:
            sides = tuple(self._bound_estimates(sides, dict(self._independent_endings(self.decision, True, ()))))
        about = (
            None
            if never or self.ended is not None or not body
            else self._estimated_iterations(self.decision, True, sides)
        )
        at_most = any(e.at_most for side in sides if (e := side.estimate) is not None and e.iterations == about)
        return Why(
            self.frame.path,
            self.iteration,
            self._headline(),
            self.ended,
            truth,
            self.condition_slice,
            tuple(self._steps(self.loop.body)) if body else (),
            sides,
            tuple(self._condition_inputs()) if self.deciding_value is not None else (),
            trips,
            left,
            never,
            repeats,
            about,
            at_most,
            tuple(self._remarks(about, at_most, left)),
        )

    # -- the headline

    def _headline(self) -> str:
        name = f"loop '{self.frame.name}'"
        if self.ended is not None:
            return self._ended_headline(name)
        runs = self.iteration
        if not self.frame.at_boundary:
            when = f"{name} runs iteration {runs}"
        else:
            when = f"{name} goes on to iteration {runs}" if runs else f"{name} begins"
        if self.deciding_value is not None and (
            self.termination.condition_decides or (not runs and self.loop.condition_node_count is None)
        ):
            return f"{when}: {self._condition_text()}"
        if self.frame.trip_count is not None:
            counts = "the sliced inputs have" if self.loop.counted_by_slices else "the trip count is"
            parts = " parts" if self.loop.counted_by_slices else ""
            return f"{when}: nothing but the count ends it, and {counts} {self.frame.trip_count}{parts}"
        return f"{when}: nothing in it can end it"

    def _ended_headline(self, name: str) -> str:
        runs = self.iteration
        done = f"{name} ended after {count_text(runs, 'iteration')}" if runs else f"{name} runs no iteration"
        if self.ended is StoppedBy.CONDITION:
            both = ""
            if runs and self.frame.trip_count == runs:
                both = ", and the trip count is reached as well"
            return f"{done}: {self._condition_text()}{both}"
        if self.ended is StoppedBy.TRIP_COUNT:
            also = ""
            if runs and self.termination.condition_decides and self.deciding_value is not None:
                also = f"; {self._condition_text()}, so it would have gone on"
            given = declared_trip_count(self.frame)
            negative = ", and a negative one runs nothing" if given is not None and given < 0 else ""
            return f"{done}: the trip count is {given}{negative}{also}"
        if self.ended is StoppedBy.INPUT_EXHAUSTED:
            names = ", ".join(display_name(sliced.outer) for sliced in self.termination.slices)
            return f"{done}: {names} has {'no' if not runs else 'no more'} part"
        return done if self.ended is None else f"{done}: {end_reason(self.ended)}"

    def _condition_text(self) -> str:
        """``keep = err_new > tol is false: 0.0 > 1e-06``."""
        if self.deciding_value is None or self.decision is None:
            return "the condition is true"
        was_set = self._override_text()
        if was_set:
            return was_set
        if self.formatter.constant(self.deciding_value) is not None:
            which = "condition" if self.iteration or self.loop.condition_node_count is not None else "initial condition"
            return f"the {which} is the constant {'true' if self.frame.condition else 'false'}"
        name = self.formatter.operand(self.deciding_value, bare=True)
        text = decision_text(self.decision, self.formatter)
        truth = self.frame.condition
        word = "true" if truth else "false"
        told = f"{name} is {word}" if text == name else f"{name} = {text} is {word}"
        values = self._deciding_values_text()
        was = "" if self.frame.at_boundary or not self.iteration else f" (decided by iteration {self.iteration - 1})"
        return f"{told}{f': {values}' if values else ''}{was}"

    def _override_text(self) -> str:
        """That the condition in force is not what was computed: somebody has set it; else empty."""
        assert self.deciding_value is not None and self.decision is not None
        data = self.formatter.constant(self.deciding_value)
        computed = (
            self.evidence.truth_of(self.decision) if data is None else bool(np.asarray(data).reshape(-1)[:1].all())
        )
        force = self.frame.condition
        if computed is None or force is None or computed is force:
            return ""
        name = self.formatter.operand(self.deciding_value, bare=True)
        text = decision_text(self.decision, self.formatter)
        what = name if data is None else f"the {'condition' if self.iteration else 'initial condition'}"
        values = self._deciding_values_text() if data is None else ""
        told = f"{name} = {text}" if data is None and text != name else what
        words = {True: "true", False: "false"}
        return f"the condition was set to {words[force]}; {told} is {words[computed]}{f': {values}' if values else ''}"

    def _deciding_values_text(self) -> str:
        """The values of a condition that is one comparison."""
        of = self.decision
        if isinstance(of, NegatedDecision) and isinstance(of.operand, DecidingComparison):
            turned = NEGATED_SIGN[of.operand.sign] if of.operand.sign in ("==", "!=") else of.operand.sign
            return self._comparison_values_text(of.operand, turned)
        return self._comparison_values_text(of, of.sign) if isinstance(of, DecidingComparison) else ""

    def _comparison_values_text(self, of: DecidingComparison, sign: str) -> str:
        """The comparison with the values that it had; empty where they are not known."""
        sides = [self.evidence.value_of(side) for side in (of.left, of.right)]
        if not all(there for there, _ in sides):
            return ""
        return f" {sign} ".join(_value_text(data) for _, data in sides)

    # -- the comparisons, and where they are heading

    def _comparisons(self, of: Decision, wanted: bool) -> Iterator[ConditionComparison]:
        """Every comparison that counted, in order; ``wanted``: what it has to be for the loop to go on."""
        if isinstance(of, DecidingComparison):
            holds = self.evidence.truth_of(of)
            sign = of.sign if wanted else NEGATED_SIGN[of.sign]
            heading = None
            if self.ended is None and self.iteration and holds is wanted:
                left, right = (self.evidence.series(side) for side in (of.left, of.right))
                known = min(len(left), len(right))
                names = (self.formatter.operand(of.left, bare=True), self.formatter.operand(of.right, bare=True))
                dtype = self.evidence.dtype_of(of.left) or self.evidence.dtype_of(of.right)
                if known and (dtype is None or dtype.kind != "b"):
                    heading = estimate_turning(
                        left[len(left) - known :], right[len(right) - known :], sign, names, dtype
                    )
            yield self._make_comparison(of, wanted, holds, heading)
        elif isinstance(of, NegatedDecision):
            yield from self._comparisons(of.operand, not wanted)
        elif isinstance(of, LogicalDecision):
            for part in of.operands:
                yield from self._comparisons(part, wanted)
        elif isinstance(of, ConditionalDecision):
            branch = self.evidence.taken_branch(of)
            if branch is not None:
                yield from self._comparisons(branch, wanted)

    def _make_comparison(
        self, of: DecidingComparison, wanted: bool, holds: bool | None, heading: TurningEstimate | None
    ) -> ConditionComparison:
        """As the model compares, but ``not a == b`` as ``a != b``, which is the same with NaN as well."""
        whole: Decision = of
        if not wanted and of.sign in ("==", "!="):
            whole = NegatedDecision(of.value, of)
            holds = None if holds is None else not holds
        values = self._comparison_values_text(of, NEGATED_SIGN[of.sign] if whole is not of else of.sign)
        word = "" if holds is None else f" is {'true' if holds else 'false'}"
        return ConditionComparison(
            of, decision_text(whole, self.formatter), f"{values}{word}" if values else "", holds, heading
        )

    def _estimated_iterations(
        self, of: Decision | None, wanted: bool, sides: tuple[ConditionComparison, ...]
    ) -> int | None:
        """When a decision stops being as wanted: of parts that all have to hold the first to turn, else the last."""
        if isinstance(of, DecidingComparison):
            found = next((side.estimate for side in sides if side.comparison is of), None)
            return None if found is None else found.iterations
        if isinstance(of, NegatedDecision):
            return self._estimated_iterations(of.operand, not wanted, sides)
        if isinstance(of, ConditionalDecision):
            return self._estimated_iterations(self.evidence.taken_branch(of), wanted, sides)
        if isinstance(of, LogicalDecision):
            holding = [part for part in of.operands if self.evidence.truth_of(part) is wanted]
            all_have_to = (of.operator == "and") is wanted
            times = [
                self._estimated_iterations(part, wanted, sides) for part in (of.operands if all_have_to else holding)
            ]
            known = [time for time in times if time is not None]
            if all_have_to:
                return min(known, default=None)
            return max(known) if known and len(known) == len(times) else None
        return None

    # -- what else may end it before

    def _independent_endings(
        self, of: Decision, wanted: bool, others: _WantedDecisions
    ) -> Iterator[tuple[DecidingComparison, _WantedDecisions]]:
        """Every comparison that can end the loop by itself, and the other parts of the decision that can as well."""
        if isinstance(of, DecidingComparison):
            yield of, others
        elif isinstance(of, NegatedDecision):
            yield from self._independent_endings(of.operand, not wanted, others)
        elif isinstance(of, ConditionalDecision):
            branch = self.evidence.taken_branch(of)
            if branch is not None:
                yield from self._independent_endings(branch, wanted, (*others, (OpaqueDecision(of.condition), True)))
        elif isinstance(of, LogicalDecision):
            if (of.operator == "and") is wanted:
                for k, part in enumerate(of.operands):
                    yield from self._independent_endings(part, wanted, (*others, (of.operands[1 - k], wanted)))
            else:
                holding = [part for part in of.operands if self.evidence.truth_of(part) is wanted]
                if len(holding) == 1:
                    yield from self._independent_endings(holding[0], wanted, others)

    def _bound_estimates(
        self, sides: tuple[ConditionComparison, ...], rivals: Mapping[DecidingComparison, _WantedDecisions]
    ) -> Iterator[ConditionComparison]:
        """The estimates as what they are where another part of the condition may turn first: the most that there is."""
        known = {side.comparison: side.estimate for side in sides}
        for side in sides:
            found, others = side.estimate, rivals.get(side.comparison, ())
            more = None if found is None else found.iterations
            if (
                found is not None
                and more is not None
                and any(self._may_turn_before(*part, more, known) for part in others)
            ):
                yield replace(side, estimate=found.as_upper_bound())
            else:
                yield side

    def _may_turn_before(
        self, of: Decision, wanted: bool, more: int, known: Mapping[DecidingComparison, TurningEstimate | None]
    ) -> bool:
        """Whether a part may stop being as wanted before so many more iterations."""
        if isinstance(of, NegatedDecision):
            return self._may_turn_before(of.operand, not wanted, more, known)
        if isinstance(of, LogicalDecision):
            turn = [self._may_turn_before(part, wanted, more, known) for part in of.operands]
            return any(turn) if (of.operator == "and") is wanted else all(turn)
        if not self._can_vary(of.value):
            return False
        found = known.get(of) if isinstance(of, DecidingComparison) else None
        if found is None or found.trend in _UNPREDICTABLE_TRENDS:
            return True
        return found.iterations is not None and found.iterations < more

    def _can_vary(self, value: Value) -> bool:
        """Whether a value can differ between iterations."""
        if value in self.loop.body.inputs or any(value in node.outputs for node in self.loop.body.nodes):
            return condition_slice(replace(self.loop, condition=value)).can_change
        # Of an If inside, or of the graph around.
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

    def _never_ends_reason(self, repeats: int | None) -> str:
        trips = self.frame.trip_count
        unless = "" if trips is None else f"; the trip count of {trips} ends it"
        if not self.termination.condition_decides:
            if trips is not None:
                return ""
            if self.loop.condition is None:
                return "it has neither a trip count nor a condition"
            kept = "is always true" if self.termination.constant_condition else "stays what it was at the entry"
            return f"there is no trip count, and the condition {kept}"
        if self.loop.condition is None:
            return ""
        name = display_name(self.loop.condition)
        if not self.condition_slice.can_change:
            fixed = [*self.condition_slice.captures, *self.condition_slice.constants]
            names = ", ".join(self.formatter.operand(value, bare=True) for value in fixed[:4])
            names += ", ..." if len(fixed) > 4 else ""
            stay = "stays" if len(fixed) == 1 else "stay"
            same = f"only on {names}, which {stay} the same" if fixed else "on nothing that changes"
            told = f"{name} depends {same} in every iteration"
            return f"{told}, so it stays true{unless}" if self.iteration else ""
        if repeats is None:
            return ""
        names = ", ".join(display_name(edge.param) for edge in self.condition_slice.all_carried)
        one = len(self.condition_slice.all_carried) == 1
        if repeats == 1:
            told = f"{names} {'is' if one else 'are'} bit for bit as one iteration ago"
        else:
            told = f"{names} {'repeats' if one else 'repeat'} bit for bit every {repeats} iterations"
        return f"{told}, and {name} depends on nothing else that changes{unless}"

    # -- the slice

    def _steps(self, graph: Graph) -> Iterator[DecidingNode]:
        """The nodes of the slice in the order in which they ran, those of branches not taken left out."""
        wanted = set(self.condition_slice.nodes)
        for node in graph.nodes:
            if node not in wanted or node.op_type == "Constant":
                continue
            text = self.formatter.assignment(node)
            if isinstance(node, If):
                text = self._if_text(node)
                for branch in self._taken_branches(node):
                    yield from self._steps(branch)
            output = next((value for value in node.outputs if value is not None), None)
            known, value = (False, None) if output is None else self.evidence.value_of(output)
            yield DecidingNode(node, text, value, known, self.code_lines.describe_node(node))

    def _taken_branches(self, node: If) -> tuple[Graph, ...]:
        """The branch that ran; both where that is not known."""
        condition = node.inputs[0]
        taken = None if condition is None else self.evidence.truth_of(OpaqueDecision(condition))
        if taken is None:
            return (node.then_branch, node.else_branch)
        return (node.then_branch,) if taken else (node.else_branch,)

    def _if_text(self, node: If) -> str:
        condition = self.formatter.operand(node.inputs[0], bare=True)
        texts = []
        for k, output in enumerate(node.outputs):
            if output is not None:
                then, otherwise = (
                    self.formatter.operand(branch.outputs[k]) for branch in (node.then_branch, node.else_branch)
                )
                texts.append(f"{display_name(output)} = {then} if {condition} else {otherwise}")
        return "; ".join(texts)

    def _condition_inputs(self) -> Iterator[ConditionInput]:
        found = self.condition_slice
        for edge in found.all_carried:
            name = edge.param.name
            values = [seen[name] for seen in self.evidence.recent if name in seen]
            yield ConditionInput(display_name(edge.param), "carried", tuple(values[-_MAX_SHOWN_VALUES:]))
        if found.depends_on_iteration and self.loop.iteration is not None:
            yield ConditionInput(display_name(self.loop.iteration), "iteration", ())
        for sliced in found.all_slices:
            yield ConditionInput(
                f"{display_name(sliced.inner)}, a part of {display_name(sliced.outer)} each", "sliced", ()
            )
        for value in found.captures:
            there, data = self.evidence.value_of(value)
            yield ConditionInput(display_name(value), "unchanged", (data,) if there else ())

    def _remarks(self, about: int | None, at_most: bool, left: int | None) -> Iterator[str]:
        if about is not None and left is not None and left < about:
            yield f"the trip count comes {'before that' if at_most else 'first'}: {left} left"
        ignored = self.loop.ignored_condition
        if ignored is not None and self.formatter.origins.constant_scalar(ignored) is not True:
            yield f"{display_name(ignored)} is ignored, since the loop's cond is absent"
        for node in self.condition_slice.random_nodes:
            yield f"{node.describe()} draws random numbers, which reach the condition"
