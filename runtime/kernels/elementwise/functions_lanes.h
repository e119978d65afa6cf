/* Functions of float32, element by element, for one vector width: see lanes.h and functions.h. */
#include "../dispatch/lanes_math.h"
#include "../element_types/half_precision_lanes.h"

#define ALL(x) ((V){0} + (x))
#define SIGN_OF(x) ((VI)(x) & INT32_MIN)
#define WITHOUT_SIGN(x) ((V)((VI)(x) & INT32_MAX))

/* Split positive finite numbers, also subnormal ones, into 2^whole and a factor around 1, at least sqrt(1/2). */
INLINE V NAME(mantissa)(V x, V *whole) {
    V apart = BLEND(LESS_MASK(x, ALL(1.17549435e-38f)), ALL(23.0f), ALL(0.0f));
    VI bits = (VI)BLEND(LESS_MASK(x, ALL(1.17549435e-38f)), x * 8388608.0f, x) - 0x3F3504F3;
    *whole = __builtin_convertvector(bits >> 23, V) - apart;
    return (V)((bits & 0x7FFFFF) + 0x3F3504F3);
}

/* log of the same: Cephes' polynomial, one unit in the last place. */
INLINE V NAME(log_of_positive)(V x) {
    V whole, square, y, f = NAME(mantissa)(x, &whole) - 1.0f;
    square = f * f;
    y = MULTIPLY_ADD(ALL(7.0376836292e-2f), f, ALL(-1.1514610310e-1f));
    y = MULTIPLY_ADD(y, f, ALL(1.1676998740e-1f));
    y = MULTIPLY_ADD(y, f, ALL(-1.2420140846e-1f));
    y = MULTIPLY_ADD(y, f, ALL(1.4249322787e-1f));
    y = MULTIPLY_ADD(y, f, ALL(-1.6668057665e-1f));
    y = MULTIPLY_ADD(y, f, ALL(2.0000714765e-1f));
    y = MULTIPLY_ADD(y, f, ALL(-2.4999993993e-1f));
    y = MULTIPLY_ADD(y, f, ALL(3.3333331174e-1f));
    y = y * f * square;
    y = MULTIPLY_ADD(whole, ALL(-2.12194440e-4f), y);
    y = MULTIPLY_ADD(square, ALL(-0.5f), y);
    return MULTIPLY_ADD(whole, ALL(0.693359375f), f + y);
}
INLINE V NAME(log)(V x) {
    V y = NAME(log_of_positive)(x);
    y = BLEND(EQUAL_MASK(x, ALL(0.0f)), ALL(-__builtin_inff()), y);
    y = BLEND(EQUAL_MASK(x, ALL(__builtin_inff())), x, y);
    y = BLEND(LESS_MASK(x, ALL(0.0f)), ALL(__builtin_nanf("")), y);
    return BLEND(EQUAL_MASK(x, x), y, x);
}

/* log(1 + u) for u from 0 to 1, corrected for the rounding of 1 + u. */
INLINE V NAME(log_one_and)(V u) {
    V w = 1.0f + u;
    return NAME(log_of_positive)(w) + (u - (w - 1.0f)) / w;
}

/* log(1 + exp(x)). */
INLINE V NAME(softplus)(V x) {
    V y = NAME(log_one_and)(NAME(exp)((V)((VI)x | INT32_MIN)));
    return CLAMP_MIN(ALL(0.0f), x) + BLEND(EQUAL_MASK(x, x), y, ALL(0.0f));
}

/* exp(x) - 1, accurate for small x: 2^n times (exp(r) - 1), and 2^n - 1. */
INLINE V NAME(expm1)(V x) {
    V a = CLAMP_MIN(ALL(-25.0f), CLAMP_MAX(ALL(89.0f), x));
    V shifted = LOOPDBG_EXP_SHIFTED(MULTIPLY_ADD, ALL, a), whole = shifted - LOOPDBG_EXP_ROUND_BIAS, y;
    V r = LOOPDBG_EXP_REMAINDER(MULTIPLY_ADD, ALL, a, whole);
    V half = (V)(((VI)shifted - LOOPDBG_EXP_ROUND_BIAS_BITS + 126) << 23);
    LOOPDBG_EXP_TAIL_POLYNOMIAL(MULTIPLY_ADD, ALL, r, (r * r), y);
    y = MULTIPLY_ADD(y, r * r, r);
    y = 2.0f * MULTIPLY_ADD(half, y, half - 0.5f);
    return BLEND(LESS_MASK(ALL(5.9604645e-8f), WITHOUT_SIGN(x)), y, BLEND(EQUAL_MASK(x, x), x, y));
}

/* tanh as e / (e + 1), e = (exp(2 x) - 1) / 2, which needs none of the cases of expm1: error up to 2.61 units in the
 * last place, also for small results. */
INLINE V NAME(tanh)(V x) {
    V a = CLAMP_MAX(ALL(20.0f), WITHOUT_SIGN(x + x)), e;
    V shifted = LOOPDBG_EXP_SHIFTED(MULTIPLY_ADD, ALL, a), whole = shifted - LOOPDBG_EXP_ROUND_BIAS;
    V r = LOOPDBG_EXP_REMAINDER(MULTIPLY_ADD, ALL, a, whole);
    V half = (V)(((VI)shifted + 126) << 23);
    LOOPDBG_EXP_TAIL_POLYNOMIAL(MULTIPLY_ADD, ALL, r, (r * r), e);
    e = MULTIPLY_ADD(half, MULTIPLY_ADD(e, r * r, r), half - 0.5f);
    return (V)((VI)(e / (e + 1.0f)) | SIGN_OF(x));
}

/* 1 / (1 + exp(-x)), error up to 2.5 units in the last place; below 0 as exp(x) / (1 + exp(x)), which is accurate for
 * small results. NumPy's four loops take four times as long. */
INLINE V NAME(sigmoid)(V x) {
    V e = NAME(exp)((V)((VI)x | INT32_MIN));
    return BLEND(LESS_MASK(x, ALL(0.0f)), e, ALL(1.0f)) / (1.0f + e);
}

/* erf, error up to 1.8 units in the last place: a polynomial of x^2 below 0.92, and 1 - 2^polynomial above. erff takes
 * ten times as long. */
INLINE V NAME(erf)(V x) {
    V a = WITHOUT_SIGN(x), near = CLAMP_MAX(ALL(3.95f), a), square = near * near, small, p, whole, e;
    small = MULTIPLY_ADD(ALL(-6.00410334e-4f), square, ALL(4.99591278e-3f));
    small = MULTIPLY_ADD(small, square, ALL(-2.67686173e-2f));
    small = MULTIPLY_ADD(small, square, ALL(1.12818778e-1f));
    small = MULTIPLY_ADD(small, square, ALL(-3.76125008e-1f));
    small = MULTIPLY_ADD(small, square, ALL(1.28379151e-1f));
    small = MULTIPLY_ADD(small, near, near);
    p = MULTIPLY_ADD(ALL(-1.77605741e-3f), near, ALL(2.22463477e-2f));
    p = MULTIPLY_ADD(p, near, ALL(-1.30749032e-1f));
    p = MULTIPLY_ADD(p, near, ALL(-9.39863324e-1f));
    p = MULTIPLY_ADD(p, near, ALL(-1.61535954f));
    p = MULTIPLY_ADD(p, near, ALL(-2.91492022e-3f));
    whole = p + LOOPDBG_EXP_ROUND_BIAS;
    p = p - (whole - LOOPDBG_EXP_ROUND_BIAS);
    e = MULTIPLY_ADD(ALL(1.32723851e-3f), p, ALL(9.67143476e-3f));
    e = MULTIPLY_ADD(e, p, ALL(5.55070452e-2f));
    e = MULTIPLY_ADD(e, p, ALL(2.40222439e-1f));
    e = MULTIPLY_ADD(e, p, ALL(6.93147004e-1f));
    e = MULTIPLY_ADD(e, p, ALL(1.0f));
    e = 1.0f - (V)((VI)e + ((VI)whole << 23));
    e = BLEND(LESS_MASK(ALL(0.92f), near), e, small);
    return (V)((VI)e | SIGN_OF(x));
}

INLINE V NAME(gelu)(V x) { return x * 0.5f * (NAME(erf)(x * 0.707106781186547524f) + 1.0f); }

/* x^c for positive finite x and finite c, as 2^(c log2(x)) in doubles, rounded once: nearly exact. powf takes twice as
 * long with AVX2, four times with AVX-512. */
typedef double NAME(doubles) __attribute__((vector_size(N * 4), aligned(4), may_alias));
typedef int64_t NAME(wide_whole) __attribute__((vector_size(N * 4), aligned(4), may_alias));
typedef float NAME(half) __attribute__((vector_size(N * 2), aligned(4), may_alias));
#undef PRODUCT_AND_DOUBLES
#undef BETWEEN
#if N == 16
#define PRODUCT_AND_DOUBLES(a, b, c) ((NAME(doubles))_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define BETWEEN(low, x, high) ((NAME(doubles))_mm512_max_pd((__m512d)(low), _mm512_min_pd((__m512d)(high), (__m512d)(x))))
#elif N == 8
#define PRODUCT_AND_DOUBLES(a, b, c) ((NAME(doubles))_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define BETWEEN(low, x, high) ((NAME(doubles))_mm256_max_pd((__m256d)(low), _mm256_min_pd((__m256d)(high), (__m256d)(x))))
#else
#define PRODUCT_AND_DOUBLES LOOPDBG_MULTIPLY_ADD_UNFUSED
#define BETWEEN(low, x, high) NAME(between)(low, x, high)
static inline NAME(doubles) NAME(between)(NAME(doubles) low, NAME(doubles) x, NAME(doubles) high) {
    for (int k = 0; k < N / 2; k++) x[k] = x[k] < low[k] ? low[k] : x[k] > high[k] ? high[k] : x[k];
    return x;
}
#endif
#define DOUBLES(x) ((NAME(doubles)){0} + (x))
INLINE V NAME(power)(V x, V exponent) {
    float m[N], n[N], c[N], out[N];
    V whole;
    *(V *)m = NAME(mantissa)(x, &whole);
    *(V *)n = whole;
    *(V *)c = exponent;
    for (int k = 0; k < N; k += N / 2) {
        NAME(doubles) f = __builtin_convertvector(*(NAME(half) const *)(m + k), NAME(doubles)), square, y, shifted;
        f = (f - 1.0) / (f + 1.0);
        square = f * f;
        y = PRODUCT_AND_DOUBLES(DOUBLES(0.28291141898333105), square, DOUBLES(0.31990495155881737));
        y = PRODUCT_AND_DOUBLES(y, square, DOUBLES(0.41220926943919106));
        y = PRODUCT_AND_DOUBLES(y, square, DOUBLES(0.57707794220782649));
        y = PRODUCT_AND_DOUBLES(y, square, DOUBLES(0.96179669411383883));
        y = PRODUCT_AND_DOUBLES(y, square, DOUBLES(2.8853900817778499));
        y = PRODUCT_AND_DOUBLES(y, f, __builtin_convertvector(*(NAME(half) const *)(n + k), NAME(doubles)));
        y = y * __builtin_convertvector(*(NAME(half) const *)(c + k), NAME(doubles));
        f = BETWEEN(DOUBLES(-160.0), y, DOUBLES(130.0)); /* beyond which there is 0, and infinity */
        shifted = f + 0x1.8p52; /* the nearest whole number in the low bits */
        f = f - (shifted - 0x1.8p52);
        y = PRODUCT_AND_DOUBLES(DOUBLES(1.5353472462379571e-4), f, DOUBLES(1.3398889346947366e-3));
        y = PRODUCT_AND_DOUBLES(y, f, DOUBLES(9.6184370360231849e-3));
        y = PRODUCT_AND_DOUBLES(y, f, DOUBLES(5.550332424150816e-2));
        y = PRODUCT_AND_DOUBLES(y, f, DOUBLES(0.24022647915305068));
        y = PRODUCT_AND_DOUBLES(y, f, DOUBLES(0.69314720288613074));
        y = PRODUCT_AND_DOUBLES(y, f, DOUBLES(1.0));
        y = (NAME(doubles))((NAME(wide_whole))y + ((NAME(wide_whole))shifted << 52));
        *(NAME(half) *)(out + k) = __builtin_convertvector(y, NAME(half));
    }
    return *(V *)out;
}
#undef DOUBLES

/* Is NAME(power) applicable to all of these? */
INLINE int NAME(plain_powers)(V x, V c) {
#if N == 16
    __mmask16 plain =
        LESS_MASK(ALL(0.0f), x) & LESS_MASK(x, ALL(__builtin_inff())) & LESS_MASK(WITHOUT_SIGN(c), ALL(__builtin_inff()));
    return plain == 0xFFFF && !(EQUAL_MASK(c, ALL(2.0f)) | EQUAL_MASK(c, ALL(3.0f)) | EQUAL_MASK(c, ALL(0.5f)));
#elif N == 8
    __m256 plain = _mm256_and_ps(LESS_MASK(ALL(0.0f), x), LESS_MASK(x, ALL(__builtin_inff())));
    plain = _mm256_and_ps(plain, LESS_MASK(WITHOUT_SIGN(c), ALL(__builtin_inff())));
    __m256 other = _mm256_or_ps(_mm256_or_ps(EQUAL_MASK(c, ALL(2.0f)), EQUAL_MASK(c, ALL(3.0f))), EQUAL_MASK(c, ALL(0.5f)));
    return _mm256_movemask_ps(_mm256_andnot_ps(other, plain)) == 0xFF;
#else
    int plain = 1;
    for (int k = 0; k < N; k++) plain &= loopdbg_is_vector_power(x[k], c[k]);
    return plain;
#endif
}
static void NAME(power_each)(char **args, npy_intp const *dims, npy_intp const *steps) {
    npy_intp const size = sizeof(float);
    char const *p = args[0], *q = args[1];
    char *to = args[2];
    for (npy_intp i = 0; i < dims[0]; i += LOOPDBG_LANES) {
        npy_intp count = dims[0] - i < LOOPDBG_LANES ? dims[0] - i : LOOPDBG_LANES;
        float x[LOOPDBG_LANES], c[LOOPDBG_LANES], out[LOOPDBG_LANES];
        V v[LOOPDBG_LANES / N], w[LOOPDBG_LANES / N];
        if (steps[0] == size) NAME(load)((float const *)p, count, 1, v);
        else {
            for (npy_intp k = 0; k < LOOPDBG_LANES; k++) x[k] = k < count ? *(float const *)(p + k * steps[0]) : 1;
            NAME(load)(x, LOOPDBG_LANES, 0, v);
        }
        if (steps[1] == size) NAME(load)((float const *)q, count, 1, w);
        else {
            for (npy_intp k = 0; k < LOOPDBG_LANES; k++) c[k] = k < count ? *(float const *)(q + k * steps[1]) : 1;
            NAME(load)(c, LOOPDBG_LANES, 0, w);
        }
        for (int k = 0; k < LOOPDBG_LANES / N; k++) {
            if (NAME(plain_powers)(v[k], w[k])) {
                *(V *)(out + k * N) = NAME(power)(v[k], w[k]);
                continue;
            }
            *(V *)(x + k * N) = v[k];
            *(V *)(c + k * N) = w[k];
            *(V *)(out + k * N) = NAME(power)(v[k], w[k]);
            for (int l = k * N; l < k * N + N; l++)
                if (!loopdbg_is_vector_power(x[l], c[l])) out[l] = loopdbg_scalar_power(x[l], c[l]);
        }
        if (steps[2] == size) {
            for (int k = 0; k < LOOPDBG_LANES / N; k++) v[k] = *(V const *)(out + k * N);
            NAME(store)((float *)to, count, v);
        } else
            for (npy_intp k = 0; k < count; k++) *(float *)(to + k * steps[2]) = out[k];
        p += LOOPDBG_LANES * steps[0], q += LOOPDBG_LANES * steps[1], to += LOOPDBG_LANES * steps[2];
    }
}
#undef ALL
#undef SIGN_OF
#undef WITHOUT_SIGN

/* The loops: 16 elements at a time, contiguous or strided. */
#define LOOPDBG_LOOP(FUNCTION)                                                                                \
    LOOP(NAME(FUNCTION##_each)) {                                                                             \
        (void)data;                                                                                           \
        npy_intp n = dims[0], size = sizeof(float);                                                           \
        char const *from = args[0];                                                                           \
        char *to = args[1];                                                                                   \
        V v[LOOPDBG_LANES / N];                                                                               \
        if (n == 1 || (steps[0] == size && steps[1] == size)) {                                               \
            float const *x = (float const *)from;                                                             \
            float *out = (float *)to;                                                                         \
            for (npy_intp i = 0; i < n; i += LOOPDBG_LANES) {                                                 \
                NAME(load)(x + i, n - i, 0, v);                                                               \
                for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] = NAME(FUNCTION)(v[q]);                       \
                NAME(store)(out + i, n - i, v);                                                               \
            }                                                                                                 \
            return;                                                                                           \
        }                                                                                                     \
        for (npy_intp i = 0; i < n; i += LOOPDBG_LANES) {                                                     \
            npy_intp count = n - i < LOOPDBG_LANES ? n - i : LOOPDBG_LANES;                                   \
            float gathered[LOOPDBG_LANES] = {0};                                                                \
            for (npy_intp k = 0; k < count; k++, from += steps[0]) gathered[k] = *(float const *)from;          \
            NAME(load)(gathered, LOOPDBG_LANES, 0, v);                                                          \
            for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] = NAME(FUNCTION)(v[q]);                           \
            NAME(store)(gathered, LOOPDBG_LANES, v);                                                            \
            for (npy_intp k = 0; k < count; k++, to += steps[1]) *(float *)to = gathered[k];                    \
        }                                                                                                     \
    }
LOOPDBG_FUNCTIONS(LOOPDBG_LOOP)
#undef LOOPDBG_LOOP
/* The same of float16 and bfloat16. Is there a NaN among these? Those take the path that keeps it unchanged. */
INLINE int NAME(some_nan)(V const v[LOOPDBG_LANES / N]) {
#if N == 4
    (void)v;
    return 0;
#else
    int found = 0;
    for (int q = 0; q < LOOPDBG_LANES / N; q++) found |= NAME(nans)(v[q]);
    return found != 0;
#endif
}
#define LOOPDBG_LOOP(FUNCTION)                                                                                \
    static __attribute__((noinline)) void NAME(FUNCTION##_with_nan)(uint16_t const *x, uint16_t *y, npy_intp count, \
                                                                         int brain) {                         \
        float near[LOOPDBG_LANES] = {0};                                                                      \
        V v[LOOPDBG_LANES / N];                                                                               \
        for (npy_intp k = 0; k < count; k++) near[k] = brain ? loopdbg_float_from_bfloat16(x[k]) : loopdbg_float_from_half(x[k]); \
        NAME(load)(near, LOOPDBG_LANES, 0, v);                                                                \
        for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] = NAME(FUNCTION)(v[q]);                              \
        NAME(store)(near, LOOPDBG_LANES, v);                                                                  \
        for (npy_intp k = 0; k < count; k++) y[k] = brain ? loopdbg_bfloat16_from_float(near[k]) : loopdbg_half_from_float(near[k]); \
    }                                                                                                         \
    INLINE void NAME(FUNCTION##_of)(uint16_t const *x, uint16_t *y, npy_intp n, \
                                                                               int brain) {                   \
        V v[LOOPDBG_LANES / N];                                                                               \
        for (npy_intp i = 0; i < n; i += LOOPDBG_LANES) {                                                     \
            NAME(load_halves)(x + i, n - i, 0, brain, v);                                                     \
            if (__builtin_expect(NAME(some_nan)(v), 0)) {                                                     \
                NAME(FUNCTION##_with_nan)(x + i, y + i, n - i < LOOPDBG_LANES ? n - i : LOOPDBG_LANES, brain); \
                continue;                                                                                     \
            }                                                                                                 \
            for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] = NAME(FUNCTION)(v[q]);                          \
            NAME(store_halves)(y + i, n - i, brain, v);                                                       \
        }                                                                                                     \
    }                                                                                                         \
    static void NAME(FUNCTION##_halves)(uint16_t const *x, uint16_t *y, npy_intp n, int brain) {         \
        if (brain) NAME(FUNCTION##_of)(x, y, n, 1);                                                           \
        else NAME(FUNCTION##_of)(x, y, n, 0);                                                                 \
    }
LOOPDBG_FUNCTIONS(LOOPDBG_LOOP)
#undef LOOPDBG_LOOP

#define LOOPDBG_ENTRY(FUNCTION) {#FUNCTION, NAME(FUNCTION##_each), NAME(FUNCTION##_halves)},
static loopdbg_function_loops const NAME(functions)[] = {LOOPDBG_FUNCTIONS(LOOPDBG_ENTRY){NULL, NULL, NULL}};
#undef LOOPDBG_ENTRY
