/* The best few elements of a short row, without data-dependent branches (topk.h). */
#ifndef LOOPDBG_PICKS_FEW_H
#define LOOPDBG_PICKS_FEW_H

#include <stdint.h>
#include <string.h>
#include "../element_types/type_lists.h"

/* For types of at most 4 bytes an element and its index are one number: the order of values in the upper bits, below it
 * the index, counted from the end. The largest is the best, and no two are equal. */
enum { LOOPDBG_TOPK_SMALL_MAX_ELEMENTS = 64, LOOPDBG_TOPK_SMALL_MAX_K = 8 };

/* NaN is greater than any number, and zeros are equal. */
static inline int32_t loopdbg_order_float(float x) {
    float positive_zero = x + 0.0f;
    int32_t bits;
    memcpy(&bits, &positive_zero, sizeof bits);
    return x != x ? INT32_MAX : bits ^ ((bits >> 31) & INT32_MAX);
}

#define LOOPDBG_ORDER_INTEGER(C, ID, T)                                                                       \
    static inline int32_t loopdbg_order_##ID(T x) {                                                           \
        return (T)-1 > 0 && sizeof(T) == 4 ? (int32_t)((int64_t)x + INT32_MIN) : (int32_t)x;                  \
    }
INTEGERS(LOOPDBG_ORDER_INTEGER)
#define LOOPDBG_ORDER_FLOAT(C, ID, T)                                                                         \
    static inline int32_t loopdbg_order_##ID(T x) { return loopdbg_order_float((float)x); }
FLOATS(LOOPDBG_ORDER_FLOAT)

/* The best `most` of n numbers, the best first: insertion shifts the worse ones by one. */
static inline __attribute__((always_inline)) void loopdbg_topk_small(const int64_t *x, int n, int64_t *best, int most) {
    int64_t kept[LOOPDBG_TOPK_SMALL_MAX_K];
    for (int m = 0; m < most; m++) kept[m] = INT64_MIN;
    for (int i = 0; i < n; i++) {
#pragma GCC unroll 8
        for (int m = most - 1; m > 0; m--) {
            int64_t moved = x[i] < kept[m - 1] ? x[i] : kept[m - 1];
            kept[m] = kept[m] > moved ? kept[m] : moved;
        }
        kept[0] = kept[0] > x[i] ? kept[0] : x[i];
    }
    for (int m = 0; m < most; m++) best[m] = kept[m];
}

static inline void loopdbg_sort_indices(int64_t *places, int n) {
    for (int m = 1; m < n; m++) {
        int64_t one = places[m];
        int at = m;
        for (; at > 0 && places[at - 1] > one; at--) places[at] = places[at - 1];
        places[at] = one;
    }
}

/* Is it such a row? */
static inline int loopdbg_topk_is_small(size_t size, int64_t n, int64_t k) {
    return size <= 4 && n <= LOOPDBG_TOPK_SMALL_MAX_ELEMENTS && 0 < k && k <= LOOPDBG_TOPK_SMALL_MAX_K;
}

#define PICK_FEW(C, ID, T)                                                                                    \
    static inline void loopdbg_few_##ID(const T *x, T *values, int64_t *places, int64_t n, int64_t step, int64_t k, \
                                        int greatest, int by_place) {                                         \
        int64_t numbers[LOOPDBG_TOPK_SMALL_MAX_ELEMENTS], best[LOOPDBG_TOPK_SMALL_MAX_K];                                             \
        for (int64_t i = 0; i < n; i++) {                                                                     \
            int32_t order = loopdbg_order_##ID(x[i * step]);                                                  \
            numbers[i] = (int64_t)((uint64_t)(uint32_t)(greatest ? order : ~order) << 32 | (uint32_t)~i);     \
        }                                                                                                     \
        if (k <= LOOPDBG_TOPK_SMALL_MAX_K / 2)                                                                             \
            loopdbg_topk_small(numbers, (int)n, best, LOOPDBG_TOPK_SMALL_MAX_K / 2);                                             \
        else                                                                                                  \
            loopdbg_topk_small(numbers, (int)n, best, LOOPDBG_TOPK_SMALL_MAX_K);                                                 \
        for (int64_t m = 0; m < k; m++) best[m] = (uint32_t)~best[m];                                         \
        if (by_place) loopdbg_sort_indices(best, (int)k);                                                      \
        for (int64_t m = 0; m < k; m++) {                                                                     \
            values[m * step] = x[best[m] * step];                                                             \
            places[m * step] = best[m];                                                                       \
        }                                                                                                     \
    }
NUMBERS(PICK_FEW)

#endif
