/* Maxima and sums over windows of one to three spatial axes.
 *
 * Rows first: what the taps of the outer axes read is joined into one row as wide as the input, then the taps of the last
 * axis into the output's. Each is a loop over neighbours. ops/pool.py says what lies where, in a table of int64.
 */
#ifndef LOOPDBG_POOL_H
#define LOOPDBG_POOL_H

#include <stdint.h>
#include <string.h>
#include "../call.h"
#include "../dispatch/processor.h"

enum { POOL_IN, POOL_OUT = 3, POOL_KERNEL = 6, POOL_STEP = 9, POOL_DILATION = 12, POOL_BEFORE = 15, POOL_HEAD = 18 };

/* Which taps of a window meet the input: first..last - 1. */
static void pool_taps(int64_t const *t, int axis, npy_intp start, npy_intp *first, npy_intp *last) {
    npy_intp d = t[POOL_DILATION + axis], n = t[POOL_IN + axis], taps = t[POOL_KERNEL + axis];
    if (start >= 0 && start + (taps - 1) * d < n) { /* mostly, and a division takes as long as a short row */
        *first = 0, *last = taps;
        return;
    }
    *first = start < 0 ? (-start + d - 1) / d : 0;
    *last = n > start ? (n - start + d - 1) / d : 0;
    if (*last > taps) *last = taps;
    if (*first > *last) *first = *last;
}

/* Joins rows of neighbours, V elements at a time: to[i] = a[i] with b[i]. ``to`` may be ``a``. A maximum may be taken twice,
 * which ends a row without branches on its numbers. */
#define JOIN(name, ATTRIBUTES, T, V, FEW, MANY, TWICE)                                                       \
    ATTRIBUTES static void join_##name(T *to, T const *a, T const *b, npy_intp n) {                          \
        npy_intp const lanes = sizeof(V) / sizeof(T);                                                        \
        npy_intp i = 0;                                                                                      \
        for (; i + lanes <= n; i += lanes) {                                                                 \
            V x = *(V const *)(a + i), y = *(V const *)(b + i);                                              \
            *(V *)(to + i) = MANY(V, x, y);                                                                  \
        }                                                                                                    \
        if (TWICE && i < n && n > lanes) {                                                                   \
            V x = *(V const *)(a + n - lanes), y = *(V const *)(b + n - lanes);                              \
            *(V *)(to + n - lanes) = MANY(V, x, y);                                                          \
            return;                                                                                          \
        }                                                                                                    \
        for (; i < n; i++) to[i] = FEW(a[i], b[i]);                                                          \
    }

/* A NaN counts as the greatest. */
#define GREATER(a, b) ((((a) > (b)) | ((a) != (a))) ? (a) : (b))
#define BITS(x) (__typeof__((x) > (x)))(x)
#define GREATER_OF(V, a, b) \
    (V)(((((a) > (b)) | ((a) != (a))) & BITS(a)) | (~(((a) > (b)) | ((a) != (a))) & BITS(b)))
#define SUM(a, b) ((a) + (b))
#define SUM_OF(V, a, b) ((a) + (b))

#define POOL(name, ATTRIBUTES, T, NOTHING)                                                                           \
    ATTRIBUTES static void pool_##name(T const *x, int64_t const *t, T *out, T *scratch, npy_intp channels) {        \
        npy_intp const size = t[POOL_IN] * t[POOL_IN + 1] * t[POOL_IN + 2], width = t[POOL_IN + 2];                  \
        npy_intp const count = t[POOL_OUT + 2], taps = t[POOL_KERNEL + 2], dilation = t[POOL_DILATION + 2];          \
        npy_intp const step = t[POOL_STEP + 2], before = t[POOL_BEFORE + 2];                                         \
        npy_intp const places = (count - 1) * step + 1, reach = places + (taps - 1) * dilation;                      \
        npy_intp const lead = before < 0 ? -before : 0;                                                              \
        npy_intp const all = lead + (reach > width + before ? reach : width + before);                               \
        /* row: what the windows read, from its first place on; the input's own columns begin at ``line``. */        \
        T *const row = scratch + lead, *const line = row + before, *const joined = scratch + all;                    \
        for (npy_intp w = 0; w < all; w++) scratch[w] = NOTHING;                                                     \
        for (npy_intp c = 0; c < channels; c++, x += size)                                                           \
            for (npy_intp d = 0; d < t[POOL_OUT]; d++)                                                               \
                for (npy_intp h = 0; h < t[POOL_OUT + 1]; h++, out += count) {                                       \
                    npy_intp z = d * t[POOL_STEP] - t[POOL_BEFORE], y = h * t[POOL_STEP + 1] - t[POOL_BEFORE + 1];   \
                    npy_intp z0, z1, y0, y1;                                                                         \
                    T const *first = NULL; /* row, until there is another */                                         \
                    int begun = 0;                                                                                   \
                    pool_taps(t, 0, z, &z0, &z1), pool_taps(t, 1, y, &y0, &y1);                                      \
                    for (npy_intp i = z0; i < z1; i++)                                                               \
                        for (npy_intp j = y0; j < y1; j++) {                                                         \
                            npy_intp at = (z + i * t[POOL_DILATION]) * t[POOL_IN + 1] + y + j * t[POOL_DILATION + 1];\
                            if (first) join_##name(line, begun ? line : first, x + at * width, width), begun = 1;    \
                            else first = x + at * width;                                                             \
                        }                                                                                            \
                    if (!begun)                                                                                      \
                        for (npy_intp w = 0; w < width; w++) line[w] = first ? first[w] : NOTHING;                   \
                    T *to = step == 1 ? out : joined;                                                                \
                    if (taps > 1) join_##name(to, row, row + dilation, places);                                      \
                    else to = row;                                                                                   \
                    for (npy_intp k = 2; k < taps; k++) join_##name(to, to, row + k * dilation, places);             \
                    if (step == 2)                                                                                   \
                        for (npy_intp w = 0; w < count; w++) out[w] = to[2 * w];                                     \
                    else if (to != out)                                                                              \
                        for (npy_intp w = 0; w < count; w++) out[w] = to[step * w];                                  \
                }                                                                                                    \
    }

/* Where the maxima are: the first of equal ones. ``place`` of an element in its channel: the steps of the axes; then
 * whether nothing is found at the first place of the channel, or at -1. Tap by tap along a row of outputs, as one loop over
 * neighbours without branches; a place is below 0 until something is found. */
#define KEEP(name, T)                                                                                                    \
    static inline __attribute__((always_inline)) void keep_##name(T const *restrict from, npy_intp step, npy_intp n,     \
                                                                  T *restrict best, int64_t *restrict found,             \
                                                                  int64_t at, int64_t apart) {                           \
        for (npy_intp w = 0; w < n; w++) {                                                                               \
            T value = from[w * step], b = best[w];                                                                       \
            int64_t f = found[w], here = at + w * apart;                                                                 \
            int take = (f < 0) | (value > b) | ((value != value) & (b == b));                                            \
            best[w] = take ? value : b;                                                                                  \
            found[w] = take ? here : f;                                                                                  \
        }                                                                                                                \
    }
#define PLACES(name, keep, ATTRIBUTES, T)                                                                                \
    ATTRIBUTES static void name(T const *x, int64_t const *t, T *out, int64_t *places, npy_intp channels,                \
                                npy_intp channel, npy_intp const *place) {                                               \
        npy_intp const *in = (npy_intp const *)t + POOL_IN;                                                              \
        int64_t const *dilation = t + POOL_DILATION;                                                                     \
        npy_intp const count = t[POOL_OUT + 2], step = t[POOL_STEP + 2], before = t[POOL_BEFORE + 2];                    \
        for (npy_intp c = 0; c < channels; c++, x += in[0] * in[1] * in[2])                                              \
            for (npy_intp d = 0; d < t[POOL_OUT]; d++)                                                                   \
                for (npy_intp h = 0; h < t[POOL_OUT + 1]; h++, out += count, places += count) {                          \
                    npy_intp z0 = d * t[POOL_STEP] - t[POOL_BEFORE], y0 = h * t[POOL_STEP + 1] - t[POOL_BEFORE + 1];     \
                    npy_intp first[2], last[2];                                                                          \
                    pool_taps(t, 0, z0, first, last), pool_taps(t, 1, y0, first + 1, last + 1);                          \
                    for (npy_intp w = 0; w < count; w++) out[w] = pool_least_##T, places[w] = -1;                        \
                    for (npy_intp i = first[0]; i < last[0]; i++)                                                        \
                        for (npy_intp j = first[1]; j < last[1]; j++)                                                    \
                            for (npy_intp k = 0; k < t[POOL_KERNEL + 2]; k++) {                                          \
                                npy_intp z = z0 + i * dilation[0], y = y0 + j * dilation[1];                             \
                                npy_intp u = k * dilation[2] - before; /* low..high - 1 of the row's outputs meet it */  \
                                npy_intp low = u < 0 ? (-u + step - 1) / step : 0, high = count;                         \
                                if (u + (count - 1) * step >= in[2]) high = u < in[2] ? (in[2] - 1 - u) / step + 1 : 0;  \
                                if (low >= high) continue;                                                               \
                                u += low * step;                                                                         \
                                T const *from = x + (z * in[1] + y) * in[2] + u;                                         \
                                int64_t at = z * place[0] + y * place[1] + u * place[2], apart = step * place[2];        \
                                if (step == 1) keep(from, 1, high - low, out + low, places + low, at, apart);            \
                                else if (step == 2) keep(from, 2, high - low, out + low, places + low, at, apart);       \
                                else keep(from, step, high - low, out + low, places + low, at, apart);                   \
                            }                                                                                            \
                    int64_t const nothing = place[3] ? c * channel : -1;                                                 \
                    for (npy_intp w = 0; w < count; w++) places[w] = places[w] < 0 ? nothing : c * channel + places[w];  \
                }                                                                                                        \
    }

/* Vectors of 16 and of 32 bytes. */
#define VECTORS(type, T)                                                                  \
    typedef T pool_##type##_16 __attribute__((vector_size(16), aligned(sizeof(T)), may_alias)); \
    typedef T pool_##type##_32 __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));

#if defined(LOOPDBG_X86)
#define POOL_AVX2 __attribute__((target("avx2")))
#define BOTH(kind, type, T, FEW, MANY, TWICE, NOTHING)                                   \
    JOIN(kind##_##type, , T, pool_##type##_16, FEW, MANY, TWICE)                         \
    POOL(kind##_##type, , T, NOTHING)                                               \
    JOIN(kind##_##type##_avx2, POOL_AVX2, T, pool_##type##_32, FEW, MANY, TWICE)         \
    POOL(kind##_##type##_avx2, POOL_AVX2, T, NOTHING)
#define BOTH_PLACES(type, T)                                       \
    PLACES(pool_places_##type, keep_##type, , T)                   \
    PLACES(pool_places_##type##_avx2, keep_##type, POOL_AVX2, T)
#define RUN_POOL(name) (loopdbg_find_lanes(0) > 1 ? pool_##name##_avx2 : pool_##name)
#else
#define BOTH(kind, type, T, FEW, MANY, TWICE, NOTHING)           \
    JOIN(kind##_##type, , T, pool_##type##_16, FEW, MANY, TWICE) \
    POOL(kind##_##type, , T, NOTHING)
#define BOTH_PLACES(type, T) PLACES(pool_places_##type, keep_##type, , T)
#define RUN_POOL(name) pool_##name
#endif

/* Inputs: x, table. Output: y. Scratch. Extra: channels.
 * With places: a second output; extra: channels, channel size as counted, then ``place``. */
#define MAXIMA(type, T, LEAST)                                                                                           \
    static T const pool_least_##T = LEAST;                                                                               \
    VECTORS(type, T)                                                                                                     \
    BOTH(max, type, T, GREATER, GREATER_OF, 1, LEAST)                                                                             \
    KEEP(type, T)                                                                                                        \
    BOTH_PLACES(type, T)                                                                                                 \
    static int loopdbg_pool_max_##type(loopdbg_call *call) {                                                             \
        RUN_POOL(max_##type)                                                                                        \
        ((T const *)LOOPDBG_ARG(call, 0), (int64_t const *)LOOPDBG_ARG(call, 1), (T *)LOOPDBG_ARG(call, 2),              \
         (T *)LOOPDBG_ARG(call, 3), call->extra[0]);                                                                     \
        return 0;                                                                                                        \
    }                                                                                                                    \
    static int loopdbg_pool_places_##type(loopdbg_call *call) {                                                          \
        RUN_POOL(places_##type)                                                                                          \
        ((T const *)LOOPDBG_ARG(call, 0), (int64_t const *)LOOPDBG_ARG(call, 1), (T *)LOOPDBG_ARG(call, 2),              \
         (int64_t *)LOOPDBG_ARG(call, 3), call->extra[0], call->extra[1], call->extra + 2);                              \
        return 0;                                                                                                        \
    }

MAXIMA(f32, float, -__builtin_inff())
MAXIMA(f64, double, -__builtin_inf())
MAXIMA(i8, int8_t, INT8_MIN)
MAXIMA(u8, uint8_t, 0)
MAXIMA(i32, int32_t, INT32_MIN)
MAXIMA(i64, int64_t, INT64_MIN)

#define SUMS(type, T)                                                                                                    \
    BOTH(sum, type, T, SUM, SUM_OF, 0, 0)                                                                                 \
    static int loopdbg_pool_sum_##type(loopdbg_call *call) {                                                             \
        RUN_POOL(sum_##type)                                                                                        \
        ((T const *)LOOPDBG_ARG(call, 0), (int64_t const *)LOOPDBG_ARG(call, 1), (T *)LOOPDBG_ARG(call, 2),              \
         (T *)LOOPDBG_ARG(call, 3), call->extra[0]);                                                                     \
        return 0;                                                                                                        \
    }

SUMS(f32, float)
SUMS(f64, double)

#endif
