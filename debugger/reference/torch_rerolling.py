"""Loops of Python, which an export unrolls: the copies of what is in them as the iterations of a loop, and of loops in
loops.

A copy of a node comes of the same line, the same module and the same operator. Copies that follow each other are a loop
if each reads what the one before computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .program_track import ProgramTrack
from .reference import Key
from .repeat_detection import find_repeats
from .torch_graph import GraphPath, control_operator, loop_path, operator_name
from .torch_nested_loops import MergedCopies, ProgramRun, trips_from_results
from .torch_recurrent_states import RECURRENT_OPERATORS
from .torch_unrolled_loop import InputValues, UnrolledLoop, node_token


@dataclass
class RerolledLoops:
    """What was folded: the values of the loops' iterations, and how often the loops ran. ``copies``: loops of the
    program, each the copy of one in a loop of Python, which is told."""

    tracks: list[ProgramTrack] = field(default_factory=list)
    trips: dict[str, dict[Key, int]] = field(default_factory=dict)
    merged_loops: dict[str, str] = field(default_factory=dict)


def reroll_loops(
    sites: Sequence[tuple[GraphPath, Any, ProgramTrack]], ran: ProgramRun, given: InputValues
) -> RerolledLoops:
    """The loops of Python in the graphs of a program that ran.

    Args:
        sites: the nodes in the order of the program, with the graph around each and what it computed.
        ran: all that was computed, steps of recurrent layers too.
        given: tells what an input of the main graph was, which the first iteration may read.
    """
    graphs: dict[GraphPath, list[tuple[Any, ProgramTrack]]] = {}
    for path, node, track in sites:
        if node.op == "call_function":
            graphs.setdefault(path, []).append((node, track))
    found = RerolledLoops()
    # Graphs inside others first: a loop of Python there may be in another one outside.
    for path in sorted(graphs, key=len, reverse=True):
        folding = _GraphReroller(path, ran, (lambda _: {}) if path else given, found)
        nodes = [node for node, _ in graphs[path]]
        tracks = {node.name: track for node, track in graphs[path]}
        for rounds in find_repeats([node_token(node) for node in nodes]):
            copies: dict[Key, Sequence[Any]] = {(k,): [nodes[at] for at in places] for k, places in enumerate(rounds)}
            loop = UnrolledLoop(copies, tracks).group_nested()
            if loop.is_loop():
                folding.add_loop(loop, loop.outer_loop)
    return found


@dataclass
class _GraphReroller:
    """The loops of Python of one graph."""

    path: GraphPath
    ran: ProgramRun
    input_values: InputValues
    rerolled: RerolledLoops

    def add_loop(self, loop: UnrolledLoop, outer: str) -> None:
        """A loop and those inside it. ``outer``: the path of the loop around it, of Python or of the program."""
        name = self._unused_name(outer, loop.name)
        self.rerolled.trips[name] = {}
        inner = [(one, loop_path(name, one.name)) for one in loop.inner_loops()]
        inside = {node: path for one, path in inner for node in one.node_names()}
        tracks = [track for track in loop.tracks(name, self.input_values, inside) if track.values]
        self.rerolled.trips[name] = loop.trips(tracks)
        self.rerolled.tracks += tracks
        self._merge_nested(loop, name, inside)
        for one, _ in inner:
            self.add_loop(one, name)

    def _unused_name(self, outer: str, name: str) -> str:
        path, number = loop_path(outer, name), 1
        while path in self.rerolled.trips or path in self.ran.trips:
            number += 1
            path = loop_path(outer, f"{name}_{number}")
        return path

    def _merge_nested(self, loop: UnrolledLoop, name: str, inside: Mapping[str, str]) -> None:
        """What nodes that are loops themselves compute in each iteration."""
        ran = ProgramRun(
            [*self.ran.tracks, *self.rerolled.tracks],
            {**self.ran.trips, **self.rerolled.trips},
            self.ran.carried_positions,
        )
        outer = loop.outer_loop
        for copies in loop.copies_by_node.values():
            first = next(iter(copies.values()))
            if first.name in inside or not (
                control_operator(first) or operator_name(first.target) in RECURRENT_OPERATORS
            ):
                continue
            merged = MergedCopies(copies, self.path, outer, outer.count("/") + 1 if outer else 0, name)
            tracks = [track for track in merged.tracks(ran) if track.values]
            told = merged.trips(ran)
            self.rerolled.merged_loops |= merged.merged_loops(ran)
            steps = {
                path: counts
                for path, counts in trips_from_results(tracks).items()
                if operator_name(first.target) in RECURRENT_OPERATORS
            }
            self.rerolled.tracks += tracks
            self.rerolled.trips.update({path: counts for path, counts in {**steps, **told}.items() if path != name})
