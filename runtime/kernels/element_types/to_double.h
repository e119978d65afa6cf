/* Conversion of elements of any type to doubles. */
#ifndef LOOPDBG_ELEMENTS_H
#define LOOPDBG_ELEMENTS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "half_precision.h"
#include "number_kinds.h"

typedef struct {
    float re, im;
} loopdbg_c64;
typedef struct {
    double re, im;
} loopdbg_c128;

#define ELEMENTS_LOOP(STEP, T, EXPRESSION)                \
    for (int64_t k = 0; k < n; k++) {                     \
        T x;                                              \
        memcpy(&x, from + k * (int64_t)(STEP), sizeof x); \
        to[k] = (EXPRESSION);                             \
    }
/* The possible steps are spelled out, so that compilers vectorize. */
#define ELEMENTS_CASE(KIND, T, EXPRESSION)                             \
    case KIND:                                                         \
        if (step == sizeof(T)) ELEMENTS_LOOP(sizeof(T), T, EXPRESSION) \
        else if (step == 8) ELEMENTS_LOOP(8, T, EXPRESSION)            \
        else ELEMENTS_LOOP(step, T, EXPRESSION)                        \
        return;

/* Of complex numbers the magnitudes, as NumPy computes them. `table`: values of the bytes of KIND_TABLE. */
static inline void loopdbg_elements_to_double(int kind, double const *table, char const *from, int64_t step, int64_t n,
                                              double *to) {
    switch (kind) {
        ELEMENTS_CASE(KIND_BOOL, uint8_t, x != 0)
        ELEMENTS_CASE(KIND_I8, int8_t, x)
        ELEMENTS_CASE(KIND_U8, uint8_t, x)
        ELEMENTS_CASE(KIND_I16, int16_t, x)
        ELEMENTS_CASE(KIND_U16, uint16_t, x)
        ELEMENTS_CASE(KIND_I32, int32_t, x)
        ELEMENTS_CASE(KIND_U32, uint32_t, x)
        ELEMENTS_CASE(KIND_I64, int64_t, (double)x)
        ELEMENTS_CASE(KIND_U64, uint64_t, (double)x)
        ELEMENTS_CASE(KIND_F16, uint16_t, loopdbg_float_from_half(x))
        ELEMENTS_CASE(KIND_BF16, uint16_t, loopdbg_float_from_bfloat16(x))
        ELEMENTS_CASE(KIND_F32, float, x)
        ELEMENTS_CASE(KIND_F64, double, x)
        ELEMENTS_CASE(KIND_C64, loopdbg_c64, hypotf(x.re, x.im))
        ELEMENTS_CASE(KIND_C128, loopdbg_c128, hypot(x.re, x.im))
        ELEMENTS_CASE(KIND_TABLE, uint8_t, table[x])
    }
    for (int64_t k = 0; k < n; k++) to[k] = NAN;
}

#endif
