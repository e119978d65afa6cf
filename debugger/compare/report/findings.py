"""What a comparison found, as plain records: front ends print and write them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ....runtime.errors import LoopdbgError
from ....runtime.graph import UNKNOWN_ORIGIN, Origin, StoppedBy, Value
from ..causes.quantization_step import is_within_step
from ..running.value_comparison import Delta
from .difference_growth import DifferenceGrowth


class Verdict(Enum):
    """What a comparison says. ``SAME`` needs evidence: both sides ended by themselves, and every carried value, scan
    output and output of either was compared.

    >>> loopdbg.diff(model, model, inputs).verdict is loopdbg.Verdict.SAME
    True
    """

    SAME = "same"
    DIFFER = "differ"
    #: Everything was compared; what differs are quantised values, by one step of theirs at most.
    STEP = "same within one quantisation step"
    #: The peer gives something else each time it runs: what differs says nothing.
    UNSTABLE = "the peer differs from itself"
    #: What was compared is the same; a limit ended both sides.
    LIMITED = "same up to a limit"
    #: What was compared is the same; one side has values that the other has not.
    PARTLY = "same as far as compared"
    #: One side refused, failed or crashed.
    NOT_COMPARED = "cannot compare"

    @property
    def status(self) -> int:
        """The exit status that says so.

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
    input. ``iteration`` computed it; None: it is what a loop was entered with, or lies outside of loops.
    """

    role: str
    name: str
    other: str
    delta: Delta
    loop: str = ""
    entry: tuple[int, ...] = ()
    iteration: int | None = None
    #: The values whole.
    left: Any = None
    right: Any = None
    #: Of a reference: where in its source the right one is from, and what made it there; empty where that is not known.
    source: str = ""
    maker: str = ""
    #: How far apart two neighbours of a quantised value are; 0: it is not quantised.
    step: float = 0.0

    @property
    def within_step(self) -> bool:
        """A quantised value that was rounded the other way, no more."""
        return self.delta.kind == "value" and is_within_step(self.delta.absolute, self.step)


@dataclass(frozen=True)
class NodeDifference:
    """A node whose result differs although it is fed the same; ``other``: what stands in its place on the right.

    ``code``: the line of code that it comes from, as text; ``origin``: where that is.
    """

    node: str
    name: str
    op_type: str
    #: Input name -> what the node got.
    inputs: Sequence[tuple[str, Any]]
    difference: Difference
    other: str = ""
    other_op_type: str = ""
    source_line: str = ""
    other_source_line: str = ""
    origin: Origin = UNKNOWN_ORIGIN


@dataclass(frozen=True)
class Cause:
    """Where a difference comes from: a node that is fed the same, or else ``source``, what comes in and differs.

    ``remark``: why the search ended there, where it did not come to either. ``border``: the two values up to which
    structure says which is which. ``among``: the names of the nodes one of which it is, where what lies between them is
    not known. ``code``: the line of code that what reads ``source`` on the left comes from. With both, or with
    ``among`` and a source, the source was followed back to what made it.
    """

    source: Difference | None = None
    node: NodeDifference | None = None
    remark: str = ""
    unmatched_pair: tuple[Value, Value] | None = None
    candidate_nodes: tuple[str, ...] = ()
    reader_source_line: str = ""


@dataclass(frozen=True)
class StaticDifference:
    """Something that differs before anything runs.

    ``kind``: constant, operator, attributes, inputs, sliced input, initial value, back edge, condition, initial
    condition, scan output, trip count. ``place``: the path of the loop on the left, or ``main``. Of constants both
    values are there, of anything else a text. ``deciding``: the condition depends on it. ``likeness``: what the right
    one of two constants is to the left one, where that is known. ``code``: the line of code that the node on the left
    comes from.
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


@dataclass(frozen=True)
class DivergenceReason:
    """Why two runtimes differ: a rule of docs/diff.md, or what was observed."""

    rule: str
    text: str


@dataclass
class TripDifference:
    """One entry of a loop that ran a different number of iterations."""

    entry: tuple[int, ...]
    left: int
    right: int
    left_ended: StoppedBy | None
    right_ended: StoppedBy | None
    #: How many entries differ in this.
    entries: int = 1
    #: What was observed that makes it so; empty if nothing was.
    explanation: str = ""
    reasons: list[DivergenceReason] = field(default_factory=list)


class _TypeHeadroom:
    """Numbers of a type that holds none beyond ``limit``."""

    limit: float
    largest: float

    @property
    def headroom(self) -> float:
        """The largest number that the type holds over the largest that there was."""
        return self.limit / self.largest if self.largest else math.inf


@dataclass
class BoundaryHeadroom(_TypeHeadroom):
    """A value whose type is narrower on one side: how much of what that type holds is used.

    ``largest``: the largest finite magnitude on that side, in iteration ``at``; ``limit``: the largest of the type.
    ``infinite``: the iteration that first had an infinity or NaN there which the other side does not have.
    """

    name: str
    dtypes: tuple[str, str]
    #: 0: the left side is the narrower one.
    side: int
    limit: float
    largest: float = 0.0
    iteration: int | None = None
    first_nonfinite_iteration: int | None = None


@dataclass(frozen=True)
class OutOfRangeResult:
    """The first result that its type does not hold: infinities or NaN on the side of the narrower floats alone, or what
    a quantised value is cut off at.

    ``iteration``: None where a node of the main graph computed it; ``name``: the result; ``count``: how
    many of its ``size`` elements.
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
    """How far all results of a body reach into the narrower float type of two models, carried or not; and those of the
    main graph from before the loop.

    ``largest``: the largest finite magnitude, which ``node`` computed in iteration ``at`` (None: before it); ``limit``:
    the largest of the type. ``until``: the iteration from which on results were not tested any more.
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
    """A value that is quantised: how much of the range between ``low`` and ``high`` it takes. ``dtype``: or, of a
    FakeQuantize, how many levels it has.

    ``largest``: the element that takes the greatest part of the range on its side of zero, in iteration ``at`` (None:
    in the main graph);
    ``first``: where something was cut off.
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
        """By how much it could be larger."""
        return 1 / self.range_fraction if self.range_fraction else math.inf


@dataclass
class LoopFindings:
    """One pair of loops. ``matched``: by path, name, structure, position, given; values also as the condition."""

    left: str
    right: str
    match_method: str
    #: Pairs of carried values and scan outputs whose names differ: left, right, how they were matched.
    renamed_values: list[tuple[str, str, str]] = field(default_factory=list)
    #: Carried values and scan outputs that only one side has.
    only_left: list[str] = field(default_factory=list)
    only_right: list[str] = field(default_factory=list)
    #: Values compared at all boundaries; iterations compared, and how many of them differ.
    compared_values: int = 0
    iterations: int = 0
    differing_iterations: int = 0
    #: Boundaries that only one side has, beyond those of a trip count that differs.
    unmatched_boundaries: int = 0
    first: Difference | None = None
    #: Some value differs by more than one step of a quantised one.
    beyond_step: bool = False
    #: Where it stands in time, to tell which loop's came first.
    execution_position: tuple[int, ...] = ()
    #: Of the values that differed there, by name: the iteration from which on they did, to the bit; -1: from the start.
    differing_since: dict[str, int] = field(default_factory=dict)
    #: Values of two types.
    boundary_headrooms: list[BoundaryHeadroom] = field(default_factory=list)
    #: All results of the body, where one of two models has narrower floats.
    body_headroom: BodyHeadroom | None = None
    #: What nodes of the body that quantise were given, in the order in which they run.
    saturations: list[Saturation] = field(default_factory=list)
    cause: Cause | None = None
    trips: TripDifference | None = None
    #: The iterations after which a run was over without an end of the loop; None: both sides came to one.
    truncated_at_iteration: int | None = None
    #: It was a limit that was set.
    iteration_limit_hit: bool = False
    #: Entries that both sides came to the end of, and what ended the last one of them, where that is the same.
    completed_entries: int = 0
    stopped_by: StoppedBy | None = None
    #: Iterations of the last entry on either side; None: it was never entered, or nobody can tell.
    left_trips: int | None = None
    right_trips: int | None = None
    growth: DifferenceGrowth = field(default_factory=DifferenceGrowth)
    reasons: list[DivergenceReason] = field(default_factory=list)

    @property
    def node(self) -> NodeDifference | None:
        """The node to blame; None where none is, or none is known."""
        return None if self.cause is None else self.cause.node

    @property
    def compared(self) -> bool:
        """Whether both sides had something to compare."""
        return bool(self.iterations) or self.left_trips is not None

    @property
    def same(self) -> bool:
        """Nothing in this loop differs."""
        return self.first is None and self.trips is None

    @property
    def within_step(self) -> bool:
        """What differs in this loop are quantised values, by one step at most."""
        told = self.first is None or self.first.within_step
        return told and self.trips is None and not self.beyond_step

    @property
    def fully_compared(self) -> bool:
        """Every value was compared, to the end."""
        return self.truncated_at_iteration is None and not (self.only_left or self.only_right)


@dataclass(frozen=True)
class PeerFailure:
    """A peer that refused, failed, crashed or hung. ``what``: one of these; ``where``: doing what."""

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
    #: What differs before anything runs; the runs may be the same all the same.
    static_differences: list[StaticDifference] = field(default_factory=list)
    loops: list[LoopFindings] = field(default_factory=list)
    outputs: list[Difference] = field(default_factory=list)
    #: What nodes of the main graph that quantise were given, in the order in which they run.
    saturations: list[Saturation] = field(default_factory=list)
    #: Where outputs differ and no loop does: the one that differs first, and where it comes from.
    first_output: Difference | None = None
    cause: Cause | None = None
    #: How many outputs were compared, and how many other values of the main graph.
    compared_outputs: int = 0
    compared_values: int = 0
    reasons: list[DivergenceReason] = field(default_factory=list)
    failures: list[PeerFailure] = field(default_factory=list)
    #: Loops and outputs that only one side has; values of a reference that were not compared.
    unpaired: list[str] = field(default_factory=list)
    uncompared: list[str] = field(default_factory=list)
    #: Where two runs of the peer on the same inputs differ beyond the tolerance.
    self_difference: Difference | None = None
    #: What ended a run of ours: the rest was not compared.
    error: LoopdbgError | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """What the evidence says."""
        differing = [loop for loop in self.loops if not loop.same]
        steps = all(loop.within_step for loop in differing) and all(one.within_step for one in self.outputs)
        if not steps:
            return Verdict.UNSTABLE if self.self_difference is not None else Verdict.DIFFER
        if self.failures or self.error is not None or self.empty:
            return Verdict.NOT_COMPARED
        if any(loop.iteration_limit_hit for loop in self.loops):
            return Verdict.LIMITED
        if self.unpaired or self.uncompared or not all(loop.fully_compared for loop in self.loops):
            return Verdict.PARTLY
        return Verdict.STEP if differing or self.outputs else Verdict.SAME

    @property
    def same(self) -> bool:
        """Both sides ended by themselves, every value of theirs was compared, and nothing differs."""
        return self.verdict is Verdict.SAME

    @property
    def empty(self) -> bool:
        """Nothing was compared."""
        values = self.compared_outputs + self.compared_values
        return not (self.failures or values or any(loop.compared for loop in self.loops))

    @property
    def first(self) -> LoopFindings | None:
        """The loop whose difference comes first in time."""
        found = [loop for loop in self.loops if loop.first is not None]
        return min(found, key=lambda loop: loop.execution_position, default=None)

    @property
    def first_difference(self) -> Difference | None:
        """The difference that comes first in time: of a loop, or where none differs of the outputs."""
        if self.first is not None:
            return self.first.first
        return self.first_output or next(iter(self.outputs), None)

    def add_note(self, text: str) -> None:
        """Say something once."""
        if text not in self.notes:
            self.notes.append(text)
