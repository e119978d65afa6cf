"""Converts ONNX Loop, Scan, If and SequenceMap to Loop and If nodes (docs/semantics.md 3 and 4).

Each builder gets the node's header (name, inputs and outputs), its attributes, and ``read_inner``, which
reads one of its graphs with a required number of parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...dtypes import dtype_to_onnx
from ...errors import ModelError
from ...graph import (
    ANY_TYPE,
    BackEdge,
    Graph,
    If,
    LastValueOutput,
    Loop,
    Node,
    Operation,
    ScanOutput,
    SequenceType,
    SlicedInput,
    System,
    TensorType,
    Value,
    ValueType,
)
from ...text import count_text
from .deviation_notes import OnnxProducerMap, loop_notes, scan_notes

#: The opset version of helper operators.
_HELPER_OPSET = 18
_INT64 = 7
#: Attribute name, number of parameters, their description -> the graph.
SubgraphReader = Callable[[str, int, str], Graph]


def build_control_flow(
    header: Node, attributes: Mapping[str, Any], read_inner: SubgraphReader, sources: OnnxProducerMap, label: str
) -> list[Node]:
    """Build the nodes for one control-flow node; only SequenceMap needs several.

    Raises:
        ModelError: the node violates its specification; the message begins with ``label``.
    """
    if header.op_type == "Loop":
        loop = _build_loop(header, attributes, read_inner, label)
        loop.notes = loop_notes(loop, sources)
        return [loop]
    if header.op_type == "Scan":
        if header.version == 8:
            return [_build_batched_scan(header, attributes, read_inner, label)]
        scan = _build_scan(header, attributes, read_inner, label)
        scan.notes = scan_notes(scan)
        return [scan]
    if header.op_type == "If":
        return [_build_if(header, attributes, read_inner, label)]
    return _build_sequence_map(header, attributes, read_inner, sources, label)


def _build_loop(header: Node, attributes: Mapping[str, Any], read_inner: SubgraphReader, label: str) -> Loop:
    """Loop, all versions. Inputs: trip count, condition, initial values; the first two may be absent."""
    _check_attribute_names(attributes, (), label)
    minimum = 3 if header.version < 11 else 2
    if len(header.inputs) < minimum:
        suffix = " and, before opset 11, a carried value" if minimum == 3 else ""
        raise ModelError(
            f"{label} has {len(header.inputs)} inputs; it needs at least {minimum}: trip count, condition{suffix}"
            " (an absent one is '')",
            name="inputs",
            expected=f"at least {minimum}",
            got=str(len(header.inputs)),
        )
    while len(header.inputs) > 2 and header.inputs[-1] is None:
        header.inputs.pop()
    trip_count, condition, *carried_inputs = header.inputs
    initials = _require_all_present(carried_inputs, "carried value", "has no initial value", label)
    carried = count_text(len(initials), "carried value")
    body = read_inner("body", 2 + len(initials), f"iteration number, condition and {carried}")
    if not body.outputs:
        raise ModelError(
            f"{label}: its body has no outputs, so it is a body without condition: make that output 0",
            name="outputs",
            expected="at least 1",
            got="0",
        )
    if len(body.outputs) < 1 + len(initials):
        raise ModelError(
            f"{label}: its body has {count_text(len(body.outputs), 'output')}; it needs at least"
            f" {1 + len(initials)}: condition and {carried}",
            name="outputs",
            expected=f"at least {1 + len(initials)}",
            got=str(len(body.outputs)),
        )
    _check_output_count(header, len(body.outputs) - 1, "one less than its body", label)
    for role, port in (
        ("trip count", trip_count),
        ("condition", condition),
        ("iteration number, body input 0,", body.inputs[0]),
        ("condition, body input 1,", body.inputs[1]),
        ("condition, body output 0,", body.outputs[0]),
    ):
        if port is not None and not isinstance(port.type, TensorType):
            raise ModelError(
                f"{label}: its {role} '{port.name}' is {port.type}; it has to be a tensor of one element",
                name=port.name,
                expected="a tensor of one element",
                got=str(port.type),
            )
    loop = Loop(
        **vars(header),
        body=body,
        system=System.ONNX,
        trip_count=trip_count,
        initial_condition=condition,
        # docs/semantics.md 3.2: with an absent cond the spec ignores the body's condition.
        condition=None if condition is None else body.outputs[0],
        ignored_condition=body.outputs[0] if condition is None else None,
        iteration=body.inputs[0],
        condition_input=body.inputs[1],
    )
    _add_back_edges(loop, initials, body.inputs[2:], body.outputs[1:])
    for result, outer in zip(body.outputs[1 + len(initials) :], loop.outputs[len(initials) :], strict=True):
        _require_tensor_output(result, label)
        if outer is not None:
            loop.scan_outputs.append(ScanOutput(result, outer))
    return loop


def _build_scan(header: Node, attributes: Mapping[str, Any], read_inner: SubgraphReader, label: str) -> Loop:
    """Scan from opset 9 on. Inputs: initial states, then the sliced inputs."""
    if header.version < 8:
        raise ModelError(
            f"{label}: Scan exists from opset 8 on; correct the model's opset_import",
            name="opset_import",
            expected="8 or more",
            got=str(header.version),
        )
    sides = ("input", "output")
    optional = tuple(f"scan_{side}_{kind}" for side in sides for kind in ("axes", "directions"))
    _check_attribute_names(attributes, ("num_scan_inputs", *optional), label)
    inputs = _require_all_present(header.inputs, "input", "is absent; Scan has no optional inputs", label)
    slices, body = _read_scan_body(header, inputs, attributes, read_inner, label)
    states = len(inputs) - slices
    scans = len(body.outputs) - states
    input_axes, output_axes, input_directions, output_directions = (
        _list_attribute(attributes, f"scan_{side}_{kind}", number, f"scan {side}", label)
        for kind in ("axes", "directions")
        for side, number in zip(sides, (slices, scans), strict=True)
    )
    loop = Loop(**vars(header), body=body, system=System.ONNX, counted_by_slices=True)
    _add_back_edges(loop, inputs[:states], body.inputs[:states], body.outputs[:states])
    for outer, param, axis, direction in zip(
        inputs[states:], body.inputs[states:], input_axes, input_directions, strict=True
    ):
        rank = _rank(outer)
        if rank is not None and not -rank <= axis < rank:
            raise ModelError(
                f"{label}: scan_input_axes has {axis} for input '{outer.name}' of rank {rank}",
                name="scan_input_axes",
                expected=f"{-rank} to {rank - 1}",
                got=str(axis),
            )
        loop.sliced_inputs.append(_make_sliced_input(outer, param, axis, direction))
    for result, output, axis, direction in zip(
        body.outputs[states:], loop.outputs[states:], output_axes, output_directions, strict=True
    ):
        _require_tensor_output(result, label)
        rank = _rank(result)
        if rank is not None and not -rank - 1 <= axis <= rank:
            raise ModelError(
                f"{label}: scan_output_axes has {axis} for output '{result.name}', stacked to rank {rank + 1}",
                name="scan_output_axes",
                expected=f"{-rank - 1} to {rank}",
                got=str(axis),
            )
        if output is not None:
            loop.scan_outputs.append(ScanOutput(result, output, axis=axis, reverse=direction == 1))
    return loop


def _read_scan_body(
    header: Node, inputs: Sequence[Value], attributes: Mapping[str, Any], read_inner: SubgraphReader, label: str
) -> tuple[int, Graph]:
    """The number of sliced inputs of a Scan, and its body."""
    slices = attributes.get("num_scan_inputs")
    if not isinstance(slices, int) or not 1 <= slices <= len(inputs):
        raise ModelError(
            f"{label}: num_scan_inputs is {slices!r}; with {count_text(len(inputs), 'input')} it must be 1 to "
            f"{len(inputs)}",
            name="num_scan_inputs",
            expected=f"1 to {len(inputs)}",
            got=repr(slices),
        )
    states = len(inputs) - slices
    body = read_inner("body", len(inputs), f"{count_text(states, 'state')} and {count_text(slices, 'slice')}")
    if len(body.outputs) < states:
        raise ModelError(
            f"{label}: its body has {count_text(len(body.outputs), 'output')}; it needs one for each of"
            f" {count_text(states, 'state')}",
            name="outputs",
            expected=f"at least {states}",
            got=str(len(body.outputs)),
        )
    _check_output_count(header, len(body.outputs), "as many as its body", label)
    return slices, body


def _build_batched_scan(header: Node, attributes: Mapping[str, Any], read_inner: SubgraphReader, label: str) -> Loop:
    """Scan-8: axis 0 of each input is the batch, axis 1 the sequence; a loop over sequences in one over the batch.

    ``sequence_lens`` is input 0. A shorter sequence is cut, and its scan outputs, which the specification leaves
    undefined, are zero-padded; backwards, it begins at its own end. onnxruntime does both.
    """
    _check_attribute_names(attributes, ("num_scan_inputs", "directions"), label)
    if not header.inputs:
        raise ModelError(
            f"{label} has no inputs; it needs sequence_lens (an absent one is '') and a sequence",
            name="inputs",
            got="0",
        )
    lengths, *other_inputs = header.inputs
    inputs = _require_all_present(other_inputs, "input", "is absent; only sequence_lens, the first one, may be", label)
    slices, body = _read_scan_body(header, inputs, attributes, read_inner, label)
    states = len(inputs) - slices
    directions = _list_attribute(attributes, "directions", slices, "scan input", label)

    def row(outer: Value) -> Value:
        """The part of an outer value in an iteration over the batch."""
        return Value(f"{header.name}/{outer.name}", _drop_first_axis(outer.type))

    batch = Graph(header.name, system=System.ONNX, opsets=body.opsets)
    rows = [row(outer) for outer in inputs]
    batch.inputs = list(rows)
    sequences: list[Value] = rows[states:]
    results = [None if outer is None else row(outer) for outer in header.outputs]
    pads: list[Node] = []
    outputs: list[Value | None] = list(results)
    length: Value | None = None
    if lengths is not None:
        length = row(lengths)
        batch.inputs.append(length)
        sequences, sizes = _truncate_sequences(header.name, rows[states:], length, batch)
        for k in range(states, len(results)):
            padded = results[k]
            if padded is not None:
                outputs[k] = Value(f"{padded.name}/sequence", ANY_TYPE)
                pads.append(_helper_operation(f"{header.name}/Pad_{k}", "Pad", [outputs[k], *sizes], [padded]))
    scan = Loop(
        f"{header.name}/sequence",
        "Scan",
        header.domain,
        header.version,
        [*rows[:states], *sequences],
        outputs,
        body=body,
        system=System.ONNX,
        counted_by_slices=True,
    )
    _add_back_edges(scan, rows[:states], body.inputs[:states], body.outputs[:states])
    for sequence, param, direction in zip(sequences, body.inputs[states:], directions, strict=True):
        scan.sliced_inputs.append(_make_sliced_input(sequence, param, 0, direction))
    for result, output in zip(body.outputs[states:], outputs[states:], strict=True):
        _require_tensor_output(result, label)
        if output is not None:
            scan.scan_outputs.append(ScanOutput(result, output))
    scan.notes = scan_notes(scan, header.outputs)
    batch.nodes = [*batch.nodes, scan, *pads]
    batch.outputs = [result for result in results if result is not None]
    loop = Loop(**vars(header), body=batch, system=System.ONNX, counted_by_slices=True)
    sliced = inputs if lengths is None else [*inputs, lengths]
    loop.sliced_inputs += [
        _make_sliced_input(value, part, 0, 0) for value, part in zip(sliced, batch.inputs, strict=True)
    ]
    for k, (collected, outer) in enumerate(zip(results, header.outputs, strict=True)):
        if collected is not None and outer is not None:
            loop.scan_outputs.append(ScanOutput(collected, outer, valid=None if k < states else length))
    return loop


def _truncate_sequences(
    name: str, rows: Sequence[Value], length: Value, batch: Graph
) -> tuple[list[Value], list[Value | None]]:
    """Add nodes that cut sequences to a length; returns the cut sequences and the inputs of a Pad to the full length.

    Split rejects a length that exceeds the sequence.
    """
    vector, pair = (TensorType(np.dtype(np.int64), (count,)) for count in (1, 2))

    def constant(role: str, value: Any) -> Value:
        array = np.array(value)
        result = Value(f"{name}/{role}", TensorType(array.dtype, array.shape), array)
        batch.constants.append(result)
        return result

    def value(role: str, kind: ValueType = vector) -> Value:
        return Value(f"{name}/{role}", kind)

    first = constant("first_axis", [0])
    full, used, unused = map(value, ("most", "used", "unused"))
    scalar, parts, padding = value("long", TensorType(vector.dtype, ())), value("parts", pair), value("filling", pair)
    batch.nodes += [
        _helper_operation(f"{name}/Shape", "Shape", rows[:1], [full], start=0, end=1),
        _helper_operation(f"{name}/Cast", "Cast", [length], [scalar], to=_INT64),
        _helper_operation(f"{name}/Reshape", "Reshape", [scalar, constant("one", [1])], [used]),
        _helper_operation(f"{name}/Sub", "Sub", [full, used], [unused]),
        _helper_operation(f"{name}/Concat_parts", "Concat", [used, unused], [parts], axis=0),
        _helper_operation(f"{name}/Concat_filling", "Concat", [first, unused], [padding], axis=0),
    ]
    cut = []
    for k, row in enumerate(rows):
        kept, dropped = value(f"sequence_{k}", row.type), value(f"unused_{k}", row.type)
        if isinstance(row.type, TensorType) and row.type.shape:
            kept.type = dropped.type = TensorType(row.type.dtype, (None, *row.type.shape[1:]))
        batch.nodes.append(_helper_operation(f"{name}/Split_{k}", "Split", [row, parts], [kept, dropped], axis=0))
        cut.append(kept)
    return cut, [padding, None, first]


def _drop_first_axis(kind: ValueType) -> ValueType:
    if not isinstance(kind, TensorType):
        return kind
    return TensorType(kind.dtype, None if kind.shape is None else kind.shape[1:])


def _helper_operation(
    name: str, op_type: str, ins: Sequence[Value | None], outs: Sequence[Value], **keywords: Any
) -> Node:
    """A helper node, which may need a newer operator set than the model's."""
    return Operation(name, op_type, "", _HELPER_OPSET, list(ins), list(outs), attributes=keywords)


def _make_sliced_input(outer: Value, param: Value, axis: int, direction: int) -> SlicedInput:
    # docs/semantics.md 6.1: in TensorIterator's terms, backwards from the end to 0 is start -1, end 0.
    start, end, stride = (-1, 0, -1) if direction else (0, -1, 1)
    return SlicedInput(outer, param, axis, start=start, end=end, stride=stride, drop_axis=True)


def _build_if(header: Node, attributes: Mapping[str, Any], read_inner: SubgraphReader, label: str) -> If:
    _check_attribute_names(attributes, (), label)
    if len(header.inputs) != 1 or header.inputs[0] is None:
        raise ModelError(
            f"{label} has {count_text(len(header.inputs), 'input')}; it needs one, the condition",
            name="inputs",
            expected="1",
            got=str(len(header.inputs)),
        )
    branches = [read_inner(name, 0, "a branch takes no inputs") for name in ("then_branch", "else_branch")]
    for kind, branch in zip(("then", "else"), branches, strict=True):
        _check_output_count(header, len(branch.outputs), f"as many as its {kind} branch", label)
    return If(**vars(header), then_branch=branches[0], else_branch=branches[1])


def _build_sequence_map(
    header: Node, attributes: Mapping[str, Any], read_inner: SubgraphReader, sources: OnnxProducerMap, label: str
) -> list[Node]:
    """SequenceMap-17 as the Loop in its specification: iteration i maps element i of each sequence.

    Tensor inputs after the first are invariant.
    """
    _check_attribute_names(attributes, (), label)
    inputs = _require_all_present(header.inputs, "input", "is absent; SequenceMap has no optional inputs", label)
    if not inputs:
        raise ModelError(f"{label} has no inputs; it needs a sequence", name="inputs", got="0")
    body = read_inner("body", len(inputs), f"an element or tensor for each of {count_text(len(inputs), 'input')}")
    _check_output_count(header, len(body.outputs), "as many as its body", label)

    def operation(role: str, op_type: str, ins: Sequence[Value], out: Value, **keywords: Any) -> Operation:
        name = f"{header.name}/{role}"
        return Operation(name, op_type, "", header.version, list(ins), [out], attributes=keywords)

    def value(role: str, kind: Any) -> Value:
        return Value(f"{header.name}/{role}", kind)

    scalar = TensorType(np.dtype(np.int64), ())
    trip_count, iteration = value("length", scalar), value("iteration", scalar)
    preamble: list[Node] = [operation("SequenceLength", "SequenceLength", inputs[:1], trip_count)]
    prologue: list[Node] = []
    for k, (outer, param) in enumerate(zip(inputs, body.inputs, strict=True)):
        if k == 0 or sources.is_sequence(outer):
            prologue.append(operation(f"SequenceAt_{k}", "SequenceAt", [outer, iteration], param))
        else:
            prologue.append(operation(f"Identity_{k}", "Identity", [outer], param))
    initials, states, results, epilogue = [], [], [], []
    for k, element in enumerate(body.outputs):
        kind = SequenceType(element.type)
        initials.append(value(f"empty_{k}", kind))
        states.append(value(f"sequence_{k}", kind))
        results.append(value(f"sequence_{k}_next", kind))
        preamble.append(
            operation(
                f"SequenceEmpty_{k}", "SequenceEmpty", [], initials[-1], **_sequence_dtype_attribute(element.type)
            )
        )
        epilogue.append(operation(f"SequenceInsert_{k}", "SequenceInsert", [states[-1], element], results[-1]))
    body.nodes = [*prologue, *body.nodes, *epilogue]
    body.inputs = [iteration, *states]
    body.outputs = list(results)
    loop = Loop(
        header.name,
        "Loop",
        header.domain,
        header.version,
        [trip_count, None, *initials],
        header.outputs,
        body=body,
        system=System.ONNX,
        trip_count=trip_count,
        iteration=iteration,
    )
    _add_back_edges(loop, initials, states, results)
    return [*preamble, loop]


def _sequence_dtype_attribute(kind: ValueType) -> dict[str, int]:
    """SequenceEmpty's dtype attribute; its default is float32."""
    if not isinstance(kind, TensorType) or kind.dtype is None:
        return {}
    return {"dtype": dtype_to_onnx(kind.dtype)}


def _add_back_edges(loop: Loop, initials: Sequence[Value], params: Sequence[Value], results: Sequence[Value]) -> None:
    """Pair initial values, parameters, results and outputs by position; omitted outputs have no last value."""
    # Body and node have scan outputs after the carried values.
    for initial, param, result, outer in zip(initials, params, results, loop.outputs, strict=False):
        edge = BackEdge(initial, param, result)
        loop.back_edges.append(edge)
        if outer is not None:
            loop.last_values.append(LastValueOutput(result, outer, edge))


def _check_attribute_names(attributes: Mapping[str, Any], names: Sequence[str], label: str) -> None:
    for name in attributes:
        if name not in names:
            raise ModelError(f"{label} has an attribute '{name}' that this opset does not define; remove it", name=name)


def _require_all_present(values: Sequence[Value | None], role: str, problem: str, label: str) -> list[Value]:
    present = [value for value in values if value is not None]
    if len(present) != len(values):
        raise ModelError(
            f"{label}: {role} {list(values).index(None)} {problem}", name=f"{role} {list(values).index(None)}"
        )
    return present


def _check_output_count(header: Node, expected: int, rule: str, label: str) -> None:
    if len(header.outputs) != expected:
        raise ModelError(
            f"{label} has {count_text(len(header.outputs), 'output')}; it needs {expected}, {rule}",
            name="outputs",
            expected=str(expected),
            got=str(len(header.outputs)),
        )


def _require_tensor_output(result: Value, label: str) -> None:
    if not isinstance(result.type, TensorType):
        raise ModelError(
            f"{label}: scan output '{result.name}' is {result.type}; only tensors can be stacked: carry it instead",
            name=result.name,
            expected="a tensor",
            got=str(result.type),
        )


def _rank(value: Value) -> int | None:
    return len(value.type.shape) if isinstance(value.type, TensorType) and value.type.shape is not None else None


def _list_attribute(attributes: Mapping[str, Any], name: str, expected: int, role: str, label: str) -> list[int]:
    """A list attribute with one number for each of ``expected`` scan inputs or outputs; absent: all 0."""
    numbers = attributes.get(name)
    if numbers is None:
        return [0] * expected
    if not isinstance(numbers, list) or len(numbers) != expected:
        raise ModelError(
            f"{label}: {name} is {numbers!r}; it needs a number for each of {count_text(expected, role)}",
            name=name,
            expected=count_text(expected, role),
            got=repr(numbers),
        )
    if name.endswith("directions") and not set(numbers) <= {0, 1}:
        raise ModelError(
            f"{label}: {name} is {numbers!r}; 0 is forward, 1 is reverse, nothing else is allowed",
            name=name,
            expected="0 or 1",
            got=repr(numbers),
        )
    return numbers
