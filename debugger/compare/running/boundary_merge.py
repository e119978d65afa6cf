"""Merges two streams of boundaries by execution position and compares them pair by pair.

Only the findings are kept, so that runs of any length can be compared.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ....runtime.errors import ExecutionError, InterruptError, LimitError
from ....runtime.graph import MAIN, Loop, StoppedBy, Value
from ...session.boundary import Boundary
from ..alignment.edit_script import align_with_fewest_edits
from ..alignment.model_alignment import AlignedModels
from ..alignment.numeric_types import QUANTIZED_PEAK_TOLERANCE
from ..causes.difference_tracer import DifferenceTracer, FindEarlier, differing_values
from ..causes.dynamic_range import RangeMonitor
from ..causes.narrow_type_headroom import record_headroom
from ..causes.output_causes import trace_output_causes
from ..causes.quantization_saturation import SaturationMonitor
from ..causes.quantization_tie_rounding import QuantizationSteps, graph_value_by_role
from ..edits import Edit, EditScript
from ..proof.cause_proof import CauseProof
from ..proof.intervention import Interventions, Reruns
from ..report.edit_listing import edits_as_differences, order_by_effect
from ..report.findings import (
    Cause,
    Comparison,
    Difference,
    EditEffect,
    IterationDifferences,
    LoopFindings,
    Saturation,
    StaticDifference,
    Verdict,
)
from ..report.runtime_differences import reasons_predicting
from .loop_matching import LoopMatch, LoopMatching, NameMatching, match_loops, match_names, select_loop_pairs
from .output_comparison import compare_outputs
from .progress import OnTick
from .sides import ComparisonSide, ModelSide, TraceSide
from .value_comparison import NO_DIFFERENCE, Tolerance, compare
from .value_readers import ValueReader

#: The most runs from the start to find where a carried value started to differ.
_MAX_RERUNS = 12
#: An entry that ended on one side only is followed on the other for this many iterations, or for this multiple of those
#: of the ended side if that is more: it may never end.
_MAX_FOLLOWED_ITERATIONS, _MAX_FOLLOWED_RATIO = 10_000, 10
#: An execution position: for each loop, outermost first, the index of its pair and its iteration.
ExecutionPosition = tuple[int, ...]


@dataclass
class ComparisonOptions:
    """The options of a comparison."""

    tolerance: Tolerance = field(default_factory=Tolerance)
    #: Names of loops and values with their names on the right.
    names: Mapping[str, str] = field(default_factory=dict)
    #: Only these loops; empty: all.
    loops: Sequence[str] = ()
    #: Called a few times a second with the progress of a run.
    on_tick: OnTick | None = None
    #: Whether an interrupt or a failed run gives the findings so far, with it as their ``error``, and is not raised.
    reports_partial: bool = False
    #: Whether causes are demonstrated, by running the left model again with edits.
    proves_causes: bool = True


def compare_sides(
    left: ComparisonSide,
    right: ComparisonSide,
    options: ComparisonOptions,
    mode: str = "streams",
    peer: str | None = None,
) -> Comparison:
    """Compare two runs: every boundary of every loop, trip counts, and the outputs.

    ``peer``: the runtime of the right side, to which only its own rules apply.
    """
    result = Comparison(mode, left.label, right.label)
    listed: list[StaticDifference] = []
    start = time.monotonic()
    for side in (left, right):
        if isinstance(side, ModelSide | TraceSide):
            side.report_progress(options.on_tick, leads=side is left)
    matching = match_loops(left.loops, right.loops, options.names)
    _note_unmatched_loops(result, matching)
    pairs = select_loop_pairs(matching.pairs, options.loops)
    chosen = {pair.left.path for pair in pairs} if options.loops else None
    alignment = None
    if left.graph is not None and right.graph is not None:
        alignment, result.script = align_with_fewest_edits(left.graph, right.graph, matching.loop_pairs, options.names)
        requested, options = options, replace(options, tolerance=alignment.adapt_tolerance(options.tolerance))
        if options.tolerance.peak_fraction > requested.tolerance.peak_fraction:
            label = (left, right)[alignment.quantized_side or 0].label
            result.add_note(
                f"{label} computes in 8 bits: compared within {QUANTIZED_PEAK_TOLERANCE:.0%} of each value's largest"
                " number"
            )
        listed = edits_as_differences(result.script, alignment.graphs[0], not alignment.same_system)
        unknown = dict.fromkeys(result.script.edits, EditEffect.UNKNOWN)
        result.static_differences = order_by_effect(listed, unknown, chosen)
        start = time.monotonic()
    merges = [pairs] if matching.same_order else [[pair] for pair in pairs]
    for group in merges:
        merge = _BoundaryMerge(left, right, group, options, alignment)
        try:
            merge.run()
        except (InterruptError, KeyboardInterrupt):
            if not options.reports_partial:
                raise
            result.error = InterruptError("interrupted")
            merge.finish_early(interrupted=True)
        except (ExecutionError, LimitError) as error:
            has_compared = any(findings.iterations for findings in merge.findings.values())
            if not result.static_differences and not (options.reports_partial and has_compared):
                raise
            # What was found so far, the static differences included, may explain the error.
            result.error = error
            merge.finish_early(interrupted=False)
        result.loops += merge.findings.values()
        for note in merge.notes:
            result.add_note(note)
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
            trace_output_causes(result, left, right, alignment, options.tolerance)
    for loop in result.loops:
        loop.reasons = list(dict.fromkeys([*left.reasons(loop.left), *right.reasons(loop.right)]))
        if loop.trips is not None:
            loop.trips.reasons = reasons_predicting(loop.reasons, "trips", peer)
            loop.explain_trip_difference()
    effects = _find_edit_effects(result, left, right, options, time.monotonic() - start)
    if effects:
        result.static_differences = order_by_effect(listed, effects, chosen)
    return result


def _find_edit_effects(
    result: Comparison, left: ComparisonSide, right: ComparisonSide, options: ComparisonOptions, seconds: float
) -> Mapping[Edit, EditEffect]:
    """Which edits cause the difference, and which have no effect. ``seconds``: the time of both runs.

    Raises:
        InterruptError: Ctrl-C, unless the options want what was found so far.
    """
    script = result.script or EditScript(())
    if result.verdict is Verdict.SAME:
        return dict.fromkeys(script.edits, EditEffect.NO_EFFECT)
    if not options.proves_causes or result.verdict is not Verdict.DIFFER:
        return {}
    if not isinstance(left, ModelSide) or not isinstance(right, ModelSide | TraceSide):
        return {}
    reruns = Reruns(left, max(left.most_iterations, right.most_iterations) + 1, seconds, options.on_tick)
    proof = CauseProof(result, script, Interventions(result, reruns, right, options.tolerance, options.names))
    interrupted = proof.search()
    result.demonstration = proof.demonstration()
    if interrupted:
        result.error = InterruptError("interrupted")
        if not options.reports_partial:
            raise result.error
    return proof.effects()


def _main_graph_saturations(left: ComparisonSide, right: ComparisonSide, index: int) -> list[Saturation]:
    """Saturation in the main graph of the quantised side after its complete run."""
    side = (left, right)[index]
    if not isinstance(side, ModelSide) or side.final_reader is None:
        return []
    monitor = SaturationMonitor(side.model.graph, index)
    monitor.check_iteration((), None, (side.final_reader, side.final_reader))
    return monitor.saturations


def _note_unmatched_loops(result: Comparison, matching: LoopMatching) -> None:
    for label, names in ((result.left, matching.only_left), (result.right, matching.only_right)):
        for name in names:
            result.add_note(f"the loop '{name}' is only in {label}: not compared")
            result.unpaired.append(name)


@dataclass
class _LoopEntry:
    """One loop entry while it runs, and its end on each side."""

    left_end: tuple[int, StoppedBy | None] | None = None
    right_end: tuple[int, StoppedBy | None] | None = None
    #: The iterations up to the last boundary on each side; None: not entered there.
    iterations: list[int | None] = field(default_factory=lambda: [None, None])


@dataclass
class _BoundaryMerge:
    """One merge of both streams."""

    left: ComparisonSide
    right: ComparisonSide
    pairs: Sequence[LoopMatch]
    options: ComparisonOptions
    alignment: AlignedModels | None

    def __post_init__(self) -> None:
        pairs = self.pairs
        single = len(pairs) == 1
        self.matches_by_path = [
            {(pair.left, pair.right)[side].path: (pair, () if single else pair.enclosing) for pair in pairs}
            for side in (0, 1)
        ]
        self.findings = {pair.index: LoopFindings(pair.left.path, pair.right.path, pair.method) for pair in pairs}
        self.notes: list[str] = []
        self.names: dict[tuple[int, str], NameMatching] = {}
        self.open_entries: dict[tuple[int, tuple[int, ...]], _LoopEntry] = {}
        #: For each value with different bits: the first iteration since which it differs without a gap.
        self.differing_since: dict[int, dict[str, int]] = {pair.index: {} for pair in pairs}
        #: Both are runs of loopdbg, so that equal values are bit-identical.
        self.exact = self.alignment is not None and self.alignment.is_bit_exact
        self.steps = QuantizationSteps(self.left.graph)
        self.monitors = {pair.index: list(self._make_monitors(pair)) for pair in pairs}
        for k, side in enumerate((self.left, self.right)):
            if isinstance(side, ModelSide):
                monitored = [pair for pair in pairs if self.monitors[pair.index]]
                side.watch({MAIN, *((pair.left, pair.right)[k].path for pair in monitored)})

    def run(self) -> None:
        """Read both streams to their ends, or until an entry that ended on one side is too long on the other."""
        lefts, rights = self._positioned_boundaries(self.left, 0), self._positioned_boundaries(self.right, 1)
        a, b = next(lefts, None), next(rights, None)
        while (a is not None or b is not None) and not self.notes:
            if b is None or (a is not None and a[0] < b[0]):
                assert a is not None
                self._handle_one_sided_boundary(a, 0)
                a = next(lefts, None)
            elif a is None or b[0] < a[0]:
                self._handle_one_sided_boundary(b, 1)
                b = next(rights, None)
            else:
                self._compare_boundaries(a[0], a[1], a[2], b[2])
                a, b = next(lefts, None), next(rights, None)
        self._finish_open_entries()
        self.trace_causes()

    def _positioned_boundaries(
        self, side: ComparisonSide, side_index: int
    ) -> Iterator[tuple[ExecutionPosition, LoopMatch, Boundary]]:
        """The boundaries of the compared loops with their execution positions."""
        for boundary in side.boundaries():
            if boundary.loop in self.matches_by_path[side_index]:
                pair, enclosing = self.matches_by_path[side_index][boundary.loop]
                yield _execution_position(pair, enclosing, boundary), pair, boundary

    def _handle_one_sided_boundary(self, item: tuple[ExecutionPosition, LoopMatch, Boundary], side: int) -> None:
        _, pair, boundary = item
        self.findings[pair.index].unmatched_boundaries += 1
        self._record_entry_end(pair, boundary, side)
        entry = self.open_entries.get((pair.index, boundary.entry))
        ended = None if entry is None else (entry.right_end, entry.left_end)[side]
        if ended is not None and boundary.iteration >= max(_MAX_FOLLOWED_ITERATIONS, _MAX_FOLLOWED_RATIO * ended[0]):
            self._end_possibly_infinite_entry(pair, boundary, side, ended)

    def _end_possibly_infinite_entry(
        self, pair: LoopMatch, boundary: Boundary, side: int, ended: tuple[int, StoppedBy | None]
    ) -> None:
        """End the comparison in an entry that may be infinite on one side."""
        followed = boundary.iteration, StoppedBy.LIMIT
        del self.open_entries[pair.index, boundary.entry]
        ends = (followed, ended) if side == 0 else (ended, followed)
        self.findings[pair.index].compare_entry_ends(boundary.entry, *ends)
        labels = (self.left.label, self.right.label)[:: 1 if side == 0 else -1]
        path = (pair.left, pair.right)[side].path
        self.notes.append(
            f"{labels[0]}: '{path}' was followed for {boundary.iteration} iterations, and {labels[1]} ended after"
            f" {ended[0]}: it may never end"
        )

    def _compare_boundaries(self, position: ExecutionPosition, pair: LoopMatch, a: Boundary, b: Boundary) -> None:
        findings = self.findings[pair.index]
        differences = IterationDifferences()
        since = self.differing_since[pair.index]
        if not a.iteration:
            since.clear()
        for name, difference in self._value_differences(pair, a, b):
            differences.add(NO_DIFFERENCE if difference is None else difference.delta)
            if difference is None or not (difference.delta.kind or difference.delta.absolute):
                since.pop(name, None)
            else:
                since.setdefault(name, a.iteration - 1)
            if difference is not None:
                self._record_difference(pair, position, difference)
        if findings.first is not None and not findings.differing_since:
            findings.differing_since = dict(since)
        if a.iteration:
            findings.add_iteration(a.iteration - 1, differences)
            if self.monitors[pair.index]:
                self._update_monitors(pair, a)
        else:
            findings.compared_values += differences.compared
        self._record_entry_end(pair, a, 0)
        self._record_entry_end(pair, b, 1)

    def _record_difference(self, pair: LoopMatch, position: ExecutionPosition, difference: Difference) -> None:
        """Record two values that are not equal."""
        findings = self.findings[pair.index]
        if difference.delta.dtypes:
            record_headroom(findings.boundary_headrooms, difference)
        if not difference.delta.kind:
            return
        value = graph_value_by_role(pair.left.loop, difference.role, difference.name, difference.iteration)
        step = self.steps.value_quantization_step(value, difference.left)
        findings.add_difference(replace(difference, step=step), position)

    def _make_monitors(self, pair: LoopMatch) -> Iterator[RangeMonitor | SaturationMonitor]:
        """Monitors of a body in a narrower type, and of one in a quantised model."""
        alignment, loops = self.alignment, (pair.left.loop, pair.right.loop)
        ports = None if alignment is None or loops[0] is None else alignment.loops.get(loops[0])
        if alignment is not None and ports is not None and alignment.narrower_side is not None:
            yield RangeMonitor(alignment, ports, *alignment.narrower_side)
        if alignment is not None and alignment.quantized_side is not None:
            loop = loops[alignment.quantized_side]
            if loop is not None:
                yield SaturationMonitor.for_loop(loop, alignment.quantized_side)

    def _update_monitors(self, pair: LoopMatch, boundary: Boundary) -> None:
        """Test the results of the iteration that ended; both sides are at its boundary."""
        findings, sides = self.findings[pair.index], (self.left, self.right)
        readers = [side.reader_at_boundary() if isinstance(side, ModelSide) else None for side in sides]
        for monitor in self.monitors[pair.index]:
            monitor.check_iteration(boundary.entry, boundary.iteration - 1, readers)
            if isinstance(monitor, SaturationMonitor):
                findings.saturations = monitor.saturations
            elif None not in readers:
                findings.body_headroom = monitor.headroom

    def _value_differences(self, pair: LoopMatch, a: Boundary, b: Boundary) -> Iterator[tuple[str, Difference | None]]:
        """The values of both sides by name, with their difference, or None for equal values."""
        position = a.loop, a.entry, a.iteration - 1 if a.iteration else None
        for role, name, other, left, right in self._matched_values(pair, a, b):
            # A converted model may stack instead of concatenating: axes of length 1 are ignored.
            delta = compare(left, right, self.options.tolerance, loose_shape=role == "scan")
            yield name, None if delta is NO_DIFFERENCE else Difference(role, name, other, delta, *position, left, right)

    def _matched_values(self, pair: LoopMatch, a: Boundary, b: Boundary) -> Iterator[tuple[str, str, str, Any, Any]]:
        """The values of both sides with their role and names."""
        for role, left, right in (("carried", a.carried, b.carried), ("scan", a.scanned, b.scanned)):
            if not left and not right:
                continue
            for name, other, _ in self._cached_name_matching(pair, role, left, right):
                if name in left and other in right:
                    yield role, name, other, left[name], right[other]
        if a.condition is not None and b.condition is not None:
            first = not a.iteration
            name, other = (_condition_name(info.loop, first) for info in (pair.left, pair.right))
            yield "condition", name, other, a.condition, b.condition

    def _cached_name_matching(
        self, pair: LoopMatch, role: str, left: Mapping[str, Any], right: Mapping[str, Any]
    ) -> NameMatching:
        """The pairs of names, determined at the first boundary with both."""
        key = (pair.index, role)
        if key not in self.names:
            names = self.names[key] = self._align_names(pair, role, left, right)
            findings = self.findings[pair.index]
            findings.renamed_values += [
                (name, other, method) for name, other, method in names if name != other or method == "given"
            ]
            findings.only_left += names.only_left
            findings.only_right += names.only_right
        return self.names[key]

    def _align_names(
        self, pair: LoopMatch, role: str, left: Mapping[str, Any], right: Mapping[str, Any]
    ) -> NameMatching:
        """Match names by structure if both models are known, else by name and order."""
        ports = None if self.alignment is None or pair.left.loop is None else self.alignment.loops.get(pair.left.loop)
        if ports is None:
            return match_names(left, right, self.options.names)
        if role == "carried":
            matched = [(a.param.name, b.param.name, method) for a, b, method in ports.edges]
        else:
            matched = [(a.outer.name, b.outer.name, method) for a, b, method in ports.scans]
        matched = [(name, other, method) for name, other, method in matched if name in left and other in right]
        a, b = {name for name, _, _ in matched}, {other for _, other, _ in matched}
        if role == "carried":
            a.update(ports.one_sided[0])
            b.update(ports.one_sided[1])
        if role == "carried" and ports.condition is not None:
            # Compared as the condition.
            a.add(ports.condition[0])
            b.add(ports.condition[1])
            self.findings[pair.index].renamed_values.append((*ports.condition, "condition"))
        return NameMatching(
            matched, [name for name in left if name not in a], [name for name in right if name not in b]
        )

    def _record_entry_end(self, pair: LoopMatch, boundary: Boundary, side: int) -> None:
        entry = self.open_entries.setdefault((pair.index, boundary.entry), _LoopEntry())
        entry.iterations[side] = boundary.iteration
        if boundary.ended is None:
            return
        findings = self.findings[pair.index]
        end = (boundary.iteration, boundary.ended)
        if side == 0:
            entry.left_end, findings.left_trips = end, boundary.iteration
        else:
            entry.right_end, findings.right_trips = end, boundary.iteration
        if entry.left_end is None or entry.right_end is None:
            return
        del self.open_entries[pair.index, boundary.entry]
        findings.completed_entries += 1
        findings.compare_entry_ends(boundary.entry, entry.left_end, entry.right_end)

    def _finish_open_entries(self) -> None:
        """Finish entries that did not end on both sides: a limit is no end, even for equal trip counts."""
        for (index, position), entry in self.open_entries.items():
            findings = self.findings[index]
            ends = [
                end or _end_at_limit(side, count)
                for side, end, count in zip(
                    (self.left, self.right), (entry.left_end, entry.right_end), entry.iterations, strict=True
                )
            ]
            if ends[0] is not None and ends[1] is not None and (entry.left_end or entry.right_end):
                findings.compare_entry_ends(position, ends[0], ends[1])
            else:
                counts = [count for count in entry.iterations if count is not None]
                findings.truncated_at_iteration = min(counts)
                findings.iteration_limit_hit = any(
                    isinstance(side, ModelSide) and side.limit_hit for side in (self.left, self.right)
                )

    def finish_early(self, *, interrupted: bool) -> None:
        """Finish a comparison that a failed run or Ctrl-C ended; a second Ctrl-C ends the search for causes."""
        self._finish_open_entries()
        for findings in self.findings.values() if interrupted else ():
            findings.iteration_limit_hit |= findings.truncated_at_iteration is not None
        with contextlib.suppress(ExecutionError, LimitError, *((InterruptError, KeyboardInterrupt) * interrupted)):
            self.trace_causes()

    # -- causes

    def trace_causes(self) -> None:
        """Trace the cause of the first difference of each loop; runs both sides again."""
        for pair in self.pairs:
            findings = self.findings[pair.index]
            if findings.first is not None and self.alignment is not None:
                findings.cause = self._trace_cause(pair, findings.first, self.alignment)

    def _trace_cause(self, pair: LoopMatch, first: Difference, alignment: AlignedModels) -> Cause | None:
        ports = None if pair.left.loop is None else alignment.loops.get(pair.left.loop)
        values = None if ports is None else differing_values(ports, first)
        if values is None:
            return None
        position = (first.entry, first.iteration)
        left, right = self.left.reader_at(pair.left.path, *position), self.right.reader_at(pair.right.path, *position)
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
        operators = alignment.source_operator_pair(ports.left, ports.right)
        if operators is not None and operators[0].op_type != operators[1].op_type and first.iteration is not None:
            return tracer.find_operator_cause(*operators, *values)
        if operators is not None and alignment.same_system and alignment.changed_attributes(*operators):
            text = f"{operators[0].op_type} '{operators[0].name}'"
            return Cause(remark=f"{text}, which the loop was made of, has other attributes")
        return tracer.find_cause(*values)

    def _earlier_difference_finder(self, pair: LoopMatch, first: Difference) -> FindEarlier:
        """A function that finds where a carried value of a loop started to differ."""
        since = self.findings[pair.index].differing_since
        carried = set() if pair.left.loop is None else {edge.param for edge in pair.left.loop.back_edges}
        runs = iter(range(_MAX_RERUNS))

        def earlier(value: Value, other: Value, iteration: int) -> tuple[int | None, ValueReader, ValueReader] | None:
            if value not in carried or next(runs, None) is None:
                return None
            start = min(since.get(value.name, iteration - 1), iteration - 1)
            args = (first.entry, None if start < 0 else start)
            left, right = self.left.reader_at(pair.left.path, *args), self.right.reader_at(pair.right.path, *args)
            return None if left is None or right is None else (args[1], left, right)

        return earlier


def _end_at_limit(side: ComparisonSide, count: int | None) -> tuple[int, StoppedBy] | None:
    """The end of a loop by the limit; None if the run ended elsewhere."""
    if not isinstance(side, ModelSide) or not side.limit_hit or side.limit is None or count is None:
        return None
    return (count, StoppedBy.LIMIT) if count >= side.limit else None


def _condition_name(loop: Loop | None, first: bool) -> str:
    value = None if loop is None else loop.initial_condition if first else loop.condition
    return "condition" if value is None else value.name


def _execution_position(pair: LoopMatch, enclosing: tuple[int, ...], boundary: Boundary) -> ExecutionPosition:
    if not enclosing:
        return (*boundary.entry, pair.index, boundary.iteration)
    position: list[int] = []
    for index, iteration in zip(enclosing, boundary.entry, strict=True):
        position += [index, iteration]
    return (*position, pair.index, boundary.iteration)
