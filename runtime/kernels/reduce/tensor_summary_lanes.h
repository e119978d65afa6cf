/* One block of elements, or of two tensors, for one vector width (tensor_summary.h). */

/* From squared distances to one of the elements the spread is accurate to a few bits of the count, however far all are
 * from zero. */
#define SUMMARY_LANES_OF(ID, T)                                                                               \
    static void NAME(block_##ID)(T const *x, int64_t n, loopdbg_block_summary *b) {                                   \
        T low[SUMMARY_LANES], high[SUMMARY_LANES];                                                            \
        double sum[SUMMARY_LANES], squares[SUMMARY_LANES];                                                    \
        int32_t zeros[SUMMARY_LANES];                                                                         \
        double const first = x[0];                                                                            \
        int64_t k = 0;                                                                                        \
        for (int j = 0; j < SUMMARY_LANES; j++) {                                                             \
            low[j] = high[j] = x[0];                                                                          \
            sum[j] = squares[j] = 0;                                                                          \
            zeros[j] = 0;                                                                                     \
        }                                                                                                     \
        for (; k + SUMMARY_LANES <= n; k += SUMMARY_LANES)                                                    \
            for (int j = 0; j < SUMMARY_LANES; j++) {                                                         \
                T const v = x[k + j];                                                                         \
                double const d = (double)v - first;                                                           \
                low[j] = v < low[j] ? v : low[j];                                                             \
                high[j] = v > high[j] ? v : high[j];                                                          \
                sum[j] += d;                                                                                  \
                squares[j] += d * d;                                                                          \
                zeros[j] += v == 0;                                                                           \
            }                                                                                                 \
        for (; k < n; k++) {                                                                                  \
            double const d = (double)x[k] - first;                                                            \
            low[0] = x[k] < low[0] ? x[k] : low[0];                                                           \
            high[0] = x[k] > high[0] ? x[k] : high[0];                                                        \
            sum[0] += d;                                                                                      \
            squares[0] += d * d;                                                                              \
            zeros[0] += x[k] == 0;                                                                            \
        }                                                                                                     \
        b->low = low[0], b->high = high[0];                                                                   \
        b->sum = b->squares = 0;                                                                              \
        b->zeros = 0;                                                                                         \
        for (int j = 0; j < SUMMARY_LANES; j++) {                                                             \
            b->low = low[j] < b->low ? low[j] : b->low;                                                       \
            b->high = high[j] > b->high ? high[j] : b->high;                                                  \
            b->sum += sum[j];                                                                                 \
            b->squares += squares[j];                                                                         \
            b->zeros += zeros[j];                                                                             \
        }                                                                                                     \
    }                                                                                                         \
    static void NAME(apart_##ID)(T const *x, T const *y, int64_t n, loopdbg_block_difference *a) {                       \
        double most[SUMMARY_LANES], sum[SUMMARY_LANES];                                                       \
        int32_t same[SUMMARY_LANES];                                                                          \
        int64_t k = 0;                                                                                        \
        for (int j = 0; j < SUMMARY_LANES; j++) {                                                             \
            most[j] = sum[j] = 0;                                                                             \
            same[j] = 0;                                                                                      \
        }                                                                                                     \
        for (; k + SUMMARY_LANES <= n; k += SUMMARY_LANES)                                                    \
            for (int j = 0; j < SUMMARY_LANES; j++) {                                                         \
                double const d = fabs((double)y[k + j] - (double)x[k + j]);                                   \
                most[j] = d > most[j] ? d : most[j];                                                          \
                sum[j] += d;                                                                                  \
                same[j] += x[k + j] == y[k + j];                                                              \
            }                                                                                                 \
        for (; k < n; k++) {                                                                                  \
            double const d = fabs((double)y[k] - (double)x[k]);                                               \
            most[0] = d > most[0] ? d : most[0];                                                              \
            sum[0] += d;                                                                                      \
            same[0] += x[k] == y[k];                                                                          \
        }                                                                                                     \
        a->most = a->sum = 0;                                                                                 \
        a->same = 0;                                                                                          \
        for (int j = 0; j < SUMMARY_LANES; j++) {                                                             \
            a->most = most[j] > a->most ? most[j] : a->most;                                                  \
            a->sum += sum[j];                                                                                 \
            a->same += same[j];                                                                               \
        }                                                                                                     \
    }
SUMMARY_LANES_OF(f32, float)
SUMMARY_LANES_OF(f64, double)

#define SUMMARY_ENDS(ID, T)                                                                                   \
    static void NAME(ends_##ID)(T const *x, int64_t n, T *low, T *high) {                                     \
        T least = x[0], most = x[0];                                                                          \
        for (int64_t k = 0; k < n; k++) {                                                                     \
            least = x[k] < least ? x[k] : least;                                                              \
            most = x[k] > most ? x[k] : most;                                                                 \
        }                                                                                                     \
        *low = least, *high = most;                                                                           \
    }
SUMMARY_ENDS(i64, int64_t)
SUMMARY_ENDS(u64, uint64_t)
