/* Results whose length depends on the data: NonZero, Compress, Unique. Each routine writes the length to an int64
 * behind its outputs. */
#ifndef LOOPDBG_DATA_DEPENDENT_H
#define LOOPDBG_DATA_DEPENDENT_H

#include <stdint.h>
#include <string.h>
#include "fast_memcpy.h"
#include "../call.h"
#include "../element_types/type_lists.h"
#include "../dispatch/processor.h"

#define BODY "../data_movement/data_dependent_lanes.h"
#include "../dispatch/foreach_target.h"

static npy_intp loopdbg_nonzero_bits(char const *x, npy_intp n, npy_intp size, int is_float, uint64_t *marks) {
    switch (size) {
        case 1: return DISPATCH(marks_8)((uint8_t const *)x, n, UINT8_MAX, marks);
        case 2: return DISPATCH(marks_16)((uint16_t const *)x, n, is_float ? INT16_MAX : UINT16_MAX, marks);
        case 4: return DISPATCH(marks_32)((uint32_t const *)x, n, is_float ? INT32_MAX : UINT32_MAX, marks);
        default: return DISPATCH(marks_64)((uint64_t const *)x, n, is_float ? INT64_MAX : UINT64_MAX, marks);
    }
}

/* Indices of the marks, in order; then a row of indices is split: all axes but the last, and the last. */
#define DATA_DEPENDENT_PLACES(BITS)                                                                           \
    static void loopdbg_places_##BITS(uint64_t const *marks, npy_intp n, int##BITS##_t *out) {                \
        for (npy_intp k = 0; k < n; k += 64) {                                                                \
            uint64_t word = marks[k / 64];                                                                    \
            if (word == UINT64_MAX)                                                                           \
                for (int j = 0; j < 64; j++) *out++ = (int##BITS##_t)(k + j);                                 \
            else                                                                                              \
                for (; word; word &= word - 1) *out++ = (int##BITS##_t)(k + __builtin_ctzll(word));           \
        }                                                                                                     \
    }                                                                                                         \
    static void loopdbg_rows_of_places_##BITS(npy_intp n, int rank, npy_intp const *extents, npy_intp count,  \
                                              int##BITS##_t *rows) {                                          \
        for (int d = rank - 1; d > 0; d--) {                                                                  \
            int##BITS##_t *low = rows + d * count, *high = low - count;                                       \
            npy_intp extent = extents[d - 1];                                                                 \
            if (n <= UINT32_MAX && extent > 1)                                                                \
                DISPATCH(split_##BITS)(high, low, count, (uint32_t)extent);                                     \
            else                                                                                              \
                for (npy_intp j = 0; j < count; j++) {                                                        \
                    high[j] = (int##BITS##_t)(low[j] / extent);                                               \
                    low[j] = (int##BITS##_t)(low[j] % extent);                                                \
                }                                                                                             \
        }                                                                                                     \
    }
DATA_DEPENDENT_PLACES(32)
DATA_DEPENDENT_PLACES(64)

/* x -> a row of indices for each axis; scratch: a bit per element, in whole words.
 * extra: elements, element size, whether they are floats, axes, index size, all extents but the first. */
static int loopdbg_non_zero(loopdbg_call *call) {
    npy_intp n = call->extra[0], rank = call->extra[3];
    uint64_t *marks = (uint64_t *)LOOPDBG_ARG(call, 3);
    npy_intp count = loopdbg_nonzero_bits(LOOPDBG_ARG(call, 0), n, call->extra[1], (int)call->extra[2], marks);
    char *rows = LOOPDBG_ARG(call, 1);
    *(int64_t *)LOOPDBG_ARG(call, 2) = count;
    if (!count || !rank) return 0;
    if (call->extra[4] == 8) {
        loopdbg_places_64(marks, n, (int64_t *)rows + (rank - 1) * count);
        loopdbg_rows_of_places_64(n, (int)rank, call->extra + 5, count, (int64_t *)rows);
    } else {
        loopdbg_places_32(marks, n, (int32_t *)rows + (rank - 1) * count);
        loopdbg_rows_of_places_32(n, (int)rank, call->extra + 5, count, (int32_t *)rows);
    }
    return 0;
}

/* Copy the marked blocks contiguously; returns the end. */
static inline char *loopdbg_copy_selected(char *out, char const *x, uint64_t const *marks, npy_intp n, size_t block) {
    for (npy_intp k = 0; k < n; k += 64) {
        uint64_t word = marks[k / 64];
        char const *from = x + k * block;
        if (word == UINT64_MAX) {
            loopdbg_memcpy(out, from, 64 * block);
            out += 64 * block;
        } else
            for (; word; word &= word - 1, out += block) loopdbg_memcpy(out, from + __builtin_ctzll(word) * block, block);
    }
    return out;
}

/* x, condition -> the parts of x along an axis for which the condition is true; scratch: as for loopdbg_non_zero.
 * extra: extent before the axis, its extent, bytes of a part, elements of the condition, bytes of one, whether they are
 * floats. */
static int loopdbg_compress(loopdbg_call *call) {
    npy_intp length = call->extra[1], block = call->extra[2], n = call->extra[3];
    char const *x = LOOPDBG_ARG(call, 0);
    char *out = LOOPDBG_ARG(call, 2);
    uint64_t *marks = (uint64_t *)LOOPDBG_ARG(call, 4);
    *(int64_t *)LOOPDBG_ARG(call, 3) =
        loopdbg_nonzero_bits(LOOPDBG_ARG(call, 1), n, call->extra[4], (int)call->extra[5], marks);
    for (npy_intp k = length; k < n; k++)
        if (marks[k / 64] >> k % 64 & 1) return 1; /* out of range */
    n = n < length ? n : length;
    for (npy_intp o = 0; o < call->extra[0]; o++, x += length * block) {
        switch (block) { /* constant block sizes: 3x */
            case 1: out = loopdbg_copy_selected(out, x, marks, n, 1); break;
            case 2: out = loopdbg_copy_selected(out, x, marks, n, 2); break;
            case 4: out = loopdbg_copy_selected(out, x, marks, n, 4); break;
            case 8: out = loopdbg_copy_selected(out, x, marks, n, 8); break;
            case 12: out = loopdbg_copy_selected(out, x, marks, n, 12); break;
            case 16: out = loopdbg_copy_selected(out, x, marks, n, 16); break;
            default: out = loopdbg_copy_selected(out, x, marks, n, block);
        }
    }
    return 0;
}

/* An element as an unsigned sort key in NumPy's order: all NaNs are equal, behind all numbers, and -0 equals 0. */
typedef struct {
    uint64_t key;
    int64_t place;
} loopdbg_sort_entry;

#define DATA_DEPENDENT_WHOLE(ID, T, U, FIRST)                                                                 \
    static void loopdbg_keys_##ID(T const *x, npy_intp n, loopdbg_sort_entry *out) {                               \
        for (npy_intp j = 0; j < n; j++) out[j] = (loopdbg_sort_entry){(U)((U)x[j] ^ (U)(FIRST)), j};              \
    }
#define DATA_DEPENDENT_FLOAT(BITS, INFINITY)                                                                  \
    static void loopdbg_keys_f##BITS(uint##BITS##_t const *x, npy_intp n, loopdbg_sort_entry *out) {               \
        uint##BITS##_t const sign = (uint##BITS##_t)((uint##BITS##_t)1 << (BITS - 1));                        \
        for (npy_intp j = 0; j < n; j++) {                                                                    \
            uint##BITS##_t bits = x[j], size = bits & (uint##BITS##_t)~sign;                                  \
            uint##BITS##_t key = (bits & sign) && size ? (uint##BITS##_t)~bits : size | sign;                 \
            out[j] = (loopdbg_sort_entry){size > (INFINITY) ? (uint##BITS##_t)-1 : key, j};                        \
        }                                                                                                     \
    }
DATA_DEPENDENT_WHOLE(u8, uint8_t, uint8_t, 0)
DATA_DEPENDENT_WHOLE(i8, int8_t, uint8_t, 1 << 7)
DATA_DEPENDENT_WHOLE(u16, uint16_t, uint16_t, 0)
DATA_DEPENDENT_WHOLE(i16, int16_t, uint16_t, 1 << 15)
DATA_DEPENDENT_WHOLE(u32, uint32_t, uint32_t, 0)
DATA_DEPENDENT_WHOLE(i32, int32_t, uint32_t, UINT32_C(1) << 31)
DATA_DEPENDENT_WHOLE(u64, uint64_t, uint64_t, 0)
DATA_DEPENDENT_WHOLE(i64, int64_t, uint64_t, UINT64_C(1) << 63)
DATA_DEPENDENT_FLOAT(16, 0x7C00)
DATA_DEPENDENT_FLOAT(32, 0x7F800000)
DATA_DEPENDENT_FLOAT(64, UINT64_C(0x7FF0000000000000))

/* Up to this length insertion sort is used. */
enum { LOOPDBG_INSERTION_SORT_MAX = 48 };

/* Stable sort by key, with scratch space `b` of the same size; returns the array with the result. */
static loopdbg_sort_entry *loopdbg_sort_keys(loopdbg_sort_entry *a, loopdbg_sort_entry *b, npy_intp n, int bytes) {
    npy_intp counts[256];
    if (n <= LOOPDBG_INSERTION_SORT_MAX) {
        for (npy_intp k = 1; k < n; k++) {
            loopdbg_sort_entry entry = a[k];
            npy_intp j = k;
            for (; j > 0 && a[j - 1].key > entry.key; j--) a[j] = a[j - 1];
            a[j] = entry;
        }
        return a;
    }
    for (int shift = 0; shift < 8 * bytes; shift += 8) {
        npy_intp start = 0;
        memset(counts, 0, sizeof counts);
        for (npy_intp k = 0; k < n; k++) counts[a[k].key >> shift & 255]++;
        if (counts[a[0].key >> shift & 255] == n) continue; /* small integers: most bytes are equal */
        for (int k = 0; k < 256; k++) {
            npy_intp size = counts[k];
            counts[k] = start;
            start += size;
        }
        for (npy_intp k = 0; k < n; k++) b[counts[a[k].key >> shift & 255]++] = a[k];
        loopdbg_sort_entry *swapped = a;
        a = b, b = swapped;
    }
    return a;
}

static inline void loopdbg_store_int(char *out, npy_intp k, int64_t value, npy_intp size) {
    if (size == 8) ((int64_t *)out)[k] = value;
    else ((int32_t *)out)[k] = (int32_t)value;
}

/* x -> unique values, index of the first occurrence of each, index of the value of each element, counts; scratch: 32
 * bytes per element. extra: elements, element size, the type's character, whether values are ascending (else in order
 * of occurrence), size of an index, size of a count. */
static int loopdbg_unique(loopdbg_call *call) {
    npy_intp n = call->extra[0], size = call->extra[1], isize = call->extra[4], csize = call->extra[5], count = 0;
    char const *x = LOOPDBG_ARG(call, 0);
    char *values = LOOPDBG_ARG(call, 1), *first = LOOPDBG_ARG(call, 2), *inverse = LOOPDBG_ARG(call, 3);
    char *counts = LOOPDBG_ARG(call, 4);
    loopdbg_sort_entry *keys = (loopdbg_sort_entry *)LOOPDBG_ARG(call, 6), *sorted;
    switch ((char)call->extra[2]) {
        case '?':
        case 'B': loopdbg_keys_u8((uint8_t const *)x, n, keys); break;
        case 'b': loopdbg_keys_i8((int8_t const *)x, n, keys); break;
        case 'H': loopdbg_keys_u16((uint16_t const *)x, n, keys); break;
        case 'h': loopdbg_keys_i16((int16_t const *)x, n, keys); break;
        case 'I': loopdbg_keys_u32((uint32_t const *)x, n, keys); break;
        case 'i': loopdbg_keys_i32((int32_t const *)x, n, keys); break;
        case 'L': loopdbg_keys_u64((uint64_t const *)x, n, keys); break;
        case 'l': loopdbg_keys_i64((int64_t const *)x, n, keys); break;
        case 'e': loopdbg_keys_f16((uint16_t const *)x, n, keys); break;
        case 'f': loopdbg_keys_f32((uint32_t const *)x, n, keys); break;
        case 'd': loopdbg_keys_f64((uint64_t const *)x, n, keys); break;
        default: return 1;
    }
    sorted = loopdbg_sort_keys(keys, keys + n, n, (int)size);
    if (!call->extra[3]) {
        /* By first occurrence: `key` becomes the index of the first occurrence of a value, in order of indices. */
        loopdbg_sort_entry *by_place = sorted == keys ? keys + n : keys;
        for (npy_intp k = 0, begin = 0; k < n; k++) {
            if (sorted[k].key != sorted[begin].key) begin = k;
            by_place[sorted[k].place] = (loopdbg_sort_entry){(uint64_t)sorted[begin].place, 0};
        }
        for (npy_intp k = 0; k < n; k++) {
            loopdbg_sort_entry *own = by_place + by_place[k].key;
            if (own == by_place + k) {
                own->place = count;
                memcpy(values + count * size, x + k * size, size);
                loopdbg_store_int(first, count, k, isize);
                loopdbg_store_int(counts, count, 0, csize);
                count++;
            }
            loopdbg_store_int(inverse, k, own->place, isize);
            if (csize == 8) ((int64_t *)counts)[own->place]++;
            else ((int32_t *)counts)[own->place]++;
        }
    } else
        for (npy_intp k = 0; k < n; count++) {
            npy_intp begin = k;
            memcpy(values + count * size, x + sorted[k].place * size, size);
            loopdbg_store_int(first, count, sorted[k].place, isize);
            for (; k < n && sorted[k].key == sorted[begin].key; k++) loopdbg_store_int(inverse, sorted[k].place, count, isize);
            loopdbg_store_int(counts, count, k - begin, csize);
        }
    *(int64_t *)LOOPDBG_ARG(call, 5) = count;
    return 0;
}

#endif
