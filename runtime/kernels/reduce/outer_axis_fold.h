/* Reductions of floats, many results at once: outer_axis_fold.c. */
#ifndef LOOPDBG_FOLDS_H
#define LOOPDBG_FOLDS_H

#include "../call.h"

/* The fold by a ufunc of two inputs of a type where the output is constant along the next outer axis, or along the one
 * around that, which then goes along rows; or NULL. */
loopdbg_loop loopdbg_fold(char const *name, char type, int rows);

#endif
