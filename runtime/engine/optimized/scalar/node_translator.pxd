"""Translation of nodes into scalar instructions."""

from ....kernels.call cimport Call
from ...baseline.state cimport Instr, ExecutionState
from .element_access cimport ElementAccess

cdef class NodeTranslator:
    cdef ExecutionState *s
    cdef object plan
    cdef dict registers              # ("slot", k) or ("temp", address) -> byte offset of the register
    cdef readonly list values        # (slot, cell address, byte offset, nbytes, are they the value's) of each register
    cdef readonly int nbytes         # of all registers, with padding
    cdef int used                    # of their values
    cdef readonly list code          # (op, d, a, b, c)
    cdef readonly list positions     # instruction -> position in the plan
    cdef readonly list calls         # (loop, data, registers, steps)
    cdef readonly list loads         # (slot, offset, block, length, base, register of the index, as int64)
    cdef readonly list elementwise_operations        # (opcode, registers of the arguments, places of their elements, address of the call)
    cdef readonly list nodes         # (address and number of calls, cost, registers of each, those of results, order)
    cdef readonly list any_tests     # (address of the function, type, relation, is b one number, registers, elements)
    cdef readonly dict fixed         # slot -> bytes that the program assumes
    cdef set constants               # slots of the model's constants
    cdef set changing                # slots that the loop is known to write
    cdef set large                   # slots without a register; the loop must not write them
    cdef dict boundary_registers                # slot -> register at the next boundary, while predicates are translated

    cdef int slot(self, int k) except -1
    cdef int optional_slot_register(self, int k) except -2
    cdef int register(self, tuple key, int slot, size_t cell, Py_ssize_t nbytes, bint exact) except -1
    cdef list moves(self, int source, int target)
    cdef int slot_of_cell(self, char **cell) except -2
    cdef int argument(self, Call *call, int j, dict temps) except -1
    cdef int node(self, int pc, Instr *ins, char **answer) except -1
    cdef list arguments(self, Call *call, ElementAccess e)
    cdef ElementAccess elements(self, Call *call)
    cdef bytes indices(self, Call *call)
    cdef Py_ssize_t port_bytes(self, Call *call, int j) except -2
    cdef bint is_number(self, Call *call, int j) except -1
    cdef bint has_scalar_arguments(self, Call *call) except -1
    cdef bint is_invariant_gather(self, Call *call) except -1
    cdef int load(self, int pc, Call *call, int index, int result) except -1
    cdef bint is_any_test(self, Call *call) except -1
    cdef int emit_scalar_call(self, int pc, Call *call, list registers) except -1
    cdef int emit_elementwise(self, int pc, Call *call, ElementAccess e, list registers) except -1
    cdef object search(self, Call *call, Call *last, int j)
    cdef object top_one_search(self, Call *calls)
    cdef object fold(self, Call *calls)
    cdef int emit_kernel_node(self, int pc, Instr *ins, char **answer) except -1
    cdef list results(self, int pc, char **answer)
    cdef int place(self, Call *call, int j, char **answer) except -2
