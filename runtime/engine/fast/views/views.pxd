"""Nodes that are passed over, for the engine."""

from libc.stdint cimport int64_t

from ...plain.binder cimport Binder
from ...plain.memory cimport Memory
from ...plain.state cimport State
from .readers cimport Readers

cdef class Views:
    cdef Memory memory
    cdef Binder binder
    cdef State *s
    cdef Readers readers
    cdef set passed              # nodes that are passed over, or were since they were found
    cdef dict shown              # such a node -> of which iteration its slots have the values
    cdef frozenset watched       # slots that are read at boundaries
    cdef set fixed               # slots that something other than a node reads
    cdef set within              # positions within Ifs
    cdef dict refused            # a node that could not be passed over -> how it and its readers were bound then
    cdef dict waits              # loop -> after how many iterations it is looked at again for readers bound for ranges
    cdef dict lenders            # nodes of the main graph that lend memory in place of copying -> what they are bound to
    cdef int64_t lending         # the generation for which they were found; -1: they copy

    cdef int look(self, int index, set members) except -1
    cdef list timely(self, int index, list varied)
    cdef bint is_worth_it(self, int pc, set members) except -1
    cdef list readers_of(self, int pc)
    cdef int pass_over(self, int pc) except -1
    cdef bint can_be_passed(self, int pc) except -1
    cdef bint is_small(self, int pc, int slot) except -1
    cdef bint looks_alike(self, int reader, int pc, set members) except -1
    cdef int lend(self, set members) except -1
    cdef bint can_lend(self, int pc) except -1
    cdef int take_back(self, bint for_good) except -1
    cdef tuple moment(self, int pc)
    cdef bint show(self, int pc) except -1
    cdef int show_all(self) except -1
    cdef int wake(self, int pc) except -1
    cdef int wake_for(self, members) except -1
    cdef int wake_by_hand(self) except -1
    cdef int begin(self) except -1
    cdef int forget(self) except -1
    cdef bint is_there(self, int slot) except -1
    cdef set gone(self)
    cdef int watch(self, frozenset slots) except -1
