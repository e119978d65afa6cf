"""Loops, for the engine."""

from .nodes cimport Nodes
from .state cimport Edge, Family

cdef class Loops(Nodes):
    cdef dict scan_arrays        # (loop, k) -> array behind a scan buffer, or list of objects
    cdef dict slice_arrays       # (loop, k) -> rearranged parts

    cdef int load_loop(self, int index) except -1
    cdef int enter_slow(self, int index) except -1
    cdef int cut_slice(self, int index, int k) except -1
    cdef object one_element(self, int slot, str kinds, str word, object node)
    cdef int set_spare(self, Edge *e) except -1
    cdef int put_spare(self, Edge *e, object owner, int spec) except -1
    cdef int next_slow(self, int index) except -1
    cdef Family *family_of(self, Edge *e) except? NULL
    cdef int check_edge(self, int index, int k) except -1
    cdef int check_scan(self, int index, int k) except -1
    cdef int append_scan(self, int index, int k) except -1
    cdef int begin_scan(self, int index, int k, int spec) except -1
    cdef int grow_scan(self, int index, int k) except -1
    cdef int exit_slow(self, int index) except -1
    cdef int store_scan(self, int index, int k) except -1
    cdef object scan_rows(self, int index, int k)
    cdef int control_slow(self, int pc) except -1
