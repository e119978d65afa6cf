/* Attention of a few queries with many keys, as in each step of a decoder. The cache is read once, in place. */
#ifndef LOOPDBG_ATTENTION_H
#define LOOPDBG_ATTENTION_H

#include <math.h>
#include "../call.h"
#include "../dispatch/lanes.h"

typedef struct {
    float scale, softcap; /* softcap 0: none */
    int zeros;            /* a query without keys gives zeros, not NaN */
} loopdbg_attention;

/* Does a mask, if any, hide all keys from first to end - 1? */
static inline int loopdbg_is_masked(float const *mask, npy_intp first, npy_intp end) {
    for (npy_intp j = first; j < end; j++)
        if (!mask || mask[j] != -__builtin_inff()) return 0;
    return 1;
}

#define BODY "../attention/attention_lanes.h"
#include "../dispatch/foreach_target.h"

enum { LOOPDBG_MAX_HEAD_WIDTH = 1024 };

/* q, k, v, parameters, an additive mask if any -> out; scratch: a float per key and 16 more.
 * extra: batches, query heads, key heads, queries, keys, width of a query, width of a value, the position of the first
 * query among the keys, strides in floats of the mask's batches, heads and queries.
 * parameters: the bits of scale and softcap; number of keys before and after its own position that a query sees (-1:
 * all); for q, k, v and out, whether heads come after positions; zeros; there is a mask. */
static int loopdbg_attend(loopdbg_call *call) {
    npy_intp const *x = call->extra;
    npy_intp batches = x[0], heads = x[1], groups = x[2], queries = x[3], keys = x[4], n = x[5], width = x[6];
    float const *q = (float const *)LOOPDBG_ARG(call, 0), *k = (float const *)LOOPDBG_ARG(call, 1);
    float const *v = (float const *)LOOPDBG_ARG(call, 2);
    int64_t const *fixed = (int64_t const *)LOOPDBG_ARG(call, 3);
    int masked = (int)fixed[9];
    float const *mask = masked ? (float const *)LOOPDBG_ARG(call, 4) : NULL;
    float *out = (float *)LOOPDBG_ARG(call, 4 + masked), *scores = (float *)LOOPDBG_ARG(call, 5 + masked);
    float padded[LOOPDBG_MAX_HEAD_WIDTH + LOOPDBG_LANES];
    loopdbg_attention how = {loopdbg_float_from_bits((npy_intp)fixed[0]), loopdbg_float_from_bits((npy_intp)fixed[1]),
                             (int)fixed[8]};
    npy_intp q_step = fixed[4] ? heads * n : n, k_step = fixed[5] ? groups * n : n;
    npy_intp v_step = fixed[6] ? groups * width : width, out_step = fixed[7] ? heads * width : width;
    if (n > LOOPDBG_MAX_HEAD_WIDTH) return 1;
    for (npy_intp b = 0; b < batches; b++)
        for (npy_intp h = 0; h < heads; h++) {
            npy_intp g = h / (heads / groups);
            float const *head_keys = k + b * groups * keys * n + (fixed[5] ? g * n : g * keys * n);
            float const *head_values = v + b * groups * keys * width + (fixed[6] ? g * width : g * keys * width);
            for (npy_intp i = 0; i < queries; i++) {
                float const *query = q + b * heads * queries * n + (fixed[4] ? h * n : h * queries * n) + i * q_step;
                float *y = out + b * heads * queries * width + (fixed[7] ? h * width : h * queries * width) + i * out_step;
                npy_intp place = x[7] + i, first = 0, end = keys;
                if (fixed[2] >= 0 && place - fixed[2] > 0) first = place - fixed[2];
                if (fixed[3] >= 0 && place + fixed[3] + 1 < end) end = place + fixed[3] + 1 > 0 ? place + fixed[3] + 1 : 0;
                if (first > keys) first = keys;
                memcpy(padded, query, (size_t)n * sizeof(float));
                memset(padded + n, 0, LOOPDBG_LANES * sizeof(float));
                DISPATCH(attend)
                (padded, head_keys, k_step, head_values, v_step, mask ? mask + b * x[8] + h * x[9] + i * x[10] : NULL, scores,
                 y, keys, first, end, n, width, &how);
            }
        }
    return 0;
}

#endif
