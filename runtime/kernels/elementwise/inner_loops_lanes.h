/* Elementwise loops, for one vector width (inner_loops.c). */

/* where: args are condition (bool), a, b, out; data = element size in bytes */
#define WHERE_BODY(T)                                                                                         \
    for (npy_intp i = 0; i < n; i++, c += steps[0], a += steps[1], b += steps[2], out += steps[3])            \
        *(T *)out = *c ? *(T const *)a : *(T const *)b;
/* Contiguous or repeated elements (A, B: 0): branch-free, 10x for unpredictable conditions. */
#define WHERE_ROW(T, A, B)                                                                                    \
    {                                                                                                         \
        T const *x = (T const *)a, *y = (T const *)b;                                                         \
        T *z = (T *)out;                                                                                      \
        INDEPENDENT for (npy_intp i = 0; i < n; i++) {                                                        \
            T u = x[A], v = y[B];                                                                             \
            z[i] = c[i] ? u : v;                                                                              \
        }                                                                                                     \
    }
#define WHERE(T)                                                                                              \
    if (steps[0] == 1 && steps[3] == size && (steps[1] == size || !steps[1]) && (steps[2] == size || !steps[2])) { \
        if (!steps[1] && steps[2]) WHERE_ROW(T, 0, i)                                                         \
        else if (steps[1] && !steps[2]) WHERE_ROW(T, i, 0)                                                    \
        else if (steps[1]) WHERE_ROW(T, i, i)                                                                 \
        else WHERE_ROW(T, 0, 0)                                                                               \
    } else WHERE_BODY(T)
LOOP(NAME(where)) {
    npy_intp n = dims[0], size = (npy_intp)(intptr_t)data;
    char const *c = args[0], *a = args[1], *b = args[2];
    char *out = args[3];
    if (!steps[0] && n > 1) {
        char *one[2] = {*c ? args[1] : args[2], out};
        npy_intp const copy_steps[2] = {*c ? steps[1] : steps[2], steps[3]};
        loopdbg_copy(one, dims, copy_steps, data);
        return;
    }
    switch (size) {
        case 1: WHERE(uint8_t) break;
        case 2: WHERE(uint16_t) break;
        case 4: WHERE(uint32_t) break;
        case 8: WHERE(uint64_t) break;
        default:
            for (npy_intp i = 0; i < n; i++, c += steps[0], a += steps[1], b += steps[2], out += steps[3])
                memcpy(out, *c ? a : b, (size_t)size);
    }
}

#define NEAR_LOOP(ID, FROM, TO, EXPRESSION)                                                                   \
    static void NAME(near_##ID)(FROM const *src, TO *dst, npy_intp n) {                                       \
        for (npy_intp i = 0; i < n; i++) {                                                                    \
            FROM v = src[i];                                                                                  \
            dst[i] = EXPRESSION;                                                                              \
        }                                                                                                     \
    }
#define NO_LOOP(ID, FROM, TO, EXPRESSION)
#define NEAR_OF_INTEGER(C, N, T) CASTS_OF_INTEGER(NO_LOOP, NEAR_LOOP, N, T)
#define NEAR_OF_FLOAT(C, N, T) CASTS_OF_FLOAT(NO_LOOP, NEAR_LOOP, N, T)
INTEGERS(NEAR_OF_INTEGER)
NEAR_OF_INTEGER('?', bool, uint8_t)
FLOATS(NEAR_OF_FLOAT)

/* Maps and sums with a short inner axis: two axes at once, since NumPy's loops cost 10 to 20 ns a call. data: the next
 * outer axis, as in Call.outer. Inner steps are the size of an element, or 0 for one of the inputs. Arguments may
 * overlap as in NumPy's loops: each element is written before the next one is read. */
/* One row: x and y are its inputs, z its output. */
#define MAP_BODY(T, A, B, EXPRESSION)                                                                         \
    for (npy_intp i = 0; i < n; i++) {                                                                        \
        T a = x[A], b = y[B];                                                                                 \
        z[i] = EXPRESSION;                                                                                    \
    }
#define ROWS_BODY(T, A, B, EXPRESSION)                                                                        \
    for (npy_intp r = 0; r < axis[0]; r++, p += axis[1], q += axis[2], out += axis[3]) {                      \
        T const *x = (T const *)p, *y = (T const *)q;                                                         \
        T *z = (T *)out;                                                                                      \
        MAP_BODY(T, A, B, EXPRESSION)                                                                         \
    }
/* The shortest rows: 6x for the extremes of rows of 2. Only if the output's rows are contiguous and inputs share memory
 * with it at most element by element. */
#define ROWS_SHORTEST(T, EXPRESSION)                                                                          \
    {                                                                                                         \
        T nearx[LOOPDBG_INTERLEAVE_BLOCK_ELEMENTS], neary[LOOPDBG_INTERLEAVE_BLOCK_ELEMENTS];                                               \
        npy_intp most = LOOPDBG_INTERLEAVE_BLOCK_ELEMENTS / n, size = sizeof(T), row = n * size;                             \
        for (npy_intp first = 0; first < axis[0]; first += most) {                                            \
            npy_intp rows = axis[0] - first < most ? axis[0] - first : most;                                  \
            int samex = steps[0] && axis[1] == row, samey = steps[1] && axis[2] == row;                       \
            T const *x = samex ? (T const *)(p + first * row) : nearx;                                        \
            T const *y = samey ? (T const *)(q + first * row) : neary;                                        \
            T *z = (T *)(out + first * row);                                                                  \
            if (!samex && (axis[1] || !first))                                                                \
                loopdbg_interleave_rows((char *)nearx, p + first * axis[1], steps[0], axis[1], rows, n, size);   \
            if (!samey && (axis[2] || !first))                                                                \
                loopdbg_interleave_rows((char *)neary, q + first * axis[2], steps[1], axis[2], rows, n, size);   \
            INDEPENDENT for (npy_intp i = 0; i < rows * n; i++) {                                             \
                T a = x[i], b = y[i];                                                                         \
                z[i] = EXPRESSION;                                                                            \
            }                                                                                                 \
        }                                                                                                     \
        return;                                                                                               \
    }
#define ROWS(ID, FUNCTION, C, T, R, EXPRESSION)                                                               \
    LOOP(NAME(rows_##ID)) {                                                                                   \
        npy_intp const *axis = (npy_intp const *)data, n = dims[0];                                           \
        char const *p = args[0], *q = args[1];                                                                \
        char *out = args[2];                                                                                  \
        if (n <= LOOPDBG_MAX_SHORT_ROW && axis[0] >= LOOPDBG_INTERLEAVE_MIN_ROWS && axis[3] == n * (npy_intp)sizeof(T) &&     \
            loopdbg_apart(p, steps[0], axis[1], out, axis[0], axis[3], sizeof(T)) &&                          \
            loopdbg_apart(q, steps[1], axis[2], out, axis[0], axis[3], sizeof(T)))                            \
            ROWS_SHORTEST(T, EXPRESSION)                                                                      \
        if (!steps[0]) ROWS_BODY(T, 0, i, EXPRESSION)                                                         \
        else if (!steps[1]) ROWS_BODY(T, i, 0, EXPRESSION)                                                    \
        else ROWS_BODY(T, i, i, EXPRESSION)                                                                   \
    }
SCALAR_FLOATS(ROWS)
ROWS(subtract_f32, "", 'f', float, float, a - b)
ROWS(subtract_f64, "", 'd', double, double, a - b)
ROWS(divide_f32, "", 'f', float, float, a / b)
ROWS(divide_f64, "", 'd', double, double, a / b)

/* The same operations along one axis, with any steps. */
#define MAP(ID, FUNCTION, C, T, R, EXPRESSION)                                                                \
    LOOP(NAME(map_##ID)) {                                                                                    \
        npy_intp n = dims[0], size = sizeof(T);                                                               \
        T const *x = (T const *)args[0], *y = (T const *)args[1];                                             \
        T *z = (T *)args[2];                                                                                  \
        (void)data;                                                                                           \
        if (steps[2] == size && steps[0] == size && steps[1] == size) MAP_BODY(T, i, i, EXPRESSION)           \
        else if (steps[2] == size && !steps[0] && steps[1] == size) MAP_BODY(T, 0, i, EXPRESSION)             \
        else if (steps[2] == size && steps[0] == size && !steps[1]) MAP_BODY(T, i, 0, EXPRESSION)             \
        else                                                                                                  \
            for (npy_intp i = 0; i < n; i++) {                                                                \
                T a = *(T const *)(args[0] + i * steps[0]), b = *(T const *)(args[1] + i * steps[1]);         \
                *(T *)(args[2] + i * steps[2]) = EXPRESSION;                                                  \
            }                                                                                                 \
    }
SCALAR_FLOATS(MAP)
/* One input, with any steps. */
#define EACH(ID, T, R, EXPRESSION)                                                                            \
    LOOP(NAME(each_##ID)) {                                                                                   \
        (void)data;                                                                                           \
        if (steps[0] == (npy_intp)sizeof(T) && steps[1] == (npy_intp)sizeof(R))                               \
            for (npy_intp i = 0; i < dims[0]; i++) {                                                          \
                T a = ((T const *)args[0])[i];                                                                \
                ((R *)args[1])[i] = EXPRESSION;                                                               \
            }                                                                                                 \
        else                                                                                                  \
            for (npy_intp i = 0; i < dims[0]; i++) {                                                          \
                T a = *(T const *)(args[0] + i * steps[0]);                                                   \
                *(R *)(args[1] + i * steps[1]) = EXPRESSION;                                                  \
            }                                                                                                 \
    }
#define EACH_LOOP(ID, FUNCTION, C, T, R, EXPRESSION) EACH(ID, T, R, EXPRESSION)
EACH_OF(EACH_LOOP)
/* Powers: squares and cubes are products and halves are roots, at any position; 10x where all of them are. */
#define POWER(C, N, T, OTHERS)                                                                                \
    LOOP(NAME(power_##N)) {                                                                                   \
        npy_intp n = dims[0], size = sizeof(T);                                                               \
        T const *x = (T const *)args[0], *b = (T const *)args[1];                                             \
        T *z = (T *)args[2];                                                                                  \
        int at_once = !steps[1] && steps[0] == size && steps[2] == size;                                      \
        (void)data;                                                                                           \
        if (at_once && *b == 2)                                                                               \
            for (npy_intp i = 0; i < n; i++) z[i] = x[i] * x[i];                                              \
        else if (at_once && *b == 3)                                                                          \
            for (npy_intp i = 0; i < n; i++) z[i] = x[i] * x[i] * x[i];                                       \
        else if (at_once && *b == (T)0.5)                                                                     \
            for (npy_intp i = 0; i < n; i++) z[i] = ROOT_OF(T, N, x[i]);                                      \
        else                                                                                                  \
            OTHERS(args, dims, steps);                                                                        \
    }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("no-math-errno") /* for vectorized roots */
#endif
POWER('f', f32, float, loopdbg_power_f32)
POWER('d', f64, double, powers_f64)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
