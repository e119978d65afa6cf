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
from ..running.sides import ModelSide, TraceSide, iterate_side, iteration_key
from ..running.value_comparison import Tolerance, compare, dtype_kind
from ..running.value_readers import ValueReader
from .track_candidates import TrackCandidate
from .track_forms import track_at_depth
from .value_locations import LocationIndex, ValueLocation

#: Sampled iterations of each loop.
_SAMPLED_ITERATIONS = 8
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


class ValueAgreement:
    """Computes the agreement of values with tracks. ``tracks``: each with its candidates if its name is ambiguous, or
    None for all values."""

    def __init__(
        self,
        side: ModelSide | TraceSide,
        layout: LocationIndex,
        tracks: Mapping[int, tuple[Track, Sequence[TrackCandidate] | None]],
        tolerance: Tolerance,
    ) -> None:
        self._side, self._layout, self._tolerance = side, layout, tolerance
        self.tracks = {k: track for k, (track, _) in tracks.items()}
        self.allowed = {k: None if c is None else {item.location: item for item in c} for k, (_, c) in tracks.items()}
        depths = sorted({loc.depth for loc in layout.locations.values()})
        forms = {k: {depth: track_at_depth(track, depth) for depth in depths} for k, track in self.tracks.items()}
        #: The possible forms of each track by loop depth.
        self._forms = {
            k: {d: form for d, form in by_depth.items() if form and form.values} for k, by_depth in forms.items()
        }
        #: By track, scores of the values that agree somewhere.
        self.scores: dict[int, dict[ValueLocation, AgreementScore]] = {k: {} for k in tracks}
        #: Hashes of the values' contents in the sampled iterations.
        self.content_hashes: dict[ValueLocation, int] = {}
        #: Path of a loop -> entry -> iterations.
        self.trips: dict[str, dict[Key, int]] = {}
        #: By sampled step, the shape and dtype kind that equal values share.
        self._groups_by_track: dict[int, dict[int, ShapeKind]] = {k: {} for k in tracks}
        self._groups_by_location: dict[ValueLocation, dict[int, ShapeKind]] = {}

    def sample(self) -> None:
        """Sample the first iterations of each loop, and the main graph."""
        remaining = dict.fromkeys(self._layout.loops, _SAMPLED_ITERATIONS)
        for k, (path, key, reader) in enumerate(self._iterate_records(self._layout.locations.values())):
            if remaining.get(path, 1):
                remaining[path] = remaining.get(path, 1) - 1
                self._sample_iteration(path, key, reader, k)
        for track, scores in self.scores.items():
            for loc, score in scores.items():
                score.compared = len(self._groups_by_track[track].keys() & self._groups_by_location[loc].keys())

    def compare_all_iterations(self, candidates: Mapping[int, Sequence[AgreementScore]]) -> None:
        """Compare tracks with some values in all iterations; earlier counts are discarded."""
        for scores in candidates.values():
            for score in scores:
                score.compared = score.agreed = 0
        locs = {score.candidate.location for scores in candidates.values() for score in scores}
        for path, key, reader in self._iterate_records(locs):
            values: dict[ValueLocation, tuple[bool, Data]] = {}
            for track, scores in candidates.items():
                form = self._forms[track].get(len(key))
                if form is None or key not in form.values:
                    continue
                expected = form.values[key]
                for score in scores:
                    loc = score.candidate.location
                    if loc.path == path:
                        is_known, actual = values.setdefault(loc, reader.read(loc.value))
                        score.compared += is_known
                        score.agreed += is_known and not self._values_differ(actual, expected)

    def had_same_shape_and_kind(self, track: int, loc: ValueLocation) -> bool:
        """Whether a value had the shape and dtype kind of a track in any iteration."""
        groups = self._groups_by_location.get(loc, {})
        return any(groups.get(k) == group for k, group in self._groups_by_track[track].items())

    def any_had_same_shape_and_kind(self, track: int) -> bool:
        """Whether any value had the shape and dtype kind of a track in any iteration."""
        return any(self.had_same_shape_and_kind(track, loc) for loc in self._groups_by_location)

    # -- one iteration

    def _iterate_records(self, locs: Collection[ValueLocation]) -> Iterator[tuple[str, Key, ValueReader]]:
        """The path, the key and the values of each iteration, and of the main graph."""
        values_by_path: dict[str, list[Any]] = {}
        for loc in locs:
            values_by_path.setdefault(loc.path, []).append(loc.value)
        values_by_path.pop("", None)
        for boundary, reader in iterate_side(self._side, values_by_path):
            if boundary.ended is not None:
                self.trips.setdefault(boundary.loop, {})[boundary.entry] = boundary.iteration
            if boundary.iteration or not boundary.loop:
                yield boundary.loop, iteration_key(boundary), reader

    def _sample_iteration(self, path: str, key: Key, reader: ValueReader, number: int) -> None:
        groups: dict[ShapeKind, list[tuple[ValueLocation, Data]]] = {}
        for loc in (loc for loc in self._layout.locations.values() if loc.path == path):
            is_known, data = reader.read(loc.value)
            if is_known:
                group = _shape_and_kind_key(data)
                groups.setdefault(group, []).append((loc, data))
                self._groups_by_location.setdefault(loc, {})[number] = group
                self.content_hashes[loc] = hash((self.content_hashes.get(loc), _content_key(data)))
        probes: dict[ShapeKind, Array] = {}
        for track, forms in self._forms.items():
            form = forms.get(len(key))
            if form is None or key not in form.values:
                continue
            expected = form.values[key]
            group = self._groups_by_track[track][number] = _shape_and_kind_key(expected)
            if group not in groups:
                continue
            if group not in probes:
                probes[group] = np.stack([_probe_numbers(data) for _, data in groups[group]])
            agree = self._agreeing_probes(expected, probes[group])
            shares = agree.mean(axis=1) if agree.shape[1] else np.ones(len(agree))
            for index in np.flatnonzero(shares > 0.5):
                self._add_agreement(track, form, *groups[group][index], expected, agree[index])

    def _agreeing_probes(self, expected: Data, actual: Array) -> Array:
        """For each value of a group, the probed elements that agree."""
        probes = _probe_numbers(expected)
        rtol, atol = self._tolerance.for_dtypes(np.asarray(expected).dtype) if _is_float_array(expected) else (0.0, 0.0)
        with np.errstate(all="ignore"):
            close = np.abs(actual - probes) <= atol + rtol * np.abs(probes)
        agree: Array = close | (actual == probes) | (np.isnan(actual) & np.isnan(probes))
        return agree

    def _add_agreement(
        self, track: int, form: Track, loc: ValueLocation, actual: Data, expected: Data, agree: Array
    ) -> None:
        allowed = self.allowed[track]
        if allowed is not None and loc not in allowed:
            return
        if loc not in self.scores[track]:
            candidate = TrackCandidate(self.tracks[track], form, loc, "value") if allowed is None else allowed[loc]
            self.scores[track][loc] = AgreementScore(
                candidate,
                min_distinct_numbers=_MIN_DISTINCT_FLOATS if _is_float_array(expected) else _MIN_DISTINCT_OTHERS,
            )
        score = self.scores[track][loc]
        is_complete = bool(agree.all()) and not self._values_differ(actual, expected)
        score.agreed += is_complete
        score.agreeing_share += 1.0 if is_complete else min(float(agree.mean()), 1 - 1e-6) if agree.size else 0.0
        if len(score.distinct_numbers) < score.min_distinct_numbers:
            score.distinct_numbers |= _informative_numbers(expected, agree)

    def _values_differ(self, actual: Data, expected: Data) -> bool:
        return bool(compare(actual, expected, self._tolerance, loose_shape=True).kind)


def _shape_and_kind_key(value: Data) -> ShapeKind:
    """The key of values that can be equal: the shape without axes of length 1, and the dtype kind."""
    if value is None:
        return (), "nothing"
    if isinstance(value, list | tuple):
        return (len(value),), "sequence"
    array = np.asarray(value)
    return tuple(dim for dim in array.shape if dim != 1), dtype_kind(array.dtype)


def _is_float_array(value: Data) -> bool:
    return isinstance(value, np.ndarray | np.generic) and dtype_kind(value.dtype) == "f"


def _probe_elements(value: Data) -> Array:
    if value is None or isinstance(value, list | tuple):
        return np.zeros(0)
    flat = np.asarray(value).reshape(-1)
    return (
        flat if flat.size <= _PROBE_ELEMENTS else flat[np.linspace(0, flat.size - 1, _PROBE_ELEMENTS).astype(np.int64)]
    )


def _probe_numbers(value: Data) -> Array:
    """Probed elements as numbers; strings as hashes."""
    flat = _probe_elements(value)
    if flat.dtype.kind in "OUST":
        return np.array([float(hash(str(element)) & 0xFFFFFFFF) for element in flat], np.float64)
    with np.errstate(all="ignore"):
        return flat.real.astype(np.float64) if flat.dtype.kind == "c" else flat.astype(np.float64)


def _informative_numbers(value: Data, agree: Array) -> set[Any]:
    """Agreeing probed elements that are informative: finite, and for floats not 0 or 1."""
    numbers = _probe_numbers(value)[agree]
    trivial = (0.0, 1.0) if _is_float_array(value) else ()
    return {number for number in numbers[np.isfinite(numbers)].tolist() if number not in trivial}


def _content_key(value: Data) -> Any:
    if value is None or isinstance(value, list | tuple):
        return None if value is None else tuple(_content_key(item) for item in value)
    array = np.asarray(value)
    return tuple(array.reshape(-1).tolist()) if array.dtype == object else (array.dtype.str, array.tobytes())
