"""Which value of a model a track of a reference is, by its numbers: the model is run, and what agrees is found.

All values of an iteration are compared with all tracks at once, at some of their elements; what agrees there is
compared whole. Only the first iterations of each loop are looked at, and all of them where several values agree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...runtime.graph import Array, Value
from ...runtime.inputs import Data
from ..reference.reference import Key, Track
from .candidates import Candidate, by_depth
from .forms import extents, is_open
from .layout import Layout, Spot
from .sides import Side
from .steps import Step, steps_of
from .values import Tolerance, compare, kind_of

#: Iterations of each loop that are looked at, and elements of a tensor that are.
_SAMPLED = 8
_PROBES = 64
#: Candidates that are followed to the end.
_FOLLOWED = 16
#: Different numbers that agree, so many that it is hardly chance: of floats, and of other dtypes.
_FEW_FLOATS, _FEW_OTHERS = 2, 3
Group = tuple[tuple[int, ...], str]


@dataclass
class _Score:
    """How a candidate agrees with a track."""

    candidate: Candidate
    #: Iterations that were compared, and of these the ones that agree whole.
    compared: int = 0
    agreed: int = 0
    #: Sum over iterations of the part of the elements that agree.
    share: float = 0.0
    #: Different numbers in what agrees, and how many are enough.
    numbers: set[Any] = field(default_factory=set)
    enough: int = _FEW_OTHERS

    @property
    def whole(self) -> bool:
        """It agrees wherever it was compared."""
        return 0 < self.compared == self.agreed

    @property
    def tells(self) -> bool:
        """It agrees in more than could be chance."""
        return len(self.numbers) >= self.enough and (self.agreed > 0 or 2 * self.share > self.compared)


class ByValue:
    """One search. ``tracks``: each with its candidates, where its name leaves a choice, else None for all values."""

    def __init__(
        self,
        side: Side,
        layout: Layout,
        tracks: Mapping[int, tuple[Track, Sequence[Candidate] | None]],
        tolerance: Tolerance,
    ) -> None:
        self._side = side
        self._layout = layout
        self._tolerance = tolerance
        depths = sorted({spot.depth for spot in layout.spots.values()})
        self._forms = {k: by_depth(layout, track, depths) for k, (track, _) in tracks.items()}
        self._tracks = {k: track for k, (track, _) in tracks.items()}
        self._allowed = {k: None if some is None else {c.spot: c for c in some} for k, (_, some) in tracks.items()}
        self._scores: dict[int, dict[Spot, _Score]] = {k: {} for k in tracks}
        #: What tells values apart: their bytes in the iterations that were looked at.
        self._bytes: dict[Spot, int] = {}
        self._scans = {scan.outer for loop in layout.loops.values() for scan in loop.scan_outputs}
        #: Path of a loop -> entry -> iterations.
        self._trips: dict[str, dict[Key, int]] = {}

    def find(self, taken: Collection[Spot]) -> tuple[dict[int, Candidate], dict[int, str]]:
        """What each track is, and of the others why that is not known. ``taken``: values that tracks are already."""
        self._run(_SAMPLED, dict.fromkeys(self._tracks))
        whole = {k: self._whole(k) for k in self._tracks}
        # What is the same in a few iterations need not be in all.
        several = {k: found[:_FOLLOWED] for k, found in whole.items() if len(found) > 1}
        if several:
            self._scores.update({k: {} for k in several})
            self._run(None, {k: {score.candidate.spot for score in found} for k, found in several.items()})
            whole |= {k: self._whole(k) or found for k, found in several.items()}
        return self._settle(whole, {*taken})

    # -- looking

    def _run(self, most: int | None, among: Mapping[int, Collection[Spot] | None]) -> None:
        """Compare the tracks of ``among`` with those values (None: all) in so many iterations of each loop."""
        wanted: dict[str, list[Value]] = {}
        for spot in self._layout.spots.values():
            if any(some is None or spot in some for some in among.values()):
                wanted.setdefault(spot.path, []).append(spot.value)
        wanted.pop("", None)
        following = {path: list(values) for path, values in wanted.items()}
        left = dict.fromkeys(wanted, most)
        for step in steps_of(self._side, following):
            if step.loop and step.ended is not None:
                self._trips.setdefault(step.loop, {})[step.entry] = step.iteration + 1
            rest = left.get(step.loop)
            if (step.loop and step.iteration < 0) or rest == 0:
                continue
            self._look(step, among, most is not None)
            if step.loop and rest is not None:
                left[step.loop] = rest - 1

    def _look(self, step: Step, among: Mapping[int, Collection[Spot] | None], note: bool) -> None:
        groups: dict[Group, list[tuple[Spot, Data]]] = {}
        for spot in self._layout.of_loop(step.loop):
            if any(some is None or spot in some for some in among.values()):
                there, data = step.moment.read(spot.value)
                if there:
                    groups.setdefault(_group(data), []).append((spot, data))
                    if note:
                        self._bytes[spot] = hash((self._bytes.get(spot), _bytes(data)))
        probed: dict[Group, Array] = {}
        for k, some in among.items():
            form = self._forms[k].get(len(step.key))
            if form is None or step.key not in form.values:
                continue
            theirs = form.values[step.key]
            group = _group(theirs)
            if group in groups and group not in probed:
                probed[group] = np.stack([_probes(data) for _, data in groups[group]])
            for at, agree in enumerate(self._agreeing(theirs, probed.get(group))):
                spot, mine = groups[group][at]
                if some is None or spot in some:
                    self._add(k, form, spot, mine, theirs, agree)

    def _agreeing(self, theirs: Data, mine: Array | None) -> Iterator[Array]:
        """For each value of a group which of the probed elements agree."""
        if mine is None:
            return
        probes = _probes(theirs)
        rtol, atol = self._tolerance.of(np.asarray(theirs).dtype) if _is_float(theirs) else (0.0, 0.0)
        with np.errstate(all="ignore"):
            close = np.abs(mine - probes) <= atol + rtol * np.abs(probes)
        yield from close | (mine == probes) | (np.isnan(mine) & np.isnan(probes))

    def _add(self, k: int, form: Track, spot: Spot, mine: Data, theirs: Data, agree: Array) -> None:
        allowed = self._allowed[k]
        if allowed is not None and spot not in allowed:
            return
        if spot not in self._scores[k]:
            candidate = Candidate(self._tracks[k], form, spot, "value") if allowed is None else allowed[spot]
            self._scores[k][spot] = _Score(candidate, enough=_FEW_FLOATS if _is_float(theirs) else _FEW_OTHERS)
        score = self._scores[k][spot]
        score.compared += 1
        whole = bool(agree.all()) and not compare(mine, theirs, self._tolerance, loose_shape=True).kind
        score.agreed += whole
        score.share += 1.0 if whole else min(float(agree.mean()), 1 - 1e-6) if agree.size else 0.0
        if len(score.numbers) < score.enough:
            score.numbers |= _numbers(theirs, agree)

    # -- deciding

    def _whole(self, k: int) -> list[_Score]:
        found = [score for score in self._scores[k].values() if score.whole]
        return sorted(found, key=lambda score: self._rank(score.candidate))

    def _rank(self, one: Candidate) -> tuple[bool, bool, int, bool, tuple[int, ...]]:
        """First what has as many iterations as the track, what has those of a loop as its elements, what is computed in
        more loops, and what a node computes."""
        spot, received = one.spot, one.track.role == "carried"
        no_scan = spot.value not in self._scans
        return not self._is_plausible(one), no_scan, -spot.depth, bool(spot.role) is not received, spot.order

    def _is_plausible(self, one: Candidate) -> bool:
        if not (one.spot.depth and is_open(one.track)):
            return True
        trips = self._trips.get(one.spot.path, {})
        return all(count - trips.get(entry, count) in _more(one) for entry, count in extents(one.form).items())

    def _is_likely(self, one: Candidate) -> bool:
        """Whether a value that agrees here and there can be it: what comes in may be like what is made of it as long as
        the state is zero."""
        if one.spot.role and one.track.role != "carried":
            trips = self._trips.get(one.spot.path, {})
            known = extents(one.form).items()
            return one.spot.role == "carried" and all(count == trips.get(entry, 0) + 1 for entry, count in known)
        return self._is_plausible(one)

    def _different(self, scores: Sequence[_Score]) -> set[int | None]:
        return {self._bytes.get(score.candidate.spot) for score in scores}

    def _settle(
        self, whole: Mapping[int, list[_Score]], taken: set[Spot]
    ) -> tuple[dict[int, Candidate], dict[int, str]]:
        found: dict[int, Candidate] = {}
        for k in sorted(self._tracks, key=lambda k: (len(whole[k]), k)):
            scores = [score for score in whole[k] if score.candidate.spot not in taken] or whole[k]
            if scores:
                found[k] = scores[0].candidate
                taken.add(found[k].spot)
        failed: dict[int, str] = {}
        for k in self._tracks:
            if k in found:
                continue
            best = self._best(k, taken)
            if isinstance(best, Candidate):
                found[k] = best
                taken.add(best.spot)
            else:
                failed[k] = best
        return found, failed

    def _best(self, k: int, taken: Collection[Spot]) -> Candidate | str:
        """What a track is that no value agrees with everywhere, or why that is not known."""
        allowed = self._allowed[k]
        if allowed:
            # It has the name.
            return min(allowed.values(), key=lambda one: (not self._is_plausible(one), -self._share(k, one.spot)))
        scores = [one for spot, one in self._scores[k].items() if spot not in taken]
        if not scores:
            return "no value of the model has its shape and dtype"
        likely = [one for one in scores if one.tells and self._is_likely(one.candidate)]
        if not likely:
            return "no value of the model has its numbers"
        most = max(one.share for one in likely)
        first = sorted((one for one in likely if one.share == most), key=lambda one: self._rank(one.candidate))
        if len(self._different(first)) > 1:
            told = ", ".join(f"'{one.candidate.spot.name}'" for one in first[:3])
            return f"several values of the model agree with it as much: {told}"
        return first[0].candidate

    def _share(self, k: int, spot: Spot) -> float:
        return self._scores[k][spot].share if spot in self._scores[k] else -1.0

    def fits(self, k: int, spot: Spot) -> bool:
        """Whether a value had the shape and the kind of dtype of a track wherever both were there."""
        return spot in self._scores[k]


def _more(one: Candidate) -> tuple[int, ...]:
    """How many rows a track may have beyond the iterations: of what is carried the end as well."""
    return (0, 1) if one.spot.role == "carried" else (0,)


def _group(value: Data) -> Group:
    """Values that can be equal: of one shape but for axes of length 1, and one kind of dtype."""
    if value is None:
        return (), "nothing"
    if isinstance(value, list | tuple):
        return (len(value),), "sequence"
    array = np.asarray(value)
    return tuple(dim for dim in array.shape if dim != 1), kind_of(array.dtype)


def _is_float(value: Data) -> bool:
    return isinstance(value, np.ndarray | np.generic) and kind_of(value.dtype) == "f"


def _flat(value: Data) -> Array:
    if value is None or isinstance(value, list | tuple):
        return np.zeros(0)
    flat = np.asarray(value).reshape(-1)
    return flat if flat.size <= _PROBES else flat[np.linspace(0, flat.size - 1, _PROBES).astype(np.int64)]


def _probes(value: Data) -> Array:
    """Some elements as numbers; of strings what tells them apart."""
    flat = _flat(value)
    if flat.dtype.kind in "OUST":
        return np.array([float(hash(str(one)) & 0xFFFFFFFF) for one in flat], np.float64)
    with np.errstate(all="ignore"):
        return flat.real.astype(np.float64) if flat.dtype.kind == "c" else flat.astype(np.float64)


def _numbers(value: Data, agree: Array) -> set[Any]:
    """Of the probed elements that agree those that say something: of floats none of the usual ones."""
    found = _probes(value)[agree]
    usual = (0.0, 1.0) if _is_float(value) else ()
    return {number for number in found[np.isfinite(found)].tolist() if number not in usual}


def _bytes(value: Data) -> Any:
    if value is None or isinstance(value, list | tuple):
        return None if value is None else tuple(_bytes(one) for one in value)
    array = np.asarray(value)
    return tuple(array.reshape(-1).tolist()) if array.dtype == object else (array.dtype.str, array.tobytes())
