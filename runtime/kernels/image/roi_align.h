/* Region pooling of images, with interpolation. */
#ifndef LOOPDBG_REGIONS_H
#define LOOPDBG_REGIONS_H

#include <math.h>
#include <stdint.h>
#include "../call.h"
#include "../element_types/type_lists.h"

/* Mean; maximum of weighted neighbours; maximum of points, or 0. */
enum { LOOPDBG_ROI_MEAN, LOOPDBG_ROI_MAX_WEIGHTED, LOOPDBG_ROI_MAX_POINTS };
/* Points located before the channels are read, and maximum number of points per axis in a bin. */
enum { LOOPDBG_ROI_POINT_BLOCK = 64, LOOPDBG_ROI_MAX_POINTS_PER_BIN = 1 << 12 };

#define REGION_MAX(a, b) ((a) >= (b) || (a) != (a) ? (a) : (b))
#define REGIONS(C, ID, T)                                                                                     \
    typedef struct {                                                                                          \
        npy_intp place[4];                                                                                    \
        T weight[4];                                                                                          \
    } region_point_##ID;                                                                                      \
    /* Points along one axis: where bins begin, how far apart they and the points in them are, and how many. 1: too many. */ \
    static int region_way_##ID(T from, T to, npy_intp bins, npy_intp ratio, int at_least_one, T *size, npy_intp *count) { \
        T extent = to - from;                                                                                 \
        if (at_least_one && (T)1 > extent) extent = 1;                                                        \
        *size = extent / (T)bins;                                                                             \
        *count = ratio;                                                                                       \
        if (ratio > 0) return 0;                                                                              \
        if (!(*size <= LOOPDBG_ROI_MAX_POINTS_PER_BIN)) return 1;                                                        \
        *count = *size > 0 ? (npy_intp)ceil((double)*size) : 0;                                               \
        return 0;                                                                                             \
    }                                                                                                         \
    static T region_at_##ID(T from, T size, npy_intp bin, npy_intp count, npy_intp k) {                       \
        return (T)((double)from + (double)bin * (double)size + ((double)k + 0.5) * (double)(size / (T)count)); \
    }                                                                                                         \
    /* The pixel before a place, the one behind it, and how far it is from the first to the second. */        \
    static double region_between_##ID(T at, npy_intp extent, npy_intp *first, npy_intp *second) {             \
        if (at < 0) at = 0;                                                                                   \
        *first = at >= (T)(extent - 1) ? extent - 1 : at != at ? 0 : (npy_intp)at;                            \
        *second = *first + 1 < extent ? *first + 1 : extent - 1;                                              \
        return *first >= extent - 1 ? 0 : (double)at - (double)*first;                                        \
    }                                                                                                         \
    static void region_point_of_##ID(region_point_##ID *point, T y, T x, npy_intp height, npy_intp width) {   \
        npy_intp y0, y1, x0, x1;                                                                              \
        double ly = region_between_##ID(y, height, &y0, &y1), lx = region_between_##ID(x, width, &x0, &x1);   \
        int outside = y < -1 || y > (T)height || x < -1 || x > (T)width;                                      \
        double const weight[4] = {(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx};                \
        npy_intp const place[4] = {y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1};       \
        for (int k = 0; k < 4; k++) point->place[k] = place[k], point->weight[k] = outside ? 0 : (T)weight[k]; \
    }                                                                                                         \
    /* What some points of a bin give, on top of what those before them gave. */                              \
    static void region_read_##ID(T const *image, T *out, npy_intp channels, npy_intp plane, npy_intp step,    \
                                 region_point_##ID const *points, npy_intp n, int how, int begin) {           \
        for (npy_intp c = 0; c < channels; c++, image += plane, out += step) {                                \
            T total = *out;                                                                                   \
            for (npy_intp k = 0; k < n; k++) {                                                                \
                region_point_##ID const *p = points + k;                                                      \
                T a = image[p->place[0]] * p->weight[0], b = image[p->place[1]] * p->weight[1];               \
                T d = image[p->place[2]] * p->weight[2], e = image[p->place[3]] * p->weight[3], v;            \
                if (how == LOOPDBG_ROI_MAX_WEIGHTED) {                                                            \
                    v = REGION_MAX(a, b);                                                                     \
                    v = REGION_MAX(v, d);                                                                     \
                    v = REGION_MAX(v, e);                                                                     \
                } else                                                                                        \
                    v = a + b + d + e;                                                                        \
                if (begin && !k) total = v;                                                                   \
                else if (how == LOOPDBG_ROI_MEAN) total += v;                                              \
                else total = REGION_MAX(total, v);                                                            \
            }                                                                                                 \
            *out = total;                                                                                     \
        }                                                                                                     \
    }                                                                                                         \
    static void region_bin_##ID(T const *image, T *out, npy_intp const *extra, T y, T ysize, npy_intp ny, npy_intp row, T x, \
                                T xsize, npy_intp nx, npy_intp column) {                                      \
        npy_intp channels = extra[0], height = extra[1], width = extra[2], step = extra[4] * extra[5], n = 0; \
        int how = (int)extra[7], begin = 1;                                                                   \
        region_point_##ID points[LOOPDBG_ROI_POINT_BLOCK];                                              \
        for (npy_intp j = 0; j < ny; j++)                                                                     \
            for (npy_intp i = 0; i < nx; i++) {                                                               \
                region_point_of_##ID(points + n++, region_at_##ID(y, ysize, row, ny, j),                      \
                                     region_at_##ID(x, xsize, column, nx, i), height, width);                 \
                if (n < LOOPDBG_ROI_POINT_BLOCK && (j + 1 < ny || i + 1 < nx)) continue;                \
                region_read_##ID(image, out, channels, height * width, step, points, n, how, begin);          \
                n = begin = 0;                                                                                \
            }                                                                                                 \
        for (npy_intp c = 0; c < channels; c++, out += step) {                                                \
            if (begin) *out = 0;                                                                              \
            else if (how == LOOPDBG_ROI_MEAN) *out /= (T)(ny * nx);                                        \
            else if (how == LOOPDBG_ROI_MAX_POINTS) *out = REGION_MAX(*out, (T)0);                             \
        }                                                                                                     \
    }                                                                                                         \
    static int regions_##ID(T const *images, T const *boxes, int64_t const *which, T *out, npy_intp const *extra) { \
        npy_intp channels = extra[0], plane = extra[1] * extra[2], rows = extra[4], columns = extra[5];       \
        for (npy_intp r = 0; r < extra[3]; r++, boxes += 4, out += channels * rows * columns) {               \
            T const *image = images + which[r] * channels * plane;                                            \
            T ysize, xsize;                                                                                   \
            npy_intp ny, nx;                                                                                  \
            if (region_way_##ID(boxes[1], boxes[3], rows, extra[6], (int)extra[8], &ysize, &ny) ||            \
                region_way_##ID(boxes[0], boxes[2], columns, extra[6], (int)extra[8], &xsize, &nx))           \
                return 1;                                                                                     \
            for (npy_intp row = 0; row < rows; row++)                                                         \
                for (npy_intp column = 0; column < columns; column++)                                         \
                    region_bin_##ID(image, out + row * columns + column, extra, boxes[1], ysize, ny, row, boxes[0], xsize, nx, \
                                    column);                                                                  \
        }                                                                                                     \
        return 0;                                                                                             \
    }
FLOATS(REGIONS)

#define REGIONS_CASE(C, ID, T)                                                                                \
    case C:                                                                                                   \
        return regions_##ID((T const *)LOOPDBG_ARG(call, 0), (T const *)LOOPDBG_ARG(call, 1),                 \
                            (int64_t const *)LOOPDBG_ARG(call, 2), (T *)LOOPDBG_ARG(call, 3), call->extra);
/* Images [., channels, height, width], regions (x, y, x, y) in pixels, the image of each -> [regions, channels, rows,
 * columns]. extra: channels, height, width, regions, rows, columns, points in a bin along an axis (0: one per pixel),
 * reduction of them, whether a region is at least one pixel, the type's character. 1: a region is too large. */
static int loopdbg_roi_align(loopdbg_call *call) {
    switch ((char)call->extra[9]) { FLOATS(REGIONS_CASE) }
    return 1;
}

#endif
