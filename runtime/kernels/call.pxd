"""Kernel calls: what the engine runs without the GIL. Shared structs only; call.h says what their fields are."""

from numpy cimport npy_intp


cdef extern from "kernels/call.h":
    cdef enum:
        MAX_ARGS "LOOPDBG_MAX_ARGS"
        MAX_DIMS "LOOPDBG_MAX_DIMS"
        MAX_STEPS "LOOPDBG_MAX_STEPS"
        MAX_EXTRA "LOOPDBG_MAX_EXTRA"

    ctypedef void (*inner_loop "loopdbg_loop")(
        char **args, const npy_intp *dims, const npy_intp *steps, void *data) noexcept nogil

    ctypedef void (*half_loop "loopdbg_half_loop")(
        const unsigned short *x, unsigned short *y, npy_intp n, int brain) noexcept nogil

    ctypedef struct Call "loopdbg_call":
        int (*run)(Call *call) noexcept nogil
        inner_loop loop
        void *data
        int nargs
        int status
        int elementwise
        int operation
        char **cell[MAX_ARGS]
        npy_intp offset[MAX_ARGS]
        npy_intp dims[MAX_DIMS]
        npy_intp steps[MAX_STEPS]
        int nouter
        npy_intp *outer
        npy_intp extra[MAX_EXTRA]

    ctypedef int (*run_call "loopdbg_run")(Call *call) noexcept nogil
