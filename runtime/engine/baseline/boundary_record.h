/* The values that a user recorded at every boundary of a loop. */
#ifndef LOOPDBG_RECORDS_H
#define LOOPDBG_RECORDS_H

#include <stdint.h>

#include "kernels/call.h"

/* A row: iteration, entry, then the values, each padded to 8 bytes. The engine owns the buffer and enlarges it. */
typedef struct {
    int loop, enabled, nvalues, next; /* next: record of the same loop, -1: none */
    int *slots, *specs;
    npy_intp *nbytes, *offsets;
    npy_intp row;
    char *buffer;
    int64_t count, capacity;
} boundary_record;

#endif
