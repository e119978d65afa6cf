/* Inner loops that NumPy's ufuncs do not have, with NumPy's inner-loop signature:
 *
 *     void loop(char **args, npy_intp const *dims, npy_intp const *steps, void *data)
 *
 * args: inputs then output; dims[0]: how many elements; steps: bytes between elements, one an argument. A loop that can
 * fail gets data = pointer to an int and sets it to 1. C macros, because one text has to give a loop for each of many
 * pairs of types.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <numpy/npy_common.h>

#include "../data_movement/bytes.h"
#include "inner_loops.h"
#include "functions.h"
#include "../reduce/highs.h"
#include "narrow.h"
#include "../elements/numbers.h"
#include "../dispatch/processor.h"
#include "scalar_ops.h"
#include "../data_movement/side_by_side.h"
#include "../reduce/sums.h"
#include "../data_movement/two_axes.h"
#include "../dispatch/wide.h"

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
        loopdbg_bytes(dst, src, (size_t)(n * size));
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

/* where: args are condition (bool), a, b, out; data = element size in bytes */
#define WHERE_BODY(T)                                                                                         \
    for (npy_intp i = 0; i < n; i++, c += steps[0], a += steps[1], b += steps[2], out += steps[3])            \
        *(T *)out = *c ? *(T const *)a : *(T const *)b;
/* Neighbours, or one element again and again (A, B: 0): without a branch, 10x where the choice is hard to foresee. */
#define WHERE_ROW(T, A, B)                                                                                    \
    {                                                                                                         \
        T const *x = (T const *)a, *y = (T const *)b;                                                         \
        T *z = (T *)out;                                                                                      \
        INDEPENDENT for (npy_intp i = 0; i < n; i++) {                                               \
            T u = x[A], v = y[B];                                                                             \
            z[i] = c[i] ? u : v;                                                                              \
        }                                                                                                     \
    }
#define WHERE(T)                                                                                              \
    if (steps[0] == 1 && steps[3] == size && (steps[1] == size || !steps[1]) && (steps[2] == size || !steps[2])) { \
        if (!steps[1] && steps[2]) WHERE_ROW(T, 0, i)                                                         \
        else if (steps[1] && !steps[2]) WHERE_ROW(T, i, 0)                                                    \
        else if (steps[1]) WHERE_ROW(T, i, i)                                                                 \
        else WHERE_ROW(T, 0, 0)                                                                               \
    } else WHERE_BODY(T)
WIDE static void loopdbg_where_wide(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    npy_intp n = dims[0], size = (npy_intp)(intptr_t)data;
    char const *c = args[0], *a = args[1], *b = args[2];
    char *out = args[3];
    if (!steps[0] && n > 1) {
        char *one[2] = {*c ? args[1] : args[2], out};
        npy_intp const apart[2] = {*c ? steps[1] : steps[2], steps[3]};
        loopdbg_copy(one, dims, apart, data);
        return;
    }
    switch (size) {
        case 1: WHERE(uint8_t) break;
        case 2: WHERE(uint16_t) break;
        case 4: WHERE(uint32_t) break;
        case 8: WHERE(uint64_t) break;
        default:
            for (npy_intp i = 0; i < n; i++, c += steps[0], a += steps[1], b += steps[2], out += steps[3])
                memcpy(out, *c ? a : b, (size_t)size);
    }
}

void loopdbg_where(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    loopdbg_where_wide(args, dims, steps, data);
}

/* conversions, C's rules; to bool: is not zero. Float to integer outside the range is undefined in C. What is given then
 * is what single numbers give on x86, in NumPy and ONNX Runtime as well: the smallest integer, of 64 bits for what has 64
 * bits or is uint32, else of 32 bits, and of that the lower bits. Said outright, it is the same for one number and for
 * many, which machine instructions alone are not. */
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

#define CAST(NAME, FROM, TO, EXPRESSION)                                                                      \
    LOOP(NAME) {                                                                                              \
        char const *src = args[0];                                                                            \
        char *dst = args[1];                                                                                  \
        (void)data;                                                                                           \
        for (npy_intp i = 0; i < dims[0]; i++, src += steps[0], dst += steps[1]) {                            \
            FROM v = *(FROM const *)src;                                                                      \
            *(TO *)dst = EXPRESSION;                                                                          \
        }                                                                                                     \
    }
/* The same, several times as fast between neighbours: for what is quantised, and what products of integers become. */
#define CAST_NEAR(NAME, FROM, TO, EXPRESSION)                                                                 \
    CAST(far_##NAME, FROM, TO, EXPRESSION)                                                                    \
    WIDE static void near_##NAME(FROM const *src, TO *dst, npy_intp n) {                                      \
        for (npy_intp i = 0; i < n; i++) {                                                                    \
            FROM v = src[i];                                                                                  \
            dst[i] = EXPRESSION;                                                                              \
        }                                                                                                     \
    }                                                                                                         \
    LOOP(NAME) {                                                                                              \
        if (steps[0] == sizeof(FROM) && steps[1] == sizeof(TO))                                               \
            near_##NAME((FROM const *)args[0], (TO *)args[1], dims[0]);                                       \
        else                                                                                                  \
            far_##NAME(args, dims, steps, data);                                                              \
    }
#define CAST_FROM(C, N, T)                                                                                    \
    CAST(cast_##N##_i8, T, int8_t, (int8_t)v) CAST(cast_##N##_i16, T, int16_t, (int16_t)v)                     \
    CAST_NEAR(cast_##N##_i32, T, int32_t, (int32_t)v) CAST_NEAR(cast_##N##_i64, T, int64_t, (int64_t)v)         \
    CAST_NEAR(cast_##N##_u8, T, uint8_t, (uint8_t)v) CAST(cast_##N##_u16, T, uint16_t, (uint16_t)v)            \
    CAST(cast_##N##_u32, T, uint32_t, (uint32_t)v) CAST(cast_##N##_u64, T, uint64_t, (uint64_t)v)              \
    CAST_NEAR(cast_##N##_f32, T, float, (float)v) CAST_NEAR(cast_##N##_f64, T, double, (double)v)              \
    CAST_NEAR(cast_##N##_bool, T, uint8_t, (uint8_t)(v != 0))
INTEGERS(CAST_FROM)
CAST_FROM('?', bool, uint8_t)
#define CAST_FROM_FLOAT(C, N, T)                                                                              \
    CAST_NEAR(cast_##N##_i8, T, int8_t, AS_i8(N, v)) CAST(cast_##N##_i16, T, int16_t, AS_i16(N, v))                 \
    CAST_NEAR(cast_##N##_i32, T, int32_t, AS_i32(N, v)) CAST_NEAR(cast_##N##_i64, T, int64_t, AS_i64(N, v))              \
    CAST_NEAR(cast_##N##_u8, T, uint8_t, AS_u8(N, v)) CAST(cast_##N##_u16, T, uint16_t, AS_u16(N, v))               \
    CAST(cast_##N##_u32, T, uint32_t, AS_u32(N, v)) CAST(cast_##N##_u64, T, uint64_t, AS_u64(N, v))            \
    CAST_NEAR(cast_##N##_f32, T, float, (float)v) CAST_NEAR(cast_##N##_f64, T, double, (double)v)              \
    CAST_NEAR(cast_##N##_bool, T, uint8_t, (uint8_t)(v != 0))
FLOATS(CAST_FROM_FLOAT)

/* float16 and bfloat16: whatever is no float goes through float32. */
#define CAST_HALF(C, N, T)                                                                                    \
    CAST(cast_f16_##N, uint16_t, T, AS_##N(f32, loopdbg_from_half(v)))                                        \
    CAST(cast_##N##_f16, T, uint16_t, loopdbg_to_half_f32((float)v))                                          \
    CAST(cast_bf16_##N, uint16_t, T, AS_##N(f32, loopdbg_from_brain(v)))                                      \
    CAST(cast_##N##_bf16, T, uint16_t, loopdbg_to_brain((float)v))
INTEGERS(CAST_HALF)
CAST(cast_f16_f64, uint16_t, double, loopdbg_from_half(v))
CAST(cast_f16_bool, uint16_t, uint8_t, (v & 0x7fffu) != 0)
CAST(cast_f64_f16, double, uint16_t, loopdbg_to_half_f64(v))
CAST(cast_f16_f16, uint16_t, uint16_t, v)
CAST(cast_bool_f16, uint8_t, uint16_t, loopdbg_to_half_f32((float)(v != 0)))
CAST(cast_bf16_f64, uint16_t, double, loopdbg_from_brain(v))
CAST(cast_bf16_bool, uint16_t, uint8_t, (v & 0x7fffu) != 0)
CAST(cast_f64_bf16, double, uint16_t, loopdbg_to_brain((float)v))
CAST(cast_bf16_bf16, uint16_t, uint16_t, v)
CAST(cast_bool_bf16, uint8_t, uint16_t, loopdbg_to_brain((float)(v != 0)))
CAST(cast_f16_bf16, uint16_t, uint16_t, loopdbg_to_brain(loopdbg_from_half(v)))
CAST(cast_bf16_f16, uint16_t, uint16_t, loopdbg_to_half_f32(loopdbg_from_brain(v)))

#define CAST_CASE(FROM, C, N) case C: return cast_##FROM##_##N;
#define CAST_TO(C, N, T)                                                                                      \
    case C:                                                                                                   \
        switch (to) {                                                                                         \
            CAST_CASE(N, 'b', i8) CAST_CASE(N, 'h', i16) CAST_CASE(N, 'i', i32) CAST_CASE(N, 'l', i64)         \
            CAST_CASE(N, 'B', u8) CAST_CASE(N, 'H', u16) CAST_CASE(N, 'I', u32) CAST_CASE(N, 'L', u64)         \
            CAST_CASE(N, 'f', f32) CAST_CASE(N, 'd', f64) CAST_CASE(N, '?', bool) CAST_CASE(N, 'e', f16)       \
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

/* Integer division toward zero and toward minus infinity, the remainders of both, and powers. -1 is apart
 * because the machine traps on the smallest integer divided by it. */
#define DIVIDE(C, N, T)                                                                                       \
    LOOP(divide_##N) {                                                                                        \
        char const *a = args[0], *b = args[1];                                                                \
        char *out = args[2];                                                                                  \
        for (npy_intp i = 0; i < dims[0]; i++, a += steps[0], b += steps[1], out += steps[2]) {               \
            T x = *(T const *)a, y = *(T const *)b;                                                           \
            if (y == 0) { *(int *)data = 1; return; }                                                         \
            *(T *)out = y == (T)-1 && (T)-1 < (T)1 ? (T)(0 - (uint64_t)x) : (T)(x / y);                       \
        }                                                                                                     \
    }                                                                                                         \
    LOOP(remainder_##N) {                                                                                     \
        char const *a = args[0], *b = args[1];                                                                \
        char *out = args[2];                                                                                  \
        for (npy_intp i = 0; i < dims[0]; i++, a += steps[0], b += steps[1], out += steps[2]) {               \
            T x = *(T const *)a, y = *(T const *)b;                                                           \
            if (y == 0) { *(int *)data = 1; return; }                                                         \
            *(T *)out = y == (T)-1 && (T)-1 < (T)1 ? (T)0 : (T)(x % y);                                       \
        }                                                                                                     \
    }                                                                                                         \
    LOOP(modulo_##N) {                                                                                        \
        char const *a = args[0], *b = args[1];                                                                \
        char *out = args[2];                                                                                  \
        for (npy_intp i = 0; i < dims[0]; i++, a += steps[0], b += steps[1], out += steps[2]) {               \
            T x = *(T const *)a, y = *(T const *)b;                                                           \
            if (y == 0) { *(int *)data = 1; return; }                                                         \
            T r = y == (T)-1 && (T)-1 < (T)1 ? (T)0 : (T)(x % y);                                             \
            *(T *)out = r != 0 && ((r < 0) != (y < 0)) ? (T)(r + y) : r;                                      \
        }                                                                                                     \
    }                                                                                                         \
    LOOP(floor_divide_##N) {                                                                                  \
        char const *a = args[0], *b = args[1];                                                                \
        char *out = args[2];                                                                                  \
        for (npy_intp i = 0; i < dims[0]; i++, a += steps[0], b += steps[1], out += steps[2]) {               \
            T x = *(T const *)a, y = *(T const *)b;                                                           \
            if (y == 0) { *(int *)data = 1; return; }                                                         \
            if (y == (T)-1 && (T)-1 < (T)1) *(T *)out = (T)(0 - (uint64_t)x);                                 \
            else *(T *)out = (T)(x / y - (x % y != 0 && ((x < 0) != (y < 0))));                               \
        }                                                                                                     \
    }                                                                                                         \
    /* wraps; a negative exponent gives 1/x**n toward 0, and 0 has none */                                    \
    LOOP(integer_power_##N) {                                                                                 \
        char const *a = args[0], *b = args[1];                                                                \
        char *out = args[2];                                                                                  \
        for (npy_intp i = 0; i < dims[0]; i++, a += steps[0], b += steps[1], out += steps[2]) {               \
            T x = *(T const *)a, y = *(T const *)b;                                                           \
            uint64_t result = 1, base = (uint64_t)x;                                                          \
            if (y < 0) {                                                                                      \
                if (x == 0) { *(int *)data = 1; return; }                                                     \
                *(T *)out = x == 1 ? 1 : x == (T)-1 ? (y % 2 ? (T)-1 : 1) : 0;                                \
                continue;                                                                                     \
            }                                                                                                 \
            for (uint64_t n = (uint64_t)y; n; n >>= 1, base *= base)                                          \
                if (n & 1) result *= base;                                                                    \
            *(T *)out = (T)result;                                                                            \
        }                                                                                                     \
    }
INTEGERS(DIVIDE)

/* Of float32 see functions.h. */
LOOP(erf_f64) {
    char const *a = args[0];
    char *out = args[1];
    (void)data;
    for (npy_intp i = 0; i < dims[0]; i++, a += steps[0], out += steps[1]) *(double *)out = erf(*(double const *)a);
}

/* Maps and sums whose inner axis is short: two axes at once, for NumPy's loops cost 10 to 20 ns a call. data: the axis
 * around the inner one, as in Call.outer. Steps of the inner axis are the size of an element, or 0 for one of the
 * inputs. Arguments may overlap as in NumPy's loops: each element is written before the next one is read. */
/* One row: x and y are its inputs, z its output. */
#define MAP_BODY(T, A, B, EXPRESSION)                                                                         \
    for (npy_intp i = 0; i < n; i++) {                                                                        \
        T a = x[A], b = y[B];                                                                                 \
        z[i] = EXPRESSION;                                                                                    \
    }
#define ROWS_BODY(T, A, B, EXPRESSION)                                                                        \
    for (npy_intp r = 0; r < axis[0]; r++, p += axis[1], q += axis[2], out += axis[3]) {                      \
        T const *x = (T const *)p, *y = (T const *)q;                                                         \
        T *z = (T *)out;                                                                                      \
        MAP_BODY(T, A, B, EXPRESSION)                                                                         \
    }
/* The shortest rows of all: 6x for the extremes of rows of 2. Only where the output's rows lie side by side and no input
 * shares other memory with it than the very element. */
enum { LOOPDBG_SHORTEST = 7 };
#define ROWS_SHORTEST(T, EXPRESSION)                                                                          \
    {                                                                                                         \
        T nearx[LOOPDBG_ROWS_BLOCK], neary[LOOPDBG_ROWS_BLOCK];                                               \
        npy_intp most = LOOPDBG_ROWS_BLOCK / n, size = sizeof(T), row = n * size;                             \
        for (npy_intp first = 0; first < axis[0]; first += most) {                                            \
            npy_intp rows = axis[0] - first < most ? axis[0] - first : most;                                  \
            int samex = steps[0] && axis[1] == row, samey = steps[1] && axis[2] == row;                       \
            T const *x = samex ? (T const *)(p + first * row) : nearx;                                        \
            T const *y = samey ? (T const *)(q + first * row) : neary;                                        \
            T *z = (T *)(out + first * row);                                                                  \
            if (!samex && (axis[1] || !first))                                                                \
                loopdbg_side_by_side((char *)nearx, p + first * axis[1], steps[0], axis[1], rows, n, size);   \
            if (!samey && (axis[2] || !first))                                                                \
                loopdbg_side_by_side((char *)neary, q + first * axis[2], steps[1], axis[2], rows, n, size);   \
            INDEPENDENT for (npy_intp i = 0; i < rows * n; i++) {                                    \
                T a = x[i], b = y[i];                                                                         \
                z[i] = EXPRESSION;                                                                            \
            }                                                                                                 \
        }                                                                                                     \
        return;                                                                                               \
    }
#define ROWS(ID, NAME, C, T, R, EXPRESSION)                                                                   \
    WIDE LOOP(rows_##ID) {                                                                                    \
        npy_intp const *axis = (npy_intp const *)data, n = dims[0];                                           \
        char const *p = args[0], *q = args[1];                                                                \
        char *out = args[2];                                                                                  \
        if (n <= LOOPDBG_SHORTEST && axis[0] >= LOOPDBG_FEW_ROWS && axis[3] == n * (npy_intp)sizeof(T) &&     \
            loopdbg_apart(p, steps[0], axis[1], out, axis[0], axis[3], sizeof(T)) &&                          \
            loopdbg_apart(q, steps[1], axis[2], out, axis[0], axis[3], sizeof(T)))                            \
            ROWS_SHORTEST(T, EXPRESSION)                                                                      \
        if (!steps[0]) ROWS_BODY(T, 0, i, EXPRESSION)                                                         \
        else if (!steps[1]) ROWS_BODY(T, i, 0, EXPRESSION)                                                    \
        else ROWS_BODY(T, i, i, EXPRESSION)                                                                   \
    }
SCALAR_FLOATS(ROWS)
ROWS(subtract_f32, "", 'f', float, float, a - b)
ROWS(subtract_f64, "", 'd', double, double, a - b)
ROWS(divide_f32, "", 'f', float, float, a / b)
ROWS(divide_f64, "", 'd', double, double, a / b)

/* The same operations along one axis, with any steps. */
#define MAP(ID, NAME, C, T, R, EXPRESSION)                                                                    \
    WIDE LOOP(map_##ID) {                                                                                     \
        npy_intp n = dims[0], size = sizeof(T);                                                               \
        T const *x = (T const *)args[0], *y = (T const *)args[1];                                             \
        T *z = (T *)args[2];                                                                                  \
        (void)data;                                                                                           \
        if (steps[2] == size && steps[0] == size && steps[1] == size) MAP_BODY(T, i, i, EXPRESSION)           \
        else if (steps[2] == size && !steps[0] && steps[1] == size) MAP_BODY(T, 0, i, EXPRESSION)             \
        else if (steps[2] == size && steps[0] == size && !steps[1]) MAP_BODY(T, i, 0, EXPRESSION)             \
        else                                                                                                  \
            for (npy_intp i = 0; i < n; i++) {                                                                \
                T a = *(T const *)(args[0] + i * steps[0]), b = *(T const *)(args[1] + i * steps[1]);         \
                *(T *)(args[2] + i * steps[2]) = EXPRESSION;                                                  \
            }                                                                                                 \
    }
SCALAR_FLOATS(MAP)
/* One input, with any steps. */
#define EACH(ID, T, R, EXPRESSION)                                                                            \
    WIDE LOOP(each_##ID) {                                                                                    \
        (void)data;                                                                                           \
        if (steps[0] == (npy_intp)sizeof(T) && steps[1] == (npy_intp)sizeof(R))                               \
            for (npy_intp i = 0; i < dims[0]; i++) {                                                          \
                T a = ((T const *)args[0])[i];                                                                \
                ((R *)args[1])[i] = EXPRESSION;                                                               \
            }                                                                                                 \
        else                                                                                                  \
            for (npy_intp i = 0; i < dims[0]; i++) {                                                          \
                T a = *(T const *)(args[0] + i * steps[0]);                                                   \
                *(R *)(args[1] + i * steps[1]) = EXPRESSION;                                                  \
            }                                                                                                 \
    }
/* The sign of a number, 0 of both zeros: NumPy's loop takes 6 ns for one that nobody can foretell. The other two are wrong
 * in NumPy 2.4 for some steps: negative for elements of four bytes, 16 bytes from each other, whose results are 8 bytes or
 * more from each other, and isfinite where results are not neighbours. */
#define EACH_OF(X)                                                                                            \
    X(sign_f32, "sign", 'f', float, float, a > 0 ? 1.0f : a < 0 ? -1.0f : a == 0 ? 0.0f : a)                   \
    X(sign_f64, "sign", 'd', double, double, a > 0 ? 1.0 : a < 0 ? -1.0 : a == 0 ? 0.0 : a)                    \
    X(negative_f32, "negative", 'f', float, float, -a)                                                        \
    X(negative_i32, "negative", 'i', int32_t, int32_t, 0 - (uint32_t)a)                                       \
    X(negative_u32, "negative", 'I', uint32_t, uint32_t, 0 - a)                                               \
    X(isfinite_f32, "isfinite", 'f', float, uint8_t, fabsf(a) < INFINITY)                                     \
    X(isfinite_f64, "isfinite", 'd', double, uint8_t, fabs(a) < (double)INFINITY)
#define EACH_LOOP(ID, NAME, C, T, R, EXPRESSION) EACH(ID, T, R, EXPRESSION)
EACH_OF(EACH_LOOP)
/* Powers: squares and cubes are products and halves are roots, wherever the element stands; 10x where all of them are. */
#define ROOT_f32 sqrtf
#define ROOT_f64 sqrt
#define ROOT_OF(T, N, a) ((a) == -(T)INFINITY ? (T)INFINITY : ROOT_##N(a) + (T)0)
#define POWER(C, N, T, OTHERS)                                                                                \
    WIDE LOOP(power_##N) {                                                                                    \
        npy_intp n = dims[0], size = sizeof(T);                                                               \
        T const *x = (T const *)args[0], *b = (T const *)args[1];                                             \
        T *z = (T *)args[2];                                                                                  \
        int at_once = !steps[1] && steps[0] == size && steps[2] == size;                                      \
        (void)data;                                                                                           \
        if (at_once && *b == 2)                                                                               \
            for (npy_intp i = 0; i < n; i++) z[i] = x[i] * x[i];                                              \
        else if (at_once && *b == 3)                                                                          \
            for (npy_intp i = 0; i < n; i++) z[i] = x[i] * x[i] * x[i];                                       \
        else if (at_once && *b == (T)0.5)                                                                     \
            for (npy_intp i = 0; i < n; i++) z[i] = ROOT_OF(T, N, x[i]);                                      \
        else                                                                                                  \
            OTHERS(args, dims, steps);                                                                        \
    }
static void powers_f64(char **args, npy_intp const *dims, npy_intp const *steps) {
    for (npy_intp i = 0; i < dims[0]; i++) {
        double a = *(double const *)(args[0] + i * steps[0]), c = *(double const *)(args[1] + i * steps[1]);
        *(double *)(args[2] + i * steps[2]) = c == 2     ? a * a
                                              : c == 3   ? a * a * a
                                              : c == 0.5 ? ROOT_OF(double, f64, a)
                                                         : pow(a, c);
    }
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("no-math-errno") /* for roots of several at once */
#endif
POWER('f', f32, float, loopdbg_each_power)
POWER('d', f64, double, powers_f64)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#define POWER_PICK(C, N, T) if (type == C && !strcmp(name, "power")) return power_##N;
#define EACH_PICK(ID, NAME, C, T, R, EXPRESSION) if (type == C && !strcmp(name, NAME)) return each_##ID;
#define MAP_PICK(ID, NAME, C, T, R, EXPRESSION) if (type == C && !strcmp(name, NAME)) return map_##ID;
loopdbg_loop loopdbg_map(char const *name, char type) {
    SCALAR_FLOATS(MAP_PICK)
    EACH_OF(EACH_PICK)
    FLOATS(POWER_PICK)
    return type == 'f' ? loopdbg_function(name) : NULL;
}

#define ROWS_PICK_EACH(N)                                                                                     \
    if (!strcmp(name, "add")) return rows_add_##N;                                                            \
    if (!strcmp(name, "subtract")) return rows_subtract_##N;                                                  \
    if (!strcmp(name, "multiply")) return rows_multiply_##N;                                                  \
    if (!strcmp(name, "divide")) return rows_divide_##N;                                                      \
    if (!strcmp(name, "maximum")) return rows_maximum_##N;                                                    \
    if (!strcmp(name, "minimum")) return rows_minimum_##N;
#define ROWS_PICK(C, N, T)                                                                                    \
    case C:                                                                                                   \
        ROWS_PICK_EACH(N)                                                                                     \
        break;
loopdbg_loop loopdbg_rows(char const *name, char type) {
    switch (type) {
        FLOATS(ROWS_PICK)
        case 'e': ROWS_PICK_EACH(f16) break;
        case 'E': ROWS_PICK_EACH(bf16) break;
    }
    return NULL;
}

#define FOLD_NEIGHBOURS(C, N, T)                                                                              \
    case C:                                                                                                   \
        if (!strcmp(name, "add")) return rows ? rows_sum_##N : fold_sum_##N;                                  \
        if (!strcmp(name, "maximum")) return rows ? rows_max_##N : fold_max_##N;                              \
        if (!strcmp(name, "minimum")) return rows ? rows_min_##N : fold_min_##N;                              \
        break;
#define FOLD_NARROW(N) !strcmp(name, "maximum") ? rows_max_##N : !strcmp(name, "minimum") ? rows_min_##N : NULL
loopdbg_loop loopdbg_fold_neighbours(char const *name, char type, int rows) {
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
loopdbg_loop loopdbg_own(char const *name, char type) {
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

loopdbg_loop loopdbg_turn(npy_intp size) { return size == 4 ? loopdbg_turn_4 : size == 2 ? loopdbg_turn_8 : NULL; }
