/* Includes BODY, a header's path from this folder, once per vector width of the compile targets. WIDTH is the number of
 * floats in a vector, and NAME(x) a name for this target, by which DISPATCH(x) selects it (processor.h). With BYTES
 * defined the body multiplies bytes: it is included once more with AVXVNNI defined, and for 16 floats AVX-512 VNNI is
 * available (DISPATCH_INT8). */
#ifndef LOOPDBG_TARGET_BEGIN
#define LOOPDBG_PRAGMA(x) _Pragma(#x)
#if defined(__clang__)
#define LOOPDBG_TARGET_BEGIN(features)                                                                                 \
    LOOPDBG_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define LOOPDBG_TARGET_END LOOPDBG_PRAGMA(clang attribute pop)
#else
#define LOOPDBG_TARGET_BEGIN(features) LOOPDBG_PRAGMA(GCC push_options) LOOPDBG_PRAGMA(GCC target(features))
#define LOOPDBG_TARGET_END LOOPDBG_PRAGMA(GCC pop_options)
#endif
#endif

#define WIDTH 4
#define NAME(x) loopdbg_##x##_any
#include BODY
#undef WIDTH
#undef NAME

#if defined(LOOPDBG_X86)
#define WIDTH 8
#define NAME(x) loopdbg_##x##_avx2
LOOPDBG_TARGET_BEGIN("avx2,fma,f16c")
#include BODY
LOOPDBG_TARGET_END
#undef NAME

#if defined(BYTES)
#define NAME(x) loopdbg_##x##_avxvnni
#if __GNUC__ >= 11 || __clang_major__ >= 12
#define AVXVNNI
LOOPDBG_TARGET_BEGIN("avx2,fma,f16c,avxvnni")
#else
LOOPDBG_TARGET_BEGIN("avx2,fma,f16c")
#endif
#include BODY
LOOPDBG_TARGET_END
#undef NAME
#undef AVXVNNI
#endif
#undef WIDTH

#define WIDTH 16
#if defined(BYTES)
#define NAME(x) loopdbg_##x##_vnni
LOOPDBG_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512vnni,fma,f16c")
#else
#define NAME(x) loopdbg_##x##_avx512
LOOPDBG_TARGET_BEGIN("avx512f,fma,f16c")
#endif
#include BODY
LOOPDBG_TARGET_END
#undef WIDTH
#undef NAME
#endif

#undef BODY
#undef BYTES
#undef V
#undef VI
#undef VU
#undef N
