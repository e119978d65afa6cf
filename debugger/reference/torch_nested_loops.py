"""Operators that are loops, in a loop of Python: the iterations of each copy as those of a loop in a loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .program_track import ProgramTrack
from .reference import Key
from .torch_graph import GraphPath, loop_path
from .torch_unrolled_loop import CopiesByIteration

TripCounts = Mapping[str, Mapping[Key, int]]


@dataclass(frozen=True)
class ProgramRun:
    """What a program computed, its loops of Python that are known so far too.

    ``becomes``: of the body of each loop which carried value its nodes give.
    """

    tracks: Sequence[ProgramTrack]
    trips: TripCounts
    carried_positions: Mapping[GraphPath, Mapping[str, int]]


@dataclass(frozen=True)
class MergedCopies:
    """The copies of one node that runs graphs or steps. ``path``: the graph around them; ``outer``: the loop around
    that, ``depth``: in how many it is; ``fold``: the loop of Python."""

    copies: CopiesByIteration
    path: GraphPath
    outer: str
    depth: int
    rerolled_loop: str

    def tracks(self, ran: ProgramRun) -> Iterator[ProgramTrack]:
        """What is computed inside, by the iterations of the loop of Python and of those inside."""
        found: dict[Any, ProgramTrack] = {}
        for key, node in self.copies.items():
            place = (*self.path, node.name)
            for track in ran.tracks:
                if track.graph[: len(place)] != place:
                    continue
                tail = track.name.rpartition("/")[2]
                same = self._merged_path(track.loop, node), track.graph[len(place) :], tail, track.role, track.output
                if same not in found:
                    found[same] = self._make_track(track, same[0], tail, ran)
                found[same].values.update({self._merged_key(at, key): value for at, value in track.values.items()})
        yield from found.values()
        carrying = {track.loop for track in found.values() if track.role == "carried"}
        yield from (
            _received_track(track) for track in found.values() if track.loop not in carrying | {self.rerolled_loop}
        )

    def merged_loops(self, ran: ProgramRun) -> dict[str, str]:
        """The loops inside the copies -> what they are together."""
        names = {track.loop for track in ran.tracks}
        found: dict[str, str] = {}
        for node in self.copies.values():
            start = loop_path(self.outer, node.name)
            found.update({name: self._merged_path(name, node) for name in names if f"{name}/".startswith(f"{start}/")})
        return found

    def trips(self, ran: ProgramRun) -> dict[str, dict[Key, int]]:
        """How often the loops inside ran."""
        found: dict[str, dict[Key, int]] = {}
        for key, node in self.copies.items():
            start = loop_path(self.outer, node.name)
            for name, counts in ran.trips.items():
                if f"{name}/".startswith(f"{start}/"):
                    told = found.setdefault(self._merged_path(name, node), {})
                    told.update({self._merged_key(entry, key): count for entry, count in counts.items()})
        return found

    def _make_track(self, track: ProgramTrack, loop: str, tail: str, ran: ProgramRun) -> ProgramTrack:
        position = track.position
        if position is None and track.role == "result" and loop != self.rerolled_loop:
            position = ran.carried_positions.get(track.graph, {}).get(tail)
        return replace(track, name=f"{loop}/{tail}", values={}, loop=loop, reads=(), position=position, folded=True)

    def _merged_path(self, name: str, node: Any) -> str:
        """What a loop inside a copy is called; a branch of one belongs to the loop of Python itself."""
        if name == self.outer:
            return self.rerolled_loop
        first = next(iter(self.copies.values()))
        return loop_path(self.rerolled_loop, first.name) + name.removeprefix(loop_path(self.outer, node.name))

    def _merged_key(self, at: Key, copy: Key) -> Key:
        return (*at[: self.depth], *copy, *at[self.depth :])


def _received_track(track: ProgramTrack) -> ProgramTrack:
    """Of the state that each step of a recurrent layer gives what the next one receives."""
    values = {(*key[:-1], key[-1] + 1): value for key, value in track.values.items()}
    return replace(track, name=f"{track.name} received", role="carried", values=values)


def trips_from_results(tracks: Sequence[ProgramTrack]) -> dict[str, dict[Key, int]]:
    """How often loops ran, by the values of their results."""
    found: dict[str, dict[Key, int]] = {}
    for track in tracks:
        counts = found.setdefault(track.loop, {})
        for key in track.values if track.role == "result" else ():
            counts[key[:-1]] = max(counts.get(key[:-1], 0), key[-1] + 1)
    return found
