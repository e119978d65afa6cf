/* Vectors of one width (foreach_target.h): V, VI and VU are those of floats and integers, N their length. */
#undef V
#undef VI
#undef VU
#undef N
#define N WIDTH
#if WIDTH == 16
#define V loopdbg_f16
#define VI loopdbg_i16
#define VU loopdbg_u16
#elif WIDTH == 8
#define V loopdbg_f8
#define VI loopdbg_i8
#define VU loopdbg_u8
#else
#define V loopdbg_f4
#define VI loopdbg_i4
#define VU loopdbg_u4
#endif

/* c + a * b, with one rounding if the processor supports that. */
#undef MULTIPLY_ADD
#if N == 16
#define MULTIPLY_ADD(a, b, c) ((V)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#elif N == 8
#define MULTIPLY_ADD(a, b, c) ((V)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#else
#define MULTIPLY_ADD LOOPDBG_MULTIPLY_ADD_UNFUSED
#endif
/* BLEND selects a where a mask (LESS_MASK, EQUAL_MASK) is set, else b. CLAMP_MAX and CLAMP_MIN propagate NaN. */
#undef LESS_MASK
#undef EQUAL_MASK
#undef BLEND
#undef CLAMP_MAX
#undef CLAMP_MIN
#if N == 16
#define LESS_MASK(a, b) _mm512_cmp_ps_mask((__m512)(a), (__m512)(b), _CMP_LT_OQ)
#define EQUAL_MASK(a, b) _mm512_cmp_ps_mask((__m512)(a), (__m512)(b), _CMP_EQ_OQ)
#define BLEND(mask, a, b) ((V)_mm512_mask_blend_ps(mask, (__m512)(b), (__m512)(a)))
#define CLAMP_MAX(limit, x) ((V)_mm512_min_ps((__m512)(limit), (__m512)(x)))
#define CLAMP_MIN(limit, x) ((V)_mm512_max_ps((__m512)(limit), (__m512)(x)))
#elif N == 8
#define LESS_MASK(a, b) _mm256_cmp_ps((__m256)(a), (__m256)(b), _CMP_LT_OQ)
#define EQUAL_MASK(a, b) _mm256_cmp_ps((__m256)(a), (__m256)(b), _CMP_EQ_OQ)
#define BLEND(mask, a, b) ((V)_mm256_blendv_ps((__m256)(b), (__m256)(a), mask))
#define CLAMP_MAX(limit, x) ((V)_mm256_min_ps((__m256)(limit), (__m256)(x)))
#define CLAMP_MIN(limit, x) ((V)_mm256_max_ps((__m256)(limit), (__m256)(x)))
#else
#define LESS_MASK(a, b) ((VI)((a) < (b)))
#define EQUAL_MASK(a, b) ((VI)((a) == (b)))
#define BLEND(mask, a, b) ((V)(((mask) & (VI)(a)) | (~(mask) & (VI)(b))))
#define CLAMP_MAX(limit, x) BLEND(LESS_MASK(limit, x), limit, x)
#define CLAMP_MIN(limit, x) BLEND(LESS_MASK(x, limit), limit, x)
#endif

#if N != 4
/* The mask of the first `count` of 8 elements, clipped. */
INLINE __m256i NAME(first)(npy_intp count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
#endif
