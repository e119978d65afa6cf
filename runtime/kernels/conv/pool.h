/* Maxima and sums over windows of one to three spatial axes.
 *
 * Rows first: the inputs of the outer axes' taps are combined into one row as wide as the input, then the taps of the
 * last axis into the output row, by loops over contiguous elements. ops/pool.py passes the layout in an int64 table.
 */
#ifndef LOOPDBG_POOL_H
#define LOOPDBG_POOL_H

#include <stdint.h>
#include <string.h>
#include "../call.h"
#include "../dispatch/processor.h"

enum { POOL_IN, POOL_OUT = 3, POOL_KERNEL = 6, POOL_STEP = 9, POOL_DILATION = 12, POOL_BEFORE = 15, POOL_HEAD = 18 };

/* The taps of a window that meet the input: first..last - 1. */
static void pool_taps(int64_t const *t, int axis, npy_intp start, npy_intp *first, npy_intp *last) {
    npy_intp d = t[POOL_DILATION + axis], n = t[POOL_IN + axis], taps = t[POOL_KERNEL + axis];
    if (start >= 0 && start + (taps - 1) * d < n) { /* common case, without a division, as slow as a short row */
        *first = 0, *last = taps;
        return;
    }
    *first = start < 0 ? (-start + d - 1) / d : 0;
    *last = n > start ? (n - start + d - 1) / d : 0;
    if (*last > taps) *last = taps;
    if (*first > *last) *first = *last;
}

/* X(type, T, lower bound of all values). */
#define POOL_TYPES(X)                                                                                                    \
    X(f32, float, -__builtin_inff())                                                                                     \
    X(f64, double, -__builtin_inf())                                                                                     \
    X(i8, int8_t, INT8_MIN)                                                                                              \
    X(u8, uint8_t, 0)                                                                                                    \
    X(i32, int32_t, INT32_MIN)                                                                                           \
    X(i64, int64_t, INT64_MIN)

#define BODY "../conv/pool_lanes.h"
#include "../dispatch/foreach_target.h"

/* Inputs: x, table. Output: y. Scratch. Extra: channels.
 * With indices: a second output; extra: channels, channel size for the indices, then `place`. */
#define MAXIMA(type, T, LEAST)                                                                                           \
    static int loopdbg_pool_max_##type(loopdbg_call *call) {                                                             \
        DISPATCH(pool_max_##type)                                                                                          \
        ((T const *)LOOPDBG_ARG(call, 0), (int64_t const *)LOOPDBG_ARG(call, 1), (T *)LOOPDBG_ARG(call, 2),              \
         (T *)LOOPDBG_ARG(call, 3), call->extra[0]);                                                                     \
        return 0;                                                                                                        \
    }                                                                                                                    \
    static int loopdbg_pool_places_##type(loopdbg_call *call) {                                                          \
        DISPATCH(pool_places_##type)                                                                                       \
        ((T const *)LOOPDBG_ARG(call, 0), (int64_t const *)LOOPDBG_ARG(call, 1), (T *)LOOPDBG_ARG(call, 2),              \
         (int64_t *)LOOPDBG_ARG(call, 3), call->extra[0], call->extra[1], call->extra + 2);                              \
        return 0;                                                                                                        \
    }

POOL_TYPES(MAXIMA)

#define SUMS(type, T)                                                                                                    \
    static int loopdbg_pool_sum_##type(loopdbg_call *call) {                                                             \
        DISPATCH(pool_sum_##type)                                                                                          \
        ((T const *)LOOPDBG_ARG(call, 0), (int64_t const *)LOOPDBG_ARG(call, 1), (T *)LOOPDBG_ARG(call, 2),              \
         (T *)LOOPDBG_ARG(call, 3), call->extra[0]);                                                                     \
        return 0;                                                                                                        \
    }

SUMS(f32, float)
SUMS(f64, double)

#define MAXIMA_ROWS(type, T, LEAST) {"max_" #type, loopdbg_pool_max_##type}, {"places_" #type, loopdbg_pool_places_##type},

static struct pool_routine {
    char const *name;
    loopdbg_run run;
} const loopdbg_pool_routines[] = {
    POOL_TYPES(MAXIMA_ROWS){"sum_f32", loopdbg_pool_sum_f32},
    {"sum_f64", loopdbg_pool_sum_f64},
};
enum { LOOPDBG_POOL_ROUTINES = sizeof(loopdbg_pool_routines) / sizeof(loopdbg_pool_routines[0]) };

#endif
