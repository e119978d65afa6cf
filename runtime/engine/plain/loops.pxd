"""Loops, for the parts of the engine that look at them."""

from libc.stdint cimport int64_t

from .accelerator cimport Accelerator
from .binder cimport Binder
from .memory cimport Memory
from .noter cimport Noter
from .state cimport Edge, Slice, State
from .scans cimport Scans

cdef class Loops:
    cdef readonly Memory memory
    cdef Binder binder
    cdef readonly Scans scans
    cdef Accelerator accelerator
    cdef Noter noter
    cdef State *s
    cdef readonly object plan
    cdef object checks           # what builds with bounds checks compare entries and boundaries with
    cdef dict slice_arrays       # (loop, k) -> rearranged parts

    cdef int settle(self) except -1
    cdef int load(self, int index) except -1
    cdef int64_t prepare_entry(self, int index) except? -2
    cdef int cut_slice(self, int index, int k, int64_t trip) except -1
    cdef int find_pieces(self, Slice *c, array, parts, int axis) except -1
    cdef int put_part(self, int index, int k, int64_t part) except -1
    cdef int put_parts(self, int index) except -1
    cdef int put_back(self, Edge *e, object owner, int spec) except -1
    cdef int keep_results(self, int index, int param) except -1
    cdef int prepare_boundary(self, int index) except -1
    cdef int prepare_edge(self, Edge *e) except -1
    cdef int check_edge(self, int index, int k) except -1
    cdef int give(self, int source, int target) except -1
    cdef int exit_slow(self, int index) except -1
    cdef int control_slow(self, int pc) except -2
