"""Converts a ``Loop`` or ``TensorIterator`` layer of OpenVINO IR and its port map to ``graph.Loop``.

Specifications: docs.openvino.ai, "Loop-5" and "TensorIterator-1"; what they do not define: docs/semantics.md 5 to 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from ...graph import (
    BackEdge,
    Graph,
    Invariant,
    LastValueOutput,
    Loop,
    ScanOutput,
    SlicedInput,
    System,
    TensorType,
    Value,
)
from ...record import record
from .deviation_notes import loop_notes
from .ir_document import BackEdgeEntry, IrLayer, IrNetwork, IrXml, PortMapEntry, format_ids


@record(frozen=True)
class LayerScope:
    """A built graph with its Parameters and Results by layer id, in document order."""

    graph: Graph
    network: IrNetwork
    parameters: dict[int, Value]
    results: dict[int, Value]


def check_body_layer(
    document: IrXml, layer: IrLayer, entry: PortMapEntry | BackEdgeEntry, id: int, kind: str, body: IrNetwork
) -> None:
    """Check that an entry refers to a Parameter (or a Result) of the body.

    Raises:
        ModelError: it refers to another or no layer; the message lists the known ids.
    """
    target = body.layers.get(id)
    if target is None or target.kind != kind.lower():
        known = format_ids(layer.id for layer in body.layers.values() if layer.kind == kind.lower())
        problem = "no layer of the body" if target is None else f"{target}, not a {kind}"
        raise document.error(
            entry.element,
            f"{layer}: {entry}: layer {id} is {problem}; the body's {kind}s have the ids {known}",
            name=f"layer {id}",
            expected=kind,
        )


def outer_value(document: IrXml, layer: IrLayer, entry: PortMapEntry, inputs: Mapping[int, Value]) -> Value:
    """The outer value at an input port, looked up by the port's id (docs/semantics.md 7.1).

    Raises:
        ModelError: the layer has no such input port, or nothing is connected to it.
    """
    known = {port.id for port in layer.inputs}
    if entry.external not in known:
        raise document.error(
            entry.element,
            f"{layer}: {entry}: it has no input port {entry.external}; its input ports are {format_ids(known)}",
            name="external_port_id",
            expected=format_ids(known),
            got=str(entry.external),
        )
    if entry.external not in inputs:
        raise document.error(
            entry.element,
            f"{layer}: {entry}: nothing is connected to input port {entry.external}",
            name=f"input port {entry.external}",
        )
    return inputs[entry.external]


class LoopBuilder:
    """Builds the loop of one layer. ``constants``: values to be added to the enclosing graph."""

    def __init__(
        self,
        document: IrXml,
        layer: IrLayer,
        inputs: Mapping[int, Value],
        outputs: Mapping[int, Value],
        body: LayerScope,
    ) -> None:
        """``inputs`` and ``outputs``: the outer values by port id."""
        self.document = document
        self.layer = layer
        self.inputs = inputs
        self.outputs = outputs
        self.body = body
        self.is_loop = layer.kind == "loop"
        self.constants: list[Value] = []
        #: The first back edge from each Result. Two Results may return the same value.
        self.back_edge_by_result: dict[int, BackEdge] = {}
        self.loop = Loop(
            name=layer.name,
            op_type=layer.type,
            domain=layer.version,
            version=layer.opset,
            inputs=[inputs[port.id] for port in layer.inputs if port.id in inputs],
            outputs=[outputs[port.id] for port in layer.outputs],
            body=body.graph,
            system=System.OPENVINO,
            input_ports=[port.id for port in layer.inputs if port.id in inputs],
            output_ports=[port.id for port in layer.outputs],
        )

    def build(self) -> Loop:
        """Build the loop.

        Raises:
            ModelError: an entry refers to a missing item, or the loop violates its specification.
        """
        input_entries, output_entries = self.document.port_map(self.layer)
        edges = self._back_edges_by_parameter()
        if self.is_loop:
            self.loop.minus_one_is_no_limit = True
            self.loop.trip_count = self._trip_count_or_condition_input(0, "trip count")
            self.loop.initial_condition = self._trip_count_or_condition_input(1, "execution condition")
            self.loop.condition = self._condition_result(output_entries)
        ports = self._connect_parameters(input_entries, edges)
        scans = self._connect_outputs(output_entries)
        if not self.is_loop:
            # A slice that only feeds iteration 0 (docs/semantics.md 2.1) counts as well: the specification iterates
            # over all parts of a sliced input, and OpenVINO's CPU plugin does so.
            self.loop.counted_by_slices = bool(self.loop.sliced_inputs) or any(
                isinstance(edge.initial, SlicedInput) for edge in self.loop.back_edges
            )
            if not self.loop.counted_by_slices:
                self.loop.fixed_trips = self._fixed_trip_count(scans)
        self.loop.notes = loop_notes(self.loop, ports)
        return self.loop

    def _trip_count_or_condition_input(self, rank: int, role: str) -> Value:
        """Loop-5's first two inputs, by the order of the ports."""
        ports = self.layer.inputs
        if rank >= len(ports) or ports[rank].id not in self.inputs:
            raise self.document.error(
                self.layer.element,
                f"{self.layer}: its input {rank}, the {role}, is required and not connected",
                name=role,
            )
        return self.inputs[ports[rank].id]

    def _condition_result(self, entries: list[PortMapEntry]) -> Value:
        conditions = [entry for entry in entries if entry.purpose == "execution_condition"]
        if not conditions:
            raise self.document.error(
                self.layer.element,
                f"{self.layer}: its body yields no execution condition; a port_map output with "
                'purpose="execution_condition" is required',
                name="execution_condition",
            )
        if len({entry.internal for entry in conditions}) > 1:
            raise self.document.error(
                conditions[1].element,
                f"{self.layer}: two body Results are marked as the execution condition, layers "
                f"{format_ids(entry.internal for entry in conditions)}",
                name="execution_condition",
                got=format_ids(entry.internal for entry in conditions),
            )
        self._check_is_result(conditions[0])
        return self.body.results[conditions[0].internal]

    def _check_is_result(self, entry: PortMapEntry) -> None:
        check_body_layer(self.document, self.layer, entry, entry.internal, "Result", self.body.network)

    def _back_edges_by_parameter(self) -> dict[int, BackEdgeEntry]:
        """The back edges by the Parameter that they lead to."""
        edges: dict[int, BackEdgeEntry] = {}
        for edge in self.document.back_edges(self.layer):
            check_body_layer(self.document, self.layer, edge, edge.source, "Result", self.body.network)
            check_body_layer(self.document, self.layer, edge, edge.target, "Parameter", self.body.network)
            if edge.target in edges:
                raise self.document.error(
                    edge.element,
                    f"{self.layer}: {edge}: a second back edge into body Parameter {self._parameter_name(edge.target)}",
                    name=self._parameter_name(edge.target),
                )
            edges[edge.target] = edge
        return edges

    def _parameter_name(self, parameter: int) -> str:
        return f"'{self.body.network.layers[parameter].name}' (layer {parameter})"

    def _connect_parameters(self, inputs: list[PortMapEntry], edges: Mapping[int, BackEdgeEntry]) -> dict[Value, int]:
        """Determine the source of every body Parameter.

        Returns the external input port that each reads, in the order of the port map.
        """
        by_parameter: dict[int, list[PortMapEntry]] = {id: [] for id in self.body.parameters}
        iteration: set[int] = set()
        for entry in inputs:
            check_body_layer(self.document, self.layer, entry, entry.internal, "Parameter", self.body.network)
            if self.is_loop and entry.purpose == "current_iteration":
                iteration.add(entry.internal)
            elif entry.external >= 0:  # -1: not connected to the loop's inputs (Loop-5)
                by_parameter[entry.internal].append(entry)
        for id, parameter in self.body.parameters.items():
            entries, edge = by_parameter[id], edges.get(id)
            if id in iteration:
                # Other inputs of it have no effect, as in OpenVINO.
                if edge is not None:
                    self._carry_iteration_number(id, parameter, edge)
                continue
            if len(entries) > 1:
                raise self.document.error(
                    entries[1].element,
                    f"{self.layer}: two port_map inputs feed body Parameter {self._parameter_name(id)}",
                    name=self._parameter_name(id),
                )
            if entries:
                self._connect_parameter(entries[0], parameter, edge)
            elif edge is not None:
                raise self.document.error(
                    edge.element,
                    f"{self.layer}: {edge}: body Parameter {self._parameter_name(id)} has no value for iteration 0; "
                    "a back edge needs a port_map input for its target",
                    name=self._parameter_name(id),
                    iteration=0,
                )
            elif self.is_loop:  # point 5 of Loop-5's description
                iteration.add(id)
            else:
                raise self.document.error(
                    self.body.network.layers[id].element,
                    f"{self.layer}: no port_map input feeds body Parameter {self._parameter_name(id)}",
                    name=self._parameter_name(id),
                )
        self._set_iteration_parameter([id for id in self.body.parameters if id in iteration], edges)
        inputs = [entry for entry in inputs if entry.external >= 0 and entry.internal not in iteration]
        return {self.body.parameters[entry.internal]: entry.external for entry in inputs}

    def _connect_parameter(self, entry: PortMapEntry, parameter: Value, edge: BackEdgeEntry | None) -> None:
        """Connect a Parameter to an outer value: sliced, carried, both, or invariant."""
        outer = outer_value(self.document, self.layer, entry, self.inputs)
        source: Value | SlicedInput = outer
        if entry.axis is not None:
            if entry.stride == 0:
                raise self.document.error(
                    entry.element, f'{self.layer}: {entry}: stride="0" never ends', name="stride", got="0"
                )
            if entry.part_size < 1:
                raise self.document.error(
                    entry.element,
                    f'{self.layer}: {entry}: part_size="{entry.part_size}" must be at least 1',
                    name="part_size",
                    expected="at least 1",
                    got=str(entry.part_size),
                )
            start, end = entry.start, entry.end
            if self.is_loop and entry.stride < 0 and (start, end) == (0, -1):
                # Loop-5 has no start and end, so OpenVINO reads backwards from the last part there; a TensorIterator
                # needs start="-1" end="0".
                start, end = -1, 0
            source = SlicedInput(outer, parameter, entry.axis, start, end, entry.stride, entry.part_size)
        if edge is not None:
            # With a slice too: part 0 first, the back edge afterwards (docs/semantics.md 2.1).
            self._add_back_edge(source, parameter, edge)
        elif isinstance(source, SlicedInput):
            self.loop.sliced_inputs.append(source)
        else:
            self.loop.invariants.append(Invariant(source, parameter))

    def _set_iteration_parameter(self, candidates: list[int], edges: Mapping[int, BackEdgeEntry]) -> None:
        """Set the Parameter that receives the iteration number, if there is one."""
        if len(candidates) > 1:
            names = " and ".join(self._parameter_name(id) for id in candidates)
            raise self.document.error(
                self.layer.element,
                f"{self.layer}: one body Parameter at most is the current iteration, but {names} are marked "
                "as it or fed by no port_map input",
                name="current_iteration",
                got=names,
            )
        for id in candidates:
            parameter = self.body.parameters[id]
            declared = parameter.type
            assert isinstance(declared, TensorType)
            sizes = [dim for dim in declared.shape or () if isinstance(dim, int)]
            if (declared.dtype is not None and declared.dtype.kind not in "iu") or prod(sizes) != 1:
                raise self.document.error(
                    self.body.network.layers[id].element,
                    f"{self.layer}: body Parameter {self._parameter_name(id)} is {declared} and no port_map input feeds"
                    " it; the current iteration is one integer",
                    name=self._parameter_name(id),
                    expected="one integer",
                    got=str(declared),
                )
            if id not in edges:
                self.loop.iteration = parameter

    def _carry_iteration_number(self, id: int, parameter: Value, edge: BackEdgeEntry) -> None:
        """Carry a current iteration with a back edge, from 0, as OpenVINO's CPU plugin does."""
        declared = parameter.type
        assert isinstance(declared, TensorType)
        zero = np.zeros([1] * len(declared.shape or ()), declared.dtype or np.int64)
        initial = Value(f"{self.layer.name}/{parameter.name}/initial", TensorType(zero.dtype, zero.shape), zero)
        self.constants.append(initial)
        self._add_back_edge(initial, parameter, edge)

    def _add_back_edge(self, initial: Value | SlicedInput, parameter: Value, edge: BackEdgeEntry) -> None:
        carried = BackEdge(initial, parameter, self.body.results[edge.source])
        self.loop.back_edges.append(carried)
        self.back_edge_by_result.setdefault(edge.source, carried)

    def _connect_outputs(self, entries: list[PortMapEntry]) -> list[PortMapEntry]:
        """Determine the source of every output port; returns the concatenated outputs, by output port."""
        by_port: dict[int, PortMapEntry] = {}
        for entry in entries:
            self._check_is_result(entry)
            if entry.external < 0:  # for internal needs only (docs/semantics.md 7.1)
                continue
            if entry.external not in self.outputs:
                raise self.document.error(
                    entry.element,
                    f"{self.layer}: {entry}: it has no output port {entry.external}; "
                    f"its output ports are {format_ids(self.outputs)}",
                    name="external_port_id",
                    expected=format_ids(self.outputs),
                    got=str(entry.external),
                )
            if entry.external in by_port:
                raise self.document.error(
                    entry.element,
                    f"{self.layer}: {entry}: a second entry for this output port",
                    name=f"output port {entry.external}",
                )
            by_port[entry.external] = entry
        for port, outer in self.outputs.items():
            output = by_port.get(port)
            if output is None:
                raise self.document.error(
                    self.layer.element,
                    f"{self.layer}: no port_map output fills its output port {port}",
                    name=f"output port {port}",
                )
            result = self.body.results[output.internal]
            if output.axis is None:
                self.loop.last_values.append(
                    LastValueOutput(result, outer, self.back_edge_by_result.get(output.internal))
                )
                continue
            if output.stride == 0:
                raise self.document.error(
                    output.element,
                    f'{self.layer}: {output}: stride="0" is neither forward nor backward',
                    name="stride",
                    got="0",
                )
            # Only the sign of stride matters (docs/semantics.md 6.3).
            reverse = output.stride < 0
            self.loop.scan_outputs.append(
                ScanOutput(result, outer, output.axis, stack=False, reverse=reverse, part_size=output.part_size)
            )
        return [by_port[port] for port in self.outputs if by_port[port].axis is not None]

    def _fixed_trip_count(self, scans: list[PortMapEntry]) -> int:
        """The trip count of a TensorIterator without sliced inputs.

        It follows from the first concatenated output, by default 1.

        docs/semantics.md 6.1: |end - start| / part_size, unchanged numbers (the defaults give 1).
        """
        if not scans:
            return 1
        first = scans[0]
        if first.part_size < 1:
            raise self.document.error(
                first.element,
                f'{self.layer}: {first}: part_size="{first.part_size}" must be at least 1',
                name="part_size",
                expected="at least 1",
                got=str(first.part_size),
            )
        return abs(first.end - first.start) // first.part_size
