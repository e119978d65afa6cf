/* Functions of vectors and of 16 lanes, for one vector width (foreach_target.h). */
#include "vectors.h"

#define ALL(x) ((V){0} + (x))

/* exp (exp_polynomial.h): 0 below -104, infinite from 88.73 on; NaN is propagated. */
INLINE V NAME(exp)(V x) {
    V const low = ALL(-104.0f), high = ALL(89.0f);
#if N == 8
    /* Fast path for normal, finite results, nearly all: a third less work, and the same bits. */
    __m256 size = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), (__m256)x);
    if (!_mm256_movemask_ps(_mm256_cmp_ps(size, _mm256_set1_ps(87.0f), _CMP_NLE_UQ))) {
        V moved = LOOPDBG_EXP_SHIFTED(MULTIPLY_ADD, ALL, x), n = moved - LOOPDBG_EXP_ROUND_BIAS, value;
        V rest = LOOPDBG_EXP_REMAINDER(MULTIPLY_ADD, ALL, x, n);
        LOOPDBG_EXP_POLYNOMIAL(MULTIPLY_ADD, ALL, rest, value);
        return (V)((VI)value + ((VI)moved << 23));
    }
#endif
    /* exp(0) at first, then 0: underflow takes 50 times as long. */
#if N == 16
    __mmask16 inside = _mm512_cmp_ps_mask((__m512)x, (__m512)low, _CMP_NLT_UQ);
    x = (V)_mm512_maskz_min_ps(inside, (__m512)high, (__m512)x); /* the second where one is NaN */
#else
    VI below = (VI)LESS_MASK(x, low);
    x = CLAMP_MAX(high, (V)(~below & (VI)x));
#endif
    V shifted = LOOPDBG_EXP_SHIFTED(MULTIPLY_ADD, ALL, x), whole = shifted - LOOPDBG_EXP_ROUND_BIAS, y;
    V r = LOOPDBG_EXP_REMAINDER(MULTIPLY_ADD, ALL, x, whole);
    LOOPDBG_EXP_POLYNOMIAL(MULTIPLY_ADD, ALL, r, y);
#if N == 16
    return (V)_mm512_maskz_scalef_ps(inside, (__m512)y, (__m512)whole);
#else
    /* In two halves: the result may be subnormal. */
    VI power = (VI)shifted - LOOPDBG_EXP_ROUND_BIAS_BITS, half = power >> 1;
    y = y * (V)((half + 127) << 23) * (V)((power - half + 127) << 23);
    return (V)(~below & (VI)y);
#endif
}
#undef ALL

/* 16 elements, or fewer, padded with `rest`. Short vectors use masks: through memory, a wide load after narrow stores
 * stalls longer than a whole short softmax takes. */
INLINE void NAME(load)(float const *x, npy_intp count, float rest, V v[LOOPDBG_LANES / N]) {
    if (count >= LOOPDBG_LANES) {
        for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] = *(V const *)(x + q * N);
        return;
    }
#if N == 16
    v[0] = (V)_mm512_mask_loadu_ps(_mm512_set1_ps(rest), (__mmask16)((1u << count) - 1), x);
#elif N == 8
    for (int q = 0; q < 2; q++) {
        __m256i m = NAME(first)(count - q * 8);
        v[q] = (V)_mm256_blendv_ps(_mm256_set1_ps(rest), _mm256_maskload_ps(x + q * 8, m), (__m256)m);
    }
#else
    float padded[LOOPDBG_LANES];
    for (int k = 0; k < LOOPDBG_LANES; k++) padded[k] = rest;
    for (npy_intp k = 0; k < count; k++) padded[k] = x[k];
    for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] = *(V const *)(padded + q * N);
#endif
}

INLINE void NAME(store)(float *y, npy_intp count, V const v[LOOPDBG_LANES / N]) {
    if (count >= LOOPDBG_LANES) {
        for (int q = 0; q < LOOPDBG_LANES / N; q++) *(V *)(y + q * N) = v[q];
        return;
    }
#if N == 16
    _mm512_mask_storeu_ps(y, (__mmask16)((1u << count) - 1), (__m512)v[0]);
#elif N == 8
    for (int q = 0; q < 2; q++) _mm256_maskstore_ps(y + q * 8, NAME(first)(count - q * 8), (__m256)v[q]);
#else
    float padded[LOOPDBG_LANES];
    for (int q = 0; q < LOOPDBG_LANES / N; q++) *(V *)(padded + q * N) = v[q];
    for (npy_intp k = 0; k < count; k++) y[k] = padded[k];
#endif
}

/* The 16 lanes added as by loopdbg_sum_lanes, and their maximum in the same order. */
#if N == 4
INLINE float NAME(sum)(V const v[LOOPDBG_LANES / N]) {
    float lane[LOOPDBG_LANES];
    for (int q = 0; q < LOOPDBG_LANES / N; q++) *(V *)(lane + q * N) = v[q];
    return loopdbg_sum_lanes(lane);
}

INLINE float NAME(most)(V const v[LOOPDBG_LANES / N]) {
    float lane[LOOPDBG_LANES];
    for (int q = 0; q < LOOPDBG_LANES / N; q++) *(V *)(lane + q * N) = v[q];
    for (int half = LOOPDBG_LANES / 2; half; half /= 2)
        for (int k = 0; k < half; k++) lane[k] = lane[k + half] > lane[k] ? lane[k + half] : lane[k];
    return lane[0];
}
#else
#if N == 16
#define LOOPDBG_HALVES(v, low, high)                       \
    __m256 low = _mm512_castps512_ps256((__m512)(v)[0]), \
           high = (__m256)_mm512_extractf64x4_pd((__m512d)(v)[0], 1)
#else
#define LOOPDBG_HALVES(v, low, high) __m256 low = (__m256)(v)[0], high = (__m256)(v)[1]
#endif
INLINE float NAME(sum)(V const v[LOOPDBG_LANES / N]) {
    LOOPDBG_HALVES(v, low, high);
    __m256 eight = _mm256_add_ps(low, high);
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

INLINE float NAME(most)(V const v[LOOPDBG_LANES / N]) {
    LOOPDBG_HALVES(v, low, high);
    __m256 eight = _mm256_max_ps(high, low); /* high > low ? high : low */
    __m128 four = _mm_max_ps(_mm256_extractf128_ps(eight, 1), _mm256_castps256_ps128(eight));
    __m128 two = _mm_max_ps(_mm_movehl_ps(four, four), four);
    return _mm_cvtss_f32(_mm_max_ss(_mm_movehdup_ps(two), two));
}
#undef LOOPDBG_HALVES
#endif

/* v where that is greater, else most. */
INLINE V NAME(larger)(V v, V most) {
#if N == 16
    return (V)_mm512_max_ps((__m512)v, (__m512)most);
#elif N == 8
    return (V)_mm256_max_ps((__m256)v, (__m256)most);
#else
    VI more = (VI)(v > most);
    return (V)((~more & (VI)most) | (more & (VI)v));
#endif
}

/* The maximum; NaN counts or not. */
INLINE float NAME(greatest)(float const *x, npy_intp n) {
    V most[LOOPDBG_LANES / N], v[LOOPDBG_LANES / N];
    for (int q = 0; q < LOOPDBG_LANES / N; q++) most[q] = (V){0} - __builtin_inff();
    for (npy_intp i = 0; i < n; i += LOOPDBG_LANES) {
        NAME(load)(x + i, n - i, -__builtin_inff(), v);
        for (int q = 0; q < LOOPDBG_LANES / N; q++) most[q] = NAME(larger)(v[q], most[q]);
    }
    return NAME(most)(most);
}

/* out = exp(x - shift); returns the sum. */
INLINE float NAME(powers)(float const *x, npy_intp n, float shift, float *out) {
    V total[LOOPDBG_LANES / N], v[LOOPDBG_LANES / N];
    for (int q = 0; q < LOOPDBG_LANES / N; q++) total[q] = (V){0};
    for (npy_intp i = 0; i < n; i += LOOPDBG_LANES) {
        NAME(load)(x + i, n - i, -__builtin_inff(), v);
        for (int q = 0; q < LOOPDBG_LANES / N; q++) {
            v[q] = NAME(exp)(v[q] - shift);
            total[q] += v[q];
        }
        if (out) NAME(store)(out + i, n - i, v);
    }
    return NAME(sum)(total);
}
