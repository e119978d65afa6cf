/* exp of float32, by whoever computes it: Cody and Waite's reduction and Cephes' polynomial, an error of about one unit in the
 * last place. PRODUCT_AND(a, b, c) is c + a * b, ALL(x) makes a number an operand; float vectors and floats alike. */
#ifndef LOOPDBG_EXP_H
#define LOOPDBG_EXP_H

/* The nearest whole number to x / log(2), in the low bits; and as a float, where it was the result. */
#define LOOPDBG_EXP_MIDDLE 12582912.0f
#define LOOPDBG_EXP_BITS 0x4B400000
#define LOOPDBG_EXP_SHIFTED(PRODUCT_AND, ALL, x)                                                                       \
    PRODUCT_AND(x, ALL(1.44269504088896341f), ALL(LOOPDBG_EXP_MIDDLE))
/* What is left of x without ``whole`` times log(2). */
#define LOOPDBG_EXP_REST(PRODUCT_AND, ALL, x, whole)                                                                   \
    PRODUCT_AND(whole, ALL(2.12194440e-4f), PRODUCT_AND(whole, ALL(-0.693359375f), x))
/* y = exp(r). */
#define LOOPDBG_EXP_POLYNOMIAL(PRODUCT_AND, ALL, r, y)                                                                 \
    do {                                                                                                               \
        y = PRODUCT_AND(ALL(1.9875691500e-4f), r, ALL(1.3981999507e-3f));                                              \
        y = PRODUCT_AND(y, r, ALL(8.3334519073e-3f));                                                                  \
        y = PRODUCT_AND(y, r, ALL(4.1665795894e-2f));                                                                  \
        y = PRODUCT_AND(y, r, ALL(1.6666665459e-1f));                                                                  \
        y = PRODUCT_AND(y, r, ALL(5.0000001201e-1f));                                                                  \
        y = PRODUCT_AND(y, r * r, r) + 1.0f;                                                                           \
    } while (0)

/* c + a * b, where it is rounded twice; a number that is an operand as it is. */
#define LOOPDBG_ROUNDED_EACH(a, b, c) ((a) * (b) + (c))
#define LOOPDBG_SAME(x) (x)

#endif
