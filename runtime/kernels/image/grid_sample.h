/* Grid sampling of images: the arithmetic of ops/sampling.py, for float32. */
#ifndef LOOPDBG_GRID_H
#define LOOPDBG_GRID_H

#include <math.h>
#include "../call.h"
#include "../dispatch/lanes.h"

/* Padding mode beyond the border of an image: zeros, border, or reflection. */
enum { LOOPDBG_GRID_ZEROS, LOOPDBG_GRID_BORDER, LOOPDBG_GRID_REFLECTION };

/* An axis of images. `moved`: positions beyond the border are moved before interpolation. */
typedef struct {
    float size, last, half, period;
    int padding, aligned, moved;
} loopdbg_grid_axis;

static inline loopdbg_grid_axis loopdbg_make_grid_axis(npy_intp size, npy_intp const *how) {
    int aligned = (int)how[1];
    return (loopdbg_grid_axis){
        (float)size, (float)(size - 1), (float)((double)(size - 1) / 2),        (float)(aligned ? 2 * (size - 1) : 2 * size),
        (int)how[0], aligned,           how[2] && how[0] == LOOPDBG_GRID_BORDER};
}

/* The pixel that a whole position is reflected to. */
static inline float loopdbg_grid_reflect(loopdbg_grid_axis const *axis, float place) {
    float within;
    if (axis->period == 0) return 0;
    within = fmodf(place, axis->period);
    if (within < 0) within += axis->period;
    return within < axis->size ? within : axis->period - (axis->aligned ? 0 : 1) - within;
}

#define BODY "../image/grid_sample_lanes.h"
#include "../dispatch/foreach_target.h"

/* Images [n, channels, height, width] at a grid [n, points, 2] of positions from -1 to 1, columns first ->
 * [n, channels, points], each interpolated from four neighbours.
 * extra: n, channels, height, width, points, padding, are -1 and 1 centres of pixels, moved. */
static int loopdbg_grid_sample(loopdbg_call *call) {
    npy_intp const *e = call->extra;
    loopdbg_grid_axis const rows = loopdbg_make_grid_axis(e[2], e + 5), columns = loopdbg_make_grid_axis(e[3], e + 5);
    float const *image = (float const *)LOOPDBG_ARG(call, 0), *grid = (float const *)LOOPDBG_ARG(call, 1);
    float *out = (float *)LOOPDBG_ARG(call, 2);
    for (npy_intp n = 0; n < e[0]; n++, image += e[1] * e[2] * e[3], grid += 2 * e[4], out += e[1] * e[4])
        DISPATCH(grid_points)(image, grid, out, e[1], e[2] * e[3], e[4], &rows, &columns);
    return 0;
}

#endif
