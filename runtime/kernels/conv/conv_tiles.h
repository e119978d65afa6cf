/* Convolution for one element type and one instruction set: included once for each, with
 * T (element), V (vector), L (elements in V), FMA(a, b, c), SPLAT(x), STORE(to, first, count, from), STORE_APART (the
 * same, to every other element, if it is fast), LOAD(from, low, high) (some lanes, zeros for the others) or
 * MASKED(from, mask) with a MASK of LANES(low, high), NARROWER (depthwise convolutions with vectors of half the width,
 * if any), OWN(x) (a unique name), ROWS (maximum channels of a tile: its sums and operands fit the registers); H, HL,
 * H_FMA, H_SPLAT for vectors of at most 8 elements; EVENS and ODDS(a, b), and LOWER and UPPER (interleave two vectors)
 * for winograd.h. */

#ifdef MASK
#define LOAD(from, low, high) MASKED(from, LANES(low, high))
#endif

typedef void (*OWN(tile))(T const *, npy_intp const *, npy_intp, T const *, npy_intp, npy_intp const *, T const *, T const *,
                          T *const *, npy_intp, int);

/* R channels at Q vectors of positions: out[q][r * stride + lane] = initial[r, q, lane] + bias[r] + sum over k of
 * w[k * ld + r] * x[pos[q] + off[k] + lane]. Every sum is in the order of k, whatever the tile. `fresh`: the first use
 * of these weights; the following ones are prefetched, which would cost a quarter at every use. */
/* Unrolled, so that sums stay in registers before and after the taps as well. */
#define EACH(i, N) _Pragma("GCC unroll 8") for (int i = 0; i < (N); i++)
#define TAP(R, Q, k)                                                                                                 \
    {                                                                                                                \
        V v[Q];                                                                                                      \
        npy_intp o = off[k];                                                                                         \
        EACH(q, Q) v[q] = *(V const *)(from[q] + o);                                                                 \
        EACH(r, R) {                                                                                                 \
            V factor = SPLAT(w[(k) * ld + r]);                                                                       \
            EACH(q, Q) sum[r][q] = FMA(factor, v[q], sum[r][q]);                                                     \
        }                                                                                                            \
    }
#define TILE(R, Q)                                                                                                   \
    static void OWN(tile_##R##_##Q)(T const *x, npy_intp const *off, npy_intp K, T const *w, npy_intp ld,\
                                                npy_intp const *pos, T const *initial, T const *bias, T *const *out,  \
                                                npy_intp stride, int fresh) {                                        \
        V sum[R][Q];                                                                                                 \
        T const *from[Q];                                                                                            \
        EACH(q, Q) from[q] = x + pos[q];                                                                              \
        EACH(r, R)                                                                                                   \
            EACH(q, Q) sum[r][q] = initial ? *(V const *)(initial + (r * Q + q) * L) : (V){0};                       \
        npy_intp k = 0;                                                                                              \
        for (; k + 1 < K; k += 2) {                                                                                  \
            if (fresh) EACH(i, (int)sizeof(T) / 4) __builtin_prefetch(w + (k + i) * ld + 1024);                      \
            TAP(R, Q, k)                                                                                             \
            TAP(R, Q, k + 1)                                                                                         \
        }                                                                                                            \
        if (k < K) TAP(R, Q, k)                                                                                      \
        if (bias)                                                                                                    \
            EACH(r, R) {                                                                                             \
                V shift = SPLAT(bias[r]);                                                                            \
                EACH(q, Q) sum[r][q] += shift;                                                                       \
            }                                                                                                        \
        EACH(r, R)                                                                                                   \
            EACH(q, Q) *(V *)(out[q] + r * stride) = sum[r][q];                                                      \
    }

TILE(1, 1)
TILE(1, 2)
TILE(1, 3)
TILE(1, 4)
TILE(2, 1)
TILE(2, 2)
TILE(2, 3)
TILE(2, 4)
TILE(3, 1)
TILE(3, 2)
TILE(3, 3)
#if ROWS == 8
TILE(1, 8)
TILE(3, 4)
#endif
TILE(4, 1)
TILE(4, 2)
TILE(8, 1)
#if ROWS == 8
TILE(4, 3)
TILE(8, 2)
TILE(8, 3)
#endif

/* By rows and vectors, limited by the registers for sums and operands: 16 hold 4 x 2 or 3 x 3 (both 100 GFLOPS with
 * AVX2, 4 x 3 reaches 45), 32 hold 8 x 3. */
static OWN(tile) const OWN(tiles)[9][9] = {
#if ROWS == 8
    [1] = {0, OWN(tile_1_1), OWN(tile_1_2), OWN(tile_1_3), OWN(tile_1_4), 0, 0, 0, OWN(tile_1_8)},
    [2] = {0, OWN(tile_2_1), OWN(tile_2_2), OWN(tile_2_3), OWN(tile_2_4)},
    [3] = {0, OWN(tile_3_1), OWN(tile_3_2), OWN(tile_3_3), OWN(tile_3_4)},
    [4] = {0, OWN(tile_4_1), OWN(tile_4_2), OWN(tile_4_3)},
    [8] = {0, OWN(tile_8_1), OWN(tile_8_2), OWN(tile_8_3)},
#else
    [1] = {0, OWN(tile_1_1), OWN(tile_1_2), OWN(tile_1_3), OWN(tile_1_4)},
    [2] = {0, OWN(tile_2_1), OWN(tile_2_2), OWN(tile_2_3), OWN(tile_2_4)},
    [3] = {0, OWN(tile_3_1), OWN(tile_3_2), OWN(tile_3_3)},
    [4] = {0, OWN(tile_4_1), OWN(tile_4_2)},
    [8] = {0, OWN(tile_8_1)},
#endif
};
#define WIDE (ROWS == 8 ? 3 : 2) /* vectors of full tiles */
static int const OWN(widest)[5] = {0, ROWS == 8 ? 8 : 4, 4, ROWS == 8 ? 4 : 3, WIDE};

/* Channels of the next tile, and of the next block of weights, from those left: 3 (as colours) take one tile. */
static inline npy_intp OWN(rows)(npy_intp left, npy_intp most) { return left >= most ? most : left >= 4 ? 4 : left; }
#undef TILE
#undef TAP

/* B blocks of 8 channels, `block` elements apart, at a position: out[(8 * b + r) * stride], starting from `initial`, if
 * given. The sums of tiles. */
#define NARROW(B)                                                                                                    \
    static void OWN(narrow_##B)(T const *x, npy_intp const *off, npy_intp K, T const *w, npy_intp block, \
                                            T const *initial, T const *bias, T *out, npy_intp stride) {              \
        H sum[B][8 / HL];                                                                                            \
        T buffer[8 * B];                                                                                             \
        EACH(b, B)                                                                                                   \
            EACH(q, 8 / HL) sum[b][q] = initial ? *(H const *)(initial + b * 8 + q * HL) : (H){0};                   \
        for (npy_intp k = 0; k < K; k++, w += 8) {                                                                   \
            H factor = H_SPLAT(x[off[k]]);                                                                           \
            EACH(b, B)                                                                                               \
                EACH(q, 8 / HL) sum[b][q] = H_FMA(*(H const *)(w + b * block + q * HL), factor, sum[b][q]);          \
        }                                                                                                            \
        EACH(b, B)                                                                                                   \
            EACH(q, 8 / HL) {                                                                                        \
                if (bias) sum[b][q] += *(H const *)(bias + b * 8 + q * HL);                                          \
                *(H *)(buffer + b * 8 + q * HL) = sum[b][q];                                                         \
            }                                                                                                        \
        for (int r = 0; r < 8 * B; r++) out[r * stride] = buffer[r];                                                 \
    }
NARROW(1)
NARROW(4)
#undef NARROW

/* Lanes low to high - 1, zeros for the others, which are not read. */
static inline V OWN(load)(T const *from, npy_intp low, npy_intp high) {
    if (low <= 0 && high >= L) return *(V const *)from;
    return LOAD(from, low, high);
}

/* Pack rows of a plane, `width` elements by steps of `step`, of which those from `low` to `high` - 1 are in the input;
 * those of the next phase go to `other`, unless it is NULL. Whole vectors are written: the next row overwrites the
 * overrun. */
static __attribute__((noinline)) void OWN(pack_rows)(T const *from, npy_intp stride, npy_intp rows, npy_intp step, npy_intp low,
                                                     npy_intp high, npy_intp width, T *to, T *other) {
    npy_intp const begin = low < 0 ? 0 : low < width ? low : width;
    npy_intp const end = high < begin ? begin : high < width ? high : width, whole = begin + (end - begin) / L * L;
    for (npy_intp r = 0; r < rows; r++, from += stride, to += width, other += other ? width : 0) {
        if (step > 2)
            for (npy_intp w = 0; w < width; w++) to[w] = w * step >= low && w * step < high ? from[w * step] : 0;
        else if (step == 2)
            for (npy_intp w = 0; w < width; w += L) {
                V u = OWN(load)(from + 2 * w, low - 2 * w, high - 2 * w);
                V v = OWN(load)(from + 2 * w + L, low - 2 * w - L, high - 2 * w - L);
                *(V *)(to + w) = EVENS(u, v);
                if (other) *(V *)(other + w) = ODDS(u, v);
            }
        else {
            if (begin > L || width - end > L) memset(to, 0, (size_t)width * sizeof(T));
            *(V *)to = (V){0};
            for (npy_intp w = begin; w < whole; w += L) *(V *)(to + w) = *(V const *)(from + w);
            if (whole < end) *(V *)(to + whole) = LOAD(from + whole, 0, end - whole);
            if (end < width) *(V *)(to + end) = (V){0};
        }
    }
}

/* Pack the part of some channels' input that a band of positions reads: planes [channel, phases, n, d, h, w], zeros
 * outside of the input. */
static void OWN(pack)(conv const *c, T const *x, npy_intp channels, T *packed, npy_intp n0, npy_intp bn, npy_intp d0,
                      npy_intp h0) {
    npy_intp const *step = c->in_step, *plane = c->plane, depth = c->in[0], height = c->in[1], length = c->in[2];
    npy_intp const width = plane[2], lines = plane[1], phases = c->axes[2].phases;
    npy_intp const pairs = step[2] == 2 && phases == 2 ? 2 : 1; /* phases packed at once */
    for (npy_intp k = 0; k < c->axes[0].phases * c->axes[1].phases * phases; k += pairs) {
        npy_intp const before = c->axes[0].first[k / phases / c->axes[1].phases] + d0 * step[0];
        npy_intp const top = c->axes[1].first[k / phases % c->axes[1].phases] + h0 * step[1];
        npy_intp const first = c->axes[2].first[k % phases];
        /* The lines that are in the input. */
        npy_intp low = top < 0 ? (-top + step[1] - 1) / step[1] : 0;
        npy_intp high = top < height ? (height - 1 - top) / step[1] + 1 : 0;
        low = low < lines ? low : lines, high = high < low ? low : high < lines ? high : lines;
        for (npy_intp i = 0; i < channels; i++) {
            T *to = packed + i * c->channel + k * c->phase, *other = pairs == 2 ? to + c->phase : NULL;
            for (npy_intp n = 0; n < bn; n++)
                for (npy_intp d = 0, z = before; d < plane[0]; d++, z += step[0]) {
                    npy_intp const image = ((n0 + n) * c->groups * c->icg + i) * depth + z;
                    T const *from = x + (image * height + top + low * step[1]) * length + first;
                    int const inside = z >= 0 && z < depth;
                    npy_intp const above = inside ? low : lines, below = inside ? lines - high : 0;
                    for (int p = 0; p < pairs && above; p++) memset((p ? other : to), 0, (size_t)(above * width) * sizeof(T));
                    if (inside)
                        OWN(pack_rows)(from, step[1] * length, high - low, step[2], -first, length - first, width,
                                       to + low * width, other ? other + low * width : NULL);
                    to += lines * width;
                    if (other) other += lines * width;
                    for (int p = 0; p < pairs && below; p++)
                        memset((p ? other : to) - below * width, 0, (size_t)(below * width) * sizeof(T));
                }
        }
    }
}

/* The same, for all channels. */
typedef struct {
    conv const *c;
    T const *x;
    T *packed;
    npy_intp n0, bn, d0, h0, most;
} OWN(packing);

static void OWN(pack_piece)(void const *what, npy_intp piece, int worker) {
    OWN(packing) const *job = (OWN(packing) const *)what;
    npy_intp const first = piece * job->most, left = job->c->icg - first;
    (void)worker;
    OWN(pack)(job->c, job->x + first * job->c->whole, left < job->most ? left : job->most,
              job->packed + first * job->c->channel, job->n0, job->bn, job->d0, job->h0);
}

static void OWN(pack_all)(conv const *c, T const *x, T *packed, npy_intp n0, npy_intp bn, npy_intp d0, npy_intp h0) {
    OWN(packing) job = {c, x, packed, n0, bn, d0, h0, c->icg};
    double const work = 8.0 * (double)(c->icg * c->channel); /* each is read and written, in pieces of rows */
    if (conv_shares(c, work)) job.most = loopdbg_items_per_task(c->icg, 4);
    loopdbg_parallel_for(OWN(pack_piece), &job, loopdbg_task_count(c->icg, job.most), work, 0);
}

/* The last vector's positions are computed one by one up to this number, if all channels come in blocks of 8. */
#define FEW(ocg) ((ocg) % 8 ? 0 : L / 4)

/* Are vectors of adjacent outputs, assembled from parts of rows while they are copied for many channels, cheaper than
 * `cost`, in products of a channel? */
static int OWN(dense)(conv const *c, npy_intp (*level)[3], npy_intp K, npy_intp cost, int *joined) {
    npy_intp run = level[1][0] * level[2][0] * level[3][0], rows = level[0][0] * level[1][0] * level[2][0];
    if (c->direct || c->ocg < CONV_MANY || level[3][2] != 1 || level[0][0] * run <= 4) return 0;
    if (level[2][2] != level[3][0] || (level[1][0] > 1 && level[1][2] != level[2][0] * level[3][0])) return 0;
    *joined = run >= L;
    npy_intp count = *joined ? level[0][0] * ((run + L - 1) / L) : (level[0][0] * run + L - 1) / L;
    if (*joined && run % L && run % L <= FEW(c->ocg)) count--;
    return count * (K + (*joined ? 4 : 24)) + 4 * K * (count + rows) / c->ocg < cost;
}

/* The same, with parts at separate offsets in the planes: an image's positions, which are contiguous in the output, or
 * for images smaller than a vector, the positions of all images. */
static npy_intp OWN(cut_dense)(npy_intp (*level)[3], npy_intp ocg, vectors *v) {
    npy_intp const image = level[1][0] * level[2][0] * level[3][0], length = level[3][0];
    npy_intp const run = v->joined ? image : level[0][0] * image, runs = v->joined ? level[0][0] : 1;
    npy_intp count = 0, parts = 0;
    v->dense = 1, v->end = -1;
    for (npy_intp b = 0; b < runs; b++)
        for (npy_intp p = 0; p < run; p += L) {
            /* The last vector overlaps the one before, unless its positions are computed one by one. */
            int const earlier = v->joined && run - p < L && (run - p > FEW(ocg) || b < runs - 1);
            npy_intp const start = earlier ? run - L : p, end = start + L < run ? start + L : run;
            v->at[count] = 0;
            v->first[count++] = (int32_t)parts;
            for (npy_intp q = start; q < end;) {
                npy_intp which = b + q / image, rest = q % image, row = rest / length, left = length - rest % length;
                part *s = v->parts + parts++;
                s->lane = (int32_t)(q - start), s->count = (int32_t)(left < end - q ? left : end - q);
                s->in = which * level[0][1] + row / level[2][0] * level[1][1] + row % level[2][0] * level[2][1] + rest % length;
                s->out = which * level[0][2] + rest;
                q += s->count;
            }
        }
    v->first[count] = (int32_t)parts;
    return count;
}

/* Cut positions into vectors: four `level`s of (count, distance in the planes, distance in the output), outermost
 * first, the last with distance 1 in the planes. `K`: number of products of a sum. */
static npy_intp OWN(cut)(conv const *c, npy_intp (*level)[3], npy_intp K, vectors *v) {
    npy_intp original[4][3];
    int levels = 4;
    memcpy(original, level, sizeof(original));
    /* Join contiguous levels. */
    for (int k = levels - 1; k > 0; k--)
        if (level[k - 1][0] == 1 ||
            (level[k - 1][1] == level[k][0] * level[k][1] && level[k - 1][2] == level[k][0] * level[k][2])) {
            level[k - 1][0] *= level[k][0], level[k - 1][1] = level[k][1], level[k - 1][2] = level[k][2];
            for (int j = k; j < levels - 1; j++) memcpy(level[j], level[j + 1], sizeof(level[j]));
            levels--;
        }
    npy_intp const *inner = level[levels - 1], single[3] = {1, 0, 0};
    npy_intp const *row = levels > 1 ? level[levels - 2] : single;
    npy_intp const *mid = levels > 2 ? level[levels - 3] : single, *top = levels > 3 ? level[levels - 4] : single;
    npy_intp length = inner[0], rows = row[0], stride = rows > 1 ? row[1] : length;
    npy_intp flat = (rows - 1) * stride + length;
    npy_intp by_row = rows * ((length + L - 1) / L), together = (flat + L - 1) / L;
    /* Vectors that cross rows compute what is between them, and are stored in parts, which costs about 20 products. */
    int across = (c->direct && length < L) || together * (K + 24) < by_row * (K + 4);
    npy_intp const cost = mid[0] * top[0] * (across ? together * (K + 24) : by_row * (K + 4));
    if (OWN(dense)(c, original, K, cost, &v->joined)) return OWN(cut_dense)(original, c->ocg, v);
    npy_intp count = 0, parts = 0;
    v->end = 0, v->dense = v->joined = 0;
    for (npy_intp a = 0; a < top[0]; a++)
        for (npy_intp b = 0; b < mid[0]; b++)
            for (npy_intp r = 0; r < (across ? 1 : rows); r++) {
                npy_intp in = a * top[1] + b * mid[1] + r * row[1], out = a * top[2] + b * mid[2] + r * row[2];
                npy_intp end = across ? flat : length, line = 0, column = 0;
                for (npy_intp p = 0; p < end; p += L) {
                    /* Nothing is read behind the end, which may be foreign memory. */
                    npy_intp start = end - p < L && end >= L ? end - L : p;
                    v->at[count] = in + start;
                    v->first[count++] = (int32_t)parts;
                    for (npy_intp q = p; q < p + L && q < end;) {
                        npy_intp n = stride - column, left = p + L < end ? p + L - q : end - q;
                        if (!across) n = left;
                        if (n > left) n = left;
                        npy_intp valid = across && column + n > length ? length - column : n;
                        if (valid > 0) {
                            part *s = v->parts + parts++;
                            s->lane = (int32_t)(q - start), s->count = (int32_t)valid;
                            s->out = out + (across ? line * row[2] : 0) + column * inner[2];
                            /* contiguous, or not */
                            v->end = v->end == s->out ? s->out + s->count : -1;
                        }
                        q += n, column += n;
                        if (across && column == stride) column = 0, line++;
                    }
                }
            }
    v->first[count] = (int32_t)parts;
    return count;
}

/* The operands of n vectors for `taps` taps, as [taps, n, L]. */
#define COPY(N)                                                                                                      \
    for (npy_intp k = 0; k < taps; k++, to += N * L) {                                                               \
        T const *from = x + off[k];                                                                                  \
        for (int q = 0; q < N; q++) *(V *)(to + q * L) = *(V const *)(from + pos[q]);                                 \
    }
static void OWN(panel)(T const *x, npy_intp const *off, npy_intp taps, npy_intp const *pos, int n, T *to) {
    if (n == 3) COPY(3)
    else if (n == 2) COPY(2)
    else COPY(1)
}
#undef COPY

/* The same for vectors assembled from parts. */
static void OWN(panel_of_parts)(T const *x, npy_intp const *off, npy_intp taps, vectors const *v, npy_intp first, int n,
                                T *to) {
    npy_intp in[3 * L], lane[3 * L], count = 0;
    for (int q = 0; q < n; q++)
        for (int32_t p = v->first[first + q]; p < v->first[first + q + 1]; p++, count++)
            in[count] = v->parts[p].in, lane[count] = q * L + v->parts[p].lane;
    /* Later parts overwrite the overrun of a part. */
    for (npy_intp k = 0; k < taps; k++, to += n * L)
        for (npy_intp p = 0; p < count; p++) *(V *)(to + lane[p]) = *(V const *)(x + in[p] + off[k]);
}

/* A group's channels at the vectors of a band, cut into tasks of `most` vectors and `channels` channels; `stretches`
 * tasks cover the channels. Each worker has its own partial sums. */
typedef struct {
    conv const *c;
    T const *x, *w, *bias;
    npy_intp const *off;
    npy_intp K, count, most, channels, stretches, stride;
    vectors const *v;
    T *partial, *out;
    npy_intp out_step;
} OWN(multiplied);

static void OWN(multiply_piece)(void const *what, npy_intp piece, int worker) {
    OWN(multiplied) const *job = (OWN(multiplied) const *)what;
    conv const *c = job->c;
    T const *x = job->x, *w = job->w, *bias = job->bias;
    npy_intp const *off = job->off;
    npy_intp const K = job->K, count = job->count, out_step = job->out_step;
    vectors const *v = job->v;
    T *partial = job->partial + worker * job->stride, *out = job->out;
    npy_intp const low = piece % job->stretches * job->channels, first_group = piece / job->stretches * job->most;
    npy_intp const high = low + job->channels < c->ocg ? low + job->channels : c->ocg;
    npy_intp const last_group = first_group + job->most < count ? first_group + job->most : count;
    /* Start of the parts of another task that will overwrite the overrun. */
    npy_intp const beyond = last_group < count && v->end >= 0 ? v->parts[v->first[last_group]].out : v->end;
    npy_intp const stride = c->out[0] * c->out[1] * c->out[2];
    T buffer[8 * 8 * L];
    __attribute__((aligned(64))) T panel[(3 * CONV_PART + 1) * L];
    npy_intp const rows_of[3] = {0, L, 2 * L};
    npy_intp panel_taps[CONV_PART];
    int panel_width = 0; /* number of vectors in the layout of panel_taps */
    int const few = conv_positions(v, count - 1) <= (count == 1 ? 4 : FEW(c->ocg));
    npy_intp const one_by_one = few ? c->ocg & ~(npy_intp)7 : 0, all = one_by_one == c->ocg ? count - 1 : count;
    npy_intp const initial = all < count || low > one_by_one ? low : one_by_one;
    int const widest = OWN(widest)[c->ocg < 4 ? c->ocg : 4];
    /* Part of the sums such that a tile's operands stay in the first-level cache for all channels, and the weights of
     * that part in the second-level cache for the tiles of a group. */
    npy_intp const turns = K > CONV_PART && count > few ? (K + CONV_PART - 1) / CONV_PART : 1,
                   part_size = (K + turns - 1) / turns;
    for (npy_intp group = first_group; group < last_group; group += CONV_GROUP)
        for (npy_intp turn = 0; turn < turns; turn++) {
            npy_intp const k = turn * part_size, size = k + part_size < K ? part_size : K - k;
            npy_intp const end = group + CONV_GROUP < all ? group + CONV_GROUP : all;
            int const last = turn == turns - 1;
            for (npy_intp first = group; first < end;) {
                int n = (int)(end - first < widest ? end - first : widest);
                if (n == 3 && end - first == 4) n = 2;
                if (n > 4 && n < 8) n = 4;
                T *target[8], *to[8], *sums = partial + (first - group) * L * c->ocg;
                int whole = out_step == 1;
                for (int q = 0; q < n; q++) {
                    int32_t p = v->first[first + q];
                    part const *s = v->parts + p;
                    /* Later parts overwrite the overrun of a part. */
                    if (v->dense ? !v->joined
                                 : v->first[first + q + 1] != p + 1 || (s->count != L && (s->lane || s->out + L > beyond)))
                        whole = 0;
                    else target[q] = out + s->out;
                }
                T const *source = x;
                npy_intp const *taps = off + k, *pos = v->at + first;
                if ((v->dense || high - initial >= CONV_MANY) && n <= 3) { /* contiguous operands, for all channels */
                    if (v->dense) OWN(panel_of_parts)(x, taps, size, v, first, n, panel);
                    else OWN(panel)(x, taps, size, pos, n, panel);
                    if (panel_width != n)
                        for (npy_intp j = 0; j < CONV_PART; j++) panel_taps[j] = j * n * L;
                    panel_width = n, source = panel, taps = panel_taps, pos = rows_of;
                }
                for (npy_intp r = initial, rows; r < high; r += rows, sums += rows * n * L) {
                    rows = OWN(rows)(c->ocg - r, n == 1 ? 8 : ROWS);
                    /* The block of the weights, and the channel in it. */
                    npy_intp ld = (r & ~(npy_intp)7) + 8 <= c->ocg ? 8 : rows, inside = ld == 8 ? r & 7 : 0;
                    npy_intp apart_here = n * L;
                    T const *shift = bias ? bias + r : NULL;
                    if (!last) {
                        for (int q = 0; q < n; q++) to[q] = sums + q * L;
                        shift = NULL;
                    } else if (whole) {
                        for (int q = 0; q < n; q++) to[q] = target[q] + r * stride;
                        apart_here = stride;
                    } else {
                        for (int q = 0; q < n; q++) to[q] = buffer + q * L;
                    }
                    OWN(tiles)
                    [rows][n](source, taps, size, w + (r - inside) *K + k *ld + inside, ld, pos, turn ? sums : NULL, shift, to,
                              apart_here, first == group);
                    if (whole || !last) continue;
                    for (int q = 0; q < n; q++)
                        for (int32_t p = v->first[first + q]; p < v->first[first + q + 1]; p++) {
                            part const *s = v->parts + p;
                            for (int i = 0; i < rows; i++) {
                                T const *from = buffer + i * n * L + q * L;
                                T *place = out + (r + i) * stride + s->out;
                                if (out_step == 1) STORE(place, s->lane, s->count, from);
#ifdef STORE_APART
                                else if (out_step == 2) STORE_APART(place, s->lane, s->count, from);
#endif
                                else
                                    for (int j = 0; j < s->count; j++) place[j * out_step] = from[s->lane + j];
                            }
                        }
                }
                first += n;
            }
            T *sums = partial + (count - 1 - group) * L * c->ocg;
            npy_intp const single = group + CONV_GROUP < count ? low : high < one_by_one ? high : one_by_one;
            for (npy_intp r = low, rows; r < single; r += rows) {
                rows = single - r >= 32 ? 32 : 8;
                for (int32_t p = v->first[count - 1]; p < v->first[count]; p++) {
                    part const *s = v->parts + p;
                    T const *from = x + (v->dense ? s->in : v->at[count - 1] + s->lane);
                    for (int j = 0; j < s->count; j++, sums += rows)
                        (rows == 32 ? OWN(narrow_4) : OWN(narrow_1))(from + j, off + k, size, w + r * K + k * 8, 8 * K,
                                                                     turn ? sums : NULL, last && bias ? bias + r : NULL,
                                                                     last ? out + r * stride + s->out + j * out_step : sums,
                                                                     last ? stride : 1);
                }
            }
        }
}

static void OWN(multiply)(conv const *c, T const *x, npy_intp const *off, npy_intp K, T const *w, T const *bias,
                          vectors const *v, npy_intp count, T *partial, T *out, npy_intp out_step) {
    OWN(multiplied) job = {c, x, w, bias, off, K, count, count, c->ocg, 1, CONV_GROUP * L * c->ocg, v, partial, out, out_step};
    double const work = (double)(count * L) * (double)K * (double)c->ocg;
    if (!conv_shares(c, work)) {
        OWN(multiply_piece)(&job, 0, 0);
        return;
    }
    npy_intp const groups = loopdbg_task_count(count, CONV_GROUP);
    job.most = CONV_GROUP;
    /* Vectors of parts are assembled for each stretch. */
    npy_intp const pieces = v->dense ? loopdbg_thread_pool->workers : 4 * loopdbg_thread_pool->workers;
    if (groups < pieces) {
        npy_intp const requested = (pieces + groups - 1) / groups, max_stretches = (c->ocg + 15) / 16;
        job.stretches = requested < max_stretches ? requested : max_stretches;
        job.channels = ((c->ocg + job.stretches - 1) / job.stretches + 7) / 8 * 8;
        job.stretches = loopdbg_task_count(c->ocg, job.channels);
    }
    loopdbg_parallel_for(OWN(multiply_piece), &job, groups * job.stretches, work, 0);
}

#undef EACH
#undef FEW

/* Reorder a group's weights [ocg, kernel] for tiles: blocks of 8 channels, of 4, the rest, each [taps, channels]. */
static void OWN(gather)(conv const *c, residue const *r, T const *w, npy_intp K, T *to) {
    npy_intp const kernel = c->kernel[0] * c->kernel[1] * c->kernel[2];
    for (npy_intp m = 0, rows; m < c->ocg; m += rows, to += rows * K) {
        rows = OWN(rows)(c->ocg - m, 8);
        for (npy_intp k = 0; k < rows; k++) {
            T *next = to + k;
            T const *from = w + (m + k) * c->icg * kernel;
            for (npy_intp i = 0; i < c->icg; i++, from += kernel)
                for (npy_intp a = 0; a < r[0].taps; a++)
                    for (npy_intp b = 0; b < r[1].taps; b++)
                        for (npy_intp e = 0; e < r[2].taps; e++, next += rows)
                            *next = from[(r[0].tap[3 * a] * c->kernel[1] + r[1].tap[3 * b]) * c->kernel[2] + r[2].tap[3 * e]];
        }
    }
}

#include "depthwise.h"

/* Rows and positions of a residue's band. 0: none. */
static inline int OWN(band)(conv const *c, residue const *r, npy_intp d0, npy_intp h0, npy_intp *n) {
    n[0] = r[0].count - d0 < c->cd ? r[0].count - d0 : c->cd;
    n[1] = r[1].count - h0 < c->ch ? r[1].count - h0 : c->ch;
    n[2] = r[2].count;
    return n[0] > 0 && n[1] > 0 && n[2] > 0;
}

static int OWN(run)(loopdbg_call *call, conv *c) {
    T const *x = (T const *)LOOPDBG_ARG(call, 0), *w = (T const *)LOOPDBG_ARG(call, 1);
    T const *bias = c->bias ? (T const *)LOOPDBG_ARG(call, 2) : NULL;
    T *out = (T *)LOOPDBG_ARG(call, c->result);
    char *scratch = LOOPDBG_ARG(call, c->result + 1);
    T *packed = (T *)(scratch + c->packed), *gathered = (T *)(scratch + c->gathered), *partial = (T *)(scratch + c->partial);
    npy_intp *off = (npy_intp *)(scratch + c->off);
    vectors v = {(npy_intp *)(scratch + c->at), (int32_t *)(scratch + c->first), (part *)(scratch + c->parts), 0, 0, 0};
    npy_intp const *plane = c->plane, *o = c->out;
    npy_intp const out_whole = o[0] * o[1] * o[2], kernel = c->kernel[0] * c->kernel[1] * c->kernel[2];
    int jobs = 1;
    for (int a = 0; a < 3; a++) jobs *= (int)c->axes[a].residues;
    if (jobs == 1 && !(c->direct && o[2] < L) && OWN(depthwise)(c, x, w, bias, out, packed, off)) return 0;
    for (npy_intp n0 = 0; n0 < c->n; n0 += c->cn)
        for (npy_intp d0 = 0; d0 < c->most[0]; d0 += c->cd)
            for (npy_intp h0 = 0; h0 < c->most[1]; h0 += c->ch) {
                npy_intp bn = c->n - n0 < c->cn ? c->n - n0 : c->cn, count = 0, K = 0;
                for (npy_intp g = 0; g < c->groups; g++) {
                    T const *from = x + (n0 * c->groups + g) * c->icg * c->whole, *blocks = w;
                    if (!c->direct) OWN(pack_all)(c, x + g * c->icg * c->whole, packed, n0, bn, d0, h0), from = packed;
                    for (int job = 0; job < jobs; job++, blocks += c->groups * c->ocg * K) {
                        residue r[3];
                        npy_intp n[3];
                        conv_residues(c, job, r);
                        K = c->icg * r[0].taps * r[1].taps * r[2].taps;
                        if (!OWN(band)(c, r, d0, h0, n)) continue;
                        if (g == 0 || jobs > 1) {
                            npy_intp level[4][3] = {
                                {bn, c->image, c->groups * c->ocg * out_whole},
                                {n[0], plane[1] * plane[2], c->out_step[0] * o[1] * o[2]},
                                {n[1], plane[2], c->out_step[1] * o[2]},
                                {n[2], 1, c->out_step[2]},
                            };
                            count = OWN(cut)(c, level, K, &v);
                            conv_offsets(c, r, off);
                        }
                        T const *weights = gathered;
                        if (c->blocks) weights = blocks + g * c->ocg * K;
                        else if (jobs > 1 || c->groups > 1 || (!n0 && !d0 && !h0))
                            OWN(gather)(c, r, w + g * c->ocg * c->icg * kernel, K, gathered);
                        T *to = out + (n0 * c->groups + g) * c->ocg * out_whole +
                                ((r[0].start + d0 * c->out_step[0]) * o[1] + r[1].start + h0 * c->out_step[1]) * o[2] +
                                r[2].start;
                        OWN(multiply)(c, from, off, K, weights, bias ? bias + g * c->ocg : NULL, &v, count, partial, to,
                                      c->out_step[2]);
                    }
                }
            }
    return 0;
}
/* A transposed convolution with infinite or NaN weights. A weight without an input has no product: with the 0 of a
 * plane's margin it would be NaN. The sums of tiles, one by one. */
static int OWN(run_within)(loopdbg_call *call, conv *c) {
    T const *x = (T const *)LOOPDBG_ARG(call, 0), *blocks = (T const *)LOOPDBG_ARG(call, 1), *w = blocks;
    T const *bias = c->bias ? (T const *)LOOPDBG_ARG(call, 2) : NULL;
    T *out = (T *)LOOPDBG_ARG(call, c->result), *gathered = (T *)(LOOPDBG_ARG(call, c->result + 1) + c->gathered);
    npy_intp const kernel = c->kernel[0] * c->kernel[1] * c->kernel[2], channels = c->groups * c->ocg;
    npy_intp const *in = c->in, *o = c->out;
    int jobs = 1;
    for (int a = 0; a < 3; a++) jobs *= (int)c->axes[a].residues;
    for (int job = 0; job < jobs; job++) {
        residue r[3];
        conv_residues(c, job, r);
        npy_intp const K = c->icg * r[0].taps * r[1].taps * r[2].taps, positions = r[0].count * r[1].count * r[2].count;
        for (npy_intp g = 0; g < c->groups; g++) {
            T const *of_group = blocks + g * c->ocg * K;
            if (!c->blocks) OWN(gather)(c, r, w + g * c->ocg * c->icg * kernel, K, gathered), of_group = gathered;
            for (npy_intp first = 0, rows; first < c->ocg; first += rows, of_group += rows * K) {
                rows = OWN(rows)(c->ocg - first, 8);
                for (npy_intp k = 0; k < c->n * rows * positions; k++) {
                    npy_intp const p = k % positions, r0 = k / positions % rows, n = k / positions / rows;
                    npy_intp const pos[3] = {p / (r[1].count * r[2].count), p / r[2].count % r[1].count, p % r[2].count};
                    T const *from = x + (n * c->groups + g) * c->icg * c->whole, *weight = of_group + r0;
                    V sum = {0};
                    for (npy_intp i = 0; i < c->icg; i++, from += c->whole)
                        for (npy_intp a = 0; a < r[0].taps; a++)
                            for (npy_intp b = 0; b < r[1].taps; b++)
                                for (npy_intp e = 0; e < r[2].taps; e++, weight += rows) {
                                    npy_intp d = pos[0] + r[0].tap[3 * a + 2] + c->axes[0].first[0];
                                    npy_intp h = pos[1] + r[1].tap[3 * b + 2] + c->axes[1].first[0];
                                    npy_intp l = pos[2] + r[2].tap[3 * e + 2] + c->axes[2].first[0];
                                    if (d < 0 || d >= in[0] || h < 0 || h >= in[1] || l < 0 || l >= in[2]) continue;
                                    V const factor = SPLAT(*weight), number = SPLAT(from[(d * in[1] + h) * in[2] + l]);
                                    sum = FMA(factor, number, sum);
                                }
                    npy_intp const channel = g * c->ocg + first + r0;
                    if (bias) sum += SPLAT(bias[channel]);
                    npy_intp y = n * channels + channel;
                    for (int a = 0; a < 3; a++) y = y * o[a] + r[a].start + pos[a] * c->out_step[a];
                    out[y] = sum[0];
                }
            }
        }
        blocks += channels * K;
    }
    return 0;
}
#ifdef LOWER
#include "winograd.h"
#undef LOWER
#undef UPPER
#endif
#undef T
#undef V
#undef L
#undef FMA
#undef SPLAT
#undef STORE
#undef STORE_APART
#undef LOAD
#undef NARROWER
#undef MASK
#undef LANES
#undef MASKED
#undef OWN
#undef ROWS
#undef WIDE
#undef EVENS
#undef ODDS
#undef H
#undef HL
#undef H_FMA
#undef H_SPLAT
