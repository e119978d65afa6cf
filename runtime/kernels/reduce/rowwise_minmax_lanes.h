/* The maximum and the minimum of rows, for one vector width (rowwise_minmax.h). */

#define HIGHS_OF(OP, N, T)                                                                                    \
    /* ``a`` and n numbers, of which ``best`` is the best that is a number. */                                \
    static inline T NAME(high_of_##OP##_##N)(T a, T best, int has_nan, T const *x, npy_intp n) {              \
        if (a != a) return a;                                                                                 \
        for (npy_intp i = 0; has_nan && i < n; i++)                                                           \
            if (x[i] != x[i]) return x[i];                                                                    \
        if (!(HIGH_##OP(a, best))) return a;                                                                  \
        for (npy_intp i = 0; best == 0 && i < n; i++)                                                         \
            if (x[i] == 0) return x[i];                                                                       \
        return best;                                                                                          \
    }                                                                                                         \
    /* from `done` on: the rest beyond whole vectors */                                                   \
    INLINE void NAME(high_rest_##OP##_##N)(T const *x, npy_intp done, npy_intp n, T *best, int *has_nan) {    \
        for (npy_intp i = done; i < n; i++) {                                                                 \
            *has_nan |= x[i] != x[i];                                                                         \
            *best = HIGH_##OP(*best, x[i]) ? x[i] : *best;                                                    \
        }                                                                                                     \
    }                                                                                                         \
    static void NAME(high_row_##OP##_##N)(char const *x, npy_intp n, char *out) {                             \
        T const *from = (T const *)x;                                                                         \
        T best = from[0];                                                                                     \
        int has_nan = 0;                                                                                      \
        npy_intp i = 0;                                                                                       \
        if (n >= 32) {                                                                                        \
            high_##N s[4], all;                                                                               \
            high_at_##N none = {0};                                                                           \
            for (int q = 0; q < 4; q++) s[q] = *(high_##N const *)(from + 8 * q);                             \
            for (; i + 32 <= n; i += 32)                                                                      \
                for (int q = 0; q < 4; q++) {                                                                 \
                    high_##N v = *(high_##N const *)(from + i + 8 * q);                                       \
                    none |= v != v;                                                                           \
                    s[q] = HIGH_OF(N, OP, s[q], v);                                                           \
                }                                                                                             \
            all = HIGH_OF(N, OP, HIGH_OF(N, OP, s[0], s[1]), HIGH_OF(N, OP, s[2], s[3]));                     \
            best = all[0];                                                                                    \
            for (int q = 0; q < 8; q++) has_nan |= none[q] != 0, best = HIGH_##OP(best, all[q]) ? all[q] : best; \
        }                                                                                                     \
        NAME(high_rest_##OP##_##N)(from, i, n, &best, &has_nan);                                              \
        *(T *)out = NAME(high_of_##OP##_##N)(*(T *)out, best, has_nan, from, n);                              \
    }                                                                                                         \
    INLINE void NAME(high_rows_##OP##_##N)(char const *x, npy_intp around, npy_intp n, char *out, npy_intp stride) { \
        T const *from[8];                                                                                     \
        high_##N s[8], pairs[4], fours[2], all;                                                               \
        high_at_##N none = {0};                                                                               \
        npy_intp i = 8;                                                                                       \
        for (int k = 0; k < 8; k++) {                                                                         \
            from[k] = (T const *)(x + k * around);                                                            \
            s[k] = *(high_##N const *)from[k];                                                                \
            none |= s[k] != s[k];                                                                             \
        }                                                                                                     \
        for (; i + 8 <= n; i += 8)                                                                            \
            for (int k = 0; k < 8; k++) {                                                                     \
                high_##N v = *(high_##N const *)(from[k] + i);                                                \
                none |= v != v;                                                                               \
                s[k] = HIGH_OF(N, OP, s[k], v);                                                               \
            }                                                                                                 \
        for (int k = 0; k < 4; k++) pairs[k] = HIGH_PAIRS(N, OP, s[2 * k], s[2 * k + 1]);                     \
        for (int k = 0; k < 2; k++) fours[k] = HIGH_PAIRS(N, OP, pairs[2 * k], pairs[2 * k + 1]);             \
        all = HIGH_OF(N, OP, SHUFFLE(high_at_##N, fours[0], fours[1], 0, 1, 2, 3, 8, 9, 10, 11),              \
                      SHUFFLE(high_at_##N, fours[0], fours[1], 4, 5, 6, 7, 12, 13, 14, 15));                  \
        int has_nan = 0;                                                                                      \
        for (int k = 0; k < 8; k++) has_nan |= none[k] != 0;                                                  \
        for (int k = 0; k < 8; k++) {                                                                         \
            T best = all[k];                                                                                  \
            NAME(high_rest_##OP##_##N)(from[k], i, n, &best, &has_nan);                                       \
            *(T *)(out + k * stride) = NAME(high_of_##OP##_##N)(*(T *)(out + k * stride), best, has_nan, from[k], n); \
        }                                                                                                     \
    }                                                                                                         \
    LOOP(NAME(fold_##OP##_##N)) {                                                                             \
        T *out = (T *)args[2];                                                                                \
        (void)data;                                                                                           \
        if (steps[1] == sizeof(T) && dims[0]) {                                                               \
            NAME(high_row_##OP##_##N)(args[1], dims[0], args[2]);                                             \
            return;                                                                                           \
        }                                                                                                     \
        for (npy_intp i = 0; i < dims[0]; i++) {                                                              \
            T b = *(T const *)(args[1] + i * steps[1]);                                                       \
            *out = NAME(high_of_##OP##_##N)(*out, b, b != b, &b, 1);                                          \
        }                                                                                                     \
    }                                                                                                         \
    /* two axes (data: the outer one, as in Call.outer): contiguous rows, each into its result */         \
    LOOP(NAME(rows_##OP##_##N)) {                                                                             \
        npy_intp const *axis = (npy_intp const *)data, n = dims[0];                                           \
        npy_intp r = 0;                                                                                       \
        (void)steps;                                                                                          \
        if (n >= 8 && n <= LOOPDBG_MINMAX_LONG_ROW)                                                                 \
            for (; r + 8 <= axis[0]; r += 8)                                                                  \
                NAME(high_rows_##OP##_##N)(args[1] + r * axis[2], axis[2], n, args[2] + r * axis[3], axis[3]); \
        for (; n && r < axis[0]; r++) NAME(high_row_##OP##_##N)(args[1] + r * axis[2], n, args[2] + r * axis[3]); \
    }
#define HIGHS(C, N, T) HIGHS_OF(max, N, T) HIGHS_OF(min, N, T)
FLOATS(HIGHS)
