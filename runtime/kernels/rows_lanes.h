/* Rows of floats, for one width: see lanes.h and rows.h. */
#include "lanes_math.h"

ATTR static void NAME(softmax)(float const *x, float *out, npy_intp rows, npy_intp n, int logarithm) {
    V v[LOOPDBG_LANES / N];
    for (npy_intp row = 0; row < rows; row++, x += n, out += n) {
        float most = NAME(greatest)(x, n);
        float total = NAME(powers)(x, n, most, logarithm ? NULL : out);
        float below = logarithm ? logf(total) : 0;
        for (npy_intp i = 0; i < n; i += LOOPDBG_LANES) {
            NAME(load)((logarithm ? x : out) + i, n - i, 0, v);
            for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] = logarithm ? v[q] - most - below : v[q] / total;
            NAME(store)(out + i, n - i, v);
        }
    }
}

ATTR static void NAME(normalize)(float const *x, float const *scale, float const *bias, float *out, float *means,
                                 float *inverses, npy_intp rows, npy_intp n, float epsilon, int centred, int outside) {
    V v[LOOPDBG_LANES / N], w[LOOPDBG_LANES / N], total[LOOPDBG_LANES / N];
    for (npy_intp row = 0; row < rows; row++, x += n, out += n) {
        float mean = 0, inverse;
        if (centred) {
            for (int q = 0; q < LOOPDBG_LANES / N; q++) total[q] = (V){0};
            for (npy_intp i = 0; i < n; i += LOOPDBG_LANES) {
                NAME(load)(x + i, n - i, 0, v);
                for (int q = 0; q < LOOPDBG_LANES / N; q++) total[q] += v[q];
            }
            mean = NAME(sum)(total) / (float)n;
        }
        for (int q = 0; q < LOOPDBG_LANES / N; q++) total[q] = (V){0};
        for (npy_intp i = 0; i < n; i += LOOPDBG_LANES) {
            NAME(load)(x + i, n - i, mean, v);
            for (int q = 0; q < LOOPDBG_LANES / N; q++) total[q] += (v[q] - mean) * (v[q] - mean);
        }
        inverse = NAME(sum)(total) / (float)n;
        inverse = 1 / (outside ? sqrtf(inverse) + epsilon : sqrtf(inverse + epsilon));
        for (npy_intp i = 0; i < n; i += LOOPDBG_LANES) {
            NAME(load)(x + i, n - i, 0, v);
            for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] = (v[q] - mean) * inverse;
            if (scale) {
                NAME(load)(scale + i, n - i, 0, w);
                for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] *= w[q];
            }
            if (bias) {
                NAME(load)(bias + i, n - i, 0, w);
                for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] += w[q];
            }
            NAME(store)(out + i, n - i, v);
        }
        if (means) means[row] = mean;
        if (inverses) inverses[row] = inverse;
    }
}
