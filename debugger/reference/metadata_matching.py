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

from ...runtime.graph import Graph, If, Loop, Node, TensorType, Value, bodies, captured_values
from .name_numbering import NumberingAlignment, align_numbering, numbers_are_evidence, split_number
from .program_track import ProgramTrack
from .reference import Reference, Track, TrackMatch
from .sequence_alignment import align_sequences, similarity_matrix

#: How much it counts that names are equal but for their numbers, with them, and that source lines are.
_SAME_KIND_SCORE, _SAME_LINE_SCORE, _SAME_NAME_SCORE = 100, 8, 4
#: How much it counts that what is read comes from nodes of the same kind, and from those that are a pair.
_SAME_KIND_READS_SCORE, _SAME_READS_SCORE = 20, 40
#: How much it counts against a pair that it is none by its numbers: more than that it reads the same. A node that is
#: wrong may read what another one should, but its exporter numbered it before.
_CONTRADICTED_SCORE = -70
#: How often pairs are looked for, each time with what the pairs before tell of what is read and of numbers.
_ROUNDS = 3


def match_by_metadata(graph: Graph, reference: Reference, tracks: Sequence[Track]) -> list[TrackMatch]:
    """The values of a graph that tracks of an exported program stand for: outputs by their position, all else by the
    metadata of the nodes, if the model has any."""
    program = [track for track in tracks if isinstance(track, ProgramTrack)]
    found = list(_match_outputs(graph, program))
    if program:
        rooms = list(_GraphMatcher(graph, None, "", _ReaderIndex(graph), program).walk_matchers())
        by_number = False
        for _ in range(_ROUNDS):
            agreed = [room.match_nodes(by_number) for room in rooms]
            by_number = numbers_are_evidence(agreed)
        found += [one for room in rooms for one in room.pairings()]
    return found


def _match_outputs(graph: Graph, program: Sequence[ProgramTrack]) -> Iterator[TrackMatch]:
    outputs = [track for track in program if track.role == "output"]
    if len(outputs) == len(graph.outputs):
        for track, value in zip(outputs, graph.outputs, strict=True):
            if _type_allows(track, value):
                yield TrackMatch(track, "", value, "position")


@dataclass(eq=False)
class _ProgramNode:
    """A node of the program: the tracks of its results."""

    name: str
    tracks: list[ProgramTrack] = field(default_factory=list)

    #: The nodes of which it reads results.
    reads: list[_ProgramNode] = field(default_factory=list)


@dataclass(eq=False)
class _ModelNodeGroup:
    """The nodes of a model that were made for one node of the program, and what others read of them."""

    name: str
    source_line: str
    nodes: list[Node] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)
    reads: list[_ModelNodeGroup] = field(default_factory=list)


class _ReaderIndex:
    """Who reads each value of a graph, and of the graphs inside it; None: it is a result of its graph."""

    def __init__(self, graph: Graph) -> None:
        self._readers: dict[Value, set[Node | None]] = {}
        self._add_graph(graph)

    def _add_graph(self, graph: Graph) -> None:
        for value in graph.outputs:
            self._readers.setdefault(value, set()).add(None)
        for node in graph.nodes:
            inside = [inner for _, inner in bodies(node)]
            fed = [value for value in node.inputs if value is not None]
            for value in (*fed, *(one for inner in inside for one in captured_values(inner))):
                self._readers.setdefault(value, set()).add(node)
            for inner in inside:
                self._add_graph(inner)

    def external_results(self, nodes: Sequence[Node]) -> list[Value]:
        """What others read of these nodes, and of a node of which nobody reads anything what it gives first: the result
        that a wrong reader no longer takes, rather than what stands on the way to it."""
        found: list[Value] = []
        for node in nodes:
            made = [value for value in node.outputs if value is not None]
            is_read = any(self._readers.get(value) for value in made)
            found += [value for value in made if self._readers.get(value, set()) - set(nodes)] if is_read else made[:1]
        return found


@dataclass
class _GraphMatcher:
    """The main graph, or the body of a loop, with the branches in it; ``there``: the loop's path in the program."""

    graph: Graph
    loop: Loop | None
    program_loop: str
    readers: _ReaderIndex
    program: Sequence[ProgramTrack]

    #: Which nodes were made for which, as far as that is known, and what their numbers tell.
    matches: list[tuple[_ProgramNode, _ModelNodeGroup]] = field(default_factory=list)
    numbering: NumberingAlignment | None = None

    def __post_init__(self) -> None:
        self._nodes = list(_walk_nodes(self.graph))
        self._program_nodes, self._model_groups = self._collect_program_nodes(), self._collect_model_groups()
        _fill_reads(self._program_nodes, self._model_groups)

    def walk_matchers(self) -> Iterator[_GraphMatcher]:
        """This room, and those of the loops in it."""
        yield self
        for loop, there in self._matched_loops([node for node in self._nodes if isinstance(node, Loop)]):
            yield from _GraphMatcher(loop.body, loop, there, self.readers, self.program).walk_matchers()

    def match_nodes(self, by_number: bool) -> tuple[int, int]:
        """Look for the nodes that were made for those of the program, with what is known by now; how far their numbers
        agree with it."""
        alike = similarity_matrix(self._program_nodes, self._model_groups, _NodeSimilarity(dict(self.matches)))
        if not alike.size:
            return 0, 0
        against = self.numbering.compared & ~self.numbering.pairs if by_number and self.numbering is not None else False
        found = align_sequences(alike + np.where(against, _CONTRADICTED_SCORE, 0))
        self.matches = [(self._program_nodes[i], self._model_groups[j]) for i, j in found]
        names = [(call.tracks[0].graph, call.name) for call in self._program_nodes]
        self.numbering = align_numbering(names, [made.name for made in self._model_groups], alike)
        return self.numbering.count_agreement(found)

    def pairings(self) -> Iterator[TrackMatch]:
        """The pairs of this room."""
        yield from self._carried_pairings()
        for call, made in self.matches:
            for track, value in _matching_results(call, made):
                yield self._make_pairing(track, value)

    def _make_pairing(self, track: ProgramTrack, value: Value) -> TrackMatch:
        return TrackMatch(track, "" if self.loop is None else self.loop.name, value, "metadata")

    def _carried_pairings(self) -> Iterator[TrackMatch]:
        """What the body gets and what it gives back, by position; of a recurrent operator its states."""
        edges = [] if self.loop is None else self.loop.back_edges
        for track in self.program:
            k = track.position
            if (
                track.loop == self.program_loop
                and k is not None
                and k < len(edges)
                and track.role in ("carried", "result")
            ):
                value = edges[k].param if track.role == "carried" else edges[k].result
                if _type_allows(track, value):
                    yield self._make_pairing(track, value)

    def _collect_program_nodes(self) -> list[_ProgramNode]:
        found: dict[tuple[tuple[str, ...], str], _ProgramNode] = {}
        for track in self.program:
            if track.loop == self.program_loop and track.role == "result" and track.position is None:
                found.setdefault((track.graph, track.node), _ProgramNode(track.node)).tracks.append(track)
        return list(found.values())

    def _collect_model_groups(self) -> list[_ModelNodeGroup]:
        found: dict[tuple[str, ...], _ModelNodeGroup] = {}
        for node in self._nodes:
            origin = node.origin
            line = f"{origin.file}:{origin.line}"
            if origin.framework_node:
                key = origin.framework_node, line, origin.traced
                found.setdefault(key, _ModelNodeGroup(origin.framework_node, line)).nodes.append(node)
        for made in found.values():
            made.results = self.readers.external_results(made.nodes)
        return list(found.values())

    def _matched_loops(self, here: Sequence[Loop]) -> Iterator[tuple[Loop, str]]:
        """The loops of this room and their paths in the program: as many of one operator as the program has, in their
        order."""
        start = f"{self.program_loop}/" if self.program_loop else ""
        inside = [track.loop.removeprefix(start) for track in self.program if track.loop.startswith(start)]
        named = [one for one in dict.fromkeys(inside) if one]
        there = [one for one in named if not any(one.startswith(f"{other}/") for other in named)]
        for kind in dict.fromkeys(_operator_kind(one) for one in there):
            paths = [one for one in there if _operator_kind(one) == kind]
            loops = [loop for loop in here if _operator_kind(loop.origin.framework_node) == kind]
            if len(paths) == len(loops):
                yield from ((loop, start + path) for loop, path in zip(loops, paths, strict=True))


def _walk_nodes(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of the branches in it, those of the branches first; of loops not the bodies."""
    for node in graph.nodes:
        if isinstance(node, If):
            for _, inner in bodies(node):
                yield from _walk_nodes(inner)
        yield node


def _operator_kind(name: str) -> str:
    """``mul_2`` and ``mul_`` (in place) are ``mul``; ``lstm/l0`` is ``lstm``; a map is a scan that carries nothing."""
    kind = split_number(name.partition("/")[0])[0].strip("_")
    return "scan" if kind == "map_impl" else kind


def _fill_reads(calls: Sequence[_ProgramNode], groups: Sequence[_ModelNodeGroup]) -> None:
    """Tell of both what they read: through nodes of a kind that the model does not have, what those read."""
    makers = {value: made for made in groups for node in made.nodes for value in node.outputs if value is not None}
    for made in groups:
        fed = [makers.get(value) for node in made.nodes for value in node.inputs if value is not None]
        made.reads = [one for one in fed if one is not None and one is not made]
    kinds = {_operator_kind(made.name) for made in groups}
    names = {(track.graph, track.name.rpartition("/")[2]): call for call in calls for track in call.tracks}
    for call in calls:
        call.reads = list(_nodes_read(call, names, kinds))


def _nodes_read(
    call: _ProgramNode, names: Mapping[tuple[tuple[str, ...], str], _ProgramNode], kinds: Collection[str]
) -> Iterator[_ProgramNode]:
    track = call.tracks[0]
    for name in track.reads:
        source = names.get((track.graph, name[1:])) if name.startswith("%") else None
        if source is None or source is call:
            continue
        if _operator_kind(source.name) in kinds:
            yield source
        else:
            yield from _nodes_read(source, names, kinds)


@dataclass
class _NodeSimilarity:
    """How alike a node of the program and nodes of the model are. ``pairs``: what is known of others."""

    known_matches: Mapping[_ProgramNode, _ModelNodeGroup]

    def __call__(self, call: _ProgramNode, made: _ModelNodeGroup) -> int:
        if _operator_kind(call.name) != _operator_kind(made.name) or not _matching_results(call, made):
            return 0
        told = _SAME_LINE_SCORE * (call.tracks[0].source == made.source_line) + _SAME_NAME_SCORE * (
            call.name == made.name
        )
        return _SAME_KIND_SCORE + self._reads_score(call, made) + told

    def _reads_score(self, call: _ProgramNode, made: _ModelNodeGroup) -> int:
        most = max(len(call.reads), len(made.reads))
        if not most:
            return 0
        kinds = Counter(_operator_kind(one.name) for one in call.reads) & Counter(
            _operator_kind(one.name) for one in made.reads
        )
        pairs = Counter(self.known_matches.get(one) for one in call.reads) & Counter(made.reads)
        return (_SAME_KIND_READS_SCORE * kinds.total() + _SAME_READS_SCORE * pairs.total()) // most


def _matching_results(call: _ProgramNode, made: _ModelNodeGroup) -> list[tuple[ProgramTrack, Value]]:
    """The results of a node and the values that they are."""
    several = [track for track in call.tracks if track.output is not None]
    if not several:
        fitting = [value for value in made.results if _type_allows(call.tracks[0], value)]
        return [(call.tracks[0], fitting[-1])] if fitting else []
    found = []
    for track in several:
        value = _numbered_result(made, track.output or 0)
        if value is not None and value in made.results and _type_allows(track, value):
            found.append((track, value))
    return found


def _numbered_result(made: _ModelNodeGroup, k: int) -> Value | None:
    """Result ``k`` of several: of one node its output, of a node for each the one that PyTorch numbered so."""
    named = [node for node in made.nodes if node.name == f"node_{made.name}__{k}" and len(node.outputs) == 1]
    node = named[0] if named else made.nodes[-1]
    if named or k < len(node.outputs) > 1:
        return node.outputs[0 if named else k]
    return None


def _type_allows(track: Track, value: Value) -> bool:
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
