"""Nodes that compute the same in every iteration, and nodes that compute what another one does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...runtime.graph import Loop, Node, Operation, System, Value
from ...runtime.graph.dependence import body_parameters
from ..rewriting.rewrite import Rewrite
from .model_facts import FREE_OPERATORS, ModelFacts
from .onnx_loop import OnnxLoop, constant_node


def find_repeated_work(facts: ModelFacts, loop: Loop) -> list[Rewrite]:
    """Nodes of a body whose inputs no iteration changes, and nodes of a body that are there twice."""
    if loop.system is not System.ONNX:
        return []
    rewrites = []
    invariant = _invariant_nodes(facts, loop)
    costly = [node for node in invariant if node.op_type not in FREE_OPERATORS]
    if costly:
        names = [node.name for node in costly]
        what = f"{_quoted_names(names)} compute{'s' if len(names) == 1 else ''} the same in every iteration"
        rewrites.append(
            facts.rewrite(
                "invariant-node", loop, what, lambda model: _hoist_nodes(OnnxLoop(model, loop), invariant), tuple(names)
            )
        )
    duplicates = _duplicate_nodes(facts, loop)
    if duplicates:
        pairs = ", ".join(f"'{node.name}' as '{first.name}'" for node, first in duplicates.items())
        rewrites.append(
            facts.rewrite(
                "duplicate-node",
                loop,
                f"computed twice: {pairs}",
                lambda model: _merge_duplicate_nodes(OnnxLoop(model, loop), duplicates),
                tuple(node.name for node in duplicates),
            )
        )
    return rewrites


def _quoted_names(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _invariant_nodes(facts: ModelFacts, loop: Loop) -> list[Node]:
    """Nodes that depend on outer values alone; those of constants alone are left to constant folding."""
    varying = set(body_parameters(loop))
    outer: set[Value] = set()  # computed outside of the loop, or by nodes that can be
    constants = set(loop.body.constants)
    computed = {value for node in loop.body.nodes for value in node.outputs if value is not None}
    nodes: list[Node] = []
    for node in loop.body.nodes:
        inputs = [value for value in node.inputs if value is not None]
        results = [value for value in node.outputs if value is not None]
        if not isinstance(node, Operation) or any(value in varying for value in inputs):
            continue
        if any(value in computed and value not in outer and value not in constants for value in inputs):
            continue
        if all(value.constant is not None or value in constants for value in inputs):
            constants.update(results)
        elif facts.is_deterministic(node):
            nodes.append(node)
            outer.update(results)
    return nodes


def _hoist_nodes(message: OnnxLoop, nodes: list[Node]) -> None:
    """Move nodes in front of the loop, with the constants of the body that they read."""
    body = message.body
    moved = {value.name for node in nodes for value in node.outputs if value is not None}
    needed = {value.name for node in nodes for value in node.inputs if value is not None} - moved
    copied: list[Any] = []
    for proto in reversed(body.node):  # the constants that they read, and what those are computed from
        if needed.intersection(proto.output):
            needed.update(proto.input)
            copied.append(proto)
    originals = [proto for proto in body.node if moved.intersection(proto.output)]
    names = {
        name: message.fresh_name(f"{name}_hoisted") for proto in (*copied, *originals) for name in proto.output if name
    }
    for tensor in body.initializer:
        if tensor.name in needed:
            names[tensor.name] = message.fresh_name(f"{tensor.name}_hoisted")
            message.insert([constant_node(names[tensor.name], tensor)])
    hoisted = []
    for proto in (*reversed(copied), *originals):
        copy = type(proto)()
        copy.CopyFrom(proto)
        copy.input[:] = [names.get(name, name) for name in copy.input]
        copy.output[:] = [names.get(name, name) for name in copy.output]
        hoisted.append(copy)
    message.insert(hoisted)
    for name in moved:
        message.redirect_body_reads(name, names[name])
    message.remove_unused_nodes()


def _duplicate_nodes(facts: ModelFacts, loop: Loop) -> dict[Node, Node]:
    """Nodes that compute what an earlier node of the same body does, each with that."""
    first: dict[Any, Node] = {}
    same: dict[Value, Value] = {}
    duplicates: dict[Node, Node] = {}
    for node in loop.body.nodes:
        if node.op_type in FREE_OPERATORS or not facts.is_deterministic(node):
            continue
        assert isinstance(node, Operation)
        inputs = tuple(
            _value_key(facts, same.get(value, value)) if value is not None else None for value in node.inputs
        )
        key = (node.op_type, node.domain, len(node.outputs), inputs, _attributes_key(node.attributes))
        earlier = first.setdefault(key, node)
        if earlier is not node and all(
            (a is None) == (b is None) for a, b in zip(node.outputs, earlier.outputs, strict=True)
        ):
            duplicates[node] = earlier
            same.update(
                (a, b) for a, b in zip(node.outputs, earlier.outputs, strict=True) if a is not None and b is not None
            )
    return duplicates


def _value_key(facts: ModelFacts, value: Value) -> object:
    """Equal for two constants with the same data."""
    data = facts.constant(value)
    return value if data is None or data.size > 64 else (str(data.dtype), data.shape, _bit_pattern(data))


def _bit_pattern(data: Any) -> object:
    array = np.asarray(data)
    return tuple(array.ravel().tolist()) if array.dtype.hasobject else array.tobytes()


def _attributes_key(attributes: Mapping[str, Any]) -> object:
    return tuple(
        (name, (value.dtype.str, value.shape, _bit_pattern(value)) if isinstance(value, np.ndarray) else repr(value))
        for name, value in sorted(attributes.items())
    )


def _merge_duplicate_nodes(message: OnnxLoop, duplicates: Mapping[Node, Node]) -> None:
    """Let the readers of the duplicates read the first results."""
    for node, earlier in duplicates.items():
        for copy, original in zip(node.outputs, earlier.outputs, strict=True):
            if copy is not None and original is not None:
                message.redirect_body_reads(copy.name, original.name)
    message.remove_unused_nodes()
