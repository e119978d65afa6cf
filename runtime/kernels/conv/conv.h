/* Convolutions, and transposed ones, of one to three spatial axes.
 *
 * A sum over channels and taps is a product of a matrix of weights with rows that need not be written down: at stride 1
 * the numbers that one tap reads for neighbouring positions are neighbours. So positions are cut into vectors, and a tile of
 * channels x vectors adds up in registers, tap by tap, from an offset each. Where there are pads or strides, the planes of a
 * band of positions are copied with zeros around and one plane a phase of the strides, so that they are neighbours again.
 * A transposed convolution is one of stride 1 for each residue of an output position by the stride, with the taps that meet
 * it. Every element is summed over channels, then taps, in the order of the weights, one after the other.
 *
 * What lies where is computed in ops/convolution.py, and comes as a table of int64.
 */
#ifndef LOOPDBG_CONV_H
#define LOOPDBG_CONV_H

#include <stdint.h>
#include <string.h>
#include "../call.h"
#include "../dispatch/processor.h"
#include "../threads/team.h"
#if defined(LOOPDBG_X86)
#include <immintrin.h>
#endif

/* An axis: at which input each phase begins, and the residues of output positions. */
typedef struct {
    npy_intp phases;
    int64_t const *first;
    npy_intp residues;
    int64_t const *residue;
} axis;

/* Output positions start, start + step, ...; each tap is (index in the kernel, phase, place in the plane). */
typedef struct {
    npy_intp start, count, taps;
    int64_t const *tap;
} residue;

typedef struct {
    npy_intp n, groups, icg, ocg, in[3], out[3], kernel[3], in_step[3], out_step[3];
    npy_intp plane[3]; /* as packed, for one phase; the input's own where it is read directly */
    npy_intp cn, cd, ch; /* how much of the batch and of the two outer axes makes a band */
    npy_intp direct;
    npy_intp together; /* groups that are packed at a time */
    npy_intp workers, packed_apart; /* who have sums of their own in the scratch memory, and channels by themselves */
    npy_intp whole, channel; /* floats of an image's channel, and of one as packed (or as it lies) */
    npy_intp phase, image; /* from one phase to the next one, and from image to image */
    npy_intp packed, gathered, off, at, first, parts, partial; /* where in the scratch memory */
    npy_intp most[3]; /* the greatest count of a residue */
    int bias, blocks; /* is there one; are the weights in blocks already */
    int result; /* which argument is the output */
    axis axes[3];
} conv;

/* How many tiles of 2 x 2 outputs lie one below the other and side by side, how many lines of them are done at a time, and
 * the pads that reach into the first. */
typedef struct {
    npy_intp high, wide, lines, above, left;
} winograd;

/* From one of 16 matrices of so many floats to the next one: not a multiple of 4 KB, or all would want one set of a cache. */
#define WINOGRAD_APART(size) ((size) + 16)

/* What of a vector belongs where in the output, and where it lies in the planes. */
typedef struct {
    npy_intp out, in;
    int32_t lane, count;
} part;

/* Where vectors begin in the planes, and which are the parts of each. */
typedef struct {
    npy_intp *at;
    int32_t *first;
    part *parts;
    npy_intp end; /* behind the last one where each part begins where the one before ends, else -1 */
    int dense; /* are vectors put together of their parts */
    int joined; /* are a vector's parts one behind the other in the output, and full */
} vectors;

enum { CONV_HEAD = 39, CONV_PART = 192, CONV_GROUP = 12, CONV_MANY = 32, CONV_WIDEST = 16 };

static void conv_read(conv *c, loopdbg_call *call) {
    int64_t const *t = (int64_t const *)LOOPDBG_ARG(call, call->extra[0] ? 3 : 2);
    c->bias = (int)call->extra[0], c->blocks = (int)call->extra[1];
    c->result = 3 + c->bias;
    c->n = t[0], c->groups = t[1], c->icg = t[2], c->ocg = t[3];
    for (int a = 0; a < 3; a++) {
        c->in[a] = t[4 + a], c->out[a] = t[7 + a], c->kernel[a] = t[10 + a];
        c->in_step[a] = t[13 + a], c->out_step[a] = t[16 + a], c->plane[a] = t[19 + a], c->most[a] = t[22 + a];
    }
    c->cn = t[25], c->cd = t[26], c->ch = t[27], c->direct = t[28];
    c->packed = t[29], c->gathered = t[30], c->off = t[31], c->at = t[32], c->first = t[33], c->parts = t[34],
    c->partial = t[35];
    c->together = t[36], c->workers = t[37], c->packed_apart = t[38];
    t += CONV_HEAD;
    for (int a = 0; a < 3; a++) {
        c->axes[a].phases = *t++, c->axes[a].first = t, t += c->axes[a].phases;
        c->axes[a].residues = *t++, c->axes[a].residue = t;
        for (npy_intp k = 0; k < c->axes[a].residues; k++) t += 3 + 3 * t[2];
    }
    npy_intp const one = c->plane[0] * c->plane[1] * c->plane[2];
    c->whole = c->in[0] * c->in[1] * c->in[2];
    c->image = c->direct ? c->groups * c->icg * c->whole : one;
    /* Behind each is room for what the last vector of a row goes beyond it. */
    c->phase = c->cn * one + CONV_WIDEST;
    c->channel = c->direct ? c->whole : c->phase * c->axes[0].phases * c->axes[1].phases * c->axes[2].phases;
}

/* Whether threads share so much: there is scratch memory for as many as there were when the node was bound. */
static int conv_shares(conv const *c, double work) { return loopdbg_is_shared(work) && loopdbg_team->workers <= c->workers; }

static void conv_residues(conv const *c, int job, residue *r) {
    for (int a = 2; a >= 0; a--) {
        int64_t const *t = c->axes[a].residue;
        for (int skip = job % (int)c->axes[a].residues; skip > 0; skip--) t += 3 + 3 * t[2];
        job /= (int)c->axes[a].residues;
        r[a] = (residue){t[0], t[1], t[2], t + 3};
    }
}

/* What each channel and tap adds to a position's place. */
static void conv_offsets(conv const *c, residue const *r, npy_intp *off) {
    for (npy_intp i = 0; i < c->icg; i++)
        for (npy_intp a = 0; a < r[0].taps; a++)
            for (npy_intp b = 0; b < r[1].taps; b++)
                for (npy_intp e = 0; e < r[2].taps; e++) {
                    int64_t const *d = r[0].tap + 3 * a, *h = r[1].tap + 3 * b, *w = r[2].tap + 3 * e;
                    npy_intp which = (d[1] * c->axes[1].phases + h[1]) * c->axes[2].phases + w[1];
                    *off++ = i * c->channel + which * c->phase + (d[2] * c->plane[1] + h[2]) * c->plane[2] + w[2];
                }
}

/* Of one vector. */
static npy_intp conv_positions(vectors const *v, npy_intp vector) {
    npy_intp n = 0;
    for (int32_t p = v->first[vector]; p < v->first[vector + 1]; p++) n += v->parts[p].count;
    return n;
}

typedef float conv_f4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float conv_f8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float conv_f16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef double conv_d2 __attribute__((vector_size(16), aligned(8), may_alias));
typedef double conv_d4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double conv_d8 __attribute__((vector_size(64), aligned(8), may_alias));

typedef int32_t conv_i4 __attribute__((vector_size(16)));
typedef int32_t conv_i8 __attribute__((vector_size(32)));
typedef int32_t conv_i16 __attribute__((vector_size(64)));
typedef int64_t conv_l2 __attribute__((vector_size(16)));
typedef int64_t conv_l4 __attribute__((vector_size(32)));
typedef int64_t conv_l8 __attribute__((vector_size(64)));

/* Up to 32 bytes of a vector of ``most``, without a call. */
static inline __attribute__((always_inline)) void conv_few(char *to, char const *from, size_t bytes, size_t most) {
    size_t at = 0;
    if (most >= 32 && bytes & 32) memcpy(to, from, 32), at = 32;
    if (bytes & 16) memcpy(to + at, from + at, 16), at += 16;
    if (bytes & 8) memcpy(to + at, from + at, 8), at += 8;
    if (bytes & 4) memcpy(to + at, from + at, 4);
}

/* Taps [ocg, icg, 3, 3] as winograd.h wants them: [ocg / 8, 4 x 4, icg, 8]. */
static void conv_winograd_taps(float const *w, npy_intp ocg, npy_intp icg, float *to) {
    conv_f8 const half = {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f};
    for (npy_intp m = 0; m < ocg; m += 8, w += 8 * icg * 9, to += 16 * icg * 8)
        for (npy_intp i = 0; i < icg; i++) {
            conv_f8 x[3][3], t[4][3];
            for (int r = 0; r < 8; r++)
                for (int k = 0; k < 9; k++) x[k / 3][k % 3][r] = w[(r * icg + i) * 9 + k];
            for (int j = 0; j < 3; j++) {
                conv_f8 sum = x[0][j] + x[2][j];
                t[0][j] = x[0][j], t[1][j] = (sum + x[1][j]) * half, t[2][j] = (sum - x[1][j]) * half, t[3][j] = x[2][j];
            }
            for (int r = 0; r < 4; r++) {
                float *next = to + (4 * r * icg + i) * 8;
                conv_f8 sum = t[r][0] + t[r][2];
                *(conv_f8 *)next = t[r][0], *(conv_f8 *)(next + icg * 8) = (sum + t[r][1]) * half;
                *(conv_f8 *)(next + 2 * icg * 8) = (sum - t[r][1]) * half, *(conv_f8 *)(next + 3 * icg * 8) = t[r][2];
            }
        }
}

/* A lane, or the one nearest to it, or the end. */
static inline npy_intp conv_among(npy_intp lane, npy_intp lanes) { return lane < 0 ? 0 : lane < lanes ? lane : lanes; }

#define LOAD_ELEMENTS(from, low, high)                                                                                 \
    __extension__({                                                                                                    \
        T element[L] = {0};                                                                                            \
        for (npy_intp j = conv_among(low, L); j < conv_among(high, L); j++) element[j] = (from)[j];                                              \
        *(V const *)element;                                                                                           \
    })
#define FEW_ELEMENTS(to, first, count, from) conv_few((char *)(to), (char const *)((from) + (first)), (size_t)(count) * sizeof(T), sizeof(V))

#define T float
#define V conv_f4
#define L 4
#define FMA(a, b, c) ((a) * (b) + (c))
#define SPLAT(x) ((conv_f4){x, x, x, x})
#define STORE FEW_ELEMENTS
#define LOAD LOAD_ELEMENTS
#define ATTRIBUTES
#define NAME(x) conv_##x##_f32
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
#define ATTRIBUTES
#define NAME(x) conv_##x##_f64
#define H conv_d2
#define HL 2
#define H_FMA FMA
#define H_SPLAT SPLAT
#define EVENS(a, b) ((V)SHUFFLE(conv_l2, a, b, 0, 2))
#define ODDS(a, b) ((V)SHUFFLE(conv_l2, a, b, 1, 3))
#define ROWS 4
#include "conv_tiles.h"

#if defined(LOOPDBG_X86)
/* c + a * b in the register of c: left to themselves, compilers move sums between registers in each tap. */
#define CONV_ADD(name, type, a, b, c)                                                                                  \
    __extension__({                                                                                                    \
        type conv_sum = (type)(c);                                                                                     \
        __asm__(name " %2, %1, %0" : "+v"(conv_sum) : "v"((type)(a)), "v"((type)(b)));                                 \
        (V) conv_sum;                                                                                                  \
    })

/* Lanes low to high - 1, as far as there are such: those for which lane - low is below high - low, without signs. */
__attribute__((target("avx2"))) static inline __m256i conv_lanes8(npy_intp low, npy_intp high) {
    int32_t const least = INT32_MIN; /* what is compared has signs */
    __m256i at = _mm256_add_epi32(_mm256_set1_epi32((int32_t)-low ^ least), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)(high - low) ^ least), at);
}
__attribute__((target("avx2"))) static inline __m256i conv_lanes4(npy_intp low, npy_intp high) {
    return _mm256_cvtepi32_epi64(_mm256_castsi256_si128(conv_lanes8(low, high)));
}
__attribute__((target("avx512f"))) static inline __mmask16 conv_lanes16(npy_intp low, npy_intp high) {
    __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i at = _mm512_add_epi32(_mm512_set1_epi32((int32_t)-low), lanes);
    return _mm512_cmplt_epu32_mask(at, _mm512_set1_epi32((int32_t)(high - low)));
}

/* Some lanes into every other element. */
__attribute__((target("avx512f"))) static inline void conv_apart16(float *to, int first, int count, __m512 from) {
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
#define V conv_f8
#define L 8
#define FMA(a, b, c) ((conv_f8)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define SPLAT(x) ((conv_f8)_mm256_set1_ps(x))
#define STORE FEW_ELEMENTS
#define MASK __m256i
#define LANES conv_lanes8
#define MASKED(from, mask) ((conv_f8)_mm256_maskload_ps(from, mask))
#define ATTRIBUTES __attribute__((target("avx2,fma")))
#define NAME(x) conv_##x##_f32_avx2
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
#define LANES conv_lanes4
#define MASKED(from, mask) ((conv_d4)_mm256_maskload_pd(from, mask))
#define ATTRIBUTES __attribute__((target("avx2,fma")))
#define NAME(x) conv_##x##_f64_avx2
#define H conv_d4
#define HL 4
#define H_FMA FMA
#define H_SPLAT SPLAT
#define EVENS(a, b) ((V)SHUFFLE(conv_l4, a, b, 0, 2, 4, 6))
#define ODDS(a, b) ((V)SHUFFLE(conv_l4, a, b, 1, 3, 5, 7))
#define ROWS 4
#include "conv_tiles.h"

#define T float
#define V conv_f16
#define L 16
#define FMA(a, b, c) CONV_ADD("vfmadd231ps", __m512, a, b, c)
#define SPLAT(x) ((conv_f16)_mm512_set1_ps(x))
#define STORE(to, first, count, from)                                                                                   \
    _mm512_mask_storeu_ps((to) - (first), (__mmask16)(((1u << (count)) - 1) << (first)), _mm512_loadu_ps(from))
#define STORE_APART(to, first, count, from) conv_apart16(to, first, count, _mm512_loadu_ps(from))
#define MASK __mmask16
#define LANES conv_lanes16
#define MASKED(from, mask) ((conv_f16)_mm512_maskz_loadu_ps(mask, from))
#define ATTRIBUTES __attribute__((target("avx512f,avx2,fma")))
#define NAME(x) conv_##x##_f32_avx512
#define NARROWER conv_depthwise_f32_avx2
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
#define LANES(low, high) ((__mmask8)conv_lanes16(low, high))
#define MASKED(from, mask) ((conv_d8)_mm512_maskz_loadu_pd(mask, from))
#define ATTRIBUTES __attribute__((target("avx512f,avx2,fma")))
#define NAME(x) conv_##x##_f64_avx512
#define NARROWER conv_depthwise_f64_avx2
#define H conv_d8
#define HL 8
#define H_FMA FMA
#define H_SPLAT SPLAT
#define EVENS(a, b) ((V)SHUFFLE(conv_l8, a, b, 0, 2, 4, 6, 8, 10, 12, 14))
#define ODDS(a, b) ((V)SHUFFLE(conv_l8, a, b, 1, 3, 5, 7, 9, 11, 13, 15))
#define ROWS 8
#include "conv_tiles.h"
#endif

/* For tests: 0: as this processor does it best; 1: any processor, 2: AVX2, 3: AVX-512. */
static int conv_kind = 0;

#if defined(LOOPDBG_X86)
#define RUN(name, type)                                                                                                \
    return conv_kind == 3 ? conv_##name##_##type##_avx512(call, &c)                                                    \
           : conv_kind == 2 ? conv_##name##_##type##_avx2(call, &c)                                                    \
                            : conv_##name##_##type(call, &c)
#else
#define RUN(name, type) return conv_##name##_##type(call, &c)
#endif
/* Whether products with the zeros of margins would be seen: those of infinite weights are NaN. ``bits``: of an exponent. */
#define SEEN(type, bits)                                                                                               \
    __extension__({                                                                                                    \
        type const *weight = (type const *)LOOPDBG_ARG(call, 1), all = bits;                                           \
        type seen = 0;                                                                                                 \
        npy_intp const size = c.groups * c.icg * c.ocg * c.kernel[0] * c.kernel[1] * c.kernel[2];                      \
        for (npy_intp i = 0; i < size; i++) seen |= (type)-((weight[i] & all) == all);                                 \
        seen;                                                                                                          \
    })

/* Inputs: x, weights (in blocks if extra[1]), bias (if extra[0]), table. Output: y. Scratch. extra[2]: a transposed one. In
 * one that is not, pads are zeros, to be multiplied as others are (ONNX's Conv pads its input). */
static int loopdbg_conv_f32(loopdbg_call *call) {
    conv c;
    conv_read(&c, call);
    if (call->extra[2] && !c.direct && SEEN(uint32_t, 0x7F800000)) RUN(run_within, f32);
    RUN(run, f32);
}

static int loopdbg_conv_f64(loopdbg_call *call) {
    conv c;
    conv_read(&c, call);
    if (call->extra[2] && !c.direct && SEEN(uint64_t, 0x7FF0000000000000)) RUN(run_within, f64);
    RUN(run, f64);
}
#undef SEEN

/* As above, and behind the table the transformed weights if extra[2]. The weights themselves are not in blocks: with them
 * everything is computed where something is not finite. extra[3...]: how. */
static int loopdbg_conv_winograd(loopdbg_call *call) {
    conv c;
    npy_intp const *e = call->extra;
    winograd how = {e[3], e[4], e[5], e[6], e[7]};
    conv_read(&c, call);
    float const *x = (float const *)LOOPDBG_ARG(call, 0), *w = (float const *)LOOPDBG_ARG(call, 1);
    float const *bias = c.bias ? (float const *)LOOPDBG_ARG(call, 2) : NULL;
    float const *ready = e[2] ? (float const *)LOOPDBG_ARG(call, c.result) : NULL;
    if (ready) c.result++;
    float *out = (float *)LOOPDBG_ARG(call, c.result);
    char *scratch = LOOPDBG_ARG(call, c.result + 1);
#if defined(LOOPDBG_X86)
    if (conv_kind == 3   ? conv_winograd_f32_avx512(&c, &how, x, w, ready, bias, out, scratch)
        : conv_kind == 2 ? conv_winograd_f32_avx2(&c, &how, x, w, ready, bias, out, scratch)
                         : conv_winograd_f32(&c, &how, x, w, ready, bias, out, scratch))
        return 0;
#else
    if (conv_winograd_f32(&c, &how, x, w, ready, bias, out, scratch)) return 0;
#endif
    RUN(run, f32);
}
#undef RUN

static int loopdbg_conv_choose(int kind) {
    int lanes = loopdbg_find_lanes(kind);
    if (lanes) conv_kind = lanes;
    return lanes > 0;
}

#endif
