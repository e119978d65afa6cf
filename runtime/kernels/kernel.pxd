"""Kernels, for the modules that make calls of them."""

from .call cimport MAX_ARGS, Call, half_loop, inner_loop, run_call
from numpy cimport npy_intp


cdef extern from "kernels/call.h" nogil:
    ctypedef struct NarrowLoop "loopdbg_narrow_loop":
        inner_loop loop, fold
        void *data
        void *fold_data
        half_loop halves
        int inputs, brain, narrow, operation


cdef class Kernel:
    cdef inner_loop loop
    cdef void *data
    cdef run_call scalar_run
    cdef inner_loop fold, rows, fold_contiguous, fold_contiguous_rows, fold_outer_axis, fold_outer_rows, transpose_loop
    cdef readonly str driver
    cdef readonly object out
    cdef readonly bint elementwise
    cdef readonly bint exact
    cdef bint contiguous_only
    cdef npy_intp sizes[MAX_ARGS]
    cdef run_call routine
    cdef NarrowLoop half
    cdef object floats

cdef int opcode(const Call *call) noexcept nogil
cdef int opcode_of_function(run_call scalar_run) noexcept nogil
