/* Inner loops that NumPy's ufuncs do not have, with NumPy's inner-loop signature:
 *
 *     void loop(char **args, npy_intp const *dims, npy_intp const *steps, void *data)
 *
 * args: inputs then output; dims[0]: number of elements; steps: bytes between elements of each argument. A loop that
 * can fail gets data = pointer to an int and sets it to 1. C macros, because one text has to give a loop for each of
 * many pairs of types.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <numpy/npy_common.h>

#include "../data_movement/fast_memcpy.h"
#include "inner_loops.h"
#include "functions.h"
#include "../reduce/rowwise_minmax.h"
#include "half_loops.h"
#include "../element_types/type_lists.h"
#include "../dispatch/processor.h"
#include "scalar_ops.h"
#include "../data_movement/interleave_rows.h"
#include "../reduce/pairwise_sum.h"
#include "../data_movement/row_loops.h"

/* copy: data = element size in bytes */
#define COPY_BODY(T)                                                                                          \
    for (npy_intp i = 0; i < n; i++, src += steps[0], dst += steps[1]) *(T *)dst = *(T const *)src;
#define FILL_BODY(T)                                                                                          \
    {                                                                                                         \
        T value = *(T const *)src;                                                                            \
        for (npy_intp i = 0; i < n; i++) ((T *)dst)[i] = value;                                               \
    }
void loopdbg_copy(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    npy_intp n = dims[0], size = (npy_intp)(intptr_t)data;
    char const *src = args[0];
    char *dst = args[1];
    if (steps[0] == size && steps[1] == size) {
        loopdbg_memcpy(dst, src, (size_t)(n * size));
        return;
    }
    if (steps[0] == 0 && steps[1] == size) switch (size) { /* fills: 4 to 20x the general loop, which reads each time */
            case 1: memset(dst, *src, (size_t)n); return;
            case 2: FILL_BODY(uint16_t) return;
            case 4: FILL_BODY(uint32_t) return;
            case 8: FILL_BODY(uint64_t) return;
        }
    switch (size) {
        case 1: COPY_BODY(uint8_t) break;
        case 2: COPY_BODY(uint16_t) break;
        case 4: COPY_BODY(uint32_t) break;
        case 8: COPY_BODY(uint64_t) break;
        default:
            for (npy_intp i = 0; i < n; i++, src += steps[0], dst += steps[1]) memcpy(dst, src, (size_t)size);
    }
}

/* Conversions by C's rules; to bool: is not zero. Float to integer out of range is undefined in C. The result here is
 * that of x86, NumPy and ONNX Runtime for single numbers: the smallest integer, of 64 bits for types of 64 bits and
 * uint32, else the lower bits of that of 32 bits. Explicit code gives the same for one number and for many, unlike
 * machine instructions alone. */
#define IN_RANGE(V, LIMIT) ((((V) >= -LIMIT) & ((V) < LIMIT)) ? (V) : -LIMIT)
#define WHOLE(N, T)                                                                                           \
    static inline int32_t whole_i32_##N(T v) { return (int32_t)IN_RANGE(v, (T)0x1p31); }                      \
    static inline int64_t whole_i64_##N(T v) { return (int64_t)IN_RANGE(v, (T)0x1p63); }                      \
    static inline uint64_t whole_u64_##N(T v) {                                                               \
        int large = v >= (T)0x1p63;                                                                           \
        return (uint64_t)whole_i64_##N(large ? v - (T)0x1p63 : v) ^ (uint64_t)large << 63;                    \
    }
WHOLE(f32, float)
WHOLE(f64, double)
/* A float, of the type named F, as each type of integers. */
#define AS_i8(F, V) (int8_t)whole_i32_##F(V)
#define AS_i16(F, V) (int16_t)whole_i32_##F(V)
#define AS_i32(F, V) whole_i32_##F(V)
#define AS_i64(F, V) whole_i64_##F(V)
#define AS_u8(F, V) (uint8_t)whole_i32_##F(V)
#define AS_u16(F, V) (uint16_t)whole_i32_##F(V)
#define AS_u32(F, V) (uint32_t)whole_i64_##F(V)
#define AS_u64(F, V) whole_u64_##F(V)

#define CAST(ID, FROM, TO, EXPRESSION)                                                                        \
    LOOP(ID) {                                                                                                \
        char const *src = args[0];                                                                            \
        char *dst = args[1];                                                                                  \
        (void)data;                                                                                           \
        for (npy_intp i = 0; i < dims[0]; i++, src += steps[0], dst += steps[1]) {                            \
            FROM v = *(FROM const *)src;                                                                      \
            *(TO *)dst = EXPRESSION;                                                                          \
        }                                                                                                     \
    }
/* The same, several times as fast for contiguous elements: for quantization, and for integer products. */
#define CAST_NEAR(ID, FROM, TO, EXPRESSION)                                                                   \
    CAST(far_##ID, FROM, TO, EXPRESSION)                                                                      \
    LOOP(ID) {                                                                                                \
        if (steps[0] == sizeof(FROM) && steps[1] == sizeof(TO))                                               \
            DISPATCH(near_##ID)((FROM const *)args[0], (TO *)args[1], dims[0]);                                 \
        else                                                                                                  \
            far_##ID(args, dims, steps, data);                                                                \
    }
/* ONE: types computed one by one, NEAR: types with a loop over contiguous elements as well. */
#define CASTS_OF_INTEGER(ONE, NEAR, N, T)                                                                     \
    ONE(cast_##N##_i8, T, int8_t, (int8_t)v) ONE(cast_##N##_i16, T, int16_t, (int16_t)v)                      \
    NEAR(cast_##N##_i32, T, int32_t, (int32_t)v) NEAR(cast_##N##_i64, T, int64_t, (int64_t)v)                 \
    NEAR(cast_##N##_u8, T, uint8_t, (uint8_t)v) ONE(cast_##N##_u16, T, uint16_t, (uint16_t)v)                 \
    ONE(cast_##N##_u32, T, uint32_t, (uint32_t)v) ONE(cast_##N##_u64, T, uint64_t, (uint64_t)v)               \
    NEAR(cast_##N##_f32, T, float, (float)v) NEAR(cast_##N##_f64, T, double, (double)v)                       \
    NEAR(cast_##N##_bool, T, uint8_t, (uint8_t)(v != 0))
#define CASTS_OF_FLOAT(ONE, NEAR, N, T)                                                                       \
    NEAR(cast_##N##_i8, T, int8_t, AS_i8(N, v)) ONE(cast_##N##_i16, T, int16_t, AS_i16(N, v))                 \
    NEAR(cast_##N##_i32, T, int32_t, AS_i32(N, v)) NEAR(cast_##N##_i64, T, int64_t, AS_i64(N, v))             \
    NEAR(cast_##N##_u8, T, uint8_t, AS_u8(N, v)) ONE(cast_##N##_u16, T, uint16_t, AS_u16(N, v))               \
    ONE(cast_##N##_u32, T, uint32_t, AS_u32(N, v)) ONE(cast_##N##_u64, T, uint64_t, AS_u64(N, v))             \
    NEAR(cast_##N##_f32, T, float, (float)v) NEAR(cast_##N##_f64, T, double, (double)v)                       \
    NEAR(cast_##N##_bool, T, uint8_t, (uint8_t)(v != 0))

/* The sign of a number, 0 of both zeros: NumPy's loop takes 6 ns for unpredictable signs. The other two are wrong in
 * NumPy 2.4 for some steps: negative for elements of four bytes at distances of 16 bytes, with results 8 bytes or more
 * apart, and isfinite where results are not contiguous. */
#define EACH_OF(X)                                                                                            \
    X(sign_f32, "sign", 'f', float, float, a > 0 ? 1.0f : a < 0 ? -1.0f : a == 0 ? 0.0f : a)                  \
    X(sign_f64, "sign", 'd', double, double, a > 0 ? 1.0 : a < 0 ? -1.0 : a == 0 ? 0.0 : a)                   \
    X(negative_f32, "negative", 'f', float, float, -a)                                                        \
    X(negative_i32, "negative", 'i', int32_t, int32_t, 0 - (uint32_t)a)                                       \
    X(negative_u32, "negative", 'I', uint32_t, uint32_t, 0 - a)                                               \
    X(isfinite_f32, "isfinite", 'f', float, uint8_t, fabsf(a) < INFINITY)                                     \
    X(isfinite_f64, "isfinite", 'd', double, uint8_t, fabs(a) < (double)INFINITY)
#define ROOT_f32 sqrtf
#define ROOT_f64 sqrt
#define ROOT_OF(T, N, a) ((a) == -(T)INFINITY ? (T)INFINITY : ROOT_##N(a) + (T)0)
static void powers_f64(char **args, npy_intp const *dims, npy_intp const *steps) {
    for (npy_intp i = 0; i < dims[0]; i++) {
        double a = *(double const *)(args[0] + i * steps[0]), c = *(double const *)(args[1] + i * steps[1]);
        *(double *)(args[2] + i * steps[2]) = c == 2     ? a * a
                                              : c == 3   ? a * a * a
                                              : c == 0.5 ? ROOT_OF(double, f64, a)
                                                         : pow(a, c);
    }
}
/* Rows of at most this length are made contiguous. */
enum { LOOPDBG_MAX_SHORT_ROW = 7 };

#define BODY "../elementwise/inner_loops_lanes.h"
#include "../dispatch/foreach_target.h"

#define CAST_FROM(C, N, T) CASTS_OF_INTEGER(CAST, CAST_NEAR, N, T)
INTEGERS(CAST_FROM)
CAST_FROM('?', bool, uint8_t)
#define CAST_FROM_FLOAT(C, N, T) CASTS_OF_FLOAT(CAST, CAST_NEAR, N, T)
FLOATS(CAST_FROM_FLOAT)

void loopdbg_where(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    DISPATCH(where)(args, dims, steps, data);
}

/* float16 and bfloat16: other types go through float32. */
#define CAST_HALF(C, N, T)                                                                                    \
    CAST(cast_f16_##N, uint16_t, T, AS_##N(f32, loopdbg_float_from_half(v)))                                        \
    CAST(cast_##N##_f16, T, uint16_t, loopdbg_half_from_float((float)v))                                          \
    CAST(cast_bf16_##N, uint16_t, T, AS_##N(f32, loopdbg_float_from_bfloat16(v)))                                      \
    CAST(cast_##N##_bf16, T, uint16_t, loopdbg_bfloat16_from_float((float)v))
INTEGERS(CAST_HALF)
CAST(cast_f16_f64, uint16_t, double, loopdbg_float_from_half(v))
CAST(cast_f16_bool, uint16_t, uint8_t, (v & 0x7fffu) != 0)
CAST(cast_f64_f16, double, uint16_t, loopdbg_half_from_double(v))
CAST(cast_f16_f16, uint16_t, uint16_t, v)
CAST(cast_bool_f16, uint8_t, uint16_t, loopdbg_half_from_float((float)(v != 0)))
CAST(cast_bf16_f64, uint16_t, double, loopdbg_float_from_bfloat16(v))
CAST(cast_bf16_bool, uint16_t, uint8_t, (v & 0x7fffu) != 0)
CAST(cast_f64_bf16, double, uint16_t, loopdbg_bfloat16_from_float((float)v))
CAST(cast_bf16_bf16, uint16_t, uint16_t, v)
CAST(cast_bool_bf16, uint8_t, uint16_t, loopdbg_bfloat16_from_float((float)(v != 0)))
CAST(cast_f16_bf16, uint16_t, uint16_t, loopdbg_bfloat16_from_float(loopdbg_float_from_half(v)))
CAST(cast_bf16_f16, uint16_t, uint16_t, loopdbg_half_from_float(loopdbg_float_from_bfloat16(v)))

#define CAST_CASE(FROM, C, N) case C: return cast_##FROM##_##N;
#define CAST_TO(C, N, T)                                                                                      \
    case C:                                                                                                   \
        switch (to) {                                                                                         \
            CAST_CASE(N, 'b', i8) CAST_CASE(N, 'h', i16) CAST_CASE(N, 'i', i32) CAST_CASE(N, 'l', i64)        \
            CAST_CASE(N, 'B', u8) CAST_CASE(N, 'H', u16) CAST_CASE(N, 'I', u32) CAST_CASE(N, 'L', u64)        \
            CAST_CASE(N, 'f', f32) CAST_CASE(N, 'd', f64) CAST_CASE(N, '?', bool) CAST_CASE(N, 'e', f16)      \
            CAST_CASE(N, 'E', bf16)                                                                           \
        }                                                                                                     \
        break;
loopdbg_loop loopdbg_cast(char from, char to) {
    switch (from) {
        NUMBERS(CAST_TO)
        CAST_TO('?', bool, uint8_t)
        CAST_TO('e', f16, uint16_t)
        CAST_TO('E', bf16, uint16_t)
    }
    return NULL;
}

/* Integer division toward zero and toward minus infinity, the remainders of both, and powers. -1 is a special case
 * because the smallest integer divided by it traps. */
#define INTEGER_LOOP(NAME, T, WRONG, ...)                                                                     \
    LOOP(NAME) {                                                                                              \
        char const *a = args[0], *b = args[1];                                                                \
        char *out = args[2];                                                                                  \
        for (npy_intp i = 0; i < dims[0]; i++, a += steps[0], b += steps[1], out += steps[2]) {               \
            T const x = *(T const *)a, y = *(T const *)b;                                                     \
            if (WRONG) { *(int *)data = 1; return; }                                                          \
            *(T *)out = (T)(__VA_ARGS__);                                                                     \
        }                                                                                                     \
    }
#define BY_MINUS_ONE(T) (y == (T)-1 && (T)-1 < (T)1)
#define SIGNS_DIFFER(r) ((r) != 0 && ((r) < 0) != (y < 0))
/* Powers wrap; a negative exponent gives 1/x**n toward 0, and 0 has none. */
#define DIVIDE(C, N, T)                                                                                       \
    INTEGER_LOOP(divide_##N, T, y == 0, BY_MINUS_ONE(T) ? (T)(0 - (uint64_t)x) : x / y)                       \
    INTEGER_LOOP(remainder_##N, T, y == 0, BY_MINUS_ONE(T) ? 0 : x % y)                                       \
    INTEGER_LOOP(modulo_##N, T, y == 0, BY_MINUS_ONE(T) ? 0 : x % y + (SIGNS_DIFFER(x % y) ? y : 0))          \
    INTEGER_LOOP(floor_divide_##N, T, y == 0,                                                                 \
                 BY_MINUS_ONE(T) ? (T)(0 - (uint64_t)x) : x / y - SIGNS_DIFFER(x % y))                             \
    INLINE T power_of_##N(T x, T y) {                                                                         \
        uint64_t result = 1, base = (uint64_t)x;                                                              \
        if (y < 0) return x == 1 ? 1 : x == (T)-1 ? (y % 2 ? (T)-1 : 1) : 0;                                  \
        for (uint64_t n = (uint64_t)y; n; n >>= 1, base *= base)                                              \
            if (n & 1) result *= base;                                                                        \
        return (T)result;                                                                                     \
    }                                                                                                         \
    INTEGER_LOOP(integer_power_##N, T, y < 0 && x == 0, power_of_##N(x, y))
INTEGERS(DIVIDE)

/* Of float32 see functions.h. */
LOOP(erf_f64) {
    char const *a = args[0];
    char *out = args[1];
    (void)data;
    for (npy_intp i = 0; i < dims[0]; i++, a += steps[0], out += steps[1]) *(double *)out = erf(*(double const *)a);
}

#define POWER_PICK(C, N, T) if (type == C && !strcmp(name, "power")) return DISPATCH(power_##N);
#define EACH_PICK(ID, FUNCTION, C, T, R, EXPRESSION) if (type == C && !strcmp(name, FUNCTION)) return DISPATCH(each_##ID);
#define MAP_PICK(ID, FUNCTION, C, T, R, EXPRESSION) if (type == C && !strcmp(name, FUNCTION)) return DISPATCH(map_##ID);
loopdbg_loop loopdbg_strided_loop(char const *name, char type) {
    SCALAR_FLOATS(MAP_PICK)
    EACH_OF(EACH_PICK)
    FLOATS(POWER_PICK)
    return type == 'f' ? loopdbg_function(name) : NULL;
}

#define ROWS_PICK_EACH(BLEND, N)                                                                               \
    if (!strcmp(name, "add")) return BLEND(rows_add_##N);                                                      \
    if (!strcmp(name, "subtract")) return BLEND(rows_subtract_##N);                                            \
    if (!strcmp(name, "multiply")) return BLEND(rows_multiply_##N);                                            \
    if (!strcmp(name, "divide")) return BLEND(rows_divide_##N);                                                \
    if (!strcmp(name, "maximum")) return BLEND(rows_maximum_##N);                                              \
    if (!strcmp(name, "minimum")) return BLEND(rows_minimum_##N);
#define ROWS_PICK(C, N, T)                                                                                    \
    case C:                                                                                                   \
        ROWS_PICK_EACH(DISPATCH, N)                                                                             \
        break;
loopdbg_loop loopdbg_row_loop(char const *name, char type) {
    switch (type) {
        FLOATS(ROWS_PICK)
        case 'e': ROWS_PICK_EACH(, f16) break;
        case 'E': ROWS_PICK_EACH(, bf16) break;
    }
    return NULL;
}

#define FOLD_NEIGHBOURS(C, N, T)                                                                              \
    case C:                                                                                                   \
        if (!strcmp(name, "add")) return rows ? DISPATCH(rows_sum_##N) : fold_sum_##N;                          \
        if (!strcmp(name, "maximum")) return rows ? DISPATCH(rows_max_##N) : DISPATCH(fold_max_##N);              \
        if (!strcmp(name, "minimum")) return rows ? DISPATCH(rows_min_##N) : DISPATCH(fold_min_##N);              \
        break;
#define FOLD_NARROW(N) !strcmp(name, "maximum") ? rows_max_##N : !strcmp(name, "minimum") ? rows_min_##N : NULL
loopdbg_loop loopdbg_fold_contiguous(char const *name, char type, int rows) {
    switch (type) {
        FLOATS(FOLD_NEIGHBOURS)
        case 'e': return rows ? FOLD_NARROW(f16) : NULL;
        case 'E': return rows ? FOLD_NARROW(bf16) : NULL;
    }
    return NULL;
}

#define PICK_DIVIDE(C, N, T) case C: return divide_##N;
#define PICK_REMAINDER(C, N, T) case C: return remainder_##N;
#define PICK_MODULO(C, N, T) case C: return modulo_##N;
#define PICK_FLOOR(C, N, T) case C: return floor_divide_##N;
#define PICK_POWER(C, N, T) case C: return integer_power_##N;
loopdbg_loop loopdbg_native_loop_for(char const *name, char type) {
    /* clang-format off */
    if (!strcmp(name, "trunc_divide")) switch (type) { INTEGERS(PICK_DIVIDE) }
    if (!strcmp(name, "trunc_remainder")) switch (type) { INTEGERS(PICK_REMAINDER) }
    if (!strcmp(name, "floor_modulo")) switch (type) { INTEGERS(PICK_MODULO) }
    if (!strcmp(name, "floor_divide")) switch (type) { INTEGERS(PICK_FLOOR) }
    if (!strcmp(name, "integer_power")) switch (type) { INTEGERS(PICK_POWER) }
    /* clang-format on */
    if (!strcmp(name, "erf") && type == 'd') return erf_f64;
    return type == 'f' ? loopdbg_function(name) : NULL;
}

loopdbg_loop loopdbg_transpose(npy_intp size) { return size == 4 ? loopdbg_turn_4 : size == 2 ? loopdbg_turn_8 : NULL; }
