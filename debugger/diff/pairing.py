"""Which value of a model each track of a reference is: as it is given, by metadata, by name, by numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..reference.metadata import by_metadata
from ..reference.program import ProgramTrack
from ..reference.reference import Matcher, Reference, Track
from .by_value import ByValue
from .candidates import Candidate, Named
from .folds import pair_folds
from .forms import at_depth
from .layout import Layout, Spot
from .sides import Side
from .streams import Options

#: What finds values by more than their names and numbers.
MATCHERS: list[Matcher] = [by_metadata]


@dataclass
class Paired:
    """What each track is; and of those of which that is not known, why."""

    found: list[Candidate] = field(default_factory=list)
    left: list[tuple[Track, str]] = field(default_factory=list)


def pair_tracks(side: Side, layout: Layout, reference: Reference, tracks: Sequence[Track], options: Options) -> Paired:
    """Pair tracks with values; the model is run where their names do not tell, or leave a choice."""
    folded = [track for track in tracks if isinstance(track, ProgramTrack) and track.folded]
    result = Paired()
    rest = _by_metadata(layout, reference, [track for track in tracks if track not in folded], options, result)
    # Loops that are copies of one are first looked for as that: each alone has the numbers of some iterations.
    early = any(isinstance(track, ProgramTrack) and track.inside for track in rest)
    if early:
        found = pair_folds(side, layout, reference, folded, options.tolerance, {one.spot for one in result.found})
        result.found += found
        loops = {one.track.loop for one in found}
        rest = [track for track in rest if not (isinstance(track, ProgramTrack) and track.inside in loops)]
    _by_name_and_value(side, layout, rest, options, result)
    if not early:
        taken = {one.spot for one in result.found}
        result.found += pair_folds(side, layout, reference, folded, options.tolerance, taken)
    return result


def _by_name_and_value(side: Side, layout: Layout, rest: list[Track], options: Options, result: Paired) -> None:
    named = Named(layout, options.names)
    if any(one.how == "metadata" for one in result.found):
        rest = [track for track in rest if not track.optional]
    open_: dict[int, tuple[Track, list[Candidate] | None]] = {}
    for k, track in enumerate(rest):
        found = named.of(track)
        if len(found) == 1 and not named.is_weak(track):
            result.found.append(found[0])
        elif track.values:
            open_[k] = track, None if not found or named.is_weak(track) else found
    if not open_:
        return
    search = ByValue(side, layout, open_, options.tolerance)
    paired, failed = search.find({one.spot for one in result.found})
    result.found += paired.values()
    taken = {one.spot for one in result.found}
    for k, why in failed.items():
        track = open_[k][0]
        again = [one for one in named.of(track) if one.spot not in taken and search.fits(k, one.spot)]
        if again:
            result.found.append(again[0])
            taken.add(again[0].spot)
        elif not track.optional:
            result.left.append((track, why))


def _by_metadata(
    layout: Layout, reference: Reference, tracks: Sequence[Track], options: Options, result: Paired
) -> list[Track]:
    """Ask the matchers, but not of what is given; returns what they leave."""
    rest = list(tracks)
    for matcher in MATCHERS:
        asked = [track for track in rest if track.name not in options.names.values()]
        for one in matcher(layout.graph, reference, asked):
            spot: Spot | None = layout.spots.get(one.value)
            form = None if spot is None else at_depth(one.track, spot.depth)
            if spot is not None and form is not None:
                result.found.append(Candidate(one.track, form, spot, one.how))
                rest.remove(one.track)
    return rest
