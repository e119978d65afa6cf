/* The values that a user recorded at every boundary of a loop. */
#ifndef LOOPDBG_RECORDS_H
#define LOOPDBG_RECORDS_H

#include <stdint.h>

#include "kernels/call.h"

/* A row: iteration, entry, then the values, each padded to 8 bytes. The engine owns the buffer and enlarges it.
 *
 * A traced record has no rows for the first and the last boundary of an entry. Its rows begin with iteration, tag, number
 * of the boundary in the execution, and time. Another thread may read the rows below the count. */
typedef struct {
    int loop, enabled, nvalues, next; /* next: record of the same loop, -1: none */
    int *slots, *specs;
    npy_intp *nbytes, *offsets;
    npy_intp row;
    char *buffer;
    int64_t count, capacity;
    int64_t *traced; /* number of traced boundaries of the execution; NULL: not a traced record */
    int64_t tag;
} boundary_record;

/* Count the row that was just written: first in the record, then among all. */
static inline void publish_row(boundary_record *r) {
    __atomic_store_n(&r->count, r->count + 1, __ATOMIC_RELEASE);
    if (r->traced) __atomic_store_n(r->traced, *r->traced + 1, __ATOMIC_RELEASE);
}

static inline int64_t load_count(const int64_t *count) { return __atomic_load_n(count, __ATOMIC_ACQUIRE); }

#endif
