"""Looking for groups, for the engine."""

from libc.stdint cimport int64_t
from numpy cimport npy_intp

from ...plain.memory cimport Memory
from ...plain.state cimport State
from ..fast_state cimport Group
from ..views.views cimport Views

cdef class Fuser:
    cdef Memory memory
    cdef Views views
    cdef State *s
    cdef readonly list groups    # a groups.Group for each that was made and not replaced since
    cdef dict planned            # first position of a run of nodes -> what its groups were made for
    cdef dict kept               # what plans depend on -> what is known, and the groups
    cdef object ports
    cdef dict inner              # slot that only members of a group read -> the group's first position
    cdef dict asked              # how often such a slot was read before it was there
    cdef frozenset watched       # slots that are read at boundaries: groups write them
    cdef bint has_products       # the main graph has nodes that chains may be made of
    cdef tuple made_outside      # what its nodes give
    cdef int64_t looked          # the generation in which the main graph was looked at

    cdef int switch(self, bint on) except -1
    cdef int begin(self, bint unseen) except -1
    cdef set members(self)
    cdef int show(self) except -1
    cdef int ask(self, int slot) except -1
    cdef bint is_there(self, int slot) except -1
    cdef bint is_written_now(self, int slot) except -1
    cdef Group *under_way(self) noexcept
    cdef int watch(self, frozenset slots) except -1
    cdef int look(self, int index) except -1
