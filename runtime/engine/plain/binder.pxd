"""The binder, for the parts of the engine that run nodes or bind more than the plan's."""

from libc.stdint cimport int64_t

from ...kernels.call cimport Call
from ..fast.ranges.varying cimport Growing
from .memory cimport Memory
from .state cimport Instr, State

cdef class Binder:
    cdef Memory memory
    cdef Growing growing
    cdef State *s
    cdef object plan
    cdef list keep               # position -> arrays that its calls use
    cdef public bint native      # False: every node runs in Python, for comparison
    cdef object quiet            # the context that operators run in, without warnings
    cdef dict replaced           # slot -> value in place of what its node, a constant, gives; never changed itself
    cdef public object block     # iterations that are computed at once where that is possible; None: as is best
    cdef public int64_t seed     # of random operators that have none of their own
    cdef list aheads             # positions of nodes that may run ahead
    cdef list views              # position -> what a node's results are copies of, where that is all that it does
    cdef dict streams            # slot -> the stream that tells how many of its rows are there

    cdef int load_code(self) except -1
    cdef int note_hand(self, bint by_hand) except -1
    cdef int drop_blocks(self) except -1
    cdef int bind_node(self, int pc) except -1
    cdef int bind_as(self, int pc, object instruction) except -1
    cdef object input(self, int slot)
    cdef int add_instruction(self) except -1
    cdef int unbind(self, int pc) except -1
    cdef int install(self, int pc, object instruction, object bound) except -1
    cdef int is_general(self, int pc)
    cdef int run_anyhow(self, int pc) except -1
    cdef int renew(self, int pc, Call *call, object spec, dict slot_of_temp) except -1
    cdef int run_node(self, int pc) except -1
    cdef int open(self, object instruction, int pc) except -1
    cdef int look_anew(self, object instruction, Instr *ins, bint passed) except -1
    cdef int replace_constant(self, int pc, int slot) except -1
    cdef int run_in_python(self, int pc, object instruction) except -1
