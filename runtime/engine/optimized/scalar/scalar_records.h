/* Records written by scalar programs. */
#ifndef LOOPDBG_SCALAR_RECORDS_H
#define LOOPDBG_SCALAR_RECORDS_H

#include <string.h>

#include "scalar_program.h"

/* Is one of loop L's records full? */
static inline int scalar_records_full(scalar_loop const *L) {
    for (int k = 0; k < L->nrecorders; k++)
        if (L->recorders[k].record->count == L->recorders[k].record->capacity) return 1;
    return 0;
}

/* Append the values at boundary i to loop L's records. */
static inline void scalar_records_add(char const *R, scalar_loop const *L, int64_t i) {
    for (int k = 0; k < L->nrecorders; k++) {
        boundary_record *record = L->recorders[k].record;
        char *row = record->buffer + record->count++ * record->row;
        ((int64_t *)row)[0] = i;
        ((int64_t *)row)[1] = *L->entries - 1;
        for (int j = 0; j < record->nvalues; j++)
            memcpy(row + record->offsets[j], R + L->recorders[k].source[j], (size_t)record->nbytes[j]);
    }
}

#endif
