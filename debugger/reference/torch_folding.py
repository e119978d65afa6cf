"""Loops of Python, which an export unrolls: the copies of what is in them as the iterations of a loop, and of loops in
loops.

A copy of a node comes of the same line, the same module and the same operator. Copies that follow each other are a loop
if each reads what the one before computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .program import ProgramTrack
from .reference import Key
from .repeats import repeats
from .torch_cells import STEPPED
from .torch_inside import Merged, Ran, counted
from .torch_sites import Path, control, loop_path, operator_name
from .torch_unrolled import Given, Unrolled, token


@dataclass
class Folded:
    """What was folded: the values of the loops' iterations, and how often the loops ran. ``copies``: loops of the
    program, each the copy of one in a loop of Python, which is told."""

    tracks: list[ProgramTrack] = field(default_factory=list)
    trips: dict[str, dict[Key, int]] = field(default_factory=dict)
    copies: dict[str, str] = field(default_factory=dict)


def folded(sites: Sequence[tuple[Path, Any, ProgramTrack]], ran: Ran, given: Given) -> Folded:
    """The loops of Python in the graphs of a program that ran.

    Args:
        sites: the nodes in the order of the program, with the graph around each and what it computed.
        ran: all that was computed, steps of recurrent layers too.
        given: tells what an input of the main graph was, which the first iteration may read.
    """
    graphs: dict[Path, list[tuple[Any, ProgramTrack]]] = {}
    for path, node, track in sites:
        if node.op == "call_function":
            graphs.setdefault(path, []).append((node, track))
    found = Folded()
    # Graphs inside others first: a loop of Python there may be in another one outside.
    for path in sorted(graphs, key=len, reverse=True):
        folding = _Folding(path, ran, (lambda _: {}) if path else given, found)
        nodes = [node for node, _ in graphs[path]]
        tracks = {node.name: track for node, track in graphs[path]}
        for rounds in repeats([token(node) for node in nodes]):
            copies: dict[Key, Sequence[Any]] = {(k,): [nodes[at] for at in places] for k, places in enumerate(rounds)}
            loop = Unrolled(copies, tracks).grouped()
            if loop.is_loop():
                folding.add(loop, loop.outer)
    return found


@dataclass
class _Folding:
    """The loops of Python of one graph."""

    path: Path
    ran: Ran
    given: Given
    found: Folded

    def add(self, loop: Unrolled, outer: str) -> None:
        """A loop and those inside it. ``outer``: the path of the loop around it, of Python or of the program."""
        name = self._free_name(outer, loop.name)
        self.found.trips[name] = {}
        inner = [(one, loop_path(name, one.name)) for one in loop.inner()]
        inside = {node: path for one, path in inner for node in one.names()}
        tracks = [track for track in loop.values(name, self.given, inside) if track.values]
        self.found.trips[name] = loop.trips(tracks)
        self.found.tracks += tracks
        self._merge(loop, name, inside)
        for one, _ in inner:
            self.add(one, name)

    def _free_name(self, outer: str, name: str) -> str:
        path, number = loop_path(outer, name), 1
        while path in self.found.trips or path in self.ran.trips:
            number += 1
            path = loop_path(outer, f"{name}_{number}")
        return path

    def _merge(self, loop: Unrolled, name: str, inside: Mapping[str, str]) -> None:
        """What nodes that are loops themselves compute in each iteration."""
        ran = Ran([*self.ran.tracks, *self.found.tracks], {**self.ran.trips, **self.found.trips}, self.ran.becomes)
        outer = loop.outer
        for copies in loop.slots.values():
            first = next(iter(copies.values()))
            if first.name in inside or not (control(first) or operator_name(first.target) in STEPPED):
                continue
            merged = Merged(copies, self.path, outer, outer.count("/") + 1 if outer else 0, name)
            tracks = [track for track in merged.tracks(ran) if track.values]
            told = merged.trips(ran)
            self.found.copies |= merged.loops(ran)
            steps = {path: counts for path, counts in counted(tracks).items() if operator_name(first.target) in STEPPED}
            self.found.tracks += tracks
            self.found.trips.update({path: counts for path, counts in {**steps, **told}.items() if path != name})
