"""Cython declarations of scalar programs: see scalar_program.h."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp
from numpy cimport npy_intp

from ....kernels.call cimport Call, inner_loop
from ...baseline.state cimport Region, boundary_record
from ...history.value_history_structs cimport loop_history

# A test of any element (kernels/reduce/any.h).
ctypedef int (*any_holds)(const void *a, const void *b, npy_intp n) noexcept nogil

cdef extern from "scalar_program.h" nogil:
    enum:
        SCALAR_MAX_STAGED_MOVES
        SCALAR_TICK, SCALAR_AT_INSN, SCALAR_AT_NEXT, SCALAR_AT_HEAD, SCALAR_AT_TEST
        OP_CALL, OP_LOAD, OP_BRANCH, OP_JUMP, OP_ENTER, OP_NEXT, OP_TEST, OP_COUNT, OP_STOP_IF
        OP_EACH, OP_NODE, OP_ANY, OP_BLOCK, OP_copy_1, OP_copy_2, OP_copy_4, OP_copy_8

    ctypedef struct scalar_instruction:
        int32_t op, d, a, b, c

    ctypedef struct scalar_move:
        int32_t source, to

    ctypedef struct scalar_call:
        inner_loop loop
        void *data
        int nargs
        int32_t args[4]
        npy_intp steps[4]

    ctypedef struct scalar_load:
        int slot
        npy_intp offset, block
        int64_t length
        const char *base
        int32_t index
        int wide

    ctypedef struct scalar_elementwise:
        int (*run)(char *registers, const scalar_elementwise *each) noexcept nogil
        int op, n, nargs
        int32_t *offsets[4]
        Call *call

    ctypedef struct scalar_any:
        any_holds holds
        int type, relation, is_scalar
        int32_t a, b
        npy_intp n

    ctypedef struct scalar_node:
        Call *calls
        int ncalls, narguments, nresults
        int64_t cost
        int *arguments
        int *results
        void *order

    ctypedef struct scalar_scan:
        int32_t source
        npy_intp nbytes
        char *buffer
        int64_t count, capacity

    ctypedef struct scalar_slice:
        int32_t to
        npy_intp nbytes, step
        const char *base

    ctypedef struct scalar_recorder:
        boundary_record *record
        int *source

    ctypedef struct scalar_history_cell:
        int32_t column, result, param
        int series, count

    ctypedef struct scalar_loop:
        int index, parent, body, after, test
        int32_t trip, initial, cond, cond_in, iteration
        int trip_wide, iteration_wide, negative
        int64_t fixed_trips
        int staged, ninit, nmoves, nouts, nscans, nslices, nrecorders, nnotes
        scalar_move *init
        scalar_move *moves
        scalar_move *outs
        int *before
        scalar_scan *scans
        scalar_slice *slices
        scalar_recorder *recorders
        loop_history *history
        scalar_history_cell *notes
        int64_t i, trips, parts, stop_before, stop, endless_at
        int keep, counted, ended
        int64_t *iterations
        int64_t *entries
        int64_t *by_reason
        int64_t *by_length

    ctypedef struct scalar_program:
        char *registers
        scalar_instruction *code
        scalar_call *calls
        scalar_load *loads
        scalar_loop *loops
        scalar_elementwise *elementwise_operations
        scalar_node *nodes
        scalar_any *any_tests
        int at_insn, at_loop, suspended

# Unit of vector loads. Registers of several numbers are aligned to and padded with it, and machine code writes them in
# whole units: a load wider than the preceding stores stalls until they retire.
cdef enum:
    REGISTER_ALIGNMENT_BYTES = 64

# A register and the location of its value. ``written``: the loop changes it, so that it is written back at exit.
cdef struct ProgramRegister:
    int slot                 # -1: a temp
    char **cell
    int offset                   # byte offset among the registers
    Py_ssize_t nbytes
    int exact                # the value has exactly nbytes; else it is one number of at most nbytes
    int written

# A constant that a program assumes: it is not entered after the user changed it.
cdef struct ProgramConstant:
    int slot
    Py_ssize_t nbytes
    char *data

# The interpreter of a program, or its machine code.
ctypedef int (*scalar_function)(scalar_program *p, const int *watch, int64_t *budget) noexcept nogil

# A program as a region. It is valid while nothing is bound or unbound.
cdef struct Program:
    Region region            # first
    scalar_program core
    int root                 # index of the loop
    int64_t generation
    int nregisters, ncode, nloops, nloads, ncalls, neaches, nnodes, nany, nonce
    scalar_function compiled # NULL: interpreted
    int nconstants           # registers that the machine code assumes to hold ``constant_values``
    int *constants
    int64_t *constant_values
    int constants_hold       # and they do
    int64_t interpreted_cost # budget spent by the interpreter; one unit is about 1 ns
    ProgramRegister *values
    int nfixed
    ProgramConstant *fixed
    int *positions           # instruction of the program -> position in the plan
    int *once                # positions of omitted nodes, which ran in this entry


cdef inline int has_constants(const Program *program) noexcept nogil:
    """Do the registers that the machine code assumes constant have these values? The user may have edited them."""
    cdef int k
    cdef ProgramRegister *value
    for k in range(program.nconstants):
        value = program.values + program.constants[k]
        if memcmp(program.core.registers + value.offset, program.constant_values + k, value.nbytes):
            return 0
    return 1
