/* The product of rows with a weight matrix that is used again and again.
 *
 * The weights lie in panels of 64 columns, each panel one stretch of memory. One row times a matrix reads each weight once
 * and does two operations with it, so that what counts is how fast the weights arrive: every other call goes through the
 * panels backwards, and begins with those that the last one left in the cache. [1,256] @ [256,1024], whose 1 MiB of
 * weights just does not fit into a second-level cache of 1 MiB: 5.9 us, where OpenBLAS's gemv takes 9 to 12. Many rows
 * share what is read, 6 at a time: [60,512] @ [512,1024] takes 4.1 us a row with AVX-512, and 8.6 with AVX2, where
 * OpenBLAS takes 9.2.
 *
 * Every element is summed in the order of the weight's rows, rounded after each product and each addition: neither the
 * number of rows, nor the direction, nor the processor changes a result.
 */
#ifndef LOOPDBG_PANELS_H
#define LOOPDBG_PANELS_H

#include <string.h>
#include <numpy/npy_common.h>

enum { LOOPDBG_PANEL = 64 };

typedef float loopdbg_v4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float loopdbg_v8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float loopdbg_v16 __attribute__((vector_size(64), aligned(4), may_alias));

/* R rows with one panel, W vectors of N floats at a time; sums stay in registers where R * W of them fit.
 * y[r * n + 0..63] = x[r * k + 0..k-1] @ panel, whose rows are `stride` floats apart */
#define TILE(name, attributes, V, N, W, R)                                                                    \
    attributes static void name(float const *panel, float const *x, float *y, npy_intp k, npy_intp n,         \
                                npy_intp stride) {                                                            \
        for (int first = 0; first < LOOPDBG_PANEL; first += N * W) {                                          \
            float const *w = panel + first;                                                                   \
            V sum[R][W];                                                                                      \
            for (int r = 0; r < R; r++)                                                                       \
                for (int q = 0; q < W; q++) sum[r][q] = (V){0};                                               \
            for (npy_intp j = 0; j < k; j++, w += stride)                                                     \
                for (int r = 0; r < R; r++)                                                                   \
                    for (int q = 0; q < W; q++) sum[r][q] += x[r * k + j] * *(V const *)(w + q * N);          \
            for (int r = 0; r < R; r++)                                                                       \
                for (int q = 0; q < W; q++) *(V *)(y + r * n + first + q * N) = sum[r][q];                    \
        }                                                                                                     \
    }

typedef void (*loopdbg_tile)(float const *panel, float const *x, float *y, npy_intp k, npy_intp n, npy_intp stride);

/* Tiles of 6, 4, 2 and 1 rows, and up to how many rows they are no slower than BLAS. */
enum { LOOPDBG_TILES = 4, LOOPDBG_TILE_ROWS = 6 };
static int const loopdbg_tile_rows[LOOPDBG_TILES] = {6, 4, 2, 1};
typedef struct {
    loopdbg_tile tiles[LOOPDBG_TILES];
    int most_rows;
} loopdbg_tiling;

TILE(loopdbg_tile_6, , loopdbg_v4, 4, 2, 6)
TILE(loopdbg_tile_4, , loopdbg_v4, 4, 2, 4)
TILE(loopdbg_tile_2, , loopdbg_v4, 4, 4, 2)
TILE(loopdbg_tile_1, , loopdbg_v4, 4, 8, 1)
static loopdbg_tiling const loopdbg_any = {{loopdbg_tile_6, loopdbg_tile_4, loopdbg_tile_2, loopdbg_tile_1}, 8};

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))
TILE(loopdbg_tile_6_avx2, AVX2, loopdbg_v8, 8, 2, 6)
TILE(loopdbg_tile_4_avx2, AVX2, loopdbg_v8, 8, 2, 4)
TILE(loopdbg_tile_2_avx2, AVX2, loopdbg_v8, 8, 4, 2)
TILE(loopdbg_tile_1_avx2, AVX2, loopdbg_v8, 8, 8, 1)
static loopdbg_tiling const loopdbg_avx2 = {
    {loopdbg_tile_6_avx2, loopdbg_tile_4_avx2, loopdbg_tile_2_avx2, loopdbg_tile_1_avx2}, 512};
#define AVX512 __attribute__((target("avx512f")))
TILE(loopdbg_tile_6_avx512, AVX512, loopdbg_v16, 16, 4, 6)
TILE(loopdbg_tile_4_avx512, AVX512, loopdbg_v16, 16, 4, 4)
TILE(loopdbg_tile_2_avx512, AVX512, loopdbg_v16, 16, 4, 2)
TILE(loopdbg_tile_1_avx512, AVX512, loopdbg_v16, 16, 4, 1)
static loopdbg_tiling const loopdbg_avx512 = {
    {loopdbg_tile_6_avx512, loopdbg_tile_4_avx512, loopdbg_tile_2_avx512, loopdbg_tile_1_avx512}, 512};
#endif

/* What fits this processor; ``kind`` 0: the best, else one of them for tests (1: any, 2: AVX2, 3: AVX-512) or NULL where
 * the processor does not have it. */
static loopdbg_tiling const *loopdbg_find_tiling(int kind) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if ((kind == 0 || kind == 3) && __builtin_cpu_supports("avx512f")) return &loopdbg_avx512;
    if ((kind == 0 || kind == 2) && __builtin_cpu_supports("avx2")) return &loopdbg_avx2;
#endif
    return kind < 2 ? &loopdbg_any : NULL;
}

/* out[m, n] = x[m, k] @ weights; all contiguous. */
static void loopdbg_panels(loopdbg_tiling const *tiling, float const *x, float const *weights, float *out, npy_intp m,
                           npy_intp k, npy_intp n, int backwards) {
    npy_intp count = (n + LOOPDBG_PANEL - 1) / LOOPDBG_PANEL;
    float rest[LOOPDBG_TILE_ROWS * LOOPDBG_PANEL];
    for (npy_intp c = 0; c < count; c++) {
        npy_intp first = (backwards ? count - 1 - c : c) * LOOPDBG_PANEL, row = 0;
        float const *panel = weights + first * k;
        for (int t = 0; t < LOOPDBG_TILES; t++) {
            int rows = loopdbg_tile_rows[t];
            for (; row + rows <= m; row += rows) {
                float *y = out + row * n + first;
                if (n - first >= LOOPDBG_PANEL) {
                    tiling->tiles[t](panel, x + row * k, y, k, n, LOOPDBG_PANEL);
                    continue;
                }
                tiling->tiles[t](panel, x + row * k, rest, k, LOOPDBG_PANEL, LOOPDBG_PANEL);
                for (int r = 0; r < rows; r++)
                    memcpy(y + r * n, rest + r * LOOPDBG_PANEL, (size_t)(n - first) * sizeof(float));
            }
        }
    }
}

/* The same with weights [k, n] as they are. */
static void loopdbg_unpacked(loopdbg_tiling const *tiling, float const *x, float const *weights, float *out, npy_intp m,
                             npy_intp k, npy_intp n) {
    npy_intp whole = n / LOOPDBG_PANEL * LOOPDBG_PANEL, row = 0;
    for (int t = 0; t < LOOPDBG_TILES; t++)
        for (int rows = loopdbg_tile_rows[t]; row + rows <= m; row += rows)
            for (npy_intp first = 0; first < whole; first += LOOPDBG_PANEL)
                tiling->tiles[t](weights + first, x + row * k, out + row * n + first, k, n, n);
    for (row = 0; row < m; row++)
        for (npy_intp c = whole; c < n; c++) {
            float sum = 0;
            for (npy_intp j = 0; j < k; j++) sum += x[row * k + j] * weights[j * n + c];
            out[row * n + c] = sum;
        }
}

#endif
