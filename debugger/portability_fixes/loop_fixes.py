"""Fixes that give a loop, or a recurrent operator, another form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx.helper
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, numpy_helper

from ...runtime.graph import Array
from ...runtime.modelfile.onnx_graph import (
    all_names,
    attribute_value,
    captured_names,
    keep_only_members,
    loop_body,
    names_read_by_node,
    node_key,
    rename_values,
)
from ...runtime.ops.recurrent_cells import GATE_COUNTS, STATE_NAMES, CellActivation, CellStep, parse_activations
from ..rewriting.rewrite import Rewrite
from .onnx_graph_edits import GraphEdit, GraphPlace, OnnxPlaces, rewrite

#: The first operator set with all that replaces a Scan: a Slice with steps.
_OPSET_OF_SLICES = 10
#: Larger loops stay: the number of iterations, and of nodes after unrolling.
_MAX_UNROLLED_TRIPS, _MAX_UNROLLED_NODES = 32, 2000
#: The end of a slice in reverse that includes the first row.
_BEFORE_FIRST = np.iinfo(np.int64).min
#: Function of a recurrent operator -> the operator, and the names of its parameters.
_ACTIVATIONS: Mapping[str, tuple[str, ...]] = {
    "relu": ("Relu",), "tanh": ("Tanh",), "sigmoid": ("Sigmoid",), "softsign": ("Softsign",),
    "softplus": ("Softplus",), "leakyrelu": ("LeakyRelu", "alpha"), "thresholdedrelu": ("ThresholdedRelu", "alpha"),
    "elu": ("Elu", "alpha"), "hardsigmoid": ("HardSigmoid", "alpha", "beta"),
}  # fmt: skip
_DEFAULT_ACTIVATIONS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}


# -- Scan as Loop


def convert_scans_to_loops(places: OnnxPlaces) -> Iterator[Rewrite]:
    """A Scan as a Loop that gathers its slices."""
    for place, node in places.nodes("Scan"):
        sliced = int(attribute_value(node, "num_scan_inputs", 0))
        states = len(node.input) - sliced
        inner = next(other for other in places.places if other.owner is node)
        rows = [port.name for port in inner.proto.output[states:]]
        moved = _padded_with_zeros(_integer_attribute(node, "scan_output_axes"), len(rows))
        row_ranks = [places.rank(inner, name) if axis else 0 for name, axis in zip(rows, moved, strict=True)]
        if places.opset >= _OPSET_OF_SLICES and sliced and None not in row_ranks:
            inputs = node.input[states:]
            axes = _padded_with_zeros(_integer_attribute(node, "scan_input_axes"), sliced)
            ranks = [places.rank(place, name) for name in inputs]
            if any(axis < 0 and rank is None for axis, rank in zip(axes, ranks, strict=True)):
                continue
            reverse = _padded_with_zeros(_integer_attribute(node, "scan_output_directions"), len(rows))
            turns = [
                (axis + rank + 1 if axis < 0 else axis, bool(turn), rank + 1)
                for axis, turn, rank in zip(moved, reverse, row_ranks, strict=True)
                if rank is not None
            ]
            reason = "computes the Scan as a Loop that gathers the slices"
            yield rewrite("scan-as-loop", place, node, reason, _replace_scan_with_loop, node_key(node), axes, turns)


def _replace_scan_with_loop(edit: GraphEdit, key: str, axes: list[int], turns: list[tuple[int, bool, int]]) -> None:
    node = edit.node(key)
    body, sliced = loop_body(node), len(axes)
    states = len(node.input) - sliced
    backwards = _padded_with_zeros(_integer_attribute(node, "scan_input_directions"), sliced)
    sources = list(node.input[states:])
    # What the body now captures must not be hidden by a name of its own.
    hidden = (all_names(body) - set(captured_names(body))) & set(sources)
    rename_values(body, {name: edit.make_fresh_name(f"{name}_part") for name in hidden})
    shape = edit.before(key, "Shape", [sources[0]], f"{key}_shape")
    first_axis = edit.constant(key, f"{key}_axis", np.asarray(axes[0]))
    trips = edit.before(key, "Gather", [shape, first_axis], f"{key}_trips", axis=0)
    iteration, condition, result = (
        edit.make_fresh_name(f"{key}_{word}") for word in ("iteration", "condition", "continues")
    )
    nodes = [onnx.helper.make_node("Identity", [condition], [result], result)]
    reversed_index = ""
    if any(backwards):
        unit, last, reversed_index = (edit.make_fresh_name(f"{key}_{word}") for word in ("one", "last", "reversed"))
        nodes += [
            onnx.helper.make_node("Constant", [], [unit], unit, value=numpy_helper.from_array(np.asarray(1))),
            onnx.helper.make_node("Sub", [trips, unit], [last], last),
            onnx.helper.make_node("Sub", [last, iteration], [reversed_index], reversed_index),
        ]
    for source, port, k in zip(sources, body.input[states:], range(sliced), strict=True):
        index = reversed_index if backwards[k] else iteration
        nodes.append(onnx.helper.make_node("Gather", [source, index], [port.name], f"{port.name}_gather", axis=axes[k]))
    keep_only_members(
        body.input,
        [
            _scalar_value_info(iteration, TensorProto.INT64),
            _scalar_value_info(condition, TensorProto.BOOL),
            *body.input[:states],
        ],
    )
    keep_only_members(body.output, [_scalar_value_info(result, TensorProto.BOOL), *body.output])
    keep_only_members(body.node, [*nodes, *body.node])
    node = edit.node(key)
    node.op_type = "Loop"
    node.input[:] = [trips, "", *node.input[:states]]
    keep_only_members(node.attribute, [attribute for attribute in node.attribute if attribute.name == "body"])
    for port, (axis, is_reversed, rank) in enumerate(turns, states):
        if port < len(node.output) and node.output[port] and (axis or is_reversed):
            _reorder_scan_rows(edit, node, port, axis, is_reversed, rank)


def _reorder_scan_rows(edit: GraphEdit, node: NodeProto, port: int, axis: int, is_reversed: bool, rank: int) -> None:
    """Bring the rows of a scan output into the order and onto the axis of the Scan."""
    name = node.output[port]
    rows = node.output[port] = edit.make_fresh_name(f"{name}_rows")
    after = []
    if is_reversed:
        words = {"from": -1, "to": _BEFORE_FIRST, "axis": 0, "step": -1}
        bounds = [edit.make_fresh_name(f"{name}_{word}") for word in words]
        after += [
            onnx.helper.make_node("Constant", [], [bound], bound, value=numpy_helper.from_array(np.array([number])))
            for bound, number in zip(bounds, words.values(), strict=True)
        ]
        turned = edit.make_fresh_name(f"{name}_reversed") if axis else name
        after.append(onnx.helper.make_node("Slice", [rows, *bounds], [turned], turned))
        rows = turned
    if axis:
        perm = [*range(1, axis + 1), 0, *range(axis + 1, rank)]
        after.append(onnx.helper.make_node("Transpose", [rows], [name], f"{name}_transpose", perm=perm))
    index = next(k for k, other in enumerate(edit.graph.node) if other is node)
    for offset, new in enumerate(after, 1):
        edit.graph.node.insert(index + offset, new)


def _scalar_value_info(name: str, code: int) -> onnx.ValueInfoProto:
    return onnx.helper.make_tensor_value_info(name, code, [])


def _integer_attribute(node: NodeProto, name: str) -> list[int]:
    return [int(number) for number in attribute_value(node, name, [])]


def _padded_with_zeros(numbers: list[int], count: int) -> list[int]:
    return [*numbers, *[0] * (count - len(numbers))]


# -- unrolled loops


def unroll_loops(places: OnnxPlaces) -> Iterator[Rewrite]:
    """A loop of a small constant number of iterations, as copies of its body."""
    for place, node in places.nodes("Loop"):
        trips = places.constant(place, node.input[0])
        inner = next(other for other in places.places if other.owner is node)
        if trips is None or trips.size != 1 or not _cannot_end_early(places, place, node, inner):
            continue
        count = int(trips.reshape(()))
        if 0 < count <= _MAX_UNROLLED_TRIPS and count * len(inner.proto.node) <= _MAX_UNROLLED_NODES:
            reason = f"writes the {count} iterations of the loop one after another"
            yield rewrite("unroll-loop", place, node, reason, _unroll_loop, node_key(node), count, places.opset)


def _cannot_end_early(places: OnnxPlaces, place: GraphPlace, node: NodeProto, inner: GraphPlace) -> bool:
    """Whether no condition can end a loop."""
    condition = node.input[1] if len(node.input) > 1 else ""
    if not condition:
        return True
    initial = places.constant(place, condition)
    name = inner.proto.output[0].name
    makers = {out: other for other in inner.proto.node for out in other.output}
    while name in makers and makers[name].op_type == "Identity":
        name = makers[name].input[0]
    result = places.constant(inner, name)
    is_true = result is not None and bool(result.all())
    return initial is not None and bool(initial.all()) and (is_true or name == inner.proto.input[1].name)


def _unroll_loop(edit: GraphEdit, key: str, count: int, opset: int) -> None:
    node = NodeProto()
    node.CopyFrom(edit.node(key))
    body, carried = loop_body(node), len(node.input) - 2
    values, rows = list(node.input[2:]), [[] for _ in body.output[1 + carried :]]  # type: list[str], list[list[str]]
    nodes: list[NodeProto] = []
    true = edit.constant(key, f"{key}_true", np.asarray(True))
    for k in range(count):
        step = GraphProto()
        step.CopyFrom(body)
        new = {name: edit.make_fresh_name(f"{name}_{k}") for name in all_names(body) - set(captured_names(body))}
        ports = [port.name for port in body.input]
        new |= dict(zip(ports[2:], values, strict=True)) | {ports[1]: true}
        new[ports[0]] = edit.constant(key, f"{key}_iteration_{k}", np.asarray(k))
        rename_values(step, new)
        for tensor in step.initializer:
            name = tensor.name
            nodes.append(onnx.helper.make_node("Constant", [], [name], name, value=tensor))
        nodes += step.node
        values = [port.name for port in step.output[1 : 1 + carried]]
        for port, parts in zip(step.output[1 + carried :], rows, strict=True):
            parts.append(edit.make_fresh_name(f"{port.name}_row"))
            nodes.append(_unsqueeze_node(edit, key, port.name, parts[-1], opset))
    for name, value in zip(node.output[:carried], values, strict=False):
        if name:
            nodes.append(onnx.helper.make_node("Identity", [value], [name], name))
    for name, parts in zip(node.output[carried:], rows, strict=False):
        if name:
            nodes.append(onnx.helper.make_node("Concat", parts, [name], name, axis=0))
    for copied in nodes:
        copied.name = edit.make_fresh_name(copied.name or copied.op_type)
    edit.replace(key, nodes)


def _unsqueeze_node(edit: GraphEdit, key: str, source: str, name: str, opset: int) -> NodeProto:
    if opset < 13:
        return onnx.helper.make_node("Unsqueeze", [source], [name], name, axes=[0])
    return onnx.helper.make_node("Unsqueeze", [source, edit.constant(key, "axes", np.array([0]))], [name], name)


# -- sequences


def convert_sequences_to_scan_outputs(places: OnnxPlaces) -> Iterator[Rewrite]:
    """A loop that appends to an empty sequence which is then joined: a scan output."""
    for place, node in places.nodes("ConcatFromSequence"):
        loop = next((other for other in place.proto.node if node.input[0] in other.output), None)
        if loop is None or loop.op_type != "Loop" or attribute_value(node, "axis", 0) != 0:
            continue
        k = list(loop.output).index(node.input[0])
        body = loop_body(loop)
        if k >= len(loop.input) - 2 or not _only_appends(place.proto, loop, body, k):
            continue
        stacked = bool(attribute_value(node, "new_axis", 0))
        inner = next(other for other in places.places if other.owner is loop)
        rank = places.rank(inner, _appended_element_name(body, k)) if not stacked else 1
        if rank:
            reason = f"collects the elements of '{node.input[0]}' as a scan output"
            arguments = node_key(node), node.input[0], 0 if stacked else rank
            yield rewrite("sequence-as-scan-output", place, node, reason, _collect_as_scan_output, *arguments)


def _appended_element_name(body: GraphProto, k: int) -> str:
    maker = next(node for node in body.node if body.output[1 + k].name in node.output)
    return str(maker.input[1])


def _only_appends(graph: GraphProto, loop: NodeProto, body: GraphProto, k: int) -> bool:
    """Whether a body only appends one element to an empty sequence that nothing else reads."""
    start = next((node for node in graph.node if loop.input[2 + k] in node.output), None)
    maker = next((node for node in body.node if body.output[1 + k].name in node.output), None)
    sequence = body.input[2 + k].name
    readers = [node for node in body.node if sequence in names_read_by_node(node)]
    outside = [node for node in graph.node if loop.output[k] in node.input]
    return (
        start is not None
        and start.op_type == "SequenceEmpty"
        and maker is not None
        and maker.op_type == "SequenceInsert"
        and len(maker.input) == 2
        and readers == [maker]
        and maker.input[0] == sequence
        and len(outside) == 1
        and all(port.name != loop.output[k] for port in graph.output)
    )


def _collect_as_scan_output(edit: GraphEdit, key: str, sequence: str, rank: int) -> None:
    loop = next(node for node in edit.graph.node if sequence in node.output)
    k = list(loop.output).index(sequence)
    body = loop_body(loop)
    element = _appended_element_name(body, k)
    maker = next(node for node in body.node if body.output[1 + k].name in node.output)
    port = onnx.ValueInfoProto(name=edit.make_fresh_name(f"{element}_row"))
    sequence_type = body.input[2 + k].type.sequence_type.elem_type
    if sequence_type.HasField("tensor_type"):
        port.type.CopyFrom(sequence_type)
    maker.CopyFrom(onnx.helper.make_node("Identity", [element], [port.name], maker.name))
    start = loop.input[2 + k]
    stacked = edit.make_fresh_name(f"{sequence}_rows")
    loop.input[:] = [name for n, name in enumerate(loop.input) if n != 2 + k]
    loop.output[:] = [name for n, name in enumerate(loop.output) if n != k] + [stacked]
    keep_only_members(body.input, [item for n, item in enumerate(body.input) if n != 2 + k])
    keep_only_members(body.output, [*[item for n, item in enumerate(body.output) if n != 1 + k], port])
    if not any(start in names_read_by_node(node) for node in edit.graph.node):
        keep_only_members(edit.graph.node, [node for node in edit.graph.node if start not in node.output])
    if not rank:
        edit.replace(key, [onnx.helper.make_node("Identity", [stacked], [key], edit.node(key).name)])
        return
    # [n, d, ...] -> [n * d, ...]
    shape = edit.before(key, "Shape", [stacked], f"{key}_shape")
    first = edit.constant(key, f"{key}_first", np.array([-1]))
    parts = [first]
    if rank > 1:
        indices = edit.constant(key, f"{key}_others", np.arange(2, rank + 1))
        parts.append(edit.before(key, "Gather", [shape, indices], f"{key}_rest", axis=0))
    target = edit.before(key, "Concat", parts, f"{key}_target", axis=0)
    edit.replace(key, [onnx.helper.make_node("Reshape", [stacked, target], [key], edit.node(key).name)])


def convert_sequence_elements_to_slices(places: OnnxPlaces) -> Iterator[Rewrite]:
    """The elements of a tensor that is split into equal parts, by number: slices of the tensor."""
    for place, node in places.nodes("SequenceAt"):
        outer: GraphPlace | None = place
        maker = None
        while outer is not None and maker is None:
            maker = next((other for other in outer.proto.node if node.input[0] in other.output), None)
            outer = outer.outer
        if maker is None or maker.op_type != "SplitToSequence" or len(maker.input) < 2:
            continue
        size = places.constant(place, maker.input[1])
        index = node.input[1]
        # The iteration number is never negative, which a slice would take for a position from the end.
        counted = any(
            place.owner and place.owner.op_type == "Loop" and place.proto.input[0].name == name for name in (index,)
        )
        if size is not None and size.ndim == 0 and size > 0 and counted:
            reason = f"cuts the element out of '{maker.input[0]}'"
            axis = attribute_value(maker, "axis", 0)
            yield rewrite(
                "sequence-element-as-slice",
                place,
                node,
                reason,
                _slice_element,
                node_key(node),
                maker.input[0],
                int(size),
                axis,
            )


def _slice_element(edit: GraphEdit, key: str, source: str, size: int, axis: int) -> None:
    index = edit.node(key).input[1]
    axes = edit.constant(key, f"{key}_axes", np.array([0]))
    row = edit.before(key, "Unsqueeze", [index, axes], f"{key}_index")
    length = edit.constant(key, f"{key}_size", np.array([size]))
    first = edit.before(key, "Mul", [row, length], f"{key}_from")
    end = edit.before(key, "Add", [first, length], f"{key}_to")
    along = edit.constant(key, f"{key}_axis", np.array([axis]))
    edit.replace(key, [onnx.helper.make_node("Slice", [source, first, end, along], [key], edit.node(key).name)])


# -- recurrent operators as Loops


class _StepNodes:
    """Writes a step of a recurrent operator as nodes (``CellOps``)."""

    def __init__(self, edit: GraphEdit, prefix: str, opset: int, size: int) -> None:
        self.nodes: list[NodeProto] = []
        self._edit, self._prefix, self._opset, self._size = edit, prefix, opset, size

    def add_node(self, op_type: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        output = self._edit.make_fresh_name(f"{self._prefix}_{name}")
        self.nodes.append(onnx.helper.make_node(op_type, list(inputs), [output], output, **attributes))
        return output

    def constant(self, name: str, data: Array) -> str:
        return self.add_node("Constant", [], name, value=numpy_helper.from_array(data))

    def affine(self, x: str, weights: str, bias: str | None, name: str) -> str:
        return self.add_node("Gemm", [x, weights, *([] if bias is None else [bias])], name, transB=1)

    def add(self, a: str, b: str, name: str) -> str:
        return self.add_node("Add", [a, b], name)

    def multiply(self, a: str, b: str, name: str) -> str:
        return self.add_node("Mul", [a, b], name)

    def one_minus(self, x: str, name: str) -> str:
        return self.add_node("Sub", [self.constant(f"{name}_one", np.ones((), np.float32)), x], name)

    def split(self, x: str, names: Sequence[str]) -> list[str]:
        return [self._slice_columns(x, k, k + 1, name) for k, name in enumerate(names)]

    def part(self, x: str, first: int, end: int, total: int, name: str) -> str:
        return self._slice_columns(x, first, end, name)

    def _slice_columns(self, x: str, first: int, end: int, name: str) -> str:
        bounds = [
            self.constant(f"{name}_{word}", np.array([number]))
            for word, number in (("from", first * self._size), ("to", end * self._size), ("axis", 1))
        ]
        return self.add_node("Slice", [x, *bounds], name)

    def clip(self, x: str, limit: float, name: str) -> str:
        bounds = [self.constant(f"{name}_bound", np.asarray(number, np.float32)) for number in (-limit, limit)]
        return self.add_node("Clip", [x, *bounds], name)

    def activate(self, function: CellActivation, x: str, name: str) -> str:
        if function.name in ("affine", "scaledtanh"):
            alpha, beta = (
                self.constant(f"{name}_{k}", np.asarray(v, np.float32)) for k, v in enumerate(function.parameters)
            )
            if function.name == "affine":
                return self.add(self.multiply(alpha, x, f"{name}_scaled"), beta, name)
            return self.multiply(
                alpha, self.add_node("Tanh", [self.multiply(beta, x, f"{name}_in")], f"{name}_tanh"), name
            )
        op_type, *words = _ACTIVATIONS[function.name]
        return self.add_node(op_type, [x], name, **dict(zip(words, function.parameters, strict=False)))


def convert_recurrent_operators_to_loops(places: OnnxPlaces) -> Iterator[Rewrite]:
    """LSTM, GRU and RNN with constant weights as Loops, one for each direction."""
    for place, node in places.nodes("LSTM", "GRU", "RNN"):
        inputs = [*node.input, *[""] * (8 - len(node.input))]
        weights = [places.constant(place, name) for name in inputs[1:4]]
        is_plain = not (inputs[4] or inputs[7] or attribute_value(node, "layout", 0))
        known = all(data is not None for data, name in zip(weights, inputs[1:4], strict=True) if name)
        if places.opset >= 13 and is_plain and known and weights[0] is not None and weights[0].dtype == np.float32:
            reason = f"writes {node.op_type} out as a Loop"
            yield rewrite(
                "recurrent-as-loop",
                place,
                node,
                reason,
                _replace_recurrent_with_loops,
                node_key(node),
                weights,
                places.opset,
            )


def _replace_recurrent_with_loops(edit: GraphEdit, key: str, weights: list[Array | None], opset: int) -> None:
    node = NodeProto()
    node.CopyFrom(edit.node(key))
    w, r, b = weights
    assert w is not None
    assert r is not None
    kind, size = node.op_type, r.shape[-1]
    states = STATE_NAMES[kind]
    direction = attribute_value(node, "direction", b"forward").decode().lower()
    backwards = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    defaults = _DEFAULT_ACTIVATIONS[kind]
    names = [word.decode() for word in attribute_value(node, "activations", [])] or list(defaults) * len(backwards)
    functions = parse_activations(
        names, attribute_value(node, "activation_alpha", []), attribute_value(node, "activation_beta", [])
    )
    before = _StepNodes(edit, key, opset, size)
    x = node.input[0]
    shape = before.add_node("Shape", [x], "x_shape")
    trips = before.add_node("Gather", [shape, before.constant("zero", np.asarray(0))], "trips", axis=0)
    batch = before.add_node("Gather", [shape, before.constant("one", np.array([1]))], "batch", axis=0)
    initial_shape = before.add_node("Concat", [batch, before.constant("size", np.array([size]))], "state_shape", axis=0)
    zeros = before.add_node("Expand", [before.constant("zeros", np.zeros((), np.float32)), initial_shape], "zeros")
    results: list[list[str]] = []
    for d, backward in enumerate(backwards):
        step = CellStep(
            kind, functions[d * len(defaults) : (d + 1) * len(defaults)], "iofc",
            "f" if attribute_value(node, "input_forget", 0) else "", attribute_value(node, "clip", 0.0),
            bool(attribute_value(node, "linear_before_reset", 0)),
        )  # fmt: skip
        initials = []
        for k in range(len(states)):
            initial = node.input[5 + k] if len(node.input) > 5 + k else ""
            index = before.constant(f"direction_{d}", np.asarray(d))
            initials.append(before.add_node("Gather", [initial, index], f"{states[k]}0", axis=0) if initial else zeros)
        results.append(
            _direction_loop(
                edit,
                key,
                before,
                step,
                initials,
                (x, trips),
                backward,
                (w[d], r[d], None if b is None else b[d]),
                opset,
            )
        )
    axes = before.constant("axes_y", np.array([1])), before.constant("axes_state", np.array([0]))
    for k, name in enumerate(node.output):
        if name:
            parts = [before.add_node("Unsqueeze", [values[k], axes[min(k, 1)]], f"part_{k}") for values in results]
            before.nodes.append(onnx.helper.make_node("Concat", parts, [name], f"{name}_joined", axis=0 if k else 1))
    edit.replace(key, before.nodes)


def _direction_loop(
    edit: GraphEdit,
    key: str,
    before: _StepNodes,
    step: CellStep,
    initials: Sequence[str],
    source: tuple[str, str],
    backward: bool,
    weights: tuple[Array, Array, Array | None],
    opset: int,
) -> list[str]:
    """Add the Loop of one direction; returns Y and the last states."""
    w, r, b = weights
    size = r.shape[-1]
    body = _StepNodes(edit, key, opset, size)
    iteration, condition = edit.make_fresh_name(f"{key}_iteration"), edit.make_fresh_name(f"{key}_condition")
    index = iteration
    if backward:
        last = body.add_node("Sub", [source[1], body.constant("one", np.asarray(1))], "last")
        index = body.add_node("Sub", [last, iteration], "reversed")
    row = body.add_node("Gather", [source[0], index], "x", axis=0)
    params = [edit.make_fresh_name(f"{key}_{name}") for name in STATE_NAMES[step.kind]]
    named = {name: body.constant(name, data) for name, data in _step_weights(step, w, r, b).items()}
    states = step.next_states(body, step.project_input(body, row, named), params, named)
    going = body.add_node("Identity", [condition], "continues")
    y = body.add_node("Identity", [states[0]], "y")
    float_type = TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        body.nodes,
        f"{key}_step",
        [_scalar_value_info(iteration, TensorProto.INT64), _scalar_value_info(condition, TensorProto.BOOL),
         *(onnx.helper.make_tensor_value_info(name, float_type, [None, size]) for name in params)],
        [_scalar_value_info(going, TensorProto.BOOL),
         *(onnx.helper.make_tensor_value_info(name, float_type, [None, size]) for name in (*states, y))],
    )  # fmt: skip
    outputs = [edit.make_fresh_name(f"{key}_{word}") for word in (*STATE_NAMES[step.kind], "rows")]
    loop = onnx.helper.make_node("Loop", [source[1], "", *initials], outputs, edit.make_fresh_name(f"{key}_loop"))
    loop.attribute.append(AttributeProto(name="body", type=AttributeProto.GRAPH, g=graph))
    before.nodes.append(loop)
    rows = outputs[-1]
    if backward:
        bounds = [
            before.constant(word, np.array([k]))
            for word, k in (("from", -1), ("to", _BEFORE_FIRST), ("axis", 0), ("step", -1))
        ]
        rows = before.add_node("Slice", [rows, *bounds], "rows_in_order")
    return [rows, *outputs[:-1]]


def _step_weights(step: CellStep, w: Array, r: Array, b: Array | None) -> dict[str, Array]:
    """The weights of one direction by the names that a step uses."""
    size, count = r.shape[-1], GATE_COUNTS[step.kind]
    weights = {"W": w}
    own, recurrent = (None, None) if b is None else np.split(b, [count * size])
    if step.kind == "GRU":
        weights |= {"R_zr": r[: 2 * size], "R_h": r[2 * size :]}
        if own is not None and recurrent is not None:
            if step.linear_before_reset:
                weights["Rb_h"] = recurrent[2 * size :]
                recurrent = np.concatenate([recurrent[: 2 * size], np.zeros(size, b.dtype)])  # type: ignore[union-attr]
            weights["B"] = own + recurrent
        elif step.linear_before_reset:
            weights["Rb_h"] = np.zeros(size, w.dtype)
        return weights
    weights["R"] = r
    if own is not None and recurrent is not None:
        weights["B"] = own + recurrent
    return weights
