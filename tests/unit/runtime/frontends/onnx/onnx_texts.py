"""Models from ONNX's text form, read by the front end; and what a broken one is reported."""

from __future__ import annotations

from collections.abc import Sequence

import onnx.parser
import pytest

from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.frontends.onnx import reader as frontend
from loopdbg.runtime.graph import Graph, Loop, Node, Operation, SlicedInput, Value, loops, walk


def proto(text: str, opset: int = 16, imports: str = "") -> onnx.ModelProto:
    """A model of a graph (and functions) in text form; ``imports``: more of opset_import."""
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}{imports}]>\n{text}')


def read_text(text: str, opset: int = 16, imports: str = "") -> Graph:
    return frontend.from_proto(proto(text, opset, imports), "dir/m.onnx")


def read_loop(text: str, opset: int = 16) -> Loop:
    """The first loop of a model."""
    return loops(read_text(text, opset))[0]


def assert_refused(model: str | onnx.ModelProto, *words: str, opset: int = 16, imports: str = "") -> ModelError:
    """Check that a model is refused in one line that begins with its path and holds all ``words``."""
    model = proto(model, opset, imports) if isinstance(model, str) else model
    with pytest.raises(ModelError) as caught:
        frontend.from_proto(model, "dir/m.onnx")
    message = str(caught.value)
    assert message.startswith("dir/m.onnx: ")
    assert message.isprintable()
    for word in words:
        assert word in message, message
    return caught.value


def node(graph: Graph, output: str) -> Node:
    """The node, in any graph of the model, that has an output of that name."""
    return next(n for n in walk(graph) if output in value_names(n.outputs))


def operation(graph: Graph, output: str) -> Operation:
    result = node(graph, output)
    assert isinstance(result, Operation)
    return result


def value_names(values: Sequence[Value | SlicedInput | None]) -> list[str | None]:
    """The values' names; None for an absent one."""
    return [value.name if isinstance(value, Value) else None for value in values]
