"""Scalar programs as Cython has them: see scalar_program.h for what all of it is."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp
from numpy cimport npy_intp

from ....kernels.call cimport Call, inner_loop
from ...baseline.state cimport Region, boundary_record
from ...history.value_history_structs cimport loop_history

cdef extern from "scalar_program.h" nogil:
    enum:
        SCALAR_MAX_STAGED_MOVES
        SCALAR_TICK, SCALAR_AT_INSN, SCALAR_AT_NEXT, SCALAR_AT_HEAD, SCALAR_AT_TEST
        OP_CALL, OP_LOAD, OP_BRANCH, OP_JUMP, OP_ENTER, OP_NEXT, OP_TEST, OP_COUNT, OP_STOP_IF
        OP_EACH, OP_NODE, OP_BLOCK, OP_copy_1, OP_copy_2, OP_copy_4, OP_copy_8

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
        int32_t *at[4]
        Call *call

    ctypedef struct scalar_node:
        Call *calls
        int ncalls, ntaken, ngiven
        int64_t cost
        int *taken
        int *given
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

    ctypedef struct scalar_program:
        char *registers
        scalar_instruction *code
        scalar_call *calls
        scalar_load *loads
        scalar_loop *loops
        scalar_elementwise *elementwise_operations
        scalar_node *nodes
        int at_insn, at_loop, suspended

# What kernels read at once. Registers of several numbers begin at such pieces and have whole ones, which machine code
# writes as wide: a read of more than what was written waits until that, and everything before, is done.
cdef enum:
    REGISTER_ALIGNMENT_BYTES = 64

# A register and where its value lives. ``written``: the loop changes it, so that leaving the program writes it back.
cdef struct ProgramRegister:
    int slot                 # -1: a temp
    char **cell
    int at                   # byte offset among the registers
    Py_ssize_t nbytes
    int exact                # the value has so many bytes; else it is one number of at most so many
    int written

# A constant that a program rests on: it is not entered where a hand has changed it.
cdef struct ProgramConstant:
    int slot
    Py_ssize_t nbytes
    char *data

# What runs a program: the interpreter, or code that was made for it.
ctypedef int (*scalar_function)(scalar_program *p, const int *watch, int64_t *budget) noexcept nogil

# A program as a region. It is good as long as nothing was bound or unbound since it was made.
cdef struct Program:
    Region region            # first
    scalar_program core
    int root                 # index of the loop
    int64_t generation
    int nregisters, ncode, nloops, nloads, ncalls, neaches, nnodes, nonce
    scalar_function compiled # NULL: the interpreter runs it
    int nconstants           # registers that the code takes for the numbers in ``wanted``
    int *constants
    int64_t *wanted
    int as_code              # and they have those
    int64_t spent            # budget that the interpreter took for it; one unit is about a nanosecond
    ProgramRegister *values
    int nfixed
    ProgramConstant *fixed
    int *positions           # instruction of the program -> position in the plan
    int *once                # positions of nodes that are left out: they ran in this entry


cdef inline int has_constants(const Program *program) noexcept nogil:
    """Are the registers that its code takes for constants such? A hand may have changed them."""
    cdef int k, register
    for k in range(program.nconstants):
        register = program.constants[k]
        if memcmp(program.core.registers + program.values[register].at, program.wanted + k, program.values[register].nbytes):
            return 0
    return 1
