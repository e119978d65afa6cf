"""Scan outputs, for the parts of the engine that know loops."""

from libc.stdint cimport int64_t

from .memory cimport Memory
from .state cimport Scan, State

cdef class Scans:
    cdef Memory memory
    cdef State *s
    cdef object plan
    cdef dict arrays             # (loop, k) -> array behind a scan buffer, or list of objects
    cdef dict handed             # (loop, k) -> array behind the buffer that became the output last
    cdef dict back               # (loop, k) -> the one before, which nobody else has, for what is collected next

    cdef int begin(self, int index) except -1
    cdef int limit(self, Scan *c) except -1
    cdef int check(self, int index, int k) except -1
    cdef int reserve(self, int index, int k) except -1
    cdef int grow(self, int index, int k) except -1
    cdef int put(self, int index, int k, object rows) except -1
    cdef int store(self, int index, int k) except -1
    cdef int exchange(self, int index, int k) except -1
    cdef object empty(self, int index, int k)
    cpdef object rows(self, int index, int k)
