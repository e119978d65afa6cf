"""Two streams of boundaries, merged by their places in time and compared one pair at a time.

Nothing is kept of what was read but the findings, so that runs of any length can be compared.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ....runtime.errors import ExecutionError, LimitError
from ....runtime.graph import MAIN, Loop, StoppedBy, Value
from ...session.boundary import Boundary
from ..align.alignment import Alignment
from ..align.quantization_patterns import QUANTIZED_PEAK_TOLERANCE
from ..align.static_diff import static_differences
from ..causes.difference_tracer import DifferenceTracer, FindEarlier, differing_values
from ..causes.dynamic_range import RangeMonitor
from ..causes.narrow_types import note_headroom
from ..causes.output_causes import trace_outputs
from ..causes.quantization_saturation import SaturationMonitor
from ..causes.quantization_step import QuantizationSteps, compared_value
from ..report.findings import Cause, Comparison, Difference, LoopFindings, Saturation, TripDifference
from ..report.runtime_rules import reasons_predicting
from .loop_matching import LoopMatch, LoopMatching, NameMatching, match_loops, match_names, select_pairs
from .output_comparison import compare_outputs
from .progress import OnTick
from .sides import ComparisonSide, ModelSide, TraceSide
from .value_comparison import NO_DIFFERENCE, Tolerance, compare
from .value_readers import ValueReader

#: Runs from the start that are made to find where a carried value began to differ.
_MAX_RERUNS = 12
#: A place in time: for each loop, outermost first, the index of its pair and its iteration.
ExecutionPosition = tuple[int, ...]


@dataclass
class ComparisonOptions:
    """What is compared, and how."""

    tolerance: Tolerance = field(default_factory=Tolerance)
    #: Names of loops and values that are called something else on the right.
    names: Mapping[str, str] = field(default_factory=dict)
    #: Only these loops; empty: all.
    loops: Sequence[str] = ()
    #: Called a few times a second with how far a run is.
    on_tick: OnTick | None = None


def compare_sides(
    left: ComparisonSide,
    right: ComparisonSide,
    options: ComparisonOptions,
    mode: str = "streams",
    peer: str | None = None,
) -> Comparison:
    """Compare two runs: every boundary of every loop, trip counts, and the outputs.

    ``peer``: the right side is this runtime, so that only its own rules explain what differs.
    """
    result = Comparison(mode, left.label, right.label)
    for side in (left, right):
        if isinstance(side, ModelSide | TraceSide):
            side.report_progress(options.on_tick, leads=side is left)
    matched = match_loops(left.loops, right.loops, options.names)
    _note_unmatched_loops(result, matched)
    pairs = select_pairs(matched.pairs, options.loops)
    alignment = _alignment(left, right, matched, options)
    if alignment is not None:
        asked, options = options, replace(options, tolerance=alignment.adapt_tolerance(options.tolerance))
        if options.tolerance.peak_fraction > asked.tolerance.peak_fraction:
            label = (left, right)[alignment.quantized_side or 0].label
            result.add_note(
                f"{label} computes in 8 bits: compared within {QUANTIZED_PEAK_TOLERANCE:.0%} of each value's largest"
                " number"
            )
        paths = {pair.left.loop: pair.left.path for pair in pairs if pair.left.loop is not None}
        result.static_differences = static_differences(alignment, paths, not options.loops)
    merges = [pairs] if matched.same_order else [[pair] for pair in pairs]
    for some in merges:
        merge = _BoundaryMerge(left, right, some, options, alignment)
        try:
            merge.run()
        except (ExecutionError, LimitError) as error:
            if not result.static_differences:
                raise
            # Told all the same: it may be why.
            result.error = error
            with contextlib.suppress(ExecutionError, LimitError):
                merge.trace_causes()
        result.loops += merge.findings.values()
        if result.error is not None:
            return result
    for side in (left, right):
        if isinstance(side, ModelSide) and side.limit_hit:
            result.add_note(f"{side.label}: no loop ran more than {side.limit} iterations, the limit that was set")
    if not options.loops:
        compare_outputs(result, left, right, options.tolerance, options.names)
        if alignment is not None and alignment.quantized_side is not None:
            result.saturations = _main_graph_saturations(left, right, alignment.quantized_side)
        if alignment is not None and result.outputs:
            trace_outputs(result, left, right, alignment, options.tolerance)
    for loop in result.loops:
        loop.reasons = list(dict.fromkeys([*left.reasons(loop.left), *right.reasons(loop.right)]))
        if loop.trips is not None:
            loop.trips.reasons = reasons_predicting(loop.reasons, "trips", peer)
            loop.trips.explanation = _trip_count_explanation(loop)
    return result


def _alignment(
    left: ComparisonSide, right: ComparisonSide, matched: LoopMatching, options: ComparisonOptions
) -> Alignment | None:
    if left.graph is None or right.graph is None:
        return None
    loops = [(p.left.loop, p.right.loop) for p in matched.pairs if p.left.loop is not None and p.right.loop is not None]
    return Alignment(left.graph, right.graph, loops, options.names)


def _main_graph_saturations(left: ComparisonSide, right: ComparisonSide, which: int) -> list[Saturation]:
    """What the main graph of the side in 8 bits quantised, once it ran to its end."""
    side = (left, right)[which]
    if not isinstance(side, ModelSide) or side.final_reader is None:
        return []
    quantisers = SaturationMonitor(side.model.graph, which)
    quantisers.test_iteration((), None, side.final_reader)
    return quantisers.saturations


def _trip_count_explanation(loop: LoopFindings) -> str:
    """What makes trip counts differ, as far as values tell."""
    first, trips = loop.first, loop.trips
    if first is None or trips is None or first.entry > trips.entry:
        return ""
    what = "the condition" if first.role == "condition" else f"'{first.name}'"
    entry = "" if first.entry == trips.entry else f" of entry {'/'.join(map(str, first.entry))}"
    when = "before iteration 0" if first.iteration is None else f"in iteration {first.iteration}{entry}"
    return f"{what} differs {when}"


def _note_unmatched_loops(result: Comparison, matched: LoopMatching) -> None:
    for label, names in ((result.left, matched.only_left), (result.right, matched.only_right)):
        for name in names:
            result.add_note(f"the loop '{name}' is only in {label}: not compared")
            result.unpaired.append(name)


@dataclass
class _LoopEntry:
    """One entry of a loop while it runs: where each side ended it."""

    left_end: tuple[int, StoppedBy | None] | None = None
    right_end: tuple[int, StoppedBy | None] | None = None
    #: The iterations before the last boundary on either side; None: it was not entered there.
    iterations: list[int | None] = field(default_factory=lambda: [None, None])


class _BoundaryMerge:
    """One reading of both streams."""

    def __init__(
        self,
        left: ComparisonSide,
        right: ComparisonSide,
        pairs: Sequence[LoopMatch],
        options: ComparisonOptions,
        alignment: Alignment | None,
    ) -> None:
        self.left = left
        self.right = right
        self.options = options
        self.alignment = alignment
        self.pairs = pairs
        single = len(pairs) == 1
        self.matches_by_path = [
            {(pair.left, pair.right)[side].path: (pair, () if single else pair.enclosing) for pair in pairs}
            for side in (0, 1)
        ]
        self.findings = {pair.index: LoopFindings(pair.left.path, pair.right.path, pair.method) for pair in pairs}
        self.names: dict[tuple[int, str], NameMatching] = {}
        self.open_entries: dict[tuple[int, tuple[int, ...]], _LoopEntry] = {}
        #: Of each value that differs, to the bit: from which iteration on it does, without a gap.
        self.differing_since: dict[int, dict[str, int]] = {pair.index: {} for pair in pairs}
        #: Both are runs of ours: what is the same is so to the bit.
        self.exact = alignment is not None and alignment.is_bit_exact
        self.steps = QuantizationSteps(left.graph)
        self.range_monitors = self._make_range_monitors()
        self.saturation_monitors = self._make_saturation_monitors()
        for k, side in enumerate((left, right)):
            if isinstance(side, ModelSide):
                watched = [
                    pair
                    for pair in pairs
                    if pair.index in self.range_monitors or pair.index in self.saturation_monitors
                ]
                side.watched_paths = {MAIN, *((pair.left, pair.right)[k].path for pair in watched)}

    def run(self) -> None:
        """Read both to their ends."""
        lefts, rights = self._positioned_boundaries(self.left, 0), self._positioned_boundaries(self.right, 1)
        a, b = next(lefts, None), next(rights, None)
        while a is not None or b is not None:
            if b is None or (a is not None and a[0] < b[0]):
                assert a is not None
                self._one_sided_boundary(a, 0)
                a = next(lefts, None)
            elif a is None or b[0] < a[0]:
                self._one_sided_boundary(b, 1)
                b = next(rights, None)
            else:
                self._compare_boundaries(a[0], a[1], a[2], b[2])
                a, b = next(lefts, None), next(rights, None)
        self._finish_open_entries()
        self.trace_causes()

    def _positioned_boundaries(
        self, side: ComparisonSide, which: int
    ) -> Iterator[tuple[ExecutionPosition, LoopMatch, Boundary]]:
        """The boundaries of the loops that are compared, each with its place in time."""
        for boundary in side.boundaries():
            if boundary.loop in self.matches_by_path[which]:
                pair, around = self.matches_by_path[which][boundary.loop]
                yield _execution_position(pair, around, boundary), pair, boundary

    def _one_sided_boundary(self, at: tuple[ExecutionPosition, LoopMatch, Boundary], which: int) -> None:
        _, pair, boundary = at
        self.findings[pair.index].unmatched_boundaries += 1
        self._note_end(pair, boundary, which)

    def _compare_boundaries(self, position: ExecutionPosition, pair: LoopMatch, a: Boundary, b: Boundary) -> None:
        findings = self.findings[pair.index]
        worst, relative, beyond = 0.0, 0.0, False
        since = self.differing_since[pair.index]
        if not a.iteration:
            since.clear()
        for name, difference in self._value_differences(pair, a, b):
            findings.compared_values += 1
            if difference is None or not (difference.delta.kind or difference.delta.absolute):
                since.pop(name, None)
            else:
                since.setdefault(name, a.iteration - 1)
            if difference is None:
                continue
            delta = difference.delta
            worst, relative = max(worst, delta.absolute), max(relative, delta.relative)
            beyond = beyond or bool(delta.kind)
            self._note_difference(pair, position, difference)
        if findings.first is not None and not findings.differing_since:
            findings.differing_since = dict(since)
        if a.iteration:
            findings.iterations += 1
            findings.differing_iterations += beyond
            findings.growth.add(a.iteration - 1, worst, relative, beyond)
            self._update_monitors(pair, a)
        self._note_end(pair, a, 0)
        self._note_end(pair, b, 1)

    def _note_difference(self, pair: LoopMatch, position: ExecutionPosition, difference: Difference) -> None:
        """Take note of two values that are not equal."""
        findings = self.findings[pair.index]
        if difference.delta.dtypes:
            note_headroom(findings.boundary_headrooms, difference)
        if not difference.delta.kind:
            return
        made = compared_value(pair.left.loop, difference.role, difference.name, difference.iteration)
        difference = replace(difference, step=self.steps.value_step(made, difference.left))
        findings.beyond_step |= not difference.within_step
        if findings.first is None:
            findings.first, findings.execution_position = difference, position

    def _make_range_monitors(self) -> dict[int, RangeMonitor]:
        """By pair, what tests the results of bodies in a narrower type; recordings need not have that."""
        narrow = None if self.alignment is None else self.alignment.narrower_side
        if self.alignment is None or narrow is None:
            return {}
        ports = {pair.index: self.alignment.loops.get(pair.left.loop) for pair in self.pairs if pair.left.loop}
        return {index: RangeMonitor(self.alignment, port, *narrow) for index, port in ports.items() if port is not None}

    def _make_saturation_monitors(self) -> dict[int, SaturationMonitor]:
        """By pair, what tests the quantised values, if one model computes in 8 bits."""
        side = None if self.alignment is None else self.alignment.quantized_side
        if side is None:
            return {}
        loops = {pair.index: (pair.left, pair.right)[side].loop for pair in self.pairs}
        return {index: SaturationMonitor.for_loop(loop, side) for index, loop in loops.items() if loop is not None}

    def _update_monitors(self, pair: LoopMatch, boundary: Boundary) -> None:
        """Test what the iteration that just ended computed: both sides stand there."""
        here = [side.reader_at_boundary() if isinstance(side, ModelSide) else None for side in (self.left, self.right)]
        findings, at = self.findings[pair.index], (boundary.entry, boundary.iteration - 1)
        watch, quantisers = self.range_monitors.get(pair.index), self.saturation_monitors.get(pair.index)
        if watch is not None and here[0] is not None and here[1] is not None:
            watch.test_iteration(*at, here[0], here[1])
            findings.body_headroom = watch.headroom
        if quantisers is not None and self.alignment is not None:
            moment = here[self.alignment.quantized_side or 0]
            if moment is not None:
                quantisers.test_iteration(*at, moment)
                findings.saturations = quantisers.saturations

    def _value_differences(self, pair: LoopMatch, a: Boundary, b: Boundary) -> Iterator[tuple[str, Difference | None]]:
        """What both sides have, by name, and how it differs: None for what is equal."""
        at = a.loop, a.entry, a.iteration - 1 if a.iteration else None
        for role, name, other, left, right in self._matched_values(pair, a, b):
            # A model and its conversion may stack and concatenate: axes of length 1 come and go.
            delta = compare(left, right, self.options.tolerance, loose_shape=role == "scan")
            yield name, None if delta is NO_DIFFERENCE else Difference(role, name, other, delta, *at, left, right)

    def _matched_values(self, pair: LoopMatch, a: Boundary, b: Boundary) -> Iterator[tuple[str, str, str, Any, Any]]:
        """What both sides have: its role, its names, and the values."""
        for role, left, right in (("carried", a.carried, b.carried), ("scan", a.scanned, b.scanned)):
            if not left and not right:
                continue
            for name, other, _ in self._name_matching(pair, role, left, right):
                if name in left and other in right:
                    yield role, name, other, left[name], right[other]
        if a.condition is not None and b.condition is not None:
            first = not a.iteration
            name, other = (_condition_name(info.loop, first) for info in (pair.left, pair.right))
            yield "condition", name, other, a.condition, b.condition

    def _name_matching(
        self, pair: LoopMatch, role: str, left: Mapping[str, Any], right: Mapping[str, Any]
    ) -> NameMatching:
        """Which value is which, settled where the first boundary has both."""
        key = (pair.index, role)
        if key not in self.names:
            names = self.names[key] = self._align_names(pair, role, left, right)
            findings = self.findings[pair.index]
            findings.renamed_values += [
                (name, other, how) for name, other, how in names if name != other or how == "given"
            ]
            findings.only_left += names.only_left
            findings.only_right += names.only_right
        return self.names[key]

    def _align_names(
        self, pair: LoopMatch, role: str, left: Mapping[str, Any], right: Mapping[str, Any]
    ) -> NameMatching:
        """By structure where both models are known, else by name and order."""
        ports = None if self.alignment is None or pair.left.loop is None else self.alignment.loops.get(pair.left.loop)
        if ports is None:
            return match_names(left, right, self.options.names)
        if role == "carried":
            told = [(a.param.name, b.param.name, how) for a, b, how in ports.edges]
        else:
            told = [(a.outer.name, b.outer.name, how) for a, b, how in ports.scans]
        told = [(name, other, how) for name, other, how in told if name in left and other in right]
        here, there = {name for name, _, _ in told}, {other for _, other, _ in told}
        if role == "carried":
            here.update(ports.one_sided[0])
            there.update(ports.one_sided[1])
        if role == "carried" and ports.condition is not None:
            # Compared as the condition.
            here.add(ports.condition[0])
            there.add(ports.condition[1])
            self.findings[pair.index].renamed_values.append((*ports.condition, "condition"))
        return NameMatching(
            told, [name for name in left if name not in here], [name for name in right if name not in there]
        )

    def _note_end(self, pair: LoopMatch, boundary: Boundary, which: int) -> None:
        entry = self.open_entries.setdefault((pair.index, boundary.entry), _LoopEntry())
        entry.iterations[which] = boundary.iteration
        if boundary.ended is None:
            return
        findings = self.findings[pair.index]
        end = (boundary.iteration, boundary.ended)
        if which == 0:
            entry.left_end, findings.left_trips = end, boundary.iteration
        else:
            entry.right_end, findings.right_trips = end, boundary.iteration
        if entry.left_end is None or entry.right_end is None:
            return
        del self.open_entries[pair.index, boundary.entry]
        findings.completed_entries += 1
        self._compare_ends(findings, boundary.entry, entry.left_end, entry.right_end)

    def _compare_ends(
        self,
        findings: LoopFindings,
        at: tuple[int, ...],
        left_end: tuple[int, StoppedBy | None],
        right_end: tuple[int, StoppedBy | None],
    ) -> None:
        (left, left_ended), (right, right_ended) = left_end, right_end
        findings.stopped_by = left_ended if left_ended is right_ended else None
        if left == right:
            return
        if findings.trips is None:
            findings.trips = TripDifference(at, left, right, left_ended, right_ended)
        else:
            findings.trips.entries += 1

    def _finish_open_entries(self) -> None:
        """Entries that did not come to their end on both sides: a limit is no end, however equal the iterations are."""
        for (index, at), entry in self.open_entries.items():
            findings = self.findings[index]
            ends = [
                end or _limit_end(side, count)
                for side, end, count in zip(
                    (self.left, self.right), (entry.left_end, entry.right_end), entry.iterations, strict=True
                )
            ]
            if ends[0] is not None and ends[1] is not None and (entry.left_end or entry.right_end):
                self._compare_ends(findings, at, ends[0], ends[1])
            else:
                counts = [count for count in entry.iterations if count is not None]
                findings.truncated_at_iteration = min(counts)
                findings.iteration_limit_hit = any(
                    isinstance(side, ModelSide) and side.limit_hit for side in (self.left, self.right)
                )

    # -- where the first difference comes from

    def trace_causes(self) -> None:
        """Of each loop that differs, what makes the first value that does: both sides are run to there again."""
        for pair in self.pairs:
            findings = self.findings[pair.index]
            if findings.first is not None and self.alignment is not None:
                findings.cause = self._trace_cause(pair, findings.first, self.alignment)

    def _trace_cause(self, pair: LoopMatch, first: Difference, alignment: Alignment) -> Cause | None:
        ports = None if pair.left.loop is None else alignment.loops.get(pair.left.loop)
        values = None if ports is None else differing_values(ports, first)
        if values is None:
            return None
        place = (first.entry, first.iteration)
        left, right = self.left.reader_at(pair.left.path, *place), self.right.reader_at(pair.right.path, *place)
        if left is None or right is None:
            return None
        assert ports is not None
        tracer = DifferenceTracer(
            alignment,
            left,
            right,
            self.options.tolerance,
            first,
            self.exact,
            self._earlier_difference_finder(pair, first),
        )
        made_of = alignment.opened_operators(ports.left, ports.right)
        if made_of is not None and made_of[0].op_type != made_of[1].op_type and first.iteration is not None:
            return tracer.find_operator_cause(*made_of, *values)
        made_of = alignment.same_opened_operators(ports.left, ports.right)
        if made_of is not None and not alignment.same_attributes(*made_of):
            told = f"{made_of[0].op_type} '{made_of[0].name}'"
            return Cause(remark=f"{told}, which the loop was made of, has other attributes")
        return tracer.find_cause(*values)

    def _earlier_difference_finder(self, pair: LoopMatch, first: Difference) -> FindEarlier:
        """Where a carried value of a loop began to differ, before the iteration in which that was found."""
        since = self.findings[pair.index].differing_since
        carried = set() if pair.left.loop is None else {edge.param for edge in pair.left.loop.back_edges}
        runs = iter(range(_MAX_RERUNS))

        def earlier(value: Value, other: Value, iteration: int) -> tuple[int | None, ValueReader, ValueReader] | None:
            if value not in carried or next(runs, None) is None:
                return None
            began = min(since.get(value.name, iteration - 1), iteration - 1)
            place = (first.entry, None if began < 0 else began)
            left, right = self.left.reader_at(pair.left.path, *place), self.right.reader_at(pair.right.path, *place)
            return None if left is None or right is None else (place[1], left, right)

        return earlier


def _limit_end(side: ComparisonSide, count: int | None) -> tuple[int, StoppedBy] | None:
    """Where the limit ended a loop of a side; None where something else ended the run, in another loop say."""
    if not isinstance(side, ModelSide) or not side.limit_hit or side.limit is None or count is None:
        return None
    return (count, StoppedBy.LIMIT) if count >= side.limit else None


def _condition_name(loop: Loop | None, first: bool) -> str:
    value = None if loop is None else loop.initial_condition if first else loop.condition
    return "condition" if value is None else value.name


def _execution_position(pair: LoopMatch, around: tuple[int, ...], boundary: Boundary) -> ExecutionPosition:
    if not around:
        return (*boundary.entry, pair.index, boundary.iteration)
    place: list[int] = []
    for index, iteration in zip(around, boundary.entry, strict=True):
        place += [index, iteration]
    return (*place, pair.index, boundary.iteration)
