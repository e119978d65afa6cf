/* Tensors as four numbers: what a boundary notes of a value of more than one element. */
#ifndef LOOPDBG_HISTORY_TENSORS_H
#define LOOPDBG_HISTORY_TENSORS_H

#include "history.h"
#include "wide.h"

/* Sums and extremes in four lanes, so that every processor adds in one order. */
typedef struct {
    double low[4], high[4], sum[4], squares[4];
} history_lanes;

static inline void history_add(history_lanes *to, double const *x, int64_t n) {
    int64_t k = 0;
#if defined(__SSE2__)
    /* The same lanes, two to a register. */
    __m128d low[2], high[2], sum[2], squares[2];
    for (int j = 0; j < 2; j++) {
        low[j] = _mm_loadu_pd(to->low + 2 * j), high[j] = _mm_loadu_pd(to->high + 2 * j);
        sum[j] = _mm_loadu_pd(to->sum + 2 * j), squares[j] = _mm_loadu_pd(to->squares + 2 * j);
    }
    for (; k + 4 <= n; k += 4)
        for (int j = 0; j < 2; j++) {
            __m128d const a = _mm_loadu_pd(x + k + 2 * j);
            low[j] = _mm_min_pd(a, low[j]), high[j] = _mm_max_pd(a, high[j]);
            sum[j] = _mm_add_pd(sum[j], a), squares[j] = _mm_add_pd(squares[j], _mm_mul_pd(a, a));
        }
    for (int j = 0; j < 2; j++) {
        _mm_storeu_pd(to->low + 2 * j, low[j]), _mm_storeu_pd(to->high + 2 * j, high[j]);
        _mm_storeu_pd(to->sum + 2 * j, sum[j]), _mm_storeu_pd(to->squares + 2 * j, squares[j]);
    }
#endif
    for (; k + 4 <= n; k += 4) {
        for (int j = 0; j < 4; j++) {
            to->low[j] = x[k + j] < to->low[j] ? x[k + j] : to->low[j];
            to->high[j] = x[k + j] > to->high[j] ? x[k + j] : to->high[j];
            to->sum[j] += x[k + j];
            to->squares[j] += x[k + j] * x[k + j];
        }
    }
    for (; k < n; k++) {
        to->low[0] = x[k] < to->low[0] ? x[k] : to->low[0];
        to->high[0] = x[k] > to->high[0] ? x[k] : to->high[0];
        to->sum[0] += x[k];
        to->squares[0] += x[k] * x[k];
    }
}

/* Hands on so many elements in pieces that fit `HISTORY_ROWS` doubles; the next one to look at, or -1. */
typedef struct {
    int64_t count, runs, run;
} history_walk;

static inline history_walk history_walk_of(int64_t count) {
    history_walk w = {count, 0, 0};
    if (count > HISTORY_SAMPLE) w.runs = HISTORY_SAMPLE / 16;
    return w;
}

/* The next piece: where it begins, and in `n` how long it is; -1: there are no more. */
static inline int64_t history_next(history_walk *w, int64_t *n) {
    int64_t at;
    if (w->runs) {
        if (w->run == w->runs) return -1;
        /* Evenly, the first and the last elements included. */
        at = (int64_t)((double)(w->count - 16) * (double)w->run / (double)(w->runs - 1));
        *n = 16;
    } else {
        at = w->run * HISTORY_ROWS;
        if (at >= w->count) return -1;
        *n = w->count - at < HISTORY_ROWS ? w->count - at : HISTORY_ROWS;
    }
    w->run++;
    return at;
}

/* The same of floats, in as many lanes as the widest processors have: they are what most loops carry. */
enum { HISTORY_LANES = 16 };
WIDE static void history_add_floats(history_lanes *to, float const *x, int64_t n) {
    float low[HISTORY_LANES], high[HISTORY_LANES];
    double sum[HISTORY_LANES], squares[HISTORY_LANES];
    int64_t k = 0;
    for (int j = 0; j < HISTORY_LANES; j++) {
        low[j] = INFINITY, high[j] = -INFINITY;
        sum[j] = squares[j] = 0;
    }
    for (; k + HISTORY_LANES <= n; k += HISTORY_LANES)
        for (int j = 0; j < HISTORY_LANES; j++) {
            float const v = x[k + j];
            double const wide = v;
            low[j] = v < low[j] ? v : low[j];
            high[j] = v > high[j] ? v : high[j];
            sum[j] += wide;
            squares[j] += wide * wide;
        }
    for (; k < n; k++) {
        double const wide = x[k];
        low[0] = x[k] < low[0] ? x[k] : low[0];
        high[0] = x[k] > high[0] ? x[k] : high[0];
        sum[0] += wide;
        squares[0] += wide * wide;
    }
    for (int j = 0; j < HISTORY_LANES; j++) {
        int const lane = j % 4;
        to->low[lane] = low[j] < to->low[lane] ? low[j] : to->low[lane];
        to->high[lane] = high[j] > to->high[lane] ? high[j] : to->high[lane];
        to->sum[lane] += sum[j];
        to->squares[lane] += squares[j];
    }
}

/* Norm, smallest, largest and mean of a tensor: the last three of its finite elements, and the norm of one element is itself.
 * Returns whether not all elements were looked at. */
static inline int history_summary(history_series const *q, char const *data, int64_t count, double *told) {
    double x[HISTORY_ROWS];
    history_lanes lanes;
    history_walk w = history_walk_of(count);
    int64_t at, n, seen = 0;
    told[0] = told[1] = told[2] = told[3] = NAN;
    if (count <= 0) return 0;
    if (count == 1) {
        history_numbers(q, data, 0, 1, told);
        if (told[0] - told[0] == 0) told[1] = told[2] = told[3] = told[0];
        return 0;
    }
    for (int j = 0; j < 4; j++) {
        lanes.low[j] = INFINITY;
        lanes.high[j] = -INFINITY;
        lanes.sum[j] = lanes.squares[j] = 0;
    }
    if (q->kind == KIND_F32 && !w.runs) {
        history_add_floats(&lanes, (float const *)data, count);
        seen = count;
    } else
        while ((at = history_next(&w, &n)) >= 0) {
            history_numbers(q, data + at * q->itemsize, q->itemsize, n, x);
            history_add(&lanes, x, n);
            seen += n;
        }
    double low = INFINITY, high = -INFINITY, sum = 0, squares = 0;
    for (int j = 0; j < 4; j++) {
        low = lanes.low[j] < low ? lanes.low[j] : low;
        high = lanes.high[j] > high ? lanes.high[j] : high;
        sum += lanes.sum[j];
        squares += lanes.squares[j];
    }
    if (sum - sum != 0 || squares - squares != 0) {
        /* Something is not finite, or large: once more, and slowly. */
        int64_t finite = 0, nan = 0, inf = 0;
        double most = 0;
        low = INFINITY, high = -INFINITY, sum = squares = 0;
        w = history_walk_of(count);
        while ((at = history_next(&w, &n)) >= 0) {
            history_numbers(q, data + at * q->itemsize, q->itemsize, n, x);
            for (int64_t k = 0; k < n; k++) {
                if (x[k] - x[k] != 0) {
                    nan += x[k] != x[k];
                    inf += x[k] == x[k];
                    continue;
                }
                finite++;
                low = x[k] < low ? x[k] : low;
                high = x[k] > high ? x[k] : high;
                most = fabs(x[k]) > most ? fabs(x[k]) : most;
                sum += x[k] / (double)seen;
            }
        }
        w = history_walk_of(count);
        while ((at = history_next(&w, &n)) >= 0) {
            history_numbers(q, data + at * q->itemsize, q->itemsize, n, x);
            for (int64_t k = 0; k < n; k++)
                if (x[k] - x[k] == 0 && most > 0) squares += x[k] / most * (x[k] / most);
        }
        told[0] = nan ? NAN : inf ? INFINITY : most * sqrt(squares);
        if (finite) {
            told[1] = low, told[2] = high;
            told[3] = sum * ((double)seen / (double)finite);
        }
        return w.runs > 0;
    }
    told[0] = sqrt(squares);
    told[1] = low, told[2] = high, told[3] = sum / (double)seen;
    return w.runs > 0;
}

#endif
