/* Conversion of one float16 or bfloat16 to a float, and back. */
#ifndef LOOPDBG_HALVES_H
#define LOOPDBG_HALVES_H

#include <stdint.h>
#include <string.h>

/* float16, converted as by NumPy, which leaves it to processors that can convert float16 themselves: on ARM a signaling
 * NaN becomes quiet. Elsewhere the upper bits of a NaN are kept. */
#if defined(__aarch64__)
static inline float loopdbg_float_from_half(uint16_t h) {
    __fp16 f;
    memcpy(&f, &h, sizeof h);
    return f;
}

#define TO_HALF(NAME, T)                                                                                      \
    static inline uint16_t NAME(T v) {                                                                        \
        __fp16 f = (__fp16)v;                                                                                 \
        uint16_t h;                                                                                           \
        memcpy(&h, &f, sizeof h);                                                                             \
        return h;                                                                                             \
    }
TO_HALF(loopdbg_half_from_float, float)
TO_HALF(loopdbg_half_from_double, double)
#else
static inline float loopdbg_float_from_half(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h & 0x7c00u, small, bits;
    float f = (float)(int32_t)(h & 0x03ffu) * 0x1p-24f;
    memcpy(&small, &f, 4);
    bits = ((uint32_t)(h & 0x7fffu) << 13) + (exponent == 0x7c00u ? 0x70000000u : 0x38000000u);
    bits = (exponent ? bits : small) | sign;
    memcpy(&f, &bits, 4);
    return f;
}

/* From the bits of a float with FRACTION fraction bits and this exponent bias. */
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
TO_HALF(loopdbg_half_from_float, float, uint32_t, 23, 127)
TO_HALF(loopdbg_half_from_double, double, uint64_t, 52, 1023)
#endif

/* bfloat16, converted as by ml_dtypes: NaN keeps only its sign. */
static inline float loopdbg_float_from_bfloat16(uint16_t h) {
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static inline uint16_t loopdbg_bfloat16_from_float(float v) {
    uint32_t bits, rounded;
    memcpy(&bits, &v, 4);
    rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16 & 0x8000u) | 0x7fc0u : rounded);
}

#endif
