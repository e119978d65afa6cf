/* float16 and bfloat16: widened to float32, computed there, and rounded back to the nearest, ties to even.
 *
 * NumPy's own loops for float16 convert one number after the other and then look at the processor's exception flags:
 * adding 4096 of them takes it 13 us. Here blocks go through NumPy's loops for float32, which give the same. */
#ifndef LOOPDBG_NARROW_H
#define LOOPDBG_NARROW_H

#include <stdint.h>
#include <string.h>

#include "call.h"
#include "halves.h"
#include "wide.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { LOOPDBG_NARROW_BLOCK = 256 };

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

WIDE static void loopdbg_widen_brain(uint16_t const *x, float *restrict y, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) y[i] = loopdbg_from_brain(x[i]);
}
WIDE static void loopdbg_narrow_brain(float const *x, uint16_t *restrict y, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) y[i] = loopdbg_to_brain(x[i]);
}
WIDE static void loopdbg_widen_half_any(uint16_t const *x, float *restrict y, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) y[i] = loopdbg_from_half(x[i]);
}
static void loopdbg_narrow_half_any(float const *x, uint16_t *restrict y, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) y[i] = loopdbg_to_half_f32(x[i]);
}
#if defined(__x86_64__)
/* The processor makes NaNs quiet, NumPy does not: those that are not go one by one. */
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
#define HALF_NAN_8(V) _mm256_movemask_ps(_mm256_cmp_ps(V, V, _CMP_UNORD_Q))
#define HALF_QUIET_8(BITS, UP) _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32(BITS, UP)))
#define HALF_LOUD_8(P, V) (HALF_NAN_8(V) & ~HALF_QUIET_8(_mm256_cvtepu16_epi32(HALF_BITS_8(P)), 22))
#define HALF_LOUD_WIDE_8(V) (HALF_NAN_8(V) & ~HALF_QUIET_8(_mm256_castps_si256(V), 9))
#define HALF_STORE_8(P, V) _mm_storeu_si128((__m128i *)(P), _mm256_cvtps_ph(V, _MM_FROUND_TO_NEAREST_INT))
HALF_WAYS(f16c, "avx2,f16c", 8, __m256, HALF_LOAD_8, HALF_LOUD_8, _mm256_storeu_ps, _mm256_loadu_ps, HALF_LOUD_WIDE_8, HALF_STORE_8)
#define HALF_BITS_16(P) _mm256_loadu_si256((__m256i const *)(P))
#define HALF_LOAD_16(P) _mm512_cvtph_ps(HALF_BITS_16(P))
#define HALF_NAN_16(V) _mm512_cmp_ps_mask(V, V, _CMP_UNORD_Q)
#define HALF_QUIET_16(BITS, BIT) _mm512_test_epi32_mask(BITS, _mm512_set1_epi32(1 << (BIT)))
#define HALF_LOUD_16(P, V) (HALF_NAN_16(V) & ~HALF_QUIET_16(_mm512_cvtepu16_epi32(HALF_BITS_16(P)), 9))
#define HALF_LOUD_WIDE_16(V) (HALF_NAN_16(V) & ~HALF_QUIET_16(_mm512_castps_si512(V), 22))
#define HALF_STORE_16(P, V) _mm256_storeu_si256((__m256i *)(P), _mm512_cvtps_ph(V, _MM_FROUND_TO_NEAREST_INT))
HALF_WAYS(avx512, "avx512f", 16, __m512, HALF_LOAD_16, HALF_LOUD_16, _mm512_storeu_ps, _mm512_loadu_ps, HALF_LOUD_WIDE_16,
          HALF_STORE_16)

/* The four operations without the way through memory: 3x. Steps are 2, or 0 for what is one number. */
#define HALF_DIRECT(NAME, TARGET, N, V, LOAD, LOAD_ONE, STORE, OPERATION)                                     \
    __attribute__((target(TARGET))) static void NAME(char const *a, npy_intp a_step, char const *b, npy_intp b_step, \
                                                     char *y, npy_intp n) {                                   \
        npy_intp i = 0, rest;                                                                                 \
        V const a_one = LOAD_ONE(loopdbg_from_half(*(uint16_t const *)a));                                    \
        V const b_one = LOAD_ONE(loopdbg_from_half(*(uint16_t const *)b));                                    \
        uint16_t last[3][N] = {{0}};                                                                          \
        if (a_step && b_step)                                                                                 \
            for (; i + N <= n; i += N) STORE(y + 2 * i, OPERATION(LOAD(a + 2 * i), LOAD(b + 2 * i)));         \
        else if (a_step)                                                                                      \
            for (; i + N <= n; i += N) STORE(y + 2 * i, OPERATION(LOAD(a + 2 * i), b_one));                   \
        else                                                                                                  \
            for (; i + N <= n; i += N) STORE(y + 2 * i, OPERATION(a_one, b_step ? LOAD(b + 2 * i) : b_one));  \
        rest = 2 * (n - i);                                                                                   \
        if (!rest) return;                                                                                    \
        memcpy(last[0], a + a_step * i, (size_t)(a_step ? rest : 2));                                         \
        memcpy(last[1], b + b_step * i, (size_t)(b_step ? rest : 2));                                         \
        STORE(last[2], OPERATION(a_step ? LOAD(last[0]) : a_one, b_step ? LOAD(last[1]) : b_one));            \
        memcpy(y + 2 * i, last[2], (size_t)rest);                                                             \
    }
#define HALF_DIRECTS(OPERATION)                                                                               \
    HALF_DIRECT(loopdbg_half_##OPERATION##_f16c, "avx2,f16c", 8, __m256, HALF_LOAD_8, _mm256_set1_ps, HALF_STORE_8, \
                _mm256_##OPERATION##_ps)                                                                      \
    HALF_DIRECT(loopdbg_half_##OPERATION##_avx512, "avx512f", 16, __m512, HALF_LOAD_16, _mm512_set1_ps, HALF_STORE_16, \
                _mm512_##OPERATION##_ps)
HALF_DIRECTS(add)
HALF_DIRECTS(sub)
HALF_DIRECTS(mul)
HALF_DIRECTS(div)
#endif

typedef void (*loopdbg_half_operation)(char const *a, npy_intp a_step, char const *b, npy_intp b_step, char *y, npy_intp n);

typedef struct {
    loopdbg_widen widen;
    loopdbg_narrow narrow;
    loopdbg_half_operation operations[4]; /* add, subtract, multiply, divide; or NULL */
} loopdbg_halves;

static loopdbg_halves const loopdbg_halves_any = {loopdbg_widen_half_any, loopdbg_narrow_half_any, {NULL}};
#if defined(__x86_64__)
#define HALVES(NAME)                                                                                          \
    static loopdbg_halves const loopdbg_halves_##NAME = {                                                     \
        loopdbg_widen_half_##NAME, loopdbg_narrow_half_##NAME,                                                \
        {loopdbg_half_add_##NAME, loopdbg_half_sub_##NAME, loopdbg_half_mul_##NAME, loopdbg_half_div_##NAME}};
HALVES(f16c)
HALVES(avx512)
#endif
static loopdbg_halves const *loopdbg_half = &loopdbg_halves_any;

/* Settle how float16 is done: as is best here (0), or for tests: for any processor (1), with F16C (2), AVX-512 (3).
 * 0: this processor cannot. */
static int loopdbg_use_halves(int kind) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if ((kind == 0 || kind == 3) && __builtin_cpu_supports("avx512f")) {
        loopdbg_half = &loopdbg_halves_avx512;
        return 1;
    }
    if ((kind == 0 || kind == 2) && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) {
        loopdbg_half = &loopdbg_halves_f16c;
        return 1;
    }
#endif
    loopdbg_half = &loopdbg_halves_any;
    return kind < 2;
}

/* Which of the four operations a ufunc is; -1: none. */
static int loopdbg_half_operation_of(char const *name) {
    static char const *const names[] = {"add", "subtract", "multiply", "divide"};
    for (int k = 0; k < 4; k++)
        if (!strcmp(name, names[k])) return k;
    return -1;
}

/* Any steps. ``brain``: bfloat16. */
static inline void loopdbg_widened(int brain, char const *x, npy_intp step, float *y, npy_intp n) {
    uint16_t near[LOOPDBG_NARROW_BLOCK];
    if (step != 2) {
        for (npy_intp i = 0; i < n; i++) near[i] = *(uint16_t const *)(x + i * step);
        x = (char const *)near;
    }
    (brain ? loopdbg_widen_brain : loopdbg_half->widen)((uint16_t const *)x, y, n);
}
static inline void loopdbg_narrowed(int brain, float const *x, char *y, npy_intp step, npy_intp n) {
    uint16_t near[LOOPDBG_NARROW_BLOCK];
    (brain ? loopdbg_narrow_brain : loopdbg_half->narrow)(x, step == 2 ? (uint16_t *)y : near, n);
    if (step != 2)
        for (npy_intp i = 0; i < n; i++) *(uint16_t *)(y + i * step) = near[i];
}

/* An elementwise loop for float32, and with what it goes through which type. */
typedef struct {
    loopdbg_loop loop, fold;
    void *data, *fold_data;
    /* narrow: the result is of that type as well, else it is a bool; operation: of loopdbg_half, or -1 */
    int inputs, brain, narrow, operation;
} loopdbg_through;

/* Does writing a block change what a later one reads? In place it does not. */
static inline int loopdbg_overlaps(char const *x, npy_intp step, char const *y, npy_intp y_step, npy_intp n) {
    uintptr_t low = (uintptr_t)x, high = (uintptr_t)x, y_low = (uintptr_t)y, y_high = (uintptr_t)y;
    if (x == y && step == y_step) return 0;
    if (step < 0) low += (uintptr_t)((n - 1) * step); else high += (uintptr_t)((n - 1) * step);
    if (y_step < 0) y_low += (uintptr_t)((n - 1) * y_step); else y_high += (uintptr_t)((n - 1) * y_step);
    return low < y_high + 2 && y_low < high + 2;
}

/* One of the four operations, any steps, so many numbers at once. */
static void loopdbg_half_blocks(loopdbg_half_operation operation, char **args, npy_intp n, npy_intp const *steps,
                                npy_intp most) {
    uint16_t near[3][LOOPDBG_NARROW_BLOCK];
    char *given[3];
    int plain = steps[2] == 2 && (steps[0] == 2 || !steps[0]) && (steps[1] == 2 || !steps[1]);
    if (plain && most > 1) {
        operation(args[0], steps[0], args[1], steps[1], args[2], n);
        return;
    }
    for (npy_intp i = 0, count; i < n; i += count) {
        count = n - i < most ? n - i : most;
        for (int k = 0; k < 2; k++) {
            given[k] = args[k] + i * steps[k];
            if (steps[k] == 2 || !steps[k]) continue;
            for (npy_intp j = 0; j < count; j++) near[k][j] = *(uint16_t const *)(given[k] + j * steps[k]);
            given[k] = (char *)near[k];
        }
        given[2] = args[2] + i * steps[2];
        operation(given[0], steps[0] ? 2 : 0, given[1], steps[1] ? 2 : 0, steps[2] == 2 ? given[2] : (char *)near[2], count);
        if (steps[2] != 2)
            for (npy_intp j = 0; j < count; j++) *(uint16_t *)(given[2] + j * steps[2]) = near[2][j];
    }
}

static void loopdbg_through_floats(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    loopdbg_through const *by = (loopdbg_through const *)data;
    float in[3][LOOPDBG_NARROW_BLOCK], out[LOOPDBG_NARROW_BLOCK];
    npy_intp n = dims[0], most = LOOPDBG_NARROW_BLOCK, count, inner[4];
    char *given[4], *result = args[by->inputs];
    npy_intp step = steps[by->inputs];
    for (int k = 0; k < by->inputs; k++) {
        inner[k] = steps[k] ? 4 : 0;
        given[k] = (char *)in[k];
        if (loopdbg_overlaps(args[k], steps[k], result, step, n)) most = 1;
    }
    if (by->operation >= 0 && loopdbg_half->operations[by->operation]) {
        loopdbg_half_blocks(loopdbg_half->operations[by->operation], args, n, steps, most);
        return;
    }
    if (most > 1)
        for (int k = 0; k < by->inputs; k++)
            if (!steps[k]) loopdbg_widened(by->brain, args[k], 2, in[k], 1);
    for (npy_intp i = 0; i < n; i += count, result += count * step) {
        count = n - i < most ? n - i : most;
        for (int k = 0; k < by->inputs; k++)
            if (steps[k] || most == 1) loopdbg_widened(by->brain, args[k] + i * steps[k], steps[k], in[k], count);
        given[by->inputs] = by->narrow ? (char *)out : result;
        inner[by->inputs] = by->narrow ? 4 : step;
        by->loop(given, &count, inner, by->data);
        if (by->narrow) loopdbg_narrowed(by->brain, out, result, step, count);
    }
}

/* The same where the result is one number that is read as well: it stays a float until the end. */
static void loopdbg_fold_floats(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    loopdbg_through const *by = (loopdbg_through const *)data;
    float in[LOOPDBG_NARROW_BLOCK], sum;
    npy_intp count;
    npy_intp const inner[3] = {0, 4, 0};
    char *given[3] = {(char *)&sum, (char *)in, (char *)&sum};
    loopdbg_widened(by->brain, args[0], 2, &sum, 1);
    for (npy_intp i = 0; i < dims[0]; i += count) {
        count = dims[0] - i < LOOPDBG_NARROW_BLOCK ? dims[0] - i : LOOPDBG_NARROW_BLOCK;
        loopdbg_widened(by->brain, args[1] + i * steps[1], steps[1], in, count);
        by->fold(given, &count, inner, by->fold_data);
    }
    loopdbg_narrowed(by->brain, &sum, args[2], 2, 1);
}

/* By a loop for the type itself. */
static void loopdbg_fold_directly(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    loopdbg_through const *by = (loopdbg_through const *)data;
    by->fold(args, dims, steps, by->fold_data);
}

#define NARROW_CASTS(BRAIN, N)                                                                                \
    static void cast_##N##_f32(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {        \
        float out[LOOPDBG_NARROW_BLOCK];                                                                      \
        char const *x = args[0];                                                                              \
        char *y = args[1];                                                                                    \
        (void)data;                                                                                           \
        if (steps[1] == 4 && steps[0] == 2) {                                                                 \
            (BRAIN ? loopdbg_widen_brain : loopdbg_half->widen)((uint16_t const *)x, (float *)y, dims[0]);     \
            return;                                                                                           \
        }                                                                                                     \
        for (npy_intp i = 0, n; i < dims[0]; i += n) {                                                        \
            n = dims[0] - i < LOOPDBG_NARROW_BLOCK ? dims[0] - i : LOOPDBG_NARROW_BLOCK;                      \
            loopdbg_widened(BRAIN, x + i * steps[0], steps[0], out, n);                                       \
            for (npy_intp j = 0; j < n; j++) *(float *)(y + (i + j) * steps[1]) = out[j];                     \
        }                                                                                                     \
    }                                                                                                         \
    static void cast_f32_##N(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {          \
        float in[LOOPDBG_NARROW_BLOCK];                                                                       \
        char const *x = args[0];                                                                              \
        char *y = args[1];                                                                                    \
        (void)data;                                                                                           \
        for (npy_intp i = 0, n; i < dims[0]; i += n) {                                                        \
            n = dims[0] - i < LOOPDBG_NARROW_BLOCK ? dims[0] - i : LOOPDBG_NARROW_BLOCK;                      \
            float const *given = (float const *)(x + i * steps[0]);                                           \
            if (steps[0] != 4) {                                                                              \
                for (npy_intp j = 0; j < n; j++) in[j] = *(float const *)(x + (i + j) * steps[0]);            \
                given = in;                                                                                   \
            }                                                                                                 \
            loopdbg_narrowed(BRAIN, given, y + i * steps[1], steps[1], n);                                    \
        }                                                                                                     \
    }
NARROW_CASTS(0, f16)
NARROW_CASTS(1, bf16)

#endif
