/* Calls on single elements: scalar_calls.c. */
#ifndef LOOPDBG_SCALARS_H
#define LOOPDBG_SCALARS_H

#include "../call.h"

/* The function for an operation on single elements, or NULL. */
loopdbg_run loopdbg_scalar_call_for(char const *name, char type);
/* The opcode of a call's function; -1: scalar programs have none for it. */
int loopdbg_opcode(loopdbg_run run);

#endif
