"""Nodes as expressions of pseudo-code: ``a + b``, ``x[i:i+1]``, ``Conv(x, w, strides=[1, 1])``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...runtime import dtypes
from ...runtime.errors import UnsupportedError
from ...runtime.graph import Array, If, Loop, Node, Operation, TensorType, Value
from ...runtime.graph.producers import ProducerMap
from ...runtime.graph.slicing import normalize_axis
from ...runtime.text import escape_unprintable
from ..value_text import dtype_name, scalar_text, value_text
from .value_names import display_name

#: Operator -> sign, by the names of ONNX and of OpenVINO.
OPERATOR_SIGNS: Mapping[str, str] = {
    "Add": "+",
    "Sub": "-",
    "Subtract": "-",
    "Mul": "*",
    "Multiply": "*",
    "Div": "/",
    "Divide": "/",
    "Pow": "**",
    "Power": "**",
    "Mod": "%",
    "FloorMod": "%",
    "Greater": ">",
    "Less": "<",
    "GreaterOrEqual": ">=",
    "GreaterEqual": ">=",
    "LessOrEqual": "<=",
    "LessEqual": "<=",
    "Equal": "==",
    "NotEqual": "!=",
    "And": "and",
    "LogicalAnd": "and",
    "Or": "or",
    "LogicalOr": "or",
    "Xor": "^",
    "LogicalXor": "^",
    "BitwiseAnd": "&",
    "BitwiseOr": "|",
    "BitwiseXor": "^",
}
NOT_OPERATORS = frozenset({"Not", "LogicalNot"})
_PREFIX_SIGNS: Mapping[str, str] = {"Neg": "-", "Negative": "-", **dict.fromkeys(NOT_OPERATORS, "not ")}
#: Constants up to these limits are written inline.
_INLINE_MAX_ELEMENTS, _INLINE_MAX_CHARS = 4, 24
#: Maximum width of an attribute, and of a Constant node's value.
_ATTRIBUTE_WIDTH, _CONSTANT_WIDTH = 24, 40
#: Attributes of IR layers with their default values.
_DEFAULT_ATTRIBUTES: Mapping[str, str] = {
    "auto_broadcast": "numpy",
    "transpose_a": "false",
    "transpose_b": "false",
    "special_zero": "true",
}
_INT32_MAX = np.iinfo(np.int32).max
#: NumPy's limit.
_MAX_AXES = 64


class NodeFormatter:
    """Formats the nodes of one model; ``origins`` finds the values of Constant nodes."""

    def __init__(self, origins: ProducerMap) -> None:
        self.origins = origins

    def constant(self, value: Value | None) -> Array | None:
        """The data of a constant value, including outputs of Constant nodes; None if it is computed."""
        if value is None:
            return None
        if value.constant is not None:
            return value.constant
        node = self.origins.get(value)
        return _constant_data(node) if isinstance(node, Operation) and node.op_type == "Constant" else None

    def operand(self, value: Value | None, *, bare: bool = False) -> str:
        """A name, or a small constant as a literal; ``bare``: a single element without brackets."""
        data = self.constant(value)
        if data is not None and data.size <= _INLINE_MAX_ELEMENTS:
            text = scalar_literal(data) if bare and data.size == 1 else literal(data, _INLINE_MAX_CHARS)
            if len(text) <= _INLINE_MAX_CHARS:
                return text
        return display_name(value)

    def expression(self, node: Node) -> str:
        """The expression of a node; for an If or a loop a call: ``Loop 'inner'(n, x)``."""
        inputs = list(node.inputs)
        while inputs and inputs[-1] is None:
            inputs.pop()
        if isinstance(node, Operation):
            special = _OPERATOR_FORMATTERS.get(node.op_type)
            text = special(self, node, inputs) if special is not None else self._operator_text(node, inputs)
            if text is not None:
                return text
        return self._call_text(node, inputs)

    def assignment(self, node: Node) -> str:
        """``y = a + b``; for a node without outputs only its expression."""
        results = ", ".join(display_name(value) for value in node.outputs)
        return f"{results} = {self.expression(node)}" if results else self.expression(node)

    def _operator_text(self, node: Operation, inputs: Sequence[Value | None]) -> str | None:
        sign = OPERATOR_SIGNS.get(node.op_type)
        if sign is not None and len(inputs) == 2 and None not in inputs:
            left, right = (self.operand(value, bare=True) for value in inputs)
            return f"fmod({left}, {right})" if node.attributes.get("fmod") == 1 else f"{left} {sign} {right}"
        prefix = _PREFIX_SIGNS.get(node.op_type)
        if prefix is not None and len(inputs) == 1:
            return prefix + self.operand(inputs[0], bare=True)
        return None

    def _call_text(self, node: Node, inputs: Sequence[Value | None]) -> str:
        arguments = [self.operand(value) for value in inputs]
        if isinstance(node, Operation):
            arguments += [
                f"{escape_unprintable(name)}={_attribute_text(value, node.domain.startswith('opset'))}"
                for name, value in node.attributes.items()
                if not (isinstance(value, str) and _DEFAULT_ATTRIBUTES.get(name) == value)
            ]
        name_text = f" '{escape_unprintable(node.name)}'" if isinstance(node, If | Loop) else ""
        return f"{escape_unprintable(node.op_type)}{name_text}({', '.join(arguments)})"

    def rank(self, value: Value | None) -> int | None:
        """The rank of a value, if known."""
        data = self.constant(value)
        return rank(value) if data is None else int(data.ndim)

    def integers(self, value: Value | None) -> list[int] | None:
        """The elements of an integer constant; None if they are computed."""
        data = self.constant(value)
        if data is None or data.dtype.kind not in "iu" or data.size > 16:
            return None
        return [int(number) for number in data.reshape(-1)]


def literal(data: Array, width: int = _CONSTANT_WIDTH) -> str:
    """A constant as code: ``0.5``, ``[0, 1]``, ``True``; a large one as its type."""
    if data.ndim == 0:
        return scalar_literal(data)
    if data.dtype.kind == "b" and data.size <= _INLINE_MAX_ELEMENTS:
        return str(data.tolist())
    text = value_text(data, width) if 3 * data.size <= width else ""
    if text.startswith("[") and len(text) <= width:
        return text
    return f"{dtype_name(data.dtype)}[{','.join(map(str, data.shape))}]"


def scalar_literal(data: Array) -> str:
    """The element of a one-element array as code."""
    element = data.reshape(-1)[0]
    return str(bool(element)) if data.dtype.kind == "b" else scalar_text(element)


def rank(value: Value | None) -> int | None:
    """The rank of a value's declared type."""
    if value is None:
        return None
    return len(value.type.shape) if isinstance(value.type, TensorType) and value.type.shape is not None else None


def subscript(parts: Mapping[int, str], dims: int | None) -> str | None:
    """``:, i:i+1``: the parts by axis, other axes complete; None for a negative axis of an unknown rank, or an invalid
    axis."""
    if dims is not None:
        parts = {normalize_axis(axis, dims): part for axis, part in parts.items()}
        if any(not 0 <= axis < dims for axis in parts):
            return None
    if not parts or (min(parts) < 0 <= max(parts)) or max(map(abs, parts)) > _MAX_AXES:
        return None
    if max(parts) < 0:
        return ", ".join(["...", *(parts.get(axis, ":") for axis in range(min(parts), 0))])
    return ", ".join(parts.get(axis, ":") for axis in range(dims or max(parts) + 1))


def _constant_data(node: Operation) -> Array | None:
    value = next((value for name, value in node.attributes.items() if name.startswith("value")), None)
    if value is None:
        return None
    try:
        return np.asarray(value)
    except ValueError:  # ragged
        return None


def _attribute_text(value: Any, bare: bool = False) -> str:
    """``bare``: do not quote strings, since the attributes of IR layers are all strings, mostly numbers."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, np.ndarray):
        return literal(value, _ATTRIBUTE_WIDTH)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_attribute_text, value))}]" if len(value) <= 8 else f"[{len(value)} items]"
    if isinstance(value, str | bytes | int | float | np.generic):
        text = escape_unprintable(value) if bare and isinstance(value, str) else scalar_text(value)
        return text if len(text) <= _ATTRIBUTE_WIDTH else text[: _ATTRIBUTE_WIDTH - 1] + "…"
    return type(value).__name__


# -- formatters of operators with special syntax; None falls back to a call

_OperatorFormatter = Callable[["NodeFormatter", Operation, Sequence["Value | None"]], "str | None"]


def _constant(p: NodeFormatter, node: Operation, inputs: Sequence[Value | None]) -> str | None:
    data = _constant_data(node)
    return None if data is None else literal(data)


def _identity(p: NodeFormatter, node: Operation, inputs: Sequence[Value | None]) -> str | None:
    return p.operand(inputs[0]) if len(inputs) == 1 and len(node.outputs) == 1 else None


def _abs(p: NodeFormatter, node: Operation, inputs: Sequence[Value | None]) -> str | None:
    return f"abs({p.operand(inputs[0])})" if len(inputs) == 1 else None


def _cast(p: NodeFormatter, node: Operation, inputs: Sequence[Value | None]) -> str | None:
    code = node.attributes.get("to", node.attributes.get("destination_type"))
    if len(inputs) != 1:
        return None
    try:
        if isinstance(code, int):
            return f"{dtype_name(dtypes.dtype_from_onnx(code))}({p.operand(inputs[0])})"
        return (
            f"{dtype_name(dtypes.dtype_from_openvino(code))}({p.operand(inputs[0])})" if isinstance(code, str) else None
        )
    except UnsupportedError:
        return None


def _where(p: NodeFormatter, node: Operation, inputs: Sequence[Value | None]) -> str | None:
    if len(inputs) != 3:
        return None
    return f"where({', '.join(p.operand(value, bare=True) for value in inputs)})"


def _concat(p: NodeFormatter, node: Operation, inputs: Sequence[Value | None]) -> str | None:
    axis = node.attributes.get("axis", 1 if node.domain == "" else 0)
    return f"concat({', '.join(p.operand(value) for value in inputs)}, axis={axis})"


def _matmul(p: NodeFormatter, node: Operation, inputs: Sequence[Value | None]) -> str | None:
    if len(inputs) != 2:
        return None
    transposed = [str(node.attributes.get(f"transpose_{side}", "false")).lower() in ("true", "1") for side in "ab"]
    sides = [p.operand(value) + (".T" if flag else "") for value, flag in zip(inputs, transposed, strict=True)]
    return " @ ".join(sides)


def _shape(p: NodeFormatter, node: Operation, inputs: Sequence[Value | None]) -> str | None:
    if len(inputs) != 1:
        return None
    start, end = node.attributes.get("start", 0), node.attributes.get("end")
    part = "" if not start and end is None else f"[{start or ''}:{'' if end is None else end}]"
    return f"{p.operand(inputs[0])}.shape{part}"


def _gather(p: NodeFormatter, node: Operation, inputs: Sequence[Value | None]) -> str | None:
    if str(node.attributes.get("batch_dims", 0)) != "0" or len(inputs) not in (2, 3):
        return None
    axis = node.attributes.get("axis", 0)
    axes = p.integers(inputs[2]) if len(inputs) == 3 else [axis] if isinstance(axis, int) else None
    if axes is None or len(axes) != 1:
        return None
    index_text = subscript({axes[0]: p.operand(inputs[1])}, None if axes[0] >= 0 else p.rank(inputs[0]))
    return None if index_text is None else f"{display_name(inputs[0])}[{index_text}]"


def _slice(p: NodeFormatter, node: Operation, inputs: Sequence[Value | None]) -> str | None:
    """ONNX Slice of all versions, OpenVINO Slice-8: data, starts, ends, axes, steps."""
    if len(inputs) == 1 and not node.domain:  # opset 1: attributes
        starts, ends = (list(node.attributes.get(name, ())) for name in ("starts", "ends"))
        axes = list(node.attributes.get("axes", range(len(starts))))
        ranges = [_range_text(str(a), str(b) if b <= _INT32_MAX else "", 1) for a, b in zip(starts, ends, strict=False)]
        return _subscript_expression(p, inputs[0], axes, ranges)
    if not 3 <= len(inputs) <= 5:
        return None
    if node.domain:  # OpenVINO has steps before axes
        data, start, end, step, axis = [*inputs, None, None][:5]
    else:
        data, start, end, axis, step = [*inputs, None, None][:5]
    return _slice_of_bounds(p, data, (start, end), axis, step)


def _slice_of_bounds(
    p: NodeFormatter,
    data: Value | None,
    bounds: tuple[Value | None, Value | None],
    axis: Value | None,
    step: Value | None,
) -> str | None:
    constants = [p.integers(bound) for bound in bounds]
    axes = p.integers(axis)
    steps = p.integers(step)
    if (axis is not None and axes is None) or (step is not None and steps is None):
        return None
    count = next((len(numbers) for numbers in (axes, steps, *constants) if numbers is not None), None)
    if count is None:
        count = _declared_element_count(bounds) or (1 if p.rank(data) == 1 else None)
    if count is None or (count != 1 and None in constants):
        return None
    axes = list(range(count)) if axes is None else axes
    steps = [1] * count if steps is None else steps
    texts = []
    for bound, numbers, end in zip(bounds, constants, (False, True), strict=True):
        if numbers is None:
            texts.append([_bound_text(p, bound)])
        else:
            texts.append(["" if end and abs(number) >= _INT32_MAX else str(number) for number in numbers])
    if not len(axes) == len(steps) == len(texts[0]) == len(texts[1]):
        return None
    return _subscript_expression(p, data, axes, [_range_text(*r) for r in zip(*texts, steps, strict=True)])


def _declared_element_count(bounds: Sequence[Value | None]) -> int | None:
    """The number of elements by the declared type of one of the values."""
    for bound in bounds:
        declared = bound.type if bound is not None else None
        shape = declared.shape if isinstance(declared, TensorType) else None
        if shape is not None and len(shape) == 1 and isinstance(shape[0], int):
            return shape[0]
    return None


def _bound_text(p: NodeFormatter, bound: Value | None) -> str:
    """A bound of one element; the scalar if Unsqueeze created it from one."""
    producer = None if bound is None else p.origins.get(bound)
    if producer is not None and producer.op_type == "Unsqueeze" and producer.inputs:
        return p.operand(producer.inputs[0], bare=True)
    return display_name(bound)


def _range_text(start: str, end: str, step: int) -> str:
    start = "" if start == "0" and step > 0 else start
    return f"{start}:{end}" if step == 1 else f"{start}:{end}:{step}"


def _subscript_expression(
    p: NodeFormatter, data: Value | None, axes: Sequence[int], ranges: Sequence[str]
) -> str | None:
    index_text = subscript(dict(zip(axes, ranges, strict=False)), None if min(axes, default=0) >= 0 else p.rank(data))
    return None if index_text is None else f"{display_name(data)}[{index_text}]"


_OPERATOR_FORMATTERS: Mapping[str, _OperatorFormatter] = {
    "Constant": _constant,
    "Identity": _identity,
    "Abs": _abs,
    "Cast": _cast,
    "Convert": _cast,
    "Where": _where,
    "Select": _where,
    "Concat": _concat,
    "MatMul": _matmul,
    "Shape": _shape,
    "ShapeOf": _shape,
    "Gather": _gather,
    "Slice": _slice,
}
