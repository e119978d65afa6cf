"""Two streams of boundaries, merged by their places in time and compared one pair at a time.

Nothing is kept of what was read but the findings, so that runs of any length can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...runtime.graph import Loop, StoppedBy
from ..boundary import Boundary, read
from .findings import Comparison, Difference, LoopFindings, NodeDifference, TripDifference
from .matching import Matched, Names, Pair, chosen, match_loops, match_names
from .rules import fitting
from .sides import ModelSide, Side
from .values import Tolerance, compare

#: A place in time: for each loop, outermost first, the index of its pair and its iteration.
Position = tuple[int, ...]


@dataclass
class Options:
    """What is compared, and how."""

    tolerance: Tolerance = field(default_factory=Tolerance)
    #: Names of loops and values that are called something else on the right.
    names: Mapping[str, str] = field(default_factory=dict)
    #: Only these loops; empty: all.
    loops: Sequence[str] = ()


def compare_sides(
    left: Side, right: Side, options: Options, mode: str = "streams", peer: str | None = None
) -> Comparison:
    """Compare two runs: every boundary of every loop, trip counts, and the outputs.

    ``peer``: the right side is this runtime, so that only its own rules explain what differs.
    """
    result = Comparison(mode, left.label, right.label)
    matched = match_loops(left.loops, right.loops, options.names)
    _say_unmatched(result, matched)
    pairs = chosen(matched.pairs, options.loops)
    merges = [pairs] if matched.in_order else [[pair] for pair in pairs]
    for some in merges:
        merge = _Merge(left, right, some, options)
        merge.run()
        result.loops += merge.findings.values()
    for side in (left, right):
        if isinstance(side, ModelSide) and side.limited:
            result.note(f"{side.label}: no loop ran more than {side.limit} iterations (--max-iterations)")
    _compare_outputs(result, left, right, options)
    for loop in result.loops:
        loop.reasons = list(dict.fromkeys([*left.reasons(loop.left), *right.reasons(loop.right)]))
        if loop.trips is not None:
            loop.trips.reasons = fitting(loop.reasons, "trips", peer)
    return result


def _say_unmatched(result: Comparison, matched: Matched) -> None:
    for label, names in ((result.left, matched.only_left), (result.right, matched.only_right)):
        for name in names:
            result.note(f"the loop '{name}' is only in {label}: not compared; --map NAME=NAME pairs loops")


def _compare_outputs(result: Comparison, left: Side, right: Side, options: Options) -> None:
    if left.outputs is None or right.outputs is None or options.loops:
        return
    names = match_names(left.outputs, right.outputs, options.names)
    for name, other, _ in names:
        a, b = left.outputs[name], right.outputs[other]
        delta = compare(a, b, options.tolerance)
        result.compared_outputs += 1
        if delta.kind:
            result.outputs.append(Difference("output", name, other, delta, left=a, right=b))
    for label, alone in ((left.label, names.only_left), (right.label, names.only_right)):
        for name in alone:
            result.note(f"the output '{name}' is only in {label}: not compared")


@dataclass
class _Entry:
    """One entry of a loop while it runs: where each side ended it."""

    left: tuple[int, StoppedBy | None] | None = None
    right: tuple[int, StoppedBy | None] | None = None


class _Merge:
    """One reading of both streams."""

    def __init__(self, left: Side, right: Side, pairs: Sequence[Pair], options: Options) -> None:
        self.left = left
        self.right = right
        self.options = options
        single = len(pairs) == 1
        self.places = [
            {(pair.left, pair.right)[side].path: (pair, () if single else pair.around) for pair in pairs}
            for side in (0, 1)
        ]
        self.findings = {pair.index: LoopFindings(pair.left.path, pair.right.path, pair.how) for pair in pairs}
        self.names: dict[tuple[int, str], Names] = {}
        self.open: dict[tuple[int, tuple[int, ...]], _Entry] = {}

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
        self._first_nodes()

    def _places(self, side: Side, which: int) -> Iterator[tuple[Position, Pair, Boundary]]:
        """The boundaries of the loops that are compared, each with its place in time."""
        for boundary in side.boundaries():
            if boundary.loop in self.places[which]:
                pair, around = self.places[which][boundary.loop]
                yield _position(pair, around, boundary), pair, boundary

    def _alone(self, at: tuple[Position, Pair, Boundary], which: int) -> None:
        _, pair, boundary = at
        self.findings[pair.index].unmatched += 1
        self._ended(pair, boundary, which)

    def _both(self, position: Position, pair: Pair, a: Boundary, b: Boundary) -> None:
        findings = self.findings[pair.index]
        worst, relative, beyond = 0.0, 0.0, False
        for difference in self._values(pair, a, b):
            delta = difference.delta
            worst, relative = max(worst, delta.absolute), max(relative, delta.relative)
            if delta.kind:
                beyond = True
                if findings.first is None:
                    findings.first, findings.position = difference, position
        if a.iteration:
            findings.iterations += 1
            findings.differing += beyond
            findings.growth.add(a.iteration - 1, worst, relative, beyond)
        self._ended(pair, a, 0)
        self._ended(pair, b, 1)

    def _values(self, pair: Pair, a: Boundary, b: Boundary) -> Iterator[Difference]:
        iteration = a.iteration - 1 if a.iteration else None
        for role, left, right in (("carried", a.carried, b.carried), ("scan", a.scanned, b.scanned)):
            if not left and not right:
                continue
            for name, other, _ in self._names(pair, role, left, right):
                if name in left and other in right:
                    # A model and its conversion may stack and concatenate: axes of length 1 come and go.
                    delta = compare(left[name], right[other], self.options.tolerance, loose_shape=role == "scan")
                    yield Difference(role, name, other, delta, a.loop, a.entry, iteration, left[name], right[other])
        if a.condition is not None and b.condition is not None and (a.ended is None) == (b.ended is None):
            delta = compare(a.condition, b.condition, self.options.tolerance)
            yield Difference(
                "condition", "condition", "condition", delta, a.loop, a.entry, iteration, a.condition, b.condition
            )

    def _names(self, pair: Pair, role: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> Names:
        """Which value is which, settled where the first boundary has both."""
        key = (pair.index, role)
        if key not in self.names:
            names = self.names[key] = match_names(left, right, self.options.names)
            findings = self.findings[pair.index]
            findings.values += [(name, other, how) for name, other, how in names if how != "name"]
            findings.only_left += names.only_left
            findings.only_right += names.only_right
        return self.names[key]

    def _ended(self, pair: Pair, boundary: Boundary, which: int) -> None:
        if boundary.ended is None:
            return
        findings = self.findings[pair.index]
        entry = self.open.setdefault((pair.index, boundary.entry), _Entry())
        end = (boundary.iteration, boundary.ended)
        if which == 0:
            entry.left, findings.left_trips = end, boundary.iteration
        else:
            entry.right, findings.right_trips = end, boundary.iteration
        if entry.left is None or entry.right is None:
            return
        del self.open[pair.index, boundary.entry]
        (left, left_ended), (right, right_ended) = entry.left, entry.right
        if left == right:
            return
        if findings.trips is None:
            findings.trips = TripDifference(boundary.entry, left, right, left_ended, right_ended)
        else:
            findings.trips.entries += 1

    # -- the first node that differs

    def _first_nodes(self) -> None:
        """Of each loop that differs, which node of the body computed the first value that does.

        Models are run again up to there; of a trace it can be told where body values were recorded.
        """
        for findings in self.findings.values():
            first = findings.first
            if first is None or first.iteration is None:
                continue
            place = (first.entry, first.iteration + 1)
            left, right = _moment(self.left, findings.left, *place), _moment(self.right, findings.right, *place)
            if left is not None and right is not None:
                findings.node = self._first_node(findings, first, left, right)

    def _first_node(
        self, findings: LoopFindings, first: Difference, left: _Moment, right: _Moment
    ) -> NodeDifference | None:
        nodes = _body(self.left, findings.left)
        others = right.boundary.computed
        for name, value in left.boundary.computed.items():
            other = self.options.names.get(name, name)
            if other not in others:
                continue
            delta = compare(value, others[other], self.options.tolerance)
            if delta.kind:
                difference = Difference(
                    "node", name, other, delta, first.loop, first.entry, first.iteration, value, others[other]
                )
                node = next((n for n in nodes if any(v is not None and v.name == name for v in n.outputs)), None)
                if node is None:
                    return NodeDifference(name, name, "", (), difference)
                inputs = [(v.name, left.values.get(v.name, v.constant)) for v in node.inputs if v is not None]
                return NodeDifference(node.name, name, node.op_type, inputs, difference)
        return None


@dataclass
class _Moment:
    """A boundary with its body values, and what the iteration before it saw, by name."""

    boundary: Boundary
    values: Mapping[str, Any]


def _position(pair: Pair, around: tuple[int, ...], boundary: Boundary) -> Position:
    if not around:
        return (*boundary.entry, pair.index, boundary.iteration)
    place: list[int] = []
    for index, iteration in zip(around, boundary.entry, strict=True):
        place += [index, iteration]
    return (*place, pair.index, boundary.iteration)


def _moment(side: Side, loop: str, entry: tuple[int, ...], iteration: int) -> _Moment | None:
    """One boundary with its body values; None where they are not to be had."""
    got: Mapping[str, Any] = {}
    if isinstance(side, ModelSide):
        for frame in side.frames():
            if (frame.path, frame.entry) != (loop, entry):
                continue
            if frame.iteration == iteration - 1:
                got = frame.carried
            elif frame.iteration == iteration:
                # Parameters have the next iteration's values by now.
                values = {**frame.values, **got}
                counter = frame.loop.iteration if frame.loop is not None else None
                if counter is not None:
                    values[counter.name] = iteration - 1
                return _Moment(read(frame, computed=True), values)
        return None
    for boundary in side.boundaries():
        if (boundary.loop, boundary.entry) != (loop, entry):
            continue
        if boundary.iteration == iteration - 1:
            got = boundary.carried
        elif boundary.iteration == iteration:
            return _Moment(boundary, {**got, **boundary.computed}) if boundary.computed else None
    return None


def _body(side: Side, path: str) -> Sequence[Any]:
    if not isinstance(side, ModelSide):
        return ()
    loop: Loop = next(plan.loop for plan in side.model.plan.loops if plan.path == path)
    return loop.body.nodes
