"""Loops, for the engine."""

from libc.stdint cimport int64_t

from .binder cimport Nodes
from .state cimport Edge, Family

cdef class Loops(Nodes):
    cdef dict scan_arrays        # (loop, k) -> array behind a scan buffer, or list of objects
    cdef dict slice_arrays       # (loop, k) -> rearranged parts

    cdef int load_loop(self, int index) except -1
    cdef int64_t prepare_entry(self, int index) except? -2
    cdef int64_t trip_count(self, int index) except? -2
    cdef int look_at_condition(self, int slot, int index) except -1
    cdef int64_t first_part(self, int index, int k, list counts) except? -2
    cdef object tensor_to_cut(self, int slot, str where)
    cdef int cut_slice(self, int index, int k) except -1
    cdef int put_part(self, int index, int k, int64_t part) except -1
    cdef int put_parts(self, int index) except -1
    cdef object one_element(self, int slot, str kinds, str word, str where)
    cdef int put_spare(self, Edge *e, object owner, int spec) except -1
    cdef int prepare_boundary(self, int index) except -1
    cdef int prepare_edge(self, Edge *e) except -1
    cdef Family *family_of(self, Edge *e) except? NULL
    cdef int check_edge(self, int index, int k) except -1
    cdef int check_scan(self, int index, int k) except -1
    cdef int make_scan_room(self, int index, int k) except -1
    cdef int begin_scan(self, int index, int k, int spec) except -1
    cdef int grow_scan(self, int index, int k) except -1
    cdef int exit_slow(self, int index) except -1
    cdef int store_scan(self, int index, int k) except -1
    cdef object empty_scan(self, int index, int k)
    cdef object scan_rows(self, int index, int k)
    cdef object checks(self)
    cdef int control_slow(self, int pc) except -2
