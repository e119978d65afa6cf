"""Which values of a model are values of the program that it was exported from: by the metadata that exporters write.

A node of a model has the name of the node of the program that it was made for, as the exporter knew it: programs are
rewritten before they are exported, so that ``mul`` may have become ``mul_2`` by then, and some nodes are gone. So names
are compared without their numbers, in their order, graph by graph; equal numbers, source lines and declared types only
decide among several ways. Of several nodes that were made for one, the result is what others read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...runtime.graph import Graph, If, Loop, Node, TensorType, Value, bodies, captured
from .alignment import aligned
from .program import ProgramTrack
from .reference import Pairing, Reference, Track

_NUMBER = re.compile(r"_\d+$")
#: How much it counts that names are equal but for their numbers, with them, and that source lines are.
_SAME_KIND, _SAME_LINE, _SAME_NAME = 100, 8, 4
#: How much it counts that all that is read comes from nodes of the same names but for their numbers.
_SAME_READS = 40


def by_metadata(graph: Graph, reference: Reference, tracks: Sequence[Track]) -> list[Pairing]:
    """The values of a graph that tracks of an exported program stand for: outputs by their position, all else by the
    metadata of the nodes, if the model has any."""
    program = [track for track in tracks if isinstance(track, ProgramTrack)]
    found = list(_outputs(graph, program))
    room = _Room(graph, None, "", _Readers(graph), program)
    return found + (list(room.pairs()) if program else [])


def _outputs(graph: Graph, program: Sequence[ProgramTrack]) -> Iterator[Pairing]:
    outputs = [track for track in program if track.role == "output"]
    if len(outputs) == len(graph.outputs):
        for track, value in zip(outputs, graph.outputs, strict=True):
            if _may_be(track, value):
                yield Pairing(track, "", value, "position")


@dataclass(eq=False)
class _Call:
    """A node of the program: the tracks of its results."""

    name: str
    tracks: list[ProgramTrack] = field(default_factory=list)

    #: How often it reads results of which kind of node.
    reads: Counter[str] = field(default_factory=Counter)


@dataclass(eq=False)
class _Made:
    """The nodes of a model that were made for one node of the program, and what others read of them."""

    name: str
    line: str
    nodes: list[Node] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)
    reads: Counter[str] = field(default_factory=Counter)


class _Readers:
    """Who reads each value of a graph, and of the graphs inside it; None: it is a result of its graph."""

    def __init__(self, graph: Graph) -> None:
        self._readers: dict[Value, set[Node | None]] = {}
        self._add(graph)

    def _add(self, graph: Graph) -> None:
        for value in graph.outputs:
            self._readers.setdefault(value, set()).add(None)
        for node in graph.nodes:
            inside = [inner for _, inner in bodies(node)]
            for value in (*node.inputs, *(one for inner in inside for one in captured(inner))):
                if value is not None:
                    self._readers.setdefault(value, set()).add(node)
            for inner in inside:
                self._add(inner)

    def results(self, nodes: Sequence[Node]) -> list[Value]:
        """What others read of these nodes."""
        made = [value for node in nodes for value in node.outputs if value is not None]
        return [value for value in made if self._readers.get(value, set()) - set(nodes)]


@dataclass
class _Room:
    """The main graph, or the body of a loop, with the branches in it; ``there``: the loop's path in the program."""

    graph: Graph
    loop: Loop | None
    there: str
    readers: _Readers
    program: Sequence[ProgramTrack]

    def pairs(self) -> Iterator[Pairing]:
        """The pairs of this room, and of the loops in it."""
        yield from self._carried()
        nodes = list(_walked(self.graph))
        calls, groups = self._calls(), self._made(nodes)
        self._know_reads(calls, groups)
        for call, made in aligned(calls, groups, _likeness):
            for track, value in _results(call, made):
                yield self._pairing(track, value)
        for loop, there in self._loops([node for node in nodes if isinstance(node, Loop)]):
            yield from replace(self, graph=loop.body, loop=loop, there=there).pairs()

    def _pairing(self, track: ProgramTrack, value: Value) -> Pairing:
        return Pairing(track, "" if self.loop is None else self.loop.name, value, "metadata")

    def _carried(self) -> Iterator[Pairing]:
        """What the body gets and what it gives back, by position; of a recurrent operator its states."""
        edges = [] if self.loop is None else self.loop.back_edges
        for track in self.program:
            k = track.position
            if track.loop == self.there and k is not None and k < len(edges) and track.role in ("carried", "result"):
                value = edges[k].param if track.role == "carried" else edges[k].result
                if _may_be(track, value):
                    yield self._pairing(track, value)

    def _calls(self) -> list[_Call]:
        found: dict[tuple[tuple[str, ...], str], _Call] = {}
        for track in self.program:
            if track.loop == self.there and track.role == "result" and track.position is None:
                found.setdefault((track.graph, track.node), _Call(track.node)).tracks.append(track)
        return list(found.values())

    def _made(self, nodes: Sequence[Node]) -> list[_Made]:
        found: dict[tuple[str, ...], _Made] = {}
        for node in nodes:
            origin = node.origin
            line = f"{origin.file}:{origin.line}"
            if origin.framework_node:
                key = origin.framework_node, line, origin.traced
                found.setdefault(key, _Made(origin.framework_node, line)).nodes.append(node)
        for made in found.values():
            made.results = self.readers.results(made.nodes)
        return list(found.values())

    def _know_reads(self, calls: Sequence[_Call], made: Sequence[_Made]) -> None:
        """Tell of both what they read: of nodes that only one of both has, what those read."""
        makers = {value: one for one in made for node in one.nodes for value in node.outputs if value is not None}
        kinds = {_kind(one.name) for one in made} & {_kind(one.name) for one in calls}
        for one in made:
            fed = [value for node in one.nodes for value in node.inputs if value is not None]
            one.reads = Counter(_kind(makers[value].name) for value in fed if makers.get(value) not in (None, one))
        names = {(track.graph, track.name.rpartition("/")[2]): call for call in calls for track in call.tracks}
        for call in calls:
            call.reads = Counter(_read(call, names, kinds))

    def _loops(self, here: Sequence[Loop]) -> Iterator[tuple[Loop, str]]:
        """The loops of this room and their paths in the program: as many of one operator as the program has, in their
        order."""
        start = f"{self.there}/" if self.there else ""
        inside = [track.loop.removeprefix(start) for track in self.program if track.loop.startswith(start)]
        named = [one for one in dict.fromkeys(inside) if one]
        there = [one for one in named if not any(one.startswith(f"{other}/") for other in named)]
        for kind in dict.fromkeys(_kind(one) for one in there):
            paths = [one for one in there if _kind(one) == kind]
            loops = [loop for loop in here if _kind(loop.origin.framework_node) == kind]
            if len(paths) == len(loops):
                yield from ((loop, start + path) for loop, path in zip(loops, paths, strict=True))


def _walked(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of the branches in it, those of the branches first; of loops not the bodies."""
    for node in graph.nodes:
        if isinstance(node, If):
            for _, inner in bodies(node):
                yield from _walked(inner)
        yield node


def _kind(name: str) -> str:
    """``mul_2`` and ``mul_`` (in place) are ``mul``; ``lstm/l0`` is ``lstm``."""
    return _NUMBER.sub("", name.partition("/")[0]).strip("_")


def _read(call: _Call, names: Mapping[tuple[tuple[str, ...], str], _Call], kinds: Collection[str]) -> Iterator[str]:
    """The kinds of nodes of which a node reads results, looking through those that the model has none of."""
    track = call.tracks[0]
    for name in track.reads:
        source = names.get((track.graph, name[1:])) if name.startswith("%") else None
        if source is None or source is call:
            continue
        if _kind(source.name) in kinds:
            yield _kind(source.name)
        else:
            yield from _read(source, names, kinds)


def _likeness(call: _Call, made: _Made) -> int:
    if _kind(call.name) != _kind(made.name) or not _results(call, made):
        return 0
    same_line = call.tracks[0].source == made.line
    most = max(call.reads.total(), made.reads.total())
    read = _SAME_READS * (call.reads & made.reads).total() // most if most else 0
    return _SAME_KIND + read + _SAME_LINE * same_line + _SAME_NAME * (call.name == made.name)


def _results(call: _Call, made: _Made) -> list[tuple[ProgramTrack, Value]]:
    """The results of a node and the values that they are."""
    several = [track for track in call.tracks if track.output is not None]
    if not several:
        fitting = [value for value in made.results if _may_be(call.tracks[0], value)]
        return [(call.tracks[0], fitting[-1])] if fitting else []
    found = [(track, _numbered(made, track.output or 0)) for track in several]
    return [(track, value) for track, value in found if value in made.results and value and _may_be(track, value)]


def _numbered(made: _Made, k: int) -> Value | None:
    """Result ``k`` of several: of one node its output, of a node for each the one that PyTorch numbered so."""
    named = [node for node in made.nodes if node.name == f"node_{made.name}__{k}" and len(node.outputs) == 1]
    node = named[0] if named else made.nodes[-1]
    if named or k < len(node.outputs) > 1:
        return node.outputs[0 if named else k]
    return None


def _may_be(track: Track, value: Value | None) -> bool:
    """Whether the declared type of a value allows what a track holds."""
    if value is None:
        return False
    declared = value.type if isinstance(value.type, TensorType) else TensorType()
    held = next(iter(track.values.values()))
    if declared.dtype is not None and held.dtype != declared.dtype:
        return False
    shape = declared.shape
    if shape is None:
        return True
    sizes = zip(shape, held.shape, strict=False)
    return len(shape) == held.ndim and all(not isinstance(size, int) or size == had for size, had in sizes)
