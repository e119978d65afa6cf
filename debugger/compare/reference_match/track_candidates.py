"""Candidate values of a model for a track of a reference, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ....runtime.graph import Value
from ...reference.reference import Reference, Track
from ..alignment.port_alignment import is_numbered_name
from ..running.output_comparison import outputs_by_name
from .track_forms import has_unknown_axes, track_at_depth
from .value_locations import LocationIndex, ValueLocation


@dataclass(frozen=True, eq=False)
class TrackCandidate:
    """A candidate value for a track. ``form``: the track as a value of the same loop depth. ``method``: given,
    metadata, name, value. ``is_unambiguous``: no other unpaired value has the same numbers everywhere."""

    track: Track
    form: Track
    location: ValueLocation
    method: str
    is_unambiguous: bool = True


class NameMatcher:
    """Finds candidates by name."""

    def __init__(self, layout: LocationIndex, names: Mapping[str, str]) -> None:
        self._layout = layout
        self._names = names
        self._by_name: dict[str, list[Value]] = {}
        for value in layout.locations:
            for name in value.names:
                self._by_name.setdefault(name, []).append(value)
        for name, value in outputs_by_name(layout.graph).items():
            if value not in self._by_name.setdefault(name, []):
                self._by_name[name].insert(0, value)

    def candidates(self, track: Track) -> list[TrackCandidate]:
        """Values with the name of a track, or the name mapped to it, best first."""
        mapped = [name for name, other in self._names.items() if other == track.name and name in self._by_name]
        name, method = (mapped[0], "given") if mapped else (track.name, "name")
        candidates: dict[ValueLocation, TrackCandidate] = {}
        for loc in self._locations_for_name(name, not has_unknown_axes(track)):
            form = track_at_depth(track, loc.depth)
            if form is not None and form.values:
                candidates.setdefault(loc, TrackCandidate(track, form, loc, method))
        matching = _candidates_with_matching_role(
            track, self._candidates_in_named_loop(track, list(candidates.values()))
        )
        return sorted(matching, key=lambda candidate: (bool(candidate.location.role), -candidate.location.depth))

    def has_numbered_name(self, track: Track) -> bool:
        """Whether the name ends in a number that an exporter may have assigned."""
        return is_numbered_name(track.name) and track.name not in self._names.values()

    def _locations_for_name(self, name: str, elements: bool) -> Iterator[ValueLocation]:
        """Values of a name, and the results of carried ones; ``elements``: also those that scan outputs collect."""
        for value in self._by_name.get(name, ()):
            loc = self._layout.locations.get(value)
            if loc is None:
                continue
            yield loc
            for loop in self._layout.loops.values():
                results = [edge.result for edge in loop.back_edges if edge.param is value]
                results += [scan.result for scan in loop.scan_outputs if elements and scan.outer is value]
                yield from (self._layout.locations[result] for result in results if result in self._layout.locations)

    def _candidates_in_named_loop(self, track: Track, candidates: list[TrackCandidate]) -> list[TrackCandidate]:
        """The candidates in the loop that the reference names, if there are any."""
        if not track.loop:
            return candidates
        loop_names = {track.loop, *(name for name, other in self._names.items() if other == track.loop)}
        matching = [
            c
            for c in candidates
            if c.location.loop is not None and {c.location.path, c.location.loop.name} & loop_names
        ]
        return matching or candidates


def _candidates_with_matching_role(track: Track, candidates: list[TrackCandidate]) -> list[TrackCandidate]:
    """Body parameters if an iteration receives the value, other values if it computes it, if there are any."""
    if not track.role:
        return candidates
    is_input = track.role == "carried"
    return [candidate for candidate in candidates if (candidate.location.role == "carried") is is_input] or candidates


def input_tracks(reference: Reference, inputs: Sequence[str], names: Mapping[str, str]) -> dict[str, Track]:
    """The tracks of model inputs, by the model's names."""
    tracks: dict[str, Track] = {}
    for track in reference.tracks:
        name = next((name for name, other in names.items() if other == track.name), track.name)
        if name in inputs and track.role in ("", "input") and set(track.values) == {()}:
            tracks[name] = track
    return tracks
