/* Vectorized functions of float32, float16 and bfloat16: functions.c. */
#ifndef LOOPDBG_FUNCTIONS_H
#define LOOPDBG_FUNCTIONS_H

#include "../call.h"

/* The loops of that name, or NULL. */
loopdbg_loop loopdbg_function(char const *name);
loopdbg_half_loop loopdbg_half_function(char const *name);
/* x^c; a loop of two inputs. */
void loopdbg_power_f32(char **args, npy_intp const *dims, npy_intp const *steps);

#endif
