"""Loops in TensorRT's loop API: ITripLimit, IRecurrence, IIterator, ILoopOutput (docs/semantics.md 8)."""

from __future__ import annotations

from collections.abc import Iterator

from ....runtime.graph import Graph, If, Loop, System, TensorType, Value, walk
from ...value_text import dtype_name
from ..condition_analysis import condition_slice
from ..node_text import rank
from ..termination import all_sliced_inputs
from ..value_names import display_name
from .terms_context import (
    LoopTerms,
    Row,
    TermsContext,
    changes_shape,
    declaration_text,
    initial_text,
    is_unit_slicing,
    tensor_dtype,
)

#: Types of loops in NVIDIA's guide, and further types that onnx-tensorrt lists for Loop.
_NATIVE_TYPES = frozenset({"float32", "float16"})
_IMPORTED_TYPES = frozenset({"bfloat16", "int32", "int64", "bool"})


def tensorrt_terms(context: TermsContext) -> LoopTerms:
    """The layers of an ILoop."""
    loop = context.loop
    terms = LoopTerms("TensorRT ILoop")
    terms.add_section("limits", _trip_limit_rows(context))
    terms.add_section("recurrences", _recurrence_rows(context))
    terms.add_section("iterators", _iterator_rows(context))
    terms.add_section("outputs", _output_rows(context))
    terms.add_section("captures", context.capture_rows())
    if loop.system is not System.TENSORRT:
        _add_api_limits(context, terms)
        _add_shape_limits(context, terms)
    return terms


def if_branch_requirements(graph: Graph) -> Iterator[str]:
    """Requirements of TensorRT that the Ifs of a model violate."""
    for node in walk(graph):
        if not isinstance(node, If):
            continue
        for left, right in zip(node.then_branch.outputs, node.else_branch.outputs, strict=False):
            a, b = left.type, right.type
            if isinstance(a, TensorType) and isinstance(b, TensorType) and a.excludes(b):
                yield (
                    f"If '{node.name}' needs branches of one shape, unless its condition is a constant when the "
                    f"network is built: {display_name(left)} is {a.shape_text()}, {display_name(right)}"
                    f" {b.shape_text()}."
                )


def _trip_limit_rows(context: TermsContext) -> Iterator[Row]:
    rule = context.termination
    count = context.trip_count()
    if count:
        yield f"ITripLimit kCOUNT = {count}", "TripLimit.COUNT in Python"
    if rule.condition_decides or rule.initial_condition is not True:
        yield f"ITripLimit kWHILE = {_while_text(context)}", "TripLimit.WHILE in Python; tested before each iteration"


def _while_text(context: TermsContext) -> str:
    """The recurrence that moves a condition from the end of an iteration to the start of the next one."""
    if context.termination.tests_first and context.loop.condition is not None:
        return context.operand(context.loop.condition)
    if context.termination.condition_decides and context.loop.condition is not None:
        return f"the recurrence of {context.operand(context.loop.condition)}"
    return context.initial_condition()


def _recurrence_rows(context: TermsContext) -> Iterator[Row]:
    loop = context.loop
    for edge in loop.back_edges:
        first = initial_text(edge, context.formatter)
        yield f"IRecurrence {declaration_text(edge.param)}", f"{first}, then {context.operand(edge.result)}"
    if context.termination.condition_decides and loop.condition is not None and not context.termination.tests_first:
        name = "condition" if loop.condition_input is None else display_name(loop.condition_input)
        yield f"IRecurrence {name}", f"{context.initial_condition()}, then {context.operand(loop.condition)}"
    if context.reads_iteration_number and loop.iteration is not None:
        yield f"IRecurrence {declaration_text(loop.iteration)}", "0, then 1 more each: there is no iteration number"


def _iterator_rows(context: TermsContext) -> Iterator[Row]:
    for port in context.loop.sliced_inputs:
        order = ", reverse" if port.stride < 0 else ""
        order += " from the trip count on" if port.from_trip_count else ""
        kind = "IIterator" if is_unit_slicing(port) else "IGatherLayer"
        yield f"{kind} {declaration_text(port.inner)}", f"{display_name(port.outer)}, axis {port.axis}{order}"


def _output_rows(context: TermsContext) -> Iterator[Row]:
    loop = context.loop
    for last in loop.last_values:
        edge = context.edge_of(last)
        source = last.result if edge is None else edge.param
        yield f"ILoopOutput kLAST_VALUE {display_name(last.outer)}", f"of {context.operand(source)}"
    length = context.trip_count() if not context.termination.condition_decides else "an upper bound"
    for scan in loop.scan_outputs:
        kind = "kREVERSE" if scan.reverse else "kCONCATENATE"
        scan_length = length or "an upper bound"
        if scan.length is not None:
            scan_length = context.operand(scan.length)
        text = f"of {context.operand(scan.result)}, axis {scan.axis}, length {scan_length}"
        yield f"ILoopOutput {kind} {display_name(scan.outer)}", text


def _add_api_limits(context: TermsContext, terms: LoopTerms) -> None:
    loop, rule = context.loop, context.termination
    if not rule.has_iteration_bound and not rule.condition_decides and rule.initial_condition is True:
        terms.unsupported.append(
            "a loop without any trip limit is refused; this one has neither a count nor a condition"
        )
    if rule.condition_decides:
        terms.requirements.append(
            "kWHILE decides before an iteration, and here what an iteration yields decides about the next: a recurrence"
            " carries the condition there"
        )
        slice_ = condition_slice(loop)
        if any(isinstance(node, Loop) for node in slice_.all_nodes) or slice_.all_slices:
            terms.unsupported.append(
                "kWHILE may not depend on iterators and on outputs of inner loops, as the condition does"
            )
        if (rank(loop.condition) or 0) > 0:
            terms.requirements.append(
                f"kWHILE takes a 0-D bool; {context.operand(loop.condition)} has to be reshaped to that"
            )
    if rule.trip_count_value is not None and (rank(rule.trip_count_value) or 0) > 0:
        terms.requirements.append(
            f"kCOUNT takes a 0-D integer; {display_name(rule.trip_count_value)} has to be reshaped to that"
        )
    dtype = (
        None
        if rule.trip_count is not None or rule.trip_count_value is None
        else tensor_dtype(rule.trip_count_value.type)
    )
    if dtype is not None and dtype.name == "int64":
        terms.requirements.append(
            f"kCOUNT takes int32: {display_name(rule.trip_count_value)} is int64, which TensorRT's header allows from"
            " 10.0 on and its guide does not; an ICastLayer before the loop converts it"
        )
    elif dtype is not None and dtype.name != "int32":
        terms.requirements.append(
            f"kCOUNT takes int32: {display_name(rule.trip_count_value)} is {dtype_name(dtype)}, and has to be converted"
        )
    if rule.trip_count_value is not None and loop.minus_one_is_no_limit:
        terms.requirements.append(
            "a trip count of -1 is no limit in OpenVINO, and kCOUNT has none: where"
            f" {display_name(rule.trip_count_value)} can be -1, it needs the largest int32 instead"
        )
    elif rule.trip_count_value is not None:
        terms.requirements.append(
            f"a negative {display_name(rule.trip_count_value)} runs nothing in ONNX, and TensorRT's header has no"
            " word for it: a MAX with 0 before the loop keeps what it means"
        )
    names = ", ".join(display_name(scan.outer) for scan in loop.scan_outputs)
    if loop.scan_outputs and (rule.condition_decides or not rule.has_iteration_bound):
        terms.requirements.append(
            f"how long {names} gets is known only at the end, and TensorRT wants the length before: take an upper"
            " bound; what lies beyond the last iteration is padding: zeros where it was seen, and not promised"
        )
    elif loop.scan_outputs and rule.trip_count is None:
        terms.requirements.append(
            f"how long {names} gets is known only when the loop is entered: the count is the length too, from a shape"
            " or an input with a range in the optimisation profile; NVIDIA's guide wants a constant, the header none"
        )
    for scan in loop.scan_outputs:
        if not scan.stack:
            terms.requirements.append(
                f"TensorRT stacks {display_name(scan.outer)} on a new axis; an IShuffleLayer after the loop joins its"
                " parts"
            )
    for last in context.last_values_without_edge():
        terms.requirements.append(
            f"kLAST_VALUE comes from a recurrence, and nothing carries {display_name(last.result)}: add one with an"
            " initial value"
        )
    for port in all_sliced_inputs(loop):
        name = display_name(port.inner)
        if not is_unit_slicing(port):
            terms.unsupported.append(
                f"an IIterator steps by one element from the first or the last: {name} has to be cut with ISliceLayer"
            )
            continue
        if not port.drop_axis:
            terms.requirements.append(f"an IIterator drops the axis, so {name} has to be reshaped to have it back")
        if port.stride < 0 and not loop.counted_by_slices:
            terms.requirements.append(
                f"a reverse IIterator reads element M-1-i: {name} is the same where M is the length"
                f" of {display_name(port.outer)}"
            )
    if not loop.outputs:
        terms.unsupported.append("TensorRT drops a loop that has no outputs")


def _add_shape_limits(context: TermsContext, terms: LoopTerms) -> None:
    loop = context.loop
    for value in context.non_tensor_values():
        terms.unsupported.append(f"{display_name(value)} is {value.type}: TensorRT has no sequences and no optionals")
    unknown_names = []
    for edge in loop.back_edges:
        type_ = edge.param.type
        if not isinstance(type_, TensorType):
            continue
        if changes_shape(edge):
            terms.requirements.append(
                f"the shape of {display_name(edge.param)} changes, and both inputs of an IRecurrence have one shape:"
                " carry a tensor of the greatest size, and a count of what is in it"
            )
        elif type_.shape is None or any(not isinstance(dim, int) for dim in type_.shape):
            unknown_names.append(display_name(edge.param))
    if unknown_names:
        verb = "keeps its shape" if len(unknown_names) == 1 else "keep their shapes"
        terms.requirements.append(
            f"an IRecurrence cannot change shape: it is only right where {', '.join(unknown_names)} {verb}"
        )
    imported: dict[str, list[str]] = {}
    for value in _loop_port_values(loop):
        dtype = tensor_dtype(value.type)
        if dtype is None or dtype.name in _NATIVE_TYPES:
            continue
        if dtype.name in _IMPORTED_TYPES:
            imported.setdefault(dtype_name(dtype), []).append(display_name(value))
        else:
            terms.requirements.append(
                f"{display_name(value)} is {dtype_name(dtype)}, which loops of TensorRT do not take: it has to be"
                " converted"
            )
    for name, values in imported.items():
        subject = f"{values[0]} is" if len(values) == 1 else f"{', '.join(values)} are"
        terms.requirements.append(
            f"{subject} {name}: NVIDIA's guide names float32 and float16 alone for loops, its ONNX importer lists"
            f" {name} too"
        )


def _loop_port_values(loop: Loop) -> list[Value]:
    values = [edge.param for edge in loop.back_edges]
    values += [port.outer for port in loop.sliced_inputs]
    values += [scan.result for scan in loop.scan_outputs]
    return list(dict.fromkeys(values))
