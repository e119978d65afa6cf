/* Quantization and dequantization, with one scale and zero point for all numbers, one for each index of an axis, or one
 * per block of an axis. */
#ifndef LOOPDBG_QUANTIZE_H
#define LOOPDBG_QUANTIZE_H

#include <stdint.h>
#include <string.h>

#include "../call.h"
#include "quantize_range.h"
#include "../dispatch/processor.h"

/* Contiguous rows that have one scale (step 0) or one each (step 1). */
typedef void (*loopdbg_quantize_row)(char const *x, char *restrict y, npy_intp n, float const *scale, char const *zero,
                                     npy_intp step, npy_intp const *numbers);

/* x as [outer, extent, inner]; parameters for all, [extent] (no block), or [outer, extent / block, inner]. */
static void loopdbg_quantize_rows(loopdbg_quantize_row row, char const *x, npy_intp x_size, char *y, npy_intp y_size,
                                  float const *scales, char const *zeros, npy_intp zero_size, npy_intp const *numbers) {
    npy_intp one = numbers[0], outer = numbers[1], extent = numbers[2], inner = numbers[3], block = numbers[4];
    npy_intp blocks = block ? (extent + block - 1) / block : 0;
    if (one) {
        row(x, y, outer * extent * inner, scales, zeros, 0, numbers);
        return;
    }
    for (npy_intp o = 0; o < outer; o++)
        for (npy_intp a = 0, n; a < extent; a += n / inner, x += n * x_size, y += n * y_size) {
            /* The axis is in the row if it is the last one. */
            npy_intp first = block ? (o * blocks + a / block) * inner : a;
            int each = block ? inner > 1 : inner == 1;
            n = inner > 1 ? inner : !block ? extent : extent - a < block ? extent - a : block;
            row(x, y, n, scales + first, zeros + first * zero_size, each, numbers);
        }
}

#define BODY "../int8/quantize_lanes.h"
#include "../dispatch/foreach_target.h"

/* x, scales, zero points, y; one, outer, extent, inner, block, minimum, maximum, bits, type. */
static int loopdbg_quantize(loopdbg_call *call) {
    npy_intp size = call->extra[7] > 255 ? 2 : 1;
    loopdbg_quantize_row row = NULL;
    switch ((char)call->extra[8]) {
        case 'b': row = DISPATCH(quantize_i8); break;
        case 'B': row = DISPATCH(quantize_u8); break;
        case 'h': row = DISPATCH(quantize_i16); break;
        case 'H': row = DISPATCH(quantize_u16); break;
        default: return 1;
    }
    loopdbg_quantize_rows(row, LOOPDBG_ARG(call, 0), 4, LOOPDBG_ARG(call, 3), size, (float const *)LOOPDBG_ARG(call, 1),
                          LOOPDBG_ARG(call, 2), size, call->extra);
    return 0;
}

/* x, factors, zero point, y; rows, columns, whether each column has a factor, and whether bytes are signed. */
static int loopdbg_requantize(loopdbg_call *call) {
    npy_intp rows = call->extra[0], columns = call->extra[1], step = call->extra[2], is_signed = call->extra[3];
    char const *zero = LOOPDBG_ARG(call, 2);
    float z = is_signed ? (float)*(int8_t const *)zero : (float)*(uint8_t const *)zero;
    if (!step) columns *= rows, rows = 1;
    for (npy_intp r = 0; r < rows; r++)
        DISPATCH(requantize_row)((int32_t const *)LOOPDBG_ARG(call, 0) + r * columns,
                                 (uint8_t *)LOOPDBG_ARG(call, 3) + r * columns, columns, (float const *)LOOPDBG_ARG(call, 1),
                                 step, z, is_signed ? -128.0f : 0.0f);
    return 0;
}

/* y = (x - zero) * scale for one-byte types that C does not have: a table holds the value of each byte. */
static void loopdbg_dequantize_table(char const *x, char *restrict y, npy_intp n, float const *scale, char const *zero,
                                     npy_intp step, npy_intp const *numbers) {
    float const *table = (float const *)(intptr_t)numbers[6];
    uint8_t const *bytes = (uint8_t const *)x, *z = (uint8_t const *)zero;
    for (npy_intp i = 0; i < n; i++) ((float *)y)[i] = (table[bytes[i]] - table[z[step * i]]) * scale[step * i];
}

/* x, scales, zero points, table, y; one, outer, extent, inner, block, type ('t': by the table). */
static int loopdbg_dequantize(loopdbg_call *call) {
    npy_intp size = 1, numbers[7];
    loopdbg_quantize_row row = NULL;
    switch ((char)call->extra[5]) {
        case 'b': row = DISPATCH(dequantize_i8); break;
        case 'B': row = DISPATCH(dequantize_u8); break;
        case 'h': row = DISPATCH(dequantize_i16), size = 2; break;
        case 'H': row = DISPATCH(dequantize_u16), size = 2; break;
        case 'i': row = DISPATCH(dequantize_i32), size = 4; break;
        case 't': row = loopdbg_dequantize_table; break;
        default: return 1;
    }
    memcpy(numbers, call->extra, sizeof numbers);
    numbers[6] = (npy_intp)(intptr_t)LOOPDBG_ARG(call, 3);
    loopdbg_quantize_rows(row, LOOPDBG_ARG(call, 0), size, LOOPDBG_ARG(call, 4), 4, (float const *)LOOPDBG_ARG(call, 1),
                          LOOPDBG_ARG(call, 2), size, numbers);
    return 0;
}

/* x, y, scale, zero point; count. Both follow from x: its range with 0 in it is mapped to a byte. */
static int loopdbg_quantize_dynamic(loopdbg_call *call) {
    float const *x = (float const *)LOOPDBG_ARG(call, 0);
    float *scale = (float *)LOOPDBG_ARG(call, 2);
    uint8_t *zero = (uint8_t *)LOOPDBG_ARG(call, 3);
    npy_intp const numbers[8] = {1, 1, 1, call->extra[0], 0, 0, 255, 255};
    float low, high;
    DISPATCH(quantize_range)(x, call->extra[0], &low, &high);
    loopdbg_quantize_parameters(low, high, scale, zero);
    DISPATCH(quantize_u8)((char const *)x, LOOPDBG_ARG(call, 1), call->extra[0], scale, (char const *)zero, 0, numbers);
    return 0;
}

#endif
