/* The product of rows with a weight matrix that is used again and again.
 *
 * The weights lie in panels of 64 columns, each panel one stretch of memory, in strips of so many columns as a tile reads
 * at a time. One row times a matrix reads each weight once
 * and does two operations with it, so that what counts is how fast the weights arrive: those from beyond the second-level
 * cache are asked for ahead, and every other call goes through the panels backwards, and begins with those that the last
 * one left in the cache. [1,256] @ [256,1024], whose 1 MiB of weights just fits into a second-level cache: 6.5 us. Many
 * rows share what is read, 4 to 8 at a time: [64,256] @ [256,256] runs at 175 GFLOPS with AVX-512.
 *
 * Weights that all are numbers of float16 are kept as such, half as much to read, and become the same floats again. So are
 * those that are (byte + zero) * scale, rounded once, with numbers of each column: what 8-bit weights are widened to. A panel
 * of bytes begins with its scales and its zeros.
 *
 * Every element is summed in the order of the weight's rows: neither the number of rows nor the direction changes a result.
 * With AVX2 and AVX-512 each product goes into its sum with one rounding (FMA), which the two do alike; on other processors
 * product and sum are rounded each. What is added to the product is where its sums start.
 */
#ifndef LOOPDBG_PANELS_H
#define LOOPDBG_PANELS_H

#include <string.h>
#include "../dispatch/x86.h"
#if defined(LOOPDBG_X86)
#include <immintrin.h>
#endif
#include <numpy/npy_common.h>
#include "../dispatch/processor.h"
#include "products.h"
#include "../threads/team.h"

enum { LOOPDBG_PANEL = 64, LOOPDBG_BYTES_HEAD = 2 * LOOPDBG_PANEL * (int)sizeof(float) };

/* How far ahead weights are asked for, in bytes. Those that stay in the second-level cache are near: they come fast enough
 * unasked, and asking takes a load each time ([1,256] @ [256,1024]: 9 us, asked for ahead 15). */
enum { LOOPDBG_AHEAD = 1024, LOOPDBG_NEAR = 1 << 20 };

/* Beyond so many bytes weights are asked for. AMD's processors fetch from the third-level cache by themselves, and faster:
 * [1,512] @ [512,2048] takes 45 us on a Zen 4, asked for ahead 57. */
static npy_intp loopdbg_unasked(void) {
    static npy_intp most; /* to ask a virtual machine takes microseconds */
    if (!most) {
        most = LOOPDBG_NEAR;
#if defined(LOOPDBG_X86)
        __builtin_cpu_init();
        if (__builtin_cpu_is("amd")) most = 1 << 25;
#endif
    }
    return most;
}
/* Weights of so few bytes go through one panel at a time for one row: what half of them the first-level cache still has from
 * the call before is then read first. [1,64] @ [64,256]: 0.55 us instead of 0.61. */
enum { LOOPDBG_ALTERNATE = 1 << 17 };

/* Where a column of a row lies in a panel of strips. */
#define AT(column, STRIP) ((column) / STRIP * STRIP * k + (column) % STRIP)

/* R rows with one panel, W vectors of N floats at a time; sums stay in registers where R * W of them fit.
 * y[r * n + 0..63] = start[r * row + 0..63] + x[r * k + 0..k-1] @ panel, which lies in strips of STRIP columns; NULL: 0.
 * What lies `ahead` bytes further is asked for (0: nothing).
 * T: what weights are stored as, after HEAD bytes; WEIGHTS(where, q): how they become floats, from what BEGIN declared. */
#define TILE(name, attributes, T, STRIP, HEAD, BEGIN, WEIGHTS, V, N, W, R, SPREAD, LOAD, STORE, ADD_PRODUCT)           \
    attributes static void name(void const *panel, float const *x, float *y, npy_intp k, npy_intp n,                   \
                                float const *start, npy_intp row, npy_intp ahead) {                                    \
        for (int first = 0; first < LOOPDBG_PANEL; first += N * W) {                                                   \
            T const *w = (T const *)((char const *)panel + HEAD) + AT(first, STRIP);                                   \
            BEGIN((float const *)panel + first, W) V sum[R][W];                                                        \
            UNROLL for (int r = 0; r < R; r++)                                                                         \
                UNROLL for (int q = 0; q < W; q++)                                                                     \
                    sum[r][q] = start ? LOAD(start + r * row + first + q * N) : SPREAD(0.0f);                          \
            _Pragma("GCC unroll 2") for (npy_intp j = 0; j < k; j++, w += STRIP) {                                     \
                for (int b = 0; ahead && b < N * W; b += 64 / (int)sizeof(T))                                          \
                    __builtin_prefetch((char const *)(w + AT(b, STRIP)) + ahead);                                      \
                /* Registers hold the numbers of all rows, or all weights, whichever are fewer. */                     \
                V one[R], v[W];                                                                                        \
                if (R < W) UNROLL for (int r = 0; r < R; r++) one[r] = SPREAD(x[r * k + j]);                           \
                else UNROLL for (int q = 0; q < W; q++) v[q] = WEIGHTS(w + AT(q * N, STRIP), q);                       \
                UNROLL for (int a = 0; a < (R < W ? W : R); a++) {                                                     \
                    if (R < W) v[a] = WEIGHTS(w + AT(a * N, STRIP), a);                                                \
                    else one[a] = SPREAD(x[a * k + j]);                                                                \
                    UNROLL for (int b = 0; b < (R < W ? R : W); b++) {                                                 \
                        int r = R < W ? b : a, q = R < W ? a : b;                                                      \
                        sum[r][q] = ADD_PRODUCT(one[r], v[q], sum[r][q]);                                              \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
            UNROLL for (int r = 0; r < R; r++)                                                                         \
                UNROLL for (int q = 0; q < W; q++) STORE(y + r * n + first + q * N, sum[r][q]);                        \
        }                                                                                                              \
    }

typedef void (*loopdbg_tile)(void const *panel, float const *x, float *y, npy_intp k, npy_intp n, float const *start,
                             npy_intp row, npy_intp ahead);

/* Tiles by their rows, how many rows the next tile takes of so many that are left (of more: of the last number), the same
 * where weights are far, and up to how many rows tiles are no slower than BLAS on one thread. */
enum { LOOPDBG_TILE_ROWS = 8 };
typedef struct loopdbg_tiling {
    loopdbg_tile tiles[LOOPDBG_TILE_ROWS + 1];
    int takes[LOOPDBG_TILE_ROWS + 2], takes_far[LOOPDBG_TILE_ROWS + 2];
    /* One row with two whole panels beside each other, where that hides what an addition takes; or NULL. */
    void (*pair)(void const *panel, float const *x, float *y, npy_intp k, float const *start, npy_intp ahead);
    int most_rows;
    int size, head, strip; /* bytes of a weight, what a panel has before them, and columns of a strip */
    struct loopdbg_tiling const *halves, *bytes; /* for weights that are float16, or scaled bytes; or NULL */
    loopdbg_edges const *edges;
} loopdbg_tiling;

/* Rows that stay in the second-level cache while all panels pass by, in bytes. */
enum { LOOPDBG_CHUNK = 1 << 20 };

#define WEIGHTS4(p, q) LOAD4(p)
#define NOTHING(panel, W)
TILE(loopdbg_tile_6, , float, LOOPDBG_PANEL, 0, NOTHING, WEIGHTS4, loopdbg_v4, 4, 2, 6, SPREAD4, LOAD4, STORE4, ROUND_EACH)
TILE(loopdbg_tile_4, , float, LOOPDBG_PANEL, 0, NOTHING, WEIGHTS4, loopdbg_v4, 4, 2, 4, SPREAD4, LOAD4, STORE4, ROUND_EACH)
TILE(loopdbg_tile_2, , float, LOOPDBG_PANEL, 0, NOTHING, WEIGHTS4, loopdbg_v4, 4, 4, 2, SPREAD4, LOAD4, STORE4, ROUND_EACH)
TILE(loopdbg_tile_1, , float, LOOPDBG_PANEL, 0, NOTHING, WEIGHTS4, loopdbg_v4, 4, 8, 1, SPREAD4, LOAD4, STORE4, ROUND_EACH)
/* clang-format off */
static loopdbg_tiling const loopdbg_any = {
    {NULL, loopdbg_tile_1, loopdbg_tile_2, NULL, loopdbg_tile_4, NULL, loopdbg_tile_6},
    {0, 1, 2, 2, 4, 4, 6, 6, 6, 6}, {0, 1, 2, 2, 4, 4, 6, 6, 6, 6}, NULL, 8, sizeof(float), 0,
    LOOPDBG_PANEL, NULL, NULL, &loopdbg_edges_any};
/* clang-format on */

#if defined(LOOPDBG_X86)
#define AVX2 __attribute__((target("avx2,fma,f16c")))
/* Many rows read two vectors of a row at a time. In one piece, those of one row after those of the other, they arrive at
 * 98 GFLOPS from beyond the second-level cache, and out of rows of 64 columns at 86. */
enum { LOOPDBG_STRIP2 = 16 };
#define TILE2_OF(name, T, WEIGHTS, W, R)                                                                               \
    TILE(name, AVX2, T, LOOPDBG_STRIP2, 0, NOTHING, WEIGHTS, __m256, 8, W, R, _mm256_set1_ps, _mm256_loadu_ps,         \
         _mm256_storeu_ps, _mm256_fmadd_ps)
#define TILE2(name, W, R)                                                                                              \
    TILE2_OF(name##_avx2, float, FLOATS2, W, R)                                                                        \
    TILE2_OF(name##_avx2_half, npy_half, HALVES2, W, R)
#define FLOATS2(p, q) _mm256_loadu_ps(p)
#define HALVES2(p, q) _mm256_cvtph_ps(_mm_loadu_si128((__m128i const *)(p)))
TILE2(loopdbg_tile_6, 2, 6)
TILE2(loopdbg_tile_5, 2, 5)
TILE2(loopdbg_tile_4, 2, 4)
TILE2(loopdbg_tile_3, 4, 3)
TILE2(loopdbg_tile_2, 4, 2)
TILE2(loopdbg_tile_1, 8, 1)
#define TILING2(name, size, halves)                                                                                    \
    {{NULL, loopdbg_tile_1_##name, loopdbg_tile_2_##name, loopdbg_tile_3_##name, loopdbg_tile_4_##name,                \
      loopdbg_tile_5_##name, loopdbg_tile_6_##name},                                                                   \
     {0, 1, 2, 3, 4, 5, 6, 4, 5, 6}, {0, 1, 2, 3, 4, 5, 6, 4, 5, 6}, NULL, 4096, size, 0, LOOPDBG_STRIP2, \
     halves, NULL, &loopdbg_edges_avx2}
static loopdbg_tiling const loopdbg_avx2_half = TILING2(avx2_half, sizeof(npy_half), NULL);
static loopdbg_tiling const loopdbg_avx2 = TILING2(avx2, sizeof(float), &loopdbg_avx2_half);
#define AVX512 __attribute__((target("avx512f")))
#define TILE5_OF(name, T, HEAD, BEGIN, WEIGHTS, W, R)                                                                  \
    TILE(name, AVX512, T, LOOPDBG_PANEL, HEAD, BEGIN, WEIGHTS, __m512, 16, W, R, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps,   \
         _mm512_fmadd_ps)
#define TILE5(name, W, R)                                                                                              \
    TILE5_OF(name##_avx512, float, 0, NOTHING, FLOATS5, W, R)                                                          \
    TILE5_OF(name##_avx512_half, npy_half, 0, NOTHING, HALVES5, W, R)                                                  \
    TILE5_OF(name##_avx512_byte, npy_ubyte, LOOPDBG_BYTES_HEAD, BYTES_BEGIN, BYTES5, (R > 4 ? 2 : W), R)
#define FLOATS5(p, q) _mm512_loadu_ps(p)
#define HALVES5(p, q) _mm512_cvtph_ps(_mm256_loadu_si256((__m256i const *)(p)))
/* (byte + zero) * scale; the sum is exact. */
#define BYTES_BEGIN(panel, W)                                                                                          \
    __m512 scale[W], zero[W];                                                                                          \
    UNROLL for (int q = 0; q < W; q++) {                                                                               \
        scale[q] = _mm512_loadu_ps(panel + q * 16);                                                                    \
        zero[q] = _mm512_loadu_ps(panel + LOOPDBG_PANEL + q * 16);                                                     \
    }
#define BYTES5(p, q)                                                                                                   \
    _mm512_mul_ps(_mm512_add_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((__m128i const *)(p)))), zero[q]), \
                  scale[q])
TILE5(loopdbg_tile_8, 2, 8)
TILE5(loopdbg_tile_7, 4, 7)
TILE5(loopdbg_tile_6, 4, 6)
TILE5(loopdbg_tile_5, 4, 5)
TILE5(loopdbg_tile_4, 4, 4)
TILE5(loopdbg_tile_3, 4, 3)
TILE5(loopdbg_tile_2, 4, 2)
TILE5(loopdbg_tile_1, 4, 1)
#define PAIR(name, T, HEAD, BEGIN, WEIGHTS)                                                                            \
    AVX512 static void name(void const *panel, float const *x, float *y, npy_intp k, float const *start,               \
                            npy_intp ahead) {                                                                          \
        npy_intp apart = HEAD + k * LOOPDBG_PANEL * (npy_intp)sizeof(T);                                               \
        T const *w = (T const *)((char const *)panel + HEAD), *other = (T const *)((char const *)w + apart);           \
        float const *heads[2] = {(float const *)panel, (float const *)((char const *)panel + apart)};                  \
        BEGIN(heads)                                                                                                   \
        __m512 sum[8];                                                                                                 \
        UNROLL for (int q = 0; q < 8; q++) sum[q] = start ? _mm512_loadu_ps(start + q * 16) : _mm512_setzero_ps();     \
        for (npy_intp j = 0; j < k; j++, w += LOOPDBG_PANEL, other += LOOPDBG_PANEL) {                                 \
            __m512 one = _mm512_set1_ps(x[j]);                                                                         \
            if (ahead) UNROLL for (int q = 0; q < (int)sizeof(T); q++) {                                               \
                __builtin_prefetch((char const *)w + q * 64 + ahead);                                                  \
                __builtin_prefetch((char const *)other + q * 64 + ahead);                                              \
            }                                                                                                          \
            UNROLL for (int q = 0; q < 4; q++) {                                                                       \
                sum[q] = _mm512_fmadd_ps(one, WEIGHTS(w + q * 16, q), sum[q]);                                         \
                sum[q + 4] = _mm512_fmadd_ps(one, WEIGHTS(other + q * 16, q + 4), sum[q + 4]);                         \
            }                                                                                                          \
        }                                                                                                              \
        UNROLL for (int q = 0; q < 8; q++) _mm512_storeu_ps(y + q * 16, sum[q]);                                       \
    }
#define NO_HEADS(heads) (void)heads;
#define BYTES_HEADS(heads)                                                                                             \
    __m512 scale[8], zero[8];                                                                                          \
    UNROLL for (int q = 0; q < 8; q++) {                                                                               \
        scale[q] = _mm512_loadu_ps(heads[q / 4] + q % 4 * 16);                                                         \
        zero[q] = _mm512_loadu_ps(heads[q / 4] + LOOPDBG_PANEL + q % 4 * 16);                                          \
    }
PAIR(loopdbg_pair_avx512, float, 0, NO_HEADS, FLOATS5)
PAIR(loopdbg_pair_avx512_half, npy_half, 0, NO_HEADS, HALVES5)
PAIR(loopdbg_pair_avx512_byte, npy_ubyte, LOOPDBG_BYTES_HEAD, BYTES_HEADS, BYTES5)
/* Six rows at a time with all four vectors of a panel read least of all for a product: 170 of 175 GFLOPS where eight with
 * two vectors reach 135. But where there are eight, weights that are far are read once for them. */
#define SIXES {0, 1, 2, 3, 4, 5, 6, 7, 4, 6}
#define SIXES_FAR {0, 1, 2, 3, 4, 5, 6, 7, 8, 6}
#define EIGHTS {0, 1, 2, 3, 4, 5, 6, 7, 8, 8}
#define TILING5(name, near, far, size, head, halves, bytes)                                                                 \
    {{NULL, loopdbg_tile_1_##name, loopdbg_tile_2_##name, loopdbg_tile_3_##name, loopdbg_tile_4_##name,                \
      loopdbg_tile_5_##name, loopdbg_tile_6_##name, loopdbg_tile_7_##name, loopdbg_tile_8_##name},                     \
     near, far, loopdbg_pair_##name, 4096, size, head, LOOPDBG_PANEL, halves, bytes, &loopdbg_edges_avx512}
static loopdbg_tiling const loopdbg_avx512_half = TILING5(avx512_half, SIXES, SIXES_FAR, sizeof(npy_half), 0, NULL, NULL);
static loopdbg_tiling const loopdbg_avx512_byte = TILING5(avx512_byte, EIGHTS, EIGHTS, 1, LOOPDBG_BYTES_HEAD, NULL, NULL);
static loopdbg_tiling const loopdbg_avx512 =
    TILING5(avx512, SIXES, SIXES_FAR, sizeof(float), 0, &loopdbg_avx512_half, &loopdbg_avx512_byte);
#undef SIXES
#undef SIXES_FAR
#undef EIGHTS
#endif

/* What fits this processor; ``kind`` 0: the best, else one of them for tests (1: any, 2: AVX2, 3: AVX-512) or NULL where
 * the processor does not have it. */
static loopdbg_tiling const *loopdbg_find_tiling(int kind) {
#if defined(LOOPDBG_X86)
    static loopdbg_tiling const *const tilings[] = {&loopdbg_any, &loopdbg_avx2, &loopdbg_avx512};
#else
    static loopdbg_tiling const *const tilings[] = {&loopdbg_any};
#endif
    int lanes = loopdbg_find_lanes(kind);
    return lanes ? tilings[lanes - 1] : NULL;
}

static inline int loopdbg_next_rows(int const *takes, npy_intp left) {
    return takes[left > LOOPDBG_TILE_ROWS ? LOOPDBG_TILE_ROWS + 1 : left];
}

/* The product, cut into pieces of so many rows with so many panels; there are so many groups of panels. Every sum is the same
 * however it is cut. */
typedef struct {
    loopdbg_tiling const *tiling;
    float const *x;
    void const *weights;
    float *out;
    npy_intp m, k, n, rows, panels, groups;
    int backwards;
    float const *start;
    npy_intp step;
} loopdbg_panels_job;

static void loopdbg_panels_piece(void const *what, npy_intp piece, int worker) {
    loopdbg_panels_job const *job = (loopdbg_panels_job const *)what;
    loopdbg_tiling const *tiling = job->tiling;
    npy_intp const k = job->k, n = job->n, step = job->step, above = piece / job->groups * job->rows;
    npy_intp const m = job->m - above < job->rows ? job->m - above : job->rows;
    npy_intp const low = piece % job->groups * job->panels, all = (n + LOOPDBG_PANEL - 1) / LOOPDBG_PANEL - low;
    npy_intp const count = all < job->panels ? all : job->panels;
    float const *x = job->x + above * k, *start = job->start ? job->start + above * step : NULL;
    float *out = job->out + above * n;
    int const backwards = job->backwards ^ (int)(piece / job->groups & 1), far = k * n * tiling->size > LOOPDBG_NEAR;
    npy_intp ahead = k * n * tiling->size > loopdbg_unasked() ? LOOPDBG_AHEAD : 0;
    float rest[LOOPDBG_TILE_ROWS * LOOPDBG_PANEL], from[LOOPDBG_TILE_ROWS * LOOPDBG_PANEL] = {0};
    (void)worker;
    for (npy_intp c = 0; c < count; c++) {
        npy_intp first = (low + (backwards ? count - 1 - c : c)) * LOOPDBG_PANEL, row = 0, left = n - first;
        npy_intp apart = tiling->head + k * LOOPDBG_PANEL * tiling->size;
        char const *panel = (char const *)job->weights + first / LOOPDBG_PANEL * apart;
        if (m == 1 && tiling->pair && c + 1 < count && k * n * tiling->size > LOOPDBG_ALTERNATE) {
            npy_intp both = backwards ? first - LOOPDBG_PANEL : first;
            if (n - both >= 2 * LOOPDBG_PANEL) {
                tiling->pair((char const *)job->weights + both / LOOPDBG_PANEL * apart, x, out + both, k,
                             start ? start + both : NULL, ahead);
                c++;
                continue;
            }
        }
        if (left < LOOPDBG_PANEL && tiling->size == sizeof(float) && (m > 2 || left <= tiling->strip)) {
            /* Only the vectors that there are; one or two rows would have too few sums at a time in narrow strips. */
            npy_intp strip = tiling->strip;
            for (npy_intp c0 = 0; c0 < left; c0 += strip) {
                loopdbg_lying last = {
                    x,   (float const *)panel + c0 * k, start ? start + first + c0 : NULL, out + first + c0, k, k, 1, strip, n,
                    step};
                loopdbg_lying_product(tiling->edges, &last, m, left - c0 < strip ? left - c0 : strip);
            }
            continue;
        }
        for (int rows; row < m; row += rows) {
            rows = loopdbg_next_rows(far ? tiling->takes_far : tiling->takes, m - row);
            float *y = out + row * n + first;
            float const *s = start ? start + row * step + first : NULL;
            if (left >= LOOPDBG_PANEL) {
                tiling->tiles[rows](panel, x + row * k, y, k, n, s, step, row ? 0 : ahead);
                continue;
            }
            for (int r = 0; s && r < rows; r++) memcpy(from + r * LOOPDBG_PANEL, s + r * step, (size_t)left * sizeof(float));
            tiling->tiles[rows](panel, x + row * k, rest, k, LOOPDBG_PANEL, s ? from : NULL, LOOPDBG_PANEL, row ? 0 : ahead);
            for (int r = 0; r < rows; r++) memcpy(y + r * n, rest + r * LOOPDBG_PANEL, (size_t)left * sizeof(float));
        }
    }
}

/* out[m, n] = start[m, n] + x[m, k] @ weights; all contiguous, but that rows of `start` are `step` floats apart (0: there
 * is one for all). NULL: 0. */
static void loopdbg_panels(loopdbg_tiling const *tiling, float const *x, void const *weights, float *out, npy_intp m,
                           npy_intp k, npy_intp n, int backwards, float const *start, npy_intp step) {
    npy_intp most = LOOPDBG_CHUNK / (k * (npy_intp)sizeof(float)) / 8 * 8, count = (n + LOOPDBG_PANEL - 1) / LOOPDBG_PANEL;
    double const work = (double)m * (double)k * (double)n;
    loopdbg_panels_job job = {tiling, x, weights, out, m, k, n, most < 64 ? 64 : most, count, 1, backwards, start, step};
    if (loopdbg_is_shared(work)) {
        /* One row takes two panels at once. Where there are few, pieces have fewer rows: whole tiles of six and of eight. */
        job.panels = m == 1 ? 2 : 1;
        job.groups = (count + job.panels - 1) / job.panels;
        if (job.groups < 16 && job.rows > 48) job.rows = 48;
    }
    loopdbg_share(loopdbg_panels_piece, &job, loopdbg_pieces(m, job.rows) * job.groups, work, backwards);
}

#endif
