"""Histories, for the engine."""

from libc.stdint cimport int64_t

from ..baseline.memory cimport Memory
from ..baseline.optimizer_base cimport BoundaryObserver
from ..baseline.state cimport ExecutionState
from .value_history_structs cimport history_entry, loop_history

cdef class HistoryRows:
    cdef HistoryRows before             # the rows up to ``first``
    cdef int64_t first, count    # of buckets
    cdef bytes data

cdef class EntrySnapshot:
    cdef readonly Py_ssize_t nbytes
    cdef int64_t entry, origin, rows
    cdef int n, out_of_memory
    cdef HistoryRows log
    cdef bytes pending, newest, is_summarized

cdef class ValueHistories(BoundaryObserver):
    cdef Memory memory
    cdef ExecutionState *s
    cdef object plan
    cdef loop_history **all      # of the followed loops
    cdef dict logs               # (loop, place) -> (entry, HistoryRows) at the beginning of its log
    cdef dict frozen             # (loop, place) -> EntrySnapshot of an ended entry

    cdef int begin(self) except -1
    cdef int prepare_log(self, int index, bint crossing) except -1
    cdef int restart_log_at(self, int index) except -1
    cdef int rewrite_newest_row(self, int index) except -1
    cdef int mark_mutable(self, int slot) except -1
    cdef int sample_steady_value(self, loop_history *h, history_entry *e, int k) except -1
    cdef tuple snapshot_history(self, int index)
    cdef int restore_history(self, int index, tuple mark) except -1
    cdef EntrySnapshot snapshot_entry(self, int index, int place)
    cdef int restore_entry(self, int index, int place, EntrySnapshot frozen) except -1
    cdef set slots_read(self)
