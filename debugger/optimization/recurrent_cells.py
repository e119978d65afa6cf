"""Loops that compute what ONNX's LSTM, GRU and RNN do, however their bodies are written.

The products of a cell are brought to one form: a matrix for the input row, one for the state, and a bias. Weights that
are concatenated, transposed or split between gates are then the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...runtime.graph import Array, BackEdge, Loop, Operation, Value
from ..rewriting.editable_model import EditableOnnx
from ..rewriting.rewrite import Rewrite
from .model_facts import ModelFacts
from .onnx_loop import OnnxLoop
from .row_vectorization import LoopRows

_ACTIVATIONS = ("Tanh", "Sigmoid", "Relu")


@dataclass(frozen=True)
class _Affine:
    """``sum of v @ matrix over the parts + bias``; ``parts``: by value, ``[K, N]``; ``bias``: ``[N]``."""

    parts: Mapping[Value, Array]
    bias: Array

    def map(self, columns: Any) -> _Affine:
        """The same columns of all matrices."""
        return _Affine({value: columns(matrix) for value, matrix in self.parts.items()}, columns(self.bias))

    def __add__(self, other: _Affine) -> _Affine:
        parts = dict(self.parts)
        for value, matrix in other.parts.items():
            parts[value] = parts[value] + matrix if value in parts else matrix
        return _Affine(parts, self.bias + other.bias)


@dataclass(frozen=True)
class _Cell:
    """A recognized cell: the gates in the order of the operator, each with its matrices for row and state.

    ``recurrent_bias``: of the last gate, where a GRU multiplies it with the reset gate.
    """

    kind: str
    row: Value
    hidden: BackEdge
    gates: Sequence[_Affine]
    cell: BackEdge | None = None
    recurrent_bias: Array | None = None
    attributes: Mapping[str, Any] | None = None


def find_recurrent_cell(facts: ModelFacts, loop: Loop, rows: LoopRows) -> list[Rewrite]:
    """A loop that is an LSTM, a GRU or an RNN over the rows of one tensor."""
    scans = [scan for scan in loop.scan_outputs if scan.outer in facts.values_read]
    for edge in loop.back_edges:
        cell = _Matcher(facts, loop, rows).match(edge)
        if cell is None or any(scan.axis or scan.reverse for scan in scans):
            continue
        # What else is collected has to be computed from the new state alone, row by row.
        outputs = LoopRows(facts, loop, [edge.result])
        if not all(outputs.ranks.get(scan.result) is not None for scan in scans):
            continue
        states = [edge] if cell.cell is None else [edge, cell.cell]
        lasts = [last for last in loop.last_values if last.outer in facts.values_read]
        if any(loop.back_edge_for(last) not in states for last in lasts):
            continue
        tensor = rows.sources[cell.row].outer.name
        reason = f"it computes the equations of ONNX {cell.kind.upper()} on the rows of '{tensor}'"
        return [facts.rewrite(cell.kind, loop, reason, partial(_replace_by_recurrent_operator, outputs, loop, cell))]
    return []


class _Matcher:
    """Matches the equations of one body."""

    def __init__(self, facts: ModelFacts, loop: Loop, rows: LoopRows) -> None:
        self.facts, self.loop, self.rows = facts, loop, rows
        self.inputs = {value for value in rows.sources if rows.ranks.get(value) == 2}
        self._forms: dict[Value, _Affine | None] = {}
        #: Values that products may read next to rows: the state, or what a GRU computes of it.
        self.operands: set[Value] = set()

    def match(self, edge: BackEdge) -> _Cell | None:
        """The cell whose hidden state a back edge carries."""
        if self.facts.rank(edge.param) != 2 or not isinstance(edge.initial, Value):
            return None
        self.operands = {edge.param}
        return self._match_lstm(edge) or self._match_gru(edge) or self._match_rnn(edge)

    # -- equations

    def _match_rnn(self, edge: BackEdge) -> _Cell | None:
        for activation in _ACTIVATIONS:
            gate = self._match_gate(activation, edge.result)
            if gate is not None:
                return self._make_cell("rnn", edge, [gate], attributes={"activations": [activation]})
        return None

    def _match_lstm(self, edge: BackEdge) -> _Cell | None:
        for o, t in self._operand_pairs("Mul", edge.result):
            output, squashed = self._match_gate("Sigmoid", o), self._operand_of("Tanh", t)
            if output is None or squashed is None:
                continue
            carried = next((e for e in self.loop.back_edges if self.facts.same_source(e.result, squashed)), None)
            if carried is None or not isinstance(carried.initial, Value):
                continue
            for kept, added in self._operand_pairs("Add", squashed):
                forget = next(
                    (self._match_gate("Sigmoid", f) for f, c in self._operand_pairs("Mul", kept) if c is carried.param),
                    None,
                )
                for i, g in self._operand_pairs("Mul", added):
                    gates = [
                        self._match_gate("Sigmoid", i),
                        output,
                        forget,
                        self._match_gate("Tanh", g),
                    ]
                    if None not in gates:
                        return self._make_cell("lstm", edge, gates, carried)
        return None

    def _match_gru(self, edge: BackEdge) -> _Cell | None:
        for z, n in self._update_gate_matches(edge):
            update = self._match_gate("Sigmoid", z)
            inner = self._operand_of("Tanh", n)
            if update is None or inner is None:
                continue
            # After the product: row @ W + r * (h @ R + b); before it: row @ W + (r * h) @ R + b.
            for a, b in self._operand_pairs("Add", inner):
                for r, product in self._operand_pairs("Mul", b):
                    reset, state, row = self._match_gate("Sigmoid", r), self._affine_form(product), self._affine_form(a)
                    if reset and state and row and set(state.parts) == {edge.param} and edge.param not in row.parts:
                        new = _Affine({**row.parts, **state.parts}, row.bias)
                        attributes = {"linear_before_reset": 1}
                        return self._make_cell("gru", edge, [update, reset, new], None, state.bias, attributes)
            for node in self.loop.body.nodes:
                for r, h in self._operand_pairs("Mul", node.outputs[0]) if node.outputs and node.outputs[0] else ():
                    reset = self._match_gate("Sigmoid", r) if h is edge.param else None
                    if reset is None or node.outputs[0] is None:
                        continue
                    scaled = node.outputs[0]
                    affine = self._affine_with_operand(scaled, inner)
                    if affine is not None and scaled in affine.parts and edge.param not in affine.parts:
                        parts = {edge.param if value is scaled else value: m for value, m in affine.parts.items()}
                        return self._make_cell("gru", edge, [update, reset, _Affine(parts, affine.bias)])
        return None

    def _update_gate_matches(self, edge: BackEdge) -> list[tuple[Value, Value]]:
        """Pairs of update gate and new state: ``(1 - z) * n + z * h``, ``n + z * (h - n)``."""
        pairs = []
        for a, b in self._operand_pairs("Add", edge.result):
            for z, h in self._operand_pairs("Mul", b):
                if h is edge.param:
                    pairs += [(z, n) for rest, n in self._operand_pairs("Mul", a) if self._is_one_minus(rest, z)]
                node = self._producer_of_type("Sub", h)
                if node is not None and node.inputs[0] is edge.param and self.facts.same_source(node.inputs[1], a):
                    pairs.append((z, a))
        return pairs

    def _is_one_minus(self, value: Value, other: Value) -> bool:
        node = self._producer_of_type("Sub", value)
        return (
            node is not None
            and self.facts.producers.constant_scalar(node.inputs[0]) == 1
            and self.facts.same_source(node.inputs[1], other)
        )

    def _make_cell(
        self,
        kind: str,
        edge: BackEdge,
        gates: Sequence[_Affine | None],
        carried: BackEdge | None = None,
        recurrent_bias: Array | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> _Cell | None:
        known = [gate for gate in gates if gate is not None]
        rows = {value for gate in known for value in gate.parts} - {edge.param}
        if len(rows) != 1 or any(set(gate.parts) != {*rows, edge.param} for gate in known):
            return None
        return _Cell(kind, rows.pop(), edge, known, carried, recurrent_bias, attributes)

    # -- nodes

    def _producer_of_type(self, op_type: str, value: Value) -> Operation | None:
        node = self.facts.producers.get(self.facts.producers.skip_identities(value))
        is_it = isinstance(node, Operation) and node.op_type == op_type and not node.is_custom_operator
        return node if is_it and None not in node.inputs else None  # type: ignore[return-value,union-attr]

    def _operand_of(self, op_type: str, value: Value) -> Value | None:
        node = self._producer_of_type(op_type, value)
        return None if node is None else node.inputs[0]

    def _operand_pairs(self, op_type: str, value: Value) -> list[tuple[Value, Value]]:
        """The two operands of an operator, in both orders."""
        node = self._producer_of_type(op_type, value)
        if node is None or len(node.inputs) != 2:
            return []
        a, b = node.inputs
        assert a is not None and b is not None
        return [(a, b), (b, a)]

    def _match_gate(self, activation: str, value: Value) -> _Affine | None:
        inner = self._operand_of(activation, value)
        return None if inner is None else self._affine_form(inner)

    # -- affine forms

    def _affine_with_operand(self, operand: Value, value: Value) -> _Affine | None:
        """The affine form of a value in which another value is one of the operands."""
        saved, self._forms = self._forms, {}
        self.operands.add(operand)
        affine = self._affine_form(value)
        self.operands.discard(operand)
        self._forms = saved
        return affine

    def _affine_form(self, value: Value) -> _Affine | None:
        value = self.facts.producers.skip_identities(value)
        if value not in self._forms:
            self._forms[value] = None
            self._forms[value] = self._compute_affine_form(value)
        return self._forms[value]

    def _compute_affine_form(self, value: Value) -> _Affine | None:
        if value in self.inputs or value in self.operands:
            shape = self.facts.shape(value)
            if shape is None or len(shape) != 2:
                return None
            dtype = self.facts.dtype(value)
            return _Affine({value: np.eye(shape[1], dtype=dtype)}, np.zeros(shape[1], dtype))
        data = self.facts.constant(value)
        if data is not None:
            is_row = data.ndim == 1 or (data.ndim == 2 and data.shape[0] == 1)
            return _Affine({}, data.reshape(-1)) if is_row else None
        node = self.facts.producers.get(value)
        if not isinstance(node, Operation) or node.is_custom_operator:
            return None
        method = getattr(self, f"_affine_of_{node.op_type.lower()}", None) if node.op_type in _AFFINE else None
        form: _Affine | None = None if method is None else method(node, value)
        return form

    def _affine_product(self, a: Value | None, weights: Array | None) -> _Affine | None:
        left = None if a is None else self._affine_form(a)
        if left is None or weights is None or weights.ndim != 2 or len(weights) != len(left.bias):
            return None
        return left.map(lambda matrix: matrix @ weights)

    def _affine_of_matmul(self, node: Operation, value: Value) -> _Affine | None:
        return self._affine_product(node.inputs[0], self.facts.constant(node.inputs[1]))

    def _affine_of_gemm(self, node: Operation, value: Value) -> _Affine | None:
        facts = node.attributes
        weights = self.facts.constant(node.inputs[1])
        if weights is None or facts.get("transA", 0) or facts.get("alpha", 1.0) != 1 or facts.get("beta", 1.0) != 1:
            return None
        product = self._affine_product(node.inputs[0], weights.T if facts.get("transB", 0) else weights)
        bias = node.inputs[2] if len(node.inputs) > 2 else None
        return product if bias is None else _affine_sum(product, self._affine_form(bias))

    def _affine_of_add(self, node: Operation, value: Value) -> _Affine | None:
        return _affine_sum(*(None if operand is None else self._affine_form(operand) for operand in node.inputs))

    def _affine_of_concat(self, node: Operation, value: Value) -> _Affine | None:
        if node.attributes.get("axis") not in (1, -1):
            return None
        forms = [None if operand is None else self._affine_form(operand) for operand in node.inputs]
        known = [form for form in forms if form is not None]
        if len(known) != len(forms):
            return None
        width, start = sum(len(form.bias) for form in known), 0
        total: _Affine | None = None
        for form in known:
            padding = (start, width - start - len(form.bias))
            start += len(form.bias)
            padded = form.map(lambda matrix, padding=padding: np.pad(matrix, [(0, 0)] * (matrix.ndim - 1) + [padding]))
            total = padded if total is None else total + padded
        return total

    def _affine_of_split(self, node: Operation, value: Value) -> _Affine | None:
        form = self._affine_form(node.inputs[0]) if node.inputs[0] is not None else None
        if form is None or node.attributes.get("axis", 0) not in (1, -1):
            return None
        sizes = self.facts.constant(node.inputs[1]) if len(node.inputs) > 1 else None
        if sizes is None:
            if len(form.bias) % len(node.outputs):
                return None
            sizes = np.full(len(node.outputs), len(form.bias) // len(node.outputs))
        k, ends = node.outputs.index(value), np.cumsum(sizes)
        return form.map(lambda matrix: matrix[..., int(ends[k] - sizes[k]) : int(ends[k])])

    def _affine_of_slice(self, node: Operation, value: Value) -> _Affine | None:
        form = self._affine_form(node.inputs[0]) if node.inputs[0] is not None else None
        numbers = [self.facts.producers.constant_integer(operand) for operand in node.inputs[1:]]
        if form is None or None in numbers or len(numbers) < 3 or numbers[2] not in (1, -1):
            return None
        step = numbers[3] if len(numbers) > 3 else 1
        return form.map(lambda matrix: matrix[..., numbers[0] : numbers[1] : step])


#: Operators of affine forms; the method of each ends in its name.
_AFFINE = frozenset({"MatMul", "Gemm", "Add", "Concat", "Split", "Slice"})


def _affine_sum(a: _Affine | None, b: _Affine | None = None) -> _Affine | None:
    if a is None or b is None or (len(a.bias) != len(b.bias)):
        return None
    return a + b


def _replace_by_recurrent_operator(rows: LoopRows, loop: Loop, cell: _Cell, model: EditableOnnx) -> None:
    """Replace a loop by an LSTM, a GRU or an RNN."""
    message, hidden = OnnxLoop(model, loop), cell.hidden
    message.require_opset(14)
    stacked = [np.concatenate([gate.parts[value].T for gate in cell.gates])[None] for value in (cell.row, hidden.param)]
    bias = np.concatenate([gate.bias for gate in cell.gates])
    recurrent_bias = np.zeros_like(bias)
    if cell.recurrent_bias is not None:
        recurrent_bias[-len(cell.recurrent_bias) :] = cell.recurrent_bias
    weights = [message.constant(np.ascontiguousarray(matrix), name) for matrix, name in zip(stacked, "WR", strict=True)]
    biases = message.constant(np.concatenate([bias, recurrent_bias])[None], "B")
    axis = message.constant([0])
    states = [hidden] if cell.cell is None else [hidden, cell.cell]
    initials = [message.emit("Unsqueeze", [message.initial(loop.back_edges.index(edge)), axis]) for edge in states]
    tensor = rows.write_source(message, rows.sources[cell.row])
    names = [message.fresh_name(f"{message.node.name}_{role}") for role in ("Y", "Y_h", "Y_c")[: 1 + len(states)]]
    inputs = [tensor, *weights, biases, "", *initials]
    attributes = {"hidden_size": stacked[1].shape[2], **(cell.attributes or {})}
    message.emit_node(cell.kind.upper(), inputs, names, **attributes)
    scans = [scan for scan in loop.scan_outputs if scan.outer in rows.facts.values_read]
    if scans:
        known = {hidden.result: message.emit("Squeeze", [names[0], message.constant([1])])}
        tensors = rows.write(message, dict.fromkeys(scan.result for scan in scans), known)
        for scan in scans:
            message.emit("Identity", [tensors[scan.result]], scan.outer.name)
    for edge, name in zip(states, names[1:], strict=True):
        output = message.output(loop.back_edges.index(edge))
        if output:
            message.emit("Squeeze", [name, axis], output)
    message.remove()
