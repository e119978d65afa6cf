/* Scalar programs: the body of a loop over single numbers and small tensors, as instructions over registers.
 *
 * A register holds the bytes of a value as in its slot, padded to a multiple of 8; every slot and temp of the body has
 * one, so that no value is optimised away and all can be written back. The interpreter runs iterations until it reaches
 * something that the engine handles: the end of the loop, a limit or a stop, a true predicate, a full buffer, a
 * division by zero, an index out of range. It then is before that instruction (at_insn), or before the boundary of loop
 * `at_loop` (at_next, at_head), and has changed nothing of that step.
 */
#ifndef LOOPDBG_SCALAR_PROGRAM_H
#define LOOPDBG_SCALAR_PROGRAM_H

#include "termination.h"
#include "value_history_structs.h"
#include "kernels/call.h"
#include "kernels/elementwise/scalar_ops.h"
#include "boundary_record.h"

enum { LOOPDBG_SCALAR_ARGS = 4 }; /* of an elementwise loop */
enum { SCALAR_MAX_STAGED_MOVES = 256 };     /* moves of 8 bytes that are all read before any is written */

#define SCALAR_OPCODE(ID, ...) OP_##ID,
enum {
    SCALAR_BINARY(SCALAR_OPCODE) SCALAR_UNARY(SCALAR_OPCODE) SCALAR_DIVISIONS(SCALAR_OPCODE) SCALAR_CHOICES(SCALAR_OPCODE)
        OP_CALL, /* a: index of an inner loop's call */
    OP_LOAD,                               /* d: register; a: index of a load */
    OP_BRANCH,                             /* a: condition; d: target when it is false */
    OP_JUMP,                               /* d: target */
    OP_ENTER,                              /* a: loop */
    OP_NEXT,                               /* a: loop */
    OP_TEST,                               /* a: condition of the next iteration */
    OP_COUNT,                              /* d: register; a: iterations that the boundary ahead has behind it,
                                              relative to the running one, or -1: none; b: as int64, else int32 */
    OP_STOP_IF,                            /* a: condition; returns before the next boundary */
    OP_EACH,                               /* a: index of an elementwise operation */
    OP_NODE,                               /* a: index of a node run by its kernels */
    OP_ANY,                                /* d: register; a: index of a test of elements; b: stop as OP_STOP_IF does */
    OP_BLOCK,                              /* d, a: registers; b: number of bytes to copy */
};

typedef struct {
    int32_t op, d, a, b, c; /* registers as byte offsets */
} scalar_instruction;

/* 8 bytes; larger values take several moves. */
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

/* An elementwise operation. Broadcasting, transposing, slicing and concatenation only change the element offsets. */
typedef struct scalar_elementwise {
    int (*run)(char *registers, struct scalar_elementwise const *each); /* 0: an integer is divided by 0 */
    int op, n, nargs;
    int32_t *offsets[LOOPDBG_SCALAR_ARGS]; /* byte offsets of the elements of each argument, the result last */
    loopdbg_call *call;               /* vectorized kernel for many elements */
} scalar_elementwise;

/* Does a relation hold for any element (kernels/reduce/any.h)? */
typedef struct {
    int (*holds)(void const *a, void const *b, npy_intp n);
    int type, relation, is_scalar; /* b is one number */
    int32_t a, b;
    npy_intp n;
} scalar_any;

/* A node whose kernels run on registers. */
typedef struct {
    loopdbg_call *calls;
    int ncalls, narguments, nresults;
    int64_t cost;
    int *arguments, *results; /* registers of all arguments, and of results */
    void *order;        /* a Python object: evaluation order for machine code; NULL: use the kernels */
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

/* A user's record. */
typedef struct {
    boundary_record *record;
    int *source;
} scalar_recorder;

/* A series of a history: first cell of its column, registers read at a boundary and at an entry (-1: none), and number
 * of elements (1: the bits of the number are written). */
typedef struct {
    int32_t column, result, param;
    int series, count;
} scalar_history_cell;

typedef struct {
    int index, parent;           /* loop in the plan; outer loop in the program, -1: none */
    int body, after;             /* instructions */
    int test;                    /* code that decides whether an iteration runs; -1: none */
    int32_t trip, initial, cond, cond_in, iteration; /* registers, -1: none */
    int trip_wide, iteration_wide, negative; /* negative: see termination.h */
    int64_t fixed_trips;
    int staged;                  /* a move writes the source of another: read all before writing any */
    int ninit, nmoves, nouts, nscans, nslices, nrecorders;
    scalar_move *init, *moves, *outs;
    int *before;                 /* of each back edge, the register of its previous value; NULL: the engine has it */
    scalar_scan *scans;
    scalar_slice *slices;
    scalar_recorder *recorders;
    loop_history *history; /* NULL: none */
    int nnotes;
    scalar_history_cell *notes;
    /* the running loop */
    int64_t i, trips, parts, stop_before; /* trips, parts: -1: none */
    int64_t stop, endless_at;             /* of an inner loop: used to compute stop_before at its entry */
    int keep, counted;
    int ended; /* reason of an inner loop's last end; 0: not since the program was entered */
    int64_t *iterations, *entries, *by_reason, *by_length;
} scalar_loop;

/* SCALAR_AT_TEST: the condition of the outermost loop was tested and ended it. */
enum { SCALAR_TICK, SCALAR_AT_INSN, SCALAR_AT_NEXT, SCALAR_AT_HEAD, SCALAR_AT_TEST };

typedef struct {
    char *registers;
    scalar_instruction *code;
    scalar_call *calls;
    scalar_load *loads;
    scalar_loop *loops;
    scalar_elementwise *elementwise_operations;
    scalar_node *nodes;
    scalar_any *any_tests;
    int at_insn, at_loop;
    int suspended; /* resume at at_insn; else start at the head of at_loop */
} scalar_program;

#endif
