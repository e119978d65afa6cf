"""Which value of a model a track of a reference is, by its numbers.

The model is run, and what agrees is found. Only the first iterations of each loop are looked at, and all of them where
several values agree.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ..reference.reference import Track
from .agreement import Agreement, Looked, Score
from .candidates import Candidate, by_depth
from .forms import extents, is_open
from .layout import Layout, Spot
from .sides import Side
from .values import Tolerance

#: Iterations of each loop that are looked at, and candidates that are followed to the end.
_SAMPLED = 8
_FOLLOWED = 16
#: So many iterations that agree whole are no chance, even if others do not.
_OFTEN = 3


class ByValue:
    """One search. ``tracks``: each with its candidates, where its name leaves a choice, else None for all values."""

    def __init__(
        self,
        side: Side,
        layout: Layout,
        tracks: Mapping[int, tuple[Track, Sequence[Candidate] | None]],
        tolerance: Tolerance,
    ) -> None:
        depths = sorted({spot.depth for spot in layout.spots.values()})
        self._tracks = {k: track for k, (track, _) in tracks.items()}
        self._allowed = {k: None if some is None else {c.spot: c for c in some} for k, (_, some) in tracks.items()}
        looked_for = {k: Looked(t, by_depth(layout, t, depths), self._allowed[k]) for k, t in self._tracks.items()}
        self._agreement = Agreement(side, layout, looked_for, tolerance)
        #: Of a track that no value agrees with everywhere, the values that agree most.
        self._alike: dict[int, Sequence[Score]] = {}
        self._scans = {scan.outer for loop in layout.loops.values() for scan in loop.scan_outputs}

    def find(self, taken: Collection[Spot]) -> tuple[dict[int, Candidate], dict[int, str]]:
        """What each track is, and of the others why that is not known. ``taken``: values that tracks are already."""
        self._agreement.sample(_SAMPLED)
        whole = {k: self._whole(k) for k in self._tracks}
        # What is the same in a few iterations need not be in all.
        several = {k: found[:_FOLLOWED] for k, found in whole.items() if len(found) > 1}
        if several:
            self._agreement.follow(several)
            whole |= {k: [score for score in found if score.whole] or found for k, found in several.items()}
        return self._settle(whole, {*taken})

    def _whole(self, k: int) -> list[Score]:
        found = [score for score in self._agreement.scores[k].values() if score.whole]
        return sorted(found, key=lambda score: self._rank(score.candidate))

    def _rank(self, one: Candidate) -> tuple[bool, bool, bool, int, bool, tuple[int, ...]]:
        """First what has as many iterations as the track, what is called so, what has the values of a loop as its
        elements, what is computed in more loops, and what a node computes."""
        spot, received = one.spot, one.track.role == "carried"
        other_name, no_scan = one.track.name not in spot.value.names, spot.value not in self._scans
        unlikely = not self._is_plausible(one)
        return unlikely, other_name, no_scan, -spot.depth, bool(spot.role) is not received, spot.order

    def _is_plausible(self, one: Candidate) -> bool:
        if not (one.spot.depth and is_open(one.track)):
            return True
        trips = self._agreement.trips.get(one.spot.path, {})
        return all(count - trips.get(entry, count) in _more(one) for entry, count in extents(one.form).items())

    def _is_likely(self, one: Candidate) -> bool:
        """Whether a value that agrees here and there can be it: what comes in may be like what is made of it as long as
        the state is zero."""
        if one.spot.role and one.track.role != "carried":
            trips = self._agreement.trips.get(one.spot.path, {})
            known = extents(one.form).items()
            return one.spot.role == "carried" and all(count == trips.get(entry, 0) + 1 for entry, count in known)
        return self._is_plausible(one)

    def _different(self, scores: Sequence[Score]) -> set[int | None]:
        return {self._agreement.bytes.get(score.candidate.spot) for score in scores}

    def _settle(
        self, whole: Mapping[int, list[Score]], taken: set[Spot]
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
        for k, one in found.items():
            if not self._is_sure(k, one, whole[k], taken):
                found[k] = replace(one, sure=False)
        return found, failed

    def _is_sure(self, k: int, one: Candidate, whole: Sequence[Score], taken: Collection[Spot]) -> bool:
        """Whether no node that has no track makes the same, and chance makes nothing like it."""
        alike = whole or self._alike.get(k, ())
        made = [score.candidate.spot for score in alike if not score.candidate.spot.role]
        often = bool(whole) or not alike or self._agreement.scores[k][one.spot].agreed >= _OFTEN
        return often and all(spot in taken for spot in made)

    def _best(self, k: int, taken: Collection[Spot]) -> Candidate | str:
        """What a track is that no value agrees with everywhere, or why that is not known."""
        allowed = self._allowed[k]
        if allowed:
            # It has the name.
            return min(allowed.values(), key=lambda one: (not self._is_plausible(one), -self._share(k, one.spot)))
        scores = [one for spot, one in self._agreement.scores[k].items() if spot not in taken]
        if not self._agreement.fits_any(k):
            return "no value of the model has its shape and dtype"
        likely = [one for one in scores if one.tells and self._is_likely(one.candidate)]
        if not likely:
            return "no value of the model has its numbers"
        most = max(one.share for one in likely)
        first = sorted((one for one in likely if one.share == most), key=lambda one: self._rank(one.candidate))
        if len(self._different(first)) > 1:
            told = ", ".join(f"'{one.candidate.spot.name}'" for one in first[:3])
            return f"several values of the model agree with it as much: {told}"
        self._alike[k] = first
        return first[0].candidate

    def _share(self, k: int, spot: Spot) -> float:
        return self._agreement.scores[k][spot].share if spot in self._agreement.scores[k] else -1.0

    def fits(self, k: int, spot: Spot) -> bool:
        """Whether a value had the shape and the kind of dtype of a track anywhere."""
        return self._agreement.fits(k, spot)


def _more(one: Candidate) -> tuple[int, ...]:
    """How many rows a track may have beyond the iterations: of what is carried the end as well."""
    return (0, 1) if one.spot.role == "carried" else (0,)
