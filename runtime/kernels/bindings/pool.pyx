"""Maxima and sums over windows (pool.h)."""

from ..call cimport run_call
from ..processor cimport loopdbg_cpu, current_processor

cdef extern from "kernels/conv/pool.h" nogil:
    struct pool_routine:
        const char *name
        run_call run
    const pool_routine loopdbg_pool_routines[]
    enum:
        LOOPDBG_POOL_ROUTINES

loopdbg_cpu = current_processor()

ROUTINES = {
    loopdbg_pool_routines[k].name.decode(): <size_t>loopdbg_pool_routines[k].run for k in range(LOOPDBG_POOL_ROUTINES)
}
