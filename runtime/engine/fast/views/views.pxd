"""Nodes whose copies are elided, for what is fast."""

from libc.stdint cimport int64_t

from ..binding cimport FastBinder
from ...plain.memory cimport Memory
from ...plain.state cimport State
from .readers cimport Readers

cdef class Views:
    cdef Memory memory
    cdef FastBinder binder
    cdef State *s
    cdef Readers readers
    cdef set elided              # nodes whose copies are elided, or were since they were found
    cdef dict shown              # such a node -> of which iteration its slots have the values
    cdef frozenset watched       # slots that are read at boundaries
    cdef set fixed               # slots that something other than a node reads
    cdef set within              # positions within Ifs
    cdef dict refused            # a node whose copies could not be elided -> how it and its readers were bound then
    cdef dict aliases            # nodes of the main graph that alias memory in place of copying -> what they are bound to
    cdef int64_t aliased_at      # the generation for which they were found; -1: they copy

    cdef int look(self, int index, set members) except -1
    cdef int alias(self, set members) except -1
    cdef int copy_outside(self, bint for_good) except -1
    cdef tuple iteration_of(self, int pc)
    cdef bint show(self, int pc) except -1
    cdef int show_all(self) except -1
    cdef int copy(self, int pc) except -1
    cdef int copy_for(self, members) except -1
    cdef int copy_all(self) except -1
    cdef int forget(self) except -1
    cdef bint is_there(self, int slot) except -1
    cdef set gone(self)
    cdef int watch(self, frozenset slots) except -1
