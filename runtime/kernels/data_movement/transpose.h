/* Transposition in registers of matrices with elements of two, four or eight bytes. */
#ifndef LOOPDBG_TURN_H
#define LOOPDBG_TURN_H

#include <numpy/npy_common.h>
#include <stdint.h>
#include "../dispatch/processor.h"

/* N by N elements, rows of 16 bytes: log2(N) perfect shuffles of the rows. */
#define SHUFFLED(V, N, to, from)                                   \
    for (int k = 0; k < N / 2; k++) {                              \
        to[2 * k] = SHUFFLE(V, from[k], from[k + N / 2], LOW);     \
        to[2 * k + 1] = SHUFFLE(V, from[k], from[k + N / 2], HIGH); \
    }
#define TURN_BLOCK(T, N, V)                                                                                   \
    typedef T V __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));                              \
    static inline void loopdbg_turn_block_##N(char const *src, npy_intp row, char *dst, npy_intp column) {    \
        V a[N], b[N];                                                                                         \
        for (int k = 0; k < N; k++) a[k] = *(V const *)(src + k * row);                                       \
        SHUFFLED(V, N, b, a)                                                                                  \
        for (int n = 2; n < N; n *= 2) {                                                                      \
            for (int k = 0; k < N; k++) a[k] = b[k];                                                          \
            SHUFFLED(V, N, b, a)                                                                              \
        }                                                                                                     \
        for (int k = 0; k < N; k++) *(V *)(dst + k * column) = b[k];                                          \
    }
#define LOW 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH 4, 12, 5, 13, 6, 14, 7, 15
TURN_BLOCK(uint16_t, 8, loopdbg_turned_2)
#undef LOW
#undef HIGH
#define LOW 0, 4, 1, 5
#define HIGH 2, 6, 3, 7
TURN_BLOCK(uint32_t, 4, loopdbg_turned_4)
#undef LOW
#undef HIGH
#define LOW 0, 2
#define HIGH 1, 3
TURN_BLOCK(uint64_t, 2, loopdbg_turned_8)
#undef LOW
#undef HIGH
#undef TURN_BLOCK
#undef SHUFFLED

/* [rows, columns] to [columns, rows], where rows are a multiple of 8 and `step` elements apart. */
#define TURNED(T, N)                                                                                          \
    {                                                                                                         \
        npy_intp const size = sizeof(T);                                                                      \
        npy_intp j = 0;                                                                                       \
        for (; j + N <= columns; j += N)                                                                      \
            for (npy_intp r = 0; r < rows; r += N)                                                            \
                loopdbg_turn_block_##N(src + (r * step + j) * size, step * size, dst + (j * rows + r) * size, rows * size); \
        for (; j < columns; j++)                                                                              \
            for (npy_intp r = 0; r < rows; r++) ((T *)dst)[j * rows + r] = ((T const *)src)[r * step + j];    \
    }
static inline void loopdbg_transpose_rows(char const *src, char *dst, int size, npy_intp rows, npy_intp columns,
                                          npy_intp step) {
    switch (size) {
        case 1:
            for (npy_intp j = 0; j < columns; j++)
                for (npy_intp r = 0; r < rows; r++) dst[j * rows + r] = src[r * step + j];
            break;
        case 2: TURNED(uint16_t, 8) break;
        case 4: TURNED(uint32_t, 4) break;
        default: TURNED(uint64_t, 2)
    }
}
#undef TURNED

#endif
