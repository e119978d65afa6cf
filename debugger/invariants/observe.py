"""Observes the carried values and scanned results of loops over many runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ...runtime.frame import Frame, frame_reader
from ...runtime.graph import Array, Loop, TensorType, Value
from ..describe.value_names import quote
from .templates import TEMPLATES, ObservedValue, Template

#: Boundaries with evidence that an invariant needs.
MIN_EVIDENCE = 5
#: Values of a loop that are compared with one another, and points of a line that are kept.
_MAX_COMPARED, _MAX_POINTS = 40, 4096


class CandidateInvariant(NamedTuple):
    """An expression that held at every boundary that was observed; ``evidence``: at how many."""

    kind: str
    text: str
    evidence: int


class _ValueRecord:
    """What is known of one value over all boundaries so far."""

    def __init__(self, value: Value) -> None:
        self.value = value
        self.changes = 0
        self._evidence: Counter[Template] = Counter()
        self._failed: set[Template] = set()
        self._largest = 0.0
        self._count = 0
        #: (iteration, shape) and (iteration, number), without repetitions.
        self._shapes: set[tuple[int, tuple[int, ...]]] = set()
        self._numbers: set[tuple[int, int]] = set()

    def add(self, seen: ObservedValue) -> None:
        """Add a boundary."""
        now = seen.now
        self._count += 1
        self.changes += seen.before is not None and not np.array_equal(now, seen.before)
        with np.errstate(all="ignore"):
            for template in TEMPLATES:
                if template not in self._failed:
                    verdict = template.test(seen)
                    self._evidence[template] += bool(verdict)
                    if verdict is False:
                        self._failed.add(template)
            if now.size:
                self._largest = max(self._largest, float(np.abs(now.astype(np.float64)).max()))
        if len(self._shapes) < _MAX_POINTS:
            self._shapes.add((seen.iteration, now.shape))
        if now.size == 1 and now.dtype.kind in "iu" and len(self._numbers) < _MAX_POINTS:
            self._numbers.add((seen.iteration, int(now.reshape(-1)[0])))

    def candidates(self) -> Iterator[CandidateInvariant]:
        """What held."""
        name = quote(self.value.name)
        line = _line_through_points(self._numbers)
        if line is not None and line[1] and self._count >= MIN_EVIDENCE:
            yield CandidateInvariant("f(iter)", f"all({name} == {_linear_in_iter_text(*line)})", self._count)
            return
        groups = set()
        for template in TEMPLATES:
            held = template not in self._failed and self._evidence[template] >= MIN_EVIDENCE
            # What never changes is no evidence of an order in time.
            if held and template.group not in groups and (template.kind != "monotone" or self.changes):
                groups.add(template.group)
                yield CandidateInvariant(template.kind, template.text.format(x=name), self._evidence[template])
        if "unit" not in groups and 0 < self._largest < math.inf and self._count >= MIN_EVIDENCE:
            bound = 1 if self._largest <= 1 else 2 ** math.ceil(math.log2(self._largest) + 1)
            yield CandidateInvariant("bounded", f"all(abs({name}) <= {bound})", self._count)
        yield from self._shape_candidates(name)

    def _shape_candidates(self, name: str) -> Iterator[CandidateInvariant]:
        declared = self.value.type.shape if isinstance(self.value.type, TensorType) else None
        if declared is not None and all(isinstance(size, int) for size in declared):
            return
        ranks = {len(shape) for _, shape in self._shapes}
        if len(ranks) != 1 or ranks == {0} or self._count < MIN_EVIDENCE:
            return
        lines = [_line_through_points({(k, shape[axis]) for k, shape in self._shapes}) for axis in range(ranks.pop())]
        if None not in lines:
            sizes = ", ".join(_linear_in_iter_text(*line) for line in lines if line is not None)
            yield CandidateInvariant("shape", f"shape({name}) == [{sizes}]", self._count)


def _line_through_points(points: set[tuple[int, int]]) -> tuple[int, int] | None:
    """The start and the step of the line through points of at least two iterations; None: there is none."""
    ordered = sorted(points)
    if not ordered or ordered[0][0] == ordered[-1][0]:
        return None
    (first, start), (last, end) = ordered[0], ordered[-1]
    step, rest = divmod(end - start, last - first)
    start -= step * first
    return None if rest or any(y != start + step * k for k, y in ordered) else (start, step)


def _linear_in_iter_text(start: int, step: int) -> str:
    """``3``, ``iter``, ``2 * iter + 3``."""
    if not step:
        return str(start)
    moving = "iter" if step == 1 else f"{step} * iter"
    return moving if not start else f"{moving} {'+' if start > 0 else '-'} {abs(start)}"


class LoopRecord:
    """What is known of one loop over all boundaries so far."""

    def __init__(self, loop: Loop) -> None:
        carried = [edge.param for edge in loop.back_edges]
        # What becomes a carried value is seen as that.
        known = {*carried, *(edge.result for edge in loop.back_edges)}
        scanned = [scan.result for scan in loop.scan_outputs if scan.result not in known]
        names = Counter(value.name for value in (*carried, *scanned))
        self._values = [value for value in dict.fromkeys((*carried, *scanned)) if names[value.name] == 1]
        self._records = {value: _ValueRecord(value) for value in self._values}
        compared = carried[:_MAX_COMPARED]
        #: Pairs of carried values that were equal so far, and at how many boundaries.
        self._equal: dict[tuple[Value, Value], int] = dict.fromkeys(combinations(compared, 2), 0)
        self._before: dict[Value, Array] = {}
        self._first: dict[Value, Array] = {}
        self.boundaries = 0

    def add(self, frame: Frame) -> None:
        """Add a boundary."""
        reader = frame_reader(frame)
        self.boundaries += 1
        if not reader.iteration:
            self._before, self._first = {}, {}
        read: Mapping[Value, Any] = reader.read_all(self._values)
        now = {value: x for value, x in read.items() if isinstance(x, np.ndarray) and x.dtype.kind in "iufb"}
        for value, x in now.items():
            first = self._first.setdefault(value, x)
            if x.dtype.kind != "b":
                self._records[value].add(ObservedValue(x, self._before.get(value), first, reader.iteration))
        for pair in list(self._equal):
            a, b = (now.get(value) for value in pair)
            if a is None or b is None or a.dtype != b.dtype or not np.array_equal(a, b):
                del self._equal[pair]
            else:
                self._equal[pair] += 1
        self._before = now

    def candidates(self) -> Sequence[CandidateInvariant]:
        """What held."""
        candidates = [candidate for record in self._records.values() for candidate in record.candidates()]
        for (a, b), count in self._equal.items():
            if count >= MIN_EVIDENCE and a in self._records and self._records[a].changes:
                candidates.append(CandidateInvariant("equal", f"all({quote(a.name)} == {quote(b.name)})", count))
        return candidates
