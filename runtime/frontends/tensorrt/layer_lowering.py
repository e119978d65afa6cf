"""Lowers a layer to nodes of a graph, and folds constant layers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...errors import LoopdbgError
from ...graph import ANY_TYPE, Array, Graph, Node, Operation, System, Value
from ...ops.eager import EagerPrimitives
from ...ops.registry import resolve
from .layer import ILayer, ITensor, with_layer_location
from .lowering_scope import LoweringScope, UniqueNames

#: Larger tensors are not constant-folded: only sizes, counts, axes are.
_MAX_FOLDED_ELEMENTS = 64


def layer_name(layer: ILayer) -> str:
    """A layer's name in listings: its own, or by default ``ElementWise_3``."""
    kind = re.sub(r"\W+", "", layer.KIND)
    return layer._name or f"{kind}_{layer._number}"


def tensor_name(tensor: ITensor) -> str:
    """A tensor's name in listings: its own, or one derived from its layer's."""
    if tensor._name or tensor._layer is None:
        return tensor._name
    suffix = f"_{tensor._index}" if tensor._index else ""
    return layer_name(tensor._layer) + ("_output" if tensor._layer._name else "") + suffix


def lower_layer(scope: LoweringScope, layer: ILayer, inputs: Sequence[Value | None]) -> list[Value]:
    """Lower a layer into a scope; returns its outputs, named and typed as its tensors.

    Raises:
        ModelError: the layer cannot be lowered; the message has its name and its line.
    """
    scope.base_name, scope.origin = layer_name(layer), layer._location.origin(layer.metadata)
    types = layer._network.output_types(layer)
    node_count, constant_count = len(scope.graph.nodes), len(scope.main.constants)
    try:
        values = list(layer.lower(scope, inputs))
    except LoopdbgError as error:
        raise with_layer_location(layer, error) from None
    outputs: list[Value] = []
    for index, value in enumerate(values):
        dtype = types[index].dtype
        if index in layer._output_types and dtype is not None and dtype != layer._inferred[index].dtype:
            value = scope.cast(value, dtype)
        is_new = any(value in node.outputs for node in scope.graph.nodes[node_count:])
        if not (is_new or value in scope.main.constants[constant_count:]) or value in outputs:
            value = scope.op("Identity", value)
        value.type = types[index]
        outputs.append(value)
    _assign_names(scope, layer, scope.graph.nodes[node_count:], outputs)
    return outputs


def _assign_names(scope: LoweringScope, layer: ILayer, nodes: Sequence[Node], outputs: Sequence[Value]) -> None:
    """Set unique names of new nodes and values; the node of the last output has the layer's name."""
    for value, tensor in zip(outputs, layer._outputs, strict=True):
        value.name = scope.names.value_name(tensor_name(tensor))
    for node in nodes:
        for value_made in node.outputs:
            if value_made is not None and value_made not in outputs:
                value_made.name = scope.names.value_name(value_made.name)
        is_last = bool(outputs) and outputs[-1] in node.outputs
        # Nodes and values have separate name spaces.
        node.name = scope.names.node_name(scope.base_name if is_last else f"{scope.base_name}/{node.op_type}")


def fold_layer(layer: ILayer, inputs: Sequence[Array | None]) -> list[Array] | None:
    """Compute the outputs of a layer for constants; None where they are large or cannot be folded."""
    if any(x is not None and x.size > _MAX_FOLDED_ELEMENTS for x in inputs):
        return None
    graph = Graph("fold", system=System.TENSORRT)
    scope = LoweringScope(graph, graph, UniqueNames())
    values = [None if x is None else Value("given", ANY_TYPE, x) for x in inputs]
    try:
        outputs = lower_layer(scope, layer, values)
        known: dict[Value | None, Any] = {None: None}
        for node in graph.nodes:
            assert isinstance(node, Operation)
            op = resolve(node, System.TENSORRT)
            if not op.pure or op.random:
                return None
            arrays = [known[v] if v is None or v.constant is None else v.constant for v in node.inputs]
            known.update(zip(node.outputs, op.apply(EagerPrimitives(), arrays), strict=False))
        return [known[v] if v.constant is None else v.constant for v in outputs]
    except (LoopdbgError, ArithmeticError, ValueError, IndexError):
        return None
