/* exp of float32 for scalars and vectors: Cody and Waite's reduction and a polynomial, with an error of about one unit
 * in the last place. MULTIPLY_ADD(a, b, c) is c + a * b, ALL(x) makes a number an operand. */
#ifndef LOOPDBG_EXP_H
#define LOOPDBG_EXP_H

/* The nearest integer to x / log(2), in the low bits; and as a float, after the subtraction. */
#define LOOPDBG_EXP_ROUND_BIAS 12582912.0f
#define LOOPDBG_EXP_ROUND_BIAS_BITS 0x4B400000
#define LOOPDBG_EXP_SHIFTED(MULTIPLY_ADD, ALL, x)                                                                       \
    MULTIPLY_ADD(x, ALL(1.44269504088896341f), ALL(LOOPDBG_EXP_ROUND_BIAS))
/* The remainder of x without `whole` times log(2). */
#define LOOPDBG_EXP_REMAINDER(MULTIPLY_ADD, ALL, x, whole)                                                                   \
    MULTIPLY_ADD(whole, ALL(2.12194440e-4f), MULTIPLY_ADD(whole, ALL(-0.693359375f), x))
/* y = (exp(r) - 1 - r) / square, square = r * r: error below a tenth of a unit of exp(r). The two halves are
 * independent. */
#define LOOPDBG_EXP_TAIL_POLYNOMIAL(MULTIPLY_ADD, ALL, r, square, y)                                                              \
    do {                                                                                                               \
        y = MULTIPLY_ADD(ALL(1.3820983e-3f), square, MULTIPLY_ADD(ALL(8.36867001e-3f), r, ALL(4.16682623e-2f)));         \
        y = MULTIPLY_ADD(y, square, MULTIPLY_ADD(ALL(1.66665211e-1f), r, ALL(4.9999994e-1f)));                           \
    } while (0)
/* y = exp(r). */
#define LOOPDBG_EXP_POLYNOMIAL(MULTIPLY_ADD, ALL, r, y)                                                                 \
    do {                                                                                                               \
        LOOPDBG_EXP_TAIL_POLYNOMIAL(MULTIPLY_ADD, ALL, r, (r) * (r), y);                                                          \
        y = MULTIPLY_ADD(y, (r) * (r), r) + 1.0f;                                                                       \
    } while (0)

/* c + a * b, rounded twice. */
#define LOOPDBG_MULTIPLY_ADD_UNFUSED(a, b, c) ((a) * (b) + (c))

#endif
