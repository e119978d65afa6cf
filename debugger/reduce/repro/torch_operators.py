"""ONNX operators as PyTorch code: for each a function of its inputs, as code, and its attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx

from .repro_scripts import read_template

#: Arguments of the code of a node: the inputs as code, attributes by name, and the operator set.
OperatorCode = Callable[[Sequence[str], Mapping[str, Any], int], str]

_DTYPE_NAMES = {"float": "float32", "double": "float64", "float16": "float16", "bfloat16": "bfloat16", "bool": "bool"}
_DTYPE_NAMES |= {name: name for name in ("int8", "int16", "int32", "int64", "uint8")}


def torch_dtype(code: int) -> str:
    """Return the PyTorch name of an ONNX type.

    Raises:
        KeyError: PyTorch has no such type.
    """
    return f"torch.{_DTYPE_NAMES[onnx.TensorProto.DataType.Name(code).lower()]}"


def _function_call_code(name: str) -> OperatorCode:
    return lambda inputs, attributes, opset: f"{name}({', '.join(inputs)})"


def _binary_operator_code(sign: str) -> OperatorCode:
    return lambda inputs, attributes, opset: f"{inputs[0]} {sign} {inputs[1]}"


def _variadic_call_code(name: str) -> OperatorCode:
    def make_code(inputs: Sequence[str], attributes: Mapping[str, Any], opset: int) -> str:
        text = inputs[0]
        for operand in inputs[1:]:
            text = f"{name}({text}, {operand})"
        return text

    return make_code


def _reduction_code(name: str) -> OperatorCode:
    def make_code(inputs: Sequence[str], attributes: Mapping[str, Any], opset: int) -> str:
        axes = inputs[1] if len(inputs) > 1 and inputs[1] else list(attributes.get("axes", [])) or None
        return f"{name}({inputs[0]}, {axes}, {bool(attributes.get('keepdims', 1))})"

    return make_code


def _softmax(inputs: Sequence[str], attributes: Mapping[str, Any], opset: int) -> str:
    axis = attributes.get("axis", -1 if opset >= 13 else 1)
    if opset >= 13:
        return f"torch.softmax({inputs[0]}, {axis})"
    x = inputs[0]
    return f"torch.softmax({x}.flatten({axis}), -1).reshape({x}.shape)"


def _gemm(inputs: Sequence[str], attributes: Mapping[str, Any], opset: int) -> str:
    a, b = (f"{x}.T" if attributes.get(f"trans{k}", 0) else x for x, k in zip(inputs, "AB", strict=False))
    text = f"{attributes.get('alpha', 1.0)} * ({a} @ {b})"
    return text if len(inputs) < 3 else f"{text} + {attributes.get('beta', 1.0)} * {inputs[2]}"


def _clip(inputs: Sequence[str], attributes: Mapping[str, Any], opset: int) -> str:
    limits = [*inputs[1:], "", ""][:2] if opset >= 11 else [attributes.get(k, "") for k in ("min", "max")]
    low, high = (None if limit == "" else limit for limit in limits)
    return f"torch.clip({inputs[0]}, {low}, {high})"


def _squeeze_code(name: str) -> OperatorCode:
    """Squeeze and Unsqueeze, whose axes are an attribute in old operator sets."""

    def make_code(inputs: Sequence[str], attributes: Mapping[str, Any], opset: int) -> str:
        axes = inputs[1] if len(inputs) > 1 and inputs[1] else list(attributes.get("axes", [])) or None
        return f"{name}({inputs[0]}, {axes})"

    return make_code


OPERATOR_CODE: Mapping[str, OperatorCode] = {
    **{
        op: _binary_operator_code(sign)
        for op, sign in (("Add", "+"), ("Sub", "-"), ("Mul", "*"), ("MatMul", "@"), ("Pow", "**"))
    },
    **{
        op: _binary_operator_code(sign)
        for op, sign in (
            ("Less", "<"),
            ("Greater", ">"),
            ("LessOrEqual", "<="),
            ("GreaterOrEqual", ">="),
            ("Equal", "=="),
            ("And", "&"),
            ("Or", "|"),
            ("Xor", "^"),
        )
    },
    **{
        op: _function_call_code(f"torch.{op.lower()}")
        for op in ("Neg", "Abs", "Exp", "Log", "Sqrt", "Reciprocal", "Floor", "Ceil", "Round", "Sign", "Sin", "Cos")
    },
    **{
        op: _function_call_code(f"torch.{op.lower()}")
        for op in ("Tan", "Tanh", "Sigmoid", "Relu", "Erf", "IsNaN", "IsInf", "Sinh", "Cosh", "Atan", "Asin", "Acos")
    },
    "Not": _function_call_code("torch.logical_not"),
    "Where": _function_call_code("torch.where"),
    "Identity": lambda inputs, attributes, opset: inputs[0],
    "Div": _function_call_code("div"),
    "Max": _variadic_call_code("torch.maximum"),
    "Min": _variadic_call_code("torch.minimum"),
    "Sum": _variadic_call_code("torch.add"),
    "Mod": lambda i, a, opset: f"torch.{'fmod' if a.get('fmod', 0) else 'remainder'}({i[0]}, {i[1]})",
    "Softplus": _function_call_code("torch.nn.functional.softplus"),
    "LeakyRelu": lambda i, a, opset: f"torch.nn.functional.leaky_relu({i[0]}, {a.get('alpha', 0.01)})",
    "Elu": lambda i, a, opset: f"torch.nn.functional.elu({i[0]}, {a.get('alpha', 1.0)})",
    "Gemm": _gemm,
    "Clip": _clip,
    "Softmax": _softmax,
    "Cast": lambda i, a, opset: f"{i[0]}.to({torch_dtype(a['to'])})",
    "Concat": lambda i, a, opset: f"torch.cat([{', '.join(i)}], {a['axis']})",
    "Transpose": lambda i, a, opset: f"transpose({i[0]}, {list(a['perm']) if 'perm' in a else None})",
    "Reshape": lambda i, a, opset: f"reshape({i[0]}, {i[1]}, {a.get('allowzero', 0)})",
    "Expand": lambda i, a, opset: f"expand({i[0]}, {i[1]})",
    "Shape": lambda i, a, opset: f"torch.tensor({i[0]}.shape, dtype=torch.int64)",
    "Gather": lambda i, a, opset: f"gather({i[0]}, {i[1]}, {a.get('axis', 0)})",
    "Squeeze": _squeeze_code("squeeze"),
    "Unsqueeze": _squeeze_code("unsqueeze"),
    "ReduceSum": _reduction_code("reduce_sum"),
    "ReduceMean": _reduction_code("reduce_mean"),
    "ReduceMax": _reduction_code("reduce_max"),
    "ReduceMin": _reduction_code("reduce_min"),
    "ArgMax": lambda i, a, opset: f"torch.argmax({i[0]}, {a.get('axis', 0)}, keepdim={bool(a.get('keepdims', 1))})",
    "ArgMin": lambda i, a, opset: f"torch.argmin({i[0]}, {a.get('axis', 0)}, keepdim={bool(a.get('keepdims', 1))})",
    "Range": lambda i, a, opset: f"torch.arange({', '.join(f'{x}.item()' for x in i)}, dtype={i[0]}.dtype)",
}

#: Functions that the code above uses, and their dependencies.
HELPERS: Mapping[str, str] = {
    match[1]: match[0]
    for match in re.finditer(r"^def (\w+)\(.*\n(?: +.*\n)+", read_template("torch_helpers"), re.MULTILINE)
}


def helper_code(code: str) -> str:
    """Return the functions that some code uses."""
    used = {name for name in HELPERS if f"{name}(" in code}
    dependencies = {name for name in HELPERS if any(f"{name}(" in HELPERS[user] for user in used)}
    return "".join(f"\n{HELPERS[name]}\n" for name in HELPERS if name in used | dependencies)
