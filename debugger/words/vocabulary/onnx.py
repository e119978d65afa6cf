"""A loop as ONNX Loop or Scan: everything by position."""

from __future__ import annotations

from collections.abc import Iterator

from ....runtime.graph import BackEdge, System, Value
from ..names import named
from ..subscripts import slice_text
from .terms import Context, Row, Terms, declared, dtype, initial_text, not_lazy, whole


def onnx_terms(context: Context) -> Terms:
    """ONNX Loop; a loop that only its sliced inputs count is a Scan where their parts allow it."""
    loop = context.loop
    own = loop.system is System.ONNX
    as_scan = loop.counted_by_slices if own else _fits_scan(context)
    found = Terms("ONNX Scan" if as_scan else "ONNX Loop")
    if as_scan:
        _scan(context, found)
    else:
        _loop(context, found)
    found.add("captures", context.capture_rows())
    if not own:
        found.needs += not_lazy(context, "Pad")
        _translated(context, found, as_scan)
    return found


def _fits_scan(context: Context) -> bool:
    loop = context.loop
    ports = context.ending.slices
    return (
        bool(loop.sliced_inputs)
        and loop.counted_by_slices
        and len(ports) == len(loop.sliced_inputs)
        and all(map(whole, ports))
        and not context.unfed()
    )


def _loop(context: Context, found: Terms) -> None:
    loop, ending = context.loop, context.ending
    own = loop.system is System.ONNX
    if own:
        trips = '"" (absent: no limit)' if loop.trip_count is None else context.control(loop.trip_count)
        if loop.trip_count is not None and not ending.limited:
            trips += " (no limit)"
        condition = '"" (absent: the body\'s condition is ignored)'
        if loop.initial_condition is not None:
            condition = context.control(loop.initial_condition)
    else:
        trips = context.trip_count() or '"" (absent: no limit)'
        always = not ending.decides and ending.initial is True
        condition = '"" (absent: always true)' if always else context.initial_condition()
    found.add("inputs", [(f"M = {trips}", "input 0"), (f"cond = {condition}", "input 1")])
    edge = context.carried_condition
    decided = edge.result if edge is not None else loop.condition or loop.ignored_condition
    condition_input = loop.condition_input
    if context.recurrent_condition is not None:
        condition_input = context.recurrent_condition.param
    rows: list[Row] = []
    if loop.iteration is not None:
        rows.append((declared(loop.iteration), "body input 0, the iteration number"))
    if condition_input is not None:
        rows.append((declared(condition_input), "body input 1, the condition"))
    if decided is not None:
        text = context.operand(decided)
        rows.append((text, "body output 0, the condition" + ("" if loop.condition else ", ignored")))
    found.add("body", rows)
    found.add("carried", _carried(context, 2, 1))
    found.add("scan", _scans(context, 1))
    if loop.sliced_inputs:
        index = "i" if loop.iteration is None else named(loop.iteration)
        rows = [(declared(port.inner), f"= {slice_text(port, index)}, in the body") for port in loop.sliced_inputs]
        found.add("sliced", rows)


def _scan(context: Context, found: Terms) -> None:
    loop = context.loop
    states = len(loop.back_edges)
    found.add("states", _carried(context, 0, 0))
    rows = []
    for k, port in enumerate(loop.sliced_inputs):
        order = ", backward" if port.stride < 0 else ""
        place = f"input {states + k} {named(port.outer)} → body input {states + k}, axis {port.axis}{order}"
        rows.append((declared(port.inner), place))
    found.add("inputs", rows)
    found.add("scan", _scans(context, 0))


def _states(context: Context) -> list[BackEdge]:
    """What is carried by position: a recurrence of the condition alone has inputs and outputs of its own."""
    return [edge for edge in context.loop.back_edges if edge is not context.recurrent_condition]


def _position(context: Context, outer: Value, place: int) -> int:
    """Which output a value is: in a loop of another system by ONNX's order, what is carried before what is
    collected."""
    return context.position(outer) if context.loop.system is System.ONNX else place


def _carried(context: Context, first_input: int, first_output: int) -> Iterator[Row]:
    for k, edge in enumerate(_states(context)):
        given = context.outputs_of(edge)
        outputs = ", ".join(f"output {_position(context, outer, k)} {named(outer)}" for outer in given)
        initial = initial_text(edge, context.phrases)
        before = f"input {first_input + k} {initial} → body input {first_input + k}"
        after = f"body output {first_output + k} {context.operand(edge.result)}"
        yield declared(edge.param), f"{before}; {after}" + (f" → {outputs}" if outputs else "")


def _scans(context: Context, first: int) -> Iterator[Row]:
    states = len(_states(context))
    # A Loop of ONNX stacks in order on axis 0, whatever its like elsewhere does.
    as_scan = first == 0
    for k, scan in enumerate(context.loop.scan_outputs, states):
        order = ", the last iteration first" if scan.reverse and as_scan else ""
        how = f"stacked on a new axis {scan.axis if scan.stack and as_scan else 0}"
        output = _position(context, scan.outer, k)
        place = f"body output {first + k} {context.operand(scan.result)} → output {output}"
        yield declared(scan.outer), f"{place}, {how}{order}"


def _translated(context: Context, found: Terms, as_scan: bool) -> None:
    loop = context.loop
    for scan in loop.scan_outputs:
        name = named(scan.outer)
        if not scan.stack:
            found.needs.append(
                f"ONNX stacks {name} on a new axis; a Transpose and a Reshape after the loop concatenate its parts"
            )
        elif scan.axis and not as_scan:
            found.needs.append(
                f"Loop stacks on axis 0 alone: a Transpose after the loop brings that of {name} to {scan.axis}"
            )
        if scan.reverse and not as_scan:
            found.needs.append(f"Loop has no backward order, so {name} has to be reversed after the loop")
    if as_scan:
        names = ", ".join(named(port.inner) for port in loop.sliced_inputs)
        found.needs.append(f"Scan cuts the axis off, so the body has to put it back with Unsqueeze: {names}")
    elif loop.sliced_inputs:
        cut = "Gather" if all(port.drop_axis for port in loop.sliced_inputs) else "Slice"
        found.needs.append(f"Loop has no sliced inputs: the body cuts them with {cut}, at the iteration number")
    count = context.ending.count
    kind = None if count is None or as_scan else dtype(count.type)
    if count is not None and kind is not None and kind.name != "int64":
        found.needs.append(f"M is int64: {named(count)} is {kind.name}, and a Cast before the loop converts it")
    if loop.minus_one_is_no_limit and context.ending.count is not None:
        found.needs.append(
            f"a trip count of -1 is no limit in OpenVINO and no iteration in ONNX: where {named(context.ending.count)}"
            " can be -1, it needs the largest int64 instead"
        )
    for last in context.unfed():
        found.needs.append(
            f"{named(last.outer)} returns {named(last.result)}, which nothing carries: ONNX needs it as a carried value"
            " with an initial value, which is what no iteration would return"
        )
