"""What a peer's own arithmetic makes of numbers: sums that saturate, types that are computed as others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...runtime.graph import Graph, Note, TensorType, Value, bodies, walk
from .findings import NodeDifference, Reason
from .halves import converts_to
from .values import Tolerance

#: Products of bytes, which processors without VNNI add by pairs in 16 bits.
_PRODUCTS = ("MatMulInteger", "QLinearMatMul", "DynamicQuantizeMatMul", "MatMulIntegerToFloat")
_MOST = np.iinfo(np.int16).max
#: Float16 that is computed as float32 is as far off as the rounding that is left out, of the largest number.
_PEAK = 0.05


def saturation(node: NodeDifference | None) -> list[Reason]:
    """The rule B33, where a product of bytes differs and some of its pairs are beyond 16 bits."""
    if node is None or node.op_type not in _PRODUCTS:
        return []
    found = [np.asarray(value) for _, value in node.inputs]
    bytes_ = [value for value in found if value.dtype in (np.uint8, np.int8) and value.ndim]
    if len(bytes_) < 2 or not saturates(bytes_[0], bytes_[1]):
        return []
    text = (
        f"sums of pairs of products in {node.op_type} '{node.node}' are beyond 16 bits: on a processor without VNNI "
        "onnxruntime adds u8 x s8 products by pairs, and they saturate there."
    )
    return [Reason("B33", text)]


def saturates(a: Any, b: Any) -> bool:
    """Whether a pair of products of ``a`` [..., K] (uint8) and ``b`` [K, N] (int8) has a sum beyond 16 bits."""
    if a.dtype != np.uint8 or b.dtype != np.int8 or a.ndim < 1 or b.ndim != 2 or a.shape[-1] != b.shape[0]:
        return False
    rows, columns = a.reshape(-1, a.shape[-1]).astype(np.int32), b.astype(np.int32)
    even = rows.shape[1] // 2 * 2
    for row in rows:
        pairs = row[0:even:2, None] * columns[0:even:2] + row[1:even:2, None] * columns[1:even:2]
        if pairs.size and np.abs(pairs).max() > _MOST:
            return True
    return False


def widened(graph: Graph, tolerance: Tolerance) -> tuple[Tolerance, Note | None]:
    """The tolerance for what OpenVINO makes of a model, and why it is another one."""
    if not any(_halves(graph)):
        return tolerance, None
    note = Note(
        "B42",
        f"openvino's CPU plugin computes float16 as float32 (B42): compared within {_PEAK:.0%} of each value's largest"
        " number",
    )
    return replace(tolerance, peak=_PEAK), note


def _halves(graph: Graph) -> Iterator[bool]:
    """For each value whether it is float16."""
    graphs = [graph, *(inner for node in walk(graph) for _, inner in bodies(node))]
    for one in graphs:
        yield from (_is_half(value) for value in (*one.inputs, *one.constants))
    yield from (converts_to(node) == np.float16 for node in walk(graph))


def _is_half(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype == np.float16
