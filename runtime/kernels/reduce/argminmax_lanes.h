/* Extremes of interleaved rows and of contiguous elements, for one vector width (argminmax.h). */

#define EXTREME_STEPS(BETTER)                                                                                 \
    for (npy_intp j = 0; j < n; j++, x += along, here += 1)                                                   \
        for (int q = 0; q < each; q++) {                                                                      \
            vector v = ((vector const *)x)[q], b = best[q];                                                   \
            mask better = (BETTER);                                                                           \
            best[q] = EXTREME_TAKE(vector, better, v, b);                                                     \
            at[q] = EXTREME_TAKE(mask, better, here, at[q]);                                                  \
        }
#define EXTREME_VALUE(BETTER)                                                                                 \
    {                                                                                                         \
        for (; i + 4 * width <= n; i += 4 * width)                                                            \
            for (int q = 0; q < 4; q++) {                                                                     \
                vector v = *(vector const *)(x + i + q * width), b = best[q];                                 \
                mask better = (BETTER);                                                                       \
                best[q] = EXTREME_TAKE(vector, better, v, b);                                                 \
                odd[q] |= v != v;                                                                             \
            }                                                                                                 \
        for (int q = 1; q < 4; q++) {                                                                         \
            vector v = best[q], b = best[0];                                                                  \
            mask better = (BETTER);                                                                           \
            best[0] = EXTREME_TAKE(vector, better, v, b);                                                     \
            odd[0] |= odd[q];                                                                                 \
        }                                                                                                     \
        memcpy(bests, best, sizeof bests), memcpy(odds, odd, sizeof odds);                                    \
        for (int q = 1; q < width; q++) {                                                                     \
            scalar v = bests[q], b = bests[0];                                                                \
            if (BETTER) bests[0] = v;                                                                         \
            odds[0] |= odds[q];                                                                               \
        }                                                                                                     \
        for (; i < n; i++) {                                                                                  \
            scalar v = x[i], b = bests[0];                                                                    \
            if (BETTER) bests[0] = v;                                                                         \
            odds[0] |= v != v;                                                                                \
        }                                                                                                     \
    }

#define EXTREMES_OF(C, N, T)                                                                                  \
    /* continue with 16 interleaved rows; `from`: index of the first element here */   \
    static void NAME(extreme_steps_##N)(extreme_##N const *x, npy_intp n, npy_intp along, extreme_##N *bests, \
                                       extreme_at_##N *ats, extreme_at_##N from, int max, int last) {         \
        typedef EXTREME_VECTOR(extreme_##N) vector;                                                           \
        typedef EXTREME_VECTOR(extreme_at_##N) mask;                                                          \
        enum { each = ARGMINMAX_LANES * sizeof(extreme_##N) / 32 };                                             \
        vector best[each];                                                                                    \
        mask at[each], here = (mask){0} + from;                                                               \
        memcpy(best, bests, sizeof best), memcpy(at, ats, sizeof at);                                         \
        if (max && last) EXTREME_STEPS((v >= b) | (v != v))                                                   \
        else if (max) EXTREME_STEPS(~(v <= b) & (b == b))                                                     \
        else if (last) EXTREME_STEPS((v <= b) | (v != v))                                                     \
        else EXTREME_STEPS(~(v >= b) & (b == b))                                                              \
        memcpy(bests, best, sizeof best), memcpy(ats, at, sizeof at);                                         \
    }                                                                                                         \
    /* The extreme of a row, and whether it has a NaN. */                                                     \
    static T NAME(extreme_value_##N)(T const *x, npy_intp n, int max, int *nan) {                             \
        typedef T scalar;                                                                                     \
        typedef EXTREME_MASK(T) narrow;                                                                       \
        typedef EXTREME_VECTOR(T) vector;                                                                     \
        typedef EXTREME_VECTOR(narrow) mask;                                                                  \
        enum { width = 32 / sizeof(T) };                                                                      \
        T bests[width];                                                                                       \
        narrow odds[width];                                                                                   \
        vector best[4];                                                                                       \
        mask odd[4] = {{0}};                                                                                  \
        npy_intp i = 0;                                                                                       \
        for (int q = 0; q < 4; q++) best[q] = (vector){0} + x[0];                                             \
        if (max) EXTREME_VALUE(v > b)                                                                         \
        else EXTREME_VALUE(v < b)                                                                             \
        *nan = odds[0] != 0;                                                                                  \
        return bests[0];                                                                                      \
    }                                                                                                         \
    static int NAME(extreme_is_here_##N)(T const *x, T value) {                                               \
        int found = 0;                                                                                        \
        for (int l = 0; l < ARGMINMAX_SCAN_BLOCK; l++) found |= x[l] == value;                                       \
        return found;                                                                                         \
    }
NUMBERS(EXTREMES_OF)
EXTREMES_OF('?', bool, uint8_t)
