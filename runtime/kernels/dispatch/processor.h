/* The processor for which functions are selected, and compiler differences. See README.md. */
#ifndef LOOPDBG_PROCESSOR_H
#define LOOPDBG_PROCESSOR_H

/* LOOPDBG_X86: x86 instructions are available. With -DLOOPDBG_PORTABLE the code is that of an unknown processor: no
 * intrinsics, no target attributes, no dispatch. */
#if defined(__x86_64__) && !defined(LOOPDBG_PORTABLE)
#define LOOPDBG_X86
#include <immintrin.h>
#endif

/* Targets for byte products, in ascending speed. */
enum { LOOPDBG_BYTES_ANY, LOOPDBG_BYTES_AVX2, LOOPDBG_BYTES_AVXVNNI, LOOPDBG_BYTES_VNNI, LOOPDBG_BYTES_AMX };

/* Number of floats in a vector: 4 on any processor, 8 with AVX2, FMA and F16C, 16 with AVX-512F as well. */
typedef struct {
    int width, bytes;
} loopdbg_processor;

/* One per process; each module gets it at import (processor.pyx). */
static loopdbg_processor const loopdbg_baseline_processor = {4, LOOPDBG_BYTES_ANY};
__attribute__((weak, visibility("hidden"))) loopdbg_processor const *loopdbg_cpu = &loopdbg_baseline_processor;

/* The variant of a function or an array (foreach_target.h) for this processor; the variant for byte products. */
#if defined(LOOPDBG_X86)
#define DISPATCH(name)                                                                                                   \
    (loopdbg_cpu->width == 16  ? loopdbg_##name##_avx512                                                              \
     : loopdbg_cpu->width == 8 ? loopdbg_##name##_avx2                                                                \
                                : loopdbg_##name##_any)
#define DISPATCH_INT8(name)                                                                                             \
    (loopdbg_cpu->bytes >= LOOPDBG_BYTES_VNNI       ? loopdbg_##name##_vnni                                           \
     : loopdbg_cpu->bytes == LOOPDBG_BYTES_AVXVNNI ? loopdbg_##name##_avxvnni                                         \
     : loopdbg_cpu->bytes == LOOPDBG_BYTES_AVX2    ? loopdbg_##name##_avx2                                            \
                                                    : loopdbg_##name##_any)
#else
#define DISPATCH(name) loopdbg_##name##_any
#define DISPATCH_INT8(name) loopdbg_##name##_any
#endif

/* Inlined into each caller, whatever its target. */
#define INLINE static inline __attribute__((always_inline))

/* Select elements of two vectors by index; `I`: a vector of integers of the same width and number. */
#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(I, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(I, a, b, ...) __builtin_shuffle(a, b, (I){__VA_ARGS__})
#endif

/* Before a loop: its iterations are independent. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#endif
