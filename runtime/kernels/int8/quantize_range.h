/* The range of numbers that are quantised as they come, and what follows from it. */
#ifndef LOOPDBG_QUANTIZE_RANGE_H
#define LOOPDBG_QUANTIZE_RANGE_H

#include <stdint.h>
#include <numpy/npy_common.h>

#include "../dispatch/processor.h"

/* Rounds to even what is less than 2^22 from 0. */
#define LOOPDBG_NEAREST(v) (((v) + 0x1.8p23f) - 0x1.8p23f)

#define BODY "../int8/quantize_range_lanes.h"
#include "../dispatch/foreach_target.h"

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
