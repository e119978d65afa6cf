"""Which value of a model each track of a reference is: as it is given, by metadata, by name, by numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...reference.metadata_matching import match_by_metadata
from ...reference.program_track import ProgramTrack
from ...reference.reference import Matcher, Reference, Track
from ..running.boundary_merge import ComparisonOptions
from ..running.sides import ComparisonSide
from .match_by_value import ValueMatcher
from .track_candidates import NameMatcher, TrackCandidate
from .track_forms import track_at_depth
from .unrolled_loop_matching import pair_unrolled_loops
from .value_locations import LocationIndex, ValueLocation

#: What finds values by more than their names and numbers.
MATCHERS: list[Matcher] = [match_by_metadata]


@dataclass
class TrackPairing:
    """What each track is; and of those of which that is not known, why."""

    candidates: list[TrackCandidate] = field(default_factory=list)
    unpaired: list[tuple[Track, str]] = field(default_factory=list)


def pair_tracks(
    side: ComparisonSide,
    layout: LocationIndex,
    reference: Reference,
    tracks: Sequence[Track],
    options: ComparisonOptions,
) -> TrackPairing:
    """Pair tracks with values; the model is run where their names do not tell, or leave a choice."""
    folded = [track for track in tracks if isinstance(track, ProgramTrack) and track.folded]
    result = TrackPairing()
    rest = _by_metadata(layout, reference, [track for track in tracks if track not in folded], options, result)
    # Loops that are copies of one are first looked for as that: each alone has the numbers of some iterations.
    early = any(isinstance(track, ProgramTrack) and track.inside for track in rest)
    if early:
        found = pair_unrolled_loops(
            side, layout, reference, folded, options.tolerance, {one.location for one in result.candidates}
        )
        result.candidates += found
        loops = {one.track.loop for one in found}
        rest = [track for track in rest if not (isinstance(track, ProgramTrack) and track.inside in loops)]
    _by_name_and_value(side, layout, rest, options, result)
    if not early:
        taken = {one.location for one in result.candidates}
        result.candidates += pair_unrolled_loops(side, layout, reference, folded, options.tolerance, taken)
    return result


def _by_name_and_value(
    side: ComparisonSide, layout: LocationIndex, rest: list[Track], options: ComparisonOptions, result: TrackPairing
) -> None:
    named = NameMatcher(layout, options.names)
    if any(one.method == "metadata" for one in result.candidates):
        rest = [track for track in rest if not track.optional]
    open_: dict[int, tuple[Track, list[TrackCandidate] | None]] = {}
    for k, track in enumerate(rest):
        found = named.candidates(track)
        if len(found) == 1 and not named.has_numbered_name(track):
            result.candidates.append(found[0])
        elif track.values:
            open_[k] = track, None if not found or named.has_numbered_name(track) else found
    if not open_:
        return
    search = ValueMatcher(side, layout, open_, options.tolerance)
    paired, failed = search.find({one.location for one in result.candidates})
    result.candidates += paired.values()
    taken = {one.location for one in result.candidates}
    for k, why in failed.items():
        track = open_[k][0]
        again = [
            one for one in named.candidates(track) if one.location not in taken and search.same_group(k, one.location)
        ]
        if again:
            result.candidates.append(again[0])
            taken.add(again[0].location)
        elif not track.optional:
            result.unpaired.append((track, why))


def _by_metadata(
    layout: LocationIndex,
    reference: Reference,
    tracks: Sequence[Track],
    options: ComparisonOptions,
    result: TrackPairing,
) -> list[Track]:
    """Ask the matchers, but not of what is given; returns what they leave."""
    rest = list(tracks)
    for matcher in MATCHERS:
        asked = [track for track in rest if track.name not in options.names.values()]
        for one in matcher(layout.graph, reference, asked):
            spot: ValueLocation | None = layout.locations.get(one.value)
            form = None if spot is None else track_at_depth(one.track, spot.depth)
            if spot is not None and form is not None:
                result.candidates.append(TrackCandidate(one.track, form, spot, one.method))
                rest.remove(one.track)
    return rest
