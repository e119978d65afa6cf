/* Calls on single elements: scalars.c. */
#ifndef LOOPDBG_SCALARS_H
#define LOOPDBG_SCALARS_H

#include "../call.h"

/* What runs an operation on single elements, or NULL. */
loopdbg_run loopdbg_scalar_call_for(char const *name, char type);
/* The opcode of what a call runs; -1 where scalar programs have none for it. */
int loopdbg_opcode(loopdbg_run run);

#endif
