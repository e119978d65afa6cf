/* Scalar programs: the body of a loop whose values are all single numbers or small tensors, as instructions over registers.
 *
 * A register has the bytes of its value, as they lie in the slot, rounded up to 8; every slot and temp of the body has one,
 * so nothing is optimised away and every value can be written back to its slot. The interpreter runs iterations until something happens that it leaves to the engine: the
 * loop would end, a limit or a stop is reached, a predicate is true, a buffer is full, a division by zero, an index
 * outside. It then stands before the instruction that the engine has to do (at_insn), or before the boundary of loop
 * `at_loop` (at_next, at_head), and has changed nothing of that step.
 */
#ifndef LOOPDBG_SCALAR_PROGRAM_H
#define LOOPDBG_SCALAR_PROGRAM_H

#include "termination.h"
#include "value_history.h"
#include "kernels/call.h"
#include "kernels/elementwise/scalar_ops.h"
#include "boundary_record.h"

enum { LOOPDBG_SCALAR_ARGS = 4 }; /* of an elementwise loop */
enum { SCALAR_MAX_STAGED_MOVES = 256 };     /* moves of 8 bytes that are read before any is written */

#define SCALAR_OPCODE(ID, ...) OP_##ID,
enum {
    SCALAR_BINARY(SCALAR_OPCODE) SCALAR_UNARY(SCALAR_OPCODE) SCALAR_DIVISIONS(SCALAR_OPCODE) SCALAR_CHOICES(SCALAR_OPCODE)
        OP_CALL, /* a: index of an inner loop's call */
    OP_LOAD,                               /* d: register; a: index of a load */
    OP_BRANCH,                             /* a: condition; d: where to go on when it is false */
    OP_JUMP,                               /* d: where to go on */
    OP_ENTER,                              /* a: loop */
    OP_NEXT,                               /* a: loop */
    OP_TEST,                               /* a: condition; whether the iteration ahead runs */
    OP_COUNT,                              /* d: register; a: iterations that the boundary ahead has behind it,
                                              relative to the running one, or -1: none; b: as int64, else int32 */
    OP_STOP_IF,                            /* a: condition; leaves before the boundary ahead */
    OP_EACH,                               /* a: index of an operation on several elements */
    OP_NODE,                               /* a: index of a node that its kernels compute */
    OP_BLOCK,                              /* d, a: registers; b: bytes that are copied */
};

typedef struct {
    int32_t op, d, a, b, c; /* registers as byte offsets */
} scalar_instruction;

/* 8 bytes; larger values move by several. */
typedef struct {
    int32_t source, to;
} scalar_move;

/* A ufunc's inner loop on single elements (exp, tanh ...). */
typedef struct {
    loopdbg_loop loop;
    void *data;
    int nargs;
    int32_t args[LOOPDBG_SCALAR_ARGS];
    npy_intp steps[LOOPDBG_SCALAR_ARGS];
} scalar_call;

/* A Gather of one element from a tensor that the loop does not write. */
typedef struct {
    int slot;
    npy_intp offset, block;
    int64_t length;
    char const *base;
    int32_t index;
    int wide;
} scalar_load;

/* An operation on several elements. Broadcasting, turning, cutting and joining all are a matter of where elements are. */
typedef struct scalar_elementwise {
    int (*run)(char *registers, struct scalar_elementwise const *each); /* 0: an integer is divided by 0 */
    int op, n, nargs;
    int32_t *at[LOOPDBG_SCALAR_ARGS]; /* of each argument, the result last, where its elements are: byte offsets */
    loopdbg_call *call;               /* what computes many elements faster than one after the other */
} scalar_elementwise;

/* A node whose kernels run on registers: all that it needs is in `calls`. */
typedef struct {
    loopdbg_call *calls;
    int ncalls, ntaken, ngiven;
    int64_t cost;
    int *taken, *given; /* all registers that they have as arguments, and those of results */
    void *order;        /* a Python object: how it is computed, for machine code; NULL: by its kernels */
} scalar_node;

typedef struct {
    int32_t source;
    npy_intp nbytes;
    char *buffer;
    int64_t count, capacity;
} scalar_scan;

typedef struct {
    int32_t to;
    npy_intp nbytes, step;
    char const *base;
} scalar_slice;

/* A record as a program writes it. */
typedef struct {
    boundary_record *record;
    int *source;
} scalar_recorder;

/* A series of a history: the first cell of its column, and the registers that a boundary and an entry read (-1: none); of
 * how many elements (1: a number, whose bits are noted). */
typedef struct {
    int32_t column, result, param;
    int series, count;
} scalar_history_cell;

typedef struct {
    int index, parent;           /* of the loop in the plan; of the loop around it in the program, -1: none */
    int body, after;             /* instructions */
    int test;                    /* what decides whether an iteration runs, before it does; -1: nothing */
    int32_t trip, initial, cond, cond_in, iteration; /* registers, -1: none */
    int trip_wide, iteration_wide, negative; /* negative: as in endings.h */
    int64_t fixed_trips;
    int staged;                  /* a result is a parameter that a move writes: read all before writing any */
    int ninit, nmoves, nouts, nscans, nslices, nrecorders;
    scalar_move *init, *moves, *outs;
    int *before;                 /* of each back edge the register with what it carried before; NULL: the engine has that */
    scalar_scan *scans;
    scalar_slice *slices;
    scalar_recorder *recorders;
    loop_history *history; /* NULL: nobody asked */
    int nnotes;
    scalar_history_cell *notes;
    /* the running loop */
    int64_t i, trips, parts, stop_before; /* trips, parts: -1 is none */
    int64_t stop, endless_at;             /* of an inner loop: what stop_before comes from where it is entered */
    int keep, counted;
    int ended; /* why an inner loop ended last; 0: not since the program was entered */
    int64_t *iterations, *entries, *by_reason;
} scalar_loop;

/* SCALAR_AT_TEST: the condition of the outermost loop was tested, and it ends there. */
enum { SCALAR_TICK, SCALAR_AT_INSN, SCALAR_AT_NEXT, SCALAR_AT_HEAD, SCALAR_AT_TEST };

typedef struct {
    char *registers;
    scalar_instruction *code;
    scalar_call *calls;
    scalar_load *loads;
    scalar_loop *loops;
    scalar_elementwise *elementwise_operations;
    scalar_node *nodes;
    int at_insn, at_loop;
    int suspended; /* it goes on with at_insn, else at the head of at_loop */
} scalar_program;

#endif
