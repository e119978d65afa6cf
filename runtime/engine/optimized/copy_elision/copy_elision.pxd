"""Nodes whose copies are elided, for what is fast."""

from libc.stdint cimport int64_t

from ..optimizing_binder cimport OptimizingBinder
from ...baseline.memory cimport Memory
from ...baseline.state cimport ExecutionState
from .view_readers cimport ViewReaders

cdef class CopyElision:
    cdef Memory memory
    cdef OptimizingBinder binder
    cdef ExecutionState *s
    cdef ViewReaders readers
    cdef set elided              # nodes whose copies are elided, or were since they were found
    cdef dict shown_iterations              # such a node -> of which iteration its slots have the values
    cdef frozenset watched       # slots that are read at boundaries
    cdef set fixed               # slots that something other than a node reads
    cdef set branch_positions              # positions within Ifs
    cdef dict refused            # a node whose copies could not be elided -> how it and its readers were bound then
    cdef dict aliases            # nodes of the main graph that alias memory in place of copying -> what they are bound to
    cdef int64_t aliased_at      # the generation for which they were found; -1: they copy

    cdef int look(self, int index, set members) except -1
    cdef int alias(self, set members) except -1
    cdef int restore_aliases(self, bint for_good) except -1
    cdef tuple iteration_of(self, int pc)
    cdef bint show(self, int pc) except -1
    cdef int materialize_all(self) except -1
    cdef int copy(self, int pc) except -1
    cdef int stop_eliding_inputs_of(self, members) except -1
    cdef int stop_eliding_all(self) except -1
    cdef int discard_values(self) except -1
    cdef bint is_available(self, int slot) except -1
    cdef set unavailable_slots(self)
    cdef int watch(self, frozenset slots) except -1
