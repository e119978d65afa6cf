"""Groups of nodes, for the engine."""

from ...plain.state cimport State
from ..fast_state cimport Group

# Where an execution stands, as seen from a group.
cdef enum ResultsAre:
    GROUP_SHOWN = 0      # all its results are there
    GROUP_NOW = 1        # it ran in the iteration that runs
    GROUP_BEFORE = 2     # it ran in the iteration before the boundary
    GROUP_GONE = 3       # it ran in the iteration before, whose values are partly gone

cdef Group *make_group(State *s, object group) except NULL
cdef void take_apart(State *s, Group *g) noexcept nogil
cdef int results_are(const State *s, const Group *g) noexcept nogil
cdef int show_results(State *s, Group *g) noexcept nogil
cdef void ask_for_groups(State *s, int loop) noexcept nogil
