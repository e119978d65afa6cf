"""Nodes whose copies are elided, since who reads their results reads what they are copies of (views.pyx)."""

from ...baseline.bound_node cimport run_calls
from ...baseline.state cimport NATIVE, ExecutionState, unbind_node
from ..optimizer_state cimport OptimizerNode, VaryingBinding, optimizer_node


cdef inline int materialize_inputs(ExecutionState *s, OptimizerNode *n) noexcept nogil:
    """Before a node that varies runs: give it the copies that its binding of now reads; not 0: one could not be had."""
    cdef VaryingBinding *v = n.varying
    cdef OptimizerNode *writer
    cdef int k
    for k in range(v.ninputs):
        if s.writer[v.inputs[k].slot] >= 0 and not v.inputs[k].seen:
            writer = optimizer_node(s, s.writer[v.inputs[k].slot])
            if writer.elided and run_elided(s, writer):
                return 1
    return 0


cdef inline int run_elided(ExecutionState *s, OptimizerNode *n) noexcept nogil:
    """Run the calls that a node leaves out; not 0: one could not be run."""
    if n.looks and n.varying != NULL and materialize_inputs(s, n):
        return 1
    return run_calls(s.code[n.pc].calls, n.elided - 1)


cdef inline void elide_copies(ExecutionState *s, OptimizerNode *n) noexcept nogil:
    """Let it leave out its calls."""
    n.elided, s.code[n.pc].ncalls = s.code[n.pc].ncalls + 1, 0


cdef inline void restore_copies(ExecutionState *s, OptimizerNode *n) noexcept nogil:
    """Let it run again."""
    if n.elided:
        s.code[n.pc].ncalls, n.elided = n.elided - 1, 0


cdef inline void detach_reader(ExecutionState *s, int reader, int for_good) noexcept nogil:
    """Let a node read copies alone. Bindings for ranges know by themselves how those were bound; they fall only where those
    give something else (``for_good``)."""
    cdef OptimizerNode *n = optimizer_node(s, reader)
    if n == NULL:
        return
    if for_good and n.looks:
        n.region.stale = 1
    elif not n.through or n.varying != NULL:
        return
    unbind_node(s.code + reader)
    s.generation += 1


cdef inline void detach_readers(ExecutionState *s, int slot, int for_good) noexcept nogil:
    """No reader uses the source of a slot's copy any more."""
    cdef int k
    for k in range(s.readers[slot], s.readers[slot + 1]):
        detach_reader(s, s.reader[k], for_good)


cdef inline void materialize_slot(ExecutionState *s, int slot) noexcept nogil:
    """Within an iteration: give a slot the value that a node before leaves out."""
    cdef OptimizerNode *writer
    if s.writer[slot] < 0:
        return
    writer = optimizer_node(s, s.writer[slot])
    if writer.elided and s.code[writer.pc].kind == NATIVE:
        run_elided(s, writer)
