/* float16 and bfloat16: widened to float32, computed there, and rounded to nearest even.
 *
 * NumPy's own loops for float16 convert number by number and then read the processor's exception flags: adding 4096 of
 * them takes 13 us. Here blocks go through NumPy's loops for float32, with the same results. */
#ifndef LOOPDBG_NARROW_H
#define LOOPDBG_NARROW_H

#include <stdint.h>
#include <string.h>

#include "../call.h"
#include "../reduce/rowwise_minmax.h"
#include "../dispatch/lanes.h"
#include "../element_types/half_precision.h"
#include "../data_movement/overlaps.h"
#include "../data_movement/interleave_rows.h"
#include "../data_movement/transpose.h"

enum { LOOPDBG_HALF_BLOCK_ELEMENTS = 256 };

/* Contiguous elements. */
typedef void (*loopdbg_half_to_float_fn)(uint16_t const *x, float *restrict y, npy_intp n);
typedef void (*loopdbg_float_to_half_fn)(float const *x, uint16_t *restrict y, npy_intp n);

/* Two axes: inputs a and b, output y; the inner step is 2, or 0 where a row has one number of an input. */
typedef struct {
    char const *a, *b;
    char *y;
    npy_intp a_step, b_step, a_row, b_row, y_row, rows, n;
} loopdbg_half_rows;
typedef void (*loopdbg_half_operation)(loopdbg_half_rows const *x);
/* n contiguous rows, `apart` bytes apart, folded into one of m results; m is at least the vector length. */
typedef void (*loopdbg_half_fold)(char const *x, npy_intp step, npy_intp n, char *z, npy_intp m);
enum { LOOPDBG_HALF_FOLD_MIN = 16 };

/* Functions per target, of float16 and of bfloat16: add, subtract, multiply, divide, maximum, minimum; NULL: through
 * floats. */
typedef struct {
    loopdbg_half_to_float_fn widen[2];
    loopdbg_float_to_half_fn narrow[2];
    loopdbg_half_operation operations[2][6];
    loopdbg_half_fold folds[2][6];
} loopdbg_half_kernels;

/* Order-preserving integer keys of float16; -0 is below 0. */
static inline int16_t loopdbg_half_key(uint16_t bits) { return (int16_t)(bits & 0x8000 ? bits ^ 0x7FFF : bits); }

#define BODY "../elementwise/half_loops_lanes.h"
#include "../dispatch/foreach_target.h"

/* Any steps. `brain`: bfloat16. */
static inline void loopdbg_load_strided_halves(int brain, char const *x, npy_intp step, float *y, npy_intp n) {
    uint16_t near[LOOPDBG_HALF_BLOCK_ELEMENTS];
    if (step != 2) {
        for (npy_intp i = 0; i < n; i++) near[i] = *(uint16_t const *)(x + i * step);
        x = (char const *)near;
    }
    DISPATCH(halves)->widen[brain]((uint16_t const *)x, y, n);
}
static inline void loopdbg_store_strided_halves(int brain, float const *x, char *y, npy_intp step, npy_intp n) {
    uint16_t near[LOOPDBG_HALF_BLOCK_ELEMENTS];
    DISPATCH(halves)->narrow[brain](x, step == 2 ? (uint16_t *)y : near, n);
    if (step != 2)
        for (npy_intp i = 0; i < n; i++) *(uint16_t *)(y + i * step) = near[i];
}

/* One of the vectorized operations, any steps, in blocks. */
static void loopdbg_half_strided_blocks(loopdbg_half_operation operation, char **args, npy_intp n, npy_intp const *steps,
                                        npy_intp most) {
    uint16_t near[3][LOOPDBG_HALF_BLOCK_ELEMENTS];
    char *buffers[3];
    int plain = steps[2] == 2 && (steps[0] == 2 || !steps[0]) && (steps[1] == 2 || !steps[1]);
    loopdbg_half_rows x = {args[0], args[1], args[2], steps[0], steps[1], 0, 0, 0, 1, n};
    if (plain && most > 1) {
        operation(&x);
        return;
    }
    x.a_step = steps[0] ? 2 : 0, x.b_step = steps[1] ? 2 : 0;
    for (npy_intp i = 0, count; i < n; i += count) {
        count = n - i < most ? n - i : most;
        for (int k = 0; k < 2; k++) {
            buffers[k] = args[k] + i * steps[k];
            if (steps[k] == 2 || !steps[k]) continue;
            for (npy_intp j = 0; j < count; j++) near[k][j] = *(uint16_t const *)(buffers[k] + j * steps[k]);
            buffers[k] = (char *)near[k];
        }
        buffers[2] = args[2] + i * steps[2];
        x.a = buffers[0], x.b = buffers[1], x.y = steps[2] == 2 ? buffers[2] : (char *)near[2], x.n = count;
        operation(&x);
        if (steps[2] != 2)
            for (npy_intp j = 0; j < count; j++) *(uint16_t *)(buffers[2] + j * steps[2]) = near[2][j];
    }
}

void loopdbg_half_via_float(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    loopdbg_narrow_loop const *by = (loopdbg_narrow_loop const *)data;
    float in[3][LOOPDBG_HALF_BLOCK_ELEMENTS], out[LOOPDBG_HALF_BLOCK_ELEMENTS];
    npy_intp n = dims[0], most = LOOPDBG_HALF_BLOCK_ELEMENTS, count, inner[4];
    char *buffers[4], *result = args[by->inputs];
    npy_intp step = steps[by->inputs];
    for (int k = 0; k < by->inputs; k++) {
        /* NumPy's loops of one input may compute strided elements differently. */
        inner[k] = steps[k] || by->inputs == 1 ? 4 : 0;
        buffers[k] = (char *)in[k];
        if (loopdbg_overlaps(args[k], steps[k], result, step, n)) most = 1;
    }
    loopdbg_half_operation const operation = by->operation >= 0 ? DISPATCH(halves)->operations[by->brain][by->operation] : NULL;
    if (operation) {
        loopdbg_half_strided_blocks(operation, args, n, steps, most);
        return;
    }
    if (by->halves && most > 1 && steps[0] == 2 && step == 2) {
        by->halves((uint16_t const *)args[0], (uint16_t *)result, n, by->brain);
        return;
    }
    if (most > 1)
        for (int k = 0; k < by->inputs; k++)
            if (!inner[k]) loopdbg_load_strided_halves(by->brain, args[k], 2, in[k], 1);
    for (npy_intp i = 0; i < n; i += count, result += count * step) {
        count = n - i < most ? n - i : most;
        for (int k = 0; k < by->inputs; k++)
            if (inner[k] || most == 1) loopdbg_load_strided_halves(by->brain, args[k] + i * steps[k], steps[k], in[k], count);
        buffers[by->inputs] = by->narrow ? (char *)out : result;
        inner[by->inputs] = by->narrow ? 4 : step;
        by->loop(buffers, &count, inner, by->data);
        if (by->narrow) loopdbg_store_strided_halves(by->brain, out, result, step, count);
    }
}

/* Rows shorter than a vector, made contiguous: 12x for rows of 7. */
enum { LOOPDBG_HALF_SHORT_ROW = 16 };
static void loopdbg_half_short_rows(loopdbg_half_operation operation, loopdbg_half_rows const *x) {
    uint16_t near[2][LOOPDBG_INTERLEAVE_BLOCK_ELEMENTS];
    char const *in[2] = {x->a, x->b};
    npy_intp const n = x->n, row = 2 * n, most = LOOPDBG_INTERLEAVE_BLOCK_ELEMENTS / n;
    npy_intp const step[2] = {x->a_step, x->b_step}, around[2] = {x->a_row, x->b_row};
    for (npy_intp first = 0; first < x->rows; first += most) {
        npy_intp rows = x->rows - first < most ? x->rows - first : most;
        char const *sources[2];
        for (int k = 0; k < 2; k++) {
            sources[k] = step[k] && around[k] == row ? in[k] + first * row : (char const *)near[k];
            if (sources[k] == (char const *)near[k] && (around[k] || !first))
                loopdbg_interleave_rows((char *)near[k], in[k] + first * around[k], step[k], around[k], rows, n, 2);
        }
        loopdbg_half_rows flat = {sources[0], sources[1], x->y + first * row, 2, 2, 0, 0, 0, 1, rows * n};
        operation(&flat);
    }
}

/* These operations over the inner axis and the next outer one (data: as in Call.outer); inner steps are 2, or 0 for one
 * of the inputs. */
static void loopdbg_half_two_axes(int brain, int which, char **args, npy_intp n, npy_intp const *steps, npy_intp const *axis) {
    loopdbg_half_operation operation = DISPATCH(halves)->operations[brain][which];
    loopdbg_half_rows x = {args[0], args[1], args[2], steps[0], steps[1], axis[1], axis[2], axis[3], axis[0], n};
    if (operation && axis[3] == 2 * n && loopdbg_apart(x.a, x.a_step, x.a_row, x.y, x.rows, x.y_row, 2) &&
        loopdbg_apart(x.b, x.b_step, x.b_row, x.y, x.rows, x.y_row, 2)) {
        if (n < LOOPDBG_HALF_SHORT_ROW && x.rows >= LOOPDBG_INTERLEAVE_MIN_ROWS) loopdbg_half_short_rows(operation, &x);
        else operation(&x);
        return;
    }
    x.rows = 1;
    for (npy_intp r = 0; r < axis[0]; r++, x.a += axis[1], x.b += axis[2], x.y += axis[3]) {
        if (operation && !loopdbg_overlaps(x.a, x.a_step, x.y, 2, n) && !loopdbg_overlaps(x.b, x.b_step, x.y, 2, n)) {
            operation(&x);
            continue;
        }
        for (npy_intp i = 0; i < n; i++) {
            float a, b, y;
            loopdbg_load_strided_halves(brain, x.a + i * x.a_step, 2, &a, 1);
            loopdbg_load_strided_halves(brain, x.b + i * x.b_step, 2, &b, 1);
            switch (which) {
                case 0: y = a + (a != a ? a : b); break;
                case 1: y = a - b; break;
                case 2: y = a * (a != a ? a : b); break;
                case 3: y = a / b; break;
                case 4: y = a >= b || a != a ? a : b; break;
                default: y = a <= b || a != a ? a : b;
            }
            loopdbg_store_strided_halves(brain, &y, x.y + 2 * i, 2, 1);
        }
    }
}
#define NARROW_ROWS(BRAIN, TYPE, WHICH, NAME)                                                                 \
    static void rows_##NAME##_##TYPE(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {  \
        loopdbg_half_two_axes(BRAIN, WHICH, args, dims[0], steps, (npy_intp const *)data);                    \
    }
#define NARROW_ROWS_OF(BRAIN, TYPE)                                                                           \
    NARROW_ROWS(BRAIN, TYPE, 0, add) NARROW_ROWS(BRAIN, TYPE, 1, subtract) NARROW_ROWS(BRAIN, TYPE, 2, multiply) \
    NARROW_ROWS(BRAIN, TYPE, 3, divide) NARROW_ROWS(BRAIN, TYPE, 4, maximum) NARROW_ROWS(BRAIN, TYPE, 5, minimum)
NARROW_ROWS_OF(0, f16)
NARROW_ROWS_OF(1, bf16)

/* Fold rows into one; results and operands are contiguous. */
static void loopdbg_half_fold_outer_axis(int brain, int which, char **args, npy_intp const *dims, npy_intp const *steps,
                                         npy_intp const *axis) {
    loopdbg_half_fold fold = DISPATCH(halves)->folds[brain][which];
    if (fold && dims[0] >= LOOPDBG_HALF_FOLD_MIN && loopdbg_fold_is_disjoint(args, dims, steps, axis, 1, 2))
        fold(args[1], axis[2], axis[0], args[0], dims[0]);
    else loopdbg_half_two_axes(brain, which, args, dims[0], steps, axis);
}
#define NARROW_FOLD_AROUND(BRAIN, TYPE, WHICH, NAME)                                                          \
    static void fold_around_##NAME##_##TYPE(char **args, npy_intp const *dims, npy_intp const *steps, void *data) { \
        loopdbg_half_fold_outer_axis(BRAIN, WHICH, args, dims, steps, (npy_intp const *)data);                  \
    }
#define NARROW_FOLDS_AROUND(BRAIN, TYPE)                                                                      \
    NARROW_FOLD_AROUND(BRAIN, TYPE, 0, add) NARROW_FOLD_AROUND(BRAIN, TYPE, 2, multiply)                      \
    NARROW_FOLD_AROUND(BRAIN, TYPE, 4, maximum) NARROW_FOLD_AROUND(BRAIN, TYPE, 5, minimum)
NARROW_FOLDS_AROUND(0, f16)
NARROW_FOLDS_AROUND(1, bf16)
loopdbg_loop loopdbg_half_fold_for(char const *name, int brain) {
    if (!strcmp(name, "add")) return brain ? fold_around_add_bf16 : fold_around_add_f16;
    if (!strcmp(name, "multiply")) return brain ? fold_around_multiply_bf16 : fold_around_multiply_f16;
    if (!strcmp(name, "maximum")) return brain ? fold_around_maximum_bf16 : fold_around_maximum_f16;
    if (!strcmp(name, "minimum")) return brain ? fold_around_minimum_bf16 : fold_around_minimum_f16;
    return NULL;
}

/* The same for one result that is also read: it stays a float until the end. */
void loopdbg_fold_half_via_float(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    loopdbg_narrow_loop const *by = (loopdbg_narrow_loop const *)data;
    float in[LOOPDBG_HALF_BLOCK_ELEMENTS], sum;
    npy_intp count;
    npy_intp const inner[3] = {0, 4, 0};
    char *operands[3] = {(char *)&sum, (char *)in, (char *)&sum};
    loopdbg_load_strided_halves(by->brain, args[0], 2, &sum, 1);
    for (npy_intp i = 0; i < dims[0]; i += count) {
        count = dims[0] - i < LOOPDBG_HALF_BLOCK_ELEMENTS ? dims[0] - i : LOOPDBG_HALF_BLOCK_ELEMENTS;
        loopdbg_load_strided_halves(by->brain, args[1] + i * steps[1], steps[1], in, count);
        by->fold(operands, &count, inner, by->fold_data);
    }
    loopdbg_store_strided_halves(by->brain, &sum, args[2], 2, 1);
}

/* By a loop for the type itself. */
void loopdbg_fold_half_native(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    loopdbg_narrow_loop const *by = (loopdbg_narrow_loop const *)data;
    by->fold(args, dims, steps, by->fold_data);
}

/* The extreme of one number and many, in float16: of equals the first, and the first NaN, like NumPy, which compares
 * one by one. As integers many are compared at once: a sixth of the time. */
static void loopdbg_fold_half_minmax(char **args, npy_intp n, npy_intp step, int max) {
    uint16_t near[LOOPDBG_HALF_BLOCK_ELEMENTS], first = *(uint16_t const *)args[0];
    int16_t low = loopdbg_half_key(first), high = low, best, infinite = 0x7C00;
    for (npy_intp i = 0, count; i < n; i += count) {
        uint16_t const *x = (uint16_t const *)(args[1] + i * step);
        count = n - i < LOOPDBG_HALF_BLOCK_ELEMENTS ? n - i : LOOPDBG_HALF_BLOCK_ELEMENTS;
        if (step != 2) {
            for (npy_intp j = 0; j < count; j++) near[j] = *(uint16_t const *)((char const *)x + j * step);
            x = near;
        }
        DISPATCH(half_range)(x, count, &low, &high);
    }
    int odd = high > infinite || low < loopdbg_half_key(0xFC00);
    best = max ? high : low;
    if (odd || best == 0 || best == -1)
        for (char const *x = args[1]; odd ? (first & 0x7FFF) <= infinite : (first & 0x7FFF) != 0; x += step)
            first = *(uint16_t const *)x;
    else first = (uint16_t)(best < 0 ? best ^ 0x7FFF : best);
    *(uint16_t *)args[2] = first;
}
void loopdbg_fold_half_max(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    (void)data;
    loopdbg_fold_half_minmax(args, dims[0], steps[1], 1);
}
void loopdbg_fold_half_min(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    (void)data;
    loopdbg_fold_half_minmax(args, dims[0], steps[1], 0);
}

/* The extreme of a row and its initial value. */
static void loopdbg_half_row_minmax(int brain, int max, char **args, npy_intp n) {
    float wide[LOOPDBG_HALF_BLOCK_ELEMENTS], found;
    char *given[3] = {(char *)&found, (char *)wide, (char *)&found};
    npy_intp const near[3] = {0, sizeof(float), 0};
    if (!brain) {
        loopdbg_fold_half_minmax(args, n, 2, max);
        return;
    }
    loopdbg_load_strided_halves(brain, args[2], 2, &found, 1);
    for (npy_intp i = 0, count; i < n; i += count) {
        count = n - i < LOOPDBG_HALF_BLOCK_ELEMENTS ? n - i : LOOPDBG_HALF_BLOCK_ELEMENTS;
        loopdbg_load_strided_halves(brain, args[1] + 2 * i, 2, wide, count);
        (max ? DISPATCH(fold_max_f32) : DISPATCH(fold_min_f32))(given, &count, near, NULL);
    }
    loopdbg_store_strided_halves(brain, &found, args[2], 2, 1);
}
/* Of rows (data: as in Call.outer): short ones as floats, many at a time. */
static void loopdbg_half_rowwise_minmax(int brain, int max, char **args, npy_intp n, npy_intp const *axis) {
    enum { MOST = 8 * LOOPDBG_MINMAX_LONG_ROW };
    float widened[MOST], results[LOOPDBG_HALF_BLOCK_ELEMENTS];
    char *operands[3] = {(char *)results, (char *)widened, (char *)results};
    npy_intp const most = n > LOOPDBG_MINMAX_LONG_ROW              ? 1
                          : n > MOST / LOOPDBG_HALF_BLOCK_ELEMENTS ? MOST / n
                                                                   : LOOPDBG_HALF_BLOCK_ELEMENTS;
    for (npy_intp r = 0; n && r < axis[0]; r += most) {
        npy_intp const rows = axis[0] - r < most ? axis[0] - r : most;
        npy_intp const around[4] = {rows, sizeof(float), n * (npy_intp)sizeof(float), sizeof(float)};
        char *row[3] = {args[0] + r * axis[1], args[1] + r * axis[2], args[2] + r * axis[3]};
        if (n > LOOPDBG_MINMAX_LONG_ROW) {
            loopdbg_half_row_minmax(brain, max, row, n);
            continue;
        }
        loopdbg_load_strided_halves(brain, row[2], axis[3], results, rows);
        if (axis[2] == 2 * n) loopdbg_load_strided_halves(brain, row[1], 2, widened, rows * n);
        else
            for (npy_intp k = 0; k < rows; k++) loopdbg_load_strided_halves(brain, row[1] + k * axis[2], 2, widened + k * n, n);
        (max ? DISPATCH(rows_max_f32) : DISPATCH(rows_min_f32))(operands, &n, NULL, (void *)around);
        loopdbg_store_strided_halves(brain, results, row[2], axis[3], rows);
    }
}
#define NARROW_HIGHS(BRAIN, TYPE, MAX, NAME)                                                                  \
    static void rows_##NAME##_##TYPE(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {  \
        (void)steps;                                                                                          \
        loopdbg_half_rowwise_minmax(BRAIN, MAX, args, dims[0], (npy_intp const *)data);                              \
    }
NARROW_HIGHS(0, f16, 1, max)
NARROW_HIGHS(0, f16, 0, min)
NARROW_HIGHS(1, bf16, 1, max)
NARROW_HIGHS(1, bf16, 0, min)

#define NARROW_CASTS(BRAIN, N)                                                                                \
    static void cast_##N##_f32(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {        \
        float out[LOOPDBG_HALF_BLOCK_ELEMENTS];                                                                      \
        char const *x = args[0];                                                                              \
        char *y = args[1];                                                                                    \
        (void)data;                                                                                           \
        if (steps[1] == 4 && steps[0] == 2) {                                                                 \
            DISPATCH(halves)->widen[BRAIN]((uint16_t const *)x, (float *)y, dims[0]);     \
            return;                                                                                           \
        }                                                                                                     \
        for (npy_intp i = 0, n; i < dims[0]; i += n) {                                                        \
            n = dims[0] - i < LOOPDBG_HALF_BLOCK_ELEMENTS ? dims[0] - i : LOOPDBG_HALF_BLOCK_ELEMENTS;                      \
            loopdbg_load_strided_halves(BRAIN, x + i * steps[0], steps[0], out, n);                                       \
            for (npy_intp j = 0; j < n; j++) *(float *)(y + (i + j) * steps[1]) = out[j];                     \
        }                                                                                                     \
    }                                                                                                         \
    static void cast_f32_##N(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {          \
        float in[LOOPDBG_HALF_BLOCK_ELEMENTS];                                                                       \
        char const *x = args[0];                                                                              \
        char *y = args[1];                                                                                    \
        (void)data;                                                                                           \
        for (npy_intp i = 0, n; i < dims[0]; i += n) {                                                        \
            n = dims[0] - i < LOOPDBG_HALF_BLOCK_ELEMENTS ? dims[0] - i : LOOPDBG_HALF_BLOCK_ELEMENTS;                      \
            float const *source = (float const *)(x + i * steps[0]);                                           \
            if (steps[0] != 4) {                                                                              \
                for (npy_intp j = 0; j < n; j++) in[j] = *(float const *)(x + (i + j) * steps[0]);            \
                source = in;                                                                                   \
            }                                                                                                 \
            loopdbg_store_strided_halves(BRAIN, source, y + i * steps[1], steps[1], n);                                    \
        }                                                                                                     \
    }
NARROW_CASTS(0, f16)
NARROW_CASTS(1, bf16)

/* To floats over two axes where the source is contiguous along the outer one (data: as in Call.outer): blocks are
 * transposed in registers first, as many rows as fit the cache. 5x for a matrix of 256 x 256. */
enum { LOOPDBG_TURNED_ROWS = 32 };
static void loopdbg_transpose_halves_to_float(int brain, char **args, npy_intp n, npy_intp step, npy_intp const *axis) {
    uint16_t near[8][LOOPDBG_TURNED_ROWS];
    loopdbg_half_to_float_fn const widen = DISPATCH(halves)->widen[brain];
    npy_intp const m = axis[0];
    for (npy_intp i = 0, rows; i < n; i += rows) {
        rows = n - i < LOOPDBG_TURNED_ROWS ? n - i : LOOPDBG_TURNED_ROWS;
        for (npy_intp j = 0, lines; j < m; j += lines) {
            char const *from = args[0] + i * step + j * 2;
            npy_intp whole = m - j >= 8 ? rows / 8 * 8 : 0;
            lines = m - j < 8 ? m - j : 8;
            for (npy_intp r = 0; r < whole; r += 8)
                loopdbg_turn_block_8(from + r * step, step, (char *)(near[0] + r), sizeof near[0]);
            for (npy_intp r = whole; r < rows; r++)
                for (npy_intp l = 0; l < lines; l++) near[l][r] = *(uint16_t const *)(from + r * step + l * 2);
            for (npy_intp l = 0; l < lines; l++) widen(near[l], (float *)(args[1] + (j + l) * axis[2]) + i, rows);
        }
    }
}
/* Extents and strides may differ from those at binding. */
#define TURN_FLOATS(BRAIN, N)                                                                                 \
    LOOP(loopdbg_turn_##N) {                                                                                  \
        npy_intp const *axis = (npy_intp const *)data;                                                        \
        if (axis[1] == 2 && steps[1] == 4) {                                                                  \
            loopdbg_transpose_halves_to_float(BRAIN, args, dims[0], steps[0], axis);                                      \
            return;                                                                                           \
        }                                                                                                     \
        for (npy_intp j = 0; j < axis[0]; j++) {                                                              \
            char *row[2] = {args[0] + j * axis[1], args[1] + j * axis[2]};                                    \
            cast_##N##_f32(row, dims, steps, NULL);                                                           \
        }                                                                                                     \
    }
TURN_FLOATS(0, f16)
TURN_FLOATS(1, bf16)

loopdbg_loop loopdbg_transpose_half_to_float(int brain) { return brain ? loopdbg_turn_bf16 : loopdbg_turn_f16; }

/* The vectorized operation of a ufunc; -1: none. */
int loopdbg_half_operation_for(char const *name) {
    static char const *const names[] = {"add", "subtract", "multiply", "divide", "maximum", "minimum"};
    for (int k = 0; k < 6; k++)
        if (!strcmp(name, names[k])) return k;
    return -1;
}

#endif
