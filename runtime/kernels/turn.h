/* Matrices of elements of four bytes, turned in registers. */
#ifndef LOOPDBG_TURN_H
#define LOOPDBG_TURN_H

#include <numpy/npy_common.h>
#include <stdint.h>

typedef uint32_t loopdbg_u4 __attribute__((vector_size(16), aligned(4), may_alias));
static inline void loopdbg_turn_block(char const *src, npy_intp row, char *dst, npy_intp column) {
    typedef int32_t pick __attribute__((vector_size(16)));
    pick const low = {0, 4, 1, 5}, high = {2, 6, 3, 7}, left = {0, 1, 4, 5}, right = {2, 3, 6, 7};
    loopdbg_u4 a = *(loopdbg_u4 const *)src, b = *(loopdbg_u4 const *)(src + row);
    loopdbg_u4 c = *(loopdbg_u4 const *)(src + 2 * row), d = *(loopdbg_u4 const *)(src + 3 * row);
    loopdbg_u4 ab = __builtin_shuffle(a, b, low), cd = __builtin_shuffle(c, d, low);
    *(loopdbg_u4 *)dst = __builtin_shuffle(ab, cd, left);
    *(loopdbg_u4 *)(dst + column) = __builtin_shuffle(ab, cd, right);
    ab = __builtin_shuffle(a, b, high), cd = __builtin_shuffle(c, d, high);
    *(loopdbg_u4 *)(dst + 2 * column) = __builtin_shuffle(ab, cd, left);
    *(loopdbg_u4 *)(dst + 3 * column) = __builtin_shuffle(ab, cd, right);
}

#define LOOPDBG_TURN_ALL(T)                                                                                   \
    for (npy_intp j = 0; j < columns; j++)                                                                    \
        for (npy_intp r = 0; r < rows; r++) ((T *)dst)[j * rows + r] = ((T const *)src)[r * step + j];
/* [rows, columns] as [columns, rows], where rows are a multiple of 4 and begin ``step`` elements apart. */
static inline void loopdbg_turned(char const *src, char *dst, int size, npy_intp rows, npy_intp columns, npy_intp step) {
    npy_intp whole = size == 4 ? columns / 4 * 4 : 0;
    for (npy_intp j = 0; j < whole; j += 4)
        for (npy_intp r = 0; r < rows; r += 4)
            loopdbg_turn_block(src + (r * step + j) * 4, step * 4, dst + (j * rows + r) * 4, rows * 4);
    src += whole * size, dst += whole * rows * size, columns -= whole;
    switch (size) {
        case 1: LOOPDBG_TURN_ALL(uint8_t) break;
        case 2: LOOPDBG_TURN_ALL(uint16_t) break;
        case 4: LOOPDBG_TURN_ALL(uint32_t) break;
        default: LOOPDBG_TURN_ALL(uint64_t)
    }
}

#endif
