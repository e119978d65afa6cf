/* Windows of channels, for one vector width (pool.h). */

/* Combine contiguous rows, V elements at a time: to[i] = a[i] with b[i]. `to` may be `a`. For a maximum the last vector
 * may overlap, which avoids a scalar tail. */
#define JOIN(name, T, V, FEW, MANY, TWICE)                                                                               \
    static void NAME(join_##name)(T *to, T const *a, T const *b, npy_intp n) {                                           \
        npy_intp const lanes = sizeof(V) / sizeof(T);                                                                    \
        npy_intp i = 0;                                                                                                  \
        for (; i + lanes <= n; i += lanes) {                                                                             \
            V x = *(V const *)(a + i), y = *(V const *)(b + i);                                                          \
            *(V *)(to + i) = MANY(V, x, y);                                                                              \
        }                                                                                                                \
        if (TWICE && i < n && n > lanes) {                                                                               \
            V x = *(V const *)(a + n - lanes), y = *(V const *)(b + n - lanes);                                          \
            *(V *)(to + n - lanes) = MANY(V, x, y);                                                                      \
            return;                                                                                                      \
        }                                                                                                                \
        for (; i < n; i++) to[i] = FEW(a[i], b[i]);                                                                      \
    }

/* NaN counts as the maximum. */
#define GREATER(a, b) ((((a) > (b)) | ((a) != (a))) ? (a) : (b))
#define BITS(x) (__typeof__((x) > (x)))(x)
#define GREATER_OF(V, a, b)                                                                                              \
    (V)(((((a) > (b)) | ((a) != (a))) & BITS(a)) | (~(((a) > (b)) | ((a) != (a))) & BITS(b)))
#define SUM(a, b) ((a) + (b))
#define SUM_OF(V, a, b) ((a) + (b))

#define POOL(name, T, NOTHING)                                                                                           \
    static void NAME(pool_##name)(T const *x, int64_t const *t, T *out, T *scratch, npy_intp channels) {                 \
        npy_intp const size = t[POOL_IN] * t[POOL_IN + 1] * t[POOL_IN + 2], width = t[POOL_IN + 2];                      \
        npy_intp const count = t[POOL_OUT + 2], taps = t[POOL_KERNEL + 2], dilation = t[POOL_DILATION + 2];              \
        npy_intp const step = t[POOL_STEP + 2], before = t[POOL_BEFORE + 2];                                             \
        npy_intp const places = (count - 1) * step + 1, reach = places + (taps - 1) * dilation;                          \
        npy_intp const lead = before < 0 ? -before : 0;                                                                  \
        npy_intp const all = lead + (reach > width + before ? reach : width + before);                                   \
        /* row: what the windows read, from its first place on; the input's own columns begin at ``line``. */            \
        T *const row = scratch + lead, *const line = row + before, *const joined = scratch + all;                        \
        for (npy_intp w = 0; w < all; w++) scratch[w] = NOTHING;                                                         \
        for (npy_intp c = 0; c < channels; c++, x += size)                                                               \
            for (npy_intp d = 0; d < t[POOL_OUT]; d++)                                                                   \
                for (npy_intp h = 0; h < t[POOL_OUT + 1]; h++, out += count) {                                           \
                    npy_intp z = d * t[POOL_STEP] - t[POOL_BEFORE], y = h * t[POOL_STEP + 1] - t[POOL_BEFORE + 1];       \
                    npy_intp z0, z1, y0, y1;                                                                             \
                    T const *first = NULL; /* row, until there is another */                                             \
                    int begun = 0;                                                                                       \
                    pool_taps(t, 0, z, &z0, &z1), pool_taps(t, 1, y, &y0, &y1);                                          \
                    for (npy_intp i = z0; i < z1; i++)                                                                   \
                        for (npy_intp j = y0; j < y1; j++) {                                                             \
                            npy_intp at = (z + i * t[POOL_DILATION]) * t[POOL_IN + 1] + y + j * t[POOL_DILATION + 1];    \
                            if (first) NAME(join_##name)(line, begun ? line : first, x + at * width, width), begun = 1;  \
                            else first = x + at * width;                                                                 \
                        }                                                                                                \
                    if (!begun)                                                                                          \
                        for (npy_intp w = 0; w < width; w++) line[w] = first ? first[w] : NOTHING;                       \
                    T *to = step == 1 ? out : joined;                                                                    \
                    if (taps > 1) NAME(join_##name)(to, row, row + dilation, places);                                    \
                    else to = row;                                                                                       \
                    for (npy_intp k = 2; k < taps; k++) NAME(join_##name)(to, to, row + k * dilation, places);           \
                    if (step == 2)                                                                                       \
                        for (npy_intp w = 0; w < count; w++) out[w] = to[2 * w];                                         \
                    else if (to != out)                                                                                  \
                        for (npy_intp w = 0; w < count; w++) out[w] = to[step * w];                                      \
                }                                                                                                        \
    }

/* Indices of the maxima: the first of equal ones. `place`: strides of an element's index in its channel along the axes;
 * then whether an empty window gives the channel's first index, or -1. Tap by tap along a row of outputs, as a
 * branch-free loop over contiguous elements; an index is negative until one is found. */
#define KEEP(type, T)                                                                                                    \
    INLINE void NAME(keep_##type)(T const *restrict from, npy_intp step, npy_intp n,                                     \
                                                                  T *restrict best, int64_t *restrict found,             \
                                                                  int64_t at, int64_t stride) {                          \
        for (npy_intp w = 0; w < n; w++) {                                                                               \
            T value = from[w * step], b = best[w];                                                                       \
            int64_t f = found[w], here = at + w * stride;                                                                \
            int take = (f < 0) | (value > b) | ((value != value) & (b == b));                                            \
            best[w] = take ? value : b;                                                                                  \
            found[w] = take ? here : f;                                                                                  \
        }                                                                                                                \
    }
#define PLACES(type, T, LEAST)                                                                                           \
    static void NAME(pool_places_##type)(T const *x, int64_t const *t, T *out, int64_t *places, npy_intp channels,       \
                                npy_intp channel, npy_intp const *place) {                                               \
        npy_intp const *in = (npy_intp const *)t + POOL_IN;                                                              \
        int64_t const *dilation = t + POOL_DILATION;                                                                     \
        npy_intp const count = t[POOL_OUT + 2], step = t[POOL_STEP + 2], before = t[POOL_BEFORE + 2];                    \
        for (npy_intp c = 0; c < channels; c++, x += in[0] * in[1] * in[2])                                              \
            for (npy_intp d = 0; d < t[POOL_OUT]; d++)                                                                   \
                for (npy_intp h = 0; h < t[POOL_OUT + 1]; h++, out += count, places += count) {                          \
                    npy_intp z0 = d * t[POOL_STEP] - t[POOL_BEFORE], y0 = h * t[POOL_STEP + 1] - t[POOL_BEFORE + 1];     \
                    npy_intp first[2], last[2];                                                                          \
                    pool_taps(t, 0, z0, first, last), pool_taps(t, 1, y0, first + 1, last + 1);                          \
                    for (npy_intp w = 0; w < count; w++) out[w] = LEAST, places[w] = -1;                                 \
                    for (npy_intp i = first[0]; i < last[0]; i++)                                                        \
                        for (npy_intp j = first[1]; j < last[1]; j++)                                                    \
                            for (npy_intp k = 0; k < t[POOL_KERNEL + 2]; k++) {                                          \
                                npy_intp z = z0 + i * dilation[0], y = y0 + j * dilation[1];                             \
                                npy_intp u = k * dilation[2] - before; /* low..high - 1 of the row's outputs meet it */  \
                                npy_intp low = u < 0 ? (-u + step - 1) / step : 0, high = count;                         \
                                if (u + (count - 1) * step >= in[2]) high = u < in[2] ? (in[2] - 1 - u) / step + 1 : 0;  \
                                if (low >= high) continue;                                                               \
                                u += low * step;                                                                         \
                                T const *from = x + (z * in[1] + y) * in[2] + u;                                         \
                                int64_t at = z * place[0] + y * place[1] + u * place[2], stride = step * place[2];       \
                                if (step == 1) NAME(keep_##type)(from, 1, high - low, out + low, places + low, at, stride); \
                                else if (step == 2) NAME(keep_##type)(from, 2, high - low, out + low, places + low, at, stride); \
                                else NAME(keep_##type)(from, step, high - low, out + low, places + low, at, stride);     \
                            }                                                                                            \
                    int64_t const nothing = place[3] ? c * channel : -1;                                                 \
                    for (npy_intp w = 0; w < count; w++) places[w] = places[w] < 0 ? nothing : c * channel + places[w];  \
                }                                                                                                        \
    }

/* 32 bytes at most: wider vectors gain nothing in memory-bound loops. */
#undef POOL_VECTOR
#define POOL_VECTOR(T) T __attribute__((vector_size(WIDTH == 4 ? 16 : 32), aligned(sizeof(T)), may_alias))
#define POOLS(type, T, LEAST)                                                                                            \
    typedef POOL_VECTOR(T) NAME(pool_vector_##type);                                                                     \
    JOIN(max_##type, T, NAME(pool_vector_##type), GREATER, GREATER_OF, 1)                                                \
    POOL(max_##type, T, LEAST)                                                                                           \
    KEEP(type, T)                                                                                                        \
    PLACES(type, T, LEAST)
POOL_TYPES(POOLS)
#define POOL_SUMS(type, T)                                                                                               \
    JOIN(sum_##type, T, NAME(pool_vector_##type), SUM, SUM_OF, 0)                                                        \
    POOL(sum_##type, T, 0)
POOL_SUMS(f32, float)
POOL_SUMS(f64, double)
