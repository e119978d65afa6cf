"""OpenVINO IR v10 and v11 -> Graph.

Written spec: docs.openvino.ai, "Operation Sets" and the pages of TensorIterator-1, Loop-5 and If-8. What they
leave open is told in docs/semantics.md 5 and 6, facts on the files in 7. ``xml`` reads the file, ``constants`` its
constants, ``loops`` puts its loops together, ``variables`` leads its variables through them.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeVar

from ...errors import LoopdbgError
from ...graph import Graph, If, Loop, Node, Operation, System, TensorType, Value, bodies, own_values
from ..recurrent import expand_recurrent_operators
from .constants import IrConstantReader, declared_type, element_type
from .ir_document import Element, IrDocument, IrLayer, IrNetwork, PortKey, format_ids, split_tensor_names
from .layer_origin import layer_origin_source
from .loops import LayerScope, LoopBuilder, check_body_layer, outer_value
from .variables import VariableConnector

#: Layers with graphs inside, and the first opset that has them (docs/semantics.md 7.2).
_FIRST_OPSET_WITH_SUBGRAPH = {"loop": 5, "tensoriterator": 1, "if": 8}
#: Those that are loops, or become loops.
_LOOPS = frozenset({"loop", "tensoriterator", "lstmsequence", "grusequence", "rnnsequence"})
#: Layers whose other outputs take longer to compute than the first one, and are left out where nobody reads them.
_LAYERS_WITH_COSTLY_OUTPUTS = frozenset({"maxpool"})
#: Layers that are no nodes: they are the graph's own inputs, constants and outputs.
_NOT_NODES = ("parameter", "const", "constant", "result")
_Kind = TypeVar("_Kind", bound="IrGraphBuilder")


def read(path: Path, weights: Path | None = None) -> Graph:
    """Read an ``.xml`` and, where a constant needs it, the ``.bin`` beside it, or ``weights`` in its place.

    Values have the layer's name (``name.0``, ``name.1`` where it has several outputs, and a number at its end where
    another value of the same scope has it already), several outputs of a loop those of their tensors; inputs and
    outputs of the model have the names that OpenVINO gives them (``any_name``). Constants are read-only views of the
    ``.bin``.

    Raises:
        ModelError: the file is broken, no IR v10 or v11, or against the spec; the text has file and line.
        UnsupportedError: a constant of a type that nothing here can hold.
    """
    return build_graph(IrGraphBuilder, IrDocument(Path(path)), weights)[0]


def build_graph(kind: type[_Kind], document: IrDocument, weights: Path | None) -> tuple[Graph, _Kind]:
    """The graph of a document, and what built it; as :func:`read`."""
    with IrConstantReader(document, weights) as blobs:
        builder = kind(document, blobs)
        scope = builder.build_scope(document.root, document.root.get("name") or document.path.stem, "the model")
    graph = scope.graph
    graph.opsets = dict(sorted(builder.opsets.items(), key=lambda item: item[1]))
    _name_inputs(document, scope)
    graph.output_names = _output_names(document, scope)
    builder.variables.connect(graph)
    try:
        expand_recurrent_operators(graph)
    except LoopdbgError as error:
        raise type(error)(f"{document.path}: {error}") from None
    _make_names_unique(graph, set())
    return graph, builder


class IrGraphBuilder:
    """Turns one document into graphs, inner ones along with the layers that hold them."""

    def __init__(self, document: IrDocument, blobs: IrConstantReader) -> None:
        self.document = document
        self.constant_reader = blobs
        self.opsets: dict[str, int] = {}
        self.variables = VariableConnector(document)

    def build_scope(
        self,
        element: Element,
        name: str,
        where: str,
        captures: Mapping[int, Value] | None = None,
        outer: Collection[int] = (),
    ) -> LayerScope:
        """Build the graph of an element that has ``<layers>`` and ``<edges>``.

        ``captures``: outer values that stand for Parameters, in the branches of an If; ``outer``: the layer
        ids of the graph around it.
        """
        network = self.document.network(element, where, outer)
        graph = Graph(name, system=System.OPENVINO)
        scope = LayerScope(graph, network, {}, {})
        values: dict[PortKey, Value] = {}
        for layer in network.layers.values():
            if layer.kind == "parameter" and captures and layer.id in captures:
                made = [captures[layer.id]] * len(layer.outputs)
            else:
                made = self._layer_values(layer)
                if layer.kind == "parameter":
                    parameter = made[0] if made else Value(layer.name, declared_type(self.document, layer))
                    graph.inputs.append(parameter)
                    scope.parameters[layer.id] = parameter
                elif layer.kind in ("const", "constant"):
                    graph.constants += made
            values.update({(layer.id, port.id): value for port, value in zip(layer.outputs, made, strict=True)})
        for layer in self._topological_order(network):
            graph.nodes.append(self._build_node(layer, network, values, graph))
            if len(layer.outputs) > 1:
                _name_outputs(layer, network, values, graph.nodes[-1])
        for layer in network.layers.values():
            if layer.kind == "result":
                source = network.sources.get((layer.id, layer.inputs[0].id)) if layer.inputs else None
                if source is None:
                    raise self.document.error(layer.element, f"nothing is connected to {layer}")
                scope.results[layer.id] = values[source]
                graph.outputs.append(values[source])
        return scope

    def _layer_values(self, layer: IrLayer) -> list[Value]:
        """What a layer puts out, by output port."""
        if layer.kind in ("parameter", "const", "constant"):
            if len(layer.outputs) > 1:
                raise self.document.error(layer.element, f"{layer} has {len(layer.outputs)} output ports, expected one")
            if not layer.outputs:
                return []
            if layer.kind == "parameter":
                return [Value(layer.name, declared_type(self.document, layer))]
            array = self.constant_reader.read_constant(layer)
            return [Value(layer.name, TensorType(array.dtype, array.shape), array)]
        several = len(layer.outputs) > 1
        values = []
        for index, port in enumerate(layer.outputs):
            # The port of a value of any rank and that of a scalar are the same in the file: no dimensions.
            declared = TensorType(element_type(self.document, layer, port.precision), port.dims or None)
            values.append(Value(f"{layer.name}.{index}" if several else layer.name, declared))
        return values

    def _topological_order(self, network: IrNetwork) -> list[IrLayer]:
        """The layers that are nodes, sources before users, otherwise as they stand in the document.

        Raises:
            ModelError: layers that wait for each other.
        """
        rank = {id: k for k, (id, layer) in enumerate(network.layers.items()) if layer.kind not in _NOT_NODES}
        users: dict[int, list[int]] = {id: [] for id in rank}
        waits = dict.fromkeys(rank, 0)
        for (target, _), (source, _) in network.sources.items():
            if source in rank and target in rank:
                users[source].append(target)
                waits[target] += 1
        ready = [(rank[id], id) for id in rank if not waits[id]]
        heapq.heapify(ready)
        order: list[IrLayer] = []
        while ready:
            _, id = heapq.heappop(ready)
            order.append(network.layers[id])
            for user in users[id]:
                waits[user] -= 1
                if not waits[user]:
                    heapq.heappush(ready, (rank[user], user))
        if len(order) < len(rank):
            # Every layer that still waits has one among its sources: going back from any leads into a cycle.
            sources = {target: source for (target, _), (source, _) in network.sources.items() if waits.get(source)}
            path = [next(id for id in rank if waits[id])]
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
        # Ports at the end that nothing is connected to are absent inputs, as for OpenVINO; a gap is an error.
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
        """If-8. A branch's Parameters are the outer values themselves, so the condition is the only input."""
        if not layer.inputs or layer.inputs[0].id not in inputs:
            raise self.document.error(layer.element, f"{layer}: its input 0, the condition, is not connected")
        branches = [self._build_branch(layer, network, inputs, which) for which in ("then", "else")]
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

    def _build_branch(self, layer: IrLayer, network: IrNetwork, inputs: Mapping[int, Value], which: str) -> Graph:
        document, where = self.document, f"the {which} branch of {layer}"
        element = document.body(layer, f"{which}_body")
        fed, taken = document.port_map(layer, f"{which}_port_map")
        captures: dict[int, Value] = {}
        for entry in fed:
            if entry.internal in captures:
                raise document.error(entry.element, f"{layer}: {entry}: a second input for this {which} Parameter")
            captures[entry.internal] = outer_value(document, layer, entry, inputs)
        scope = self.build_scope(element, f"{layer.name}/{which}", where, captures, network.layers)
        for entry in fed:
            check_body_layer(document, layer, entry, entry.internal, "Parameter", scope.network)
        for id in scope.parameters:
            inner = scope.network.layers[id]
            raise document.error(inner.element, f"{layer}: no {which}_port_map input feeds {inner} (layer {id})")
        ports = [port.id for port in layer.outputs]
        if taken and not any(entry.external in ports for entry in taken):
            # The written spec calls it a port id, and its own example counts the outputs from 0.
            ports = list(range(len(ports)))
        results: dict[int, Value] = {}
        for entry in taken:
            check_body_layer(document, layer, entry, entry.internal, "Result", scope.network)
            if entry.external not in ports:
                raise document.error(
                    entry.element,
                    f"{layer}: {entry}: it has no output port {entry.external}; its output ports are "
                    f"{format_ids(port.id for port in layer.outputs)}",
                )
            if entry.external in results:
                raise document.error(entry.element, f"{layer}: {entry}: a second entry for this output port")
            results[entry.external] = scope.results[entry.internal]
        for port in ports:
            if port not in results:
                raise document.error(layer.element, f"{layer}: no {which}_port_map output fills its output port {port}")
        scope.graph.outputs = [results[port] for port in ports]
        return scope.graph


def _make_names_unique(graph: Graph, taken: set[str], known: Collection[Value] = ()) -> None:
    """Give every value of a scope a name of its own; ``taken``: names of the graph around the branch of an If, and
    ``known`` what it has from there.

    An IR knows values by their ports, so that layers of one graph may have one name.
    """
    made = (value for node in graph.nodes for value in node.outputs if value is not None)
    own = dict.fromkeys(value for value in (*graph.inputs, *graph.constants, *made) if value not in known)
    for value in own:
        name, number = value.name, 1
        while value.name in taken:
            number += 1
            value.name = f"{name}_{number}"
        taken.add(value.name)
    for node in graph.nodes:
        for _, inner in bodies(node):
            if isinstance(node, Loop):
                _make_names_unique(inner, set())
            else:
                _make_names_unique(inner, set(taken), {*known, *own})


def _name_outputs(layer: IrLayer, network: IrNetwork, values: Mapping[PortKey, Value], node: Node) -> None:
    """Call what a layer gives as its tensors are called, which tells one output from another: where that is more than a
    number, and nothing else beside it, or in the body of a loop, goes by it."""
    taken = {other.name for other in network.layers.values() if other.kind != "result" and other is not layer}
    if isinstance(node, Loop):
        taken.update(value.name for value in own_values(node.body))
    for port in layer.outputs:
        value = values[layer.id, port.id]
        value.name = min((n for n in port.names if not n.isdecimal() and n not in taken), default=value.name)
        taken.add(value.name)


def _any_name(document: IrDocument, layer: IrLayer, port: PortKey, own: str) -> str:
    """What OpenVINO's ``any_name`` gives for a tensor: the alphabetically first of its names.

    IR v10 adds the layer's own name to them (observed in 2026.4); v11 does without it.
    """
    [info] = [info for info in layer.outputs if info.id == port[1]]
    known = [*info.names, own] if document.version == 10 else info.names
    return min(known, default=own)


def _name_inputs(document: IrDocument, scope: LayerScope) -> None:
    """Give the model's inputs the names under which OpenVINO's users know them; the tensor's other names, and that of
    the layer, go as well."""
    taken: dict[str, IrLayer] = {}
    others: dict[str, str] = {}
    for id, value in scope.parameters.items():
        layer = scope.network.layers[id]
        if layer.outputs:
            value.name = _any_name(document, layer, (id, layer.outputs[0].id), layer.name)
            others |= dict.fromkeys((layer.name, *layer.outputs[0].names), value.name)
        if value.name in taken:
            raise document.error(layer.element, f"two inputs of the model are called '{value.name}'; rename one")
        taken[value.name] = layer
    scope.graph.aliases = {other: name for other, name in others.items() if other not in taken}


def _output_names(document: IrDocument, scope: LayerScope) -> list[str]:
    """``output_names`` of a v11 Result, else what the tensor or the layer that feeds the Result is called."""
    chosen: list[str] = []
    for id, value in scope.results.items():
        layer = scope.network.layers[id]
        source = scope.network.sources[id, layer.inputs[0].id]
        feeding = scope.network.layers[source[0]]
        own = feeding.name if len(feeding.outputs) == 1 else value.name
        name = _any_name(document, feeding, source, own)
        dedicated = split_tensor_names(layer.element.get("output_names"))
        if dedicated and document.version > 10:
            name = min(dedicated)
        # Two Results may share a tensor; outputs are told apart by name.
        unique = next((n for n in (name, own, layer.name) if n not in chosen), f"{layer.name}_{id}")
        chosen.append(unique)
    return chosen
