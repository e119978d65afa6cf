/* Rows of float32 times weights of 2, 4 or 8 bits with a scale and a zero point per block.
 *
 * A machine word holds as many weights adjacent along k as fit. Shifted below the exponent of 1, a weight q of B bits
 * is the float 1 + q / 2^B without a conversion; with the sum X of a block's part of the row
 *
 *     sum x (q - zero) scale = 2^B scale * sum x (1 + q / 2^B) - (2^B + zero) scale * X
 *
 * The weights are in panels of 64 columns: for each block its words, 64 at a time, then 64 of both factors. One row
 * takes three instructions for 16 weights, where dequantized weights would take eight times the memory. */
#ifndef LOOPDBG_FEW_BITS_H
#define LOOPDBG_FEW_BITS_H

#include <stdint.h>
#include <string.h>

#include "../call.h"
#include "../dispatch/lanes.h"

enum { LOOPDBG_LOW_BIT_PANEL_COLUMNS = 64, LOOPDBG_LOW_BIT_MAX_ROWS = 4 };

typedef void (*loopdbg_low_bit_tile)(uint32_t const *panel, float const *x, npy_intp stride, float const *parts,
                                     npy_intp blocks, npy_intp words, float *sums);
/* For 2, 4 and 8 bits: tiles of 4, 2 and 1 rows. */
typedef struct {
    loopdbg_low_bit_tile tiles[3][3];
} loopdbg_low_bit_tiles;

#define BODY "../gemm/low_bit_lanes.h"
#include "../dispatch/foreach_target.h"

/* x [m, k], weights, out [m, n], scratch; m, k, n, bits, block. Scratch: rows of whole blocks, and their sums. */
static int loopdbg_low_bit_product(loopdbg_call *call) {
    npy_intp m = call->extra[0], k = call->extra[1], n = call->extra[2], bits = call->extra[3], block = call->extra[4];
    npy_intp blocks = (k + block - 1) / block, words = block * bits / 32, length = blocks * block;
    npy_intp count = (n + LOOPDBG_LOW_BIT_PANEL_COLUMNS - 1) / LOOPDBG_LOW_BIT_PANEL_COLUMNS,
             size = blocks * (words + 2) * LOOPDBG_LOW_BIT_PANEL_COLUMNS;
    float const *x = (float const *)LOOPDBG_ARG(call, 0);
    uint32_t const *weights = (uint32_t const *)LOOPDBG_ARG(call, 1);
    float *out = (float *)LOOPDBG_ARG(call, 2), *rows = (float *)LOOPDBG_ARG(call, 3), *parts = rows + m * length;
    float sums[LOOPDBG_LOW_BIT_MAX_ROWS * LOOPDBG_LOW_BIT_PANEL_COLUMNS];
    loopdbg_low_bit_tile const *tiles = DISPATCH(few_way)->tiles[bits == 2 ? 0 : bits == 4 ? 1 : 2];
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
        npy_intp column = p * LOOPDBG_LOW_BIT_PANEL_COLUMNS,
                 width = n - column < LOOPDBG_LOW_BIT_PANEL_COLUMNS ? n - column : LOOPDBG_LOW_BIT_PANEL_COLUMNS;
        for (npy_intp first = 0, some; first < m; first += some) {
            int tile = m - first >= 4 ? 0 : m - first >= 2 ? 1 : 2;
            some = tile == 0 ? 4 : tile == 1 ? 2 : 1;
            tiles[tile](weights + p * size, rows + first * length, length, parts + first * blocks, blocks, words, sums);
            for (npy_intp r = 0; r < some; r++)
                memcpy(out + (first + r) * n + column, sums + r * LOOPDBG_LOW_BIT_PANEL_COLUMNS, (size_t)width * sizeof(float));
        }
    }
    return 0;
}

#endif
