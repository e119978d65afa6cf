"""Functions that define recurrent operators of ``com.microsoft``, built for each node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...errors import ModelError
from ...graph import Node, Operation, System
from ...ops.registry import attribute_keywords
from .proto import FunctionProto

#: Operator -> its name in ``linear_attention``, which is imported on demand.
RECURRENT_OPERATORS = {"LinearAttention": "linear_attention", "GatedDeltaNet": "gated_delta_net"}
DOMAIN = "com.microsoft"


def function_builder(domain: str, op_type: str) -> Callable[..., FunctionProto | None] | None:
    """The builder of an operator's function; its keywords are the attributes. None for other operators."""
    if domain != DOMAIN or op_type not in RECURRENT_OPERATORS:
        return None
    from . import linear_attention

    builder: Callable[..., FunctionProto | None] = getattr(linear_attention, RECURRENT_OPERATORS[op_type])
    return builder


def build_function(header: Node, attributes: Mapping[str, Any], label: str) -> FunctionProto | None:
    """Build the function that defines a node; None where the variant is not supported.

    Raises:
        ModelError: unknown or missing attributes or inputs.
    """
    builder = function_builder(header.domain, header.op_type)
    assert builder is not None
    keywords = attribute_keywords(Operation(**vars(header), attributes=attributes), builder, System.ONNX)
    try:
        return builder(None, *header.inputs, **keywords)
    except ModelError as error:
        raise ModelError(f"{label}: {error}", **error.fields) from None
