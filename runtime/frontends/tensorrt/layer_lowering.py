"""One layer becomes nodes of a graph, and what layers give for constants."""

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

#: Tensors of so many elements at most are computed beforehand: sizes, counts, axes.
_MAX_FOLDED_ELEMENTS = 64


def layer_name(layer: ILayer) -> str:
    """A layer's name in listings: its own, or ``ElementWise_3``."""
    kind = re.sub(r"\W+", "", layer.KIND)
    return layer._name or f"{kind}_{layer._number}"


def tensor_name(tensor: ITensor) -> str:
    """A tensor's name in listings: its own, or one made of its layer's."""
    if tensor._name or tensor._layer is None:
        return tensor._name
    more = f"_{tensor._index}" if tensor._index else ""
    return layer_name(tensor._layer) + ("_output" if tensor._layer._name else "") + more


def lower_layer(scope: LoweringScope, layer: ILayer, inputs: Sequence[Value | None]) -> list[Value]:
    """Add what a layer is made of to a scope; returns its outputs, named and typed as its tensors.

    Raises:
        ModelError: the layer cannot be lowered; told with its name and its line.
    """
    scope.base_name, scope.origin = layer_name(layer), layer._location.origin(layer.metadata)
    types = layer._network.output_types(layer)
    before, constants = len(scope.graph.nodes), len(scope.main.constants)
    try:
        found = list(layer.lower(scope, inputs))
    except LoopdbgError as error:
        raise with_layer_location(layer, error) from None
    outputs: list[Value] = []
    for index, value in enumerate(found):
        wanted = types[index].dtype
        if index in layer._output_types and wanted is not None and wanted != layer._inferred[index].dtype:
            value = scope.cast(value, wanted)
        own = any(value in node.outputs for node in scope.graph.nodes[before:])
        if not (own or value in scope.main.constants[constants:]) or value in outputs:
            value = scope.op("Identity", value)
        value.type = types[index]
        outputs.append(value)
    _assign_names(scope, layer, scope.graph.nodes[before:], outputs)
    return outputs


def _assign_names(scope: LoweringScope, layer: ILayer, nodes: Sequence[Node], outputs: Sequence[Value]) -> None:
    """Give what was made names of its own: the node of the last output has the layer's."""
    for value, tensor in zip(outputs, layer._outputs, strict=True):
        value.name = scope.names.value_name(tensor_name(tensor))
    for node in nodes:
        for made in node.outputs:
            if made is not None and made not in outputs:
                made.name = scope.names.value_name(made.name)
        is_last = bool(outputs) and outputs[-1] in node.outputs
        # Nodes and values may have one name, so they are counted apart.
        node.name = scope.names.node_name(scope.base_name if is_last else f"{scope.base_name}/{node.op_type}")


def fold_layer(layer: ILayer, inputs: Sequence[Array | None]) -> list[Array] | None:
    """What a layer gives for constants; None where that is large, or cannot be computed beforehand."""
    if any(x is not None and x.size > _MAX_FOLDED_ELEMENTS for x in inputs):
        return None
    graph = Graph("fold", system=System.TENSORRT)
    scope = LoweringScope(graph, graph, UniqueNames())
    given = [None if x is None else Value("given", ANY_TYPE, x) for x in inputs]
    try:
        outputs = lower_layer(scope, layer, given)
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
