"""Pairs the tracks of a reference with values of a model: by given names, metadata, name, and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ....runtime.graph import TensorType, Value
from ....runtime.input_validation import Data
from ...reference.metadata_matching import match_by_metadata
from ...reference.program_track import ProgramTrack
from ...reference.reference import Reference, Track
from ..running.boundary_merge import ComparisonOptions
from ..running.sides import ModelSide, TraceSide
from .match_by_value import ValueMatcher
from .track_candidates import NameMatcher, TrackCandidate
from .track_forms import track_at_depth
from .unrolled_loop_matching import pair_unrolled_loops
from .value_locations import LocationIndex


@dataclass
class TrackPairing:
    """The value of each track, and the reason for each unpaired track."""

    candidates: list[TrackCandidate] = field(default_factory=list)
    unpaired: list[tuple[Track, str]] = field(default_factory=list)


def pair_tracks(
    side: ModelSide | TraceSide,
    layout: LocationIndex,
    reference: Reference,
    tracks: Sequence[Track],
    options: ComparisonOptions,
) -> TrackPairing:
    """Pair tracks with values; runs the model if names are missing or ambiguous."""
    result = TrackPairing()

    def pair_folded() -> list[TrackCandidate]:
        folded = [track for track in tracks if isinstance(track, ProgramTrack) and track.folded]
        used = {candidate.location for candidate in result.candidates}
        return pair_unrolled_loops(side, layout, reference, folded, options.tolerance, used)

    plain = [track for track in tracks if not (isinstance(track, ProgramTrack) and track.folded)]
    remaining = _pair_by_metadata(layout, reference, plain, options, result)
    # Unrolled copies of a loop are matched as a loop first: each copy alone has the numbers of some iterations.
    has_nested = any(isinstance(track, ProgramTrack) and track.inside for track in remaining)
    if has_nested:
        candidates = pair_folded()
        result.candidates += candidates
        loops = {candidate.track.loop for candidate in candidates}
        remaining = [track for track in remaining if not (isinstance(track, ProgramTrack) and track.inside in loops)]
    _pair_by_name_and_value(side, layout, remaining, options, result)
    if not has_nested:
        result.candidates += pair_folded()
    return result


def _pair_by_name_and_value(
    side: ModelSide | TraceSide,
    layout: LocationIndex,
    tracks: list[Track],
    options: ComparisonOptions,
    result: TrackPairing,
) -> None:
    matcher = NameMatcher(layout, options.names)
    if any(c.method == "metadata" for c in result.candidates):
        tracks = [track for track in tracks if not track.optional]
    open_tracks: dict[int, tuple[Track, list[TrackCandidate] | None]] = {}
    for k, track in enumerate(tracks):
        candidates = matcher.candidates(track)
        if len(candidates) == 1 and not matcher.has_numbered_name(track):
            result.candidates.append(candidates[0])
        elif track.values:
            open_tracks[k] = track, None if not candidates or matcher.has_numbered_name(track) else candidates
    if not open_tracks:
        return
    search = ValueMatcher(side, layout, open_tracks, options.tolerance)
    paired, failed = search.find({c.location for c in result.candidates})
    result.candidates += paired.values()
    used = {c.location for c in result.candidates}
    for k, reason in failed.items():
        track, had_type = open_tracks[k][0], search.agreement.had_same_shape_and_kind
        others = (c for c in matcher.candidates(track) if c.location not in used and had_type(k, c.location))
        candidate = next(others, None)
        if candidate is not None:
            result.candidates.append(candidate)
            used.add(candidate.location)
        elif not track.optional:
            result.unpaired.append((track, reason))
    _pair_only_output(layout, result)


def _pair_only_output(layout: LocationIndex, result: TrackPairing) -> None:
    """Pair the only track without a value with the only output without a track, if their shapes and types fit."""
    used = {candidate.location.value for candidate in result.candidates}
    outputs = [value for value in layout.graph.outputs if value not in used]
    if result.candidates or len(result.unpaired) != 1 or len(outputs) != 1 or outputs[0] not in layout.locations:
        return
    track, location = result.unpaired[0][0], layout.locations[outputs[0]]
    form = track_at_depth(track, location.depth)
    if form is not None and set(form.values) == {()} and _fits_type(form.values[()], location.value):
        result.candidates.append(TrackCandidate(track, form, location, "position"))
        result.unpaired.clear()


def _fits_type(data: Data, value: Value) -> bool:
    """Whether an array has the declared element type and shape of a value."""
    if not isinstance(value.type, TensorType) or not isinstance(data, np.ndarray) or value.type.dtype != data.dtype:
        return False
    dims = value.type.shape
    return dims is None or (
        len(dims) == data.ndim
        and all(not isinstance(dim, int) or dim == size for dim, size in zip(dims, data.shape, strict=True))
    )


def _pair_by_metadata(
    layout: LocationIndex, reference: Reference, tracks: list[Track], options: ComparisonOptions, result: TrackPairing
) -> list[Track]:
    """Pair tracks without given names by metadata; return the others."""
    unnamed = [track for track in tracks if track.name not in options.names.values()]
    for match in match_by_metadata(layout.graph, reference, unnamed):
        loc = layout.locations.get(match.value)
        form = None if loc is None else track_at_depth(match.track, loc.depth)
        if loc is not None and form is not None:
            result.candidates.append(TrackCandidate(match.track, form, loc, match.method))
            tracks.remove(match.track)
    return tracks
