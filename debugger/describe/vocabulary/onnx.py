"""Loops as ONNX Loop or Scan, with ports by position."""

from __future__ import annotations

from collections.abc import Iterator

from ....runtime.graph import BackEdge, System, Value
from ..subscripts import slice_text
from ..value_names import display_name
from .terms_context import (
    LoopTerms,
    Row,
    TermsContext,
    declaration_text,
    initial_text,
    is_unit_slicing,
    post_test_loop_requirements,
    tensor_dtype,
)


def onnx_terms(context: TermsContext) -> LoopTerms:
    """Terms of ONNX Loop; a loop counted only by its sliced inputs is a Scan if their slicing allows it."""
    loop = context.loop
    is_onnx = loop.system is System.ONNX
    as_scan = loop.counted_by_slices if is_onnx else _fits_scan(context)
    terms = LoopTerms("ONNX Scan" if as_scan else "ONNX Loop")
    if as_scan:
        _add_scan_sections(context, terms)
    else:
        _add_loop_sections(context, terms)
    terms.add_section("captures", context.capture_rows())
    if not is_onnx:
        terms.requirements += post_test_loop_requirements(context)
        _add_requirements(context, terms, as_scan)
    return terms


def _fits_scan(context: TermsContext) -> bool:
    loop = context.loop
    ports = context.termination.slices
    return (
        bool(loop.sliced_inputs)
        and loop.counted_by_slices
        and len(ports) == len(loop.sliced_inputs)
        and all(map(is_unit_slicing, ports))
        and not context.last_values_without_edge()
    )


def _add_loop_sections(context: TermsContext, terms: LoopTerms) -> None:
    loop, rule = context.loop, context.termination
    is_onnx = loop.system is System.ONNX
    if is_onnx:
        trips = '"" (absent: no limit)' if loop.trip_count is None else context.control_input_text(loop.trip_count)
        if loop.trip_count is not None and not rule.has_iteration_bound:
            trips += " (no limit)"
        condition = '"" (absent: the body\'s condition is ignored)'
        if loop.initial_condition is not None:
            condition = context.control_input_text(loop.initial_condition)
    else:
        trips = context.trip_count() or '"" (absent: no limit)'
        is_always_true = not rule.condition_decides and rule.initial_condition is True
        condition = '"" (absent: always true)' if is_always_true else context.initial_condition()
    terms.add_section("inputs", [(f"M = {trips}", "input 0"), (f"cond = {condition}", "input 1")])
    edge = context.carried_condition
    condition_output = edge.result if edge is not None else loop.condition or loop.ignored_condition
    condition_input = loop.condition_input
    if context.recurrent_condition is not None:
        condition_input = context.recurrent_condition.param
    rows: list[Row] = []
    if loop.iteration is not None:
        rows.append((declaration_text(loop.iteration), "body input 0, the iteration number"))
    if condition_input is not None:
        rows.append((declaration_text(condition_input), "body input 1, the condition"))
    if condition_output is not None:
        text = context.operand(condition_output)
        rows.append((text, "body output 0, the condition" + ("" if loop.condition else ", ignored")))
    terms.add_section("body", rows)
    terms.add_section("carried", _carried_rows(context, 2, 1))
    terms.add_section("scan", _scan_rows(context, 1))
    if loop.sliced_inputs:
        index = "i" if loop.iteration is None else display_name(loop.iteration)
        rows = [
            (declaration_text(port.inner), f"= {slice_text(port, index)}, in the body") for port in loop.sliced_inputs
        ]
        terms.add_section("sliced", rows)


def _add_scan_sections(context: TermsContext, terms: LoopTerms) -> None:
    loop = context.loop
    states = len(loop.back_edges)
    terms.add_section("states", _carried_rows(context, 0, 0))
    rows = []
    for k, port in enumerate(loop.sliced_inputs):
        order = ", backward" if port.stride < 0 else ""
        route = f"input {states + k} {display_name(port.outer)} → body input {states + k}, axis {port.axis}{order}"
        rows.append((declaration_text(port.inner), route))
    terms.add_section("inputs", rows)
    terms.add_section("scan", _scan_rows(context, 0))


def _carried_edges(context: TermsContext) -> list[BackEdge]:
    """Edges carried by position; a recurrence of only the condition has separate ports."""
    return [edge for edge in context.loop.back_edges if edge is not context.recurrent_condition]


def _output_position(context: TermsContext, outer: Value, default: int) -> int:
    """The output position of a value; for another system in ONNX's order, carried values before scan outputs."""
    return context.output_position(outer) if context.loop.system is System.ONNX else default


def _carried_rows(context: TermsContext, first_input: int, first_output: int) -> Iterator[Row]:
    for k, edge in enumerate(_carried_edges(context)):
        outers = context.outputs_of(edge)
        outputs = ", ".join(f"output {_output_position(context, outer, k)} {display_name(outer)}" for outer in outers)
        initial = initial_text(edge, context.formatter)
        source = f"input {first_input + k} {initial} → body input {first_input + k}"
        target = f"body output {first_output + k} {context.operand(edge.result)}"
        yield declaration_text(edge.param), f"{source}; {target}" + (f" → {outputs}" if outputs else "")


def _scan_rows(context: TermsContext, first: int) -> Iterator[Row]:
    states = len(_carried_edges(context))
    # An ONNX Loop always stacks forward on axis 0.
    as_scan = first == 0
    for k, scan in enumerate(context.loop.scan_outputs, states):
        order = ", the last iteration first" if scan.reverse and as_scan else ""
        layout = f"stacked on a new axis {scan.axis if scan.stack and as_scan else 0}"
        output = _output_position(context, scan.outer, k)
        location = f"body output {first + k} {context.operand(scan.result)} → output {output}"
        yield declaration_text(scan.outer), f"{location}, {layout}{order}"


def _add_requirements(context: TermsContext, terms: LoopTerms, as_scan: bool) -> None:
    loop = context.loop
    for scan in loop.scan_outputs:
        name = display_name(scan.outer)
        if not scan.stack:
            terms.requirements.append(
                f"ONNX stacks {name} on a new axis; a Transpose and a Reshape after the loop concatenate its parts"
            )
        elif scan.axis and not as_scan:
            terms.requirements.append(
                f"Loop stacks on axis 0 alone: a Transpose after the loop brings that of {name} to {scan.axis}"
            )
        if scan.reverse and not as_scan:
            terms.requirements.append(f"Loop has no backward order, so {name} has to be reversed after the loop")
    if as_scan:
        names = ", ".join(display_name(port.inner) for port in loop.sliced_inputs)
        terms.requirements.append(f"Scan cuts the axis off, so the body has to put it back with Unsqueeze: {names}")
    elif loop.sliced_inputs:
        op = "Gather" if all(port.drop_axis for port in loop.sliced_inputs) else "Slice"
        terms.requirements.append(f"Loop has no sliced inputs: the body cuts them with {op}, at the iteration number")
    count = context.termination.trip_count_value
    dtype = None if count is None or as_scan else tensor_dtype(count.type)
    if count is not None and dtype is not None and dtype.name != "int64":
        terms.requirements.append(
            f"M is int64: {display_name(count)} is {dtype.name}, and a Cast before the loop converts it"
        )
    if loop.minus_one_is_no_limit and context.termination.trip_count_value is not None:
        terms.requirements.append(
            "a trip count of -1 is no limit in OpenVINO and no iteration in ONNX: where"
            f" {display_name(context.termination.trip_count_value)} can be -1, it needs the largest int64 instead"
        )
    for last in context.last_values_without_edge():
        terms.requirements.append(
            f"{display_name(last.outer)} returns {display_name(last.result)}, which nothing carries: ONNX needs it as a"
            " carried value with an initial value, which is what no iteration would return"
        )
