/* Tiles of products, for one vector width (small_products.h). */
#include "../dispatch/vectors.h"

/* Vectors in registers. SOME: which of a vector's elements exist. */
#undef VECTOR
#undef SPREAD
#undef LOAD
#undef STORE
#undef ADD_PRODUCT
#undef SOME
#undef SOME_OF
#undef LOAD_SOME
#undef STORE_SOME
#if N == 16
#define VECTOR __m512
#define SPREAD _mm512_set1_ps
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define ADD_PRODUCT _mm512_fmadd_ps
#define SOME __mmask16
#define SOME_OF(count) (__mmask16)((1u << (count)) - 1)
#define LOAD_SOME _mm512_maskz_loadu_ps
#define STORE_SOME _mm512_mask_storeu_ps
#elif N == 8
#define VECTOR __m256
#define SPREAD _mm256_set1_ps
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define ADD_PRODUCT _mm256_fmadd_ps
#define SOME __m256i
#define SOME_OF NAME(first)
#define LOAD_SOME(mask, p) _mm256_maskload_ps(p, mask)
#define STORE_SOME _mm256_maskstore_ps
#else
#define VECTOR V
#define SPREAD(x) ((V){x, x, x, x})
#define LOAD(p) (*(V const *)(p))
#define STORE(p, v) (*(V *)(p) = (v))
#define ADD_PRODUCT(a, b, sum) ((sum) + (a) * (b))
#define SOME int
#define SOME_OF(count) count
#define LOAD_SOME NAME(load_some)
#define STORE_SOME NAME(store_some)
INLINE V NAME(load_some)(int count, float const *p) {
    V v = {0};
    for (int k = 0; k < count; k++) v[k] = p[k];
    return v;
}
INLINE void NAME(store_some)(float *p, int count, V v) {
    for (int k = 0; k < count; k++) p[k] = v[k];
}
#endif

/* R rows with W vectors of N columns, the last of which has the rest of `columns`. */
#define EDGE(W, R)                                                                                                     \
    static void NAME(edge_##W##_##R)(loopdbg_strided_product const *p, int columns) {                                            \
        float const *a[R], *b = p->b;                                                                                  \
        npy_intp const column = p->a_column, step = p->b_row;                                                          \
        SOME mask = SOME_OF(columns - N * (W - 1));                                                                    \
        VECTOR sum[R][W];                                                                                              \
        UNROLL for (int r = 0; r < R; r++) {                                                                           \
            float const *s = p->start ? p->start + r * p->start_row : NULL;                                            \
            a[r] = p->a + r * p->a_row;                                                                                \
            UNROLL for (int q = 0; q < W; q++)                                                                         \
                sum[r][q] = !p->start ? SPREAD(0.0f) : q < W - 1 ? LOAD(s + q * N) : LOAD_SOME(mask, s + q * N);       \
        }                                                                                                              \
        _Pragma("GCC unroll 2") for (npy_intp j = 0, i = 0; j < p->k; j++, i += column, b += step) {                   \
            VECTOR v[W];                                                                                               \
            UNROLL for (int q = 0; q < W; q++) v[q] = q < W - 1 ? LOAD(b + q * N) : LOAD_SOME(mask, b + q * N);        \
            UNROLL for (int r = 0; r < R; r++) {                                                                       \
                VECTOR one = SPREAD(a[r][i]);                                                                          \
                UNROLL for (int q = 0; q < W; q++) sum[r][q] = ADD_PRODUCT(one, v[q], sum[r][q]);                      \
            }                                                                                                          \
        }                                                                                                              \
        UNROLL for (int r = 0; r < R; r++) {                                                                           \
            float *y = p->out + r * p->out_row;                                                                        \
            UNROLL for (int q = 0; q < W - 1; q++) STORE(y + q * N, sum[r][q]);                                        \
            STORE_SOME(y + (W - 1) * N, mask, sum[r][W - 1]);                                                          \
        }                                                                                                              \
    }

#define EDGES_2(DO, W) DO(W, 1) DO(W, 2)
#define EDGES_6(DO, W) EDGES_2(DO, W) DO(W, 3) DO(W, 4) DO(W, 5) DO(W, 6)
#define EDGES_8(DO, W) EDGES_6(DO, W) DO(W, 7) DO(W, 8)
#define EDGE_NAME(W, R) NAME(edge_##W##_##R),
#if N == 16
EDGES_8(EDGE, 1)
EDGES_8(EDGE, 2)
EDGES_8(EDGE, 3)
#else
EDGES_6(EDGE, 1)
EDGES_6(EDGE, 2)
EDGES_2(EDGE, 3)
#endif
#if N == 16
EDGES_6(EDGE, 4)
#else
EDGES_2(EDGE, 4)
#endif

#if N > 4
#include "transposed_products.h"
TURNED(1)
TURNED(2)
TURNED(3)
TURNED(4)
#endif

#if N == 16
/* Two rows in a vector. Four numbers of both are loaded at once and broadcast from there: separate loads, for half a
 * vector of columns, take longer than the products. [1024,64] @ [64,7]: 7 us instead of 11. */
static void NAME(sixteen_rows)(loopdbg_strided_product const *p, int columns) {
    npy_intp const row = p->a_row, step = p->b_row;
    __mmask16 const low = (__mmask16)((1u << columns) - 1), high = (__mmask16)(low << 8), upper = 0xff00;
    __m512 sum[8];
    npy_intp j = 0;
    UNROLL for (int r = 0; r < 8; r++) {
        float const *s = p->start ? p->start + 2 * r * p->start_row : NULL;
        sum[r] = _mm512_setzero_ps();
        if (s) sum[r] = _mm512_mask_loadu_ps(_mm512_maskz_loadu_ps(low, s), high, s + p->start_row - 8);
    }
#define BOTH(q) _mm512_castpd_ps(_mm512_broadcast_f64x4(_mm256_loadu_pd((double const *)(p->b + (j + q) * step))))
    for (; j + 4 <= p->k; j += 4) {
        __m512 const w0 = BOTH(0), w1 = BOTH(1), w2 = BOTH(2), w3 = BOTH(3);
        UNROLL for (int r = 0; r < 8; r++) {
            float const *x = p->a + 2 * r * row + j;
            __m512 v = _mm512_mask_broadcast_f32x4(_mm512_broadcast_f32x4(_mm_loadu_ps(x)), upper, _mm_loadu_ps(x + row));
            sum[r] = _mm512_fmadd_ps(_mm512_permute_ps(v, 0x00), w0, sum[r]);
            sum[r] = _mm512_fmadd_ps(_mm512_permute_ps(v, 0x55), w1, sum[r]);
            sum[r] = _mm512_fmadd_ps(_mm512_permute_ps(v, 0xaa), w2, sum[r]);
            sum[r] = _mm512_fmadd_ps(_mm512_permute_ps(v, 0xff), w3, sum[r]);
        }
    }
    for (; j < p->k; j++) {
        __m512 const w = BOTH(0);
        UNROLL for (int r = 0; r < 8; r++) {
            float const *x = p->a + 2 * r * row + j;
            sum[r] = _mm512_fmadd_ps(_mm512_mask_blend_ps(upper, _mm512_set1_ps(x[0]), _mm512_set1_ps(x[row])), w, sum[r]);
        }
    }
#undef BOTH
    UNROLL for (int r = 0; r < 8; r++) {
        float *y = p->out + 2 * r * p->out_row;
        _mm512_mask_storeu_ps(y, low, sum[r]);
        _mm512_mask_storeu_ps(y + p->out_row - 8, high, sum[r]);
    }
}
#endif

/* clang-format off */
static loopdbg_small_tiling const NAME(edges)[] = {{
#if N == 16
    {{NULL, EDGES_8(EDGE_NAME, 1)}, {NULL, EDGES_8(EDGE_NAME, 2)}, {NULL, EDGES_8(EDGE_NAME, 3)}, {NULL, EDGES_6(EDGE_NAME, 4)}},
    16, 64, 64, 6, 8, 16, 1 << 22, 1 << 18, NAME(sixteen_rows),
#else
    {{NULL, EDGES_6(EDGE_NAME, 1)}, {NULL, EDGES_6(EDGE_NAME, 2)}, {NULL, EDGES_2(EDGE_NAME, 3)}, {NULL, EDGES_2(EDGE_NAME, 4)}},
#if N == 8
    8, 16, 32, 6, 6, 4, 1 << 20, 1 << 16, NULL,
#else
    4, 8, 16, 6, 6, 0, 0, 16, NULL,
#endif
#endif
#if N > 4
    {NULL, NAME(turned_1), NAME(turned_2), NAME(turned_3), NAME(turned_4)},
#else
    {NULL},
#endif
}};
/* clang-format on */
