/* What this processor can do, and what compilers call differently. */
#ifndef LOOPDBG_PROCESSOR_H
#define LOOPDBG_PROCESSOR_H

#include "x86.h"

#if defined(LOOPDBG_X86)
#include <cpuid.h>
#endif

/* 1: any processor, 2: AVX2 with FMA and F16C, 3: AVX-512F besides. ``wanted`` 0: the best, else that one, or 0 where this
 * processor does not have it. */
static inline int loopdbg_find_lanes(int wanted) {
    static int best; /* to ask a virtual machine takes microseconds */
#if defined(LOOPDBG_X86)
    unsigned a, b, c = 0, d;
    if (!best) {
        __builtin_cpu_init();
        int wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
        wide = wide && __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C; /* which Clang has no name for */
        best = !wide ? 1 : __builtin_cpu_supports("avx512f") ? 3 : 2;
    }
#else
    best = 1;
#endif
    return !wanted ? best : wanted <= best ? wanted : 0;
}

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
