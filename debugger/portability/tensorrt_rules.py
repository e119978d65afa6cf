"""Rules about operators as the support table of TensorRT's ONNX parser states them: types of data, and restrictions."""

from __future__ import annotations

from collections.abc import Iterator

from ...runtime.graph import If, Loop, Node, Operation
from .rule_context import RuleContext, RuleScope
from .tensorrt_operators import (
    CONSTANT_INPUTS,
    DATA_INPUTS,
    FIRST_OUTPUT_ONLY,
    FIXED_ATTRIBUTES,
    MAX_TOP_K,
    SUPPORTED,
    UNSUPPORTED,
)


def operators_unsupported_by_parser(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Operators that the parser does not have, or has for other types only."""
    if isinstance(node, Loop | If) or node.domain not in ("", "ai.onnx.ml"):
        return
    name = f"{node.op_type} '{node.name}'"
    if node.op_type in UNSUPPORTED or node.domain:
        yield "T8", f"TensorRT's parser does not support {name}."
        return
    types = SUPPORTED.get(node.op_type)
    if types is None:
        yield "T12", f"the support table of TensorRT's parser does not list {name}."
        return
    data = dict(enumerate(node.inputs)).get(DATA_INPUTS.get(node.op_type, 0))
    dtype = context.dtype(data)
    if data is not None and dtype is not None and types:
        computed = "float32" if dtype.name == "float64" else "string" if dtype.hasobject else dtype.name
        if computed not in types:
            yield (
                "T13",
                f"TensorRT's parser supports {name} for {', '.join(sorted(types))}, and '{data.name}' is {computed}.",
            )


def parser_restrictions(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """What the parser wants to be constant, and attributes and outputs that it does not support."""
    if isinstance(node, If):
        for first, second in zip(node.then_branch.outputs, node.else_branch.outputs, strict=True):
            if first.name == second.name:
                yield "T15", f"TensorRT refuses If '{node.name}': both branches call a result '{first.name}'."
        return
    if not isinstance(node, Operation) or node.domain:
        return
    name = f"{node.op_type} '{node.name}'"
    inputs = dict(enumerate(node.inputs))
    value = inputs.get(CONSTANT_INPUTS.get(node.op_type, -1))
    if value is not None and not context.is_constant(context.producers.skip_identities(value)):
        yield "T14", f"TensorRT's parser wants '{value.name}' of {name} to be constant."
    attribute, wanted = FIXED_ATTRIBUTES.get(node.op_type, ("", None))
    if attribute and node.attributes.get(attribute, wanted) != wanted:
        yield "T14", f"TensorRT's parser does not support {attribute}={node.attributes[attribute]} of {name}."
    if node.op_type in FIRST_OUTPUT_ONLY and any(output is not None for output in node.outputs[1:]):
        yield "T14", f"TensorRT's parser supports the first output of {name} only."
    count = context.producers.constant_integer(inputs.get(1)) if node.op_type == "TopK" else None
    if count is not None and count > MAX_TOP_K:
        yield "T14", f"TensorRT's parser supports {name} for at most {MAX_TOP_K} elements, and here are {count}."


TENSORRT_RULES = (operators_unsupported_by_parser, parser_restrictions)
