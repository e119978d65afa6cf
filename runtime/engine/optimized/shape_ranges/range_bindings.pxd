"""Nodes that follow varying extents, for the binder."""

from libc.stdint cimport int64_t

from ...baseline.memory cimport Memory
from ...baseline.state cimport BackEdgeState, Family, ExecutionState
from ..optimizer_state cimport OptimizerNode, VaryingPort, VaryingBinding

# Cached bindings of a node besides the one in use: a growing value needs one for each capacity, and another when it
# moves there. Beyond that each binding is a new one (backoff.pxd).
cdef enum:
    MAX_CACHED_BINDINGS = 24

cdef class RangeBindings:
    cdef Memory memory
    cdef ExecutionState *s
    cdef list last_bound         # position -> last binding there, and the shapes of its inputs
    cdef dict appends            # (result slot, loop) -> slot of the parameter of its back edge
    cdef dict arrays             # (position, key of a binding) -> the arrays behind it
    cdef int64_t keys
    cdef dict carriers               # result of ``in_place_append_edges``
    cdef dict branches           # result of ``branch_result_sources``
    cdef bint outputs_only             # only the outputs of this execution are read

    cdef object varied(self, int pc, object instruction, list inputs)
    cdef object as_range_binding(self, object instruction, object symbolic, list descriptors, object bound)
    cdef int vary(self, int pc, object instruction, object symbolic, object bound, object appended, list arrays, dict seen,
                  dict sources) except -1
    cdef int add_symbolic_number(self, list numbers, size_t where, object value, bint narrow=?) except -1
    cdef object append_target(self, object instruction, list descriptors)
    cdef int fill_input_port(self, VaryingPort *p, int slot, object shape, object capacity) except -1
    cdef int port(self, VaryingPort *p, int slot, object shape, object dtype, object capacity) except -1
    cdef int remember_input_integers(self, int pc, list inputs, object positions) except -1
    cdef int begin(self, bint outputs_only) except -1
    cdef bint has_specs_for(self, object out) except -1
    cdef int count(self, OptimizerNode *n, int k, int slot, object out) except -1
    cdef int allocate_maximum_results(self, int pc) except -1
    cdef int cache_current_binding(self, int pc) except -1
    cdef int drop_bindings(self, int pc) except -1
    cdef int adapt_to_extent(self, int pc) except -1
    cdef int adapt_output_buffer(self, VaryingPort *p, VaryingBinding *v) except -1
    cdef Family *back_edge_family(self, BackEdgeState *e) except? NULL
    cdef Family *family_from_producer(self, int result, int param) except? NULL
    cdef object growing_buffer_for(self, VaryingPort *p, Py_ssize_t nbytes)
    cdef object buffer(self, int pc, Py_ssize_t nbytes, bint range_bindings)
    cdef bint shares_back_edge_buffer(self, int slot)
    cdef int append_in_place(self, VaryingPort *p, Py_ssize_t nbytes) except -1
    cdef int append_in_front(self, VaryingPort *p, Py_ssize_t nbytes) except -1
