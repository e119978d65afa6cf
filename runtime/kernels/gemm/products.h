/* Products of float32 matrices as they lie: stacks of small ones, and those with few columns.
 *
 * BLAS prepares what it multiplies, which takes longer than a small product: [8,8] @ [8,8] 80 ns, and here 28. Every element
 * is summed in the order that panels.h has, whatever the strides are, and columns beyond the last one are masked: nothing is
 * computed for them but what a vector computes anyhow.
 */
#ifndef LOOPDBG_PRODUCTS_H
#define LOOPDBG_PRODUCTS_H

#include <string.h>
#include "../dispatch/x86.h"
#if defined(LOOPDBG_X86)
#include <immintrin.h>
#endif
#include <numpy/npy_common.h>
#include "../dispatch/processor.h"
#include "../threads/team.h"
#include "../data_movement/turn.h"

typedef float loopdbg_v4 __attribute__((vector_size(16), aligned(4), may_alias));

#define UNROLL _Pragma("GCC unroll 16")

/* Strides count floats; columns of `b`, `out` and `start` are neighbours. start: where sums begin; NULL: 0. */
typedef struct {
    float const *a, *b, *start;
    float *out;
    npy_intp k, a_row, a_column, b_row, out_row, start_row;
} loopdbg_lying;

/* R rows with W vectors of N columns, of the last of which there are as many as are left of `columns`. */
#define EDGE(name, attributes, V, N, W, R, SPREAD, LOAD, STORE, ADD_PRODUCT, MASK, LOAD_SOME, STORE_SOME)              \
    attributes static void name(loopdbg_lying const *p, int columns) {                                                 \
        float const *a[R], *b = p->b;                                                                                  \
        npy_intp const column = p->a_column, step = p->b_row;                                                          \
        MASK(mask, columns - N * (W - 1))                                                                              \
        V sum[R][W];                                                                                                   \
        UNROLL for (int r = 0; r < R; r++) {                                                                           \
            float const *s = p->start ? p->start + r * p->start_row : NULL;                                            \
            a[r] = p->a + r * p->a_row;                                                                                \
            UNROLL for (int q = 0; q < W; q++)                                                                         \
                sum[r][q] = !p->start ? SPREAD(0.0f) : q < W - 1 ? LOAD(s + q * N) : LOAD_SOME(mask, s + q * N);       \
        }                                                                                                              \
        _Pragma("GCC unroll 2") for (npy_intp j = 0, i = 0; j < p->k; j++, i += column, b += step) {                   \
            V v[W];                                                                                                    \
            UNROLL for (int q = 0; q < W; q++) v[q] = q < W - 1 ? LOAD(b + q * N) : LOAD_SOME(mask, b + q * N);        \
            UNROLL for (int r = 0; r < R; r++) {                                                                       \
                V one = SPREAD(a[r][i]);                                                                               \
                UNROLL for (int q = 0; q < W; q++) sum[r][q] = ADD_PRODUCT(one, v[q], sum[r][q]);                      \
            }                                                                                                          \
        }                                                                                                              \
        UNROLL for (int r = 0; r < R; r++) {                                                                           \
            float *y = p->out + r * p->out_row;                                                                        \
            UNROLL for (int q = 0; q < W - 1; q++) STORE(y + q * N, sum[r][q]);                                        \
            STORE_SOME(y + (W - 1) * N, mask, sum[r][W - 1]);                                                          \
        }                                                                                                              \
    }

typedef void (*loopdbg_edge)(loopdbg_lying const *p, int columns);

/* Tiles by their vectors, less one, and their rows; how many columns a vector has, a tile of many rows at most, and one of
 * one or two rows; and the rows of tiles with all these columns, and of others; and what weights may be at most, in floats,
 * of which products take no longer than with BLAS. */
enum { LOOPDBG_EDGE_VECTORS = 4, LOOPDBG_EDGE_ROWS = 8, LOOPDBG_TURNED_ROWS = 4 };
/* Of one element a product of so many numbers, and what a head of an attention has at most. */
enum { LOOPDBG_FEW_PRODUCTS = 64, LOOPDBG_HEAD = 128 };
typedef void (*loopdbg_turned_tile)(loopdbg_lying const *p, npy_intp column, npy_intp n);
typedef struct {
    loopdbg_edge tiles[LOOPDBG_EDGE_VECTORS][LOOPDBG_EDGE_ROWS + 1];
    int vector, columns, columns_few, rows_wide, rows;
    npy_intp few, most_few, most; /* rows that are few, and what weights may be at most with these */
    loopdbg_edge sixteen; /* sixteen rows with up to 8 columns, of which there is memory for 8; or NULL */
    loopdbg_turned_tile turned[LOOPDBG_TURNED_ROWS + 1]; /* by their rows (products_turned.h); NULL: there are none */
} loopdbg_edges;

#include "products_turned.h"

#define EDGES_2(name, W) {NULL, name(W, 1), name(W, 2)}
#define EDGES_6(name, W) {NULL, name(W, 1), name(W, 2), name(W, 3), name(W, 4), name(W, 5), name(W, 6)}
#define EDGES_8(name, W)                                                                                               \
    {NULL, name(W, 1), name(W, 2), name(W, 3), name(W, 4), name(W, 5), name(W, 6), name(W, 7), name(W, 8)}
#define EACH_2(DO, W) DO(W, 1) DO(W, 2)
#define EACH_6(DO, W) EACH_2(DO, W) DO(W, 3) DO(W, 4) DO(W, 5) DO(W, 6)
#define EACH_8(DO, W) EACH_6(DO, W) DO(W, 7) DO(W, 8)

static inline loopdbg_v4 loopdbg_load_some(int count, float const *p) {
    loopdbg_v4 v = {0};
    for (int k = 0; k < count; k++) v[k] = p[k];
    return v;
}
static inline void loopdbg_store_some(float *p, int count, loopdbg_v4 v) {
    for (int k = 0; k < count; k++) p[k] = v[k];
}
#define SPREAD4(x) ((loopdbg_v4){x, x, x, x})
#define LOAD4(p) (*(loopdbg_v4 const *)(p))
#define STORE4(p, v) (*(loopdbg_v4 *)(p) = (v))
#define ROUND_EACH(a, b, sum) ((sum) + (a) * (b))
#define COUNT4(mask, count) int mask = count;
#define EDGE_ANY(W, R)                                                                                                 \
    EDGE(loopdbg_edge_##W##_##R, , loopdbg_v4, 4, W, R, SPREAD4, LOAD4, STORE4, ROUND_EACH, COUNT4, loopdbg_load_some,   \
         loopdbg_store_some)
EACH_6(EDGE_ANY, 1)
EACH_6(EDGE_ANY, 2)
EACH_2(EDGE_ANY, 3)
EACH_2(EDGE_ANY, 4)
#define EDGE_NAME(W, R) loopdbg_edge_##W##_##R
/* clang-format off */
static loopdbg_edges const loopdbg_edges_any = {
    {EDGES_6(EDGE_NAME, 1), EDGES_6(EDGE_NAME, 2), EDGES_2(EDGE_NAME, 3), EDGES_2(EDGE_NAME, 4)}, 4, 8, 16, 6, 6, 0, 0, 16, NULL, {NULL}};
/* clang-format on */

#if defined(LOOPDBG_X86)
#define EDGE_MASK2(mask, count)                                                                                        \
    __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
#define EDGE_SOME2(mask, p) _mm256_maskload_ps(p, mask)
#define EDGE_AVX2(W, R)                                                                                                \
    EDGE(loopdbg_edge_avx2_##W##_##R, __attribute__((target("avx2,fma"))), __m256, 8, W, R, _mm256_set1_ps,            \
         _mm256_loadu_ps, _mm256_storeu_ps, _mm256_fmadd_ps, EDGE_MASK2, EDGE_SOME2, _mm256_maskstore_ps)
EACH_6(EDGE_AVX2, 1)
EACH_6(EDGE_AVX2, 2)
EACH_2(EDGE_AVX2, 3)
EACH_2(EDGE_AVX2, 4)
#define TURNED_AVX2(R)                                                                                                 \
    TURNED(loopdbg_turned_avx2_##R, __attribute__((target("avx2,fma"))), __m256, 8, R, _mm256_setzero_ps,              \
           _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps, TURN8)
EACH_TURNED(TURNED_AVX2)
#define EDGE_NAME2(W, R) loopdbg_edge_avx2_##W##_##R
/* clang-format off */
static loopdbg_edges const loopdbg_edges_avx2 = {
    {EDGES_6(EDGE_NAME2, 1), EDGES_6(EDGE_NAME2, 2), EDGES_2(EDGE_NAME2, 3), EDGES_2(EDGE_NAME2, 4)},
    8, 16, 32, 6, 6, 4, 1 << 20, 1 << 16, NULL,
    {NULL, loopdbg_turned_avx2_1, loopdbg_turned_avx2_2, loopdbg_turned_avx2_3, loopdbg_turned_avx2_4}};
/* clang-format on */

#define EDGE_MASK5(mask, count) __mmask16 mask = (__mmask16)((1u << (count)) - 1);
#define EDGE_AVX512(W, R)                                                                                              \
    EDGE(loopdbg_edge_avx512_##W##_##R, __attribute__((target("avx512f"))), __m512, 16, W, R, _mm512_set1_ps,          \
         _mm512_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps, EDGE_MASK5, _mm512_maskz_loadu_ps, _mm512_mask_storeu_ps)
EACH_8(EDGE_AVX512, 1)
EACH_8(EDGE_AVX512, 2)
EACH_8(EDGE_AVX512, 3)
EACH_6(EDGE_AVX512, 4)
/* Two rows in a vector. Four numbers of both are read at once and spread from there: to read each by itself, for half a
 * vector of columns, takes longer than its products. [1024,64] @ [64,7]: 7 us instead of 11. */
__attribute__((target("avx512f"))) static void loopdbg_sixteen_rows(loopdbg_lying const *p, int columns) {
    npy_intp const row = p->a_row, step = p->b_row;
    __mmask16 const low = (__mmask16)((1u << columns) - 1), high = (__mmask16)(low << 8), upper = 0xff00;
    __m512 sum[8];
    npy_intp j = 0;
    UNROLL for (int r = 0; r < 8; r++) {
        float const *s = p->start ? p->start + 2 * r * p->start_row : NULL;
        sum[r] = _mm512_setzero_ps();
        if (s) sum[r] = _mm512_mask_loadu_ps(_mm512_maskz_loadu_ps(low, s), high, s + p->start_row - 8);
    }
#define BOTH(q) _mm512_castpd_ps(_mm512_broadcast_f64x4(_mm256_loadu_pd((double const *)(p->b + (j + q) * step))))
    for (; j + 4 <= p->k; j += 4) {
        __m512 const w0 = BOTH(0), w1 = BOTH(1), w2 = BOTH(2), w3 = BOTH(3);
        UNROLL for (int r = 0; r < 8; r++) {
            float const *x = p->a + 2 * r * row + j;
            __m512 v = _mm512_mask_broadcast_f32x4(_mm512_broadcast_f32x4(_mm_loadu_ps(x)), upper, _mm_loadu_ps(x + row));
            sum[r] = _mm512_fmadd_ps(_mm512_permute_ps(v, 0x00), w0, sum[r]);
            sum[r] = _mm512_fmadd_ps(_mm512_permute_ps(v, 0x55), w1, sum[r]);
            sum[r] = _mm512_fmadd_ps(_mm512_permute_ps(v, 0xaa), w2, sum[r]);
            sum[r] = _mm512_fmadd_ps(_mm512_permute_ps(v, 0xff), w3, sum[r]);
        }
    }
    for (; j < p->k; j++) {
        __m512 const w = BOTH(0);
        UNROLL for (int r = 0; r < 8; r++) {
            float const *x = p->a + 2 * r * row + j;
            sum[r] = _mm512_fmadd_ps(_mm512_mask_blend_ps(upper, _mm512_set1_ps(x[0]), _mm512_set1_ps(x[row])), w, sum[r]);
        }
    }
#undef BOTH
    UNROLL for (int r = 0; r < 8; r++) {
        float *y = p->out + 2 * r * p->out_row;
        _mm512_mask_storeu_ps(y, low, sum[r]);
        _mm512_mask_storeu_ps(y + p->out_row - 8, high, sum[r]);
    }
}
#define TURNED_AVX512(R)                                                                                               \
    TURNED(loopdbg_turned_avx512_##R, __attribute__((target("avx512f"))), __m512, 16, R, _mm512_setzero_ps,            \
           _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps, TURN16)
EACH_TURNED(TURNED_AVX512)
#define EDGE_NAME5(W, R) loopdbg_edge_avx512_##W##_##R
/* clang-format off */
static loopdbg_edges const loopdbg_edges_avx512 = {
    {EDGES_8(EDGE_NAME5, 1), EDGES_8(EDGE_NAME5, 2), EDGES_8(EDGE_NAME5, 3), EDGES_6(EDGE_NAME5, 4)},
    16, 64, 64, 6, 8, 16, 1 << 22, 1 << 18, loopdbg_sixteen_rows,
    {NULL, loopdbg_turned_avx512_1, loopdbg_turned_avx512_2, loopdbg_turned_avx512_3, loopdbg_turned_avx512_4}};
/* clang-format on */
#endif

/* Whether BLAS takes longer, however the matrices lie: who reads them in place of a copy has to get the same bits. Dot
 * products it does in vectors; of one row with many columns, those of an attention are done here, where nothing has to be
 * copied. */
static int loopdbg_is_small(loopdbg_edges const *edges, npy_intp m, npy_intp k, npy_intp n) {
    if (n == 1) return m * k <= LOOPDBG_FEW_PRODUCTS;
    if (m == 1 && k > LOOPDBG_HEAD && n > LOOPDBG_HEAD) return 0;
    return k * n <= (m <= edges->few ? edges->most_few : edges->most);
}

static inline void loopdbg_pass_rows(loopdbg_lying *p, npy_intp rows) {
    p->a += rows * p->a_row, p->out += rows * p->out_row;
    if (p->start) p->start += rows * p->start_row;
}

/* So many rows and columns, of a matrix b whose columns are neighbours. */
static void loopdbg_lying_product(loopdbg_edges const *edges, loopdbg_lying const *p, npy_intp m, npy_intp n) {
    int widest = m <= 2 ? edges->columns_few : edges->columns;
    for (npy_intp first = 0; first < n; first += widest) {
        int columns = n - first < widest ? (int)(n - first) : widest;
        int vectors = (columns + edges->vector - 1) / edges->vector;
        int most = vectors * edges->vector == edges->columns ? edges->rows_wide : edges->rows;
        loopdbg_lying part = *p;
        part.b += first, part.out += first;
        if (part.start) part.start += first;
        for (npy_intp left = m; left;) {
            int rows = left < most ? (int)left : most;
            edges->tiles[vectors - 1][rows](&part, columns);
            loopdbg_pass_rows(&part, rows);
            left -= rows;
        }
    }
}

/* Columns of b that are no neighbours become such, so many numbers of each at a time: what a first-level cache holds. So do
 * short rows, which lie across cache lines, where many rows of a meet them. */
enum { LOOPDBG_LAID = 128, LOOPDBG_LAID_COLUMNS = 64, LOOPDBG_LAY_ROWS = 32 };

static void loopdbg_lay(float const *b, npy_intp row, npy_intp column, float *laid, npy_intp k, npy_intp n, npy_intp width) {
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

/* The same of a matrix b that lies in any way. */
static void loopdbg_any_product(loopdbg_edges const *edges, loopdbg_lying const *p, npy_intp b_column, npy_intp m, npy_intp n) {
    float laid[LOOPDBG_LAID * LOOPDBG_LAID_COLUMNS];
    if (n == 1 || (b_column == 1 && (m < LOOPDBG_LAY_ROWS || n >= 16))) {
        loopdbg_lying_product(edges, p, m, n);
        return;
    }
    if (m <= LOOPDBG_TURNED_ROWS && edges->turned[m] && n >= edges->vector && p->b_row == 1 && p->k % 4 == 0 && !p->start) {
        edges->turned[m](p, b_column, n);
        return;
    }
    for (npy_intp first = 0; first < n; first += LOOPDBG_LAID_COLUMNS) {
        npy_intp columns = n - first < LOOPDBG_LAID_COLUMNS ? n - first : LOOPDBG_LAID_COLUMNS;
        npy_intp width = (columns + 15) / 16 * 16, j = 0;
        do {
            loopdbg_lying part = *p;
            part.k = p->k - j < LOOPDBG_LAID ? p->k - j : LOOPDBG_LAID;
            if (columns < 8) memset(laid, 0, (size_t)(part.k * width) * sizeof(float)); /* they are read, too */
            loopdbg_lay(p->b + j * p->b_row + first * b_column, p->b_row, b_column, laid, part.k, columns, width);
            part.a += j * p->a_column, part.b = laid, part.b_row = width, part.out += first;
            if (j) part.start = part.out, part.start_row = part.out_row;
            else if (part.start) part.start += first;
            npy_intp left = m;
            if (edges->sixteen && columns <= 8 && p->a_column == 1)
                for (; left >= 16; left -= 16, loopdbg_pass_rows(&part, 16)) edges->sixteen(&part, (int)columns);
            loopdbg_lying_product(edges, &part, left, columns);
            j += LOOPDBG_LAID;
        } while (j < p->k);
    }
}

/* A stack of products, cut into pieces of so many rows of one; there are so many pieces of each. */
typedef struct {
    loopdbg_edges const *edges;
    loopdbg_lying p;
    npy_intp b_column, m, n, rows, pieces, a_next, b_next, out_next;
} loopdbg_products_job;

static void loopdbg_products_piece(void const *what, npy_intp piece, int worker) {
    loopdbg_products_job const *job = (loopdbg_products_job const *)what;
    npy_intp const which = piece / job->pieces, first = piece % job->pieces * job->rows;
    loopdbg_lying p = job->p;
    (void)worker;
    p.a += which * job->a_next, p.b += which * job->b_next, p.out += which * job->out_next;
    loopdbg_pass_rows(&p, first);
    loopdbg_any_product(job->edges, &p, job->b_column, job->m - first < job->rows ? job->m - first : job->rows, job->n);
}

/* ``count`` products; rows are cut where that makes no more pieces than are needed, by whole tiles of any height. */
static void loopdbg_share_products(loopdbg_products_job *job, npy_intp count) {
    double const work = (double)count * (double)job->m * (double)job->n * (double)job->p.k;
    if (loopdbg_is_shared(work) && count < 4 * loopdbg_team->workers && job->m >= 96) job->rows = 48;
    job->pieces = loopdbg_pieces(job->m, job->rows);
    loopdbg_share(loopdbg_products_piece, job, count * job->pieces, work, 0);
}

/* out[m, n] = start[m, n] + x[m, k] @ b[k, n]; all contiguous, but that rows of `start` are `step` floats apart (0: there is
 * one for all). NULL: 0. */
static void loopdbg_product(loopdbg_edges const *edges, float const *x, float const *b, float *out, npy_intp m, npy_intp k,
                            npy_intp n, float const *start, npy_intp step) {
    loopdbg_products_job job = {edges, {x, b, start, out, k, k, 1, n, n, step}, 1, m, n, m, 1, 0, 0, 0};
    if (m) loopdbg_share_products(&job, 1);
}

/* A stack of products, as NumPy's matmul has its arguments. axis: how many, and a stride for each argument; NULL: one. */
static void loopdbg_products(loopdbg_edges const *edges, char **args, npy_intp const *dims, npy_intp const *steps,
                             npy_intp const *axis) {
    npy_intp const size = sizeof(float), one[4] = {1, 0, 0, 0};
    npy_intp m = dims[1], n = dims[3], count;
    loopdbg_lying p = {
        (float const *)args[0], (float const *)args[1], NULL, (float *)args[2], dims[2], steps[3] / size, steps[4] / size,
        steps[5] / size,        steps[7] / size,        0};
    axis = axis ? axis : one;
    count = axis[0];
    /* One matrix b for all: rows of all, where they follow each other. */
    if (count > 1 && !axis[2] && axis[1] == m * steps[3] && axis[3] == m * steps[7]) m *= count, count = 1;
    if (!m || !count) return;
    /* One tile: [16,8,3] @ [16,3,8] takes half of the time so. */
    if (n && m <= edges->rows && n < edges->columns && (steps[6] == size || n == 1)) {
        loopdbg_edge const tile = edges->tiles[(n - 1) / edges->vector][m];
        for (; count; count--) {
            tile(&p, (int)n);
            p.a += axis[1] / size, p.b += axis[2] / size, p.out += axis[3] / size;
        }
        return;
    }
    loopdbg_products_job job = {edges, p, steps[6] / size, m, n, m, 1, axis[1] / size, axis[2] / size, axis[3] / size};
    loopdbg_share_products(&job, count);
}

#endif
