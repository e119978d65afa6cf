"""Run a bound node: its guards, then its calls."""

from libc.string cimport memcmp

from ...kernels.call cimport Call
from .state cimport Instr, ExecutionState


cdef inline int run_bound_node(const ExecutionState *s, const Instr *ins) noexcept nogil:
    """Run a bound node; nonzero: a guard or a call failed."""
    cdef int k
    for k in range(ins.nguards):
        if memcmp(s.slots[ins.guards[k].slot].data, ins.guards[k].expected, ins.guards[k].nbytes):
            return 1
    return run_calls(ins.calls, ins.ncalls)


cdef inline int run_calls(Call *calls, int count) noexcept nogil:
    """Run calls in order; nonzero: one failed."""
    cdef Call *call = calls
    cdef Call *stop = calls + count
    cdef int status
    while call < stop:
        status = call.run(call)
        if status > 0:
            return status
        call += 1 - status      # below 0: the number of following calls to skip
    return 0
