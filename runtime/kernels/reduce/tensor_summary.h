/* Statistics of a tensor, and its difference from another one, in one pass over memory.
 *
 * Blocks are processed in lanes that compilers vectorize. If a block has values that are not finite, or whose squares
 * overflow, it is processed again, element by element, while it is in the cache. */
#ifndef LOOPDBG_SUMMARY_H
#define LOOPDBG_SUMMARY_H

#include <float.h>

#include "../element_types/to_double.h"
#include "../dispatch/processor.h"

enum { SUMMARY_BLOCK = 1024, SUMMARY_LANES = 16 };

typedef struct {
    int64_t size, finite, nan, inf, zeros;
    int64_t argmin, argmax; /* -1: nothing is finite */
    double low, high;
    int64_t int64_min, int64_max; /* the same for 64-bit integers, as the type's bits */
    double mean, spread, squares; /* sum of squared distances from the mean, and sum of squares, in units of `unit` */
    double unit;
    /* For 64 bits: the first element, the mean distance from it, and the sum of squared distances from the mean. */
    int64_t int64_first;
    double int64_mean, int64_squared_deviations;
} loopdbg_summary;

typedef struct {
    int64_t size, same;
    int64_t lost; /* elements whose difference is NaN */
    int64_t flat_index;   /* of the largest difference; -1: none */
    double largest;
    uint64_t uint64_largest; /* the same for 64-bit integers, which doubles would round */
} loopdbg_difference;

static inline void loopdbg_summary_begin(loopdbg_summary *s) {
    memset(s, 0, sizeof *s);
    s->argmin = s->argmax = -1;
    s->unit = 1;
}

static inline void loopdbg_difference_begin(loopdbg_difference *c) {
    memset(c, 0, sizeof *c);
    c->flat_index = -1;
}

typedef struct {
    double low, high;
    double sum, squares; /* of the distances from the first element */
    int64_t zeros;
} loopdbg_block_summary;

typedef struct {
    double most, sum;
    int64_t same;
} loopdbg_block_difference;

#define BODY "../reduce/tensor_summary_lanes.h"
#include "../dispatch/foreach_target.h"

/* -- moments */

/* Merge the moments of some elements, in the unit of the summary, with those so far. See Chan, Golub, LeVeque, Updating
 * Formulae for Sample Variances. */
static inline void loopdbg_merge_moments(loopdbg_summary *s, int64_t count, double mean, double spread, double squares) {
    double const together = (double)(s->finite + count), distance = mean - s->mean;
    s->spread += spread + distance * distance * ((double)s->finite / together) * (double)count;
    s->squares += squares;
    s->mean += distance * ((double)count / together);
    s->finite += count;
}

/* Squares of the largest numbers overflow, those of the smallest vanish. */
static inline int loopdbg_squares_overflow(double most) { return most > 1e140 || (most > 0 && most < 1e-140); }

/* Choose a unit that represents the moments so far and those of numbers up to `most`. */
static inline void loopdbg_rescale_unit(loopdbg_summary *s, double most) {
    double unit = most == 0 ? s->unit : 1;
    if (loopdbg_squares_overflow(most)) {
        int exponent;
        frexp(most, &exponent);
        unit = ldexp(1, exponent - 1);
    }
    /* Zeros are the same in all. */
    if (s->mean == 0 && s->squares == 0) s->unit = unit;
    else if (unit > s->unit) {
        double const ratio = s->unit / unit;
        s->mean *= ratio;
        s->spread *= ratio * ratio;
        s->squares *= ratio * ratio;
        s->unit = unit;
    }
}

/* Element by element, for any values. */
static void loopdbg_summary_scalar(loopdbg_summary *s, double const *x, int64_t n, int64_t start) {
    int64_t finite = 0;
    double most = 0, sum = 0, mean, spread = 0, squares = 0;
    for (int64_t k = 0; k < n; k++) {
        if (x[k] - x[k] != 0) {
            if (x[k] != x[k]) s->nan++;
            else s->inf++;
            continue;
        }
        finite++;
        s->zeros += x[k] == 0;
        most = fabs(x[k]) > most ? fabs(x[k]) : most;
        if (s->argmin < 0 || x[k] < s->low) s->low = x[k] + 0.0, s->argmin = start + k;
        if (s->argmax < 0 || x[k] > s->high) s->high = x[k] + 0.0, s->argmax = start + k;
    }
    if (!finite) return;
    loopdbg_rescale_unit(s, most);
    for (int64_t k = 0; k < n; k++)
        if (x[k] - x[k] == 0) sum += x[k] / s->unit;
    mean = sum / (double)finite;
    for (int64_t k = 0; k < n; k++) {
        double const v = x[k] / s->unit;
        if (x[k] - x[k] != 0) continue;
        spread += (v - mean) * (v - mean);
        squares += v * v;
    }
    loopdbg_merge_moments(s, finite, mean, spread, squares);
}

#define SUMMARY_OF(ID, T)                                                                                     \
    static inline void loopdbg_summary_##ID(loopdbg_summary *s, T const *x, int64_t n, int64_t start) {          \
        loopdbg_block_summary b;                                                                                      \
        DISPATCH(block_##ID)(x, n, &b);                                                                         \
        double const most = fabs(b.low) > fabs(b.high) ? fabs(b.low) : fabs(b.high), distance = b.sum / (double)n; \
        if (b.sum - b.sum != 0 || b.squares - b.squares != 0 || s->unit != 1 || loopdbg_squares_overflow(most)) {   \
            double wide[SUMMARY_BLOCK];                                                                       \
            for (int64_t k = 0; k < n; k++) wide[k] = x[k];                                                   \
            loopdbg_summary_scalar(s, wide, n, start);                                                           \
            return;                                                                                           \
        }                                                                                                     \
        double const mean = (double)x[0] + distance, spread = b.squares - b.sum * distance > 0 ? b.squares - b.sum * distance : 0; \
        loopdbg_merge_moments(s, n, mean, spread, spread + (double)n * mean * mean);                                   \
        s->zeros += b.zeros;                                                                                  \
        if (s->argmin < 0 || b.low < s->low) {                                                                \
            int64_t k = 0;                                                                                    \
            while (x[k] != b.low) k++;                                                                        \
            s->low = b.low + 0.0, s->argmin = start + k;                                                         \
        }                                                                                                     \
        if (s->argmax < 0 || b.high > s->high) {                                                             \
            int64_t k = 0;                                                                                    \
            while (x[k] != b.high) k++;                                                                       \
            s->high = b.high + 0.0, s->argmax = start + k;                                                      \
        }                                                                                                     \
    }
SUMMARY_OF(f32, float)
SUMMARY_OF(f64, double)

/* The exact distance of two integers as a double, with its sign. */
#define SUMMARY_DISTANCE(a, b) \
    ((a) >= (b) ? (double)((uint64_t)(a) - (uint64_t)(b)) : -(double)((uint64_t)(b) - (uint64_t)(a)))

/* Minimum, maximum and range of 64-bit integers: doubles would lose digits. `known`: number of earlier
 * elements. */
#define SUMMARY_WHOLE(ID, T)                                                                                  \
    static inline void loopdbg_whole_##ID(loopdbg_summary *s, char const *data, int64_t n, int64_t known) {   \
        T const *x = (T const *)data;                                                                         \
        int const first = known == 0;                                                                         \
        int64_t const start = known;                                                                             \
        double sum = 0, spread = 0;                                                                           \
        T origin;                                                                                             \
        if (first) memcpy(&s->int64_first, x, 8), s->int64_mean = s->int64_squared_deviations = 0;            \
        memcpy(&origin, &s->int64_first, 8);                                                                  \
        for (int64_t j = 0; j < n; j++) sum += SUMMARY_DISTANCE(x[j], origin);                                \
        double const mean = sum / (double)n, distance = mean - s->int64_mean, all = (double)(known + n);      \
        for (int64_t j = 0; j < n; j++) {                                                                     \
            double const d = SUMMARY_DISTANCE(x[j], origin) - mean;                                           \
            spread += d * d;                                                                                  \
        }                                                                                                     \
        s->int64_squared_deviations += spread + distance * distance * ((double)known / all) * (double)n;      \
        s->int64_mean += distance * ((double)n / all);                                                        \
        T low, high, known_low, known_high;                                                                   \
        int64_t k = 0;                                                                                        \
        DISPATCH(ends_##ID)(x, n, &low, &high);                                                                 \
        memcpy(&known_low, &s->int64_min, 8), memcpy(&known_high, &s->int64_max, 8);                         \
        if (first || low < known_low) {                                                                       \
            for (k = 0; x[k] != low;) k++;                                                                    \
            memcpy(&s->int64_min, &low, 8);                                                                   \
            s->argmin = start + k;                                                                               \
        }                                                                                                     \
        if (first || high > known_high) {                                                                     \
            for (k = 0; x[k] != high;) k++;                                                                   \
            memcpy(&s->int64_max, &high, 8);                                                                 \
            s->argmax = start + k;                                                                              \
        }                                                                                                     \
    }
SUMMARY_WHOLE(i64, int64_t)
SUMMARY_WHOLE(u64, uint64_t)

/* -- differences */

static inline void loopdbg_record_difference(loopdbg_difference *c, double distance, int64_t index) {
    if (c->flat_index < 0 || distance > c->largest) c->largest = distance, c->flat_index = index;
}

static inline void loopdbg_difference_element(loopdbg_difference *c, int same, double distance, int64_t index) {
    if (same) c->same++;
    else if (distance != distance) c->lost++;
    else loopdbg_record_difference(c, distance, index);
}

#define CHANGE_OF(ID, T)                                                                                      \
    static inline void loopdbg_change_##ID(loopdbg_difference *c, T const *x, T const *y, int64_t n, int64_t start) { \
        loopdbg_block_difference a;                                                                           \
        DISPATCH(apart_##ID)(x, y, n, &a);                                                                      \
        if (a.sum - a.sum != 0) {                                                                             \
            for (int64_t k = 0; k < n; k++)                                                                   \
                loopdbg_difference_element(c, x[k] == y[k] || (x[k] != x[k] && y[k] != y[k]),                         \
                                   fabs((double)y[k] - (double)x[k]), start + k);                                \
            return;                                                                                           \
        }                                                                                                     \
        c->same += a.same;                                                                                    \
        if (a.same < n && (c->flat_index < 0 || a.most > c->largest)) {                                               \
            int64_t k = 0;                                                                                    \
            while (x[k] == y[k] || fabs((double)y[k] - (double)x[k]) != a.most) k++;                          \
            c->largest = a.most, c->flat_index = start + k;                                                   \
        }                                                                                                     \
    }
CHANGE_OF(f32, float)
CHANGE_OF(f64, double)

#define CHANGE_ONE_BY_ONE(T, EQUAL_MASK, APART)                                                                     \
    for (int64_t k = 0; k < n; k++) {                                                                         \
        T a, b;                                                                                               \
        memcpy(&a, x + k * (int64_t)sizeof a, sizeof a), memcpy(&b, y + k * (int64_t)sizeof b, sizeof b);     \
        loopdbg_difference_element(c, EQUAL_MASK, APART, start + k);                                          \
    }
#define CHANGE_WHOLE(T)                                                                                       \
    for (int64_t k = 0; k < n; k++) {                                                                         \
        T a, b;                                                                                               \
        memcpy(&a, x + k * (int64_t)sizeof a, sizeof a), memcpy(&b, y + k * (int64_t)sizeof b, sizeof b);     \
        uint64_t const distance = b > a ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;              \
        if (!distance) c->same++;                                                                             \
        else if (c->flat_index < 0 || distance > c->uint64_largest)                                                    \
            c->uint64_largest = distance, c->largest = (double)distance, c->flat_index = start + k;           \
    }
#define IS_NAN(z) ((z).re != (z).re || (z).im != (z).im)

/* Those whose doubles, or whose magnitudes, do not decide equality. */
static void loopdbg_difference_exact(loopdbg_difference *c, int kind, char const *x, char const *y, int64_t n, int64_t start) {
    if (kind == KIND_I64) CHANGE_WHOLE(int64_t)
    else if (kind == KIND_U64) CHANGE_WHOLE(uint64_t)
    else if (kind == KIND_C64)
        CHANGE_ONE_BY_ONE(loopdbg_c64, (a.re == b.re && a.im == b.im) || (IS_NAN(a) && IS_NAN(b)),
                          hypot((double)b.re - a.re, (double)b.im - a.im))
    else
        CHANGE_ONE_BY_ONE(loopdbg_c128, (a.re == b.re && a.im == b.im) || (IS_NAN(a) && IS_NAN(b)),
                          hypot(b.re - a.re, b.im - a.im))
}

/* -- the pass */

/* Process the next n elements, and if `c` is given their previous values in `before`. */
static void loopdbg_summarize(int kind, double const *table, int64_t itemsize, char const *data, char const *before, int64_t n,
                              loopdbg_summary *s, loopdbg_difference *c) {
    double wide[SUMMARY_BLOCK], other[SUMMARY_BLOCK];
    for (int64_t start = 0; start < n; start += SUMMARY_BLOCK) {
        int64_t const m = n - start < SUMMARY_BLOCK ? n - start : SUMMARY_BLOCK;
        char const *y = data + start * itemsize, *x = c ? before + start * itemsize : NULL;
        int const plain = kind == KIND_F32 || kind == KIND_F64;
        int const exact = !(kind == KIND_I64 || kind == KIND_U64 || kind == KIND_C64 || kind == KIND_C128);
        if (!plain && (s || exact)) loopdbg_elements_to_double(kind, table, y, itemsize, m, wide);
        if (s) {
            if (kind == KIND_F32) loopdbg_summary_f32(s, (float const *)y, m, s->size);
            else if (kind == KIND_F64) loopdbg_summary_f64(s, (double const *)y, m, s->size);
            else loopdbg_summary_f64(s, wide, m, s->size);
            if (kind == KIND_I64) loopdbg_whole_i64(s, y, m, s->size);
            if (kind == KIND_U64) loopdbg_whole_u64(s, y, m, s->size);
            s->size += m;
        }
        if (c) {
            if (kind == KIND_F32) loopdbg_change_f32(c, (float const *)x, (float const *)y, m, c->size);
            else if (kind == KIND_F64) loopdbg_change_f64(c, (double const *)x, (double const *)y, m, c->size);
            else if (exact) {
                loopdbg_elements_to_double(kind, table, x, itemsize, m, other);
                loopdbg_change_f64(c, other, wide, m, c->size);
            } else loopdbg_difference_exact(c, kind, x, y, m, c->size);
            c->size += m;
        }
    }
}

/* For each row the minimum, maximum and mean of its finite elements, their norm, and the number of elements that are
 * not finite; NaN where none is finite. */
static void loopdbg_summarize_rows(int kind, double const *table, int64_t itemsize, char const *data, int64_t rows, int64_t n,
                                   double *low, double *high, double *mean, double *norm, int64_t *odd) {
    for (int64_t r = 0; r < rows; r++) {
        loopdbg_summary s;
        loopdbg_summary_begin(&s);
        loopdbg_summarize(kind, table, itemsize, data + r * n * itemsize, NULL, n, &s, NULL);
        low[r] = high[r] = mean[r] = norm[r] = NAN;
        odd[r] = s.nan + s.inf;
        if (!s.finite) continue;
        low[r] = s.low, high[r] = s.high, mean[r] = s.mean * s.unit;
        norm[r] = sqrt(s.squares) * s.unit;
    }
}

#endif
