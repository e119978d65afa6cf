"""One Python loop that a program is unrolled from: the copies of its nodes by iteration, and its carried values."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, takewhile
from typing import Any

from .program_track import ProgramTrack
from .reference import Key
from .repeat_detection import find_repeats
from .torch_graph import control_operator_name, flattened_arguments, producing_node

#: A node of the body, with a copy in each iteration: the common token of all copies, and its number among those of one
#: iteration.
BodyNode = tuple[Hashable, int]
#: The copies of a node, by the iterations of all nested loops.
CopiesByIteration = dict[Key, Any]
#: Returns the value of an input of the main graph, which the first iteration may read.
InputValues = Callable[[str], Mapping[Key, Any]]


def node_token(node: Any) -> Hashable:
    """The common token of all copies of a node; the node itself if nothing is known of it."""
    trace, module = node.meta.get("stack_trace"), _module_path(node)
    if trace and control_operator_name(producing_node(node)):
        # Each call of such an operator is in generated code of its own.
        trace = trace.partition('  File "<')[0]
    return (str(node.target), module, trace) if trace or module else node.name


def _module_path(node: Any) -> str:
    """The path of the module whose code created a node; empty for the outermost."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return str(stack[-1][0]) if stack else ""


def _module_call_name(node: Any) -> str:
    """The call of that module: ``L__self___cell@1`` is the second one."""
    return str(next(reversed([*(node.meta.get("nn_module_stack") or {})]), ""))


class UnrolledLoop:
    """Copies of the nodes of a graph, iteration by iteration, in execution order.

    ``iterations``: by the iterations of the enclosing Python loops and its own. ``tracks``: the results of the nodes of
    the graph.
    """

    def __init__(self, iterations: Mapping[Key, Sequence[Any]], tracks: Mapping[str, ProgramTrack]) -> None:
        self.iterations, self._tracks = iterations, tracks
        self.copies_by_node: dict[BodyNode, CopiesByIteration] = {}
        for key, nodes in iterations.items():
            counts: Counter[Hashable] = Counter()
            for node in nodes:
                kind = node_token(node)
                self.copies_by_node.setdefault((kind, counts[kind]), {})[key] = node
                counts[kind] += 1
        self._node_by_copy = {
            (node.name, key): slot for slot, copies in self.copies_by_node.items() for key, node in copies.items()
        }
        #: Value read by the next iteration -> the initial value of each entry, if known.
        self._carried_reads = self._find_carried_reads()

    def is_loop(self) -> bool:
        """Whether each iteration reads a result of the previous one. Two single nodes have to be two calls of a module:
        ``a + b + c`` is no loop."""
        calls = {_module_call_name(node) for nodes in self.iterations.values() for node in nodes}
        is_short = max(map(len, self.iterations.values())) == 1 and max(self._trips_by_entry().values()) == 2
        return bool(self._carried_reads) and (not is_short or len(calls) == len(self.iterations))

    def inner_loops(self) -> Iterator[UnrolledLoop]:
        """Yield the loops in each iteration: ranges of the same nodes are the entries of one loop."""
        entries: dict[Hashable, dict[Key, Sequence[Any]]] = {}
        for key, nodes in self.iterations.items():
            counts: Counter[Hashable] = Counter()
            for rounds in find_repeats([node_token(node) for node in nodes]):
                kind = frozenset(node_token(nodes[i]) for indices in rounds for i in indices)
                iterations = entries.setdefault((kind, counts[kind]), {})
                iterations.update(((*key, j), [nodes[i] for i in indices]) for j, indices in enumerate(rounds))
                counts[kind] += 1
        loops = (UnrolledLoop(iterations, self._tracks) for iterations in entries.values())
        yield from (loop for loop in loops if loop.is_loop())

    def outer_loop_if_nested(self) -> UnrolledLoop:
        """If all nodes are in the inner of two loops, return the outer one: its iterations share an index, and another
        index restarts in each."""
        indices = list(self._constant_arguments())
        for index in sorted(indices, key=lambda index: len({*index})):
            starts = [k for k, number in enumerate(index) if not k or number != index[k - 1]]
            if 1 < len(starts) <= len(index) // 2 and any(_restarts_at(other, starts) for other in indices):
                nodes = list(self.iterations.values())
                parts = zip(starts, [*starts[1:], len(nodes)], strict=True)
                groups: dict[Key, Sequence[Any]] = {
                    (i,): list(chain.from_iterable(nodes[first:last])) for i, (first, last) in enumerate(parts)
                }
                return UnrolledLoop(groups, self._tracks)
        return self

    def _constant_arguments(self) -> Iterator[list[str]]:
        """The constant arguments of the copies of a node, by position."""
        for copies in self.copies_by_node.values():
            if len(copies) == len(self.iterations):
                for arguments in zip(*(flattened_arguments(node) for node in copies.values()), strict=False):
                    if not any(argument.startswith("%") for argument in arguments):
                        yield list(arguments)

    def node_names(self) -> set[str]:
        """The names of its nodes."""
        return {node.name for nodes in self.iterations.values() for node in nodes}

    @property
    def outer_loop(self) -> str:
        """The loop of the program around all nodes."""
        return self._tracks[next(iter(self.iterations.values()))[0].name].loop

    @property
    def name(self) -> str:
        """The module that contains all nodes, or ``file.py:LINE``."""
        nodes = [node for nodes in self.iterations.values() for node in nodes]
        levels = zip(*(_module_path(node).split(".") for node in nodes), strict=False)
        common = ".".join(names[0] for names in takewhile(lambda names: len({*names}) == 1, levels))
        if common:
            return common
        lines = [self._tracks[node.name].source.rpartition(":") for node in nodes]
        files = [file for file, _, _ in lines if file]
        if not files:
            return str(nodes[0].name)
        file_name = max(files, key=files.count)
        return f"{os.path.basename(file_name)}:{min(int(line) for file, _, line in lines if file == file_name)}"

    def _trips_by_entry(self) -> dict[Key, int]:
        """The number of iterations of each entry."""
        return Counter(key[:-1] for key in self.iterations)

    def _find_carried_reads(self) -> dict[BodyNode, dict[Key, str]]:
        carried: dict[BodyNode, dict[Key, str]] = {}
        for copies in self.copies_by_node.values():
            for key, node in copies.items():
                operands = [(i, name[1:]) for i, name in enumerate(flattened_arguments(node)) if name.startswith("%")]
                for i, name in operands if key[-1] else ():
                    source = self._node_by_copy.get((name, (*key[:-1], key[-1] - 1)))
                    if source is not None and not carried.setdefault(source, {}).get(key[:-1]):
                        carried[source][key[:-1]] = _node_read_at(copies.get((*key[:-1], 0)), i)
        return carried

    def tracks(self, loop: str, input_values: InputValues, inner_paths: Mapping[str, str]) -> Iterator[ProgramTrack]:
        """The values that each iteration received and computed. ``inner_paths``: the path of the inner loop for nodes
        that belong to one."""
        for k, (slot, initial_names) in enumerate(self._carried_reads.items()):
            values = self._initial_values(initial_names, input_values) | self._values_by_iteration(slot, 1)
            track = self._make_track(slot, loop, values, k, inner_paths)
            yield replace(track, name=f"{track.name} received", role="carried", inside="")
        order = list(self._carried_reads)
        for slot in self.copies_by_node:
            position = order.index(slot) if slot in order else None
            yield self._make_track(slot, loop, self._values_by_iteration(slot, 0), position, inner_paths)

    def trips(self, tracks: Sequence[ProgramTrack]) -> dict[Key, int]:
        """The iteration counts by the iterations of all enclosing loops, including those of the program."""
        counts = self._trips_by_entry()
        depth = len(next(iter(counts)))
        entries = {key[:-1] for track in tracks for key in track.values}
        return {entry: counts[entry[len(entry) - depth :]] for entry in entries}

    def _initial_values(self, initial_names: Mapping[Key, str], input_values: InputValues) -> dict[Key, Any]:
        """The values that the first iteration of each entry received."""
        values = {}
        for entry, name in initial_names.items():
            source_values = self._tracks[name].values if name in self._tracks else input_values(name)
            values.update({(*outer, *entry, 0): value for outer, value in source_values.items()})
        return values

    def _values_by_iteration(self, slot: BodyNode, offset: int) -> dict[Key, Any]:
        return {
            (*outer, *key[:-1], key[-1] + offset): value
            for key, node in self.copies_by_node[slot].items()
            for outer, value in self._tracks[node.name].values.items()
        }

    def _make_track(
        self, slot: BodyNode, loop: str, values: dict[Key, Any], position: int | None, inner_paths: Mapping[str, str]
    ) -> ProgramTrack:
        first = next(iter(self.copies_by_node[slot].values()))
        track = self._tracks[first.name]
        return replace(
            track,
            name=f"{loop}/{track.name.rpartition('/')[2]}",
            values=values,
            loop=loop,
            reads=(),
            position=position,
            folded=True,
            inside=inner_paths.get(first.name, ""),
        )


def _restarts_at(index: Sequence[str], starts: Sequence[int]) -> bool:
    """Whether an index is the same at each start, and differs between consecutive iterations."""
    changes = all(number != index[k] for k, number in enumerate(index[1:]))
    return changes and len({index[start] for start in starts}) == 1


def _node_read_at(node: Any | None, position: int) -> str:
    """The node that a node reads at an argument position; empty if that is no other node."""
    names = () if node is None else flattened_arguments(node)
    return names[position][1:] if position < len(names) and names[position].startswith("%") else ""
