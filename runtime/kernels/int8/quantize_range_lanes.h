/* The range of numbers, for one vector width (quantize_range.h). */

/* The minimum and the maximum of some numbers and 0; NaN does not count. */
static void NAME(quantize_range)(float const *x, npy_intp n, float *low, float *high) {
    enum { SIDE = 64 };
    float least[SIDE] = {0}, most[SIDE] = {0};
    npy_intp i = 0;
    for (; i + SIDE <= n; i += SIDE)
        for (int j = 0; j < SIDE; j++) {
            least[j] = x[i + j] < least[j] ? x[i + j] : least[j];
            most[j] = x[i + j] > most[j] ? x[i + j] : most[j];
        }
    for (int j = 0; i < n; i++, j++) {
        least[j] = x[i] < least[j] ? x[i] : least[j];
        most[j] = x[i] > most[j] ? x[i] : most[j];
    }
    *low = *high = 0;
    for (int j = 0; j < SIDE; j++) {
        *low = least[j] < *low ? least[j] : *low;
        *high = most[j] > *high ? most[j] : *high;
    }
}
