/* Copies that are made again and again of a value that changes in a few places.
 *
 * A loop that writes a few rows of what it carries has two buffers for it, which take turns: the result of an iteration
 * is made in the one that held the value of an iteration before. What differs is what was written since, so that is what
 * has to be copied, and both hold all of their value at any time.
 *
 * Who writes in this way gives the buffer a version, and notes in a journal of which version it was made and what was
 * written. Whoever writes to it in any other way sets its version to 0. */
#ifndef LOOPDBG_RENEWAL_H
#define LOOPDBG_RENEWAL_H

#include <stdint.h>
#include <string.h>
#include "../call.h"

enum {
    LOOPDBG_JOURNAL_ENTRIES = 128, /* that are remembered: as many writes to what is carried may lie in an iteration */
    LOOPDBG_MAX_DIRTY_RANGES = 64,
    LOOPDBG_JOURNAL_MIN_BYTES = 512, /* bytes; and scalar programs write values of 8 bytes without telling */
};

/* Version ``to`` is ``from`` but for stretches of memory: their first byte and their number of bytes. ``count`` -1: too many. */
typedef struct {
    int64_t from, to;
    int count;
    npy_intp stretches[LOOPDBG_MAX_DIRTY_RANGES][2];
} loopdbg_journal_entry;

typedef struct {
    int64_t last; /* version that was given */
    loopdbg_journal_entry changes[LOOPDBG_JOURNAL_ENTRIES];
} loopdbg_dirty_journal;

/* What a call needs to renew its result. ``source`` NULL: it is copied whole. */
struct loopdbg_incremental_copy {
    loopdbg_dirty_journal *journal;
    int64_t const *source; /* versions of the buffers */
    int64_t *target;
};

/* Let nothing be renewed by what was noted. */
static inline void loopdbg_journal_clear(loopdbg_dirty_journal *journal) {
    for (int k = 0; k < LOOPDBG_JOURNAL_ENTRIES; k++) journal->changes[k].to = 0;
}

/* Make a buffer of version ``target`` equal to that of version ``source``; 0: that would be no less than all of it. */
static inline int loopdbg_copy_dirty_ranges(loopdbg_dirty_journal const *journal, int64_t source, int64_t target, char *out,
                                            char const *data, npy_intp bytes) {
    npy_intp some = 0;
    int64_t version = source;
    for (int steps = 0; version != target; steps++) {
        loopdbg_journal_entry const *change = journal->changes + version % LOOPDBG_JOURNAL_ENTRIES;
        if (!version || change->to != version || change->count < 0 || steps == LOOPDBG_JOURNAL_ENTRIES) return 0;
        for (int k = 0; k < change->count; k++) some += change->stretches[k][1];
        if (2 * some > bytes) return 0;
        version = change->from;
    }
    for (version = source; version != target;) {
        loopdbg_journal_entry const *change = journal->changes + version % LOOPDBG_JOURNAL_ENTRIES;
        for (int k = 0; k < change->count; k++)
            memcpy(out + change->stretches[k][0], data + change->stretches[k][0], (size_t)change->stretches[k][1]);
        version = change->from;
    }
    return 1;
}

/* Let ``out`` begin as ``data``. What is written to it then is noted in the change that this gives, which may be NULL. */
static inline loopdbg_journal_entry *loopdbg_begin_incremental_copy(loopdbg_call *call, char *out, char const *data,
                                                                    npy_intp bytes) {
    struct loopdbg_incremental_copy *renewal = call->renewal;
    if (!renewal) {
        if (out != data) memcpy(out, data, (size_t)bytes);
        return NULL;
    }
    int64_t had = *renewal->target;
    *renewal->target = 0;
    if (!renewal->source || bytes < LOOPDBG_JOURNAL_MIN_BYTES) {
        memcpy(out, data, (size_t)bytes);
        return NULL;
    }
    loopdbg_dirty_journal *journal = renewal->journal;
    int64_t source = *renewal->source;
    if (!source || !had || !loopdbg_copy_dirty_ranges(journal, source, had, out, data, bytes)) memcpy(out, data, (size_t)bytes);
    loopdbg_journal_entry *change = journal->changes + ++journal->last % LOOPDBG_JOURNAL_ENTRIES;
    change->from = source;
    change->to = 0;
    change->count = 0;
    return change;
}

static inline void loopdbg_mark_dirty(loopdbg_journal_entry *change, npy_intp first, npy_intp bytes) {
    if (!change || change->count < 0) return;
    npy_intp *before = change->count ? change->stretches[change->count - 1] : NULL;
    if (before && before[0] + before[1] == first) {
        before[1] += bytes;
    } else if (change->count == LOOPDBG_MAX_DIRTY_RANGES) {
        change->count = -1;
    } else {
        change->stretches[change->count][0] = first;
        change->stretches[change->count++][1] = bytes;
    }
}

/* All of it was written. */
static inline int loopdbg_commit_version(loopdbg_call *call, loopdbg_journal_entry *change) {
    if (change) *call->renewal->target = change->to = call->renewal->journal->last;
    return 0;
}

#endif
