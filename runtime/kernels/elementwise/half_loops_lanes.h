/* Contiguous float16 and bfloat16, for one vector width: conversions, and arithmetic in registers (half_loops.h). */
#include "../dispatch/vectors.h"
#include "../element_types/half_precision_lanes.h"

static void NAME(widen_brain)(uint16_t const *x, float *restrict y, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) y[i] = loopdbg_float_from_bfloat16(x[i]);
}
static void NAME(narrow_brain)(float const *x, uint16_t *restrict y, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) y[i] = loopdbg_bfloat16_from_float(x[i]);
}
static void NAME(widen_plainly)(uint16_t const *x, float *restrict y, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) y[i] = loopdbg_float_from_half(x[i]);
}
static void NAME(narrow_plainly)(float const *x, uint16_t *restrict y, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) y[i] = loopdbg_half_from_float(x[i]);
}

static void NAME(half_range)(uint16_t const *x, npy_intp n, int16_t *low, int16_t *high) {
    int16_t least = *low, most = *high;
    for (npy_intp i = 0; i < n; i++) {
        int16_t key = loopdbg_half_key(x[i]);
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    *low = least, *high = most;
}

#if N == 4
static loopdbg_half_kernels const NAME(halves)[] = {
    {{NAME(widen_plainly), NAME(widen_brain)}, {NAME(narrow_plainly), NAME(narrow_brain)}, {{NULL}}, {{NULL}}}};
#else
/* Broadcast one number; mask of quiet NaNs; a where the comparison with c holds, else b. */
#undef FIRST
#if N == 16
INLINE V NAME(spread_half)(void const *p) { return (V)_mm512_cvtph_ps(_mm256_set1_epi16(*(int16_t const *)p)); }
INLINE V NAME(spread_brain)(void const *p) { return (V)_mm512_slli_epi32(_mm512_set1_epi32(*(uint16_t const *)p), 16); }
INLINE int NAME(quiet_halves)(void const *p) {
    __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256((__m256i const *)p));
    return _mm512_test_epi32_mask(bits, _mm512_set1_epi32(1 << 9));
}
INLINE int NAME(quiet_floats)(V v) { return _mm512_test_epi32_mask((__m512i)v, _mm512_set1_epi32(1 << 22)); }
#define FIRST(A, B, HOW, C)                                                                                   \
    ((V)_mm512_mask_mov_ps((__m512)(B), _mm512_cmp_ps_mask((__m512)(A), (__m512)(C), HOW), (__m512)(A)))
#else
INLINE V NAME(spread_half)(void const *p) { return (V)_mm256_cvtph_ps(_mm_set1_epi16(*(int16_t const *)p)); }
INLINE V NAME(spread_brain)(void const *p) { return (V)_mm256_slli_epi32(_mm256_set1_epi32(*(uint16_t const *)p), 16); }
INLINE int NAME(quiet_halves)(void const *p) {
    __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128((__m128i const *)p));
    return _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32(bits, 22)));
}
INLINE int NAME(quiet_floats)(V v) { return _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32((__m256i)v, 9))); }
#define FIRST(A, B, HOW, C)                                                                                   \
    ((V)_mm256_blendv_ps((__m256)(B), (__m256)(A), _mm256_cmp_ps((__m256)(A), (__m256)(C), HOW)))
#endif

/* The processor makes NaNs quiet, NumPy does not: signaling ones go one by one. They are looked for only if there are
 * NaNs: 1.5x. */
static void NAME(widen_half)(uint16_t const *x, float *restrict y, npy_intp n) {
    npy_intp i = 0;
    for (; i + N <= n; i += N) {
        V v = NAME(load_half)(x + i);
        *(V *)(y + i) = v;
        if (NAME(nans)(v) && NAME(nans)(v) & ~NAME(quiet_halves)(x + i)) NAME(widen_plainly)(x + i, y + i, N);
    }
    for (; i < n; i++) y[i] = loopdbg_float_from_half(x[i]);
}
static void NAME(narrow_half)(float const *x, uint16_t *restrict y, npy_intp n) {
    npy_intp i = 0;
    for (; i + N <= n; i += N) {
        V v = *(V const *)(x + i);
        NAME(store_half)(y + i, v);
        if (NAME(nans)(v) && NAME(nans)(v) & ~NAME(quiet_floats)(v)) NAME(narrow_plainly)(x + i, y + i, N);
    }
    for (; i < n; i++) y[i] = loopdbg_half_from_float(x[i]);
}

/* As in scalar_ops.h: of two NaNs or two zeros the first is returned. */
INLINE V NAME(add)(V a, V b) { return a + FIRST(a, b, _CMP_UNORD_Q, a); }
INLINE V NAME(sub)(V a, V b) { return a - b; }
INLINE V NAME(mul)(V a, V b) { return a * FIRST(a, b, _CMP_UNORD_Q, a); }
INLINE V NAME(div)(V a, V b) { return a / b; }
INLINE V NAME(max)(V a, V b) { return FIRST(a, FIRST(a, b, _CMP_GE_OQ, b), _CMP_UNORD_Q, a); }
INLINE V NAME(min)(V a, V b) { return FIRST(a, FIRST(a, b, _CMP_LE_OQ, b), _CMP_UNORD_Q, a); }

/* Operations in registers over two axes: 3x for long contiguous rows, 8x for rows of 16. Steps are 2, or 0 for one
 * number per row. TYPE: half or brain. */
#define NARROW_DIRECT(TYPE, OPERATION)                                                                        \
    static void NAME(TYPE##_##OPERATION)(loopdbg_half_rows const *x) {                                      \
        char const *a = x->a, *b = x->b;                                                                      \
        char *y = x->y;                                                                                       \
        npy_intp const n = x->n, last = 2 * (n - N);                                                          \
        for (npy_intp r = 0; r < x->rows; r++, a += x->a_row, b += x->b_row, y += x->y_row) {                 \
            npy_intp i = 0;                                                                                   \
            uint16_t few[3][N];                                                                               \
            V last_a = {0}, last_b = {0};                                                                     \
            if (n >= N) {                                                                                     \
                /* the last vector overlaps the one before, and is read before those are written */    \
                if (n % N) last_a = x->a_step ? NAME(load_##TYPE)(a + last) : NAME(spread_##TYPE)(a);         \
                if (n % N) last_b = x->b_step ? NAME(load_##TYPE)(b + last) : NAME(spread_##TYPE)(b);         \
                if (x->a_step && x->b_step) {                                                                 \
                    for (; i + N <= n; i += N) NAME(store_##TYPE)(y + 2 * i, NAME(OPERATION)(NAME(load_##TYPE)(a + 2 * i), NAME(load_##TYPE)(b + 2 * i))); \
                } else if (x->a_step) {                                                                       \
                    V one = NAME(spread_##TYPE)(b);                                                           \
                    for (; i + N <= n; i += N) NAME(store_##TYPE)(y + 2 * i, NAME(OPERATION)(NAME(load_##TYPE)(a + 2 * i), one)); \
                } else {                                                                                      \
                    V one = NAME(spread_##TYPE)(a), other = NAME(spread_##TYPE)(b);                           \
                    for (; i + N <= n; i += N)                                                                \
                        NAME(store_##TYPE)(y + 2 * i, NAME(OPERATION)(one, x->b_step ? NAME(load_##TYPE)(b + 2 * i) : other)); \
                }                                                                                             \
                if (i < n) NAME(store_##TYPE)(y + last, NAME(OPERATION)(last_a, last_b));                     \
                continue;                                                                                     \
            }                                                                                                 \
            for (int k = 0; k < N; k++) {                                                                     \
                few[0][k] = *(uint16_t const *)(a + (k < n ? k : 0) * x->a_step);                             \
                few[1][k] = *(uint16_t const *)(b + (k < n ? k : 0) * x->b_step);                             \
            }                                                                                                 \
            NAME(store_##TYPE)(few[2], NAME(OPERATION)(NAME(load_##TYPE)(few[0]), NAME(load_##TYPE)(few[1]))); \
            memcpy(y, few[2], 2 * (size_t)n);                                                                 \
        }                                                                                                     \
    }
INLINE V NAME(keep_brain)(V v) {
    uint16_t near[N];
    NAME(store_brain)(near, v);
    return NAME(load_brain)(near);
}
/* Is one of two numbers a NaN? */
INLINE V NAME(keep_exact)(V v) { return v; }
#define NARROW_FOLD(TYPE, KEEP, OPERATION)                                                                    \
    /* number of result vectors, which stay in registers */                                                \
    INLINE void NAME(columns_##OPERATION##_##TYPE)(char const *x, npy_intp step, npy_intp n, V *z, int const count) { \
        for (npy_intp i = 0; i < n; i++, x += step)                                                           \
            for (int q = 0; q < count; q++) z[q] = NAME(KEEP)(NAME(OPERATION)(z[q], NAME(load_##TYPE)(x + 2 * q * N))); \
    }                                                                                                         \
    static void NAME(TYPE##_fold_##OPERATION)(char const *x, npy_intp step, npy_intp n, char *z, npy_intp m) { \
        npy_intp const last = 2 * (m - N);                                                                    \
        /* the last vector overlaps earlier results, which are read before they are written */       \
        V all[4], tail = NAME(load_##TYPE)(z + last);                                                         \
        if (m % N) NAME(columns_##OPERATION##_##TYPE)(x + last, step, n, &tail, 1);                           \
        for (npy_intp k = 0, count; k + N <= m; k += count * N) {                                             \
            count = k + 4 * N <= m ? 4 : 1;                                                                   \
            for (npy_intp q = 0; q < count; q++) all[q] = NAME(load_##TYPE)(z + 2 * (k + q * N));             \
            if (count == 4) NAME(columns_##OPERATION##_##TYPE)(x + 2 * k, step, n, all, 4);                   \
            else NAME(columns_##OPERATION##_##TYPE)(x + 2 * k, step, n, all, 1);                              \
            for (npy_intp q = 0; q < count; q++) NAME(store_##TYPE)(z + 2 * (k + q * N), all[q]);             \
        }                                                                                                     \
        if (m % N) NAME(store_##TYPE)(z + last, tail);                                                        \
    }
#define NARROW_OF(TYPE)                                                                                       \
    NARROW_DIRECT(TYPE, add) NARROW_DIRECT(TYPE, sub) NARROW_DIRECT(TYPE, mul) NARROW_DIRECT(TYPE, div)       \
    NARROW_DIRECT(TYPE, max) NARROW_DIRECT(TYPE, min)                                                         \
    NARROW_FOLD(TYPE, keep_##TYPE, add) NARROW_FOLD(TYPE, keep_##TYPE, mul)                                   \
    NARROW_FOLD(TYPE, keep_exact, max) NARROW_FOLD(TYPE, keep_exact, min)
NARROW_OF(half)
NARROW_OF(brain)

#define NARROW_OPERATIONS(TYPE)                                                                               \
    {NAME(TYPE##_add), NAME(TYPE##_sub), NAME(TYPE##_mul), NAME(TYPE##_div), NAME(TYPE##_max), NAME(TYPE##_min)}
#define NARROW_FOLDS(TYPE)                                                                                    \
    {NAME(TYPE##_fold_add), NULL, NAME(TYPE##_fold_mul), NULL, NAME(TYPE##_fold_max), NAME(TYPE##_fold_min)}
static loopdbg_half_kernels const NAME(halves)[] = {{{NAME(widen_half), NAME(widen_brain)},
                                                     {NAME(narrow_half), NAME(narrow_brain)},
                                                     {NARROW_OPERATIONS(half), NARROW_OPERATIONS(brain)},
                                                     {NARROW_FOLDS(half), NARROW_FOLDS(brain)}}};
#endif
