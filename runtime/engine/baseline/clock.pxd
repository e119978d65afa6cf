"""The clock, and the time per instruction while node timing is on."""

from libc.stdint cimport int64_t
from .state cimport ExecutionState

cdef extern from "ticks.h" nogil:
    int64_t read_ticks()

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


cdef inline double seconds_per_tick() noexcept nogil:
    """The rate of ``read_ticks``, measured for two milliseconds."""
    cdef double seconds[2]
    cdef int64_t ticks[2]
    cdef int64_t before, after, least
    cdef double t
    cdef int k, attempt
    for k in range(2):
        least = -1
        for attempt in range(9):  # of which some are interrupted between the clocks
            before, t, after = read_ticks(), now(), read_ticks()
            if least < 0 or after - before < least:
                least, seconds[k], ticks[k] = after - before, t, before + (after - before) // 2
        while k == 0 and now() - seconds[0] < 2e-3:
            pass
    return (seconds[1] - seconds[0]) / <double>(ticks[1] - ticks[0])


cdef inline void charge_time_to(ExecutionState *s, int pc) noexcept nogil:
    """Charge the time from here on to another instruction; -1: to none."""
    cdef int64_t t = read_ticks()
    if s.timed_pc >= 0:
        s.node_times[s.timed_pc].ticks += t - s.timed_since
    s.timed_pc, s.timed_since = pc, t


cdef inline void start_timing(ExecutionState *s, int pc) noexcept nogil:
    """An instruction begins to run, or continues after a time slice."""
    s.node_times[pc].starts += s.timed_pc != pc
    charge_time_to(s, pc)
