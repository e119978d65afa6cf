/* Rows of float32 with weights of 2, 4 or 8 bits that have a scale and a zero point a block.
 *
 * A machine word holds as many neighbours along k as fit. Put below the exponent of 1, a weight q of so many bits is the
 * float 1 + q / 2^bits without any conversion; with the sum X of a block's part of the row
 *
 *     sum x (q - zero) scale = 2^bits scale * sum x (1 + q / 2^bits) - (2^bits + zero) scale * X
 *
 * The weights lie in panels of 64 columns: for each block its words, 64 at a time, then 64 of both factors. One row takes
 * three instructions for 16 weights, where dequantized weights would take eight times the memory. */
#ifndef LOOPDBG_FEW_BITS_H
#define LOOPDBG_FEW_BITS_H

#include <stdint.h>
#include <string.h>

#include "../call.h"
#include "../dispatch/processor.h"
#if defined(LOOPDBG_X86)
#include <immintrin.h>
#endif

enum { LOOPDBG_FEW_PANEL = 64, LOOPDBG_FEW_ROWS = 4 };

typedef float loopdbg_few_f4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float loopdbg_few_f8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float loopdbg_few_f16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t loopdbg_few_u4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint32_t loopdbg_few_u8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint32_t loopdbg_few_u16 __attribute__((vector_size(64), aligned(4), may_alias));

/* sums[r * 64 + c] of R rows (and the sums of their blocks) with one panel: W vectors of N columns at a time. */
#define FEW_TILE(NAME, ATTRIBUTES, BITS, V, U, N, W, R, FMA)                                                  \
    ATTRIBUTES static void NAME(uint32_t const *panel, float const *x, npy_intp stride, float const *parts,   \
                                npy_intp blocks, npy_intp words, float *sums) {                               \
        enum { EACH = 32 / BITS };                                                                            \
        for (int first = 0; first < LOOPDBG_FEW_PANEL; first += N * W) {                                      \
            uint32_t const *w = panel + first;                                                                \
            float const *row = x;                                                                             \
            V total[R][W];                                                                                    \
            for (int r = 0; r < R; r++)                                                                       \
                for (int q = 0; q < W; q++) total[r][q] = (V){0};                                             \
            for (npy_intp b = 0; b < blocks; b++, w += 2 * LOOPDBG_FEW_PANEL) {                               \
                V sum[R][W];                                                                                  \
                for (int r = 0; r < R; r++)                                                                   \
                    for (int q = 0; q < W; q++) sum[r][q] = (V){0};                                           \
                for (npy_intp j = 0; j < words; j++, w += LOOPDBG_FEW_PANEL, row += EACH) {                   \
                    U word[W];                                                                                \
                    for (int q = 0; q < W; q++) word[q] = *(U const *)(w + q * N);                            \
                    _Pragma("GCC unroll 16") for (int i = 0; i < EACH; i++) {                                 \
                        int const up = 23 - BITS - BITS * i;                                                  \
                        for (int q = 0; q < W; q++) {                                                         \
                            U bits = up >= 0 ? word[q] << (up >= 0 ? up : 0) : word[q] >> (up < 0 ? -up : 0); \
                            V v = (V)((bits & (((1u << BITS) - 1) << (23 - BITS))) | 0x3f800000u);            \
                            for (int r = 0; r < R; r++)                                                       \
                                sum[r][q] = FMA(V, (V){0} + row[r * stride + i], v, sum[r][q]);               \
                        }                                                                                     \
                    }                                                                                         \
                }                                                                                             \
                for (int q = 0; q < W; q++) {                                                                 \
                    V scale = *(V const *)(w + q * N), shift = *(V const *)(w + LOOPDBG_FEW_PANEL + q * N);   \
                    for (int r = 0; r < R; r++) {                                                             \
                        V part = (V){0} + parts[r * blocks + b];                                              \
                        total[r][q] = FMA(V, scale, sum[r][q], FMA(V, shift, part, total[r][q]));             \
                    }                                                                                         \
                }                                                                                             \
            }                                                                                                 \
            for (int r = 0; r < R; r++)                                                                       \
                for (int q = 0; q < W; q++) *(V *)(sums + r * LOOPDBG_FEW_PANEL + first + q * N) = total[r][q]; \
        }                                                                                                     \
    }

typedef void (*loopdbg_few_tile)(uint32_t const *panel, float const *x, npy_intp stride, float const *parts, npy_intp blocks,
                                 npy_intp words, float *sums);
/* For 2, 4 and 8 bits: tiles of 4, 2 and 1 rows. */
typedef struct {
    loopdbg_few_tile tiles[3][3];
} loopdbg_few_way;

#define FEW_BITS(NAME, ATTRIBUTES, BITS, V, U, N, W4, W2, W1, FMA)                                            \
    FEW_TILE(NAME##_##BITS##_4, ATTRIBUTES, BITS, V, U, N, W4, 4, FMA)                                        \
    FEW_TILE(NAME##_##BITS##_2, ATTRIBUTES, BITS, V, U, N, W2, 2, FMA)                                        \
    FEW_TILE(NAME##_##BITS##_1, ATTRIBUTES, BITS, V, U, N, W1, 1, FMA)
#define FEW_WAY(NAME, ATTRIBUTES, V, U, N, W4, W2, W1, FMA)                                                   \
    FEW_BITS(NAME, ATTRIBUTES, 2, V, U, N, W4, W2, W1, FMA)                                                   \
    FEW_BITS(NAME, ATTRIBUTES, 4, V, U, N, W4, W2, W1, FMA)                                                   \
    FEW_BITS(NAME, ATTRIBUTES, 8, V, U, N, W4, W2, W1, FMA)                                                   \
    static loopdbg_few_way const NAME = {{{NAME##_2_4, NAME##_2_2, NAME##_2_1},                               \
                                          {NAME##_4_4, NAME##_4_2, NAME##_4_1},                               \
                                          {NAME##_8_4, NAME##_8_2, NAME##_8_1}}};

#define FEW_FMA_ANY(V, A, B, C) ((A) * (B) + (C))
FEW_WAY(loopdbg_few_any, , loopdbg_few_f4, loopdbg_few_u4, 4, 1, 2, 4, FEW_FMA_ANY)
#if defined(LOOPDBG_X86)
#define FEW_FMA_8(V, A, B, C) (V) _mm256_fmadd_ps((__m256)(A), (__m256)(B), (__m256)(C))
#define FEW_FMA_16(V, A, B, C) (V) _mm512_fmadd_ps((__m512)(A), (__m512)(B), (__m512)(C))
FEW_WAY(loopdbg_few_avx2, __attribute__((target("avx2,fma"))), loopdbg_few_f8, loopdbg_few_u8, 8, 2, 2, 4, FEW_FMA_8)
FEW_WAY(loopdbg_few_avx512, __attribute__((target("avx512f"))), loopdbg_few_f16, loopdbg_few_u16, 16, 4, 4, 4, FEW_FMA_16)
#endif

static loopdbg_few_way const *loopdbg_few_best = &loopdbg_few_any;

/* Settle how it is done: as is best here (0), or for tests: for any processor (1), with AVX2 (2), AVX-512 (3). 0: this
 * processor cannot. */
static int loopdbg_few_use(int kind) {
#if defined(LOOPDBG_X86)
    static loopdbg_few_way const *const ways[] = {&loopdbg_few_any, &loopdbg_few_avx2, &loopdbg_few_avx512};
#else
    static loopdbg_few_way const *const ways[] = {&loopdbg_few_any};
#endif
    int lanes = loopdbg_find_lanes(kind);
    if (lanes) loopdbg_few_best = ways[lanes - 1];
    return lanes > 0;
}

/* x [m, k], weights, out [m, n], scratch; m, k, n, bits, block. Scratch: rows of whole blocks, and the sums of those. */
static int loopdbg_few_product(loopdbg_call *call) {
    npy_intp m = call->extra[0], k = call->extra[1], n = call->extra[2], bits = call->extra[3], block = call->extra[4];
    npy_intp blocks = (k + block - 1) / block, words = block * bits / 32, length = blocks * block;
    npy_intp count = (n + LOOPDBG_FEW_PANEL - 1) / LOOPDBG_FEW_PANEL, size = blocks * (words + 2) * LOOPDBG_FEW_PANEL;
    float const *x = (float const *)LOOPDBG_ARG(call, 0);
    uint32_t const *weights = (uint32_t const *)LOOPDBG_ARG(call, 1);
    float *out = (float *)LOOPDBG_ARG(call, 2), *rows = (float *)LOOPDBG_ARG(call, 3), *parts = rows + m * length;
    float sums[LOOPDBG_FEW_ROWS * LOOPDBG_FEW_PANEL];
    loopdbg_few_tile const *tiles = loopdbg_few_best->tiles[bits == 2 ? 0 : bits == 4 ? 1 : 2];
    for (npy_intp r = 0; r < m; r++) {
        float *row = rows + r * length;
        memcpy(row, x + r * k, (size_t)k * sizeof(float));
        memset(row + k, 0, (size_t)(length - k) * sizeof(float));
        for (npy_intp b = 0; b < blocks; b++) {
            float sum[4] = {0};
            for (npy_intp j = 0; j < block; j += 4)
                for (int i = 0; i < 4; i++) sum[i] += row[b * block + j + i];
            parts[r * blocks + b] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        }
    }
    for (npy_intp p = 0; p < count; p++) {
        npy_intp column = p * LOOPDBG_FEW_PANEL, width = n - column < LOOPDBG_FEW_PANEL ? n - column : LOOPDBG_FEW_PANEL;
        for (npy_intp first = 0, some; first < m; first += some) {
            int tile = m - first >= 4 ? 0 : m - first >= 2 ? 1 : 2;
            some = tile == 0 ? 4 : tile == 1 ? 2 : 1;
            tiles[tile](weights + p * size, rows + first * length, length, parts + first * blocks, blocks, words, sums);
            for (npy_intp r = 0; r < some; r++)
                memcpy(out + (first + r) * n + column, sums + r * LOOPDBG_FEW_PANEL, (size_t)width * sizeof(float));
        }
    }
    return 0;
}

#endif
