/* Softmax, sums of exponentials and normalizations of rows of floats. */
#ifndef LOOPDBG_ROWS_H
#define LOOPDBG_ROWS_H

#include <math.h>
#include "../call.h"
#include "../dispatch/lanes.h"
#include "../element_types/half_precision.h"

/* Rows of at most this length are interleaved in vectors. */
enum { LOOPDBG_MAX_INTERLEAVED_ROW = 8 };

/* Round a float to float16 or bfloat16. */
static inline float loopdbg_round_to_half(float x, int brain) {
    return brain ? loopdbg_float_from_bfloat16(loopdbg_bfloat16_from_float(x))
                 : loopdbg_float_from_half(loopdbg_half_from_float(x));
}

#define BODY "../reduce/softmax_normalize_lanes.h"
#include "../dispatch/foreach_target.h"

/* x -> out. extra: rows, length of a row, logarithm. */
static int loopdbg_softmax(loopdbg_call *call) {
    DISPATCH(softmax)((float const *)LOOPDBG_ARG(call, 0), (float *)LOOPDBG_ARG(call, 1), call->extra[0], call->extra[1],
                      (int)call->extra[2]);
    return 0;
}

/* x, of float16 or bfloat16 -> out. Differences, powers, their sum and its logarithm are rounded to the type at each
 * step; of bfloat16 in rows of up to 8 each partial sum. extra: as softmax, is bfloat16. */
static int loopdbg_softmax_rounded(loopdbg_call *call) {
    DISPATCH(softmax_halves)((uint16_t const *)LOOPDBG_ARG(call, 0), (uint16_t *)LOOPDBG_ARG(call, 1), call->extra[0],
                             call->extra[1], (int)call->extra[2], (int)call->extra[3]);
    return 0;
}

/* x [rows, n, inner] -> out [rows, inner]. extra: rows, n, inner. */
static int loopdbg_log_sum_exp(loopdbg_call *call) {
    DISPATCH(log_sum_exp)((float const *)LOOPDBG_ARG(call, 0), (float *)LOOPDBG_ARG(call, 1), call->extra[0], call->extra[1],
                          call->extra[2]);
    return 0;
}

/* x, optional scale and bias -> out, and optionally each row's mean and inverse deviation.
 * extra: rows, length of a row, epsilon's bits, flags. */
enum {
    LOOPDBG_SUBTRACT_MEAN = 1,
    LOOPDBG_SCALE = 2,
    LOOPDBG_BIAS = 4,
    LOOPDBG_STATISTICS = 8,
    LOOPDBG_EPSILON_OUTSIDE_ROOT = 16
};
static int loopdbg_normalize(loopdbg_call *call) {
    int flags = (int)call->extra[3], k = 1;
    float const *scale = NULL, *bias = NULL;
    float *out, *means = NULL, *inverses = NULL;
    if (flags & LOOPDBG_SCALE) scale = (float const *)LOOPDBG_ARG(call, k), k++;
    if (flags & LOOPDBG_BIAS) bias = (float const *)LOOPDBG_ARG(call, k), k++;
    out = (float *)LOOPDBG_ARG(call, k);
    if (flags & LOOPDBG_STATISTICS) {
        means = (float *)LOOPDBG_ARG(call, k + 1);
        inverses = (float *)LOOPDBG_ARG(call, k + 2);
    }
    DISPATCH(normalize)((float const *)LOOPDBG_ARG(call, 0), scale, bias, out, means, inverses, call->extra[0], call->extra[1],
                        loopdbg_float_from_bits(call->extra[2]), flags & LOOPDBG_SUBTRACT_MEAN,
                        flags & LOOPDBG_EPSILON_OUTSIDE_ROOT);
    return 0;
}

#endif
