"""Loops of Python, which an export unrolls: the copies of what is in them as the iterations of a loop.

A copy of a node comes of the same line, the same module and the same operator. Copies that follow each other are a loop
if each reads what the one before computed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from .program import ProgramTrack
from .reference import Key
from .repeats import Rounds, repeats
from .torch_sites import Path, loop_path, reads

#: A node of the body, which has a copy in each iteration: what all copies have in common, and its number among those of
#: one iteration.
Slot = tuple[Hashable, int]
Copies = dict[int, Any]


@dataclass
class Folded:
    """What was folded: the values of the loops' iterations, and how often the loops ran."""

    tracks: list[ProgramTrack]
    trips: dict[str, dict[Key, int]]


def folded(
    sites: Sequence[tuple[Path, Any, ProgramTrack]], given: Callable[[str], Mapping[Key, Any]], taken: set[str]
) -> Folded:
    """The loops of Python in the graphs of a program that ran.

    Args:
        sites: the nodes in the order of the program, with the graph around each and what it computed.
        given: tells what an input of the main graph was, which the first iteration may read.
        taken: names that loops have already.
    """
    graphs: dict[Path, list[tuple[Any, ProgramTrack]]] = {}
    for path, node, track in sites:
        if node.op == "call_function":
            graphs.setdefault(path, []).append((node, track))
    found = Folded([], {})
    for path, nodes in graphs.items():
        tracks = {node.name: track for node, track in nodes}
        for rounds in repeats([_token(node) for node, _ in nodes]):
            loop = _Unrolled([[nodes[at][0] for at in places] for places in rounds], tracks)
            if loop.is_loop():
                _add(found, loop, rounds, (lambda _: {}) if path else given, taken)
    return found


def _add(
    found: Folded, loop: _Unrolled, rounds: Rounds, given: Callable[[str], Mapping[Key, Any]], taken: set[str]
) -> None:
    outer, name = loop.outer, loop.name
    path, number = loop_path(outer, name), 1
    while path in taken:
        number += 1
        path = loop_path(outer, f"{name}_{number}")
    taken.add(path)
    tracks = [track for track in loop.values(path, given) if track.values]
    found.tracks += tracks
    entries = {key[:-1] for track in tracks for key in track.values}
    found.trips[path] = dict.fromkeys(entries, len(rounds))


def _token(node: Any) -> Hashable:
    """What all copies of a node have in common; of a node of which nothing is known, itself."""
    trace, module = node.meta.get("stack_trace"), _module(node)
    return (str(node.target), module, trace) if trace or module else node.name


def _module(node: Any) -> str:
    """The path of the module whose code a node comes of; empty for the outermost."""
    around = list((node.meta.get("nn_module_stack") or {}).values())
    return str(around[-1][0]) if around else ""


def _call(node: Any) -> str:
    """The call of that module: ``L__self___cell@1`` is the second one."""
    return str(next(reversed([*(node.meta.get("nn_module_stack") or {})]), ""))


class _Unrolled:
    """Copies of the nodes of a graph, iteration by iteration. ``tracks``: what the nodes of the graph computed."""

    def __init__(self, iterations: Sequence[Sequence[Any]], tracks: Mapping[str, ProgramTrack]) -> None:
        self._iterations, self._tracks = iterations, tracks
        self._slots: dict[Slot, Copies] = {}
        for k, nodes in enumerate(iterations):
            counts: dict[Hashable, int] = {}
            for node in nodes:
                token = _token(node)
                counts[token] = counts.get(token, -1) + 1
                self._slots.setdefault((token, counts[token]), {})[k] = node
        self._slot_of = {(node.name, k): slot for slot, copies in self._slots.items() for k, node in copies.items()}
        #: What the next iteration reads -> what the first one reads in its place, empty where that is not known.
        self._carried = self._find_carried()

    def is_loop(self) -> bool:
        """Whether each iteration reads something of the one before. Two single nodes have to be two calls of a module:
        ``a + b + c`` is no loop."""
        calls = {_call(node) for nodes in self._iterations for node in nodes}
        few = max(map(len, self._iterations)) == 1 and len(self._iterations) == 2
        return bool(self._carried) and (not few or len(calls) == 2)

    @property
    def outer(self) -> str:
        """The loop around all."""
        return self._tracks[self._iterations[0][0].name].loop

    @property
    def name(self) -> str:
        """The module that all of it is in, or else ``file.py:LINE``."""
        nodes = [node for nodes in self._iterations for node in nodes]
        levels = zip(*(_module(node).split(".") for node in nodes), strict=False)
        common = ".".join(names[0] for names in takewhile(lambda names: len({*names}) == 1, levels))
        if common:
            return common
        places = [self._tracks[node.name].source.rpartition(":") for node in nodes]
        files = [file for file, _, _ in places if file]
        if not files:
            return str(nodes[0].name)
        most = max(files, key=files.count)
        return f"{os.path.basename(most)}:{min(int(line) for file, _, line in places if file == most)}"

    def _find_carried(self) -> dict[Slot, str]:
        found: dict[Slot, str] = {}
        for copies in self._slots.values():
            for k, node in copies.items():
                given = [(at, name[1:]) for at, name in enumerate(reads(node)) if name.startswith("%")]
                for at, name in given if k else ():
                    source = self._slot_of.get((name, k - 1))
                    if source is not None and not found.get(source):
                        found[source] = self._begun(copies, at)
        return found

    def _begun(self, copies: Copies, at: int) -> str:
        """What a node reads in the first iteration, in one place."""
        names = reads(copies[0]) if 0 in copies else ()
        return names[at][1:] if at < len(names) and names[at].startswith("%") else ""

    def values(self, loop: str, given: Callable[[str], Mapping[Key, Any]]) -> Iterator[ProgramTrack]:
        """What each iteration received, and what it computed."""
        for k, (slot, begun) in enumerate(self._carried.items()):
            before = self._tracks[begun].values if begun in self._tracks else given(begun)
            values = {(*at, 0): value for at, value in before.items()} | self._values(slot, 1)
            track = self._track(slot, loop, values, k)
            yield replace(track, name=f"{track.name} received", role="carried")
        order = list(self._carried)
        for slot in self._slots:
            yield self._track(slot, loop, self._values(slot, 0), order.index(slot) if slot in order else None)

    def _values(self, slot: Slot, behind: int) -> dict[Key, Any]:
        copies = self._slots[slot].items()
        return {(*at, k + behind): value for k, node in copies for at, value in self._tracks[node.name].values.items()}

    def _track(self, slot: Slot, loop: str, values: dict[Key, Any], position: int | None) -> ProgramTrack:
        first = next(iter(self._slots[slot].values()))
        track = self._tracks[first.name]
        name = f"{loop}/{track.name.rpartition('/')[2]}"
        return replace(track, name=name, values=values, loop=loop, reads=(), position=position, folded=True)
