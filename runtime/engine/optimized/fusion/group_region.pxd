"""Fused groups, for the engine."""

from ...baseline.state cimport ExecutionState
from ..optimizer_state cimport FusedGroup

# State of a group's internal results.
cdef enum GroupResults:
    GROUP_MATERIALIZED = 0      # all are written
    GROUP_CURRENT = 1        # it ran in the current iteration
    GROUP_PREVIOUS = 2     # it ran in the iteration before the boundary
    GROUP_UNAVAILABLE = 3       # it ran in the previous iteration, whose inputs are partly lost

cdef FusedGroup *make_group(ExecutionState *s, object group) except NULL
cdef void dissolve_group(ExecutionState *s, FusedGroup *g) noexcept nogil
cdef int internal_results_state(const ExecutionState *s, const FusedGroup *g) noexcept nogil
cdef int materialize_results(ExecutionState *s, FusedGroup *g) noexcept nogil
cdef void request_grouping(ExecutionState *s, int loop) noexcept nogil
