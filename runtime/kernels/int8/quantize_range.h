/* Dynamic quantization: the range of numbers, scale and zero point. */
#ifndef LOOPDBG_QUANTIZE_RANGE_H
#define LOOPDBG_QUANTIZE_RANGE_H

#include <stdint.h>
#include <numpy/npy_common.h>

#include "../dispatch/processor.h"

/* Rounds to even if the magnitude is below 2^22. */
#define LOOPDBG_NEAREST(v) (((v) + 0x1.8p23f) - 0x1.8p23f)

#define BODY "../int8/quantize_range_lanes.h"
#include "../dispatch/foreach_target.h"

static inline uint8_t loopdbg_zero_point(float x) {
    x = x < 255.0f ? x : 255.0f;
    x = x > 0.0f ? x : 0.0f;
    return (uint8_t)(int32_t)LOOPDBG_NEAREST(x);
}

/* DynamicQuantizeLinear's scale and zero point: the range with 0 in it is mapped to a byte. */
static inline void loopdbg_quantize_parameters(float low, float high, float *scale, uint8_t *zero) {
    *scale = low == high ? 1.0f : (high - low) / 255.0f;
    *zero = loopdbg_zero_point(0.0f - low / *scale);
}

#endif
