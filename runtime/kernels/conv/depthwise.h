/* Depthwise convolutions; included by conv_tiles.h. */

/* R rows and Q vectors of each, vectors are `stride` elements apart, rows `pitch`. The sums of tiles. The
 * overrun of a vector beyond a row is overwritten by the next one, if any: `left` is the number of output elements from
 * here on. */
#define EACH(i, N) _Pragma("GCC unroll 8") for (int i = 0; i < (N); i++)
#define DEPTH(R, Q)                                                                                                  \
    static __attribute__((noinline)) void OWN(depth_##R##_##Q)(                                          \
        T const *x, npy_intp pitch, npy_intp const *off, npy_intp K, T const *w, T const *bias, T *out,              \
        npy_intp width, npy_intp stride, npy_intp left) {                                                            \
        V sum[R][Q];                                                                                                 \
        T const *from[R][Q];                                                                                         \
        EACH(r, R)                                                                                                   \
            EACH(q, Q) from[r][q] = x + r * pitch + q * stride, sum[r][q] = (V){0};                                  \
        for (npy_intp k = 0; k < K; k++) {                                                                           \
            npy_intp const o = off[k];                                                                               \
            V factor = SPLAT(w[k]);                                                                                  \
            EACH(r, R)                                                                                               \
                EACH(q, Q) sum[r][q] = FMA(factor, *(V const *)(from[r][q] + o), sum[r][q]);                         \
        }                                                                                                            \
        EACH(r, R)                                                                                                   \
            EACH(q, Q) {                                                                                             \
                if (bias) sum[r][q] += SPLAT(*bias);                                                                 \
                if (width >= L || left - r * width >= L) *(V *)(out + r * width + q * stride) = sum[r][q];           \
                else STORE(out + r * width, 0, width, (T const *)&sum[r][q]);                                        \
            }                                                                                                        \
    }
DEPTH(4, 2)
DEPTH(4, 1)
DEPTH(2, 2)
DEPTH(2, 1)
DEPTH(1, 4)
DEPTH(1, 2)
DEPTH(1, 1)
#undef DEPTH

/* A channel's input: rows are `pitch` elements apart, of which `height` x `width` are read and the others are zeros.
 * The first output's window begins at `top`, `left`. */
typedef struct {
    T const *x;
    npy_intp pitch, height, width, top, left;
} OWN(plane);

/* A vector of outputs in each row, with `taps` x `taps` taps: four rows that are `step` apart share their loads. The
 * sums of tiles. The overrun of a vector beyond a row is overwritten by the next one. Lanes outside of the input are
 * not read, unless all are `inside`. */
#define EVERY(i, N) _Pragma("GCC unroll 49") for (int i = 0; i < (N); i++)
#define DEPTH_READ(k) (step == 1 ? (k) : ((k) & ~1) + ((k) & 1) * L)
static inline __attribute__((always_inline)) void OWN(depth_column)(OWN(plane) const in, npy_intp column, V const *factor,
                                                                    T const *bias, T *out, npy_intp rows, npy_intp width,
                                                                    int const taps, int const step, int const inside) {
    int const reads = taps + step - 1;
    V const shift = SPLAT(bias ? *bias : 0);
#ifdef MASK
    MASK mask[7];
    if (!inside) EVERY(k, reads) mask[k] = LANES(-column - DEPTH_READ(k), in.width - column - DEPTH_READ(k));
#endif
    for (npy_intp done = 0; done < rows; done += 4) {
        npy_intp const row = done + 4 > rows ? rows - 4 : done, line = row * step + in.top;
        T const *from = in.x + line * in.pitch + column;
        T *to = out + row * width;
        V sum[4];
        EACH(r, 4) sum[r] = (V){0};
        EVERY(m, 3 * step + taps) {
            V read[7];
            EVERY(k, reads) read[k] = (V){0};
            if (line + m >= 0 && line + m < in.height) {
#ifdef MASK
                if (!inside) EVERY(k, reads) read[k] = MASKED(from + DEPTH_READ(k), mask[k]);
                else
#endif
                    EVERY(k, reads) read[k] = *(V const *)(from + DEPTH_READ(k));
            }
            from += in.pitch;
            EVERY(j, taps) {
                V v = step == 1 ? read[j] : j % 2 ? ODDS(read[j - 1], read[j]) : EVENS(read[j], read[j + 1]);
                EVERY(r, 4)
                if (m >= r * step && m < r * step + taps) sum[r] = FMA(factor[(m - r * step) * taps + j], v, sum[r]);
            }
        }
        EACH(r, 4) {
            V y = sum[r];
            if (bias) y += shift;
            if (width >= L || (rows - row - r) * width >= L) *(V *)(to + r * width) = y;
            else STORE(to + r * width, 0, width, (T const *)&y);
        }
    }
}

/* Channels whose inputs are `whole` elements apart. */
INLINE void OWN(depth_rows)(OWN(plane) in, npy_intp channels, npy_intp whole, T const *w, T const *bias, T *out, npy_intp rows,
                            npy_intp width, int const taps, int const step) {
    for (npy_intp i = 0; i < channels; i++, in.x += whole, w += taps * taps, bias += bias ? 1 : 0, out += rows * width) {
        V factor[49];
        EVERY(k, taps * taps) factor[k] = SPLAT(w[k]);
        for (npy_intp p = 0; p < width; p += L) {
            npy_intp const start = p && p + L > width ? width - L : p, column = start * step + in.left;
#ifdef MASK
            if (column < 0 || column + DEPTH_READ(taps + step - 2) + L > in.width)
                OWN(depth_column)(in, column, factor, bias, out + start, rows, width, taps, step, 0);
            else
#endif
                OWN(depth_column)(in, column, factor, bias, out + start, rows, width, taps, step, 1);
        }
    }
}
#undef DEPTH_READ
#undef EVERY
#define DEPTH(TAPS, STEP)                                                                                            \
    static __attribute__((noinline)) void OWN(depth_rows_##TAPS##_##STEP)(                               \
        OWN(plane) const *in, npy_intp channels, npy_intp whole, T const *w, T const *bias, T *out, npy_intp rows,  \
        npy_intp width) {                                                                                            \
        OWN(depth_rows)(*in, channels, whole, w, bias, out, rows, width, TAPS, STEP);                               \
    }
DEPTH(3, 1)
DEPTH(5, 1)
DEPTH(7, 1)
#ifdef MASK
DEPTH(3, 2)
DEPTH(5, 2)
#endif
#undef DEPTH
#undef EACH

/* `rows` rows of `width` outputs. The last vector of a row and the last rows begin earlier, if there are enough. */
static void OWN(depth)(T const *x, npy_intp pitch, npy_intp const *off, npy_intp K, T const *w, T const *bias, T *out,
                       npy_intp rows, npy_intp width) {
    npy_intp const many = rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
    for (npy_intp done = 0; done < rows; done += many) {
        npy_intp const r = done + many > rows ? rows - many : done;
        npy_intp const more = (rows - r) * width;
        T const *from = x + r * pitch;
        T *to = out + r * width;
        npy_intp p = 0, left = width;
        for (; many == 1 && left >= 4 * L; p += 4 * L, left -= 4 * L)
            OWN(depth_1_4)(from + p, pitch, off, K, w, bias, to + p, width, L, more);
        for (; left > 0; p += 2 * L, left -= 2 * L) {
            npy_intp const start = left < L && p ? width - L : p, stride = left >= 2 * L ? L : left - L;
            if (left > L) {
                if (many == 4) OWN(depth_4_2)(from + start, pitch, off, K, w, bias, to + start, width, stride, more);
                else if (many == 2) OWN(depth_2_2)(from + start, pitch, off, K, w, bias, to + start, width, stride, more);
                else OWN(depth_1_2)(from + start, pitch, off, K, w, bias, to + start, width, stride, more);
            } else {
                if (many == 4) OWN(depth_4_1)(from + start, pitch, off, K, w, bias, to + start, width, 0, more);
                else if (many == 2) OWN(depth_2_1)(from + start, pitch, off, K, w, bias, to + start, width, 0, more);
                else OWN(depth_1_1)(from + start, pitch, off, K, w, bias, to + start, width, 0, more);
            }
        }
    }
}

/* Selects the function for rows that share loads, and sets the plane but for its address; NULL: none. With masked loads
 * the input needs no padded copy. */
typedef void (*OWN(sharing))(OWN(plane) const *, npy_intp, npy_intp, T const *, T const *, T *, npy_intp, npy_intp);
static OWN(sharing) OWN(depth_shared)(conv const *c, residue const *r, OWN(plane) * in) {
    npy_intp const taps = r[2].taps, step = c->in_step[2];
    npy_intp begin[3] = {0, 0, 0};
    for (int a = 0; a < 3; a++)
        for (npy_intp k = 0; k < r[a].taps; k++) {
            int64_t const *tap = r[a].tap + 3 * k;
            npy_intp const position = c->axes[a].first[tap[1]] + tap[2] * c->in_step[a];
            if (!k) begin[a] = position;
            if (position != begin[a] + k) return NULL;
        }
    if (c->out[1] < 4 || r[0].taps != 1 || r[1].taps != taps || c->in_step[1] != step) return NULL;
#ifdef MASK
    if (c->in[0] != 1 || c->out[0] != 1 || begin[0]) return NULL;
    *in = (OWN(plane)){NULL, c->in[2], c->in[1], c->in[2], begin[1], begin[2]};
    if (step == 2) return taps == 3 ? OWN(depth_rows_3_2) : taps == 5 ? OWN(depth_rows_5_2) : NULL;
#else
    *in = (OWN(plane)){NULL, c->plane[2], c->plane[1], c->plane[2], 0, 0};
#endif
    if (step != 1) return NULL;
    return taps == 3 ? OWN(depth_rows_3_1) : taps == 5 ? OWN(depth_rows_5_1) : taps == 7 ? OWN(depth_rows_7_1) : NULL;
}

/* Depthwise channels, cut into tasks of `most` channels of an image, `stretches` per image. Planes are packed into each
 * worker's own memory, several before they are read: a load wider than preceding stores stalls. */
typedef struct {
    conv const *c;
    T const *x, *w, *bias;
    T *out, *packed;
    npy_intp const *off;
    npy_intp K, most, stretches;
    OWN(sharing) shared;
    OWN(plane) plane;
} OWN(depths);

#ifdef MASK
static void OWN(depth_in_place)(void const *what, npy_intp piece, int worker) {
    OWN(depths) const *job = (OWN(depths) const *)what;
    conv const *c = job->c;
    npy_intp const g = piece % job->stretches * job->most, channel = piece / job->stretches * c->groups + g;
    OWN(plane) in = job->plane;
    (void)worker;
    in.x = job->x + channel * c->whole;
    job->shared(&in, c->groups - g < job->most ? c->groups - g : job->most, c->whole, job->w + g * job->K,
                job->bias ? job->bias + g : NULL, job->out + channel * c->out[1] * c->out[2], c->out[1], c->out[2]);
}
#endif

static void OWN(depth_packed)(void const *what, npy_intp piece, int worker) {
    OWN(depths) const *job = (OWN(depths) const *)what;
    conv const *c = job->c;
    npy_intp const *plane = c->plane, *o = c->out, in_slice = plane[1] * plane[2], out_slice = o[1] * o[2];
    npy_intp const low = piece * job->most, high = low + job->most < c->groups ? low + job->most : c->groups;
    T *packed = (T *)((char *)job->packed + worker * c->packed_apart);
    OWN(plane) in = job->plane;
    for (npy_intp n0 = 0; n0 < c->n; n0 += c->cn)
        for (npy_intp d0 = 0; d0 < o[0]; d0 += c->cd)
            for (npy_intp h0 = 0; h0 < o[1]; h0 += c->ch) {
                npy_intp const bn = c->n - n0 < c->cn ? c->n - n0 : c->cn;
                npy_intp const nd = o[0] - d0 < c->cd ? o[0] - d0 : c->cd, nh = o[1] - h0 < c->ch ? o[1] - h0 : c->ch;
                T const *from = job->x + (n0 * c->groups + low) * c->whole;
                T *to = job->out + (n0 * c->groups + low) * o[0] * out_slice + d0 * out_slice + h0 * o[2];
                for (npy_intp g = low; g < high; g++, to += o[0] * out_slice, from += c->channel) {
                    if (!c->direct && (g - low) % c->together == 0) {
                        npy_intp const many = high - g < c->together ? high - g : c->together;
                        OWN(pack)(c, job->x + g * c->whole, many, packed, n0, bn, d0, h0), from = packed;
                    }
                    for (npy_intp b = 0; b < bn; b++)
                        for (npy_intp d = 0; d < nd; d++) {
                            T const *shift = job->bias ? job->bias + g : NULL;
                            T *dst = to + b * c->groups * o[0] * out_slice + d * out_slice;
                            in.x = from + b * c->image + d * in_slice;
                            if (job->shared && nh >= 4) job->shared(&in, 1, 0, job->w + g * job->K, shift, dst, nh, o[2]);
                            else OWN(depth)(in.x, plane[2], job->off, job->K, job->w + g * job->K, shift, dst, nh, o[2]);
                        }
                }
            }
}

/* All channels; 0: not depthwise. */
static int OWN(depthwise)(conv const *c, T const *x, T const *w, T const *bias, T *out, T *packed, npy_intp *off) {
    OWN(depths) job = {c, x, w, bias, out, packed, off, 0, c->groups, 1, NULL, {0}};
    residue r[3];
#ifdef NARROWER
    if (c->out[2] <= L / 2) return NARROWER(c, x, w, bias, out, packed, off);
#endif
    conv_residues(c, 0, r);
    job.K = r[0].taps * r[1].taps * r[2].taps;
    /* Weights are in order, if all of them are used. */
    if (c->icg != 1 || c->ocg != 1 || (!c->blocks && job.K != c->kernel[0] * c->kernel[1] * c->kernel[2])) return 0;
    /* They read as much as they compute. */
    double const work = 4.0 * (double)(job.K * c->n * c->groups) * (double)(c->out[0] * c->out[1] * c->out[2]);
    if (conv_shares(c, work)) job.most = loopdbg_items_per_task(c->groups, 4);
    job.stretches = loopdbg_task_count(c->groups, job.most);
    job.shared = OWN(depth_shared)(c, r, &job.plane);
#ifdef MASK
    if (job.shared) {
        loopdbg_parallel_for(OWN(depth_in_place), &job, c->n * job.stretches, work, 0);
        return 1;
    }
#endif
    conv_offsets(c, r, off);
    loopdbg_parallel_for(OWN(depth_packed), &job, job.stretches, work, 0);
    return 1;
}
