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

/* Four rows of inputs, transformed from top to bottom. */
ATTRIBUTES static inline void NAME(winograd_down)(T const *const *row, T *const *to, npy_intp n) {
    for (npy_intp i = 0; i < n; i += L) {
        V d[4], r[4];
        T some[4][L], out[4][L];
        int whole = n >= L;
        if (whole && i + L > n) i = n - L; /* the last ones, some of them once more */
        for (int k = 0; k < 4; k++) {
            if (!whole) memcpy(some[k], row[k], (size_t)n * sizeof(T)), memset(some[k] + n, 0, (size_t)(L - n) * sizeof(T));
            d[k] = *(V const *)(whole ? row[k] + i : some[k]);
        }
        r[0] = d[0] - d[2], r[1] = d[1] + d[2], r[2] = d[2] - d[1], r[3] = d[1] - d[3];
        for (int k = 0; k < 4; k++) {
            *(V *)(whole ? to[k] + i : out[k]) = r[k];
            if (!whole) memcpy(to[k], out[k], (size_t)n * sizeof(T));
        }
    }
}

/* Lines first to last - 1 of tiles, of all images one after the other, as [4 x 4, vector, channel, L]. */
ATTRIBUTES static void NAME(winograd_inputs)(conv const *c, winograd const *how, T const *x, npy_intp first, npy_intp last,
                                             T *planes, T *lines, T *to) {
    npy_intp const high = how->high, wide = how->wide, width = 2 * (wide + L) + 2 + L;
    npy_intp const tiles = (last - first) * wide, vectors = (tiles + L - 1) / L, length = vectors * L + L;
    npy_intp const column = how->left, count = c->in[2], whole = c->in[1] * c->in[2];
    T *plane[4], *inside[4], *zeros = planes + 4 * width;
    for (int k = 0; k < 4; k++) plane[k] = planes + k * width, inside[k] = plane[k] + column;
    memset(planes, 0, (size_t)(4 * width + count) * sizeof(T));
    memset(lines, 0, (size_t)(16 * length) * sizeof(T));
    for (npy_intp i = 0; i < c->icg; i++) {
        for (npy_intp line = first; line < last; line++) {
            T const *image = x + (line / high * c->icg + i) * whole, *row[4];
            npy_intp const t = (line - first) * wide;
            for (int k = 0; k < 4; k++) {
                npy_intp y = line % high * 2 - how->above + k;
                row[k] = y >= 0 && y < c->in[1] ? image + y * count : zeros;
            }
            NAME(winograd_down)(row, inside, count);
            for (int r = 0; r < 4; r++)
                for (npy_intp p = 0; p < wide; p += L) {
                    T const *at = plane[r] + 2 * p;
                    T *line_to = lines + 4 * r * length + t + p;
                    V a = *(V const *)at, b = *(V const *)(at + L), a2 = *(V const *)(at + 2), b2 = *(V const *)(at + L + 2);
                    V v0 = EVENS(a, b), v1 = ODDS(a, b), v2 = EVENS(a2, b2), v3 = ODDS(a2, b2);
                    /* Beyond the line: what the next one writes, or nobody reads. */
                    *(V *)line_to = v0 - v2, *(V *)(line_to + length) = v1 + v2;
                    *(V *)(line_to + 2 * length) = v2 - v1, *(V *)(line_to + 3 * length) = v1 - v3;
                }
        }
        for (int e = 0; e < 16; e++)
            for (npy_intp p = 0; p < vectors; p++)
                *(V *)(to + ((e * vectors + p) * c->icg + i) * L) = *(V const *)(lines + e * length + p * L);
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
                for (int j = 0; j < 4; j++) m[i][j] = *(V const *)(from + (i * 4 + j) * 8 * size + p);
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
    T *sums = values + 16 * icg * widest, *lines = sums + 16 * 8 * widest, *rows = lines + 16 * (widest + 16);
    T *planes = rows + 4 * widest, *made = planes + 4 * (2 * how->wide + 50) + c->in[2];
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
                        at[q] = ((e * vectors + p + q) * icg) * L;
                        to[q] = sums + (e * 8 * vectors + p + q) * L;
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
