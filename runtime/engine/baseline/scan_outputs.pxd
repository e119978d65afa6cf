"""Scan outputs, for the modules that know loops."""

from libc.stdint cimport int64_t

from .memory cimport Memory
from .state cimport Scan, ExecutionState

cdef class ScanOutputs:
    cdef Memory memory
    cdef ExecutionState *s
    cdef object plan
    cdef dict arrays             # (loop, k) -> array behind a scan buffer, or list of objects
    cdef dict handed_over             # (loop, k) -> array behind the buffer that became the output last
    cdef dict spare               # (loop, k) -> its predecessor, free for reuse

    cdef int begin(self) except -1
    cdef int begin_entry(self, int index) except -1
    cdef int limit_capacity(self, Scan *c) except -1
    cdef int check(self, int index, int k) except -1
    cdef int reserve_element(self, int index, int k) except -1
    cdef int grow_buffer(self, int index, int k) except -1
    cdef int restore_elements(self, int index, int k, object elements) except -1
    cdef int store(self, int index, int k) except -1
    cdef int hand_over_buffer(self, int index, int k) except -1
    cdef object empty(self, int index, int k)
    cpdef object elements(self, int index, int k)
