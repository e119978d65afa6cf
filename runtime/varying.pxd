"""Nodes that follow varying extents, for the classes above."""

from .memory cimport Memory
from .state cimport Family, Port, Varying

cdef class Varied(Memory):
    cdef list met                # position -> shapes of its inputs when it was last bound
    cdef dict appends            # (result slot, loop) -> slot of the parameter that a back edge carries it to
    cdef dict rooms              # (position, temp) -> array behind a temp that grew

    cdef object varied(self, int pc, object op, list inputs)
    cdef int vary(self, int pc, object instruction, object followed, object bound, object appended) except -1
    cdef int number(self, list numbers, size_t where, object value) except -1
    cdef int port(self, Port *p, int slot, object shape, object dtype) except -1
    cdef int make_room(self, int pc) except -1
    cdef int make_output(self, Port *p, Varying *v) except -1
    cdef int grow_into(self, Port *p, Py_ssize_t nbytes) except -1
