/* float16 and bfloat16 as this processor does them best: conversions of neighbours, and sums and products in registers. */
#ifndef LOOPDBG_NARROW_WAYS_H
#define LOOPDBG_NARROW_WAYS_H

#include <stdint.h>
#include <string.h>
#include <numpy/npy_common.h>

#include "halves.h"
#include "../dispatch/processor.h"
#include "../dispatch/wide.h"
#if defined(LOOPDBG_X86)
#include <immintrin.h>
#endif

/* From the bits of a float of so many fraction bits and this exponent bias. */
#define TO_HALF(NAME, T, BITS, FRACTION, BIAS)                                                                \
    static inline uint16_t NAME(T v) {                                                                        \
        BITS bits, digits, dropped, half;                                                                     \
        int exponent, shift;                                                                                  \
        uint16_t sign, rounded;                                                                               \
        memcpy(&bits, &v, sizeof v);                                                                          \
        sign = (uint16_t)(bits >> (8 * sizeof v - 16) & 0x8000u);                                             \
        exponent = (int)(bits >> FRACTION & (2 * BIAS + 1)) - BIAS;                                           \
        digits = bits & (((BITS)1 << FRACTION) - 1);                                                          \
        if (exponent > 15) {                                                                                  \
            rounded = (uint16_t)(digits >> (FRACTION - 10));                                                  \
            if (exponent <= BIAS || !digits) return sign | 0x7c00u;                                           \
            return sign | 0x7c00u | (rounded ? rounded : 1u);                                                 \
        }                                                                                                     \
        if (exponent < -25) return sign;                                                                      \
        digits |= (BITS)1 << FRACTION;                                                                        \
        shift = FRACTION - 10 + (exponent < -14 ? -14 - exponent : 0);                                        \
        rounded = (uint16_t)(digits >> shift);                                                                \
        dropped = digits & (((BITS)1 << shift) - 1);                                                          \
        half = (BITS)1 << (shift - 1);                                                                        \
        /* A normal number's leading 1 counts into the exponent; rounding up may carry into it. */            \
        if (exponent >= -14) rounded = (uint16_t)(rounded + ((exponent + 14) << 10));                         \
        if (dropped > half || (dropped == half && (rounded & 1u))) rounded++;                                 \
        return sign | rounded;                                                                                \
    }
TO_HALF(loopdbg_to_half_f32, float, uint32_t, 23, 127)
TO_HALF(loopdbg_to_half_f64, double, uint64_t, 52, 1023)

/* bfloat16, as ml_dtypes converts it: what is no number loses all but its sign. */
static inline uint16_t loopdbg_to_brain(float v) {
    uint32_t bits, rounded;
    memcpy(&bits, &v, 4);
    rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16 & 0x8000u) | 0x7fc0u : rounded);
}

/* Neighbours. */
typedef void (*loopdbg_widen)(uint16_t const *x, float *restrict y, npy_intp n);
typedef void (*loopdbg_narrow)(float const *x, uint16_t *restrict y, npy_intp n);

WIDE static inline void loopdbg_widen_brain(uint16_t const *x, float *restrict y, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) y[i] = loopdbg_from_brain(x[i]);
}
WIDE static inline void loopdbg_narrow_brain(float const *x, uint16_t *restrict y, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) y[i] = loopdbg_to_brain(x[i]);
}
WIDE static void loopdbg_widen_half_any(uint16_t const *x, float *restrict y, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) y[i] = loopdbg_from_half(x[i]);
}
static void loopdbg_narrow_half_any(float const *x, uint16_t *restrict y, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) y[i] = loopdbg_to_half_f32(x[i]);
}

/* Two axes: inputs a and b, output y; between neighbours a step of 2, or 0 where a row has one number of an input. */
typedef struct {
    char const *a, *b;
    char *y;
    npy_intp a_step, b_step, a_row, b_row, y_row, rows, n;
} loopdbg_narrow_rows;
typedef void (*loopdbg_narrow_operation)(loopdbg_narrow_rows const *x);
/* n rows, so many bytes apart, folded into one of m results; as many as a vector has at least, all of them neighbours. */
typedef void (*loopdbg_narrow_fold)(char const *x, npy_intp step, npy_intp n, char *z, npy_intp m);
enum { LOOPDBG_FOLD_HALVES = 16 };

#if defined(LOOPDBG_X86)
/* The processor makes NaNs quiet, NumPy does not: those that are not go one by one. Which they are is asked where there
 * are some: 1.5x. */
#define HALF_WAYS(NAME, TARGET, N, V, LOAD, LOUD, STORE, LOAD_WIDE, LOUD_WIDE, STORE_NARROW)                  \
    __attribute__((target(TARGET))) static void loopdbg_widen_half_##NAME(uint16_t const *x, float *restrict y, npy_intp n) { \
        npy_intp i = 0;                                                                                       \
        for (; i + N <= n; i += N) {                                                                          \
            V v = LOAD(x + i);                                                                                \
            STORE(y + i, v);                                                                                  \
            if (LOUD(x + i, v)) loopdbg_widen_half_any(x + i, y + i, N);                                      \
        }                                                                                                     \
        for (; i < n; i++) y[i] = loopdbg_from_half(x[i]);                                                    \
    }                                                                                                         \
    __attribute__((target(TARGET))) static void loopdbg_narrow_half_##NAME(float const *x, uint16_t *restrict y, npy_intp n) { \
        npy_intp i = 0;                                                                                       \
        for (; i + N <= n; i += N) {                                                                          \
            V v = LOAD_WIDE(x + i);                                                                           \
            STORE_NARROW(y + i, v);                                                                           \
            if (LOUD_WIDE(v)) loopdbg_narrow_half_any(x + i, y + i, N);                                       \
        }                                                                                                     \
        for (; i < n; i++) y[i] = loopdbg_to_half_f32(x[i]);                                                  \
    }
#define HALF_BITS_8(P) _mm_loadu_si128((__m128i const *)(P))
#define HALF_LOAD_8(P) _mm256_cvtph_ps(HALF_BITS_8(P))
/* One number as often as a vector has some. */
#define HALF_SPREAD_8(P) _mm256_cvtph_ps(_mm_set1_epi16(*(int16_t const *)(P)))
#define HALF_NAN_8(V) _mm256_movemask_ps(_mm256_cmp_ps(V, V, _CMP_UNORD_Q))
#define HALF_QUIET_8(BITS, UP) _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32(BITS, UP)))
#define HALF_LOUD_8(P, V) (HALF_NAN_8(V) && HALF_NAN_8(V) & ~HALF_QUIET_8(_mm256_cvtepu16_epi32(HALF_BITS_8(P)), 22))
#define HALF_LOUD_WIDE_8(V) (HALF_NAN_8(V) && HALF_NAN_8(V) & ~HALF_QUIET_8(_mm256_castps_si256(V), 9))
#define HALF_STORE_8(P, V) _mm_storeu_si128((__m128i *)(P), _mm256_cvtps_ph(V, _MM_FROUND_TO_NEAREST_INT))
HALF_WAYS(f16c, "avx2,f16c", 8, __m256, HALF_LOAD_8, HALF_LOUD_8, _mm256_storeu_ps, _mm256_loadu_ps, HALF_LOUD_WIDE_8,
          HALF_STORE_8)
#define HALF_BITS_16(P) _mm256_loadu_si256((__m256i const *)(P))
#define HALF_LOAD_16(P) _mm512_cvtph_ps(HALF_BITS_16(P))
#define HALF_SPREAD_16(P) _mm512_cvtph_ps(_mm256_set1_epi16(*(int16_t const *)(P)))
#define HALF_NAN_16(V) _mm512_cmp_ps_mask(V, V, _CMP_UNORD_Q)
#define HALF_QUIET_16(BITS, BIT) _mm512_test_epi32_mask(BITS, _mm512_set1_epi32(1 << (BIT)))
#define HALF_LOUD_16(P, V) (HALF_NAN_16(V) && HALF_NAN_16(V) & ~HALF_QUIET_16(_mm512_cvtepu16_epi32(HALF_BITS_16(P)), 9))
#define HALF_LOUD_WIDE_16(V) (HALF_NAN_16(V) && HALF_NAN_16(V) & ~HALF_QUIET_16(_mm512_castps_si512(V), 22))
#define HALF_STORE_16(P, V) _mm256_storeu_si256((__m256i *)(P), _mm512_cvtps_ph(V, _MM_FROUND_TO_NEAREST_INT))
HALF_WAYS(avx512, "avx512f", 16, __m512, HALF_LOAD_16, HALF_LOUD_16, _mm512_storeu_ps, _mm512_loadu_ps, HALF_LOUD_WIDE_16,
          HALF_STORE_16)

/* bfloat16 the same way. */
#define BRAIN_LOAD_8(P) _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(HALF_BITS_8(P)), 16))
#define BRAIN_SPREAD_8(P) _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_set1_epi32(*(uint16_t const *)(P)), 16))
__attribute__((target("avx2"))) static inline void loopdbg_brain_store_8(void *p, __m256 v) {
    __m256i bits = _mm256_castps_si256(v), upper = _mm256_srli_epi32(bits, 16), odd, rounded, none;
    odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
    none = _mm256_or_si256(_mm256_and_si256(upper, _mm256_set1_epi32(0x8000)), _mm256_set1_epi32(0x7fc0));
    rounded = _mm256_blendv_epi8(rounded, none, _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)));
    rounded = _mm256_permute4x64_epi64(_mm256_packus_epi32(rounded, rounded), 0x08);
    _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(rounded));
}
#define BRAIN_LOAD_16(P) _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(HALF_BITS_16(P)), 16))
#define BRAIN_SPREAD_16(P) _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_set1_epi32(*(uint16_t const *)(P)), 16))
__attribute__((target("avx512f"))) static inline void loopdbg_brain_store_16(void *p, __m512 v) {
    __m512i bits = _mm512_castps_si512(v), upper = _mm512_srli_epi32(bits, 16), odd, rounded, none;
    odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
    rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
    none = _mm512_or_si512(_mm512_and_si512(upper, _mm512_set1_epi32(0x8000)), _mm512_set1_epi32(0x7fc0));
    rounded = _mm512_mask_mov_epi32(rounded, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), none);
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(rounded));
}

/* Operations without the way through memory, over two axes: 3x for many neighbours, 8x for rows of 16. Steps are
 * 2, or 0 for what is one number in a row. */
#define NARROW_DIRECT(NAME, TARGET, N, V, LOAD, SPREAD, STORE, OPERATION)                                     \
    __attribute__((target(TARGET))) static void NAME(loopdbg_narrow_rows const *x) {                          \
        char const *a = x->a, *b = x->b;                                                                      \
        char *y = x->y;                                                                                       \
        npy_intp const n = x->n, last = 2 * (n - N);                                                          \
        for (npy_intp r = 0; r < x->rows; r++, a += x->a_row, b += x->b_row, y += x->y_row) {                 \
            npy_intp i = 0;                                                                                   \
            uint16_t few[3][N];                                                                               \
            V last_a = {0}, last_b = {0};                                                                              \
            if (n >= N) {                                                                                     \
                /* What fills no vector is computed with some before it, read before these are written. */    \
                if (n % N) last_a = x->a_step ? LOAD(a + last) : SPREAD(a);                                   \
                if (n % N) last_b = x->b_step ? LOAD(b + last) : SPREAD(b);                                   \
                if (x->a_step && x->b_step) {                                                                 \
                    for (; i + N <= n; i += N) STORE(y + 2 * i, OPERATION(LOAD(a + 2 * i), LOAD(b + 2 * i))); \
                } else if (x->a_step) {                                                                       \
                    V one = SPREAD(b);                                                                        \
                    for (; i + N <= n; i += N) STORE(y + 2 * i, OPERATION(LOAD(a + 2 * i), one));             \
                } else {                                                                                      \
                    V one = SPREAD(a), other = SPREAD(b);                                                     \
                    for (; i + N <= n; i += N)                                                                \
                        STORE(y + 2 * i, OPERATION(one, x->b_step ? LOAD(b + 2 * i) : other));                \
                }                                                                                             \
                if (i < n) STORE(y + last, OPERATION(last_a, last_b));                                        \
                continue;                                                                                     \
            }                                                                                                 \
            for (int k = 0; k < N; k++) {                                                                     \
                few[0][k] = *(uint16_t const *)(a + (k < n ? k : 0) * x->a_step);                             \
                few[1][k] = *(uint16_t const *)(b + (k < n ? k : 0) * x->b_step);                             \
            }                                                                                                 \
            STORE(few[2], OPERATION(LOAD(few[0]), LOAD(few[1])));                                             \
            memcpy(y, few[2], 2 * (size_t)n);                                                                 \
        }                                                                                                     \
    }
#define NARROW_FOLD(NAME, TARGET, N, V, LOAD, KEEP, STORE, OPERATION)                                         \
    /* So many vectors of results, which stay in registers. */                                                \
    __attribute__((target(TARGET))) static inline __attribute__((always_inline)) void NAME##_columns(         \
        char const *x, npy_intp step, npy_intp n, V *z, int const count) {                                    \
        for (npy_intp i = 0; i < n; i++, x += step)                                                           \
            for (int q = 0; q < count; q++) z[q] = KEEP(OPERATION(z[q], LOAD(x + 2 * q * N)), LOAD, STORE, N);   \
    }                                                                                                         \
    __attribute__((target(TARGET))) static void NAME(char const *x, npy_intp step, npy_intp n, char *z, npy_intp m) { \
        npy_intp const last = 2 * (m - N);                                                                    \
        /* What fills no vector goes with results before it, which are read before they are written. */       \
        V all[4], tail = LOAD(z + last);                                                                      \
        if (m % N) NAME##_columns(x + last, step, n, &tail, 1);                                               \
        for (npy_intp k = 0, count; k + N <= m; k += count * N) {                                             \
            count = k + 4 * N <= m ? 4 : 1;                                                                   \
            for (npy_intp q = 0; q < count; q++) all[q] = LOAD(z + 2 * (k + q * N));                          \
            if (count == 4) NAME##_columns(x + 2 * k, step, n, all, 4);                                       \
            else NAME##_columns(x + 2 * k, step, n, all, 1);                                                  \
            for (npy_intp q = 0; q < count; q++) STORE(z + 2 * (k + q * N), all[q]);                          \
        }                                                                                                     \
        if (m % N) STORE(z + last, tail);                                                                     \
    }
#define KEEP_HALVES_8(V, LOAD, STORE, N) _mm256_cvtph_ps(_mm256_cvtps_ph(V, _MM_FROUND_TO_NEAREST_INT))
#define KEEP_HALVES_16(V, LOAD, STORE, N) _mm512_cvtph_ps(_mm512_cvtps_ph(V, _MM_FROUND_TO_NEAREST_INT))
#define KEEP_BRAIN(V, LOAD, STORE, N)                                                                         \
    __extension__({                                                                                           \
        uint16_t near[N];                                                                                     \
        STORE(near, V);                                                                                       \
        LOAD(near);                                                                                           \
    })
/* One of two numbers of the type is such. */
#define KEEP_EXACT(V, LOAD, STORE, N) V
/* As scalar_ops.h has them: of two NaNs and of two zeros the first one is handed on. */
#define NARROW_CHOICES(NAME, TARGET, V, FIRST, ADD, MUL)                                                      \
    __attribute__((target(TARGET))) static inline V loopdbg_add_##NAME(V a, V b) { return ADD(a, FIRST(a, b, _CMP_UNORD_Q, a)); } \
    __attribute__((target(TARGET))) static inline V loopdbg_mul_##NAME(V a, V b) { return MUL(a, FIRST(a, b, _CMP_UNORD_Q, a)); } \
    __attribute__((target(TARGET))) static inline V loopdbg_max_##NAME(V a, V b) {                            \
        return FIRST(a, FIRST(a, b, _CMP_GE_OQ, b), _CMP_UNORD_Q, a);                                         \
    }                                                                                                         \
    __attribute__((target(TARGET))) static inline V loopdbg_min_##NAME(V a, V b) {                            \
        return FIRST(a, FIRST(a, b, _CMP_LE_OQ, b), _CMP_UNORD_Q, a);                                         \
    }
/* a where the comparison with c holds, else b */
#define NARROW_FIRST_8(A, B, HOW, C) _mm256_blendv_ps(B, A, _mm256_cmp_ps(A, C, HOW))
#define NARROW_FIRST_16(A, B, HOW, C) _mm512_mask_mov_ps(B, _mm512_cmp_ps_mask(A, C, HOW), A)
NARROW_CHOICES(8, "avx2,f16c", __m256, NARROW_FIRST_8, _mm256_add_ps, _mm256_mul_ps)
NARROW_CHOICES(16, "avx512f", __m512, NARROW_FIRST_16, _mm512_add_ps, _mm512_mul_ps)
#define loopdbg_sub_8 _mm256_sub_ps
#define loopdbg_div_8 _mm256_div_ps
#define loopdbg_sub_16 _mm512_sub_ps
#define loopdbg_div_16 _mm512_div_ps
#define NARROW_DIRECTS(OPERATION)                                                                             \
    NARROW_DIRECT(loopdbg_half_##OPERATION##_f16c, "avx2,f16c", 8, __m256, HALF_LOAD_8, HALF_SPREAD_8,        \
                  HALF_STORE_8, loopdbg_##OPERATION##_8)                                                      \
    NARROW_DIRECT(loopdbg_half_##OPERATION##_avx512, "avx512f", 16, __m512, HALF_LOAD_16, HALF_SPREAD_16,     \
                  HALF_STORE_16, loopdbg_##OPERATION##_16)                                                    \
    NARROW_DIRECT(loopdbg_brain_##OPERATION##_f16c, "avx2,f16c", 8, __m256, BRAIN_LOAD_8, BRAIN_SPREAD_8,     \
                  loopdbg_brain_store_8, loopdbg_##OPERATION##_8)                                             \
    NARROW_DIRECT(loopdbg_brain_##OPERATION##_avx512, "avx512f", 16, __m512, BRAIN_LOAD_16, BRAIN_SPREAD_16,  \
                  loopdbg_brain_store_16, loopdbg_##OPERATION##_16)
NARROW_DIRECTS(add)
NARROW_DIRECTS(sub)
NARROW_DIRECTS(mul)
NARROW_DIRECTS(div)
NARROW_DIRECTS(max)
NARROW_DIRECTS(min)
#define NARROW_FOLDS(OPERATION, HALVES_8, HALVES_16, BRAIN)                                                   \
    NARROW_FOLD(loopdbg_half_fold_##OPERATION##_f16c, "avx2,f16c", 8, __m256, HALF_LOAD_8, HALVES_8,          \
                HALF_STORE_8, loopdbg_##OPERATION##_8)                                                        \
    NARROW_FOLD(loopdbg_half_fold_##OPERATION##_avx512, "avx512f", 16, __m512, HALF_LOAD_16, HALVES_16,       \
                HALF_STORE_16, loopdbg_##OPERATION##_16)                                                      \
    NARROW_FOLD(loopdbg_brain_fold_##OPERATION##_f16c, "avx2,f16c", 8, __m256, BRAIN_LOAD_8, BRAIN,           \
                loopdbg_brain_store_8, loopdbg_##OPERATION##_8)                                               \
    NARROW_FOLD(loopdbg_brain_fold_##OPERATION##_avx512, "avx512f", 16, __m512, BRAIN_LOAD_16, BRAIN,         \
                loopdbg_brain_store_16, loopdbg_##OPERATION##_16)
NARROW_FOLDS(add, KEEP_HALVES_8, KEEP_HALVES_16, KEEP_BRAIN)
NARROW_FOLDS(mul, KEEP_HALVES_8, KEEP_HALVES_16, KEEP_BRAIN)
NARROW_FOLDS(max, KEEP_EXACT, KEEP_EXACT, KEEP_EXACT)
NARROW_FOLDS(min, KEEP_EXACT, KEEP_EXACT, KEEP_EXACT)
#endif

typedef struct {
    loopdbg_widen widen;
    loopdbg_narrow narrow;
    /* of float16 and bfloat16: add, subtract, multiply, divide, maximum, minimum; or NULL */
    loopdbg_narrow_operation operations[2][6];
    loopdbg_narrow_fold folds[2][6];
} loopdbg_halves;

static loopdbg_halves const loopdbg_halves_any = {loopdbg_widen_half_any, loopdbg_narrow_half_any, {{NULL}}, {{NULL}}};
#if defined(LOOPDBG_X86)
#define NARROW_OPERATIONS(TYPE, NAME)                                                                         \
    {loopdbg_##TYPE##_add_##NAME, loopdbg_##TYPE##_sub_##NAME, loopdbg_##TYPE##_mul_##NAME,                   \
     loopdbg_##TYPE##_div_##NAME, loopdbg_##TYPE##_max_##NAME, loopdbg_##TYPE##_min_##NAME}
#define NARROW_FOLDED(TYPE, NAME)                                                                             \
    {loopdbg_##TYPE##_fold_add_##NAME, NULL, loopdbg_##TYPE##_fold_mul_##NAME, NULL,                          \
     loopdbg_##TYPE##_fold_max_##NAME, loopdbg_##TYPE##_fold_min_##NAME}
#define HALVES(NAME)                                                                                          \
    static loopdbg_halves const loopdbg_halves_##NAME = {                                                     \
        loopdbg_widen_half_##NAME, loopdbg_narrow_half_##NAME,                                                \
        {NARROW_OPERATIONS(half, NAME), NARROW_OPERATIONS(brain, NAME)},                                      \
        {NARROW_FOLDED(half, NAME), NARROW_FOLDED(brain, NAME)}};
HALVES(f16c)
HALVES(avx512)
#endif
static loopdbg_halves const *loopdbg_half = &loopdbg_halves_any;

/* Settle how float16 is done: as is best here (0), or for tests: for any processor (1), with F16C (2), AVX-512 (3).
 * 0: this processor cannot. */
static inline int loopdbg_use_halves(int kind) {
#if defined(LOOPDBG_X86)
    static loopdbg_halves const *const ways[] = {&loopdbg_halves_any, &loopdbg_halves_f16c, &loopdbg_halves_avx512};
#else
    static loopdbg_halves const *const ways[] = {&loopdbg_halves_any};
#endif
    int lanes = loopdbg_find_lanes(kind);
    if (lanes) loopdbg_half = ways[lanes - 1];
    return lanes > 0;
}

/* Which of these operations a ufunc is; -1: none. */
static inline int loopdbg_half_operation_of(char const *name) {
    static char const *const names[] = {"add", "subtract", "multiply", "divide", "maximum", "minimum"};
    for (int k = 0; k < 6; k++)
        if (!strcmp(name, names[k])) return k;
    return -1;
}

#endif
