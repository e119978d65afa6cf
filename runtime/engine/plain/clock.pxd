"""The clock, and whose time it is: what each instruction of a plan takes, where somebody asks."""

from .state cimport State

cdef extern from "time.h" nogil:
    struct timespec:
        long tv_sec
        long tv_nsec
    int CLOCK_MONOTONIC
    int clock_gettime(int clock, timespec *t)


cdef inline double now() noexcept nogil:
    """Seconds on a clock that only goes forward."""
    cdef timespec t
    clock_gettime(CLOCK_MONOTONIC, &t)
    return t.tv_sec + t.tv_nsec * 1e-9


cdef inline void clock_in(State *s, int pc) noexcept nogil:
    """From here on the time is that of another instruction; -1: of none."""
    cdef double t = now()
    if s.timed >= 0:
        s.spent[s.timed] += t - s.timed_from
    s.timed, s.timed_from = pc, t
