/* The maximum, or the minimum, of rows of floats and their initial values: eight rows at once, each by a vector. Of
 * several zeros and of NaNs the first counts, as in scalar_ops.h: they are searched for only if there are some. */
#ifndef LOOPDBG_HIGHS_H
#define LOOPDBG_HIGHS_H

#include <stdint.h>
#include <numpy/npy_common.h>

#include "../call.h"
#include "../element_types/type_lists.h"
#include "../dispatch/processor.h"

/* Minimum length of rows that are split into several vectors. */
enum { LOOPDBG_MINMAX_LONG_ROW = 128 };

#define HIGH_max(a, b) (b) > (a)
#define HIGH_min(a, b) (b) < (a)
/* Lanes where b is better, and where a is. */
#define HIGH_OF(N, OP, a, b)                                                                                  \
    __extension__({                                                                                           \
        high_##N const first = (a), other = (b);                                                              \
        high_at_##N const better = HIGH_##OP(first, other);                                                   \
        (high_##N)((better & (high_at_##N)other) | (~better & (high_at_##N)first));                           \
    })
#define HIGH_PAIRS(N, OP, a, b)                                                                               \
    HIGH_OF(N, OP, SHUFFLE(high_at_##N, a, b, 0, 2, 8, 10, 4, 6, 12, 14), SHUFFLE(high_at_##N, a, b, 1, 3, 9, 11, 5, 7, 13, 15))

#define HIGH_TYPES(C, N, T)                                                                                   \
    typedef T high_##N __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));            \
    typedef __typeof__(__builtin_choose_expr(sizeof(T) == 8, (int64_t)0, (int32_t)0)) high_lane_##N;          \
    typedef high_lane_##N high_at_##N __attribute__((vector_size(8 * sizeof(T))));
FLOATS(HIGH_TYPES)

#define BODY "../reduce/rowwise_minmax_lanes.h"
#include "../dispatch/foreach_target.h"

#endif
