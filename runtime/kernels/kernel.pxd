"""What a kernel is, for those who make calls of it."""

from .call cimport MAX_ARGS, Call, halves_loop, inner_loop, run_call
from numpy cimport npy_intp


cdef extern from "kernels/call.h" nogil:
    ctypedef struct Through "loopdbg_through":
        inner_loop loop, fold
        void *data
        void *fold_data
        halves_loop halves
        int inputs, brain, narrow, operation


cdef class Kernel:
    cdef inner_loop loop
    cdef void *data
    cdef run_call one
    cdef inner_loop fold, rows, fold_neighbours, fold_neighbours_rows, fold_around, fold_rows, turned
    cdef readonly str driver
    cdef readonly object out
    cdef readonly bint elementwise
    cdef readonly bint exact
    cdef bint beside
    cdef npy_intp sizes[MAX_ARGS]
    cdef run_call routine
    cdef Through through
    cdef object floats

cdef int opcode(const Call *call) noexcept nogil
cdef int opcode_of(run_call one) noexcept nogil
