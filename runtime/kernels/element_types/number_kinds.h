/* Element types by how an element is read as a number (to_double.h). */
#ifndef LOOPDBG_NUMBER_KINDS_H
#define LOOPDBG_NUMBER_KINDS_H

enum {
    KIND_UNKNOWN,
    KIND_NONE, /* no numbers */
    KIND_BOOL,
    KIND_I8,
    KIND_U8,
    KIND_I16,
    KIND_U16,
    KIND_I32,
    KIND_U32,
    KIND_I64,
    KIND_U64,
    KIND_F16,
    KIND_BF16,
    KIND_F32,
    KIND_F64,
    KIND_C64,
    KIND_C128,
    KIND_TABLE, /* one byte, and what each of them means */
};

#endif
