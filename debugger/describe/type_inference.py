"""What type a value has where the model does not declare it, as far as the loop that gives it tells."""

from __future__ import annotations

from ...runtime.graph import ANY_TYPE, BackEdge, Loop, ScanOutput, SlicedInput, TensorType, Value, ValueType
from ...runtime.graph.producers import ProducerMap

#: So many loops are searched, one after the other.
_MAX_LOOPS = 8


def infer_type(value: Value, origins: ProducerMap, loops: int = _MAX_LOOPS) -> ValueType:
    """The declared type; of an output of a loop without one what follows from the loop's body. Else any."""
    loop = origins.producer(value)
    if value.type != ANY_TYPE or not isinstance(loop, Loop) or not loops:
        return value.type
    for port in loop.scan_outputs:
        if port.outer is value:
            return _scan_output_type(infer_type(port.result, origins, loops - 1), port)
    last = next((port for port in loop.last_values if port.outer is value), None)
    if last is None:
        return ANY_TYPE
    result, edge = infer_type(last.result, origins, loops - 1), loop.back_edge_for(last)
    if edge is None:
        return result
    before = _parameter_type(edge, origins, loops - 1)
    return before if origins.skip_identities(last.result) is edge.param else _last_value_type(result, before)


def _parameter_type(edge: BackEdge, origins: ProducerMap, loops: int) -> ValueType:
    """The type of what an iteration gets."""
    if edge.param.type != ANY_TYPE or isinstance(edge.initial, SlicedInput):
        return edge.param.type
    return infer_type(edge.initial, origins, loops)


def _last_value_type(result: ValueType, before: ValueType) -> ValueType:
    """The type of a last value: what an iteration yields, or got. Its dtype is that of either, its shape may change."""
    if not isinstance(result, TensorType) or not isinstance(before, TensorType):
        return before if result == ANY_TYPE else result if before in (ANY_TYPE, result) else ANY_TYPE
    dtypes = {kind.dtype for kind in (result, before) if kind.dtype is not None}
    shape, other = result.shape, before.shape
    if shape is not None and other is not None:
        same = len(shape) == len(other)
        shape = tuple(a if a == b else None for a, b in zip(shape, other, strict=True)) if same else None
    return TensorType(dtypes.pop() if len(dtypes) == 1 else None, shape)


def _scan_output_type(element: ValueType, port: ScanOutput) -> ValueType:
    """The type of a scan output whose elements have a type."""
    if not isinstance(element, TensorType):
        return ANY_TYPE
    shape = element.shape
    if shape is not None:
        rank = len(shape) + port.stack
        axis = port.axis + rank if port.axis < 0 else port.axis
        fits = 0 <= axis < rank
        shape = (*shape[:axis], None, *shape[axis + (not port.stack) :]) if fits else None
    return TensorType(element.dtype, shape)
