"""Compares a run with a reference: every value of the reference in every iteration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from ....runtime.errors import ExecutionError, InterruptError, LimitError, UsageError
from ....runtime.graph import Graph, StoppedBy, Value
from ....runtime.input_validation import Data
from ....runtime.model import Model
from ....runtime.text import did_you_mean
from ...reference.reference import Key, Reference, Track
from ...session.boundary import Boundary
from ..proof.value_substitution import with_substituted_value
from ..report.findings import (
    Cause,
    Comparison,
    Demonstration,
    Difference,
    DivergenceReason,
    IterationDifferences,
    LoopFindings,
    Verdict,
)
from ..running.boundary_merge import ComparisonOptions
from ..running.loop_matching import match_loops, select_loop_pairs
from ..running.output_comparison import outputs_by_name
from ..running.runtime_deviations import FoundDeviation, find_deviation
from ..running.sides import ModelSide, TraceSide, iterate_side, iteration_key
from ..running.value_comparison import compare
from ..running.value_readers import ValueReader
from .divergence_search import ComparedTrack, find_root_cause
from .track_candidates import TrackCandidate, input_tracks
from .track_forms import iterations_by_entry, scan_elements_by_iteration
from .track_pairing import TrackPairing, pair_tracks
from .value_locations import LocationIndex, ValueLocation

#: The most values of a reference that are substituted to show a cause.
_MAX_SUBSTITUTED = 3
#: dtype -> the narrower types, the narrowest first, each with its significant bits.
_NARROWER: dict[str, Sequence[tuple[np.dtype[Any], int]]] = {
    "float32": ((np.dtype(ml_dtypes.bfloat16), 8), (np.dtype(np.float16), 11)),
    "float64": ((np.dtype(ml_dtypes.bfloat16), 8), (np.dtype(np.float16), 11), (np.dtype(np.float32), 24)),
}
#: With fewer numbers that are not small integers, all of them may have few bits by chance.
_MIN_NUMBERS = 8


def compare_reference(side: ModelSide | TraceSide, reference: Reference, options: ComparisonOptions) -> Comparison:
    """Compare a run with a reference: its values, its trip counts if it has any, and the outputs.

    The first difference is the first in execution order. ``options.names``: names of loops or values of the model with
    their names in the reference.

    Raises:
        UsageError: a name is unknown.
        ExecutionError, LimitError: the model does not run.
    """
    side.report_progress(options.on_tick, leads=True)
    if reference.other_kernels and (options.tolerance.rtol, options.tolerance.atol) == (None, None):
        options = replace(options, tolerance=replace(options.tolerance, reordered_sums=True))
    layout = LocationIndex(side.graph, side.loops)
    _check_names(layout, reference, options)
    selected = {
        pair.left.path for pair in select_loop_pairs(match_loops(side.loops, side.loops, {}).pairs, options.loops)
    }
    input_map = input_tracks(reference, [value.name for value in layout.graph.inputs], options.names)
    tracks = [track for track in reference.tracks if track.role != "input" and track not in input_map.values()]
    pairing = pair_tracks(side, layout, reference, tracks, options)
    run = _ReferenceRun(side, layout, reference, pairing, options, selected)
    try:
        run.run()
    except (ExecutionError, LimitError, InterruptError, KeyboardInterrupt) as error:
        failure = error if isinstance(error, ExecutionError | LimitError) else None
        has_compared = any(track.compared for track in run.compared_tracks)
        if not options.reports_partial or (failure is not None and not has_compared):
            raise
        run.result.error = failure or InterruptError("interrupted")
    result = run.comparison()
    firsts = [next(iter(track.differences.values())) for track in run.compared_tracks if track.differences]
    stored = _stored_precision([(first.left, first.right) for first in firsts], reference.label)
    if stored is not None:
        result.reasons.append(stored)
    if result.error is None and options.proves_causes and result.verdict is Verdict.DIFFER:
        try:
            deviation = _find_deviation(side, reference, options)
            if deviation is not None:
                deviation.record_in(result)
            else:
                result.demonstration = run.demonstration()
        except (InterruptError, KeyboardInterrupt):
            if not options.reports_partial:
                raise
            result.error = InterruptError("interrupted")
    return result


def _find_deviation(
    side: ModelSide | TraceSide, reference: Reference, options: ComparisonOptions
) -> FoundDeviation | None:
    """A rule by which the reference departs from the model as a whole."""
    if not isinstance(side, ModelSide):
        return None
    inputs, limit, label = side.inputs, side.limit, side.label
    settings = replace(options, proves_causes=False, reports_partial=False)

    def agrees(graph: Graph) -> tuple[bool, bool]:
        result = compare_reference(ModelSide(Model(graph), inputs, limit, label), reference, settings)
        return result.verdict in (Verdict.SAME, Verdict.PARTLY), False

    return find_deviation(side.model.graph, reference.label, agrees)


def _check_names(layout: LocationIndex, reference: Reference, options: ComparisonOptions) -> None:
    model_names = {name for value in layout.locations for name in value.names} | outputs_by_name(layout.graph).keys()
    model_names |= {name for path, loop in layout.loops.items() for name in (path, loop.name)}
    reference_names = {name for track in reference.tracks for name in (track.name, track.loop)} | reference.trips.keys()
    for name, other in options.names.items():
        for item, known_names, label in ((name, model_names, "the model"), (other, reference_names, reference.label)):
            if item not in known_names:
                raise UsageError(f"{name}={other}: {label} has no '{item}'{did_you_mean(item, sorted(known_names))}")


@dataclass
class _ReferenceRun:
    """One run of a side, compared with the paired tracks. ``selected_loops``: by path."""

    side: ModelSide | TraceSide
    layout: LocationIndex
    reference: Reference
    pairing: TrackPairing
    options: ComparisonOptions
    selected_loops: set[str]

    def __post_init__(self) -> None:
        self.result = Comparison("reference", self.side.label, self.reference.label)
        self.compared_tracks = list(self._make_compared_tracks())
        self.by_loop: dict[str, list[ComparedTrack]] = {}
        for track in self.compared_tracks:
            self.by_loop.setdefault(track.location.path, []).append(track)
        self.findings: dict[str, LoopFindings] = {}
        self.reference_names = {path: self._reference_loop_name(path) for path in self.layout.loops}
        self.trips = {**self.reference.trips, **self.reference.folds}
        #: Loop -> entry -> iterations so far.
        self.counts: dict[str, dict[Key, int]] = {}
        self.stopped_by: dict[str, dict[Key, StoppedBy]] = {}
        self.first_difference: tuple[tuple[int, ...], ComparedTrack, Difference] | None = None

    def _make_compared_tracks(self) -> Iterator[ComparedTrack]:
        """The paired tracks; scan outputs are also compared per iteration as the results that they collect."""
        pairs = [c for c in self.pairing.candidates if c.location.path in self.selected_loops or not c.location.path]
        if self.options.loops:
            pairs = [c for c in pairs if c.location.path]
        used = {c.location.value for c in pairs}
        for c in pairs:
            yield self._make_compared_track(c, c.form, c.location)
            for loop in self.layout.loops.values():
                for scan in loop.scan_outputs:
                    loc = self.layout.locations.get(scan.result)
                    form = scan_elements_by_iteration(c.form, scan) if scan.outer is c.location.value else None
                    if form is not None and loc is not None and loc.value not in used:
                        used.add(loc.value)
                        yield ComparedTrack(c, form, loc, "scan", scan.outer.name)

    def _make_compared_track(self, candidate: TrackCandidate, track: Track, loc: ValueLocation) -> ComparedTrack:
        edges = [] if loc.loop is None else loc.loop.back_edges
        edge = next((edge for edge in edges if loc.value in (edge.param, edge.result)), None)
        if edge is not None:
            return ComparedTrack(candidate, track, loc, "carried", edge.param.name)
        output = next((name for name, value in outputs_by_name(self.layout.graph).items() if value is loc.value), None)
        role = {"sliced": "sliced input", "iteration": "iteration number"}.get(loc.role, loc.role)
        return ComparedTrack(candidate, track, loc, "output" if output else role or "result", output or loc.name)

    def _reference_loop_name(self, path: str) -> str:
        """The name of a loop in the reference; empty if unknown."""
        loop = self.layout.loops[path]
        mapped = self.options.names.get(path, self.options.names.get(loop.name))
        if mapped is not None:
            return mapped
        loops = [t.track.loop for t in self.by_loop.get(path, ()) if t.track.loop]
        names = [name for name in (path, loop.name) if name in self.reference.trips]
        return max(loops, key=loops.count) if loops else names[0] if names else self._only_reference_loop_name(path)

    def _only_reference_loop_name(self, path: str) -> str:
        """The loop of the reference with the same depth, if there is only one on both sides."""
        depths = {other_path: self.layout.loop_depth(other_path) for other_path in self.layout.loops}
        names = [
            name for name, counts in self.reference.trips.items() if len(next(iter(counts), ())) == depths[path] - 1
        ]
        return names[0] if len(names) == 1 and list(depths.values()).count(depths[path]) == 1 else ""

    # -- the run

    def run(self) -> None:
        """Run the side to its end."""
        values = {path: [track.location.value for track in self.by_loop.get(path, ())] for path in self.layout.loops}
        for boundary, reader in iterate_side(self.side, {path: values[path] for path in self.selected_loops}):
            if boundary.loop:
                self.counts.setdefault(boundary.loop, {})[boundary.entry] = boundary.iteration
                if boundary.ended is not None:
                    self.stopped_by.setdefault(boundary.loop, {})[boundary.entry] = boundary.ended
            self._compare_iteration(boundary, reader)

    def _compare_iteration(self, boundary: Boundary, reader: ValueReader) -> None:
        differences = IterationDifferences()
        for track in self.by_loop.get(boundary.loop, ()):
            for key, a in self._values_with_keys(track, boundary, reader):
                if key not in track.track.values:
                    track.missing += 1
                    continue
                b = _restore_dtype(track.track.values[key], a)
                delta = compare(a, b, self.options.tolerance, loose_shape=not track.requires_exact_shape)
                track.compared += 1
                differences.add(delta)
                if delta.kind:
                    self._add_difference(track, key, a, b, delta)
        findings = self._get_loop_findings(boundary.loop) if differences.compared else None
        if findings is not None:
            findings.add_iteration(boundary.iteration - 1, differences)

    def _values_with_keys(
        self, track: ComparedTrack, boundary: Boundary, reader: ValueReader
    ) -> Iterator[tuple[Key, Any]]:
        """The values of one location after an iteration, with their keys; carried values also at the end of a loop."""
        loc, key = track.location, iteration_key(boundary)
        if boundary.iteration or not boundary.loop:
            is_known, data = reader.read(loc.value)
            if is_known or (loc.branch and key in track.track.values):
                yield key, data
        next_key = (*boundary.entry, boundary.iteration)
        if boundary.ended is not None and loc.role == "carried" and next_key in track.track.values:
            track.compared_at_end = True
            yield next_key, boundary.carried[loc.name]

    def _add_difference(self, compared: ComparedTrack, key: Key, a: Data, b: Data, delta: Any) -> None:
        # The input of an iteration was computed by the previous one.
        iteration = key[-1] - (compared.location.role == "carried") if key else None
        track = compared.track
        maker = f"{track.maker} '{track.node}'" if track.maker and track.node else track.maker or track.node
        number = None if iteration is None or iteration < 0 else iteration
        # Only the first difference keeps its values.
        left, right = (None, None) if compared.differences else (a, b)
        compared.differences[key] = Difference(
            compared.role,
            compared.name,
            track.name,
            delta,
            compared.location.path,
            key[:-1],
            number,
            left,
            right,
            source=track.source,
            maker=maker,
        )
        position = compared.location.order_in_iteration(key)
        if self.first_difference is None or position < self.first_difference[0]:
            self.first_difference = position, compared, compared.differences[key]
        findings = self._get_loop_findings(compared.location.path)
        if findings is not None:
            findings.add_difference(compared.differences[key], position)

    def _get_loop_findings(self, path: str) -> LoopFindings | None:
        if not path:
            return None
        if path not in self.findings:
            label = self.reference_names.get(path)
            method = next((t.candidate.method for t in self.by_loop.get(path, ())), "structure") if label else "path"
            self.findings[path] = LoopFindings(path, label or path, method)
        return self.findings[path]

    # -- how the cause is shown

    def demonstration(self) -> Demonstration | None:
        """Run the model again with the reference's values in place of the first ones that differ, until nothing else
        differs; None if that cannot be shown."""
        if not isinstance(self.side, ModelSide):
            return None
        differing = [item for item in self.compared_tracks if item.differences]
        substituted: dict[Value, Sequence[Any]] = {}
        names: list[str] = []
        graph, first = self.layout.graph, self.first_difference
        while first is not None and len(names) < _MAX_SUBSTITUTED and len(names) < len(differing) - 1:
            target = self._replacement_values(first[1])
            if target is None or target[0] in substituted:
                return None
            substituted[target[0]] = target[1]
            names.append(f"'{first[1].name}'")
            changed: Graph | None = graph
            for value, rows in substituted.items():
                changed = None if changed is None else with_substituted_value(changed, value, rows)
            if changed is None:
                return None
            side = ModelSide(Model(changed), self.side.inputs, self.side.limit, self.side.label)
            rerun = _ReferenceRun(side, self.layout, self.reference, self.pairing, self.options, self.selected_loops)
            try:
                rerun.run()
            except (ExecutionError, LimitError):
                return None
            first = rerun.first_difference
        if first is not None or not names:
            return None
        text = f"with {' and '.join(names)} of {self.reference.label} in place of those of {self.side.label} in every"
        text += " iteration, everything that was compared is the same"
        return Demonstration("values", text, len(names), is_minimal=len(names) == 1)

    def _replacement_values(self, compared: ComparedTrack) -> tuple[Value, list[Any]] | None:
        """The result of a node that a track replaces, and its rows in the order of execution."""
        location, values = compared.location, compared.track.values
        edges = [] if location.loop is None else location.loop.back_edges
        edge = next((edge for edge in edges if edge.param is location.value), None)
        shift = 0 if edge is None else 1
        value = location.value if edge is None else edge.result
        if (location.node is None and edge is None) or location.branch is not None:
            return None
        if not location.path:
            return value, [values.get(())]
        entries = self.counts.get(location.path, {})
        if len(entries) == 1:  # the reference may run longer
            ((entry, _),) = entries.items()
            return value, [values.get((*entry, k)) for k in range(shift, max(key[-1] for key in values) + 1)]
        return value, [values.get((*entry, k + shift)) for entry, count in entries.items() for k in range(count)]

    # -- result

    def comparison(self) -> Comparison:
        """The result of the comparison."""
        for path in self.layout.loops:
            if path in self.selected_loops and (path in self.findings or self.reference_names[path]):
                self._compare_trip_counts(path)
        self.result.loops = [self.findings[path] for path in self.layout.loops if path in self.findings]
        self._note_paired_values()
        self._add_main_graph_differences()
        self._note_uncompared_values()
        self._find_causes()
        if isinstance(self.side, ModelSide) and self.side.limit_hit:
            self.result.add_note(f"no loop ran more than {self.side.limit} iterations, the limit that was set")
        return self.result

    def _compare_trip_counts(self, path: str) -> None:
        """Compare the trip counts of a loop with those of the reference, or with its number of rows."""
        findings = self._get_loop_findings(path)
        assert findings is not None
        trips = self.trips.get(self.reference_names[path])
        rows = self._recorded_iterations(path)
        for entry, count in self.counts.get(path, {}).items():
            right = rows.get(entry) if trips is None else trips.get(entry)
            ended = self.stopped_by.get(path, {}).get(entry)
            findings.left_trips = count
            if ended is None:
                findings.truncated_at_iteration, findings.iteration_limit_hit = (
                    count,
                    isinstance(self.side, ModelSide) and self.side.limit_hit,
                )
                if right is None or right >= count:
                    continue
            if right is None:
                continue
            findings.right_trips = right
            if right == count:
                findings.completed_entries += 1
                findings.stopped_by = ended
            elif trips is not None or right > count:
                findings.compare_entry_ends(entry, (count, ended), (right, None))
                findings.explain_trip_difference()
            else:
                findings.truncated_at_iteration = min(
                    right, findings.truncated_at_iteration if findings.truncated_at_iteration is not None else right
                )

    def _recorded_iterations(self, path: str) -> dict[Key, int]:
        """The number of iterations of each entry that the tracks of a loop's results cover."""
        counts: dict[Key, int] = {}
        for track in self.by_loop.get(path, ()):
            if track.location.role != "carried" or track.track.role == "carried":
                for entry, count in iterations_by_entry(track.track).items():
                    counts[entry] = max(counts.get(entry, 0), count)
        return counts

    def _note_paired_values(self) -> None:
        for track in self.compared_tracks:
            findings = self.findings.get(track.location.path)
            if findings is not None and (track.track.name != track.name or track.candidate.method == "given"):
                findings.renamed_values.append((track.name, track.track.name, track.candidate.method))
            if track.missing and (
                findings is None or (findings.truncated_at_iteration is None and findings.trips is None)
            ):
                total = track.missing + track.compared
                self.result.add_note(
                    f"{self.reference.label} has '{track.track.name}' in {track.compared} of {total} iterations"
                )
                self.result.uncompared.append(track.track.name)

    def _add_main_graph_differences(self) -> None:
        outputs: set[Value] = set()
        for track in self.by_loop.get("", ()):
            if not track.compared and track.track.optional:
                continue
            if not track.compared:
                self._note_missing_value(track.track.name, "the run did not come to it")
            elif track.role != "output":
                self.result.compared_values += 1
            elif track.location.value in outputs:  # a node of the program, and the output that it computes
                continue
            else:
                outputs.add(track.location.value)
                self.result.compared_outputs += 1
            self.result.outputs += track.differences.values()

    def _note_uncompared_values(self) -> None:
        """Add notes on tracks and outputs that were not compared."""
        for track, reason in self.pairing.unpaired:
            if not self.options.loops or track.loop in self.options.loops:
                self._note_missing_value(track.name, reason)
        if self.options.loops:
            return
        for name, value in outputs_by_name(self.layout.graph).items():
            if not self._is_output_covered(value):
                self.result.add_note(f"the output '{name}' is only in {self.side.label}: not compared")
                self.result.uncompared.append(name)

    def _note_missing_value(self, name: str, reason: str) -> None:
        self.result.add_note(f"'{name}' is only in {self.reference.label}: not compared, since {reason}")
        self.result.uncompared.append(name)

    def _is_output_covered(self, value: Value) -> bool:
        """Whether an output was compared, or in all iterations the values that it consists of."""
        compared = {item.location.value for item in self.compared_tracks if item.compared and not item.missing}
        if value in compared:
            return True
        loop = next((loop for loop in self.layout.loops.values() if value in loop.outputs), None)
        if loop is None:
            return False
        lasts = [last for last in loop.last_values if last.outer is value]
        parts = [last.result for last in lasts]
        parts += [scan.result for scan in loop.scan_outputs if scan.outer is value]
        ends = {item.location.value for item in self.compared_tracks if item.compared_at_end}
        edges = [edge for last in lasts if (edge := loop.back_edge_for(last)) is not None]
        return any(item in compared for item in parts) or any(edge.param in ends for edge in edges)

    def _find_causes(self) -> None:
        """Find the cause of the first difference of each loop, or else of the outputs."""
        for findings in self.result.loops:
            if findings.first is not None:
                findings.cause = self._root_cause(findings.first)
        if self.first_difference is not None and not self.first_difference[1].location.path:
            self.result.first_output = self.first_difference[2]
            self.result.cause = self._root_cause(self.first_difference[2])

    def _root_cause(self, first: Difference) -> Cause | None:
        return find_root_cause(self.side, self.layout, self.compared_tracks, first)


def _restore_dtype(data: Data, template: Data) -> Data:
    """Restore a dtype that NumPy saved as raw bytes."""
    if isinstance(data, np.ndarray) and data.dtype.kind == "V" and isinstance(template, np.ndarray):
        is_raw = data.dtype.name.startswith("void") and data.dtype.itemsize == template.dtype.itemsize
        return data.view(template.dtype) if is_raw else data
    return data


def _stored_precision(pairs: Iterable[tuple[Any, Any]], reference: str) -> DivergenceReason | None:
    """The narrower type whose numbers all values of a reference are, while those of the model are not.

    Args:
        pairs: values of the model and of the reference that differ.
        reference: the label of the reference.
    """
    floats = [
        (np.asarray(ours), np.asarray(theirs))
        for ours, theirs in pairs
        if isinstance(theirs, np.ndarray) and theirs.dtype.name in _NARROWER and isinstance(ours, np.ndarray)
    ]
    names = {theirs.dtype.name for _, theirs in floats}
    if len(names) != 1 or sum(theirs.size for _, theirs in floats) < _MIN_NUMBERS:
        return None
    (name,) = names
    for dtype, bits in _NARROWER[name]:
        if not all(_has_precision(theirs, dtype) for _, theirs in floats):
            continue
        if any(_has_precision(ours, dtype) for ours, _ in floats):
            return None
        rounded = all(np.array_equal(_rounded(ours, dtype), theirs, equal_nan=True) for ours, theirs in floats)
        how = "they are those of the model, rounded" if rounded else f"it was computed or stored in {dtype.name}"
        return DivergenceReason(
            "", f"every number of {reference} that differs is a {dtype.name}, of {bits} significant bits: {how}."
        )
    return None


def _rounded(array: Any, dtype: np.dtype[Any]) -> Any:
    with np.errstate(over="ignore"):
        return array.astype(dtype).astype(array.dtype)


def _has_precision(array: Any, dtype: np.dtype[Any]) -> bool:
    return bool(np.array_equal(_rounded(array, dtype), array, equal_nan=True))
