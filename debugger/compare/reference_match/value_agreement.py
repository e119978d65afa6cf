"""Agreement of a run's values with the tracks of a reference, by their numbers.

All values of an iteration are compared with all tracks at once at some elements; candidates are then compared
completely.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....runtime.graph import Array
from ....runtime.input_validation import Data
from ...reference.reference import Key, Track
from ..running.iteration_stream import IterationRecord, iterate_side
from ..running.sides import ComparisonSide
from ..running.value_comparison import Tolerance, compare, dtype_kind
from .track_candidates import TrackCandidate
from .value_locations import LocationIndex, ValueLocation

#: Elements of a tensor that are probed first.
_PROBE_ELEMENTS = 64
#: The minimum of distinct equal numbers that excludes coincidence: of floats, and of other dtypes.
_MIN_DISTINCT_FLOATS, _MIN_DISTINCT_OTHERS = 2, 3
ShapeKind = tuple[tuple[int, ...], str]


@dataclass
class AgreementScore:
    """The agreement of a candidate with a track."""

    candidate: TrackCandidate
    #: Iterations that both have, and those that agree completely.
    compared: int = 0
    agreed: int = 0
    #: Sum over iterations of the fraction of agreeing elements, where it exceeds one half.
    agreeing_share: float = 0.0
    #: Distinct agreeing numbers, and the number that is sufficient.
    distinct_numbers: set[Any] = field(default_factory=set)
    min_distinct_numbers: int = _MIN_DISTINCT_OTHERS

    @property
    def agrees_everywhere(self) -> bool:
        """Whether it agrees in every compared iteration."""
        return 0 < self.compared == self.agreed

    @property
    def is_significant(self) -> bool:
        """Whether the agreement cannot be a coincidence."""
        return len(self.distinct_numbers) >= self.min_distinct_numbers and self.agreed > 0


@dataclass(frozen=True)
class TrackQuery:
    """A track to match, its forms by loop depth, and its candidates if its name is ambiguous; None: all
    values."""

    track: Track
    forms_by_depth: Mapping[int, Track]
    allowed_candidates: Mapping[ValueLocation, TrackCandidate] | None


class ValueAgreement:
    """Computes the agreement of values with tracks."""

    def __init__(
        self,
        side: ComparisonSide,
        layout: LocationIndex,
        tracks: Mapping[int, TrackQuery],
        tolerance: Tolerance,
    ) -> None:
        self._side, self._layout, self._tracks, self._tolerance = side, layout, tracks, tolerance
        #: By track, scores of the values that agree somewhere.
        self.scores: dict[int, dict[ValueLocation, AgreementScore]] = {k: {} for k in tracks}
        #: Hashes of the values' contents in the sampled iterations.
        self.content_hashes: dict[ValueLocation, int] = {}
        #: Path of a loop -> entry -> iterations.
        self.trips: dict[str, dict[Key, int]] = {}
        #: By sampled step, the shape and dtype kind that equal values share.
        self._groups_by_track: dict[int, dict[int, ShapeKind]] = {k: {} for k in tracks}
        self._groups_by_location: dict[ValueLocation, dict[int, ShapeKind]] = {}

    def sample(self, iterations: int) -> None:
        """Sample the first iterations of each loop, and the main graph."""
        remaining = dict.fromkeys(self._layout.loops, iterations)
        for k, step in enumerate(self._iterate(self._layout.locations.values())):
            if remaining.get(step.loop, 1):
                remaining[step.loop] = remaining.get(step.loop, 1) - 1
                self._sample_iteration(step, k)
        for track, scores in self.scores.items():
            for loc, score in scores.items():
                score.compared = len(self._groups_by_track[track].keys() & self._groups_by_location[loc].keys())

    def compare_all_iterations(self, candidates: Mapping[int, Sequence[AgreementScore]]) -> None:
        """Compare tracks with some values in all iterations; earlier counts are discarded."""
        for scores in candidates.values():
            for score in scores:
                score.compared = score.agreed = 0
        for step in self._iterate({score.candidate.location for scores in candidates.values() for score in scores}):
            values: dict[ValueLocation, tuple[bool, Data]] = {}
            for track, scores in candidates.items():
                form = self._tracks[track].forms_by_depth.get(len(step.key))
                if form is None or step.key not in form.values:
                    continue
                expected = form.values[step.key]
                for score in scores:
                    loc = score.candidate.location
                    if loc.path == step.loop:
                        is_known, actual = values.setdefault(loc, step.reader.read(loc.value))
                        score.compared += is_known
                        score.agreed += is_known and not self._differ(actual, expected)

    def had_same_shape_and_kind(self, track: int, loc: ValueLocation) -> bool:
        """Whether a value had the shape and dtype kind of a track in any iteration."""
        groups = self._groups_by_location.get(loc, {})
        return any(groups.get(k) == group for k, group in self._groups_by_track[track].items())

    def any_had_same_shape_and_kind(self, track: int) -> bool:
        """Whether any value had the shape and dtype kind of a track in any iteration."""
        return any(self.had_same_shape_and_kind(track, loc) for loc in self._groups_by_location)

    # -- one iteration

    def _iterate(self, locs: Collection[ValueLocation]) -> Iterator[IterationRecord]:
        values_by_path: dict[str, list[Any]] = {}
        for loc in locs:
            values_by_path.setdefault(loc.path, []).append(loc.value)
        values_by_path.pop("", None)
        for step in iterate_side(self._side, values_by_path):
            if step.loop and step.stopped_by is not None:
                self.trips.setdefault(step.loop, {})[step.entry] = step.iteration + 1
            if step.iteration >= 0 or not step.loop:
                yield step

    def _sample_iteration(self, step: IterationRecord, number: int) -> None:
        groups: dict[ShapeKind, list[tuple[ValueLocation, Data]]] = {}
        for loc in self._layout.locations_in_loop(step.loop):
            is_known, data = step.reader.read(loc.value)
            if is_known:
                group = _shape_and_kind_key(data)
                groups.setdefault(group, []).append((loc, data))
                self._groups_by_location.setdefault(loc, {})[number] = group
                self.content_hashes[loc] = hash((self.content_hashes.get(loc), _content_key(data)))
        probes: dict[ShapeKind, Array] = {}
        for track, query in self._tracks.items():
            form = query.forms_by_depth.get(len(step.key))
            if form is None or step.key not in form.values:
                continue
            expected = form.values[step.key]
            group = self._groups_by_track[track][number] = _shape_and_kind_key(expected)
            if group not in groups:
                continue
            if group not in probes:
                probes[group] = np.stack([_probes(data) for _, data in groups[group]])
            agree = self._agreeing_probes(expected, probes[group])
            shares = agree.mean(axis=1) if agree.shape[1] else np.ones(len(agree))
            for index in np.flatnonzero(shares > 0.5):
                self._add_agreement(track, form, *groups[group][index], expected, agree[index])

    def _agreeing_probes(self, expected: Data, actual: Array) -> Array:
        """For each value of a group, the probed elements that agree."""
        probes = _probes(expected)
        rtol, atol = self._tolerance.for_dtypes(np.asarray(expected).dtype) if _is_float(expected) else (0.0, 0.0)
        with np.errstate(all="ignore"):
            close = np.abs(actual - probes) <= atol + rtol * np.abs(probes)
        agree: Array = close | (actual == probes) | (np.isnan(actual) & np.isnan(probes))
        return agree

    def _add_agreement(
        self, track: int, form: Track, loc: ValueLocation, actual: Data, expected: Data, agree: Array
    ) -> None:
        allowed = self._tracks[track].allowed_candidates
        if allowed is not None and loc not in allowed:
            return
        if loc not in self.scores[track]:
            candidate = (
                TrackCandidate(self._tracks[track].track, form, loc, "value") if allowed is None else allowed[loc]
            )
            self.scores[track][loc] = AgreementScore(
                candidate, min_distinct_numbers=_MIN_DISTINCT_FLOATS if _is_float(expected) else _MIN_DISTINCT_OTHERS
            )
        score = self.scores[track][loc]
        is_complete = bool(agree.all()) and not self._differ(actual, expected)
        score.agreed += is_complete
        score.agreeing_share += 1.0 if is_complete else min(float(agree.mean()), 1 - 1e-6) if agree.size else 0.0
        if len(score.distinct_numbers) < score.min_distinct_numbers:
            score.distinct_numbers |= _informative_numbers(expected, agree)

    def _differ(self, actual: Data, expected: Data) -> bool:
        return bool(compare(actual, expected, self._tolerance, loose_shape=True).kind)


def _shape_and_kind_key(value: Data) -> ShapeKind:
    """The key of values that can be equal: the shape without axes of length 1, and the dtype kind."""
    if value is None:
        return (), "nothing"
    if isinstance(value, list | tuple):
        return (len(value),), "sequence"
    array = np.asarray(value)
    return tuple(dim for dim in array.shape if dim != 1), dtype_kind(array.dtype)


def _is_float(value: Data) -> bool:
    return isinstance(value, np.ndarray | np.generic) and dtype_kind(value.dtype) == "f"


def _probe_elements(value: Data) -> Array:
    if value is None or isinstance(value, list | tuple):
        return np.zeros(0)
    flat = np.asarray(value).reshape(-1)
    return (
        flat if flat.size <= _PROBE_ELEMENTS else flat[np.linspace(0, flat.size - 1, _PROBE_ELEMENTS).astype(np.int64)]
    )


def _probes(value: Data) -> Array:
    """Probed elements as numbers; strings as hashes."""
    flat = _probe_elements(value)
    if flat.dtype.kind in "OUST":
        return np.array([float(hash(str(element)) & 0xFFFFFFFF) for element in flat], np.float64)
    with np.errstate(all="ignore"):
        return flat.real.astype(np.float64) if flat.dtype.kind == "c" else flat.astype(np.float64)


def _informative_numbers(value: Data, agree: Array) -> set[Any]:
    """Agreeing probed elements that are informative: finite, and for floats not 0 or 1."""
    numbers = _probes(value)[agree]
    trivial = (0.0, 1.0) if _is_float(value) else ()
    return {number for number in numbers[np.isfinite(numbers)].tolist() if number not in trivial}


def _content_key(value: Data) -> Any:
    if value is None or isinstance(value, list | tuple):
        return None if value is None else tuple(_content_key(item) for item in value)
    array = np.asarray(value)
    return tuple(array.reshape(-1).tolist()) if array.dtype == object else (array.dtype.str, array.tobytes())
