/* Convolutions of floats and doubles, for one vector width (conv.h): parameters of conv_tiles.h. */

#define LOAD_ELEMENTS(from, low, high)                                                                                 \
    __extension__({                                                                                                    \
        T element[L] = {0};                                                                                            \
        for (npy_intp j = conv_among(low, L); j < conv_among(high, L); j++) element[j] = (from)[j];                                              \
        *(V const *)element;                                                                                           \
    })
#define FEW_ELEMENTS(to, first, count, from) conv_few((char *)(to), (char const *)((from) + (first)), (size_t)(count) * sizeof(T), sizeof(V))

#if WIDTH == 4
#define T float
#define V conv_f4
#define L 4
#define FMA(a, b, c) ((a) * (b) + (c))
#define SPLAT(x) ((conv_f4){x, x, x, x})
#define STORE FEW_ELEMENTS
#define LOAD LOAD_ELEMENTS
#define OWN(x) NAME(conv_##x##_f32)
#define H conv_f4
#define HL 4
#define H_FMA FMA
#define H_SPLAT SPLAT
#define EVENS(a, b) ((V)SHUFFLE(conv_i4, a, b, 0, 2, 4, 6))
#define ODDS(a, b) ((V)SHUFFLE(conv_i4, a, b, 1, 3, 5, 7))
#define LOWER(a, b) ((V)SHUFFLE(conv_i4, a, b, 0, 4, 1, 5))
#define UPPER(a, b) ((V)SHUFFLE(conv_i4, a, b, 2, 6, 3, 7))
#define ROWS 4
#include "conv_tiles.h"

#define T double
#define V conv_d2
#define L 2
#define FMA(a, b, c) ((a) * (b) + (c))
#define SPLAT(x) ((conv_d2){x, x})
#define STORE FEW_ELEMENTS
#define LOAD LOAD_ELEMENTS
#define OWN(x) NAME(conv_##x##_f64)
#define H conv_d2
#define HL 2
#define H_FMA FMA
#define H_SPLAT SPLAT
#define EVENS(a, b) ((V)SHUFFLE(conv_l2, a, b, 0, 2))
#define ODDS(a, b) ((V)SHUFFLE(conv_l2, a, b, 1, 3))
#define ROWS 4
#include "conv_tiles.h"

#elif WIDTH == 8
/* Mask of lanes low to high - 1, clipped: those for which lane - low is below high - low, unsigned. */
static inline __m256i NAME(conv_lanes)(npy_intp low, npy_intp high) {
    int32_t const least = INT32_MIN; /* for an unsigned comparison by signed ones */
    __m256i at = _mm256_add_epi32(_mm256_set1_epi32((int32_t)-low ^ least), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)(high - low) ^ least), at);
}
static inline __m256i NAME(conv_lanes_of_doubles)(npy_intp low, npy_intp high) {
    return _mm256_cvtepi32_epi64(_mm256_castsi256_si128(NAME(conv_lanes)(low, high)));
}

#define T float
#define V conv_f8
#define L 8
#define FMA(a, b, c) ((conv_f8)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define SPLAT(x) ((conv_f8)_mm256_set1_ps(x))
#define STORE FEW_ELEMENTS
#define MASK __m256i
#define LANES NAME(conv_lanes)
#define MASKED(from, mask) ((conv_f8)_mm256_maskload_ps(from, mask))
#define OWN(x) NAME(conv_##x##_f32)
#define H conv_f8
#define HL 8
#define H_FMA FMA
#define H_SPLAT SPLAT
#define EVENS(a, b) ((V)SHUFFLE(conv_i8, a, b, 0, 2, 4, 6, 8, 10, 12, 14))
#define ODDS(a, b) ((V)SHUFFLE(conv_i8, a, b, 1, 3, 5, 7, 9, 11, 13, 15))
#define LOWER(a, b) ((V)SHUFFLE(conv_i8, a, b, 0, 8, 1, 9, 2, 10, 3, 11))
#define UPPER(a, b) ((V)SHUFFLE(conv_i8, a, b, 4, 12, 5, 13, 6, 14, 7, 15))
#define ROWS 4
#include "conv_tiles.h"

#define T double
#define V conv_d4
#define L 4
#define FMA(a, b, c) ((conv_d4)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define SPLAT(x) ((conv_d4)_mm256_set1_pd(x))
#define STORE FEW_ELEMENTS
#define MASK __m256i
#define LANES NAME(conv_lanes_of_doubles)
#define MASKED(from, mask) ((conv_d4)_mm256_maskload_pd(from, mask))
#define OWN(x) NAME(conv_##x##_f64)
#define H conv_d4
#define HL 4
#define H_FMA FMA
#define H_SPLAT SPLAT
#define EVENS(a, b) ((V)SHUFFLE(conv_l4, a, b, 0, 2, 4, 6))
#define ODDS(a, b) ((V)SHUFFLE(conv_l4, a, b, 1, 3, 5, 7))
#define ROWS 4
#include "conv_tiles.h"

#else
/* c + a * b in the register of c: otherwise compilers move sums between registers in each tap. */
#define CONV_ADD(name, type, a, b, c)                                                                                  \
    __extension__({                                                                                                    \
        type conv_sum = (type)(c);                                                                                     \
        __asm__(name " %2, %1, %0" : "+v"(conv_sum) : "v"((type)(a)), "v"((type)(b)));                                 \
        (V) conv_sum;                                                                                                  \
    })

/* Mask of lanes low to high - 1, clipped: those for which lane - low is below high - low, unsigned. */
static inline __mmask16 NAME(conv_lanes)(npy_intp low, npy_intp high) {
    __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i at = _mm512_add_epi32(_mm512_set1_epi32((int32_t)-low), lanes);
    return _mm512_cmplt_epu32_mask(at, _mm512_set1_epi32((int32_t)(high - low)));
}

/* Store some lanes to every other element. */
static inline void NAME(conv_apart)(float *to, int first, int count, __m512 from) {
    uint32_t const lanes = ((1u << count) - 1) << first;
    __m512i const twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    __m512i const upper = _mm512_add_epi32(twice, _mm512_set1_epi32(8)), bits = _mm512_set1_epi32((int32_t)lanes);
    __m512i const one = _mm512_set1_epi32(1);
    to -= 2 * first;
    _mm512_mask_storeu_ps(to, 0x5555 & _mm512_test_epi32_mask(bits, _mm512_sllv_epi32(one, twice)),
                          _mm512_permutexvar_ps(twice, from));
    _mm512_mask_storeu_ps(to + 16, 0x5555 & _mm512_test_epi32_mask(bits, _mm512_sllv_epi32(one, upper)),
                          _mm512_permutexvar_ps(upper, from));
}

#define T float
#define V conv_f16
#define L 16
#define FMA(a, b, c) CONV_ADD("vfmadd231ps", __m512, a, b, c)
#define SPLAT(x) ((conv_f16)_mm512_set1_ps(x))
#define STORE(to, first, count, from)                                                                                   \
    _mm512_mask_storeu_ps((to) - (first), (__mmask16)(((1u << (count)) - 1) << (first)), _mm512_loadu_ps(from))
#define STORE_APART(to, first, count, from) NAME(conv_apart)(to, first, count, _mm512_loadu_ps(from))
#define MASK __mmask16
#define LANES NAME(conv_lanes)
#define MASKED(from, mask) ((conv_f16)_mm512_maskz_loadu_ps(mask, from))
#define OWN(x) NAME(conv_##x##_f32)
#define NARROWER loopdbg_conv_depthwise_f32_avx2
#define H conv_f8
#define HL 8
#define H_FMA(a, b, c) ((conv_f8)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define H_SPLAT(x) ((conv_f8)_mm256_set1_ps(x))
#define EVENS(a, b) ((V)SHUFFLE(conv_i16, a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30))
#define ODDS(a, b) ((V)SHUFFLE(conv_i16, a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31))
#define LOWER(a, b) ((V)SHUFFLE(conv_i16, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23))
#define UPPER(a, b) ((V)SHUFFLE(conv_i16, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
#define ROWS 8
#include "conv_tiles.h"

#define T double
#define V conv_d8
#define L 8
#define FMA(a, b, c) CONV_ADD("vfmadd231pd", __m512d, a, b, c)
#define SPLAT(x) ((conv_d8)_mm512_set1_pd(x))
#define STORE(to, first, count, from)                                                                                   \
    _mm512_mask_storeu_pd((to) - (first), (__mmask8)(((1u << (count)) - 1) << (first)), _mm512_loadu_pd(from))
#define MASK __mmask8
#define LANES(low, high) ((__mmask8)NAME(conv_lanes)(low, high))
#define MASKED(from, mask) ((conv_d8)_mm512_maskz_loadu_pd(mask, from))
#define OWN(x) NAME(conv_##x##_f64)
#define NARROWER loopdbg_conv_depthwise_f64_avx2
#define H conv_d8
#define HL 8
#define H_FMA FMA
#define H_SPLAT SPLAT
#define EVENS(a, b) ((V)SHUFFLE(conv_l8, a, b, 0, 2, 4, 6, 8, 10, 12, 14))
#define ODDS(a, b) ((V)SHUFFLE(conv_l8, a, b, 1, 3, 5, 7, 9, 11, 13, 15))
#define ROWS 8
#include "conv_tiles.h"
#endif
