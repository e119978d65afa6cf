/* float16 and bfloat16 vectors (lanes_math.h), for one width: converted in registers, with the bits of half_precision.h
 * except for signaling NaNs. `brain`: bfloat16. */

#if N == 16
INLINE V NAME(load_half)(void const *p) { return (V)_mm512_cvtph_ps(_mm256_loadu_si256((__m256i const *)p)); }
INLINE V NAME(load_brain)(void const *p) {
    return (V)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((__m256i const *)p)), 16);
}
INLINE void NAME(store_half)(void *p, V v) {
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT));
}
INLINE void NAME(store_brain)(void *p, V v) {
    __m512i bits = _mm512_castps_si512((__m512)v), upper = _mm512_srli_epi32(bits, 16), odd, rounded, none;
    odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
    rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
    none = _mm512_or_si512(_mm512_and_si512(upper, _mm512_set1_epi32(0x8000)), _mm512_set1_epi32(0x7fc0));
    rounded = _mm512_mask_mov_epi32(rounded, _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_UNORD_Q), none);
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(rounded));
}
INLINE V NAME(keep_half)(V v) { return (V)_mm512_cvtph_ps(_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT)); }
/* A bit for each NaN. */
INLINE int NAME(nans)(V v) { return _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_UNORD_Q); }
#elif N == 8
INLINE V NAME(load_half)(void const *p) { return (V)_mm256_cvtph_ps(_mm_loadu_si128((__m128i const *)p)); }
INLINE V NAME(load_brain)(void const *p) {
    return (V)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((__m128i const *)p)), 16);
}
INLINE void NAME(store_half)(void *p, V v) {
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
}
INLINE void NAME(store_brain)(void *p, V v) {
    __m256i bits = _mm256_castps_si256((__m256)v), upper = _mm256_srli_epi32(bits, 16), odd, rounded, none;
    odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
    none = _mm256_or_si256(_mm256_and_si256(upper, _mm256_set1_epi32(0x8000)), _mm256_set1_epi32(0x7fc0));
    rounded = _mm256_blendv_epi8(rounded, none, _mm256_castps_si256(_mm256_cmp_ps((__m256)v, (__m256)v, _CMP_UNORD_Q)));
    rounded = _mm256_permute4x64_epi64(_mm256_packus_epi32(rounded, rounded), 0x08);
    _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(rounded));
}
INLINE V NAME(keep_half)(V v) { return (V)_mm256_cvtph_ps(_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT)); }
INLINE int NAME(nans)(V v) { return _mm256_movemask_ps(_mm256_cmp_ps((__m256)v, (__m256)v, _CMP_UNORD_Q)); }
#endif

/* 16 contiguous elements; AVX2 and AVX-512 make NaNs quiet. */
INLINE void NAME(from_halves)(uint16_t const *x, int brain, V v[LOOPDBG_LANES / N]) {
#if N == 4
    float wide[LOOPDBG_LANES];
    for (int k = 0; k < LOOPDBG_LANES; k++) wide[k] = brain ? loopdbg_float_from_bfloat16(x[k]) : loopdbg_float_from_half(x[k]);
    for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] = *(V const *)(wide + q * N);
#else
    for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] = brain ? NAME(load_brain)(x + q * N) : NAME(load_half)(x + q * N);
#endif
}
INLINE void NAME(to_halves)(V const v[LOOPDBG_LANES / N], int brain, uint16_t *y) {
#if N == 4
    float wide[LOOPDBG_LANES];
    for (int q = 0; q < LOOPDBG_LANES / N; q++) *(V *)(wide + q * N) = v[q];
    for (int k = 0; k < LOOPDBG_LANES; k++)
        y[k] = brain ? loopdbg_bfloat16_from_float(wide[k]) : loopdbg_half_from_float(wide[k]);
#else
    for (int q = 0; q < LOOPDBG_LANES / N; q++) {
        if (brain) NAME(store_brain)(y + q * N, v[q]);
        else NAME(store_half)(y + q * N, v[q]);
    }
#endif
}

/* Like NAME(load) and NAME(store): 16 elements, or fewer, padded with `rest`; few go in pairs, the last alone. */
INLINE void NAME(load_halves)(uint16_t const *x, npy_intp count, uint16_t rest, int brain, V v[LOOPDBG_LANES / N]) {
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
INLINE void NAME(store_halves)(uint16_t *y, npy_intp count, int brain, V const v[LOOPDBG_LANES / N]) {
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

/* Round to the type, and convert back to floats. */
INLINE void NAME(round_halves)(V v[LOOPDBG_LANES / N], int brain) {
#if N == 4
    uint16_t near[LOOPDBG_LANES];
    NAME(to_halves)(v, brain, near);
    NAME(from_halves)(near, brain, v);
#else
    for (int q = 0; q < LOOPDBG_LANES / N; q++) {
        if (brain) {
            VI bits = (VI)v[q], rounded = (bits + 0x7fff + (bits >> 16 & 1)) & (VI)((VI){0} + ~0xffff);
            V none = (V)((bits & INT32_MIN) | 0x7fc00000);
            v[q] = BLEND(EQUAL_MASK(v[q], v[q]), (V)rounded, none);
        } else v[q] = NAME(keep_half)(v[q]);
    }
#endif
}
