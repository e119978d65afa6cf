"""What the plain floor tells whatever makes an execution fast: see accelerator.pxd."""

from libc.stdint cimport int64_t

from .state cimport BackEdgeState, Family


cdef class OptimizerBase:
    """Nobody is there to be told."""

    def __init__(self):
        self.watched_generation = -1

    cdef int begin(self, bint unseen) except -1:
        """An execution begins. ``unseen``: nobody looks at anything but its outputs."""

    cdef int look(self, int index) except -1:
        """A loop ran as many boundaries as its ``optimizer_due_at`` said."""

    cdef int tick(self) except -1:
        """About 10 ms of a run went by."""

    cdef int watch(self, int64_t generation, frozenset slots) except -1:
        """The execution goes on: these slots, and no others, are read at boundaries."""
        self.watched_generation = generation

    cdef int materialize(self, int slot) except -1:
        """Somebody reads a slot: let it have its value, if it can still be had."""

    cdef bint is_available(self, int slot) except -1:
        """Has a slot the value that the last run of its node gave?"""
        return True

    cdef int materialize_all(self) except -1:
        """Let every slot have its value, as far as it can still be had: what no region can give."""

    cdef set unavailable_slots(self):
        """The slots that lack their values."""
        return set()

    cdef int on_jump(self) except -1:
        """The execution was put elsewhere; all slots have the values that they have there."""

    cdef int before_edit(self) except -1:
        """Something is to be changed by hand: nothing that was computed before follows it."""

    cdef bint is_mid_region(self) except -1:
        """Does a region stand in its middle, where no execution can be stopped?"""
        return False

    cdef Family *family_of(self, BackEdgeState *e) except? NULL:
        """The family of specs that both values of a back edge are of, where the node that makes one of them follows it; NULL:
        every other spec is looked at."""
        return NULL
