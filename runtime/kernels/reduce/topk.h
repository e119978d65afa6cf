/* The largest or smallest elements of rows, in order. */
#ifndef LOOPDBG_PICKS_H
#define LOOPDBG_PICKS_H

#include <stdint.h>
#include "../call.h"
#include "../element_types/type_lists.h"
#include "../dispatch/processor.h"
#include "topk_small.h"

/* A heap of the best so far, the worst of them on top. NaN is greater than any number; of equals the earlier is better.
 *
 * extra: rows, elements of a row, stride of a row's elements (and number of interleaved rows), k, the type's character,
 * 1: the largest, 0: the smallest, 1: ordered by index. */
enum { LOOPDBG_TOPK_BLOCK = 64 };

#define BODY "../reduce/topk_lanes.h"
#include "../dispatch/foreach_target.h"

#define PICKS(C, ID, T)                                                                                       \
    typedef struct {                                                                                          \
        T value;                                                                                              \
        int64_t place;                                                                                        \
    } loopdbg_pick_##ID;                                                                                      \
    static inline int loopdbg_better_##ID(loopdbg_pick_##ID a, loopdbg_pick_##ID b, int greatest) {           \
        int a_nan = a.value != a.value, b_nan = b.value != b.value;                                           \
        if (a_nan || b_nan) return a_nan == b_nan ? a.place < b.place : greatest ? a_nan : b_nan;             \
        if (a.value == b.value) return a.place < b.place;                                                     \
        return greatest ? a.value > b.value : a.value < b.value;                                              \
    }                                                                                                         \
    /* by: 0 least first, 1 greatest first, 2 by place */                                                     \
    static inline int loopdbg_before_##ID(loopdbg_pick_##ID a, loopdbg_pick_##ID b, int by) {                 \
        return by == 2 ? a.place < b.place : loopdbg_better_##ID(a, b, by);                                   \
    }                                                                                                         \
    static void loopdbg_sift_##ID(loopdbg_pick_##ID *heap, npy_intp n, npy_intp at, int by) {                 \
        loopdbg_pick_##ID moved = heap[at];                                                                   \
        for (npy_intp child; (child = 2 * at + 1) < n; at = child) {                                          \
            if (child + 1 < n && loopdbg_before_##ID(heap[child], heap[child + 1], by)) child++;              \
            if (!loopdbg_before_##ID(moved, heap[child], by)) break;                                          \
            heap[at] = heap[child];                                                                           \
        }                                                                                                     \
        heap[at] = moved;                                                                                     \
    }                                                                                                         \
    static inline void loopdbg_top_##ID(T const *x, T *values, int64_t *places, loopdbg_pick_##ID *heap, npy_intp n, \
                                 npy_intp step, npy_intp k, int greatest, int by_place) {                     \
        npy_intp i = 0;                                                                                       \
        if (loopdbg_topk_is_small(sizeof(T), n, k)) {                                                                \
            loopdbg_few_##ID(x, values, places, n, step, k, greatest, by_place);                              \
            return;                                                                                           \
        }                                                                                                     \
        for (; i < k; i++) {                                                                                  \
            heap[i].value = x[i * step];                                                                      \
            heap[i].place = i;                                                                                \
        }                                                                                                     \
        for (npy_intp j = k / 2; j-- > 0;) loopdbg_sift_##ID(heap, k, j, greatest);                           \
        while (i < n) {                                                                                       \
            npy_intp end = i + LOOPDBG_TOPK_BLOCK;                                                            \
            if (end > n)                                                                                      \
                end = n;                                                                                      \
            else if (step == 1 && !(greatest ? DISPATCH(any_above_##ID)(x + i, heap[0].value)                   \
                                             : DISPATCH(any_below_##ID)(x + i, heap[0].value))) {               \
                i = end;                                                                                      \
                continue;                                                                                     \
            }                                                                                                 \
            for (; i < end; i++) {                                                                            \
                loopdbg_pick_##ID one = {x[i * step], i};                                                     \
                if (loopdbg_better_##ID(one, heap[0], greatest)) {                                            \
                    heap[0] = one;                                                                            \
                    loopdbg_sift_##ID(heap, k, 0, greatest);                                                  \
                }                                                                                             \
            }                                                                                                 \
        }                                                                                                     \
        int by = by_place ? 2 : greatest;                                                                     \
        if (by_place)                                                                                         \
            for (npy_intp j = k / 2; j-- > 0;) loopdbg_sift_##ID(heap, k, j, by);                             \
        for (npy_intp m = k; m > 0; m--) {                                                                    \
            values[(m - 1) * step] = heap[0].value;                                                           \
            places[(m - 1) * step] = heap[0].place;                                                           \
            heap[0] = heap[m - 1];                                                                            \
            loopdbg_sift_##ID(heap, m - 1, 0, by);                                                            \
        }                                                                                                     \
    }
NUMBERS(PICKS)

#define PICKS_CASE(C, ID, T)                                                                                  \
    case C:                                                                                                   \
        for (npy_intp o = 0; o < outer; o++)                                                                  \
            for (npy_intp i = 0; i < inner; i++)                                                              \
                loopdbg_top_##ID((T const *)x + o * n * inner + i, (T *)values + o * k * inner + i,           \
                                 places + o * k * inner + i, (loopdbg_pick_##ID *)heap, n, inner, k, greatest, \
                                 by_place);                                                                   \
        return 0;

/* x -> values, indices; scratch: 16 bytes per result. */
static inline int loopdbg_topk(loopdbg_call *call) {
    npy_intp outer = call->extra[0], n = call->extra[1], inner = call->extra[2], k = call->extra[3];
    int type = (int)call->extra[4], greatest = (int)call->extra[5], by_place = (int)call->extra[6];
    char const *x = LOOPDBG_ARG(call, 0);
    char *values = LOOPDBG_ARG(call, 1), *heap = LOOPDBG_ARG(call, 3);
    int64_t *places = (int64_t *)LOOPDBG_ARG(call, 2);
    switch (type) { NUMBERS(PICKS_CASE) }
    return 1;
}

#define PICKS_FIRST(C, ID, T)                                                                                 \
    case C:                                                                                                   \
        for (npy_intp o = 0; o < outer; o++)                                                                  \
            for (npy_intp i = 0; i < inner; i++) {                                                            \
                T const *row = (T const *)x + o * n * inner + i;                                              \
                npy_intp at = o * inner + i;                                                                  \
                T value = row[extremes[at] * inner];                                                             \
                ((T *)values)[at] = value;                                                                    \
                places[at] = extremes[at];                                                                       \
                if (value != value && !greatest) {                                                            \
                    loopdbg_pick_##ID heap;                                                                   \
                    T best;                                                                                   \
                    loopdbg_top_##ID(row, &best, places + at, &heap, n, inner, 1, greatest, 0);               \
                    ((T *)values)[at] = best;                                                                 \
                }                                                                                             \
            }                                                                                                 \
        return 0;

/* x, indices of the extremes of rows (those of NaNs, if any) -> the same with k = 1; extra: as above. */
static inline int loopdbg_top1(loopdbg_call *call) {
    npy_intp outer = call->extra[0], n = call->extra[1], inner = call->extra[2];
    int type = (int)call->extra[4], greatest = (int)call->extra[5];
    char const *x = LOOPDBG_ARG(call, 0);
    int64_t const *extremes = (int64_t const *)LOOPDBG_ARG(call, 1);
    char *values = LOOPDBG_ARG(call, 2);
    int64_t *places = (int64_t *)LOOPDBG_ARG(call, 3);
    switch (type) { NUMBERS(PICKS_FIRST) }
    return 1;
}

#endif
