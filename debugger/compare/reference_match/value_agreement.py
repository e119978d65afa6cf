"""How the values of a run agree with the tracks of a reference, by their numbers.

All values of an iteration are compared with all tracks at once, at some of their elements; what agrees there is
compared whole.
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

#: Elements of a tensor that are looked at first.
_PROBE_ELEMENTS = 64
#: Different numbers that agree, so many that it is hardly chance: of floats, and of other dtypes.
_MIN_DISTINCT_FLOATS, _MIN_DISTINCT_OTHERS = 2, 3
ShapeKind = tuple[tuple[int, ...], str]


@dataclass
class AgreementScore:
    """How a candidate agrees with a track."""

    candidate: TrackCandidate
    #: Iterations that both have, and of these the ones that agree whole.
    compared: int = 0
    agreed: int = 0
    #: Sum over iterations of the part of the elements that agree, where that is more than a half.
    agreeing_share: float = 0.0
    #: Different numbers in what agrees, and how many are enough.
    distinct_numbers: set[Any] = field(default_factory=set)
    min_distinct_numbers: int = _MIN_DISTINCT_OTHERS

    @property
    def agrees_everywhere(self) -> bool:
        """It agrees wherever it was compared."""
        return 0 < self.compared == self.agreed

    @property
    def is_significant(self) -> bool:
        """It agrees in more than could be chance."""
        return len(self.distinct_numbers) >= self.min_distinct_numbers and self.agreed > 0


@dataclass(frozen=True)
class TrackQuery:
    """A track that is looked for, its forms by the number of loops around it, and its candidates, where its name leaves
    a choice; None: all values."""

    track: Track
    forms_by_depth: Mapping[int, Track]
    allowed_candidates: Mapping[ValueLocation, TrackCandidate] | None


class ValueAgreement:
    """What agrees with which track."""

    def __init__(
        self,
        side: ComparisonSide,
        layout: LocationIndex,
        tracks: Mapping[int, TrackQuery],
        tolerance: Tolerance,
    ) -> None:
        self._side, self._layout, self._tracks, self._tolerance = side, layout, tracks, tolerance
        #: By track, of the values that agree somewhere.
        self.scores: dict[int, dict[ValueLocation, AgreementScore]] = {k: {} for k in tracks}
        #: What tells values apart: their bytes in the iterations that were looked at.
        self.content_hashes: dict[ValueLocation, int] = {}
        #: Path of a loop -> entry -> iterations.
        self.trips: dict[str, dict[Key, int]] = {}
        #: By step that was looked at, what can be equal there.
        self._groups_by_track: dict[int, dict[int, ShapeKind]] = {k: {} for k in tracks}
        self._groups_by_location: dict[ValueLocation, dict[int, ShapeKind]] = {}

    def sample(self, most: int) -> None:
        """Look at so many iterations of each loop, and at the main graph."""
        left = dict.fromkeys(self._layout.loops, most)
        for k, step in enumerate(self._iterate(self._layout.locations.values())):
            if left.get(step.loop, 1):
                left[step.loop] = left.get(step.loop, 1) - 1
                self._sample_iteration(step, k)
        for track, scores in self.scores.items():
            for spot, score in scores.items():
                score.compared = len(self._groups_by_track[track].keys() & self._groups_by_location[spot].keys())

    def compare_all_iterations(self, among: Mapping[int, Sequence[AgreementScore]]) -> None:
        """Compare tracks with some values in all iterations; what was found of them before is forgotten."""
        for scores in among.values():
            for score in scores:
                score.compared = score.agreed = 0
        for step in self._iterate({score.candidate.location for scores in among.values() for score in scores}):
            values: dict[ValueLocation, tuple[bool, Data]] = {}
            for track, scores in among.items():
                form = self._tracks[track].forms_by_depth.get(len(step.key))
                if form is None or step.key not in form.values:
                    continue
                theirs = form.values[step.key]
                for score in scores:
                    spot = score.candidate.location
                    if spot.path == step.loop:
                        there, mine = values.setdefault(spot, step.reader.read(spot.value))
                        score.compared += there
                        score.agreed += there and not self._differ(mine, theirs)

    def same_group(self, track: int, spot: ValueLocation) -> bool:
        """Whether a value had the shape and the kind of dtype of a track anywhere."""
        mine = self._groups_by_location.get(spot, {})
        return any(mine.get(k) == group for k, group in self._groups_by_track[track].items())

    def has_same_group(self, track: int) -> bool:
        """Whether any value had."""
        return any(self.same_group(track, spot) for spot in self._groups_by_location)

    # -- one iteration

    def _iterate(self, spots: Collection[ValueLocation]) -> Iterator[IterationRecord]:
        wanted: dict[str, list[Any]] = {}
        for spot in spots:
            wanted.setdefault(spot.path, []).append(spot.value)
        wanted.pop("", None)
        for step in iterate_side(self._side, wanted):
            if step.loop and step.stopped_by is not None:
                self.trips.setdefault(step.loop, {})[step.entry] = step.iteration + 1
            if step.iteration >= 0 or not step.loop:
                yield step

    def _sample_iteration(self, step: IterationRecord, number: int) -> None:
        groups: dict[ShapeKind, list[tuple[ValueLocation, Data]]] = {}
        for spot in self._layout.locations_in_loop(step.loop):
            there, data = step.reader.read(spot.value)
            if there:
                group = _shape_kind(data)
                groups.setdefault(group, []).append((spot, data))
                self._groups_by_location.setdefault(spot, {})[number] = group
                self.content_hashes[spot] = hash((self.content_hashes.get(spot), _content_key(data)))
        probed: dict[ShapeKind, Array] = {}
        for track, looked in self._tracks.items():
            form = looked.forms_by_depth.get(len(step.key))
            if form is None or step.key not in form.values:
                continue
            theirs = form.values[step.key]
            group = self._groups_by_track[track][number] = _shape_kind(theirs)
            if group not in groups:
                continue
            if group not in probed:
                probed[group] = np.stack([_probes(data) for _, data in groups[group]])
            agree = self._agreeing_probes(theirs, probed[group])
            parts = agree.mean(axis=1) if agree.shape[1] else np.ones(len(agree))
            for at in np.flatnonzero(parts > 0.5):
                self._add_agreement(track, form, *groups[group][at], theirs, agree[at])

    def _agreeing_probes(self, theirs: Data, mine: Array) -> Array:
        """For each value of a group which of the probed elements agree."""
        probes = _probes(theirs)
        rtol, atol = self._tolerance.for_dtypes(np.asarray(theirs).dtype) if _is_float(theirs) else (0.0, 0.0)
        with np.errstate(all="ignore"):
            close = np.abs(mine - probes) <= atol + rtol * np.abs(probes)
        agree: Array = close | (mine == probes) | (np.isnan(mine) & np.isnan(probes))
        return agree

    def _add_agreement(
        self, track: int, form: Track, spot: ValueLocation, mine: Data, theirs: Data, agree: Array
    ) -> None:
        allowed = self._tracks[track].allowed_candidates
        if allowed is not None and spot not in allowed:
            return
        if spot not in self.scores[track]:
            candidate = (
                TrackCandidate(self._tracks[track].track, form, spot, "value") if allowed is None else allowed[spot]
            )
            self.scores[track][spot] = AgreementScore(
                candidate, min_distinct_numbers=_MIN_DISTINCT_FLOATS if _is_float(theirs) else _MIN_DISTINCT_OTHERS
            )
        score = self.scores[track][spot]
        whole = bool(agree.all()) and not self._differ(mine, theirs)
        score.agreed += whole
        score.agreeing_share += 1.0 if whole else min(float(agree.mean()), 1 - 1e-6) if agree.size else 0.0
        if len(score.distinct_numbers) < score.min_distinct_numbers:
            score.distinct_numbers |= _informative_numbers(theirs, agree)

    def _differ(self, mine: Data, theirs: Data) -> bool:
        return bool(compare(mine, theirs, self._tolerance, loose_shape=True).kind)


def _shape_kind(value: Data) -> ShapeKind:
    """Values that can be equal: of one shape but for axes of length 1, and one kind of dtype."""
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
    """Some elements as numbers; of strings what tells them apart."""
    flat = _probe_elements(value)
    if flat.dtype.kind in "OUST":
        return np.array([float(hash(str(one)) & 0xFFFFFFFF) for one in flat], np.float64)
    with np.errstate(all="ignore"):
        return flat.real.astype(np.float64) if flat.dtype.kind == "c" else flat.astype(np.float64)


def _informative_numbers(value: Data, agree: Array) -> set[Any]:
    """Of the probed elements that agree those that say something: of floats none of the usual ones."""
    found = _probes(value)[agree]
    usual = (0.0, 1.0) if _is_float(value) else ()
    return {number for number in found[np.isfinite(found)].tolist() if number not in usual}


def _content_key(value: Data) -> Any:
    if value is None or isinstance(value, list | tuple):
        return None if value is None else tuple(_content_key(one) for one in value)
    array = np.asarray(value)
    return tuple(array.reshape(-1).tolist()) if array.dtype == object else (array.dtype.str, array.tobytes())
