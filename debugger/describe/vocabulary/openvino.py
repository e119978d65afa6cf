"""A loop as OpenVINO Loop-5 or TensorIterator-1: port_map and back edges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ....runtime.graph import NO_PORT, BackEdge, Loop, ScanOutput, SlicedInput, System, Value
from ..termination import all_sliced_inputs
from ..value_names import display_name
from .terms import LoopTerms, Row, TermsContext, eager_requirements, tensor_dtype


def openvino_terms(context: TermsContext) -> LoopTerms:
    """Loop-5; a loop that its sliced inputs count is a TensorIterator."""
    loop = context.loop
    own = loop.system is System.OPENVINO
    iterator = loop.counted_by_slices or (own and loop.op_type.lower() == "tensoriterator")
    found = LoopTerms("OpenVINO TensorIterator-1" if iterator else "OpenVINO Loop-5")
    if not iterator:
        trips = context.trip_count() or "-1 (no limit)"
        condition = f"execution_condition = {context.initial_condition()}"
        rows = [
            (f"trip_count = {trips}", f"input {_input_index(loop, 0)}"),
            (condition, f"input {_input_index(loop, 1)}"),
        ]
        found.add_section("inputs", rows)
    found.add_section("port_map", [*_input_rows(context, iterator), *_output_rows(context, iterator)])
    found.add_section("back_edges", _back_edge_rows(context))
    if not own:
        found.add_section("captures", [(row, _invariant_source(where)) for row, where in context.capture_rows()])
        found.requirements += eager_requirements(context, "Pad")
        _add_requirements(context, found, iterator)
    return found


def _slicing_attributes(port: SlicedInput) -> str:
    return f"axis={port.axis} start={port.start} end={port.end} stride={port.stride} part_size={port.part_size}"


def _needs_reversal(context: TermsContext, port: SlicedInput | ScanOutput, iterator: bool) -> bool:
    """Whether something is read or collected backwards that Loop-5, whose page has an axis alone, turns outside."""
    backward = port.reverse if isinstance(port, ScanOutput) else port.stride < 0
    return backward and not iterator and context.loop.system is not System.OPENVINO


def _carried_edges(context: TermsContext) -> list[BackEdge]:
    """What back edges carry: a condition that nothing else reads is none of that."""
    edge, loop = context.recurrent_condition, context.loop
    handed = {*(scan.result for scan in loop.scan_outputs), *(one.result for one in loop.back_edges)}
    read = edge is not None and (edge.param in context.node_operands or edge.param in handed)
    return [one for one in loop.back_edges if one is not edge or read]


def _input_rows(context: TermsContext, iterator: bool) -> Iterator[Row]:
    loop, first = context.loop, 0 if iterator else 2
    ports: list[tuple[Value, Value, str]] = []
    for port in loop.sliced_inputs:
        cut = (
            f"axis={port.axis}, reversed before"
            if _needs_reversal(context, port, iterator)
            else _slicing_attributes(port)
        )
        ports.append((port.outer, port.inner, cut))
    for edge in _carried_edges(context):
        initial = edge.initial
        cut = f"merged, {_slicing_attributes(initial)}" if isinstance(initial, SlicedInput) else "merged"
        ports.append((initial.outer if isinstance(initial, SlicedInput) else initial, edge.param, cut))
    ports += [(port.outer, port.inner, "invariant") for port in loop.invariants]
    free = list(enumerate(loop.inputs)) if loop.system is System.OPENVINO else []
    placed: list[tuple[int, Row]] = []
    for outer, inner, how in ports:
        # An outer value can stand at several ports.
        rank = next((rank for rank, value in free if value is outer and rank >= first), None)
        free = [entry for entry in free if entry[0] != rank]
        number = first + len(placed) if rank is None else _input_index(loop, rank)
        shown = "variable" if number == NO_PORT else f"input {number}"
        placed.append((number, (f"{shown} {context.formatter.operand(outer)} → {display_name(inner)}", how)))
    yield from (row for _, row in sorted(placed, key=lambda entry: entry[0]))
    if context.needs_iteration and loop.iteration is not None:
        yield f"input -1 → {display_name(loop.iteration)}", 'purpose="current_iteration"'
    received = loop.condition_input
    if received is not None and received in context.used_values and context.termination.condition_decides:
        yield f"{context.initial_condition()} → {display_name(received)}", "merged: the condition"


def _output_rows(context: TermsContext, iterator: bool) -> Iterator[Row]:
    loop = context.loop
    rows: list[tuple[int, Row]] = []
    for last in loop.last_values:
        number = _output_index(loop, context.output_position(last.outer))
        edge = context.edge_of(last)
        result = last.result if edge is None else edge.result
        port = "variable" if number == NO_PORT else f"output {number}"
        rows.append((number, (f"{port} {display_name(last.outer)} ← {context.operand(result)}", "last value")))
    for scan in loop.scan_outputs:
        number = _output_index(loop, context.output_position(scan.outer))
        order = " stride=-1" if scan.reverse else ""
        order = ", reversed after" if _needs_reversal(context, scan, iterator) else order
        rows.append(
            (
                number,
                (
                    f"output {number} {display_name(scan.outer)} ← {context.operand(scan.result)}",
                    f"axis={scan.axis}{order}",
                ),
            )
        )
    yield from (row for _, row in sorted(rows, key=lambda entry: entry[0]))
    if not iterator:
        always = loop.condition is None or context.termination.condition_forwarded
        edge = context.carried_condition
        decided = "true" if always else context.operand(loop.condition if edge is None else edge.result)
        yield f"output -1 ← {decided}", 'purpose="execution_condition"'


def _input_index(loop: Loop, rank: int) -> int:
    """The number of an input port: the file's own, of other systems its place."""
    return loop.input_ports[rank] if loop.input_ports else rank


def _output_index(loop: Loop, rank: int) -> int:
    return loop.output_ports[rank] if loop.output_ports else rank


def _back_edge_rows(context: TermsContext) -> Iterator[Row]:
    loop = context.loop
    for edge in _carried_edges(context):
        yield f"{context.operand(edge.result)} → {display_name(edge.param)}", str(edge.param.type)
    received = loop.condition_input
    if received is not None and received in context.used_values and context.termination.condition_decides:
        yield f"{context.operand(loop.condition)} → {display_name(received)}", str(received.type)


def _add_requirements(context: TermsContext, found: LoopTerms, iterator: bool) -> None:
    loop, ending = context.loop, context.termination
    for value in context.non_tensor_values():
        found.unsupported.append(
            f"{display_name(value)} is {value.type}: OpenVINO's loops carry tensors, no sequences and optionals"
        )
    for port in all_sliced_inputs(loop):
        if port.drop_axis:
            found.requirements.append(
                f"a part keeps its axis in OpenVINO, so the body has to Squeeze {display_name(port.inner)}"
            )
        if _needs_reversal(context, port, iterator):
            cut = "cut to the trip count and reversed" if port.from_trip_count else "reversed"
            found.unsupported.append(
                f"Loop-5 cuts in order alone; {display_name(port.outer)} has to be {cut} before it"
            )
    for scan in loop.scan_outputs:
        if scan.stack:
            found.requirements.append(
                f"OpenVINO concatenates, so for {display_name(scan.outer)} the body has to Unsqueeze"
                f" {context.operand(scan.result)} at axis {scan.axis}"
            )
        if _needs_reversal(context, scan, iterator):
            found.unsupported.append(
                f"Loop-5 concatenates in order alone; {display_name(scan.outer)} has to be reversed after it"
            )
    if ending.trip_count_value is not None:
        here = "runs nothing in ONNX" if loop.system is System.ONNX else "is an error in TensorRT"
        found.requirements.append(
            f"a negative {display_name(ending.trip_count_value)} {here}; in OpenVINO -1 is no limit and others are an"
            " error"
        )
    if loop.condition is None and loop.ignored_condition is not None and not iterator:
        found.requirements.append("the body's condition is ignored in ONNX, so a constant true takes its place")
    if context.capture_rows():
        found.requirements.append(
            "a body sees nothing around it: captures become invariant inputs, constants are copied into it"
        )
    if iterator and any(isinstance(node, Loop) and node.counted_by_slices for node in loop.body.nodes):
        found.unsupported.append("OpenVINO's CPU plugin refuses a TensorIterator inside a TensorIterator")
    # None, where no type is known, must not be compared: NumPy takes it for float64.
    held = [(edge.param, tensor_dtype(edge.param.type)) for edge in loop.back_edges]
    wide = [display_name(value) for value, kind in held if kind is not None and kind == np.float64]
    if wide:
        found.requirements.append(f"OpenVINO's CPU plugin computes {', '.join(wide)} (float64) as float32")


def _invariant_source(where: str) -> str:
    if not where:  # constants that are not listed one by one
        return "copied into the body"
    return f"{where}; {'copied into the body' if where.startswith('constant') else 'an invariant input'}"
