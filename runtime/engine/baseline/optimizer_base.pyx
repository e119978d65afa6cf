"""Interfaces through which the baseline tier drives an optimizer and reports boundaries: see optimizer_base.pxd."""

from libc.stdint cimport int64_t

from .state cimport BackEdgeState, Family


cdef class OptimizerBase:
    """No-op base: the engine runs without an optimizer."""

    def __init__(self):
        self.watched_generation = -1

    cdef int begin(self, bint outputs_only) except -1:
        """An execution begins. ``outputs_only``: only its outputs are read."""

    cdef int look(self, int index) except -1:
        """A loop crossed the boundary at which its ``optimizer_due_at`` asked for a call."""

    cdef int on_time_slice_end(self) except -1:
        """About 10 ms of a run passed."""

    cdef int watch(self, int64_t generation, frozenset slots) except -1:
        """The execution resumes; ``slots`` are the only slots read at boundaries."""
        self.watched_generation = generation

    cdef int materialize(self, int slot) except -1:
        """Write the value of a slot that is about to be read, if it is still available."""

    cdef bint is_available(self, int slot) except -1:
        """Does a slot hold the value from the last run of its node?"""
        return True

    cdef int materialize_all(self) except -1:
        """Write the values of all slots, as far as they are available, that no region can write."""

    cdef set unavailable_slots(self):
        """The slots whose values are lost."""
        return set()

    cdef int on_jump(self) except -1:
        """The execution jumped; all slots hold the values of the new position."""

    cdef int before_edit(self) except -1:
        """The user is about to edit a value: results computed before do not follow it."""

    cdef bint is_mid_region(self) except -1:
        """Is a region suspended in its middle, where an execution cannot stop?"""
        return False

    cdef Family *back_edge_family(self, BackEdgeState *e) except? NULL:
        """The family of both specs of a back edge, where the node that makes one of them follows it; NULL: other specs
        are handled in Python."""
        return NULL


cdef class BoundaryObserver:
    """No-op base: nothing is recorded."""

    cdef int prepare_log(self, int index, bint crossing) except -1:
        """Called before a loop is entered or a boundary crossed while its log (state.pxd) is not ready."""

    cdef int restart_log_at(self, int index) except -1:
        """A loop was placed at a boundary; nothing is known of the boundaries before."""
