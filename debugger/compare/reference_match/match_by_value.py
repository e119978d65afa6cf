"""Matches the tracks of a reference to values of a model by their numbers.

The model is run and its values are compared with the tracks. Only the first iterations of each loop are sampled;
ambiguous tracks are compared in all iterations.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ...reference.reference import Track
from ..running.sides import ModelSide, TraceSide
from ..running.value_comparison import Tolerance
from .track_candidates import TrackCandidate
from .track_forms import has_unknown_axes, iterations_by_entry
from .value_agreement import AgreementScore, ValueAgreement
from .value_locations import LocationIndex, ValueLocation

#: The most candidates compared in all iterations.
_MAX_FOLLOWED_CANDIDATES = 16
#: This many completely equal iterations are no coincidence, even if others differ.
_MIN_AGREEING_ITERATIONS = 3


class ValueMatcher:
    """One search. ``tracks``: each with its candidates if its name is ambiguous, or None for all values."""

    def __init__(
        self,
        side: ModelSide | TraceSide,
        layout: LocationIndex,
        tracks: Mapping[int, tuple[Track, Sequence[TrackCandidate] | None]],
        tolerance: Tolerance,
    ) -> None:
        self.agreement = ValueAgreement(side, layout, tracks, tolerance)
        self._tracks = self.agreement.tracks
        #: The best candidates of a track that no value matches everywhere.
        self._best_scores: dict[int, Sequence[AgreementScore]] = {}
        self._scan_outputs = {scan.outer for loop in layout.loops.values() for scan in loop.scan_outputs}

    def find(self, used: Collection[ValueLocation]) -> tuple[dict[int, TrackCandidate], dict[int, str]]:
        """The value of each track, and the reason for unmatched tracks. ``used``: locations that are already paired."""
        self.agreement.sample()
        scores = {k: self.agreement.scores[k].values() for k in self._tracks}
        exact = {
            k: sorted((s for s in values if s.agrees_everywhere), key=lambda score: self._rank_key(score.candidate))
            for k, values in scores.items()
        }
        # Values that are equal in a few iterations may differ later.
        ambiguous = {k: hits[:_MAX_FOLLOWED_CANDIDATES] for k, hits in exact.items() if len(hits) > 1}
        if ambiguous:
            self.agreement.compare_all_iterations(ambiguous)
            exact |= {k: [score for score in hits if score.agrees_everywhere] or hits for k, hits in ambiguous.items()}
        return self._assign_candidates(exact, {*used})

    def _rank_key(self, candidate: TrackCandidate) -> tuple[bool, bool, bool, int, bool, tuple[int, ...]]:
        """The sort key of candidates: matching iteration counts, equal names, scan elements, deeper loops, and node
        results come first."""
        loc, is_input = candidate.location, candidate.track.role == "carried"
        other_name, no_scan = candidate.track.name not in loc.value.names, loc.value not in self._scan_outputs
        implausible = not self._has_plausible_row_count(candidate)
        return implausible, other_name, no_scan, -loc.depth, bool(loc.role) is not is_input, loc.order

    def _has_plausible_row_count(self, candidate: TrackCandidate) -> bool:
        if not (candidate.location.depth and has_unknown_axes(candidate.track)):
            return True
        trips = self.agreement.trips.get(candidate.location.path, {})
        # A carried value also has its final value.
        extra_rows = (0, 1) if candidate.location.role == "carried" else (0,)
        return all(
            count - trips.get(entry, count) in extra_rows
            for entry, count in iterations_by_entry(candidate.form).items()
        )

    def _is_likely_match(self, candidate: TrackCandidate) -> bool:
        """Whether a partly matching value can be the track: operands may equal results while the state is zero."""
        if candidate.location.role and candidate.track.role != "carried":
            trips = self.agreement.trips.get(candidate.location.path, {})
            counts = iterations_by_entry(candidate.form).items()
            return candidate.location.role == "carried" and all(
                count == trips.get(entry, 0) + 1 for entry, count in counts
            )
        return self._has_plausible_row_count(candidate)

    def _assign_candidates(
        self, exact: Mapping[int, list[AgreementScore]], used: set[ValueLocation]
    ) -> tuple[dict[int, TrackCandidate], dict[int, str]]:
        assigned: dict[int, TrackCandidate] = {}
        for k in sorted(self._tracks, key=lambda k: (len(exact[k]), k)):
            scores = [score for score in exact[k] if score.candidate.location not in used] or exact[k]
            if scores:
                assigned[k] = scores[0].candidate
                used.add(assigned[k].location)
        failed: dict[int, str] = {}
        for k in self._tracks:
            if k in assigned:
                continue
            result = self._best_candidate(k, used)
            if isinstance(result, TrackCandidate):
                assigned[k] = result
                used.add(result.location)
            else:
                failed[k] = result
        for k, candidate in assigned.items():
            if not self._is_sure_match(k, candidate, exact[k], used):
                assigned[k] = replace(candidate, is_unambiguous=False)
        return assigned, failed

    def _is_sure_match(
        self, k: int, pick: TrackCandidate, exact: Sequence[AgreementScore], used: Collection[ValueLocation]
    ) -> bool:
        """Whether no unpaired node computes the same values, and coincidence is excluded."""
        ties = exact or self._best_scores.get(k, ())
        locations = [score.candidate.location for score in ties if not score.candidate.location.role]
        sure = bool(exact) or not ties or self.agreement.scores[k][pick.location].agreed >= _MIN_AGREEING_ITERATIONS
        return sure and all(loc in used for loc in locations)

    def _best_candidate(self, k: int, used: Collection[ValueLocation]) -> TrackCandidate | str:
        """The best value of a track that no value matches everywhere, or the reason why there is none."""
        allowed = self.agreement.allowed[k]
        if allowed:
            # The name matches.
            shares = {loc: score.agreeing_share for loc, score in self.agreement.scores[k].items()}
            return min(
                allowed.values(), key=lambda s: (not self._has_plausible_row_count(s), -shares.get(s.location, -1.0))
            )
        scores = [s for loc, s in self.agreement.scores[k].items() if loc not in used]
        if not self.agreement.any_had_same_shape_and_kind(k):
            return "no value of the model has its shape and dtype"
        likely = [s for s in scores if s.is_significant and self._is_likely_match(s.candidate)]
        if not likely:
            return "no value of the model has its numbers"
        top = max(s.agreeing_share for s in likely)
        best = sorted((s for s in likely if s.agreeing_share == top), key=lambda s: self._rank_key(s.candidate))
        if len({self.agreement.content_hashes.get(score.candidate.location) for score in best}) > 1:
            names = ", ".join(f"'{s.candidate.location.name}'" for s in best[:3])
            return f"several values of the model agree with it as much: {names}"
        self._best_scores[k] = best
        return best[0].candidate
