"""A loop as TensorRT's loop API has it: ITripLimit, IRecurrence, IIterator, ILoopOutput (docs/semantics.md 8)."""

from __future__ import annotations

from collections.abc import Iterator

from ....runtime.graph import Graph, If, Loop, System, TensorType, Value, walk
from ...text import dtype_name
from ..condition import condition_slice
from ..endings import sliced_inputs
from ..names import named
from ..node_text import rank
from .terms import Context, Row, Terms, changes_shape, declared, dtype, initial_text, whole

#: What NVIDIA's guide names for loops, and what onnx-tensorrt lists for Loop beside it.
_TYPES = frozenset({"float32", "float16"})
_IMPORTED = frozenset({"bfloat16", "int32", "int64", "bool"})


def tensorrt_terms(context: Context) -> Terms:
    """The layers of an ILoop."""
    loop = context.loop
    found = Terms("TensorRT ILoop")
    found.add("limits", _limits(context))
    found.add("recurrences", _recurrences(context))
    found.add("iterators", _iterators(context))
    found.add("outputs", _outputs(context))
    found.add("captures", context.capture_rows())
    if loop.system is not System.TENSORRT:
        _limits_of_the_api(context, found)
        _shapes(context, found)
    return found


def conditional_needs(graph: Graph) -> Iterator[str]:
    """What TensorRT asks of the Ifs of a model that they do not have."""
    for node in walk(graph):
        if not isinstance(node, If):
            continue
        for one, other in zip(node.then_branch.outputs, node.else_branch.outputs, strict=False):
            a, b = one.type, other.type
            if isinstance(a, TensorType) and isinstance(b, TensorType) and a.excludes(b):
                yield (
                    f"If '{node.name}' needs branches of one shape, unless its condition is a constant when the "
                    f"network is built: {named(one)} is {a.shape_text()}, {named(other)} {b.shape_text()}."
                )


def _limits(context: Context) -> Iterator[Row]:
    ending = context.ending
    count = context.trip_count()
    if count:
        yield f"ITripLimit kCOUNT = {count}", "TripLimit.COUNT in Python"
    if ending.decides or ending.initial is not True:
        yield f"ITripLimit kWHILE = {_while(context)}", "TripLimit.WHILE in Python; tested before each iteration"


def _while(context: Context) -> str:
    """The recurrence that brings a condition, which is decided after an iteration, to the front of the next."""
    if context.ending.tested and context.loop.condition is not None:
        return context.operand(context.loop.condition)
    if context.ending.decides and context.loop.condition is not None:
        return f"the recurrence of {context.operand(context.loop.condition)}"
    return context.initial_condition()


def _recurrences(context: Context) -> Iterator[Row]:
    loop = context.loop
    for edge in loop.back_edges:
        first = initial_text(edge, context.phrases)
        yield f"IRecurrence {declared(edge.param)}", f"{first}, then {context.operand(edge.result)}"
    if context.ending.decides and loop.condition is not None and not context.ending.tested:
        name = "condition" if loop.condition_input is None else named(loop.condition_input)
        yield f"IRecurrence {name}", f"{context.initial_condition()}, then {context.operand(loop.condition)}"
    if context.needs_iteration and loop.iteration is not None:
        yield f"IRecurrence {declared(loop.iteration)}", "0, then 1 more each: there is no iteration number"


def _iterators(context: Context) -> Iterator[Row]:
    for port in context.loop.sliced_inputs:
        order = ", reverse" if port.stride < 0 else ""
        order += " from the trip count on" if port.from_trip_count else ""
        kind = "IIterator" if whole(port) else "IGatherLayer"
        yield f"{kind} {declared(port.inner)}", f"{named(port.outer)}, axis {port.axis}{order}"


def _outputs(context: Context) -> Iterator[Row]:
    loop = context.loop
    for last in loop.last_values:
        edge = context.edge_of(last)
        source = last.result if edge is None else edge.param
        yield f"ILoopOutput kLAST_VALUE {named(last.outer)}", f"of {context.operand(source)}"
    length = context.trip_count() if not context.ending.decides else "an upper bound"
    for scan in loop.scan_outputs:
        kind = "kREVERSE" if scan.reverse else "kCONCATENATE"
        have = length or "an upper bound"
        if scan.length is not None:
            have = context.operand(scan.length)
        told = f"of {context.operand(scan.result)}, axis {scan.axis}, length {have}"
        yield f"ILoopOutput {kind} {named(scan.outer)}", told


def _limits_of_the_api(context: Context, found: Terms) -> None:
    loop, ending = context.loop, context.ending
    if not ending.limited and not ending.decides and ending.initial is True:
        found.cannot.append("a loop without any trip limit is refused; this one has neither a count nor a condition")
    if ending.decides:
        found.needs.append(
            "kWHILE decides before an iteration, and here what an iteration yields decides about the next: a recurrence"
            " carries the condition there"
        )
        computed = condition_slice(loop)
        if any(isinstance(node, Loop) for node in computed.all_nodes) or computed.ever_slices:
            found.cannot.append(
                "kWHILE may not depend on iterators and on outputs of inner loops, as the condition does"
            )
        if (rank(loop.condition) or 0) > 0:
            found.needs.append(f"kWHILE takes a 0-D bool; {context.operand(loop.condition)} has to be reshaped to that")
    if ending.count is not None and (rank(ending.count) or 0) > 0:
        found.needs.append(f"kCOUNT takes a 0-D integer; {named(ending.count)} has to be reshaped to that")
    count = None if ending.trips is not None or ending.count is None else dtype(ending.count.type)
    if count is not None and count.name == "int64":
        found.needs.append(
            f"kCOUNT takes int32: {named(ending.count)} is int64, which TensorRT's header allows from 10.0 on and its"
            " guide does not; an ICastLayer before the loop converts it"
        )
    elif count is not None and count.name != "int32":
        found.needs.append(f"kCOUNT takes int32: {named(ending.count)} is {dtype_name(count)}, and has to be converted")
    if ending.count is not None and loop.minus_one_is_no_limit:
        found.needs.append(
            f"a trip count of -1 is no limit in OpenVINO, and kCOUNT has none: where {named(ending.count)} can be -1,"
            " it needs the largest int32 instead"
        )
    elif ending.count is not None:
        found.needs.append(
            f"a negative {named(ending.count)} runs nothing in ONNX, and TensorRT's header has no word for it: a MAX"
            " with 0 before the loop keeps what it means"
        )
    names = ", ".join(named(scan.outer) for scan in loop.scan_outputs)
    if loop.scan_outputs and (ending.decides or not ending.limited):
        found.needs.append(
            f"how long {names} gets is known only at the end, and TensorRT wants the length before: take an upper"
            " bound; what lies beyond the last iteration is padding: zeros where it was seen, and not promised"
        )
    elif loop.scan_outputs and ending.trips is None:
        found.needs.append(
            f"how long {names} gets is known only when the loop is entered: the count is the length too, from a shape"
            " or an input with a range in the optimisation profile; NVIDIA's guide wants a constant, the header none"
        )
    for scan in loop.scan_outputs:
        if not scan.stack:
            found.needs.append(
                f"TensorRT stacks {named(scan.outer)} on a new axis; an IShuffleLayer after the loop joins its parts"
            )
    for last in context.unfed():
        found.needs.append(
            f"kLAST_VALUE comes from a recurrence, and nothing carries {named(last.result)}: add one with an"
            " initial value"
        )
    for port in sliced_inputs(loop):
        name = named(port.inner)
        if not whole(port):
            found.cannot.append(
                f"an IIterator steps by one element from the first or the last: {name} has to be cut with ISliceLayer"
            )
            continue
        if not port.drop_axis:
            found.needs.append(f"an IIterator drops the axis, so {name} has to be reshaped to have it back")
        if port.stride < 0 and not loop.counted_by_slices:
            found.needs.append(
                f"a reverse IIterator reads element M-1-i: {name} is the same where M is the length"
                f" of {named(port.outer)}"
            )
    if not loop.outputs:
        found.cannot.append("TensorRT drops a loop that has no outputs")


def _shapes(context: Context, found: Terms) -> None:
    loop = context.loop
    for value in context.not_tensors():
        found.cannot.append(f"{named(value)} is {value.type}: TensorRT has no sequences and no optionals")
    unknown = []
    for edge in loop.back_edges:
        kind = edge.param.type
        if not isinstance(kind, TensorType):
            continue
        if changes_shape(edge):
            found.needs.append(
                f"the shape of {named(edge.param)} changes, and both inputs of an IRecurrence have one shape: carry a"
                " tensor of the greatest size, and a count of what is in it"
            )
        elif kind.shape is None or any(not isinstance(dim, int) for dim in kind.shape):
            unknown.append(named(edge.param))
    if unknown:
        keep = "keeps its shape" if len(unknown) == 1 else "keep their shapes"
        found.needs.append(f"an IRecurrence cannot change shape: it is only right where {', '.join(unknown)} {keep}")
    imported: dict[str, list[str]] = {}
    for value in _values(loop):
        held = dtype(value.type)
        if held is None or held.name in _TYPES:
            continue
        if held.name in _IMPORTED:
            imported.setdefault(dtype_name(held), []).append(named(value))
        else:
            found.needs.append(
                f"{named(value)} is {dtype_name(held)}, which loops of TensorRT do not take: it has to be converted"
            )
    for name, values in imported.items():
        are = f"{values[0]} is" if len(values) == 1 else f"{', '.join(values)} are"
        found.needs.append(
            f"{are} {name}: NVIDIA's guide names float32 and float16 alone for loops, its ONNX importer lists"
            f" {name} too"
        )


def _values(loop: Loop) -> list[Value]:
    values = [edge.param for edge in loop.back_edges]
    values += [port.outer for port in loop.sliced_inputs]
    values += [scan.result for scan in loop.scan_outputs]
    return list(dict.fromkeys(values))
