"""What is in a tensor, and how it differs from another one: one pass over its memory, without the GIL (summary.h)."""

cimport numpy as np
from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from .processor cimport loopdbg_cpu, current_processor

import numpy as np

np.import_array()
loopdbg_cpu = current_processor()

cdef extern from "kernels/reduce/tensor_summary.h" nogil:
    enum:
        KIND_NONE
        KIND_BOOL
        KIND_I8
        KIND_U8
        KIND_I16
        KIND_U16
        KIND_I32
        KIND_U32
        KIND_I64
        KIND_U64
        KIND_F16
        KIND_BF16
        KIND_F32
        KIND_F64
        KIND_C64
        KIND_C128
        KIND_TABLE
    ctypedef struct loopdbg_summary:
        int64_t size, finite, nan, inf, zeros, argmin, argmax, int64_min, int64_max
        double low, high, mean, spread, squares, unit, int64_squared_deviations
    ctypedef struct loopdbg_difference:
        int64_t size, same, lost, at
        double largest
        uint64_t uint64_largest
    void loopdbg_summary_begin(loopdbg_summary *s)
    void loopdbg_difference_begin(loopdbg_difference *c)
    void loopdbg_summarize(int kind, const double *table, int64_t itemsize, const char *data, const char *before, int64_t n,
                      loopdbg_summary *s, loopdbg_difference *c)
    void loopdbg_summarize_rows(int kind, const double *table, int64_t itemsize, const char *data, int64_t rows, int64_t n,
                              double *low, double *high, double *mean, double *norm, int64_t *odd)

_KINDS = {
    "bool": KIND_BOOL, "int8": KIND_I8, "uint8": KIND_U8, "int16": KIND_I16, "uint16": KIND_U16, "int32": KIND_I32,
    "uint32": KIND_U32, "int64": KIND_I64, "uint64": KIND_U64, "float16": KIND_F16, "bfloat16": KIND_BF16,
    "float32": KIND_F32, "float64": KIND_F64, "complex64": KIND_C64, "complex128": KIND_C128,
}
cdef dict _TABLES = {}


cdef int number_kind(dtype):
    """How elements of a dtype are read; KIND_NONE: they are no numbers."""
    found = _KINDS.get(dtype.name)
    if found is not None:
        return found
    return KIND_TABLE if dtype.kind == "V" and dtype.itemsize == 1 and not dtype.names else KIND_NONE


cdef int is_integer_dtype(dtype):
    """Whether elements of a dtype are integers or booleans."""
    return dtype.kind in "biu" or "int" in dtype.name


cdef byte_value_table(dtype):
    """What each byte of a type of one byte means; it is never dropped."""
    if dtype not in _TABLES:
        _TABLES[dtype] = np.ascontiguousarray(np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64))
    return _TABLES[dtype]


cdef object _contiguous(part):
    """An array as the pass reads it: a copy where its elements do not lie in order, or not as the processor wants them."""
    if part.dtype.byteorder == ">":
        part = part.astype(part.dtype.newbyteorder("="))
    return part if part.flags.c_contiguous and part.flags.aligned else np.array(part, order="C")


cdef class TensorSummary:
    """What is in a tensor: of the finite elements the smallest and the largest (None where there are none), their flat
    positions, mean, standard deviation and Euclidean norm; how many are zero, NaN or infinite.

    Of complex numbers the absolute values count; booleans are 0 and 1. What is no number has none of these.
    """

    cdef loopdbg_summary s
    cdef int kind, whole

    def __cinit__(self, *args, **named):
        loopdbg_summary_begin(&self.s)
        self.kind = KIND_NONE

    @property
    def size(self):
        """The elements seen so far."""
        return self.s.size

    @property
    def nan(self):
        return self.s.nan

    @property
    def inf(self):
        return self.s.inf

    @property
    def zeros(self):
        return self.s.zeros

    @property
    def not_finite(self):
        return self.s.nan + self.s.inf

    @property
    def min_at(self):
        return self.s.argmin

    @property
    def max_at(self):
        return self.s.argmax

    @property
    def min(self):
        return None if self.s.argmin < 0 else self._number(self.s.low, self.s.int64_min)

    @property
    def max(self):
        return None if self.s.argmax < 0 else self._number(self.s.high, self.s.int64_max)

    cdef _number(self, double value, int64_t bits):
        cdef uint64_t positive
        if self.kind == KIND_I64:
            return bits
        if self.kind == KIND_U64:
            memcpy(&positive, &bits, 8)
            return positive
        return int(value) if self.whole else value

    @property
    def mean(self):
        return self.s.mean * self.s.unit if self.s.finite else None

    @property
    def std(self):
        """The standard deviation of the finite elements, those being all there are."""
        if self.s.finite and self.kind in (KIND_I64, KIND_U64):
            return sqrt(self.s.int64_squared_deviations / <double>self.s.finite)
        return sqrt(self.s.spread / <double>self.s.finite) * self.s.unit if self.s.finite else None

    @property
    def norm(self):
        """The Euclidean norm of the finite elements."""
        return sqrt(self.s.squares) * self.s.unit if self.s.finite else None


cdef class TensorDifference:
    """How a tensor became another: the largest absolute difference of an element, exact for integers, and its flat
    position (-1: there is none), and how many elements stayed the same. ``lost``: those of which the difference is NaN.

    NaN after NaN and infinity after the same infinity are no change.
    """

    cdef loopdbg_difference c
    cdef int kind, whole

    def __cinit__(self, *args, **named):
        loopdbg_difference_begin(&self.c)
        self.kind = KIND_NONE

    @property
    def size(self):
        """The elements seen so far."""
        return self.c.size

    @property
    def same(self):
        return self.c.same

    @property
    def lost(self):
        return self.c.lost

    @property
    def largest(self):
        if self.kind in (KIND_I64, KIND_U64):
            return self.c.uint64_largest
        return int(self.c.largest) if self.whole else self.c.largest

    @property
    def at(self):
        return self.c.at

    def merge(self, int64_t size, int64_t same, int64_t lost, double largest, int64_t at):
        """What somebody else found in the elements that come next; ``at`` counts from the first of them, -1: all are the
        same or lost."""
        if at >= 0 and (self.c.at < 0 or largest > self.c.largest):
            self.c.largest, self.c.at = largest, self.c.size + at
        self.c.size += size
        self.c.same += same
        self.c.lost += lost


def accumulate_pass(part, TensorSummary summary=None, before=None, TensorDifference difference=None):
    """Look at the elements that come next, in order; with ``before`` at what they were as well. False where they are no
    numbers, or of two types: then nothing was noted."""
    cdef int kind = number_kind(part.dtype)
    cdef np.ndarray one, other
    cdef const double *table = NULL
    cdef const char *data
    cdef const char *was = NULL
    cdef int64_t itemsize = part.dtype.itemsize, n = part.size
    if kind == KIND_NONE or (difference is not None and (before.dtype != part.dtype or before.size != n)):
        return False
    if kind == KIND_TABLE:
        table = <const double *>np.PyArray_DATA(byte_value_table(part.dtype))
    one = _contiguous(part)
    data = np.PyArray_BYTES(one)
    if difference is not None:
        other = _contiguous(before)
        was = np.PyArray_BYTES(other)
    cdef loopdbg_summary *s = NULL if summary is None else &summary.s
    cdef loopdbg_difference *c = NULL if difference is None else &difference.c
    if summary is not None:
        summary.kind, summary.whole = kind, is_integer_dtype(part.dtype)
    if difference is not None:
        difference.kind, difference.whole = kind, is_integer_dtype(part.dtype)
    with nogil:
        loopdbg_summarize(kind, table, itemsize, data, was, n, s, c)
    return True


def summarize_rows(rows):
    """Of each row the smallest, the largest and the mean of its finite elements, their norm, and how many are not finite;
    NaN where none is. Of complex numbers those of their magnitudes; None where they are no numbers."""
    cdef int kind = number_kind(rows.dtype)
    cdef const double *table = NULL
    cdef np.ndarray data
    cdef int64_t count = len(rows), n = rows.shape[1], itemsize = rows.dtype.itemsize
    if kind == KIND_NONE:
        return None
    if kind == KIND_TABLE:
        table = <const double *>np.PyArray_DATA(byte_value_table(rows.dtype))
    data = _contiguous(rows)
    cdef np.ndarray told = np.empty((4, count))
    cdef np.ndarray odd = np.empty(count, np.int64)
    cdef const char *bytes = np.PyArray_BYTES(data)
    cdef double *to = <double *>np.PyArray_DATA(told)
    cdef int64_t *wrong = <int64_t *>np.PyArray_DATA(odd)
    with nogil:
        loopdbg_summarize_rows(kind, table, itemsize, bytes, count, n, to, to + count, to + 2 * count, to + 3 * count, wrong)
    return told[0], told[1], told[2], told[3], odd
