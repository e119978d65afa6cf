"""Fusion of nodes into groups, for the engine."""

from libc.stdint cimport int64_t
from numpy cimport npy_intp

from ...baseline.memory cimport Memory
from ...baseline.state cimport ExecutionState
from ..optimizer_state cimport FusedGroup
from ..copy_elision.copy_elision cimport CopyElision

cdef class Fuser:
    cdef Memory memory
    cdef CopyElision copy_elision
    cdef ExecutionState *s
    cdef readonly list groups    # a groups.GroupPlan for each existing group
    cdef dict planned            # first position of a run of nodes -> key of its planned groups
    cdef dict plan_cache               # inputs of planning -> known values, and the groups
    cdef object ports
    cdef dict internal_slots              # slot that only members of a group read -> the group's first position
    cdef dict materialize_counts              # slot of these -> number of reads that had to materialize it
    cdef frozenset watched       # slots that are read at boundaries: groups write them
    cdef bint has_products       # the main graph has nodes that form chains
    cdef tuple main_graph_results      # results of its nodes
    cdef int64_t main_graph_generation          # generation when the main graph was last planned

    cdef int set_enabled(self, bint enabled) except -1
    cdef int begin(self, bint outputs_only) except -1
    cdef set members(self)
    cdef int show(self) except -1
    cdef int materialize(self, int slot) except -1
    cdef bint is_available(self, int slot) except -1
    cdef bint is_being_written(self, int slot) except -1
    cdef FusedGroup *running_group(self) noexcept
    cdef int watch(self, frozenset slots) except -1
    cdef int look(self, int index) except -1
