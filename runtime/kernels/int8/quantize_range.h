/* The range of numbers that are quantised as they come, and what follows from it. */
#ifndef LOOPDBG_QUANTIZE_RANGE_H
#define LOOPDBG_QUANTIZE_RANGE_H

#include <stdint.h>
#include <numpy/npy_common.h>

#include "../dispatch/wide.h"

/* Rounds to even what is less than 2^22 from 0. */
#define LOOPDBG_NEAREST(v) (((v) + 0x1.8p23f) - 0x1.8p23f)

/* The least and the greatest of some numbers and 0; what is no number does not count. */
WIDE static void loopdbg_quantize_range(float const *x, npy_intp n, float *low, float *high) {
    enum { SIDE = 64 };
    float least[SIDE] = {0}, most[SIDE] = {0};
    npy_intp i = 0;
    for (; i + SIDE <= n; i += SIDE)
        for (int j = 0; j < SIDE; j++) {
            least[j] = x[i + j] < least[j] ? x[i + j] : least[j];
            most[j] = x[i + j] > most[j] ? x[i + j] : most[j];
        }
    for (int j = 0; i < n; i++, j++) {
        least[j] = x[i] < least[j] ? x[i] : least[j];
        most[j] = x[i] > most[j] ? x[i] : most[j];
    }
    *low = *high = 0;
    for (int j = 0; j < SIDE; j++) {
        *low = least[j] < *low ? least[j] : *low;
        *high = most[j] > *high ? most[j] : *high;
    }
}

static inline uint8_t loopdbg_zero_point(float at) {
    at = at < 255.0f ? at : 255.0f;
    at = at > 0.0f ? at : 0.0f;
    return (uint8_t)(int32_t)LOOPDBG_NEAREST(at);
}

/* DynamicQuantizeLinear's scale and zero point: a range with 0 in it is what a byte can say. */
static inline void loopdbg_quantize_parameters(float low, float high, float *scale, uint8_t *zero) {
    *scale = low == high ? 1.0f : (high - low) / 255.0f;
    *zero = loopdbg_zero_point(0.0f - low / *scale);
}

#endif
