"""Nodes that are passed over, since who reads their results looks through them (views.pyx)."""

from .state cimport NATIVE, UNBOUND, Instr, State


cdef inline int run_passed(Instr *ins) noexcept nogil:
    """Run the calls that a node leaves out; not 0: one could not be run."""
    cdef int k
    for k in range(ins.passed):
        if ins.calls[k].run(ins.calls + k):
            return 1
    return 0


cdef inline void wake_node(Instr *ins) noexcept nogil:
    """Let it run again."""
    if ins.passed:
        ins.ncalls, ins.passed = ins.passed, 0


cdef inline void close(State *s, int slot) noexcept nogil:
    """Nobody looks through the node that writes a slot any more."""
    cdef int k
    cdef Instr *reader
    for k in range(s.readers[slot], s.readers[slot + 1]):
        reader = s.code + s.reader[k]
        if reader.through:
            reader.kind = UNBOUND
            reader.calm = 0
            s.generation += 1


cdef inline void wake_writer(State *s, int slot) noexcept nogil:
    """Within an iteration: somebody reads a slot otherwise from now on."""
    cdef Instr *ins
    if s.writer[slot] >= 0:
        ins = s.code + s.writer[slot]
        if ins.passed:
            if ins.kind == NATIVE:
                run_passed(ins)
            wake_node(ins)
