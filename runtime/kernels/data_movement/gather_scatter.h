/* Gather and scatter by index tensors. */
#ifndef LOOPDBG_PLACES_H
#define LOOPDBG_PLACES_H

#include <stdint.h>
#include <string.h>
#include "fast_memcpy.h"
#include "../call.h"

/* Constant parameters of a call, packed into its first number: bytes of an element and of an index, the reduction and
 * its type, number of further numbers (axes or the length of a tuple), the axis, whether negative indices count from
 * the end. */
typedef struct {
    int size, index_size, reduction, type, count, axis, negative;
} loopdbg_index_params;
static inline loopdbg_index_params loopdbg_unpack_index_params(npy_intp bits) {
    loopdbg_index_params how = {(int)(bits & 255),       (int)(bits >> 8 & 255),  (int)(bits >> 16 & 255),
                                (int)(bits >> 24 & 255), (int)(bits >> 32 & 255), (int)(bits >> 40 & 255),
                                (int)(bits >> 48 & 255)};
    return how;
}

/* Copy what updates are written to, unless it is in place already. */
static inline void loopdbg_copy_data(char *out, char const *data, npy_intp bytes) {
    if (out != data) memcpy(out, data, (size_t)bytes);
}

static inline int64_t loopdbg_index(char const *indices, npy_intp k, int size) {
    return size == 8 ? ((int64_t const *)indices)[k] : ((int32_t const *)indices)[k];
}
/* A normalized index; below 0: out of range. */
static inline int64_t loopdbg_normalize_index(int64_t index, npy_intp length, int negative) {
    if (index < 0 && negative) index += length;
    return index < length ? index : -1;
}

/* --- target = reduction(target, update), element by element. */

enum { LOOPDBG_SET, LOOPDBG_ADD, LOOPDBG_SUB, LOOPDBG_MUL, LOOPDBG_MAX, LOOPDBG_MIN };
#define REDUCE_LOOP(T, EXPRESSION)                                                                            \
    for (npy_intp i = 0; i < n; i++) {                                                                        \
        T a = ((T *)target)[i], b = ((T const *)update)[i];                                                   \
        ((T *)target)[i] = EXPRESSION;                                                                        \
    }                                                                                                         \
    return 0;
#define REDUCE_CASES(T, U, NAN_OF)                                                                            \
    switch (reduction) {                                                                                      \
        case LOOPDBG_ADD: REDUCE_LOOP(T, (T)((U)a + (U)b))                                                    \
        case LOOPDBG_SUB: REDUCE_LOOP(T, (T)((U)a - (U)b))                                                    \
        case LOOPDBG_MUL: REDUCE_LOOP(T, (T)((U)a * (U)b))                                                    \
        case LOOPDBG_MAX: REDUCE_LOOP(T, (a >= b || NAN_OF(a)) ? a : b)                                       \
        case LOOPDBG_MIN: REDUCE_LOOP(T, (a <= b || NAN_OF(a)) ? a : b)                                       \
    }                                                                                                         \
    return 1;
#define NEVER(a) 0
#define IS_NAN(a) ((a) != (a))
static int loopdbg_reduce_into(char *target, char const *update, npy_intp n, loopdbg_index_params const *how) {
    int reduction = how->reduction;
    if (reduction == LOOPDBG_SET) {
        loopdbg_memcpy(target, update, (size_t)(n * how->size));
        return 0;
    }
    switch (how->type) {
        case 'f': REDUCE_CASES(float, float, IS_NAN)
        case 'd': REDUCE_CASES(double, double, IS_NAN)
        case 'b': REDUCE_CASES(int8_t, uint64_t, NEVER)
        case 'h': REDUCE_CASES(int16_t, uint64_t, NEVER)
        case 'i': REDUCE_CASES(int32_t, uint64_t, NEVER)
        case 'l': REDUCE_CASES(int64_t, uint64_t, NEVER)
        case 'B': REDUCE_CASES(uint8_t, uint64_t, NEVER)
        case 'H': REDUCE_CASES(uint16_t, uint64_t, NEVER)
        case 'I': REDUCE_CASES(uint32_t, uint64_t, NEVER)
        case 'L': REDUCE_CASES(uint64_t, uint64_t, NEVER)
    }
    return 1;
}

/* --- Element by element: `indices` has an index along the axis for each element. extra: parameters, then for each axis
 * its length in x and in indices. */

enum { LOOPDBG_MAX_AXES = 5 };

#define EACH_ELEMENT(SMALL)                                                                                   \
    npy_intp count[LOOPDBG_MAX_AXES] = {0}, stride[LOOPDBG_MAX_AXES] = {0}, base = 0, step = 1;                      \
    npy_intp const *axes = call->extra + 1;                                                                   \
    int last = how.count - 1;                                                                                 \
    npy_intp row = axes[2 * last + 1], length = axes[2 * how.axis], total = 1;                                \
    for (int d = last; d >= 0; d--) {                                                                         \
        stride[d] = step;                                                                                     \
        step *= axes[2 * d];                                                                                  \
        total *= axes[2 * d + 1];                                                                             \
    }                                                                                                         \
    npy_intp along = stride[how.axis], next = how.axis == last ? 0 : 1;                                       \
    for (npy_intp k = 0; k < total;) {                                                                        \
        for (npy_intp j = 0; j < row; j++, k++) {                                                             \
            int64_t place = loopdbg_normalize_index(loopdbg_index(indices, k, how.index_size), length, how.negative);   \
            if (place < 0) return 1;                                                                          \
            npy_intp from = base + j * next + place * along;                                                  \
            SMALL                                                                                             \
        }                                                                                                     \
        for (int d = last - 1; d >= 0; d--) {                                                                 \
            npy_intp move = d == how.axis ? 0 : stride[d];                                                    \
            base += move;                                                                                     \
            if (++count[d] < axes[2 * d + 1]) break;                                                             \
            base -= move * axes[2 * d + 1];                                                                   \
            count[d] = 0;                                                                                        \
        }                                                                                                     \
    }

/* x, indices -> out */
static int loopdbg_gather_elements(loopdbg_call *call) {
    loopdbg_index_params how = loopdbg_unpack_index_params(call->extra[0]);
    char const *x = LOOPDBG_ARG(call, 0), *indices = LOOPDBG_ARG(call, 1);
    char *out = LOOPDBG_ARG(call, 2);
    if (how.size == 4) {
        EACH_ELEMENT(memcpy(out + 4 * k, x + 4 * from, 4);)
        return 0;
    }
    if (how.size == 8) {
        EACH_ELEMENT(memcpy(out + 8 * k, x + 8 * from, 8);)
        return 0;
    }
    EACH_ELEMENT(memcpy(out + how.size * k, x + how.size * from, (size_t)how.size);)
    return 0;
}

/* data, indices, updates -> out; the second number: bytes of data, the axes follow. */
static int loopdbg_scatter_elements(loopdbg_call *original) {
    loopdbg_call shifted = *original, *call = &shifted;
    loopdbg_index_params how = loopdbg_unpack_index_params(call->extra[0]);
    char const *indices = LOOPDBG_ARG(call, 1), *updates = LOOPDBG_ARG(call, 2);
    char *out = LOOPDBG_ARG(call, 3);
    loopdbg_copy_data(out, LOOPDBG_ARG(call, 0), call->extra[1]);
    memmove(call->extra + 1, call->extra + 2, (LOOPDBG_MAX_EXTRA - 2) * sizeof(npy_intp));
    if (how.reduction == LOOPDBG_SET && how.size == 4) {
        EACH_ELEMENT(memcpy(out + 4 * from, updates + 4 * k, 4);)
        return 0;
    }
    EACH_ELEMENT(if (loopdbg_reduce_into(out + how.size * from, updates + how.size * k, 1, &how)) return 1;)
    return 0;
}

/* --- Tuples of indices, each for a block. extra: parameters, batches, tuples, elements of a block, then the lengths of
 * the axes that a tuple indexes. */

/* Index of a tuple's block; below 0: out of range. */
static inline npy_intp loopdbg_tuple_offset(char const *indices, npy_intp k, npy_intp const *lengths,
                                            loopdbg_index_params const *how) {
    npy_intp place = 0;
    for (int d = 0; d < how->count; d++) {
        int64_t index =
            loopdbg_normalize_index(loopdbg_index(indices, k * how->count + d, how->index_size), lengths[d], how->negative);
        if (index < 0) return -1;
        place = place * lengths[d] + index;
    }
    return place;
}

/* x, indices -> out */
static int loopdbg_gather_tuples(loopdbg_call *call) {
    loopdbg_index_params how = loopdbg_unpack_index_params(call->extra[0]);
    npy_intp batches = call->extra[1], tuples = call->extra[2], block = call->extra[3] * how.size, part = block;
    npy_intp const *lengths = call->extra + 4;
    char const *x = LOOPDBG_ARG(call, 0), *indices = LOOPDBG_ARG(call, 1);
    char *out = LOOPDBG_ARG(call, 2);
    for (int d = 0; d < how.count; d++) part *= lengths[d];
    for (npy_intp b = 0; b < batches; b++, x += part)
        for (npy_intp k = 0; k < tuples; k++, out += block) {
            npy_intp place = loopdbg_tuple_offset(indices, b * tuples + k, lengths, &how);
            if (place < 0) return 1;
            loopdbg_memcpy(out, x + place * block, (size_t)block);
        }
    return 0;
}

/* data, indices, updates -> out; the second number: bytes of data. */
static int loopdbg_scatter_tuples(loopdbg_call *call) {
    loopdbg_index_params how = loopdbg_unpack_index_params(call->extra[0]);
    npy_intp tuples = call->extra[2], count = call->extra[3], block = count * how.size;
    char const *indices = LOOPDBG_ARG(call, 1), *updates = LOOPDBG_ARG(call, 2);
    char *out = LOOPDBG_ARG(call, 3);
    loopdbg_copy_data(out, LOOPDBG_ARG(call, 0), call->extra[1]);
    for (npy_intp k = 0; k < tuples; k++) {
        npy_intp place = loopdbg_tuple_offset(indices, k, call->extra + 4, &how);
        if (place < 0 || loopdbg_reduce_into(out + place * block, updates + k * block, count, &how)) return 1;
    }
    return 0;
}

/* --- Rows along an axis. extra: parameters, data bytes, rows before it, its length, indices, elements of a block. */

/* data, indices, updates -> out */
static int loopdbg_scatter_rows(loopdbg_call *call) {
    loopdbg_index_params how = loopdbg_unpack_index_params(call->extra[0]);
    npy_intp outer = call->extra[2], length = call->extra[3], n = call->extra[4], block = call->extra[5] * how.size;
    char const *indices = LOOPDBG_ARG(call, 1), *updates = LOOPDBG_ARG(call, 2);
    char *out = LOOPDBG_ARG(call, 3);
    loopdbg_copy_data(out, LOOPDBG_ARG(call, 0), call->extra[1]);
    for (npy_intp o = 0; o < outer; o++)
        for (npy_intp k = 0; k < n; k++, updates += block) {
            int64_t place = loopdbg_normalize_index(loopdbg_index(indices, k, how.index_size), length, how.negative);
            if (place < 0) return 1;
            npy_intp first = (o * length + place) * block;
            loopdbg_memcpy(out + first, updates, (size_t)block);
        }
    return 0;
}

/* data, updates, indices (int64, one per batch) -> out: n rows from the batch's index on. extra: circular, bytes of
 * data, batches, rows before the axis in each, length of the axis, n, bytes of a block. */
static int loopdbg_scatter_runs(loopdbg_call *call) {
    npy_intp const *x = call->extra;
    npy_intp batches = x[2], outer = x[3], length = x[4], n = x[5], block = x[6];
    char const *updates = LOOPDBG_ARG(call, 1);
    int64_t const *indices = (int64_t const *)LOOPDBG_ARG(call, 2);
    char *out = LOOPDBG_ARG(call, 3);
    loopdbg_copy_data(out, LOOPDBG_ARG(call, 0), x[1]);
    for (npy_intp b = 0; b < batches; b++) {
        int64_t first = indices[b];
        if (first < 0 || (!x[0] && first + n > length)) return 1;
        for (npy_intp o = 0; o < outer; o++)
            for (npy_intp k = 0; k < n; k++, updates += block) {
                npy_intp offset = ((b * outer + o) * length + (first + k) % length) * block;
                loopdbg_memcpy(out + offset, updates, (size_t)block);
            }
    }
    return 0;
}

#endif
