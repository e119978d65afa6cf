/* One bound kernel call. call.pxd says what it is to Cython; C macros in scalars.h need it too. */
#ifndef LOOPDBG_CALL_H
#define LOOPDBG_CALL_H

#include <numpy/npy_common.h>

enum { LOOPDBG_MAX_ARGS = 8, LOOPDBG_MAX_DIMS = 4, LOOPDBG_MAX_STEPS = 12, LOOPDBG_MAX_EXTRA = 12 };

typedef void (*loopdbg_loop)(char **args, npy_intp const *dims, npy_intp const *steps, void *data);
#define LOOP(name) static void name(char **args, npy_intp const *dims, npy_intp const *steps, void *data)

/* A function of so many neighbours of float16, or of bfloat16 (``brain``). */
typedef void (*loopdbg_half_loop)(unsigned short const *x, unsigned short *y, npy_intp n, int brain);

/* An elementwise loop for float32, and with what it goes through which type (narrow.h). */
typedef struct {
    loopdbg_loop loop, fold;
    void *data, *fold_data;
    loopdbg_half_loop halves; /* NULL, or what does the same in registers */
    /* narrow: the result is of that type as well, else it is a bool; operation: of loopdbg_half (narrow.h), or -1 */
    int inputs, brain, narrow, operation;
} loopdbg_narrow_loop;

typedef struct loopdbg_call {
    /* 0; below 0 to pass over so many calls of the node; above 0 when the call could not be done as bound: then the
     * engine runs the node in Python, which either gives the result or raises the error. */
    int (*run)(struct loopdbg_call *call);
    loopdbg_loop loop;
    void *data;
    int nargs;
    int status;
    /* The loop takes one step for each argument and computes each element from those in its place alone. A kernel says
     * so of itself; whoever calls the loop in another way asks first. */
    int elementwise;
    /* 1 + the opcode of scalar_ops.h that gives the same bits of each element, however many there are, negative where the
     * loop folds by it; 0: none. */
    int operation;
    /* An argument's address is *cell + offset: buffers move (swapped back edges, slices), cells stay. */
    char **cell[LOOPDBG_MAX_ARGS];
    npy_intp offset[LOOPDBG_MAX_ARGS];
    npy_intp dims[LOOPDBG_MAX_DIMS];
    npy_intp steps[LOOPDBG_MAX_STEPS]; /* matmul's inner loop needs 9 */
    /* Outer axes of an N-dimensional call: for each its extent, then one stride an argument. Owned by the engine. */
    int nouter;
    npy_intp *outer;
    npy_intp extra[LOOPDBG_MAX_EXTRA];
    /* NULL but for routines that write on top of a copy of their first argument. */
    struct loopdbg_incremental_copy *renewal;
} loopdbg_call;

typedef int (*loopdbg_run)(loopdbg_call *call);

#define LOOPDBG_ARG(call, k) (*(call)->cell[k] + (call)->offset[k])

#endif
