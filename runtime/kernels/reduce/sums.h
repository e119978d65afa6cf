/* NumPy's pairwise sums, to the bit: up to 128 numbers are eight sums side by side, which are added in pairs; more than that
 * are two halves, the first one a multiple of 8. Here the eight sums are a vector, and several such are under way at once. */
#ifndef LOOPDBG_SUMS_H
#define LOOPDBG_SUMS_H

#include <stdint.h>
#include <string.h>
#include <numpy/npy_common.h>

#include "../call.h"
#include "../elements/numbers.h"
#include "../dispatch/processor.h"
#include "../dispatch/wide.h"

/* Numbers of a part that no longer splits; most that are summed at once, in up to eight such parts. */
enum { LOOPDBG_SUM_PART = 128, LOOPDBG_SUM_MOST = 1024 };

#define SUM_INLINE static inline __attribute__((always_inline))

/* Pairs of neighbours, of two vectors; all of one, in pairs. */
#define SUM_PAIRS(I, a, b) SHUFFLE(I, a, b, 0, 2, 8, 10, 4, 6, 12, 14) + SHUFFLE(I, a, b, 1, 3, 9, 11, 5, 7, 13, 15)
#define SUM_OF(s) (((s)[0] + (s)[1]) + ((s)[2] + (s)[3])) + (((s)[4] + (s)[5]) + ((s)[6] + (s)[7]))

#define SUMS(C, N, T)                                                                                         \
    typedef T sum_##N __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));             \
    typedef __typeof__((sum_##N){0} != (sum_##N){0}) sum_at_##N;                                              \
    static T const nothing_##N[8] = {-0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0};                         \
    /* The sums of eight vectors. */                                                                          \
    SUM_INLINE void sums_of_##N(sum_##N const *s, sum_##N *sums) {                                            \
        sum_##N pairs[4], fours[2];                                                                           \
        for (int k = 0; k < 4; k++) pairs[k] = SUM_PAIRS(sum_at_##N, s[2 * k], s[2 * k + 1]);                 \
        for (int k = 0; k < 2; k++) fours[k] = SUM_PAIRS(sum_at_##N, pairs[2 * k], pairs[2 * k + 1]);         \
        *sums = SHUFFLE(sum_at_##N, fours[0], fours[1], 0, 1, 2, 3, 8, 9, 10, 11) +                           \
            SHUFFLE(sum_at_##N, fours[0], fours[1], 4, 5, 6, 7, 12, 13, 14, 15);                              \
    }                                                                                                         \
    /* So many rows of so many vectors. */                                                                    \
    SUM_INLINE void sums_along_##N(T const *const *from, npy_intp vectors, sum_##N *s, int const count) {     \
        for (int k = 0; k < count; k++) s[k] = *(sum_##N const *)from[k];                                     \
        for (npy_intp i = 1; i < vectors; i++)                                                                \
            for (int k = 0; k < count; k++) s[k] += *(sum_##N const *)(from[k] + 8 * i);                      \
    }                                                                                                         \
    /* ``units`` times 8 numbers and ``rest`` more, in ``parts`` parts: halves of halves, which have one unit more or less. */ \
    SUM_INLINE T sum_in_##N(T const *x, npy_intp units, npy_intp rest, int const parts) {                     \
        npy_intp at[9] = {0}, least = units / parts;                                                          \
        T const *from[8];                                                                                     \
        sum_##N s[8] = {{0}}, all;                                                                            \
        at[parts] = units, at[parts / 2] = parts > 1 ? units / 2 : 0;                                                 \
        if (parts >= 4) at[parts / 4] = at[parts / 2] / 2, at[parts / 4 * 3] = at[parts / 2] + (units - at[parts / 2]) / 2; \
        if (parts == 8) {                                                                                     \
            at[1] = at[2] / 2, at[3] = at[2] + (at[4] - at[2]) / 2;                                           \
            at[5] = at[4] + (at[6] - at[4]) / 2, at[7] = at[6] + (units - at[6]) / 2;                         \
        }                                                                                                     \
        from[0] = x, from[1] = x + 8 * at[1], from[2] = x + 8 * at[2], from[3] = x + 8 * at[3], from[4] = x + 8 * at[4]; \
        from[5] = x + 8 * at[5], from[6] = x + 8 * at[6], from[7] = x + 8 * at[7];                            \
        sums_along_##N(from, least, s, parts);                                                                \
        for (int k = 0; k < parts; k++)                                                                       \
            s[k] += *(sum_##N const *)(at[k + 1] - at[k] > least ? from[k] + 8 * least : nothing_##N);        \
        if (parts == 1) {                                                                                     \
            T sum = SUM_OF(s[0]);                                                                             \
            for (npy_intp i = 0; i < rest; i++) sum += x[8 * units + i];                                      \
            return sum;                                                                                       \
        }                                                                                                     \
        sums_of_##N(s, &all);                                                                                 \
        for (npy_intp i = 0; i < rest; i++) all[parts - 1] += x[8 * units + i];                               \
        return parts == 8 ? SUM_OF(all) : parts == 4 ? (all[0] + all[1]) + (all[2] + all[3]) : all[0] + all[1]; \
    }                                                                                                         \
    /* How many parts there are, 2, 4 or 8, or 0 where it is another number. */                               \
    SUM_INLINE int sum_parts_##N(npy_intp units, npy_intp rest) {                                             \
        for (int parts = 2; parts <= 8; parts *= 2)                                                           \
            if ((units + parts - 1) / parts * 8 + rest <= LOOPDBG_SUM_PART)                                   \
                return units / (parts / 2) * 8 > LOOPDBG_SUM_PART ? parts : 0;                                \
        return 0;                                                                                             \
    }                                                                                                         \
    WIDE static T sum_at_once_##N(T const *x, npy_intp n, int parts) {                                        \
        switch (parts) {                                                                                      \
            case 1: return sum_in_##N(x, n / 8, n % 8, 1);                                                    \
            case 2: return sum_in_##N(x, n / 8, n % 8, 2);                                                    \
            case 4: return sum_in_##N(x, n / 8, n % 8, 4);                                                    \
        }                                                                                                     \
        return sum_in_##N(x, n / 8, n % 8, 8);                                                                \
    }                                                                                                         \
    static T sum_all_##N(T const *x, npy_intp n) {                                                            \
        int parts = n <= LOOPDBG_SUM_PART ? 1 : n <= LOOPDBG_SUM_MOST ? sum_parts_##N(n / 8, n % 8) : 0;      \
        npy_intp half = n / 2 - n / 2 % 8;                                                                    \
        T sum = (T)-0.0;                                                                                      \
        if (n >= 8) return parts ? sum_at_once_##N(x, n, parts) : sum_all_##N(x, half) + sum_all_##N(x + half, n - half); \
        for (npy_intp i = 0; i < n; i++) sum += x[i];                                                         \
        return sum;                                                                                           \
    }                                                                                                         \
    /* Of neighbours. */                                                                                      \
    LOOP(fold_sum_##N) {                                                                                      \
        (void)steps, (void)data;                                                                              \
        *(T *)args[2] = *(T const *)args[0] + sum_all_##N((T const *)args[1], dims[0]);                        \
    }                                                                                                         \
    /* Eight rows of up to 128 numbers. */                                                                    \
    SUM_INLINE void sum_rows_##N(char const *x, npy_intp around, npy_intp n, char *out, npy_intp apart) {     \
        T const *from[8];                                                                                     \
        sum_##N s[8], all = *(sum_##N const *)nothing_##N;                                                    \
        for (int k = 0; k < 8; k++) from[k] = (T const *)(x + k * around);                                    \
        if (n >= 8) {                                                                                         \
            sums_along_##N(from, n / 8, s, 8);                                                                \
            sums_of_##N(s, &all);                                                                             \
        }                                                                                                     \
        for (npy_intp i = n - n % 8; i < n; i++)                                                              \
            for (int k = 0; k < 8; k++) all[k] += from[k][i];                                                 \
        for (int k = 0; k < 8; k++) *(T *)(out + k * apart) += all[k];                                        \
    }                                                                                                         \
    /* Two axes (data: the outer one, as in Call.outer): rows of neighbours, each added to its result. */     \
    WIDE LOOP(rows_sum_##N) {                                                                                 \
        npy_intp const *axis = (npy_intp const *)data, n = dims[0];                                           \
        npy_intp r = 0;                                                                                       \
        (void)steps;                                                                                          \
        if (n <= LOOPDBG_SUM_PART)                                                                            \
            for (; r + 8 <= axis[0]; r += 8)                                                                  \
                sum_rows_##N(args[1] + r * axis[2], axis[2], n, args[2] + r * axis[3], axis[3]);              \
        for (; r < axis[0]; r++) *(T *)(args[2] + r * axis[3]) += sum_all_##N((T const *)(args[1] + r * axis[2]), n); \
    }
FLOATS(SUMS)

#endif
