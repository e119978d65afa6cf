/* Statistics of tensors of more than one element at a boundary. */
#ifndef LOOPDBG_HISTORY_TENSORS_H
#define LOOPDBG_HISTORY_TENSORS_H

#include "value_history.h"
#include "kernels/dispatch/processor.h"

/* Sums and extremes in four lanes, so that all processors add in the same order. */
typedef struct {
    double low[4], high[4], sum[4], squares[4];
} history_partial_sums;

static inline void history_accumulate(history_partial_sums *to, double const *x, int64_t n) {
    int64_t k = 0;
#if defined(__SSE2__) && !defined(LOOPDBG_PORTABLE)
    /* The same lanes, two per register. */
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

/* For floats, the most common carried type: as many lanes as the widest processors have. */
enum { HISTORY_LANES = 16 };
#define BODY "../../engine/history/tensor_stats_lanes.h"
#include "kernels/dispatch/foreach_target.h"

/* Convert up to `HISTORY_ROWS` elements from `i` on to doubles; returns their number. */
static inline int64_t history_read_chunk(history_series const *q, char const *data, int64_t i, int64_t count, double *x) {
    int64_t const n = count - i < HISTORY_ROWS ? count - i : HISTORY_ROWS;
    history_to_doubles(q, data + i * q->itemsize, q->itemsize, n, x);
    return n;
}

/* Norm, minimum, maximum and mean of a tensor: the last three of its finite elements; the norm of one element is
 * itself. All elements count: sampling could miss a NaN. */
static inline void history_tensor_stats(history_series const *q, char const *data, int64_t count, double *stats) {
    double x[HISTORY_ROWS];
    history_partial_sums lanes;
    if (count <= 0) {
        stats[0] = stats[1] = stats[2] = stats[3] = history_empty_value();
        return;
    }
    stats[0] = stats[1] = stats[2] = stats[3] = NAN;
    if (count == 1) {
        history_to_doubles(q, data, 0, 1, stats);
        if (stats[0] - stats[0] == 0) stats[1] = stats[2] = stats[3] = stats[0];
        return;
    }
    for (int j = 0; j < 4; j++) {
        lanes.low[j] = INFINITY;
        lanes.high[j] = -INFINITY;
        lanes.sum[j] = lanes.squares[j] = 0;
    }
    if (q->kind == KIND_F32) DISPATCH(history_accumulate_floats)(&lanes, (float const *)data, count);
    else
        for (int64_t i = 0; i < count; i += HISTORY_ROWS) {
            int64_t const n = history_read_chunk(q, data, i, count, x);
            history_accumulate(&lanes, x, n);
        }
    double low = INFINITY, high = -INFINITY, sum = 0, squares = 0;
    for (int j = 0; j < 4; j++) {
        low = lanes.low[j] < low ? lanes.low[j] : low;
        high = lanes.high[j] > high ? lanes.high[j] : high;
        sum += lanes.sum[j];
        squares += lanes.squares[j];
    }
    /* Squares of the largest doubles overflow, those of the smallest vanish. */
    if (sum - sum != 0 || squares - squares != 0 || (squares < 1e-280 && (low != 0 || high != 0))) {
        /* Slow path for values that are not finite, or extreme. */
        int64_t finite = 0, nan = 0, inf = 0;
        double scale = 0;
        low = INFINITY, high = -INFINITY, sum = squares = 0;
        for (int64_t i = 0; i < count; i += HISTORY_ROWS) {
            int64_t const n = history_read_chunk(q, data, i, count, x);
            for (int64_t k = 0; k < n; k++) {
                if (x[k] - x[k] != 0) {
                    nan += x[k] != x[k];
                    inf += x[k] == x[k];
                    continue;
                }
                finite++;
                low = x[k] < low ? x[k] : low;
                high = x[k] > high ? x[k] : high;
                scale = fabs(x[k]) > scale ? fabs(x[k]) : scale;
            }
        }
        for (int64_t i = 0; i < count; i += HISTORY_ROWS) {
            int64_t const n = history_read_chunk(q, data, i, count, x);
            for (int64_t k = 0; k < n; k++)
                if (x[k] - x[k] == 0 && scale > 0) {
                    double const part = x[k] / scale;
                    sum += part;
                    squares += part * part;
                }
        }
        stats[0] = nan ? NAN : inf ? INFINITY : scale * sqrt(squares);
        if (finite) {
            stats[1] = low, stats[2] = high;
            stats[3] = sum / (double)finite * scale;
        }
        return;
    }
    stats[0] = sqrt(squares);
    stats[1] = low, stats[2] = high, stats[3] = sum / (double)count;
}

/* Write a tensor's statistics to the newest row of the ring, `row`; converts its series to statistics. */
static inline void history_write_tensor(loop_history *h, int series, uint64_t *row, char const *data, int64_t count) {
    history_entry *e = h->now;
    history_series const *q = h->series + series;
    uint64_t *cell = row + series * HISTORY_COLUMNS * HISTORY_ROWS;
    double stats[HISTORY_COLUMNS];
    if (!e->wide[series]) {
        e->n--;
        history_widen(h, e, series);
        e->n++;
    }
    if (q->identity && e->n > 1)
        for (int c = 0; c < HISTORY_COLUMNS; c++) memcpy(stats + c, cell + c * HISTORY_ROWS - 1, sizeof *stats);
    else history_tensor_stats(q, data, count, stats);
    for (int c = 0; c < HISTORY_COLUMNS; c++) memcpy(cell + c * HISTORY_ROWS, stats + c, sizeof *stats);
}

#endif
