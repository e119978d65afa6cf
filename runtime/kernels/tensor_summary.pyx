"""Statistics of a tensor, and its difference from another one, in one pass without the GIL (tensor_summary.h)."""

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
        int64_t size, same, lost, flat_index
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
    """How elements of a dtype are read; KIND_NONE: not numeric."""
    kind = _KINDS.get(dtype.name)
    if kind is not None:
        return kind
    return KIND_TABLE if dtype.kind == "V" and dtype.itemsize == 1 and not dtype.names else KIND_NONE


cdef int is_integer_dtype(dtype):
    """Are elements of a dtype integers or booleans?"""
    return dtype.kind in "biu" or "int" in dtype.name


cdef byte_value_table(dtype):
    """The value of each byte of a one-byte type; cached forever."""
    if dtype not in _TABLES:
        _TABLES[dtype] = np.ascontiguousarray(np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64))
    return _TABLES[dtype]


cdef object _contiguous(part):
    """A contiguous, aligned array in native byte order; a copy if necessary."""
    if part.dtype.byteorder == ">":
        part = part.astype(part.dtype.newbyteorder("="))
    return part if part.flags.c_contiguous and part.flags.aligned else np.array(part, order="C")


cdef class TensorSummary:
    """Statistics of a tensor: minimum and maximum of the finite elements (None if there are none), their flat indices,
    mean, standard deviation and Euclidean norm; numbers of zeros, NaN and infinities.

    Complex numbers count by magnitude; booleans as 0 and 1. Other types have no statistics.
    """

    cdef loopdbg_summary s
    cdef int kind, is_integer

    def __cinit__(self, *args, **kwargs):
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
        return int(value) if self.is_integer else value

    @property
    def mean(self):
        return self.s.mean * self.s.unit if self.s.finite else None

    @property
    def std(self):
        """The population standard deviation of the finite elements."""
        if self.s.finite and self.kind in (KIND_I64, KIND_U64):
            return sqrt(self.s.int64_squared_deviations / <double>self.s.finite)
        return sqrt(self.s.spread / <double>self.s.finite) * self.s.unit if self.s.finite else None

    @property
    def norm(self):
        """The Euclidean norm of the finite elements."""
        return sqrt(self.s.squares) * self.s.unit if self.s.finite else None


cdef class TensorDifference:
    """The difference of two tensors: the largest absolute difference of an element, exact for integers, and its flat
    index (-1: none), and the number of equal elements. ``lost``: number of elements whose difference is NaN.

    NaN after NaN and infinity after the same infinity are no change.
    """

    cdef loopdbg_difference c
    cdef int kind, is_integer

    def __cinit__(self, *args, **kwargs):
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
        return int(self.c.largest) if self.is_integer else self.c.largest

    @property
    def flat_index(self):
        return self.c.flat_index

    def merge(self, int64_t size, int64_t same, int64_t lost, double largest, int64_t flat_index):
        """Merge the result for the next elements; ``flat_index`` counts from the first of them, -1: none."""
        if flat_index >= 0 and (self.c.flat_index < 0 or largest > self.c.largest):
            self.c.largest, self.c.flat_index = largest, self.c.size + flat_index
        self.c.size += size
        self.c.same += same
        self.c.lost += lost


def accumulate_pass(part, TensorSummary summary=None, before=None, TensorDifference difference=None):
    """Process the next elements, in order; with ``before`` also their previous values. False: not numeric, or of two
    types; nothing was accumulated."""
    cdef int kind = number_kind(part.dtype)
    cdef np.ndarray current, previous
    cdef const double *table = NULL
    cdef const char *data
    cdef const char *old_data = NULL
    cdef int64_t itemsize = part.dtype.itemsize, n = part.size
    if kind == KIND_NONE or (difference is not None and (before.dtype != part.dtype or before.size != n)):
        return False
    if kind == KIND_TABLE:
        table = <const double *>np.PyArray_DATA(byte_value_table(part.dtype))
    current = _contiguous(part)
    data = np.PyArray_BYTES(current)
    if difference is not None:
        previous = _contiguous(before)
        old_data = np.PyArray_BYTES(previous)
    cdef loopdbg_summary *s = NULL if summary is None else &summary.s
    cdef loopdbg_difference *c = NULL if difference is None else &difference.c
    if summary is not None:
        summary.kind, summary.is_integer = kind, is_integer_dtype(part.dtype)
    if difference is not None:
        difference.kind, difference.is_integer = kind, is_integer_dtype(part.dtype)
    with nogil:
        loopdbg_summarize(kind, table, itemsize, data, old_data, n, s, c)
    return True


def summarize_rows(rows):
    """For each row the minimum, maximum and mean of its finite elements, their norm, and the number of elements that
    are not finite; NaN where none is finite. Complex numbers count by magnitude; None: not numeric."""
    cdef int kind = number_kind(rows.dtype)
    cdef const double *table = NULL
    cdef np.ndarray data
    cdef int64_t count = len(rows), n = rows.shape[1], itemsize = rows.dtype.itemsize
    if kind == KIND_NONE:
        return None
    if kind == KIND_TABLE:
        table = <const double *>np.PyArray_DATA(byte_value_table(rows.dtype))
    data = _contiguous(rows)
    cdef np.ndarray stats = np.empty((4, count))
    cdef np.ndarray nonfinite = np.empty(count, np.int64)
    cdef const char *bytes = np.PyArray_BYTES(data)
    cdef double *to = <double *>np.PyArray_DATA(stats)
    cdef int64_t *counts = <int64_t *>np.PyArray_DATA(nonfinite)
    with nogil:
        loopdbg_summarize_rows(kind, table, itemsize, bytes, count, n, to, to + count, to + 2 * count, to + 3 * count,
                               counts)
    return stats[0], stats[1], stats[2], stats[3], nonfinite
