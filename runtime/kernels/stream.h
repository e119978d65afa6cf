/* Rows that one thread appends and another one reads while they become more. */
#ifndef LOOPDBG_STREAM_H
#define LOOPDBG_STREAM_H

#include <stdint.h>
#include <time.h>

typedef struct {
    int64_t const *count; /* of the rows that are there */
    int64_t rows;         /* that there will be */
    int gone;             /* nobody appends, or nobody wants to read, any more */
} loopdbg_stream;

/* Another row is there: what was written to it is seen by whoever sees the count. */
static inline void loopdbg_append(int64_t *count) { __atomic_store_n(count, *count + 1, __ATOMIC_RELEASE); }

/* Wait until so many rows are there; 0: they will not be. */
static inline int loopdbg_wait(loopdbg_stream const *stream, int64_t rows) {
    struct timespec const moment = {0, 20000};
    for (int turn = 0;; turn++) {
        if (__atomic_load_n(stream->count, __ATOMIC_ACQUIRE) >= rows) return 1;
        if (__atomic_load_n(&stream->gone, __ATOMIC_RELAXED)) return 0;
        /* A row takes microseconds: a sleep from the start would cost more than it. */
        if (turn > 1000) nanosleep(&moment, NULL);
    }
}

#endif
