"""The findings of a comparison as plain records for front ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ....runtime.errors import InterruptError, LoopdbgError
from ....runtime.graph import UNKNOWN_ORIGIN, Origin, StoppedBy, Value
from ..causes.quantization_tie_rounding import is_within_step
from ..edits import Edit, EditScript
from ..running.value_comparison import Delta
from .difference_growth import DifferenceGrowth


class Verdict(Enum):
    """The verdict of a comparison. ``SAME`` needs evidence: both sides ended by themselves, and every carried value,
    scan output and output of both was compared.

    >>> loopdbg.diff(model, model, inputs).verdict is loopdbg.Verdict.SAME
    True
    """

    SAME = "same"
    DIFFER = "differ"
    #: Everything was compared; quantised values differ by at most one step.
    STEP = "same within one quantisation step"
    #: The peer's results vary between runs, so that differences are not significant.
    UNSTABLE = "the peer differs from itself"
    #: Everything compared is the same; a limit ended both sides.
    LIMITED = "same up to a limit"
    #: Everything compared is the same; one side has values that the other lacks.
    PARTLY = "same as far as compared"
    #: One side refused, failed or crashed.
    NOT_COMPARED = "cannot compare"

    @property
    def status(self) -> int:
        """The exit status of the verdict.

        >>> loopdbg.Verdict.DIFFER.status
        6
        """
        return _STATUS[self]


_STATUS = {
    **{Verdict.SAME: 0, Verdict.DIFFER: 6, Verdict.STEP: 9, Verdict.LIMITED: 4},
    **dict.fromkeys((Verdict.PARTLY, Verdict.NOT_COMPARED, Verdict.UNSTABLE), 8),
}


@dataclass(frozen=True)
class Difference:
    """Two values that are not the same.

    ``role``: carried, scan, condition, result, output; of a cause also node, constant, sliced input, iteration number,
    input. ``iteration``: that computed it; None for an initial value or outside of loops.
    """

    role: str
    name: str
    other: str
    delta: Delta
    loop: str = ""
    entry: tuple[int, ...] = ()
    iteration: int | None = None
    #: The complete values.
    left: Any = None
    right: Any = None
    #: Of a reference: source location and producer of the right value; empty if unknown.
    source: str = ""
    maker: str = ""
    #: The distance of neighbouring quantised values; 0 if not quantised.
    step: float = 0.0

    @property
    def differs_within_step(self) -> bool:
        """Whether a quantised value was only rounded in the other direction."""
        return self.delta.kind == "value" and is_within_step(self.delta.absolute, self.step)


@dataclass(frozen=True)
class NodeDifference:
    """A node whose result differs although its operands are equal; ``other``: its counterpart on the right.

    ``source_line``: the source code of the node; ``origin``: its location.
    """

    node: str
    name: str
    op_type: str
    #: Input name -> the operand.
    inputs: Sequence[tuple[str, Any]]
    difference: Difference
    other: str = ""
    other_op_type: str = ""
    source_line: str = ""
    other_source_line: str = ""
    origin: Origin = UNKNOWN_ORIGIN


@dataclass(frozen=True)
class Cause:
    """The cause of a difference: a node with equal operands, or else ``source``, the input that differs.

    ``remark``: why the search ended without either. ``unmatched_pair``: the first values whose correspondence is
    unknown. ``candidate_nodes``: the possible nodes if the values between them are unknown. ``reader_source_line``: the
    source code that reads ``source`` on the left. With both, or with ``candidate_nodes`` and a source, the source was
    traced to its producer.
    """

    source: Difference | None = None
    node: NodeDifference | None = None
    remark: str = ""
    unmatched_pair: tuple[Value, Value] | None = None
    candidate_nodes: tuple[str, ...] = ()
    reader_source_line: str = ""


class EditEffect(Enum):
    """What an edit does with the inputs of a comparison; reports have the text."""

    #: With the causes applied to one side, the difference is gone.
    CAUSE = "cause"
    #: The difference is gone without it, or there is none.
    NO_EFFECT = "none"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class StaticDifference:
    """A static difference of two models.

    ``kind``: that of an edit (edits.EditKind); ``detail``: the name of the attribute that differs. ``loop_path``: the
    path of the loop on the left, or ``main``. Constants have both values, everything else a text. ``deciding``: the
    condition depends on it. ``likeness``: the relation of the right constant to the left one, if known.
    ``source_line``: the source code of the node on the left. ``effect``: what it does with these inputs, as far as that
    was demonstrated. ``edit``: the edit of the script, if it has one.
    """

    kind: str
    loop_path: str
    name: str
    other: str
    left_text: str
    right_text: str
    deciding: bool = False
    left: Any = None
    right: Any = None
    delta: Delta | None = None
    likeness: str = ""
    source_line: str = ""
    detail: str = ""
    effect: EditEffect = EditEffect.UNKNOWN
    edit: Edit | None = None


@dataclass(frozen=True)
class TippedValue:
    """One quantised value that rounds to the neighbouring step. ``iteration``: None for a node of the main graph;
    ``count``: how many elements of ``name`` tip."""

    loop: str
    entry: tuple[int, ...]
    iteration: int | None
    node: str
    op_type: str
    name: str
    count: int

    @property
    def text(self) -> str:
        """The value in words."""
        values = "one quantised value tips" if self.count == 1 else f"{self.count} quantised values tip"
        place = "" if self.iteration is None else f"in iteration {self.iteration}, "
        return f"{values} {place or 'at '}node {self.node}"


@dataclass(frozen=True)
class Demonstration:
    """How the cause of a difference was demonstrated by running one side again with changes.

    ``method``: "edits" if edits were applied, "values" if values of the other side were substituted, "rounding" if
    inputs were moved by one unit in the last place; empty if no cause was shown, with ``text`` as the reason. ``text``:
    the demonstration in one line, without the number of ``reruns``. ``is_minimal``: no single change could be left out.
    ``bit_identical``: with the changes, the results are those of the other side bit for bit, not within the tolerance
    only. ``amplification``: of rounding, the units in the last place by which an output moves for one of an input.
    """

    method: str
    text: str
    reruns: int
    is_minimal: bool = False
    bit_identical: bool = False
    amplification: float | None = None
    tipped: TippedValue | None = None

    @property
    def verdict(self) -> str:
        """The verdict if rounding is the cause; empty otherwise."""
        if self.amplification is None and self.tipped is None and self.method != "rounding":
            return ""
        rounding = "rounding" if self.amplification is None else f"rounding, amplified by {self.amplification:.3g}"
        return rounding if self.tipped is None else f"{self.tipped.text}: {rounding}"


@dataclass(frozen=True)
class DivergenceReason:
    """Why two runtimes differ: a rule of docs/check.md, or an observation."""

    rule: str
    text: str


@dataclass
class TripDifference:
    """One loop entry with different trip counts."""

    entry: tuple[int, ...]
    left: int
    right: int
    left_ended: StoppedBy | None
    right_ended: StoppedBy | None
    #: The number of entries whose trip counts differ.
    entries: int = 1
    #: The observed cause; empty if there is none.
    explanation: str = ""
    reasons: list[DivergenceReason] = field(default_factory=list)


class _TypeHeadroom:
    """Numbers of a type with the maximum ``limit``."""

    limit: float
    largest: float

    @property
    def headroom(self) -> float:
        """The largest number of the type over the largest number that occurred."""
        return self.limit / self.largest if self.largest else math.inf


@dataclass
class BoundaryHeadroom(_TypeHeadroom):
    """The headroom of a value whose type is narrower on one side.

    ``largest``: the largest finite magnitude on that side, in ``iteration``; ``limit``: the maximum of the type.
    ``first_nonfinite_iteration``: the first iteration with an infinity or NaN that the other side does not have.
    """

    name: str
    dtypes: tuple[str, str]
    #: The narrower side; 0: left.
    side: int
    limit: float
    largest: float = 0.0
    iteration: int | None = None
    first_nonfinite_iteration: int | None = None

    @property
    def narrow_dtype(self) -> str:
        """The narrower type."""
        return self.dtypes[self.side]


@dataclass(frozen=True)
class OutOfRangeResult:
    """The first result outside the range of its type: an infinity or NaN on the narrower side only, or a clipped
    quantised value.

    ``iteration``: None for a node of the main graph; ``name``: the result; ``count``: the number of such elements
    out of ``size``.
    """

    node: str
    name: str
    op_type: str
    entry: tuple[int, ...]
    iteration: int | None
    count: int
    size: int


@dataclass
class BodyHeadroom(_TypeHeadroom):
    """The headroom of all results of a body in the narrower float type of two models, and of results of the main graph
    before the loop.

    ``largest``: the largest finite magnitude, which ``node`` computed in ``iteration`` (None: before the loop);
    ``limit``: the maximum of the type. ``untested_from_iteration``: from here on results were not tested.
    """

    side: int
    dtype: str
    limit: float
    largest: float = 0.0
    iteration: int | None = None
    node: str = ""
    op_type: str = ""
    first_nonfinite: OutOfRangeResult | None = None
    untested_from_iteration: int | None = None


@dataclass
class Saturation:
    """The headroom of a quantised value in the range from ``low`` to ``high``. ``dtype``: the quantised type, or the
    levels of a FakeQuantize.

    ``largest``: the element with the largest fraction of the range on its side of zero, in ``iteration`` (None: in the
    main graph);
    ``first_saturated``: the first clipped result.
    """

    side: int
    node: str
    op_type: str
    dtype: str
    low: float
    high: float
    range_fraction: float = 0.0
    largest: float = 0.0
    iteration: int | None = None
    first_saturated: OutOfRangeResult | None = None

    @property
    def headroom(self) -> float:
        """The factor by which the largest element could grow."""
        return 1 / self.range_fraction if self.range_fraction else math.inf


@dataclass
class IterationDifferences:
    """The number of values that were compared in one iteration, and their largest differences."""

    compared: int = 0
    absolute: float = 0.0
    relative: float = 0.0
    beyond_tolerance: bool = False

    def add(self, delta: Delta) -> None:
        """Count two values that were compared."""
        self.compared += 1
        self.absolute, self.relative = max(self.absolute, delta.absolute), max(self.relative, delta.relative)
        self.beyond_tolerance |= bool(delta.kind)


@dataclass
class LoopFindings:
    """One pair of loops. ``match_method``: path, name, structure, position, given; for values also condition."""

    left: str
    right: str
    match_method: str
    #: Pairs of carried values and scan outputs with different names: left, right, match method.
    renamed_values: list[tuple[str, str, str]] = field(default_factory=list)
    #: Carried values and scan outputs of one side only.
    only_left: list[str] = field(default_factory=list)
    only_right: list[str] = field(default_factory=list)
    #: The numbers of compared values, compared iterations and differing iterations.
    compared_values: int = 0
    iterations: int = 0
    differing_iterations: int = 0
    #: Boundaries of one side only, other than those of different trip counts.
    unmatched_boundaries: int = 0
    first: Difference | None = None
    #: Whether a value differs by more than one quantisation step.
    beyond_step: bool = False
    #: The position in execution order, which determines the first loop that differs.
    execution_position: tuple[int, ...] = ()
    #: Values that differ at the first difference -> the first iteration with different bits; -1: the start.
    differing_since: dict[str, int] = field(default_factory=dict)
    #: Values of different types.
    boundary_headrooms: list[BoundaryHeadroom] = field(default_factory=list)
    #: The results of the body if one model has narrower floats.
    body_headroom: BodyHeadroom | None = None
    #: Quantising nodes of the body, in execution order.
    saturations: list[Saturation] = field(default_factory=list)
    cause: Cause | None = None
    trips: TripDifference | None = None
    #: The iterations after which a run ended inside the loop; None: the loop ended on both sides.
    truncated_at_iteration: int | None = None
    #: Whether a limit ended the loop.
    iteration_limit_hit: bool = False
    #: Entries that ended on both sides, and the common reason of the last one.
    completed_entries: int = 0
    stopped_by: StoppedBy | None = None
    #: Trip counts of the last entry; None: never entered, or unknown.
    left_trips: int | None = None
    right_trips: int | None = None
    growth: DifferenceGrowth = field(default_factory=DifferenceGrowth)
    reasons: list[DivergenceReason] = field(default_factory=list)

    def add_iteration(self, iteration: int, differences: IterationDifferences) -> None:
        """Count an iteration that was compared."""
        self.compared_values += differences.compared
        self.iterations += 1
        self.differing_iterations += differences.beyond_tolerance
        self.growth.add(iteration, differences.absolute, differences.relative, differences.beyond_tolerance)

    def add_difference(self, difference: Difference, position: tuple[int, ...]) -> None:
        """Record two values that differ; the first one in execution order is kept."""
        self.beyond_step |= not difference.differs_within_step
        if self.first is None or position < self.execution_position:
            self.first, self.execution_position = difference, position

    def compare_entry_ends(
        self, entry: tuple[int, ...], left: tuple[int, StoppedBy | None], right: tuple[int, StoppedBy | None]
    ) -> None:
        """Compare the trip counts of both sides in an entry, each with the reason for its end."""
        self.stopped_by = left[1] if left[1] is right[1] else None
        if left[0] == right[0]:
            return
        if self.trips is None:
            self.trips = TripDifference(entry, left[0], right[0], left[1], right[1])
        else:
            self.trips.entries += 1

    def explain_trip_difference(self) -> None:
        """Explain different trip counts by the first value that differs, if that is before."""
        first, trips = self.first, self.trips
        if first is None or trips is None or first.entry > trips.entry:
            return
        subject = "the condition" if first.role == "condition" else f"'{first.name}'"
        entry = "" if first.entry == trips.entry else f" of entry {'/'.join(map(str, first.entry))}"
        time_text = "before iteration 0" if first.iteration is None else f"in iteration {first.iteration}{entry}"
        trips.explanation = f"{subject} differs {time_text}"

    @property
    def node(self) -> NodeDifference | None:
        """The node that causes the difference; None if there is none or it is unknown."""
        return None if self.cause is None else self.cause.node

    @property
    def compared(self) -> bool:
        """Whether anything was compared."""
        return bool(self.iterations) or self.left_trips is not None

    @property
    def same(self) -> bool:
        """Whether nothing in this loop differs."""
        return self.first is None and self.trips is None

    @property
    def differs_within_step(self) -> bool:
        """Whether only quantised values differ, by at most one step."""
        only_step = self.first is None or self.first.differs_within_step
        return only_step and self.trips is None and not self.beyond_step

    @property
    def is_fully_compared(self) -> bool:
        """Whether every value was compared to the end."""
        return self.truncated_at_iteration is None and not (self.only_left or self.only_right)


@dataclass(frozen=True)
class PeerFailure:
    """A peer that refused, failed, crashed or hung. ``kind``: one of these; ``activity``: what it was doing."""

    kind: str
    activity: str
    text: str
    reasons: tuple[DivergenceReason, ...] = ()


@dataclass
class Comparison:
    """One comparison of two sides. ``mode``: streams, lockstep, free, reference."""

    mode: str
    left: str
    right: str
    #: Static differences; the runs may still be the same.
    static_differences: list[StaticDifference] = field(default_factory=list)
    loops: list[LoopFindings] = field(default_factory=list)
    outputs: list[Difference] = field(default_factory=list)
    #: Quantising nodes of the main graph, in execution order.
    saturations: list[Saturation] = field(default_factory=list)
    #: If outputs differ and no loop does: the first differing output and its cause.
    first_output: Difference | None = None
    cause: Cause | None = None
    #: The edits that the static differences list.
    script: EditScript | None = None
    #: How the cause was demonstrated; None: nothing differs, or no side can be run with changes.
    demonstration: Demonstration | None = None
    #: The numbers of compared outputs and of other compared values of the main graph.
    compared_outputs: int = 0
    compared_values: int = 0
    reasons: list[DivergenceReason] = field(default_factory=list)
    failures: list[PeerFailure] = field(default_factory=list)
    #: Loops and outputs of one side only; values of a reference that were not compared.
    unpaired: list[str] = field(default_factory=list)
    uncompared: list[str] = field(default_factory=list)
    #: The difference between two runs of the peer on the same inputs, beyond the tolerance.
    self_difference: Difference | None = None
    #: The error that ended our run, or the interrupt; the rest was not compared.
    error: LoopdbgError | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """The verdict by the evidence."""
        differing = [loop for loop in self.loops if not loop.same]
        only_steps = all(loop.differs_within_step for loop in differing) and all(
            d.differs_within_step for d in self.outputs
        )
        if not only_steps:
            return Verdict.UNSTABLE if self.self_difference is not None else Verdict.DIFFER
        interrupted = isinstance(self.error, InterruptError)
        if self.failures or (self.error is not None and not interrupted) or self.empty:
            return Verdict.NOT_COMPARED
        if interrupted or any(loop.iteration_limit_hit for loop in self.loops):
            return Verdict.LIMITED
        if self.unpaired or self.uncompared or not all(loop.is_fully_compared for loop in self.loops):
            return Verdict.PARTLY
        return Verdict.STEP if differing or self.outputs else Verdict.SAME

    @property
    def verdict_text(self) -> str:
        """The verdict in words; with the reason if rounding is the cause."""
        reason = "" if self.demonstration is None else self.demonstration.verdict
        return f"{self.verdict.value} ({reason})" if reason else self.verdict.value

    @property
    def same(self) -> bool:
        """Whether both sides ended by themselves, and every value was compared and is the same."""
        return self.verdict is Verdict.SAME

    @property
    def empty(self) -> bool:
        """Whether nothing was compared."""
        values = self.compared_outputs + self.compared_values
        return not (self.failures or values or any(loop.compared for loop in self.loops))

    @property
    def first(self) -> LoopFindings | None:
        """The loop with the first difference in execution order."""
        differing = [loop for loop in self.loops if loop.first is not None]
        return min(differing, key=lambda loop: loop.execution_position, default=None)

    @property
    def first_difference(self) -> Difference | None:
        """The first difference in execution order: of a loop, or else of the outputs."""
        if self.first is not None:
            return self.first.first
        return self.first_output or next(iter(self.outputs), None)

    def add_note(self, text: str) -> None:
        """Add a note unless it is there already."""
        if text not in self.notes:
            self.notes.append(text)
