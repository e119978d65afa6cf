"""Fusion of quantized products with adjacent nodes into one call (int8_fused_product.h).

Models express such a product as a chain: quantization, product, dequantization. In ONNX that is DynamicQuantizeLinear,
MatMulInteger, Cast, Mul by the scales, Add of a bias; an OpenVINO IR has about twenty nodes. A chain becomes a group
of one block, whose call is bit-identical to its nodes. The call reports data outside its fast path, and the nodes run
unfused then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field

import numpy as np

from ...graph import Array
from ...kernels.bindings import int8
from ...kernels.kernel import Kernel
from ...ops.int8_weight_packing import pack_int32_weights, pack_weights
from ...ops.ufunc_kernels import routine_kernel, row_major_strides
from ...ops.weight_packing import cached_layout
from ...record import record
from ..binding_result import Buffer, CallSpec
from .block_emitter import BlockOperand
from .groups import Candidate, GroupPlan, SlotInfo

#: Kinds of row input, as numbered in int8_fused_product.h.
_BYTES, _DYNAMIC, _OPENVINO, _INTEGERS = range(4)
#: Operators of a chain's product.
PRODUCTS = frozenset({"MatMulInteger", "MatMul"})

_FLOAT32, _INT32 = np.dtype(np.float32), np.dtype(np.int32)
_UINT8 = np.dtype(np.uint8)


@record
class QuantizedChain:
    """The matched chain of a product. ``x``: the slot of its row input."""

    kind: int
    members: list[Candidate]
    x: int
    weights: Array
    b_zero: Array
    b_signed: bool
    #: A slot (factors of rows of bytes) or a constant (factors of the rows' own scale).
    scales: int | Array
    out: int
    a_zero: int = -1
    a_signed: bool = False
    addend: int = -1


def plan_chains(nodes: Sequence[Candidate], slots: SlotInfo) -> list[GroupPlan]:
    """The disjoint chains in a sequence of bound nodes."""
    finder = _ChainFinder(nodes, slots)
    groups: list[GroupPlan] = []
    for node in nodes:
        if node.op_type in PRODUCTS and not node.guarded and not node.idle and not node.once:
            chain = finder.longest_chain(node)
            group = None if chain is None else _make_group(chain, finder)
            if group is not None and (not groups or groups[-1].end <= group.first):
                groups.append(group)
    return groups


@record
class _ChainFinder:
    """Pattern matcher for the chain of a product."""

    nodes: Sequence[Candidate]
    slots: SlotInfo
    producers: dict[int, Candidate] = field(default_factory=dict)
    node_by_position: dict[int, Candidate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        usable = [node for node in self.nodes if not (node.guarded or node.idle or node.once)]
        self.producers = {slot: node for node in usable for slot in node.outputs if slot >= 0}
        self.node_by_position = {node.pc: node for node in usable}

    # -- neighbours of a node

    def producer(self, slot: int, *op_types: str) -> Candidate | None:
        """The producer of a slot, if it has one of these operators."""
        node = self.producers.get(slot)
        return node if node is not None and node.op_type in op_types else None

    def only_reader(self, slot: int, *op_types: str) -> Candidate | None:
        """The only reader of a slot, if it has one of these operators."""
        readers = set(self.slots.readers(slot))
        if slot in self.slots.ports or len(readers) != 1:
            return None
        node = self.node_by_position.get(readers.pop())
        return node if node is not None and node.op_type in op_types else None

    def has_only_inner_readers(self, members: Sequence[Candidate], out: int) -> bool:
        """Do only members read the members' results, except for ``out``?"""
        pcs = {node.pc for node in members}
        slots = [slot for node in members for slot in node.outputs if slot >= 0 and slot != out]
        return all(slot not in self.slots.ports and pcs.issuperset(self.slots.readers(slot)) for slot in slots)

    def constant_array(self, slot: int, dtype: np.dtype[np.generic]) -> Array | None:
        array = self.slots.known(slot) if slot >= 0 else None
        return array if array is not None and array.dtype == dtype else None

    def is_constant_number(self, slot: int, number: float) -> bool:
        array = self.constant_array(slot, _FLOAT32)
        return array is not None and array.size == 1 and bool(array.reshape(-1)[0] == np.float32(number))

    # -- chains

    def longest_chain(self, product: Candidate) -> QuantizedChain | None:
        """The longest chain whose intermediates have no other readers."""
        epilogue = self._match_dequantization(product)
        if epilogue is None:
            return None
        members, factor, out, addend = epilogue
        for chain in self._chains_of_product(product, factor, members, out):
            chain.addend = addend
            if self.has_only_inner_readers(chain.members, out):
                return chain
        return None

    def _match_dequantization(self, product: Candidate) -> tuple[list[Candidate], int, int, int] | None:
        """Match the dequantization of sums: nodes, the slots of the factors, the result, and the addend or -1."""
        sums = product.outputs[0]
        cast = self.only_reader(sums, "Cast", "Convert")
        if cast is None or self.slots.spec(cast.outputs[0])[0] != _FLOAT32 or self.slots.spec(sums)[0] != _INT32:
            return None
        shape = self.slots.spec(sums)[1]
        converted = cast.outputs[0]
        multiply = self.only_reader(converted, "Mul", "Multiply")
        factor = -1 if multiply is None else _other_input(multiply, converted)
        if (
            multiply is None
            or factor < 0
            or not self._is_row_vector(factor, shape)
            or self.slots.spec(multiply.outputs[0])[1] != shape
        ):
            return None
        members, out, addend = [product, cast, multiply], multiply.outputs[0], -1
        add = self.only_reader(out, "Add")
        addend_slot = -1 if add is None else _other_input(add, out)
        if add is not None and addend_slot >= 0 and self.slots.spec(add.outputs[0]) == (_FLOAT32, shape):
            dtype, extents = self.slots.spec(addend_slot)
            if dtype == _FLOAT32 and (extents == shape or self._is_row_vector(addend_slot, shape, scalar=False)):
                members.append(add)
                out, addend = add.outputs[0], addend_slot
        return members, factor, out, addend

    def _is_row_vector(self, slot: int, shape: tuple[int, ...], scalar: bool = True) -> bool:
        """Is a slot a float32 row with one element per column, or a scalar if ``scalar``?"""
        dtype, extents = self.slots.spec(slot)
        columns = math.prod(extents) == shape[-1] == (extents[-1] if extents else 1)
        return dtype == _FLOAT32 and len(extents) <= len(shape) and (columns or (scalar and math.prod(extents) == 1))

    def _chains_of_product(
        self, product: Candidate, factor: int, members: list[Candidate], out: int
    ) -> Iterator[QuantizedChain]:
        if product.op_type == "MatMulInteger":
            yield from self._onnx_chains(product, factor, members, out)
        else:
            yield from self._openvino_chains(product, factor, members, out)

    def _onnx_chains(
        self, product: Candidate, factor: int, members: list[Candidate], out: int
    ) -> Iterator[QuantizedChain]:
        a, b, a_zero, b_zero = (*product.inputs, -1, -1)[:4]
        weights = self.slots.known(b)
        if weights is None or weights.ndim != 2 or not weights.size or len(self.slots.spec(a)[1]) < 2:
            return
        dtype, extents = (self.slots.spec(a)[0], ()) if a_zero < 0 else self.slots.spec(a_zero)
        zero = np.zeros(1, weights.dtype) if b_zero < 0 else self.constant_array(b_zero, weights.dtype)
        if a_zero < 0 or math.prod(extents) != 1 or zero is None or zero.size not in (1, weights.shape[1]):
            return
        packed = cached_layout(weights, pack_weights)[0]
        signed = weights.dtype == np.int8
        without_quantization = QuantizedChain(
            _BYTES, members, a, packed, zero.reshape(-1), signed, factor, out, a_zero, dtype == np.int8
        )
        quantize = self.producer(a, "DynamicQuantizeLinear")
        scaled = self._match_scale_product(factor, quantize.outputs[1]) if quantize is not None else None
        if quantize is not None and scaled is not None and quantize.outputs[2] == a_zero:
            node, scales = scaled
            nodes = [quantize, node, *members]
            yield QuantizedChain(_DYNAMIC, nodes, quantize.inputs[0], packed, zero.reshape(-1), signed, scales, out)
        yield without_quantization

    def _match_scale_product(self, factor: int, scale: int) -> tuple[Candidate, Array] | None:
        """The node that multiplies the row scale by the column scales, and the latter."""
        node = self.producer(factor, "Mul", "Multiply")
        if node is None or scale not in node.inputs:
            return None
        scales = self.constant_array(_other_input(node, scale), _FLOAT32)
        return None if scales is None else (node, np.ascontiguousarray(scales).reshape(-1))

    def _openvino_chains(
        self, product: Candidate, factor: int, members: list[Candidate], out: int
    ) -> Iterator[QuantizedChain]:
        a, b = product.inputs[:2]
        weights = self.constant_array(b, _INT32)
        if weights is None or weights.ndim != 2 or len(self.slots.spec(a)[1]) < 2:
            return
        if self.slots.spec(a)[0] != _INT32 or product.op.keywords.get("transpose_a"):
            return
        packed = cached_layout(weights.T if product.op.keywords.get("transpose_b") else weights, pack_int32_weights)
        if not packed.size:
            return
        signed = bool(packed[0])
        zero = packed[1:2].view(np.int8) if signed else packed[1:2]
        panels = packed[int8.HEADER_BYTES :]
        quantized = self._match_openvino_quantization(a)
        scaled = None if quantized is None else self._match_scale_product(factor, quantized[2])
        if quantized is not None and scaled is not None:
            nodes, x, _ = quantized
            node, scales = scaled
            yield QuantizedChain(_OPENVINO, [*nodes, node, *members], x, panels, zero, signed, scales, out)
        yield QuantizedChain(_INTEGERS, members, a, panels, zero, signed, factor, out)

    def _match_openvino_quantization(self, a: int) -> tuple[list[Candidate], int, int] | None:
        """Match OpenVINO's dynamic quantization minus zero points: nodes, the float input, and its scale."""
        minus = self.producer(a, "Subtract")
        if minus is None:
            return None
        matched = [minus]

        def match_producer(slot: int, *op_types: str) -> Candidate:
            node = self.producer(slot, *op_types)
            if node is None:
                raise _PatternMismatch
            matched.append(node)
            return node

        def match_path(slot: int, *op_types: str) -> int:
            for op_type in op_types:
                slot = match_producer(slot, op_type).inputs[0]
            return slot

        def match_input(node: Candidate, op_type: str) -> tuple[Candidate, int]:
            """The input produced by an operator, and the other one."""
            for slot in node.inputs[:2]:
                if self.producer(slot, op_type) is not None:
                    return match_producer(slot, op_type), _other_input(node, slot)
            raise _PatternMismatch

        try:
            data, zero = (match_path(slot, "Convert") for slot in minus.inputs[:2])
            ends = [match_producer(data, "Convert"), match_producer(zero, "Convert")]
            clamps = [match_producer(end.inputs[0], "Clamp") for end in ends]
            shifted = match_producer(clamps[0].inputs[0], "Add")
            rounded, wide_zero = match_input(shifted, "Round")
            if match_path(wide_zero, "Convert") != zero:
                return None
            divided = match_producer(rounded.inputs[0], "Divide")
            times = match_producer(divided.inputs[0], "Multiply")
            span = match_producer(divided.inputs[1], "Subtract")
            x = times.inputs[0] if self.is_constant_number(times.inputs[1], 255) else times.inputs[1]
            high, low = match_producer(span.inputs[0], "Maximum"), match_producer(span.inputs[1], "Minimum")
            maximum, minimum = match_input(high, "ReduceMax"), match_input(low, "ReduceMin")
            rounded_zero = match_producer(clamps[1].inputs[0], "Round")
            ratio = match_producer(rounded_zero.inputs[0], "Divide")
            negated, scale = match_producer(ratio.inputs[0], "Subtract"), match_producer(ratio.inputs[1], "Multiply")
        except _PatternMismatch:
            return None
        rows = math.prod(self.slots.spec(x)[1])
        conditions = [
            self.slots.spec(x)[0] == _FLOAT32,
            all(self.slots.spec(slot) == (_UINT8, self.slots.spec(end)[1]) for slot, end in ((data, a), (zero, zero))),
            self.slots.spec(x)[1] == self.slots.spec(a)[1],
            all(float(clamp.op.keywords["min"]) == 0 and float(clamp.op.keywords["max"]) == 255 for clamp in clamps),
            all(
                str(n.op.keywords.get("mode", "half_to_even")).lower() == "half_to_even"
                for n in (rounded, rounded_zero)
            ),
            self.is_constant_number(_other_input(times, x), 255),
            maximum[0].inputs[0] == minimum[0].inputs[0] == x
            and self.is_constant_number(maximum[1], 0)
            and self.is_constant_number(minimum[1], 0),
            all(math.prod(self.slots.spec(end[0].outputs[0])[1]) == 1 for end in (maximum, minimum)),
            self.is_constant_number(negated.inputs[0], 0) and negated.inputs[1] == low.outputs[0],
            span.outputs[0] in scale.inputs[:2],
            self.is_constant_number(_other_input(scale, span.outputs[0]), float(np.float32(1) / np.float32(255))),
            rows > 0,
        ]
        return (list({node.pc: node for node in matched}.values()), x, scale.outputs[0]) if all(conditions) else None


class _PatternMismatch(Exception):
    """A node does not match the pattern."""


def _other_input(node: Candidate, slot: int) -> int:
    """The other one of two inputs; -1: both are this slot."""
    a, b = node.inputs[:2]
    return b if a == slot != b else a if b == slot != a else -1


def _make_group(chain: QuantizedChain, finder: _ChainFinder) -> GroupPlan | None:
    """A group of one block with the fused call."""
    slots = finder.slots
    members = sorted({node.pc: node for node in chain.members}.values(), key=lambda node: node.pc)
    first, end = members[0].pc, members[-1].pc + 1
    positions = {node.pc for node in members}
    delayed = {slot for node in members for slot in node.outputs}
    before, after, idle = [], [], []
    for node in finder.nodes:
        if not first <= node.pc < end or node.pc in positions:
            continue
        if node.idle:
            idle.append(node.pc)
        elif delayed.isdisjoint(node.inputs):
            before.append(node.pc)
        else:
            after.append(node.pc)
            delayed.update(node.outputs)
    shape = slots.spec(chain.out)[1]
    k, n = slots.spec(chain.x)[1][-1], shape[-1]
    m = math.prod(shape[:-1])
    if not m * k * n:
        return None
    scratch = m * (k + int8.TAIL_BYTES) + 4 * m + 128
    columns = chain.scales.size if isinstance(chain.scales, np.ndarray) else math.prod(slots.spec(chain.scales)[1])
    row = 0 if chain.addend < 0 or math.prod(slots.spec(chain.addend)[1]) == n < m * n else n
    size_and_signs = (m, k, n, int(chain.a_signed), int(chain.b_signed))
    numbers = (chain.kind, *size_and_signs, int(chain.b_zero.size > 1), int(columns > 1), int(chain.addend >= 0), row)
    builder = _ChainCall(routine_kernel("int8.fused_product"), slots)
    inputs: list[int | Array] = [chain.x, chain.weights, chain.a_zero, chain.b_zero, chain.scales, chain.addend]
    call = builder.spec(
        [np.zeros(16, np.uint8) if isinstance(x, int) and x < 0 else x for x in inputs], chain.out, scratch, numbers
    )
    inner = [slot for node in members for slot in node.outputs if slot >= 0 and slot != chain.out]
    nodes_in_range = [node for node in finder.nodes if first <= node.pc < end]
    return GroupPlan(
        first,
        end,
        [node.pc for node in members] + idle,
        before,
        after,
        (),
        builder.places,
        [call],
        [],
        builder.constants,
        scratch,
        inner,
        [node.pc for node in members if not set(inner).isdisjoint(node.outputs)],
        sorted({slot for node in nodes_in_range for slot in (*node.inputs, *node.outputs) if slot >= 0}),
        40 + m * k * n // 64,
    )


@record
class _ChainCall:
    """Builds a call on slots, constants and the group's memory."""

    kernel: Kernel
    slots: SlotInfo
    places: list[BlockOperand] = field(default_factory=list)
    constants: list[Array] = field(default_factory=list)

    def spec(self, inputs: Sequence[int | Array], out: int, scratch: int, numbers: tuple[int, ...]) -> CallSpec:
        buffers = []
        for x in (*inputs, out):
            if isinstance(x, np.ndarray):
                buffers.append(self._buffer("constant", len(self.constants), x.dtype, x.shape))
                self.constants.append(x)
            else:
                buffers.append(self._buffer("slot", x, *self.slots.spec(x)))
        buffers.append(self._buffer("own", 0, _UINT8, (scratch,)))
        return CallSpec(self.kernel, tuple(buffers), extra=numbers)

    def _buffer(self, kind: str, index: int, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> Buffer:
        self.places.append(BlockOperand(kind, index, 0, ()))
        return Buffer("place", len(self.places) - 1, dtype, shape, row_major_strides(shape, dtype.itemsize))
