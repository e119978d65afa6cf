/* Products of 8-bit integers fused with the quantization of floats before them and the dequantization of sums after
 * them. Each number equals that of the separate nodes, with the same roundings. */
#ifndef LOOPDBG_INT8_CHAIN_H
#define LOOPDBG_INT8_CHAIN_H

#include "quantize_range.h"

/* Source of the rows. */
enum {
    LOOPDBG_FUSED_INT8_INPUT = 0,      /* bytes and their zero point */
    LOOPDBG_FUSED_DYNAMIC_QUANTIZE = 1,    /* floats, by DynamicQuantizeLinear */
    LOOPDBG_FUSED_OPENVINO_QUANTIZE = 2,   /* floats, by the nodes that OpenVINO writes for it */
    LOOPDBG_FUSED_INT32_INPUT = 3,   /* bytes less a zero point, as 32 bits */
};
enum { LOOPDBG_FUSED_NOT_POSSIBLE = 1 }; /* run the nodes separately this time */

typedef struct {
    int kind;
    npy_intp m, k, n;
    int a_signed, b_signed;
    npy_intp zero_step, scale_step;  /* step between columns */
    int addend;
    npy_intp addend_row;             /* step between the addends of rows */
} loopdbg_int8_fused_params;

/* Quantize a row of floats; returns the sum of the bytes. As in quantize.h; V: a number before rounding. */
#define INT8_ROW_OF_FLOATS(NAME, V)                                                                           \
    INLINE int32_t NAME(float const *x, uint8_t *restrict row, npy_intp k, float by, float zero) {            \
        float const least = 0.0f - zero, most = 255.0f - zero;                                                \
        int32_t sum = 0;                                                                                      \
        for (npy_intp j = 0; j < k; j++) {                                                                    \
            float v = V;                                                                                      \
            v = v > least ? v : least;                                                                        \
            v = v < most ? v : most;                                                                          \
            int32_t number = (int32_t)(LOOPDBG_NEAREST(v) + zero) & 255;                                      \
            row[j] = (uint8_t)number;                                                                         \
            sum += number;                                                                                    \
        }                                                                                                     \
        return sum;                                                                                           \
    }
INT8_ROW_OF_FLOATS(loopdbg_int8_dynamic_row, x[j] / by)
/* By the range. The nodes clamp after rounding, which gives the same for integer limits. */
INT8_ROW_OF_FLOATS(loopdbg_int8_openvino_row, x[j] * 255.0f / by)

/* Is one of them NaN? */
INLINE int loopdbg_int8_has_nan(float const *x, npy_intp n) {
    int found = 0;
    for (npy_intp i = 0; i < n; i++) found |= x[i] != x[i];
    return found;
}

/* Quantized rows, the sum of each, and their zero point and scale. 1: not possible. */
INLINE int loopdbg_int8_fused_rows(loopdbg_int8_fused_params const *by, char const *x, char const *a_zero, uint8_t *rows,
                                   uint32_t *sums, uint32_t *zero, float *scale) {
    npy_intp m = by->m, k = by->k, stride = k + LOOPDBG_INT8_TAIL_BYTES;
    float low, high, inverse = 1.0f / 255.0f;
    uint8_t point;
    *scale = 1.0f;
    if (by->kind == LOOPDBG_FUSED_INT8_INPUT) {
        loopdbg_int8_pack_rows(x, rows, (int32_t *)sums, m, k, by->a_signed);
        *zero = (uint32_t)(by->a_signed ? *(int8_t const *)a_zero + 128 : *(uint8_t const *)a_zero);
        return 0;
    }
    if (by->kind == LOOPDBG_FUSED_INT32_INPUT) {
        int32_t const *a = (int32_t const *)x;
        int32_t least = 0, most = 0;
        for (npy_intp i = 0; i < m * k; i++) {
            least = a[i] < least ? a[i] : least;
            most = a[i] > most ? a[i] : most;
        }
        if (least < -255 || (int64_t)most - least > 255) return LOOPDBG_FUSED_NOT_POSSIBLE;
        for (npy_intp r = 0; r < m; r++, a += k, rows += stride) {
            int32_t sum = 0;
            for (npy_intp j = 0; j < k; j++) {
                rows[j] = (uint8_t)(a[j] - least);
                sum += a[j] - least;
            }
            memset(rows + k, 0, LOOPDBG_INT8_TAIL_BYTES);
            sums[r] = (uint32_t)sum;
        }
        *zero = (uint32_t)-least;
        return 0;
    }
    DISPATCH(quantize_range)((float const *)x, m * k, &low, &high);
    if (by->kind == LOOPDBG_FUSED_DYNAMIC_QUANTIZE) loopdbg_quantize_parameters(low, high, scale, &point);
    else {
        /* NaN and rows without a range take other paths through the nodes. */
        if (!(high - low > 0) || high - low > 3e38f || loopdbg_int8_has_nan((float const *)x, m * k))
            return LOOPDBG_FUSED_NOT_POSSIBLE;
        *scale = (high - low) * inverse;
        if (!(*scale > 0)) return LOOPDBG_FUSED_NOT_POSSIBLE;
        point = loopdbg_zero_point((0.0f - low) / *scale);
    }
    *zero = point;
    for (npy_intp r = 0; r < m; r++, rows += stride) {
        float const *row = (float const *)x + r * k;
        sums[r] = (uint32_t)(by->kind == LOOPDBG_FUSED_DYNAMIC_QUANTIZE
                                 ? loopdbg_int8_dynamic_row(row, rows, k, *scale, (float)point)
                                 : loopdbg_int8_openvino_row(row, rows, k, high - low, (float)point));
        memset(rows + k, 0, LOOPDBG_INT8_TAIL_BYTES);
    }
    return 0;
}

/* From sums of a' b' to floats: some rows of one panel. */
INLINE void loopdbg_int8_to_floats(int32_t const *sums, int32_t const *columns, int32_t const *b_zero, float const *factors,
                                   uint32_t const *row, uint32_t za, npy_intp k, npy_intp rows, npy_intp width,
                                   float const *addend, npy_intp addend_row, npy_intp n, float *out) {
    for (npy_intp r = 0; r < rows; r++, sums += LOOPDBG_INT8_PANEL_COLUMNS, out += n) {
        uint32_t moved = row[r] - (uint32_t)k * za;
        float const *more = addend + r * addend_row;
        if (addend)
            for (npy_intp c = 0; c < width; c++)
                out[c] =
                    (float)(int32_t)((uint32_t)sums[c] - za * (uint32_t)columns[c] - (uint32_t)b_zero[c] * moved) * factors[c] +
                    more[c];
        else
            for (npy_intp c = 0; c < width; c++)
                out[c] =
                    (float)(int32_t)((uint32_t)sums[c] - za * (uint32_t)columns[c] - (uint32_t)b_zero[c] * moved) * factors[c];
    }
}

/* Tasks like those of loopdbg_int8_job. */
typedef struct {
    loopdbg_int8_fused_params const *by;
    npy_intp stride, quads, count, most;
    uint8_t const *rows;
    uint32_t const *row_sums;
    uint32_t za;
    float a_scale;
    char const *packed, *b_zeros;
    float const *scales, *addend;
    float *out;
} loopdbg_int8_fused_job;

INLINE void loopdbg_int8_fused_task(loopdbg_int8_tiling const *way, loopdbg_int8_fused_job const *job, npy_intp piece) {
    loopdbg_int8_fused_params const *by = job->by;
    npy_intp const m = by->m, k = by->k, n = by->n, stride = job->stride, quads = job->quads;
    npy_intp const low = piece * job->most, high = low + job->most < job->count ? low + job->most : job->count;
    uint8_t const *rows = job->rows;
    float const *addend = job->addend;
    int32_t sums[32 * LOOPDBG_INT8_PANEL_COLUMNS] __attribute__((aligned(64)));
    int32_t b_zero[LOOPDBG_INT8_PANEL_COLUMNS];
    float factors[LOOPDBG_INT8_PANEL_COLUMNS];
    npy_intp amx_rows = 0;
    (void)amx_rows;
    for (npy_intp p = low; p < high; p++) {
        loopdbg_int8_panel_view const part = loopdbg_int8_panel(job->packed, p, job->count, quads, n);
        char const *panel = part.panel;
        npy_intp const first = part.first, width = part.width;
        if (p == low || by->zero_step)
            loopdbg_int8_zero_points(job->b_zeros + first * by->zero_step, width, by->zero_step, by->b_signed, b_zero);
        if (by->scale_step)
            for (npy_intp c = 0; c < width; c++) factors[c] = job->a_scale * job->scales[first + c];
        else if (p == low)
            for (npy_intp c = 0; c < LOOPDBG_INT8_PANEL_COLUMNS; c++) factors[c] = job->a_scale * job->scales[0];
#define INT8_REALS(r, R)                                                                                      \
    loopdbg_int8_to_floats(sums, part.columns, b_zero, factors, job->row_sums + r, job->za, k, R, width,               \
                       by->addend ? addend + r * by->addend_row + first : NULL, by->addend_row, n,            \
                       job->out + r * n + first);
        INT8_ROWS(INT8_REALS)
    }
#if defined(LOOPDBG_TILES)
    if (amx_rows) loopdbg_amx_end();
#endif
}

INLINE int loopdbg_int8_fused_run(loopdbg_task some, loopdbg_int8_fused_params const *by, char const *x, char const *packed,
                                  char const *a_zero, char const *b_zeros, float const *scales, float const *addend, float *out,
                                  char *scratch) {
    npy_intp m = by->m, k = by->k, n = by->n, stride = k + LOOPDBG_INT8_TAIL_BYTES;
    npy_intp count = (n + LOOPDBG_INT8_PANEL_COLUMNS - 1) / LOOPDBG_INT8_PANEL_COLUMNS;
    double const work = (double)m * (double)k * (double)n;
    uint8_t *rows = (uint8_t *)scratch;
    uint32_t *row_sums = (uint32_t *)(((uintptr_t)scratch + (uintptr_t)(m * stride) + 63) & ~(uintptr_t)63), za;
    float a_scale;
    if (loopdbg_int8_fused_rows(by, x, a_zero, rows, row_sums, &za, &a_scale)) return LOOPDBG_FUSED_NOT_POSSIBLE;
    loopdbg_int8_fused_job job = {by,      stride,   (k + 3) / 4, count,   loopdbg_int8_panels_per_task(count, work),
                                  rows,    row_sums, za,          a_scale, packed,
                                  b_zeros, scales,   addend,      out};
    loopdbg_parallel_for(some, &job, loopdbg_task_count(count, job.most), work / 2, 0);
    return 0;
}

#endif
