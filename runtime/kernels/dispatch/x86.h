/* LOOPDBG_X86: x86's instructions are there to choose from. With -DLOOPDBG_PORTABLE everything is as on a processor that
 * nothing is known of: no intrinsics, no target attributes, nothing to choose. */
#ifndef LOOPDBG_X86_H
#define LOOPDBG_X86_H

#if defined(__x86_64__) && !defined(LOOPDBG_PORTABLE)
#define LOOPDBG_X86
#endif

#endif
