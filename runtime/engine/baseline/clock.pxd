"""The clock, and the time per instruction while node timing is on."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from .state cimport ExecutionState, LoopState, TIMING

cdef extern from "ticks.h" nogil:
    int64_t read_ticks()

cdef extern from "time.h" nogil:
    struct timespec:
        long tv_sec
        long tv_nsec
    int CLOCK_MONOTONIC
    int clock_gettime(int clock, timespec *t)


# Where iterations are sampled, those that are timed one after another, and those before them that only warm up.
cdef enum:
    SAMPLES_IN_A_ROW = 16
    WARM_UP_ITERATIONS = 4


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


cdef inline double ticks_per_reading() noexcept nogil:
    """What reading the clock takes: the least mean of several."""
    cdef int64_t first, last = 0, least = -1
    cdef int k, attempt
    for attempt in range(50):
        first = read_ticks()
        for k in range(100):
            last = read_ticks()
        if least < 0 or last - first < least:
            least = last - first
    return least / 100.0


cdef inline void charge_time_to(ExecutionState *s, int pc) noexcept nogil:
    """Charge the time from here on to another instruction; -1: to none."""
    cdef int64_t t = read_ticks()
    if s.timed_pc >= 0:
        s.node_times[s.timed_pc].ticks += (t - s.timed_since) * s.timed_weight
    s.timed_pc, s.timed_since = pc, t


cdef inline void start_timing(ExecutionState *s, int pc) noexcept nogil:
    """An instruction begins to run, or continues after a time slice."""
    if s.timed_pc != pc:
        s.node_times[pc].starts += s.timed_weight
    charge_time_to(s, pc)


cdef inline void weigh_time(ExecutionState *s, int pc, int64_t weight, int warm_up=0) noexcept nogil:
    """From here on, inside an instruction, time counts N times; 0: it is not measured, or only to warm up."""
    if weight != s.timed_weight:
        charge_time_to(s, pc)
        s.timed_weight = weight
    s.stepping = s.stepping | TIMING if weight or warm_up else s.stepping & ~TIMING


cdef inline void sample_iteration(ExecutionState *s, const LoopState *loop) noexcept nogil:
    """At the head of a loop: whether to time its next iteration, or what follows its end, which is part of an iteration
    of the outer loop. The first iteration always is, unless entries are about as short as the distance of samples: it
    computes what the loop does not change. Of the others, several in a row are, at random, as iterations may have a
    period, after some that only warm up: the processor learns which branches timing takes."""
    cdef int64_t weight = 0
    cdef int warm_up = 0
    cdef uint64_t mean
    if loop.ended:
        weight = 1 if s.depth == 1 else s.loop_weights[s.stack[s.depth - 2]]
    elif loop.i == 0 and loop.iterations >= s.sample_every * (loop.entries - 1):
        weight = 1
    else:
        s.sample_wait -= 1
        if s.sample_wait < 0:
            weight = s.sample_every
            if s.sample_wait <= -SAMPLES_IN_A_ROW:
                mean = SAMPLES_IN_A_ROW * (s.sample_every - 1)
                s.sample_random = s.sample_random * <uint32_t>1664525 + <uint32_t>1013904223
                s.sample_wait = <int>(mean // 2 + ((s.sample_random >> 8) * (mean + 1) >> 24))
        else:
            warm_up = s.sample_wait < WARM_UP_ITERATIONS
    s.loop_weights[loop.index] = weight
    weigh_time(s, s.pc, weight, warm_up)
