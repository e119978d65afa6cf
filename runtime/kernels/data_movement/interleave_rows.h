/* Short rows made contiguous, so that many of them are computed at once. */
#ifndef LOOPDBG_SIDE_BY_SIDE_H
#define LOOPDBG_SIDE_BY_SIDE_H

#include <string.h>
#include <numpy/npy_common.h>

/* Minimum number of rows that gains, and maximum number of elements at a time. */
enum { LOOPDBG_INTERLEAVE_MIN_ROWS = 16, LOOPDBG_INTERLEAVE_BLOCK_ELEMENTS = 256 };
#define ROWS_MOVE(BYTES) for (npy_intp r = 0; r < initial; r++, from += around) memcpy(to + r * (BYTES), from, BYTES)
/* Repeat one element of each row N times: constant lengths take a third of the time. */
#define ROWS_STRETCH(N)                                                                                       \
    for (npy_intp r = 0; r < rows; r++)                                                                       \
        for (int i = 0; i < (N); i++) memcpy(to + (r * (N) + i) * size, from + r * around, (size_t)size)
static inline
    __attribute__((always_inline)) void loopdbg_interleave_rows(char *restrict to, char const *restrict from, npy_intp step,
                                                                npy_intp around, npy_intp rows, npy_intp n, npy_intp size) {
    if (!step) {
        switch (n) {
            case 2: ROWS_STRETCH(2); return;
            case 3: ROWS_STRETCH(3); return;
            case 4: ROWS_STRETCH(4); return;
            default: ROWS_STRETCH(n); return;
        }
    }
    /* For a repeated row, double the part already copied. */
    npy_intp const initial = around || rows < 16 ? rows : 16;
    switch (n * size) {
        case 8: ROWS_MOVE(8); break;
        case 12: ROWS_MOVE(12); break;
        case 16: ROWS_MOVE(16); break;
        case 20: ROWS_MOVE(20); break;
        case 24: ROWS_MOVE(24); break;
        case 28: ROWS_MOVE(28); break;
        case 32: ROWS_MOVE(32); break;
        default: ROWS_MOVE((size_t)(n * size));
    }
    for (npy_intp copied = initial * n * size, all = rows * n * size; copied < all; copied *= 2)
        memcpy(to + copied, to, (size_t)(copied < all - copied ? copied : all - copied));
}
#undef ROWS_MOVE
#undef ROWS_STRETCH

#endif
