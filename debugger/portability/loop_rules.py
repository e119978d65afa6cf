"""Rules about ONNX loops: each yields the label of a known difference and a sentence about this loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...runtime.graph import BackEdge, Loop, Operation, TensorType, Value, captured_values
from ...runtime.ops.type_constraints import DtypeInference
from ..describe.termination import termination_rule
from .rule_context import RuleContext, RuleScope, derived_values
from .tensorrt_operators import SUPPORTED

#: Yields pairs of a label and a sentence.
LoopRule = Callable[[Loop, RuleScope, RuleContext], Iterator[tuple[str, str]]]

#: Larger trip counts are no limit for TensorRT's importer.
_TENSORRT_MAX_TRIPS = np.iinfo(np.int32).max
#: Operators whose result has another rank than their first input.
_RANK_CHANGING = ("Unsqueeze", "Squeeze")


def forwarded_values(loop: Loop, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """A body that returns an input, or an outer value that is no constant, directly."""
    computed = {value for node in loop.body.nodes for value in node.outputs}
    for value in loop.body.outputs:
        if value not in computed and not context.is_constant(value):
            kind = "its input" if value in loop.body.inputs else "the outer value"
            yield "B49", f"OpenVINO cannot read a file with this body: it returns {kind} '{value.name}' directly."
            return


def bodies_reading_condition(loop: Loop, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """A body that reads its condition input otherwise than to hand it on."""
    value = loop.condition_input
    if value is None:
        return
    result = loop.condition or loop.ignored_condition
    forwarding = None if result is None else context.producers.get(result)
    if forwarding is not None and (forwarding.op_type != "Identity" or forwarding.inputs[0] is not value):
        forwarding = None
    readers = [node for node in context.readers(value, loop.body) if node is not forwarding]
    if readers and loop.initial_condition is None:
        yield "T3", f"TensorRT does not define '{value.name}', which {readers[0].op_type} '{readers[0].name}' reads."
    if forwarding is not None:
        assert result is not None
        others = [*readers, *context.readers(result, loop.body)]
        if others or loop.body.outputs.count(result) > 1:
            reader = f"{others[0].op_type} '{others[0].name}' reads it" if others else "returns it twice"
            yield "B50", f"OpenVINO cannot convert this loop: it hands the condition '{value.name}' on, and {reader}."
    elif readers and not _is_scalar_condition(loop.initial_condition, context):
        yield from _one_element_condition(loop, value, context)


def _is_scalar_condition(condition: Value | None, context: RuleContext) -> bool:
    """Whether a loop's cond is there, and has no dimensions as far as is known."""
    return condition is not None and not context.rank(condition)


def _one_element_condition(loop: Loop, value: Value, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Without cond, or with one of shape [1], OpenVINO gives the body's condition the shape [1]."""
    derived = derived_values(loop, [value])
    scalars = [edge for edge in loop.back_edges if edge.result in derived and not context.rank(edge.param)]
    carried = next((edge for edge in scalars if edge.result in derived_values(loop, [edge.param])), None)
    if carried is not None:
        yield "B50", f"OpenVINO refuses this loop: '{carried.param.name}' gets another rank by '{value.name}'."
    outputs = [scan.outer for scan in loop.scan_outputs if scan.result in derived and not context.rank(scan.result)]
    outputs += [last.outer for last in loop.last_values if loop.back_edge_for(last) in scalars]
    if outputs:
        yield "B73", f"OpenVINO returns '{outputs[0].name}' with one more dimension, that of '{value.name}'."


def control_input_types(loop: Loop, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """The types of trip count and condition, and the rank of the condition."""
    for value, wanted, name in (
        (loop.trip_count, np.dtype(np.int64), "trip count"),
        (loop.initial_condition, np.dtype(bool), "condition"),
    ):
        dtype = context.dtype(value)
        if value is not None and dtype is not None and dtype != wanted and not loop.counted_by_slices:
            yield "B52", f"onnxruntime refuses the {name} '{value.name}': it is {dtype}, and has to be {wanted}."
    outer, inner = loop.initial_condition, loop.condition_input
    if outer is not None and inner is not None:
        ranks = context.rank(outer), context.rank(inner)
        if None not in ranks and ranks[0] != ranks[1]:
            yield (
                "B53",
                f"onnxruntime refuses this loop: its cond '{outer.name}' has {ranks[0]} dimensions, and the body"
                f" declares '{inner.name}' with {ranks[1]}.",
            )


def initial_types(loop: Loop, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Carried values whose type the body declares, takes and returns differently."""
    for edge in loop.back_edges:
        initial = edge.initial
        declared, result = (
            value.type.dtype if isinstance(value.type, TensorType) else None for value in (edge.param, edge.result)
        )
        passed = context.dtype(initial) if isinstance(initial, Value) else None
        if declared is not None and passed is not None and declared != passed and isinstance(initial, Value):
            yield (
                "B48",
                f"{loop.describe()}: the initial value '{initial.name}' of '{edge.param.name}' is {passed}, the body"
                f" declares {declared}; the specification wants one type, and onnxruntime refuses the model.",
            )
        result = result or context.dtype(edge.result)
        if declared is not None and result is not None and declared != result:
            yield (
                "B55",
                f"onnxruntime refuses this loop: '{edge.param.name}' is {declared}, and the body returns"
                f" '{edge.result.name}' for it, which is {result}.",
            )
    yield from _mixed_initial_types(loop, context)


class _InitialTypeInference(DtypeInference):
    """Types as OpenVINO infers them: a parameter has that of its initial value."""

    def __init__(self, types: Mapping[Value, np.dtype[Any]]) -> None:
        super().__init__()
        self._types = types

    def dtype_of(self, value: Value | None) -> np.dtype[Any] | None:
        return self._types[value] if value is not None and value in self._types else super().dtype_of(value)


def _mixed_initial_types(loop: Loop, context: RuleContext) -> Iterator[tuple[str, str]]:
    """An operator of the body in which an initial value of another type meets the declared one."""
    types = {
        edge.param: passed
        for edge in loop.back_edges
        if isinstance(edge.initial, Value) and (passed := context.dtype(edge.initial)) is not None
    }
    if any(context.dtype(param) not in (None, passed) for param, passed in types.items()):
        mixed = next(_InitialTypeInference(types).visit_graph(loop.body), None)
        if mixed is not None:
            yield "B79", f"OpenVINO refuses this loop, as it takes the types of the initial values: {mixed}."


def changing_carried_shapes(loop: Loop, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Carried values that change their rank or their shape."""
    for edge in loop.back_edges:
        source = context.producers.skip_identities(edge.result)
        node = context.producers.get(source)
        operands = [] if node is None else [context.producers.skip_identities(v) for v in node.inputs if v is not None]
        changes_rank = node is not None and node.op_type in _RANK_CHANGING and operands[:1] == [edge.param]
        joining = node if isinstance(node, Operation) and node.op_type == "Concat" else None
        grows = joining is not None and edge.param in operands
        declared, result = edge.param.type, edge.result.type
        excludes = isinstance(declared, TensorType) and isinstance(result, TensorType) and declared.excludes(result)
        if changes_rank:
            assert node is not None
            yield (
                "B54",
                f"OpenVINO refuses this loop: {node.op_type} '{node.name}' gives '{edge.param.name}' another rank in"
                " each iteration.",
            )
        if loop.counted_by_slices and (
            (grows and joining is not None and _grows_for_certain(edge, operands, joining, context))
            or _differs_from_initial(edge, source, loop)
        ):
            yield "B78", f"onnxruntime refuses this Scan: by its declared sizes the state '{edge.param.name}' changes."
        if changes_rank or grows or excludes:
            yield "T6", f"TensorRT refuses this loop: the shape of '{edge.param.name}' changes."
            if loop.counted_by_slices:
                yield (
                    "B67",
                    f"the shape of the state '{edge.param.name}' changes, which a Scan may not: onnxruntime refuses it"
                    " or fails, and OpenVINO returns uninitialised memory.",
                )


def _grows_for_certain(edge: BackEdge, operands: Sequence[Value], concat: Operation, context: RuleContext) -> bool:
    """Whether the declared sizes of what is joined add up to more than that of the initial value."""
    initial, axis = edge.initial, int(concat.attributes.get("axis", 0))
    if not isinstance(initial, Value):
        return False
    sizes = [context.dimension(initial if value is edge.param else value, axis) for value in (initial, *operands)]
    known = [size for size in sizes if size is not None]
    return len(known) == len(sizes) and sum(known[1:]) != known[0]


def _differs_from_initial(edge: BackEdge, source: Value, loop: Loop) -> bool:
    """Whether a result, which another state may be, is declared with another shape than the initial value."""
    initials = {other.param: other.initial for other in loop.back_edges}
    result, initial = initials.get(source, source), edge.initial
    return (
        isinstance(result, Value)
        and isinstance(initial, Value)
        and isinstance(result.type, TensorType)
        and isinstance(initial.type, TensorType)
        and initial.type.excludes(result.type)
    )


def empty_constants(loop: Loop, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Initial values that are constants without elements, such as the cache of a decoder."""
    for edge in loop.back_edges:
        data = context.constant(edge.initial) if isinstance(edge.initial, Value) else None
        if data is not None and not data.size:
            yield (
                "B91",
                f"OpenVINO refuses this loop: it reads the initial value of '{edge.param.name}', a constant of shape"
                f" {list(data.shape)}, as a scalar.",
            )


def unsupported_carried_types(loop: Loop, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Carried values of types that OpenVINO or TensorRT compute in another type, or not at all."""
    computed = [edge for edge in loop.back_edges if context.producers.skip_identities(edge.result) is not edge.param]
    doubles = [edge.param.name for edge in computed if context.dtype(edge.param) == np.float64]
    if doubles:
        names = ", ".join(f"'{name}'" for name in doubles)
        yield (
            "B29",
            f"OpenVINO's CPU plugin computes {names} (float64) as float32; its result can differ in the last digits.",
        )
        yield "T9", f"TensorRT computes {names} (float64) as float32."
    for edge in loop.back_edges:
        dtype = context.dtype(edge.param)
        allowed = SUPPORTED["Scan" if loop.counted_by_slices else "Loop"] | {"float64"}
        if dtype is not None and not dtype.hasobject and dtype.name not in allowed:
            yield "T10", f"TensorRT cannot carry '{edge.param.name}': it is {dtype}."


def outer_values_of_scans(loop: Loop, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """A Scan whose body uses an outer value."""
    if loop.counted_by_slices:
        captures = (value.name for value in captured_values(loop.body) if value.constant is None)
        outer = next(captures, None)
        if outer is not None:
            yield "B21", f"openvino cannot convert a Scan whose body uses an outer value, '{outer}'."
        if not loop.back_edges:
            yield "T7", "TensorRT's importer fails on this Scan: it has no state."


def input_names_of_enclosing_loops(loop: Loop, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Inputs of a body with the name of an input of a body around it."""
    outer_names = {value.name for outer in scope.loops for value in outer.body.inputs}
    duplicate = next((value.name for value in loop.body.inputs if value.name in outer_names), None)
    if duplicate is not None:
        yield "B28", f"openvino cannot convert loops inside each other that both call an input '{duplicate}'."


def trip_limits(loop: Loop, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Trip count and condition as TensorRT's importer reads them, and the lengths that follow from them."""
    if loop.counted_by_slices:
        return
    trips = context.producers.constant_integer(loop.trip_count)
    is_limit = loop.trip_count is not None and (trips is None or trips < _TENSORRT_MAX_TRIPS)
    if not is_limit and loop.initial_condition is None:
        yield "T1", "TensorRT has no trip limit for this loop: it has no cond and no trip count that is a limit."
    if not is_limit and loop.iteration is not None and context.readers(loop.iteration, loop.body):
        yield "T2", f"TensorRT does not define '{loop.iteration.name}': the loop has no trip count that is a limit."
    if not loop.scan_outputs:
        return
    if trips is None or not is_limit:
        name = loop.scan_outputs[0].outer.name
        yield "T5", f"TensorRT cannot tell the length of the scan output '{name}': the trip count is no constant."
    elif termination_rule(loop, context.producers).condition_decides:
        yield (
            "T4",
            f"TensorRT returns {trips} rows as '{loop.scan_outputs[0].outer.name}', also if the condition ends the loop"
            " earlier: the rest is arbitrary.",
        )
        for scan in loop.scan_outputs:
            shape = scan.outer.type.shape if isinstance(scan.outer.type, TensorType) else None
            if shape and isinstance(shape[0], int):
                yield (
                    "B65",
                    f"'{scan.outer.name}' is declared with {shape[0]} rows, the trip count, and has fewer if the"
                    " condition ends the loop earlier.",
                )


#: All of them.
LOOP_RULES: tuple[LoopRule, ...] = (
    forwarded_values,
    bodies_reading_condition,
    control_input_types,
    initial_types,
    changing_carried_shapes,
    empty_constants,
    unsupported_carried_types,
    outer_values_of_scans,
    input_names_of_enclosing_loops,
    trip_limits,
)
