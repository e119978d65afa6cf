/* 3 x 3 taps at stride 1 with four products where nine were: Winograd's F(2x2, 3x3). Included by conv_tiles.h, for floats.
 *
 * A tile is 2 x 2 outputs, which read 4 x 4 inputs: their transform, times that of the taps, added up over the channels, is
 * the transform of the outputs. So there are 16 products of matrices, [channels out, channels in] by [channels in, tiles].
 * All factors are powers of two: what small whole numbers give stays exact. A tile depends on the inputs of its own windows
 * alone, but of infinite ones it makes NaN: where anything is not finite, the caller computes everything as it stands. */

/* The taps [ocg, icg, 3, 3] as [ocg / 8, 4 x 4, icg, 8]; ops/convolution.py does the same, in the same order. */
ATTRIBUTES static void NAME(winograd_weights)(conv const *c, T const *w, T *to) {
    npy_intp const icg = c->icg;
    for (npy_intp m = 0; m < c->ocg; m++)
        for (npy_intp i = 0; i < icg; i++, w += 9) {
            T t[4][3], *next = to + (m / 8) * 16 * icg * 8 + i * 8 + m % 8;
            for (int j = 0; j < 3; j++) {
                T sum = w[j] + w[6 + j];
                t[0][j] = w[j], t[1][j] = (sum + w[3 + j]) * (T)0.5, t[2][j] = (sum - w[3 + j]) * (T)0.5, t[3][j] = w[6 + j];
            }
            for (int r = 0; r < 4; r++, next += 4 * icg * 8) {
                T sum = t[r][0] + t[r][2];
                next[0] = t[r][0], next[icg * 8] = (sum + t[r][1]) * (T)0.5;
                next[2 * icg * 8] = (sum - t[r][1]) * (T)0.5, next[3 * icg * 8] = t[r][2];
            }
        }
}

/* Lines first to last - 1 of tiles, of all images one after the other, as [4 x 4, vector, channel, L]. Each step is done for
 * all lines before the next one reads what it wrote: a wide read waits for narrower writes. */
ATTRIBUTES static void NAME(winograd_inputs)(conv const *c, winograd const *how, T const *x, npy_intp first, npy_intp last,
                                             T *planes, T *lines, T *to) {
    npy_intp const high = how->high, wide = how->wide, width = 2 * wide + 50, count = c->in[2], whole = c->in[1] * count;
    npy_intp const tiles = (last - first) * wide, vectors = (tiles + L - 1) / L, length = vectors * L + L;
    memset(planes, 0, (size_t)((2 * (last - first) + 2 * ((last - 1) / high - first / high + 1)) * width) * sizeof(T));
    memset(lines, 0, (size_t)(16 * length) * sizeof(T));
    for (npy_intp i = 0; i < c->icg; i++) {
        /* Rows with zeros around; a line shares two with the one above it. */
        for (npy_intp line = first; line < last; line++) {
            T const *image = x + (line / high * c->icg + i) * whole;
            T *row = planes + 2 * (line - first + line / high - first / high) * width + how->left;
            for (int k = line == first || line % high == 0 ? 0 : 2; k < 4; k++) {
                npy_intp const y = line % high * 2 - how->above + k;
                T const *from = image + y * count;
                T *next = row + k * width;
                if (y < 0 || y >= c->in[1]) continue;
                if (count < L) {
                    memcpy(next, from, (size_t)count * sizeof(T));
                    continue;
                }
                for (npy_intp w = 0; w + L < count; w += L) *(V *)(next + w) = *(V const *)(from + w);
                *(V *)(next + count - L) = *(V const *)(from + count - L);
            }
        }
        for (npy_intp line = first; line < last; line++) {
            T const *row = planes + 2 * (line - first + line / high - first / high) * width;
            for (npy_intp p = 0; p < wide; p += L) {
                V d[4][4];
                T *line_to = lines + (line - first) * wide + p;
                for (int k = 0; k < 4; k++) {
                    T const *at = row + k * width + 2 * p;
                    V a = *(V const *)at, b = *(V const *)(at + L), a2 = *(V const *)(at + 2), b2 = *(V const *)(at + L + 2);
                    V e = EVENS(a, b), o = ODDS(a, b), e2 = EVENS(a2, b2), o2 = ODDS(a2, b2);
                    d[k][0] = e - e2, d[k][1] = o + e2, d[k][2] = e2 - o, d[k][3] = o - o2;
                }
                /* Beyond the line: what the next one writes, or nobody reads. */
                for (int k = 0; k < 4; k++, line_to += length) {
                    *(V *)line_to = d[0][k] - d[2][k], *(V *)(line_to + 4 * length) = d[1][k] + d[2][k];
                    *(V *)(line_to + 8 * length) = d[2][k] - d[1][k], *(V *)(line_to + 12 * length) = d[1][k] - d[3][k];
                }
            }
        }
        for (npy_intp p = 0; p < vectors; p++)
            for (int e = 0; e < 16; e++)
                *(V *)(to + e * WINOGRAD_APART(vectors * c->icg * L) + (p * c->icg + i) * L) = *(V const *)(lines + e * length + p * L);
    }
}

/* 8 channels of outputs from their transforms [4 x 4, 8, tiles]; what is not finite makes ``bad`` NaN. */
ATTRIBUTES static void NAME(winograd_outputs)(conv const *c, winograd const *how, T const *from, T const *bias, T *out,
                                              npy_intp first, npy_intp last, T *rows, V *bad) {
    npy_intp const wide = how->wide, high = how->high, *o = c->out;
    npy_intp const size = ((last - first) * wide + L - 1) / L * L;
    for (int r = 0; r < 8; r++, from += size) {
        V const shift = SPLAT(bias ? bias[r] : 0);
        for (npy_intp p = 0; p < size; p += L) {
            V m[4][4], s[2][4];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) m[i][j] = *(V const *)(from + (i * 4 + j) * WINOGRAD_APART(8 * size) + p);
            for (int j = 0; j < 4; j++) {
                s[0][j] = (m[0][j] + m[1][j]) + m[2][j];
                s[1][j] = (m[1][j] - m[2][j]) - m[3][j];
            }
            for (int a = 0; a < 2; a++) {
                V y = ((s[a][0] + s[a][1]) + s[a][2]) + shift, z = ((s[a][1] - s[a][2]) - s[a][3]) + shift;
                *bad += (y - y) + (z - z);
                *(V *)(rows + a * 2 * size + 2 * p) = LOWER(y, z);
                *(V *)(rows + a * 2 * size + 2 * p + L) = UPPER(y, z);
            }
        }
        for (npy_intp line = first; line < last; line++)
            for (int a = 0; a < 2; a++) {
                npy_intp const y = line % high * 2 + a;
                if (y < o[1])
                    memcpy(out + ((line / high * c->ocg + r) * o[1] + y) * o[2],
                           rows + a * 2 * size + 2 * (line - first) * wide, (size_t)o[2] * sizeof(T));
            }
    }
}

/* False where something is not finite. ``ready``: the weights, transformed already. */
ATTRIBUTES static int NAME(winograd)(conv const *c, winograd const *how, T const *x, T const *w, T const *ready,
                                     T const *bias, T *out, char *scratch) {
    npy_intp const icg = c->icg, all = c->n * how->high, most = how->lines * how->wide, widest = (most + 15) / 16 * 16;
    /* In order, as winograd_scratch in ops/convolution.py counts them. */
    T *values = (T *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63);
    T *sums = values + 16 * WINOGRAD_APART(icg * widest), *lines = sums + 16 * WINOGRAD_APART(8 * widest), *rows = lines + 16 * (widest + 16);
    T *planes = rows + 4 * widest, *made = planes + (4 * how->lines + 2) * (2 * how->wide + 50);
    npy_intp *off = (npy_intp *)(((uintptr_t)(made + (ready ? 0 : 16 * icg * c->ocg)) + 7) & ~(uintptr_t)7);
    V bad = SPLAT(0);
    if (!ready) NAME(winograd_weights)(c, w, made), ready = made;
    for (npy_intp k = 0; k < icg; k++) off[k] = k * L;
    for (npy_intp first = 0; first < all; first += how->lines) {
        npy_intp const last = first + how->lines < all ? first + how->lines : all;
        npy_intp const vectors = ((last - first) * how->wide + L - 1) / L;
        NAME(winograd_inputs)(c, how, x, first, last, planes, lines, values);
        for (npy_intp m = 0; m < c->ocg; m += 8) {
            for (int e = 0; e < 16; e++)
                for (npy_intp p = 0, n; p < vectors; p += n) {
                    npy_intp at[3];
                    T *to[3];
                    n = vectors - p == 4 || vectors - p == 2 ? 2 : vectors - p < 3 ? 1 : 3;
                    for (int q = 0; q < n; q++) {
                        at[q] = e * WINOGRAD_APART(vectors * icg * L) + (p + q) * icg * L;
                        to[q] = sums + e * WINOGRAD_APART(8 * vectors * L) + (p + q) * L;
                    }
                    for (int r = 0; r < 8; r += ROWS) {
                        NAME(tiles)[ROWS == 8 ? 3 : 2][n](values, off, icg, ready + (m * 2 + e) * icg * 8 + r, 8, at, NULL,
                                                         NULL, to, vectors * L);
                        for (int q = 0; q < n; q++) to[q] += ROWS * vectors * L;
                    }
                }
            NAME(winograd_outputs)(c, how, sums, bias ? bias + m : NULL, out + m * c->out[1] * c->out[2], first, last, rows,
                                   &bad);
        }
    }
    for (int i = 0; i < L; i++)
        if (!(bad[i] == 0)) return 0;
    return 1;
}
