"""The ONNX project's node tests of one node each, as operators take them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper

from loopdbg.runtime.frontends.onnx.proto_decoding import decode_attributes
from onnx_node_tests import load_node_tests


@dataclass(frozen=True)
class NodeTestCase:
    """One node with one set of inputs and expected outputs (None: the node leaves that output out)."""

    name: str
    op_type: str
    opset: int
    attributes: dict[str, Any]
    inputs: list[Any]
    outputs: list[Any]
    rtol: float
    atol: float


def as_loopdbg_value(value: Any) -> Any:
    """A test's input or output as loopdbg takes it."""
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, list | tuple):
        return [as_loopdbg_value(part) for part in value]
    return value if value is None else np.asarray(value)


@cache
def single_nodes() -> dict[str, list[NodeTestCase]]:
    """By operator type of the default domain: the tests whose model is one node."""
    results: dict[str, list[NodeTestCase]] = {}
    for test in load_node_tests():
        for case in _cases(test):
            results.setdefault(case.op_type, []).append(case)
    return results


def _cases(test: Any) -> Iterator[NodeTestCase]:
    graph = test.model.graph
    if len(graph.node) != 1 or graph.node[0].domain not in ("", "ai.onnx"):
        return
    node = graph.node[0]
    opset = next(o.version for o in test.model.opset_import if o.domain in ("", "ai.onnx"))
    settled, graphs = decode_attributes(node, opset, None, "", test.name)
    if graphs:
        return
    for inputs, outputs in test.data_sets:
        feeds = dict(zip((i.name for i in graph.input), map(as_loopdbg_value, inputs), strict=True))
        wanted = dict(zip((o.name for o in graph.output), map(as_loopdbg_value, outputs), strict=True))
        yield NodeTestCase(
            test.name,
            node.op_type,
            opset,
            settled,
            [feeds[name] if name else None for name in node.input],
            [wanted[name] if name else None for name in node.output],
            test.rtol,
            test.atol,
        )
