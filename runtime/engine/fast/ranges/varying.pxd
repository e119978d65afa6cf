"""Nodes that follow varying extents, for the binder."""

from libc.stdint cimport int64_t

from ...plain.memory cimport Memory
from ...plain.state cimport Edge, Family, State
from ..fast_state cimport FastNode, Port, Varying

# Bindings for ranges that a node keeps besides the one in use: a value that grows meets another one with each capacity, and once
# more where it moves there. With more of them each binding is a new one (schedule.pxd).
cdef enum:
    MOST = 24

cdef class Growing:
    cdef Memory memory
    cdef State *s
    cdef list last_bound         # position -> what was last bound there, and the shapes of its inputs
    cdef dict appends            # (result slot, loop) -> slot of the parameter that a back edge carries it to
    cdef dict arrays             # (position, key of a binding) -> the arrays behind it
    cdef int64_t keys
    cdef dict carriers           # as ``carriers`` gives them
    cdef dict branches           # as ``given_by_branches`` gives them
    cdef bint unseen             # nobody looks at anything but the outputs of this execution

    cdef object varied(self, int pc, object instruction, list inputs)
    cdef object finished(self, object instruction, object followed, list given, object bound)
    cdef int vary(self, int pc, object instruction, object followed, object bound, object appended, list arrays, dict seen,
                  dict beyond) except -1
    cdef int number(self, list numbers, size_t where, object value, bint narrow=?) except -1
    cdef object place_for(self, object instruction, list given)
    cdef int input_port(self, Port *p, int slot, object shape, object capacity) except -1
    cdef int port(self, Port *p, int slot, object shape, object dtype, object capacity) except -1
    cdef int note_looks(self, int pc, list inputs, object looked) except -1
    cdef int begin(self, bint unseen) except -1
    cdef bint can_count(self, object out) except -1
    cdef int count(self, FastNode *n, int k, int slot, object out) except -1
    cdef int reserve(self, int pc) except -1
    cdef int put_aside(self, int pc) except -1
    cdef int forget(self, int pc) except -1
    cdef int provide(self, int pc) except -1
    cdef int provide_output(self, Port *p, Varying *v) except -1
    cdef Family *family_of(self, Edge *e) except? NULL
    cdef Family *family_from(self, int result, int param) except? NULL
    cdef object buffer_for(self, Port *p, Py_ssize_t nbytes)
    cdef object buffer(self, int pc, Py_ssize_t nbytes, bint growing)
    cdef bint is_shared(self, int slot)
    cdef int grow_into(self, Port *p, Py_ssize_t nbytes) except -1
