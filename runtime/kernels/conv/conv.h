/* Convolutions, and transposed ones, of one to three spatial axes.
 *
 * A sum over channels and taps is a product of a matrix of weights with rows that need not be stored: at stride 1 the
 * numbers that one tap reads for adjacent positions are adjacent. So positions are cut into vectors, and a tile of
 * channels x vectors accumulates in registers, tap by tap, from one offset each. With pads or strides, the planes of a
 * band of positions are copied with zeros around them, one plane per phase of the strides, which makes the numbers
 * adjacent again. A transposed convolution is one of stride 1 for each residue of an output position by the stride,
 * with the taps that apply to it. Every element is summed over channels, then taps, in the order of the weights.
 *
 * ops/convolution.py computes the layout, and passes it as a table of int64.
 */
#ifndef LOOPDBG_CONV_H
#define LOOPDBG_CONV_H

#include <stdint.h>
#include <string.h>
#include "../call.h"
#include "../dispatch/processor.h"
#include "../threads/parallel_for.h"

/* An axis: the first input of each phase, and the residues of output positions. */
typedef struct {
    npy_intp phases;
    int64_t const *first;
    npy_intp residues;
    int64_t const *residue;
} axis;

/* Output positions start, start + step, ...; each tap is (index in the kernel, phase, offset in the plane). */
typedef struct {
    npy_intp start, count, taps;
    int64_t const *tap;
} residue;

typedef struct {
    npy_intp n, groups, icg, ocg, in[3], out[3], kernel[3], in_step[3], out_step[3];
    npy_intp plane[3]; /* size of a packed plane of one phase, or of the input if it is read directly */
    npy_intp cn, cd, ch; /* size of a band: images, and positions along the two outer axes */
    npy_intp direct;
    npy_intp together; /* groups that are packed at a time */
    npy_intp workers, packed_apart; /* number of workers with scratch memory; distance of their packed channels */
    npy_intp whole, channel; /* floats of an image's channel, and of a packed channel (or the same) */
    npy_intp phase, image; /* distance of phases, and of images */
    npy_intp packed, gathered, off, at, first, parts, partial; /* offsets in the scratch memory */
    npy_intp most[3]; /* largest count of a residue */
    int bias, blocks; /* there is a bias; the weights are stored in blocks */
    int result; /* index of the output argument */
    axis axes[3];
} conv;

/* Numbers of tiles of 2 x 2 outputs vertically and horizontally, number of their lines per pass, and pads above and to
 * the left of the first. */
typedef struct {
    npy_intp down, across, lines, above, left;
} winograd;

/* Distance of the 16 matrices of `size` floats: not a multiple of 4 KB, which would map all to one cache set. */
#define WINOGRAD_APART(size) ((size) + 16)

/* Part of a vector: offsets in the output and in the planes, first lane and number of lanes. */
typedef struct {
    npy_intp out, in;
    int32_t lane, count;
} part;

/* Offsets of vectors in the planes, and the parts of each. */
typedef struct {
    npy_intp *at;
    int32_t *first;
    part *parts;
    npy_intp end; /* end of the last part if all parts are contiguous in the output, else -1 */
    int dense; /* vectors are assembled from their parts */
    int joined; /* a vector's parts are contiguous in the output, and full */
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
    npy_intp const plane = c->plane[0] * c->plane[1] * c->plane[2];
    c->whole = c->in[0] * c->in[1] * c->in[2];
    c->image = c->direct ? c->groups * c->icg * c->whole : plane;
    /* Padding for the overrun of the last vector of a row. */
    c->phase = c->cn * plane + CONV_WIDEST;
    c->channel = c->direct ? c->whole : c->phase * c->axes[0].phases * c->axes[1].phases * c->axes[2].phases;
}

/* Should threads share the work? Scratch memory suffices for the number of threads at binding. */
static int conv_shares(conv const *c, double work) {
    return loopdbg_is_worth_sharing(work) && loopdbg_thread_pool->workers <= c->workers;
}

static void conv_residues(conv const *c, int job, residue *r) {
    for (int a = 2; a >= 0; a--) {
        int64_t const *t = c->axes[a].residue;
        for (int skip = job % (int)c->axes[a].residues; skip > 0; skip--) t += 3 + 3 * t[2];
        job /= (int)c->axes[a].residues;
        r[a] = (residue){t[0], t[1], t[2], t + 3};
    }
}

/* Offset of each channel and tap relative to a position. */
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

/* Number of positions of a vector. */
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

/* Copy up to 32 bytes of a vector of `most` bytes, without a call. */
INLINE void conv_few(char *to, char const *from, size_t bytes, size_t most) {
    size_t offset = 0;
    if (most >= 32 && bytes & 32) memcpy(to, from, 32), offset = 32;
    if (bytes & 16) memcpy(to + offset, from + offset, 16), offset += 16;
    if (bytes & 8) memcpy(to + offset, from + offset, 8), offset += 8;
    if (bytes & 4) memcpy(to + offset, from + offset, 4);
}

/* Transform taps [ocg, icg, 3, 3] for winograd.h: [ocg / 8, 4 x 4, icg, 8]. */
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

/* Clamp a lane to 0 .. lanes. */
static inline npy_intp conv_among(npy_intp lane, npy_intp lanes) { return lane < 0 ? 0 : lane < lanes ? lane : lanes; }

#define BODY "../conv/conv_lanes.h"
#include "../dispatch/foreach_target.h"

/* Are there infinite weights, whose products with zeros of margins are NaN? `bits`: of an exponent. */
#define SEEN(type, bits)                                                                                               \
    __extension__({                                                                                                    \
        type const *weight = (type const *)LOOPDBG_ARG(call, 1), all = bits;                                           \
        type seen = 0;                                                                                                 \
        npy_intp const size = c.groups * c.icg * c.ocg * c.kernel[0] * c.kernel[1] * c.kernel[2];                      \
        for (npy_intp i = 0; i < size; i++) seen |= (type)-((weight[i] & all) == all);                                 \
        seen;                                                                                                          \
    })

/* Inputs: x, weights (in blocks if extra[1]), bias (if extra[0]), table. Output: y. Scratch. extra[2]: transposed.
 * Otherwise pads are zeros that are multiplied as other inputs (ONNX's Conv pads its input). */
static int loopdbg_conv_f32(loopdbg_call *call) {
    conv c;
    conv_read(&c, call);
    if (call->extra[2] && !c.direct && SEEN(uint32_t, 0x7F800000)) return DISPATCH(conv_run_within_f32)(call, &c);
    return DISPATCH(conv_run_f32)(call, &c);
}

static int loopdbg_conv_f64(loopdbg_call *call) {
    conv c;
    conv_read(&c, call);
    if (call->extra[2] && !c.direct && SEEN(uint64_t, 0x7FF0000000000000)) return DISPATCH(conv_run_within_f64)(call, &c);
    return DISPATCH(conv_run_f64)(call, &c);
}
#undef SEEN

/* As above, with the transformed weights behind the table if extra[2]. The weights themselves are not in blocks: they
 * are used for everything if something is not finite. extra[3...]: the winograd fields. */
static int loopdbg_conv_winograd(loopdbg_call *call) {
    conv c;
    npy_intp const *e = call->extra;
    winograd grid = {e[3], e[4], e[5], e[6], e[7]};
    conv_read(&c, call);
    float const *x = (float const *)LOOPDBG_ARG(call, 0), *w = (float const *)LOOPDBG_ARG(call, 1);
    float const *bias = c.bias ? (float const *)LOOPDBG_ARG(call, 2) : NULL;
    float const *ready = e[2] ? (float const *)LOOPDBG_ARG(call, c.result) : NULL;
    if (ready) c.result++;
    float *out = (float *)LOOPDBG_ARG(call, c.result);
    char *scratch = LOOPDBG_ARG(call, c.result + 1);
    if (DISPATCH(conv_winograd_f32)(&c, &grid, x, w, ready, bias, out, scratch)) return 0;
    return DISPATCH(conv_run_f32)(call, &c);
}

#endif
