/* Products of unpacked float32 matrices: stacks of small ones, and those with few columns.
 *
 * BLAS packs its operands, which takes longer than a small product: [8,8] @ [8,8] 80 ns, and here 28. Every element is
 * summed in the order of packed_weights.h, whatever the strides are, and columns beyond the last one are masked: they
 * cost nothing more than whole vectors do.
 */
#ifndef LOOPDBG_PRODUCTS_H
#define LOOPDBG_PRODUCTS_H

#include <string.h>
#include <numpy/npy_common.h>
#include "../dispatch/lanes.h"
#include "../threads/parallel_for.h"
#include "../data_movement/transpose.h"

#define UNROLL _Pragma("GCC unroll 16")

/* Strides count floats; columns of `b`, `out` and `start` are contiguous. start: where sums begin; NULL: 0. */
typedef struct {
    float const *a, *b, *start;
    float *out;
    npy_intp k, a_row, a_column, b_row, out_row, start_row;
} loopdbg_strided_product;

typedef void (*loopdbg_small_tile)(loopdbg_strided_product const *p, int columns);

/* Tiles by their vectors, less one, and their rows; columns of a vector, of a tile of many rows at most, and of one of
 * one or two rows; rows of tiles with all these columns, and of others; and the maximum size of weights in floats for
 * which products are no slower than with BLAS. */
enum { LOOPDBG_SMALL_TILE_VECTORS = 4, LOOPDBG_SMALL_TILE_ROWS = 8, LOOPDBG_TURNED_ROWS = 4 };
/* Maximum number of terms of a product with one element, and maximum head width of an attention. */
enum { LOOPDBG_DOT_MAX_TERMS = 64, LOOPDBG_ATTENTION_HEAD_MAX = 128 };
typedef void (*loopdbg_transposed_tile)(loopdbg_strided_product const *p, npy_intp column, npy_intp n);
typedef struct {
    loopdbg_small_tile tiles[LOOPDBG_SMALL_TILE_VECTORS][LOOPDBG_SMALL_TILE_ROWS + 1];
    int vector, columns, columns_few, rows_wide, rows;
    npy_intp few, most_few, most; /* number of rows that are few, and maximum size of weights with these */
    loopdbg_small_tile sixteen; /* sixteen rows with up to 8 columns, in memory for 8; or NULL */
    loopdbg_transposed_tile turned[LOOPDBG_TURNED_ROWS + 1]; /* by their rows (transposed_products.h); NULL: none */
} loopdbg_small_tiling;

/* Is BLAS slower, for any layout (reading a view instead of a copy must give the same bits)? BLAS is used for dot
 * products, which it vectorizes; products of one row with many columns as in an attention are done here, where nothing
 * has to be copied. */
static int loopdbg_is_small(loopdbg_small_tiling const *edges, npy_intp m, npy_intp k, npy_intp n) {
    if (n == 1) return m * k <= LOOPDBG_DOT_MAX_TERMS;
    if (m == 1 && k > LOOPDBG_ATTENTION_HEAD_MAX && n > LOOPDBG_ATTENTION_HEAD_MAX) return 0;
    return k * n <= (m <= edges->few ? edges->most_few : edges->most);
}

static inline void loopdbg_advance_rows(loopdbg_strided_product *p, npy_intp rows) {
    p->a += rows * p->a_row, p->out += rows * p->out_row;
    if (p->start) p->start += rows * p->start_row;
}

/* Some rows and columns, of a matrix b whose columns are contiguous. */
static void loopdbg_row_major_product(loopdbg_small_tiling const *edges, loopdbg_strided_product const *p, npy_intp m,
                                      npy_intp n) {
    int widest = m <= 2 ? edges->columns_few : edges->columns;
    for (npy_intp first = 0; first < n; first += widest) {
        int columns = n - first < widest ? (int)(n - first) : widest;
        int vectors = (columns + edges->vector - 1) / edges->vector;
        int most = vectors * edges->vector == edges->columns ? edges->rows_wide : edges->rows;
        loopdbg_strided_product part = *p;
        part.b += first, part.out += first;
        if (part.start) part.start += first;
        for (npy_intp left = m; left;) {
            int rows = left < most ? (int)left : most;
            edges->tiles[vectors - 1][rows](&part, columns);
            loopdbg_advance_rows(&part, rows);
            left -= rows;
        }
    }
}

/* Columns of b that are strided are made contiguous, in parts that fit the first-level cache. So are short rows that
 * straddle cache lines, if many rows of a use them. */
enum { LOOPDBG_PACK_DEPTH = 128, LOOPDBG_PACK_COLUMNS = 64, LOOPDBG_PACK_MIN_ROWS = 32 };

static void loopdbg_pack_columns(float const *b, npy_intp row, npy_intp column, float *laid, npy_intp k, npy_intp n,
                                 npy_intp width) {
    npy_intp const size = sizeof(float);
    npy_intp whole = row == 1 ? k / 4 * 4 : 0, c = 0;
    for (; c + 4 <= n; c += 4) {
        for (npy_intp j = 0; j < whole; j += 4)
            loopdbg_turn_block_4((char const *)(b + c * column + j), column * size, (char *)(laid + j * width + c),
                                 width * size);
        for (npy_intp j = whole; j < k; j++)
            for (npy_intp i = c; i < c + 4; i++) laid[j * width + i] = b[j * row + i * column];
    }
    for (; c < n; c++)
        for (npy_intp j = 0; j < k; j++) laid[j * width + c] = b[j * row + c * column];
}

/* The same of a matrix b of any layout. */
static void loopdbg_general_product(loopdbg_small_tiling const *edges, loopdbg_strided_product const *p, npy_intp b_column,
                                    npy_intp m, npy_intp n) {
    float laid[LOOPDBG_PACK_DEPTH * LOOPDBG_PACK_COLUMNS];
    if (n == 1 || (b_column == 1 && (m < LOOPDBG_PACK_MIN_ROWS || n >= 16))) {
        loopdbg_row_major_product(edges, p, m, n);
        return;
    }
    if (m <= LOOPDBG_TURNED_ROWS && edges->turned[m] && n >= edges->vector && p->b_row == 1 && p->k % 4 == 0 && !p->start) {
        edges->turned[m](p, b_column, n);
        return;
    }
    for (npy_intp first = 0; first < n; first += LOOPDBG_PACK_COLUMNS) {
        npy_intp columns = n - first < LOOPDBG_PACK_COLUMNS ? n - first : LOOPDBG_PACK_COLUMNS;
        npy_intp width = (columns + 15) / 16 * 16, j = 0;
        do {
            loopdbg_strided_product part = *p;
            part.k = p->k - j < LOOPDBG_PACK_DEPTH ? p->k - j : LOOPDBG_PACK_DEPTH;
            if (columns < 8) memset(laid, 0, (size_t)(part.k * width) * sizeof(float)); /* they are read, too */
            loopdbg_pack_columns(p->b + j * p->b_row + first * b_column, p->b_row, b_column, laid, part.k, columns, width);
            part.a += j * p->a_column, part.b = laid, part.b_row = width, part.out += first;
            if (j) part.start = part.out, part.start_row = part.out_row;
            else if (part.start) part.start += first;
            npy_intp left = m;
            if (edges->sixteen && columns <= 8 && p->a_column == 1)
                for (; left >= 16; left -= 16, loopdbg_advance_rows(&part, 16)) edges->sixteen(&part, (int)columns);
            loopdbg_row_major_product(edges, &part, left, columns);
            j += LOOPDBG_PACK_DEPTH;
        } while (j < p->k);
    }
}

/* A stack of products, cut into tasks of some rows of one. */
typedef struct {
    loopdbg_small_tiling const *edges;
    loopdbg_strided_product p;
    npy_intp b_column, m, n, rows, pieces, a_next, b_next, out_next;
} loopdbg_products_job;

static void loopdbg_products_task(void const *what, npy_intp piece, int worker) {
    loopdbg_products_job const *job = (loopdbg_products_job const *)what;
    npy_intp const which = piece / job->pieces, first = piece % job->pieces * job->rows;
    loopdbg_strided_product p = job->p;
    (void)worker;
    p.a += which * job->a_next, p.b += which * job->b_next, p.out += which * job->out_next;
    loopdbg_advance_rows(&p, first);
    loopdbg_general_product(job->edges, &p, job->b_column, job->m - first < job->rows ? job->m - first : job->rows, job->n);
}

/* `count` products; rows are cut into whole tiles of any height, where that makes no more tasks than needed. */
static void loopdbg_parallel_products(loopdbg_products_job *job, npy_intp count) {
    double const work = (double)count * (double)job->m * (double)job->n * (double)job->p.k;
    if (loopdbg_is_worth_sharing(work) && count < 4 * loopdbg_thread_pool->workers && job->m >= 96) job->rows = 48;
    job->pieces = loopdbg_task_count(job->m, job->rows);
    loopdbg_parallel_for(loopdbg_products_task, job, count * job->pieces, work, 0);
}

/* Some rows of a matrix b that exceeds the second-level cache are read from their first to their last column before the
 * next rows, which processors prefetch: [1,2048] @ [2048,2048] takes 1.1 ms instead of 1.9. More rows of `a` use a deeper
 * block of b, as their sums are written after each: [256,2048] @ [2048,2048] takes 22 ms, and 43 in blocks of eight. */
enum { LOOPDBG_STREAMED_MIN_FLOATS = 1 << 18, LOOPDBG_STREAMED_DEPTH = 8, LOOPDBG_STREAMED_COLUMNS = 256 };

/* A product with a large matrix, cut into tasks of some columns. */
typedef struct {
    loopdbg_small_tiling const *edges;
    loopdbg_strided_product p;
    npy_intp m, n, columns;
} loopdbg_streamed_job;

static void loopdbg_streamed_task(void const *what, npy_intp piece, int worker) {
    loopdbg_streamed_job const *job = (loopdbg_streamed_job const *)what;
    npy_intp const first = piece * job->columns, columns = job->n - first < job->columns ? job->n - first : job->columns;
    npy_intp const depth = job->m > LOOPDBG_STREAMED_DEPTH ? LOOPDBG_PACK_DEPTH : LOOPDBG_STREAMED_DEPTH;
    loopdbg_strided_product p = job->p;
    (void)worker;
    p.b += first, p.out += first;
    if (p.start) p.start += first;
    for (npy_intp left = job->p.k; left > 0; left -= p.k) {
        p.k = left < depth ? left : depth;
        loopdbg_row_major_product(job->edges, &p, job->m, columns);
        p.a += p.k, p.b += p.k * p.b_row, p.start = p.out, p.start_row = p.out_row;
    }
}

/* out[m, n] = start[m, n] + x[m, k] @ b[k, n]; all contiguous, except that rows of `start` are `step` floats apart (0:
 * one row for all). NULL: 0. */
static void loopdbg_product(loopdbg_small_tiling const *edges, float const *x, float const *b, float *out, npy_intp m,
                            npy_intp k, npy_intp n, float const *start, npy_intp step) {
    loopdbg_strided_product const p = {x, b, start, out, k, k, 1, n, n, step};
    if (m && k * n > LOOPDBG_STREAMED_MIN_FLOATS) {
        double const work = (double)m * (double)n * (double)k;
        loopdbg_streamed_job job = {edges, p, m, n, loopdbg_is_worth_sharing(work) ? LOOPDBG_STREAMED_COLUMNS : n};
        loopdbg_parallel_for(loopdbg_streamed_task, &job, loopdbg_task_count(n, job.columns), work, 0);
    } else if (m) {
        loopdbg_products_job job = {edges, p, 1, m, n, m, 1, 0, 0, 0};
        loopdbg_parallel_products(&job, 1);
    }
}

/* A stack of products, with the arguments of NumPy's matmul. axis: count, and a stride for each argument; NULL: one. */
static void loopdbg_products(loopdbg_small_tiling const *edges, char **args, npy_intp const *dims, npy_intp const *steps,
                             npy_intp const *axis) {
    npy_intp const size = sizeof(float), one[4] = {1, 0, 0, 0};
    npy_intp m = dims[1], n = dims[3], count;
    loopdbg_strided_product p = {
        (float const *)args[0], (float const *)args[1], NULL, (float *)args[2], dims[2], steps[3] / size, steps[4] / size,
        steps[5] / size,        steps[7] / size,        0};
    axis = axis ? axis : one;
    count = axis[0];
    /* One matrix b for all: join the rows if they are contiguous. */
    if (count > 1 && !axis[2] && axis[1] == m * steps[3] && axis[3] == m * steps[7]) m *= count, count = 1;
    if (!m || !count) return;
    /* One tile: [16,8,3] @ [16,3,8] takes half of the time so. */
    if (n && m <= edges->rows && n < edges->columns && (steps[6] == size || n == 1)) {
        loopdbg_small_tile const tile = edges->tiles[(n - 1) / edges->vector][m];
        for (; count; count--) {
            tile(&p, (int)n);
            p.a += axis[1] / size, p.b += axis[2] / size, p.out += axis[3] / size;
        }
        return;
    }
    loopdbg_products_job job = {edges, p, steps[6] / size, m, n, m, 1, axis[1] / size, axis[2] / size, axis[3] / size};
    loopdbg_parallel_products(&job, count);
}

#endif
