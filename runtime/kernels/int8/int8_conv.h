/* Convolutions of 8-bit integers, exact (int8_product.h): weights [channels, k] times windows [k, positions].
 *
 * The inputs of a channel's windows are copied into planes first, one for each phase of the taps by the stride, with
 * the zero point around it. Then the windows' numbers for one tap are contiguous at all positions, even at the unused
 * ones between the end of a row of outputs and the begin of the next one: 64 of them are a row of a panel. */
#ifndef LOOPDBG_INT8_CONV_H
#define LOOPDBG_INT8_CONV_H

/* Axes are depth, height, width. first: offsets of the planes in x; taps: offsets in a channel's planes. */
typedef struct {
    npy_intp n, groups, icg, ocg, size[3], out[3], step[3], plane[3], phases[3], ntaps, workers;
    npy_intp const *first[3], *taps;
    int x_signed, w_signed;
    npy_intp w_step;
} loopdbg_int8_conv_geometry;

static loopdbg_int8_conv_geometry loopdbg_int8_read_geometry(npy_intp const *table, npy_intp const *numbers) {
    loopdbg_int8_conv_geometry by;
    memcpy(&by, table, 21 * sizeof(npy_intp));
    npy_intp const *next = table + 21;
    for (int d = 0; d < 3; d++) {
        by.first[d] = next;
        next += by.phases[d];
    }
    by.taps = next;
    by.x_signed = (int)numbers[0];
    by.w_signed = (int)numbers[1];
    by.w_step = numbers[2];
    return by;
}

/* One row of a plane: the zero point outside of x. */
INLINE void loopdbg_int8_copy_row(uint8_t const *x, npy_intp size, uint8_t *line, npy_intp width, npy_intp first, npy_intp step,
                                  uint8_t flip, uint8_t pad) {
    npy_intp begin = first < 0 ? (-first + step - 1) / step : 0, end = first < size ? (size - first + step - 1) / step : 0;
    begin = begin < width ? begin : width;
    end = end < begin ? begin : end < width ? end : width;
    if (begin > 0) memset(line, pad, (size_t)begin);
    if (end < width) memset(line + end, pad, (size_t)(width - end));
    x += first;
    if (step == 1)
        for (npy_intp i = begin; i < end; i++) line[i] = x[i] ^ flip;
    else
        for (npy_intp i = begin; i < end; i++) line[i] = x[i * step] ^ flip;
}

/* The planes of one channel. */
INLINE void loopdbg_int8_copy_planes(loopdbg_int8_conv_geometry const *by, uint8_t const *x, uint8_t *planes, uint8_t flip,
                                     uint8_t pad) {
    npy_intp const *size = by->size, *plane = by->plane;
    for (npy_intp p = 0; p < by->phases[0]; p++)
        for (npy_intp q = 0; q < by->phases[1]; q++)
            for (npy_intp r = 0; r < by->phases[2]; r++)
                for (npy_intp z = 0; z < plane[0]; z++) {
                    npy_intp depth = by->first[0][p] + z * by->step[0];
                    for (npy_intp y = 0; y < plane[1]; y++, planes += plane[2]) {
                        npy_intp height = by->first[1][q] + y * by->step[1];
                        if (depth < 0 || depth >= size[0] || height < 0 || height >= size[1])
                            memset(planes, pad, (size_t)plane[2]);
                        else
                            loopdbg_int8_copy_row(x + (depth * size[1] + height) * size[2], size[2], planes, plane[2],
                                                  by->first[2][r], by->step[2], flip, pad);
                    }
                }
}

/* Interleave four rows of 64 bytes to a quad. */
INLINE void loopdbg_int8_interleave_quad(uint8_t const *a, uint8_t const *b, uint8_t const *c, uint8_t const *d, char *quad) {
    uint32_t *to = (uint32_t *)quad;
    for (int i = 0; i < LOOPDBG_INT8_PANEL_COLUMNS; i++)
        to[i] = (uint32_t)a[i] | (uint32_t)b[i] << 8 | (uint32_t)c[i] << 16 | (uint32_t)d[i] << 24;
}

/* The parts of the scratch memory of a convolution; byte_convolution.py sizes them. */
typedef struct {
    npy_intp k, quads, stride, channel, span;
    uint8_t *rows, *planes, *none;
    uint32_t *row_sums, *w_zero;
    npy_intp *places;
    int32_t *sums; /* sums over all channels at each position of their planes */
    char *panel;      /* of each worker, `apart` bytes apart */
    npy_intp apart;
} loopdbg_int8_scratch;

static char *loopdbg_int8_scratch_alloc(char **memory, npy_intp bytes) {
    char *part = (char *)(((uintptr_t)*memory + 63) & ~(uintptr_t)63);
    *memory = part + bytes;
    return part;
}

static loopdbg_int8_scratch loopdbg_int8_split_scratch(loopdbg_int8_conv_geometry const *by, char *scratch) {
    loopdbg_int8_scratch m;
    m.k = by->icg * by->ntaps;
    m.quads = (m.k + 3) / 4;
    m.stride = m.k + LOOPDBG_INT8_TAIL_BYTES;
    m.channel = by->phases[0] * by->phases[1] * by->phases[2] * by->plane[0] * by->plane[1] * by->plane[2];
    m.span = ((by->out[0] - 1) * by->plane[1] + by->out[1] - 1) * by->plane[2] + by->out[2];
    m.rows = (uint8_t *)loopdbg_int8_scratch_alloc(&scratch, by->ocg * m.stride);
    m.row_sums = (uint32_t *)loopdbg_int8_scratch_alloc(&scratch, 4 * by->ocg);
    m.w_zero = (uint32_t *)loopdbg_int8_scratch_alloc(&scratch, 4 * by->ocg);
    m.places = (npy_intp *)loopdbg_int8_scratch_alloc(&scratch, 8 * m.k);
    m.sums = (int32_t *)loopdbg_int8_scratch_alloc(&scratch, 4 * (m.channel + LOOPDBG_INT8_PANEL_COLUMNS));
    m.none = (uint8_t *)loopdbg_int8_scratch_alloc(&scratch, LOOPDBG_INT8_PANEL_COLUMNS);
    m.planes = (uint8_t *)loopdbg_int8_scratch_alloc(&scratch, by->icg * m.channel + LOOPDBG_INT8_PANEL_COLUMNS);
    m.apart = m.quads * LOOPDBG_INT8_QUAD + LOOPDBG_INT8_OVERREAD_BYTES;
    m.panel = loopdbg_int8_scratch_alloc(&scratch, by->workers * m.apart);
    return m;
}

/* Some channels of one panel from sums of w' x': from position `first` on, without the gaps between rows. */
INLINE void loopdbg_int8_store_outputs(loopdbg_int8_conv_geometry const *by, loopdbg_int8_scratch const *t, int32_t const *sums,
                                       int32_t const *columns, uint32_t zero, npy_intp row, npy_intp rows, npy_intp first,
                                       npy_intp width, int32_t *out) {
    npy_intp place = by->plane[2], whole = by->out[0] * by->out[1] * by->out[2];
    for (npy_intp c = 0; c < width;) {
        npy_intp line = (first + c) / place, x = (first + c) % place, some = place - x < width - c ? place - x : width - c;
        npy_intp z = line / by->plane[1], y = line % by->plane[1];
        npy_intp wanted = x + some < by->out[2] ? some : by->out[2] - x;
        if (y < by->out[1])
            for (npy_intp r = 0; r < rows; r++) {
                uint32_t zw = t->w_zero[row + r], moved = zero * (t->row_sums[row + r] - (uint32_t)t->k * zw);
                int32_t const *sum = sums + r * LOOPDBG_INT8_PANEL_COLUMNS + c;
                int32_t *to = out + (row + r) * whole + (z * by->out[1] + y) * by->out[2] + x;
                for (npy_intp i = 0; i < wanted; i++)
                    to[i] = (int32_t)((uint32_t)sum[i] - zw * (uint32_t)columns[c + i] - moved);
            }
        c += some;
    }
}

/* An image's positions, 64 per task. */
typedef struct {
    loopdbg_int8_conv_geometry const *by;
    loopdbg_int8_scratch const *t;
    uint32_t zero;
    int32_t *out;
} loopdbg_int8_conv_job;

INLINE void loopdbg_int8_conv_task(loopdbg_int8_tiling const *way, loopdbg_int8_conv_job const *job, npy_intp piece,
                                   int worker) {
    loopdbg_int8_conv_geometry const *by = job->by;
    loopdbg_int8_scratch const *t = job->t;
    npy_intp const m = by->ocg, quads = t->quads, stride = t->stride, first = piece * LOOPDBG_INT8_PANEL_COLUMNS;
    npy_intp const width = t->span - first < LOOPDBG_INT8_PANEL_COLUMNS ? t->span - first : LOOPDBG_INT8_PANEL_COLUMNS;
    uint8_t const *rows = t->rows;
    int32_t sums[32 * LOOPDBG_INT8_PANEL_COLUMNS] __attribute__((aligned(64)));
    int32_t columns[LOOPDBG_INT8_PANEL_COLUMNS] = {0};
    char *panel = t->panel + worker * t->apart;
    npy_intp amx_rows = 0;
    (void)amx_rows;
    for (npy_intp tap = 0; tap < by->ntaps; tap++) {
        int32_t const *tap_sums = t->sums + by->taps[tap] + first;
        for (int c = 0; c < LOOPDBG_INT8_PANEL_COLUMNS; c++) columns[c] += tap_sums[c];
    }
    for (npy_intp j = 0; j < quads; j++) {
        uint8_t const *four[4];
        for (npy_intp q = 0; q < 4; q++) four[q] = 4 * j + q < t->k ? t->planes + t->places[4 * j + q] + first : t->none;
        loopdbg_int8_interleave_quad(four[0], four[1], four[2], four[3], panel + j * LOOPDBG_INT8_QUAD);
    }
#define INT8_OUTPUTS(r, R) loopdbg_int8_store_outputs(by, t, sums, columns, job->zero, r, R, first, width, job->out);
    INT8_ROWS(INT8_OUTPUTS)
#if defined(LOOPDBG_TILES)
    if (amx_rows) loopdbg_amx_end();
#endif
}

INLINE void loopdbg_int8_convolve(loopdbg_task some, loopdbg_int8_conv_geometry const *by, char const *x, char const *w,
                                  char const *x_zero, char const *w_zeros, int32_t *out, char *scratch) {
    loopdbg_int8_scratch const t = loopdbg_int8_split_scratch(by, scratch);
    npy_intp m = by->ocg, image = by->size[0] * by->size[1] * by->size[2], whole = by->out[0] * by->out[1] * by->out[2];
    uint8_t const flip = by->x_signed ? 0 : 0x80;
    loopdbg_int8_conv_job job = {by, &t, (uint32_t)(by->x_signed ? *(int8_t const *)x_zero : *(uint8_t const *)x_zero - 128),
                                 out};
    double const work = (double)(m * t.k) * (double)t.span / 2;
    loopdbg_parallel_for_fn const share = loopdbg_is_worth_sharing(work) && loopdbg_thread_pool->workers <= by->workers
                                              ? loopdbg_parallel_for
                                              : loopdbg_serial_for;
    memset(t.none, 0, LOOPDBG_INT8_PANEL_COLUMNS);
    for (npy_intp c = 0, j = 0; c < by->icg; c++)
        for (npy_intp tap = 0; tap < by->ntaps; tap++) t.places[j++] = c * t.channel + by->taps[tap];
    for (npy_intp g = 0; g < by->groups; g++) {
        loopdbg_int8_pack_rows(w + g * m * t.k, t.rows, (int32_t *)t.row_sums, m, t.k, by->w_signed);
        for (npy_intp r = 0; r < m; r++) {
            char const *zero = w_zeros + (g * m + r) * by->w_step;
            t.w_zero[r] = (uint32_t)(by->w_signed ? *(int8_t const *)zero + 128 : *(uint8_t const *)zero);
        }
        for (npy_intp i = 0; i < by->n; i++) {
            uint8_t const *from = (uint8_t const *)x + (i * by->groups + g) * by->icg * image;
            memset(t.sums, 0, 4 * (size_t)t.channel);
            for (npy_intp c = 0; c < by->icg; c++) {
                uint8_t *planes = t.planes + c * t.channel;
                loopdbg_int8_copy_planes(by, from + c * image, planes, flip, (uint8_t)*x_zero ^ flip);
                for (npy_intp j = 0; j < t.channel; j++) t.sums[j] += (int8_t)planes[j];
            }
            job.out = out + (i * by->groups + g) * m * whole;
            share(some, &job, (t.span + LOOPDBG_INT8_PANEL_COLUMNS - 1) / LOOPDBG_INT8_PANEL_COLUMNS, work, 0);
        }
    }
}

#endif
