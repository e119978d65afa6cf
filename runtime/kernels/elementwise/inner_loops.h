/* Inner loops that NumPy's ufuncs do not have: inner_loops.c. */
#ifndef LOOPDBG_INNER_LOOPS_H
#define LOOPDBG_INNER_LOOPS_H

#include "../call.h"

/* Elements of any type; data: their size in bytes. */
void loopdbg_copy(char **args, npy_intp const *dims, npy_intp const *steps, void *data);
void loopdbg_where(char **args, npy_intp const *dims, npy_intp const *steps, void *data);
/* The loop that transposes matrices of elements of this size in blocks, or NULL. */
loopdbg_loop loopdbg_transpose(npy_intp size);
/* The conversion of a type to another one, or NULL. */
loopdbg_loop loopdbg_cast(char from, char to);
/* Replacement of a ufunc's loop for a type, element by element; NULL: use NumPy's own. */
loopdbg_loop loopdbg_strided_loop(char const *name, char type);
/* The loop over two axes for a ufunc of two inputs of a type, or NULL. */
loopdbg_loop loopdbg_row_loop(char const *name, char type);
/* In-place fold of contiguous elements by a ufunc of two inputs of a type: of one row, or of rows; or NULL. */
loopdbg_loop loopdbg_fold_contiguous(char const *name, char type, int rows);
/* The loop of one of our own elementwise functions for a type, or NULL. */
loopdbg_loop loopdbg_native_loop_for(char const *name, char type);

/* float16 and bfloat16 (`brain`) in half_loops.h; data: a loopdbg_narrow_loop. */
void loopdbg_half_via_float(char **args, npy_intp const *dims, npy_intp const *steps, void *data);
/* In-place folds: as floats, by a loop for the type itself, and the extremes of float16. */
void loopdbg_fold_half_via_float(char **args, npy_intp const *dims, npy_intp const *steps, void *data);
void loopdbg_fold_half_native(char **args, npy_intp const *dims, npy_intp const *steps, void *data);
void loopdbg_fold_half_max(char **args, npy_intp const *dims, npy_intp const *steps, void *data);
void loopdbg_fold_half_min(char **args, npy_intp const *dims, npy_intp const *steps, void *data);
/* The fold of rows into one by a ufunc of two inputs, or NULL. */
loopdbg_loop loopdbg_half_fold_for(char const *name, int brain);
/* Transposition with conversion to floats. */
loopdbg_loop loopdbg_transpose_half_to_float(int brain);
/* The vectorized operation of a ufunc; -1: none. */
int loopdbg_half_operation_for(char const *name);

#endif
