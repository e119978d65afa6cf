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

/* Three strides in bytes of an argument. */
typedef struct {
    npy_intp batch, head, position;
} loopdbg_head_strides;

static inline loopdbg_head_strides loopdbg_head_strides_of(npy_intp const *steps) {
    return (loopdbg_head_strides){steps[0], steps[1], steps[2]};
}

static inline char *loopdbg_at_head(char *data, loopdbg_head_strides by, npy_intp batch, npy_intp head, npy_intp position) {
    return data + batch * by.batch + head * by.head + position * by.position;
}

/* q, k, v, parameters, an additive mask if any -> out; scratch: a float per key and 16 more.
 * steps: strides in bytes of the batches, heads and positions of q, k and v, whose last axis is contiguous.
 * extra: batches, query heads, key heads, queries, keys, width of a query, width of a value, the position of the first
 * query among the keys, strides in floats of the mask's batches, heads and queries.
 * parameters: the bits of scale and softcap; number of keys before and after its own position that a query sees (-1:
 * all); whether heads come after positions in out; zeros; there is a mask. */
static int loopdbg_attend(loopdbg_call *call) {
    npy_intp const *x = call->extra;
    npy_intp batches = x[0], heads = x[1], groups = x[2], queries = x[3], keys = x[4], n = x[5], width = x[6];
    int64_t const *fixed = (int64_t const *)LOOPDBG_ARG(call, 3);
    int masked = (int)fixed[6];
    float const *mask = masked ? (float const *)LOOPDBG_ARG(call, 4) : NULL;
    char *out = LOOPDBG_ARG(call, 4 + masked);
    float *scores = (float *)LOOPDBG_ARG(call, 5 + masked);
    float padded[LOOPDBG_MAX_HEAD_WIDTH + LOOPDBG_LANES];
    loopdbg_attention how = {loopdbg_float_from_bits((npy_intp)fixed[0]), loopdbg_float_from_bits((npy_intp)fixed[1]),
                             (int)fixed[5]};
    loopdbg_head_strides q = loopdbg_head_strides_of(call->steps), k = loopdbg_head_strides_of(call->steps + 3);
    loopdbg_head_strides v = loopdbg_head_strides_of(call->steps + 6);
    npy_intp const size = sizeof(float), row = width * size;
    loopdbg_head_strides y = {heads * queries * row, fixed[4] ? row : queries * row, fixed[4] ? heads * row : row};
    if (n > LOOPDBG_MAX_HEAD_WIDTH) return 1;
    for (npy_intp b = 0; b < batches; b++)
        for (npy_intp h = 0; h < heads; h++) {
            npy_intp g = h / (heads / groups);
            float const *head_keys = (float const *)loopdbg_at_head(LOOPDBG_ARG(call, 1), k, b, g, 0);
            float const *head_values = (float const *)loopdbg_at_head(LOOPDBG_ARG(call, 2), v, b, g, 0);
            for (npy_intp i = 0; i < queries; i++) {
                npy_intp place = x[7] + i, first = 0, end = keys;
                if (fixed[2] >= 0 && place - fixed[2] > 0) first = place - fixed[2];
                if (fixed[3] >= 0 && place + fixed[3] + 1 < end) end = place + fixed[3] + 1 > 0 ? place + fixed[3] + 1 : 0;
                if (first > keys) first = keys;
                memcpy(padded, loopdbg_at_head(LOOPDBG_ARG(call, 0), q, b, h, i), (size_t)(n * size));
                memset(padded + n, 0, LOOPDBG_LANES * sizeof(float));
                DISPATCH(attend)
                (padded, head_keys, k.position / size, head_values, v.position / size,
                 mask ? mask + b * x[8] + h * x[9] + i * x[10] : NULL, scores, (float *)loopdbg_at_head(out, y, b, h, i), keys,
                 first, end, n, width, &how);
            }
        }
    return 0;
}

#endif
