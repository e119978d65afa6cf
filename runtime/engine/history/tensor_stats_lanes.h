/* Sums and extremes of floats, for one vector width (tensor_stats.h). */

static void NAME(history_accumulate_floats)(history_partial_sums *to, float const *x, int64_t n) {
    float low[HISTORY_LANES], high[HISTORY_LANES];
    double sum[HISTORY_LANES], squares[HISTORY_LANES];
    int64_t k = 0;
    for (int j = 0; j < HISTORY_LANES; j++) {
        low[j] = INFINITY, high[j] = -INFINITY;
        sum[j] = squares[j] = 0;
    }
    for (; k + HISTORY_LANES <= n; k += HISTORY_LANES)
        for (int j = 0; j < HISTORY_LANES; j++) {
            float const v = x[k + j];
            double const x_double = v;
            low[j] = v < low[j] ? v : low[j];
            high[j] = v > high[j] ? v : high[j];
            sum[j] += x_double;
            squares[j] += x_double * x_double;
        }
    for (; k < n; k++) {
        double const x_double = x[k];
        low[0] = x[k] < low[0] ? x[k] : low[0];
        high[0] = x[k] > high[0] ? x[k] : high[0];
        sum[0] += x_double;
        squares[0] += x_double * x_double;
    }
    for (int j = 0; j < HISTORY_LANES; j++) {
        int const lane = j % 4;
        to->low[lane] = low[j] < to->low[lane] ? low[j] : to->low[lane];
        to->high[lane] = high[j] > to->high[lane] ? high[j] : to->high[lane];
        to->sum[lane] += sum[j];
        to->squares[lane] += squares[j];
    }
}
