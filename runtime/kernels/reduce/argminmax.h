/* Indices of extremes along the middle axis of [outer, n, inner]. NaN counts as the extreme, as in NumPy; of equal ones
 * the first index counts, or the last. */
#ifndef LOOPDBG_EXTREMES_H
#define LOOPDBG_EXTREMES_H

#include <numpy/npy_common.h>
#include <stdint.h>
#include <string.h>
#include "../element_types/type_lists.h"
#include "../data_movement/transpose.h"
#include "../dispatch/processor.h"

/* Number of rows searched in parallel, without branches, which would be mispredicted. */
#define ARGMINMAX_LANES 16
/* Number of elements of each at a time. */
#define ARGMINMAX_BLOCK_ELEMENTS 32
/* Longer or single rows are searched twice: for the extreme, and for its index. */
#define ARGMINMAX_SHORT_ROW 256
#define ARGMINMAX_TWO_PASS_MIN 24
#define ARGMINMAX_SCAN_BLOCK 64

/* Vectors of AVX2's width; wider or narrower targets combine or split them. */
#define EXTREME_VECTOR(T) T __attribute__((vector_size(32), aligned(sizeof(T)), may_alias))
#define EXTREME_MASK(T)                                                                                       \
    __typeof__(__builtin_choose_expr(sizeof(T) == 8, (int64_t)0, __builtin_choose_expr(sizeof(T) == 4, (int32_t)0, \
               __builtin_choose_expr(sizeof(T) == 2, (int16_t)0, (int8_t)0))))
#define EXTREME_TAKE(KIND, better, a, b) (KIND)(((mask)(a) & (better)) | ((mask)(b) & ~(better)))

#define EXTREME_TYPES(C, N, T)                                                                                \
    /* types of interleaved elements and of indices, of the same width */                         \
    typedef __typeof__(__builtin_choose_expr(sizeof(T) < 4, (int32_t)0, (T)0)) extreme_##N;                   \
    typedef EXTREME_MASK(extreme_##N) extreme_at_##N;
NUMBERS(EXTREME_TYPES)
EXTREME_TYPES('?', bool, uint8_t)

#define BODY "../reduce/argminmax_lanes.h"
#include "../dispatch/foreach_target.h"

#define EXTREMES(C, N, T)                                                                                     \
    /* 16 rows interleaved, or contiguous ones, which are transposed */                                    \
    static void extreme_of_rows_##N(T const *x, int64_t *out, npy_intp n, npy_intp along, int turned, int max, \
                                   int last) {                                                                \
        T part[ARGMINMAX_BLOCK_ELEMENTS * ARGMINMAX_LANES];                                                                 \
        extreme_##N best[ARGMINMAX_LANES], wide[ARGMINMAX_BLOCK_ELEMENTS * ARGMINMAX_LANES];                                  \
        extreme_at_##N at[ARGMINMAX_LANES] = {0};                                                               \
        npy_intp done = 0;                                                                                    \
        if (!turned && sizeof(T) >= 4) {                                                                      \
            memcpy(best, x, sizeof best);                                                                     \
            DISPATCH(extreme_steps_##N)((extreme_##N const *)(x + along), n - 1, along, best, at, 1, max, last); \
            done = n;                                                                                         \
        }                                                                                                     \
        for (npy_intp j = done; j < n; j += ARGMINMAX_BLOCK_ELEMENTS) {                                                   \
            npy_intp more = n - j < ARGMINMAX_BLOCK_ELEMENTS ? n - j : ARGMINMAX_BLOCK_ELEMENTS, skip = !j;                           \
            extreme_##N const *rows = sizeof(T) < 4 ? wide : (extreme_##N const *)part;                       \
            if (turned) loopdbg_transpose_rows((char const *)(x + j), (char *)part, sizeof(T), ARGMINMAX_LANES, more, n); \
            else                                                                                              \
                for (npy_intp k = 0; k < more; k++)                                                           \
                    memcpy(part + k * ARGMINMAX_LANES, x + (j + k) * along, ARGMINMAX_LANES * sizeof(T));         \
            if (sizeof(T) < 4)                                                                                \
                for (npy_intp k = 0; k < more * ARGMINMAX_LANES; k++) wide[k] = (extreme_##N)part[k];           \
            if (skip) memcpy(best, rows, sizeof best);                                                        \
            DISPATCH(extreme_steps_##N)(rows + skip * ARGMINMAX_LANES, more - skip, ARGMINMAX_LANES, best, at,      \
                              (extreme_at_##N)(j + skip), max, last);                                         \
        }                                                                                                     \
        for (int l = 0; l < ARGMINMAX_LANES; l++) out[l] = at[l];                                               \
    }                                                                                                         \
    static npy_intp extreme_of_row_##N(T const *x, npy_intp n, int max, int last) {                           \
        int nan = 0;                                                                                          \
        T value = DISPATCH(extreme_value_##N)(x, n, max, &nan);                                                 \
        npy_intp i = last ? n - 1 : 0;                                                                        \
        if (nan) {                                                                                            \
            while (x[i] == x[i]) i += last ? -1 : 1;                                                          \
            return i;                                                                                         \
        }                                                                                                     \
        if (last)                                                                                             \
            while (i >= ARGMINMAX_SCAN_BLOCK && !DISPATCH(extreme_is_here_##N)(x + i + 1 - ARGMINMAX_SCAN_BLOCK, value)) i -= ARGMINMAX_SCAN_BLOCK; \
        else                                                                                                  \
            while (i + ARGMINMAX_SCAN_BLOCK <= n && !DISPATCH(extreme_is_here_##N)(x + i, value)) i += ARGMINMAX_SCAN_BLOCK;  \
        while (x[i] != value) i += last ? -1 : 1;                                                             \
        return i;                                                                                             \
    }                                                                                                         \
    static npy_intp extreme_of_few_##N(T const *x, npy_intp n, npy_intp along, int max, int last) {           \
        npy_intp best = 0;                                                                                    \
        for (npy_intp j = 1; j < n; j++) {                                                                    \
            T v = x[j * along], b = x[best * along];                                                          \
            int better = max ? v > b : v < b;                                                                 \
            if (b != b) better = last && v != v;                                                              \
            else if (v != v) better = 1;                                                                      \
            if (better || (last && v == b)) best = j;                                                         \
        }                                                                                                     \
        return best;                                                                                          \
    }                                                                                                         \
    static void extremes_##N(T const *x, int64_t *out, npy_intp outer, npy_intp n, npy_intp inner, int max, int last) { \
        for (; inner == 1 && n <= ARGMINMAX_SHORT_ROW && outer >= ARGMINMAX_LANES; outer -= ARGMINMAX_LANES) {          \
            extreme_of_rows_##N(x, out, n, 1, 1, max, last);                                                   \
            x += n * ARGMINMAX_LANES, out += ARGMINMAX_LANES;                                                     \
        }                                                                                                     \
        for (; outer > 0; outer--, x += n * inner, out += inner) {                                            \
            npy_intp k = 0;                                                                                   \
            if (inner == 1 && n >= ARGMINMAX_TWO_PASS_MIN) {                                                           \
                *out = extreme_of_row_##N(x, n, max, last);                                                   \
                continue;                                                                                     \
            }                                                                                                 \
            for (; k + ARGMINMAX_LANES <= inner && n <= INT32_MAX; k += ARGMINMAX_LANES)                          \
                extreme_of_rows_##N(x + k, out + k, n, inner, 0, max, last);                                   \
            for (; k < inner; k++) out[k] = extreme_of_few_##N(x + k, n, inner, max, last);                   \
        }                                                                                                     \
    }
NUMBERS(EXTREMES)
EXTREMES('?', bool, uint8_t)

#define EXTREMES_CASE(C, N, T) case C: extremes_##N((T const *)x, out, outer, n, inner, max, last); return 0;
static int loopdbg_argminmax(char type, char const *x, int64_t *out, npy_intp outer, npy_intp n, npy_intp inner, int max,
                             int last) {
    switch (type) {
        NUMBERS(EXTREMES_CASE)
        EXTREMES_CASE('?', bool, uint8_t)
    }
    return 1;
}

#endif
