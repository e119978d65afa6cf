"""Loop operators inside a Python loop: the iterations of their copies become those of a nested loop."""

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
    """The results of a program, including its Python loops found so far.

    ``carried_positions``: for the body of each loop, the index of the carried value of a node.
    """

    tracks: Sequence[ProgramTrack]
    trips: TripCounts
    carried_positions: Mapping[GraphPath, Mapping[str, int]]


@dataclass(frozen=True)
class MergedCopies:
    """The copies of one node that runs graphs or steps. ``path``: the graph around them; ``outer``: the enclosing loop,
    ``depth``: its nesting depth; ``rerolled_loop``: the Python loop."""

    copies: CopiesByIteration
    path: GraphPath
    outer: str
    depth: int
    rerolled_loop: str

    def tracks(self, run: ProgramRun) -> Iterator[ProgramTrack]:
        """The values inside the copies, by the iterations of the Python loop and of the inner loops."""
        merged: dict[Any, ProgramTrack] = {}
        for key, node in self.copies.items():
            path = (*self.path, node.name)
            for track in run.tracks:
                if track.graph[: len(path)] != path:
                    continue
                tail = track.name.rpartition("/")[2]
                group = self._merged_path(track.loop, node), track.graph[len(path) :], tail, track.role, track.output
                if group not in merged:
                    merged[group] = self._make_track(track, group[0], tail, run)
                merged[group].values.update({self._merged_key(i, key): value for i, value in track.values.items()})
        yield from merged.values()
        carrying = {track.loop for track in merged.values() if track.role == "carried"}
        yield from (
            _step_input_track(track) for track in merged.values() if track.loop not in carrying | {self.rerolled_loop}
        )

    def merged_loops(self, run: ProgramRun) -> dict[str, str]:
        """The loops inside the copies -> the merged loops."""
        names = {track.loop for track in run.tracks}
        merged: dict[str, str] = {}
        for node in self.copies.values():
            start = loop_path(self.outer, node.name)
            merged.update({name: self._merged_path(name, node) for name in names if f"{name}/".startswith(f"{start}/")})
        return merged

    def trips(self, run: ProgramRun) -> dict[str, dict[Key, int]]:
        """The iteration counts of the inner loops."""
        trips: dict[str, dict[Key, int]] = {}
        for key, node in self.copies.items():
            start = loop_path(self.outer, node.name)
            for name, counts in run.trips.items():
                if f"{name}/".startswith(f"{start}/"):
                    merged = trips.setdefault(self._merged_path(name, node), {})
                    merged.update({self._merged_key(entry, key): count for entry, count in counts.items()})
        return trips

    def _make_track(self, track: ProgramTrack, loop: str, tail: str, run: ProgramRun) -> ProgramTrack:
        position = track.position
        if position is None and track.role == "result" and loop != self.rerolled_loop:
            position = run.carried_positions.get(track.graph, {}).get(tail)
        return replace(track, name=f"{loop}/{tail}", values={}, loop=loop, reads=(), position=position, folded=True)

    def _merged_path(self, name: str, node: Any) -> str:
        """The merged path of a loop inside a copy; a branch belongs to the Python loop itself."""
        if name == self.outer:
            return self.rerolled_loop
        first = next(iter(self.copies.values()))
        return loop_path(self.rerolled_loop, first.name) + name.removeprefix(loop_path(self.outer, node.name))

    def _merged_key(self, key: Key, copy: Key) -> Key:
        return (*key[: self.depth], *copy, *key[self.depth :])


def _step_input_track(track: ProgramTrack) -> ProgramTrack:
    """The values that a recurrent step receives, from the states of the previous one."""
    values = {(*key[:-1], key[-1] + 1): value for key, value in track.values.items()}
    return replace(track, name=f"{track.name} received", role="carried", values=values)


def trips_from_results(tracks: Sequence[ProgramTrack]) -> dict[str, dict[Key, int]]:
    """The iteration counts of loops, from the values of their results."""
    trips: dict[str, dict[Key, int]] = {}
    for track in tracks:
        counts = trips.setdefault(track.loop, {})
        for key in track.values if track.role == "result" else ():
            counts[key[:-1]] = max(counts.get(key[:-1], 0), key[-1] + 1)
    return trips
