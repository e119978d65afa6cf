/* Detects which of the compile targets this processor supports. */
#ifndef LOOPDBG_FIND_H
#define LOOPDBG_FIND_H

#include "processor.h"

#if defined(LOOPDBG_X86)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

/* Is a target supported? 0: the best of them. */
enum { LOOPDBG_ANY = 1, LOOPDBG_AVX2, LOOPDBG_AVX512, LOOPDBG_AVXVNNI, LOOPDBG_VNNI, LOOPDBG_AMX };
static loopdbg_processor const loopdbg_processors[] = {
    [LOOPDBG_ANY] = {4, LOOPDBG_BYTES_ANY},      [LOOPDBG_AVX2] = {8, LOOPDBG_BYTES_AVX2},
    [LOOPDBG_AVX512] = {16, LOOPDBG_BYTES_AVX2}, [LOOPDBG_AVXVNNI] = {8, LOOPDBG_BYTES_AVXVNNI},
    [LOOPDBG_VNNI] = {16, LOOPDBG_BYTES_VNNI},   [LOOPDBG_AMX] = {16, LOOPDBG_BYTES_AMX},
};

#if defined(LOOPDBG_X86)
/* Features that some or all compilers have no name for. */
static int loopdbg_cpuid(unsigned leaf, unsigned part, int which, unsigned bits) {
    unsigned r[4];
    return __get_cpuid_count(leaf, part, r, r + 1, r + 2, r + 3) && (r[which] & bits) == bits;
}

/* Does the processor have AMX, and does the system permit it for this process? */
static int loopdbg_amx_is_usable(void) {
#if defined(__linux__)
    enum { ASK_FOR_STATE = 0x1023, TILE_DATA = 18, AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25 };
    return loopdbg_cpuid(7, 0, 3, AMX_TILE | AMX_INT8) && syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA) == 0;
#else
    return 0;
#endif
}
#endif

static int loopdbg_cpu_supports(int kind) {
#if defined(LOOPDBG_X86)
    __builtin_cpu_init();
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && loopdbg_cpuid(1, 0, 2, bit_F16C);
    int avx512 = avx2 && __builtin_cpu_supports("avx512f");
    int vnni = avx512 && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl");
    switch (kind) {
        case LOOPDBG_AVX2: return avx2;
        case LOOPDBG_AVX512: return avx512;
        case LOOPDBG_AVXVNNI: return avx2 && loopdbg_cpuid(7, 1, 0, 1 << 4);
        case LOOPDBG_VNNI: return vnni;
        case LOOPDBG_AMX: return vnni && loopdbg_amx_is_usable();
    }
#endif
    return kind == LOOPDBG_ANY;
}

/* The best target; `tiles`: AMX may be requested, which enlarges the system's state of each thread. */
static int loopdbg_best_processor(int tiles) {
    static int const order[] = {LOOPDBG_AMX, LOOPDBG_VNNI, LOOPDBG_AVX512, LOOPDBG_AVXVNNI, LOOPDBG_AVX2};
    for (int k = !tiles; k < (int)(sizeof order / sizeof *order); k++)
        if (loopdbg_cpu_supports(order[k])) return order[k];
    return LOOPDBG_ANY;
}

#endif
