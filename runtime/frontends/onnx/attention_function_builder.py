"""Text of ONNX functions for recurrent attention operators: a Scan over rows with a state for each head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import ModelError
from ...graph import TensorType, Value
from ...ops.axis_arguments import unknown_value_error
from .proto import FunctionProto

DOMAIN = "com.microsoft"
_OPSET = 18
_RULES = ("linear", "gated", "delta", "gated_delta")


class FunctionTextBuilder:
    """Builds the text of a function in the syntax of ``onnx.parser``."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._int_lists: dict[tuple[int, ...], str] = {}

    def assign(self, name: str, op: str, *inputs: str, **attributes: Any) -> str:
        attribute_text = (
            f" <{', '.join(f'{key} = {_attribute_text(value)}' for key, value in attributes.items())}>"
            if attributes
            else ""
        )
        self.lines.append(f"{name} = {op}{attribute_text} ({', '.join(inputs)})")
        return name

    def int_list_constant(self, *numbers: int) -> str:
        """A constant list of numbers; equal lists share a constant."""
        if numbers not in self._int_lists:
            name = "_".join(["list", *(str(n).replace("-", "minus") for n in numbers)])
            self._int_lists[numbers] = self.assign(name, "Constant", value_ints=list(numbers))
        return self._int_lists[numbers]

    def dim_as_list(self, name: str, x: str, axis: int) -> str:
        """One dimension of a shape, as a list."""
        ends = {"start": axis} | ({} if axis == -1 else {"end": axis + 1})
        return self.assign(name, "Shape", x, **ends)

    def reshape(self, name: str, x: str, *dims: str, **attributes: int) -> str:
        """``dims``: lists of numbers to concatenate."""
        return self.assign(name, "Reshape", x, self.assign(f"{name}_shape", "Concat", *dims, axis=0), **attributes)

    def build_function(self, name: str, inputs: Sequence[str], outputs: Sequence[str]) -> FunctionProto:
        from onnx import parser  # only models with such operators need it

        body = "\n".join(self.lines)
        header = f'<domain: "{DOMAIN}", opset_import: ["": {_OPSET}]>'
        text = f"{header}\n{name} ({', '.join(inputs)}) => ({', '.join(outputs)})\n{{\n{body}\n}}"
        parsed = parser.parse_function(text)
        for node in parsed.node:
            if node.op_type == "Scan":
                node.name = "steps"
        function: FunctionProto = FunctionProto.FromString(parsed.SerializeToString())
        return function


def _attribute_text(value: Any) -> str:
    if isinstance(value, str):
        return value if value.startswith("{") else f'"{value}"'
    return repr(value)


def as_float32(text: FunctionTextBuilder, value: Value | None, name: str) -> str:
    """Cast an input to float32, in which steps are computed; no-op where it is known to be float32."""
    if value is not None and isinstance(value.type, TensorType) and value.type.dtype == np.float32:
        return name
    return text.assign(f"{name}_wide", "Cast", name, to=1)


def parse_update_rule(rule: str, decay: Value | None, beta: Value | None) -> tuple[bool, bool]:
    """Whether a state decays, and whether the delta rule applies (retrieved values are subtracted).

    Raises:
        ModelError: an unknown rule, or one with missing inputs.
    """
    if rule not in _RULES:
        raise unknown_value_error("update_rule", rule, _RULES)
    gated, delta = rule.startswith("gated"), rule.endswith("delta")
    for value, needed, name in ((decay, gated, "decay"), (beta, delta, "beta")):
        if needed and value is None:
            raise ModelError(f"update_rule='{rule}' needs the input {name}", name=name)
    return gated, delta


def emit_scan(
    text: FunctionTextBuilder,
    rule: str,
    state: str,
    sequences: Mapping[str, str],
    turned: bool,
    kept: bool,
    deltas: bool,
) -> None:
    """Emit the Scan: ``final`` and ``output_steps``, and with ``deltas`` the entered values.

    A state has a row for each element of a key, and values are rows; ``turned``: transposed. ``kept``: rows beyond the
    end of a request leave the state unchanged.
    """

    def matmul_text(name: str, vector: str, matrix: str) -> str:
        first, second = (matrix, vector) if turned else (vector, matrix)
        return f"{name} = MatMul ({first}, {second})"

    body = []
    decayed_state = "state"
    if rule.startswith("gated"):
        body.append("decayed = Mul (state, decay_t)")
        decayed_state = "decayed"
    entered = "value_t"
    if rule.endswith("delta"):
        body += [
            "key_turned = Transpose <perm = [0, 1, 3, 2]> (key_t)",
            matmul_text("retrieved", "key_turned", decayed_state),
            "error = Sub (value_t, retrieved)",
            "entered = Mul (beta_t, error)",
        ]
        entered = "entered"
    body.append(f"update = Mul (key_t, {entered})")
    body.append(f"state_after = Add ({decayed_state}, update)")
    new_state = "state_after"
    if kept:
        body.append("state_kept = Where (there_t, state_after, state)")
        new_state = "state_kept"
    body.append(matmul_text("output_t", "query_t", new_state))
    outputs = [new_state, "output_t"]
    if deltas:
        body.append(f"entered_t = Identity ({entered})")
        outputs.append("entered_t")
    count = len(outputs) - 1
    ones, axes = [1] * len(sequences), [1] * count
    inputs = ", ".join(["state", *sequences])
    names = ", ".join(["final", "output_steps", "entered_steps"][: count + 1])
    text.lines.append(
        f"{names} = Scan <num_scan_inputs = {len(ones)}, scan_input_axes = {ones}, scan_output_axes = {axes},"
        f" body = step ({inputs}) => ({', '.join(outputs)}) {{\n" + "\n".join(body) + "\n}> "
        f"({', '.join([state, *sequences.values()])})"
    )


def emit_query_scale(text: FunctionTextBuilder, scale: float, width: str) -> str:
    """The factor of queries: ``scale``, or the reciprocal root of the key width where that is 0."""
    if scale:
        return text.assign("factor", "Constant", value_float=float(scale))
    return text.assign(
        "factor", "Reciprocal", text.assign("root", "Sqrt", text.assign("real_width", "Cast", width, to=1))
    )


def repeat_heads(text: FunctionTextBuilder, name: str, x: str, lead: str, heads: str, times: str, width: str) -> str:
    """Repeat each head ``times`` times: ``[*lead, heads * times, width]``, with two axes for the heads."""
    shape = text.assign(f"{name}_copies", "Concat", lead, heads, times, width, axis=0)
    return text.assign(
        f"{name}_shared",
        "Expand",
        text.reshape(f"{name}_apart", x, lead, heads, text.int_list_constant(1), width),
        shape,
    )
