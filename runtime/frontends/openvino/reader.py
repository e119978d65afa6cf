"""Reads OpenVINO IR v10 and v11 into graphs.

Specification: docs.openvino.ai, "Operation Sets" and the pages of TensorIterator-1, Loop-5 and If-8. What they do not
define is in docs/semantics.md 5 and 6, the file format in 7. ``ir_document`` parses the file, ``constants`` reads its
constants, ``loops`` builds its loops, ``variables`` connects its variables.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeVar

from ...errors import LoopdbgError
from ...graph import Graph, If, Loop, Node, Operation, System, TensorType, Value, bodies, own_values
from ...text import fresh_name
from ..recurrent import expand_recurrent_operators
from .constants import IrConstantReader, declared_type, element_type
from .ir_document import Element, IrLayer, IrNetwork, IrXml, PortKey, format_ids, split_tensor_names
from .layer_origin import layer_origin_source
from .loops import LayerScope, LoopBuilder, check_body_layer, outer_value
from .variables import VariableConnector

#: Layers with inner graphs, and the first opset that has them (docs/semantics.md 7.2).
_FIRST_OPSET_WITH_SUBGRAPH = {"loop": 5, "tensoriterator": 1, "if": 8}
#: Layers whose outputs after the first are expensive, and are omitted where unused.
_LAYERS_WITH_COSTLY_OUTPUTS = frozenset({"maxpool"})
#: Layers that are inputs, constants and outputs of the graph, not nodes.
_NOT_NODES = ("parameter", "const", "constant", "result")
_Kind = TypeVar("_Kind", bound="IrGraphBuilder")


def read(path: Path, weights: Path | None = None) -> Graph:
    """Read an ``.xml`` and, where a constant needs it, the ``.bin`` in its folder, or ``weights`` instead.

    Values have the layer's name (``name.0``, ``name.1`` for several outputs, and a number as suffix where another value
    of the same scope has the name), outputs of a loop the names of their tensors; inputs and outputs of the model have
    OpenVINO's names (``any_name``). Constants are read-only copies.

    Raises:
        ModelError: the file is damaged, not IR v10 or v11, or invalid; the message has file and line.
        UnsupportedError: a constant has an unsupported type.
    """
    return build_graph(IrGraphBuilder, IrXml(Path(path)), weights)[0]


def build_graph(kind: type[_Kind], document: IrXml, weights: Path | None) -> tuple[Graph, _Kind]:
    """Build the graph of a document as :func:`read` does; returns the graph and its builder."""
    with IrConstantReader(document, weights) as blobs:
        builder = kind(document, blobs)
        scope = builder.build_scope(document.root, document.root.get("name") or document.path.stem, "the model")
    graph = scope.graph
    graph.opsets = dict(sorted(builder.opsets.items(), key=lambda item: item[1]))
    _set_input_names(document, scope)
    graph.output_names = _output_names(document, scope)
    builder.variables.connect(graph)
    try:
        expand_recurrent_operators(graph)
    except LoopdbgError as error:
        raise type(error).with_location(str(document.path), error) from None
    _make_names_unique(graph, set())
    return graph, builder


class IrGraphBuilder:
    """Builds the graphs of one document, inner ones together with their layers."""

    def __init__(self, document: IrXml, blobs: IrConstantReader) -> None:
        self.document = document
        self.constant_reader = blobs
        self.opsets: dict[str, int] = {}
        self.variables = VariableConnector(document)

    def build_scope(
        self,
        element: Element,
        name: str,
        label: str,
        captures: Mapping[int, Value] | None = None,
        outer: Collection[int] = (),
    ) -> LayerScope:
        """Build the graph of an element that has ``<layers>`` and ``<edges>``.

        ``captures``: outer values that replace Parameters, in the branches of an If; ``outer``: the layer ids of the
        enclosing graph.
        """
        network = self.document.network(element, label, outer)
        graph = Graph(name, system=System.OPENVINO)
        scope = LayerScope(graph, network, {}, {})
        values: dict[PortKey, Value] = {}
        for layer in network.layers.values():
            if layer.kind == "parameter" and captures and layer.id in captures:
                outputs = [captures[layer.id]] * len(layer.outputs)
            else:
                outputs = self._layer_values(layer)
                if layer.kind == "parameter":
                    parameter = outputs[0] if outputs else Value(layer.name, declared_type(self.document, layer))
                    graph.inputs.append(parameter)
                    scope.parameters[layer.id] = parameter
                elif layer.kind in ("const", "constant"):
                    graph.constants += outputs
            values.update({(layer.id, port.id): value for port, value in zip(layer.outputs, outputs, strict=True)})
        for layer in self._topological_order(network):
            graph.nodes.append(self._build_node(layer, network, values, graph))
            if len(layer.outputs) > 1:
                _set_output_names(layer, network, values, graph.nodes[-1])
        for layer in network.layers.values():
            if layer.kind == "result":
                source = network.sources.get((layer.id, layer.inputs[0].id)) if layer.inputs else None
                if source is None:
                    raise self.document.error(layer.element, f"nothing is connected to {layer}")
                scope.results[layer.id] = values[source]
                graph.outputs.append(values[source])
        return scope

    def _layer_values(self, layer: IrLayer) -> list[Value]:
        """The output values of a layer, by output port."""
        if layer.kind in ("parameter", "const", "constant"):
            if len(layer.outputs) > 1:
                raise self.document.error(
                    layer.element,
                    f"{layer} has {len(layer.outputs)} output ports, expected one",
                    name="output ports",
                    expected="1",
                    got=str(len(layer.outputs)),
                )
            if not layer.outputs:
                return []
            if layer.kind == "parameter":
                return [Value(layer.name, declared_type(self.document, layer))]
            array = self.constant_reader.read_constant(layer)
            return [Value(layer.name, TensorType(array.dtype, array.shape), array)]
        several = len(layer.outputs) > 1
        values = []
        for index, port in enumerate(layer.outputs):
            # Ports of unknown rank and scalar ports look the same in the file: no dimensions.
            declared = TensorType(element_type(self.document, layer, port.precision), port.dims or None)
            values.append(Value(f"{layer.name}.{index}" if several else layer.name, declared))
        return values

    def _topological_order(self, network: IrNetwork) -> list[IrLayer]:
        """The layers that are nodes in stable topological order.

        Raises:
            ModelError: layers form a cycle.
        """
        rank = {id: k for k, (id, layer) in enumerate(network.layers.items()) if layer.kind not in _NOT_NODES}
        users: dict[int, list[int]] = {id: [] for id in rank}
        pending = dict.fromkeys(rank, 0)
        for (target, _), (source, _) in network.sources.items():
            if source in rank and target in rank:
                users[source].append(target)
                pending[target] += 1
        ready = [(rank[id], id) for id in rank if not pending[id]]
        heapq.heapify(ready)
        order: list[IrLayer] = []
        while ready:
            _, id = heapq.heappop(ready)
            order.append(network.layers[id])
            for user in users[id]:
                pending[user] -= 1
                if not pending[user]:
                    heapq.heappush(ready, (rank[user], user))
        if len(order) < len(rank):
            # Every pending layer has a pending source: following sources leads into a cycle.
            sources = {target: source for (target, _), (source, _) in network.sources.items() if pending.get(source)}
            path = [next(id for id in rank if pending[id])]
            while path[-1] not in path[:-1]:
                path.append(sources[path[-1]])
            cycle = [network.layers[id] for id in reversed(path[path.index(path[-1]) :])]
            raise self.document.error(
                cycle[0].element,
                f"layers wait for each other: {' -> '.join(map(str, cycle))}; only the back edges of a loop lead back",
            )
        return order

    def _build_node(self, layer: IrLayer, network: IrNetwork, values: Mapping[PortKey, Value], graph: Graph) -> Node:
        node = self._create_node(layer, network, values, graph)
        node.source = layer_origin_source(layer)
        return node

    def _create_node(self, layer: IrLayer, network: IrNetwork, values: Mapping[PortKey, Value], graph: Graph) -> Node:
        if layer.opset:
            self.opsets[layer.version] = layer.opset
        inputs = {
            port.id: values[network.sources[layer.id, port.id]]
            for port in layer.inputs
            if (layer.id, port.id) in network.sources
        }
        outputs = {port.id: values[layer.id, port.id] for port in layer.outputs}
        if layer.kind not in _FIRST_OPSET_WITH_SUBGRAPH:
            if layer.kind in _LAYERS_WITH_COSTLY_OUTPUTS:
                read = set(network.sources.values())
                first = layer.outputs[0].id if layer.outputs else -1
                outputs = {port: out for port, out in outputs.items() if port == first or (layer.id, port) in read}
            operation = self._build_operation(layer, inputs, outputs)
            if layer.kind in ("readvalue", "assign"):
                self.variables.add_layer(layer, operation)
            return operation
        since = _FIRST_OPSET_WITH_SUBGRAPH[layer.kind]
        if layer.opset < since:
            raise self.document.error(
                layer.element, f"{layer}: {layer.version} has no {layer.type}; it exists from opset{since} on"
            )
        if layer.kind == "if":
            return self._build_if(layer, network, inputs, outputs)
        body = self.build_scope(
            self.document.body(layer, "body"),
            f"{layer.name}/body",
            f"the body of {layer}",
            outer=network.layers,
        )
        body.graph.output_names = [body.network.layers[id].name for id in body.results]
        builder = LoopBuilder(self.document, layer, inputs, outputs, body)
        loop = builder.build()
        graph.constants += builder.constants
        return loop

    def _build_operation(self, layer: IrLayer, inputs: Mapping[int, Value], outputs: Mapping[int, Value]) -> Operation:
        # Unconnected ports at the end are absent inputs, as in OpenVINO; a gap is an error.
        missing = [port.id for port in layer.inputs[: len(inputs)] if port.id not in inputs]
        if missing:
            raise self.document.error(
                layer.element, f"nothing is connected to input port {format_ids(missing)} of {layer}"
            )
        return Operation(
            name=layer.name,
            op_type=layer.type,
            domain=layer.version,
            version=layer.opset,
            inputs=list(inputs.values()),
            outputs=list(outputs.values()),
            attributes=layer.data,
        )

    def _build_if(
        self, layer: IrLayer, network: IrNetwork, inputs: Mapping[int, Value], outputs: Mapping[int, Value]
    ) -> If:
        """Build an If-8. A branch's Parameters are the outer values themselves, so the condition is the only input."""
        if not layer.inputs or layer.inputs[0].id not in inputs:
            raise self.document.error(
                layer.element, f"{layer}: its input 0, the condition, is not connected", name="input 0"
            )
        branches = [self._build_branch(layer, network, inputs, role) for role in ("then", "else")]
        return If(
            name=layer.name,
            op_type=layer.type,
            domain=layer.version,
            version=layer.opset,
            inputs=[inputs[layer.inputs[0].id]],
            outputs=list(outputs.values()),
            then_branch=branches[0],
            else_branch=branches[1],
        )

    def _build_branch(self, layer: IrLayer, network: IrNetwork, inputs: Mapping[int, Value], role: str) -> Graph:
        document, label = self.document, f"the {role} branch of {layer}"
        element = document.body(layer, f"{role}_body")
        input_entries, output_entries = document.port_map(layer, f"{role}_port_map")
        captures: dict[int, Value] = {}
        for entry in input_entries:
            if entry.internal in captures:
                raise document.error(
                    entry.element,
                    f"{layer}: {entry}: a second input for this {role} Parameter",
                    name=f"a second input for a {role} Parameter",
                )
            captures[entry.internal] = outer_value(document, layer, entry, inputs)
        scope = self.build_scope(element, f"{layer.name}/{role}", label, captures, network.layers)
        for entry in input_entries:
            check_body_layer(document, layer, entry, entry.internal, "Parameter", scope.network)
        for id in scope.parameters:
            inner = scope.network.layers[id]
            raise document.error(
                inner.element, f"{layer}: no {role}_port_map input feeds {inner} (layer {id})", name=inner.name
            )
        ports = [port.id for port in layer.outputs]
        if output_entries and not any(entry.external in ports for entry in output_entries):
            # The specification calls it a port id, but its own example counts the outputs from 0.
            ports = list(range(len(ports)))
        results: dict[int, Value] = {}
        for entry in output_entries:
            check_body_layer(document, layer, entry, entry.internal, "Result", scope.network)
            if entry.external not in ports:
                raise document.error(
                    entry.element,
                    f"{layer}: {entry}: it has no output port {entry.external}; its output ports are "
                    f"{format_ids(port.id for port in layer.outputs)}",
                )
            if entry.external in results:
                raise document.error(
                    entry.element,
                    f"{layer}: {entry}: a second entry for this output port",
                    name=f"output port {entry.external}",
                )
            results[entry.external] = scope.results[entry.internal]
        for port in ports:
            if port not in results:
                raise document.error(
                    layer.element,
                    f"{layer}: no {role}_port_map output fills its output port {port}",
                    name=f"output port {port}",
                )
        scope.graph.outputs = [results[port] for port in ports]
        return scope.graph


def _make_names_unique(graph: Graph, used: set[str], known: Collection[Value] = ()) -> None:
    """Make the names of a scope's values unique; for the branch of an If, ``used``: names of the enclosing graph,
    ``known``: captured values.

    An IR identifies values by ports, so that several layers of a graph may have the same name.
    """
    computed = (value for node in graph.nodes for value in node.outputs if value is not None)
    values = dict.fromkeys(value for value in (*graph.inputs, *graph.constants, *computed) if value not in known)
    for value in values:
        value.name = fresh_name(value.name, used)
    for node in graph.nodes:
        for _, inner in bodies(node):
            if isinstance(node, Loop):
                _make_names_unique(inner, set())
            else:
                _make_names_unique(inner, set(used), {*known, *values})


def _set_output_names(layer: IrLayer, network: IrNetwork, values: Mapping[PortKey, Value], node: Node) -> None:
    """Name a layer's outputs after their tensors, where the name is not a number and not used in its network or, for a
    loop, in its body."""
    used = {other.name for other in network.layers.values() if other.kind != "result" and other is not layer}
    if isinstance(node, Loop):
        used.update(value.name for value in own_values(node.body))
    for port in layer.outputs:
        value = values[layer.id, port.id]
        value.name = min((n for n in port.names if not n.isdecimal() and n not in used), default=value.name)
        used.add(value.name)


def _first_tensor_name(document: IrXml, layer: IrLayer, port: PortKey, layer_name: str) -> str:
    """OpenVINO's ``any_name`` of a tensor: the alphabetically first of its names.

    IR v10 adds the layer's own name to them (observed in 2026.4), v11 does not.
    """
    [info] = [info for info in layer.outputs if info.id == port[1]]
    known = [*info.names, layer_name] if document.version == 10 else info.names
    return min(known, default=layer_name)


def _set_input_names(document: IrXml, scope: LayerScope) -> None:
    """Set the names of the model's inputs to OpenVINO's; the tensor's other names and the layer's name become
    aliases."""
    used: dict[str, IrLayer] = {}
    aliases: dict[str, str] = {}
    for id, value in scope.parameters.items():
        layer = scope.network.layers[id]
        if layer.outputs:
            value.name = _first_tensor_name(document, layer, (id, layer.outputs[0].id), layer.name)
            aliases |= dict.fromkeys((layer.name, *layer.outputs[0].names), value.name)
        if value.name in used:
            raise document.error(
                layer.element, f"two inputs of the model are called '{value.name}'; rename one", name=value.name
            )
        used[value.name] = layer
    scope.graph.aliases = {alias: name for alias, name in aliases.items() if alias not in used}


def _output_names(document: IrXml, scope: LayerScope) -> list[str]:
    """``output_names`` of a v11 Result, else the name of the tensor or layer that feeds the Result."""
    chosen: list[str] = []
    for id, value in scope.results.items():
        layer = scope.network.layers[id]
        source = scope.network.sources[id, layer.inputs[0].id]
        producer = scope.network.layers[source[0]]
        fallback = producer.name if len(producer.outputs) == 1 else value.name
        name = _first_tensor_name(document, producer, source, fallback)
        dedicated = split_tensor_names(layer.element.get("output_names"))
        if dedicated and document.version > 10:
            name = min(dedicated)
        # Two Results may share a tensor, but names of outputs are unique.
        unique = next((n for n in (name, fallback, layer.name) if n not in chosen), f"{layer.name}_{id}")
        chosen.append(unique)
    return chosen
