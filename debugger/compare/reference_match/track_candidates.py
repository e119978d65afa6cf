"""Which values of a model a track of a reference may be, by what it is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ....runtime.graph import Value
from ...reference.reference import Reference, Track
from ..align.loop_ports import is_numbered_name
from ..running.iteration_stream import outputs_by_name
from .track_forms import has_unknown_axes, track_at_depth
from .value_locations import LocationIndex, ValueLocation


@dataclass(frozen=True, eq=False)
class TrackCandidate:
    """A value that a track may be. ``form``: the track as a value in as many loops. ``how``: given, metadata, name,
    value. ``sure``: no other value has the same numbers everywhere and no track."""

    track: Track
    form: Track
    location: ValueLocation
    method: str
    is_unambiguous: bool = True


class NameMatcher:
    """Candidates by name."""

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
        """The values that go by the name of a track, or by the name that is given for it, the likeliest first."""
        given = [name for name, other in self._names.items() if other == track.name and name in self._by_name]
        name, how = (given[0], "given") if given else (track.name, "name")
        found: dict[ValueLocation, TrackCandidate] = {}
        for spot in self._related_locations(name, not has_unknown_axes(track)):
            form = track_at_depth(track, spot.depth)
            if form is not None and form.values:
                found.setdefault(spot, TrackCandidate(track, form, spot, how))
        there = _with_matching_role(track, self._in_named_loop(track, list(found.values())))
        return sorted(there, key=lambda one: (bool(one.location.role), -one.location.depth))

    def has_numbered_name(self, track: Track) -> bool:
        """Whether its name ends in a number, which an exporter may have counted."""
        return is_numbered_name(track.name) and track.name not in self._names.values()

    def _related_locations(self, name: str, elements: bool) -> Iterator[ValueLocation]:
        """Values of a name, and of carried ones what they become; with ``elements`` those of scan outputs, too."""
        for value in self._by_name.get(name, ()):
            spot = self._layout.locations.get(value)
            if spot is None:
                continue
            yield spot
            for loop in self._layout.loops.values():
                results = [edge.result for edge in loop.back_edges if edge.param is value]
                results += [scan.result for scan in loop.scan_outputs if elements and scan.outer is value]
                yield from (self._layout.locations[one] for one in results if one in self._layout.locations)

    def _in_named_loop(self, track: Track, found: list[TrackCandidate]) -> list[TrackCandidate]:
        """Those in the loop that the reference names, if any of them is."""
        if not track.loop:
            return found
        wanted = {track.loop, *(name for name, other in self._names.items() if other == track.loop)}
        there = [
            one
            for one in found
            if one.location.loop is not None and {one.location.path, one.location.loop.name} & wanted
        ]
        return there or found


def _with_matching_role(track: Track, found: list[TrackCandidate]) -> list[TrackCandidate]:
    """Parameters of a body for what an iteration received, and no parameters for what it computed, if there are any."""
    if not track.role:
        return found
    received = track.role == "carried"
    return [one for one in found if (one.location.role == "carried") is received] or found


def forms_by_depth(layout: LocationIndex, track: Track, depths: Sequence[int]) -> dict[int, Track]:
    """The forms that a track can have in a model, by the number of loops around it."""
    forms = {depth: track_at_depth(track, depth) for depth in depths}
    return {depth: form for depth, form in forms.items() if form is not None and form.values}


def input_tracks(reference: Reference, inputs: Sequence[str], names: Mapping[str, str]) -> dict[str, Track]:
    """The tracks that are inputs of the model, by the model's names."""
    found: dict[str, Track] = {}
    for track in reference.tracks:
        name = next((name for name, other in names.items() if other == track.name), track.name)
        if name in inputs and track.role in ("", "input") and set(track.values) == {()}:
            found[name] = track
    return found
