"""Loops as OpenVINO Loop-5 or TensorIterator-1: port_map and back edges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ....runtime.graph import NO_PORT, BackEdge, Loop, ScanOutput, SlicedInput, System, Value
from ..termination import all_sliced_inputs
from ..value_names import display_name
from .terms_context import LoopTerms, Row, TermsContext, post_test_loop_requirements, tensor_dtype


def openvino_terms(context: TermsContext) -> LoopTerms:
    """Terms of Loop-5; a loop counted by its sliced inputs is a TensorIterator."""
    loop = context.loop
    is_openvino = loop.system is System.OPENVINO
    is_iterator = loop.counted_by_slices or (is_openvino and loop.op_type.lower() == "tensoriterator")
    terms = LoopTerms("OpenVINO TensorIterator-1" if is_iterator else "OpenVINO Loop-5")
    if not is_iterator:
        trips = context.trip_count() or "-1 (no limit)"
        condition = f"execution_condition = {context.initial_condition()}"
        rows = [
            (f"trip_count = {trips}", f"input {_input_index(loop, 0)}"),
            (condition, f"input {_input_index(loop, 1)}"),
        ]
        terms.add_section("inputs", rows)
    terms.add_section("port_map", [*_input_rows(context, is_iterator), *_output_rows(context, is_iterator)])
    terms.add_section("back_edges", _back_edge_rows(context))
    if not is_openvino:
        terms.add_section("captures", [(row, _invariant_source(scope)) for row, scope in context.capture_rows()])
        terms.requirements += post_test_loop_requirements(context)
        _add_porting_requirements(context, terms, is_iterator)
    return terms


def _slicing_attributes(port: SlicedInput) -> str:
    return f"axis={port.axis} start={port.start} end={port.end} stride={port.stride} part_size={port.part_size}"


def _needs_reversal(context: TermsContext, port: SlicedInput | ScanOutput, is_iterator: bool) -> bool:
    """Whether a backward port needs a reversal outside of Loop-5, whose specification has only an axis."""
    backward = port.reverse if isinstance(port, ScanOutput) else port.stride < 0
    return backward and not is_iterator and context.loop.system is not System.OPENVINO


def _carried_edges(context: TermsContext) -> list[BackEdge]:
    """The back edges, without one that carries only the condition."""
    edge, loop = context.recurrent_condition, context.loop
    results = {*(scan.result for scan in loop.scan_outputs), *(e.result for e in loop.back_edges)}
    is_read = edge is not None and (edge.param in context.node_operands or edge.param in results)
    return [e for e in loop.back_edges if e is not edge or is_read]


def _input_rows(context: TermsContext, is_iterator: bool) -> Iterator[Row]:
    loop, first = context.loop, 0 if is_iterator else 2
    ports: list[tuple[Value, Value, str]] = []
    for port in loop.sliced_inputs:
        layout = (
            f"axis={port.axis}, reversed before"
            if _needs_reversal(context, port, is_iterator)
            else _slicing_attributes(port)
        )
        ports.append((port.outer, port.inner, layout))
    for edge in _carried_edges(context):
        initial = edge.initial
        layout = f"merged, {_slicing_attributes(initial)}" if isinstance(initial, SlicedInput) else "merged"
        ports.append((initial.outer if isinstance(initial, SlicedInput) else initial, edge.param, layout))
    ports += [(port.outer, port.inner, "invariant") for port in loop.invariants]
    unused = list(enumerate(loop.inputs)) if loop.system is System.OPENVINO else []
    rows: list[tuple[int, Row]] = []
    for outer, inner, layout_ in ports:
        # An outer value can be connected to several ports.
        position = next((position for position, value in unused if value is outer and position >= first), None)
        unused = [entry for entry in unused if entry[0] != position]
        number = first + len(rows) if position is None else _input_index(loop, position)
        label = "variable" if number == NO_PORT else f"input {number}"
        rows.append((number, (f"{label} {context.formatter.operand(outer)} → {display_name(inner)}", layout_)))
    yield from (row for _, row in sorted(rows, key=lambda entry: entry[0]))
    if context.reads_iteration_number and loop.iteration is not None:
        yield f"input -1 → {display_name(loop.iteration)}", 'purpose="current_iteration"'
    condition = loop.condition_input
    if condition is not None and condition in context.used_values and context.termination.condition_decides:
        yield f"{context.initial_condition()} → {display_name(condition)}", "merged: the condition"


def _output_rows(context: TermsContext, is_iterator: bool) -> Iterator[Row]:
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
        order = ", reversed after" if _needs_reversal(context, scan, is_iterator) else order
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
    if not is_iterator:
        is_always_true = loop.condition is None or context.termination.condition_forwarded
        edge = context.carried_condition
        result_text = "true" if is_always_true else context.operand(loop.condition if edge is None else edge.result)
        yield f"output -1 ← {result_text}", 'purpose="execution_condition"'


def _input_index(loop: Loop, position: int) -> int:
    """The number of an input port: as in the file, for other systems its position."""
    return loop.input_ports[position] if loop.input_ports else position


def _output_index(loop: Loop, position: int) -> int:
    return loop.output_ports[position] if loop.output_ports else position


def _back_edge_rows(context: TermsContext) -> Iterator[Row]:
    loop = context.loop
    for edge in _carried_edges(context):
        yield f"{context.operand(edge.result)} → {display_name(edge.param)}", str(edge.param.type)
    condition = loop.condition_input
    if condition is not None and condition in context.used_values and context.termination.condition_decides:
        yield f"{context.operand(loop.condition)} → {display_name(condition)}", str(condition.type)


def _add_porting_requirements(context: TermsContext, terms: LoopTerms, is_iterator: bool) -> None:
    loop, rule = context.loop, context.termination
    for value in context.non_tensor_values():
        terms.unsupported.append(
            f"{display_name(value)} is {value.type}: OpenVINO's loops carry tensors, no sequences and optionals"
        )
    for port in all_sliced_inputs(loop):
        if port.drop_axis:
            terms.requirements.append(
                f"a part keeps its axis in OpenVINO, so the body has to Squeeze {display_name(port.inner)}"
            )
        if _needs_reversal(context, port, is_iterator):
            verb = "cut to the trip count and reversed" if port.from_trip_count else "reversed"
            terms.unsupported.append(
                f"Loop-5 cuts in order alone; {display_name(port.outer)} has to be {verb} before it"
            )
    for scan in loop.scan_outputs:
        if scan.stack:
            terms.requirements.append(
                f"OpenVINO concatenates, so for {display_name(scan.outer)} the body has to Unsqueeze"
                f" {context.operand(scan.result)} at axis {scan.axis}"
            )
        if _needs_reversal(context, scan, is_iterator):
            terms.unsupported.append(
                f"Loop-5 concatenates in order alone; {display_name(scan.outer)} has to be reversed after it"
            )
    if rule.trip_count_value is not None:
        effect = "runs nothing in ONNX" if loop.system is System.ONNX else "is an error in TensorRT"
        terms.requirements.append(
            f"a negative {display_name(rule.trip_count_value)} {effect}; in OpenVINO -1 is no limit and others are an"
            " error"
        )
    if loop.condition is None and loop.ignored_condition is not None and not is_iterator:
        terms.requirements.append("the body's condition is ignored in ONNX, so a constant true takes its place")
    if context.capture_rows():
        terms.requirements.append(
            "a body sees nothing around it: captures become invariant inputs, constants are copied into it"
        )
    if is_iterator and any(isinstance(node, Loop) and node.counted_by_slices for node in loop.body.nodes):
        terms.unsupported.append("OpenVINO's CPU plugin refuses a TensorIterator inside a TensorIterator")
    # None (unknown type) must not be compared: NumPy treats it as float64.
    typed_params = [(edge.param, tensor_dtype(edge.param.type)) for edge in loop.back_edges]
    float64_names = [display_name(value) for value, dtype in typed_params if dtype is not None and dtype == np.float64]
    if float64_names:
        terms.requirements.append(f"OpenVINO's CPU plugin computes {', '.join(float64_names)} (float64) as float32")


def _invariant_source(scope: str) -> str:
    if not scope:  # constants that are not listed individually
        return "copied into the body"
    return f"{scope}; {'copied into the body' if scope.startswith('constant') else 'an invariant input'}"
