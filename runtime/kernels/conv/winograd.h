/* 3 x 3 taps at stride 1 with four products instead of nine: Winograd's F(2x2, 3x3). Included by conv_tiles.h.
 *
 * A tile is 2 x 2 outputs, which read 4 x 4 inputs: their transform, times that of the taps, summed over the channels,
 * is the transform of the outputs: 16 products of matrices, [channels out, channels in] by [channels in, tiles]. All
 * factors are powers of two: small integers stay exact. A tile depends only on the inputs of its own windows, but
 * infinite ones give NaN: if anything is not finite, the caller computes everything directly. */

/* Distance of channels in floats: one spare vector for the overrun of an image's tiles, and an odd number of vectors,
 * so that channels do not map to one cache set. */
#define WINOGRAD_ROW(vectors) ((((vectors) + 1) | 1) * L)

/* Transform lines first to last - 1 of tiles, of all images in order, to [4 x 4, channel, tiles], for some channels.
 * Each step completes an image before the next one reads its results: a load wider than the stores before it stalls. */
static void OWN(winograd_inputs)(conv const *c, winograd const *grid, T const *x, npy_intp low, npy_intp below, npy_intp first,
                                 npy_intp last, T *plane, T *lines, T *to) {
    npy_intp const down = grid->down, across = grid->across, width = 2 * across + 50, count = c->in[2],
                   whole = c->in[1] * count;
    npy_intp const vectors = ((last - first) * across + L - 1) / L, length = (last - first + 1) * across + 2 * L;
    npy_intp const apart = WINOGRAD_APART(WINOGRAD_ROW(vectors) * c->icg);
    memset(plane, 0, (size_t)(2 * (last - first + 1) * width) * sizeof(T));
    memset(lines, 0, (size_t)(8 * length) * sizeof(T));
    for (npy_intp image = first / down, begin = first, end; begin < last; image++, begin = end) {
        end = (image + 1) * down < last ? (image + 1) * down : last;
        npy_intp const rows = 2 * (end - begin) + 2, top = 2 * (begin - image * down) - grid->above;
        /* Zeros above and below, where another image had numbers. */
        if (begin != first)
            for (npy_intp k = 0; k < rows; k++)
                if (top + k < 0 || top + k >= c->in[1]) memset(plane + k * width, 0, (size_t)width * sizeof(T));
        for (npy_intp i = low; i < below; i++) {
            T const *from = x + (image * c->icg + i) * whole + top * count, *source = plane, *d = lines;
            T *row = plane + grid->left, *next = to + i * WINOGRAD_ROW(vectors) + (begin - first) * across;
            for (npy_intp k = 0; k < rows; k++, from += count, row += width) {
                if (top + k < 0 || top + k >= c->in[1]) continue;
                if (count < L) {
                    for (npy_intp w = 0; w < count; w++) row[w] = from[w];
                    continue;
                }
                for (npy_intp w = 0; w + L < count; w += L) *(V *)(row + w) = *(V const *)(from + w);
                *(V *)(row + count - L) = *(V const *)(from + count - L);
            }
            /* Along rows: even ones, then odd ones. The next line overwrites the overrun of a line. */
            for (npy_intp line = 0; 2 * line < rows; line++)
                for (int k = 0; k < 2; k++, source += width)
                    for (npy_intp p = 0; p < across; p += L) {
                        V u = *(V const *)(source + 2 * p), v = *(V const *)(source + 2 * p + L);
                        V u2 = *(V const *)(source + 2 * p + 2), v2 = *(V const *)(source + 2 * p + L + 2);
                        V e = EVENS(u, v), o = ODDS(u, v), e2 = EVENS(u2, v2), o2 = ODDS(u2, v2);
                        T *line_to = lines + k * 4 * length + line * across + p;
                        *(V *)line_to = e - e2, *(V *)(line_to + length) = o + e2;
                        *(V *)(line_to + 2 * length) = e2 - o, *(V *)(line_to + 3 * length) = o - o2;
                    }
            /* Across rows: tiles of all lines are contiguous. */
            npy_intp const tiles = end == last ? vectors * L - (begin - first) * across : (end - begin) * across;
            for (npy_intp p = 0; p < tiles; p += L, d += L, next += L)
                for (int j = 0; j < 4; j++) {
                    T const *even = d + j * length, *odd = even + 4 * length;
                    V d0 = *(V const *)even, d1 = *(V const *)odd, d2 = *(V const *)(even + across),
                      d3 = *(V const *)(odd + across);
                    *(V *)(next + j * apart) = d0 - d2, *(V *)(next + (4 + j) * apart) = d1 + d2;
                    *(V *)(next + (8 + j) * apart) = d2 - d1, *(V *)(next + (12 + j) * apart) = d1 - d3;
                }
        }
    }
}

/* 8 output channels from their transforms [4 x 4, 8, tiles]; sets `bad` to NaN if something is not finite. */
static void OWN(winograd_outputs)(conv const *c, winograd const *grid, T const *from, T const *bias, T *out, npy_intp first,
                                  npy_intp last, T *rows, V *bad) {
    npy_intp const across = grid->across, down = grid->down, *o = c->out;
    npy_intp const size = ((last - first) * across + L - 1) / L * L;
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
        npy_intp image = first / down, y = 2 * (first - image * down);
        for (T const *line = rows; line < rows + 2 * (last - first) * across; line += 2 * across) {
            T *to = out + ((image * c->ocg + r) * o[1] + y) * o[2];
            for (int a = 0; a < 2 && y + a < o[1]; a++, to += o[2]) {
                npy_intp w = 0;
                for (; w + L <= o[2]; w += L) *(V *)(to + w) = *(V const *)(line + a * 2 * size + w);
                if (w < o[2]) STORE(to + w, 0, o[2] - w, line + a * 2 * size + w);
            }
            y += 2;
            if (y == 2 * down) y = 0, image++;
        }
    }
}

/* A pass over some lines of tiles. First tasks of `most` input channels, then of 8 output channels; the scratch memory
 * of workers is `apart` elements apart. */
typedef struct {
    conv const *c;
    winograd const *grid;
    T const *x, *ready, *bias;
    npy_intp const *off;
    T *out, *values, *sums, *lines, *rows, *plane;
    npy_intp apart, first, last, vectors, most;
    int *infinite;
} OWN(tiled);

static void OWN(winograd_in)(void const *what, npy_intp piece, int worker) {
    OWN(tiled) const *job = (OWN(tiled) const *)what;
    npy_intp const low = piece * job->most, left = job->c->icg - low;
    OWN(winograd_inputs)(job->c, job->grid, job->x, low, left < job->most ? low + left : low + job->most, job->first, job->last,
                         job->plane + worker * job->apart, job->lines + worker * job->apart, job->values);
}

static void OWN(winograd_out)(void const *what, npy_intp piece, int worker) {
    OWN(tiled) const *job = (OWN(tiled) const *)what;
    conv const *c = job->c;
    npy_intp const icg = c->icg, vectors = job->vectors, m = piece * 8;
    T *sums = job->sums + worker * job->apart;
    V bad = SPLAT(0);
    for (int e = 0; e < 16; e++)
        for (npy_intp p = 0, n; p < vectors; p += n) {
            npy_intp pos[3];
            T *to[3];
            n = vectors - p == 4 || vectors - p == 2 ? 2 : vectors - p < WIDE ? 1 : WIDE;
            for (int q = 0; q < n; q++) {
                pos[q] = e * WINOGRAD_APART(WINOGRAD_ROW(vectors) * icg) + (p + q) * L;
                to[q] = sums + e * WINOGRAD_APART(8 * vectors * L) + (p + q) * L;
            }
            int const rows = n == 1 ? 8 : ROWS;
            for (int r = 0; r < 8; r += rows) {
                OWN(tiles)
                [rows][n](job->values, job->off, icg, job->ready + (m * 2 + e) *icg * 8 + r, 8, pos, NULL, NULL, to, vectors *L,
                          !p &&!job->first);
                for (int q = 0; q < n; q++) to[q] += rows * vectors * L;
            }
        }
    OWN(winograd_outputs)(c, job->grid, sums, job->bias ? job->bias + m : NULL, job->out + m * c->out[1] * c->out[2],
                          job->first, job->last, job->rows + worker * job->apart, &bad);
    for (int i = 0; i < L; i++)
        if (!(bad[i] == 0)) __atomic_store_n(job->infinite, 1, __ATOMIC_RELAXED);
}

/* False: something is not finite. `ready`: the transformed weights, if available. */
static int OWN(winograd)(conv const *c, winograd const *grid, T const *x, T const *w, T const *ready, T const *bias, T *out,
                         char *scratch) {
    npy_intp const icg = c->icg, all = c->n * grid->down, most = grid->lines * grid->across, widest = (most + 15) / 16 * 16;
    int infinite = 0;
    /* In the order in which _tiles in ops/convolution.py counts them. */
    T *values = (T *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63);
    T *sums = values + 16 * WINOGRAD_APART(icg * (widest + 32)), *lines = sums + 16 * WINOGRAD_APART(8 * widest);
    T *rows = lines + 8 * (most + grid->across + 32), *plane = rows + 4 * widest;
    npy_intp const apart = (plane + 2 * (grid->lines + 1) * (2 * grid->across + 50) - sums + 15) / 16 * 16;
    T *transformed = sums + c->workers * apart;
    npy_intp *off = (npy_intp *)(((uintptr_t)(transformed + (ready ? 0 : 16 * icg * c->ocg)) + 7) & ~(uintptr_t)7);
    if (!ready) conv_winograd_taps(w, c->ocg, icg, transformed), ready = transformed;
    OWN(tiled) job = {c, grid, x, ready, bias, off, out, values, sums, lines, rows, plane, apart, 0, 0, 0, icg, &infinite};
    for (npy_intp first = 0; first < all; first += grid->lines) {
        job.first = first, job.last = first + grid->lines < all ? first + grid->lines : all;
        job.vectors = ((job.last - first) * grid->across + L - 1) / L;
        for (npy_intp k = 0; k < icg; k++) off[k] = k * WINOGRAD_ROW(job.vectors);
        double const work = 16.0 * (double)(job.vectors * L) * (double)icg;
        int const shares = conv_shares(c, work * (double)c->ocg);
        if (shares) job.most = loopdbg_items_per_task(icg, 2);
        (shares ? loopdbg_parallel_for : loopdbg_serial_for)(OWN(winograd_in), &job, loopdbg_task_count(icg, job.most),
                                                             8 * work, 0);
        (shares ? loopdbg_parallel_for : loopdbg_serial_for)(OWN(winograd_out), &job, c->ocg / 8, work * (double)c->ocg, 0);
    }
    return !infinite;
}
#undef WINOGRAD_ROW
