"""Every operator of OpenVINO's opsets with attributes, shapes and types that it may have, as data.

``K(array)`` is an input that is a Const layer, any other array a Parameter. OpenVINO builds the rows by its own
opset API (tests/peers/openvino_node_runner.py).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class ConstInput:
    """An input that is a Const layer."""

    array: Array


@dataclass(frozen=True)
class OpenvinoCase:
    """One node: inputs, attributes, and how close the answers must be."""

    type: str
    opset: int
    inputs: tuple[Array | ConstInput, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    rtol: float = 1e-4
    atol: float = 1e-5
    #: Whose answer counts: the CPU plugin's ("cpu"), or the reference code of OpenVINO's core ("core").
    oracle: str = "cpu"
    #: Only dtype and shape are compared, and these bounds held.
    random: tuple[float, float] | None = None
    #: What OpenVINO has wrong here, and why that is known: its answer differs, and ours is ``expected``.
    known_fault: str = ""
    #: By the written specification, where OpenVINO's answer does not count.
    expected: tuple[Array, ...] | None = None

    @property
    def name(self) -> str:
        attributes = ",".join(f"{k}={v}" for k, v in self.attributes.items())
        shapes = " ".join(
            f"{'K' if isinstance(x, ConstInput) else ''}{_array_of(x).dtype.name}{list(_array_of(x).shape)}"
            for x in self.inputs
        )
        return f"{self.type}-{self.opset}({shapes}; {attributes})"


def _array_of(x: Array | ConstInput) -> Array:
    return x.array if isinstance(x, ConstInput) else x


CASES: list[OpenvinoCase] = []


def case(type: str, opset: int, *inputs: Array | ConstInput, **attributes: Any) -> None:
    """One more row; words with a leading underscore are about the comparison."""
    settled = {key[1:]: attributes.pop(key) for key in list(attributes) if key.startswith("_")}
    settled["known_fault"] = settled.pop("fault", "")
    CASES.append(OpenvinoCase(type, opset, inputs, attributes, **settled))


_generator = np.random.default_rng(16)


def random_floats(*shape: int, low: float = -1.0, high: float = 1.0, dtype: Any = np.float32) -> Array:
    """Numbers between two bounds."""
    return np.asarray(_generator.uniform(low, high, shape), dtype)


def random_integers(*shape: int, low: int = 0, high: int = 9, dtype: Any = np.int32) -> Array:
    """Whole numbers, ``high`` not among them."""
    return np.asarray(_generator.integers(low, high, shape), dtype)


def i64(*numbers: int) -> ConstInput:
    return ConstInput(np.array(numbers, np.int64))


def index_scalar(number: int, dtype: Any = np.int64) -> ConstInput:
    return ConstInput(np.array(number, dtype))


def float_scalar(number: float) -> ConstInput:
    return ConstInput(np.array(number, np.float32))


F16, F32, F64, I32, I64, U8, I8, BOOL = (
    np.float16,
    np.float32,
    np.float64,
    np.int32,
    np.int64,
    np.uint8,
    np.int8,
    np.bool_,
)

# --- Elementwise

for _op, _low, _high in (
    ("Abs", -3, 3), ("Acos", -1, 1), ("Asin", -1, 1), ("Atan", -3, 3), ("Ceiling", -3, 3), ("Cos", -3, 3),
    ("Cosh", -2, 2), ("Erf", -2, 2), ("Exp", -2, 2), ("Floor", -3, 3), ("Log", 0.1, 3), ("Negative", -3, 3),
    ("Relu", -1, 1), ("Sigmoid", -3, 3), ("Sign", -1, 1), ("Sin", -3, 3), ("Sinh", -2, 2), ("Sqrt", 0, 3),
    ("Tan", -1, 1), ("Tanh", -2, 2),
):  # fmt: skip
    case(_op, 1, random_floats(2, 3, low=_low, high=_high))
    case(_op, 16, random_floats(4, low=_low, high=_high, dtype=F64))
for _op, _since in (("Acosh", 4), ("Asinh", 4), ("Atanh", 4), ("HSwish", 4), ("Mish", 4), ("SoftPlus", 4),
                    ("HSigmoid", 5), ("SoftSign", 9)):  # fmt: skip
    case(_op, _since, random_floats(2, 5, low=1.1 if _op == "Acosh" else -0.9, high=3 if _op == "Acosh" else 0.9))
case("Abs", 1, random_integers(2, 3, low=-5))
case("Negative", 1, random_integers(2, 3, low=-5))
case("Clamp", 1, random_floats(3, 4), min=-0.5, max=0.25)
case("Clamp", 1, random_integers(3, 4, low=-9), min=-2.5, max=3.5)
case("Elu", 1, random_floats(3, 4), alpha=0.7)
case("Gelu", 2, random_floats(3, 4))
for _mode in ("erf", "tanh"):
    case("Gelu", 7, random_floats(3, 4, low=-3, high=3), approximation_mode=_mode)
case("HardSigmoid", 1, random_floats(3, 4, low=-4, high=4), float_scalar(0.3), float_scalar(0.4))
case("Selu", 1, random_floats(3, 4), float_scalar(1.6), float_scalar(1.1))
case("Swish", 4, random_floats(3, 4))
case("Swish", 4, random_floats(3, 4), float_scalar(0.6))
case("PRelu", 1, random_floats(2, 3, 4), ConstInput(random_floats(3)))
case("PRelu", 1, random_floats(2, 3), ConstInput(random_floats(1)))
case("Round", 5, np.array([-2.5, -1.5, -0.4, 0.5, 1.5, 2.6], F32), mode="half_to_even")
case("Round", 5, np.array([-2.5, -1.5, -0.4, 0.5, 1.5, 2.6], F32), mode="half_away_from_zero")
case("LogicalNot", 1, random_integers(2, 3, high=2, dtype=BOOL))
case("BitwiseNot", 13, random_integers(2, 3))
case("BitwiseNot", 13, random_integers(4, dtype=U8))
_odd = np.array([1, np.nan, np.inf, -np.inf, 0], F32)
case("IsNaN", 10, _odd)
case("IsFinite", 10, _odd)
for _neg, _pos in itertools.product((True, False), repeat=2):
    case("IsInf", 10, _odd, detect_negative=_neg, detect_positive=_pos)
case("Identity", 16, random_floats(2, 3))
case("ErfInv", 17, np.array([-0.99, -0.5, 0, 1e-3, 0.5, 0.9, 1, -1], F32))
case("ErfInv", 17, np.array([0.999], F32), _expected=(np.array([2.3267537], F32),),
     _fault="the CPU plugin has 2.32185, whose erf is 0.99897")  # fmt: skip

for _op in ("Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum", "SquaredDifference", "Equal", "NotEqual",
            "Greater", "GreaterEqual", "Less", "LessEqual"):  # fmt: skip
    case(_op, 1, random_floats(2, 3), random_floats(1, 3, low=0.5, high=2))
    case(_op, 1, random_floats(2, 3), random_floats(2, 3), auto_broadcast="none")
    case(_op, 1, random_integers(4, low=0 if _op == "Divide" else -9), random_integers(4, low=1))
case("Add", 1, random_floats(3, dtype=F64), random_floats(3, dtype=F64))
case("Power", 1, random_floats(2, 3, low=0.1, high=2), random_floats(3))
case("Mod", 1, random_floats(2, 3, low=-9, high=9), random_floats(3, low=1, high=4))
case("Mod", 1, random_integers(5, low=-9), random_integers(5, low=1, high=4))
case("FloorMod", 1, random_floats(2, 3, low=-9, high=9), random_floats(3, low=1, high=4))
case("FloorMod", 1, random_integers(5, low=-9), random_integers(5, low=1, high=4))
case("Divide", 1, random_integers(6, low=-9), random_integers(6, low=1, high=4), m_pythondiv=True, _oracle="core")
case("Divide", 1, random_integers(6, low=-9), random_integers(6, low=1, high=4), m_pythondiv=False)
case("Divide", 1, np.array([-7], I32), np.array([2], I32), m_pythondiv=True, _expected=(np.array([-4], I32),),
     _fault="the CPU plugin truncates whatever m_pythondiv says; the core's reference code floors")  # fmt: skip
for _op in ("LogicalAnd", "LogicalOr", "LogicalXor"):
    case(_op, 1, random_integers(2, 3, high=2, dtype=BOOL), random_integers(3, high=2, dtype=BOOL))
case("Xor", 1, random_integers(2, 3, high=2, dtype=BOOL), random_integers(3, high=2, dtype=BOOL))
for _op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    case(_op, 13, random_integers(2, 3), random_integers(3))
    case(_op, 13, random_integers(2, 3, high=2, dtype=BOOL), random_integers(3, high=2, dtype=BOOL))
for _op in ("BitwiseLeftShift", "BitwiseRightShift"):
    case(_op, 15, random_integers(2, 3), random_integers(3, high=4))
case("Select", 1, random_integers(2, 3, high=2, dtype=BOOL), random_floats(2, 3), random_floats(1, 3))
case("Convert", 1, random_floats(5, low=-9, high=9), destination_type="i32")
case("Convert", 1, random_integers(5), destination_type="f32")
case("Convert", 1, random_integers(5, high=2), destination_type="boolean")
case("ConvertLike", 1, random_floats(5, low=-9, high=9), random_integers(1))
for _a, _b in ((random_floats(3), random_integers(3)), (random_integers(3), random_integers(3, dtype=I64)),
               (random_integers(3, dtype=U8), random_integers(3, dtype=I8)), (random_floats(3, dtype=F16),
               random_floats(3)),
               (random_integers(3, high=2, dtype=BOOL), random_integers(3))):  # fmt: skip
    case("ConvertPromoteTypes", 14, _a, _b, promote_unsafe=True)
case(
    "ConvertPromoteTypes",
    14,
    random_floats(3, dtype=F16),
    np.array(2.0, F32),
    pytorch_scalar_promotion=True,
    promote_unsafe=True,
)
case(
    "ConvertPromoteTypes",
    14,
    random_integers(3, dtype=U8),
    np.array(2.0, F16),
    pytorch_scalar_promotion=True,
    promote_unsafe=True,
)

# --- Reductions

for _op in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"):
    for _keep in (True, False):
        case(_op, 1, random_floats(2, 3, 4), i64(1, -1), keep_dims=_keep)
        case(_op, 1, random_integers(2, 3, 4, low=1, high=5), i64(0), keep_dims=_keep)
for _op in ("ReduceL1", "ReduceL2"):
    case(_op, 4, random_floats(2, 3, 4), i64(0, 2), keep_dims=True)
for _op in ("ReduceLogicalAnd", "ReduceLogicalOr"):
    case(_op, 1, random_integers(2, 3, 4, high=2, dtype=BOOL), i64(1), keep_dims=False)
for _exclusive, _reverse in itertools.product((True, False), repeat=2):
    case("CumSum", 3, random_floats(3, 4), index_scalar(1), exclusive=_exclusive, reverse=_reverse)
for _op, _mode, _sort in itertools.product(("TopK",), ("max", "min"), ("value", "index", "none")):
    case(_op, 3, random_floats(3, 7), index_scalar(3), axis=1, mode=_mode, sort=_sort, index_element_type="i64")
case("TopK", 1, random_floats(3, 7), index_scalar(2), axis=0, mode="max", sort="value")
case(
    "TopK",
    11,
    random_floats(3, 7),
    index_scalar(3),
    axis=-1,
    mode="max",
    sort="value",
    index_element_type="i32",
    stable=True,
)
case("Softmax", 1, random_floats(2, 3, 4), axis=1)
case("Softmax", 8, random_floats(2, 3, 4), axis=-2)
case("LogSoftmax", 5, random_floats(2, 3, 4), axis=-1)
case("Inverse", 14, random_floats(2, 3, 3) + 2 * np.eye(3, dtype=F32), adjoint=False)
case("Inverse", 14, random_floats(2, 2, 3, 3) + 2 * np.eye(3, dtype=F32), adjoint=True)

# --- Products

for _ta, _tb in itertools.product((True, False), repeat=2):
    _a, _b = random_floats(*((2, 4, 3) if _ta else (2, 3, 4))), random_floats(*((2, 5, 4) if _tb else (2, 4, 5)))
    case("MatMul", 1, _a, _b, transpose_a=_ta, transpose_b=_tb)
case("MatMul", 1, random_floats(4), random_floats(4, 5))
_nothing = "nothing in OpenVINO runs it: neither the CPU plugin nor the core has code for it"
_a, _b = random_floats(6, 4), random_floats(3, 5, 4)
case("GroupedMatMul", 17, _a, _b, ConstInput(np.array([2, 2, 6], I32)), _fault=_nothing,
     _expected=(np.concatenate([_a[:2] @ _b[0].T, _a[2:] @ _b[2].T]),))  # fmt: skip
_a = random_floats(3, 2, 4)
case("GroupedMatMul", 17, _a, _b, _fault=_nothing, _expected=(_a @ _b.transpose(0, 2, 1),))
for _equation, _shapes in (("ij,jk->ik", ((2, 3), (3, 4))), ("bij,bkj->bik", ((2, 3, 4), (2, 5, 4))),
                           ("ii->i", ((3, 3),)), ("...a,...ab->...b", ((2, 3), (2, 3, 4)))):  # fmt: skip
    case("Einsum", 7, *(random_floats(*shape) for shape in _shapes), equation=_equation)

# --- Convolutions and pools

_conv = {"strides": [2, 1], "pads_begin": [1, 0], "pads_end": [0, 1], "dilations": [1, 2]}
_plain_conv = {"strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0], "dilations": [1, 1]}
case("Convolution", 1, random_floats(2, 3, 7, 8), random_floats(4, 3, 3, 2), **_conv)
case("Convolution", 1, random_floats(2, 3, 7, 8), random_floats(4, 3, 3, 2), **_plain_conv, auto_pad="same_upper")
case(
    "Convolution",
    1,
    random_floats(2, 3, 9),
    random_floats(4, 3, 3),
    strides=[2],
    pads_begin=[1],
    pads_end=[1],
    dilations=[1],
)
case("GroupConvolution", 1, random_floats(2, 4, 7, 8), random_floats(2, 3, 2, 3, 2), **_conv)
case("GroupConvolution", 1, random_floats(2, 4, 7, 8), random_floats(4, 1, 1, 3, 3), **_plain_conv)
case("ConvolutionBackpropData", 1, random_floats(2, 3, 4, 5), random_floats(3, 4, 3, 2), **_conv, output_padding=[1, 0])
case(
    "ConvolutionBackpropData",
    1,
    random_floats(2, 3, 4, 5),
    random_floats(3, 4, 3, 2),
    i64(8, 8),
    **_conv,
    auto_pad="same_lower",
)
case("GroupConvolutionBackpropData", 1, random_floats(2, 4, 4, 5), random_floats(2, 2, 3, 3, 2), **_conv)
_x, _w = random_integers(1, 8, 3, 3, high=2).astype(F32), random_integers(2, 8, 1, 1, high=2, dtype=U8)
case("BinaryConvolution", 1, _x, ConstInput(_w), mode="xnor-popcount", pad_value=0.0, **_plain_conv,
     _expected=(np.einsum("ncij,oc->noij", 2 * _x - 1, 2 * _w[:, :, 0, 0].astype(F32) - 1),),
     _fault="the CPU plugin takes the lowest bit of a byte first, against its own Convert of u1")  # fmt: skip
for _opset in (1, 8):
    case("DeformableConvolution", _opset, random_floats(2, 4, 6, 6), random_floats(2, 16, 5, 5), random_floats(3, 4, 2,
         2), **_plain_conv, group=1,
         deformable_group=2)  # fmt: skip
    case("DeformableConvolution", _opset, random_floats(1, 4, 6, 6), 3 * random_floats(1, 8, 3, 3), random_floats(4, 2,
         2, 2), strides=[2, 2],
         pads_begin=[1, 1], pads_end=[0, 0], dilations=[2, 2], group=2, deformable_group=1)  # fmt: skip
case("DeformableConvolution", 8, random_floats(1, 4, 6, 6), 3 * random_floats(1, 8, 5, 5), random_floats(3, 4, 2, 2),
     random_floats(1, 4, 5, 5, low=0),
     **_plain_conv, bilinear_interpolation_pad=True, group=1, deformable_group=1)  # fmt: skip
_pool = {"strides": [2, 1], "pads_begin": [1, 0], "pads_end": [0, 1], "kernel": [3, 2]}
for _rounding in ("floor", "ceil"):
    case("MaxPool", 1, random_floats(2, 3, 7, 8), **_pool, rounding_type=_rounding)
    case("MaxPool", 8, random_floats(2, 3, 7, 8), **_pool, dilations=[1, 2], rounding_type=_rounding,
         index_element_type="i64",
         axis=0)  # fmt: skip
    for _opset, _exclude in itertools.product((1, 14), (True, False)):
        case(
            "AvgPool", _opset, random_floats(2, 3, 7, 8), **{"exclude-pad": _exclude}, **_pool, rounding_type=_rounding
        )
case("MaxPool", 14, random_floats(2, 3, 7, 8), **_pool, dilations=[1, 1], rounding_type="ceil_torch", axis=2)
case("AvgPool", 14, random_floats(2, 3, 7, 8), **{"exclude-pad": True}, **_pool, rounding_type="ceil_torch")
case(
    "AvgPool", 16, random_floats(2, 3, 7, 8), **{"exclude-pad": True}, **_pool, rounding_type="floor", dilations=[1, 2]
)
for _out in ((3, 4), (1, 1), (7, 5)):
    case("AdaptiveAvgPool", 8, random_floats(2, 3, 7, 8), i64(*_out))
    case("AdaptiveMaxPool", 8, random_floats(2, 3, 7, 8), i64(*_out), index_element_type="i32")
case("AdaptiveAvgPool", 8, random_floats(2, 3, 9), i64(4))
case("AdaptiveMaxPool", 8, random_floats(2, 3, 5, 6, 4), i64(2, 3, 3), index_element_type="i32")

# --- Normalizations and attention

_statistics = random_floats(3), random_floats(3), random_floats(3), random_floats(3, low=0.5, high=2)
case("BatchNormInference", 1, *_statistics[:2], random_floats(2, 3, 4), *_statistics[2:], epsilon=0.01)
case("BatchNormInference", 5, random_floats(2, 3, 4, 2), *_statistics, epsilon=0.01)
for _axes, _size in itertools.product(((1,), (2, 3)), (3, 4)):
    case("LRN", 1, random_floats(2, 5, 4, 3), i64(*_axes), alpha=0.3, beta=0.6, bias=2.0, size=_size)
_x = random_floats(1, 2, 2, 2)  # a neighbourhood of 3 holds it all
case("LRN", 1, _x, i64(1, 2, 3), alpha=2.7, beta=1.0, bias=2.0, size=3, _expected=(_x / (2 + 0.1 * (_x**2).sum()),),
     _fault="the CPU plugin takes axes 1, 2, 3 for 1 alone; the page has a sum over a box in all axes")  # fmt: skip
case("LRN", 1, random_floats(2, 5, 4, 3), i64(1), alpha=0.3, beta=0.6, bias=2.0, size=5)
for _axes, _mode in itertools.product(((1,), (2, 3), ()), ("add", "max")):
    case("NormalizeL2", 1, random_floats(2, 5, 4, 3), i64(*_axes), eps=0.1, eps_mode=_mode)
case("GRN", 1, random_floats(2, 5, 4, 3), bias=0.3)
case("MVN", 2, random_floats(2, 3, 4, 5), across_channels=True, normalize_variance=True, eps=1e-6)
case("MVN", 2, random_floats(2, 3, 4, 5), across_channels=False, normalize_variance=False, eps=1e-6)
for _mode in ("inside_sqrt", "outside_sqrt"):
    case("MVN", 6, random_floats(2, 3, 4, 5), i64(2, -1), normalize_variance=True, eps=1e-3, eps_mode=_mode)
case(
    "GroupNormalization", 12, random_floats(2, 6, 4, 5), random_floats(6), random_floats(6), num_groups=3, epsilon=1e-3
)
_heads = [random_floats(2, 3, 5, 8), random_floats(2, 3, 7, 8), random_floats(2, 3, 7, 8)]
case("ScaledDotProductAttention", 13, *_heads, causal=False)
case("ScaledDotProductAttention", 13, *_heads, causal=True)
case("ScaledDotProductAttention", 13, *_heads, random_floats(2, 3, 5, 7), causal=False)
case("ScaledDotProductAttention", 13, *_heads, random_floats(1, 1, 5, 7), float_scalar(0.3), causal=False)

# --- Quantization

for _levels in (2, 16, 256):
    _bounds = float_scalar(-0.8), float_scalar(0.7), float_scalar(-1.0), float_scalar(2.0)
    case("FakeQuantize", 1, random_floats(2, 3, 4), *_bounds, levels=_levels)
_channel = [
    ConstInput(np.linspace(a, b, 3).astype(F32).reshape(3, 1)) for a, b in ((-1, -0.5), (0.5, 1), (-2, 0), (1, 3))
]
case("FakeQuantize", 1, random_floats(2, 3, 4), *_channel, levels=16, auto_broadcast="numpy")
for _kind in ("f8e4m3", "f8e5m2"):
    case("FakeConvert", 13, random_floats(2, 3, 4, low=-9, high=9), float_scalar(1.5), destination_type=_kind)
    case(
        "FakeConvert",
        13,
        random_floats(2, 3, 4, low=-9, high=9),
        ConstInput(random_floats(3, 1, low=1, high=2)),
        ConstInput(random_floats(3, 1)),
        destination_type=_kind,
    )

# --- Shapes and movement

case("Reshape", 1, random_floats(2, 3, 4), i64(0, -1), special_zero=True)
case("Transpose", 1, random_floats(2, 3, 4), i64(2, 0, 1))
case("Squeeze", 1, random_floats(1, 3, 1), i64(0))
case("Squeeze", 15, random_floats(1, 3, 1), i64(-1))
case("Unsqueeze", 1, random_floats(3), i64(0, 2))
case("ShapeOf", 1, random_floats(2, 3))
case("ShapeOf", 3, random_floats(2, 3), output_type="i32")
case("Broadcast", 1, random_floats(3), i64(2, 3), mode="numpy")
case("Broadcast", 1, random_floats(3), i64(3, 2), i64(0), mode="explicit")
case("Broadcast", 3, random_floats(3, 1), i64(2, 1, 4), mode="bidirectional")
case("Tile", 1, random_floats(2, 3), i64(2, 1, 2))
case("Concat", 1, random_floats(2, 3), random_floats(2, 4), axis=-1)
case("Split", 1, random_floats(2, 6), index_scalar(1), num_splits=3)
case("VariadicSplit", 1, random_floats(2, 6), index_scalar(1), i64(1, -1, 2))
case("Slice", 8, random_floats(4, 5), i64(3, 0), i64(-9, 4), i64(-1, 2), i64(0, 1))
case("StridedSlice", 1, random_floats(3, 4, 5), i64(0, 1, 0), i64(2, 3, 5), i64(1, 1, 2), begin_mask=[0, 0, 0],
     end_mask=[0, 0, 1], new_axis_mask=[], shrink_axis_mask=[1, 0, 0], ellipsis_mask=[])  # fmt: skip
case("SliceScatter", 15, random_floats(4, 5), random_floats(2, 3), i64(1, 0), i64(3, 5), i64(1, 2), i64(0, 1))
case("SliceScatter", 15, random_floats(6), random_floats(3), i64(5), i64(-9), i64(-2))
for _mode in ("constant", "edge", "reflect", "symmetric"):
    case("Pad", 1, random_floats(3, 4), i64(1, 2), i64(0, 1), float_scalar(0.5), pad_mode=_mode)
case("Pad", 12, random_floats(3, 4), i64(-1, 2), i64(1, -1), float_scalar(0.5), pad_mode="constant")
for _mode in ("blocks_first", "depth_first"):
    case("DepthToSpace", 1, random_floats(2, 8, 3, 4), mode=_mode, block_size=2)
    case("DepthToSpace", 1, random_floats(2, 8, 2, 3, 2), mode=_mode, block_size=2)
    case("SpaceToDepth", 1, random_floats(2, 3, 4, 6), mode=_mode, block_size=2)
    case("SpaceToDepth", 1, random_integers(1, 2, 4, 2, 6), mode=_mode, block_size=2)
case("BatchToSpace", 2, random_floats(12, 3, 2, 4), i64(1, 2, 3, 1), i64(0, 1, 0, 0), i64(0, 0, 2, 0))
case("SpaceToBatch", 2, random_floats(2, 3, 4, 5), i64(1, 2, 3, 1), i64(0, 1, 1, 0), i64(0, 0, 1, 0))
for _axis, _group in ((1, 3), (-1, 2), (0, 2)):
    case("ShuffleChannels", 1, random_floats(4, 6, 2, 4), axis=_axis, group=_group)
case("ReorgYolo", 2, random_floats(1, 8, 4, 6), stride=[2])
case("Reverse", 1, random_floats(2, 3, 4), i64(0, 2), mode="index", _oracle="core")
case("Reverse", 1, random_floats(2, 3, 4), ConstInput(np.array([True, False, True])), mode="mask", _oracle="core")
case("ReverseSequence", 1, random_floats(3, 5, 2), ConstInput(np.array([2, 5, 1], I32)), batch_axis=0, seq_axis=1)
case("ReverseSequence", 1, random_integers(5, 2, 3), random_integers(3, low=1, high=5), batch_axis=2, seq_axis=0)
case("Roll", 7, random_floats(3, 4, 5), i64(2, -1), i64(0, 2))
_x = random_integers(3, 4)
case("Roll", 7, _x, index_scalar(3), i64(1, 0), _expected=(np.roll(_x, (3, 3), (1, 0)),),
     _fault="the CPU plugin refuses a scalar shift, which the page allows for any axes")  # fmt: skip
case("Roll", 7, random_floats(3, 4), i64(1, 1), i64(1, 1))
for _pad in ("valid", "same_upper", "same_lower"):
    case("ExtractImagePatches", 3, random_floats(2, 3, 7, 8), sizes=[3, 2], strides=[2, 3], rates=[1, 2], auto_pad=_pad)
case("Col2Im", 15, random_floats(2, 12, 12), i64(4, 5), i64(2, 2), strides=[1, 1], dilations=[1, 1], pads_begin=[0, 0],
     pads_end=[0, 0])  # fmt: skip
case("Col2Im", 15, random_floats(2, 12, 9), i64(5, 6), i64(2, 3), strides=[2, 2], dilations=[1, 1], pads_begin=[1, 0],
     pads_end=[0, 1])  # fmt: skip
case("OneHot", 1, random_integers(2, 3, high=5), index_scalar(5), float_scalar(2.0), float_scalar(-1.0), axis=1)
case(
    "OneHot",
    16,
    random_integers(2, 3, low=-5, high=5),
    index_scalar(5),
    float_scalar(2.0),
    float_scalar(-1.0),
    axis=-1,
    negative_indices_mode="normalize",
)
case("Range", 1, float_scalar(1.0), float_scalar(7.5), float_scalar(2.0))
case("Range", 4, index_scalar(9), index_scalar(1), index_scalar(-2), output_type="i32")
case("Eye", 9, index_scalar(3), index_scalar(4), index_scalar(1), output_type="f32")
case("Eye", 9, index_scalar(3), index_scalar(3), index_scalar(-1), i64(2, 2), output_type="i32")

# --- Gathering and scattering

case("Gather", 1, random_floats(3, 4), random_integers(2, high=3), index_scalar(0))
case("Gather", 7, random_floats(2, 3, 4), random_integers(2, 2, high=3), index_scalar(1), batch_dims=1)
case("Gather", 8, random_floats(3, 4), random_integers(2, low=-3, high=3), index_scalar(0), batch_dims=0)
case("GatherElements", 6, random_floats(3, 4), random_integers(2, 4, high=3), axis=0)
case("GatherND", 5, random_floats(2, 3, 4), random_integers(2, 2, 1, high=3), batch_dims=1)
case("GatherND", 8, random_floats(2, 3, 4), random_integers(2, 2, 1, high=3), batch_dims=1)
case(
    "GatherTree",
    1,
    random_integers(5, 2, 3),
    random_integers(5, 2, 3, high=3),
    ConstInput(np.array([5, 3], I32)),
    index_scalar(8, I32),
)
case(
    "GatherTree",
    1,
    random_integers(4, 2, 3).astype(F32),
    random_integers(4, 2, 3, high=3).astype(F32),
    ConstInput(np.array([2, 4], F32)),
    index_scalar(7, F32),
)
case("ScatterUpdate", 3, random_floats(4, 5), ConstInput(np.array([2, 0], I32)), random_floats(2, 5), index_scalar(0))
case(
    "ScatterElementsUpdate", 3, random_floats(4, 5), random_integers(2, 5, high=4), random_floats(2, 5), index_scalar(0)
)
for _how in ("none", "sum", "prod", "min", "max", "mean"):
    case("ScatterElementsUpdate", 12, random_floats(4), ConstInput(np.array([2, 0, 3], I32)), random_floats(3),
         index_scalar(0), reduction=_how,
         use_init_val=_how != "mean")  # fmt: skip
case("ScatterNDUpdate", 4, random_floats(4, 5), ConstInput(np.array([[2], [0]], I32)), random_floats(2, 5))
for _how in ("none", "sum", "sub", "prod", "min", "max"):
    case(
        "ScatterNDUpdate",
        15,
        random_floats(4, 5),
        ConstInput(np.array([[2, 1], [0, 3]], I32)),
        random_floats(2),
        reduction=_how,
    )
case("NonZero", 3, random_integers(3, 4, high=2), output_type="i64")
for _right in (True, False):
    case("Bucketize", 3, random_floats(3, 4, low=0, high=9), ConstInput(np.array([1, 3, 5, 8], F32)), output_type="i64",
         with_right_bound=_right)  # fmt: skip
    case(
        "Bucketize",
        3,
        random_integers(3, 4),
        ConstInput(np.array([1, 3, 5, 8], I32)),
        output_type="i32",
        with_right_bound=_right,
    )
    case("SearchSorted", 15, np.sort(random_floats(2, 3, 5), -1), random_floats(2, 3, 4), right_mode=_right)
    case("SearchSorted", 15, np.sort(random_integers(5)), random_integers(2, 3), right_mode=_right)
for _sorted in (True, False):
    case(
        "Unique", 10, random_integers(3, 4, high=5), sorted=_sorted, index_element_type="i64", count_element_type="i32"
    )
    case("Unique", 10, random_integers(6, 2, high=2), index_scalar(0), sorted=_sorted, index_element_type="i32")
case("Unique", 10, random_integers(2, 6, 2, high=2).astype(F32), index_scalar(1), sorted=True)
_pairs = np.array([[1, 1, 1, 1], [0, 1, 1, 0]], F32).reshape(2, 4, 1)
case("Unique", 10, _pairs, index_scalar(1), sorted=False,
     _expected=(_pairs[:, :2], *(np.array(v, I64) for v in ([0, 1], [0, 1, 1, 0], [2, 2]))),
     _fault="the CPU plugin has the pair (1, 1) twice")  # fmt: skip

# --- Embeddings and segments

_table, _indices, _weights = random_floats(5, 3, 2), random_integers(6, high=5), random_floats(6)
case("EmbeddingBagPackedSum", 3, _table, random_integers(4, 3, high=5))
case("EmbeddingBagPackedSum", 3, random_floats(5, 2), random_integers(4, 3, high=5), random_floats(4, 3))
case("EmbeddingBagPacked", 15, _table, random_integers(4, 3, high=5), reduction="mean")
case("EmbeddingBagPacked", 15, _table, random_integers(4, 3, high=5), random_floats(4, 3), reduction="sum")
_offsets = ConstInput(np.array([0, 2, 2, 5], I32))
case("EmbeddingBagOffsetsSum", 3, _table, _indices, _offsets)
case("EmbeddingBagOffsetsSum", 3, _table, _indices, _offsets, index_scalar(1, I32))
case("EmbeddingBagOffsetsSum", 3, _table, _indices, _offsets, index_scalar(1, I32), _weights)
case("EmbeddingBagOffsets", 15, _table, _indices, _offsets, index_scalar(-1, I32), _weights, reduction="sum")
case("EmbeddingBagOffsets", 15, _table, _indices, _offsets, reduction="mean")
_segments = ConstInput(np.array([0, 0, 2, 2, 2, 4], I32))
case("EmbeddingSegmentsSum", 3, _table, _indices, _segments, index_scalar(5, I32))
case("EmbeddingSegmentsSum", 3, _table, _indices, _segments, index_scalar(5, I32), index_scalar(3, I32), _weights)
for _fill in ("ZERO", "LOWEST"):
    case("SegmentMax", 16, random_floats(6, 2), ConstInput(np.array([0, 0, 2, 2, 2, 4], I32)), fill_mode=_fill)
    case(
        "SegmentMax",
        16,
        random_integers(6, 2, low=-9),
        ConstInput(np.array([0, 0, 2, 2, 2, 4], I32)),
        index_scalar(7, I32),
        fill_mode=_fill,
    )
case(
    "SparseFillEmptyRows",
    16,
    random_floats(3),
    ConstInput(np.array([5, 6], I32)),
    ConstInput(np.array([[0, 1], [2, 3], [2, 0]], I32)),
    float_scalar(4.5),
)
case(
    "CTCGreedyDecoder",
    1,
    random_floats(6, 2, 5),
    ConstInput(np.array([[1, 1]] * 4 + [[1, 0]] * 2, F32)),
    ctc_merge_repeated=True,
)
case("CTCGreedyDecoder", 1, random_floats(6, 2, 3), ConstInput(np.ones((6, 2), F32)), ctc_merge_repeated=False)
for _merge in (True, False):
    case("CTCGreedyDecoderSeqLen", 6, random_floats(2, 6, 3), ConstInput(np.array([6, 4], I32)), merge_repeated=_merge)
    case("CTCGreedyDecoderSeqLen", 6, random_floats(2, 6, 3), ConstInput(np.array([6, 4], I32)),
         ConstInput(np.array([1], I32)),
         merge_repeated=_merge, classes_index_type="i64", sequence_length_type="i32")  # fmt: skip
_labels = ConstInput(np.array([[1, 1, 2, 0, 0, 0, 0], [2, 1, 2, 0, 0, 0, 0]], I32))
_lengths = ConstInput(np.array([7, 6], I32)), _labels, ConstInput(np.array([4, 3], I32))
for _collapse, _merge, _once in itertools.product((True, False), repeat=3):
    case("CTCLoss", 4, random_floats(2, 7, 4), *_lengths, index_scalar(3, I32), preprocess_collapse_repeated=_collapse,
         ctc_merge_repeated=_merge, unique=_once)  # fmt: skip
case("CTCLoss", 4, random_floats(2, 7, 4), *_lengths)

# --- Images

for _mode, _padding, _aligned in itertools.product(
    ("nearest", "bilinear", "bicubic"), ("zeros", "border", "reflection"), (True, False)
):
    case("GridSample", 9, random_floats(2, 3, 5, 6), random_floats(2, 4, 3, 2, low=-1.6, high=1.6), mode=_mode,
         padding_mode=_padding,
         align_corners=_aligned)  # fmt: skip
_places = ("half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners")
for _mode, _place in itertools.product(("nearest", "linear", "linear_onnx", "cubic"), _places):
    _how = {"mode": _mode, "coordinate_transformation_mode": _place, "pads_begin": [0], "pads_end": [0]}
    case("Interpolate", 4, random_floats(2, 3, 5, 6), i64(7, 4), ConstInput(np.array([1.4, 0.67], F32)), i64(2, 3),
         **_how,
         shape_calculation_mode="sizes")  # fmt: skip
    case("Interpolate", 11, random_floats(2, 3, 5, 6), ConstInput(np.array([1.7, 0.6], F32)), i64(2, 3), **_how,
         shape_calculation_mode="scales")  # fmt: skip
for _nearest in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"):
    case("Interpolate", 11, random_floats(1, 2, 5, 6), i64(8, 3), i64(2, 3), mode="nearest", nearest_mode=_nearest,
         shape_calculation_mode="sizes", coordinate_transformation_mode="half_pixel")  # fmt: skip
case("Interpolate", 11, random_floats(1, 2, 5, 6), i64(3, 4), i64(2, 3), mode="linear", antialias=True,
     shape_calculation_mode="sizes", _oracle="core")  # fmt: skip
case("Interpolate", 11, random_floats(1, 2, 5, 6), i64(8, 9), i64(2, 3), mode="linear_onnx",
     shape_calculation_mode="sizes",
     pads_begin=[0, 0, 1, 0], pads_end=[0, 0, 0, 1])  # fmt: skip
case("Interpolate", 11, random_floats(1, 2, 5, 6), i64(8, 9), i64(2, 3), mode="cubic", cube_coeff=-0.5,
     shape_calculation_mode="sizes")  # fmt: skip
for _mode, _out in itertools.product(("bilinear_pillow", "bicubic_pillow"), ((8, 9), (3, 4))):
    case(
        "Interpolate", 11, random_floats(1, 2, 5, 6), i64(*_out), i64(2, 3), mode=_mode, shape_calculation_mode="sizes"
    )
case("Interpolate", 4, random_integers(1, 2, 5, 6, dtype=U8, high=200), i64(8, 3), ConstInput(np.ones(2, F32)), i64(2,
     3), mode="nearest",
     shape_calculation_mode="sizes")  # fmt: skip
case("Interpolate", 4, random_floats(1, 2, 3, 4, 5), i64(4, 6, 3), ConstInput(np.ones(3, F32)), i64(2, 3, 4),
     mode="linear_onnx",
     shape_calculation_mode="sizes")  # fmt: skip
for _mode, _aligned in itertools.product(("nearest", "linear", "cubic"), (True, False)):
    case("Interpolate", 1, random_floats(1, 2, 5, 6), i64(8, 3), axes=[2, 3], mode=_mode, align_corners=_aligned,
         pads_begin=[0], pads_end=[0])  # fmt: skip
_rois = ConstInput(np.array([[0.5, 1, 4, 4.5], [2, 0, 6, 3], [-2, 1, 3, 9]], F32))
_of = ConstInput(np.array([0, 1, 0], I32))
for _mode, _ratio in itertools.product(("avg", "max"), (0, 2)):
    case("ROIAlign", 3, random_floats(2, 3, 6, 7), _rois, _of, pooled_h=2, pooled_w=3, sampling_ratio=_ratio,
         spatial_scale=0.9,
         mode=_mode)  # fmt: skip
    for _aligned_mode in ("asymmetric", "half_pixel_for_nn", "half_pixel"):
        case("ROIAlign", 9, random_floats(2, 3, 6, 7), _rois, _of, pooled_h=2, pooled_w=3, sampling_ratio=_ratio,
             spatial_scale=0.9, mode=_mode, aligned_mode=_aligned_mode)  # fmt: skip
_turned = ConstInput(np.array([[3, 3, 4, 3, 0.5], [2, 2, 2, 5, -1], [4, 4, 3, 3, 0]], F32))
for _clockwise, _ratio in itertools.product((True, False), (0, 2)):
    case("ROIAlignRotated", 15, random_floats(2, 3, 6, 7), _turned, _of, pooled_h=2, pooled_w=3, sampling_ratio=_ratio,
         spatial_scale=0.9, clockwise_mode=_clockwise)  # fmt: skip
_five = ConstInput(np.array([[0, 1, 1, 4, 5], [1, 2, 0, 6, 3], [0, 0, 2, 3, 3]], F32))
case("ROIPooling", 2, random_floats(2, 3, 6, 7), _five, output_size=[2, 3], output_roi=[2, 3], pooled_h=2, pooled_w=3,
     spatial_scale=0.8, method="max")  # fmt: skip
_unit = ConstInput(np.array([[0, 0.1, 0.2, 0.7, 0.9], [1, 0, 0, 1, 1]], F32))
case("ROIPooling", 2, random_floats(2, 3, 6, 7), _unit, output_size=[2, 3], output_roi=[2, 3], pooled_h=2, pooled_w=3,
     spatial_scale=1.0, method="bilinear")  # fmt: skip
case("PSROIPooling", 1, random_floats(2, 12, 6, 7), _five, output_dim=3, group_size=2, spatial_scale=0.8,
     mode="average",
     spatial_bins_x=1, spatial_bins_y=1)  # fmt: skip
case("PSROIPooling", 1, random_floats(2, 18, 6, 7), _unit, output_dim=3, group_size=2, spatial_scale=1.0,
     mode="bilinear",
     spatial_bins_x=3, spatial_bins_y=2)  # fmt: skip
case("DeformablePSROIPooling", 1, random_floats(2, 12, 6, 7), _five, output_dim=3, group_size=2, spatial_scale=0.8,
     spatial_bins_x=2, spatial_bins_y=2)  # fmt: skip
case("DeformablePSROIPooling", 1, random_floats(2, 12, 6, 7), _five, random_floats(3, 2, 2, 2), output_dim=3,
     group_size=2,
     spatial_scale=0.8, spatial_bins_x=2, spatial_bins_y=3, trans_std=0.1, part_size=2)  # fmt: skip
for _op in ("NV12toRGB", "NV12toBGR"):
    case(_op, 8, random_floats(1, 6, 4, 1, low=0, high=255))
    case(_op, 8, random_integers(2, 4, 6, 1, high=256, dtype=U8), random_integers(2, 2, 3, 2, high=256, dtype=U8))
for _op in ("I420toRGB", "I420toBGR"):
    case(_op, 8, random_floats(1, 6, 4, 1, low=0, high=255))
    case(
        _op,
        8,
        random_floats(2, 4, 6, 1, low=0, high=255),
        random_floats(2, 2, 3, 1, low=0, high=255),
        random_floats(2, 2, 3, 1, low=0, high=255),
    )
_pixels = np.full((1, 2, 2, 3), 100, U8)
_pixels[..., 2] = 200  # Y = 0.257 R + 0.504 G + 0.098 B + 16, and so on
for _op, _yuv in (("RGBtoNV12", (112, 172, 121)), ("BGRtoNV12", (128, 113, 172))):
    _y, _uv = np.full((1, 2, 2, 1), _yuv[0], U8), np.array(_yuv[1:], U8).reshape(1, 1, 1, 2)
    case(_op, 17, _pixels, single_plane=False, _fault=_nothing, _expected=(_y, _uv))
    case(_op, 17, _pixels, single_plane=True, _fault=_nothing,
         _expected=(np.concatenate([_y, _uv.reshape(1, 1, 2, 1)], 1),))  # fmt: skip

# --- Fourier transforms

for _op in ("DFT", "IDFT"):
    case(_op, 7, random_floats(2, 5, 6, 2), i64(1, 2))
    case(_op, 7, random_floats(2, 5, 6, 2), i64(-1), i64(8))
    case(_op, 7, random_floats(2, 5, 6, 2), i64(0, 2), i64(-1, 4))
case("RDFT", 9, random_floats(2, 5, 6), i64(1, 2))
case("RDFT", 9, random_floats(2, 5, 6), i64(-1), i64(4))
_longer = np.fft.rfft(_x := random_floats(2, 6), 9)
case("RDFT", 9, _x, i64(-1), i64(9), _expected=(np.stack([_longer.real, _longer.imag], -1).astype(F32),),
     _fault="the CPU plugin returns memory that nothing wrote where a signal is filled up with zeros")  # fmt: skip
case("IRDFT", 9, random_floats(2, 5, 6, 2), i64(1, 2))
case("IRDFT", 9, random_floats(2, 5, 6, 2), i64(-1), i64(7))
for _turn in (True, False):
    case("STFT", 15, random_floats(2, 20), random_floats(6), index_scalar(8), index_scalar(3), transpose_frames=_turn)
case("STFT", 15, random_floats(20), random_floats(8), index_scalar(8), index_scalar(4), transpose_frames=False)
for _center, _normalized in itertools.product((True, False), repeat=2):
    case(
        "ISTFT",
        16,
        random_floats(2, 5, 4, 2),
        random_floats(6, low=0.5),
        index_scalar(8),
        index_scalar(3),
        center=_center,
        normalized=_normalized,
    )
case(
    "ISTFT",
    16,
    random_floats(2, 5, 4, 2),
    random_floats(8, low=0.5),
    index_scalar(8),
    index_scalar(3),
    index_scalar(20),
    center=False,
    normalized=False,
)

# --- Detection

_boxes = random_floats(2, 6, 4, low=0, high=0.4)
_boxes[..., 2:] += _boxes[..., :2] + 0.2
_scores = random_floats(2, 3, 6, low=0)
_limits = index_scalar(3), float_scalar(0.4), float_scalar(0.2)
case("NonMaxSuppression", 1, _boxes, _scores, *_limits, box_encoding="corner", sort_result_descending=True)
case("NonMaxSuppression", 3, _boxes, _scores, *_limits, output_type="i32", sort_result_descending=False)
case("NonMaxSuppression", 4, _boxes, _scores, *_limits, output_type="i64", sort_result_descending=False)
for _opset, _sort, _coding in itertools.product((5, 9), (True, False), ("corner", "center")):
    case("NonMaxSuppression", _opset, _boxes, _scores, *_limits, box_encoding=_coding, sort_result_descending=_sort)
case(
    "NonMaxSuppression",
    9,
    _boxes,
    _scores,
    index_scalar(4),
    float_scalar(0.6),
    float_scalar(0.1),
    float_scalar(0.5),
    output_type="i32",
)
case("NonMaxSuppression", 9, _boxes, _scores, index_scalar(4))
_spun = np.concatenate([_boxes * 10, random_floats(2, 6, 1, low=-2, high=2)], -1)
for _clockwise, _sort in itertools.product((True, False), repeat=2):
    case("NMSRotated", 13, _spun, _scores, index_scalar(4), float_scalar(0.3), float_scalar(0.1),
         sort_result_descending=_sort,
         clockwise=_clockwise)  # fmt: skip
for _sort, _across in itertools.product(("none", "score", "classid"), (True, False)):
    _many = {"sort_result_type": _sort, "sort_result_across_batch": _across, "score_threshold": 0.1}
    for _decay, _normalized in itertools.product(("linear", "gaussian"), (True, False)):
        case("MatrixNms", 8, _boxes, _scores, **_many, decay_function=_decay, gaussian_sigma=1.5,
             post_threshold=0.05, normalized=_normalized, nms_top_k=5, keep_top_k=8, background_class=1)  # fmt: skip
    for _opset, _eta in itertools.product((8, 9), (1.0, 0.8)):
        case("MulticlassNms", _opset, _boxes, _scores, **_many, iou_threshold=0.6, nms_top_k=5, keep_top_k=8,
             nms_eta=_eta)  # fmt: skip
case("MulticlassNms", 9, np.ascontiguousarray(_boxes), random_floats(2, 6, low=0), ConstInput(np.array([4, 2], I32)),
     iou_threshold=0.4,
     score_threshold=0.1)  # fmt: skip
_size = ConstInput(np.array([3, 4], I64)), ConstInput(np.array([30, 50], I64))
case("PriorBox", 1, *_size, min_size=[8.0, 16.0], max_size=[20.0], aspect_ratio=[2.0], flip=True, clip=False,
     step=0.0, offset=0.5, variance=[0.1, 0.2, 0.3, 0.4])  # fmt: skip
for _ordered, _scale_all in itertools.product((True, False), repeat=2):
    _most = {"max_size": [20.0, 24.0]} if _scale_all else {}
    case("PriorBox", 8, *_size, min_size=[8.0, 16.0] if _scale_all else [0.4, 0.6], **_most,
         aspect_ratio=[2.0, 3.0], flip=True, clip=True, step=0.2 if not _scale_all else 9.0, offset=0.5,
         variance=[0.1], scale_all_sizes=_scale_all, min_max_aspect_ratios_order=_ordered)  # fmt: skip
case("PriorBox", 8, *_size, fixed_size=[8.0, 16.0], fixed_ratio=[1.0, 2.0], aspect_ratio=[2.0], density=[2.0, 3.0],
     offset=0.5, step=8.0, variance=[])  # fmt: skip
case("PriorBox", 8, *_size, fixed_size=[8.0, 16.0], aspect_ratio=[2.0], density=[2.0, 1.0], offset=0.5)
case("PriorBoxClustered", 1, *_size, width=[8.0, 16.0], height=[6.0, 20.0], clip=True, step=8.0, offset=0.5,
     variance=[0.1, 0.1, 0.2, 0.2])  # fmt: skip
case("PriorBoxClustered", 1, *_size, width=[8.0, 16.0], height=[6.0, 20.0], clip=False, step_w=9.0, step_h=7.0,
     offset=0.5, variance=[])  # fmt: skip
_proposal = {"base_size": 8, "pre_nms_topn": 20, "post_nms_topn": 6, "nms_thresh": 0.6, "feat_stride": 4,
             "min_size": 2, "ratio": [0.5, 2.0], "scale": [1.0, 2.0]}  # fmt: skip
for _opset in (1, 4):
    case(
        "Proposal",
        _opset,
        random_floats(1, 8, 3, 4, low=0),
        0.3 * random_floats(1, 16, 3, 4),
        ConstInput(np.array([20, 24, 1], F32)),
        **_proposal,
    )
    case("Proposal", _opset, random_floats(1, 8, 3, 4, low=0), 0.3 * random_floats(1, 16, 3, 4),
         ConstInput(np.array([20, 24, 1, 1], F32)), **_proposal,
         framework="tensorflow", normalize=True, clip_after_nms=True, clip_before_nms=False)  # fmt: skip
_anchors = random_floats(3, 4, 2, 4, low=0, high=8)
_anchors[..., 2:] += _anchors[..., :2] + 2
for _normalized in (True, False):
    case("GenerateProposals", 9, ConstInput(np.array([[20, 24, 1], [18, 22, 1]], F32)), _anchors, 0.3 * random_floats(2,
         8, 3, 4),
         random_floats(2, 2, 3, 4, low=0), min_size=2.0, nms_threshold=0.5, pre_nms_count=20, post_nms_count=6,
         normalized=_normalized)  # fmt: skip
case("ExperimentalDetectronGenerateProposalsSingleImage", 6, ConstInput(np.array([20, 24, 1], F32)),
     _anchors.reshape(-1, 4),
     0.3 * random_floats(8, 3, 4), random_floats(2, 3, 4, low=0), min_size=2.0, nms_threshold=0.5, pre_nms_count=20,
     post_nms_count=6)  # fmt: skip
for _flat in (True, False):
    case("ExperimentalDetectronPriorGridGenerator", 6, random_floats(3, 4, high=9), random_floats(1, 2, 3, 4),
         random_floats(1, 3, 30, 50), flatten=_flat,
         h=0, w=0, stride_x=0.0, stride_y=0.0)  # fmt: skip
case("ExperimentalDetectronPriorGridGenerator", 6, random_floats(3, 4, high=9), random_floats(1, 2, 3, 4),
     random_floats(1, 3, 30, 50), flatten=True,
     h=3, w=4, stride_x=4.0, stride_y=5.0)  # fmt: skip
_priors = np.array([[-1, -2, 1, 2]], F32)
case("ExperimentalDetectronPriorGridGenerator", 6, _priors, random_floats(1, 2, 3, 4), random_floats(1, 3, 30, 50),
     flatten=True, h=1, w=2,
     stride_x=4.0, stride_y=6.0, _expected=(np.array([[1, 1, 3, 5], [5, 1, 7, 5]], F32),),
     _fault="OpenVINO gives as many rows as the feature map has cells, and leaves the others unwritten")  # fmt: skip
_image_rois = ConstInput(np.array([[1, 2, 20, 30], [0, 0, 200, 180], [5, 5, 60, 400]], F32))
for _aligned in (True, False):
    case("ExperimentalDetectronROIFeatureExtractor", 6, _image_rois, random_floats(1, 3, 20, 20), random_floats(1, 3,
         10, 10), output_size=3,
         sampling_ratio=2, pyramid_scales=[4, 8], aligned=_aligned)  # fmt: skip
case("ExperimentalDetectronTopKROIs", 6, random_floats(6, 4), random_floats(6), max_rois=4)
_rois_16 = random_floats(8, 4, low=0, high=8)
_rois_16[:, 2:] += _rois_16[:, :2] + 2
_info = ConstInput(np.array([[20, 24, 1]], F32))
case("ExperimentalDetectronDetectionOutput", 6, _rois_16, 0.5 * random_floats(8, 12), random_floats(8, 3, low=0), _info,
     score_threshold=0.2, nms_threshold=0.5, max_delta_log_wh=4.0, num_classes=3, post_nms_count=5,
     max_detections_per_image=8, deltas_weights=[10.0, 10.0, 5.0, 5.0])  # fmt: skip
_five_priors = random_floats(1, 2, 20, low=0, high=0.5)
_five_priors[0, 0].reshape(5, 4)[:, 2:] += 0.4
_heads_of = {"nms_threshold": 0.4, "confidence_threshold": 0.2, "normalized": True, "background_label_id": 0}
for _code, _share, _by_prior in itertools.product(("CORNER", "CENTER_SIZE"), (True, False), (True, False)):
    case("DetectionOutput", 8, 0.3 * random_floats(2, 20 if _share else 60), random_floats(2, 15, low=0),
         ConstInput(_five_priors), **_heads_of,
         code_type=f"caffe.PriorBoxParameter.{_code}", share_location=_share, decrease_label_id=_by_prior,
         keep_top_k=[6], top_k=4, clip_after_nms=True)  # fmt: skip
case("DetectionOutput", 1, 0.3 * random_floats(2, 20), random_floats(2, 15, low=0), ConstInput(_five_priors),
     **_heads_of, num_classes=3,
     keep_top_k=[5], variance_encoded_in_target=False, clip_before_nms=True)  # fmt: skip
case("DetectionOutput", 8, 0.3 * random_floats(1, 20), random_floats(1, 15, low=0), ConstInput(_five_priors),
     random_floats(1, 10, low=0), 0.1 * random_floats(1, 20),
     **_heads_of, keep_top_k=[5], objectness_score=0.5)  # fmt: skip
case("RegionYolo", 1, random_floats(1, 18, 3, 4), anchors=[1.0, 2.0], axis=1, end_axis=3, coords=4, classes=4, num=2,
     do_softmax=True, mask=[])  # fmt: skip
case("RegionYolo", 1, random_floats(2, 18, 3, 4), anchors=[1.0, 2.0], axis=1, end_axis=3, coords=4, classes=4, num=4,
     do_softmax=False, mask=[0, 1])  # fmt: skip

# --- Strings and chance

case("StringTensorPack", 15, np.array([0, 3], I32), np.array([3, 7], I32), np.frombuffer(b"abcdefg", U8))
case("StringTensorUnpack", 15, np.array(["abc", "", "dé"]))
case("RandomUniform", 8, i64(3, 4), float_scalar(-2.0), float_scalar(3.0), output_type="f32", _random=(-2.0, 3.0))
case(
    "RandomUniform",
    8,
    i64(3, 4),
    index_scalar(-2, I32),
    index_scalar(5, I32),
    output_type="i32",
    global_seed=3,
    _random=(-2.0, 4.0),
)
case("Multinomial", 13, random_floats(2, 5, low=0), ConstInput(np.array([4], I64)), convert_type="i64",
     with_replacement=True,
     log_probs=False, _random=(0.0, 4.0))  # fmt: skip

# --- Recurrent cells and layers

for _op, _opset, _gates, _biases, _more in (
    ("LSTMCell", 1, 4, 4, {}),
    ("LSTMCell", 4, 4, 4, {}),
    ("GRUCell", 3, 3, 3, {}),
    ("GRUCell", 3, 3, 4, {"linear_before_reset": True}),
    ("RNNCell", 1, 1, 1, {}),
    # Saved with version="opset1", which was not found: its page has it from opset 3 on.
    ("RNNCell", 3, 1, 1, {"activations": ["relu"]}),
):
    _states = [random_floats(2, 4) for _ in range(1 + (_op == "LSTMCell"))]
    _weights = [ConstInput(random_floats(*shape)) for shape in ((4 * _gates, 3), (4 * _gates, 4), (4 * _biases,))]
    case(_op, _opset, random_floats(2, 3), *_states, *_weights, hidden_size=4, **_more)
_steps = ConstInput(np.array([5, 3], I32))
for _direction in ("forward", "reverse", "bidirectional"):
    _d = 2 if _direction == "bidirectional" else 1
    _lstm, _rest = ["sigmoid", "tanh", "tanh"], {"hidden_size": 4, "direction": _direction}
    case("LSTMSequence", 5, random_floats(2, 5, 3), random_floats(2, _d, 4), random_floats(2, _d, 4), _steps,
         ConstInput(random_floats(_d, 16, 3)), ConstInput(random_floats(_d, 16, 4)),
         ConstInput(random_floats(_d, 16)), **_rest, activations=_lstm)  # fmt: skip
    case("GRUSequence", 5, random_floats(2, 5, 3), random_floats(2, _d, 4), _steps, ConstInput(random_floats(_d, 12,
         3)), ConstInput(random_floats(_d, 12, 4)), ConstInput(random_floats(_d, 12)), **_rest,
         activations=["sigmoid", "tanh"])  # fmt: skip
    case("RNNSequence", 5, random_floats(2, 5, 3), random_floats(2, _d, 4), _steps, ConstInput(random_floats(_d, 4, 3)),
         ConstInput(random_floats(_d, 4, 4)), ConstInput(random_floats(_d, 4)), **_rest,
         activations=["tanh"])  # fmt: skip

for _rounding, _dilated in itertools.product(("ceil", "ceil_torch"), (1, 2)):
    case("AvgPool", 16, random_floats(2, 3, 9, 8), **{"exclude-pad": False}, strides=[3, 2], pads_begin=[0, 0],
         pads_end=[0, 0],
         kernel=[3, 3], rounding_type=_rounding, dilations=[_dilated, 1])  # fmt: skip

# Last those that OpenVINO has wrong: some write where they must not.
CASES.sort(key=lambda case: bool(case.known_fault))
