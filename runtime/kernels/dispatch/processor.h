/* The processor that functions are picked for, and what compilers call differently. README.md says how they are written. */
#ifndef LOOPDBG_PROCESSOR_H
#define LOOPDBG_PROCESSOR_H

/* LOOPDBG_X86: x86's instructions are there to choose from. With -DLOOPDBG_PORTABLE everything is as on a processor that
 * nothing is known of: no intrinsics, no target attributes, nothing to choose. */
#if defined(__x86_64__) && !defined(LOOPDBG_PORTABLE)
#define LOOPDBG_X86
#include <immintrin.h>
#endif

/* What multiplies bytes, in the order of their speed. */
enum { LOOPDBG_BYTES_ANY, LOOPDBG_BYTES_AVX2, LOOPDBG_BYTES_AVXVNNI, LOOPDBG_BYTES_VNNI, LOOPDBG_BYTES_AMX };

/* How many floats a vector has: 4 on any processor, 8 with AVX2, FMA and F16C, 16 with AVX-512F besides. */
typedef struct {
    int width, bytes;
} loopdbg_processor;

/* One in a process; each module is given it when it is imported (processor.pyx). */
static loopdbg_processor const loopdbg_baseline_processor = {4, LOOPDBG_BYTES_ANY};
__attribute__((weak, visibility("hidden"))) loopdbg_processor const *loopdbg_cpu = &loopdbg_baseline_processor;

/* What each_width.h made of a function, or of an array, for this processor; what it made of what multiplies bytes. */
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

/* What is part of each function that calls it, whatever that is compiled for. */
#define INLINE static inline __attribute__((always_inline))

/* A vector of elements of two others, by their places; ``I``: a vector of as many integers as wide as they are. */
#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(I, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(I, a, b, ...) __builtin_shuffle(a, b, (I){__VA_ARGS__})
#endif

/* Before a loop: what one step writes, no other one reads. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#endif
