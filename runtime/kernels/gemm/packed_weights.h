/* The product of rows with a weight matrix that is used repeatedly.
 *
 * The weights are in panels of 64 columns, each contiguous, in strips of as many columns as a tile reads at a time. One
 * row times a matrix reads each weight once and does two operations with it, so that memory bandwidth is the limit:
 * weights beyond the second-level cache are prefetched, and every other call reads the panels backwards, beginning with
 * those that the last call left in the cache. [1,256] @ [256,1024], whose 1 MiB of weights just fits into a
 * second-level cache: 6.5 us. Several rows, 4 to 8 at a time, share what is read: [64,256] @ [256,256] runs at 175
 * GFLOPS with AVX-512.
 *
 * Weights that are all exact in float16 are stored so, which halves the reads, and converted back exactly. The same
 * holds for those that are (byte + zero) * scale, rounded once, with numbers of each column: widened 8-bit weights. A
 * panel of bytes begins with its scales and its zeros.
 *
 * Every element is summed in the order of the weight's rows: neither the number of rows nor the direction changes a
 * result. AVX2 and AVX-512 add each product with one rounding (FMA), with the same bits; other processors round product
 * and sum. A matrix added to the product is where its sums start.
 */
#ifndef LOOPDBG_PANELS_H
#define LOOPDBG_PANELS_H

#include <string.h>
#include <numpy/npy_common.h>
#include "small_products.h"
#include "../element_types/half_precision.h"
#include "../threads/parallel_for.h"

enum { LOOPDBG_PANEL_COLUMNS = 64, LOOPDBG_INT8_PANEL_HEADER_BYTES = 2 * LOOPDBG_PANEL_COLUMNS * (int)sizeof(float) };

/* Prefetch distance in bytes. Weights in the second-level cache arrive fast enough without it, and a prefetch costs a
 * load slot ([1,256] @ [256,1024]: 9 us, with prefetch 15). */
enum { LOOPDBG_PREFETCH_DISTANCE_BYTES = 1024, LOOPDBG_L2_BYTES = 1 << 20 };

/* Minimum size of weights for prefetching. AMD processors prefetch from the third-level cache by themselves, and
 * faster: [1,512] @ [512,2048] takes 45 us on a Zen 4, with prefetch 57. */
static npy_intp loopdbg_prefetch_min_bytes(void) {
    static npy_intp most; /* a query takes microseconds in a virtual machine */
    if (!most) {
        most = LOOPDBG_L2_BYTES;
#if defined(LOOPDBG_X86)
        __builtin_cpu_init();
        if (__builtin_cpu_is("amd")) most = 1 << 25;
#endif
    }
    return most;
}
/* Weights up to this size are read one panel at a time for one row: the half that the first-level cache still has from
 * the last call is read first. [1,64] @ [64,256]: 0.55 us instead of 0.61. */
enum { LOOPDBG_ALTERNATE_MAX_BYTES = 1 << 17 };

typedef void (*loopdbg_tile)(void const *panel, float const *x, float *y, npy_intp k, npy_intp n, float const *start,
                             npy_intp row, npy_intp ahead);

/* Tiles by their rows, number of rows of the next tile by the number of rows left (the last entry for more), the same
 * for distant weights, and the number of rows up to which tiles are no slower than BLAS on one thread. */
enum { LOOPDBG_TILE_ROWS = 8 };
typedef struct loopdbg_tiling {
    loopdbg_tile tiles[LOOPDBG_TILE_ROWS + 1];
    int takes[LOOPDBG_TILE_ROWS + 2], takes_far[LOOPDBG_TILE_ROWS + 2];
    /* One row with two adjacent panels at once, where that hides the latency of additions; or NULL. */
    void (*pair)(void const *panel, float const *x, float *y, npy_intp k, float const *start, npy_intp ahead);
    int most_rows;
    int size, head, strip; /* bytes of a weight, of a panel's header, and columns of a strip */
    struct loopdbg_tiling const *halves, *bytes; /* for weights in float16, or scaled bytes; or NULL */
    loopdbg_small_tiling const *edges;
} loopdbg_tiling;

/* Rows that stay in the second-level cache while all panels are read, in bytes. */
enum { LOOPDBG_CHUNK_BYTES = 1 << 20 };

#define BODY "../gemm/packed_weights_lanes.h"
#include "../dispatch/foreach_target.h"

/* The tiling for this processor. */
static inline loopdbg_tiling const *loopdbg_tiling_for_cpu(void) { return DISPATCH(tiling); }

static inline int loopdbg_next_rows(int const *takes, npy_intp left) {
    return takes[left > LOOPDBG_TILE_ROWS ? LOOPDBG_TILE_ROWS + 1 : left];
}

/* The product, cut into tasks of some rows with some panels. Every sum is the same however it is cut. */
typedef struct {
    loopdbg_tiling const *tiling;
    float const *x;
    void const *weights;
    float *out;
    npy_intp m, k, n, rows, panels, groups;
    int backwards;
    float const *start;
    npy_intp step;
} loopdbg_packed_job;

static void loopdbg_packed_task(void const *what, npy_intp piece, int worker) {
    loopdbg_packed_job const *job = (loopdbg_packed_job const *)what;
    loopdbg_tiling const *tiling = job->tiling;
    npy_intp const k = job->k, n = job->n, step = job->step, above = piece / job->groups * job->rows;
    npy_intp const m = job->m - above < job->rows ? job->m - above : job->rows;
    npy_intp const low = piece % job->groups * job->panels, all = (n + LOOPDBG_PANEL_COLUMNS - 1) / LOOPDBG_PANEL_COLUMNS - low;
    npy_intp const count = all < job->panels ? all : job->panels;
    float const *x = job->x + above * k, *start = job->start ? job->start + above * step : NULL;
    float *out = job->out + above * n;
    int const backwards = job->backwards ^ (int)(piece / job->groups & 1), far = k * n * tiling->size > LOOPDBG_L2_BYTES;
    npy_intp ahead = k * n * tiling->size > loopdbg_prefetch_min_bytes() ? LOOPDBG_PREFETCH_DISTANCE_BYTES : 0;
    float rest[LOOPDBG_TILE_ROWS * LOOPDBG_PANEL_COLUMNS], from[LOOPDBG_TILE_ROWS * LOOPDBG_PANEL_COLUMNS] = {0};
    (void)worker;
    for (npy_intp c = 0; c < count; c++) {
        npy_intp first = (low + (backwards ? count - 1 - c : c)) * LOOPDBG_PANEL_COLUMNS, row = 0, left = n - first;
        npy_intp apart = tiling->head + k * LOOPDBG_PANEL_COLUMNS * tiling->size;
        char const *panel = (char const *)job->weights + first / LOOPDBG_PANEL_COLUMNS * apart;
        if (m == 1 && tiling->pair && c + 1 < count && k * n * tiling->size > LOOPDBG_ALTERNATE_MAX_BYTES) {
            npy_intp both = backwards ? first - LOOPDBG_PANEL_COLUMNS : first;
            if (n - both >= 2 * LOOPDBG_PANEL_COLUMNS) {
                tiling->pair((char const *)job->weights + both / LOOPDBG_PANEL_COLUMNS * apart, x, out + both, k,
                             start ? start + both : NULL, ahead);
                c++;
                continue;
            }
        }
        if (left < LOOPDBG_PANEL_COLUMNS && tiling->size == sizeof(float) && (m > 2 || left <= tiling->strip)) {
            /* Only the existing vectors; one or two rows would have too few sums at a time in narrow strips. */
            npy_intp strip = tiling->strip;
            for (npy_intp c0 = 0; c0 < left; c0 += strip) {
                loopdbg_strided_product last = {
                    x,   (float const *)panel + c0 * k, start ? start + first + c0 : NULL, out + first + c0, k, k, 1, strip, n,
                    step};
                loopdbg_row_major_product(tiling->edges, &last, m, left - c0 < strip ? left - c0 : strip);
            }
            continue;
        }
        for (int rows; row < m; row += rows) {
            rows = loopdbg_next_rows(far ? tiling->takes_far : tiling->takes, m - row);
            float *y = out + row * n + first;
            float const *s = start ? start + row * step + first : NULL;
            if (left >= LOOPDBG_PANEL_COLUMNS) {
                tiling->tiles[rows](panel, x + row * k, y, k, n, s, step, row ? 0 : ahead);
                continue;
            }
            for (int r = 0; s && r < rows; r++)
                memcpy(from + r * LOOPDBG_PANEL_COLUMNS, s + r * step, (size_t)left * sizeof(float));
            tiling->tiles[rows](panel, x + row * k, rest, k, LOOPDBG_PANEL_COLUMNS, s ? from : NULL, LOOPDBG_PANEL_COLUMNS,
                                row ? 0 : ahead);
            for (int r = 0; r < rows; r++) memcpy(y + r * n, rest + r * LOOPDBG_PANEL_COLUMNS, (size_t)left * sizeof(float));
        }
    }
}

/* out[m, n] = start[m, n] + x[m, k] @ weights; all contiguous, except that rows of `start` are `step` floats apart (0:
 * one row for all). NULL: 0. */
static void loopdbg_packed_product(loopdbg_tiling const *tiling, float const *x, void const *weights, float *out, npy_intp m,
                                   npy_intp k, npy_intp n, int backwards, float const *start, npy_intp step) {
    npy_intp most = LOOPDBG_CHUNK_BYTES / (k * (npy_intp)sizeof(float)) / 8 * 8,
             count = (n + LOOPDBG_PANEL_COLUMNS - 1) / LOOPDBG_PANEL_COLUMNS;
    double const work = (double)m * (double)k * (double)n;
    loopdbg_packed_job job = {tiling, x, weights, out, m, k, n, most < 64 ? 64 : most, count, 1, backwards, start, step};
    if (loopdbg_is_worth_sharing(work)) {
        /* One row takes two panels at once. With few panels, tasks have fewer rows: whole tiles of six and of eight. */
        job.panels = m == 1 ? 2 : 1;
        job.groups = (count + job.panels - 1) / job.panels;
        if (job.groups < 16 && job.rows > 48) job.rows = 48;
    }
    loopdbg_parallel_for(loopdbg_packed_task, &job, loopdbg_task_count(m, job.rows) * job.groups, work, backwards);
}

#endif
