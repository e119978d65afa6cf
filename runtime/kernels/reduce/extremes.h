/* Places of extremes along the middle axis of [outer, n, inner]. A NaN counts as the extreme, as in NumPy; of equal ones
 * the first place counts, or the last. */
#ifndef LOOPDBG_EXTREMES_H
#define LOOPDBG_EXTREMES_H

#include <numpy/npy_common.h>
#include <stdint.h>
#include <string.h>
#include "../elements/numbers.h"
#include "../data_movement/turn.h"
#include "../dispatch/processor.h"

/* So many rows are looked through side by side, without branches, for nobody can foretell where the best one lies. */
#define EXTREME_LANES 16
/* So many elements of each at a time. */
#define EXTREME_PART 32
/* Rows that are longer, or alone, are looked through twice: what is the extreme, and where. */
#define EXTREME_SHORT 256
#define EXTREME_ALONE 24
#define EXTREME_BLOCK 64

/* Vectors as wide as AVX2's; where there are wider or narrower ones they are taken together, or apart. */
#define EXTREME_VECTOR(T) T __attribute__((vector_size(32), aligned(sizeof(T)), may_alias))
#define EXTREME_MASK(T)                                                                                       \
    __typeof__(__builtin_choose_expr(sizeof(T) == 8, (int64_t)0, __builtin_choose_expr(sizeof(T) == 4, (int32_t)0, \
               __builtin_choose_expr(sizeof(T) == 2, (int16_t)0, (int8_t)0))))
#define EXTREME_TAKE(KIND, better, a, b) (KIND)(((mask)(a) & (better)) | ((mask)(b) & ~(better)))

#define EXTREME_TYPES(C, N, T)                                                                                \
    /* What rows beside one another are compared as, and places of the same width. */                         \
    typedef __typeof__(__builtin_choose_expr(sizeof(T) < 4, (int32_t)0, (T)0)) extreme_##N;                   \
    typedef EXTREME_MASK(extreme_##N) extreme_at_##N;
NUMBERS(EXTREME_TYPES)
EXTREME_TYPES('?', bool, uint8_t)

#define BODY "../reduce/extremes_lanes.h"
#include "../dispatch/each_width.h"

#define EXTREMES(C, N, T)                                                                                     \
    /* 16 rows side by side, or one behind the other, which are turned. */                                    \
    static void extreme_beside_##N(T const *x, int64_t *out, npy_intp n, npy_intp along, int turned, int max, \
                                   int last) {                                                                \
        T part[EXTREME_PART * EXTREME_LANES];                                                                 \
        extreme_##N best[EXTREME_LANES], wide[EXTREME_PART * EXTREME_LANES];                                  \
        extreme_at_##N at[EXTREME_LANES] = {0};                                                               \
        npy_intp done = 0;                                                                                    \
        if (!turned && sizeof(T) >= 4) {                                                                      \
            memcpy(best, x, sizeof best);                                                                     \
            WIDEST(extreme_steps_##N)((extreme_##N const *)(x + along), n - 1, along, best, at, 1, max, last); \
            done = n;                                                                                         \
        }                                                                                                     \
        for (npy_intp j = done; j < n; j += EXTREME_PART) {                                                   \
            npy_intp more = n - j < EXTREME_PART ? n - j : EXTREME_PART, skip = !j;                           \
            extreme_##N const *rows = sizeof(T) < 4 ? wide : (extreme_##N const *)part;                       \
            if (turned) loopdbg_turned((char const *)(x + j), (char *)part, sizeof(T), EXTREME_LANES, more, n); \
            else                                                                                              \
                for (npy_intp k = 0; k < more; k++)                                                           \
                    memcpy(part + k * EXTREME_LANES, x + (j + k) * along, EXTREME_LANES * sizeof(T));         \
            if (sizeof(T) < 4)                                                                                \
                for (npy_intp k = 0; k < more * EXTREME_LANES; k++) wide[k] = (extreme_##N)part[k];           \
            if (skip) memcpy(best, rows, sizeof best);                                                        \
            WIDEST(extreme_steps_##N)(rows + skip * EXTREME_LANES, more - skip, EXTREME_LANES, best, at,      \
                              (extreme_at_##N)(j + skip), max, last);                                         \
        }                                                                                                     \
        for (int l = 0; l < EXTREME_LANES; l++) out[l] = at[l];                                               \
    }                                                                                                         \
    static npy_intp extreme_of_row_##N(T const *x, npy_intp n, int max, int last) {                           \
        int nan = 0;                                                                                          \
        T value = WIDEST(extreme_value_##N)(x, n, max, &nan);                                                 \
        npy_intp i = last ? n - 1 : 0;                                                                        \
        if (nan) {                                                                                            \
            while (x[i] == x[i]) i += last ? -1 : 1;                                                          \
            return i;                                                                                         \
        }                                                                                                     \
        if (last)                                                                                             \
            while (i >= EXTREME_BLOCK && !WIDEST(extreme_is_here_##N)(x + i + 1 - EXTREME_BLOCK, value)) i -= EXTREME_BLOCK; \
        else                                                                                                  \
            while (i + EXTREME_BLOCK <= n && !WIDEST(extreme_is_here_##N)(x + i, value)) i += EXTREME_BLOCK;  \
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
        for (; inner == 1 && n <= EXTREME_SHORT && outer >= EXTREME_LANES; outer -= EXTREME_LANES) {          \
            extreme_beside_##N(x, out, n, 1, 1, max, last);                                                   \
            x += n * EXTREME_LANES, out += EXTREME_LANES;                                                     \
        }                                                                                                     \
        for (; outer > 0; outer--, x += n * inner, out += inner) {                                            \
            npy_intp k = 0;                                                                                   \
            if (inner == 1 && n >= EXTREME_ALONE) {                                                           \
                *out = extreme_of_row_##N(x, n, max, last);                                                   \
                continue;                                                                                     \
            }                                                                                                 \
            for (; k + EXTREME_LANES <= inner && n <= INT32_MAX; k += EXTREME_LANES)                          \
                extreme_beside_##N(x + k, out + k, n, inner, 0, max, last);                                   \
            for (; k < inner; k++) out[k] = extreme_of_few_##N(x + k, n, inner, max, last);                   \
        }                                                                                                     \
    }
NUMBERS(EXTREMES)
EXTREMES('?', bool, uint8_t)

#define EXTREMES_CASE(C, N, T) case C: extremes_##N((T const *)x, out, outer, n, inner, max, last); return 0;
static int loopdbg_arg(char type, char const *x, int64_t *out, npy_intp outer, npy_intp n, npy_intp inner, int max, int last) {
    switch (type) {
        NUMBERS(EXTREMES_CASE)
        EXTREMES_CASE('?', bool, uint8_t)
    }
    return 1;
}

#endif
