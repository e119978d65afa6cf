"""Match values of a model with values of the program that it was exported from, by the exporter's metadata.

A node of a model has the name of the program node that it was made for, as the exporter knew it: the program was
rewritten before the export, so that ``mul`` may have become ``mul_2``, and some nodes may be removed. Therefore names
are compared without their numbers, in order, graph by graph; source lines, declared types, equal numbers and
contradictions of other numbers decide between alternatives. Of several nodes made for one, the result is the value that
others read.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...runtime.graph import Graph, If, Loop, Node, TensorType, Value, bodies, captured_values
from .numbered_name_matching import NumberingAlignment, align_numbering, numbers_are_evidence, split_number
from .program_track import ProgramTrack
from .reference import Reference, Track, TrackMatch
from .sequence_alignment import align_sequences, similarity_matrix

#: Scores for equal names without their numbers, equal full names, and equal source lines.
_SAME_KIND_SCORE, _SAME_LINE_SCORE, _SAME_NAME_SCORE = 100, 8, 4
#: Scores for operands from nodes of the same kind, and from nodes that are matched.
_SAME_KIND_READS_SCORE, _SAME_READS_SCORE = 20, 40
#: Penalty for a pair that contradicts the numbering; more than equal operands score. A wrong node may have the operands
#: of another one, but its exporter numbered it before.
_CONTRADICTED_SCORE = -70
#: How PyTorch's exporter ends the names of results of a ``cond``'s branches.
_BRANCH_NAME = re.compile(r"_(true|false)_graph_\d+$")
#: Number of matching rounds; each uses the pairs and the numbering of the previous ones.
_ROUNDS = 3


def match_by_metadata(graph: Graph, reference: Reference, tracks: Sequence[Track]) -> list[TrackMatch]:
    """Return the values of a graph that match tracks of an exported program: outputs by position, others by the
    metadata of their nodes, if the model has any."""
    program = [track for track in tracks if isinstance(track, ProgramTrack)]
    matches = list(_match_outputs(graph, program))
    if program:
        matchers = list(_GraphMatcher(graph, None, "", _ReaderIndex(graph), program).walk_matchers())
        by_number = False
        for _ in range(_ROUNDS):
            counts = [matcher.match_nodes(by_number) for matcher in matchers]
            by_number = numbers_are_evidence(counts)
        matches += [match for matcher in matchers for match in matcher.paired_tracks()]
    return matches


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
    #: The branches around it in its loop, outermost first: ``true`` or ``false``.
    branches: tuple[str, ...]
    tracks: list[ProgramTrack] = field(default_factory=list)

    #: The nodes whose results it reads.
    reads: list[_ProgramNode] = field(default_factory=list)


@dataclass(eq=False)
class _ModelNodeGroup:
    """The nodes of a model that were made for one program node, and the results that others read."""

    name: str
    source_line: str
    branches: tuple[str, ...]
    nodes: list[Node] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)
    reads: list[_ModelNodeGroup] = field(default_factory=list)


class _ReaderIndex:
    """Readers of each value of a graph and its subgraphs; None: it is a result of its graph."""

    def __init__(self, graph: Graph) -> None:
        self._readers: dict[Value, set[Node | None]] = {}
        self._add_graph(graph)

    def _add_graph(self, graph: Graph) -> None:
        for value in graph.outputs:
            self._readers.setdefault(value, set()).add(None)
        for node in graph.nodes:
            subgraphs = [inner for _, inner in bodies(node)]
            inputs = [value for value in node.inputs if value is not None]
            for value in (*inputs, *(value for inner in subgraphs for value in captured_values(inner))):
                self._readers.setdefault(value, set()).add(node)
            for inner in subgraphs:
                self._add_graph(inner)

    def external_results(self, nodes: Sequence[Node]) -> list[Value]:
        """The results of these nodes that others read; of a node without readers its first output: a wrong reader no
        longer uses it, but it is the result rather than an intermediate value."""
        results: list[Value] = []
        for node in nodes:
            outs = [value for value in node.outputs if value is not None]
            is_read = any(self._readers.get(value) for value in outs)
            results += (
                [value for value in outs if self._readers.get(value, set()) - set(nodes)] if is_read else outs[:1]
            )
        return results


@dataclass
class _GraphMatcher:
    """Matcher of the main graph, or of a loop body, with its branches; ``program_loop``: its path in the program."""

    graph: Graph
    loop: Loop | None
    program_loop: str
    readers: _ReaderIndex
    program: Sequence[ProgramTrack]

    #: The matched nodes so far, and the evidence of their numbers.
    matches: list[tuple[_ProgramNode, _ModelNodeGroup]] = field(default_factory=list)
    numbering: NumberingAlignment | None = None

    def __post_init__(self) -> None:
        self._nodes = dict(_walk_nodes(self.graph, ()))
        self._program_nodes, self._model_groups = self._collect_program_nodes(), self._collect_model_groups()
        _set_operands(self._program_nodes, self._model_groups)

    def walk_matchers(self) -> Iterator[_GraphMatcher]:
        """Yield this matcher and those of its loops."""
        yield self
        for loop, path in self._matched_loops([node for node in self._nodes if isinstance(node, Loop)]):
            yield from _GraphMatcher(loop.body, loop, path, self.readers, self.program).walk_matchers()

    def match_nodes(self, by_number: bool) -> tuple[int, int]:
        """Match the nodes with the current knowledge; return how far their numbers agree."""
        scores = similarity_matrix(self._program_nodes, self._model_groups, _NodeSimilarity(dict(self.matches)))
        if not scores.size:
            return 0, 0
        clashes = self.numbering.compared & ~self.numbering.pairs if by_number and self.numbering is not None else False
        pairs = align_sequences(scores + np.where(clashes, _CONTRADICTED_SCORE, 0))
        self.matches = [(self._program_nodes[i], self._model_groups[j]) for i, j in pairs]
        names = [(call.tracks[0].graph, call.name) for call in self._program_nodes]
        self.numbering = align_numbering(names, [group.name for group in self._model_groups], scores)
        return self.numbering.count_agreement(pairs)

    def paired_tracks(self) -> Iterator[TrackMatch]:
        """The pairs of this matcher."""
        yield from self._carried_pairings()
        for call, group in self.matches:
            for track, value in _matching_results(call, group):
                yield self._make_pairing(track, value)

    def _make_pairing(self, track: ProgramTrack, value: Value) -> TrackMatch:
        return TrackMatch(track, "" if self.loop is None else self.loop.name, value, "metadata")

    def _carried_pairings(self) -> Iterator[TrackMatch]:
        """Parameters and results of the body by position; for a recurrent operator its states."""
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
        nodes: dict[tuple[tuple[str, ...], str], _ProgramNode] = {}
        for track in self.program:
            if track.loop == self.program_loop and track.role == "result" and track.position is None:
                node = nodes.setdefault((track.graph, track.node), _ProgramNode(track.node, _branch_labels(track)))
                node.tracks.append(track)
        return list(nodes.values())

    def _collect_model_groups(self) -> list[_ModelNodeGroup]:
        groups: dict[tuple[Any, ...], _ModelNodeGroup] = {}
        for node, branches in self._nodes.items():
            origin = node.origin
            line = f"{origin.file}:{origin.line}"
            if origin.framework_node:
                key = origin.framework_node, line, origin.traced, branches
                groups.setdefault(key, _ModelNodeGroup(origin.framework_node, line, branches)).nodes.append(node)
        for group in groups.values():
            group.results = self.readers.external_results(group.nodes)
        return list(groups.values())

    def _matched_loops(self, loops_here: Sequence[Loop]) -> Iterator[tuple[Loop, str]]:
        """The loops of this graph and their paths in the program, in order, if both have the same number of an
        operator."""
        start = f"{self.program_loop}/" if self.program_loop else ""
        relative = [track.loop.removeprefix(start) for track in self.program if track.loop.startswith(start)]
        names = [name for name in dict.fromkeys(relative) if name]
        outermost = [name for name in names if not any(name.startswith(f"{other}/") for other in names)]
        for kind in dict.fromkeys(_operator_kind(name) for name in outermost):
            paths = [name for name in outermost if _operator_kind(name) == kind]
            loops = [loop for loop in loops_here if _operator_kind(loop.origin.framework_node) == kind]
            if len(paths) == len(loops):
                yield from ((loop, start + path) for loop, path in zip(loops, paths, strict=True))


def _walk_nodes(graph: Graph, branches: tuple[str, ...]) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """The nodes of a graph and of its branches, branches first, without loop bodies; with the branches around each."""
    for node in graph.nodes:
        if isinstance(node, If):
            for role, inner in bodies(node):
                yield from _walk_nodes(inner, (*branches, _program_branch(role, inner)))
        yield node, branches


def _program_branch(role: str, branch: Graph) -> str:
    """The branch of a ``cond`` that a branch of an If was made from. The names of its results tell more than its role:
    the branches of a wrong model may have changed places."""
    labels = {match[1] for value in branch.outputs if (match := _BRANCH_NAME.search(value.name))}
    return labels.pop() if len(labels) == 1 else "true" if role == "then" else "false"


def _branch_labels(track: ProgramTrack) -> tuple[str, ...]:
    """The branches around a value of a program in its loop, outermost first."""
    labels = list(itertools.takewhile(("true", "false", "block").__contains__, reversed(track.graph[1::2])))
    return tuple(label for label in reversed(labels) if label != "block")


def _operator_kind(name: str) -> str:
    """``mul_2`` and ``mul_`` (in place) are ``mul``; ``lstm/l0`` is ``lstm``; a map is a scan without state."""
    kind = split_number(name.partition("/")[0])[0].strip("_")
    return "scan" if kind == "map_impl" else kind


def _set_operands(calls: Sequence[_ProgramNode], groups: Sequence[_ModelNodeGroup]) -> None:
    """Set the operands of both; nodes of a kind that the model does not have are skipped to their own operands."""
    makers = {value: group for group in groups for node in group.nodes for value in node.outputs if value is not None}
    for group in groups:
        makers_read = [makers.get(value) for node in group.nodes for value in node.inputs if value is not None]
        group.reads = [maker for maker in makers_read if maker is not None and maker is not group]
    kinds = {_operator_kind(group.name) for group in groups}
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
    """The similarity of a program node and model nodes. ``known_matches``: the pairs of other nodes."""

    known_matches: Mapping[_ProgramNode, _ModelNodeGroup]

    def __call__(self, call: _ProgramNode, group: _ModelNodeGroup) -> int:
        if _operator_kind(call.name) != _operator_kind(group.name) or not _matching_results(call, group):
            return 0
        if call.branches != group.branches and len(call.branches) == len(group.branches):
            return 0  # of the branch that did not run
        score = _SAME_LINE_SCORE * (call.tracks[0].source == group.source_line) + _SAME_NAME_SCORE * (
            call.name == group.name
        )
        return _SAME_KIND_SCORE + self._common_operands_score(call, group) + score

    def _common_operands_score(self, call: _ProgramNode, group: _ModelNodeGroup) -> int:
        count = max(len(call.reads), len(group.reads))
        if not count:
            return 0
        kinds = Counter(_operator_kind(node.name) for node in call.reads) & Counter(
            _operator_kind(node.name) for node in group.reads
        )
        pairs = Counter(self.known_matches.get(node) for node in call.reads) & Counter(group.reads)
        return (_SAME_KIND_READS_SCORE * kinds.total() + _SAME_READS_SCORE * pairs.total()) // count


def _matching_results(call: _ProgramNode, group: _ModelNodeGroup) -> list[tuple[ProgramTrack, Value]]:
    """The results of a node and the values that they match."""
    numbered = [track for track in call.tracks if track.output is not None]
    if not numbered:
        fitting = [value for value in group.results if _type_allows(call.tracks[0], value)]
        return [(call.tracks[0], fitting[-1])] if fitting else []
    results = []
    for track in numbered:
        value = _numbered_result(group, track.output or 0)
        if value is not None and value in group.results and _type_allows(track, value):
            results.append((track, value))
    return results


def _numbered_result(group: _ModelNodeGroup, k: int) -> Value | None:
    """Result ``k`` of several: of one node its output, of a node per result the one that PyTorch numbered so."""
    matches = [node for node in group.nodes if node.name == f"node_{group.name}__{k}" and len(node.outputs) == 1]
    node = matches[0] if matches else group.nodes[-1]
    if matches or k < len(node.outputs) > 1:
        return node.outputs[0 if matches else k]
    return None


def _type_allows(track: Track, value: Value) -> bool:
    """Whether the declared type of a value allows the values of a track."""
    declared = value.type if isinstance(value.type, TensorType) else TensorType()
    array = next(iter(track.values.values()))
    if declared.dtype is not None and array.dtype != declared.dtype:
        return False
    shape = declared.shape
    if shape is None:
        return True
    sizes = zip(shape, array.shape, strict=False)
    return len(shape) == array.ndim and all(not isinstance(size, int) or size == actual for size, actual in sizes)
