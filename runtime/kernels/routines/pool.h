/* Maxima and sums over windows of one to three spatial axes.
 *
 * Rows first: what the taps of the outer axes read is joined into one row as wide as the input, then the taps of the last
 * axis into the output's. Each is a loop over neighbours. ops/pool.py says what lies where, in a table of int64.
 */
#ifndef LOOPDBG_POOL_H
#define LOOPDBG_POOL_H

#include <stdint.h>
#include <string.h>
#include "call.h"

enum { POOL_IN, POOL_OUT = 3, POOL_KERNEL = 6, POOL_STEP = 9, POOL_DILATION = 12, POOL_BEFORE = 15, POOL_HEAD = 18 };

/* Which taps of a window meet the input: first..last - 1. */
static void pool_taps(int64_t const *t, int axis, npy_intp start, npy_intp *first, npy_intp *last) {
    npy_intp d = t[POOL_DILATION + axis], n = t[POOL_IN + axis];
    *first = start < 0 ? (-start + d - 1) / d : 0;
    *last = n > start ? (n - start + d - 1) / d : 0;
    if (*last > t[POOL_KERNEL + axis]) *last = t[POOL_KERNEL + axis];
    if (*first > *last) *first = *last;
}

/* A NaN counts as the greatest. */
#define GREATER(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define SUM(a, b) ((a) + (b))

/* Joins the taps of the last axis: out[w] of row[w * step + tap * dilation]. */
#define ALONG(T, JOIN, step)                                              \
    for (npy_intp w = 0; w < count; w++) out[w] = row[w * (step)];        \
    for (npy_intp k = 1; k < taps; k++) {                                 \
        T const *next = row + k * dilation;                               \
        for (npy_intp w = 0; w < count; w++) {                            \
            T a = out[w], b = next[w * (step)];                           \
            out[w] = JOIN(a, b);                                          \
        }                                                                 \
    }

#define POOL(name, ATTRIBUTES, T, JOIN, NOTHING)                                                                         \
    ATTRIBUTES static void name(T const *x, int64_t const *t, T *out, T *scratch, npy_intp channels) {                   \
        npy_intp const size = t[POOL_IN] * t[POOL_IN + 1] * t[POOL_IN + 2], width = t[POOL_IN + 2];                      \
        npy_intp const count = t[POOL_OUT + 2], taps = t[POOL_KERNEL + 2], dilation = t[POOL_DILATION + 2];              \
        npy_intp const step = t[POOL_STEP + 2], before = t[POOL_BEFORE + 2];                                             \
        npy_intp const reach = (count - 1) * step + (taps - 1) * dilation + 1;                                           \
        npy_intp const lead = before < 0 ? -before : 0;                                                                  \
        /* row: what the windows read, from its first place on; the input's own columns begin at ``line``. */            \
        T *const row = scratch + lead, *const line = row + before;                                                       \
        for (npy_intp w = 0; w < lead + (reach > width + before ? reach : width + before); w++) scratch[w] = NOTHING;    \
        for (npy_intp c = 0; c < channels; c++, x += size)                                                               \
            for (npy_intp d = 0; d < t[POOL_OUT]; d++)                                                                   \
                for (npy_intp h = 0; h < t[POOL_OUT + 1]; h++, out += count) {                                           \
                    npy_intp z = d * t[POOL_STEP] - t[POOL_BEFORE], y = h * t[POOL_STEP + 1] - t[POOL_BEFORE + 1];       \
                    npy_intp z0, z1, y0, y1;                                                                             \
                    int begun = 0;                                                                                       \
                    pool_taps(t, 0, z, &z0, &z1), pool_taps(t, 1, y, &y0, &y1);                                          \
                    for (npy_intp i = z0; i < z1; i++)                                                                   \
                        for (npy_intp j = y0; j < y1; j++, begun = 1) {                                                  \
                            T const *from = x + ((z + i * t[POOL_DILATION]) * t[POOL_IN + 1] + y +                       \
                                                 j * t[POOL_DILATION + 1]) * width;                                      \
                            if (!begun) memcpy(line, from, (size_t)width * sizeof(T));                                   \
                            else                                                                                         \
                                for (npy_intp w = 0; w < width; w++) {                                                   \
                                    T a = line[w], b = from[w];                                                          \
                                    line[w] = JOIN(a, b);                                                                \
                                }                                                                                        \
                        }                                                                                                \
                    if (!begun)                                                                                          \
                        for (npy_intp w = 0; w < width; w++) line[w] = NOTHING;                                          \
                    if (step == 1) { ALONG(T, JOIN, 1) }                                                                 \
                    else if (step == 2) { ALONG(T, JOIN, 2) }                                                            \
                    else { ALONG(T, JOIN, step) }                                                                        \
                }                                                                                                        \
    }

/* Where the maxima are: the first of equal ones. ``place`` of an element in its channel: the steps of the axes; then
 * whether nothing is found at the first place of the channel, or at -1. */
#define PLACES(name, T)                                                                                                  \
    static void name(T const *x, int64_t const *t, T *out, int64_t *places, npy_intp channels, npy_intp channel,         \
                     npy_intp const *place) {                                                                            \
        npy_intp const *in = (npy_intp const *)t + POOL_IN;                                                              \
        int64_t const *dilation = t + POOL_DILATION;                                                                     \
        for (npy_intp c = 0; c < channels; c++, x += in[0] * in[1] * in[2])                                              \
            for (npy_intp d = 0; d < t[POOL_OUT]; d++)                                                                   \
                for (npy_intp h = 0; h < t[POOL_OUT + 1]; h++)                                                           \
                    for (npy_intp w = 0; w < t[POOL_OUT + 2]; w++, out++, places++) {                                    \
                        npy_intp at[3] = {d, h, w}, first[3], last[3], found = -1;                                       \
                        T best = 0;                                                                                      \
                        for (int a = 0; a < 3; a++) {                                                                    \
                            at[a] = at[a] * t[POOL_STEP + a] - t[POOL_BEFORE + a];                                       \
                            pool_taps(t, a, at[a], first + a, last + a);                                                 \
                        }                                                                                                \
                        for (npy_intp i = first[0]; i < last[0]; i++)                                                    \
                            for (npy_intp j = first[1]; j < last[1]; j++)                                                \
                                for (npy_intp k = first[2]; k < last[2]; k++) {                                          \
                                    npy_intp z = at[0] + i * dilation[0], y = at[1] + j * dilation[1];                   \
                                    npy_intp u = at[2] + k * dilation[2];                                                \
                                    T value = x[(z * in[1] + y) * in[2] + u];                                            \
                                    if (found < 0 || value > best || (value != value && best == best)) {                 \
                                        best = value;                                                                    \
                                        found = z * place[0] + y * place[1] + u * place[2];                              \
                                    }                                                                                    \
                                }                                                                                        \
                        *out = found < 0 ? pool_least_##T : best;                                                        \
                        *places = found >= 0 ? c * channel + found : place[3] ? c * channel : -1;                        \
                    }                                                                                                    \
    }

#if defined(__x86_64__)
#define POOL_AVX2 __attribute__((target("avx2")))
#define BOTH(name, T, JOIN, NOTHING) POOL(name, , T, JOIN, NOTHING) POOL(name##_avx2, POOL_AVX2, T, JOIN, NOTHING)
#define RUN_POOL(name) (__builtin_cpu_supports("avx2") ? name##_avx2 : name)
#else
#define BOTH(name, T, JOIN, NOTHING) POOL(name, , T, JOIN, NOTHING)
#define RUN_POOL(name) name
#endif

/* Inputs: x, table. Output: y. Scratch. Extra: channels.
 * With places: a second output; extra: channels, channel size as counted, then ``place``. */
#define MAXIMA(type, T, LEAST)                                                                                           \
    static T const pool_least_##T = LEAST;                                                                               \
    BOTH(pool_max_##type, T, GREATER, LEAST)                                                                             \
    PLACES(pool_places_##type, T)                                                                                        \
    static int loopdbg_pool_max_##type(loopdbg_call *call) {                                                             \
        RUN_POOL(pool_max_##type)                                                                                        \
        ((T const *)LOOPDBG_ARG(call, 0), (int64_t const *)LOOPDBG_ARG(call, 1), (T *)LOOPDBG_ARG(call, 2),              \
         (T *)LOOPDBG_ARG(call, 3), call->extra[0]);                                                                     \
        return 0;                                                                                                        \
    }                                                                                                                    \
    static int loopdbg_pool_places_##type(loopdbg_call *call) {                                                          \
        pool_places_##type((T const *)LOOPDBG_ARG(call, 0), (int64_t const *)LOOPDBG_ARG(call, 1),                       \
                           (T *)LOOPDBG_ARG(call, 2), (int64_t *)LOOPDBG_ARG(call, 3), call->extra[0], call->extra[1],   \
                           call->extra + 2);                                                                             \
        return 0;                                                                                                        \
    }

MAXIMA(f32, float, -__builtin_inff())
MAXIMA(f64, double, -__builtin_inf())
MAXIMA(i8, int8_t, INT8_MIN)
MAXIMA(u8, uint8_t, 0)
MAXIMA(i32, int32_t, INT32_MIN)
MAXIMA(i64, int64_t, INT64_MIN)

#define SUMS(type, T)                                                                                                    \
    BOTH(pool_sum_##type, T, SUM, 0)                                                                                     \
    static int loopdbg_pool_sum_##type(loopdbg_call *call) {                                                             \
        RUN_POOL(pool_sum_##type)                                                                                        \
        ((T const *)LOOPDBG_ARG(call, 0), (int64_t const *)LOOPDBG_ARG(call, 1), (T *)LOOPDBG_ARG(call, 2),              \
         (T *)LOOPDBG_ARG(call, 3), call->extra[0]);                                                                     \
        return 0;                                                                                                        \
    }

SUMS(f32, float)
SUMS(f64, double)

#endif
