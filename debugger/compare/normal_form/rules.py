"""The rules of the normal form, each with its reason and its exactness.

A rule rewrites one term into an equivalent one. It is applied as soon as the operands of the term are in normal form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Protocol, TypeGuard

import numpy as np

from ....runtime import dtypes
from ....runtime.errors import UnsupportedError
from ....runtime.graph import Array, System, Value
from ..running.value_comparison import dtype_kind
from .terms import Shape, Term


class TermBuilder(Protocol):
    """What rules need of the lowering."""

    #: That of the model.
    system: System
    #: Conversions between float types are ignored: the models compute in different float types.
    ignore_float_casts: bool
    #: The other model is of another system: operators that only change the shape are ignored, since systems differ in
    #: axes of length 1.
    across_systems: bool
    #: One of the models is the other one, quantised to 8 bits.
    is_quantized: bool

    def add_derived_term(self, source: Term, operator: str, operands: Sequence[Term | None], **attributes: Any) -> Term:
        """A term that is computed on the way to ``source``."""

    def constant(self, source: Term, data: Array) -> Term:
        """A constant made of that of ``source``."""

    def transpose(self, source: Term, operand: Term) -> Term:
        """An operand with its last two axes exchanged."""

    def note_quantized_weight(self, weight: Term) -> None:
        """Record that a constant holds a weight in 8 bits."""


@dataclass(frozen=True)
class Rule:
    """``rewrite`` returns the new term, or None where the rule does not apply. ``exactness``: "bit-exact", or by how
    much the result may differ."""

    name: str
    operators: frozenset[str]
    rewrite: Callable[[TermBuilder, Term], Term | None]
    reason: str
    exactness: str = "bit-exact"


def _operand_at(term: Term, k: int = 0) -> Term | None:
    return term.operands[k] if k < len(term.operands) else None


def _replace_by_only_operand(builder: TermBuilder, term: Term) -> Term | None:
    return term.operands[0] if len(term.operands) == 1 else None


def _simplify_dropout(builder: TermBuilder, term: Term) -> Term | None:
    """Dropout outside of training gives its input."""
    trains = _operand_at(term, 1) is not None or _operand_at(term, 2) is not None
    return None if term.index or trains else _operand_at(term)


def cast_target_dtype(term: Term) -> np.dtype[Any] | None:
    """The dtype that a conversion gives; None if unknown."""
    to = term.attribute("to", term.attribute("destination_type"))
    try:
        if isinstance(to, int):
            return dtypes.dtype_from_onnx(to)
        return to if isinstance(to, np.dtype) else dtypes.dtype_from_openvino(str(to))
    except (UnsupportedError, KeyError, TypeError):
        return None


def is_float(dtype: Any) -> bool:
    """Whether a dtype is a float type; not for an unknown one."""
    return dtype is not None and dtype.name.startswith(("float", "bfloat"))


def _remove_cast(builder: TermBuilder, term: Term) -> Term | None:
    operand, dtype = _operand_at(term), cast_target_dtype(term)
    if operand is None or operand.dtype is None or dtype is None:
        return None  # to NumPy a dtype of None is float64
    if operand.dtype == dtype:
        return operand
    both_float = is_float(dtype) and is_float(operand.dtype) and operand.data is None
    return operand if both_float and builder.ignore_float_casts else None


def _remove_cast_and_back(builder: TermBuilder, term: Term) -> Term | None:
    """Of two conversions, of which the first one is to a wider type of that kind."""
    first, dtype = _operand_at(term), cast_target_dtype(term)
    if first is None or first.operator != "Cast" or first.is_constant or dtype is None:
        return None
    begin, intermediate = _operand_at(first), cast_target_dtype(first)
    if begin is None or intermediate is None or begin.dtype != dtype or dtype_kind(intermediate) != dtype_kind(dtype):
        return None
    return begin if np.can_cast(dtype, intermediate, "safe") else None


def is_static(shape: Shape | None) -> TypeGuard[tuple[int, ...]]:
    """Whether all lengths of a shape are known."""
    return shape is not None and all(isinstance(dim, int) for dim in shape)


#: Operators that only change a shape.
RESHAPES = frozenset({"Reshape", "Shuffle", "Squeeze", "Unsqueeze", "Flatten"})


def _simplify_reshape(builder: TermBuilder, term: Term) -> Term | None:
    operand = _operand_at(term)
    if operand is None:
        return None
    if builder.across_systems:
        transposes = (term.attribute(name) for name in ("first_transpose", "second_transpose"))
        return None if any(order and tuple(order) != tuple(sorted(order)) for order in transposes) else operand
    if term.operator == "Shuffle":
        return None
    if is_static(term.shape):
        if operand.shape == term.shape:
            return operand
        if operand.operator == "Reshape" and operand.operands[0] is not None:
            operand = operand.operands[0]
            return (
                operand
                if operand.shape == term.shape
                else builder.add_derived_term(term, "Reshape", [operand], shape=term.shape)
            )
        if term.operator != "Reshape" or len(term.operands) > 1:
            return builder.add_derived_term(term, "Reshape", [operand], shape=term.shape)
    return None


def shape_when_reshaped(term: Term, is_base: Callable[[Term], bool], shape: Shape) -> Shape | None:
    """The shape of a term that only reshapes a base of a known shape; None if it does more, or the base is another."""
    operand = _operand_at(term)
    if operand is None or term.operator not in RESHAPES | {"Transpose"}:
        return None
    known = shape if is_base(operand) else shape_when_reshaped(operand, is_base, shape)
    perm = term.attribute("perm")
    if known is None or term.operator != "Transpose":
        operands = [replace(operand, shape=known), *term.operands[1:]]
        return infer_shape(term.operator, operands, dict(term.attributes))
    return tuple(known[axis] for axis in perm) if isinstance(perm, tuple) and _keeps_order(perm, known) else None


def _keeps_order(perm: tuple[int, ...], shape: Shape) -> bool:
    """Whether a transposition only moves axes of length 1, and so is a reshape."""
    moved = [axis for axis in perm if axis >= len(shape) or shape[axis] != 1]
    return len(perm) == len(shape) and moved == sorted(moved)


def _simplify_gather_of_one(builder: TermBuilder, term: Term) -> Term | None:
    """A Gather of the one element of an axis, which converters write as a Squeeze."""
    operand, index, axis = _operand_at(term), _operand_at(term, 1), term.attribute("axis", 0)
    if operand is None or operand.shape is None or index is None or index.data is None or not isinstance(axis, int):
        return None
    if index.data.size != 1 or operand.shape[axis % len(operand.shape)] != 1:
        return None
    if builder.system is System.OPENVINO and not builder.across_systems:
        return None  # the other model may have another index, of which OpenVINO gives 0
    if builder.across_systems or index.data.ndim == 1:
        return operand
    return builder.add_derived_term(term, "Reshape", [operand], shape=term.shape) if is_static(term.shape) else None


def _simplify_transpose(builder: TermBuilder, term: Term) -> Term | None:
    operand, perm = _operand_at(term), term.attribute("perm")
    if operand is None:
        return None
    if perm is None and operand.rank is not None:
        return builder.add_derived_term(term, "Transpose", [operand], perm=tuple(reversed(range(operand.rank))))
    if not isinstance(perm, tuple):
        return None
    if perm == tuple(range(len(perm))):
        return operand
    if is_static(operand.shape) and not builder.across_systems and _keeps_order(perm, operand.shape):
        return builder.add_derived_term(term, "Reshape", [operand], shape=tuple(operand.shape[axis] for axis in perm))
    inner = operand.attribute("perm") if operand.operator == "Transpose" else None
    if isinstance(inner, tuple) and len(inner) == len(perm):
        return builder.add_derived_term(term, "Transpose", operand.operands, perm=tuple(inner[axis] for axis in perm))
    return None


def _factors(builder: TermBuilder, term: Term, *names: str) -> list[Term | None]:
    """The two factors of a product, transposed as the attributes of these names say."""
    return [
        builder.transpose(term, operand) if operand is not None and term.attribute(name) else operand
        for operand, name in zip(term.operands[:2], names, strict=False)
    ]


def _gemm_to_matmul(builder: TermBuilder, term: Term) -> Term | None:
    if len(term.operands) < 2 or None in term.operands[:2]:
        return None
    factors = _factors(builder, term, "transA", "transB")
    bias, alpha, beta = _operand_at(term, 2), term.attribute("alpha", 1.0), term.attribute("beta", 1.0)
    if alpha != 1 or (beta != 1 and bias is not None):
        # Scaled products stay as they are, with their factors in normal form.
        operands = [*factors, *([] if bias is None else [bias])]
        return builder.add_derived_term(term, "scaled product", operands, alpha=alpha, beta=beta)
    product = builder.add_derived_term(term, "MatMul", factors)
    return product if bias is None else builder.add_derived_term(term, "+", [product, bias])


def _normalize_matmul(builder: TermBuilder, term: Term) -> Term | None:
    if not term.attributes:
        return None
    return builder.add_derived_term(term, "MatMul", _factors(builder, term, "transpose_a", "transpose_b"))


def _normalize_fused_matmul(builder: TermBuilder, term: Term) -> Term | None:
    if term.attribute("alpha", 1.0) != 1 or term.attribute("transBatchA") or term.attribute("transBatchB"):
        return None
    return builder.add_derived_term(term, "MatMul", _factors(builder, term, "transA", "transB"))


def _split_to_slice(builder: TermBuilder, term: Term) -> Term | None:
    operand = _operand_at(term)
    if operand is None or operand.shape is None:
        return None
    axis, sizes, parts = term.attribute("axis", 0), term.attribute("split"), term.attribute("num_outputs")
    if not isinstance(axis, int):
        return None
    axis %= len(operand.shape)
    total = operand.shape[axis]
    if not isinstance(sizes, tuple):
        parts = parts or (len(term.node.outputs) if term.node is not None else None)
        if not isinstance(total, int) or not isinstance(parts, int) or parts < 1:
            return None
        size = -(-total // parts)
        sizes = tuple(min(size, total - k * size) for k in range(parts))
    start = sum(sizes[: term.index])
    return builder.add_derived_term(term, "part", [operand], axis=axis, start=start, end=start + sizes[term.index])


#: Bounds from here on are the end of an axis.
_INT32_MAX, _INT64_MAX = 2**31 - 1, 2**63 - 1


def _normalize_slice(builder: TermBuilder, term: Term) -> Term | None:
    operand = _operand_at(term)
    starts, ends, axes, steps = (term.attribute(name) for name in ("starts", "ends", "axes", "steps"))
    if operand is None or operand.shape is None or len(term.operands) != 1:
        return None
    if not (isinstance(starts, tuple) and isinstance(ends, tuple)) or (steps is not None and set(steps) != {1}):
        return None
    if steps is not None or any(_INT32_MAX <= end < _INT64_MAX for end in ends):
        ends = tuple(min(end, _INT64_MAX) if end < _INT32_MAX else _INT64_MAX for end in ends)
        attributes = {name: value for name, value in term.attributes if name != "steps"} | {"ends": ends}
        return builder.add_derived_term(term, "Slice", [operand], **attributes)
    axes = tuple(range(len(starts))) if axes is None else axes
    if len(axes) != 1 or len(starts) != 1 or len(ends) != 1:
        return None
    axis = axes[0] % len(operand.shape)
    total = operand.shape[axis]
    if not isinstance(total, int):
        return None
    start, end = (min(max(edge + total if edge < 0 else edge, 0), total) for edge in (starts[0], ends[0]))
    if (start, end) == (0, total):
        return operand
    return builder.add_derived_term(term, "part", [operand], axis=axis, start=start, end=max(start, end))


def _make_axes_nonnegative(builder: TermBuilder, term: Term) -> Term | None:
    operand = _operand_at(term)
    rank = None if operand is None else operand.rank
    attributes = dict(term.attributes)
    if rank is None:
        return None
    for name in ("axis", "axes"):
        axes = attributes.get(name)
        if type(axes) is int:
            attributes[name] = axes + rank if axes < 0 else axes
        elif isinstance(axes, tuple) and all(type(axis) is int for axis in axes):
            attributes[name] = tuple(sorted(axis + rank if axis < 0 else axis for axis in axes))
    if attributes == dict(term.attributes):
        return None
    result = builder.add_derived_term(term, term.operator, term.operands, **attributes)
    result.index = term.index
    return result


def _remove_expand(builder: TermBuilder, term: Term) -> Term | None:
    operand = _operand_at(term)
    if operand is None or not is_static(term.shape):
        return None
    return operand if operand.shape == term.shape else None


def _sum_to_addition(builder: TermBuilder, term: Term) -> Term | None:
    return builder.add_derived_term(term, "+", term.operands) if len(term.operands) == 2 else None


def _simplify_reduction(builder: TermBuilder, term: Term) -> Term | None:
    """Name the axes where all are reduced, and remove those of length 1."""
    operand, axes = _operand_at(term), term.attribute("axes")
    if operand is None or operand.shape is None or len(term.operands) != 1 or term.attribute("noop_with_empty_axes"):
        return None
    if axes is None:
        attributes = dict(term.attributes) | {"axes": tuple(range(len(operand.shape)))}
        return builder.add_derived_term(term, term.operator, [operand], **attributes)
    if not isinstance(axes, tuple):
        return None
    if not axes or any(not -len(operand.shape) <= axis < len(operand.shape) for axis in axes):
        return None
    if any(operand.shape[axis] != 1 for axis in axes):
        return None
    if builder.across_systems:
        return operand
    if builder.system is not System.ONNX:
        return None  # other systems have other defaults
    return operand if term.attribute("keepdims", 1) else builder.add_derived_term(term, "Squeeze", [operand], axes=axes)


def _simplify_negation(builder: TermBuilder, term: Term) -> Term | None:
    """Converters write -x as x * -1, and x - 2 as x + -2."""
    first, second = _operand_at(term), _operand_at(term, 1)
    if not builder.across_systems or first is None or first.is_constant:
        return None
    if term.operator == "Neg":
        dtype = np.dtype(np.float32) if first.dtype is None else first.dtype
        return builder.add_derived_term(term, "*", [first, builder.constant(term, np.array(-1, dtype))])
    if second is None or second.data is None or second.data.dtype.kind not in "fi":
        return None
    negated = builder.add_derived_term(term, "Neg", [second])
    negated.data, negated.dtype, negated.shape = -second.data, second.dtype, second.shape
    if second.value is not None:
        negated.value = Value(f"-{second.value.name}", second.value.type)
    return builder.add_derived_term(term, "+", [first, negated])


def _remove_neutral_operand(builder: TermBuilder, term: Term) -> Term | None:
    """A product with one, or a sum with the zero that leaves even the sign of a zero, gives the other operand;
    converters also omit the other zero."""
    for k, operand in enumerate(term.operands[:2] if term.data is None else ()):
        neutral = _operand_at(term, 1 - k)
        data = None if neutral is None else neutral.data
        if operand is None or data is None or data.dtype.kind not in "fiu" or (k and term.operator in "-/"):
            continue
        is_one, is_zero = bool((data == 1).all()), bool((data == 0).all())
        keeps_sign = data.dtype.kind != "f" or bool((np.signbit(data) == (term.operator == "+")).all())
        if not (is_one if term.operator in "*/" else is_zero and (keeps_sign or builder.across_systems)):
            continue
        if is_static(term.shape):
            keeps_shape = operand.shape == term.shape
        else:
            keeps_shape = data.ndim == 0 or (data.size == 1 and data.ndim <= len(operand.shape or ()))
        if keeps_shape:
            return operand
    return None


def _remove_absolute_of_lengths(builder: TermBuilder, term: Term) -> Term | None:
    operand = _operand_at(term)
    return operand if operand is not None and operand.operator in ("Shape", "Size") else None


def _simplify_negated_where(builder: TermBuilder, term: Term) -> Term | None:
    condition = _operand_at(term)
    if condition is None or condition.operator != "Not" or len(term.operands) != 3:
        return None
    return builder.add_derived_term(term, "Where", [condition.operands[0], term.operands[2], term.operands[1]])


_QUANTIZERS = ("DynamicQuantizeLinear", "QuantizeLinear")


def _simplify_quantize_dequantize(builder: TermBuilder, term: Term) -> Term | None:
    """What is quantised and given back at once is the operand."""
    operand = _operand_at(term)
    if not builder.is_quantized or operand is None:
        return None
    if term.operator == "FakeQuantize":
        return operand
    return _operand_at(operand) if operand.operator in _QUANTIZERS and not operand.index else None


def _simplify_integer_product(builder: TermBuilder, term: Term) -> Term | None:
    """An integer product, converted and scaled, is the product of floats; its node is that of the integer product."""
    if not builder.is_quantized:
        return None
    for cast in term.operands:
        product = None if cast is None or cast.operator != "Cast" else _operand_at(cast)
        if product is None or product.operator != "MatMulInteger":
            continue
        factors = [_unquantized_operand(builder, operand) for operand in product.operands[:2]]
        result = builder.add_derived_term(term, "MatMul", factors)
        result.node, result.value = product.node, term.value
        return result
    return None


def _unquantized_operand(builder: TermBuilder, operand: Term | None) -> Term | None:
    if operand is None:
        return None
    if operand.operator in _QUANTIZERS:
        return _operand_at(operand)
    if operand.is_constant:
        builder.note_quantized_weight(operand)
    return operand


#: All rules, in the order in which they are tried.
RULES: tuple[Rule, ...] = (
    Rule("identity", frozenset({"Identity"}), _replace_by_only_operand, "an Identity gives its input"),
    Rule("dropout", frozenset({"Dropout"}), _simplify_dropout, "a Dropout outside of training gives its input"),
    Rule(
        "single operand",
        frozenset({"Concat", "Max", "Min", "Sum", "Mean"}),
        _replace_by_only_operand,
        "with one operand the result is that operand",
    ),
    Rule(
        "cast to the same dtype",
        frozenset({"Cast"}),
        _remove_cast,
        "a conversion to the dtype of its input gives its input",
    ),
    Rule(
        "cast and back",
        frozenset({"Cast"}),
        _remove_cast_and_back,
        "a wider type of the same kind holds the numbers of the narrower one",
        "bit-exact, but signalling NaN become quiet",
    ),
    Rule(
        "reshape",
        RESHAPES,
        _simplify_reshape,
        "what only changes a static shape is a Reshape to that shape, or nothing",
    ),
    Rule(
        "expand",
        frozenset({"Expand", "Broadcast"}),
        _remove_expand,
        "an Expand to the shape of its input gives its input",
    ),
    Rule("only element", frozenset({"Gather"}), _simplify_gather_of_one, "the only element of an axis is all of it"),
    Rule("transpose", frozenset({"Transpose"}), _simplify_transpose, "successive permutations are one"),
    Rule("gemm", frozenset({"Gemm"}), _gemm_to_matmul, "a Gemm is a MatMul and an Add", "one rounding of the sum"),
    Rule("matmul", frozenset({"MatMul"}), _normalize_matmul, "transposition by an attribute is a Transpose"),
    Rule(
        "fused matmul",
        frozenset({"FusedMatMul", "TransposeMatMul"}),
        _normalize_fused_matmul,
        "a fused MatMul is a MatMul of Transposes",
    ),
    Rule(
        "neutral operand",
        frozenset({"+", "-", "*", "/"}),
        _remove_neutral_operand,
        "a product with one or a sum with zero gives the other operand",
        "bit-exact; across systems but for the sign of a zero",
    ),
    Rule("negated", frozenset({"Neg", "-"}), _simplify_negation, "a negation is a factor of -1, or a negated constant"),
    Rule(
        "reduction",
        frozenset({"ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin"}),
        _simplify_reduction,
        "without axes all are reduced; those of length 1 are removed",
        "bit-exact but for the sign of a zero",
    ),
    Rule("lengths", frozenset({"Abs"}), _remove_absolute_of_lengths, "a length is not negative"),
    Rule(
        "negated choice",
        frozenset({"Where"}),
        _simplify_negated_where,
        "a Where of a negation is one with the values exchanged",
    ),
    Rule(
        "quantised and given back",
        frozenset({"DequantizeLinear", "FakeQuantize"}),
        _simplify_quantize_dequantize,
        "a quantisation and its inverse give their input",
        "half a quantisation step",
    ),
    Rule(
        "integer product",
        frozenset({"*"}),
        _simplify_integer_product,
        "an integer product, converted and scaled, is a product of floats",
        "the quantisation steps of both factors",
    ),
    Rule("sum", frozenset({"Sum"}), _sum_to_addition, "a Sum of two is an Add"),
    Rule("split", frozenset({"Split", "VariadicSplit"}), _split_to_slice, "a part of a Split is a slice"),
    Rule("slice", frozenset({"Slice"}), _normalize_slice, "bounds count from the front"),
    Rule(
        "axes from the front",
        frozenset(
            {"Concat", "Softmax", "LogSoftmax", "Hardmax", "Gather", "GatherElements", "CumSum", "ArgMax", "ArgMin"}
            | {"TopK", "LayerNormalization", "Split", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"}
            | {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare", "ScatterElements"}
        ),
        _make_axes_nonnegative,
        "axes count from the front",
    ),
)


def rules_for(operator: str) -> list[Rule]:
    """The rules of an operator."""
    return [rule for rule in RULES if operator in rule.operators]


def infer_shape(operator: str, operands: Sequence[Term | None], attributes: dict[str, Any]) -> Shape | None:
    """The shape of a term by those of its operands; None if unknown."""
    shapes = [None if operand is None else operand.shape for operand in operands]
    if not shapes or shapes[0] is None:
        return None
    if operator in ELEMENTWISE:
        known = [shape for shape in shapes if shape is not None]
        return _broadcast_shape(known) if len(known) == len(shapes) else None
    if operator in SHAPE_PRESERVING:
        return shapes[0]
    if operator == "MatMul" and len(shapes) == 2 and shapes[1] is not None and len(shapes[0]) == 2 == len(shapes[1]):
        return shapes[0][0], shapes[1][1]
    if operator == "Gemm" and len(shapes) > 1 and shapes[1] is not None and len(shapes[0]) == 2 == len(shapes[1]):
        return shapes[0][1 if attributes.get("transA") else 0], shapes[1][0 if attributes.get("transB") else 1]
    if operator == "Transpose" and isinstance(attributes.get("perm"), tuple):
        return tuple(shapes[0][axis] for axis in attributes["perm"])
    if operator == "part":
        size, axis = attributes["end"] - attributes["start"], attributes["axis"]
        return (*shapes[0][:axis], size, *shapes[0][axis + 1 :])
    if operator == "Concat" and isinstance(attributes.get("axis"), int):
        return _concatenated_shape(shapes, attributes["axis"])
    if operator == "Shape":
        return (len(range(len(shapes[0]))[attributes.get("start", 0) : attributes.get("end")]),)
    if operator == "Reshape":
        return attributes["shape"] if "shape" in attributes else _reshaped_shape(shapes[0], operands)
    if operator == "Gather" and len(shapes) > 1 and shapes[1] is not None:
        axis = attributes.get("axis", 0)
        axis = axis + len(shapes[0]) if axis < 0 else axis
        return (*shapes[0][:axis], *shapes[1], *shapes[0][axis + 1 :])
    if operator.startswith("Reduce"):
        return _reduced_shape(shapes[0], attributes)
    if operator == "Squeeze" and isinstance(attributes.get("axes"), tuple):
        return _reduced_shape(shapes[0], {**attributes, "keepdims": 0})
    return None


def _concatenated_shape(shapes: Sequence[Shape | None], axis: int) -> Shape | None:
    known = [shape for shape in shapes if shape is not None and -len(shape) <= axis < len(shape)]
    if len(known) != len(shapes):
        return None
    lengths, first = [shape[axis] for shape in known], known[0]
    axis %= len(first)
    total = sum(lengths) if all(isinstance(length, int) for length in lengths) else None
    return (*first[:axis], total, *first[axis + 1 :])


_ELEMENTWISE_NAMES = "+ - * / ** % > < >= <= == != and or ^ & | Max Min Where PRelu"
#: Operators whose results have the broadcast shape of their operands.
ELEMENTWISE = frozenset(_ELEMENTWISE_NAMES.split())
_SHAPE_PRESERVING_NAMES = """
Abs Acos Asin Atan Cast Ceil Clip Cos CumSum Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity IsInf IsNaN
LayerNormalization LeakyRelu Log LogSoftmax Mish Neg Not Reciprocal Relu Round Selu Sigmoid Sign Sin Softmax Softplus
Softsign Sqrt Swish Tan Tanh ThresholdedRelu
"""
#: Operators whose results have the shape of their first operand.
SHAPE_PRESERVING = frozenset(_SHAPE_PRESERVING_NAMES.split())
#: Operators that select and arrange elements of their first operand.
DTYPE_PRESERVING = RESHAPES | {"Concat", "Expand", "Gather", "GatherElements", "Pad", "Slice", "Tile", "Transpose"}
_BOOLEAN_NAMES = "> < >= <= == != and or ^ Not IsNaN IsInf"
#: Operators that give booleans.
BOOLEAN = frozenset(_BOOLEAN_NAMES.split())


def _broadcast_shape(shapes: Sequence[Shape]) -> Shape | None:
    if not all(is_static(shape) for shape in shapes):
        ranks = {len(shape) for shape in shapes}
        return (None,) * max(ranks) if ranks else None
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def _reshaped_shape(shape: Shape, operands: Sequence[Term | None]) -> Shape | None:
    target = operands[1] if len(operands) > 1 else None
    if target is None or target.data is None or target.data.dtype.kind not in "iu":
        return None
    dims: list[Any] = target.data.reshape(-1).tolist()
    dims = [shape[k] if dim == 0 and k < len(shape) else dim for k, dim in enumerate(dims)]
    if -1 in dims and is_static(shape) and all(isinstance(dim, int) for dim in dims):
        rest = prod(dim for dim in dims if dim != -1)
        dims[dims.index(-1)] = prod(shape) // rest if rest else None
    return tuple(None if dim == -1 else dim for dim in dims)


def _reduced_shape(shape: Shape, attributes: dict[str, Any]) -> Shape | None:
    axes = attributes.get("axes")
    if axes is None:
        return (1,) * len(shape) if attributes.get("keepdims", 1) else ()
    if not isinstance(axes, tuple):
        return None
    positive = {axis + len(shape) if axis < 0 else axis for axis in axes}
    if attributes.get("keepdims", 1):
        return tuple(1 if k in positive else dim for k, dim in enumerate(shape))
    return tuple(dim for k, dim in enumerate(shape) if k not in positive)
