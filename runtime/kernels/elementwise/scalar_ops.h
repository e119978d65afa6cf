/* Scalar arithmetic: one list of operations, from which the engine's calls on single elements (scalar_calls.h), the
 * instructions of scalar programs (scalar_interpreter.h) and some loops (inner_loops.h) are made.
 *
 * NumPy's inner loops spend 8 to 10 ns on dispatch for a single number; these take 1 to 2 ns and give the same bits:
 * plain C arithmetic on the same types.
 */
#ifndef LOOPDBG_SCALAR_OPS_H
#define LOOPDBG_SCALAR_OPS_H

#include <math.h>
#include <stdint.h>

/* X(id, name of the ufunc or of our own loop, type character of the inputs, T of the inputs, R of the result,
 *   expression over a, b)
 * U is the type in which integer arithmetic wraps without being undefined. */
#define SCALAR_INTEGER_OF(X, C, N, T, U)                                                                      \
    X(add_##N, "add", C, T, T, (U)a + (U)b)                                                                   \
    X(multiply_##N, "multiply", C, T, T, (U)a * (U)b)                                                         \
    X(maximum_##N, "maximum", C, T, T, a >= b ? a : b)                                                        \
    X(minimum_##N, "minimum", C, T, T, a <= b ? a : b)                                                        \
    SCALAR_EITHER_OF(X, C, N, T, U)
/* Cases where a float result depends on more than the values: of two NaNs the first is returned (processors do that,
 * but compilers swap the operands of sums and products), of two zeros the first is the extreme. So each element is
 * independent of its neighbours; NumPy's loops differ in that by size and stride. */
#define SCALAR_FLOAT_OF(X, C, N, T)                                                                           \
    X(add_##N, "add", C, T, T, a + (a != a ? a : b))                                                          \
    X(multiply_##N, "multiply", C, T, T, a * (a != a ? a : b))                                                \
    X(maximum_##N, "maximum", C, T, T, a >= b || a != a ? a : b)                                              \
    X(minimum_##N, "minimum", C, T, T, a <= b || a != a ? a : b)
#define SCALAR_FLOATS(X) SCALAR_FLOAT_OF(X, 'f', f32, float) SCALAR_FLOAT_OF(X, 'd', f64, double)
#define SCALAR_EITHER_OF(X, C, N, T, U)                                                                       \
    X(subtract_##N, "subtract", C, T, T, (U)a - (U)b)                                                         \
    X(less_##N, "less", C, T, uint8_t, a < b)                                                                 \
    X(less_equal_##N, "less_equal", C, T, uint8_t, a <= b)                                                    \
    X(greater_##N, "greater", C, T, uint8_t, a > b)                                                           \
    X(greater_equal_##N, "greater_equal", C, T, uint8_t, a >= b)                                              \
    X(equal_##N, "equal", C, T, uint8_t, a == b)                                                              \
    X(not_equal_##N, "not_equal", C, T, uint8_t, a != b)
#define SCALAR_BINARY(X)                                                                                      \
    SCALAR_FLOATS(X)                                                                                          \
    SCALAR_EITHER_OF(X, 'f', f32, float, float)                                                               \
    SCALAR_EITHER_OF(X, 'd', f64, double, double)                                                             \
    SCALAR_INTEGER_OF(X, 'i', i32, int32_t, uint32_t)                                                         \
    SCALAR_INTEGER_OF(X, 'l', i64, int64_t, uint64_t)                                                         \
    X(divide_f32, "divide", 'f', float, float, a / b)                                                         \
    X(divide_f64, "divide", 'd', double, double, a / b)                                                       \
    X(logical_and, "logical_and", '?', uint8_t, uint8_t, a && b)                                              \
    X(logical_or, "logical_or", '?', uint8_t, uint8_t, a || b)                                                \
    X(logical_xor, "logical_xor", '?', uint8_t, uint8_t, !a != !b)
#define SCALAR_UNARY(X)                                                                                       \
    X(negative_f32, "negative", 'f', float, float, -a)                                                        \
    X(negative_f64, "negative", 'd', double, double, -a)                                                      \
    X(negative_i32, "negative", 'i', int32_t, int32_t, 0 - (uint32_t)a)                                       \
    X(negative_i64, "negative", 'l', int64_t, int64_t, 0 - (uint64_t)a)                                       \
    X(absolute_f32, "absolute", 'f', float, float, fabsf(a))                                                  \
    X(absolute_f64, "absolute", 'd', double, double, fabs(a))                                                 \
    X(absolute_i32, "absolute", 'i', int32_t, int32_t, a < 0 ? 0 - (uint32_t)a : (uint32_t)a)                 \
    X(absolute_i64, "absolute", 'l', int64_t, int64_t, a < 0 ? 0 - (uint64_t)a : (uint64_t)a)                 \
    X(sqrt_f32, "sqrt", 'f', float, float, sqrtf(a))                                                          \
    X(sqrt_f64, "sqrt", 'd', double, double, sqrt(a))                                                         \
    X(logical_not, "logical_not", '?', uint8_t, uint8_t, !a)                                                  \
    X(copy_1, "copy", 1, uint8_t, uint8_t, a)                                                                 \
    X(copy_2, "copy", 2, uint16_t, uint16_t, a)                                                               \
    X(copy_4, "copy", 4, uint32_t, uint32_t, a)                                                               \
    X(copy_8, "copy", 8, uint64_t, uint64_t, a)                                                               \
    X(cast_f32_f64, "cast d", 'f', float, double, a)                                                          \
    X(cast_f64_f32, "cast f", 'd', double, float, a)                                                          \
    X(cast_i64_f32, "cast f", 'l', int64_t, float, a)                                                         \
    X(cast_i64_f64, "cast d", 'l', int64_t, double, a)                                                        \
    X(cast_i64_i32, "cast i", 'l', int64_t, int32_t, a)                                                       \
    X(cast_i32_i64, "cast l", 'i', int32_t, int64_t, a)                                                       \
    X(cast_i32_f32, "cast f", 'i', int32_t, float, a)                                                         \
    X(cast_bool_i64, "cast l", '?', uint8_t, int64_t, a)                                                      \
    X(cast_bool_i32, "cast i", '?', uint8_t, int32_t, a)                                                      \
    X(cast_bool_f32, "cast f", '?', uint8_t, float, a)
/* These fail where b is 0; -1 is a special case because the smallest integer divided by it traps. */
#define FLOOR_FIX(T, r) ((r) != 0 && (((r) < 0) != (b < 0)) ? (r) + b : (r))
#define FLOOR_OF(a, b) ((a) / (b) - ((a) % (b) != 0 && (((a) < 0) != ((b) < 0))))
#define SCALAR_DIVISIONS(X)                                                                                   \
    X(trunc_divide_i32, "trunc_divide", 'i', int32_t, int32_t, b == -1 ? (int32_t)(0 - (uint32_t)a) : a / b)  \
    X(trunc_divide_i64, "trunc_divide", 'l', int64_t, int64_t, b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b)  \
    X(trunc_remainder_i32, "trunc_remainder", 'i', int32_t, int32_t, b == -1 ? 0 : a % b)                     \
    X(trunc_remainder_i64, "trunc_remainder", 'l', int64_t, int64_t, b == -1 ? 0 : a % b)                     \
    X(floor_divide_i32, "floor_divide", 'i', int32_t, int32_t, b == -1 ? (int32_t)(0 - (uint32_t)a) : FLOOR_OF(a, b)) \
    X(floor_divide_i64, "floor_divide", 'l', int64_t, int64_t, b == -1 ? (int64_t)(0 - (uint64_t)a) : FLOOR_OF(a, b)) \
    X(floor_modulo_i32, "floor_modulo", 'i', int32_t, int32_t, b == -1 ? 0 : FLOOR_FIX(int32_t, a % b))       \
    X(floor_modulo_i64, "floor_modulo", 'l', int64_t, int64_t, b == -1 ? 0 : FLOOR_FIX(int64_t, a % b))
#define SCALAR_CHOICES(X) X(where_1, 1, uint8_t) X(where_2, 2, uint16_t) X(where_4, 4, uint32_t) X(where_8, 8, uint64_t)

#endif
