"""Regions of one node, for the optimizer."""

from libc.stdint cimport int64_t

from ...kernels.call cimport Call
from ..baseline.state cimport Instr, LoopState, Region, ExecutionState
from .optimizer_state cimport OptimizerNode, VaryingPort, DynamicResult, VaryingBinding

cdef void init_node(ExecutionState *s, int pc, int once) noexcept nogil
cdef void add_region(Instr *ins, Region *r) noexcept nogil
cdef void remove_region(Instr *ins, Region *r) noexcept nogil
cdef void add_node_region(ExecutionState *s, OptimizerNode *n) noexcept nogil
cdef int run_node(ExecutionState *s, int pc) noexcept nogil
cdef void shift_body_iteration(ExecutionState *s, LoopState *loop, int back) noexcept nogil
cdef int differs_only_in_extent(ExecutionState *s, VaryingBinding *v, int64_t *extent) noexcept nogil
cdef void cache_binding(ExecutionState *s, OptimizerNode *n) noexcept nogil
cdef int select_binding(ExecutionState *s, OptimizerNode *n, int64_t *extent) noexcept nogil
cdef int update_call_extents(ExecutionState *s, OptimizerNode *n) noexcept nogil
cdef void free_binding_cache(OptimizerNode *n) noexcept
cdef int check_result_capacity(Call *call) noexcept nogil
cdef int set_result_extent(Call *call) noexcept nogil


cdef inline DynamicResult *dynamic_result_of(const Instr *ins, int k) noexcept nogil:
    """State of a result whose length its calls compute."""
    return <DynamicResult *>ins.calls[k].data


cdef inline Py_ssize_t port_bytes(const VaryingPort *p, int64_t extent) noexcept nogil:
    """Bytes of a value at a port."""
    return p.nbytes if p.family == NULL else p.family.capacity_nbytes + p.family.unit * (p.base + p.slope * extent)
