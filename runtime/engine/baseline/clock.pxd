"""The clock, and the time per instruction while node timing is on."""

from .state cimport ExecutionState

cdef extern from "time.h" nogil:
    struct timespec:
        long tv_sec
        long tv_nsec
    int CLOCK_MONOTONIC
    int clock_gettime(int clock, timespec *t)


cdef inline double now() noexcept nogil:
    """Seconds on a monotonic clock."""
    cdef timespec t
    clock_gettime(CLOCK_MONOTONIC, &t)
    return t.tv_sec + t.tv_nsec * 1e-9


cdef inline void charge_time_to(ExecutionState *s, int pc) noexcept nogil:
    """Charge the time from here on to another instruction; -1: to none."""
    cdef double t = now()
    if s.timed_pc >= 0:
        s.node_times[s.timed_pc].seconds += t - s.timed_since
    s.timed_pc, s.timed_since = pc, t


cdef inline void start_timing(ExecutionState *s, int pc) noexcept nogil:
    """An instruction begins to run, or continues after a time slice."""
    s.node_times[pc].starts += s.timed_pc != pc
    charge_time_to(s, pc)
