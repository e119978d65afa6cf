/* Convolution for one element type and one instruction set: included once for each, with
 * T (element), V (vector), L (elements in V), FMA(a, b, c), SPLAT(x), STORE(to, first, count, from), LOAD(from, low, high)
 * (some lanes, zeros for the others), ATTRIBUTES, NAME(x),
 * ROWS (most channels of a tile: its sums and what they read fit into the registers); H, HL, H_FMA, H_SPLAT for vectors of
 * at most 8 elements; EVENS(a, b), and ODDS, LOWER and UPPER (two vectors' elements by turns) where winograd.h is wanted. */

typedef void (*NAME(tile))(T const *, npy_intp const *, npy_intp, T const *, npy_intp, npy_intp const *, T const *,
                           T const *, T *const *, npy_intp);

/* R channels at Q vectors of positions: out[q][r * apart + lane] = begun[r, q, lane] + bias[r] + sum over k of
 * w[k * ld + r] * x[at[q] + off[k] + lane]. Every sum is in the order of k, whatever the tile. */
/* Unrolled, so that sums stay in registers before and behind the taps as well. */
#define EACH(i, N) _Pragma("GCC unroll 8") for (int i = 0; i < (N); i++)
#define TILE(R, Q)                                                                                                   \
    ATTRIBUTES static void NAME(tile_##R##_##Q)(T const *x, npy_intp const *off, npy_intp K, T const *w, npy_intp ld,\
                                                npy_intp const *at, T const *begun, T const *bias, T *const *out,    \
                                                npy_intp apart) {                                                    \
        V sum[R][Q];                                                                                                 \
        T const *from[Q];                                                                                            \
        EACH(q, Q) from[q] = x + at[q];                                                                              \
        EACH(r, R)                                                                                                   \
            EACH(q, Q) sum[r][q] = begun ? *(V const *)(begun + (r * Q + q) * L) : (V){0};                           \
        for (npy_intp k = 0; k < K; k++) {                                                                           \
            V v[Q];                                                                                                  \
            npy_intp o = off[k];                                                                                     \
            __builtin_prefetch(w + k * ld + 1024); /* large weights pass by once */                                  \
            EACH(q, Q) v[q] = *(V const *)(from[q] + o);                                                             \
            EACH(r, R) {                                                                                             \
                V factor = SPLAT(w[k * ld + r]);                                                                     \
                EACH(q, Q) sum[r][q] = FMA(factor, v[q], sum[r][q]);                                                 \
            }                                                                                                        \
        }                                                                                                            \
        if (bias)                                                                                                    \
            EACH(r, R) {                                                                                             \
                V shift = SPLAT(bias[r]);                                                                            \
                EACH(q, Q) sum[r][q] += shift;                                                                       \
            }                                                                                                        \
        EACH(r, R)                                                                                                   \
            EACH(q, Q) *(V *)(out[q] + r * apart) = sum[r][q];                                                       \
    }

TILE(1, 1) TILE(1, 2) TILE(1, 3) TILE(1, 4) TILE(1, 8)
TILE(2, 1) TILE(2, 2) TILE(2, 3) TILE(2, 4)
TILE(4, 1) TILE(4, 2) TILE(4, 3)
#if ROWS == 8
TILE(8, 1) TILE(8, 2) TILE(8, 3)
#endif

/* By rows (1, 2, 4, 8) and vectors. */
static NAME(tile) const NAME(tiles)[4][9] = {
    {0, NAME(tile_1_1), NAME(tile_1_2), NAME(tile_1_3), NAME(tile_1_4), 0, 0, 0, NAME(tile_1_8)},
    {0, NAME(tile_2_1), NAME(tile_2_2), NAME(tile_2_3), NAME(tile_2_4)},
    {0, NAME(tile_4_1), NAME(tile_4_2), NAME(tile_4_3)},
#if ROWS == 8
    {0, NAME(tile_8_1), NAME(tile_8_2), NAME(tile_8_3)},
#endif
};
#undef TILE

/* B blocks of 8 channels at one position: out[(8 * b + r) * apart]. The same sums as in tiles. */
#define NARROW(B)                                                                                                    \
    ATTRIBUTES static void NAME(narrow_##B)(T const *x, npy_intp const *off, npy_intp K, T const *w, T const *bias,  \
                                            T *out, npy_intp apart) {                                                \
        H sum[B][8 / HL];                                                                                            \
        T buffer[8 * B];                                                                                             \
        EACH(b, B)                                                                                                   \
            EACH(q, 8 / HL) sum[b][q] = (H){0};                                                                      \
        for (npy_intp k = 0; k < K; k++, w += 8) {                                                                   \
            H factor = H_SPLAT(x[off[k]]);                                                                           \
            EACH(b, B)                                                                                               \
                EACH(q, 8 / HL) sum[b][q] = H_FMA(*(H const *)(w + b * 8 * K + q * HL), factor, sum[b][q]);          \
        }                                                                                                            \
        EACH(b, B)                                                                                                   \
            EACH(q, 8 / HL) {                                                                                        \
                if (bias) sum[b][q] += *(H const *)(bias + b * 8 + q * HL);                                          \
                *(H *)(buffer + b * 8 + q * HL) = sum[b][q];                                                         \
            }                                                                                                        \
        for (int r = 0; r < 8 * B; r++) out[r * apart] = buffer[r];                                                  \
    }
NARROW(1) NARROW(4)
#undef NARROW

/* Lanes low to high - 1 of what begins there, zeros for the others, where nothing is read. */
ATTRIBUTES static inline V NAME(load)(T const *from, npy_intp low, npy_intp high) {
    if (low <= 0 && high >= L) return *(V const *)from;
    low = low < 0 ? 0 : low, high = high > L ? L : high;
    return low < high ? LOAD(from, low, high) : (V){0};
}

/* The part of a group's input that a band of positions reads: planes [channel, phases, n, d, h, w], zeros for what lies
 * outside. */
ATTRIBUTES static void NAME(pack)(conv const *c, T const *x, T *to, npy_intp n0, npy_intp bn, npy_intp d0,
                                  npy_intp h0) {
    npy_intp const *step = c->in_step, *plane = c->plane, depth = c->in[0], height = c->in[1], length = c->in[2];
    npy_intp const width = plane[2], lines = plane[1], sw = step[2], sh = step[1];
    for (npy_intp i = 0; i < c->icg; i++)
        for (npy_intp pd = 0; pd < c->axes[0].phases; pd++)
            for (npy_intp ph = 0; ph < c->axes[1].phases; ph++)
                for (npy_intp pw = 0; pw < c->axes[2].phases; pw++) {
                    npy_intp const first = c->axes[2].first[pw], top = c->axes[1].first[ph] + h0 * sh;
                    for (npy_intp n = 0; n < bn; n++)
                        for (npy_intp d = 0; d < plane[0]; d++) {
                            npy_intp const z = c->axes[0].first[pd] + (d0 + d) * step[0];
                            npy_intp const image = ((n0 + n) * c->groups * c->icg + i) * depth + z;
                            T const *row = x + (image * height + top) * length + first;
                            for (npy_intp h = 0, y = top; h < lines; h++, y += sh, to += width, row += sh * length) {
                                /* Of what begins there, so much lies in the row. */
                                npy_intp low = -first, high = low;
                                T const *from = row;
                                if (z >= 0 && z < depth && y >= 0 && y < height) high = length - first;
                                if (sw > 2) {
                                    for (npy_intp w = 0; w < width; w++) to[w] = w * sw >= low && w * sw < high ? from[w * sw] : 0;
                                    continue;
                                }
                                for (npy_intp w = 0; w < width; w += L, from += sw * L, low -= sw * L, high -= sw * L) {
                                    V v = NAME(load)(from, low, high);
                                    if (sw == 2) v = EVENS(v, NAME(load)(from + L, low - L, high - L));
                                    if (w + L <= width) *(V *)(to + w) = v;
                                    else STORE(to + w, 0, width - w, (T const *)&v);
                                }
                            }
                        }
                    to += (c->cn - bn) * plane[0] * lines * width;
                }
}

/* Cuts positions into vectors: ``level``s of (count, distance in the planes, distance in the output), outermost first,
 * the last one with distance 1 in the planes. ``K``: of how many products a sum is. */
static npy_intp NAME(cut)(conv const *c, npy_intp (*level)[3], int levels, npy_intp K, vectors *v) {
    /* Join levels that lie one behind the other. */
    for (int k = levels - 1; k > 0; k--)
        if (level[k - 1][0] == 1 || (level[k - 1][1] == level[k][0] * level[k][1] && level[k - 1][2] == level[k][0] * level[k][2])) {
            level[k - 1][0] *= level[k][0], level[k - 1][1] = level[k][1], level[k - 1][2] = level[k][2];
            for (int j = k; j < levels - 1; j++) memcpy(level[j], level[j + 1], sizeof(level[j]));
            levels--;
        }
    npy_intp const *inner = level[levels - 1], one[3] = {1, 0, 0};
    npy_intp const *row = levels > 1 ? level[levels - 2] : one;
    npy_intp const *mid = levels > 2 ? level[levels - 3] : one, *top = levels > 3 ? level[levels - 4] : one;
    npy_intp length = inner[0], rows = row[0], apart = rows > 1 ? row[1] : length;
    npy_intp flat = (rows - 1) * apart + length;
    npy_intp by_row = rows * ((length + L - 1) / L), together = (flat + L - 1) / L;
    /* Vectors that cross from row to row compute what lies between, and are stored in parts, which takes as long as some
     * 20 products. */
    int across = (c->direct && length < L) || together * (K + 24) < by_row * (K + 4);
    npy_intp count = 0, parts = 0;
    v->end = 0;
    for (npy_intp a = 0; a < top[0]; a++)
        for (npy_intp b = 0; b < mid[0]; b++)
            for (npy_intp r = 0; r < (across ? 1 : rows); r++) {
                npy_intp in = a * top[1] + b * mid[1] + r * row[1], out = a * top[2] + b * mid[2] + r * row[2];
                npy_intp end = across ? flat : length, line = 0, column = 0;
                for (npy_intp p = 0; p < end; p += L) {
                    /* Nothing is read behind the end where what lies there is not ours. */
                    npy_intp start = end - p < L && end >= L ? end - L : p;
                    v->at[count] = in + start;
                    v->first[count++] = (int32_t)parts;
                    for (npy_intp q = p; q < p + L && q < end;) {
                        npy_intp n = apart - column, left = p + L < end ? p + L - q : end - q;
                        if (!across) n = left;
                        if (n > left) n = left;
                        npy_intp valid = across && column + n > length ? length - column : n;
                        if (valid > 0) {
                            part *s = v->parts + parts++;
                            s->lane = (int32_t)(q - start), s->count = (int32_t)valid;
                            s->out = out + (across ? line * row[2] : 0) + column * inner[2];
                            /* One behind the other, or not. */
                            v->end = v->end == s->out ? s->out + s->count : -1;
                        }
                        q += n, column += n;
                        if (across && column == apart) column = 0, line++;
                    }
                }
            }
    v->first[count] = (int32_t)parts;
    return count;
}

/* What n vectors read for so many taps, as [taps, n, L]. */
#define COPY(N)                                                                                                      \
    for (npy_intp k = 0; k < taps; k++, to += N * L) {                                                               \
        T const *from = x + off[k];                                                                                  \
        for (int q = 0; q < N; q++) *(V *)(to + q * L) = *(V const *)(from + at[q]);                                 \
    }
ATTRIBUTES static void NAME(panel)(T const *x, npy_intp const *off, npy_intp taps, npy_intp const *at, int n, T *to) {
    if (n == 3) COPY(3)
    else if (n == 2) COPY(2)
    else COPY(1)
}
#undef COPY

/* All channels of a group at the vectors of a band. */
ATTRIBUTES static void NAME(multiply)(conv const *c, T const *x, npy_intp const *off, npy_intp K, T const *w,
                                      T const *bias, vectors const *v, npy_intp count, T *partial, T *out, npy_intp out_step) {
    npy_intp const apart = c->out[0] * c->out[1] * c->out[2];
    T buffer[8 * 8 * L];
    __attribute__((aligned(64))) T panel[3 * CONV_PART * L];
    npy_intp const rows_of[3] = {0, L, 2 * L};
    npy_intp along[CONV_PART], done = 0;
    int wide = 0; /* of how many vectors ``along`` says where their taps are in the panel */
    if (count == 1 && conv_positions(v) <= 4) /* too few for vectors of them */
        for (npy_intp rows; c->ocg - done >= 8; done += rows) {
            rows = c->ocg - done >= 32 ? 32 : 8;
            for (int32_t p = 0; p < v->first[1]; p++)
                for (int j = 0; j < v->parts[p].count; j++)
                    (rows == 32 ? NAME(narrow_4) : NAME(narrow_1))(
                        x + v->at[0] + v->parts[p].lane + j, off, K, w + done * K, bias ? bias + done : NULL,
                        out + done * apart + v->parts[p].out + j * out_step, apart);
        }
    int const widest = c->ocg >= 4 ? 3 : c->ocg >= 2 ? 4 : 8;
    /* So much of the sums at a time that what a tile reads stays in a first-level cache while all channels use it, and the
     * weights of that part in a second-level one for the tiles of a group. */
    npy_intp const turns = K > CONV_PART ? (K + CONV_PART - 1) / CONV_PART : 1, part_size = (K + turns - 1) / turns;
    for (npy_intp group = 0; group < count; group += CONV_GROUP)
        for (npy_intp turn = 0; turn < turns; turn++) {
            npy_intp const k = turn * part_size, size = turn == turns - 1 ? K - k : part_size;
            npy_intp const end = group + CONV_GROUP < count ? group + CONV_GROUP : count;
            for (npy_intp first = group; first < end;) {
                int n = (int)(end - first < widest ? end - first : widest);
                if (n == 3 && end - first == 4) n = 2;
                if (n > 4 && n < 8) n = 4;
                T *target[8], *to[8], *sums = partial + (first - group) * L * c->ocg;
                int whole = out_step == 1;
                for (int q = 0; q < n; q++) {
                    int32_t p = v->first[first + q];
                    part const *s = v->parts + p;
                    /* What goes beyond a part is written anew by those behind it. */
                    if (v->first[first + q + 1] != p + 1 || (s->count != L && (s->lane || s->out + L > v->end))) whole = 0;
                    else target[q] = out + s->out;
                }
                T const *source = x;
                npy_intp const *taps = off + k, *at = v->at + first;
                if (c->ocg - done >= CONV_MANY && n <= 3) { /* neighbours, for as many channels as there are */
                    NAME(panel)(x, taps, size, at, n, panel);
                    if (wide != n)
                        for (npy_intp j = 0; j < CONV_PART; j++) along[j] = j * n * L;
                    wide = n, source = panel, taps = along, at = rows_of;
                }
                for (npy_intp r = done, rows; r < c->ocg; r += rows, sums += rows * n * L) {
                    npy_intp left = c->ocg - r;
                    int kind = left >= ROWS ? (ROWS == 8 ? 3 : 2) : left >= 4 ? 2 : left >= 2 ? 1 : 0;
                    rows = 1 << kind;
                    /* The block of the weights, and the channel in it. */
                    npy_intp ld = (r & ~(npy_intp)7) + 8 <= c->ocg ? 8 : rows, inside = ld == 8 ? r & 7 : 0;
                    npy_intp apart_here = n * L;
                    T const *shift = bias ? bias + r : NULL;
                    if (turn < turns - 1) {
                        for (int q = 0; q < n; q++) to[q] = sums + q * L;
                        shift = NULL;
                    } else if (whole) {
                        for (int q = 0; q < n; q++) to[q] = target[q] + r * apart;
                        apart_here = apart;
                    } else {
                        for (int q = 0; q < n; q++) to[q] = buffer + q * L;
                    }
                    NAME(tiles)[kind][n](source, taps, size, w + (r - inside) * K + k * ld + inside, ld, at,
                                         turn ? sums : NULL, shift, to, apart_here);
                    if (whole || turn < turns - 1) continue;
                    for (int q = 0; q < n; q++)
                        for (int32_t p = v->first[first + q]; p < v->first[first + q + 1]; p++) {
                            part const *s = v->parts + p;
                            for (int i = 0; i < rows; i++) {
                                T const *from = buffer + i * n * L + q * L;
                                T *place = out + (r + i) * apart + s->out;
                                if (out_step == 1)
                                    STORE(place, s->lane, s->count, from);
                                else
                                    for (int j = 0; j < s->count; j++) place[j * out_step] = from[s->lane + j];
                            }
                        }
                }
                first += n;
            }
        }
}

/* A channel that is summed by itself, at R rows and Q vectors of each: rows are ``pitch`` apart in the plane. The same sums as
 * in tiles. */
#define DEPTH(R, Q)                                                                                                  \
    ATTRIBUTES static inline void NAME(depth_##R##_##Q)(T const *x, npy_intp pitch, npy_intp const *off, npy_intp K, \
                                                        T const *w, T const *bias, T *out, npy_intp width,           \
                                                        npy_intp count) {                                            \
        V sum[R][Q];                                                                                                 \
        EACH(r, R)                                                                                                   \
            EACH(q, Q) sum[r][q] = (V){0};                                                                           \
        for (npy_intp k = 0; k < K; k++) {                                                                           \
            T const *from = x + off[k];                                                                              \
            V factor = SPLAT(w[k]);                                                                                  \
            EACH(r, R)                                                                                               \
                EACH(q, Q) sum[r][q] = FMA(factor, *(V const *)(from + r * pitch + q * L), sum[r][q]);               \
        }                                                                                                            \
        EACH(r, R)                                                                                                   \
            EACH(q, Q) {                                                                                             \
                if (bias) sum[r][q] += SPLAT(*bias);                                                                 \
                if (count >= L) *(V *)(out + r * width + q * L) = sum[r][q];                                         \
                else STORE(out + r * width, 0, count, (T const *)&sum[r][q]);                                        \
            }                                                                                                        \
    }
DEPTH(4, 2) DEPTH(4, 1) DEPTH(1, 4) DEPTH(1, 1)
#undef DEPTH
#undef EACH

/* ``rows`` rows of ``width`` outputs. The last vector of a row begins earlier, where the row has room for one. */
ATTRIBUTES static void NAME(depth)(T const *x, npy_intp pitch, npy_intp const *off, npy_intp K, T const *w, T const *bias,
                                   T *out, npy_intp rows, npy_intp width) {
    npy_intp const last = width > L ? width - L : 0;
    for (npy_intp r = 0, many; r < rows; r += many, x += many * pitch, out += many * width) {
        many = rows - r >= 4 ? 4 : 1;
        for (npy_intp p = 0; p < width;) {
            if (many == 4 && p + 2 * L <= width) NAME(depth_4_2)(x + p, pitch, off, K, w, bias, out + p, width, L), p += 2 * L;
            else if (many == 1 && p + 4 * L <= width) NAME(depth_1_4)(x + p, pitch, off, K, w, bias, out + p, width, L), p += 4 * L;
            else {
                npy_intp const at = p < last ? p : last;
                if (many == 4) NAME(depth_4_1)(x + at, pitch, off, K, w, bias, out + at, width, width);
                else NAME(depth_1_1)(x + at, pitch, off, K, w, bias, out + at, width, width);
                p += L;
            }
        }
    }
}

/* Weights [ocg, kernel] of a group as tiles read them: blocks of 8, 4, 2, 1 channels, [taps, channels] each. */
ATTRIBUTES static void NAME(gather)(conv const *c, residue const *r, T const *w, npy_intp K, T *to) {
    npy_intp const kernel = c->kernel[0] * c->kernel[1] * c->kernel[2];
    for (npy_intp m = 0, rows; m < c->ocg; m += rows, to += rows * K) {
        rows = c->ocg - m >= 8 ? 8 : c->ocg - m >= 4 ? 4 : c->ocg - m >= 2 ? 2 : 1;
        for (npy_intp k = 0; k < rows; k++) {
            T *next = to + k;
            T const *from = w + (m + k) * c->icg * kernel;
            for (npy_intp i = 0; i < c->icg; i++, from += kernel)
                for (npy_intp a = 0; a < r[0].taps; a++)
                    for (npy_intp b = 0; b < r[1].taps; b++)
                        for (npy_intp e = 0; e < r[2].taps; e++, next += rows)
                            *next = from[(r[0].tap[3 * a] * c->kernel[1] + r[1].tap[3 * b]) * c->kernel[2] +
                                         r[2].tap[3 * e]];
        }
    }
}

ATTRIBUTES static int NAME(run)(loopdbg_call *call, conv *c) {
    T const *x = (T const *)LOOPDBG_ARG(call, 0), *w = (T const *)LOOPDBG_ARG(call, 1);
    T const *bias = c->bias ? (T const *)LOOPDBG_ARG(call, 2) : NULL;
    T *out = (T *)LOOPDBG_ARG(call, c->result);
    char *scratch = LOOPDBG_ARG(call, c->result + 1);
    T *packed = (T *)(scratch + c->packed), *gathered = (T *)(scratch + c->gathered), *partial = (T *)(scratch + c->partial);
    npy_intp *off = (npy_intp *)(scratch + c->off);
    vectors v = {(npy_intp *)(scratch + c->at), (int32_t *)(scratch + c->first), (part *)(scratch + c->parts)};
    npy_intp const *plane = c->plane, *o = c->out;
    npy_intp const in_whole = c->in[0] * c->in[1] * c->in[2], out_whole = o[0] * o[1] * o[2];
    npy_intp const kernel = c->kernel[0] * c->kernel[1] * c->kernel[2];
    npy_intp const one = plane[0] * plane[1] * plane[2]; /* a plane */
    npy_intp const phases = c->axes[0].phases * c->axes[1].phases * c->axes[2].phases;
    npy_intp const channel = c->direct ? in_whole : phases * c->cn * one;
    npy_intp const image = c->direct ? c->groups * c->icg * in_whole : one;
    int jobs = 1;
    for (int a = 0; a < 3; a++) jobs *= (int)c->axes[a].residues;
    for (npy_intp n0 = 0; n0 < c->n; n0 += c->cn)
        for (npy_intp d0 = 0; d0 < c->most[0]; d0 += c->cd)
            for (npy_intp h0 = 0; h0 < c->most[1]; h0 += c->ch) {
                npy_intp bn = c->n - n0 < c->cn ? c->n - n0 : c->cn, count = 0, K = 0;
                for (npy_intp g = 0; g < c->groups; g++) {
                    T const *from = x + (n0 * c->groups + g) * c->icg * in_whole, *blocks = w;
                    if (!c->direct) NAME(pack)(c, x + g * c->icg * in_whole, packed, n0, bn, d0, h0), from = packed;
                    for (int job = 0; job < jobs; job++, blocks += c->groups * c->ocg * K) {
                        residue r[3];
                        npy_intp n[3];
                        conv_residues(c, job, r);
                        K = c->icg * r[0].taps * r[1].taps * r[2].taps;
                        n[0] = r[0].count - d0 < c->cd ? r[0].count - d0 : c->cd;
                        n[1] = r[1].count - h0 < c->ch ? r[1].count - h0 : c->ch;
                        n[2] = r[2].count;
                        if (n[0] <= 0 || n[1] <= 0 || n[2] <= 0) continue;
                        int const alone = c->icg == 1 && c->ocg == 1 && jobs == 1 && !(c->direct && n[2] < L);
                        if (alone && g == 0) conv_offsets(c, r, channel, c->cn * one, off);
                        else if (!alone && (g == 0 || jobs > 1)) {
                            npy_intp level[4][3] = {
                                {bn, image, c->groups * c->ocg * out_whole},
                                {n[0], plane[1] * plane[2], c->out_step[0] * o[1] * o[2]},
                                {n[1], plane[2], c->out_step[1] * o[2]},
                                {n[2], 1, c->out_step[2]},
                            };
                            count = NAME(cut)(c, level, 4, K, &v);
                            conv_offsets(c, r, channel, c->cn * one, off);
                        }
                        T const *weights = gathered;
                        if (c->blocks)
                            weights = blocks + g * c->ocg * K;
                        else if (jobs > 1 || c->groups > 1 || (!n0 && !d0 && !h0))
                            NAME(gather)(c, r, w + g * c->ocg * c->icg * kernel, K, gathered);
                        T *to = out + (n0 * c->groups + g) * c->ocg * out_whole +
                                ((r[0].start + d0 * c->out_step[0]) * o[1] + r[1].start + h0 * c->out_step[1]) * o[2] +
                                r[2].start;
                        if (alone) {
                            for (npy_intp b = 0; b < bn; b++)
                                for (npy_intp d = 0; d < n[0]; d++)
                                    NAME(depth)(from + b * image + d * plane[1] * plane[2], plane[2], off, K, weights,
                                                bias ? bias + g : NULL, to + b * c->groups * out_whole + d * o[1] * o[2],
                                                n[1], n[2]);
                            continue;
                        }
                        NAME(multiply)(c, from, off, K, weights, bias ? bias + g * c->ocg : NULL, &v, count, partial, to,
                                       c->out_step[2]);
                    }
                }
            }
    return 0;
}
#ifdef ODDS
#include "winograd.h"
#undef ODDS
#undef LOWER
#undef UPPER
#endif
#undef T
#undef V
#undef L
#undef FMA
#undef SPLAT
#undef STORE
#undef LOAD
#undef ATTRIBUTES
#undef NAME
#undef ROWS
#undef EVENS
#undef H
#undef HL
#undef H_FMA
#undef H_SPLAT
