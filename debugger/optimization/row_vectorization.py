"""Loops over the rows of tensors: which values of a body are rows of a tensor that can be computed at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from onnx import NodeProto

from ...runtime.graph import Loop, Node, Operation, Value
from ...runtime.plan.iteration_batching import HoistableFinder, RowSource
from .model_facts import ModelFacts
from .onnx_loop import OnnxLoop

#: Operators that compute each element of the result from the elements at its position.
_ELEMENTWISE = frozenset(
    {"Abs", "Add", "And", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast", "Ceil", "Celu",
     "Clip", "Cos", "Div", "Elu", "Equal", "Erf", "Exp", "Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid",
     "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Min", "Mish", "Mod",
     "Mul", "Neg", "Not", "Or", "PRelu", "Pow", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin",
     "Softplus", "Softsign", "Sqrt", "Sub", "Sum", "Tan", "Tanh", "ThresholdedRelu", "Where", "Xor"}
)  # fmt: skip
#: A Gemm with these is a product and a sum.
_GEMM_DEFAULTS = {"alpha": 1.0, "beta": 1.0, "transA": 0}
#: Along the last axis.
_LAST_AXIS = frozenset({"Softmax", "LogSoftmax"})


class LoopRows:
    """The values of a body that are row i of a tensor in iteration i, and those computed from such rows alone.

    ``sources``: the rows of outer tensors; ``ranks``: the rank of each row; ``known``: values whose rows of all
    iterations are computed in another way.
    """

    def __init__(self, facts: ModelFacts, loop: Loop, known: Collection[Value] = ()) -> None:
        self.facts, self.loop = facts, loop
        finder = HoistableFinder(loop, loop.system)
        finder.find_chains()
        self._inside = finder.inside
        self.sources = {value: source for value, source in finder.sources.items() if self._is_row_by_row(source)}
        self.known = set(known)
        ranks = {value: facts.rank(value) for value in known}
        self.ranks: dict[Value, int] = {value: rank for value, rank in ranks.items() if rank is not None}
        for value, source in self.sources.items():
            rank = facts.rank(source.outer)
            if rank:
                self.ranks[value] = rank - 1
        if loop.iteration is not None:
            self.ranks[loop.iteration] = 0
        for node in loop.body.nodes:
            output = node.outputs[0] if len(node.outputs) == 1 else None
            rank = None if output is None or output in self.ranks else self._row_result_rank(node)
            if rank is not None and output is not None:
                self.ranks[output] = rank

    def _is_row_by_row(self, source: RowSource) -> bool:
        """Whether iteration i gets row i, without the axis."""
        sliced = source.sliced
        if sliced is not None:
            return sliced.axis == 0 and (sliced.start, sliced.end, sliced.stride, sliced.drop_axis) == (0, -1, 1, True)
        return source.axis == 0 and source.index is not None and self.facts.rank(source.index) == 0

    def _row_result_rank(self, node: Node) -> int | None:
        """The rank of the result if a node computes a row from rows and from values that no iteration changes."""
        inputs = [value for value in node.inputs if value is not None]
        rows = [self.ranks[value] for value in inputs if value in self.ranks]
        others = [value for value in inputs if value not in self.ranks]
        if not rows or not self.facts.is_deterministic(node):
            return None
        if any(value in self._inside and self.facts.constant(value) is None for value in others):
            return None
        other_ranks = [self.facts.rank(value) for value in others]
        assert isinstance(node, Operation)
        if node.op_type == "MatMul":
            if others and (inputs[1] in self.ranks or other_ranks != [2] or rows[0] < 1):
                return None
            return rows[0] if others or (rows[0] >= 2 and rows[0] == rows[1]) else None
        if node.op_type == "Gemm":
            plain = {name: node.attributes.get(name, value) for name, value in _GEMM_DEFAULTS.items()} == _GEMM_DEFAULTS
            return 2 if plain and rows == [2] and inputs[0] in self.ranks else None
        if node.op_type in _LAST_AXIS:
            return rows[0] if node.attributes.get("axis", -1) == -1 and node.version >= 13 and rows[0] else None
        if node.op_type not in _ELEMENTWISE or len(set(rows)) != 1:
            return None
        return rows[0] if all(rank is not None and rank <= rows[0] for rank in other_ranks) else None

    def nodes_for(self, values: Iterable[Value]) -> list[Node]:
        """The nodes that compute rows, without those that only take one from a tensor."""
        needed = set(values)
        nodes = []
        for node in reversed(self.loop.body.nodes):
            is_source = not {*self.sources, *self.known}.isdisjoint(node.outputs)
            if needed.intersection(node.outputs) and not is_source:
                nodes.append(node)
                needed.update(value for value in node.inputs if value is not None)
        return nodes[::-1]

    def write(
        self, message: OnnxLoop, values: Iterable[Value], known: Mapping[Value, str] | None = None
    ) -> dict[Value, str]:
        """Insert nodes that compute the rows of all iterations at once; returns the names of these tensors.

        ``known``: the names of the tensors of known values.
        """
        values = list(values)
        names: dict[Value, str] = dict(known or {})

        def name_of(value: Value) -> str:
            if value not in names:
                if value in self.sources:
                    names[value] = self.write_source(message, self.sources[value])
                elif value is self.loop.iteration:
                    count = message.emit("Squeeze", [message.node.input[0]])
                    names[value] = message.emit("Range", [message.constant(0), count, message.constant(1)])
                elif value in self._inside:
                    data = self.facts.constant(value)
                    assert data is not None
                    names[value] = message.constant(data)
                else:
                    names[value] = value.name
            return names[value]

        for node in self.nodes_for(values):
            output = node.outputs[0]
            assert output is not None
            if node.op_type == "Gemm":
                names[output] = self._write_gemm(message, node, [name_of(value) for value in node.inputs if value])
                continue
            copy = NodeProto()
            copy.CopyFrom(next(proto for proto in message.body.node if output.name in proto.output))
            copy.input[:] = ["" if value is None else name_of(value) for value in node.inputs]
            names[output] = message.fresh_name(f"{output.name}_rows")
            copy.output[:] = [names[output]]
            copy.name = names[output]
            message.insert([copy])
        return {value: name_of(value) for value in values}

    def _write_gemm(self, message: OnnxLoop, node: Node, inputs: list[str]) -> str:
        """A Gemm has operands of rank 2 alone."""
        assert isinstance(node, Operation)
        weights = message.emit("Transpose", inputs[1:2], perm=[1, 0]) if node.attributes.get("transB") else inputs[1]
        product = message.emit("MatMul", [inputs[0], weights])
        return message.emit("Add", [product, inputs[2]]) if len(inputs) > 2 else product

    def write_source(self, message: OnnxLoop, source: RowSource) -> str:
        """The name of the tensor with the rows of all iterations."""
        count = self.loop.trip_count
        if source.sliced is not None or count is None or self.is_tensor_length(count, source.outer):
            return source.outer.name
        known = self.facts.producers.constant_integer(count)
        if known is None:
            number = message.emit("Max", [message.node.input[0], message.constant(0)])
            end = message.emit("Reshape", [number, message.constant([1])])
        else:
            end = message.constant([max(known, 0)])
        return message.emit("Slice", [source.outer.name, message.constant([0]), end, message.constant([0])])

    def is_tensor_length(self, count: Value, tensor: Value) -> bool:
        """Whether a trip count is the length of a tensor along axis 0, as far as the graph tells."""
        facts = self.facts
        known = facts.producers.constant_integer(count)
        declared = getattr(tensor.type, "shape", None)
        if known is not None and declared:
            return bool(declared[0] == known)
        value = facts.source_before_casts(count)
        node = facts.producers.get(value)
        if node is not None and node.op_type == "Gather" and node.inputs[1] is not None:
            if facts.producers.constant_integer(node.inputs[1]) != 0 or node.inputs[0] is None:
                return False
            node = facts.producers.get(node.inputs[0])
        elif not (
            isinstance(node, Operation) and (node.attributes.get("start", 0), node.attributes.get("end")) == (0, 1)
        ):
            return False
        if node is None or node.op_type != "Shape" or node.inputs[0] is None:
            return False
        return facts.producers.skip_identities(node.inputs[0]) is facts.producers.skip_identities(tensor)
