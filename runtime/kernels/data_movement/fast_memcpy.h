/* memcpy of any size. */
#ifndef LOOPDBG_BYTES_H
#define LOOPDBG_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* memcpy without its one slow case. From 2 KB to about 0.5 MB glibc uses "rep movsb", which AMD processors run at 2
 * GB/s where the target is 1 to 31 bytes past the source modulo 4096, and at 30 to 60 GB/s otherwise. In that case,
 * blocks of 64 bytes reach 15 to 45 GB/s (heat's slices: 3x); elsewhere memcpy is as fast or up to 1.5x faster. */
static inline void loopdbg_memcpy(char *target, char const *source, size_t n) {
    if (n > 2048 && ((uintptr_t)target - (uintptr_t)source - 1) % 4096 < 31) {
        for (; n >= 64; n -= 64, target += 64, source += 64) {
            memcpy(target, source, 64);
#if defined(__GNUC__)
            __asm__ volatile("" ::: "memory"); /* prevents merging into one memcpy */
#endif
        }
    }
    memcpy(target, source, n);
}

/* Prefetch `n` bytes for writing. */
static inline void loopdbg_prefetch_write(char const *target, size_t n) {
#if defined(__GNUC__)
    for (size_t k = 0; k < n; k += 64) __builtin_prefetch(target + k, 1, 2);
#else
    (void)target, (void)n;
#endif
}

#endif
