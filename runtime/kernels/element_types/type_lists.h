/* The element types of loops. */
#ifndef LOOPDBG_NUMBERS_H
#define LOOPDBG_NUMBERS_H

#include <stdint.h>

/* NumPy's type character, name, C type. */
#define INTEGERS(X)                                                                                           \
    X('b', i8, int8_t) X('h', i16, int16_t) X('i', i32, int32_t) X('l', i64, int64_t)                          \
    X('B', u8, uint8_t) X('H', u16, uint16_t) X('I', u32, uint32_t) X('L', u64, uint64_t)
#define FLOATS(X) X('f', f32, float) X('d', f64, double)
#define NUMBERS(X) INTEGERS(X) FLOATS(X)

#endif
