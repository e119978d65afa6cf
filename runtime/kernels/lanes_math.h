/* Included for each width (lanes.h): V and VI are its vectors of floats and integers, N their length, ATTR how functions
 * are compiled, and NAME(x) gives x a name of its own. */

/* exp, as Cephes' expf: an error of about one unit in the last place; 0 below -104, infinite from 88.73 on; NaN stays. */
ATTR static inline __attribute__((always_inline)) V NAME(exp)(V x) {
    V const low = (V){0} - 104.0f, high = (V){0} + 89.0f;
    VI below = (VI)(x < low), above = (VI)(x > high);
    /* exp(0) at first, then 0: numbers that underflow take 50 times as long. */
    x = (V)(~below & (VI)x);
    x = (V)((~above & (VI)x) | (above & (VI)high));
    V shifted = x * 1.44269504088896341f + 12582912.0f; /* the nearest integer in the low bits */
    V whole = shifted - 12582912.0f;
    V r = x - whole * 0.693359375f;
    r = r - whole * -2.12194440e-4f;
    V y = r * 1.9875691500e-4f + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * (r * r) + r + 1.0f;
    /* In two halves: the result may be subnormal. */
    VI power = (VI)shifted - 0x4B400000, half = power >> 1;
    y = y * (V)((half + 127) << 23) * (V)((power - half + 127) << 23);
    return (V)(~below & (VI)y);
}

/* 16 elements, or fewer and then ``rest``. */
ATTR static inline __attribute__((always_inline)) void NAME(load)(float const *x, npy_intp count, float rest,
                                                                  V v[LOOPDBG_LANES / N]) {
    float padded[LOOPDBG_LANES];
    if (count < LOOPDBG_LANES) {
        for (int k = 0; k < LOOPDBG_LANES; k++) padded[k] = rest;
        for (npy_intp k = 0; k < count; k++) padded[k] = x[k];
        x = padded;
    }
    for (int q = 0; q < LOOPDBG_LANES / N; q++) v[q] = *(V const *)(x + q * N);
}

ATTR static inline __attribute__((always_inline)) void NAME(store)(float *y, npy_intp count, V const v[LOOPDBG_LANES / N]) {
    float padded[LOOPDBG_LANES];
    float *to = count < LOOPDBG_LANES ? padded : y;
    for (int q = 0; q < LOOPDBG_LANES / N; q++) *(V *)(to + q * N) = v[q];
    if (count < LOOPDBG_LANES)
        for (npy_intp k = 0; k < count; k++) y[k] = padded[k];
}

ATTR static inline __attribute__((always_inline)) float NAME(sum)(V const v[LOOPDBG_LANES / N]) {
    float lane[LOOPDBG_LANES];
    for (int q = 0; q < LOOPDBG_LANES / N; q++) *(V *)(lane + q * N) = v[q];
    return loopdbg_sum16(lane);
}

/* The greatest; a NaN counts or not. */
ATTR static inline __attribute__((always_inline)) float NAME(greatest)(float const *x, npy_intp n) {
    V most[LOOPDBG_LANES / N], v[LOOPDBG_LANES / N];
    float lane[LOOPDBG_LANES];
    for (int q = 0; q < LOOPDBG_LANES / N; q++) most[q] = (V){0} - __builtin_inff();
    for (npy_intp i = 0; i < n; i += LOOPDBG_LANES) {
        NAME(load)(x + i, n - i, -__builtin_inff(), v);
        for (int q = 0; q < LOOPDBG_LANES / N; q++) {
            VI more = (VI)(v[q] > most[q]);
            most[q] = (V)((~more & (VI)most[q]) | (more & (VI)v[q]));
        }
    }
    for (int q = 0; q < LOOPDBG_LANES / N; q++) *(V *)(lane + q * N) = most[q];
    for (int half = LOOPDBG_LANES / 2; half; half /= 2)
        for (int k = 0; k < half; k++) lane[k] = lane[k + half] > lane[k] ? lane[k + half] : lane[k];
    return lane[0];
}

/* out = exp(x - shift), and the sum of it. */
ATTR static inline __attribute__((always_inline)) float NAME(powers)(float const *x, npy_intp n, float shift, float *out) {
    V total[LOOPDBG_LANES / N], v[LOOPDBG_LANES / N];
    for (int q = 0; q < LOOPDBG_LANES / N; q++) total[q] = (V){0};
    for (npy_intp i = 0; i < n; i += LOOPDBG_LANES) {
        NAME(load)(x + i, n - i, -__builtin_inff(), v);
        for (int q = 0; q < LOOPDBG_LANES / N; q++) {
            v[q] = NAME(exp)(v[q] - shift);
            total[q] += v[q];
        }
        if (out) NAME(store)(out + i, n - i, v);
    }
    return NAME(sum)(total);
}
