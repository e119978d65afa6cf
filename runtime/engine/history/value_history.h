/* The values of a loop at all its boundaries, in bounded memory.
 *
 * A row is one boundary: the bits of a value of one element, else norm, minimum, maximum and mean. A boundary writes
 * only to a ring of rows. A full ring is reduced to buckets, whose width in rows is a power of two that grows with the
 * row number: 1 up to row 512, then 2 up to 1024, 4 up to 2048 ... The log is append-only: an earlier state is a prefix
 * of the present one. The newest row stays in the ring, since the user may edit it.
 */
#ifndef LOOPDBG_HISTORY_H
#define LOOPDBG_HISTORY_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__) && !defined(LOOPDBG_PORTABLE)
#include <emmintrin.h>
#endif

#include "kernels/element_types/to_double.h"
#include "value_history_structs.h"

/* Number of rows in the bucket of a row. */
static inline int64_t history_bucket_rows(int64_t row) {
    return row < HISTORY_ROWS ? 1 : (int64_t)1 << (63 - __builtin_clzll((uint64_t)row) - 8);
}

/* Uniform bucket width for at most HISTORY_ROWS buckets. */
static inline int64_t history_uniform_width(int64_t rows) {
    int64_t width = 1;
    while (rows > HISTORY_ROWS * width) width *= 2;
    return width;
}

/* Convert elements to doubles. */
static inline void history_to_doubles(history_series const *q, char const *from, int64_t step, int64_t n, double *to) {
    loopdbg_elements_to_double(q->kind, q->table, from, step, n, to);
}

/* -- buckets */

static inline int history_is_empty(history_stat const *a) { return a->low != a->low && a->nonfinite == 0; }

/* Merge bucket `b`, which follows `a`, into `a`. */
static inline void history_merge_buckets(history_stat *a, history_stat const *b) {
    if (history_is_empty(a)) {
        *a = *b;
        return;
    }
    if (history_is_empty(b)) return;
    if (!(a->low <= b->low)) a->low = b->low == b->low ? b->low : a->low;
    if (!(a->high >= b->high)) a->high = b->high == b->high ? b->high : a->high;
    a->last = b->last;
    a->nonfinite += b->nonfinite;
}

static inline history_stat history_empty_stat(void) {
    history_stat nothing = {NAN, NAN, NAN, NAN, 0};
    return nothing;
}

/* Represents a tensor without elements: a distinct NaN, which is not counted as one. */
static inline double history_empty_value(void) {
    uint64_t const bits = 0x7ff8000067617000u;
    double empty;
    memcpy(&empty, &bits, sizeof empty);
    return empty;
}

static inline int history_is_nonfinite(double x) {
    double const empty = history_empty_value();
    return x - x != 0 && memcmp(&x, &empty, sizeof x) != 0;
}

/* The bucket of one number. */
static inline history_stat history_stat_of(double x) {
    history_stat stat = {x + 0.0, x + 0.0, x, x, 0};
    if (x - x != 0) {
        stat.low = stat.high = NAN;
        stat.nonfinite = history_is_nonfinite(x);
    }
    return stat;
}

/* The bucket of one or more numbers. */
static inline history_stat history_reduce(double const *x, int64_t n) {
    history_stat all = history_stat_of(x[0]);
    int64_t k = 0;
    all.last = x[n - 1];
#if defined(__SSE2__) && !defined(LOOPDBG_PORTABLE)
    if (n >= 8) {
        /* Values that are not finite leave a NaN in `rest`. */
        __m128d low = _mm_loadu_pd(x), high = low, low2 = low, high2 = low, rest = _mm_setzero_pd(), rest2 = rest;
        for (; k + 4 <= n; k += 4) {
            __m128d a = _mm_loadu_pd(x + k), b = _mm_loadu_pd(x + k + 2);
            low = _mm_min_pd(low, a), high = _mm_max_pd(high, a);
            low2 = _mm_min_pd(low2, b), high2 = _mm_max_pd(high2, b);
            rest = _mm_add_pd(rest, _mm_sub_pd(a, a)), rest2 = _mm_add_pd(rest2, _mm_sub_pd(b, b));
        }
        double lows[2], highs[2], rests[2];
        _mm_storeu_pd(lows, _mm_min_pd(low, low2));
        _mm_storeu_pd(highs, _mm_max_pd(high, high2));
        _mm_storeu_pd(rests, _mm_add_pd(rest, rest2));
        if (rests[0] + rests[1] == 0) {
            all.low = (lows[0] < lows[1] ? lows[0] : lows[1]) + 0.0;
            all.high = (highs[0] > highs[1] ? highs[0] : highs[1]) + 0.0;
            all.nonfinite = 0;
        } else k = 0;
    }
#endif
    if (k == 0) {
        all.low = all.high = NAN;
        all.nonfinite = 0;
    }
    for (; k < n; k++) {
        if (x[k] - x[k] != 0) {
            all.nonfinite += history_is_nonfinite(x[k]);
            continue;
        }
        if (!(all.low <= x[k])) all.low = x[k] + 0.0;
        if (!(all.high >= x[k])) all.high = x[k] + 0.0;
    }
    return all;
}

/* Column `c` of series `k` in a ring. */
static inline uint64_t *history_column(history_entry const *e, int k, int c) {
    return e->ring + (int64_t)(k * HISTORY_COLUMNS + c) * HISTORY_ROWS;
}

/* The value of a steady series. */
static inline double history_steady_value(history_series const *q) {
    double x = NAN;
    if (*q->cell != NULL && *q->nbytes == q->itemsize) history_to_doubles(q, *q->cell, 0, 1, &x);
    return x;
}

/* Rows 0 to n of a column of the ring as numbers; column 0 only where rows are bits. */
static inline void history_read_column(loop_history const *h, history_entry const *e, int k, int c, int n, double *to) {
    history_series const *q = h->series + k;
    if (q->kind <= KIND_NONE) {
        for (int j = 0; j < n; j++) to[j] = NAN;
    } else if (e->wide[k]) {
        memcpy(to, history_column(e, k, c), sizeof(double) * (size_t)n);
    } else if (q->steady) {
        double const x = history_steady_value(q);
        for (int j = 0; j < n; j++) to[j] = x;
    } else history_to_doubles(q, (char const *)history_column(e, k, 0), sizeof(uint64_t), n, to);
}

static inline int history_grow(loop_history const *h, history_entry *e, int64_t more) {
    size_t row = sizeof(history_stat) * (size_t)(h->nseries * HISTORY_COLUMNS);
    /* Without values rows are empty. */
    if (row == 0 || e->nlog + more <= e->capacity) return 1;
    int64_t capacity = e->nlog + more > 2 * e->capacity ? e->nlog + more : 2 * e->capacity;
    history_stat *log = (history_stat *)realloc(e->log, (size_t)capacity * row);
    if (log == NULL) return 0;
    e->log = log;
    e->capacity = capacity;
    return 1;
}

/* Reduce all rows of the ring but the newest one. */
static inline void history_flush(loop_history *h, history_entry *e) {
    int64_t const m = e->n - 1;
    int const columns = h->nseries * HISTORY_COLUMNS;
    int64_t more = 0;
    double x[HISTORY_ROWS];
    if (m <= 0) return;
    if (e->out_of_memory || !history_grow(h, e, m)) {
        e->out_of_memory = 1;
        e->n = 1;
        return;
    }
    for (int k = 0; k < h->nseries; k++) {
        int const ncolumns = e->wide[k] ? HISTORY_COLUMNS : 1;
        for (int c = 0; c < ncolumns; c++) {
            int const column = k * HISTORY_COLUMNS + c;
            history_stat *pending = e->pending + column;
            int64_t done = 0;
            int const steady = h->series[k].steady && !e->wide[k];
            history_stat const same = history_stat_of(steady ? history_steady_value(h->series + k) : NAN);
            more = 0;
            if (!steady) history_read_column(h, e, k, c, (int)m, x);
            while (done < m) {
                int64_t const row = e->rows + done, width = history_bucket_rows(row), end = (row & ~(width - 1)) + width;
                int64_t const n = end - row < m - done ? end - row : m - done;
                history_stat part;
                if (row == 0 && h->series[k].param < 0) part = history_empty_stat();
                else if (steady) {
                    part = same;
                    part.nonfinite *= (double)n;
                } else part = history_reduce(x + done, n);
                if (row & (width - 1)) history_merge_buckets(pending, &part);
                else *pending = part;
                done += n;
                if (row + n == end) {
                    e->log[(e->nlog + more) * columns + column] = *pending;
                    more++;
                }
            }
        }
        /* The statistics of one element are equal. */
        for (int c = ncolumns; c < HISTORY_COLUMNS; c++) {
            int const column = k * HISTORY_COLUMNS;
            e->pending[column + c] = e->pending[column];
            for (int64_t j = 0; j < more; j++)
                e->log[(e->nlog + j) * columns + column + c] = e->log[(e->nlog + j) * columns + column];
        }
        for (int c = 0; c < ncolumns; c++) {
            uint64_t *cells = history_column(e, k, c);
            cells[0] = cells[m];
        }
    }
    e->nlog += more;
    e->rows += m;
    e->n = 1;
}

/* Index of the running entry. Not in Cython: with its overflow checks, pointer differences are in bytes. */
static inline int history_entry_index(const loop_history *h) { return (int)(h->now - h->entries); }

/* Begin an entry, in place of the oldest one. */
static inline void history_begin(loop_history *h, int64_t entry, int64_t origin) {
    history_entry *e = h->now + 1 == h->entries + h->nentries ? h->entries : h->now + 1;
    h->now = e;
    e->entry = entry;
    e->origin = origin;
    e->rows = e->nlog = 0;
    e->n = e->out_of_memory = 0;
    memset(e->wide, 0, (size_t)h->nseries);
}

/* The next row. */
static inline uint64_t *history_row(loop_history *h) {
    history_entry *e = h->now;
    if (e->n == HISTORY_ROWS) history_flush(h, e);
    return e->ring + e->n++;
}

/* Convert the rows of a series to statistics. */
static inline void history_widen(loop_history *h, history_entry *e, int k) {
    double x[HISTORY_ROWS];
    history_read_column(h, e, k, 0, e->n, x);
    for (int c = 0; c < HISTORY_COLUMNS; c++) {
        double *cells = (double *)history_column(e, k, c);
        for (int j = 0; j < e->n; j++) cells[j] = c && x[j] - x[j] != 0 ? NAN : x[j];
    }
    e->wide[k] = 1;
}

/* All rows of an entry as buckets of `width` rows, with four columns of each series: [rows / width][columns]. */
static inline void history_view(loop_history const *h, history_entry const *e, int64_t width, history_stat *out) {
    int const columns = h->nseries * HISTORY_COLUMNS;
    int64_t const buckets = (e->rows + e->n + width - 1) / width;
    int64_t row = 0;
    double x[HISTORY_ROWS];
    for (int64_t j = 0; j < buckets * columns; j++) out[j] = history_empty_stat();
    for (int64_t j = 0; j < e->nlog; j++) {
        for (int c = 0; c < columns; c++) history_merge_buckets(out + row / width * columns + c, e->log + j * columns + c);
        row += history_bucket_rows(row);
    }
    if (row < e->rows)
        for (int c = 0; c < columns; c++) history_merge_buckets(out + row / width * columns + c, e->pending + c);
    for (int k = 0; k < h->nseries; k++)
        for (int c = 0; c < HISTORY_COLUMNS; c++) {
            history_read_column(h, e, k, c, e->n, x);
            for (int j = 0; j < e->n; j++) {
                history_stat part = history_stat_of(x[j]);
                if (e->rows + j == 0 && h->series[k].param < 0) continue;
                if (h->series[k].kind <= KIND_NONE) continue;
                history_merge_buckets(out + (e->rows + j) / width * columns + k * HISTORY_COLUMNS + c, &part);
            }
        }
}

#endif
