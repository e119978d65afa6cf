/* Softmax and normalization of rows of floats, for one vector width: see lanes.h and softmax_normalize.h. */
#include "../dispatch/lanes_math.h"
#include "../element_types/half_precision_lanes.h"

/* Rows of up to 8 elements, 16 of them interleaved. */
INLINE void NAME(softmax_interleaved)(float const *x, float *out, npy_intp count, int const n, int logarithm) {
    enum { EACH = LOOPDBG_LANES / N };
    float columns[LOOPDBG_MAX_INTERLEAVED_ROW][LOOPDBG_LANES], sums[LOOPDBG_LANES];
    V v[LOOPDBG_MAX_INTERLEAVED_ROW][EACH], most[EACH], total[EACH];
    for (int r = 0; r < LOOPDBG_LANES; r++)
        for (int i = 0; i < n; i++) columns[i][r] = r < count ? x[r * n + i] : 0;
    for (int q = 0; q < EACH; q++) most[q] = (V){0} - __builtin_inff(), total[q] = (V){0};
    for (int i = 0; i < n; i++)
        for (int q = 0; q < EACH; q++) {
            v[i][q] = *(V const *)(columns[i] + q * N);
            most[q] = NAME(larger)(v[i][q], most[q]);
        }
    for (int i = 0; i < n; i++)
        for (int q = 0; q < EACH; q++) {
            V power = NAME(exp)(v[i][q] - most[q]);
            total[q] += power;
            if (!logarithm) v[i][q] = power;
        }
    if (logarithm) {
        for (int q = 0; q < EACH; q++) *(V *)(sums + q * N) = total[q];
        for (int r = 0; r < LOOPDBG_LANES; r++) sums[r] = logf(sums[r]);
        for (int i = 0; i < n; i++)
            for (int q = 0; q < EACH; q++) *(V *)(columns[i] + q * N) = v[i][q] - most[q] - *(V const *)(sums + q * N);
    } else {
        for (int q = 0; q < EACH; q++) total[q] = 1 / total[q];
        for (int i = 0; i < n; i++)
            for (int q = 0; q < EACH; q++) *(V *)(columns[i] + q * N) = v[i][q] * total[q];
    }
    for (npy_intp r = 0; r < count; r++)
        for (int i = 0; i < n; i++) out[r * n + i] = columns[i][r];
}

/* Row by row, [1024, 7] took 1.8 times as long. */
static void NAME(softmax_narrow)(float const *x, float *out, npy_intp rows, npy_intp n, int logarithm) {
#define LOOPDBG_CASE(K) \
    case K: NAME(softmax_interleaved)(x, out, count, K, logarithm); break;
    for (npy_intp row = 0; row < rows; row += LOOPDBG_LANES, x += LOOPDBG_LANES * n, out += LOOPDBG_LANES * n) {
        npy_intp count = rows - row < LOOPDBG_LANES ? rows - row : LOOPDBG_LANES;
        switch (n) {
            LOOPDBG_CASE(1)
            LOOPDBG_CASE(2)
            LOOPDBG_CASE(3)
            LOOPDBG_CASE(4)
            LOOPDBG_CASE(5)
            LOOPDBG_CASE(6)
            LOOPDBG_CASE(7)
            LOOPDBG_CASE(8)
        }
    }
#undef LOOPDBG_CASE
}

static void NAME(softmax)(float const *x, float *out, npy_intp rows, npy_intp n, int logarithm) {
    V v[LOOPDBG_LANES / N];
    if (n <= LOOPDBG_MAX_INTERLEAVED_ROW) {
        NAME(softmax_narrow)(x, out, rows, n, logarithm);
        return;
    }
    for (npy_intp row = 0; row < rows; row++, x += n, out += n) {
        float most = NAME(greatest)(x, n);
        float total = NAME(powers)(x, n, most, logarithm ? NULL : out);
        float below = logarithm ? logf(total) : 0, share = 1 / total;
        for (npy_intp i = 0; i < n; i += LOOPDBG_LANES) {
            NAME(load)((logarithm ? x : out) + i, n - i, 0, v);
            for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] = logarithm ? v[q] - most - below : v[q] * share;
            NAME(store)(out + i, n - i, v);
        }
    }
}

/* float16 or bfloat16, with all intermediate roundings; see loopdbg_softmax_rounded. */
INLINE void NAME(softmax_row)(uint16_t const *x, uint16_t *out, npy_intp n, int logarithm, int brain) {
    uint16_t const lowest = brain ? 0xFF80 : 0xFC00; /* -inf */
    V v[LOOPDBG_LANES / N], most[LOOPDBG_LANES / N], total[LOOPDBG_LANES / N];
    for (int q = 0; q < LOOPDBG_LANES / N; q++) most[q] = (V){0} - __builtin_inff(), total[q] = (V){0};
    for (npy_intp i = 0; i < n; i += LOOPDBG_LANES) {
        NAME(load_halves)(x + i, n - i, lowest, brain, v);
        for (int q = 0; q < LOOPDBG_LANES / N; q++) most[q] = NAME(larger)(v[q], most[q]);
    }
    float greatest = NAME(most)(most), below;
    for (npy_intp i = 0; i < n; i += LOOPDBG_LANES) {
        NAME(load_halves)(x + i, n - i, lowest, brain, v);
        for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] -= greatest;
        NAME(round_halves)(v, brain);
        if (logarithm) NAME(store_halves)(out + i, n - i, brain, v);
        for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] = NAME(exp)(v[q]);
        NAME(round_halves)(v, brain);
        if (!logarithm) NAME(store_halves)(out + i, n - i, brain, v);
        for (int q = 0; q < LOOPDBG_LANES / N; q++) total[q] += v[q];
    }
    below = loopdbg_round_to_half(NAME(sum)(total), brain);
    if (logarithm) below = loopdbg_round_to_half(logf(below), brain);
    for (npy_intp i = 0; i < n; i += LOOPDBG_LANES) {
        NAME(load_halves)(out + i, n - i, 0, brain, v);
        for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] = logarithm ? v[q] - below : v[q] / below;
        NAME(store_halves)(out + i, n - i, brain, v);
    }
}

/* Rows of up to 8, as NAME(softmax_interleaved). */
INLINE void NAME(interleaved_half_softmax)(uint16_t const *x, uint16_t *out, npy_intp count, int n, int logarithm, int brain) {
    enum { EACH = LOOPDBG_LANES / N };
    uint16_t columns[LOOPDBG_MAX_INTERLEAVED_ROW][LOOPDBG_LANES];
    float below[LOOPDBG_LANES];
    V v[EACH], most[EACH], total[EACH];
    for (int r = 0; r < LOOPDBG_LANES; r++)
        for (int i = 0; i < n; i++) columns[i][r] = r < count ? x[r * n + i] : 0;
    for (int q = 0; q < EACH; q++) most[q] = (V){0} - __builtin_inff(), total[q] = (V){0};
    for (int i = 0; i < n; i++) {
        NAME(from_halves)(columns[i], brain, v);
        for (int q = 0; q < EACH; q++) most[q] = NAME(larger)(v[q], most[q]);
    }
    for (int i = 0; i < n; i++) {
        NAME(from_halves)(columns[i], brain, v);
        for (int q = 0; q < EACH; q++) v[q] -= most[q];
        NAME(round_halves)(v, brain);
        if (logarithm) NAME(to_halves)(v, brain, columns[i]);
        for (int q = 0; q < EACH; q++) v[q] = NAME(exp)(v[q]);
        NAME(round_halves)(v, brain);
        if (!logarithm) NAME(to_halves)(v, brain, columns[i]);
        for (int q = 0; q < EACH; q++) total[q] += v[q];
        if (brain) NAME(round_halves)(total, brain);
    }
    NAME(round_halves)(total, brain);
    if (logarithm) {
        for (int q = 0; q < EACH; q++) *(V *)(below + q * N) = total[q];
        for (int r = 0; r < LOOPDBG_LANES; r++) below[r] = logf(below[r]);
        for (int q = 0; q < EACH; q++) total[q] = *(V const *)(below + q * N);
        NAME(round_halves)(total, brain);
    }
    for (int i = 0; i < n; i++) {
        NAME(from_halves)(columns[i], brain, v);
        for (int q = 0; q < EACH; q++) v[q] = logarithm ? v[q] - total[q] : v[q] / total[q];
        NAME(to_halves)(v, brain, columns[i]);
    }
    for (npy_intp r = 0; r < count; r++)
        for (int i = 0; i < n; i++) out[r * n + i] = columns[i][r];
}

INLINE void NAME(softmax_of_halves)(uint16_t const *x, uint16_t *out, npy_intp rows, npy_intp n, int logarithm, int brain) {
    npy_intp const each = n <= LOOPDBG_MAX_INTERLEAVED_ROW ? LOOPDBG_LANES : 1;
    for (npy_intp row = 0; row < rows; row += each, x += each * n, out += each * n)
        if (each == 1) NAME(softmax_row)(x, out, n, logarithm, brain);
        else NAME(interleaved_half_softmax)(x, out, rows - row < each ? rows - row : each, (int)n, logarithm, brain);
}
static void NAME(softmax_halves)(uint16_t const *x, uint16_t *out, npy_intp rows, npy_intp n, int logarithm, int brain) {
    if (brain) NAME(softmax_of_halves)(x, out, rows, n, logarithm, 1);
    else NAME(softmax_of_halves)(x, out, rows, n, logarithm, 0);
}

/* `blocks` times 16 columns of x [n, inner], of which `count` exist. */
INLINE void NAME(log_sum_exp_columns)(float const *x, float *out, npy_intp n, npy_intp inner, npy_intp count, int blocks) {
    enum { EACH = LOOPDBG_LANES / N };
    V most[4 * EACH], total[4 * EACH], v[EACH];
    float below[4 * LOOPDBG_LANES], sums[4 * LOOPDBG_LANES];
    for (int q = 0; q < blocks * EACH; q++) most[q] = (V){0} - __builtin_inff(), total[q] = (V){0};
    for (npy_intp i = 0; i < n; i++)
        for (int b = 0; b < blocks; b++) {
            NAME(load)(x + i * inner + b * LOOPDBG_LANES, count, 0, v);
            for (int q = 0; q < EACH; q++) most[b * EACH + q] = NAME(larger)(v[q], most[b * EACH + q]);
        }
    for (int q = 0; q < blocks * EACH; q++) *(V *)(below + q * N) = most[q];
    for (int k = 0; k < blocks * LOOPDBG_LANES; k++) below[k] = isfinite(below[k]) ? below[k] : 0;
    for (int q = 0; q < blocks * EACH; q++) most[q] = *(V const *)(below + q * N);
    for (npy_intp i = 0; i < n; i++)
        for (int b = 0; b < blocks; b++) {
            NAME(load)(x + i * inner + b * LOOPDBG_LANES, count, 0, v);
            for (int q = 0; q < EACH; q++) total[b * EACH + q] += NAME(exp)(v[q] - most[b * EACH + q]);
        }
    for (int q = 0; q < blocks * EACH; q++) *(V *)(sums + q * N) = total[q];
    for (npy_intp k = 0; k < count; k++) out[k] = logf(sums[k]) + below[k];
}

/* Of rows of n. The extremes and sums of several rows are computed at a time, to hide latency. */
static void NAME(log_sum_exp_rows)(float const *x, float *out, npy_intp rows, npy_intp n) {
    float highest[LOOPDBG_LANES], sums[LOOPDBG_LANES];
    for (npy_intp row = 0; row < rows; row += LOOPDBG_LANES) {
        npy_intp count = rows - row < LOOPDBG_LANES ? rows - row : LOOPDBG_LANES;
        for (npy_intp r = 0; r < count; r++) {
            highest[r] = NAME(greatest)(x + (row + r) * n, n);
            highest[r] = isfinite(highest[r]) ? highest[r] : 0;
        }
        for (npy_intp r = 0; r < count; r++) sums[r] = NAME(powers)(x + (row + r) * n, n, highest[r], NULL);
        for (npy_intp r = 0; r < count; r++) out[row + r] = logf(sums[r]) + highest[r];
    }
}

/* The logarithm of a sum of exponentials over the middle axis of x [rows, n, inner]. */
static void NAME(log_sum_exp)(float const *x, float *out, npy_intp rows, npy_intp n, npy_intp inner) {
    if (inner == 1) {
        NAME(log_sum_exp_rows)(x, out, rows, n);
        return;
    }
    for (npy_intp row = 0; row < rows; row++, x += n * inner, out += inner) {
        npy_intp c = 0;
        /* Whole cache lines at once, whose extremes are independent. */
        for (; c + 4 * LOOPDBG_LANES <= inner; c += 4 * LOOPDBG_LANES)
            NAME(log_sum_exp_columns)(x + c, out + c, n, inner, 4 * LOOPDBG_LANES, 4);
        for (; c < inner; c += LOOPDBG_LANES)
            NAME(log_sum_exp_columns)(x + c, out + c, n, inner, inner - c < LOOPDBG_LANES ? inner - c : LOOPDBG_LANES, 1);
    }
}

static void NAME(normalize)(float const *x, float const *scale, float const *bias, float *out, float *means, float *inverses,
                            npy_intp rows, npy_intp n, float epsilon, int centred, int outside) {
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
