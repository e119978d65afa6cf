/* Reductions of floats, many results at once; each still takes one number after the other. A fold's output is its first
 * input as well, and stays where it is along what is folded. */
#include <stdint.h>
#include <string.h>
#include <numpy/npy_common.h>

#include "folds.h"
#include "../data_movement/overlaps.h"
#include "../elements/numbers.h"
#include "../elementwise/scalar_ops.h"
#include "../dispatch/wide.h"

#define FOLD_INLINE static inline __attribute__((always_inline))

/* The operations without the choice between NaNs, which would take its time at each step. Where a NaN comes of them, or is
 * what they take (FOLD_ODD), results are folded once more, as scalar_ops.h has it. */
#define FOLD_add(a, b) (a) + (b)
#define FOLD_multiply(a, b) (a) * (b)
#define FOLD_maximum(a, b) (b) > (a) ? (b) : (a)
#define FOLD_minimum(a, b) (b) < (a) ? (b) : (a)
#define FOLD_ODD_add(b) 0
#define FOLD_ODD_multiply(b) 0
#define FOLD_ODD_maximum(b) (b) != (b)
#define FOLD_ODD_minimum(b) (b) != (b)

/* Compilers keep what is found of few results in memory, which takes longer than the results do. */
#define FOLD_LOOKS_add 0
#define FOLD_LOOKS_multiply 0
#define FOLD_LOOKS_maximum 1
#define FOLD_LOOKS_minimum 1

/* Rows of so many numbers, each into its result; results side by side; rows of results at once; of so
 * many numbers and more that results are gathered for, one or short rows of them. */
enum { LOOPDBG_FOLD_FEW = 8, LOOPDBG_FOLD_WIDE = 64, LOOPDBG_FOLD_TOGETHER = 8, LOOPDBG_FOLD_MANY = 8, LOOPDBG_FOLD_MORE = 16 };

/* m results, into each of which n numbers are folded: any strides, and as scalar_ops.h has it. */
#define FOLD_PLAINLY(ID, T, EXPRESSION)                                                                       \
    static void fold_plainly_##ID(char const *x, npy_intp along, npy_intp m, npy_intp step, npy_intp n, char *z, \
                                  npy_intp z_along) {                                                         \
        for (npy_intp i = 0; i < n; i++)                                                                      \
            for (npy_intp r = 0; r < m; r++) {                                                                \
                T a = *(T const *)(z + r * z_along), b = *(T const *)(x + i * step + r * along);              \
                *(T *)(z + r * z_along) = EXPRESSION;                                                         \
            }                                                                                                 \
    }

/* Rows of n numbers as columns, LOOPDBG_FOLD_WIDE of them from one to the next; n is known to the compiler. */
#define FOLD_TURN_OF(T, N)                                                                                    \
    case N:                                                                                                   \
        for (npy_intp r = 0; r < rows; r++)                                                                   \
            for (int i = 0; i < N; i++) to[i * LOOPDBG_FOLD_WIDE + r] = ((T const *)(x + r * along))[i];      \
        break;
#define FOLD_TURN(C, N, T)                                                                                    \
    WIDE static void fold_turn_##T(char const *restrict x, npy_intp along, T *restrict to, npy_intp rows, npy_intp n) { \
        switch (n) {                                                                                          \
            FOLD_TURN_OF(T, 1) FOLD_TURN_OF(T, 2) FOLD_TURN_OF(T, 3) FOLD_TURN_OF(T, 4)                       \
            FOLD_TURN_OF(T, 5) FOLD_TURN_OF(T, 6) FOLD_TURN_OF(T, 7) FOLD_TURN_OF(T, 8)                       \
        }                                                                                                     \
    }
FLOATS(FOLD_TURN)

/* Rows of n numbers, each into its result; n is known to the compiler, which then finds vectors. */
#define FOLD_FEW(ID, T, EXPRESSION)                                                                           \
    FOLD_INLINE void fold_near_##ID(T const *restrict x, T *restrict z, npy_intp m, int const n) {            \
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
    FOLD_INLINE void fold_across_##ID(char const *x, npy_intp step, T *restrict z, npy_intp m, int const n) { \
        for (npy_intp r = 0; r < m; r++) {                                                                    \
            T a = z[r];                                                                                       \
            for (int i = 0; i < n; i++) {                                                                     \
                T b = ((T const *)(x + i * step))[r];                                                         \
                a = EXPRESSION;                                                                               \
            }                                                                                                 \
            z[r] = a;                                                                                         \
        }                                                                                                     \
    }                                                                                                         \
    WIDE static void fold_two_##ID(char const *x, npy_intp step, T *z, npy_intp m, npy_intp n) {              \
        for (; n >= 2; n -= 2, x += 2 * step) fold_across_##ID(x, step, z, m, 2);                             \
        if (n) fold_across_##ID(x, step, z, m, 1);                                                            \
    }                                                                                                         \
    /* Rows that lie far from each other, or in whose lengths compilers find no vectors: by columns. */       \
    static void fold_turned_##ID(char const *x, npy_intp along, T *z, npy_intp m, npy_intp n) {               \
        T near[LOOPDBG_FOLD_FEW][LOOPDBG_FOLD_WIDE];                                                          \
        for (npy_intp q = 0, count; q < m; q += count, x += count * along, z += count) {                      \
            count = m - q < LOOPDBG_FOLD_WIDE ? m - q : LOOPDBG_FOLD_WIDE;                                    \
            fold_turn_##T(x, along, near[0], count, n);                                                       \
            fold_two_##ID((char const *)near, sizeof near[0], z, count, n);                                   \
        }                                                                                                     \
    }                                                                                                         \
    WIDE static void fold_few_##ID(char const *x, npy_intp along, T *z, npy_intp m, npy_intp n) {             \
        if (along == n * (npy_intp)sizeof(T)) switch (n) {                                                    \
            case 1: fold_two_##ID(x, 0, z, m, 1); return;                                                     \
            case 2: fold_near_##ID((T const *)x, z, m, 2); return;                                            \
            case 3: fold_near_##ID((T const *)x, z, m, 3); return;                                            \
            case 4: fold_near_##ID((T const *)x, z, m, 4); return;                                            \
            case 8: fold_near_##ID((T const *)x, z, m, 8); return;                                            \
        }                                                                                                     \
        fold_turned_##ID(x, along, z, m, n);                                                                  \
    }

/* n rows into one of m results side by side, which stay in registers. */
#define FOLD_ROW(ID, OP, T)                                                                                   \
    /* w of them; 0: a NaN came, and nothing is written. */                                                   \
    FOLD_INLINE int fold_columns_##ID(char const *restrict x, npy_intp step, npy_intp n, T *restrict z, int const w) { \
        T all[LOOPDBG_FOLD_WIDE];                                                                             \
        int odd[LOOPDBG_FOLD_WIDE] = {0}, any = 0;                                                            \
        for (int k = 0; k < w; k++) all[k] = z[k];                                                            \
        for (npy_intp i = 0; i < n; i++, x += step)                                                           \
            for (int k = 0; k < w; k++) {                                                                     \
                T b = ((T const *)x)[k];                                                                      \
                all[k] = FOLD_##OP(all[k], b);                                                                \
                odd[k] |= FOLD_ODD_##OP(b);                                                                   \
            }                                                                                                 \
        for (int k = 0; k < w; k++) any |= odd[k] | (all[k] != all[k]);                                       \
        if (!any)                                                                                             \
            for (int k = 0; k < w; k++) z[k] = all[k];                                                        \
        return !any;                                                                                          \
    }                                                                                                         \
    WIDE static void fold_row_##ID(char const *x, npy_intp m, npy_intp step, npy_intp n, char *z) {           \
        npy_intp k = 0;                                                                                       \
        npy_intp const size = sizeof(T);                                                                      \
        for (npy_intp w = 0; k < m; k += w) {                                                                 \
            char const *from = x + k * size;                                                                  \
            T *to = (T *)z + k;                                                                               \
            if (FOLD_LOOKS_##OP && m - k < 64) {                                                              \
                fold_two_##ID(from, step, to, m - k, n);                                                      \
                return;                                                                                       \
            }                                                                                                 \
            int good = m - k >= 64 ? (w = 64, fold_columns_##ID(from, step, n, to, 64)) :                     \
                m - k >= 16 ? (w = 16, fold_columns_##ID(from, step, n, to, 16)) :                            \
                m - k >= 4 ? (w = 4, fold_columns_##ID(from, step, n, to, 4)) :                               \
                (w = 1, fold_columns_##ID(from, step, n, to, 1));                                             \
            if (!good) fold_plainly_##ID(from, size, w, step, n, (char *)to, size);                           \
        }                                                                                                     \
    }

/* n short rows of m numbers into one, for some such results at once: a vector holds a row, and what follows it. */
#define FOLD_ROWS_OF(ID, OP, T, BYTES)                                                                        \
    /* 0: a NaN came, and nothing is written. */                                                              \
    FOLD_INLINE int fold_vectors_##BYTES##_##ID(char const *x, npy_intp apart, npy_intp step, npy_intp n, npy_intp m, char *z, \
                                                npy_intp z_apart, int const count) {                          \
        typedef T V __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias));                       \
        V all[LOOPDBG_FOLD_TOGETHER] = {{0}}, one = {0};                                                              \
        npy_intp row = m * (npy_intp)sizeof(T), whole = n - (BYTES - row + step - 1) / step;                  \
        int odd = 0;                                                                                          \
        for (int q = 0; q < count; q++) {                                                                     \
            for (npy_intp k = 0; k < m; k++) one[k] = ((T const *)(z + q * z_apart))[k];                      \
            all[q] = one;                                                                                     \
        }                                                                                                     \
        for (npy_intp i = 0; i < whole; i++)                                                                  \
            for (int q = 0; q < count; q++)                                                                   \
                all[q] = FOLD_##OP(all[q], *(V const *)(x + q * apart + i * step));                           \
        for (npy_intp i = whole > 0 ? whole : 0; i < n; i++)                                                  \
            for (int q = 0; q < count; q++) {                                                                 \
                for (npy_intp k = 0; k < m; k++) one[k] = ((T const *)(x + q * apart + i * step))[k];         \
                all[q] = FOLD_##OP(all[q], one);                                                              \
            }                                                                                                 \
        for (int q = 0; q < count; q++)                                                                       \
            for (npy_intp k = 0; k < m; k++) odd |= all[q][k] != all[q][k];                                   \
        for (int q = 0; !odd && q < count; q++)                                                               \
            for (npy_intp k = 0; k < m; k++) ((T *)(z + q * z_apart))[k] = all[q][k];                         \
        return !odd;                                                                                          \
    }
#define FOLD_VECTORS(ID, BYTES, count)                                                                        \
    fold_vectors_##BYTES##_##ID(x + r * apart, apart, step, n, m, z + r * z_apart, z_apart, count)
#define FOLD_ROWS_BY(ID, count)                                                                               \
    for (; r + count <= rows; r += count) {                                                                   \
        int good = m * size <= 16 ? FOLD_VECTORS(ID, 16, count) :                                             \
            m * size <= 32 ? FOLD_VECTORS(ID, 32, count) : FOLD_VECTORS(ID, 64, count);                       \
        for (npy_intp q = r; !good && q < r + count; q++)                                                     \
            fold_plainly_##ID(x + q * apart, size, m, step, n, z + q * z_apart, size);                        \
    }
#define FOLD_ROWS(ID, OP, T)                                                                                  \
    FOLD_ROWS_OF(ID, OP, T, 16) FOLD_ROWS_OF(ID, OP, T, 32) FOLD_ROWS_OF(ID, OP, T, 64)                       \
    WIDE static void fold_short_##ID(char const *x, npy_intp apart, npy_intp rows, npy_intp step, npy_intp n, npy_intp m, \
                                     char *z, npy_intp z_apart) {                                             \
        npy_intp r = 0;                                                                                       \
        npy_intp const size = sizeof(T);                                                                      \
        FOLD_ROWS_BY(ID, LOOPDBG_FOLD_TOGETHER) FOLD_ROWS_BY(ID, 1)                                           \
    }                                                                                                         \
    /* The axis of the results' rows, that along which they stay, and that of a row (data: the latter two). */ \
    LOOP(fold_rows_##ID) {                                                                                    \
        npy_intp const *axis = (npy_intp const *)data, *row = axis + 4, n = axis[0], step = axis[2], m = row[0]; \
        npy_intp const size = sizeof(T);                                                                      \
        if (n >= LOOPDBG_FOLD_MORE && row[1] == size && row[2] == size && m <= LOOPDBG_FOLD_FEW && step >= m * size &&                  \
            loopdbg_fold_apart(args, dims, steps, axis, 2, size)) {                                           \
            fold_short_##ID(args[1], steps[1], dims[0], step, n, m, args[0], steps[0]);                       \
            return;                                                                                           \
        }                                                                                                     \
        for (npy_intp i = 0; i < n; i++)                                                                      \
            for (npy_intp k = 0; k < m; k++)                                                                  \
                fold_plainly_##ID(args[1] + i * step + k * row[2], steps[1], dims[0], 0, 1, args[0] + k * row[1], steps[0]); \
    }

/* The inner axis and the one around it, along which the output stays (data: as in Call.outer). */
#define FOLD_AROUND(ID, T)                                                                                    \
    LOOP(fold_around_##ID) {                                                                                  \
        npy_intp const *axis = (npy_intp const *)data, m = dims[0], n = axis[0], step = axis[2];              \
        npy_intp const size = sizeof(T);                                                                      \
        int near = steps[0] == size && loopdbg_fold_apart(args, dims, steps, axis, 1, size);                  \
        if (near && step == size && n <= LOOPDBG_FOLD_FEW)                                                    \
            fold_few_##ID(args[1], steps[1], (T *)args[0], m, n);                                             \
        else if (near && steps[1] == size && n < LOOPDBG_FOLD_MANY)                                           \
            fold_two_##ID(args[1], step, (T *)args[0], m, n);                                                 \
        else if (near && steps[1] == size)                                                                    \
            fold_row_##ID(args[1], m, step, n, args[0]);                                                      \
        else                                                                                                  \
            fold_plainly_##ID(args[1], steps[1], m, step, n, args[0], steps[0]);                              \
    }

#define FOLD_STRICTLY(ID, NAME, C, T, R, EXPRESSION) FOLD_PLAINLY(ID, T, EXPRESSION) FOLD_FEW(ID, T, EXPRESSION)
SCALAR_FLOATS(FOLD_STRICTLY)
#define FOLD_FAST(OP, N, T) FOLD_ROW(OP##_##N, OP, T) FOLD_AROUND(OP##_##N, T)
#define FOLDS(C, N, T)                                                                                        \
    FOLD_FAST(add, N, T) FOLD_FAST(multiply, N, T) FOLD_FAST(maximum, N, T) FOLD_FAST(minimum, N, T)          \
    FOLD_ROWS(add_##N, add, T) FOLD_ROWS(multiply_##N, multiply, T)
FLOATS(FOLDS)

#define FOLD_PICK(C, N, T)                                                                                    \
    case C:                                                                                                   \
        if (!strcmp(name, "add")) return rows ? fold_rows_add_##N : fold_around_add_##N;                      \
        if (!strcmp(name, "multiply")) return rows ? fold_rows_multiply_##N : fold_around_multiply_##N;       \
        if (!strcmp(name, "maximum") && !rows) return fold_around_maximum_##N;                                \
        if (!strcmp(name, "minimum") && !rows) return fold_around_minimum_##N;                                \
        break;
loopdbg_loop loopdbg_fold(char const *name, char type, int rows) {
    switch (type) { FLOATS(FOLD_PICK) }
    return NULL;
}
