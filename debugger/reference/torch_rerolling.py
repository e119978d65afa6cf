"""Reroll Python loops, which an export unrolls: the copies of their contents become iterations of loops and nested
loops.

Copies of a node have the same line, module and operator. Consecutive copies are a loop if each reads a result of the
previous one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .program_track import ProgramTrack
from .reference import Key
from .repeat_detection import find_repeats
from .torch_graph import GraphPath, control_operator_name, loop_path, operator_name
from .torch_nested_loops import MergedCopies, ProgramRun, trips_from_results
from .torch_recurrent_states import RECURRENT_OPERATORS
from .torch_unrolled_loop import InputValues, UnrolledLoop, node_token


@dataclass
class RerolledLoops:
    """The rerolled loops: the values of their iterations, and their iteration counts. ``merged_loops``: loops of the
    program that are copies of one in a Python loop -> that loop."""

    tracks: list[ProgramTrack] = field(default_factory=list)
    trips: dict[str, dict[Key, int]] = field(default_factory=dict)
    merged_loops: dict[str, str] = field(default_factory=dict)


def reroll_loops(
    sites: Sequence[tuple[GraphPath, Any, ProgramTrack]], run: ProgramRun, input_values: InputValues
) -> RerolledLoops:
    """Find the Python loops in the graphs of a program that ran.

    Args:
        sites: the nodes in program order, with the graph around each and its track.
        ran: all results, including steps of recurrent layers.
        input_values: returns the value of an input of the main graph, which the first iteration may read.
    """
    graphs: dict[GraphPath, list[tuple[Any, ProgramTrack]]] = {}
    for path, node, track in sites:
        if node.op == "call_function":
            graphs.setdefault(path, []).append((node, track))
    result = RerolledLoops()
    # Inner graphs first: a Python loop there may be nested in an outer one.
    for path in sorted(graphs, key=len, reverse=True):
        folding = _GraphReroller(path, run, (lambda _: {}) if path else input_values, result)
        nodes = [node for node, _ in graphs[path]]
        tracks = {node.name: track for node, track in graphs[path]}
        for rounds in find_repeats([node_token(node) for node in nodes]):
            copies: dict[Key, Sequence[Any]] = {(k,): [nodes[i] for i in indices] for k, indices in enumerate(rounds)}
            loop = UnrolledLoop(copies, tracks).outer_loop_if_nested()
            if loop.is_loop():
                folding.add_loop(loop, loop.outer_loop)
    return result


@dataclass
class _GraphReroller:
    """The Python loops of one graph."""

    path: GraphPath
    ran: ProgramRun
    input_values: InputValues
    rerolled: RerolledLoops

    def add_loop(self, loop: UnrolledLoop, outer: str) -> None:
        """Add a loop and those inside it. ``outer``: the path of the enclosing loop, of Python or of the program."""
        name = self._unused_name(outer, loop.name)
        self.rerolled.trips[name] = {}
        inner = [(child, loop_path(name, child.name)) for child in loop.inner_loops()]
        inner_paths = {node: path for child, path in inner for node in child.node_names()}
        tracks = [track for track in loop.tracks(name, self.input_values, inner_paths) if track.values]
        self.rerolled.trips[name] = loop.trips(tracks)
        self.rerolled.tracks += tracks
        self._merge_nested(loop, name, inner_paths)
        for child, _ in inner:
            self.add_loop(child, name)

    def _unused_name(self, outer: str, name: str) -> str:
        path, number = loop_path(outer, name), 1
        while path in self.rerolled.trips or path in self.ran.trips:
            number += 1
            path = loop_path(outer, f"{name}_{number}")
        return path

    def _merge_nested(self, loop: UnrolledLoop, name: str, inner_paths: Mapping[str, str]) -> None:
        """Add the values of nodes that are loops themselves, in each iteration."""
        run = ProgramRun(
            [*self.ran.tracks, *self.rerolled.tracks],
            {**self.ran.trips, **self.rerolled.trips},
            self.ran.carried_positions,
        )
        outer = loop.outer_loop
        for copies in loop.copies_by_node.values():
            first = next(iter(copies.values()))
            if first.name in inner_paths or not (
                control_operator_name(first) or operator_name(first.target) in RECURRENT_OPERATORS
            ):
                continue
            merged = MergedCopies(copies, self.path, outer, outer.count("/") + 1 if outer else 0, name)
            tracks = [track for track in merged.tracks(run) if track.values]
            trips = merged.trips(run)
            self.rerolled.merged_loops |= merged.merged_loops(run)
            steps = {
                path: counts
                for path, counts in trips_from_results(tracks).items()
                if operator_name(first.target) in RECURRENT_OPERATORS
            }
            self.rerolled.tracks += tracks
            self.rerolled.trips.update({path: counts for path, counts in {**steps, **trips}.items() if path != name})
