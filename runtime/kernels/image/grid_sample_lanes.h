/* Grid sampling, for one vector width: see lanes.h and grid_sample.h. */
#include "../dispatch/lanes_math.h"

/* The first and the second numbers of two vectors of pairs. */
#undef PIXELS
#undef FIRSTS
#undef SECONDS
#if N == 16
#define PIXELS(from, at) ((V)_mm512_i32gather_ps((__m512i)(at), from, sizeof(float)))
#define FIRSTS(a, b) SHUFFLE(VI, a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define SECONDS(a, b) SHUFFLE(VI, a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#elif N == 8
#define PIXELS(from, at) ((V)_mm256_i32gather_ps(from, (__m256i)(at), sizeof(float)))
#define FIRSTS(a, b) SHUFFLE(VI, a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define SECONDS(a, b) SHUFFLE(VI, a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#else
#define PIXELS(from, at) ((V){(from)[(at)[0]], (from)[(at)[1]], (from)[(at)[2]], (from)[(at)[3]]})
#define FIRSTS(a, b) SHUFFLE(VI, a, b, 0, 2, 4, 6)
#define SECONDS(a, b) SHUFFLE(VI, a, b, 1, 3, 5, 7)
#endif

/* Two neighbours along an axis: positions, pixel indices, and weights. */
typedef struct {
    V place[2], weight[2];
    VI pixel[2];
} NAME(grid_pair);

INLINE void NAME(grid_between)(loopdbg_grid_axis const *axis, V position, NAME(grid_pair) * pair) {
    V const zero = {0}, last = zero + axis->last;
    V x = position + 1.0f;
    x = axis->aligned ? x * axis->half : (x * axis->size - 1.0f) * 0.5f;
    if (axis->moved) {
        V const edge = zero + (axis->aligned ? 0.0f : 0.5f);
        x = BLEND(LESS_MASK(x, zero - edge), zero, BLEND(LESS_MASK(last + edge, x), last, x));
    }
    /* From 2^23 on all floats are integers; NaN is propagated. */
    V const size = BLEND(LESS_MASK(x, zero), zero - x, x), limit = zero + 8388608.0f;
    V near = BLEND(LESS_MASK(size, limit), x, zero);
    V whole = __builtin_convertvector(__builtin_convertvector(near, VI), V);
    whole = BLEND(LESS_MASK(near, whole), whole - 1.0f, whole);
    V const base = BLEND(LESS_MASK(size, limit), whole, x);
    pair->weight[1] = x - base + 0.0f; /* never -0 */
    pair->weight[0] = 1.0f - pair->weight[1];
    for (int k = 0; k < 2; k++) {
        V place = pair->place[k] = base + (float)k;
        if (axis->padding == LOOPDBG_GRID_REFLECTION)
            for (int i = 0; i < N; i++) place[i] = loopdbg_grid_reflect(axis, place[i]);
        place = BLEND(EQUAL_MASK(place, place), place, zero);
        pair->pixel[k] = __builtin_convertvector(CLAMP_MAX(last, CLAMP_MIN(zero, place)), VI);
    }
}

/* Neighbours outside of an image with zero padding count 0. */
INLINE V NAME(grid_there)(loopdbg_grid_axis const *axis, V place, V part) {
    V const zero = {0}, edge = zero + 0.5f;
    if (axis->padding != LOOPDBG_GRID_ZEROS) return part;
    return BLEND(LESS_MASK(zero - edge, place), BLEND(LESS_MASK(place, axis->last + edge), part, zero), zero);
}

static void NAME(grid_points)(float const *image, float const *grid, float *out, npy_intp channels, npy_intp plane,
                              npy_intp points, loopdbg_grid_axis const *rows, loopdbg_grid_axis const *columns) {
    enum { PARTS = LOOPDBG_LANES / N };
    VI const width = (VI){0} + (int32_t)columns->size;
    for (npy_intp first = 0; first < points; first += LOOPDBG_LANES, grid += 2 * LOOPDBG_LANES) {
        npy_intp const count = points - first < LOOPDBG_LANES ? points - first : LOOPDBG_LANES, half = LOOPDBG_LANES / 2;
        V pairs[2 * PARTS], total[PARTS];
        NAME(grid_pair) x[PARTS], y[PARTS];
        NAME(load)(grid, 2 * count, 0, pairs);
        NAME(load)(grid + LOOPDBG_LANES, count > half ? 2 * count - LOOPDBG_LANES : 0, 0, pairs + PARTS);
        for (int q = 0; q < PARTS; q++) {
            NAME(grid_between)(columns, (V)FIRSTS(pairs[2 * q], pairs[2 * q + 1]), x + q);
            NAME(grid_between)(rows, (V)SECONDS(pairs[2 * q], pairs[2 * q + 1]), y + q);
        }
        for (npy_intp c = 0; c < channels; c++) {
            for (int q = 0; q < PARTS; q++) {
                total[q] = -(V){0}; /* neutral for any number, including -0 */
                for (int i = 0; i < 2; i++)
                    for (int j = 0; j < 2; j++) {
                        V part = PIXELS(image + c * plane, y[q].pixel[i] * width + x[q].pixel[j]);
                        part = NAME(grid_there)(rows, y[q].place[i], part) * y[q].weight[i];
                        part = NAME(grid_there)(columns, x[q].place[j], part) * x[q].weight[j];
                        total[q] += part;
                    }
            }
            NAME(store)(out + c * points + first, count, total);
        }
    }
}
