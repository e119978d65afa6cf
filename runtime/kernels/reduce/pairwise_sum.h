/* NumPy's pairwise sums, to the bit: up to 128 numbers are eight interleaved sums, which are added in pairs; more than
 * that are two halves, the first one a multiple of 8. Here the eight sums are a vector, and several are interleaved. */
#ifndef LOOPDBG_SUMS_H
#define LOOPDBG_SUMS_H

#include <stdint.h>
#include <string.h>
#include <numpy/npy_common.h>

#include "../call.h"
#include "../element_types/type_lists.h"
#include "../dispatch/processor.h"

/* Numbers of a part that is not split further; maximum that is summed at once, in up to eight such parts. */
enum { LOOPDBG_SUM_LEAF_ELEMENTS = 128, LOOPDBG_SUM_MAX_ELEMENTS = 1024 };

/* Pairs of neighbours, of two vectors; all of one, in pairs. */
#define SUM_PAIRS(I, a, b) SHUFFLE(I, a, b, 0, 2, 8, 10, 4, 6, 12, 14) + SHUFFLE(I, a, b, 1, 3, 9, 11, 5, 7, 13, 15)
#define SUM_OF(s) (((s)[0] + (s)[1]) + ((s)[2] + (s)[3])) + (((s)[4] + (s)[5]) + ((s)[6] + (s)[7]))

#define SUM_TYPES(C, N, T)                                                                                    \
    typedef T sum_##N __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));             \
    typedef __typeof__((sum_##N){0} != (sum_##N){0}) sum_at_##N;                                              \
    static T const nothing_##N[8] = {-0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0};                         \
    static T sum_all_##N(T const *x, npy_intp n);
FLOATS(SUM_TYPES)

#define BODY "../reduce/pairwise_sum_lanes.h"
#include "../dispatch/foreach_target.h"

#define SUMS(C, N, T)                                                                                         \
    /* How many parts there are, 2, 4 or 8, or 0 where it is another number. */                               \
    INLINE int sum_parts_##N(npy_intp units, npy_intp rest) {                                                 \
        for (int parts = 2; parts <= 8; parts *= 2)                                                           \
            if ((units + parts - 1) / parts * 8 + rest <= LOOPDBG_SUM_LEAF_ELEMENTS)                                   \
                return units / (parts / 2) * 8 > LOOPDBG_SUM_LEAF_ELEMENTS ? parts : 0;                                \
        return 0;                                                                                             \
    }                                                                                                         \
    static T sum_all_##N(T const *x, npy_intp n) {                                                            \
        int parts = n <= LOOPDBG_SUM_LEAF_ELEMENTS ? 1 : n <= LOOPDBG_SUM_MAX_ELEMENTS ? sum_parts_##N(n / 8, n % 8) : 0;      \
        npy_intp half = n / 2 - n / 2 % 8;                                                                    \
        T sum = (T)-0.0;                                                                                      \
        if (n >= 8) return parts ? DISPATCH(sum_at_once_##N)(x, n, parts) : sum_all_##N(x, half) + sum_all_##N(x + half, n - half); \
        for (npy_intp i = 0; i < n; i++) sum += x[i];                                                         \
        return sum;                                                                                           \
    }                                                                                                         \
    /* Of neighbours. */                                                                                      \
    LOOP(fold_sum_##N) {                                                                                      \
        (void)steps, (void)data;                                                                              \
        *(T *)args[2] = *(T const *)args[0] + sum_all_##N((T const *)args[1], dims[0]);                       \
    }
FLOATS(SUMS)

#endif
