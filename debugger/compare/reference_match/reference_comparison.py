"""A run against a reference: every value that the reference has, in every iteration, as the run computes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ....runtime.errors import UsageError
from ....runtime.graph import StoppedBy, Value
from ....runtime.input_validation import Data
from ....runtime.text import did_you_mean
from ...reference.reference import Key, Reference, Track
from ..causes.divergence_frontier import DivergenceSearch, cause_from_search
from ..report.findings import Cause, Comparison, Difference, LoopFindings, TripDifference
from ..running.boundary_merge import ComparisonOptions
from ..running.iteration_stream import IterationRecord, iterate_side, outputs_by_name
from ..running.loop_matching import match_loops, select_pairs
from ..running.sides import ComparisonSide, ModelSide, TraceSide
from ..running.value_comparison import compare
from .track_candidates import TrackCandidate, input_tracks
from .track_forms import iterations_by_entry, scan_by_iteration
from .track_pairing import TrackPairing, pair_tracks
from .value_locations import LocationIndex, ValueLocation


def compare_reference(side: ComparisonSide, reference: Reference, options: ComparisonOptions) -> Comparison:
    """Compare a run with a reference: all values that it has, trip counts where it tells them, and the outputs.

    The first difference is the first in the order of execution. ``options.names``: a loop or value of the model is
    called otherwise there.

    Raises:
        UsageError: the loop graph of the side is not known, or a name that is given is none.
        ExecutionError, LimitError: the model does not run.
    """
    if side.graph is None:
        raise UsageError(f"{side.label}: it does not tell its loop graph, so that no reference can be compared with it")
    if isinstance(side, ModelSide | TraceSide):
        side.report_progress(options.on_tick, leads=True)
    if reference.other_kernels and (options.tolerance.rtol, options.tolerance.atol) == (None, None):
        options = replace(options, tolerance=replace(options.tolerance, reordered_sums=True))
    layout = LocationIndex(side.graph, side.loops)
    _check_names(layout, reference, options)
    wanted = {pair.left.path for pair in select_pairs(match_loops(side.loops, side.loops, {}).pairs, options.loops)}
    given = input_tracks(reference, [value.name for value in layout.graph.inputs], options.names)
    tracks = [one for one in reference.tracks if one.role != "input" and one not in given.values()]
    paired = pair_tracks(side, layout, reference, tracks, options)
    run = _ReferenceRun(side, layout, reference, paired, options, wanted)
    run.run()
    return run.comparison()


def _check_names(layout: LocationIndex, reference: Reference, options: ComparisonOptions) -> None:
    here = {name for value in layout.locations for name in value.names} | outputs_by_name(layout.graph).keys()
    here |= {name for path, loop in layout.loops.items() for name in (path, loop.name)}
    there = {name for track in reference.tracks for name in (track.name, track.loop)} | reference.trips.keys()
    for name, other in options.names.items():
        for one, known, label in ((name, here, "the model"), (other, there, reference.label)):
            if one not in known:
                raise UsageError(f"{name}={other}: {label} has no '{one}'{did_you_mean(one, sorted(known))}")


@dataclass(eq=False)
class _ComparedTrack:
    """One track, followed through the run. ``name``: what the report calls the value."""

    candidate: TrackCandidate
    track: Track
    location: ValueLocation
    role: str
    name: str
    #: Iterations that were compared, and those that the reference lacks.
    compared: int = 0
    missing: int = 0
    #: What a loop carries in the end was compared, too.
    compared_at_end: bool = False
    #: By iteration, how it differs beyond the tolerance.
    differences: dict[Key, Difference] = field(default_factory=dict)

    @property
    def exact_shape(self) -> bool:
        """Whether axes of length 1 count: a node that was made for one of a program gives its shape. [256,1,64] has
        the numbers of [1,256,64] in their order, and what reads it computes something else."""
        return self.candidate.method in ("metadata", "position")


class _ReferenceRun:
    """One run of a side, compared with what was paired."""

    def __init__(
        self,
        side: ComparisonSide,
        layout: LocationIndex,
        reference: Reference,
        paired: TrackPairing,
        options: ComparisonOptions,
        loops: set[str],
    ) -> None:
        self.side, self.layout, self.reference, self.options = side, layout, reference, options
        self.pairing = paired
        self.selected_loops = loops
        self.result = Comparison("reference", side.label, reference.label)
        self.compared_tracks = list(self._make_compared_tracks())
        self.by_loop: dict[str, list[_ComparedTrack]] = {}
        for one in self.compared_tracks:
            self.by_loop.setdefault(one.location.path, []).append(one)
        self.findings: dict[str, LoopFindings] = {}
        self.reference_names = {path: self._reference_loop_name(path) for path in layout.loops}
        self.trips = {**reference.trips, **reference.folds}
        #: Loop -> entry -> iterations so far.
        self.counts: dict[str, dict[Key, int]] = {}
        self.stopped_by: dict[str, dict[Key, StoppedBy]] = {}
        self.first_difference: tuple[tuple[int, ...], _ComparedTrack, Difference] | None = None

    def _make_compared_tracks(self) -> Iterator[_ComparedTrack]:
        """The tracks that were paired, and of scan outputs each element as the result of its iteration."""
        pairs = [
            one for one in self.pairing.candidates if one.location.path in self.selected_loops or not one.location.path
        ]
        if self.options.loops:
            pairs = [one for one in pairs if one.location.path]
        there = {one.location.value for one in pairs}
        for one in pairs:
            yield self._make_compared_track(one, one.form, one.location)
            for loop in self.layout.loops.values():
                for scan in loop.scan_outputs:
                    spot = self.layout.locations.get(scan.result)
                    form = scan_by_iteration(one.form, scan) if scan.outer is one.location.value else None
                    if form is not None and spot is not None and spot.value not in there:
                        there.add(spot.value)
                        yield _ComparedTrack(one, form, spot, "scan", scan.outer.name)

    def _make_compared_track(self, one: TrackCandidate, track: Track, spot: ValueLocation) -> _ComparedTrack:
        edges = [] if spot.loop is None else spot.loop.back_edges
        edge = next((edge for edge in edges if spot.value in (edge.param, edge.result)), None)
        if edge is not None:
            return _ComparedTrack(one, track, spot, "carried", edge.param.name)
        output = next((name for name, value in outputs_by_name(self.layout.graph).items() if value is spot.value), None)
        role = {"sliced": "sliced input", "iteration": "iteration number"}.get(spot.role, spot.role)
        return _ComparedTrack(one, track, spot, "output" if output else role or "result", output or spot.name)

    def _reference_loop_name(self, path: str) -> str:
        """What the reference calls a loop; empty where it does not say."""
        loop = self.layout.loops[path]
        given = self.options.names.get(path, self.options.names.get(loop.name))
        if given is not None:
            return given
        told = [one.track.loop for one in self.by_loop.get(path, ()) if one.track.loop]
        known = [name for name in (path, loop.name) if name in self.reference.trips]
        return max(told, key=told.count) if told else known[0] if known else self._only_reference_loop(path)

    def _only_reference_loop(self, path: str) -> str:
        """The loop of the reference that is in as many loops, where there is one alone on both sides."""
        depths = {other: self.layout.loop_depth(other) for other in self.layout.loops}
        there = [
            name for name, counts in self.reference.trips.items() if len(next(iter(counts), ())) == depths[path] - 1
        ]
        return there[0] if len(there) == 1 and list(depths.values()).count(depths[path]) == 1 else ""

    # -- the run

    def run(self) -> None:
        """Run the side to its end."""
        values = {path: [one.location.value for one in self.by_loop.get(path, ())] for path in self.layout.loops}
        for step in iterate_side(
            self.side, {path: some for path, some in values.items() if path in self.selected_loops}
        ):
            if step.loop:
                self._count_iteration(step)
            self._compare_iteration(step)

    def _count_iteration(self, step: IterationRecord) -> None:
        self.counts.setdefault(step.loop, {})[step.entry] = step.iteration + 1
        if step.stopped_by is not None:
            self.stopped_by.setdefault(step.loop, {})[step.entry] = step.stopped_by

    def _compare_iteration(self, step: IterationRecord) -> None:
        worst, relative, beyond, count = 0.0, 0.0, False, 0
        for one in self.by_loop.get(step.loop, ()):
            for key, mine in self._values_at(one, step):
                if key not in one.track.values:
                    one.missing += 1
                    continue
                theirs = _restore_dtype(one.track.values[key], mine)
                delta = compare(mine, theirs, self.options.tolerance, loose_shape=not one.exact_shape)
                one.compared += 1
                count += 1
                worst, relative = max(worst, delta.absolute), max(relative, delta.relative)
                if delta.kind:
                    beyond = True
                    self._add_difference(one, key, mine, theirs, delta)
        if step.loop and count:
            self._add_iteration(step, worst, relative, beyond, count)

    def _values_at(self, one: _ComparedTrack, step: IterationRecord) -> Iterator[tuple[Key, Any]]:
        """What a step knows of a value, with its iteration: of carried ones at the end of a loop what comes out."""
        spot = one.location
        if step.iteration >= 0 or not step.loop:
            there, data = step.reader.read(spot.value)
            if there or (spot.branch and step.key in one.track.values):
                yield step.key, data
        behind = (*step.entry, step.iteration + 1)
        if step.stopped_by is not None and spot.value in step.carried and behind in one.track.values:
            one.compared_at_end = True
            yield behind, step.carried[spot.value]

    def _add_difference(self, one: _ComparedTrack, key: Key, mine: Data, theirs: Data, delta: Any) -> None:
        # What an iteration receives was computed before it.
        iteration = key[-1] - (one.location.role == "carried") if key else None
        track = one.track
        maker = f"{track.maker} '{track.node}'" if track.maker and track.node else track.maker or track.node
        when = None if iteration is None or iteration < 0 else iteration
        # The values of the first one alone are told.
        values = {} if one.differences else {"left": mine, "right": theirs}
        one.differences[key] = Difference(
            one.role,
            one.name,
            track.name,
            delta,
            one.location.path,
            key[:-1],
            when,
            **values,
            source=track.source,
            maker=maker,
        )
        place = one.location.order_in_iteration(key)
        if self.first_difference is None or place < self.first_difference[0]:
            self.first_difference = place, one, one.differences[key]
        findings = self._loop_findings(one.location.path)
        if findings is not None and (findings.first is None or place < findings.execution_position):
            findings.first, findings.execution_position = one.differences[key], place

    def _loop_findings(self, path: str) -> LoopFindings | None:
        if not path:
            return None
        if path not in self.findings:
            there = self.reference_names.get(path)
            how = next((one.candidate.method for one in self.by_loop.get(path, ())), "structure") if there else "path"
            self.findings[path] = LoopFindings(path, there or path, how)
        return self.findings[path]

    def _add_iteration(self, step: IterationRecord, worst: float, relative: float, beyond: bool, count: int) -> None:
        findings = self._loop_findings(step.loop)
        assert findings is not None
        findings.compared_values += count
        findings.iterations += 1
        findings.differing_iterations += beyond
        findings.growth.add(step.iteration, worst, relative, beyond)

    # -- what came of it

    def comparison(self) -> Comparison:
        """The comparison."""
        for path in self.layout.loops:
            if path in self.selected_loops and (path in self.findings or self.reference_names[path]):
                self._compare_trip_counts(path)
        self.result.loops = [self.findings[path] for path in self.layout.loops if path in self.findings]
        self._note_pairs()
        self._add_main_graph()
        self._note_uncompared()
        self._find_causes()
        if isinstance(self.side, ModelSide) and self.side.limit_hit:
            self.result.add_note(f"no loop ran more than {self.side.limit} iterations, the limit that was set")
        return self.result

    def _compare_trip_counts(self, path: str) -> None:
        """Compare how often a loop ran with what the reference says, or with how many rows it has."""
        findings = self._loop_findings(path)
        assert findings is not None
        said = self.trips.get(self.reference_names[path])
        rows = self._recorded_iterations(path)
        for entry, count in self.counts.get(path, {}).items():
            other = rows.get(entry) if said is None else said.get(entry)
            ended = self.stopped_by.get(path, {}).get(entry)
            findings.left_trips = count
            if ended is None:
                findings.truncated_at_iteration, findings.iteration_limit_hit = (
                    count,
                    isinstance(self.side, ModelSide) and self.side.limit_hit,
                )
                if other is None or other >= count:
                    continue
            if other is None:
                continue
            findings.right_trips = other
            if other == count:
                findings.completed_entries += 1
                findings.stopped_by = ended
            elif said is not None or other > count:
                self._add_trip_difference(findings, entry, count, other, ended)
            else:
                findings.truncated_at_iteration = min(
                    other, findings.truncated_at_iteration if findings.truncated_at_iteration is not None else other
                )

    def _add_trip_difference(
        self, findings: LoopFindings, entry: Key, count: int, other: int, ended: StoppedBy | None
    ) -> None:
        if findings.trips is not None:
            findings.trips.entries += 1
            return
        findings.trips = TripDifference(entry, count, other, ended, None)
        first = findings.first
        if first is not None and first.entry <= entry:
            when = "before iteration 0" if first.iteration is None else f"in iteration {first.iteration}"
            findings.trips.explanation = f"'{first.name}' differs {when}"

    def _recorded_iterations(self, path: str) -> dict[Key, int]:
        """By entry, how many iterations the tracks of what a loop computes go through."""
        found: dict[Key, int] = {}
        for one in self.by_loop.get(path, ()):
            if one.location.role != "carried" or one.track.role == "carried":
                for entry, count in iterations_by_entry(one.track).items():
                    found[entry] = max(found.get(entry, 0), count)
        return found

    def _note_pairs(self) -> None:
        for one in self.compared_tracks:
            findings = self.findings.get(one.location.path)
            if findings is not None and (one.track.name != one.name or one.candidate.method == "given"):
                findings.renamed_values.append((one.name, one.track.name, one.candidate.method))
            if one.missing and (
                findings is None or (findings.truncated_at_iteration is None and findings.trips is None)
            ):
                total = one.missing + one.compared
                self.result.add_note(
                    f"{self.reference.label} has '{one.track.name}' in {one.compared} of {total} iterations"
                )
                self.result.uncompared.append(one.track.name)

    def _add_main_graph(self) -> None:
        for one in self.by_loop.get("", ()):
            if not one.compared and one.track.optional:
                continue
            if not one.compared:
                self._note_missing(one.track.name, "the run did not come to it")
            elif one.role == "output":
                self.result.compared_outputs += 1
            else:
                self.result.compared_values += 1
            self.result.outputs += one.differences.values()

    def _note_uncompared(self) -> None:
        """Say what of the reference and which outputs of the model were not compared."""
        for track, why in self.pairing.unpaired:
            if not self.options.loops or track.loop in self.options.loops:
                self._note_missing(track.name, why)
        if self.options.loops:
            return
        for name, value in outputs_by_name(self.layout.graph).items():
            if not self._is_covered(value):
                self.result.add_note(f"the output '{name}' is only in {self.side.label}: not compared")
                self.result.uncompared.append(name)

    def _note_missing(self, name: str, why: str) -> None:
        self.result.add_note(f"'{name}' is only in {self.reference.label}: not compared, since {why}")
        self.result.uncompared.append(name)

    def _is_covered(self, value: Value) -> bool:
        """Whether an output was compared, or in all iterations what it is made of."""
        compared = {one.location.value for one in self.compared_tracks if one.compared and not one.missing}
        if value in compared:
            return True
        loop = next((loop for loop in self.layout.loops.values() if value in loop.outputs), None)
        if loop is None:
            return False
        lasts = [last for last in loop.last_values if last.outer is value]
        made = [last.result for last in lasts]
        made += [scan.result for scan in loop.scan_outputs if scan.outer is value]
        ends = {one.location.value for one in self.compared_tracks if one.compared_at_end}
        edges = [edge for last in lasts if (edge := loop.back_edge_for(last)) is not None]
        return any(one in compared for one in made) or any(edge.param in ends for edge in edges)

    def _find_causes(self) -> None:
        """Where the first difference comes from: of each loop, and where no loop differs of the outputs."""
        for findings in self.result.loops:
            one = next((one for one in self.compared_tracks if findings.first in one.differences.values()), None)
            if findings.first is not None and one is not None:
                findings.cause = self._root_cause(one, findings.first)
        first = None if self.first_difference is None else self.first_difference[1]
        if first is not None and not first.location.path and self.first_difference is not None:
            self.result.first_output, self.result.cause = (
                self.first_difference[2],
                self._find_cause(first, self.first_difference[2]),
            )

    def _root_cause(self, one: _ComparedTrack, first: Difference) -> Cause | None:
        """The cause of a difference; of one that comes from another value that differs the cause of that."""
        cause = self._find_cause(one, first)
        if cause is None or cause.source is None:
            return cause
        maker = next(other for other in self.compared_tracks if cause.source in other.differences.values())
        before = self._root_cause(maker, cause.source)
        return cause if before is None else replace(before, source=cause.source)

    def _find_cause(self, one: _ComparedTrack, first: Difference) -> Cause | None:
        key = next(key for key, difference in one.differences.items() if difference is first)
        around = one.location.branch
        if around is not None and first.left is None and first.delta.kind == "kind":
            asked = around.inputs[0]
            told = "" if asked is None else f", by its condition '{asked.name}'"
            return Cause(remark=f"the If '{around.name}' takes the other branch here{told}")
        followed = {other.location.value: other for other in self.compared_tracks}
        place = one.location.order_in_iteration(key)

        def known(value: Value, at: Key) -> bool:
            other = followed.get(value)
            if other is None or not (other.compared and other.candidate.is_unambiguous) or at not in other.track.values:
                return False
            return other.location.order_in_iteration(at) < place

        def differs(value: Value, at: Key) -> Difference | None:
            return followed[value].differences.get(at)

        between = DivergenceSearch(self.layout, known, differs)
        between.search(one.location, key)
        moment = self._reader_for(one.location, first)
        return cause_from_search(
            between, first, moment, {other.location.value: other.track.name for other in self.compared_tracks}
        )

    def _reader_for(self, spot: ValueLocation, first: Difference) -> Any:
        if spot.path:
            return None if first.iteration is None else self.side.reader_at(spot.path, first.entry, first.iteration)
        return self.side.final_reader if isinstance(self.side, ModelSide) else None


def _restore_dtype(theirs: Data, mine: Data) -> Data:
    """What NumPy saved of a dtype that it lacks, in that dtype."""
    if isinstance(theirs, np.ndarray) and theirs.dtype.kind == "V" and isinstance(mine, np.ndarray):
        raw = theirs.dtype.name.startswith("void") and theirs.dtype.itemsize == mine.dtype.itemsize
        return theirs.view(mine.dtype) if raw else theirs
    return theirs
