/* Includes LANES_BODY, which says what it needs (lanes_math.h), for each width that lanes.h knows. Its path is the one from
 * this folder. */
#define V loopdbg_f4
#define VI loopdbg_i4
#define N 4
#define ATTR
#define NAME(x) loopdbg_##x##_any
#include LANES_BODY
#undef V
#undef VI
#undef N
#undef ATTR
#undef NAME
#if defined(LOOPDBG_X86)
#define V loopdbg_f8
#define VI loopdbg_i8
#define N 8
#define ATTR __attribute__((target("avx2,fma,f16c")))
#define NAME(x) loopdbg_##x##_avx2
#include LANES_BODY
#undef V
#undef VI
#undef N
#undef ATTR
#undef NAME
#define V loopdbg_f16
#define VI loopdbg_i16
#define N 16
#define ATTR __attribute__((target("avx512f")))
#define NAME(x) loopdbg_##x##_avx512
#include LANES_BODY
#undef V
#undef VI
#undef N
#undef ATTR
#undef NAME
#endif
#undef LANES_BODY
