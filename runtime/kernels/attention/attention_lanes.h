/* Attention of single queries, for one vector width: see lanes.h and attention.h. */
#include "../dispatch/lanes_math.h"

/* Sums of the lanes of N keys at once, each in the order of loopdbg_sum_lanes: halves of two vectors are added and
 * placed next to each other. */
#if N == 16
#define HALVES_8(a, b) \
    (SHUFFLE(VI, a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) + \
     SHUFFLE(VI, a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
#define HALVES_4(a, b) \
    (SHUFFLE(VI, a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) + \
     SHUFFLE(VI, a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31))
#define HALVES_2(a, b) \
    (SHUFFLE(VI, a, b, 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29) + \
     SHUFFLE(VI, a, b, 2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31))
#define HALVES_1(a, b) \
    (SHUFFLE(VI, a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) + \
     SHUFFLE(VI, a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31))
#elif N == 8
#define HALVES_4(a, b) (SHUFFLE(VI, a, b, 0, 1, 2, 3, 8, 9, 10, 11) + SHUFFLE(VI, a, b, 4, 5, 6, 7, 12, 13, 14, 15))
#define HALVES_2(a, b) (SHUFFLE(VI, a, b, 0, 1, 4, 5, 8, 9, 12, 13) + SHUFFLE(VI, a, b, 2, 3, 6, 7, 10, 11, 14, 15))
#define HALVES_1(a, b) (SHUFFLE(VI, a, b, 0, 2, 4, 6, 8, 10, 12, 14) + SHUFFLE(VI, a, b, 1, 3, 5, 7, 9, 11, 13, 15))
#else
#define HALVES_2(a, b) (SHUFFLE(VI, a, b, 0, 1, 4, 5) + SHUFFLE(VI, a, b, 2, 3, 6, 7))
#define HALVES_1(a, b) (SHUFFLE(VI, a, b, 0, 2, 4, 6) + SHUFFLE(VI, a, b, 1, 3, 5, 7))
#endif

/* out[j] = scale * (q . keys[j]) for N keys; q is padded with zeros to whole vectors. */
INLINE void NAME(dots)(float const *q, float const *keys, npy_intp stride, npy_intp n, float scale, float *out) {
    V lanes[N][LOOPDBG_LANES / N], v[LOOPDBG_LANES / N], sum[N];
    npy_intp i = 0;
    for (int j = 0; j < N; j++)
        for (int w = 0; w < LOOPDBG_LANES / N; w++) lanes[j][w] = (V){0};
    for (; i + LOOPDBG_LANES <= n; i += LOOPDBG_LANES)
        for (int j = 0; j < N; j++)
            for (int w = 0; w < LOOPDBG_LANES / N; w++)
                lanes[j][w] += *(V const *)(q + i + w * N) * *(V const *)(keys + j * stride + i + w * N);
    if (i < n)
        for (int j = 0; j < N; j++) {
            NAME(load)(keys + j * stride + i, n - i, 0, v);
            for (int w = 0; w < LOOPDBG_LANES / N; w++) lanes[j][w] += *(V const *)(q + i + w * N) * v[w];
        }
    for (int j = 0; j < N; j++) {
#if N == 16
        sum[j] = lanes[j][0];
#elif N == 8
        sum[j] = lanes[j][0] + lanes[j][1];
#else
        sum[j] = (lanes[j][0] + lanes[j][2]) + (lanes[j][1] + lanes[j][3]);
#endif
    }
#if N == 16
    for (int j = 0; j < 8; j++) sum[j] = HALVES_8(sum[2 * j], sum[2 * j + 1]);
#endif
#if N >= 8
    for (int j = 0; j < 4; j++) sum[j] = HALVES_4(sum[2 * j], sum[2 * j + 1]);
#endif
    for (int j = 0; j < 2; j++) sum[j] = HALVES_2(sum[2 * j], sum[2 * j + 1]);
    *(V *)out = HALVES_1(sum[0], sum[1]) * scale;
}
#undef HALVES_8
#undef HALVES_4
#undef HALVES_2
#undef HALVES_1

/* One query, which sees the keys first to end - 1. The others are read as well, so that NaN among them propagates as in
 * a sum over all. q: padded; scores: space for all keys and 16 more. */
static void NAME(attend)(float const *q, float const *keys, npy_intp key_stride, float const *values, npy_intp value_stride,
                         float const *mask, float *scores, float *out, npy_intp count, npy_intp first, npy_intp end, npy_intp n,
                         npy_intp width, loopdbg_attention const *how) {
    npy_intp j = 0;
    float total = 1;
    V v[LOOPDBG_LANES / N];
    for (; j + N <= count; j += N) NAME(dots)(q, keys + j * key_stride, key_stride, n, how->scale, scores + j);
    if (j < count && count >= N) {
        /* The last vector overlaps the one before. */
        j = count - N;
        NAME(dots)(q, keys + j * key_stride, key_stride, n, how->scale, scores + j);
        j = count;
    }
    for (; j < count; j++) {
        float lane[LOOPDBG_LANES];
        V lanes[LOOPDBG_LANES / N];
        for (int w = 0; w < LOOPDBG_LANES / N; w++) lanes[w] = (V){0};
        for (npy_intp i = 0; i < n; i += LOOPDBG_LANES) {
            NAME(load)(keys + j * key_stride + i, n - i, 0, v);
            for (int w = 0; w < LOOPDBG_LANES / N; w++) lanes[w] += *(V const *)(q + i + w * N) * v[w];
        }
        for (int w = 0; w < LOOPDBG_LANES / N; w++) *(V *)(lane + w * N) = lanes[w];
        scores[j] = loopdbg_sum_lanes(lane) * how->scale;
    }
    if (how->softcap > 0)
        for (j = 0; j < count; j++) scores[j] = tanhf(scores[j] / how->softcap) * how->softcap;
    if (mask)
        for (j = 0; j < count; j++) scores[j] += mask[j];
    for (j = 0; j < first; j++) scores[j] += -__builtin_inff();
    for (j = end; j < count; j++) scores[j] += -__builtin_inff();
    if (how->zeros && loopdbg_is_masked(mask, first, end)) memset(scores, 0, (size_t)count * sizeof(float));
    else total = NAME(powers)(scores, count, NAME(greatest)(scores, count), scores);
    npy_intp c = 0;
#if N == 16
    /* 64 columns at once: whole rows of the values, not every fourth of their cache lines. */
    for (; c + 4 * N <= width; c += 4 * N) {
        V sum[4][4];
        float const *row = values + c;
        for (int r = 0; r < 4; r++)
            for (int w = 0; w < 4; w++) sum[r][w] = (V){0};
        for (j = 0; j + 4 <= count; j += 4, row += 4 * value_stride)
            for (int r = 0; r < 4; r++)
                for (int w = 0; w < 4; w++) sum[r][w] += scores[j + r] * *(V const *)(row + r * value_stride + w * N);
        for (; j < count; j++, row += value_stride)
            for (int w = 0; w < 4; w++) sum[0][w] += scores[j] * *(V const *)(row + w * N);
        for (int w = 0; w < 4; w++) *(V *)(out + c + w * N) = ((sum[0][w] + sum[1][w]) + (sum[2][w] + sum[3][w])) / total;
    }
#endif
    for (; c < width; c += LOOPDBG_LANES) {
        V sum[4][LOOPDBG_LANES / N];
        float const *column = values + c;
        for (int r = 0; r < 4; r++)
            for (int w = 0; w < LOOPDBG_LANES / N; w++) sum[r][w] = (V){0};
        j = 0;
        if (width - c >= LOOPDBG_LANES)
            for (; j + 4 <= count; j += 4, column += 4 * value_stride)
                for (int r = 0; r < 4; r++)
                    for (int w = 0; w < LOOPDBG_LANES / N; w++)
                        sum[r][w] += scores[j + r] * *(V const *)(column + r * value_stride + w * N);
        for (; j < count; j++, column += value_stride) {
            NAME(load)(column, width - c, 0, v);
            for (int w = 0; w < LOOPDBG_LANES / N; w++) sum[0][w] += scores[j] * v[w];
        }
        for (int w = 0; w < LOOPDBG_LANES / N; w++) v[w] = ((sum[0][w] + sum[1][w]) + (sum[2][w] + sum[3][w])) / total;
        NAME(store)(out + c, width - c, v);
    }
}
