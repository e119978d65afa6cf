/* Products of bytes, for one vector width (int8_product.h). DOT adds the products of four rows of a quad, for each
 * column; tiles of 6, 4, 2 and 1 rows differ in their number of vectors. */
#include "../dispatch/vectors.h"

#undef DOT
#undef INT8_TILES
#if N == 16
#define DOT(SUM, X, B) (VI) _mm512_dpbusd_epi32((__m512i)(SUM), (__m512i)(X), (__m512i)(B))
#define INT8_TILES(DO) DO(4, 6) DO(4, 4) DO(4, 2) DO(4, 1)
#elif defined(AVXVNNI)
#define DOT(SUM, X, B) (VI) _mm256_dpbusd_avx_epi32((__m256i)(SUM), (__m256i)(X), (__m256i)(B))
#define INT8_TILES(DO) DO(2, 6) DO(2, 4) DO(4, 2) DO(8, 1)
#elif N == 8
/* Of each quad first its even and then its odd rows, as 16 bits. */
#define DOT(SUM, X, B)                                                                                        \
    (VI) _mm256_add_epi32(                                                                                    \
        _mm256_add_epi32((__m256i)(SUM), _mm256_madd_epi16(_mm256_and_si256((__m256i)(X), _mm256_set1_epi16(255)), \
                                                           _mm256_srai_epi16(_mm256_slli_epi16((__m256i)(B), 8), 8))), \
        _mm256_madd_epi16(_mm256_srli_epi16((__m256i)(X), 8), _mm256_srai_epi16((__m256i)(B), 8)))
#define INT8_TILES(DO) DO(1, 6) DO(2, 4) DO(4, 2) DO(4, 1)
#else
/* Any processor: one of the four products after the other. Unsigned, since they wrap around. */
#define INT8_PART(X, B, SHIFT) (VU)(((X) >> SHIFT & 0xff) * ((B) << (24 - SHIFT) >> 24))
#define DOT(SUM, X, B)                                                                                        \
    (VI)((VU)(SUM) + INT8_PART(X, B, 0) + INT8_PART(X, B, 8) + INT8_PART(X, B, 16) + INT8_PART(X, B, 24))
#define INT8_TILES(DO) DO(1, 6) DO(1, 4) DO(2, 2) DO(4, 1)
#endif

/* sums[r * 64 + c] of R rows with one panel; W vectors of N columns at a time, whose sums stay in registers. */
#define INT8_TILE(W, R)                                                                                       \
    static void NAME(int8_##R)(char const *panel, uint8_t const *a, npy_intp stride, npy_intp quads, int32_t *sums) { \
        for (int first = 0; first < LOOPDBG_INT8_PANEL_COLUMNS; first += N * W) {                                     \
            char const *b = panel + 4 * first;                                                                \
            VI sum[R][W];                                                                                     \
            for (int r = 0; r < R; r++)                                                                       \
                for (int q = 0; q < W; q++) sum[r][q] = (VI){0};                                              \
            for (npy_intp j = 0; j < quads; j++, b += LOOPDBG_INT8_QUAD)                                      \
                for (int r = 0; r < R; r++) {                                                                 \
                    int32_t four;                                                                             \
                    memcpy(&four, a + r * stride + 4 * j, 4);                                                 \
                    VI x = (VI){0} + four;                                                                    \
                    for (int q = 0; q < W; q++) sum[r][q] = DOT(sum[r][q], x, *(VI const *)(b + 4 * N * q));  \
                }                                                                                             \
            for (int r = 0; r < R; r++)                                                                       \
                for (int q = 0; q < W; q++)                                                                   \
                    *(VI *)(sums + r * LOOPDBG_INT8_PANEL_COLUMNS + first + q * N) = sum[r][q];                       \
        }                                                                                                     \
    }
INT8_TILES(INT8_TILE)
static loopdbg_int8_tiling const NAME(int8_way) = {
    {6, 4, 2, 1}, {NAME(int8_6), NAME(int8_4), NAME(int8_2), NAME(int8_1)}, N == 16};

static void NAME(int8_some)(void const *job, npy_intp piece, int worker) {
    (void)worker;
    loopdbg_int8_task(&NAME(int8_way), (loopdbg_int8_job const *)job, piece);
}
static void NAME(int8_product)(loopdbg_int8_params const *by, char const *a, char const *b, char const *a_zeros,
                               char const *b_zeros, char *out, char *scratch) {
    loopdbg_int8_run(NAME(int8_some), by, a, b, a_zeros, b_zeros, out, scratch);
}
static void NAME(int8_pack)(char const *b, char *packed, npy_intp k, npy_intp n, int is_signed) {
    loopdbg_int8_pack_weights(b, packed, k, n, is_signed);
}
static void NAME(int8_conv_some)(void const *job, npy_intp piece, int worker) {
    loopdbg_int8_conv_task(&NAME(int8_way), (loopdbg_int8_conv_job const *)job, piece, worker);
}
static void NAME(int8_conv)(loopdbg_int8_conv_geometry const *by, char const *x, char const *w, char const *x_zero,
                            char const *w_zeros, int32_t *out, char *scratch) {
    loopdbg_int8_convolve(NAME(int8_conv_some), by, x, w, x_zero, w_zeros, out, scratch);
}
static void NAME(int8_chain_some)(void const *job, npy_intp piece, int worker) {
    (void)worker;
    loopdbg_int8_fused_task(&NAME(int8_way), (loopdbg_int8_fused_job const *)job, piece);
}
static int NAME(int8_chain)(loopdbg_int8_fused_params const *by, char const *x, char const *packed, char const *a_zero,
                            char const *b_zeros, float const *scales, float const *addend, float *out, char *scratch) {
    return loopdbg_int8_fused_run(NAME(int8_chain_some), by, x, packed, a_zero, b_zeros, scales, addend, out, scratch);
}

/* The smaller of the smallest number and an initial value, and the greater of the largest. */
static void NAME(int8_ends)(int32_t const *a, npy_intp n, int32_t *low, int32_t *high) {
    int32_t least = *low, most = *high;
    for (npy_intp i = 0; i < n; i++) {
        least = a[i] < least ? a[i] : least;
        most = a[i] > most ? a[i] : most;
    }
    *low = least;
    *high = most;
}
static void NAME(int8_less)(int32_t const *a, npy_intp n, int32_t low, uint8_t *bytes) {
    for (npy_intp i = 0; i < n; i++) bytes[i] = (uint8_t)(a[i] - low);
}
