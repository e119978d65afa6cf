/* Functions of float32, element by element, for one width: see lanes.h and functions.h. */
#include "lanes_math.h"

#define ALL(x) ((V){0} + (x))
/* a where the mask says so, else b. */
#define PICK(mask, a, b) ((V)(((mask) & (VI)(a)) | (~(mask) & (VI)(b))))
#define SIGN_OF(x) ((VI)(x) & INT32_MIN)
#define WITHOUT_SIGN(x) ((V)((VI)(x) & INT32_MAX))

/* log of what is positive and finite, subnormal numbers too: Cephes' polynomial, one unit in the last place. */
ATTR static inline __attribute__((always_inline)) V NAME(log_of_positive)(V x) {
    VI small = (VI)(x < 1.17549435e-38f), bits, power;
    V f, square, y, whole;
    x = PICK(small, x * 8388608.0f, x);
    bits = (VI)x - 0x3F3504F3; /* the root of a half: what remains lies around 1 */
    power = (bits >> 23) - (small & 23);
    f = (V)((bits & 0x7FFFFF) + 0x3F3504F3) - 1.0f;
    whole = __builtin_convertvector(power, V);
    square = f * f;
    y = PRODUCT_AND(ALL(7.0376836292e-2f), f, ALL(-1.1514610310e-1f));
    y = PRODUCT_AND(y, f, ALL(1.1676998740e-1f));
    y = PRODUCT_AND(y, f, ALL(-1.2420140846e-1f));
    y = PRODUCT_AND(y, f, ALL(1.4249322787e-1f));
    y = PRODUCT_AND(y, f, ALL(-1.6668057665e-1f));
    y = PRODUCT_AND(y, f, ALL(2.0000714765e-1f));
    y = PRODUCT_AND(y, f, ALL(-2.4999993993e-1f));
    y = PRODUCT_AND(y, f, ALL(3.3333331174e-1f));
    y = y * f * square;
    y = PRODUCT_AND(whole, ALL(-2.12194440e-4f), y);
    y = PRODUCT_AND(square, ALL(-0.5f), y);
    return PRODUCT_AND(whole, ALL(0.693359375f), f + y);
}
ATTR static inline __attribute__((always_inline)) V NAME(log)(V x) {
    V y = NAME(log_of_positive)(x);
    y = PICK((VI)(x == 0), ALL(-__builtin_inff()), y);
    y = PICK((VI)(x == __builtin_inff()), x, y);
    y = PICK((VI)(x < 0), ALL(__builtin_nanf("")), y);
    return PICK((VI)(x != x), x, y);
}

/* log(1 + u) for u from 0 to 1: what 1 + u rounds away is put back. */
ATTR static inline __attribute__((always_inline)) V NAME(log_one_and)(V u) {
    V w = 1.0f + u;
    return NAME(log_of_positive)(w) + (u - (w - 1.0f)) / w;
}

/* log(1 + exp(x)). */
ATTR static inline __attribute__((always_inline)) V NAME(softplus)(V x) {
    V most = PICK((VI)(x < 0), ALL(0.0f), x);
    V y = NAME(log_one_and)(NAME(exp)((V)((VI)x | INT32_MIN)));
    return PICK((VI)(x != x), x, most + y);
}

/* exp(x) - 1, with all its digits where x is small: 2^n times (exp(r) - 1), and 2^n - 1. */
ATTR static inline __attribute__((always_inline)) V NAME(expm1)(V x) {
    V a = PICK((VI)(x < -25.0f), ALL(-25.0f), PICK((VI)(x > 89.0f), ALL(89.0f), x));
    V shifted = LOOPDBG_EXP_SHIFTED(PRODUCT_AND, ALL, a), whole = shifted - LOOPDBG_EXP_MIDDLE, y;
    V r = LOOPDBG_EXP_REST(PRODUCT_AND, ALL, a, whole);
    V half = (V)(((VI)shifted - LOOPDBG_EXP_BITS + 126) << 23);
    y = PRODUCT_AND(ALL(1.9875691500e-4f), r, ALL(1.3981999507e-3f));
    y = PRODUCT_AND(y, r, ALL(8.3334519073e-3f));
    y = PRODUCT_AND(y, r, ALL(4.1665795894e-2f));
    y = PRODUCT_AND(y, r, ALL(1.6666665459e-1f));
    y = PRODUCT_AND(y, r, ALL(5.0000001201e-1f));
    y = PRODUCT_AND(y, r * r, r);
    y = 2.0f * PRODUCT_AND(half, y, half - 0.5f);
    return PICK((VI)(WITHOUT_SIGN(x) > 5.9604645e-8f), y, x);
}

/* As e / (e + 2), e = exp(2 x) - 1: at most two and a half units in the last place, small results too. */
ATTR static inline __attribute__((always_inline)) V NAME(tanh)(V x) {
    V a = WITHOUT_SIGN(x), e = NAME(expm1)(PICK((VI)(a > 10.0f), ALL(20.0f), a + a));
    return (V)((VI)(e / (e + 2.0f)) | SIGN_OF(x));
}

/* 1 / (1 + exp(-x)), at most 2.5 units in the last place from it; below 0 as exp(x) / (1 + exp(x)), which keeps small
 * results. NumPy's four loops for it take four times as long. */
ATTR static inline __attribute__((always_inline)) V NAME(sigmoid)(V x) {
    V e = NAME(exp)((V)((VI)x | INT32_MIN));
    return PICK((VI)(x < 0), e, ALL(1.0f)) / (1.0f + e);
}

/* Two and a half units in the last place at most: by a polynomial of x^2 below 1, and 1 - exp(-another) above. erff takes
 * ten times as long. */
ATTR static inline __attribute__((always_inline)) V NAME(erf)(V x) {
    V a = WITHOUT_SIGN(x), near = PICK((VI)(a > 4.0f), ALL(4.0f), a), r = near * near, small, e;
    small = PRODUCT_AND(ALL(7.85385148e-05f), r, ALL(-0.000801019063f));
    small = PRODUCT_AND(small, r, ALL(0.00518832735f));
    small = PRODUCT_AND(small, r, ALL(-0.0268538118f));
    small = PRODUCT_AND(small, r, ALL(0.112835851f));
    small = PRODUCT_AND(small, r, ALL(-0.376126258f));
    small = near * PRODUCT_AND(small, r, ALL(1.12837917f));
    e = PRODUCT_AND(ALL(-0.000186381645f), near, ALL(0.00294768165f));
    e = PRODUCT_AND(e, near, ALL(-0.0218381546f));
    e = PRODUCT_AND(e, near, ALL(0.103106938f));
    e = PRODUCT_AND(e, near, ALL(0.638144628f));
    e = PRODUCT_AND(e, near, ALL(1.12708931f));
    e = PRODUCT_AND(e, near, ALL(0.000341494306f));
    e = 1.0f - NAME(exp)(-e);
    e = WITHOUT_SIGN(PICK((VI)(near < 1.0f), small, e)); /* a NaN may have got a sign on the way */
    return (V)((VI)e | SIGN_OF(x));
}

ATTR static inline __attribute__((always_inline)) V NAME(gelu)(V x) {
    return x * 0.5f * (NAME(erf)(x * 0.707106781186547524f) + 1.0f);
}
#undef ALL
#undef PICK
#undef SIGN_OF
#undef WITHOUT_SIGN

/* The loops: 16 elements at a time, neighbours or not. */
#define LOOPDBG_LOOP(FUNCTION)                                                                                \
    ATTR static void NAME(FUNCTION##_each)(char **args, npy_intp const *dims, npy_intp const *steps) {         \
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
            float beside[LOOPDBG_LANES] = {0};                                                                \
            for (npy_intp k = 0; k < count; k++, from += steps[0]) beside[k] = *(float const *)from;          \
            NAME(load)(beside, LOOPDBG_LANES, 0, v);                                                          \
            for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] = NAME(FUNCTION)(v[q]);                           \
            NAME(store)(beside, LOOPDBG_LANES, v);                                                            \
            for (npy_intp k = 0; k < count; k++, to += steps[1]) *(float *)to = beside[k];                    \
        }                                                                                                     \
    }
LOOPDBG_FUNCTIONS(LOOPDBG_LOOP)
#undef LOOPDBG_LOOP
