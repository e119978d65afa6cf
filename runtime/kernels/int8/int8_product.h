/* Products of matrices of 8-bit integers, summed in 32 bits that wrap around: exact on all processors.
 *
 * Processors multiply unsigned bytes by signed ones, so a is converted to a' = a or a + 128, and b to b' = b or b -
 * 128; with the zero points z moved in the same way
 *
 *     sum (a - za) (b - zb) = sum a' b' - za * sum b' - zb * (sum a' - k za)
 *
 * where sums over columns of b' are computed when b is packed, and over rows of a' when a is copied. b' is in panels of
 * 64 columns, four rows of a panel interleaved (a quad), as for VNNI and AMX:
 *
 *     [n / 64] [k / 4] [64 columns] [4 rows] bytes, then [n / 64 * 64] sums of 32 bits, then padding that AMX may read
 *
 * Four products of a quad could saturate where AVX2 adds them in 16 bits: there they are widened first. */
#ifndef LOOPDBG_INT8_H
#define LOOPDBG_INT8_H

#include <stdint.h>
#include <string.h>

#include "../call.h"
#include "../threads/parallel_for.h"
#include "../dispatch/lanes.h"

enum {
    LOOPDBG_INT8_PANEL_COLUMNS = 64,
    LOOPDBG_INT8_QUAD = 4 * LOOPDBG_INT8_PANEL_COLUMNS,   /* bytes of a panel's quad */
    LOOPDBG_INT8_OVERREAD_BYTES = 16 * LOOPDBG_INT8_QUAD, /* a tile of 16 quads may end here */
    LOOPDBG_INT8_TAIL_BYTES = 64,                       /* zeros after a row of a', at least 63 */
    LOOPDBG_INT8_ROWS = 6,                        /* at once, without AMX */
};

typedef void (*loopdbg_int8_tile)(char const *panel, uint8_t const *a, npy_intp stride, npy_intp quads, int32_t *sums);

typedef struct {
    npy_intp batch, m, k, n;
    int a_signed, b_signed;
    /* Steps between the zero points of rows, of columns, and of batches' columns. */
    npy_intp a_step, b_step, b_batch_step;
    int packed, shared; /* b: is in panels; is the same for all batches */
    npy_intp packed_step; /* step between the panels of batches */
} loopdbg_int8_params;

/* Functions per target. */
typedef struct {
    int rows[4];
    loopdbg_int8_tile tiles[4];
    int vnni; /* with AVX-512, possibly with AMX */
} loopdbg_int8_tiling;

/* Pack b [k, n] into panels. */
INLINE void loopdbg_int8_pack_weights(char const *b, char *packed, npy_intp k, npy_intp n, int is_signed) {
    npy_intp count = (n + LOOPDBG_INT8_PANEL_COLUMNS - 1) / LOOPDBG_INT8_PANEL_COLUMNS, quads = (k + 3) / 4;
    char *sums = packed + count * quads * LOOPDBG_INT8_QUAD;
    uint8_t const flip = is_signed ? 0 : 0x80;
    for (npy_intp p = 0; p < count; p++) {
        npy_intp first = p * LOOPDBG_INT8_PANEL_COLUMNS,
                 width = n - first < LOOPDBG_INT8_PANEL_COLUMNS ? n - first : LOOPDBG_INT8_PANEL_COLUMNS;
        int32_t sum[LOOPDBG_INT8_PANEL_COLUMNS] = {0};
        for (npy_intp j = 0; j < quads; j++, packed += LOOPDBG_INT8_QUAD) {
            uint8_t rows[4][LOOPDBG_INT8_PANEL_COLUMNS];
            for (int i = 0; i < 4; i++) {
                uint8_t *row = rows[i];
                npy_intp index = 4 * j + i;
                memset(row, 0, LOOPDBG_INT8_PANEL_COLUMNS);
                if (index >= k) continue;
                char const *source = b + index * n + first;
                if (width == LOOPDBG_INT8_PANEL_COLUMNS)
                    for (int c = 0; c < LOOPDBG_INT8_PANEL_COLUMNS; c++) row[c] = (uint8_t)source[c] ^ flip;
                else
                    for (npy_intp c = 0; c < width; c++) row[c] = (uint8_t)source[c] ^ flip;
                for (int c = 0; c < LOOPDBG_INT8_PANEL_COLUMNS; c++) sum[c] += (int8_t)row[c];
            }
            for (int c = 0; c < LOOPDBG_INT8_PANEL_COLUMNS; c++) {
                uint32_t four =
                    (uint32_t)rows[0][c] | (uint32_t)rows[1][c] << 8 | (uint32_t)rows[2][c] << 16 | (uint32_t)rows[3][c] << 24;
                memcpy(packed + 4 * c, &four, 4);
            }
        }
        memcpy(sums + p * (npy_intp)sizeof sum, sum, sizeof sum);
    }
}

/* Rows a', padded with zeros, and the sum of each. */
INLINE void loopdbg_int8_pack_rows(char const *a, uint8_t *rows, int32_t *sums, npy_intp m, npy_intp k, int is_signed) {
    uint8_t const flip = is_signed ? 0x80 : 0;
    for (npy_intp r = 0; r < m; r++, a += k, rows += k + LOOPDBG_INT8_TAIL_BYTES) {
        int32_t sum = 0;
        for (npy_intp j = 0; j < k; j++) {
            rows[j] = (uint8_t)a[j] ^ flip;
            sum += rows[j];
        }
        memset(rows + k, 0, LOOPDBG_INT8_TAIL_BYTES);
        sums[r] = sum;
    }
}

/* The zero points of a panel's columns, for b'. */
INLINE void loopdbg_int8_zero_points(char const *zeros, npy_intp width, npy_intp step, int is_signed, int32_t *out) {
    if (!step) {
        int32_t const one = is_signed ? *(int8_t const *)zeros : *(uint8_t const *)zeros - 128;
        for (npy_intp c = 0; c < LOOPDBG_INT8_PANEL_COLUMNS; c++) out[c] = one;
    } else if (is_signed)
        for (npy_intp c = 0; c < width; c++) out[c] = ((int8_t const *)zeros)[c];
    else
        for (npy_intp c = 0; c < width; c++) out[c] = ((uint8_t const *)zeros)[c] - 128;
}

/* From sums of a' b' to the results: some rows of one panel. */
INLINE void loopdbg_int8_apply_zero_points(int32_t const *sums, int32_t const *columns, int32_t const *b_zero,
                                           uint32_t const *row, uint32_t const *a_zero, npy_intp k, npy_intp rows,
                                           npy_intp width, npy_intp n, char *out) {
    for (npy_intp r = 0; r < rows; r++, sums += LOOPDBG_INT8_PANEL_COLUMNS, out += 4 * n) {
        uint32_t za = a_zero[r], moved = row[r] - (uint32_t)k * za;
        int32_t *y = (int32_t *)out;
        for (npy_intp c = 0; c < width; c++)
            y[c] = (int32_t)((uint32_t)sums[c] - za * (uint32_t)columns[c] - (uint32_t)b_zero[c] * moved);
    }
}

#if defined(LOOPDBG_X86) && defined(__linux__)
#define LOOPDBG_TILES

/* Shapes of the tiles: 0 to 3 sums of `rows` x 16, 4 and 5 rows of a', 6 and 7 quads of b'. */
__attribute__((target("amx-tile"))) static void loopdbg_amx_begin(npy_intp rows, npy_intp more) {
    struct {
        uint8_t palette, start, none[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } __attribute__((packed, aligned(64))) shape;
    memset(&shape, 0, sizeof shape);
    shape.palette = 1;
    for (int t = 0; t < 8; t++) {
        shape.bytes[t] = 64;
        shape.rows[t] = (uint8_t)(t >= 6 ? 16 : t == 2 || t == 3 || t == 5 ? (more ? more : 1) : rows);
    }
    /* The intrinsics do not tell the compiler what they read. */
    __asm__ volatile("" ::"r"(&shape) : "memory");
    _tile_loadconfig(&shape);
}
/* Clears the wide registers after AMX code: GCC does not do it behind a call, and mathematical functions of the C
 * library then took five times as long. */
__attribute__((target("amx-tile,avx"), noinline)) static void loopdbg_amx_end(void) {
    _tile_release();
    __asm__ volatile("vzeroupper" ::
                         : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                           "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

/* Up to 16 rows and `more` after them (as configured in the tiles) with one panel. */
__attribute__((target("amx-tile,amx-int8"))) static void loopdbg_amx_tile(char const *panel, uint8_t const *a, npy_intp more,
                                                                          npy_intp stride, npy_intp quads, int32_t *sums) {
    enum { STEP = 16 * LOOPDBG_INT8_QUAD };
    uint8_t const *below = a + 16 * stride;
    __asm__ volatile("" ::: "memory");
    for (int half = 0; half < 2; half++, panel += 128, sums += 32) {
        char const *b = panel;
        _tile_zero(0);
        _tile_zero(1);
        if (more) {
            _tile_zero(2);
            _tile_zero(3);
            for (npy_intp j = 0; j < quads; j += 16, b += STEP) {
                _tile_loadd(4, a + 4 * j, stride);
                _tile_loadd(6, b, LOOPDBG_INT8_QUAD);
                _tile_dpbusd(0, 4, 6);
                _tile_loadd(7, b + 64, LOOPDBG_INT8_QUAD);
                _tile_dpbusd(1, 4, 7);
                _tile_loadd(5, below + 4 * j, stride);
                _tile_dpbusd(2, 5, 6);
                _tile_dpbusd(3, 5, 7);
            }
            _tile_stored(2, sums + 16 * LOOPDBG_INT8_PANEL_COLUMNS, 4 * LOOPDBG_INT8_PANEL_COLUMNS);
            _tile_stored(3, sums + 16 * LOOPDBG_INT8_PANEL_COLUMNS + 16, 4 * LOOPDBG_INT8_PANEL_COLUMNS);
        } else {
            for (npy_intp j = 0; j < quads; j += 16, b += STEP) {
                _tile_loadd(4, a + 4 * j, stride);
                _tile_loadd(6, b, LOOPDBG_INT8_QUAD);
                _tile_dpbusd(0, 4, 6);
                _tile_loadd(7, b + 64, LOOPDBG_INT8_QUAD);
                _tile_dpbusd(1, 4, 7);
            }
        }
        _tile_stored(0, sums, 4 * LOOPDBG_INT8_PANEL_COLUMNS);
        _tile_stored(1, sums + 16, 4 * LOOPDBG_INT8_PANEL_COLUMNS);
    }
}

#endif

/* All m rows with one panel, some at a time: FINISH(r, R) gets the sums of R rows from r on. */
#if defined(LOOPDBG_TILES)
#define INT8_ROWS_AMX(FINISH)                                                                                 \
    while (way->vnni && loopdbg_cpu->bytes == LOOPDBG_BYTES_AMX && m > 3 && at < m) {                        \
        npy_intp some = m - at < 32 ? m - at : 32, more = some > 16 ? some - 16 : 0;                          \
        if (some != amx_rows) loopdbg_amx_begin(some - more, more);                                           \
        amx_rows = some;                                                                                      \
        loopdbg_amx_tile(panel, rows + at * stride, more, stride, quads, sums);                               \
        FINISH(at, some)                                                                                      \
        at += some;                                                                                           \
    }
#else
#define INT8_ROWS_AMX(FINISH)
#endif
#define INT8_ROWS(FINISH)                                                                                     \
    npy_intp at = 0;                                                                                          \
    INT8_ROWS_AMX(FINISH)                                                                                     \
    for (int w = 0; w < 4; w++)                                                                               \
        while (at + way->rows[w] <= m) {                                                                      \
            way->tiles[w](panel, rows + at * stride, stride, quads, sums);                                    \
            FINISH(at, way->rows[w])                                                                          \
            at += way->rows[w];                                                                               \
        }

/* One of b's panels, the sums of its columns, and its columns of the result. */
typedef struct {
    char const *panel;
    int32_t const *columns;
    npy_intp first, width;
} loopdbg_int8_panel_view;

INLINE loopdbg_int8_panel_view loopdbg_int8_panel(char const *packed, npy_intp which, npy_intp count, npy_intp quads,
                                                  npy_intp n) {
    npy_intp const first = which * LOOPDBG_INT8_PANEL_COLUMNS, left = n - first;
    int32_t const *columns = (int32_t const *)(packed + count * quads * LOOPDBG_INT8_QUAD) + first;
    return (loopdbg_int8_panel_view){packed + which * quads * LOOPDBG_INT8_QUAD, columns, first,
                                     left < LOOPDBG_INT8_PANEL_COLUMNS ? left : LOOPDBG_INT8_PANEL_COLUMNS};
}

/* Tasks of some panels, of which there are `count`, with copied rows. */
typedef struct {
    npy_intp m, k, n, stride, quads, count, most;
    uint8_t const *rows;
    uint32_t const *row_sums, *a_zero;
    char const *packed, *b_zeros;
    npy_intp b_step;
    int b_signed;
    char *out;
} loopdbg_int8_job;

INLINE void loopdbg_int8_task(loopdbg_int8_tiling const *way, loopdbg_int8_job const *job, npy_intp piece) {
    npy_intp const m = job->m, k = job->k, n = job->n, stride = job->stride, quads = job->quads;
    npy_intp const low = piece * job->most, high = low + job->most < job->count ? low + job->most : job->count;
    uint8_t const *rows = job->rows;
    int32_t sums[32 * LOOPDBG_INT8_PANEL_COLUMNS] __attribute__((aligned(64)));
    int32_t b_zero[LOOPDBG_INT8_PANEL_COLUMNS];
    npy_intp amx_rows = 0;
    (void)amx_rows;
    for (npy_intp p = low; p < high; p++) {
        loopdbg_int8_panel_view const part = loopdbg_int8_panel(job->packed, p, job->count, quads, n);
        char const *panel = part.panel;
        npy_intp const first = part.first, width = part.width;
        loopdbg_int8_zero_points(job->b_zeros + first * job->b_step, width, job->b_step, job->b_signed, b_zero);
#define INT8_FINISH(r, R)                                                                                     \
    loopdbg_int8_apply_zero_points(sums, part.columns, b_zero, job->row_sums + r, job->a_zero + r, k, R, width, n,            \
                        job->out + 4 * (r * n + first));
        INT8_ROWS(INT8_FINISH)
    }
#if defined(LOOPDBG_TILES)
    if (amx_rows) loopdbg_amx_end();
#endif
}

/* Number of panels per task of m * k products with each. Integers take about half as long as floats. */
static npy_intp loopdbg_int8_panels_per_task(npy_intp count, double work) {
    return loopdbg_is_worth_sharing(work / 2) ? loopdbg_items_per_task(count, 4) : count;
}

INLINE void loopdbg_int8_run(loopdbg_task some, loopdbg_int8_params const *by, char const *a, char const *b,
                             char const *a_zeros, char const *b_zeros, char *out, char *scratch) {
    npy_intp m = by->m, k = by->k, n = by->n, stride = k + LOOPDBG_INT8_TAIL_BYTES;
    npy_intp count = (n + LOOPDBG_INT8_PANEL_COLUMNS - 1) / LOOPDBG_INT8_PANEL_COLUMNS;
    double const work = (double)m * (double)k * (double)n;
    uint8_t *rows = (uint8_t *)scratch;
    char *after = (char *)(((uintptr_t)scratch + (uintptr_t)(m * stride) + 63) & ~(uintptr_t)63);
    uint32_t *row_sums = (uint32_t *)after, *a_zero = row_sums + m;
    char *panels = (char *)(((uintptr_t)(a_zero + m) + 63) & ~(uintptr_t)63);
    loopdbg_int8_job job = {m,    k,        n,      stride, (k + 3) / 4, count,      loopdbg_int8_panels_per_task(count, work),
                            rows, row_sums, a_zero, panels, b_zeros,     by->b_step, by->b_signed,
                            out};
    for (npy_intp t = 0; t < by->batch; t++, a += m * k, job.out += 4 * m * n, job.b_zeros += by->b_batch_step) {
        if (by->packed) job.packed = b + t * by->packed_step;
        else if (t == 0 || !by->shared) loopdbg_int8_pack_weights(b + (by->shared ? 0 : t * k * n), panels, k, n, by->b_signed);
        loopdbg_int8_pack_rows(a, rows, (int32_t *)row_sums, m, k, by->a_signed);
        for (npy_intp r = 0; r < m; r++) {
            char const *zero = a_zeros + (t * m + r) * by->a_step;
            a_zero[r] = (uint32_t)(by->a_signed ? *(int8_t const *)zero + 128 : *(uint8_t const *)zero);
        }
        loopdbg_parallel_for(some, &job, loopdbg_task_count(count, job.most), work / 2, 0);
    }
}

#include "int8_fused_product.h"
#include "int8_conv.h"

#define BYTES
#define BODY "../int8/int8_product_lanes.h"
#include "../dispatch/foreach_target.h"

/* a, b, zero points of a, those of b, out, scratch; numbers as in loopdbg_int8_params. */
static int loopdbg_int8_product(loopdbg_call *call) {
    npy_intp const *x = call->extra;
    loopdbg_int8_params const by = {x[0], x[1], x[2], x[3],      (int)x[4],  (int)x[5],
                                    x[6], x[7], x[8], (int)x[9], (int)x[10], x[11]};
    DISPATCH_INT8(int8_product)(&by, LOOPDBG_ARG(call, 0), LOOPDBG_ARG(call, 1), LOOPDBG_ARG(call, 2), LOOPDBG_ARG(call, 3),
                                LOOPDBG_ARG(call, 4), LOOPDBG_ARG(call, 5));
    return 0;
}

/* Weights of a product of 32-bit integers: a cache line that says how they became bytes, then panels. */
typedef struct {
    uint8_t is_signed, zero;
} loopdbg_int8_weights;
enum { LOOPDBG_INT8_HEADER_BYTES = 64 };

/* The plain product, with weights unpacked from their panels: for rows of numbers that are not bytes. */
static void loopdbg_int32_product(int32_t const *a, char const *weights, uint32_t *out, npy_intp m, npy_intp k, npy_intp n) {
    loopdbg_int8_weights const *how = (loopdbg_int8_weights const *)weights;
    npy_intp quads = (k + 3) / 4;
    int32_t const zero = how->is_signed ? (int8_t)how->zero : how->zero - 128;
    memset(out, 0, (size_t)(m * n) * 4);
    for (npy_intp r = 0; r < m; r++, out += n, a += k)
        for (npy_intp first = 0; first < n; first += LOOPDBG_INT8_PANEL_COLUMNS) {
            int8_t const *panel = (int8_t const *)weights + LOOPDBG_INT8_HEADER_BYTES +
                                  first / LOOPDBG_INT8_PANEL_COLUMNS * quads * LOOPDBG_INT8_QUAD;
            npy_intp width = n - first < LOOPDBG_INT8_PANEL_COLUMNS ? n - first : LOOPDBG_INT8_PANEL_COLUMNS;
            for (npy_intp i = 0; i < k; i++) {
                int8_t const *row = panel + i / 4 * LOOPDBG_INT8_QUAD + i % 4;
                for (npy_intp c = 0; c < width; c++) out[first + c] += (uint32_t)a[i] * (uint32_t)(row[4 * c] - zero);
            }
        }
}

/* a (32 bits), weights, out, scratch; m, k, n. Quantised numbers less their zero point are bytes less another one: as
 * such they are multiplied. Other numbers are multiplied directly; both are exact in 32 bits that wrap around. */
static int loopdbg_int8_from_int32_product(loopdbg_call *call) {
    npy_intp m = call->extra[0], k = call->extra[1], n = call->extra[2];
    int32_t const *a = (int32_t const *)LOOPDBG_ARG(call, 0);
    char const *weights = LOOPDBG_ARG(call, 1);
    uint8_t *bytes = (uint8_t *)LOOPDBG_ARG(call, 3);
    int32_t low = 0, high = 0;
    DISPATCH_INT8(int8_ends)(a, m * k, &low, &high);
    if (low < -255 || (int64_t)high - low > 255) {
        loopdbg_int32_product(a, weights, (uint32_t *)LOOPDBG_ARG(call, 2), m, k, n);
        return 0;
    }
    DISPATCH_INT8(int8_less)(a, m * k, low, bytes);
    loopdbg_int8_weights const *how = (loopdbg_int8_weights const *)weights;
    uint8_t const zero = (uint8_t)-low;
    loopdbg_int8_params const by = {1, m, k, n, 0, how->is_signed, 0, 0, 0, 1, 1, 0};
    DISPATCH_INT8(int8_product)(&by, (char const *)bytes, weights + LOOPDBG_INT8_HEADER_BYTES, (char const *)&zero,
                                (char const *)&how->zero, LOOPDBG_ARG(call, 2), (char *)bytes + m * k);
    return 0;
}

/* x, weights, zero point of x, those of the weights, geometry, out, scratch; whether x is signed, the weights, and the
 * step between the zero points of output channels: 0 or 1. */
static int loopdbg_int8_conv(loopdbg_call *call) {
    npy_intp const *numbers = call->extra;
    loopdbg_int8_conv_geometry const by = loopdbg_int8_read_geometry((npy_intp const *)LOOPDBG_ARG(call, 4), numbers);
    DISPATCH_INT8(int8_conv)(&by, LOOPDBG_ARG(call, 0), LOOPDBG_ARG(call, 1), LOOPDBG_ARG(call, 2), LOOPDBG_ARG(call, 3),
                             (int32_t *)LOOPDBG_ARG(call, 5), LOOPDBG_ARG(call, 6));
    return 0;
}

/* x (32 bits), weights (a header line, then bytes), geometry, out, scratch: like loopdbg_int8_from_int32_product, but
 * numbers that are not bytes are refused. */
static int loopdbg_int8_from_int32_conv(loopdbg_call *call) {
    loopdbg_int8_weights const *how = (loopdbg_int8_weights const *)LOOPDBG_ARG(call, 1);
    npy_intp numbers[3] = {0, how->is_signed, 0};
    loopdbg_int8_conv_geometry const by = loopdbg_int8_read_geometry((npy_intp const *)LOOPDBG_ARG(call, 2), numbers);
    int32_t const *x = (int32_t const *)LOOPDBG_ARG(call, 0);
    npy_intp count = by.n * by.groups * by.icg * by.size[0] * by.size[1] * by.size[2];
    uint8_t *bytes = (uint8_t *)LOOPDBG_ARG(call, 4);
    int32_t low = 0, high = 0;
    DISPATCH_INT8(int8_ends)(x, count, &low, &high);
    if (low < -255 || (int64_t)high - low > 255) return 1;
    DISPATCH_INT8(int8_less)(x, count, low, bytes);
    uint8_t const zero = (uint8_t)-low;
    DISPATCH_INT8(int8_conv)(&by, (char const *)bytes, (char const *)how + LOOPDBG_INT8_HEADER_BYTES, (char const *)&zero,
                             (char const *)&how->zero, (int32_t *)LOOPDBG_ARG(call, 3), (char *)bytes + count);
    return 0;
}

/* x, weights in panels, zero points of both, scales of columns, addends, out, scratch; numbers as in
 * loopdbg_int8_fused_params. */
static int loopdbg_int8_fused_product(loopdbg_call *call) {
    npy_intp const *x = call->extra;
    loopdbg_int8_fused_params const by = {(int)x[0], x[1], x[2], x[3], (int)x[4], (int)x[5], x[6], x[7], (int)x[8], x[9]};
    return DISPATCH_INT8(int8_chain)(&by, LOOPDBG_ARG(call, 0), LOOPDBG_ARG(call, 1), LOOPDBG_ARG(call, 2),
                                     LOOPDBG_ARG(call, 3), (float const *)LOOPDBG_ARG(call, 4),
                                     (float const *)LOOPDBG_ARG(call, 5), (float *)LOOPDBG_ARG(call, 6), LOOPDBG_ARG(call, 7));
}

/* b, packed; k, n, whether b is signed. */
static int loopdbg_int8_pack(loopdbg_call *call) {
    DISPATCH_INT8(int8_pack)(LOOPDBG_ARG(call, 0), LOOPDBG_ARG(call, 1), call->extra[0], call->extra[1], (int)call->extra[2]);
    return 0;
}

#endif
