"""The primitive operations from which all operators are composed.

``T`` is a NumPy array in eager evaluation, and a buffer description when kernels are bound; both have ``shape`` (a
tuple of int) and ``dtype``. Only :meth:`Primitives.value` reads data: decisions based on it (an output shape, an axis)
are valid until the data changes, which the engine checks before each call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from ..errors import LoopdbgError
from ..graph import Array
from ..record import record


class NoNativeKernel(Exception):
    """Raised at bind time: the operator must run in Python for these dtypes and shapes."""


#: Exceptions of binding an operator: no kernel, or invalid inputs.
REFUSAL_ERRORS: tuple[type[Exception], ...] = (
    NoNativeKernel,
    LoopdbgError,
    ValueError,
    IndexError,
    ZeroDivisionError,
    OverflowError,
)


@record(frozen=True)
class NativeLoop:
    """An elementwise function without NumPy ufunc: the name of a native inner loop (inner_loops.h), and a Python
    fallback for other types."""

    name: str
    python_function: Callable[..., Array] | None = None
    #: Error message if the loop fails.
    failure: str = ""


Elementwise = np.ufunc | NativeLoop
#: A view of a tensor as ``[rows, *part shape]``, whose strides depend only on those of the tensor.
View = Callable[[Array], Array]
#: (primitives, parts of an iteration, loop-invariant tensors) -> result
IterationFunction = Callable[[Any, Sequence[Any], Sequence[Any]], Any]
T = TypeVar("T")


@record(frozen=True)
class RoutineCall:
    """A call of a C function of kernels/routines, "module.name"."""

    name: str
    #: Shape and dtype of each row-major output.
    outputs: Sequence[tuple[Sequence[int], np.dtype[Any]]]
    #: Up to 12 integers, which may depend on extents.
    params: Sequence[int] = ()
    #: Size of scratch memory.
    scratch_bytes: int = 0
    #: Error message (ModelError) if it fails.
    failure: str = ""
    #: Inputs with independent rows, whose count is the first parameter: rows of many iterations can be batched.
    rows: Sequence[int] = ()
    #: For each output, the axis with data-dependent extent, -1: none; its shape has the capacity. The routine writes
    #: packed elements, and the extent as an int64 after the outputs. Only operator outputs may grow.
    growing_axes: Sequence[int] = ()


class Primitives(Protocol[T]):
    """See the module. Shapes are tuples of int; ``axis`` and ``axes`` are non-negative.

    ``emits``: calls are recorded at bind time instead of computed.
    """

    emits: bool

    def map(self, function: Elementwise, *inputs: T) -> T:
        """Elementwise with NumPy broadcasting. The input dtypes match the function's loop."""

    def reduce(self, ufunc: np.ufunc, x: T, axes: Sequence[int], keepdims: bool) -> T:
        """Reduce over ``axes`` by a binary ufunc, preserving the dtype. Empty ``axes``: a copy."""

    def accumulate(self, ufunc: np.ufunc, x: T, axis: int) -> T:
        """Accumulate along ``axis``, as ``ufunc.accumulate``, preserving the dtype."""

    def arg(self, which: str, x: T, axis: int, last: bool) -> T:
        """The int64 index of the maximum or minimum (``which``: "max" or "min") along ``axis`` (kept with size 1);
        ties: first, or last. A NaN is the extreme, as in NumPy."""

    def matmul(self, a: T, b: T) -> T:
        """NumPy's matmul for ranks from 1 on; batch axes broadcast."""

    def weighted(self, a: T, b: T, start: T | None = None) -> T:
        """``matmul`` with a reused ``b``: sums in the order of packed_weights.h if supported, starting from ``start``,
        which broadcasts to the product."""

    def hoisted(
        self,
        step: IterationFunction,
        iteration: T,
        trips: T | None,
        sources: Sequence[tuple[T, View]],
        others: Sequence[T],
        conditional: bool,
    ) -> T:
        """``step(p, parts, others)`` for an iteration of the innermost loop, where ``parts`` are its rows of the
        sources. May be computed for a batch of iterations.

        ``trips``: the trip count, if any; ``conditional``: a condition may end the loop at any iteration.
        """

    def where(self, condition: T, a: T, b: T) -> T:
        """Elementwise selection with broadcasting; ``a`` and ``b`` share a dtype."""

    def cast(self, x: T, dtype: np.dtype[Any]) -> T:
        """Convert each element as in C (float to integer truncates)."""

    def reshape(self, x: T, shape: Sequence[int]) -> T:
        """Reshape in row-major order; sizes match, no -1."""

    def transpose(self, x: T, perm: Sequence[int]) -> T:
        """Permute axes: output axis k is input axis ``perm[k]``."""

    def broadcast(self, x: T, shape: Sequence[int]) -> T:
        """Broadcast to exactly ``shape``, as in NumPy."""

    def slice(self, x: T, starts: Sequence[int], steps: Sequence[int], extents: Sequence[int]) -> T:
        """The ``extents[k]`` elements at ``starts[k] + j * steps[k]`` along each axis k, all in bounds."""

    def slice_at(self, x: T, axis: int, start: T, end: T) -> T:
        """``x[start:end]`` along ``axis`` with one-element integer bounds that are read at each call; as in NumPy,
        negative ones count from the end and both are clamped."""

    def assemble(
        self, shape: Sequence[int], dtype: np.dtype[Any], pieces: Sequence[tuple[T, Sequence[int]]], fill: Any = None
    ) -> T:
        """A new tensor with each piece at its start index, else ``fill`` (None: the pieces cover it)."""

    def gather(self, x: T, indices: T, axis: int) -> T:
        """NumPy's ``take``: int32 or int64 indices of any shape; negative ones count from the end. An index out of
        bounds raises IndexError."""

    def call(self, routine: RoutineCall, inputs: Sequence[T]) -> tuple[T, ...]:
        """Call a routine; it reads its inputs in row-major order."""

    def sequence(
        self,
        name: str,
        inputs: Sequence[T],
        output: tuple[Sequence[int], np.dtype[Any]] | None = None,
        numbers: Sequence[int] = (),
    ) -> T:
        """Call a function of kernels/routines/sequences, only if ``emits``: in Python a sequence is a list.
        ``output``: shape and dtype of a tensor result; None: the result is a sequence."""

    def constant(self, array: Array) -> T:
        """A value that depends only on attributes, shapes and dtypes."""

    def prepared(self, x: T, layout: Callable[[Array], Array]) -> T | None:
        """``layout`` of a constant, cached across bindings; None if ``x`` is not constant, and in eager evaluation,
        which reads it once. The caller's fallback on ``x`` must give identical bits."""

    def integers(self, x: T) -> tuple[int, ...]:
        """The integers of a shape-like ``x`` in row-major order. They may be symbolic extents, unlike those of
        :meth:`value`, so that growing tensors need no rebinding."""

    def numbers(self, values: Sequence[int], shape: Sequence[int], dtype: np.dtype[Any]) -> T:
        """A tensor of integers that depend on varying shapes."""

    def value(self, x: T) -> Array:
        """The current data of ``x``. Kernels bound on it are rebound when it changes."""
