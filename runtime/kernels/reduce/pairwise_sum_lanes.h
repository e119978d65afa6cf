/* Sums of contiguous elements, for one vector width (pairwise_sum.h). */

#define SUMS_OF(C, N, T)                                                                                      \
    /* The sums of eight vectors. */                                                                          \
    INLINE void NAME(sums_of_##N)(sum_##N const *s, sum_##N *sums) {                                          \
        sum_##N pairs[4], fours[2];                                                                           \
        for (int k = 0; k < 4; k++) pairs[k] = SUM_PAIRS(sum_at_##N, s[2 * k], s[2 * k + 1]);                 \
        for (int k = 0; k < 2; k++) fours[k] = SUM_PAIRS(sum_at_##N, pairs[2 * k], pairs[2 * k + 1]);         \
        *sums = SHUFFLE(sum_at_##N, fours[0], fours[1], 0, 1, 2, 3, 8, 9, 10, 11) +                           \
            SHUFFLE(sum_at_##N, fours[0], fours[1], 4, 5, 6, 7, 12, 13, 14, 15);                              \
    }                                                                                                         \
    /* some rows of some vectors */                                                                    \
    INLINE void NAME(sums_along_##N)(T const *const *from, npy_intp vectors, sum_##N *s, int const count) {   \
        for (int k = 0; k < count; k++) s[k] = *(sum_##N const *)from[k];                                     \
        for (npy_intp i = 1; i < vectors; i++)                                                                \
            for (int k = 0; k < count; k++) s[k] += *(sum_##N const *)(from[k] + 8 * i);                      \
    }                                                                                                         \
    /* ``units`` times 8 numbers and ``rest`` more, in ``parts`` parts: halves of halves, which have one unit more or less. */ \
    INLINE T NAME(sum_in_##N)(T const *x, npy_intp units, npy_intp rest, int const parts) {                   \
        npy_intp at[9] = {0}, least = units / parts;                                                          \
        T const *from[8];                                                                                     \
        sum_##N s[8] = {{0}}, all;                                                                            \
        at[parts] = units, at[parts / 2] = parts > 1 ? units / 2 : 0;                                         \
        if (parts >= 4) at[parts / 4] = at[parts / 2] / 2, at[parts / 4 * 3] = at[parts / 2] + (units - at[parts / 2]) / 2; \
        if (parts == 8) {                                                                                     \
            at[1] = at[2] / 2, at[3] = at[2] + (at[4] - at[2]) / 2;                                           \
            at[5] = at[4] + (at[6] - at[4]) / 2, at[7] = at[6] + (units - at[6]) / 2;                         \
        }                                                                                                     \
        from[0] = x, from[1] = x + 8 * at[1], from[2] = x + 8 * at[2], from[3] = x + 8 * at[3], from[4] = x + 8 * at[4]; \
        from[5] = x + 8 * at[5], from[6] = x + 8 * at[6], from[7] = x + 8 * at[7];                            \
        NAME(sums_along_##N)(from, least, s, parts);                                                          \
        for (int k = 0; k < parts; k++)                                                                       \
            s[k] += *(sum_##N const *)(at[k + 1] - at[k] > least ? from[k] + 8 * least : nothing_##N);        \
        if (parts == 1) {                                                                                     \
            T sum = SUM_OF(s[0]);                                                                             \
            for (npy_intp i = 0; i < rest; i++) sum += x[8 * units + i];                                      \
            return sum;                                                                                       \
        }                                                                                                     \
        NAME(sums_of_##N)(s, &all);                                                                           \
        for (npy_intp i = 0; i < rest; i++) all[parts - 1] += x[8 * units + i];                               \
        return parts == 8 ? SUM_OF(all) : parts == 4 ? (all[0] + all[1]) + (all[2] + all[3]) : all[0] + all[1]; \
    }                                                                                                         \
    static T NAME(sum_at_once_##N)(T const *x, npy_intp n, int parts) {                                       \
        switch (parts) {                                                                                      \
            case 1: return NAME(sum_in_##N)(x, n / 8, n % 8, 1);                                              \
            case 2: return NAME(sum_in_##N)(x, n / 8, n % 8, 2);                                              \
            case 4: return NAME(sum_in_##N)(x, n / 8, n % 8, 4);                                              \
        }                                                                                                     \
        return NAME(sum_in_##N)(x, n / 8, n % 8, 8);                                                          \
    }                                                                                                         \
    /* Eight rows of up to 128 numbers. */                                                                    \
    INLINE void NAME(sum_rows_##N)(char const *x, npy_intp around, npy_intp n, char *out, npy_intp stride) {  \
        T const *from[8];                                                                                     \
        sum_##N s[8], all = *(sum_##N const *)nothing_##N;                                                    \
        for (int k = 0; k < 8; k++) from[k] = (T const *)(x + k * around);                                    \
        if (n >= 8) {                                                                                         \
            NAME(sums_along_##N)(from, n / 8, s, 8);                                                          \
            NAME(sums_of_##N)(s, &all);                                                                       \
        }                                                                                                     \
        for (npy_intp i = n - n % 8; i < n; i++)                                                              \
            for (int k = 0; k < 8; k++) all[k] += from[k][i];                                                 \
        for (int k = 0; k < 8; k++) *(T *)(out + k * stride) += all[k];                                       \
    }                                                                                                         \
    /* two axes (data: the outer one, as in Call.outer): contiguous rows, each added to its result */     \
    LOOP(NAME(rows_sum_##N)) {                                                                                \
        npy_intp const *axis = (npy_intp const *)data, n = dims[0];                                           \
        npy_intp r = 0;                                                                                       \
        (void)steps;                                                                                          \
        if (n <= LOOPDBG_SUM_LEAF_ELEMENTS)                                                                            \
            for (; r + 8 <= axis[0]; r += 8)                                                                  \
                NAME(sum_rows_##N)(args[1] + r * axis[2], axis[2], n, args[2] + r * axis[3], axis[3]);        \
        for (; r < axis[0]; r++) *(T *)(args[2] + r * axis[3]) += sum_all_##N((T const *)(args[1] + r * axis[2]), n); \
    }
FLOATS(SUMS_OF)
