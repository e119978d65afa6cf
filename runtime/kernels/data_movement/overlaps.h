/* Memory overlap of a loop's output with its inputs. */
#ifndef LOOPDBG_OVERLAPS_H
#define LOOPDBG_OVERLAPS_H

#include <stdint.h>
#include <numpy/npy_common.h>

/* Does writing a block change what a later one reads? Not in place. */
static inline int loopdbg_overlaps(char const *x, npy_intp step, char const *y, npy_intp y_step, npy_intp n) {
    uintptr_t low = (uintptr_t)x, high = (uintptr_t)x, y_low = (uintptr_t)y, y_high = (uintptr_t)y;
    if (x == y && step == y_step) return 0;
    if (step < 0) low += (uintptr_t)((n - 1) * step);
    else high += (uintptr_t)((n - 1) * step);
    if (y_step < 0) y_low += (uintptr_t)((n - 1) * y_step);
    else y_high += (uintptr_t)((n - 1) * y_step);
    return low < y_high + 2 && y_low < high + 2;
}

/* Does an input share no memory with the output, whose rows are contiguous, except element by element in place? */
static inline int loopdbg_apart(char const *in, npy_intp step, npy_intp around, char const *out, npy_intp rows, npy_intp row,
                                npy_intp size) {
    npy_intp extent = step ? row : size, far = (rows - 1) * around;
    if (in == out && around == row && step) return 1;
    return in + (far < 0 ? far : 0) >= out + rows * row || in + (far > 0 ? far : 0) + extent <= out;
}

/* Are results disjoint from the operand of a fold? Axes: extent, then a stride for output, input and output. */
static inline int loopdbg_fold_is_disjoint(char **args, npy_intp const *dims, npy_intp const *steps, npy_intp const *axes,
                                           int count, npy_intp size) {
    char const *low[2] = {args[0], args[1]}, *high[2] = {args[0] + size, args[1] + size};
    for (int k = -1; k < count; k++)
        for (int j = 0; j < 2; j++) {
            npy_intp far = k < 0 ? (dims[0] - 1) * steps[j] : (axes[4 * k] - 1) * axes[4 * k + 1 + j];
            if (far < 0) low[j] += far;
            else high[j] += far;
        }
    return high[0] <= low[1] || high[1] <= low[0];
}

#endif
