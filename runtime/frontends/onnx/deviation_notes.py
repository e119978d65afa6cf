"""Notes on deviations of onnxruntime and OpenVINO from the ONNX specification of loops (docs/semantics.md 1).

Only deviations that follow from the model alone; docs/check.md has the labels. All were observed in onnxruntime 1.32
and OpenVINO 2026.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...graph import (
    Graph,
    If,
    Loop,
    Note,
    Operation,
    OptionalType,
    SequenceType,
    TensorType,
    Value,
    bodies,
    values_read_in_graph,
    walk,
)
from ...graph.producers import ProducerMap
from ...graph.slicing import normalize_axis
from ...openvino_trip_count_deviations import trip_count_note
from ...ops.fixed_dimension_detection import FixedSize, fixed_sizes
from ...text import count_text

_SEQUENCE_OPERATORS = (
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SplitToSequence",
)


class OnnxProducerMap(ProducerMap):
    """Producers of values that also detect sequences."""

    def is_sequence(self, value: Value) -> bool:
        """Whether a value is a sequence (or an optional one), by its declared type or by its producer."""
        value = self.skip_identities(value)
        kind = value.type.element if isinstance(value.type, OptionalType) else value.type
        if isinstance(kind, SequenceType):
            return True
        node = self.get(value)
        if isinstance(node, If):
            return self.is_sequence(node.then_branch.outputs[node.outputs.index(value)])
        if isinstance(node, Loop):
            initials = [last.edge.initial for last in node.last_values if last.edge and last.outer is value]
            return any(isinstance(initial, Value) and self.is_sequence(initial) for initial in initials)
        return node is not None and node.op_type in _SEQUENCE_OPERATORS


def loop_notes(loop: Loop, sources: OnnxProducerMap) -> list[str]:
    """The notes on a Loop."""
    return [
        *_condition_notes(loop, sources),
        *_iteration_number_notes(loop),
        *_back_edge_order_notes(loop),
        *_zero_trip_notes(loop, sources),
        *_unused_output_notes(loop),
        *_string_scan_output_notes(loop, sources),
        *_outer_result_notes(loop),
    ]


def scan_notes(scan: Loop, outputs: Sequence[Value | None] | None = None) -> list[str]:
    """The notes on a Scan. ``outputs``: those of the file's node, if they differ from the loop's."""
    return [
        *_returned_input_notes(scan),
        *_back_edge_order_notes(scan),
        *_unused_output_notes(scan),
        *(_shared_result_note("the body", *shared) for shared in _shared_results(scan.body, outputs or scan.outputs)),
        *_outer_result_notes(scan),
    ]


def graph_notes(graph: Graph) -> Iterator[Note]:
    """The notes on nodes other than loops."""
    yield from _fixed_size_notes(graph)
    for node in walk(graph):
        if isinstance(node, If):
            yield from _outer_branch_result_notes(node)
            for kind, branch in bodies(node):
                for shared in _shared_results(branch, node.outputs):
                    yield _shared_result_note(f"the {kind} branch of {node.describe()}, if taken,", *shared)
        elif (
            isinstance(node, Operation)
            and node.op_type == "Softmax"
            and node.version < 13
            and not node.is_custom_operator
        ):
            yield from _softmax_notes(node)


def _fixed_size_notes(graph: Graph) -> Iterator[Note]:
    """One note for each fixed size of a named dimension, which exporters often write into many constants."""
    groups: dict[tuple[tuple[str, ...], int], list[FixedSize]] = {}
    for fixed in fixed_sizes(graph):
        groups.setdefault((fixed.dimensions, fixed.size), []).append(fixed)
    for first, *more_sizes in groups.values():
        others = len({fixed.node for fixed in more_sizes} - {first.node})
        end = f"; so does {count_text(others, 'other node')}" if others == 1 else f"; so do {others} other nodes"
        yield Note(
            "B60", f"{first}{end if others else ''}. The size of an example may have been exported as a constant."
        )


def _shared_results(graph: Graph, outer: Sequence[Value | None]) -> Iterator[tuple[Value, list[str]]]:
    """Results that a Scan's body, or a branch, has as several outputs, and these. ``outer``: the node's outputs."""
    outputs: dict[Value, list[str]] = {}
    for k, (result, output) in enumerate(zip(graph.outputs, outer, strict=True)):
        outputs.setdefault(result, []).append(f"output {k}" if output is None else f"'{output.name}'")
    for result, names in outputs.items():
        if len(names) > 1 and result not in graph.inputs:  # B9 is about a Scan's own inputs
            yield result, names


def _shared_result_note(owner: str, result: Value, names: Sequence[str]) -> Note:
    *lost, last = names
    return Note(
        "B47",
        f"onnxruntime would return uninitialised memory as {', '.join(lost)}: {owner} lists '{result.name}' as"
        f" several of its outputs, and it writes {last} only.",
    )


def _outer_branch_result_notes(node: If) -> Iterator[Note]:
    for kind, branch in bodies(node):
        defined = _defined_values(branch)
        for result in branch.outputs:
            if result not in defined:
                yield Note(
                    "B40",
                    f"onnxruntime refuses If '{node.name}': its {kind} branch returns the outer value '{result.name}'"
                    " directly.",
                )


def _softmax_notes(node: Operation) -> Iterator[Note]:
    kind = node.inputs[0].type if node.inputs and node.inputs[0] is not None else None
    dims = len(kind.shape) if isinstance(kind, TensorType) and kind.shape is not None else None
    axis = node.attributes.get("axis", 1)
    if dims is not None and normalize_axis(axis, dims) < dims - 1:
        yield Note(
            "B35",
            f"OpenVINO would apply {node.describe()} along axis {axis} alone; before opset 13 it is along all axes from"
            " that one on.",
        )


def hidden_name_note(kind: str, name: str, suffix: str) -> Note:
    """The note on a name of a body that is visible outside as well. ``kind``: ``input`` or ``initializer``."""
    if kind == "input":
        return Note(
            "B37",
            f"the input '{name}'{suffix} hides an outer value of that name, which the IR specification forbids; it is"
            " the body's, as in onnxruntime (OpenVINO refuses the file, and onnx.reference can take the outer one).",
        )
    return Note(
        "B76",
        f"the initializer '{name}'{suffix} hides an outer value of that name, which the IR specification forbids; it is"
        " the body's, as in onnxruntime (OpenVINO takes the outer one, and onnx.reference can take the outer one).",
    )


def _condition_notes(loop: Loop, sources: OnnxProducerMap) -> Iterator[Note]:
    ignored = loop.ignored_condition
    # Runtimes start with true, so a forwarded condition stays true.
    if ignored is None or sources.skip_identities(ignored) is loop.condition_input:
        return
    trips = sources.constant_integer(loop.trip_count)
    if trips is not None and trips <= 1:
        return  # no second iteration to stop
    number = sources.constant_scalar(ignored)
    if number is None:
        yield Note(
            "B1",
            f"onnxruntime and OpenVINO would stop once the body's condition '{ignored.name}' is false, "
            "although the loop's cond is absent.",
        )
    elif not number:
        yield Note(
            "B1",
            "onnxruntime and OpenVINO would stop after the first iteration: the body's condition "
            f"'{ignored.name}' is always false, and they obey it although the loop's cond is absent.",
        )


def _iteration_number_notes(loop: Loop) -> Iterator[Note]:
    for result, outer in zip(loop.body.outputs[1:], loop.outputs, strict=True):
        if result is loop.iteration and outer is not None:
            yield Note(
                "B7",
                f"onnxruntime would give wrong numbers as '{outer.name}': it returns the iteration number "
                "without a copy and then counts on in place.",
            )


def _back_edge_order_notes(loop: Loop) -> Iterator[Note]:
    used = values_read_in_graph(loop.body)
    # The iteration number is incremented before anything is carried.
    written: set[Value] = set() if loop.iteration is None else {loop.iteration}
    for edge in loop.back_edges:
        if edge.result in written and edge.param in used:
            yield Note(
                "B8",
                f"OpenVINO refuses a file with this body, and from memory would carry the next iteration's "
                f"'{edge.result.name}' into '{edge.param.name}': it writes back edges one after another.",
            )
        if edge.result is not edge.param:
            written.add(edge.param)


def _zero_trip_notes(loop: Loop, sources: OnnxProducerMap) -> Iterator[Note]:
    first = sources.constant_scalar(loop.initial_condition)
    if first is None or first:
        trips = sources.constant_integer(loop.trip_count)
        note = None if trips is None else trip_count_note(loop, trips, None)
        if note is not None:
            yield note
    elif loop.scan_outputs and len(loop.scan_outputs) <= len(loop.back_edges):
        yield Note(
            "B16",
            "OpenVINO would return initial values or uninitialised memory as scan outputs, since the loop's cond is "
            "always false.",
        )
    elif loop.scan_outputs:
        yield Note(
            "B16",
            "OpenVINO refuses this loop: its cond is always false, and it has more scan outputs than carried values.",
        )


def _unused_output_notes(loop: Loop) -> Iterator[Note]:
    if None in loop.outputs:
        crashes = not loop.counted_by_slices and None in loop.outputs[: len(loop.back_edges)]
        yield Note("B17", f"onnxruntime {'would crash on' if crashes else 'refuses'} the omitted output of this loop.")


def _string_scan_output_notes(loop: Loop, sources: OnnxProducerMap) -> Iterator[Note]:
    """onnxruntime moves strings into a scan output, even from an Identity's source that later iterations read."""
    trips = sources.constant_integer(loop.trip_count)
    if trips is not None and trips <= 1:
        return
    defined = _defined_values(loop.body)
    read = values_read_in_graph(loop.body)
    initials = [edge.initial for edge in loop.back_edges]
    reread = {
        edge.param
        for edge in loop.back_edges
        if sources.skip_identities(edge.result) is edge.param
        or edge.initial in read
        or initials.count(edge.initial) > 1
    }
    emptied: set[Value] = set()
    results: list[Value] = []
    for scan in loop.scan_outputs:
        kind = scan.result.type
        source = sources.skip_identities(scan.result)
        if not isinstance(kind, TensorType) or kind.dtype is None or not kind.dtype.hasobject:
            continue
        results.append(scan.result)
        if results.count(scan.result) == 2:
            yield Note(
                "B10",
                f"onnxruntime would not fill '{scan.outer.name}': it moves the strings of '{scan.result.name}' into an"
                " earlier scan output.",
            )
        if source is scan.result or (source not in reread if source in defined else _is_constant(source, sources)):
            continue
        if source not in emptied:
            yield Note(
                "B10",
                f"onnxruntime would fill only the first row of '{scan.outer.name}': it moves the strings out of "
                f"'{source.name}', which an Identity hands on.",
            )
        emptied.add(source)


def _is_constant(value: Value, sources: OnnxProducerMap) -> bool:
    node = sources.get(value)
    return value.constant is not None or (node is not None and node.op_type == "Constant")


def _defined_values(body: Graph) -> set[Value]:
    """The values that a body itself defines."""
    computed = [value for node in body.nodes for value in node.outputs if value is not None]
    return {*body.inputs, *body.constants, *computed}


def _outer_result_notes(loop: Loop) -> Iterator[Note]:
    defined = _defined_values(loop.body)
    for result in loop.body.outputs:
        if result not in defined:
            yield Note(
                "B40", f"onnxruntime refuses this loop: its body returns the outer value '{result.name}' directly."
            )


def _returned_input_notes(scan: Loop) -> Iterator[Note]:
    for result in dict.fromkeys(scan.body.outputs):
        if result in scan.body.inputs:
            name = result.name
            yield Note("B9", f"onnxruntime would compute wrong values: the body returns its input '{name}' directly.")
