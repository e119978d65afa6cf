"""The primitives as TensorRT layers: what an operator means, said once more, as lines of a script.

Operators are written over primitives (``runtime/ops``); here each call of one becomes a layer, so that every operator
without a routine of its own is converted by its one definition. Shapes are known: a script is for the sizes given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...runtime.errors import UnsupportedError
from ...runtime.graph import Array
from ...runtime.ops.activations import SIGMOID
from ...runtime.ops.eager import Eager
from ...runtime.ops.elementwise import (
    DIVIDE_FLOOR,
    DIVIDE_TRUNCATE,
    ERF,
    POWER_INTEGER,
    REMAINDER_FLOOR,
    REMAINDER_TRUNCATE,
)
from ...runtime.ops.primitives import Elementwise, IterationFunction, Routine, View
from .code import Code, dims, text

#: What TensorRT's tensors hold, by NumPy's name.
TYPES: Mapping[str, str] = {
    "float32": "float32",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "int64": "int64",
    "int32": "int32",
    "int8": "int8",
    "bool": "bool",
}
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
class Tensor:
    """A tensor of the script. ``code``: its name there, empty for a constant that nothing read yet; ``shape``: -1
    where only a run tells."""

    code: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    array: Array | None = None
    #: The loops that it changes in, by their names in the script: it is inside them.
    loops: frozenset[str] = frozenset()
    #: A scan output with more capacity than the loop may fill: it can only be an output of the network.
    roomy: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


class Layers:
    """Implements :class:`~..runtime.ops.primitives.Primitives` on the lines of a script.

    ``where``: what is being converted, for messages and comments; ``hint``: what its results are called.

    Raises, from any primitive:
        UnsupportedError: no TensorRT layer says it; the text is the reason.
    """

    emits = False

    def __init__(self, code: Code) -> None:
        self.code = code
        self.hint = "value"
        #: Iteration numbers: their names in the script -> the loop's, and how often it runs.
        self.iterations: dict[str, tuple[str, int]] = {}
        self._eager = Eager()
        self._constants: dict[tuple[Any, ...], str] = {}

    # -- pieces

    def name(self, x: Tensor) -> str:
        """A tensor's name in the script; a constant gets its layer with its first reader."""
        if x.array is None:
            return x.code
        if kind(x.dtype) == "bfloat16":  # which NumPy has not
            wide = self.made(x.array.astype(np.float32))
            return self.layer("add_cast", (wide, "trt.bfloat16"), x.shape, x.dtype).code
        key = (x.array.dtype.str, x.array.shape, x.array.tobytes())
        if key not in self._constants:
            wanted = x.code or f"c_{_slug(x.array)}"
            name = self.code.identifier(wanted)
            self.code.line(f"{name} = constant(network, {self.code.array(x.array, name)}, {text(wanted)})")
            self._constants[key] = name
        return self._constants[key]

    def forget(self, mark: Mapping[tuple[Any, ...], str]) -> None:
        """Constants made since ``mark`` belong to a branch: others make their own."""
        self._constants = dict(mark)

    @property
    def constants(self) -> dict[tuple[Any, ...], str]:
        return dict(self._constants)

    def layer(
        self,
        method: str,
        arguments: Sequence[Tensor | str],
        shape: Sequence[int],
        dtype: np.dtype[Any],
        more: Sequence[str] = (),
        output: int = 0,
        of: str = "network",
    ) -> Tensor:
        """An output of one layer; ``more``: what is said to it, as ``axis = 1``."""
        told = ", ".join(self.name(x) if isinstance(x, Tensor) else x for x in arguments)
        loops = frozenset().union(*(x.loops for x in arguments if isinstance(x, Tensor)))
        name = self.code.identifier(self.hint)
        made = f"{of}.{method}({told})"
        if more:
            self.code.line(f"layer = {made}")
            for assignment in more:
                self.code.line(f"layer.{assignment}")
            made = "layer"
        which = f", {output}" if output else ""
        self.code.line(f"{name} = named({made}, {text(self.hint)}{which})")
        return Tensor(name, tuple(int(n) for n in shape), dtype, loops=loops)

    def _known(self, x: Tensor) -> None:
        if any(n < 0 for n in x.shape):
            raise UnsupportedError(
                "it needs a size that is known only at run time, and a TensorRT script needs all sizes in advance"
            )

    def _arrays(self, *inputs: Tensor) -> list[Array] | None:
        arrays = [x.array for x in inputs if x.array is not None]
        return arrays if len(arrays) == len(inputs) else None

    def made(self, array: Array) -> Tensor:
        """A constant."""
        array = np.asarray(array)
        return Tensor("", array.shape, array.dtype, array)

    def of_rank(self, x: Tensor, rank: int) -> Tensor:
        """With axes of 1 in front: TensorRT broadcasts tensors of one rank."""
        return x if x.ndim == rank else self.reshape(x, (*(1,) * (rank - x.ndim), *x.shape))

    def _together(self, *inputs: Tensor) -> tuple[list[Tensor], tuple[int, ...]]:
        for x in inputs:
            self._known(x)
        shape = np.broadcast_shapes(*(x.shape for x in inputs))
        return [self.of_rank(x, len(shape)) for x in inputs], shape

    # -- elementwise

    def map(self, function: Elementwise, *inputs: Tensor) -> Tensor:
        if (arrays := self._arrays(*inputs)) is not None:
            return self.made(self._eager.map(function, *arrays))
        for x in inputs:
            kind(x.dtype)
        if len(inputs) == 1:
            return self._unary(function, inputs[0])
        if len(inputs) == 2:
            return self._binary(function, *inputs)
        raise UnsupportedError(f"no TensorRT layer computes {_called(function)}")

    def _unary(self, function: Elementwise, x: Tensor) -> Tensor:
        if function in _ACTIVATIONS:
            return self.layer("add_activation", (x, f"trt.ActivationType.{_ACTIVATIONS[function]}"), x.shape, x.dtype)
        if function is np.square:
            return self.map(np.multiply, x, x)
        if function is np.trunc:
            return self.map(np.multiply, self.map(np.sign, x), self.map(np.floor, self.map(np.absolute, x)))
        if function is np.expm1:
            return self.map(np.subtract, self.map(np.exp, x), self.made(np.array(1, x.dtype)))
        if function is np.isfinite:
            return self.map(np.logical_not, self.map(np.logical_or, self.map(np.isnan, x), self.map(np.isinf, x)))
        if function not in _UNARY:
            raise UnsupportedError(f"no TensorRT layer computes {_called(function)}")
        boolean = function in (np.logical_not, np.isinf, np.isnan)
        dtype = np.dtype(bool) if boolean else x.dtype
        return self.layer("add_unary", (x, f"trt.UnaryOperation.{_UNARY[function]}"), x.shape, dtype)

    def _binary(self, function: Elementwise, a: Tensor, b: Tensor) -> Tensor:
        whole = a.dtype.kind in "iu"
        if function in (np.greater_equal, np.less_equal):
            strict = np.greater if function is np.greater_equal else np.less
            return self.map(np.logical_or, self.map(strict, a, b), self.map(np.equal, a, b))
        if function is np.not_equal:
            return self.map(np.logical_not, self.map(np.equal, a, b))
        if a.dtype == bool and function in (np.equal, np.greater, np.less):
            number = np.dtype(np.int32)
            return self.map(function, self.cast(a, number), self.cast(b, number))
        if function is REMAINDER_TRUNCATE or (function is np.fmod and not whole):
            quotient = self.map(DIVIDE_TRUNCATE if whole else np.divide, a, b)
            quotient = quotient if whole else self.map(np.trunc, quotient)
            return self.map(np.subtract, a, self.map(np.multiply, quotient, b))
        if function is REMAINDER_FLOOR or (function is np.remainder and not whole):
            return self.map(np.subtract, a, self.map(np.multiply, self.map(DIVIDE_FLOOR, a, b), b))
        if function is np.floor_divide:
            return self.map(DIVIDE_FLOOR, a, b)
        if function is POWER_INTEGER or (function is np.power and whole):
            raise UnsupportedError("TensorRT does not say how it rounds powers of integers")
        if function not in _BINARY:
            raise UnsupportedError(f"no TensorRT layer computes {_called(function)}")
        if a.dtype == bool and _BINARY[function] not in ("AND", "OR", "XOR"):
            raise UnsupportedError(f"TensorRT's {_BINARY[function]} takes no bool")
        (a, b), shape = self._together(a, b)
        dtype = np.dtype(bool) if function in _COMPARISONS else a.dtype
        return self.layer("add_elementwise", (a, b, f"trt.ElementWiseOperation.{_BINARY[function]}"), shape, dtype)

    def where(self, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        if (arrays := self._arrays(condition, a, b)) is not None:
            return self.made(self._eager.where(*arrays))
        kind(a.dtype)
        (condition, a, b), shape = self._together(condition, a, b)
        return self.layer("add_select", (condition, a, b), shape, a.dtype)

    def cast(self, x: Tensor, dtype: np.dtype[Any]) -> Tensor:
        if x.dtype == dtype:
            return x
        if x.array is not None:
            return self.made(self._eager.cast(x.array, dtype))
        kind(x.dtype)
        return replace(self.layer("add_cast", (x, f"trt.{kind(dtype)}"), x.shape, dtype), roomy=x.roomy)

    # -- along axes

    def reduce(self, ufunc: np.ufunc, x: Tensor, axes: Sequence[int], keepdims: bool) -> Tensor:
        if x.array is not None:
            return self.made(self._eager.reduce(ufunc, x.array, axes, keepdims))
        kind(x.dtype)
        self._known(x)
        if not axes:
            return x
        if ufunc in (np.logical_and, np.logical_or):
            number = self.cast(x, np.dtype(np.int32))
            found = self.reduce(np.minimum if ufunc is np.logical_and else np.maximum, number, axes, keepdims)
            return self.cast(found, np.dtype(bool))
        if ufunc not in _REDUCTIONS:
            raise UnsupportedError(f"no TensorRT layer reduces by {ufunc.__name__}")
        mask = " | ".join(f"1 << {axis}" for axis in axes)
        shape = [1 if d in axes else n for d, n in enumerate(x.shape) if keepdims or d not in axes]
        arguments = (x, f"trt.ReduceOperation.{_REDUCTIONS[ufunc]}", mask, str(keepdims))
        return self.layer("add_reduce", arguments, shape, x.dtype)

    def accumulate(self, ufunc: np.ufunc, x: Tensor, axis: int) -> Tensor:
        if x.array is not None:
            return self.made(self._eager.accumulate(ufunc, x.array, axis))
        if ufunc is not np.add:
            raise UnsupportedError(f"TensorRT accumulates sums alone, not by {ufunc.__name__}")
        at = self.made(np.array(axis, np.int32))
        arguments = (x, at, "trt.CumulativeOperation.SUM", "False", "False")
        return self.layer("add_cumulative", arguments, x.shape, x.dtype)

    def arg(self, which: str, x: Tensor, axis: int, last: bool) -> Tensor:
        if x.array is not None:
            return self.made(self._eager.arg(which, x.array, axis, last))
        if last:
            raise UnsupportedError("of equal extremes TensorRT's top-k gives the first one, and the last is asked for")
        self._known(x)
        kind(x.dtype)
        flat = x.ndim == 1
        wide = self.reshape(x, (1, *x.shape)) if flat else x
        at = axis + flat
        shape = tuple(1 if d == at else n for d, n in enumerate(wide.shape))
        arguments = (wide, f"trt.TopKOperation.{which.upper()}", "1", f"1 << {at}")
        found = self.layer("add_topk", arguments, shape, np.dtype(np.int32), output=1)
        found = self.cast(found, np.dtype(np.int64))
        return self.reshape(found, (1,)) if flat else found

    # -- products

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        if (arrays := self._arrays(a, b)) is not None:
            return self.made(self._eager.matmul(*arrays))
        kind(a.dtype)
        self._known(a)
        self._known(b)
        if a.dtype.kind in "iub":
            raise UnsupportedError("TensorRT multiplies matrices of floats alone")
        words = ["NONE" if x.ndim > 1 else "VECTOR" for x in (a, b)]
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        shape = (*batch, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ()))
        a, b = (self.of_rank(x, len(batch) + min(x.ndim, 2)) for x in (a, b))
        left, right = (f"trt.MatrixOperation.{word}" for word in words)
        return self.layer("add_matrix_multiply", (a, left, b, right), shape, a.dtype)

    def weighted(self, a: Tensor, b: Tensor, start: Tensor | None = None) -> Tensor:
        result = self.matmul(a, b)
        return result if start is None else self.map(np.add, result, start)

    def hoisted(
        self,
        step: IterationFunction,
        iteration: Tensor,
        trips: Tensor | None,
        sources: Sequence[tuple[Tensor, View]],
        others: Sequence[Tensor],
        conditional: bool,
        only: bool = False,
    ) -> Tensor:
        raise UnsupportedError("it reads rows of many iterations at once")

    # -- shapes and places

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        shape = tuple(int(n) for n in shape)
        if shape == x.shape:
            return x
        if x.array is not None:
            return self.made(x.array.reshape(shape))
        self._known(x)
        more = [f"reshape_dims = {dims(shape)}"]
        if 0 in shape:
            more.append("zero_is_placeholder = False")
        return self.layer("add_shuffle", (x,), shape, x.dtype, more)

    def transpose(self, x: Tensor, perm: Sequence[int]) -> Tensor:
        perm = tuple(perm)
        if perm == tuple(range(x.ndim)):
            return x
        if x.array is not None:
            return self.made(x.array.transpose(perm))
        shape = [x.shape[d] for d in perm]
        return self.layer("add_shuffle", (x,), shape, x.dtype, [f"first_transpose = {dims(perm)}"])

    def broadcast(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        shape = tuple(shape)
        if shape == x.shape:
            return x
        if x.array is not None:
            return self.made(np.broadcast_to(x.array, shape))
        x = self.of_rank(x, len(shape))
        strides = [int(mine == wanted) for mine, wanted in zip(x.shape, shape, strict=True)]
        return self._cut(x, (0,) * len(shape), shape, strides)

    def slice(self, x: Tensor, starts: Sequence[int], steps: Sequence[int], extents: Sequence[int]) -> Tensor:
        if x.array is not None:
            return self.made(self._eager.slice(x.array, starts, steps, extents))
        self._known(x)
        whole = all(start == 0 and step == 1 for start, step in zip(starts, steps, strict=True))
        return x if whole and tuple(extents) == x.shape else self._cut(x, starts, extents, steps)

    def _cut(
        self, x: Tensor, starts: Sequence[int], shape: Sequence[int], steps: Sequence[int], more: Sequence[str] = ()
    ) -> Tensor:
        return self.layer("add_slice", (x, dims(starts), dims(shape), dims(steps)), shape, x.dtype, more)

    def slice_at(self, x: Tensor, axis: int, start: Tensor, end: Tensor) -> Tensor:
        if (arrays := self._arrays(start, end)) is None:
            raise UnsupportedError("how much it cuts is known only at run time, and a tensor in a loop has one shape")
        first, last, _ = slice(int(arrays[0].reshape(())), int(arrays[1].reshape(()))).indices(x.shape[axis])
        starts = [first if d == axis else 0 for d in range(x.ndim)]
        extents = [max(last - first, 0) if d == axis else n for d, n in enumerate(x.shape)]
        return self.slice(x, starts, (1,) * x.ndim, extents)

    def assemble(
        self,
        shape: Sequence[int],
        dtype: np.dtype[Any],
        pieces: Sequence[tuple[Tensor, Sequence[int]]],
        fill: Any = None,
    ) -> Tensor:
        shape = tuple(shape)
        if all(piece.array is not None for piece, _ in pieces):
            return self.made(self._eager.assemble(shape, dtype, [(p.array, s) for p, s in pieces], fill))  # type: ignore[misc]
        pieces = [(piece, starts) for piece, starts in pieces if piece.size]
        if len(pieces) == 1 and pieces[0][0].shape == shape:
            return pieces[0][0]
        if len(pieces) == 1:
            piece, starts = pieces[0]
            before = [-start for start in starts]
            value = self.made(np.array(fill, dtype))
            mode = ["mode = trt.SampleMode.FILL", f"set_input(4, {self.name(value)})"]
            return self._cut(piece, before, shape, (1,) * len(shape), mode)
        axis = _joined(shape, pieces)
        if axis is None:
            raise UnsupportedError("TensorRT joins tensors along one axis, and here they lie otherwise")
        inputs = [piece for piece, _ in sorted(pieces, key=lambda pair: pair[1][axis])]
        told = ", ".join(map(self.name, inputs))
        found = self.layer("add_concatenation", (f"[{told}]",), shape, dtype, [f"axis = {axis}"])
        return replace(found, loops=frozenset().union(*(x.loops for x in inputs)))

    def gather(self, x: Tensor, indices: Tensor, axis: int) -> Tensor:
        if (arrays := self._arrays(x, indices)) is not None:
            return self.made(self._eager.gather(arrays[0], arrays[1], axis))
        self._known(x)
        shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
        loop, trips = self.iterations.get(indices.code, ("", 0))
        if loop and loop not in x.loops and trips <= x.shape[axis]:
            # What an iteration takes by its number is what an iterator gives.
            found = self.layer("add_iterator", (x, str(axis)), shape, x.dtype, of=loop)
            return replace(found, loops=found.loops | indices.loops)
        return self.layer("add_gather", (x, indices, str(axis)), shape, x.dtype)

    # -- what has no words in layers, and what is known

    def call(self, routine: Routine, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        if (arrays := self._arrays(*inputs)) is not None:
            return tuple(map(self.made, self._eager.call(routine, arrays)))
        raise UnsupportedError("no TensorRT layer is known to do this")

    def constant(self, array: Array) -> Tensor:
        return self.made(array)

    def prepared(self, x: Tensor, layout: Callable[[Array], Array]) -> Tensor | None:
        return None

    def integers(self, x: Tensor) -> tuple[int, ...]:
        return tuple(int(n) for n in self.value(x).reshape(-1))

    def numbers(self, values: Sequence[int], shape: Sequence[int], dtype: np.dtype[Any]) -> Tensor:
        return self.made(np.array(values, dtype).reshape(tuple(shape)))

    def value(self, x: Tensor) -> Array:
        if x.array is None:
            raise UnsupportedError("a shape or an axis of it is computed at run time, and a tensor in a loop has one")
        return x.array


def kind(dtype: np.dtype[Any]) -> str:
    """A dtype in TensorRT's words.

    Raises:
        UnsupportedError: its tensors do not have that type.
    """
    name = "string" if dtype.hasobject else dtype.name
    if name not in TYPES:
        raise UnsupportedError(f"TensorRT has no {name}")
    return TYPES[name]


def _called(function: Any) -> str:
    return str(getattr(function, "__name__", None) or function.name)


def _slug(array: Array) -> str:
    if array.size != 1 or array.dtype.kind not in "biuf":
        return "x".join(map(str, array.shape)) or "scalar"
    return str(array.reshape(-1)[0]).replace("-", "minus_").replace(".", "_")


def _joined(shape: Sequence[int], pieces: Sequence[tuple[Tensor, Sequence[int]]]) -> int | None:
    """The axis along which pieces lie one behind the other and fill ``shape``; None where they do not."""
    for axis, length in enumerate(shape):
        at = 0
        for piece, starts in sorted(pieces, key=lambda pair: pair[1][axis]):
            others = [d for d in range(len(shape)) if d != axis]
            if starts[axis] != at or any(starts[d] or piece.shape[d] != shape[d] for d in others):
                break
            at += piece.shape[axis]
        else:
            if at == length:
                return axis
    return None
