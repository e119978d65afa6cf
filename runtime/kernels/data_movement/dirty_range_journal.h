/* Incremental copies of a value that changes in a few places.
 *
 * A loop that writes a few rows of a carried value has two buffers for it, used alternately: the result of an iteration
 * is made in the buffer of an earlier value. The two differ only in what was written since, so only that is copied;
 * both hold a complete value at any time.
 *
 * Such a writer gives the buffer a version, and records in a journal from which version it was made and which ranges
 * were written. Any other writer sets the buffer's version to 0. */
#ifndef LOOPDBG_RENEWAL_H
#define LOOPDBG_RENEWAL_H

#include <stdint.h>
#include <string.h>
#include "../call.h"

enum {
    LOOPDBG_JOURNAL_ENTRIES = 128, /* enough for the writes to carried values in an iteration */
    LOOPDBG_MAX_DIRTY_RANGES = 64,
    LOOPDBG_JOURNAL_MIN_BYTES = 512, /* scalar programs write values of 8 bytes without a record */
};

/* Version `to` equals `from` except in ranges: first byte and number of bytes. `count` -1: too many. */
typedef struct {
    int64_t from, to;
    int count;
    npy_intp ranges[LOOPDBG_MAX_DIRTY_RANGES][2];
} loopdbg_journal_entry;

typedef struct {
    int64_t last; /* last assigned version */
    loopdbg_journal_entry changes[LOOPDBG_JOURNAL_ENTRIES];
} loopdbg_dirty_journal;

/* Parameters of an incremental copy. `source` NULL: copy everything. */
struct loopdbg_incremental_copy {
    loopdbg_dirty_journal *journal;
    int64_t const *source; /* versions of the buffers */
    int64_t *target;
};

/* Invalidate all records. */
static inline void loopdbg_journal_clear(loopdbg_dirty_journal *journal) {
    for (int k = 0; k < LOOPDBG_JOURNAL_ENTRIES; k++) journal->changes[k].to = 0;
}

/* Make a buffer of version `target` equal to that of version `source`; 0: a full copy would be cheaper. */
static inline int loopdbg_copy_dirty_ranges(loopdbg_dirty_journal const *journal, int64_t source, int64_t target, char *out,
                                            char const *data, npy_intp bytes) {
    npy_intp dirty_bytes = 0;
    int64_t version = source;
    for (int steps = 0; version != target; steps++) {
        loopdbg_journal_entry const *change = journal->changes + version % LOOPDBG_JOURNAL_ENTRIES;
        if (!version || change->to != version || change->count < 0 || steps == LOOPDBG_JOURNAL_ENTRIES) return 0;
        for (int k = 0; k < change->count; k++) dirty_bytes += change->ranges[k][1];
        if (2 * dirty_bytes > bytes) return 0;
        version = change->from;
    }
    for (version = source; version != target;) {
        loopdbg_journal_entry const *change = journal->changes + version % LOOPDBG_JOURNAL_ENTRIES;
        for (int k = 0; k < change->count; k++)
            memcpy(out + change->ranges[k][0], data + change->ranges[k][0], (size_t)change->ranges[k][1]);
        version = change->from;
    }
    return 1;
}

/* Copy `data` to `out`. Returns the record for later writes to `out`, or NULL. */
static inline loopdbg_journal_entry *loopdbg_begin_incremental_copy(loopdbg_call *call, char *out, char const *data,
                                                                    npy_intp bytes) {
    struct loopdbg_incremental_copy *copy = call->renewal;
    if (!copy) {
        if (out != data) memcpy(out, data, (size_t)bytes);
        return NULL;
    }
    int64_t held = *copy->target;
    *copy->target = 0;
    if (!copy->source || bytes < LOOPDBG_JOURNAL_MIN_BYTES) {
        memcpy(out, data, (size_t)bytes);
        return NULL;
    }
    loopdbg_dirty_journal *journal = copy->journal;
    int64_t source = *copy->source;
    if (!source || !held || !loopdbg_copy_dirty_ranges(journal, source, held, out, data, bytes))
        memcpy(out, data, (size_t)bytes);
    loopdbg_journal_entry *change = journal->changes + ++journal->last % LOOPDBG_JOURNAL_ENTRIES;
    change->from = source;
    change->to = 0;
    change->count = 0;
    return change;
}

static inline void loopdbg_mark_dirty(loopdbg_journal_entry *change, npy_intp first, npy_intp bytes) {
    if (!change || change->count < 0) return;
    npy_intp *previous = change->count ? change->ranges[change->count - 1] : NULL;
    if (previous && previous[0] + previous[1] == first) {
        previous[1] += bytes;
    } else if (change->count == LOOPDBG_MAX_DIRTY_RANGES) {
        change->count = -1;
    } else {
        change->ranges[change->count][0] = first;
        change->ranges[change->count++][1] = bytes;
    }
}

/* All writes are recorded. */
static inline int loopdbg_commit_version(loopdbg_call *call, loopdbg_journal_entry *change) {
    if (change) *call->renewal->target = change->to = call->renewal->journal->last;
    return 0;
}

#endif
