/* The fastest clock: its ticks have a constant rate, which seconds_per_tick() measures (clock.pxd). */
#ifndef LOOPDBG_TICKS_H
#define LOOPDBG_TICKS_H

#include <stdint.h>

#if defined(__x86_64__) && !defined(LOOPDBG_PORTABLE)
#include <x86intrin.h>

static inline int64_t read_ticks(void) { return (int64_t)__rdtsc(); }
#else
#include <time.h>

static inline int64_t read_ticks(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}
#endif

#endif
