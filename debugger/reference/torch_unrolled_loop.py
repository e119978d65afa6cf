"""One loop of Python that a program is unrolled from: the copies of its nodes by iteration, and what it carries."""

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
from .torch_graph import arguments_read, control_operator, producing_node

#: A node of the body, which has a copy in each iteration: what all copies have in common, and its number among those of
#: one iteration.
BodyNode = tuple[Hashable, int]
#: The copies of a node: of a loop in loops by the iterations of all.
CopiesByIteration = dict[Key, Any]
#: Tells what an input of the main graph was, which the first iteration may read.
InputValues = Callable[[str], Mapping[Key, Any]]


def node_token(node: Any) -> Hashable:
    """What all copies of a node have in common; of a node of which nothing is known, itself."""
    trace, module = node.meta.get("stack_trace"), _module_path(node)
    if trace and control_operator(producing_node(node)):
        # Each call of such an operator is in code of its own, which PyTorch wrote.
        trace = trace.partition('  File "<')[0]
    return (str(node.target), module, trace) if trace or module else node.name


def _module_path(node: Any) -> str:
    """The path of the module whose code a node comes of; empty for the outermost."""
    around = list((node.meta.get("nn_module_stack") or {}).values())
    return str(around[-1][0]) if around else ""


def _module_call(node: Any) -> str:
    """The call of that module: ``L__self___cell@1`` is the second one."""
    return str(next(reversed([*(node.meta.get("nn_module_stack") or {})]), ""))


class UnrolledLoop:
    """Copies of the nodes of a graph, iteration by iteration, in the order in which they ran.

    ``iterations``: by the iterations of the loops of Python around it and its own. ``tracks``: what the nodes of the
    graph computed.
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
        #: What the next iteration reads -> what the first one of each entry reads in its place, where that is known.
        self._carried_reads = self._find_carried()

    def is_loop(self) -> bool:
        """Whether each iteration reads something of the one before. Two single nodes have to be two calls of a module:
        ``a + b + c`` is no loop."""
        calls = {_module_call(node) for nodes in self.iterations.values() for node in nodes}
        few = max(map(len, self.iterations.values())) == 1 and max(self._trips_by_entry().values()) == 2
        return bool(self._carried_reads) and (not few or len(calls) == len(self.iterations))

    def inner_loops(self) -> Iterator[UnrolledLoop]:
        """The loops in each of its iterations: stretches of the same nodes are the entries of one loop."""
        entries: dict[Hashable, dict[Key, Sequence[Any]]] = {}
        for key, nodes in self.iterations.items():
            counts: Counter[Hashable] = Counter()
            for rounds in find_repeats([node_token(node) for node in nodes]):
                kind = frozenset(node_token(nodes[at]) for places in rounds for at in places)
                found = entries.setdefault((kind, counts[kind]), {})
                found.update(((*key, j), [nodes[at] for at in places]) for j, places in enumerate(rounds))
                counts[kind] += 1
        loops = (UnrolledLoop(iterations, self._tracks) for iterations in entries.values())
        yield from (loop for loop in loops if loop.is_loop())

    def group_nested(self) -> UnrolledLoop:
        """Where all nodes are in the inner of two loops, the iterations of the outer one: those that share an index, in
        each of which another one begins anew."""
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
        """What the copies of a node are given that is no other node, place by place."""
        for copies in self.copies_by_node.values():
            if len(copies) == len(self.iterations):
                for given in zip(*(arguments_read(node) for node in copies.values()), strict=False):
                    if not any(one.startswith("%") for one in given):
                        yield list(given)

    def node_names(self) -> set[str]:
        """The nodes that belong to it."""
        return {node.name for nodes in self.iterations.values() for node in nodes}

    @property
    def outer_loop(self) -> str:
        """The loop of the program around all."""
        return self._tracks[next(iter(self.iterations.values()))[0].name].loop

    @property
    def name(self) -> str:
        """The module that all of it is in, or else ``file.py:LINE``."""
        nodes = [node for nodes in self.iterations.values() for node in nodes]
        levels = zip(*(_module_path(node).split(".") for node in nodes), strict=False)
        common = ".".join(names[0] for names in takewhile(lambda names: len({*names}) == 1, levels))
        if common:
            return common
        places = [self._tracks[node.name].source.rpartition(":") for node in nodes]
        files = [file for file, _, _ in places if file]
        if not files:
            return str(nodes[0].name)
        most = max(files, key=files.count)
        return f"{os.path.basename(most)}:{min(int(line) for file, _, line in places if file == most)}"

    def _trips_by_entry(self) -> dict[Key, int]:
        """By entry, how many iterations there are."""
        return Counter(key[:-1] for key in self.iterations)

    def _find_carried(self) -> dict[BodyNode, dict[Key, str]]:
        found: dict[BodyNode, dict[Key, str]] = {}
        for copies in self.copies_by_node.values():
            for key, node in copies.items():
                given = [(at, name[1:]) for at, name in enumerate(arguments_read(node)) if name.startswith("%")]
                for at, name in given if key[-1] else ():
                    source = self._node_by_copy.get((name, (*key[:-1], key[-1] - 1)))
                    if source is not None and not found.setdefault(source, {}).get(key[:-1]):
                        found[source][key[:-1]] = _node_read_at(copies.get((*key[:-1], 0)), at)
        return found

    def tracks(self, loop: str, given: InputValues, inside: Mapping[str, str]) -> Iterator[ProgramTrack]:
        """What each iteration received, and what it computed. ``inside``: of nodes that belong to a loop in this one
        as well the path of that."""
        for k, (slot, begun) in enumerate(self._carried_reads.items()):
            values = self._initial_values(begun, given) | self._values_by_iteration(slot, 1)
            track = self._make_track(slot, loop, values, k, inside)
            yield replace(track, name=f"{track.name} received", role="carried", inside="")
        order = list(self._carried_reads)
        for slot in self.copies_by_node:
            position = order.index(slot) if slot in order else None
            yield self._make_track(slot, loop, self._values_by_iteration(slot, 0), position, inside)

    def trips(self, tracks: Sequence[ProgramTrack]) -> dict[Key, int]:
        """By the iterations of all loops around it, those of the program too, how often it ran."""
        counts = self._trips_by_entry()
        around = len(next(iter(counts)))
        entries = {key[:-1] for track in tracks for key in track.values}
        return {entry: counts[entry[len(entry) - around :]] for entry in entries}

    def _initial_values(self, begun: Mapping[Key, str], given: InputValues) -> dict[Key, Any]:
        """What the first iteration of each entry received."""
        found = {}
        for entry, name in begun.items():
            before = self._tracks[name].values if name in self._tracks else given(name)
            found.update({(*at, *entry, 0): value for at, value in before.items()})
        return found

    def _values_by_iteration(self, slot: BodyNode, behind: int) -> dict[Key, Any]:
        return {
            (*at, *key[:-1], key[-1] + behind): value
            for key, node in self.copies_by_node[slot].items()
            for at, value in self._tracks[node.name].values.items()
        }

    def _make_track(
        self, slot: BodyNode, loop: str, values: dict[Key, Any], position: int | None, inside: Mapping[str, str]
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
            inside=inside.get(first.name, ""),
        )


def _restarts_at(index: Sequence[str], starts: Sequence[int]) -> bool:
    """Whether an index is the same at each start, and another one from each iteration to the next."""
    changes = all(number != index[k] for k, number in enumerate(index[1:]))
    return changes and len({index[start] for start in starts}) == 1


def _node_read_at(node: Any | None, at: int) -> str:
    """What a node reads in one place; empty where that is no other node."""
    names = () if node is None else arguments_read(node)
    return names[at][1:] if at < len(names) and names[at].startswith("%") else ""
