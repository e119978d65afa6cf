/* What a loop's values were at all its boundaries, in bounded memory.
 *
 * A row is what one boundary shows: of a value of one element its bits, of a larger one its norm, smallest, largest and mean.
 * Rows stand in a ring, which is all that a boundary writes. Once it is full they are reduced to buckets of a power of two of
 * rows each, wider the later they are: 1 up to row 512, then 2 up to 1024, 4 up to 2048 ... So nothing is ever written again:
 * what was known at an earlier moment is a beginning of what is known now. The newest row stays in the ring, for it can be
 * changed by hand.
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

enum {
    HISTORY_ROWS = 512,    /* of a ring */
    HISTORY_COLUMNS = 4,   /* of a series: norm, smallest, largest, mean; or the first alone, with bits */
    HISTORY_ENTRIES = 8,   /* of a loop that are remembered, the running one included */
};

typedef struct {
    double low, high; /* of finite numbers; NaN where there are none */
    double first, last;
    double nonfinite; /* how many are not finite */
} history_stat;

typedef struct {
    int result;     /* the slot that is read where a boundary is crossed */
    int param;      /* and the one where an entry begins; -1: none, the first row has nothing */
    int kind, itemsize;
    int steady;     /* nothing but a hand changes it: it is read where rows are reduced, through `cell` */
    int identity;   /* handed on as it is */
    char **cell;
    ptrdiff_t const *nbytes;
    double *table;
} history_series;

typedef struct {
    int64_t entry;  /* its number; -1: none */
    int64_t origin; /* the iteration of row 0 */
    int64_t rows;   /* that were reduced */
    int n;          /* rows in the ring */
    int out_of_memory;       /* memory ran out: nothing was noted since */
    uint64_t *ring; /* HISTORY_ROWS of each column */
    history_stat *log, *pending; /* rows of all columns: whole buckets, and the one that is begun */
    int64_t nlog, capacity;
    char *wide;     /* of each series: its rows are the four numbers */
} history_entry;

typedef struct {
    int nseries;
    int nentries;   /* places for entries: a loop of the main graph is entered once */
    history_series *series;
    history_entry entries[HISTORY_ENTRIES];
    history_entry *now;
} loop_history;

/* How many rows the bucket with a row has. */
static inline int64_t history_bucket_rows(int64_t row) {
    return row < HISTORY_ROWS ? 1 : (int64_t)1 << (63 - __builtin_clzll((uint64_t)row) - 8);
}

/* The width of all buckets where so many rows are to be HISTORY_ROWS buckets at most. */
static inline int64_t history_uniform_width(int64_t rows) {
    int64_t width = 1;
    while (rows > HISTORY_ROWS * width) width *= 2;
    return width;
}

/* Elements as doubles. */
static inline void history_to_doubles(history_series const *q, char const *from, int64_t step, int64_t n, double *to) {
    loopdbg_elements_to_double(q->kind, q->table, from, step, n, to);
}

/* -- buckets */

static inline int history_is_empty(history_stat const *a) { return a->low != a->low && a->nonfinite == 0; }

/* Let a bucket that is followed by another one have both. */
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

/* What stands for a tensor without elements: a NaN of its own, which is not counted as one. */
static inline double history_empty_value(void) {
    uint64_t const bits = 0x7ff8000067617000u;
    double gap;
    memcpy(&gap, &bits, sizeof gap);
    return gap;
}

static inline int history_is_nonfinite(double x) {
    double const gap = history_empty_value();
    return x - x != 0 && memcmp(&x, &gap, sizeof x) != 0;
}

/* The bucket of one number. */
static inline history_stat history_stat_of(double x) {
    history_stat one = {x + 0.0, x + 0.0, x, x, 0};
    if (x - x != 0) {
        one.low = one.high = NAN;
        one.nonfinite = history_is_nonfinite(x);
    }
    return one;
}

/* The bucket of some numbers, at least one. */
static inline history_stat history_reduce(double const *x, int64_t n) {
    history_stat all = history_stat_of(x[0]);
    int64_t k = 0;
    all.last = x[n - 1];
#if defined(__SSE2__) && !defined(LOOPDBG_PORTABLE)
    if (n >= 8) {
        /* What is not finite leaves a NaN in `rest`. */
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

/* Where column `c` of series `k` stands in a ring. */
static inline uint64_t *history_column(history_entry const *e, int k, int c) {
    return e->ring + (int64_t)(k * HISTORY_COLUMNS + c) * HISTORY_ROWS;
}

/* What a series is that nothing but a hand changes. */
static inline double history_steady_value(history_series const *q) {
    double x = NAN;
    if (*q->cell != NULL && *q->nbytes == q->itemsize) history_to_doubles(q, *q->cell, 0, 1, &x);
    return x;
}

/* The numbers that a column of the ring has, from row 0 up to n; one column alone where rows are bits. */
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
    /* A loop that carries nothing has rows of nothing. */
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
        int const told = e->wide[k] ? HISTORY_COLUMNS : 1;
        for (int c = 0; c < told; c++) {
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
        /* Of one element all four are the same. */
        for (int c = told; c < HISTORY_COLUMNS; c++) {
            int const column = k * HISTORY_COLUMNS;
            e->pending[column + c] = e->pending[column];
            for (int64_t j = 0; j < more; j++)
                e->log[(e->nlog + j) * columns + column + c] = e->log[(e->nlog + j) * columns + column];
        }
        for (int c = 0; c < told; c++) {
            uint64_t *cells = history_column(e, k, c);
            cells[0] = cells[m];
        }
    }
    e->nlog += more;
    e->rows += m;
    e->n = 1;
}

/* The place of the running entry. Not in Cython: with its checks for overflow, pointers differ by bytes. */
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

/* Where the next row goes. */
static inline uint64_t *history_row(loop_history *h) {
    history_entry *e = h->now;
    if (e->n == HISTORY_ROWS) history_flush(h, e);
    return e->ring + e->n++;
}

/* From here on the rows of a series are four numbers. */
static inline void history_widen(loop_history *h, history_entry *e, int k) {
    double x[HISTORY_ROWS];
    history_read_column(h, e, k, 0, e->n, x);
    for (int c = 0; c < HISTORY_COLUMNS; c++) {
        double *cells = (double *)history_column(e, k, c);
        for (int j = 0; j < e->n; j++) cells[j] = c && x[j] - x[j] != 0 ? NAN : x[j];
    }
    e->wide[k] = 1;
}

/* All rows of an entry as buckets of `width` rows, of each series its four columns: [rows / width][columns]. */
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
