/* Tiles of products, unpacked and with panels, for one vector width (small_products.h, packed_weights.h). */
#include "small_products_lanes.h"
#include "../element_types/half_precision_lanes.h"

/* Columns of a strip. Many rows read two vectors of a row at a time. Contiguous strips are read at 98 GFLOPS from
 * beyond the second-level cache, parts of rows of 64 columns at 86. */
#undef STRIP
#define STRIP (N == 8 ? 16 : LOOPDBG_PANEL_COLUMNS)
/* Offset of a column of a row in a panel of strips. */
#define AT(column, STRIP) ((column) / STRIP * STRIP * k + (column) % STRIP)

/* R rows with one panel, W vectors of N floats at a time; sums stay in registers where R * W of them fit.
 * y[r * n + 0..63] = start[r * row + 0..63] + x[r * k + 0..k-1] @ panel, in strips of STRIP columns; start NULL: 0.
 * `ahead`: prefetch distance in bytes (0: none).
 * T: storage type of weights, after HEAD bytes; WEIGHTS(where, q): converts them to floats, with the declarations of
 * BEGIN. */
#define TILE(OF, T, HEAD, BEGIN, WEIGHTS, W, R)                                                                        \
    static void NAME(tile_##OF##_##R)(void const *panel, float const *x, float *y, npy_intp k, npy_intp n,             \
                                float const *start, npy_intp row, npy_intp ahead) {                                    \
        for (int first = 0; first < LOOPDBG_PANEL_COLUMNS; first += N * W) {                                                   \
            T const *w = (T const *)((char const *)panel + HEAD) + AT(first, STRIP);                                   \
            BEGIN((float const *)panel + first, W) VECTOR sum[R][W];                                                   \
            UNROLL for (int r = 0; r < R; r++)                                                                         \
                UNROLL for (int q = 0; q < W; q++)                                                                     \
                    sum[r][q] = start ? LOAD(start + r * row + first + q * N) : SPREAD(0.0f);                          \
            _Pragma("GCC unroll 2") for (npy_intp j = 0; j < k; j++, w += STRIP) {                                     \
                for (int b = 0; ahead && b < N * W; b += 64 / (int)sizeof(T))                                          \
                    __builtin_prefetch((char const *)(w + AT(b, STRIP)) + ahead);                                      \
                /* registers hold the numbers of all rows, or all weights, whichever are fewer */                     \
                VECTOR one[R], v[W];                                                                                   \
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

#define NOTHING(panel, W)
#define FLOATS_OF(p, q) LOAD(p)
#undef TILES
#if N == 16
#define HALVES_OF(p, q) (VECTOR)NAME(load_half)(p)
/* (byte + zero) * scale; the sum is exact. */
#define BYTES_BEGIN(panel, W)                                                                                          \
    __m512 scale[W], zero[W];                                                                                          \
    UNROLL for (int q = 0; q < W; q++) {                                                                               \
        scale[q] = _mm512_loadu_ps(panel + q * 16);                                                                    \
        zero[q] = _mm512_loadu_ps(panel + LOOPDBG_PANEL_COLUMNS + q * 16);                                                     \
    }
#define BYTES_OF(p, q)                                                                                                   \
    _mm512_mul_ps(_mm512_add_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((__m128i const *)(p)))), zero[q]), \
                  scale[q])
#define TILES(W, R)                                                                                                    \
    TILE(float, float, 0, NOTHING, FLOATS_OF, W, R)                                                                    \
    TILE(half, npy_half, 0, NOTHING, HALVES_OF, W, R)                                                                  \
    TILE(byte, npy_ubyte, LOOPDBG_INT8_PANEL_HEADER_BYTES, BYTES_BEGIN, BYTES_OF, (R > 4 ? 2 : W), R)
TILES(2, 8)
TILES(4, 7)
TILES(4, 6)
TILES(4, 5)
TILES(4, 4)
TILES(4, 3)
TILES(4, 2)
TILES(4, 1)
#define PAIR(OF, T, HEAD, BEGIN, WEIGHTS)                                                                              \
    static void NAME(pair_##OF)(void const *panel, float const *x, float *y, npy_intp k, float const *start,           \
                            npy_intp ahead) {                                                                          \
        npy_intp apart = HEAD + k * LOOPDBG_PANEL_COLUMNS * (npy_intp)sizeof(T);                                               \
        T const *w = (T const *)((char const *)panel + HEAD), *other = (T const *)((char const *)w + apart);           \
        float const *heads[2] = {(float const *)panel, (float const *)((char const *)panel + apart)};                  \
        BEGIN(heads)                                                                                                   \
        __m512 sum[8];                                                                                                 \
        UNROLL for (int q = 0; q < 8; q++) sum[q] = start ? _mm512_loadu_ps(start + q * 16) : _mm512_setzero_ps();     \
        for (npy_intp j = 0; j < k; j++, w += LOOPDBG_PANEL_COLUMNS, other += LOOPDBG_PANEL_COLUMNS) {                                 \
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
        zero[q] = _mm512_loadu_ps(heads[q / 4] + LOOPDBG_PANEL_COLUMNS + q % 4 * 16);                                          \
    }
PAIR(float, float, 0, NO_HEADS, FLOATS_OF)
PAIR(half, npy_half, 0, NO_HEADS, HALVES_OF)
PAIR(byte, npy_ubyte, LOOPDBG_INT8_PANEL_HEADER_BYTES, BYTES_HEADS, BYTES_OF)
/* Six rows at a time with all four vectors of a panel need the fewest loads per product: 170 of 175 GFLOPS where eight
 * with two vectors reach 135. But eight rows read distant weights only once. */
#define SIXES {0, 1, 2, 3, 4, 5, 6, 7, 4, 6}
#define SIXES_FAR {0, 1, 2, 3, 4, 5, 6, 7, 8, 6}
#define EIGHTS {0, 1, 2, 3, 4, 5, 6, 7, 8, 8}
#define TILING(OF, near, far, size, head, halves, bytes)                                                               \
    {{NULL, NAME(tile_##OF##_1), NAME(tile_##OF##_2), NAME(tile_##OF##_3), NAME(tile_##OF##_4), NAME(tile_##OF##_5),   \
      NAME(tile_##OF##_6), NAME(tile_##OF##_7), NAME(tile_##OF##_8)},                                                  \
     near, far, NAME(pair_##OF), 4096, size, head, STRIP, halves, bytes, NAME(edges)}
static loopdbg_tiling const NAME(tiling_half)[] = {TILING(half, SIXES, SIXES_FAR, sizeof(npy_half), 0, NULL, NULL)};
static loopdbg_tiling const NAME(tiling_byte)[] = {
    TILING(byte, EIGHTS, EIGHTS, 1, LOOPDBG_INT8_PANEL_HEADER_BYTES, NULL, NULL)};
static loopdbg_tiling const NAME(tiling)[] = {
    TILING(float, SIXES, SIXES_FAR, sizeof(float), 0, NAME(tiling_half), NAME(tiling_byte))};
#undef HALVES_OF
#undef TILING
#elif N == 8
#define HALVES_OF(p, q) (VECTOR)NAME(load_half)(p)
#define TILES(W, R) TILE(float, float, 0, NOTHING, FLOATS_OF, W, R) TILE(half, npy_half, 0, NOTHING, HALVES_OF, W, R)
TILES(2, 6)
TILES(2, 5)
TILES(2, 4)
TILES(4, 3)
TILES(4, 2)
TILES(8, 1)
#define TILING(OF, size, halves)                                                                                       \
    {{NULL, NAME(tile_##OF##_1), NAME(tile_##OF##_2), NAME(tile_##OF##_3), NAME(tile_##OF##_4), NAME(tile_##OF##_5),   \
      NAME(tile_##OF##_6)},                                                                                            \
     {0, 1, 2, 3, 4, 5, 6, 4, 5, 6}, {0, 1, 2, 3, 4, 5, 6, 4, 5, 6}, NULL, 4096, size, 0, STRIP, halves, NULL, NAME(edges)}
static loopdbg_tiling const NAME(tiling_half)[] = {TILING(half, sizeof(npy_half), NULL)};
static loopdbg_tiling const NAME(tiling)[] = {TILING(float, sizeof(float), NAME(tiling_half))};
#undef HALVES_OF
#undef TILING
#else
#define TILES(W, R) TILE(float, float, 0, NOTHING, FLOATS_OF, W, R)
TILES(2, 6)
TILES(2, 4)
TILES(4, 2)
TILES(8, 1)
/* clang-format off */
static loopdbg_tiling const NAME(tiling)[] = {{
    {NULL, NAME(tile_float_1), NAME(tile_float_2), NULL, NAME(tile_float_4), NULL, NAME(tile_float_6)},
    {0, 1, 2, 2, 4, 4, 6, 6, 6, 6}, {0, 1, 2, 2, 4, 4, 6, 6, 6, 6}, NULL, 8, sizeof(float), 0, STRIP, NULL, NULL, NAME(edges)}};
/* clang-format on */
#endif
