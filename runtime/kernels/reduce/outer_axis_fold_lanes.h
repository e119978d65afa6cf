/* Folds of rows of floats, for one vector width (outer_axis_fold.c). */

/* Rows of n numbers as columns, LOOPDBG_FOLD_COLUMNS of them apart; n is a compile-time constant. */
#define FOLD_TURN_OF(T, N)                                                                                    \
    case N:                                                                                                   \
        for (npy_intp r = 0; r < rows; r++)                                                                   \
            for (int i = 0; i < N; i++) to[i * LOOPDBG_FOLD_COLUMNS + r] = ((T const *)(x + r * along))[i];      \
        break;
#define FOLD_TURN(C, N, T)                                                                                    \
    static void NAME(fold_turn_##T)(char const *restrict x, npy_intp along, T *restrict to, npy_intp rows, npy_intp n) { \
        switch (n) {                                                                                          \
            FOLD_TURN_OF(T, 1) FOLD_TURN_OF(T, 2) FOLD_TURN_OF(T, 3) FOLD_TURN_OF(T, 4)                       \
            FOLD_TURN_OF(T, 5) FOLD_TURN_OF(T, 6) FOLD_TURN_OF(T, 7) FOLD_TURN_OF(T, 8)                       \
        }                                                                                                     \
    }
FLOATS(FOLD_TURN)

/* Rows of n numbers, each into its result; n is a compile-time constant, which enables vectorization. */
#define FOLD_FEW(ID, T, EXPRESSION)                                                                           \
    INLINE void NAME(fold_near_##ID)(T const *restrict x, T *restrict z, npy_intp m, int const n) {           \
        for (npy_intp r = 0; r < m; r++) {                                                                    \
            T a = z[r];                                                                                       \
            for (int i = 0; i < n; i++) {                                                                     \
                T b = x[r * n + i];                                                                           \
                a = EXPRESSION;                                                                               \
            }                                                                                                 \
            z[r] = a;                                                                                         \
        }                                                                                                     \
    }                                                                                                         \
    /* n rows into one. */                                                                                    \
    INLINE void NAME(fold_across_##ID)(char const *x, npy_intp step, T *restrict z, npy_intp m, int const n) { \
        for (npy_intp r = 0; r < m; r++) {                                                                    \
            T a = z[r];                                                                                       \
            for (int i = 0; i < n; i++) {                                                                     \
                T b = ((T const *)(x + i * step))[r];                                                         \
                a = EXPRESSION;                                                                               \
            }                                                                                                 \
            z[r] = a;                                                                                         \
        }                                                                                                     \
    }                                                                                                         \
    static void NAME(fold_two_##ID)(char const *x, npy_intp step, T *z, npy_intp m, npy_intp n) {             \
        for (; n >= 2; n -= 2, x += 2 * step) NAME(fold_across_##ID)(x, step, z, m, 2);                       \
        if (n) NAME(fold_across_##ID)(x, step, z, m, 1);                                                      \
    }                                                                                                         \
    /* distant rows, or lengths that compilers do not vectorize: by columns */       \
    static void NAME(fold_turned_##ID)(char const *x, npy_intp along, T *z, npy_intp m, npy_intp n) {         \
        T near[LOOPDBG_FOLD_UNROLL_MAX][LOOPDBG_FOLD_COLUMNS];                                                          \
        for (npy_intp q = 0, count; q < m; q += count, x += count * along, z += count) {                      \
            count = m - q < LOOPDBG_FOLD_COLUMNS ? m - q : LOOPDBG_FOLD_COLUMNS;                                    \
            NAME(fold_turn_##T)(x, along, near[0], count, n);                                                 \
            NAME(fold_two_##ID)((char const *)near, sizeof near[0], z, count, n);                             \
        }                                                                                                     \
    }                                                                                                         \
    static void NAME(fold_few_##ID)(char const *x, npy_intp along, T *z, npy_intp m, npy_intp n) {            \
        if (along == n * (npy_intp)sizeof(T)) switch (n) {                                                    \
            case 1: NAME(fold_two_##ID)(x, 0, z, m, 1); return;                                               \
            case 2: NAME(fold_near_##ID)((T const *)x, z, m, 2); return;                                      \
            case 3: NAME(fold_near_##ID)((T const *)x, z, m, 3); return;                                      \
            case 4: NAME(fold_near_##ID)((T const *)x, z, m, 4); return;                                      \
            case 8: NAME(fold_near_##ID)((T const *)x, z, m, 8); return;                                      \
        }                                                                                                     \
        NAME(fold_turned_##ID)(x, along, z, m, n);                                                            \
    }

/* n rows into one of m contiguous results, which stay in registers. */
#define FOLD_ROW(ID, OP, T)                                                                                   \
    /* w of them; 0: a NaN occurred, and nothing is written */                                                   \
    INLINE int NAME(fold_columns_##ID)(char const *restrict x, npy_intp step, npy_intp n, T *restrict z, int const w) { \
        T all[LOOPDBG_FOLD_COLUMNS];                                                                             \
        int has_nan[LOOPDBG_FOLD_COLUMNS] = {0}, any = 0;                                                        \
        for (int k = 0; k < w; k++) all[k] = z[k];                                                            \
        for (npy_intp i = 0; i < n; i++, x += step)                                                           \
            for (int k = 0; k < w; k++) {                                                                     \
                T b = ((T const *)x)[k];                                                                      \
                all[k] = FOLD_##OP(all[k], b);                                                                \
                has_nan[k] |= FOLD_ODD_##OP(b);                                                               \
            }                                                                                                 \
        for (int k = 0; k < w; k++) any |= has_nan[k] | (all[k] != all[k]);                                   \
        if (!any)                                                                                             \
            for (int k = 0; k < w; k++) z[k] = all[k];                                                        \
        return !any;                                                                                          \
    }                                                                                                         \
    static void NAME(fold_row_##ID)(char const *x, npy_intp m, npy_intp step, npy_intp n, char *z) {          \
        npy_intp k = 0;                                                                                       \
        npy_intp const size = sizeof(T);                                                                      \
        for (npy_intp w = 0; k < m; k += w) {                                                                 \
            char const *from = x + k * size;                                                                  \
            T *to = (T *)z + k;                                                                               \
            if (FOLD_LOOKS_##OP && m - k < 64) {                                                              \
                NAME(fold_two_##ID)(from, step, to, m - k, n);                                                \
                return;                                                                                       \
            }                                                                                                 \
            int good = m - k >= 64 ? (w = 64, NAME(fold_columns_##ID)(from, step, n, to, 64)) :               \
                m - k >= 16 ? (w = 16, NAME(fold_columns_##ID)(from, step, n, to, 16)) :                      \
                m - k >= 4 ? (w = 4, NAME(fold_columns_##ID)(from, step, n, to, 4)) :                         \
                (w = 1, NAME(fold_columns_##ID)(from, step, n, to, 1));                                       \
            if (!good) fold_plainly_##ID(from, size, w, step, n, (char *)to, size);                           \
        }                                                                                                     \
    }

/* n short rows of m numbers into one, for several results at once: a vector holds a row, and what follows it. */
#define FOLD_ROWS_OF(ID, OP, T, BYTES)                                                                        \
    /* 0: a NaN occurred, and nothing is written */                                                              \
    INLINE int NAME(fold_vectors_##BYTES##_##ID)(char const *x, npy_intp stride, npy_intp step, npy_intp n, npy_intp m, char *z, \
                                                npy_intp z_apart, int const count) {                          \
        typedef T V __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias));                       \
        V all[LOOPDBG_FOLD_ROWS_AT_ONCE] = {{0}}, values = {0};                                                      \
        npy_intp row = m * (npy_intp)sizeof(T), whole = n - (BYTES - row + step - 1) / step;                  \
        int has_nan = 0;                                                                                      \
        for (int q = 0; q < count; q++) {                                                                     \
            for (npy_intp k = 0; k < m; k++) values[k] = ((T const *)(z + q * z_apart))[k];                      \
            all[q] = values;                                                                                     \
        }                                                                                                     \
        for (npy_intp i = 0; i < whole; i++)                                                                  \
            for (int q = 0; q < count; q++)                                                                   \
                all[q] = FOLD_##OP(all[q], *(V const *)(x + q * stride + i * step));                          \
        for (npy_intp i = whole > 0 ? whole : 0; i < n; i++)                                                  \
            for (int q = 0; q < count; q++) {                                                                 \
                for (npy_intp k = 0; k < m; k++) values[k] = ((T const *)(x + q * stride + i * step))[k];        \
                all[q] = FOLD_##OP(all[q], values);                                                              \
            }                                                                                                 \
        for (int q = 0; q < count; q++)                                                                       \
            for (npy_intp k = 0; k < m; k++) has_nan |= all[q][k] != all[q][k];                               \
        for (int q = 0; !has_nan && q < count; q++)                                                           \
            for (npy_intp k = 0; k < m; k++) ((T *)(z + q * z_apart))[k] = all[q][k];                         \
        return !has_nan;                                                                                      \
    }
#define FOLD_VECTORS(ID, BYTES, count)                                                                        \
    NAME(fold_vectors_##BYTES##_##ID)(x + r * stride, stride, step, n, m, z + r * z_apart, z_apart, count)
#define FOLD_ROWS_BY(ID, count)                                                                               \
    for (; r + count <= rows; r += count) {                                                                   \
        int good = m * size <= 16 ? FOLD_VECTORS(ID, 16, count) :                                             \
            m * size <= 32 ? FOLD_VECTORS(ID, 32, count) : FOLD_VECTORS(ID, 64, count);                       \
        for (npy_intp q = r; !good && q < r + count; q++)                                                     \
            fold_plainly_##ID(x + q * stride, size, m, step, n, z + q * z_apart, size);                       \
    }
#define FOLD_ROWS(ID, OP, T)                                                                                  \
    FOLD_ROWS_OF(ID, OP, T, 16) FOLD_ROWS_OF(ID, OP, T, 32) FOLD_ROWS_OF(ID, OP, T, 64)                       \
    static void NAME(fold_short_##ID)(char const *x, npy_intp stride, npy_intp rows, npy_intp step, npy_intp n, npy_intp m, \
                                     char *z, npy_intp z_apart) {                                             \
        npy_intp r = 0;                                                                                       \
        npy_intp const size = sizeof(T);                                                                      \
        FOLD_ROWS_BY(ID, LOOPDBG_FOLD_ROWS_AT_ONCE) FOLD_ROWS_BY(ID, 1)                                           \
    }                                                                                                         \
    /* axes: of the results' rows, along which they are constant, and of a row (data: the latter two) */ \
    LOOP(NAME(fold_rows_##ID)) {                                                                              \
        npy_intp const *axis = (npy_intp const *)data, *row = axis + 4, n = axis[0], step = axis[2], m = row[0]; \
        npy_intp const size = sizeof(T);                                                                      \
        if (n >= LOOPDBG_FOLD_GATHER_ROWS_MIN && row[1] == size && row[2] == size && m <= LOOPDBG_FOLD_UNROLL_MAX && step >= m * size && \
            loopdbg_fold_is_disjoint(args, dims, steps, axis, 2, size)) {                                           \
            NAME(fold_short_##ID)(args[1], steps[1], dims[0], step, n, m, args[0], steps[0]);                 \
            return;                                                                                           \
        }                                                                                                     \
        for (npy_intp i = 0; i < n; i++)                                                                      \
            for (npy_intp k = 0; k < m; k++)                                                                  \
                fold_plainly_##ID(args[1] + i * step + k * row[2], steps[1], dims[0], 0, 1, args[0] + k * row[1], steps[0]); \
    }

/* The inner axis and the next outer one, along which the output is constant (data: as in Call.outer). */
#define FOLD_AROUND(ID, T)                                                                                    \
    LOOP(NAME(fold_around_##ID)) {                                                                            \
        npy_intp const *axis = (npy_intp const *)data, m = dims[0], n = axis[0], step = axis[2];              \
        npy_intp const size = sizeof(T);                                                                      \
        int near = steps[0] == size && loopdbg_fold_is_disjoint(args, dims, steps, axis, 1, size);                  \
        if (near && step == size && n <= LOOPDBG_FOLD_UNROLL_MAX)                                                    \
            NAME(fold_few_##ID)(args[1], steps[1], (T *)args[0], m, n);                                       \
        else if (near && steps[1] == size && n < LOOPDBG_FOLD_GATHER_MIN)                                           \
            NAME(fold_two_##ID)(args[1], step, (T *)args[0], m, n);                                           \
        else if (near && steps[1] == size)                                                                    \
            NAME(fold_row_##ID)(args[1], m, step, n, args[0]);                                                \
        else                                                                                                  \
            fold_plainly_##ID(args[1], steps[1], m, step, n, args[0], steps[0]);                              \
    }

#define FOLD_FEW_OF(ID, FUNCTION, C, T, R, EXPRESSION) FOLD_FEW(ID, T, EXPRESSION)
SCALAR_FLOATS(FOLD_FEW_OF)
#define FOLD_FAST(OP, N, T) FOLD_ROW(OP##_##N, OP, T) FOLD_AROUND(OP##_##N, T)
#define FOLDS(C, N, T)                                                                                        \
    FOLD_FAST(add, N, T) FOLD_FAST(multiply, N, T) FOLD_FAST(maximum, N, T) FOLD_FAST(minimum, N, T)          \
    FOLD_ROWS(add_##N, add, T) FOLD_ROWS(multiply_##N, multiply, T)
FLOATS(FOLDS)
