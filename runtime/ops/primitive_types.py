"""The primitive operations from which all operators are composed: the methods of ``eager.EagerPrimitives``.

``T`` is a NumPy array in eager evaluation, and a buffer description when kernels are bound; both have ``shape`` (a
tuple of int) and ``dtype``. Only ``value`` reads data: decisions based on it (an output shape, an axis)
are valid until the data changes, which the engine checks before each call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
    #: The number of leading inputs that it reads by strides. The steps of the call are those of all axes but the last
    #: one, which is contiguous.
    strided_inputs: int = 0
    #: For each output, the axis with data-dependent extent, -1: none; its shape has the capacity. The routine writes
    #: packed elements, and the extent as an int64 after the outputs. Only operator outputs may grow.
    growing_axes: Sequence[int] = ()
