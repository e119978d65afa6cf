"""Numeric deviations of peers: saturating sums, and types computed in other types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ....runtime.graph import Graph, Note, TensorType, Value, walk, walk_graphs
from ...peers.jobs import PRECISION_OPTION
from ...peers.process import Peer
from ..alignment.number_formats import conversion_dtype, float_types
from ..report.findings import Cause, Comparison, Demonstration, DivergenceReason, NodeDifference
from ..running.deviations import FoundDeviation
from ..running.value_comparison import Tolerance

#: Products of bytes, whose pairs are added in 16 bits on processors without VNNI.
_BYTE_PRODUCTS = ("MatMulInteger", "QLinearMatMul", "DynamicQuantizeMatMul", "MatMulIntegerToFloat")
#: The significant bits of precisions below float32.
_REDUCED_PRECISIONS = {"bf16": 8, "f16": 11}
_INT16_MAX = np.iinfo(np.int16).max
#: Relative to the peak: computing float16 as float32 omits the rounding that we perform.
_FLOAT16_PEAK_TOLERANCE = 0.05


def saturation_reasons(node: NodeDifference | None) -> list[DivergenceReason]:
    """Rule B33, if a product of bytes differs and some pair of products exceeds 16 bits."""
    if node is None or node.op_type not in _BYTE_PRODUCTS:
        return []
    operands = [np.asarray(value) for _, value in node.inputs]
    byte_arrays = [value for value in operands if value.dtype in (np.uint8, np.int8) and value.ndim]
    if len(byte_arrays) < 2 or not pair_sum_overflows_int16(byte_arrays[0], byte_arrays[1]):
        return []
    text = (
        f"sums of pairs of products in {node.op_type} '{node.node}' are beyond 16 bits: on a processor without VNNI "
        "onnxruntime adds u8 x s8 products by pairs, and they saturate there."
    )
    return [DivergenceReason("B33", text)]


def pair_sum_overflows_int16(a: Any, b: Any) -> bool:
    """Whether a sum of two products of ``a`` [..., K] (uint8) and ``b`` [K, N] (int8) exceeds 16 bits."""
    if a.dtype != np.uint8 or b.dtype != np.int8 or a.ndim < 1 or b.ndim != 2 or a.shape[-1] != b.shape[0]:
        return False
    rows, columns = a.reshape(-1, a.shape[-1]).astype(np.int32), b.astype(np.int32)
    even = rows.shape[1] // 2 * 2
    for row in rows:
        pairs = row[0:even:2, None] * columns[0:even:2] + row[1:even:2, None] * columns[1:even:2]
        if pairs.size and np.abs(pairs).max() > _INT16_MAX:
            return True
    return False


def reduced_precision(peer: Peer) -> str:
    """The precision below float32 that the options of a comparison ask for; empty if there is none."""
    precision = peer.configuration.get(PRECISION_OPTION, "")
    return precision if precision in _REDUCED_PRECISIONS else ""


def usual_precision(peer: Peer, graph: Graph) -> str:
    """The precision below float32 in which a peer computes a model without settings; empty if it does not."""
    is_exact = peer.configuration.get(PRECISION_OPTION) == "f32"
    return peer.usual_precision if is_exact and float_types(graph) else ""


def blame_precision(comparison: Comparison, peer: Peer, precision: str) -> None:
    """Record rule B83: a peer differs only because it computes in another precision. No node is to blame."""
    bits = _REDUCED_PRECISIONS[precision]
    text = f"with {PRECISION_OPTION}=f32 in place of {precision}, {peer.name} gives the same numbers as loopdbg"
    reason = f"{peer.name} rounds to {precision}, which has {bits} significant bits, as {PRECISION_OPTION} says."
    FoundDeviation(DivergenceReason("B83", reason), Demonstration("rule", text, 1)).record_in(comparison)
    rounding = Cause(remark=f"rounding to {precision}")
    for loop in comparison.loops:
        loop.cause = loop.cause and rounding
    comparison.cause = comparison.cause and rounding


def openvino_tolerance(graph: Graph, tolerance: Tolerance) -> tuple[Tolerance, Note | None]:
    """The tolerance for OpenVINO's arithmetic on a model, and a note if it is changed."""
    if not any(_float16_flags(graph)):
        return tolerance, None
    note = Note(
        "B42",
        f"openvino's CPU plugin computes float16 as float32 (B42): compared within {_FLOAT16_PEAK_TOLERANCE:.0%} of"
        " each value's largest number",
    )
    return replace(tolerance, peak_fraction=_FLOAT16_PEAK_TOLERANCE), note


def _float16_flags(graph: Graph) -> Iterator[bool]:
    """Whether each value is float16."""
    for part in walk_graphs(graph):
        yield from (_is_float16(value) for value in (*part.inputs, *part.constants))
    yield from (conversion_dtype(node) == np.float16 for node in walk(graph))


def _is_float16(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype == np.float16
