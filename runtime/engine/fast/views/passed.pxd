"""Nodes that are passed over, since who reads their results looks through them (views.pyx)."""

from ...plain.bound cimport run_calls
from ...plain.state cimport NATIVE, UNBOUND, Instr, Port, State, Varying


cdef inline int show_inputs(State *s, Instr *ins) noexcept nogil:
    """Before a node that varies runs: give it the values that its binding of now does not look through; not 0: one
    could not be had."""
    cdef Varying *v = ins.varying
    cdef int k, writer
    for k in range(v.ninputs):
        writer = s.writer[v.inputs[k].slot]
        if writer >= 0 and s.code[writer].passed and not v.inputs[k].seen and run_passed(s, s.code + writer):
            return 1
    return 0


cdef inline int run_passed(State *s, Instr *ins) noexcept nogil:
    """Run the calls that a node leaves out; not 0: one could not be run."""
    if ins.looks and ins.varying != NULL and show_inputs(s, ins):
        return 1
    return run_calls(ins.calls, ins.passed - 1)


cdef inline void pass_node(Instr *ins) noexcept nogil:
    """Let it leave out its calls."""
    ins.passed, ins.ncalls = ins.ncalls + 1, 0


cdef inline void wake_node(Instr *ins) noexcept nogil:
    """Let it run again."""
    if ins.passed:
        ins.ncalls, ins.passed = ins.passed - 1, 0


cdef inline void shut(State *s, int reader, int for_good) noexcept nogil:
    """Let a node look through no other any more. Bindings for ranges know by themselves how those were bound; they fall
    only where those give something else (``for_good``)."""
    cdef Instr *ins = s.code + reader
    if for_good and ins.looks:
        ins.stale = 1
    elif not ins.through or ins.varying != NULL:
        return
    ins.kind = UNBOUND
    ins.calm = 0
    s.generation += 1


cdef inline void close(State *s, int slot, int for_good) noexcept nogil:
    """Nobody looks through the node that writes a slot any more."""
    cdef int k
    for k in range(s.readers[slot], s.readers[slot + 1]):
        shut(s, s.reader[k], for_good)


cdef inline void show_slot(State *s, int slot) noexcept nogil:
    """Within an iteration: give a slot the value that a node before leaves out."""
    cdef int writer = s.writer[slot]
    if writer >= 0 and s.code[writer].passed and s.code[writer].kind == NATIVE:
        run_passed(s, s.code + writer)
