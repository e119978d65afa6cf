"""The binder of the optimizer."""

from ...kernels.call cimport Call
from ..baseline.binder cimport NodeBinder
from .shape_ranges.range_bindings cimport RangeBindings

cdef class OptimizingBinder(NodeBinder):
    cdef RangeBindings range_bindings
    cdef list hoisted             # positions of nodes that may be computed for a block of iterations

    cdef int bind_variant(self, int pc, object instruction) except -1
    cdef int use_incremental_update(self, int pc, Call *call, object spec, dict slot_of_temp) except -1
