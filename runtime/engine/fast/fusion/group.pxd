"""Groups of nodes, for the engine."""

from libc.stdint cimport int64_t

from ...plain.state cimport Group, LoopState, State

# How ``run_group`` ended.
cdef enum GroupStatus:
    GROUP_DONE = 0
    GROUP_TICK = 1       # the time slice is over; call it again
    GROUP_STALE = 2      # what it was made for has changed, and nothing was run
    GROUP_FAILED = 3     # a call failed, or the results are not certain: run its nodes one by one

# Where an execution stands, as seen from a group.
cdef enum ResultsAre:
    GROUP_SHOWN = 0      # all its results are there
    GROUP_NOW = 1        # it ran in the iteration that runs
    GROUP_BEFORE = 2     # it ran in the iteration before the boundary
    GROUP_GONE = 3       # it ran in the iteration before, whose values are partly gone

cdef Group *make_group(State *s, object group) except NULL
cdef int run_group(State *s, int leader, Group *g) noexcept nogil
cdef int is_looked_into(const State *s, int leader, const Group *g) noexcept nogil
cdef int results_are(const State *s, int leader, const Group *g) noexcept nogil
cdef int show_results(State *s, int leader, Group *g) noexcept nogil
cdef void turn_back(State *s, LoopState *loop, int64_t i) noexcept nogil
cdef void turn_forth(State *s, LoopState *loop) noexcept nogil
cdef void ask_for_groups(State *s, int loop) noexcept nogil
