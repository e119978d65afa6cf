"""The binder of the optimizer."""

from ..baseline.binder cimport NodeBinder
from .shape_ranges.range_bindings cimport RangeBindings
from .optimizer_state cimport OptimizerNode

cdef class OptimizingBinder(NodeBinder):
    cdef RangeBindings range_bindings
    cdef list hoisted             # positions of nodes that may be computed for a block of iterations
    cdef readonly set batched     # positions of those that are, as they are bound now
    cdef list views              # position -> sources of a node's results if it only copies
    cdef bint was_elided         # the node being run had elided its copies

    cdef int bind_variant(self, int pc, object instruction) except -1
    cdef int restore_input_copies(self, object instruction, OptimizerNode *n) except -1
    cdef int update_copy_elision(self, object instruction, OptimizerNode *n, bint elided) except -1
