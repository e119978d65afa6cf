"""The binder of what is fast."""

from ...kernels.call cimport Call
from ..plain.binder cimport Binder
from .ranges.varying cimport Growing
from .fast_state cimport FastNode

cdef class FastBinder(Binder):
    cdef Growing growing
    cdef list hoisted             # positions of nodes that may be computed for a block of iterations
    cdef list views              # position -> what a node's results are copies of, where that is all that it does
    cdef bint was_elided         # the node that is run now left out its copies

    cdef int bind_as(self, int pc, object instruction) except -1
    cdef int renew(self, int pc, Call *call, object spec, dict slot_of_temp) except -1
    cdef int open(self, object instruction, FastNode *n) except -1
    cdef int read_anew(self, object instruction, FastNode *n, bint elided) except -1
