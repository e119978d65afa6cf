"""Incremental copies of results that begin as a copy of an input (dirty_range_journal.h)."""

from libc.stdint cimport int64_t

cdef extern from "kernels/data_movement/dirty_range_journal.h" nogil:
    ctypedef struct DirtyJournal "loopdbg_dirty_journal":
        pass
    struct loopdbg_incremental_copy:
        DirtyJournal *journal
        const int64_t *source
        int64_t *target
    void loopdbg_journal_clear(DirtyJournal *journal) noexcept

ctypedef loopdbg_incremental_copy IncrementalCopy
