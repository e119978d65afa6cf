"""The primitives in terms of which every operator is written.

``T`` is a NumPy array when an operator runs eagerly, and a description of a buffer when kernels are bound; both have
``shape`` (a tuple of int) and ``dtype``. Only :meth:`Primitives.value` gives numbers: what an operator decides from
them (an output shape, an axis) holds until they change, and the engine checks that before each call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from ..errors import LoopdbgError
from ..graph import Array
from ..record import record


class NoNativeKernel(Exception):
    """Raised while kernels are bound: this operator, on these dtypes and shapes, has to run in Python."""


#: What binding an operator may raise: there is no kernel, or it rejects its inputs, as it does in Python.
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
    """An elementwise function that NumPy's ufuncs lack: the name of our inner loop for it (inner_loops.h says what it
    means), or, for types that have none, what computes it in Python."""

    name: str
    python_function: Callable[..., Array] | None = None
    #: What is wrong where the loop fails.
    failure: str = ""


Elementwise = np.ufunc | NativeLoop
#: A tensor as ``[rows, *part shape]``, a view whose strides depend on those of the tensor alone.
View = Callable[[Array], Array]
#: (primitives, the parts of one iteration, what is the same in all of them) -> result
IterationFunction = Callable[[Any, Sequence[Any], Sequence[Any]], Any]
T = TypeVar("T")


@record(frozen=True)
class RoutineCall:
    """A call of a C function of kernels/routines, "module.name" (its package says how it is called)."""

    name: str
    #: Shape and dtype of each output that it fills, in row-major order.
    outputs: Sequence[tuple[Sequence[int], np.dtype[Any]]]
    #: Up to 12 integers, which may follow extents.
    params: Sequence[int] = ()
    #: Bytes that it may use while it runs.
    scratch_bytes: int = 0
    #: What is wrong where it fails (ModelError).
    failure: str = ""
    #: Inputs of which it takes any number of rows, each for itself, as many as the first number says: the rows of many
    #: iterations may come one after the other.
    rows: Sequence[int] = ()
    #: It writes a few places of a copy of its first input, which is its one output, and says so
    #: (dirty_range_journal.h).
    updates_copy: bool = False
    #: For each output the axis whose extent depends on the data, -1: none; the shape has its capacity. The routine
    #: writes the elements one after the other, and behind the outputs the extent, as an int64. Such a result can only
    #: be one of the operator's own.
    growing_axes: Sequence[int] = ()


class Primitives(Protocol[T]):
    """See the module. Shapes are tuples of int; ``axis`` and ``axes`` are already non-negative.

    ``emits``: each call is one more in what is bound, and nothing is computed yet.
    """

    emits: bool

    def map(self, function: Elementwise, *inputs: T) -> T:
        """Elementwise with NumPy broadcasting. All inputs have the dtypes that the function's loop takes."""

    def reduce(self, ufunc: np.ufunc, x: T, axes: Sequence[int], keepdims: bool) -> T:
        """Reduce over ``axes`` by a binary ufunc; the dtype stays. Empty ``axes``: a copy."""

    def accumulate(self, ufunc: np.ufunc, x: T, axis: int) -> T:
        """Running results along ``axis``, as ``ufunc.accumulate``; the dtype stays."""

    def arg(self, which: str, x: T, axis: int, last: bool) -> T:
        """``which`` is "max" or "min": int64 index of the extreme along ``axis`` (kept with size 1); ties: first,
        or last. A NaN counts as the extreme, as in NumPy."""

    def matmul(self, a: T, b: T) -> T:
        """NumPy's matmul, ranks 1 and up, batch axes broadcast."""

    def weighted(self, a: T, b: T, start: T | None = None) -> T:
        """``matmul`` where ``b`` is used again and again: each sum in the order of packed_weights.h, if they fit it,
        and begun with ``start``, which broadcasts to the product."""

    def hoisted(
        self,
        step: IterationFunction,
        iteration: T,
        trips: T | None,
        sources: Sequence[tuple[T, View]],
        others: Sequence[T],
        conditional: bool,
    ) -> T:
        """``step(p, parts, others)`` for one iteration of the innermost loop, where ``parts`` are the rows that the
        sources have for it. It may be computed for a batch of iterations at once.

        ``trips``: the trip count, if there is one; ``conditional``: a condition may end the loop at any iteration.
        """

    def where(self, condition: T, a: T, b: T) -> T:
        """Elementwise choice with broadcasting; ``a`` and ``b`` share a dtype."""

    def cast(self, x: T, dtype: np.dtype[Any]) -> T:
        """C's conversion of each element (float to integer truncates)."""

    def reshape(self, x: T, shape: Sequence[int]) -> T:
        """The same elements in row-major order; sizes match, no -1."""

    def transpose(self, x: T, perm: Sequence[int]) -> T:
        """Output axis k is input axis ``perm[k]``."""

    def broadcast(self, x: T, shape: Sequence[int]) -> T:
        """NumPy broadcasting to exactly ``shape``."""

    def slice(self, x: T, starts: Sequence[int], steps: Sequence[int], extents: Sequence[int]) -> T:
        """Along every axis k the ``extents[k]`` elements at ``starts[k] + j * steps[k]``, all inside ``x``."""

    def slice_at(self, x: T, axis: int, start: T, end: T) -> T:
        """``x[start:end]`` along ``axis``, step 1, one-element integer bounds that are read at each call; negative
        ones count from the end and both are clamped, as in NumPy."""

    def assemble(
        self, shape: Sequence[int], dtype: np.dtype[Any], pieces: Sequence[tuple[T, Sequence[int]]], fill: Any = None
    ) -> T:
        """A new tensor with each piece written at its start index; the rest is ``fill`` (None: nothing is left)."""

    def gather(self, x: T, indices: T, axis: int) -> T:
        """NumPy's ``take``: int32 or int64 indices of any shape; negative ones count from the end. An index outside
        is an error (IndexError)."""

    def call(self, routine: RoutineCall, inputs: Sequence[T]) -> tuple[T, ...]:
        """The outputs of a routine; its inputs are read in row-major order."""

    def sequence(
        self,
        name: str,
        inputs: Sequence[T],
        output: tuple[Sequence[int], np.dtype[Any]] | None = None,
        numbers: Sequence[int] = (),
    ) -> T:
        """A function of kernels/routines/sequences, on sequences and tensors; only where it ``emits``: in Python a
        sequence is a list. ``output``: shape and dtype of the tensor that it gives, None: it gives a sequence."""

    def constant(self, array: Array) -> T:
        """A value that depends on nothing but attributes, shapes and dtypes."""

    def prepared(self, x: T, layout: Callable[[Array], Array]) -> T | None:
        """``layout`` of a constant, made once however often it is bound; None where ``x`` is none, and always while
        computing: what is read once is not worth it. What follows must give the same bits from ``x`` itself."""

    def integers(self, x: T) -> tuple[int, ...]:
        """The numbers in ``x``, a shape or the like, in row-major order. They may follow extents, and say less about
        themselves than :meth:`value` then: where tensors grow, what is bound on them need not be bound again."""

    def numbers(self, values: Sequence[int], shape: Sequence[int], dtype: np.dtype[Any]) -> T:
        """A tensor of integers that follow from shapes, which may vary."""

    def value(self, x: T) -> Array:
        """The numbers in ``x`` now. Kernels bound on them are bound again when they change."""
