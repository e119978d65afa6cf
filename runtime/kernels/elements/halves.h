/* One float16 or bfloat16 as a float. */
#ifndef LOOPDBG_HALVES_H
#define LOOPDBG_HALVES_H

#include <stdint.h>
#include <string.h>

/* float16, as NumPy converts it: the upper bits of a NaN stay. */
static inline float loopdbg_from_half(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h & 0x7c00u, small, bits;
    float f = (float)(int32_t)(h & 0x03ffu) * 0x1p-24f;
    memcpy(&small, &f, 4);
    bits = ((uint32_t)(h & 0x7fffu) << 13) + (exponent == 0x7c00u ? 0x70000000u : 0x38000000u);
    bits = (exponent ? bits : small) | sign;
    memcpy(&f, &bits, 4);
    return f;
}

static inline float loopdbg_from_brain(uint16_t h) {
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

#endif
