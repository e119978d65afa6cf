"""Operators of ``com.microsoft`` that are recurrences: the functions, made for a node, that they are read as."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...errors import ModelError
from ...graph import Node, Operation, System
from ...ops.registry import attribute_keywords
from .proto import FunctionProto

#: Operator -> its name in ``linear_attention``, which models without it need nothing of.
RECURRENT_OPERATORS = {"LinearAttention": "linear_attention", "GatedDeltaNet": "gated_delta_net"}
DOMAIN = "com.microsoft"


def function_builder(domain: str, op_type: str) -> Callable[..., FunctionProto | None] | None:
    """What makes the function of an operator; its keywords are the attributes. None for any other operator."""
    if domain != DOMAIN or op_type not in RECURRENT_OPERATORS:
        return None
    from . import linear_attention

    found: Callable[..., FunctionProto | None] = getattr(linear_attention, RECURRENT_OPERATORS[op_type])
    return found


def build_function(header: Node, attributes: Mapping[str, Any], at: str) -> FunctionProto | None:
    """The function that a node is read as; None where its form has none.

    Raises:
        ModelError: attributes or inputs that the operator does not know, or lacks.
    """
    says = function_builder(header.domain, header.op_type)
    assert says is not None
    keywords = attribute_keywords(Operation(**vars(header), attributes=attributes), says, System.ONNX)
    try:
        return says(None, *header.inputs, **keywords)
    except ModelError as error:
        raise ModelError(f"{at}: {error}") from None
