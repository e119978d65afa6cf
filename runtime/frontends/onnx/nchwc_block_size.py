"""Infers the channel block size, 8 or 16, of onnxruntime's NCHWc files (``ops/nchwc``), which do not state it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from ...errors import ModelError
from ...graph import Node, Operation, System
from ...ops.registry import ResolvedOperation, UnknownOperatorError, resolve
from .proto import NCHWC_DOMAIN, AttributeProto, GraphProto, ModelProto

_MAX_BLOCK_CHANNELS = 16


def native_block_channels() -> int:
    """The number of channels in a block of onnxruntime on this machine."""
    features = getattr(import_module("numpy._core._multiarray_umath"), "__cpu_features__", {})
    return 16 if features.get("AVX512F") or features.get("ASIMD") else 8


def infer_block_channels(model: ModelProto) -> int | None:
    """Infer the block size from the numbers of channels; None where both are possible."""
    bodies = [model.graph, *model.functions]
    sizes: dict[str, Any] = {}
    nodes = []
    for graph in (graph_or_function for body in bodies for graph_or_function in _walk_graphs(body)):
        sizes |= {tensor.name: list(tensor.dims) for tensor in getattr(graph, "initializer", ())}
        nodes += [node for node in graph.node if node.domain == NCHWC_DOMAIN]
    for node in nodes:
        if (
            node.op_type == "Conv"
            and len(node.input) > 1
            and (sizes.get(node.input[1]) or [0])[0] % _MAX_BLOCK_CHANNELS
        ):
            return _MAX_BLOCK_CHANNELS // 2
    for node in nodes:
        counts = [int(a.i) for a in node.attribute if a.name == "channels"] if node.op_type == "ReorderOutput" else []
        if any(0 < count % _MAX_BLOCK_CHANNELS <= _MAX_BLOCK_CHANNELS // 2 for count in counts):
            return _MAX_BLOCK_CHANNELS  # half a block would be enough
    return None


def _walk_graphs(body: Any) -> Iterator[GraphProto]:
    """A graph, or a function, with the graphs inside it."""
    yield body
    for node in body.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _walk_graphs(attribute.g)


def with_block_channels(header: Node, attributes: Mapping[str, Any], block: int) -> Operation:
    """A node whose operator knows the block size.

    Raises:
        ModelError: an attribute is missing, unknown or cannot be read.
    """
    node = Operation(**vars(header), attributes=attributes)
    if "block" in attributes:
        raise ModelError(
            f"{node.describe()} has an attribute 'block' that this opset does not define",
            **node.error_fields,
            name="block",
        )
    try:
        op = resolve(Operation(**vars(header), attributes={**attributes, "block": block}), System.ONNX)
    except UnknownOperatorError:
        return node
    return ResolvedOperation(**vars(node), op=op)
