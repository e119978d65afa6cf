/* Few rows times a transposed float32 matrix with contiguous rows, such as the keys of an attention.
 *
 * Summing each column by itself would use another order than for contiguous columns. Here a vector's columns are
 * transposed in registers, four terms at a time, and summed in parallel: the same bits, without intermediate stores.
 * Included by small_products_lanes.h, for one width.
 */

/* Transpose four numbers of a register's columns; `x`: of every fourth column, in quarters or halves. */
#define TURN_QUARTERS(V, D, LOW, HIGH, LOW_D, HIGH_D, x, v)                                                            \
    D const low0 = (D)LOW(x[0], x[1]), low1 = (D)LOW(x[2], x[3]);                                                      \
    D const high0 = (D)HIGH(x[0], x[1]), high1 = (D)HIGH(x[2], x[3]);                                                  \
    (v)[0] = (V)LOW_D(low0, low1), (v)[1] = (V)HIGH_D(low0, low1);                                                     \
    (v)[2] = (V)LOW_D(high0, high1), (v)[3] = (V)HIGH_D(high0, high1);

#undef TURN
#if N == 16
#define TURN(v, b, column)                                                                                             \
    {                                                                                                                  \
        __m512 x[4];                                                                                                   \
        UNROLL for (int i = 0; i < 4; i++) {                                                                           \
            __m256 low = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((b)[0] + i * (column))),             \
                                              _mm_loadu_ps((b)[1] + i * (column)), 1);                                 \
            __m256 high = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((b)[2] + i * (column))),            \
                                               _mm_loadu_ps((b)[3] + i * (column)), 1);                                \
            x[i] = _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_castps_pd(low)),                  \
                                                       _mm256_castps_pd(high), 1));                                    \
        }                                                                                                              \
        TURN_QUARTERS(__m512, __m512d, _mm512_unpacklo_ps, _mm512_unpackhi_ps, _mm512_unpacklo_pd, _mm512_unpackhi_pd, \
                      x, v)                                                                                            \
    }
#else
#define TURN(v, b, column)                                                                                             \
    {                                                                                                                  \
        __m256 x[4];                                                                                                   \
        UNROLL for (int i = 0; i < 4; i++)                                                                             \
            x[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((b)[0] + i * (column))),                   \
                                        _mm_loadu_ps((b)[1] + i * (column)), 1);                                       \
        TURN_QUARTERS(__m256, __m256d, _mm256_unpacklo_ps, _mm256_unpackhi_ps, _mm256_unpacklo_pd, _mm256_unpackhi_pd, \
                      x, v)                                                                                            \
    }
#endif

/* R rows with n columns, a vector or more; columns are `column` floats apart. The number of terms is a multiple of
 * four, and sums start from 0. Two vectors alternate, so that sums do not wait for each other; the last vector may
 * repeat columns of the one before. */
#define TURNED(R)                                                                                                      \
    INLINE void NAME(turned_columns_##R)(loopdbg_strided_product const *p, npy_intp column, npy_intp first, int const groups) {  \
        float const *b[2 * N / 4], *a[R];                                                                              \
        VECTOR sum[2][R], v[4];                                                                                        \
        UNROLL for (int c = 0; c < groups * N / 4; c++) b[c] = p->b + (first + 4 * c) * column;                        \
        UNROLL for (int r = 0; r < R; r++) a[r] = p->a + r * p->a_row;                                                 \
        UNROLL for (int g = 0; g < groups; g++)                                                                        \
            UNROLL for (int r = 0; r < R; r++) sum[g][r] = SPREAD(0.0f);                                               \
        for (npy_intp j = 0; j < p->k; j += 4) {                                                                       \
            UNROLL for (int g = 0; g < groups; g++) {                                                                  \
                TURN(v, b + g * N / 4, column)                                                                         \
                UNROLL for (int i = 0; i < 4; i++)                                                                     \
                    UNROLL for (int r = 0; r < R; r++)                                                                 \
                        sum[g][r] = ADD_PRODUCT(SPREAD(a[r][i * p->a_column]), v[i], sum[g][r]);                       \
            }                                                                                                          \
            UNROLL for (int c = 0; c < groups * N / 4; c++) b[c] += 4;                                                 \
            UNROLL for (int r = 0; r < R; r++) a[r] += 4 * p->a_column;                                                \
        }                                                                                                              \
        UNROLL for (int g = 0; g < groups; g++)                                                                        \
            UNROLL for (int r = 0; r < R; r++) STORE(p->out + r * p->out_row + first + g * N, sum[g][r]);              \
    }                                                                                                                  \
    static void NAME(turned_##R)(loopdbg_strided_product const *p, npy_intp column, npy_intp n) {                                \
        npy_intp first = 0;                                                                                            \
        for (; first + 2 * N <= n; first += 2 * N) NAME(turned_columns_##R)(p, column, first, 2);                      \
        if (first + N < n) NAME(turned_columns_##R)(p, column, first, 1);                                              \
        if (first < n) NAME(turned_columns_##R)(p, column, n - N, 1);                                                  \
    }
