"""A loop in words and in lines that read like a program: operands, nodes, its first line, what ends it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...debugger.words.names import quote
from ...runtime.graph import If, Loop, Node, Operation, ScanOutput, SlicedInput, TensorType, Value
from .text import printable, value_text

#: Operator -> sign, in the words of ONNX and of OpenVINO.
_SIGNS = {
    "Greater": ">",
    "Less": "<",
    "GreaterOrEqual": "≥",
    "GreaterEqual": "≥",
    "LessOrEqual": "≤",
    "LessEqual": "≤",
    "Equal": "=",
    "NotEqual": "≠",
}
_OPPOSITE = {">": "≤", "≤": ">", "<": "≥", "≥": "<", "=": "≠", "≠": "="}
_NOT = {"Not", "LogicalNot"}
_JOINED = {"And": "and", "LogicalAnd": "and", "Or": "or", "LogicalOr": "or"}
_SAME = {"Identity", "Cast", "Convert", "Squeeze", "Unsqueeze", "Reshape"}
#: How far an expression is followed before a name stands for the rest.
_DEPTH = 4


@dataclass(frozen=True)
class Comparison:
    """What decides whether a loop goes on: ``left sign right``."""

    left: Value
    sign: str
    right: Value

    @property
    def text(self) -> str:
        return f"{operand(self.left)} {self.sign} {operand(self.right)}"

    @property
    def opposite(self) -> str:
        """The comparison that ends the loop."""
        return f"{operand(self.left)} {_OPPOSITE[self.sign]} {operand(self.right)}"


def operand(value: Value | None) -> str:
    """A name; a constant of a few elements by its value; ``_`` for an input that is left out."""
    if value is None:
        return "_"
    if value.constant is not None and value.constant.size <= 3:
        text = value_text(value.constant, 24)
        if len(text) <= 24:
            return text
    return quote(value.name)


def call(node: Node) -> str:
    """``Mul(x, 0.5)``; of loops and Ifs the name as well: ``Loop 'inner'(n, x)``."""
    inputs = list(node.inputs)
    while inputs and inputs[-1] is None:
        inputs.pop()
    if node.op_type == "Constant" and isinstance(node, Operation):
        return f"Constant({', '.join(_attribute(value) for value in node.attributes.values())})"
    name = f" '{printable(node.name)}'" if isinstance(node, Loop | If) else ""
    return f"{printable(node.op_type)}{name}({', '.join(map(operand, inputs))})"


def _attribute(value: object) -> str:
    text = value_text(value, 16) if isinstance(value, np.ndarray | int | float | str) else type(value).__name__
    return text if len(text) <= 16 else "…"


def results(node: Node) -> str:
    """``y, h``: the names that a node writes."""
    return ", ".join(quote(v.name) for v in node.outputs if v is not None)


def producers(loop: Loop) -> dict[Value, Node]:
    """Which node of the body writes a value."""
    return {value: node for node in loop.body.nodes for value in node.outputs if value is not None}


def comparison(loop: Loop) -> Comparison | None:
    """The comparison that the condition is, where it is one."""
    if loop.condition is None:
        return None
    made = producers(loop)
    value, inverted = loop.condition, False
    for _ in range(_DEPTH):
        node = made.get(value)
        if node is None or not node.inputs or node.inputs[0] is None:
            return None
        if node.op_type in _SIGNS and len(node.inputs) > 1 and node.inputs[1] is not None:
            sign = _SIGNS[node.op_type]
            return Comparison(node.inputs[0], _OPPOSITE[sign] if inverted else sign, node.inputs[1])
        if node.op_type in _NOT:
            inverted = not inverted
        elif node.op_type not in _SAME:
            return None
        value = node.inputs[0]
    return None


def condition_text(loop: Loop) -> str:
    """``keep = err_new > tol``: what the body yields as the condition, as far as it reads at a glance."""
    if loop.condition is None:
        return ""
    name = quote(loop.condition.name)
    text = _expression(loop.condition, producers(loop), _DEPTH)
    return name if text == name else f"{name} = {text}"


def _expression(value: Value, made: Mapping[Value, Node], depth: int) -> str:
    node = made.get(value)
    inputs = [v for v in node.inputs if v is not None] if node is not None else []
    if node is None or depth == 0 or not inputs:
        return operand(value)
    if node.op_type in _SIGNS and len(inputs) > 1:
        return f"{operand(inputs[0])} {_SIGNS[node.op_type]} {operand(inputs[1])}"
    if node.op_type in _NOT:
        return f"not ({_expression(inputs[0], made, depth - 1)})"
    if node.op_type in _JOINED and len(inputs) > 1:
        word = f" {_JOINED[node.op_type]} "
        return word.join(_expression(v, made, depth - 1) for v in inputs[:2])
    if node.op_type in _SAME:
        inner = _expression(inputs[0], made, depth - 1)
        return inner if inner != operand(inputs[0]) else operand(value)
    return operand(value)


def kind(loop: Loop, trip_count: int | None) -> str:
    """``while loop``, ``for loop``, ..."""
    counted = bool(_count(loop, trip_count))
    if loop.condition is None or always(loop.condition):
        return "for loop" if counted else "endless loop"
    if counted:
        return "for loop with a condition"
    return "do-while loop" if _enters(loop) else "while loop"


def head(loop: Loop, trip_count: int | None) -> str:
    """The loop's first line: ``for i in range(25):``, ``while keep:``, ``do:``."""
    i = quote(loop.iteration.name) if loop.iteration is not None else "i"
    condition = "" if loop.condition is None or always(loop.condition) else quote(loop.condition.name)
    count = _count(loop, trip_count)
    if count:
        return f"for {i} in range({count}){f' while {condition}' if condition else ''}:"
    if not condition:
        return "while true:"
    return "do:" if _enters(loop) else f"while {condition}:"


def _count(loop: Loop, trip_count: int | None) -> str:
    """The trip count: its number once the loop is entered, before that its name; "" where there is none."""
    if trip_count is not None:
        return str(trip_count)
    if loop.fixed_trips is not None:
        return str(loop.fixed_trips)
    if loop.counted_by_slices and loop.sliced_inputs:
        return f"parts of {quote(loop.sliced_inputs[0].outer.name)}"
    return ""


def ends(loop: Loop, trip_count: int | None) -> str:
    """What ends a loop: ``when keep is false (no trip count)``, ``after 25 iterations``, ..."""
    endless = loop.condition is not None and always(loop.condition)
    condition = "" if loop.condition is None or endless else f"when {quote(loop.condition.name)} is false"
    count = _count(loop, trip_count)
    if count:
        after = f"after {count} iteration{'' if count == '1' else 's'}" if count.isdigit() else f"after the {count}"
        if condition:
            return f"{condition}, or {after.removesuffix('s').removesuffix(' iteration')}"
        return after
    if endless:
        return "never: no trip count, and the condition is always true"
    return f"{condition} (no trip count)" if condition else "never: neither trip count nor condition"


def always(condition: Value) -> bool:
    """A condition that is true whatever the body does."""
    return condition.constant is not None and bool(condition.constant.all())


def _enters(loop: Loop) -> bool:
    """Iteration 0 runs whatever the graph around the loop says."""
    return loop.initial_condition is None or always(loop.initial_condition)


def slice_text(sliced: SlicedInput, index: str) -> str:
    """``X[:, i:i+1, :]``; where the parts are not that plain: ``part i of X (stride -1, axis 0)``."""
    name = quote(sliced.outer.name)
    declared = sliced.outer.type
    rank = len(declared.shape) if isinstance(declared, TensorType) and declared.shape is not None else None
    plain = (sliced.start, sliced.end, sliced.stride, sliced.part_size) == (0, -1, 1, 1)
    if rank is None or not plain or not -rank <= sliced.axis < rank:
        return f"part {index} of {name} ({_slice_note(sliced)})"
    dims = [":"] * rank
    dims[sliced.axis] = index if sliced.drop_axis else f"{index}:{index}+1"
    return f"{name}[{', '.join(dims)}]"


def _slice_note(sliced: SlicedInput) -> str:
    parts = []
    for word, value, usual in (
        ("stride", sliced.stride, 1),
        ("part size", sliced.part_size, 1),
        ("axis", sliced.axis, None),
        ("start", sliced.start, 0),
        ("end", sliced.end, -1),
    ):
        if value != usual:
            parts.append(f"{word} {value}")
    return ", ".join(parts)


def scan_text(scan: ScanOutput, name: str) -> str:
    """``xs.append(x_new)``, ``Y.concat(y, axis=1)``, and ``prepend`` where the last iteration stands first; ``name``:
    that of the whole."""
    inner, outer = quote(scan.result.name), quote(name)
    if scan.stack:
        axis = "" if scan.axis == 0 else f", axis={scan.axis}"
        return f"{outer}.{'prepend' if scan.reverse else 'append'}({inner}{axis})"
    before = ", in front" if scan.reverse else ""
    return f"{outer}.concat({inner}, axis={scan.axis}{before})"
