"""Kernel calls: what the engine runs without the GIL. Shared structs only."""

from libc.stddef cimport size_t
from numpy cimport npy_intp

ctypedef void (*inner_loop)(char **args, const npy_intp *dims, const npy_intp *steps, void *data) noexcept nogil

cdef enum:
    MAX_ARGS = 4       # inputs and output of one call
    MAX_STEPS = 12     # matmul's inner loop needs 9
    MAX_EXTRA = 8

cdef struct Call:
    # 0, or not 0 when the call could not be done as bound (then the engine runs the node in Python, which either
    # gives the result or raises the error).
    int (*run)(Call *call) noexcept nogil
    inner_loop loop
    void *data
    int nargs
    int status
    # An argument's address is *cell + offset: buffers move (swapped back edges, slices), cells stay.
    char **cell[MAX_ARGS]
    npy_intp offset[MAX_ARGS]
    npy_intp dims[MAX_ARGS]
    npy_intp steps[MAX_STEPS]
    # Outer axes of an N-dimensional call: for each its extent, then one stride an argument. Owned by the engine.
    int nouter
    npy_intp *outer
    npy_intp extra[MAX_EXTRA]

cdef int set_kernel(Call *call, object kernel) except -1
