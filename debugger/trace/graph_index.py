"""Index of the loop graph of a recording: locations of values, and which of them are recorded."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from ...runtime.graph import (
    BackEdge,
    Graph,
    Loop,
    Node,
    SlicedInput,
    Value,
    bodies,
    loops,
    own_nodes,
    own_values,
    visible_values,
)
from ...runtime.graph.dependence import condition_values
from ..session.live_status import TrackedValues
from . import queries
from .probes import PortKind
from .queries import BoundaryFilter
from .trace_store import BoundaryRef, RecordedEntry, RecordedLoop, TraceStore

#: Size of the cache of entries of nested loops.
_ENTRY_CACHE_SIZE = 1024


class GraphIndex:
    """Cached data for the frames of a recording."""

    def __init__(self, trace: TraceStore) -> None:
        self.trace = trace
        self.graph = trace.graph
        graph_loops = loops(trace.graph)
        recorded = [(r.name, r.op_type, r.parent) for r in trace.loops]
        if recorded != list(_loop_signatures(trace.graph, None, itertools.count())):
            raise trace.damage_error("its graph has other loops than were recorded")
        self.loops = [LoopBodyIndex(r, loop) for r, loop in zip(trace.loops, graph_loops, strict=True)]
        self.inputs = trace.inputs
        self._entry_cache: dict[tuple[int, tuple[int, ...]], tuple[RecordedEntry, BoundaryRef]] = {}

    @property
    def outputs(self) -> dict[str, Any]:
        """The outputs of the run by value name in the graph; empty if it did not reach its end."""
        return self._outputs

    @cached_property
    def _outputs(self) -> dict[str, Any]:
        names = self.graph.output_names or [value.name for value in self.graph.outputs]
        data = self.trace.outputs or {}
        return {value.name: data[name] for value, name in zip(self.graph.outputs, names, strict=True) if name in data}

    def child_loops(self, index: int) -> list[LoopBodyIndex]:
        """The loops directly in a loop's body; -1: in the main graph."""
        return self._children.get(index, [])

    @cached_property
    def _children(self) -> dict[int, list[LoopBodyIndex]]:
        children: dict[int, list[LoopBodyIndex]] = {}
        for body in self.loops:
            children.setdefault(body.parent, []).append(body)
        return children

    def scope(self, index: int) -> Mapping[str, Value]:
        """The values in scope of a loop's body by name; -1: the main graph."""
        if index not in self._scope_cache:
            graphs: list[Graph] = []
            k = index
            while k >= 0:
                graphs.append(self.loops[k].loop.body)
                k = self.loops[k].parent
            self._scope_cache[index] = visible_values([*graphs, self.graph])
        return self._scope_cache[index]

    @cached_property
    def _scope_cache(self) -> dict[int, dict[str, Value]]:
        return {}

    def tracked_values(self, index: int) -> TrackedValues:
        """The values of a loop with recorded histories."""
        if index not in self._tracked_values_cache:
            self._tracked_values_cache[index] = TrackedValues(self.loops[index].loop)
        return self._tracked_values_cache[index]

    @cached_property
    def _tracked_values_cache(self) -> dict[int, TrackedValues]:
        return {}

    def entry_start(self, index: int, around: tuple[int, ...]) -> tuple[RecordedEntry, BoundaryRef] | None:
        """An entry of a loop with its first boundary; None if there is none."""
        key = (index, around)
        if key not in self._entry_cache:
            number = queries.find_entry(self.trace.rows, index, around)
            ref = None if number is None else self.trace.boundary_ref(BoundaryFilter(entry=number, iteration=0))
            if number is not None and ref is not None:
                if len(self._entry_cache) >= _ENTRY_CACHE_SIZE:
                    self._entry_cache.clear()
                self._entry_cache[key] = self.trace.entry(number), ref
        return self._entry_cache.get(key)

    # -- recorded values

    def is_recorded(self, index: int, value: Value) -> bool:
        """Whether a body's value is available at the boundaries of a loop (-1: the main graph)."""
        if value.constant is not None:
            return True
        if index < 0:
            return value.name in self.inputs or value.name in self.graph.defaults or self._is_read_by_child(-1, value)
        body = self.loops[index]
        for scan in body.loop.scan_outputs:
            if scan.outer is value:
                # The collected value needs every element.
                return self.trace.every == 1 and (PortKind.SCAN, value.name) in self.trace.ports(index)
        if value in body.own_values:
            return self._is_body_value_recorded(body, value)
        if (PortKind.CAPTURE, value.name) in self.trace.ports(index):
            return True
        return self.is_recorded(body.parent, value)

    def _is_body_value_recorded(self, body: LoopBodyIndex, value: Value) -> bool:
        ports = self.trace.ports(body.index)
        if value in body.edges:
            return (PortKind.CARRIED, value.name) in ports
        if value in body.sliced:
            return self.is_recorded(body.index, body.sliced[value].outer)
        if value in body.invariants:
            return self.is_recorded(body.index, body.invariants[value])
        if value in body.params:
            return True
        keys = [(PortKind.CARRIED, edge.param.name) for edge in body.edges_of_result.get(value, ())]
        keys += [(PortKind.SCAN, name) for name in body.scans_of_result.get(value, ())]
        keys.append((PortKind.NODE, value.name))
        is_condition = value is body.loop.condition
        return is_condition or any(port in ports for port in keys) or self._is_read_by_child(body.index, value)

    def _is_read_by_child(self, index: int, value: Value) -> bool:
        """Whether an inner loop reads a value, which is then recorded at its entry."""
        return any(
            (PortKind.CAPTURE, value.name) in self.trace.ports(inner.index)
            or any(
                (PortKind.CARRIED, edge.param.name) in self.trace.ports(inner.index)
                for edge in inner.loop.back_edges
                if edge.initial is value
            )
            for inner in self.child_loops(index)
        )


class LoopBodyIndex:
    """One loop: its position among the loops, and its values by role."""

    def __init__(self, recorded: RecordedLoop, loop: Loop) -> None:
        self.index = recorded.index
        self.path = recorded.path
        self.parent = -1 if recorded.parent is None else recorded.parent
        self.loop = loop
        self.params = frozenset(loop.body.inputs)
        self.own_values = frozenset(own_values(loop.body))
        #: Values of the loop test before an iteration.
        self.condition_values = frozenset(condition_values(loop))
        self.edges: dict[Value, BackEdge] = {edge.param: edge for edge in loop.back_edges}
        self.sliced: dict[Value, SlicedInput] = {port_.inner: port_ for port_ in loop.sliced_inputs}
        self.invariants: dict[Value, Value] = {port_.inner: port_.outer for port_ in loop.invariants}
        #: Uses of body values: back edges that carry them, and scan outputs that collect them.
        self.edges_of_result: dict[Value, list[BackEdge]] = {}
        self.scans_of_result: dict[Value, list[str]] = {}
        for edge in loop.back_edges:
            if edge.result not in self.params:
                self.edges_of_result.setdefault(edge.result, []).append(edge)
        for port in loop.scan_outputs:
            if port.result not in self.params:
                self.scans_of_result.setdefault(port.result, []).append(port.outer.name)

    @cached_property
    def producers(self) -> dict[Value, Node]:
        """The node that computes each value."""
        return {value: node for node in own_nodes(self.loop.body) for value in node.outputs if value is not None}


def _loop_signatures(graph: Graph, parent: int | None, numbers: Iterator[int]) -> Iterator[tuple[str, str, int | None]]:
    """Name, operator and parent of each loop, outer before inner."""
    for node in graph.nodes:
        inner_parent = parent
        if isinstance(node, Loop):
            inner_parent = next(numbers)
            yield node.name, node.op_type, parent
        for _, body in bodies(node):
            yield from _loop_signatures(body, inner_parent, numbers)
