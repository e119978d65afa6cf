/* float16 and bfloat16: widened to float32, computed there, and rounded back to the nearest, ties to even.
 *
 * NumPy's own loops for float16 convert one number after the other and then look at the processor's exception flags:
 * adding 4096 of them takes it 13 us. Here blocks go through NumPy's loops for float32, which give the same. */
#ifndef LOOPDBG_NARROW_H
#define LOOPDBG_NARROW_H

#include <stdint.h>
#include <string.h>

#include "../call.h"
#include "../reduce/highs.h"
#include "../dispatch/lanes.h"
#include "../elements/halves.h"
#include "../data_movement/overlaps.h"
#include "../data_movement/side_by_side.h"
#include "../data_movement/turn.h"

enum { LOOPDBG_NARROW_BLOCK = 256 };

/* Neighbours. */
typedef void (*loopdbg_widen)(uint16_t const *x, float *restrict y, npy_intp n);
typedef void (*loopdbg_narrow)(float const *x, uint16_t *restrict y, npy_intp n);

/* Two axes: inputs a and b, output y; between neighbours a step of 2, or 0 where a row has one number of an input. */
typedef struct {
    char const *a, *b;
    char *y;
    npy_intp a_step, b_step, a_row, b_row, y_row, rows, n;
} loopdbg_narrow_rows;
typedef void (*loopdbg_narrow_operation)(loopdbg_narrow_rows const *x);
/* n rows, so many bytes apart, folded into one of m results; as many as a vector has at least, all of them neighbours. */
typedef void (*loopdbg_narrow_fold)(char const *x, npy_intp step, npy_intp n, char *z, npy_intp m);
enum { LOOPDBG_FOLD_HALVES = 16 };

/* What a processor does in its own way, of float16 and of bfloat16: add, subtract, multiply, divide, maximum, minimum; NULL:
 * through floats. */
typedef struct {
    loopdbg_widen widen[2];
    loopdbg_narrow narrow[2];
    loopdbg_narrow_operation operations[2][6];
    loopdbg_narrow_fold folds[2][6];
} loopdbg_halves;

/* float16 as integers in the order of the numbers, -0 below 0. */
static inline int16_t loopdbg_half_key(uint16_t bits) { return (int16_t)(bits & 0x8000 ? bits ^ 0x7FFF : bits); }

#define BODY "../elementwise/narrow_lanes.h"
#include "../dispatch/each_width.h"

/* Any steps. ``brain``: bfloat16. */
static inline void loopdbg_widened(int brain, char const *x, npy_intp step, float *y, npy_intp n) {
    uint16_t near[LOOPDBG_NARROW_BLOCK];
    if (step != 2) {
        for (npy_intp i = 0; i < n; i++) near[i] = *(uint16_t const *)(x + i * step);
        x = (char const *)near;
    }
    WIDEST(halves)->widen[brain]((uint16_t const *)x, y, n);
}
static inline void loopdbg_narrowed(int brain, float const *x, char *y, npy_intp step, npy_intp n) {
    uint16_t near[LOOPDBG_NARROW_BLOCK];
    WIDEST(halves)->narrow[brain](x, step == 2 ? (uint16_t *)y : near, n);
    if (step != 2)
        for (npy_intp i = 0; i < n; i++) *(uint16_t *)(y + i * step) = near[i];
}

/* One of the operations in registers, any steps, so many numbers at once. */
static void loopdbg_narrow_blocks(loopdbg_narrow_operation operation, char **args, npy_intp n, npy_intp const *steps,
                                  npy_intp most) {
    uint16_t near[3][LOOPDBG_NARROW_BLOCK];
    char *given[3];
    int plain = steps[2] == 2 && (steps[0] == 2 || !steps[0]) && (steps[1] == 2 || !steps[1]);
    loopdbg_narrow_rows x = {args[0], args[1], args[2], steps[0], steps[1], 0, 0, 0, 1, n};
    if (plain && most > 1) {
        operation(&x);
        return;
    }
    x.a_step = steps[0] ? 2 : 0, x.b_step = steps[1] ? 2 : 0;
    for (npy_intp i = 0, count; i < n; i += count) {
        count = n - i < most ? n - i : most;
        for (int k = 0; k < 2; k++) {
            given[k] = args[k] + i * steps[k];
            if (steps[k] == 2 || !steps[k]) continue;
            for (npy_intp j = 0; j < count; j++) near[k][j] = *(uint16_t const *)(given[k] + j * steps[k]);
            given[k] = (char *)near[k];
        }
        given[2] = args[2] + i * steps[2];
        x.a = given[0], x.b = given[1], x.y = steps[2] == 2 ? given[2] : (char *)near[2], x.n = count;
        operation(&x);
        if (steps[2] != 2)
            for (npy_intp j = 0; j < count; j++) *(uint16_t *)(given[2] + j * steps[2]) = near[2][j];
    }
}

void loopdbg_through_floats(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    loopdbg_through const *by = (loopdbg_through const *)data;
    float in[3][LOOPDBG_NARROW_BLOCK], out[LOOPDBG_NARROW_BLOCK];
    npy_intp n = dims[0], most = LOOPDBG_NARROW_BLOCK, count, inner[4];
    char *given[4], *result = args[by->inputs];
    npy_intp step = steps[by->inputs];
    for (int k = 0; k < by->inputs; k++) {
        /* NumPy's loops of one input may compute what is no neighbour in another way. */
        inner[k] = steps[k] || by->inputs == 1 ? 4 : 0;
        given[k] = (char *)in[k];
        if (loopdbg_overlaps(args[k], steps[k], result, step, n)) most = 1;
    }
    loopdbg_narrow_operation const operation = by->operation >= 0 ? WIDEST(halves)->operations[by->brain][by->operation] : NULL;
    if (operation) {
        loopdbg_narrow_blocks(operation, args, n, steps, most);
        return;
    }
    if (by->halves && most > 1 && steps[0] == 2 && step == 2) {
        by->halves((uint16_t const *)args[0], (uint16_t *)result, n, by->brain);
        return;
    }
    if (most > 1)
        for (int k = 0; k < by->inputs; k++)
            if (!inner[k]) loopdbg_widened(by->brain, args[k], 2, in[k], 1);
    for (npy_intp i = 0; i < n; i += count, result += count * step) {
        count = n - i < most ? n - i : most;
        for (int k = 0; k < by->inputs; k++)
            if (inner[k] || most == 1) loopdbg_widened(by->brain, args[k] + i * steps[k], steps[k], in[k], count);
        given[by->inputs] = by->narrow ? (char *)out : result;
        inner[by->inputs] = by->narrow ? 4 : step;
        by->loop(given, &count, inner, by->data);
        if (by->narrow) loopdbg_narrowed(by->brain, out, result, step, count);
    }
}

/* Rows that fill no vector, side by side: 12x for rows of 7. */
enum { LOOPDBG_SHORT_HALVES = 16 };
static void loopdbg_narrow_short(loopdbg_narrow_operation operation, loopdbg_narrow_rows const *x) {
    uint16_t near[2][LOOPDBG_ROWS_BLOCK];
    char const *in[2] = {x->a, x->b};
    npy_intp const n = x->n, row = 2 * n, most = LOOPDBG_ROWS_BLOCK / n;
    npy_intp const step[2] = {x->a_step, x->b_step}, around[2] = {x->a_row, x->b_row};
    for (npy_intp first = 0; first < x->rows; first += most) {
        npy_intp rows = x->rows - first < most ? x->rows - first : most;
        char const *given[2];
        for (int k = 0; k < 2; k++) {
            given[k] = step[k] && around[k] == row ? in[k] + first * row : (char const *)near[k];
            if (given[k] == (char const *)near[k] && (around[k] || !first))
                loopdbg_side_by_side((char *)near[k], in[k] + first * around[k], step[k], around[k], rows, n, 2);
        }
        loopdbg_narrow_rows flat = {given[0], given[1], x->y + first * row, 2, 2, 0, 0, 0, 1, rows * n};
        operation(&flat);
    }
}

/* These operations over the inner axis and the one around it (data: as in Call.outer), where neighbours of the inner
 * one have steps of 2, or 0 for one of the inputs. */
static void loopdbg_narrow_around(int brain, int which, char **args, npy_intp n, npy_intp const *steps, npy_intp const *axis) {
    loopdbg_narrow_operation operation = WIDEST(halves)->operations[brain][which];
    loopdbg_narrow_rows x = {args[0], args[1], args[2], steps[0], steps[1], axis[1], axis[2], axis[3], axis[0], n};
    if (operation && axis[3] == 2 * n && loopdbg_apart(x.a, x.a_step, x.a_row, x.y, x.rows, x.y_row, 2) &&
        loopdbg_apart(x.b, x.b_step, x.b_row, x.y, x.rows, x.y_row, 2)) {
        if (n < LOOPDBG_SHORT_HALVES && x.rows >= LOOPDBG_FEW_ROWS) loopdbg_narrow_short(operation, &x);
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
            loopdbg_widened(brain, x.a + i * x.a_step, 2, &a, 1);
            loopdbg_widened(brain, x.b + i * x.b_step, 2, &b, 1);
            switch (which) {
                case 0: y = a + (a != a ? a : b); break;
                case 1: y = a - b; break;
                case 2: y = a * (a != a ? a : b); break;
                case 3: y = a / b; break;
                case 4: y = a >= b || a != a ? a : b; break;
                default: y = a <= b || a != a ? a : b;
            }
            loopdbg_narrowed(brain, &y, x.y + 2 * i, 2, 1);
        }
    }
}
#define NARROW_ROWS(BRAIN, TYPE, WHICH, NAME)                                                                 \
    static void rows_##NAME##_##TYPE(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {  \
        loopdbg_narrow_around(BRAIN, WHICH, args, dims[0], steps, (npy_intp const *)data);                    \
    }
#define NARROW_ROWS_OF(BRAIN, TYPE)                                                                           \
    NARROW_ROWS(BRAIN, TYPE, 0, add) NARROW_ROWS(BRAIN, TYPE, 1, subtract) NARROW_ROWS(BRAIN, TYPE, 2, multiply) \
    NARROW_ROWS(BRAIN, TYPE, 3, divide) NARROW_ROWS(BRAIN, TYPE, 4, maximum) NARROW_ROWS(BRAIN, TYPE, 5, minimum)
NARROW_ROWS_OF(0, f16)
NARROW_ROWS_OF(1, bf16)

/* Rows into one, where the results, and what goes into each, are neighbours. */
static void loopdbg_narrow_fold_around(int brain, int which, char **args, npy_intp const *dims, npy_intp const *steps,
                                       npy_intp const *axis) {
    loopdbg_narrow_fold fold = WIDEST(halves)->folds[brain][which];
    if (fold && dims[0] >= LOOPDBG_FOLD_HALVES && loopdbg_fold_apart(args, dims, steps, axis, 1, 2))
        fold(args[1], axis[2], axis[0], args[0], dims[0]);
    else loopdbg_narrow_around(brain, which, args, dims[0], steps, axis);
}
#define NARROW_FOLD_AROUND(BRAIN, TYPE, WHICH, NAME)                                                          \
    static void fold_around_##NAME##_##TYPE(char **args, npy_intp const *dims, npy_intp const *steps, void *data) { \
        loopdbg_narrow_fold_around(BRAIN, WHICH, args, dims, steps, (npy_intp const *)data);                  \
    }
#define NARROW_FOLDS_AROUND(BRAIN, TYPE)                                                                      \
    NARROW_FOLD_AROUND(BRAIN, TYPE, 0, add) NARROW_FOLD_AROUND(BRAIN, TYPE, 2, multiply)                      \
    NARROW_FOLD_AROUND(BRAIN, TYPE, 4, maximum) NARROW_FOLD_AROUND(BRAIN, TYPE, 5, minimum)
NARROW_FOLDS_AROUND(0, f16)
NARROW_FOLDS_AROUND(1, bf16)
loopdbg_loop loopdbg_narrow_fold_of(char const *name, int brain) {
    if (!strcmp(name, "add")) return brain ? fold_around_add_bf16 : fold_around_add_f16;
    if (!strcmp(name, "multiply")) return brain ? fold_around_multiply_bf16 : fold_around_multiply_f16;
    if (!strcmp(name, "maximum")) return brain ? fold_around_maximum_bf16 : fold_around_maximum_f16;
    if (!strcmp(name, "minimum")) return brain ? fold_around_minimum_bf16 : fold_around_minimum_f16;
    return NULL;
}

/* The same where the result is one number that is read as well: it stays a float until the end. */
void loopdbg_fold_floats(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    loopdbg_through const *by = (loopdbg_through const *)data;
    float in[LOOPDBG_NARROW_BLOCK], sum;
    npy_intp count;
    npy_intp const inner[3] = {0, 4, 0};
    char *given[3] = {(char *)&sum, (char *)in, (char *)&sum};
    loopdbg_widened(by->brain, args[0], 2, &sum, 1);
    for (npy_intp i = 0; i < dims[0]; i += count) {
        count = dims[0] - i < LOOPDBG_NARROW_BLOCK ? dims[0] - i : LOOPDBG_NARROW_BLOCK;
        loopdbg_widened(by->brain, args[1] + i * steps[1], steps[1], in, count);
        by->fold(given, &count, inner, by->fold_data);
    }
    loopdbg_narrowed(by->brain, &sum, args[2], 2, 1);
}

/* By a loop for the type itself. */
void loopdbg_fold_directly(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    loopdbg_through const *by = (loopdbg_through const *)data;
    by->fold(args, dims, steps, by->fold_data);
}

/* The extreme of one number and many, in float16: of equals the first one, and the first NaN, as NumPy has it, which compares
 * them one by one. As integers many are compared at once: a sixth of the time. */
static void loopdbg_fold_halves(char **args, npy_intp n, npy_intp step, int max) {
    uint16_t near[LOOPDBG_NARROW_BLOCK], first = *(uint16_t const *)args[0];
    int16_t low = loopdbg_half_key(first), high = low, best, infinite = 0x7C00;
    for (npy_intp i = 0, count; i < n; i += count) {
        uint16_t const *x = (uint16_t const *)(args[1] + i * step);
        count = n - i < LOOPDBG_NARROW_BLOCK ? n - i : LOOPDBG_NARROW_BLOCK;
        if (step != 2) {
            for (npy_intp j = 0; j < count; j++) near[j] = *(uint16_t const *)((char const *)x + j * step);
            x = near;
        }
        WIDEST(half_range)(x, count, &low, &high);
    }
    int odd = high > infinite || low < loopdbg_half_key(0xFC00);
    best = max ? high : low;
    if (odd || best == 0 || best == -1)
        for (char const *x = args[1]; odd ? (first & 0x7FFF) <= infinite : (first & 0x7FFF) != 0; x += step)
            first = *(uint16_t const *)x;
    else first = (uint16_t)(best < 0 ? best ^ 0x7FFF : best);
    *(uint16_t *)args[2] = first;
}
void loopdbg_fold_highest(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    (void)data;
    loopdbg_fold_halves(args, dims[0], steps[1], 1);
}
void loopdbg_fold_lowest(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    (void)data;
    loopdbg_fold_halves(args, dims[0], steps[1], 0);
}

/* The extreme of a row and of what it goes into. */
static void loopdbg_narrow_high(int brain, int max, char **args, npy_intp n) {
    float wide[LOOPDBG_NARROW_BLOCK], found;
    char *given[3] = {(char *)&found, (char *)wide, (char *)&found};
    npy_intp const near[3] = {0, sizeof(float), 0};
    if (!brain) {
        loopdbg_fold_halves(args, n, 2, max);
        return;
    }
    loopdbg_widened(brain, args[2], 2, &found, 1);
    for (npy_intp i = 0, count; i < n; i += count) {
        count = n - i < LOOPDBG_NARROW_BLOCK ? n - i : LOOPDBG_NARROW_BLOCK;
        loopdbg_widened(brain, args[1] + 2 * i, 2, wide, count);
        (max ? WIDEST(fold_max_f32) : WIDEST(fold_min_f32))(given, &count, near, NULL);
    }
    loopdbg_narrowed(brain, &found, args[2], 2, 1);
}
/* Of rows (data: as in Call.outer): of short ones as floats, many at a time. */
static void loopdbg_narrow_highs(int brain, int max, char **args, npy_intp n, npy_intp const *axis) {
    enum { MOST = 8 * LOOPDBG_HIGH_LONG };
    float wide[MOST], found[LOOPDBG_NARROW_BLOCK];
    char *given[3] = {(char *)found, (char *)wide, (char *)found};
    npy_intp const most = n > LOOPDBG_HIGH_LONG ? 1 : n > MOST / LOOPDBG_NARROW_BLOCK ? MOST / n : LOOPDBG_NARROW_BLOCK;
    for (npy_intp r = 0; n && r < axis[0]; r += most) {
        npy_intp const rows = axis[0] - r < most ? axis[0] - r : most;
        npy_intp const around[4] = {rows, sizeof(float), n * (npy_intp)sizeof(float), sizeof(float)};
        char *row[3] = {args[0] + r * axis[1], args[1] + r * axis[2], args[2] + r * axis[3]};
        if (n > LOOPDBG_HIGH_LONG) {
            loopdbg_narrow_high(brain, max, row, n);
            continue;
        }
        loopdbg_widened(brain, row[2], axis[3], found, rows);
        if (axis[2] == 2 * n) loopdbg_widened(brain, row[1], 2, wide, rows * n);
        else
            for (npy_intp k = 0; k < rows; k++) loopdbg_widened(brain, row[1] + k * axis[2], 2, wide + k * n, n);
        (max ? WIDEST(rows_max_f32) : WIDEST(rows_min_f32))(given, &n, NULL, (void *)around);
        loopdbg_narrowed(brain, found, row[2], axis[3], rows);
    }
}
#define NARROW_HIGHS(BRAIN, TYPE, MAX, NAME)                                                                  \
    static void rows_##NAME##_##TYPE(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {  \
        (void)steps;                                                                                          \
        loopdbg_narrow_highs(BRAIN, MAX, args, dims[0], (npy_intp const *)data);                              \
    }
NARROW_HIGHS(0, f16, 1, max)
NARROW_HIGHS(0, f16, 0, min)
NARROW_HIGHS(1, bf16, 1, max)
NARROW_HIGHS(1, bf16, 0, min)

#define NARROW_CASTS(BRAIN, N)                                                                                \
    static void cast_##N##_f32(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {        \
        float out[LOOPDBG_NARROW_BLOCK];                                                                      \
        char const *x = args[0];                                                                              \
        char *y = args[1];                                                                                    \
        (void)data;                                                                                           \
        if (steps[1] == 4 && steps[0] == 2) {                                                                 \
            WIDEST(halves)->widen[BRAIN]((uint16_t const *)x, (float *)y, dims[0]);     \
            return;                                                                                           \
        }                                                                                                     \
        for (npy_intp i = 0, n; i < dims[0]; i += n) {                                                        \
            n = dims[0] - i < LOOPDBG_NARROW_BLOCK ? dims[0] - i : LOOPDBG_NARROW_BLOCK;                      \
            loopdbg_widened(BRAIN, x + i * steps[0], steps[0], out, n);                                       \
            for (npy_intp j = 0; j < n; j++) *(float *)(y + (i + j) * steps[1]) = out[j];                     \
        }                                                                                                     \
    }                                                                                                         \
    static void cast_f32_##N(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {          \
        float in[LOOPDBG_NARROW_BLOCK];                                                                       \
        char const *x = args[0];                                                                              \
        char *y = args[1];                                                                                    \
        (void)data;                                                                                           \
        for (npy_intp i = 0, n; i < dims[0]; i += n) {                                                        \
            n = dims[0] - i < LOOPDBG_NARROW_BLOCK ? dims[0] - i : LOOPDBG_NARROW_BLOCK;                      \
            float const *given = (float const *)(x + i * steps[0]);                                           \
            if (steps[0] != 4) {                                                                              \
                for (npy_intp j = 0; j < n; j++) in[j] = *(float const *)(x + (i + j) * steps[0]);            \
                given = in;                                                                                   \
            }                                                                                                 \
            loopdbg_narrowed(BRAIN, given, y + i * steps[1], steps[1], n);                                    \
        }                                                                                                     \
    }
NARROW_CASTS(0, f16)
NARROW_CASTS(1, bf16)

/* To floats over two axes, of which the outer one is the source's neighbours (data: as in Call.outer): blocks are turned
 * in registers first, so many rows at a time as stay at hand. 5x for a matrix of 256 x 256. */
enum { LOOPDBG_TURNED_ROWS = 32 };
static void loopdbg_turned_floats(int brain, char **args, npy_intp n, npy_intp step, npy_intp const *axis) {
    uint16_t near[8][LOOPDBG_TURNED_ROWS];
    loopdbg_widen const widen = WIDEST(halves)->widen[brain];
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
/* Extents and strides may have changed. */
#define TURN_FLOATS(BRAIN, N)                                                                                 \
    LOOP(loopdbg_turn_##N) {                                                                                  \
        npy_intp const *axis = (npy_intp const *)data;                                                        \
        if (axis[1] == 2 && steps[1] == 4) {                                                                  \
            loopdbg_turned_floats(BRAIN, args, dims[0], steps[0], axis);                                      \
            return;                                                                                           \
        }                                                                                                     \
        for (npy_intp j = 0; j < axis[0]; j++) {                                                              \
            char *row[2] = {args[0] + j * axis[1], args[1] + j * axis[2]};                                    \
            cast_##N##_f32(row, dims, steps, NULL);                                                           \
        }                                                                                                     \
    }
TURN_FLOATS(0, f16)
TURN_FLOATS(1, bf16)

loopdbg_loop loopdbg_turn_narrow(int brain) { return brain ? loopdbg_turn_bf16 : loopdbg_turn_f16; }

/* Which of these operations a ufunc is; -1: none. */
int loopdbg_narrow_operation_of(char const *name) {
    static char const *const names[] = {"add", "subtract", "multiply", "divide", "maximum", "minimum"};
    for (int k = 0; k < 6; k++)
        if (!strcmp(name, names[k])) return k;
    return -1;
}

#endif
