/* Row-wise data movement: loops over the inner and the next outer axis, and gather. */
#ifndef LOOPDBG_TWO_AXES_H
#define LOOPDBG_TWO_AXES_H

#include <stdint.h>
#include <string.h>
#include <numpy/npy_common.h>

#include "fast_memcpy.h"
#include "transpose.h"

/* Copy over two axes where the source is contiguous along the outer one: blocks are transposed in registers, 3x for a
 * matrix of 64 x 100, 5x for one of float16. data = the outer axis: extent, and a stride for each argument. Extents and
 * strides may differ from those at binding. */
#define TURN(T, B)                                                                                            \
    static inline void loopdbg_turn_##B(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {      \
        npy_intp const *axis = (npy_intp const *)data;                                                        \
        npy_intp n = dims[0], m = axis[0], whole = 0, lines = 0, column = axis[2];                            \
        npy_intp const size = sizeof(T);                                                                      \
        if (axis[1] == size && steps[1] == size) {                                                            \
            whole = n / B * B, lines = m / B * B;                                                             \
            for (npy_intp j = 0; j < lines; j += B)                                                           \
                for (npy_intp i = 0; i < whole; i += B)                                                       \
                    loopdbg_turn_block_##B(args[0] + i * steps[0] + j * size, steps[0],                       \
                                           args[1] + j * column + i * size, column);                          \
        }                                                                                                     \
        for (npy_intp j = 0; j < m; j++) {                                                                    \
            npy_intp i = j < lines ? whole : 0;                                                               \
            char const *src = args[0] + j * axis[1] + i * steps[0];                                           \
            char *dst = args[1] + j * column + i * steps[1];                                                  \
            for (; i < n; i++, src += steps[0], dst += steps[1]) *(T *)dst = *(T const *)src;                 \
        }                                                                                                     \
    }
TURN(uint32_t, 4)
TURN(uint16_t, 8)
#undef TURN

/* Copy rows of `bytes` bytes, short ones inline: a memcpy call takes longer than the copy. */
static void loopdbg_copy_rows(char *dst, char const *src, npy_intp rows, npy_intp bytes, npy_intp dst_step, npy_intp src_step) {
    typedef uint64_t block __attribute__((vector_size(32), aligned(1), may_alias));
    for (npy_intp r = 0; r < rows; r++, dst += dst_step, src += src_step) {
        if (bytes % 32 || bytes > 1024) {
            memcpy(dst, src, (size_t)bytes);
            continue;
        }
        for (npy_intp i = 0; i < bytes; i += 32) *(block *)(dst + i) = *(block const *)(src + i);
    }
}

/* gather: out[o, k] = x[o, indices[k]], blocks of `block` bytes. 1: an index is out of range. Constant sizes become one
 * instruction instead of a memcpy call: 3x for blocks of 4 bytes. */
#define GATHER_BODY(I, COPY)                                                                                  \
    for (npy_intp o = 0; o < outer; o++, x += length * block)                                                 \
        for (npy_intp k = 0; k < n; k++, out += block) {                                                      \
            int64_t i = ((I const *)indices)[k];                                                              \
            if (i < 0) i += length;                                                                           \
            if (i < 0 || i >= length) return 1;                                                               \
            COPY;                                                                                             \
        }                                                                                                     \
    return 0;
#define GATHER_SIZES(I)                                                                                       \
    switch (block) {                                                                                          \
        case 1: GATHER_BODY(I, *out = x[i])                                                                   \
        case 2: GATHER_BODY(I, memcpy(out, x + i * 2, 2))                                                     \
        case 4: GATHER_BODY(I, memcpy(out, x + i * 4, 4))                                                     \
        case 8: GATHER_BODY(I, memcpy(out, x + i * 8, 8))                                                     \
        default: GATHER_BODY(I, loopdbg_memcpy(out, x + i * block, (size_t)block))                             \
    }
static inline int loopdbg_gather(char const *x, char const *indices, char *out, npy_intp outer, npy_intp length, npy_intp block,
                                 npy_intp n, npy_intp index_size) {
    if (index_size == 8) GATHER_SIZES(int64_t)
    GATHER_SIZES(int32_t)
}

/* where over two axes, for contiguous rows selected as a whole, as in cache updates: adjacent rows of one source are
 * copied at once. data = the outer axis, as for loopdbg_transpose. 4x for 512 rows of 32. */
static inline void loopdbg_where_rows(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    npy_intp const *axis = (npy_intp const *)data;
    npy_intp m = axis[0], bytes = dims[0] * steps[3];
    for (npy_intp j = 0, count; j < m; j += count) {
        int first = args[0][j * axis[1]] != 0;
        for (count = 1; j + count < m && (args[0][(j + count) * axis[1]] != 0) == first;) count++;
        npy_intp step = first ? axis[2] : axis[3];
        char const *src = (first ? args[1] : args[2]) + j * step;
        char *dst = args[3] + j * axis[4];
        if (src == dst && step == axis[4]) continue;
        if (step == bytes && axis[4] == bytes) memcpy(dst, src, (size_t)(count * bytes));
        else loopdbg_copy_rows(dst, src, count, bytes, axis[4], step);
    }
}

#endif
