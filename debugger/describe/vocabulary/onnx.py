"""A loop as ONNX Loop or Scan: everything by position."""

from __future__ import annotations

from collections.abc import Iterator

from ....runtime.graph import BackEdge, System, Value
from ..subscripts import slice_text
from ..value_names import display_name
from .terms import (
    LoopTerms,
    Row,
    TermsContext,
    declaration_text,
    eager_requirements,
    initial_text,
    is_unit_slicing,
    tensor_dtype,
)


def onnx_terms(context: TermsContext) -> LoopTerms:
    """ONNX Loop; a loop that only its sliced inputs count is a Scan where their parts allow it."""
    loop = context.loop
    own = loop.system is System.ONNX
    as_scan = loop.counted_by_slices if own else _fits_scan(context)
    found = LoopTerms("ONNX Scan" if as_scan else "ONNX Loop")
    if as_scan:
        _add_scan_sections(context, found)
    else:
        _add_loop_sections(context, found)
    found.add_section("captures", context.capture_rows())
    if not own:
        found.requirements += eager_requirements(context, "Pad")
        _add_requirements(context, found, as_scan)
    return found


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


def _add_loop_sections(context: TermsContext, found: LoopTerms) -> None:
    loop, ending = context.loop, context.termination
    own = loop.system is System.ONNX
    if own:
        trips = '"" (absent: no limit)' if loop.trip_count is None else context.control_input_text(loop.trip_count)
        if loop.trip_count is not None and not ending.is_counted:
            trips += " (no limit)"
        condition = '"" (absent: the body\'s condition is ignored)'
        if loop.initial_condition is not None:
            condition = context.control_input_text(loop.initial_condition)
    else:
        trips = context.trip_count() or '"" (absent: no limit)'
        always = not ending.condition_decides and ending.initial_condition is True
        condition = '"" (absent: always true)' if always else context.initial_condition()
    found.add_section("inputs", [(f"M = {trips}", "input 0"), (f"cond = {condition}", "input 1")])
    edge = context.carried_condition
    decided = edge.result if edge is not None else loop.condition or loop.ignored_condition
    condition_input = loop.condition_input
    if context.recurrent_condition is not None:
        condition_input = context.recurrent_condition.param
    rows: list[Row] = []
    if loop.iteration is not None:
        rows.append((declaration_text(loop.iteration), "body input 0, the iteration number"))
    if condition_input is not None:
        rows.append((declaration_text(condition_input), "body input 1, the condition"))
    if decided is not None:
        text = context.operand(decided)
        rows.append((text, "body output 0, the condition" + ("" if loop.condition else ", ignored")))
    found.add_section("body", rows)
    found.add_section("carried", _carried_rows(context, 2, 1))
    found.add_section("scan", _scan_rows(context, 1))
    if loop.sliced_inputs:
        index = "i" if loop.iteration is None else display_name(loop.iteration)
        rows = [
            (declaration_text(port.inner), f"= {slice_text(port, index)}, in the body") for port in loop.sliced_inputs
        ]
        found.add_section("sliced", rows)


def _add_scan_sections(context: TermsContext, found: LoopTerms) -> None:
    loop = context.loop
    states = len(loop.back_edges)
    found.add_section("states", _carried_rows(context, 0, 0))
    rows = []
    for k, port in enumerate(loop.sliced_inputs):
        order = ", backward" if port.stride < 0 else ""
        place = f"input {states + k} {display_name(port.outer)} → body input {states + k}, axis {port.axis}{order}"
        rows.append((declaration_text(port.inner), place))
    found.add_section("inputs", rows)
    found.add_section("scan", _scan_rows(context, 0))


def _carried_edges(context: TermsContext) -> list[BackEdge]:
    """What is carried by position: a recurrence of the condition alone has inputs and outputs of its own."""
    return [edge for edge in context.loop.back_edges if edge is not context.recurrent_condition]


def _output_position(context: TermsContext, outer: Value, place: int) -> int:
    """Which output a value is: in a loop of another system by ONNX's order, what is carried before what is
    collected."""
    return context.output_position(outer) if context.loop.system is System.ONNX else place


def _carried_rows(context: TermsContext, first_input: int, first_output: int) -> Iterator[Row]:
    for k, edge in enumerate(_carried_edges(context)):
        given = context.outputs_of(edge)
        outputs = ", ".join(f"output {_output_position(context, outer, k)} {display_name(outer)}" for outer in given)
        initial = initial_text(edge, context.formatter)
        before = f"input {first_input + k} {initial} → body input {first_input + k}"
        after = f"body output {first_output + k} {context.operand(edge.result)}"
        yield declaration_text(edge.param), f"{before}; {after}" + (f" → {outputs}" if outputs else "")


def _scan_rows(context: TermsContext, first: int) -> Iterator[Row]:
    states = len(_carried_edges(context))
    # A Loop of ONNX stacks in order on axis 0, whatever its like elsewhere does.
    as_scan = first == 0
    for k, scan in enumerate(context.loop.scan_outputs, states):
        order = ", the last iteration first" if scan.reverse and as_scan else ""
        how = f"stacked on a new axis {scan.axis if scan.stack and as_scan else 0}"
        output = _output_position(context, scan.outer, k)
        place = f"body output {first + k} {context.operand(scan.result)} → output {output}"
        yield declaration_text(scan.outer), f"{place}, {how}{order}"


def _add_requirements(context: TermsContext, found: LoopTerms, as_scan: bool) -> None:
    loop = context.loop
    for scan in loop.scan_outputs:
        name = display_name(scan.outer)
        if not scan.stack:
            found.requirements.append(
                f"ONNX stacks {name} on a new axis; a Transpose and a Reshape after the loop concatenate its parts"
            )
        elif scan.axis and not as_scan:
            found.requirements.append(
                f"Loop stacks on axis 0 alone: a Transpose after the loop brings that of {name} to {scan.axis}"
            )
        if scan.reverse and not as_scan:
            found.requirements.append(f"Loop has no backward order, so {name} has to be reversed after the loop")
    if as_scan:
        names = ", ".join(display_name(port.inner) for port in loop.sliced_inputs)
        found.requirements.append(f"Scan cuts the axis off, so the body has to put it back with Unsqueeze: {names}")
    elif loop.sliced_inputs:
        cut = "Gather" if all(port.drop_axis for port in loop.sliced_inputs) else "Slice"
        found.requirements.append(f"Loop has no sliced inputs: the body cuts them with {cut}, at the iteration number")
    count = context.termination.trip_count_value
    kind = None if count is None or as_scan else tensor_dtype(count.type)
    if count is not None and kind is not None and kind.name != "int64":
        found.requirements.append(
            f"M is int64: {display_name(count)} is {kind.name}, and a Cast before the loop converts it"
        )
    if loop.minus_one_is_no_limit and context.termination.trip_count_value is not None:
        found.requirements.append(
            "a trip count of -1 is no limit in OpenVINO and no iteration in ONNX: where"
            f" {display_name(context.termination.trip_count_value)} can be -1, it needs the largest int64 instead"
        )
    for last in context.last_values_without_edge():
        found.requirements.append(
            f"{display_name(last.outer)} returns {display_name(last.result)}, which nothing carries: ONNX needs it as a"
            " carried value with an initial value, which is what no iteration would return"
        )
