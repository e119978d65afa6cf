/* What is recorded of a loop: the values of every boundary. */
#ifndef LOOPDBG_RECORDS_H
#define LOOPDBG_RECORDS_H

#include <stdint.h>

#include "kernels/call.h"

/* A row: iteration, entry, then the values, each padded to 8 bytes. The engine owns it, and gives it more capacity. */
typedef struct {
    int loop, enabled, nvalues, next; /* next: of the same loop, -1: none */
    int *slots, *specs;
    npy_intp *nbytes, *offsets;
    npy_intp row;
    char *buffer;
    int64_t count, capacity;
} boundary_record;

#endif
