"""Two streams of boundaries, merged by their places in time and compared one pair at a time.

Nothing is kept of what was read but the findings, so that runs of any length can be compared.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...runtime.errors import ExecutionError, LimitError
from ...runtime.graph import MAIN, Loop, StoppedBy, Value
from ..session.boundary import Boundary
from .align import Alignment
from .cause import Earlier, Tracer, computed
from .eight_bits import PEAK
from .findings import Cause, Comparison, Difference, LoopFindings, Saturation, TripDifference
from .iteration_values import Moment
from .main_graph import follow_outputs
from .matching import Matched, Names, Pair, chosen, match_loops, match_names
from .outputs import compare_outputs
from .quantisation import Steps, result_of
from .ranges import note_range
from .reach import Watch
from .rules import fitting
from .saturating import Quantisers
from .sides import ModelSide, Side, TraceSide
from .ticks import OnTick
from .values import SAME, Tolerance, compare
from .written import written

#: Runs from the start that are made to find where a carried value began to differ.
_MOST_RUNS = 12
#: A place in time: for each loop, outermost first, the index of its pair and its iteration.
Place = tuple[int, ...]


@dataclass
class Options:
    """What is compared, and how."""

    tolerance: Tolerance = field(default_factory=Tolerance)
    #: Names of loops and values that are called something else on the right.
    names: Mapping[str, str] = field(default_factory=dict)
    #: Only these loops; empty: all.
    loops: Sequence[str] = ()
    #: Called a few times a second with how far a run is.
    on_tick: OnTick | None = None


def compare_sides(
    left: Side, right: Side, options: Options, mode: str = "streams", peer: str | None = None
) -> Comparison:
    """Compare two runs: every boundary of every loop, trip counts, and the outputs.

    ``peer``: the right side is this runtime, so that only its own rules explain what differs.
    """
    result = Comparison(mode, left.label, right.label)
    for side in (left, right):
        if isinstance(side, ModelSide | TraceSide):
            side.report(options.on_tick, leads=side is left)
    matched = match_loops(left.loops, right.loops, options.names)
    _say_unmatched(result, matched)
    pairs = chosen(matched.pairs, options.loops)
    alignment = _alignment(left, right, matched, options)
    if alignment is not None:
        asked, options = options, replace(options, tolerance=alignment.tolerance(options.tolerance))
        if options.tolerance.peak > asked.tolerance.peak:
            label = (left, right)[alignment.quantised or 0].label
            result.note(f"{label} computes in 8 bits: compared within {PEAK:.0%} of each value's largest number")
        paths = {pair.left.loop: pair.left.path for pair in pairs if pair.left.loop is not None}
        result.written = written(alignment, paths, not options.loops)
    merges = [pairs] if matched.in_order else [[pair] for pair in pairs]
    for some in merges:
        merge = _Merge(left, right, some, options, alignment)
        try:
            merge.run()
        except (ExecutionError, LimitError) as error:
            if not result.written:
                raise
            # Told all the same: it may be why.
            result.error = error
            with contextlib.suppress(ExecutionError, LimitError):
                merge.follow_back()
        result.loops += merge.findings.values()
        if result.error is not None:
            return result
    for side in (left, right):
        if isinstance(side, ModelSide) and side.limited:
            result.note(f"{side.label}: no loop ran more than {side.limit} iterations, the limit that was set")
    if not options.loops:
        compare_outputs(result, left, right, options.tolerance, options.names)
        if alignment is not None and alignment.quantised is not None:
            result.quantised = _quantised(left, right, alignment.quantised)
        if alignment is not None and result.outputs:
            follow_outputs(result, left, right, alignment, options.tolerance)
    for loop in result.loops:
        loop.reasons = list(dict.fromkeys([*left.reasons(loop.left), *right.reasons(loop.right)]))
        if loop.trips is not None:
            loop.trips.reasons = fitting(loop.reasons, "trips", peer)
            loop.trips.because = _because(loop)
    return result


def _alignment(left: Side, right: Side, matched: Matched, options: Options) -> Alignment | None:
    if left.graph is None or right.graph is None:
        return None
    loops = [(p.left.loop, p.right.loop) for p in matched.pairs if p.left.loop is not None and p.right.loop is not None]
    return Alignment(left.graph, right.graph, loops, options.names)


def _quantised(left: Side, right: Side, which: int) -> list[Saturation]:
    """What the main graph of the side in 8 bits quantised, once it ran to its end."""
    side = (left, right)[which]
    if not isinstance(side, ModelSide) or side.ended is None:
        return []
    quantisers = Quantisers(side.model.graph, which)
    quantisers.see((), None, side.ended)
    return quantisers.found


def _because(loop: LoopFindings) -> str:
    """What makes trip counts differ, as far as values tell."""
    first, trips = loop.first, loop.trips
    if first is None or trips is None or first.entry > trips.entry:
        return ""
    what = "the condition" if first.role == "condition" else f"'{first.name}'"
    entry = "" if first.entry == trips.entry else f" of entry {'/'.join(map(str, first.entry))}"
    when = "before iteration 0" if first.iteration is None else f"in iteration {first.iteration}{entry}"
    return f"{what} differs {when}"


def _say_unmatched(result: Comparison, matched: Matched) -> None:
    for label, names in ((result.left, matched.only_left), (result.right, matched.only_right)):
        for name in names:
            result.note(f"the loop '{name}' is only in {label}: not compared")
            result.unpaired.append(name)


@dataclass
class _Entry:
    """One entry of a loop while it runs: where each side ended it."""

    left: tuple[int, StoppedBy | None] | None = None
    right: tuple[int, StoppedBy | None] | None = None
    #: The iterations before the last boundary on either side; None: it was not entered there.
    at: list[int | None] = field(default_factory=lambda: [None, None])


class _Merge:
    """One reading of both streams."""

    def __init__(
        self, left: Side, right: Side, pairs: Sequence[Pair], options: Options, alignment: Alignment | None
    ) -> None:
        self.left = left
        self.right = right
        self.options = options
        self.alignment = alignment
        self.pairs = pairs
        single = len(pairs) == 1
        self.places = [
            {(pair.left, pair.right)[side].path: (pair, () if single else pair.around) for pair in pairs}
            for side in (0, 1)
        ]
        self.findings = {pair.index: LoopFindings(pair.left.path, pair.right.path, pair.how) for pair in pairs}
        self.names: dict[tuple[int, str], Names] = {}
        self.open: dict[tuple[int, tuple[int, ...]], _Entry] = {}
        #: Of each value that differs, to the bit: from which iteration on it does, without a gap.
        self.since: dict[int, dict[str, int]] = {pair.index: {} for pair in pairs}
        #: Both are runs of ours: what is the same is so to the bit.
        self.exact = alignment is not None and alignment.exact
        self.steps = Steps(left.graph)
        self.watches = self._watches()
        self.quantisers = self._quantisers()
        for k, side in enumerate((left, right)):
            if isinstance(side, ModelSide):
                watched = [pair for pair in pairs if pair.index in self.watches or pair.index in self.quantisers]
                side.watched = {MAIN, *((pair.left, pair.right)[k].path for pair in watched)}

    def run(self) -> None:
        """Read both to their ends."""
        lefts, rights = self._places(self.left, 0), self._places(self.right, 1)
        a, b = next(lefts, None), next(rights, None)
        while a is not None or b is not None:
            if b is None or (a is not None and a[0] < b[0]):
                assert a is not None
                self._alone(a, 0)
                a = next(lefts, None)
            elif a is None or b[0] < a[0]:
                self._alone(b, 1)
                b = next(rights, None)
            else:
                self._both(a[0], a[1], a[2], b[2])
                a, b = next(lefts, None), next(rights, None)
        self._unended()
        self.follow_back()

    def _places(self, side: Side, which: int) -> Iterator[tuple[Place, Pair, Boundary]]:
        """The boundaries of the loops that are compared, each with its place in time."""
        for boundary in side.boundaries():
            if boundary.loop in self.places[which]:
                pair, around = self.places[which][boundary.loop]
                yield _position(pair, around, boundary), pair, boundary

    def _alone(self, at: tuple[Place, Pair, Boundary], which: int) -> None:
        _, pair, boundary = at
        self.findings[pair.index].unmatched += 1
        self._ended(pair, boundary, which)

    def _both(self, position: Place, pair: Pair, a: Boundary, b: Boundary) -> None:
        findings = self.findings[pair.index]
        worst, relative, beyond = 0.0, 0.0, False
        since = self.since[pair.index]
        if not a.iteration:
            since.clear()
        for name, difference in self._values(pair, a, b):
            findings.count += 1
            if difference is None or not (difference.delta.kind or difference.delta.absolute):
                since.pop(name, None)
            else:
                since.setdefault(name, a.iteration - 1)
            if difference is None:
                continue
            delta = difference.delta
            worst, relative = max(worst, delta.absolute), max(relative, delta.relative)
            beyond = beyond or bool(delta.kind)
            self._note(pair, position, difference)
        if findings.first is not None and not findings.since:
            findings.since = dict(since)
        if a.iteration:
            findings.iterations += 1
            findings.differing += beyond
            findings.growth.add(a.iteration - 1, worst, relative, beyond)
            self._watch(pair, a)
        self._ended(pair, a, 0)
        self._ended(pair, b, 1)

    def _note(self, pair: Pair, position: Place, difference: Difference) -> None:
        """Take note of two values that are not equal."""
        findings = self.findings[pair.index]
        if difference.delta.dtypes:
            note_range(findings.ranges, difference)
        if not difference.delta.kind:
            return
        made = result_of(pair.left.loop, difference.role, difference.name, difference.iteration)
        difference = replace(difference, step=self.steps.of(made, difference.left))
        findings.beyond_step |= not difference.within_step
        if findings.first is None:
            findings.first, findings.position = difference, position

    def _watches(self) -> dict[int, Watch]:
        """By pair, what tests the results of bodies in a narrower type; recordings need not have that."""
        narrow = None if self.alignment is None else self.alignment.narrower
        if self.alignment is None or narrow is None:
            return {}
        ports = {pair.index: self.alignment.loops.get(pair.left.loop) for pair in self.pairs if pair.left.loop}
        return {index: Watch(self.alignment, port, *narrow) for index, port in ports.items() if port is not None}

    def _quantisers(self) -> dict[int, Quantisers]:
        """By pair, what tests the quantised values, if one model computes in 8 bits."""
        side = None if self.alignment is None else self.alignment.quantised
        if side is None:
            return {}
        loops = {pair.index: (pair.left, pair.right)[side].loop for pair in self.pairs}
        return {index: Quantisers.of_loop(loop, side) for index, loop in loops.items() if loop is not None}

    def _watch(self, pair: Pair, boundary: Boundary) -> None:
        """Test what the iteration that just ended computed: both sides stand there."""
        here = [side.here() if isinstance(side, ModelSide) else None for side in (self.left, self.right)]
        findings, at = self.findings[pair.index], (boundary.entry, boundary.iteration - 1)
        watch, quantisers = self.watches.get(pair.index), self.quantisers.get(pair.index)
        if watch is not None and here[0] is not None and here[1] is not None:
            watch.see(*at, here[0], here[1])
            findings.reach = watch.reach
        if quantisers is not None and self.alignment is not None:
            moment = here[self.alignment.quantised or 0]
            if moment is not None:
                quantisers.see(*at, moment)
                findings.quantised = quantisers.found

    def _values(self, pair: Pair, a: Boundary, b: Boundary) -> Iterator[tuple[str, Difference | None]]:
        """What both sides have, by name, and how it differs: None for what is equal."""
        at = a.loop, a.entry, a.iteration - 1 if a.iteration else None
        for role, name, other, left, right in self._matched(pair, a, b):
            # A model and its conversion may stack and concatenate: axes of length 1 come and go.
            delta = compare(left, right, self.options.tolerance, loose_shape=role == "scan")
            yield name, None if delta is SAME else Difference(role, name, other, delta, *at, left, right)

    def _matched(self, pair: Pair, a: Boundary, b: Boundary) -> Iterator[tuple[str, str, str, Any, Any]]:
        """What both sides have: its role, its names, and the values."""
        for role, left, right in (("carried", a.carried, b.carried), ("scan", a.scanned, b.scanned)):
            if not left and not right:
                continue
            for name, other, _ in self._names(pair, role, left, right):
                if name in left and other in right:
                    yield role, name, other, left[name], right[other]
        if a.condition is not None and b.condition is not None:
            first = not a.iteration
            name, other = (_condition_name(info.loop, first) for info in (pair.left, pair.right))
            yield "condition", name, other, a.condition, b.condition

    def _names(self, pair: Pair, role: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> Names:
        """Which value is which, settled where the first boundary has both."""
        key = (pair.index, role)
        if key not in self.names:
            names = self.names[key] = self._aligned(pair, role, left, right)
            findings = self.findings[pair.index]
            findings.values += [(name, other, how) for name, other, how in names if name != other or how == "given"]
            findings.only_left += names.only_left
            findings.only_right += names.only_right
        return self.names[key]

    def _aligned(self, pair: Pair, role: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> Names:
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
            here.update(ports.known[0])
            there.update(ports.known[1])
        if role == "carried" and ports.condition is not None:
            # Compared as the condition.
            here.add(ports.condition[0])
            there.add(ports.condition[1])
            self.findings[pair.index].values.append((*ports.condition, "condition"))
        return Names(told, [name for name in left if name not in here], [name for name in right if name not in there])

    def _ended(self, pair: Pair, boundary: Boundary, which: int) -> None:
        entry = self.open.setdefault((pair.index, boundary.entry), _Entry())
        entry.at[which] = boundary.iteration
        if boundary.ended is None:
            return
        findings = self.findings[pair.index]
        end = (boundary.iteration, boundary.ended)
        if which == 0:
            entry.left, findings.left_trips = end, boundary.iteration
        else:
            entry.right, findings.right_trips = end, boundary.iteration
        if entry.left is None or entry.right is None:
            return
        del self.open[pair.index, boundary.entry]
        findings.entries += 1
        self._compare_ends(findings, boundary.entry, entry.left, entry.right)

    def _compare_ends(
        self,
        findings: LoopFindings,
        at: tuple[int, ...],
        left_end: tuple[int, StoppedBy | None],
        right_end: tuple[int, StoppedBy | None],
    ) -> None:
        (left, left_ended), (right, right_ended) = left_end, right_end
        findings.ended = left_ended if left_ended is right_ended else None
        if left == right:
            return
        if findings.trips is None:
            findings.trips = TripDifference(at, left, right, left_ended, right_ended)
        else:
            findings.trips.entries += 1

    def _unended(self) -> None:
        """Entries that did not come to their end on both sides: a limit is no end, however equal the iterations are."""
        for (index, at), entry in self.open.items():
            findings = self.findings[index]
            ends = [
                end or _limited(side, count)
                for side, end, count in zip((self.left, self.right), (entry.left, entry.right), entry.at, strict=True)
            ]
            if ends[0] is not None and ends[1] is not None and (entry.left or entry.right):
                self._compare_ends(findings, at, ends[0], ends[1])
            else:
                counts = [count for count in entry.at if count is not None]
                findings.unended = min(counts)
                findings.limited = any(isinstance(side, ModelSide) and side.limited for side in (self.left, self.right))

    # -- where the first difference comes from

    def follow_back(self) -> None:
        """Of each loop that differs, what makes the first value that does: both sides are run to there again."""
        for pair in self.pairs:
            findings = self.findings[pair.index]
            if findings.first is not None and self.alignment is not None:
                findings.cause = self._cause(pair, findings.first, self.alignment)

    def _cause(self, pair: Pair, first: Difference, alignment: Alignment) -> Cause | None:
        ports = None if pair.left.loop is None else alignment.loops.get(pair.left.loop)
        values = None if ports is None else computed(ports, first)
        if values is None:
            return None
        place = (first.entry, first.iteration)
        left, right = self.left.moment(pair.left.path, *place), self.right.moment(pair.right.path, *place)
        if left is None or right is None:
            return None
        assert ports is not None
        tracer = Tracer(alignment, left, right, self.options.tolerance, first, self.exact, self._earlier(pair, first))
        made_of = alignment.opened(ports.left, ports.right)
        if made_of is not None and made_of[0].op_type != made_of[1].op_type and first.iteration is not None:
            return tracer.of_operators(*made_of, *values)
        made_of = alignment.operators(ports.left, ports.right)
        if made_of is not None and not alignment.same_attributes(*made_of):
            told = f"{made_of[0].op_type} '{made_of[0].name}'"
            return Cause(remark=f"{told}, which the loop was made of, has other attributes")
        return tracer.cause(*values)

    def _earlier(self, pair: Pair, first: Difference) -> Earlier:
        """Where a carried value of a loop began to differ, before the iteration in which that was found."""
        since = self.findings[pair.index].since
        carried = set() if pair.left.loop is None else {edge.param for edge in pair.left.loop.back_edges}
        runs = iter(range(_MOST_RUNS))

        def earlier(value: Value, other: Value, iteration: int) -> tuple[int | None, Moment, Moment] | None:
            if value not in carried or next(runs, None) is None:
                return None
            began = min(since.get(value.name, iteration - 1), iteration - 1)
            place = (first.entry, None if began < 0 else began)
            left, right = self.left.moment(pair.left.path, *place), self.right.moment(pair.right.path, *place)
            return None if left is None or right is None else (place[1], left, right)

        return earlier


def _limited(side: Side, count: int | None) -> tuple[int, StoppedBy] | None:
    """Where the limit ended a loop of a side; None where something else ended the run, in another loop say."""
    if not isinstance(side, ModelSide) or not side.limited or side.limit is None or count is None:
        return None
    return (count, StoppedBy.LIMIT) if count >= side.limit else None


def _condition_name(loop: Loop | None, first: bool) -> str:
    value = None if loop is None else loop.initial_condition if first else loop.condition
    return "condition" if value is None else value.name


def _position(pair: Pair, around: tuple[int, ...], boundary: Boundary) -> Place:
    if not around:
        return (*boundary.entry, pair.index, boundary.iteration)
    place: list[int] = []
    for index, iteration in zip(around, boundary.entry, strict=True):
        place += [index, iteration]
    return (*place, pair.index, boundary.iteration)
