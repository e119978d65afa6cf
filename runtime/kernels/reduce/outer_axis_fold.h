/* Reductions of floats, many results at once: folds.c. */
#ifndef LOOPDBG_FOLDS_H
#define LOOPDBG_FOLDS_H

#include "../call.h"

/* What folds by a ufunc of two inputs of a type where the output stays along the axis around the inner one, or around the
 * one that goes along rows; or NULL. */
loopdbg_loop loopdbg_fold(char const *name, char type, int rows);

#endif
