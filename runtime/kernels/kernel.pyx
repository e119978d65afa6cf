# distutils: sources = src/loopdbg/runtime/kernels/elementwise/inner_loops.c src/loopdbg/runtime/kernels/elementwise/functions.c src/loopdbg/runtime/kernels/elementwise/scalar_calls.c src/loopdbg/runtime/kernels/reduce/outer_axis_fold.c
"""Native kernels: NumPy's own ufunc and gufunc inner loops (BLAS among them), and our own where NumPy has none.

A :class:`Kernel` is a description made once by the binder; loop_nest.pyx turns a call of one into a C ``Call``.
"""

cimport cython
cimport numpy as np
from numpy cimport npy_intp

from .call cimport Call, half_loop, inner_loop, run_call
from .processor cimport loopdbg_cpu, current_processor

from importlib import import_module

import numpy as np

cdef extern from "kernels/elementwise/inner_loops.h" nogil:
    void loopdbg_copy(char **, const npy_intp *, const npy_intp *, void *) noexcept
    void loopdbg_where(char **, const npy_intp *, const npy_intp *, void *) noexcept
    inner_loop loopdbg_transpose(npy_intp size) noexcept
    inner_loop loopdbg_cast(char from_type, char to_type) noexcept
    inner_loop loopdbg_row_loop(const char *name, char type) noexcept
    inner_loop loopdbg_strided_loop(const char *name, char type) noexcept
    inner_loop loopdbg_fold_contiguous(const char *name, char type, int rows) noexcept
    inner_loop loopdbg_native_loop_for(const char *name, char type) noexcept
    void loopdbg_half_via_float(char **, const npy_intp *, const npy_intp *, void *) noexcept
    void loopdbg_fold_half_via_float(char **, const npy_intp *, const npy_intp *, void *) noexcept
    void loopdbg_fold_half_native(char **, const npy_intp *, const npy_intp *, void *) noexcept
    void loopdbg_fold_half_max(char **, const npy_intp *, const npy_intp *, void *) noexcept
    void loopdbg_fold_half_min(char **, const npy_intp *, const npy_intp *, void *) noexcept
    inner_loop loopdbg_half_fold_for(const char *name, int brain) noexcept
    inner_loop loopdbg_transpose_half_to_float(int brain) noexcept
    int loopdbg_half_operation_for(const char *name) noexcept

cdef extern from "kernels/reduce/outer_axis_fold.h" nogil:
    inner_loop loopdbg_fold(const char *name, char type, int rows) noexcept

cdef extern from "kernels/elementwise/functions.h" nogil:
    half_loop loopdbg_half_function(const char *name) noexcept

cdef extern from "kernels/elementwise/scalar_calls.h" nogil:
    run_call loopdbg_scalar_call_for(const char *name, char type) noexcept
    int loopdbg_opcode(run_call run) noexcept

np.import_array()
np.import_ufunc()
loopdbg_cpu = current_processor()

# NumPy has two type characters for one machine type where C has (long and long long); one of them is used.
_CANONICAL = {np.dtype(t).char: np.dtype(t).char
              for t in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")}
_BY_SIZE = {(d.kind, d.itemsize): d.char for d in map(np.dtype, _CANONICAL)}


#: The character of ml_dtypes' bfloat16; NumPy has no type of that character.
_BRAIN = "E"


def type_char(dtype):
    """The canonical type character for loops of ``dtype``, or "" for types without native loops."""
    if dtype.char == _BRAIN and dtype.kind == "V":
        return _BRAIN
    return _BY_SIZE.get((dtype.kind, dtype.itemsize), "") if dtype.isnative else ""


# Correctly rounded: the same bits for any memory layout. NumPy's other loops may compute differently where elements are
# not contiguous.
_EXACT = frozenset({
    np.add, np.subtract, np.multiply, np.divide, np.reciprocal, np.sqrt, np.square,
    np.negative, np.absolute, np.sign, np.floor, np.ceil, np.trunc, np.rint,
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.isnan, np.isinf, np.isfinite,
    np.logical_and, np.logical_or, np.logical_xor, np.logical_not,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift,
})


# Products computed by BLAS, by signature, and their drivers.
_BLAS = {"ff->f": "product", "dd->d": "blas"}


# Functions of float16 that are computed in float32 and rounded. NumPy's float16 loops do the same number by number,
# reading the exception flags at each: exp takes 36 ns a number there, and 0.6 here.
_THROUGH_FLOATS = _EXACT | frozenset({
    np.maximum, np.minimum, np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.logaddexp,
    np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.arctan2,
    np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh, np.cbrt, np.power, np.fmod, np.remainder,
})


@cython.final
cdef class Kernel:
    """One C function bound to dtypes: an inner loop with its data, and its driver.

    ``driver``: "loop" (inner loop with outer axes), "copy" and "where" (the same, also over rows), "checked" (the same;
    the loop reports failure), "blas" (BLAS's loop), "product" (the same, or a loop for small products), or one without
    a loop (``driver_kernel``).
    ``out``: dtype of the result. ``elementwise``: each element depends only on those at its index; not so for a gufunc.
    ``exact``: an element of the result depends on nothing else, not even on the steps.

    ``sizes``: element sizes of the arguments, for inexact and transposing kernels. ``scalar_run``: runs a single
    element. ``fold``: loop for a single output element that is also read; ``fold_contiguous``: for contiguous operands
    as well; ``fold_contiguous_rows``: over two axes; ``rows``: over two, of which the inner one is short;
    ``fold_outer_axis`` and ``fold_outer_rows``: where the output is constant along the first or the second axis around
    the inner one, ``contiguous_only``: if the inner one is contiguous; ``transpose_loop``: over two axes, of which the
    input is contiguous along the outer one.
    """

    @property
    def has_transpose_loop(self):
        """Is there a loop that transposes matrices in blocks?"""
        return self.transpose_loop != NULL

    @property
    def short_row_itemsize(self):
        """Element size if ``rows`` takes rows of any length, 0: there is no such loop."""
        return 0 if self.rows == NULL else self.out.itemsize


cdef Kernel _make_kernel(inner_loop loop, void *data, str driver, object out, bint elementwise, run_call scalar_run=NULL):
    cdef Kernel kernel = Kernel.__new__(Kernel)
    char = type_char(out)
    # Kernels are cached by dtype, and equal dtypes may have different characters.
    kernel.out = out if char in ("", _BRAIN) else np.dtype(char)
    kernel.loop, kernel.data, kernel.driver, kernel.scalar_run = loop, data, driver, scalar_run
    kernel.elementwise = kernel.exact = elementwise
    return kernel


cdef run_call _find_scalar_function(str name, int char_or_size) except? NULL:
    """The function for one element of an operation; NULL: none."""
    return loopdbg_scalar_call_for(name.encode(), char_or_size) if char_or_size < 128 else NULL


cdef int opcode(const Call *call) noexcept nogil:
    """The equivalent opcode of scalar programs; -1: none."""
    return loopdbg_opcode(call.run)


cdef int opcode_of_function(run_call scalar_run) noexcept nogil:
    """The same for a function of one element; NULL has none."""
    return -1 if scalar_run == NULL else loopdbg_opcode(scalar_run)


def ufunc_kernel(np.ufunc ufunc, tuple dtypes):
    """NumPy's inner loop of a ufunc or gufunc for exactly these input dtypes; None: it has none.

    The result's dtype is ``.out``. Object loops are excluded (they need the GIL).
    """
    cdef int k, j
    cdef Kernel kernel
    cdef inner_loop own_loop
    cdef object signatures = (<object>ufunc).types     # "ff->f" and the like, in the order of the loops
    chars = [type_char(d) for d in dtypes]
    if "" in chars or len(chars) != ufunc.nin or ufunc.nout != 1:
        return None
    if _BRAIN in chars or (ufunc in _THROUGH_FLOATS and "e" in chars):
        return _ufunc_via_float32(ufunc, dtypes)
    for k, signature in enumerate(signatures):
        inputs, _, output = signature.partition("->")
        out = np.dtype(output)
        if type_char(out) and [type_char(np.dtype(char)) for char in inputs] == chars:
            kernel = _make_kernel(<inner_loop><void *>ufunc.functions[k], <void *>ufunc.data[k], "loop", out,
                             (<object>ufunc).signature is None)
            if ufunc is np.matmul and signature in _BLAS:
                kernel.driver = _BLAS[signature]
            kernel.exact = ufunc in _EXACT or all(np.dtype(char).kind in "biu" for char in inputs)
            for j, char in enumerate(inputs + output):
                kernel.sizes[j] = np.dtype(char).itemsize
            if all(char == chars[0] for char in chars):
                kernel.scalar_run = _find_scalar_function(ufunc.__name__, ord(chars[0]))
                own_loop = loopdbg_strided_loop(ufunc.__name__.encode(), ord(chars[0]))
                if len(chars) == 1 and own_loop != NULL:
                    kernel.loop, kernel.exact = own_loop, True
                if len(chars) == 2:
                    kernel.rows = loopdbg_row_loop(ufunc.__name__.encode(), ord(chars[0]))
                    kernel.fold_outer_axis = loopdbg_fold(ufunc.__name__.encode(), ord(chars[0]), False)
                    kernel.fold_outer_rows = loopdbg_fold(ufunc.__name__.encode(), ord(chars[0]), True)
                    if own_loop != NULL:
                        # NumPy's loop reduces: several elements at once, or pairwise.
                        kernel.fold, kernel.loop, kernel.exact = kernel.loop, own_loop, True
                    kernel.fold_contiguous = loopdbg_fold_contiguous(ufunc.__name__.encode(), ord(chars[0]), False)
                    kernel.fold_contiguous_rows = loopdbg_fold_contiguous(ufunc.__name__.encode(), ord(chars[0]), True)
                    if ufunc in (np.maximum, np.minimum) and kernel.fold_contiguous != NULL:
                        # The sign of a zero result depends on the positions of the others in NumPy's loop.
                        kernel.fold = kernel.fold_contiguous
            return kernel
    return None


cdef Kernel _ufunc_via_float32(np.ufunc ufunc, tuple dtypes):
    """float16 and bfloat16 by the loop for float32; None: there is none."""
    cdef int k
    cdef Kernel kernel, floats
    cdef bint brain = type_char(dtypes[0]) == _BRAIN
    if any([dtype != dtypes[0] for dtype in dtypes]) or (<object>ufunc).signature is not None:
        return None
    floats = ufunc_kernel(ufunc, (np.dtype(np.float32),) * len(dtypes))
    if floats is None or floats.out not in (np.float32, np.bool_):
        return None
    kernel = _wrap_float32_kernel(floats, dtypes[0], <int>len(dtypes), ufunc.__name__)
    # A loop of one input always gets contiguous elements.
    kernel.exact = len(dtypes) == 1 or ufunc in _EXACT or ufunc in (np.maximum, np.minimum)
    kernel.half.operation = loopdbg_half_operation_for(ufunc.__name__.encode())
    if len(dtypes) == 2 and kernel.half.narrow:
        kernel.rows = loopdbg_row_loop(ufunc.__name__.encode(), ord(type_char(dtypes[0])))
        kernel.fold_contiguous_rows = loopdbg_fold_contiguous(ufunc.__name__.encode(), ord(type_char(dtypes[0])), True)
        kernel.fold_outer_axis, kernel.contiguous_only = loopdbg_half_fold_for(ufunc.__name__.encode(), brain), True
        kernel.half.fold, kernel.half.fold_data = floats.loop if floats.fold == NULL else floats.fold, floats.data
        kernel.fold = <inner_loop>loopdbg_fold_half_via_float
        if not brain and ufunc is np.maximum:
            kernel.fold = <inner_loop>loopdbg_fold_half_max
        elif not brain and ufunc is np.minimum:
            kernel.fold = <inner_loop>loopdbg_fold_half_min
        elif not brain:
            # NumPy sums pairwise, depending on the number of elements.
            k = (<object>ufunc).types.index("ee->e")
            kernel.half.fold, kernel.half.fold_data = <inner_loop><void *>ufunc.functions[k], <void *>ufunc.data[k]
            kernel.fold = <inner_loop>loopdbg_fold_half_native
    return kernel


cdef Kernel _wrap_float32_kernel(Kernel floats, object dtype, int inputs, str name):
    """The kernel of ``floats``, the function of that name, for ``inputs`` operands of float16 or bfloat16."""
    cdef int j
    cdef Kernel kernel = _make_kernel(<inner_loop>loopdbg_half_via_float, NULL, "loop",
                                 dtype if floats.out == np.float32 else floats.out, True)
    kernel.floats = floats
    kernel.half.loop, kernel.half.data = floats.loop, floats.data
    kernel.half.inputs, kernel.half.brain = inputs, type_char(dtype) == _BRAIN
    kernel.half.narrow = floats.out == np.float32
    kernel.half.operation = -1
    if inputs == 1:
        kernel.half.halves = loopdbg_half_function(name.encode())
    kernel.data = &kernel.half
    for j in range(inputs):
        kernel.sizes[j] = dtype.itemsize
    kernel.sizes[inputs] = kernel.out.itemsize
    return kernel


def native_loop_kernel(str name, dtype):
    """Our own elementwise loop of that name for inputs of ``dtype``; None: there is none."""
    char = type_char(dtype)
    cdef inner_loop loop = NULL
    if char == _BRAIN or char == "e":
        floats = native_loop_kernel(name, np.dtype(np.float32))
        return None if floats is None else _wrap_float32_kernel(floats, dtype, 1, name)
    if char:
        loop = loopdbg_native_loop_for(name.encode(), ord(char))
    return None if loop == NULL else _make_kernel(loop, NULL, "checked", dtype, True, _find_scalar_function(name, ord(char)))


def copy_kernel(dtype):
    """Copy elements of any fixed-size dtype, with strides on both sides."""
    size = dtype.itemsize
    cdef Kernel kernel = _make_kernel(<inner_loop>loopdbg_copy, <void *><npy_intp>size, "copy", dtype, True, _find_scalar_function("copy", size))
    kernel.sizes[0] = kernel.sizes[1] = size
    kernel.transpose_loop = loopdbg_transpose(size)
    return kernel


def where_kernel(dtype):
    """Choose between two arrays of any fixed-size dtype by a boolean one."""
    size = dtype.itemsize
    return _make_kernel(<inner_loop>loopdbg_where, <void *><npy_intp>size, "where", dtype, True, _find_scalar_function("where", size))


def cast_kernel(source, target):
    """Convert each element; None: a type has no native loop."""
    a, b = type_char(source), type_char(target)
    cdef inner_loop loop = NULL
    if a and b:
        loop = loopdbg_cast(ord(a), ord(b))
    if loop == NULL:
        return None
    cdef Kernel kernel = _make_kernel(loop, NULL, "loop", target, True, _find_scalar_function("cast " + b, ord(a)))
    if b == "f" and a in ("e", _BRAIN):
        kernel.sizes[0], kernel.sizes[1] = 2, 4
        kernel.transpose_loop = loopdbg_transpose_half_to_float(a == _BRAIN)
    return kernel


def driver_kernel(str driver, out):
    """A kernel without a loop: "gather", "arg", "slice_at", "panels", "block", "skip"; its numbers are ``extra``."""
    return _make_kernel(NULL, NULL, driver, out, False)


def routine_kernel(str name):
    """A routine of ours, "module.name", from the package ``bindings``, whose modules are imported on first use."""
    module, _, function = name.partition(".")
    cdef size_t address = import_module(f"{__package__}.bindings.{module}").ROUTINES[function]
    cdef Kernel kernel = _make_kernel(NULL, NULL, "routine", np.dtype(np.uint8), False)
    kernel.routine = <run_call><void *>address
    return kernel
