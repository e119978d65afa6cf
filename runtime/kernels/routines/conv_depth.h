/* Channels that are summed by themselves, as in depthwise convolutions; included by conv_tiles.h. */

/* R rows and Q vectors of each, ``apart`` elements from one to the next: rows are ``pitch`` apart in the plane. The same sums
 * as in tiles. What a vector goes beyond a row is written anew by the next ones, as long as they are there: ``left`` is how much
 * of the output is. */
#define EACH(i, N) _Pragma("GCC unroll 8") for (int i = 0; i < (N); i++)
#define DEPTH(R, Q)                                                                                                  \
    ATTRIBUTES static __attribute__((noinline)) void NAME(depth_##R##_##Q)(                                          \
        T const *x, npy_intp pitch, npy_intp const *off, npy_intp K, T const *w, T const *bias, T *out,              \
        npy_intp width, npy_intp apart, npy_intp left) {                                                             \
        V sum[R][Q];                                                                                                 \
        T const *from[R][Q];                                                                                         \
        EACH(r, R)                                                                                                   \
            EACH(q, Q) from[r][q] = x + r * pitch + q * apart, sum[r][q] = (V){0};                                   \
        for (npy_intp k = 0; k < K; k++) {                                                                           \
            npy_intp const o = off[k];                                                                               \
            V factor = SPLAT(w[k]);                                                                                  \
            EACH(r, R)                                                                                               \
                EACH(q, Q) sum[r][q] = FMA(factor, *(V const *)(from[r][q] + o), sum[r][q]);                         \
        }                                                                                                            \
        EACH(r, R)                                                                                                   \
            EACH(q, Q) {                                                                                             \
                if (bias) sum[r][q] += SPLAT(*bias);                                                                 \
                if (width >= L || left - r * width >= L) *(V *)(out + r * width + q * apart) = sum[r][q];            \
                else STORE(out + r * width, 0, width, (T const *)&sum[r][q]);                                        \
            }                                                                                                        \
    }
DEPTH(4, 2) DEPTH(4, 1) DEPTH(2, 2) DEPTH(2, 1) DEPTH(1, 4) DEPTH(1, 2) DEPTH(1, 1)
#undef DEPTH

/* 3 x 3 taps whose rows are neighbours in the plane: of four rows of outputs and more, which share what they read. */
ATTRIBUTES static __attribute__((noinline)) void NAME(depth_by_rows)(T const *x, npy_intp pitch, npy_intp const *off,
                                                                     T const *w, T const *bias, T *out, npy_intp rows,
                                                                     npy_intp width) {
    V factor[9];
    V const shift = SPLAT(bias ? *bias : 0);
    _Pragma("GCC unroll 9") for (int k = 0; k < 9; k++) factor[k] = SPLAT(w[k]);
    for (npy_intp done = 0; done < rows; done += 4) {
        npy_intp const row = done + 4 > rows ? rows - 4 : done;
        for (npy_intp p = 0; p < width; p += L) {
            npy_intp const at = p && p + L > width ? width - L : p;
            T const *from = x + row * pitch + at;
            T *to = out + row * width + at;
            V sum[4] = {{0}, {0}, {0}, {0}};
            EACH(m, 6)
                EACH(j, 3) {
                    V v = *(V const *)(from + m * pitch + off[j]);
                    EACH(r, 4)
                        if (m >= r && m < r + 3) sum[r] = FMA(factor[(m - r) * 3 + j], v, sum[r]);
                }
            EACH(r, 4) {
                if (bias) sum[r] += shift;
                if (width >= L || (rows - row - r) * width >= L) *(V *)(to + r * width) = sum[r];
                else STORE(to + r * width, 0, width, (T const *)&sum[r]);
            }
        }
    }
}
#undef EACH

/* ``rows`` rows of ``width`` outputs. The last vector of a row and the last rows begin earlier, where there is room. */
ATTRIBUTES static void NAME(depth)(T const *x, npy_intp pitch, npy_intp const *off, npy_intp K, T const *w, T const *bias,
                                   T *out, npy_intp rows, npy_intp width, int by_rows) {
    if (by_rows && rows >= 4) {
        NAME(depth_by_rows)(x, pitch, off, w, bias, out, rows, width);
        return;
    }
    npy_intp const many = rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
    for (npy_intp done = 0; done < rows; done += many) {
        npy_intp const r = done + many > rows ? rows - many : done;
        npy_intp const more = (rows - r) * width;
        T const *from = x + r * pitch;
        T *to = out + r * width;
        npy_intp p = 0, left = width;
        for (; many == 1 && left >= 4 * L; p += 4 * L, left -= 4 * L)
            NAME(depth_1_4)(from + p, pitch, off, K, w, bias, to + p, width, L, more);
        for (; left > 0; p += 2 * L, left -= 2 * L) {
            npy_intp const at = left < L && p ? width - L : p, apart = left >= 2 * L ? L : left - L;
            if (left > L) {
                if (many == 4) NAME(depth_4_2)(from + at, pitch, off, K, w, bias, to + at, width, apart, more);
                else if (many == 2) NAME(depth_2_2)(from + at, pitch, off, K, w, bias, to + at, width, apart, more);
                else NAME(depth_1_2)(from + at, pitch, off, K, w, bias, to + at, width, apart, more);
            } else {
                if (many == 4) NAME(depth_4_1)(from + at, pitch, off, K, w, bias, to + at, width, 0, more);
                else if (many == 2) NAME(depth_2_1)(from + at, pitch, off, K, w, bias, to + at, width, 0, more);
                else NAME(depth_1_1)(from + at, pitch, off, K, w, bias, to + at, width, 0, more);
            }
        }
    }
}

/* All channels; 0: they are not by themselves. Several are packed before they are read: a wide read waits for other writes to
 * what it reads. */
ATTRIBUTES static int NAME(depthwise)(conv const *c, T const *x, T const *w, T const *bias, T *out, T *packed, npy_intp *off) {
    npy_intp const *plane = c->plane, *o = c->out, in_slice = plane[1] * plane[2], out_slice = o[1] * o[2];
    residue r[3];
    conv_residues(c, 0, r);
    npy_intp const K = r[0].taps * r[1].taps * r[2].taps;
    /* Weights lie in order, if all of them are taken. */
    if (c->icg != 1 || c->ocg != 1 || (!c->blocks && K != c->kernel[0] * c->kernel[1] * c->kernel[2])) return 0;
    conv_offsets(c, r, off);
    int by_rows = K == 9 && r[2].taps == 3;
    for (int k = 3; k < 9 && by_rows; k++) by_rows = off[k] == off[k - 3] + plane[2];
    for (npy_intp n0 = 0; n0 < c->n; n0 += c->cn)
        for (npy_intp d0 = 0; d0 < o[0]; d0 += c->cd)
            for (npy_intp h0 = 0; h0 < o[1]; h0 += c->ch) {
                npy_intp const bn = c->n - n0 < c->cn ? c->n - n0 : c->cn;
                npy_intp const nd = o[0] - d0 < c->cd ? o[0] - d0 : c->cd, nh = o[1] - h0 < c->ch ? o[1] - h0 : c->ch;
                T const *from = x + n0 * c->groups * c->whole;
                T *to = out + n0 * c->groups * o[0] * out_slice + d0 * out_slice + h0 * o[2];
                for (npy_intp g = 0; g < c->groups; g++, to += o[0] * out_slice, from += c->channel) {
                    if (!c->direct && g % c->together == 0) {
                        npy_intp const many = c->groups - g < c->together ? c->groups - g : c->together;
                        NAME(pack)(c, x + g * c->whole, many, packed, n0, bn, d0, h0), from = packed;
                    }
                    for (npy_intp b = 0; b < bn; b++)
                        for (npy_intp d = 0; d < nd; d++)
                            NAME(depth)(from + b * c->image + d * in_slice, plane[2], off, K, w + g * K, bias ? bias + g : NULL,
                                        to + b * c->groups * o[0] * out_slice + d * out_slice, nh, o[2],
                                        by_rows);
                }
            }
    return 1;
}
