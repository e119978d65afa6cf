"""A run against a reference: every value that the reference has, in every iteration, as the run computes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...runtime.errors import UsageError
from ...runtime.graph import StoppedBy, Value
from ...runtime.inputs import Data
from ...runtime.text import did_you_mean
from ..reference.reference import Key, Reference, Track
from .between import Between, cause_of
from .candidates import Candidate, inputs_among
from .findings import Cause, Comparison, Difference, LoopFindings, TripDifference
from .forms import by_iteration, extents
from .layout import Layout, Spot
from .matching import chosen, match_loops
from .pairing import Paired, pair_tracks
from .sides import ModelSide, Side, TraceSide
from .steps import Step, named_outputs, steps_of
from .streams import Options
from .values import compare


def compare_reference(side: Side, reference: Reference, options: Options) -> Comparison:
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
        side.report(options.on_tick, leads=True)
    if reference.other_kernels and (options.tolerance.rtol, options.tolerance.atol) == (None, None):
        options = replace(options, tolerance=replace(options.tolerance, summed=True))
    layout = Layout(side.graph, side.loops)
    _check_names(layout, reference, options)
    wanted = {pair.left.path for pair in chosen(match_loops(side.loops, side.loops, {}).pairs, options.loops)}
    given = inputs_among(reference, [value.name for value in layout.graph.inputs], options.names)
    tracks = [one for one in reference.tracks if one.role != "input" and one not in given.values()]
    paired = pair_tracks(side, layout, reference, tracks, options)
    run = _Run(side, layout, reference, paired, options, wanted)
    run.follow()
    return run.told()


def _check_names(layout: Layout, reference: Reference, options: Options) -> None:
    here = {name for value in layout.spots for name in value.names} | named_outputs(layout.graph).keys()
    here |= {name for path, loop in layout.loops.items() for name in (path, loop.name)}
    there = {name for track in reference.tracks for name in (track.name, track.loop)} | reference.trips.keys()
    for name, other in options.names.items():
        for one, known, label in ((name, here, "the model"), (other, there, reference.label)):
            if one not in known:
                raise UsageError(f"{name}={other}: {label} has no '{one}'{did_you_mean(one, sorted(known))}")


@dataclass(eq=False)
class _Following:
    """One track, followed through the run. ``name``: what the report calls the value."""

    candidate: Candidate
    track: Track
    spot: Spot
    role: str
    name: str
    #: Iterations that were compared, and those that the reference lacks.
    compared: int = 0
    lacking: int = 0
    #: What a loop carries in the end was compared, too.
    to_the_end: bool = False
    #: By iteration, how it differs beyond the tolerance.
    differing: dict[Key, Difference] = field(default_factory=dict)

    @property
    def exact_shape(self) -> bool:
        """Whether axes of length 1 count: a node that was made for one of a program gives its shape. [256,1,64] has
        the numbers of [1,256,64] in their order, and what reads it computes something else."""
        return self.candidate.how in ("metadata", "position")


class _Run:
    """One run of a side, compared with what was paired."""

    def __init__(
        self, side: Side, layout: Layout, reference: Reference, paired: Paired, options: Options, loops: set[str]
    ) -> None:
        self.side, self.layout, self.reference, self.options = side, layout, reference, options
        self.paired = paired
        self.wanted = loops
        self.result = Comparison("reference", side.label, reference.label)
        self.all = list(self._followed())
        self.by_loop: dict[str, list[_Following]] = {}
        for one in self.all:
            self.by_loop.setdefault(one.spot.path, []).append(one)
        self.findings: dict[str, LoopFindings] = {}
        self.there = {path: self._name_there(path) for path in layout.loops}
        self.trips = {**reference.trips, **reference.folds}
        #: Loop -> entry -> iterations so far.
        self.counts: dict[str, dict[Key, int]] = {}
        self.ended: dict[str, dict[Key, StoppedBy]] = {}
        self.first: tuple[tuple[int, ...], _Following, Difference] | None = None

    def _followed(self) -> Iterator[_Following]:
        """The tracks that were paired, and of scan outputs each element as the result of its iteration."""
        pairs = [one for one in self.paired.found if one.spot.path in self.wanted or not one.spot.path]
        if self.options.loops:
            pairs = [one for one in pairs if one.spot.path]
        there = {one.spot.value for one in pairs}
        for one in pairs:
            yield self._following(one, one.form, one.spot)
            for loop in self.layout.loops.values():
                for scan in loop.scan_outputs:
                    spot = self.layout.spots.get(scan.result)
                    form = by_iteration(one.form, scan) if scan.outer is one.spot.value else None
                    if form is not None and spot is not None and spot.value not in there:
                        there.add(spot.value)
                        yield _Following(one, form, spot, "scan", scan.outer.name)

    def _following(self, one: Candidate, track: Track, spot: Spot) -> _Following:
        edges = [] if spot.loop is None else spot.loop.back_edges
        edge = next((edge for edge in edges if spot.value in (edge.param, edge.result)), None)
        if edge is not None:
            return _Following(one, track, spot, "carried", edge.param.name)
        output = next((name for name, value in named_outputs(self.layout.graph).items() if value is spot.value), None)
        role = {"sliced": "sliced input", "iteration": "iteration number"}.get(spot.role, spot.role)
        return _Following(one, track, spot, "output" if output else role or "result", output or spot.name)

    def _name_there(self, path: str) -> str:
        """What the reference calls a loop; empty where it does not say."""
        loop = self.layout.loops[path]
        given = self.options.names.get(path, self.options.names.get(loop.name))
        if given is not None:
            return given
        told = [one.track.loop for one in self.by_loop.get(path, ()) if one.track.loop]
        known = [name for name in (path, loop.name) if name in self.reference.trips]
        return max(told, key=told.count) if told else known[0] if known else self._alone(path)

    def _alone(self, path: str) -> str:
        """The loop of the reference that is in as many loops, where there is one alone on both sides."""
        depths = {other: self.layout.depth_of(other) for other in self.layout.loops}
        there = [
            name for name, counts in self.reference.trips.items() if len(next(iter(counts), ())) == depths[path] - 1
        ]
        return there[0] if len(there) == 1 and list(depths.values()).count(depths[path]) == 1 else ""

    # -- the run

    def follow(self) -> None:
        """Run the side to its end."""
        values = {path: [one.spot.value for one in self.by_loop.get(path, ())] for path in self.layout.loops}
        for step in steps_of(self.side, {path: some for path, some in values.items() if path in self.wanted}):
            if step.loop:
                self._count(step)
            self._compare(step)

    def _count(self, step: Step) -> None:
        self.counts.setdefault(step.loop, {})[step.entry] = step.iteration + 1
        if step.ended is not None:
            self.ended.setdefault(step.loop, {})[step.entry] = step.ended

    def _compare(self, step: Step) -> None:
        worst, relative, beyond, count = 0.0, 0.0, False, 0
        for one in self.by_loop.get(step.loop, ()):
            for key, mine in self._values(one, step):
                if key not in one.track.values:
                    one.lacking += 1
                    continue
                theirs = _declared(one.track.values[key], mine)
                delta = compare(mine, theirs, self.options.tolerance, loose_shape=not one.exact_shape)
                one.compared += 1
                count += 1
                worst, relative = max(worst, delta.absolute), max(relative, delta.relative)
                if delta.kind:
                    beyond = True
                    self._differs(one, key, mine, theirs, delta)
        if step.loop and count:
            self._add(step, worst, relative, beyond, count)

    def _values(self, one: _Following, step: Step) -> Iterator[tuple[Key, Any]]:
        """What a step knows of a value, with its iteration: of carried ones at the end of a loop what comes out."""
        spot = one.spot
        if step.iteration >= 0 or not step.loop:
            there, data = step.moment.read(spot.value)
            if there or (spot.branch and step.key in one.track.values):
                yield step.key, data
        behind = (*step.entry, step.iteration + 1)
        if step.ended is not None and spot.value in step.carried and behind in one.track.values:
            one.to_the_end = True
            yield behind, step.carried[spot.value]

    def _differs(self, one: _Following, key: Key, mine: Data, theirs: Data, delta: Any) -> None:
        # What an iteration receives was computed before it.
        iteration = key[-1] - (one.spot.role == "carried") if key else None
        track = one.track
        maker = f"{track.maker} '{track.node}'" if track.maker and track.node else track.maker or track.node
        when = None if iteration is None or iteration < 0 else iteration
        # The values of the first one alone are told.
        values = {} if one.differing else {"left": mine, "right": theirs}
        one.differing[key] = Difference(
            one.role,
            one.name,
            track.name,
            delta,
            one.spot.path,
            key[:-1],
            when,
            **values,
            source=track.source,
            maker=maker,
        )
        place = one.spot.at(key)
        if self.first is None or place < self.first[0]:
            self.first = place, one, one.differing[key]
        findings = self._found(one.spot.path)
        if findings is not None and (findings.first is None or place < findings.position):
            findings.first, findings.position = one.differing[key], place

    def _found(self, path: str) -> LoopFindings | None:
        if not path:
            return None
        if path not in self.findings:
            there = self.there.get(path)
            how = next((one.candidate.how for one in self.by_loop.get(path, ())), "structure") if there else "path"
            self.findings[path] = LoopFindings(path, there or path, how)
        return self.findings[path]

    def _add(self, step: Step, worst: float, relative: float, beyond: bool, count: int) -> None:
        findings = self._found(step.loop)
        assert findings is not None
        findings.count += count
        findings.iterations += 1
        findings.differing += beyond
        findings.growth.add(step.iteration, worst, relative, beyond)

    # -- what came of it

    def told(self) -> Comparison:
        """The comparison."""
        for path in self.layout.loops:
            if path in self.wanted and (path in self.findings or self.there[path]):
                self._trips(path)
        self.result.loops = [self.findings[path] for path in self.layout.loops if path in self.findings]
        self._pairs()
        self._main()
        self._coverage()
        self._causes()
        if isinstance(self.side, ModelSide) and self.side.limited:
            self.result.note(f"no loop ran more than {self.side.limit} iterations, the limit that was set")
        return self.result

    def _trips(self, path: str) -> None:
        """Compare how often a loop ran with what the reference says, or with how many rows it has."""
        findings = self._found(path)
        assert findings is not None
        said = self.trips.get(self.there[path])
        rows = self._rows(path)
        for entry, count in self.counts.get(path, {}).items():
            other = rows.get(entry) if said is None else said.get(entry)
            ended = self.ended.get(path, {}).get(entry)
            findings.left_trips = count
            if ended is None:
                findings.unended, findings.limited = count, isinstance(self.side, ModelSide) and self.side.limited
                if other is None or other >= count:
                    continue
            if other is None:
                continue
            findings.right_trips = other
            if other == count:
                findings.entries += 1
                findings.ended = ended
            elif said is not None or other > count:
                self._other_trips(findings, entry, count, other, ended)
            else:
                findings.unended = min(other, findings.unended if findings.unended is not None else other)

    def _other_trips(self, findings: LoopFindings, entry: Key, count: int, other: int, ended: StoppedBy | None) -> None:
        if findings.trips is not None:
            findings.trips.entries += 1
            return
        findings.trips = TripDifference(entry, count, other, ended, None)
        first = findings.first
        if first is not None and first.entry <= entry:
            when = "before iteration 0" if first.iteration is None else f"in iteration {first.iteration}"
            findings.trips.because = f"'{first.name}' differs {when}"

    def _rows(self, path: str) -> dict[Key, int]:
        """By entry, how many iterations the tracks of what a loop computes go through."""
        found: dict[Key, int] = {}
        for one in self.by_loop.get(path, ()):
            if one.spot.role != "carried" or one.track.role == "carried":
                for entry, count in extents(one.track).items():
                    found[entry] = max(found.get(entry, 0), count)
        return found

    def _pairs(self) -> None:
        for one in self.all:
            findings = self.findings.get(one.spot.path)
            if findings is not None and (one.track.name != one.name or one.candidate.how == "given"):
                findings.values.append((one.name, one.track.name, one.candidate.how))
            if one.lacking and (findings is None or (findings.unended is None and findings.trips is None)):
                total = one.lacking + one.compared
                self.result.note(
                    f"{self.reference.label} has '{one.track.name}' in {one.compared} of {total} iterations"
                )
                self.result.lacking.append(one.track.name)

    def _main(self) -> None:
        for one in self.by_loop.get("", ()):
            if not one.compared and one.track.optional:
                continue
            if not one.compared:
                self._say_lacking(one.track.name, "the run did not come to it")
            elif one.role == "output":
                self.result.compared_outputs += 1
            else:
                self.result.compared_values += 1
            self.result.outputs += one.differing.values()

    def _coverage(self) -> None:
        """Say what of the reference and which outputs of the model were not compared."""
        for track, why in self.paired.left:
            if not self.options.loops or track.loop in self.options.loops:
                self._say_lacking(track.name, why)
        if self.options.loops:
            return
        for name, value in named_outputs(self.layout.graph).items():
            if not self._is_covered(value):
                self.result.note(f"the output '{name}' is only in {self.side.label}: not compared")
                self.result.lacking.append(name)

    def _say_lacking(self, name: str, why: str) -> None:
        self.result.note(f"'{name}' is only in {self.reference.label}: not compared, since {why}")
        self.result.lacking.append(name)

    def _is_covered(self, value: Value) -> bool:
        """Whether an output was compared, or in all iterations what it is made of."""
        compared = {one.spot.value for one in self.all if one.compared and not one.lacking}
        if value in compared:
            return True
        loop = next((loop for loop in self.layout.loops.values() if value in loop.outputs), None)
        if loop is None:
            return False
        lasts = [last for last in loop.last_values if last.outer is value]
        made = [last.result for last in lasts]
        made += [scan.result for scan in loop.scan_outputs if scan.outer is value]
        ends = {one.spot.value for one in self.all if one.to_the_end}
        edges = [edge for last in lasts if (edge := loop.edge_of(last)) is not None]
        return any(one in compared for one in made) or any(edge.param in ends for edge in edges)

    def _causes(self) -> None:
        """Where the first difference comes from: of each loop, and where no loop differs of the outputs."""
        for findings in self.result.loops:
            one = next((one for one in self.all if findings.first in one.differing.values()), None)
            if findings.first is not None and one is not None:
                findings.cause = self._begun(one, findings.first)
        first = None if self.first is None else self.first[1]
        if first is not None and not first.spot.path and self.first is not None:
            self.result.first_output, self.result.cause = self.first[2], self._cause(first, self.first[2])

    def _begun(self, one: _Following, first: Difference) -> Cause | None:
        """The cause of a difference; of one that comes from another value that differs the cause of that."""
        cause = self._cause(one, first)
        if cause is None or cause.source is None:
            return cause
        maker = next(other for other in self.all if cause.source in other.differing.values())
        before = self._begun(maker, cause.source)
        return cause if before is None else replace(before, source=cause.source)

    def _cause(self, one: _Following, first: Difference) -> Cause | None:
        key = next(key for key, difference in one.differing.items() if difference is first)
        around = one.spot.branch
        if around is not None and first.left is None and first.delta.kind == "kind":
            asked = around.inputs[0]
            told = "" if asked is None else f", by its condition '{asked.name}'"
            return Cause(remark=f"the If '{around.name}' takes the other branch here{told}")
        followed = {other.spot.value: other for other in self.all}
        place = one.spot.at(key)

        def known(value: Value, at: Key) -> bool:
            other = followed.get(value)
            if other is None or not (other.compared and other.candidate.sure) or at not in other.track.values:
                return False
            return other.spot.at(at) < place

        def differs(value: Value, at: Key) -> Difference | None:
            return followed[value].differing.get(at)

        between = Between(self.layout, known, differs)
        between.search(one.spot, key)
        moment = self._moment(one.spot, first)
        return cause_of(between, first, moment, {other.spot.value: other.track.name for other in self.all})

    def _moment(self, spot: Spot, first: Difference) -> Any:
        if spot.path:
            return None if first.iteration is None else self.side.moment(spot.path, first.entry, first.iteration)
        return self.side.ended if isinstance(self.side, ModelSide) else None


def _declared(theirs: Data, mine: Data) -> Data:
    """What NumPy saved of a dtype that it lacks, in that dtype."""
    if isinstance(theirs, np.ndarray) and theirs.dtype.kind == "V" and isinstance(mine, np.ndarray):
        raw = theirs.dtype.name.startswith("void") and theirs.dtype.itemsize == mine.dtype.itemsize
        return theirs.view(mine.dtype) if raw else theirs
    return theirs
