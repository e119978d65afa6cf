/* Row kernels are written once, in a header whose body is included for each vector width; all keep 16 lanes (4 vectors
 * of 4, 2 of 8, one of 16), whose sums are added in one order. MULTIPLY_ADD rounds once with AVX2 and AVX-512, which
 * give the same bits, and twice on other processors; everything else gives the same bits on all. */
#ifndef LOOPDBG_LANES_H
#define LOOPDBG_LANES_H

#include <stdint.h>
#include <string.h>
#include <numpy/npy_common.h>
#include "../elementwise/exp_polynomial.h"
#include "processor.h"

enum { LOOPDBG_LANES = 16 };

typedef float loopdbg_f4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float loopdbg_f8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float loopdbg_f16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t loopdbg_i4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t loopdbg_i8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t loopdbg_i16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t loopdbg_u4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint32_t loopdbg_u8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint32_t loopdbg_u16 __attribute__((vector_size(64), aligned(4), may_alias));

/* The float in the bits of a number. */
static inline float loopdbg_float_from_bits(npy_intp bits) {
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

/* The sum of 16 lanes. */
static inline float loopdbg_sum_lanes(float const *lane) {
    float sum[8];
    for (int k = 0; k < 8; k++) sum[k] = lane[k] + lane[k + 8];
    for (int k = 0; k < 4; k++) sum[k] += sum[k + 4];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

#endif
