/* float16 and bfloat16 in the lanes of lanes_math.h, for one width: converted without a way through memory, with the bits
 * of narrow_ways.h but for NaNs that are not quiet. ``brain``: bfloat16. */

/* 16 neighbours; with AVX2 and AVX-512 NaNs are made quiet. */
ATTR static inline __attribute__((always_inline)) void NAME(from_halves)(uint16_t const *x, int brain, V v[LOOPDBG_LANES / N]) {
#if N == 16
    v[0] = brain ? (V)BRAIN_LOAD_16(x) : (V)HALF_LOAD_16(x);
#elif N == 8
    for (int q = 0; q < 2; q++) v[q] = brain ? (V)BRAIN_LOAD_8(x + q * 8) : (V)HALF_LOAD_8(x + q * 8);
#else
    float wide[LOOPDBG_LANES];
    for (int k = 0; k < LOOPDBG_LANES; k++) wide[k] = brain ? loopdbg_from_brain(x[k]) : loopdbg_from_half(x[k]);
    for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] = *(V const *)(wide + q * N);
#endif
}
ATTR static inline __attribute__((always_inline)) void NAME(to_halves)(V const v[LOOPDBG_LANES / N], int brain, uint16_t *y) {
#if N == 16
    if (brain) loopdbg_brain_store_16(y, (__m512)v[0]);
    else HALF_STORE_16(y, (__m512)v[0]);
#elif N == 8
    for (int q = 0; q < 2; q++) {
        if (brain) loopdbg_brain_store_8(y + q * 8, (__m256)v[q]);
        else HALF_STORE_8(y + q * 8, (__m256)v[q]);
    }
#else
    float wide[LOOPDBG_LANES];
    for (int q = 0; q < LOOPDBG_LANES / N; q++) *(V *)(wide + q * N) = v[q];
    for (int k = 0; k < LOOPDBG_LANES; k++) y[k] = brain ? loopdbg_to_brain(wide[k]) : loopdbg_to_half_f32(wide[k]);
#endif
}

/* As NAME(load) and NAME(store): 16 of them, or fewer and then ``rest``; what is short goes in pairs, and the last alone. */
ATTR static inline __attribute__((always_inline)) void NAME(load_halves)(uint16_t const *x, npy_intp count, uint16_t rest,
                                                                         int brain, V v[LOOPDBG_LANES / N]) {
    uint16_t padded[LOOPDBG_LANES];
    if (count < LOOPDBG_LANES) {
#if N == 4
        for (int k = 0; k < LOOPDBG_LANES; k++) padded[k] = k < count ? x[k] : rest;
#else
        __m256i index = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        __m256i place = _mm256_set1_epi16((short)(count - 1)), last = _mm256_set1_epi16((short)x[count - 1]);
        __m256i whole = _mm256_maskload_epi32((int const *)x, NAME(first)(count / 2));
        whole = _mm256_blendv_epi8(whole, last, _mm256_cmpeq_epi16(index, place));
        whole = _mm256_blendv_epi8(whole, _mm256_set1_epi16((short)rest), _mm256_cmpgt_epi16(index, place));
        _mm256_storeu_si256((__m256i *)padded, whole);
#endif
        x = padded;
    }
    NAME(from_halves)(x, brain, v);
}
ATTR static inline __attribute__((always_inline)) void NAME(store_halves)(uint16_t *y, npy_intp count, int brain,
                                                                          V const v[LOOPDBG_LANES / N]) {
    uint16_t padded[LOOPDBG_LANES];
    NAME(to_halves)(v, brain, count < LOOPDBG_LANES ? padded : y);
    if (count >= LOOPDBG_LANES) return;
#if N == 4
    memcpy(y, padded, 2 * (size_t)count);
#else
    _mm256_maskstore_epi32((int *)y, NAME(first)(count / 2), _mm256_loadu_si256((__m256i const *)padded));
    if (count & 1) y[count - 1] = padded[count - 1];
#endif
}

/* Rounded to the type, and floats again. */
ATTR static inline __attribute__((always_inline)) void NAME(round_halves)(V v[LOOPDBG_LANES / N], int brain) {
#if N == 4
    uint16_t near[LOOPDBG_LANES];
    NAME(to_halves)(v, brain, near);
    NAME(from_halves)(near, brain, v);
#else
    for (int q = 0; q < LOOPDBG_LANES / N; q++) {
        if (brain) {
            VI bits = (VI)v[q], rounded = (bits + 0x7fff + (bits >> 16 & 1)) & (VI)((VI){0} + ~0xffff);
            V none = (V)((bits & INT32_MIN) | 0x7fc00000);
            v[q] = PICK(SAME(v[q], v[q]), (V)rounded, none);
        } else
#if N == 16
            v[q] = (V)_mm512_cvtph_ps(_mm512_cvtps_ph((__m512)v[q], _MM_FROUND_TO_NEAREST_INT));
#else
            v[q] = (V)_mm256_cvtph_ps(_mm256_cvtps_ph((__m256)v[q], _MM_FROUND_TO_NEAREST_INT));
#endif
    }
#endif
}
