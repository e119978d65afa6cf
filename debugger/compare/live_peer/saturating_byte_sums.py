"""Rule B33: sums of pairs of products of u8 and s8 in 16 bits, which saturate, as onnxruntime computes them on x86
processors without VNNI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....runtime.errors import LoopdbgError
from ....runtime.graph import Array, Graph, Node, Operation, System, TensorType, Value, walk
from ....runtime.ops.eager import EagerPrimitives
from ....runtime.ops.primitive_types import RoutineCall
from ....runtime.ops.registry import ResolvedOperation, ResolvedOperator, resolve
from ...peers.jobs import OnnxJob
from ...peers.process import Peer
from ..report.findings import DivergenceReason, NodeDifference
from ..running.value_comparison import Tolerance, compare

#: Operators that sum products of bytes: their domains, and the positions of the factors (-1: it is quantised inside).
_BYTE_PRODUCTS = {
    "MatMulInteger": ("", 0, 1),
    "QLinearMatMul": ("", 0, 3),
    "DynamicQuantizeMatMul": ("com.microsoft", -1, 1),
    "MatMulIntegerToFloat": ("com.microsoft", 0, 1),
    "QGemm": ("com.microsoft", 0, 3),
}
#: The entry of a session that makes sums exact, of products with a constant.
EXACT_SUMS_OPTION = "session.x64quantprecision"
_INT16 = np.iinfo(np.int16)
#: A model whose only result is a sum of 2 * 255 * 127.
_PROBE = """<ir_version: 8, opset_import: ["" : 17]>
probe (uint8[1, 4] a) => (int32[1, 1] y) <int8[4, 1] b = {127, 127, 0, 0}> { y = MatMulInteger(a, b) }"""
_PROBE_SUM = 2 * 255 * 127


class _PairedSums(EagerPrimitives):
    """The primitives, of which products of u8 and s8 saturate."""

    def call(self, routine: RoutineCall, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """Call a routine."""
        if routine.name != "int8.product" or tuple(routine.params[4:6]) != (0, 1):
            return super().call(routine, inputs)
        count, m, k, n = routine.params[:4]
        rows, columns, row_zero, column_zero = (np.asarray(x).astype(np.int64) for x in inputs)
        rows, columns = rows.reshape(count, m, k), columns.reshape(-1, k, n)
        sums = np.zeros((count, m, n), np.int64)
        for first in range(0, k, 2):
            pair = slice(first, first + 2)
            sums += (rows[:, :, pair] @ columns[:, pair]).clip(_INT16.min, _INT16.max)
        row_zero = row_zero.reshape((-1, m, 1) if row_zero.size > 1 else (1, 1, 1))
        column_zero = column_zero.reshape((-1, 1, n) if column_zero.size > 1 else (1, 1, 1))
        sums -= row_zero * columns.sum(1, keepdims=True) + column_zero * rows.sum(2, keepdims=True)
        return ((sums + k * row_zero * column_zero).astype(np.int32),)


def is_byte_product(node: Node) -> bool:
    """Whether a node may sum products of u8 and s8."""
    domain, *positions = _BYTE_PRODUCTS.get(node.op_type, ("",))
    if not isinstance(node, Operation) or not positions or node.domain != domain:
        return False
    factors = [node.inputs[k] if 0 <= k < len(node.inputs) else None for k in positions]
    types = [factor.type if factor is not None else None for factor in factors]
    known = [kind.dtype if isinstance(kind, TensorType) else None for kind in types]
    return known[0] in (None, np.uint8) and known[1] in (None, np.int8)


def with_saturating_sums(node: Operation, system: System = System.ONNX) -> ResolvedOperation:
    """The node, with sums that saturate."""
    exact = resolve(node, system)

    def saturating(p: Any, *inputs: Any) -> Any:
        return exact.apply(_PairedSums(), inputs)

    return ResolvedOperation(
        *(node.name, node.op_type, node.domain, node.version, node.inputs, node.outputs),
        op=ResolvedOperator(saturating, {}, native=False),
    )


def saturation_reasons(node: NodeDifference | None) -> list[DivergenceReason]:
    """Rule B33, if a product of bytes with sums that saturate is what the other side has."""
    if node is None or node.op_type not in _BYTE_PRODUCTS:
        return []
    domain = _BYTE_PRODUCTS[node.op_type][0]
    inputs: list[Value | None] = [Value(name) for name, _ in node.inputs]
    result = Value(node.name)
    operation = Operation(node.node, node.op_type, domain, 1 if domain else 21, inputs, [result])
    try:
        (sums,) = with_saturating_sums(operation).op.apply(None, [np.asarray(value) for _, value in node.inputs])
    except LoopdbgError:  # an input is omitted between others
        return []
    if compare(sums, node.difference.right, Tolerance(0.0, 0.0)).kind:
        return []
    text = (
        f"sums of pairs of products in {node.op_type} '{node.node}' are beyond 16 bits: on a processor without VNNI "
        "onnxruntime adds u8 x s8 products by pairs, and they saturate there, which gives these numbers."
    )
    return [DivergenceReason("B33", text)]


def default_byte_sum_text(peer: Peer, graph: Graph) -> str:
    """How onnxruntime sums products of bytes without settings, if these are why it does not here; empty otherwise."""
    is_exact = peer.name == "onnxruntime" and peer.configuration.get(EXACT_SUMS_OPTION) == "1"
    if not is_exact or not any(map(is_byte_product, walk(graph))):
        return ""
    from onnx import parser

    job = OnnxJob(data=parser.parse_model(_PROBE).SerializeToString())
    with peer.with_options({EXACT_SUMS_OPTION: "0"}) as usual:
        (result,) = usual.open(job).run({"a": np.full((1, 4), 255, np.uint8)})
    return "" if int(np.asarray(result).item()) == _PROBE_SUM else "sums of pairs of bytes that saturate at 16 bits"
