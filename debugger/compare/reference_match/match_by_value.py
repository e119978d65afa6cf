"""Which value of a model a track of a reference is, by its numbers.

The model is run, and what agrees is found. Only the first iterations of each loop are looked at, and all of them where
several values agree.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ...reference.reference import Track
from ..running.sides import ComparisonSide
from ..running.value_comparison import Tolerance
from .track_candidates import TrackCandidate, forms_by_depth
from .track_forms import has_unknown_axes, iterations_by_entry
from .value_agreement import AgreementScore, TrackQuery, ValueAgreement
from .value_locations import LocationIndex, ValueLocation

#: Iterations of each loop that are looked at, and candidates that are followed to the end.
_SAMPLED_ITERATIONS = 8
_MAX_FOLLOWED_CANDIDATES = 16
#: So many iterations that agree whole are no chance, even if others do not.
_MIN_AGREEING_ITERATIONS = 3


class ValueMatcher:
    """One search. ``tracks``: each with its candidates, where its name leaves a choice, else None for all values."""

    def __init__(
        self,
        side: ComparisonSide,
        layout: LocationIndex,
        tracks: Mapping[int, tuple[Track, Sequence[TrackCandidate] | None]],
        tolerance: Tolerance,
    ) -> None:
        depths = sorted({spot.depth for spot in layout.locations.values()})
        self._tracks = {k: track for k, (track, _) in tracks.items()}
        self._allowed_by_track = {
            k: None if some is None else {c.location: c for c in some} for k, (_, some) in tracks.items()
        }
        looked_for = {
            k: TrackQuery(t, forms_by_depth(layout, t, depths), self._allowed_by_track[k])
            for k, t in self._tracks.items()
        }
        self._agreement = ValueAgreement(side, layout, looked_for, tolerance)
        #: Of a track that no value agrees with everywhere, the values that agree most.
        self._best_scores: dict[int, Sequence[AgreementScore]] = {}
        self._scan_outputs = {scan.outer for loop in layout.loops.values() for scan in loop.scan_outputs}

    def find(self, taken: Collection[ValueLocation]) -> tuple[dict[int, TrackCandidate], dict[int, str]]:
        """What each track is, and of the others why that is not known. ``taken``: values that tracks are already."""
        self._agreement.sample(_SAMPLED_ITERATIONS)
        whole = {k: self._exact_matches(k) for k in self._tracks}
        # What is the same in a few iterations need not be in all.
        several = {k: found[:_MAX_FOLLOWED_CANDIDATES] for k, found in whole.items() if len(found) > 1}
        if several:
            self._agreement.compare_all_iterations(several)
            whole |= {k: [score for score in found if score.agrees_everywhere] or found for k, found in several.items()}
        return self._assign(whole, {*taken})

    def _exact_matches(self, k: int) -> list[AgreementScore]:
        found = [score for score in self._agreement.scores[k].values() if score.agrees_everywhere]
        return sorted(found, key=lambda score: self._rank(score.candidate))

    def _rank(self, one: TrackCandidate) -> tuple[bool, bool, bool, int, bool, tuple[int, ...]]:
        """First what has as many iterations as the track, what is called so, what has the values of a loop as its
        elements, what is computed in more loops, and what a node computes."""
        spot, received = one.location, one.track.role == "carried"
        other_name, no_scan = one.track.name not in spot.value.names, spot.value not in self._scan_outputs
        unlikely = not self._is_plausible(one)
        return unlikely, other_name, no_scan, -spot.depth, bool(spot.role) is not received, spot.order

    def _is_plausible(self, one: TrackCandidate) -> bool:
        if not (one.location.depth and has_unknown_axes(one.track)):
            return True
        trips = self._agreement.trips.get(one.location.path, {})
        return all(
            count - trips.get(entry, count) in _allowed_extra_rows(one)
            for entry, count in iterations_by_entry(one.form).items()
        )

    def _is_likely(self, one: TrackCandidate) -> bool:
        """Whether a value that agrees here and there can be it: what comes in may be like what is made of it as long as
        the state is zero."""
        if one.location.role and one.track.role != "carried":
            trips = self._agreement.trips.get(one.location.path, {})
            known = iterations_by_entry(one.form).items()
            return one.location.role == "carried" and all(count == trips.get(entry, 0) + 1 for entry, count in known)
        return self._is_plausible(one)

    def _distinct_contents(self, scores: Sequence[AgreementScore]) -> set[int | None]:
        return {self._agreement.content_hashes.get(score.candidate.location) for score in scores}

    def _assign(
        self, whole: Mapping[int, list[AgreementScore]], taken: set[ValueLocation]
    ) -> tuple[dict[int, TrackCandidate], dict[int, str]]:
        found: dict[int, TrackCandidate] = {}
        for k in sorted(self._tracks, key=lambda k: (len(whole[k]), k)):
            scores = [score for score in whole[k] if score.candidate.location not in taken] or whole[k]
            if scores:
                found[k] = scores[0].candidate
                taken.add(found[k].location)
        failed: dict[int, str] = {}
        for k in self._tracks:
            if k in found:
                continue
            best = self._best_candidate(k, taken)
            if isinstance(best, TrackCandidate):
                found[k] = best
                taken.add(best.location)
            else:
                failed[k] = best
        for k, one in found.items():
            if not self._is_sure(k, one, whole[k], taken):
                found[k] = replace(one, is_unambiguous=False)
        return found, failed

    def _is_sure(
        self, k: int, one: TrackCandidate, whole: Sequence[AgreementScore], taken: Collection[ValueLocation]
    ) -> bool:
        """Whether no node that has no track makes the same, and chance makes nothing like it."""
        alike = whole or self._best_scores.get(k, ())
        made = [score.candidate.location for score in alike if not score.candidate.location.role]
        often = bool(whole) or not alike or self._agreement.scores[k][one.location].agreed >= _MIN_AGREEING_ITERATIONS
        return often and all(spot in taken for spot in made)

    def _best_candidate(self, k: int, taken: Collection[ValueLocation]) -> TrackCandidate | str:
        """What a track is that no value agrees with everywhere, or why that is not known."""
        allowed = self._allowed_by_track[k]
        if allowed:
            # It has the name.
            return min(allowed.values(), key=lambda one: (not self._is_plausible(one), -self._share(k, one.location)))
        scores = [one for spot, one in self._agreement.scores[k].items() if spot not in taken]
        if not self._agreement.has_same_group(k):
            return "no value of the model has its shape and dtype"
        likely = [one for one in scores if one.is_significant and self._is_likely(one.candidate)]
        if not likely:
            return "no value of the model has its numbers"
        most = max(one.agreeing_share for one in likely)
        first = sorted((one for one in likely if one.agreeing_share == most), key=lambda one: self._rank(one.candidate))
        if len(self._distinct_contents(first)) > 1:
            told = ", ".join(f"'{one.candidate.location.name}'" for one in first[:3])
            return f"several values of the model agree with it as much: {told}"
        self._best_scores[k] = first
        return first[0].candidate

    def _share(self, k: int, spot: ValueLocation) -> float:
        return self._agreement.scores[k][spot].agreeing_share if spot in self._agreement.scores[k] else -1.0

    def same_group(self, k: int, spot: ValueLocation) -> bool:
        """Whether a value had the shape and the kind of dtype of a track anywhere."""
        return self._agreement.same_group(k, spot)


def _allowed_extra_rows(one: TrackCandidate) -> tuple[int, ...]:
    """How many rows a track may have beyond the iterations: of what is carried the end as well."""
    return (0, 1) if one.location.role == "carried" else (0,)
