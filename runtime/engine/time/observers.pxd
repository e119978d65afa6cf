"""Predicates and records, for the engine."""

from ..plain.binder cimport Binder
from ..plain.loops cimport Loops
from ..plain.memory cimport Memory
from ..plain.state cimport State

cdef class Observers:
    cdef Memory memory
    cdef Binder binder
    cdef Loops loops
    cdef State *s
    cdef object plan
    cdef int npredicates         # entries of the state's array
    cdef int nrecords
    cdef dict questions          # key -> (entry, operator, slots, otherwise)
    cdef dict recordings         # key -> Recording
    cdef int next_key
    cdef readonly tuple hits     # keys of the predicates that are true where the engine stopped by one

    cdef int begin(self) except -1
    cdef set slots_read(self)
    cdef int count_observers(self, int index) except -1
    cdef int observe_slowly(self, int index) except -1
    cdef int ask_slowly(self, int index, int key) except -1
    cdef int record_slowly(self, int index, object recording) except -1
