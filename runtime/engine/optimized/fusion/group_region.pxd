"""Groups of nodes, for the engine."""

from ...baseline.state cimport ExecutionState
from ..optimizer_state cimport FusedGroup

# Where an execution stands, as seen from a group.
cdef enum GroupResults:
    GROUP_MATERIALIZED = 0      # all its results are there
    GROUP_CURRENT = 1        # it ran in the iteration that runs
    GROUP_PREVIOUS = 2     # it ran in the iteration before the boundary
    GROUP_UNAVAILABLE = 3       # it ran in the iteration before, whose values are partly gone

cdef FusedGroup *make_group(ExecutionState *s, object group) except NULL
cdef void dissolve_group(ExecutionState *s, FusedGroup *g) noexcept nogil
cdef int group_results(const ExecutionState *s, const FusedGroup *g) noexcept nogil
cdef int materialize_results(ExecutionState *s, FusedGroup *g) noexcept nogil
cdef void request_grouping(ExecutionState *s, int loop) noexcept nogil
