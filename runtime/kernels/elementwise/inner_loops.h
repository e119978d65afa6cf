/* Inner loops that NumPy's ufuncs do not have: inner_loops.c. */
#ifndef LOOPDBG_INNER_LOOPS_H
#define LOOPDBG_INNER_LOOPS_H

#include "../call.h"

/* Elements of any type; data: their size in bytes. */
void loopdbg_copy(char **args, npy_intp const *dims, npy_intp const *steps, void *data);
void loopdbg_where(char **args, npy_intp const *dims, npy_intp const *steps, void *data);
/* What turns matrices of elements so large by blocks, or NULL. */
loopdbg_loop loopdbg_turn(npy_intp size);
/* What converts a type to another one, or NULL. */
loopdbg_loop loopdbg_cast(char from, char to);
/* What stands in for a ufunc's loop for a type, element by element; NULL: NumPy's own will do. */
loopdbg_loop loopdbg_map(char const *name, char type);
/* What does two axes at once for a ufunc of two inputs of a type, or NULL. */
loopdbg_loop loopdbg_rows(char const *name, char type);
/* What folds neighbours by a ufunc of two inputs of a type into where it reads: one row of them, or rows; or NULL. */
loopdbg_loop loopdbg_fold_neighbours(char const *name, char type, int rows);
/* The loop of one of our own elementwise functions for a type, or NULL. */
loopdbg_loop loopdbg_own(char const *name, char type);

/* float16 and bfloat16 (``brain``), as narrow.h has them; data: a loopdbg_through. */
void loopdbg_through_floats(char **args, npy_intp const *dims, npy_intp const *steps, void *data);
/* Into one number that is read as well: as floats, by a loop for the type itself, and the extremes of float16. */
void loopdbg_fold_floats(char **args, npy_intp const *dims, npy_intp const *steps, void *data);
void loopdbg_fold_directly(char **args, npy_intp const *dims, npy_intp const *steps, void *data);
void loopdbg_fold_highest(char **args, npy_intp const *dims, npy_intp const *steps, void *data);
void loopdbg_fold_lowest(char **args, npy_intp const *dims, npy_intp const *steps, void *data);
/* What folds rows into one by a ufunc of two inputs, or NULL. */
loopdbg_loop loopdbg_narrow_fold_of(char const *name, int brain);
/* What turns matrices into floats. */
loopdbg_loop loopdbg_turn_narrow(int brain);
/* Which of the operations in registers a ufunc is; -1: none. */
int loopdbg_narrow_operation_of(char const *name);

#endif
