"""Type inference for undeclared outputs of loops."""

from __future__ import annotations

from ...runtime.graph import ANY_TYPE, BackEdge, Loop, ScanOutput, SlicedInput, TensorType, Value, ValueType
from ...runtime.graph.producers import ProducerMap

#: Maximum length of a chain of loops.
_MAX_LOOPS = 8


def infer_type(value: Value, origins: ProducerMap, loops: int = _MAX_LOOPS) -> ValueType:
    """The declared type; for an undeclared output of a loop the type inferred from the loop's body, else any."""
    loop = origins.get(value)
    if value.type != ANY_TYPE or not isinstance(loop, Loop) or not loops:
        return value.type
    for port in loop.scan_outputs:
        if port.outer is value:
            return _scan_output_type(infer_type(port.result, origins, loops - 1), port)
    last_value = next((port for port in loop.last_values if port.outer is value), None)
    if last_value is None:
        return ANY_TYPE
    result, edge = infer_type(last_value.result, origins, loops - 1), loop.back_edge_for(last_value)
    if edge is None:
        return result
    initial = _parameter_type(edge, origins, loops - 1)
    return initial if origins.skip_identities(last_value.result) is edge.param else _last_value_type(result, initial)


def _parameter_type(edge: BackEdge, origins: ProducerMap, loops: int) -> ValueType:
    """The type of the parameter of a back edge."""
    if edge.param.type != ANY_TYPE or isinstance(edge.initial, SlicedInput):
        return edge.param.type
    return infer_type(edge.initial, origins, loops)


def _last_value_type(result: ValueType, param_type: ValueType) -> ValueType:
    """The type of a last value, joined from the result and the parameter type; its shape may change."""
    if not isinstance(result, TensorType) or not isinstance(param_type, TensorType):
        return param_type if result == ANY_TYPE else result if param_type in (ANY_TYPE, result) else ANY_TYPE
    dtypes = {kind.dtype for kind in (result, param_type) if kind.dtype is not None}
    shape, param_shape = result.shape, param_type.shape
    if shape is not None and param_shape is not None:
        has_same_rank = len(shape) == len(param_shape)
        shape = tuple(a if a == b else None for a, b in zip(shape, param_shape, strict=True)) if has_same_rank else None
    return TensorType(dtypes.pop() if len(dtypes) == 1 else None, shape)


def _scan_output_type(element: ValueType, port: ScanOutput) -> ValueType:
    """The type of a scan output by the type of its elements."""
    if not isinstance(element, TensorType):
        return ANY_TYPE
    shape = element.shape
    if shape is not None:
        rank = len(shape) + port.stack
        axis = port.axis + rank if port.axis < 0 else port.axis
        fits = 0 <= axis < rank
        shape = (*shape[:axis], None, *shape[axis + (not port.stack) :]) if fits else None
    return TensorType(element.dtype, shape)
