"""The binder, for the parts of the engine that run nodes or bind more than the plan's."""

from libc.stdint cimport int64_t

from .memory cimport Memory
from .state cimport Instr, State

cdef class Binder:
    cdef Memory memory
    cdef State *s
    cdef object plan
    cdef list keep               # position -> arrays that its calls use
    cdef public bint native      # False: every node runs in Python, for comparison
    cdef object quiet            # the context that operators run in, without warnings
    cdef dict replaced           # slot -> value in place of what its node, a constant, gives; never changed itself
    cdef public int64_t seed     # of random operators that have none of their own

    cdef set read_by(self, object instruction)
    cdef int note_hand(self, bint by_hand) except -1
    cdef int invalidate(self) except -1
    cdef int materialise(self) except -1
    cdef int bind_node(self, int pc) except -1
    cdef list inputs_of(self, object instruction)
    cdef int make_results(self, object instruction, object bound) except -1
    cdef object input(self, int slot)
    cdef int add_instruction(self) except -1
    cdef int unbind(self, int pc) except -1
    cdef int drop(self, int pc) except -1
    cdef int install(self, int pc, object instruction, object bound, int around=?) except -1
    cdef int run_node(self, int pc) except -1
    cdef int run_as_bound(self, int pc) except -1
    cdef int unfit(self, int pc) except -1
    cdef int is_lasting(self, int pc) except -1
    cdef int replace_constant(self, int pc, int slot) except -1
    cdef int run_in_python(self, int pc, object instruction) except -1

cdef int call_native(State *s, Instr *ins) except -1
