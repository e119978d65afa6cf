/* The structures of value_history.h, for the many files that only refer to them. */
#ifndef LOOPDBG_HISTORY_STRUCTS_H
#define LOOPDBG_HISTORY_STRUCTS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/element_types/number_kinds.h"

enum {
    HISTORY_ROWS = 512,    /* of a ring */
    HISTORY_COLUMNS = 4,   /* of a series: norm, minimum, maximum, mean; or the first alone, as bits */
    HISTORY_ENTRIES = 8,   /* kept of a loop, including the running one */
};

typedef struct {
    double low, high; /* of finite numbers; NaN if there are none */
    double first, last;
    double nonfinite; /* number of values that are not finite */
} history_stat;

typedef struct {
    int result;     /* the slot read where a boundary is crossed */
    int param;      /* the slot read where an entry begins; -1: none, the first row is empty */
    int kind, itemsize;
    int steady;     /* only the user changes it: read through `cell` when rows are reduced */
    int identity;   /* passed through unchanged */
    char **cell;
    ptrdiff_t const *nbytes;
    double *table;
} history_series;

typedef struct {
    int64_t entry;  /* entry number; -1: none */
    int64_t origin; /* the iteration of row 0 */
    int64_t rows;   /* number of reduced rows */
    int n;          /* rows in the ring */
    int out_of_memory;       /* memory ran out: nothing was recorded since */
    uint64_t *ring; /* HISTORY_ROWS of each column */
    history_stat *log, *pending; /* rows of all columns: whole buckets, and the current one */
    int64_t nlog, capacity;
    char *wide;     /* of each series: its rows are statistics */
} history_entry;

typedef struct {
    int nseries;
    int nentries;   /* places for entries: a loop of the main graph is entered once */
    history_series *series;
    history_entry entries[HISTORY_ENTRIES];
    history_entry *now;
} loop_history;

#endif
