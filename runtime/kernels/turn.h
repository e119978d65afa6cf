/* Matrices of elements of four and of eight bytes, turned in registers. */
#ifndef LOOPDBG_TURN_H
#define LOOPDBG_TURN_H

#include <numpy/npy_common.h>
#include <stdint.h>
#include "processor.h"

typedef uint32_t loopdbg_u4 __attribute__((vector_size(16), aligned(4), may_alias));
#define LOOPDBG_LOW(a, b) SHUFFLE(loopdbg_u4, a, b, 0, 4, 1, 5)
#define LOOPDBG_HIGH(a, b) SHUFFLE(loopdbg_u4, a, b, 2, 6, 3, 7)
#define LOOPDBG_LEFT(a, b) SHUFFLE(loopdbg_u4, a, b, 0, 1, 4, 5)
#define LOOPDBG_RIGHT(a, b) SHUFFLE(loopdbg_u4, a, b, 2, 3, 6, 7)
static inline void loopdbg_turn_block(char const *src, npy_intp row, char *dst, npy_intp column) {
    loopdbg_u4 a = *(loopdbg_u4 const *)src, b = *(loopdbg_u4 const *)(src + row);
    loopdbg_u4 c = *(loopdbg_u4 const *)(src + 2 * row), d = *(loopdbg_u4 const *)(src + 3 * row);
    loopdbg_u4 ab = LOOPDBG_LOW(a, b), cd = LOOPDBG_LOW(c, d);
    *(loopdbg_u4 *)dst = LOOPDBG_LEFT(ab, cd);
    *(loopdbg_u4 *)(dst + column) = LOOPDBG_RIGHT(ab, cd);
    ab = LOOPDBG_HIGH(a, b), cd = LOOPDBG_HIGH(c, d);
    *(loopdbg_u4 *)(dst + 2 * column) = LOOPDBG_LEFT(ab, cd);
    *(loopdbg_u4 *)(dst + 3 * column) = LOOPDBG_RIGHT(ab, cd);
}

typedef uint64_t loopdbg_u2 __attribute__((vector_size(16), aligned(8), may_alias));
static inline void loopdbg_turn_wide_block(char const *src, npy_intp row, char *dst, npy_intp column) {
    loopdbg_u2 a = *(loopdbg_u2 const *)src, b = *(loopdbg_u2 const *)(src + row);
    *(loopdbg_u2 *)dst = SHUFFLE(loopdbg_u2, a, b, 0, 2);
    *(loopdbg_u2 *)(dst + column) = SHUFFLE(loopdbg_u2, a, b, 1, 3);
}

#define LOOPDBG_TURN_ALL(T)                                                                                   \
    for (npy_intp j = 0; j < columns; j++)                                                                    \
        for (npy_intp r = 0; r < rows; r++) ((T *)dst)[j * rows + r] = ((T const *)src)[r * step + j];
/* [rows, columns] as [columns, rows], where rows are a multiple of 4 and begin ``step`` elements apart. */
static inline void loopdbg_turned(char const *src, char *dst, int size, npy_intp rows, npy_intp columns, npy_intp step) {
    npy_intp whole = size == 4 ? columns / 4 * 4 : size == 8 ? columns / 2 * 2 : 0;
    if (size == 4)
        for (npy_intp j = 0; j < whole; j += 4)
            for (npy_intp r = 0; r < rows; r += 4)
                loopdbg_turn_block(src + (r * step + j) * 4, step * 4, dst + (j * rows + r) * 4, rows * 4);
    else
        for (npy_intp j = 0; j < whole; j += 2)
            for (npy_intp r = 0; r < rows; r += 2)
                loopdbg_turn_wide_block(src + (r * step + j) * 8, step * 8, dst + (j * rows + r) * 8, rows * 8);
    src += whole * size, dst += whole * rows * size, columns -= whole;
    switch (size) {
        case 1: LOOPDBG_TURN_ALL(uint8_t) break;
        case 2: LOOPDBG_TURN_ALL(uint16_t) break;
        case 4: LOOPDBG_TURN_ALL(uint32_t) break;
        default: LOOPDBG_TURN_ALL(uint64_t)
    }
}

#endif
