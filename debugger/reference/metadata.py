"""Which values of a model are values of the program that it was exported from: by the metadata that exporters write.

A node of a model has the name of the node of the program that it was made for, as the exporter knew it: programs are
rewritten before they are exported, so that ``mul`` may have become ``mul_2`` by then, and some nodes are gone. So names
are compared without their numbers, in their order, graph by graph; source lines, declared types, equal numbers and what
the numbers of others rule out decide among several ways. Of several nodes that were made for one, the result is what
others read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...runtime.graph import Graph, If, Loop, Node, TensorType, Value, bodies, captured
from .alignment import aligned, likenesses
from .numbering import Numbered, numbered, parted, tell
from .program import ProgramTrack
from .reference import Pairing, Reference, Track

#: How much it counts that names are equal but for their numbers, with them, and that source lines are.
_SAME_KIND, _SAME_LINE, _SAME_NAME = 100, 8, 4
#: How much it counts that what is read comes from nodes of the same kind, and from those that are a pair.
_ALIKE_READS, _SAME_READS = 20, 40
#: How much it counts against a pair that it is none by its numbers: more than that it reads the same. A node that is
#: wrong may read what another one should, but its exporter numbered it before.
_RULED_OUT = -70
#: How often pairs are looked for, each time with what the pairs before tell of what is read and of numbers.
_ROUNDS = 3


def by_metadata(graph: Graph, reference: Reference, tracks: Sequence[Track]) -> list[Pairing]:
    """The values of a graph that tracks of an exported program stand for: outputs by their position, all else by the
    metadata of the nodes, if the model has any."""
    program = [track for track in tracks if isinstance(track, ProgramTrack)]
    found = list(_outputs(graph, program))
    if program:
        rooms = list(_Room(graph, None, "", _Readers(graph), program).rooms())
        by_number = False
        for _ in range(_ROUNDS):
            agreed = [room.look(by_number) for room in rooms]
            by_number = tell(agreed)
        found += [one for room in rooms for one in room.pairs()]
    return found


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

    #: The nodes of which it reads results.
    reads: list[_Call] = field(default_factory=list)


@dataclass(eq=False)
class _Made:
    """The nodes of a model that were made for one node of the program, and what others read of them."""

    name: str
    line: str
    nodes: list[Node] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)
    reads: list[_Made] = field(default_factory=list)


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
            fed = [value for value in node.inputs if value is not None]
            for value in (*fed, *(one for inner in inside for one in captured(inner))):
                self._readers.setdefault(value, set()).add(node)
            for inner in inside:
                self._add(inner)

    def results(self, nodes: Sequence[Node]) -> list[Value]:
        """What others read of these nodes, and of a node of which nobody reads anything what it gives first: the result
        that a wrong reader no longer takes, rather than what stands on the way to it."""
        found: list[Value] = []
        for node in nodes:
            made = [value for value in node.outputs if value is not None]
            is_read = any(self._readers.get(value) for value in made)
            found += [value for value in made if self._readers.get(value, set()) - set(nodes)] if is_read else made[:1]
        return found


@dataclass
class _Room:
    """The main graph, or the body of a loop, with the branches in it; ``there``: the loop's path in the program."""

    graph: Graph
    loop: Loop | None
    there: str
    readers: _Readers
    program: Sequence[ProgramTrack]

    #: Which nodes were made for which, as far as that is known, and what their numbers tell.
    found: list[tuple[_Call, _Made]] = field(default_factory=list)
    numbered: Numbered | None = None

    def __post_init__(self) -> None:
        self._nodes = list(_walked(self.graph))
        self._calls, self._groups = self._called(), self._made()
        _know_reads(self._calls, self._groups)

    def rooms(self) -> Iterator[_Room]:
        """This room, and those of the loops in it."""
        yield self
        for loop, there in self._loops([node for node in self._nodes if isinstance(node, Loop)]):
            yield from _Room(loop.body, loop, there, self.readers, self.program).rooms()

    def look(self, by_number: bool) -> tuple[int, int]:
        """Look for the nodes that were made for those of the program, with what is known by now; how far their numbers
        agree with it."""
        alike = likenesses(self._calls, self._groups, _Likeness(dict(self.found)))
        if not alike.size:
            return 0, 0
        against = self.numbered.told & ~self.numbered.pairs if by_number and self.numbered is not None else False
        found = aligned(alike + np.where(against, _RULED_OUT, 0))
        self.found = [(self._calls[i], self._groups[j]) for i, j in found]
        names = [(call.tracks[0].graph, call.name) for call in self._calls]
        self.numbered = numbered(names, [made.name for made in self._groups], alike)
        return self.numbered.agreed(found)

    def pairs(self) -> Iterator[Pairing]:
        """The pairs of this room."""
        yield from self._carried()
        for call, made in self.found:
            for track, value in _results(call, made):
                yield self._pairing(track, value)

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

    def _called(self) -> list[_Call]:
        found: dict[tuple[tuple[str, ...], str], _Call] = {}
        for track in self.program:
            if track.loop == self.there and track.role == "result" and track.position is None:
                found.setdefault((track.graph, track.node), _Call(track.node)).tracks.append(track)
        return list(found.values())

    def _made(self) -> list[_Made]:
        found: dict[tuple[str, ...], _Made] = {}
        for node in self._nodes:
            origin = node.origin
            line = f"{origin.file}:{origin.line}"
            if origin.framework_node:
                key = origin.framework_node, line, origin.traced
                found.setdefault(key, _Made(origin.framework_node, line)).nodes.append(node)
        for made in found.values():
            made.results = self.readers.results(made.nodes)
        return list(found.values())

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
    """``mul_2`` and ``mul_`` (in place) are ``mul``; ``lstm/l0`` is ``lstm``; a map is a scan that carries nothing."""
    kind = parted(name.partition("/")[0])[0].strip("_")
    return "scan" if kind == "map_impl" else kind


def _know_reads(calls: Sequence[_Call], groups: Sequence[_Made]) -> None:
    """Tell of both what they read: through nodes of a kind that the model does not have, what those read."""
    makers = {value: made for made in groups for node in made.nodes for value in node.outputs if value is not None}
    for made in groups:
        fed = [makers.get(value) for node in made.nodes for value in node.inputs if value is not None]
        made.reads = [one for one in fed if one is not None and one is not made]
    kinds = {_kind(made.name) for made in groups}
    names = {(track.graph, track.name.rpartition("/")[2]): call for call in calls for track in call.tracks}
    for call in calls:
        call.reads = list(_read(call, names, kinds))


def _read(call: _Call, names: Mapping[tuple[tuple[str, ...], str], _Call], kinds: Collection[str]) -> Iterator[_Call]:
    track = call.tracks[0]
    for name in track.reads:
        source = names.get((track.graph, name[1:])) if name.startswith("%") else None
        if source is None or source is call:
            continue
        if _kind(source.name) in kinds:
            yield source
        else:
            yield from _read(source, names, kinds)


@dataclass
class _Likeness:
    """How alike a node of the program and nodes of the model are. ``pairs``: what is known of others."""

    pairs: Mapping[_Call, _Made]

    def __call__(self, call: _Call, made: _Made) -> int:
        if _kind(call.name) != _kind(made.name) or not _results(call, made):
            return 0
        told = _SAME_LINE * (call.tracks[0].source == made.line) + _SAME_NAME * (call.name == made.name)
        return _SAME_KIND + self._reads(call, made) + told

    def _reads(self, call: _Call, made: _Made) -> int:
        most = max(len(call.reads), len(made.reads))
        if not most:
            return 0
        kinds = Counter(_kind(one.name) for one in call.reads) & Counter(_kind(one.name) for one in made.reads)
        pairs = Counter(self.pairs.get(one) for one in call.reads) & Counter(made.reads)
        return (_ALIKE_READS * kinds.total() + _SAME_READS * pairs.total()) // most


def _results(call: _Call, made: _Made) -> list[tuple[ProgramTrack, Value]]:
    """The results of a node and the values that they are."""
    several = [track for track in call.tracks if track.output is not None]
    if not several:
        fitting = [value for value in made.results if _may_be(call.tracks[0], value)]
        return [(call.tracks[0], fitting[-1])] if fitting else []
    found = []
    for track in several:
        value = _numbered(made, track.output or 0)
        if value is not None and value in made.results and _may_be(track, value):
            found.append((track, value))
    return found


def _numbered(made: _Made, k: int) -> Value | None:
    """Result ``k`` of several: of one node its output, of a node for each the one that PyTorch numbered so."""
    named = [node for node in made.nodes if node.name == f"node_{made.name}__{k}" and len(node.outputs) == 1]
    node = named[0] if named else made.nodes[-1]
    if named or k < len(node.outputs) > 1:
        return node.outputs[0 if named else k]
    return None


def _may_be(track: Track, value: Value) -> bool:
    """Whether the declared type of a value allows what a track holds."""
    declared = value.type if isinstance(value.type, TensorType) else TensorType()
    held = next(iter(track.values.values()))
    if declared.dtype is not None and held.dtype != declared.dtype:
        return False
    shape = declared.shape
    if shape is None:
        return True
    sizes = zip(shape, held.shape, strict=False)
    return len(shape) == held.ndim and all(not isinstance(size, int) or size == had for size, had in sizes)
