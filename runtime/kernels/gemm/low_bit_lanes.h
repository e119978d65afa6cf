/* Tiles of rows with low-bit weights, for one vector width (low_bit.h). */
#include "../dispatch/vectors.h"

/* sums[r * 64 + c] of R rows (and the sums of their blocks) with one panel: W vectors of N columns at a time. */
#define FEW_TILE(BITS, W, R)                                                                                  \
    static void NAME(few_##BITS##_##R)(uint32_t const *panel, float const *x, npy_intp stride, float const *parts, \
                                npy_intp blocks, npy_intp words, float *sums) {                               \
        enum { EACH = 32 / BITS };                                                                            \
        for (int first = 0; first < LOOPDBG_LOW_BIT_PANEL_COLUMNS; first += N * W) {                                      \
            uint32_t const *w = panel + first;                                                                \
            float const *row = x;                                                                             \
            V total[R][W];                                                                                    \
            for (int r = 0; r < R; r++)                                                                       \
                for (int q = 0; q < W; q++) total[r][q] = (V){0};                                             \
            for (npy_intp b = 0; b < blocks; b++, w += 2 * LOOPDBG_LOW_BIT_PANEL_COLUMNS) {                               \
                V sum[R][W];                                                                                  \
                for (int r = 0; r < R; r++)                                                                   \
                    for (int q = 0; q < W; q++) sum[r][q] = (V){0};                                           \
                for (npy_intp j = 0; j < words; j++, w += LOOPDBG_LOW_BIT_PANEL_COLUMNS, row += EACH) {                   \
                    VU word[W];                                                                               \
                    for (int q = 0; q < W; q++) word[q] = *(VU const *)(w + q * N);                           \
                    _Pragma("GCC unroll 16") for (int i = 0; i < EACH; i++) {                                 \
                        int const up = 23 - BITS - BITS * i;                                                  \
                        for (int q = 0; q < W; q++) {                                                         \
                            VU bits = up >= 0 ? word[q] << (up >= 0 ? up : 0) : word[q] >> (up < 0 ? -up : 0); \
                            V v = (V)((bits & (((1u << BITS) - 1) << (23 - BITS))) | 0x3f800000u);            \
                            for (int r = 0; r < R; r++)                                                       \
                                sum[r][q] = MULTIPLY_ADD((V){0} + row[r * stride + i], v, sum[r][q]);          \
                        }                                                                                     \
                    }                                                                                         \
                }                                                                                             \
                for (int q = 0; q < W; q++) {                                                                 \
                    V scale = *(V const *)(w + q * N), shift = *(V const *)(w + LOOPDBG_LOW_BIT_PANEL_COLUMNS + q * N);   \
                    for (int r = 0; r < R; r++) {                                                             \
                        V part = (V){0} + parts[r * blocks + b];                                              \
                        total[r][q] = MULTIPLY_ADD(scale, sum[r][q], MULTIPLY_ADD(shift, part, total[r][q]));   \
                    }                                                                                         \
                }                                                                                             \
            }                                                                                                 \
            for (int r = 0; r < R; r++)                                                                       \
                for (int q = 0; q < W; q++) *(V *)(sums + r * LOOPDBG_LOW_BIT_PANEL_COLUMNS + first + q * N) = total[r][q]; \
        }                                                                                                     \
    }

/* Vectors at a time for tiles of 4, 2 and 1 rows, limited by the registers for sums. */
#undef FEW_TILES
#if N == 16
#define FEW_TILES(BITS) FEW_TILE(BITS, 4, 4) FEW_TILE(BITS, 4, 2) FEW_TILE(BITS, 4, 1)
#elif N == 8
#define FEW_TILES(BITS) FEW_TILE(BITS, 2, 4) FEW_TILE(BITS, 2, 2) FEW_TILE(BITS, 4, 1)
#else
#define FEW_TILES(BITS) FEW_TILE(BITS, 1, 4) FEW_TILE(BITS, 2, 2) FEW_TILE(BITS, 4, 1)
#endif
FEW_TILES(2)
FEW_TILES(4)
FEW_TILES(8)
static loopdbg_low_bit_tiles const NAME(few_way)[] = {{{{NAME(few_2_4), NAME(few_2_2), NAME(few_2_1)},
                                                        {NAME(few_4_4), NAME(few_4_2), NAME(few_4_1)},
                                                        {NAME(few_8_4), NAME(few_8_2), NAME(few_8_1)}}}};
