/* One bound kernel call. Declared for Cython in call.pxd; the C macros of scalar_ops.h need it too. */
#ifndef LOOPDBG_CALL_H
#define LOOPDBG_CALL_H

#include <numpy/npy_common.h>

enum { LOOPDBG_MAX_ARGS = 8, LOOPDBG_MAX_DIMS = 4, LOOPDBG_MAX_STEPS = 12, LOOPDBG_MAX_EXTRA = 12 };

typedef void (*loopdbg_loop)(char **args, npy_intp const *dims, npy_intp const *steps, void *data);
#define LOOP(name) static void name(char **args, npy_intp const *dims, npy_intp const *steps, void *data)

/* A function of `n` contiguous float16 or (`brain`) bfloat16 numbers. */
typedef void (*loopdbg_half_loop)(unsigned short const *x, unsigned short *y, npy_intp n, int brain);

/* An elementwise loop for float32, with the conversions for half precision (half_loops.h). */
typedef struct {
    loopdbg_loop loop, fold;
    void *data, *fold_data;
    loopdbg_half_loop halves; /* NULL, or the same function on vectors of halves */
    /* narrow: the result is of that type as well, else it is a bool; operation: of loopdbg_half, or -1 */
    int inputs, brain, narrow, operation;
} loopdbg_narrow_loop;

typedef struct loopdbg_call {
    /* 0: done; below 0: skip that many calls of the node; above 0: not possible as bound: the engine runs the node in
     * Python, which gives the result or raises the error. */
    int (*run)(struct loopdbg_call *call);
    loopdbg_loop loop;
    void *data;
    int nargs;
    int status;
    /* The loop takes one step for each argument and computes each element from those in its place alone. A property of
     * the kernel; callers that use the loop in another way check it. */
    int elementwise;
    /* 1 + the opcode of scalar_ops.h that gives the same bits of each element, whatever their number; negative: the
     * loop folds with it; 0: none. */
    int operation;
    /* An argument's address is *cell + offset: buffers move (swapped back edges, slices), cells are fixed. */
    char **cell[LOOPDBG_MAX_ARGS];
    npy_intp offset[LOOPDBG_MAX_ARGS];
    npy_intp dims[LOOPDBG_MAX_DIMS];
    npy_intp steps[LOOPDBG_MAX_STEPS]; /* matmul's inner loop needs 9 */
    /* Outer axes of an N-dimensional call: for each the extent, then one stride per argument. Owned by the engine. */
    int nouter;
    npy_intp *outer;
    npy_intp extra[LOOPDBG_MAX_EXTRA];
} loopdbg_call;

typedef int (*loopdbg_run)(loopdbg_call *call);

#define LOOPDBG_ARG(call, k) (*(call)->cell[k] + (call)->offset[k])

#endif
