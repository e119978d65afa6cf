"""Histories, for the engine."""

from libc.stdint cimport int64_t

from ..plain.memory cimport Memory
from ..plain.noter cimport Noter
from ..plain.state cimport State
from .history_state cimport history_entry, loop_history

cdef class Rows:
    cdef Rows before             # the rows up to ``first``
    cdef int64_t first, count    # of buckets
    cdef bytes data

cdef class FrozenEntry:
    cdef readonly Py_ssize_t nbytes
    cdef int64_t entry, origin, rows
    cdef int n, lost
    cdef Rows log
    cdef bytes pending, newest, wide

cdef class Histories(Noter):
    cdef Memory memory
    cdef State *s
    cdef object plan
    cdef loop_history **all      # of the loops that are followed
    cdef dict logs               # (loop, place) -> (entry, Rows) that its log begins with
    cdef dict frozen             # (loop, place) -> FrozenEntry of one that ended

    cdef int begin(self) except -1
    cdef int prepare(self, int index, bint crossing) except -1
    cdef int start_at(self, int index) except -1
    cdef int amend(self, int index) except -1
    cdef int unsteady(self, int slot) except -1
    cdef int fill(self, loop_history *h, history_entry *e, int k) except -1
    cdef tuple freeze(self, int index)
    cdef int thaw(self, int index, tuple mark) except -1
    cdef FrozenEntry freeze_entry(self, int index, int place)
    cdef int thaw_entry(self, int index, int place, FrozenEntry frozen) except -1
    cdef set slots_read(self)
