"""The primitives as TensorRT layers: operator definitions translated to lines of a script.

Operators are written over primitives (``runtime/ops``); here each primitive call adds a layer, so that operators
without a native routine need no second definition. Shapes are known: a script is for the given sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...runtime.errors import UnsupportedError
from ...runtime.graph import Array
from ...runtime.ops.activations import SIGMOID
from ...runtime.ops.eager import EagerPrimitives
from ...runtime.ops.elementwise import (
    DIVIDE_FLOOR,
    DIVIDE_TRUNCATE,
    ERF,
    POWER_INTEGER,
    REMAINDER_FLOOR,
    REMAINDER_TRUNCATE,
)
from ...runtime.ops.primitive_types import Elementwise, IterationFunction, RoutineCall, View
from .script_code import ScriptCode, shape_literal, string_literal

#: TensorRT's tensor types, as NumPy calls them too.
DTYPE_NAMES = ("float32", "float16", "bfloat16", "int64", "int32", "int8", "bool")
_BINARY: Mapping[Any, str] = {
    np.add: "SUM",
    np.multiply: "PROD",
    np.subtract: "SUB",
    np.divide: "DIV",
    DIVIDE_TRUNCATE: "DIV",
    DIVIDE_FLOOR: "FLOOR_DIV",
    np.power: "POW",
    np.float_power: "POW",
    np.maximum: "MAX",
    np.minimum: "MIN",
    np.logical_and: "AND",
    np.logical_or: "OR",
    np.logical_xor: "XOR",
    np.equal: "EQUAL",
    np.greater: "GREATER",
    np.less: "LESS",
}
_UNARY: Mapping[Any, str] = {
    np.exp: "EXP",
    np.log: "LOG",
    np.sqrt: "SQRT",
    np.reciprocal: "RECIP",
    np.absolute: "ABS",
    np.negative: "NEG",
    np.sin: "SIN",
    np.cos: "COS",
    np.tan: "TAN",
    np.sinh: "SINH",
    np.cosh: "COSH",
    np.arcsin: "ASIN",
    np.arccos: "ACOS",
    np.arctan: "ATAN",
    np.arcsinh: "ASINH",
    np.arccosh: "ACOSH",
    np.arctanh: "ATANH",
    np.ceil: "CEIL",
    np.floor: "FLOOR",
    ERF: "ERF",
    np.logical_not: "NOT",
    np.sign: "SIGN",
    np.rint: "ROUND",
    np.isinf: "ISINF",
    np.isnan: "ISNAN",
}
_ACTIVATIONS: Mapping[Any, str] = {np.tanh: "TANH", SIGMOID: "SIGMOID"}
_REDUCTIONS: Mapping[Any, str] = {np.add: "SUM", np.multiply: "PROD", np.maximum: "MAX", np.minimum: "MIN"}
_COMPARISONS = (np.equal, np.greater, np.less)


@dataclass(frozen=True)
class ScriptTensor:
    """A tensor of the script. ``code``: its name there, empty for a constant without readers; ``shape``: -1 for a
    length known only at run time."""

    code: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    array: Array | None = None
    #: The loops that it varies in, by their names in the script.
    loops: frozenset[str] = frozenset()
    #: A scan output with more capacity than the loop may fill: it can only be an output of the network.
    is_padded: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


class TensorRTLayers:
    """Implements :class:`~..runtime.ops.eager.EagerPrimitives` on the lines of a script.

    ``result_name``: base of the names of the results of the node being converted.

    Raises, from any primitive:
        UnsupportedError: no TensorRT layer expresses it; the text is the reason.
    """

    emits = False

    def __init__(self, code: ScriptCode) -> None:
        self.code = code
        self.result_name = "value"
        #: Iteration numbers: their names in the script -> the loop's name and its trip count.
        self.iteration_numbers: dict[str, tuple[str, int]] = {}
        self._eager = EagerPrimitives()
        self._constants: dict[tuple[Any, ...], str] = {}

    # -- helpers

    def tensor_name(self, x: ScriptTensor) -> str:
        """The name of a tensor in the script; a constant gets its layer on first use."""
        if x.array is None:
            return x.code
        if dtype_name(x.dtype) == "bfloat16":  # no NumPy type
            float32 = self.constant_tensor(x.array.astype(np.float32))
            return self.add_layer("add_cast", (float32, "trt.bfloat16"), x.shape, x.dtype).code
        key = (x.array.dtype.str, x.array.shape, x.array.tobytes())
        if key not in self._constants:
            label = x.code or f"c_{_constant_label(x.array)}"
            name = self.code.identifier(label)
            self.code.add_line(
                f"{name} = constant(network, {self.code.array_expression(x.array, name)}, {string_literal(label)})"
            )
            self._constants[key] = name
        return self._constants[key]

    def restore_constants(self, saved: Mapping[tuple[Any, ...], str]) -> None:
        """Forget constants added since ``saved``: they belong to a branch."""
        self._constants = dict(saved)

    @property
    def constants(self) -> dict[tuple[Any, ...], str]:
        return dict(self._constants)

    def add_layer(
        self,
        method: str,
        arguments: Sequence[ScriptTensor | str],
        shape: Sequence[int],
        dtype: np.dtype[Any],
        extra: Sequence[str] = (),
        output: int = 0,
        of: str = "network",
    ) -> ScriptTensor:
        """Add a layer and return one output; ``more``: its settings, such as ``axis = 1``."""
        call_arguments = ", ".join(self.tensor_name(x) if isinstance(x, ScriptTensor) else x for x in arguments)
        loops = frozenset().union(*(x.loops for x in arguments if isinstance(x, ScriptTensor)))
        name = self.code.identifier(self.result_name)
        layer_call = f"{of}.{method}({call_arguments})"
        if extra:
            self.code.add_line(f"layer = {layer_call}")
            for assignment in extra:
                self.code.add_line(f"layer.{assignment}")
            layer_call = "layer"
        output_argument = f", {output}" if output else ""
        self.code.add_line(f"{name} = named({layer_call}, {string_literal(self.result_name)}{output_argument})")
        return ScriptTensor(name, tuple(int(n) for n in shape), dtype, loops=loops)

    def _require_known_shape(self, x: ScriptTensor) -> None:
        if any(n < 0 for n in x.shape):
            raise UnsupportedError(
                "it needs a size that is known only at run time, and a TensorRT script needs all sizes in advance"
            )

    def _constant_arrays(self, *inputs: ScriptTensor) -> list[Array] | None:
        arrays = [x.array for x in inputs if x.array is not None]
        return arrays if len(arrays) == len(inputs) else None

    def constant_tensor(self, array: Array) -> ScriptTensor:
        """A constant."""
        array = np.asarray(array)
        return ScriptTensor("", array.shape, array.dtype, array)

    def expand_rank(self, x: ScriptTensor, rank: int) -> ScriptTensor:
        """Add leading axes of length 1: TensorRT broadcasts tensors of one rank."""
        return x if x.ndim == rank else self.reshape(x, (*(1,) * (rank - x.ndim), *x.shape))

    def _broadcast_ranks(self, *inputs: ScriptTensor) -> tuple[list[ScriptTensor], tuple[int, ...]]:
        for x in inputs:
            self._require_known_shape(x)
        shape = np.broadcast_shapes(*(x.shape for x in inputs))
        return [self.expand_rank(x, len(shape)) for x in inputs], shape

    # -- elementwise

    def map(self, function: Elementwise, *inputs: ScriptTensor) -> ScriptTensor:
        if (arrays := self._constant_arrays(*inputs)) is not None:
            return self.constant_tensor(self._eager.map(function, *arrays))
        for x in inputs:
            dtype_name(x.dtype)
        if len(inputs) == 1:
            return self._unary(function, inputs[0])
        if len(inputs) == 2:
            return self._binary(function, *inputs)
        raise UnsupportedError(f"no TensorRT layer computes {_function_name(function)}")

    def _unary(self, function: Elementwise, x: ScriptTensor) -> ScriptTensor:
        if function in _ACTIVATIONS:
            return self.add_layer(
                "add_activation", (x, f"trt.ActivationType.{_ACTIVATIONS[function]}"), x.shape, x.dtype
            )
        if function is np.square:
            return self.map(np.multiply, x, x)
        if function is np.trunc:
            return self.map(np.multiply, self.map(np.sign, x), self.map(np.floor, self.map(np.absolute, x)))
        if function is np.expm1:
            return self.map(np.subtract, self.map(np.exp, x), self.constant_tensor(np.array(1, x.dtype)))
        if function is np.isfinite:
            return self.map(np.logical_not, self.map(np.logical_or, self.map(np.isnan, x), self.map(np.isinf, x)))
        if function not in _UNARY:
            raise UnsupportedError(f"no TensorRT layer computes {_function_name(function)}")
        boolean = function in (np.logical_not, np.isinf, np.isnan)
        dtype = np.dtype(bool) if boolean else x.dtype
        return self.add_layer("add_unary", (x, f"trt.UnaryOperation.{_UNARY[function]}"), x.shape, dtype)

    def _binary(self, function: Elementwise, a: ScriptTensor, b: ScriptTensor) -> ScriptTensor:
        is_integer = a.dtype.kind in "iu"
        if function in (np.greater_equal, np.less_equal):
            strict = np.greater if function is np.greater_equal else np.less
            return self.map(np.logical_or, self.map(strict, a, b), self.map(np.equal, a, b))
        if function is np.not_equal:
            return self.map(np.logical_not, self.map(np.equal, a, b))
        if a.dtype == bool and function in (np.equal, np.greater, np.less):
            number = np.dtype(np.int32)
            return self.map(function, self.cast(a, number), self.cast(b, number))
        if function is REMAINDER_TRUNCATE or (function is np.fmod and not is_integer):
            quotient = self.map(DIVIDE_TRUNCATE if is_integer else np.divide, a, b)
            quotient = quotient if is_integer else self.map(np.trunc, quotient)
            return self.map(np.subtract, a, self.map(np.multiply, quotient, b))
        if function is REMAINDER_FLOOR or (function is np.remainder and not is_integer):
            return self.map(np.subtract, a, self.map(np.multiply, self.map(DIVIDE_FLOOR, a, b), b))
        if function is np.floor_divide:
            return self.map(DIVIDE_FLOOR, a, b)
        if function is POWER_INTEGER or (function is np.power and is_integer):
            raise UnsupportedError("TensorRT does not say how it rounds powers of integers")
        if function not in _BINARY:
            raise UnsupportedError(f"no TensorRT layer computes {_function_name(function)}")
        if a.dtype == bool and _BINARY[function] not in ("AND", "OR", "XOR"):
            raise UnsupportedError(f"TensorRT's {_BINARY[function]} takes no bool")
        (a, b), shape = self._broadcast_ranks(a, b)
        dtype = np.dtype(bool) if function in _COMPARISONS else a.dtype
        return self.add_layer("add_elementwise", (a, b, f"trt.ElementWiseOperation.{_BINARY[function]}"), shape, dtype)

    def where(self, condition: ScriptTensor, a: ScriptTensor, b: ScriptTensor) -> ScriptTensor:
        if (arrays := self._constant_arrays(condition, a, b)) is not None:
            return self.constant_tensor(self._eager.where(*arrays))
        dtype_name(a.dtype)
        (condition, a, b), shape = self._broadcast_ranks(condition, a, b)
        return self.add_layer("add_select", (condition, a, b), shape, a.dtype)

    def cast(self, x: ScriptTensor, dtype: np.dtype[Any]) -> ScriptTensor:
        if x.dtype == dtype:
            return x
        if x.array is not None:
            return self.constant_tensor(self._eager.cast(x.array, dtype))
        dtype_name(x.dtype)
        return replace(
            self.add_layer("add_cast", (x, f"trt.{dtype_name(dtype)}"), x.shape, dtype), is_padded=x.is_padded
        )

    # -- along axes

    def reduce(self, ufunc: np.ufunc, x: ScriptTensor, axes: Sequence[int], keepdims: bool) -> ScriptTensor:
        if x.array is not None:
            return self.constant_tensor(self._eager.reduce(ufunc, x.array, axes, keepdims))
        dtype_name(x.dtype)
        self._require_known_shape(x)
        if not axes:
            return x
        if ufunc in (np.logical_and, np.logical_or):
            number = self.cast(x, np.dtype(np.int32))
            result = self.reduce(np.minimum if ufunc is np.logical_and else np.maximum, number, axes, keepdims)
            return self.cast(result, np.dtype(bool))
        if ufunc not in _REDUCTIONS:
            raise UnsupportedError(f"no TensorRT layer reduces by {ufunc.__name__}")
        mask = " | ".join(f"1 << {axis}" for axis in axes)
        shape = [1 if d in axes else n for d, n in enumerate(x.shape) if keepdims or d not in axes]
        arguments = (x, f"trt.ReduceOperation.{_REDUCTIONS[ufunc]}", mask, str(keepdims))
        return self.add_layer("add_reduce", arguments, shape, x.dtype)

    def accumulate(self, ufunc: np.ufunc, x: ScriptTensor, axis: int) -> ScriptTensor:
        if x.array is not None:
            return self.constant_tensor(self._eager.accumulate(ufunc, x.array, axis))
        if ufunc is not np.add:
            raise UnsupportedError(f"TensorRT accumulates sums alone, not by {ufunc.__name__}")
        axis_tensor = self.constant_tensor(np.array(axis, np.int32))
        arguments = (x, axis_tensor, "trt.CumulativeOperation.SUM", "False", "False")
        return self.add_layer("add_cumulative", arguments, x.shape, x.dtype)

    def arg_extreme(self, which: str, x: ScriptTensor, axis: int, last: bool) -> ScriptTensor:
        if x.array is not None:
            return self.constant_tensor(self._eager.arg_extreme(which, x.array, axis, last))
        if last:
            raise UnsupportedError("of equal extremes TensorRT's top-k gives the first one, and the last is asked for")
        self._require_known_shape(x)
        dtype_name(x.dtype)
        flat = x.ndim == 1
        reshaped = self.reshape(x, (1, *x.shape)) if flat else x
        topk_axis = axis + flat
        shape = tuple(1 if d == topk_axis else n for d, n in enumerate(reshaped.shape))
        arguments = (reshaped, f"trt.TopKOperation.{which.upper()}", "1", f"1 << {topk_axis}")
        result = self.add_layer("add_topk", arguments, shape, np.dtype(np.int32), output=1)
        result = self.cast(result, np.dtype(np.int64))
        return self.reshape(result, (1,)) if flat else result

    # -- products

    def matmul(self, a: ScriptTensor, b: ScriptTensor) -> ScriptTensor:
        if (arrays := self._constant_arrays(a, b)) is not None:
            return self.constant_tensor(self._eager.matmul(*arrays))
        dtype_name(a.dtype)
        self._require_known_shape(a)
        self._require_known_shape(b)
        if a.dtype.kind in "iub":
            raise UnsupportedError("TensorRT multiplies matrices of floats alone")
        words = ["NONE" if x.ndim > 1 else "VECTOR" for x in (a, b)]
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        shape = (*batch, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ()))
        a, b = (self.expand_rank(x, len(batch) + min(x.ndim, 2)) for x in (a, b))
        left, right = (f"trt.MatrixOperation.{word}" for word in words)
        return self.add_layer("add_matrix_multiply", (a, left, b, right), shape, a.dtype)

    def packed_matmul(self, a: ScriptTensor, b: ScriptTensor, start: ScriptTensor | None = None) -> ScriptTensor:
        result = self.matmul(a, b)
        return result if start is None else self.map(np.add, result, start)

    def run_hoisted_step(
        self,
        step: IterationFunction,
        iteration: ScriptTensor,
        trips: ScriptTensor | None,
        sources: Sequence[tuple[ScriptTensor, View]],
        others: Sequence[ScriptTensor],
        conditional: bool,
        only: bool = False,
    ) -> ScriptTensor:
        raise UnsupportedError("it reads rows of many iterations at once")

    # -- shapes and indices

    def reshape(self, x: ScriptTensor, shape: Sequence[int]) -> ScriptTensor:
        shape = tuple(int(n) for n in shape)
        if shape == x.shape:
            return x
        if x.array is not None:
            return self.constant_tensor(x.array.reshape(shape))
        self._require_known_shape(x)
        extra = [f"reshape_dims = {shape_literal(shape)}"]
        if 0 in shape:
            extra.append("zero_is_placeholder = False")
        return self.add_layer("add_shuffle", (x,), shape, x.dtype, extra)

    def transpose(self, x: ScriptTensor, perm: Sequence[int]) -> ScriptTensor:
        perm = tuple(perm)
        if perm == tuple(range(x.ndim)):
            return x
        if x.array is not None:
            return self.constant_tensor(x.array.transpose(perm))
        shape = [x.shape[d] for d in perm]
        return self.add_layer("add_shuffle", (x,), shape, x.dtype, [f"first_transpose = {shape_literal(perm)}"])

    def broadcast(self, x: ScriptTensor, shape: Sequence[int]) -> ScriptTensor:
        shape = tuple(shape)
        if shape == x.shape:
            return x
        if x.array is not None:
            return self.constant_tensor(np.broadcast_to(x.array, shape))
        x = self.expand_rank(x, len(shape))
        strides = [int(size == target) for size, target in zip(x.shape, shape, strict=True)]
        return self._add_slice(x, (0,) * len(shape), shape, strides)

    def slice(
        self, x: ScriptTensor, starts: Sequence[int], steps: Sequence[int], extents: Sequence[int]
    ) -> ScriptTensor:
        if x.array is not None:
            return self.constant_tensor(self._eager.slice(x.array, starts, steps, extents))
        self._require_known_shape(x)
        is_identity = all(start == 0 and step == 1 for start, step in zip(starts, steps, strict=True))
        return x if is_identity and tuple(extents) == x.shape else self._add_slice(x, starts, extents, steps)

    def _add_slice(
        self,
        x: ScriptTensor,
        starts: Sequence[int],
        shape: Sequence[int],
        steps: Sequence[int],
        extra: Sequence[str] = (),
    ) -> ScriptTensor:
        return self.add_layer(
            "add_slice", (x, shape_literal(starts), shape_literal(shape), shape_literal(steps)), shape, x.dtype, extra
        )

    def slice_at(self, x: ScriptTensor, axis: int, start: ScriptTensor, end: ScriptTensor) -> ScriptTensor:
        if (arrays := self._constant_arrays(start, end)) is None:
            raise UnsupportedError("how much it cuts is known only at run time, and a tensor in a loop has one shape")
        begin, stop, _ = slice(int(arrays[0].reshape(())), int(arrays[1].reshape(()))).indices(x.shape[axis])
        starts = [begin if d == axis else 0 for d in range(x.ndim)]
        extents = [max(stop - begin, 0) if d == axis else n for d, n in enumerate(x.shape)]
        return self.slice(x, starts, (1,) * x.ndim, extents)

    def assemble(
        self,
        shape: Sequence[int],
        dtype: np.dtype[Any],
        pieces: Sequence[tuple[ScriptTensor, Sequence[int]]],
        fill: Any = None,
    ) -> ScriptTensor:
        shape = tuple(shape)
        if all(piece.array is not None for piece, _ in pieces):
            return self.constant_tensor(self._eager.assemble(shape, dtype, [(p.array, s) for p, s in pieces], fill))  # type: ignore[misc]
        pieces = [(piece, starts) for piece, starts in pieces if piece.size]
        if len(pieces) == 1 and pieces[0][0].shape == shape:
            return pieces[0][0]
        if len(pieces) == 1:
            piece, starts = pieces[0]
            offsets = [-start for start in starts]
            value = self.constant_tensor(np.array(fill, dtype))
            mode = ["mode = trt.SampleMode.FILL", f"set_input(4, {self.tensor_name(value)})"]
            return self._add_slice(piece, offsets, shape, (1,) * len(shape), mode)
        axis = _concatenation_axis(shape, pieces)
        if axis is None:
            raise UnsupportedError("TensorRT joins tensors along one axis, and here they lie otherwise")
        inputs = [piece for piece, _ in sorted(pieces, key=lambda pair: pair[1][axis])]
        names = ", ".join(map(self.tensor_name, inputs))
        result = self.add_layer("add_concatenation", (f"[{names}]",), shape, dtype, [f"axis = {axis}"])
        return replace(result, loops=frozenset().union(*(x.loops for x in inputs)))

    def gather(self, x: ScriptTensor, indices: ScriptTensor, axis: int) -> ScriptTensor:
        if (arrays := self._constant_arrays(x, indices)) is not None:
            return self.constant_tensor(self._eager.gather(arrays[0], arrays[1], axis))
        self._require_known_shape(x)
        shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
        loop, trips = self.iteration_numbers.get(indices.code, ("", 0))
        if loop and loop not in x.loops and trips <= x.shape[axis]:
            # An element selected by the iteration number is that of an iterator.
            result = self.add_layer("add_iterator", (x, str(axis)), shape, x.dtype, of=loop)
            return replace(result, loops=result.loops | indices.loops)
        return self.add_layer("add_gather", (x, indices, str(axis)), shape, x.dtype)

    # -- primitives without layers, and constants

    def call(self, routine: RoutineCall, inputs: Sequence[ScriptTensor]) -> tuple[ScriptTensor, ...]:
        if (arrays := self._constant_arrays(*inputs)) is not None:
            return tuple(map(self.constant_tensor, self._eager.call(routine, arrays)))
        raise UnsupportedError("no TensorRT layer is known to do this")

    def constant(self, array: Array) -> ScriptTensor:
        return self.constant_tensor(array)

    def constant_in_layout(self, x: ScriptTensor, layout: Callable[[Array], Array]) -> ScriptTensor | None:
        return None

    def integers(self, x: ScriptTensor) -> tuple[int, ...]:
        return tuple(int(n) for n in self.value(x).reshape(-1))

    def numbers(self, values: Sequence[int], shape: Sequence[int], dtype: np.dtype[Any]) -> ScriptTensor:
        return self.constant_tensor(np.array(values, dtype).reshape(tuple(shape)))

    def value(self, x: ScriptTensor) -> Array:
        if x.array is None:
            raise UnsupportedError("a shape or an axis of it is computed at run time, and a tensor in a loop has one")
        return x.array


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The TensorRT name of a dtype.

    Raises:
        UnsupportedError: TensorRT has no such type.
    """
    name = "string" if dtype.hasobject else dtype.name
    if name not in DTYPE_NAMES:
        raise UnsupportedError(f"TensorRT has no {name}", got=name)
    return name


def _function_name(function: Any) -> str:
    return str(getattr(function, "__name__", None) or function.name)


def _constant_label(array: Array) -> str:
    if array.size != 1 or array.dtype.kind not in "biuf":
        return "x".join(map(str, array.shape)) or "scalar"
    return str(array.reshape(-1)[0]).replace("-", "minus_").replace(".", "_")


def _concatenation_axis(shape: Sequence[int], pieces: Sequence[tuple[ScriptTensor, Sequence[int]]]) -> int | None:
    """The axis along which consecutive pieces fill ``shape``; None if there is none."""
    for axis, length in enumerate(shape):
        offset = 0
        for piece, starts in sorted(pieces, key=lambda pair: pair[1][axis]):
            others = [d for d in range(len(shape)) if d != axis]
            if starts[axis] != offset or any(starts[d] or piece.shape[d] != shape[d] for d in others):
                break
            offset += piece.shape[axis]
        else:
            if offset == length:
                return axis
    return None
