"""Looking for groups, for the engine."""

from ..memory cimport Memory

cdef class Fuser:
    cdef readonly list groups    # a fuse.Group for each that was made and not replaced since
    cdef dict planned            # first position of a run of nodes -> what its groups were made for
    cdef set unfolded            # nodes whose reductions stay outside
    cdef object ports

    cdef int switch(self, Memory m, bint on) except -1
    cdef int begin(self, Memory m) except -1
    cdef int look(self, Memory m, int index) except -1
    cdef int plan(self, Memory m, list run) except -1
    cdef set slots_of_ports(self, object plan)
