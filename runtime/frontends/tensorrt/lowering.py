"""One layer becomes nodes of a graph, and what layers give for constants."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...errors import LoopdbgError
from ...graph import ANY, Array, Graph, Node, Operation, System, Value
from ...ops.eager import Eager
from ...ops.registry import resolve
from .layer import ILayer, ITensor, located
from .scope import Names, Scope

#: Tensors of so many elements at most are computed beforehand: sizes, counts, axes.
_FOLDED = 64


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


def lower_layer(scope: Scope, layer: ILayer, inputs: Sequence[Value | None]) -> list[Value]:
    """Add what a layer is made of to a scope; returns its outputs, named and typed as its tensors.

    Raises:
        ModelError: the layer cannot be lowered; told with its name and its line.
    """
    scope.base, scope.origin = layer_name(layer), layer._place.origin(layer.metadata)
    types = layer._network.types(layer)
    before, constants = len(scope.graph.nodes), len(scope.main.constants)
    try:
        found = list(layer.lower(scope, inputs))
    except LoopdbgError as error:
        raise located(layer, error) from None
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
    _rename(scope, layer, scope.graph.nodes[before:], outputs)
    return outputs


def _rename(scope: Scope, layer: ILayer, nodes: Sequence[Node], outputs: Sequence[Value]) -> None:
    """Give what was made names of its own: the node of the last output has the layer's."""
    for value, tensor in zip(outputs, layer._outputs, strict=True):
        value.name = scope.names.take(tensor_name(tensor))
    for node in nodes:
        for made in node.outputs:
            if made is not None and made not in outputs:
                made.name = scope.names.take(made.name)
        is_last = bool(outputs) and outputs[-1] in node.outputs
        # Nodes and values may have one name, so they are counted apart.
        node.name = scope.names.take_node(scope.base if is_last else f"{scope.base}/{node.op_type}")


def folded(layer: ILayer, inputs: Sequence[Array | None]) -> list[Array] | None:
    """What a layer gives for constants; None where that is large, or cannot be computed beforehand."""
    if any(x is not None and x.size > _FOLDED for x in inputs):
        return None
    graph = Graph("fold", system=System.TENSORRT)
    scope = Scope(graph, graph, Names())
    given = [None if x is None else Value("given", ANY, x) for x in inputs]
    try:
        outputs = lower_layer(scope, layer, given)
        known: dict[Value | None, Any] = {None: None}
        for node in graph.nodes:
            assert isinstance(node, Operation)
            op = resolve(node, System.TENSORRT)
            if not op.pure or op.random:
                return None
            arrays = [known[v] if v is None or v.constant is None else v.constant for v in node.inputs]
            known.update(zip(node.outputs, op.apply(Eager(), arrays), strict=False))
        return [known[v] if v.constant is None else v.constant for v in outputs]
    except (LoopdbgError, ArithmeticError, ValueError, IndexError):
        return None
