/* Functions of float32 that are three to ten times as fast as NumPy's loops, or a series of them, on processors without
 * AVX-512. Each element has the same bits at every position and for every vector width. */
#include <math.h>

#include "functions.h"
#include "../dispatch/lanes.h"
#include "../element_types/half_precision.h"

/* exp, expm1, log and tanh, and power below, replace ufuncs of these names; the others are loops of our own. */
#define LOOPDBG_FUNCTIONS(X) X(exp) X(expm1) X(log) X(tanh) X(sigmoid) X(softplus) X(erf) X(gelu)

/* Powers that vectors compute; all others are computed one by one. */
static inline int loopdbg_is_vector_power(float x, float c) {
    return x > 0 && x < __builtin_inff() && fabsf(c) < __builtin_inff() && c != 2 && c != 3 && c != 0.5f;
}
static inline float loopdbg_scalar_power(float x, float c) {
    if (c == 2) return x * x;
    if (c == 3) return x * x * x;
    if (c == 0.5f) return x == -__builtin_inff() ? -x : sqrtf(x) + 0.0f;
    return powf(x, c);
}

/* The loops of each function. */
typedef struct {
    char const *name;
    loopdbg_loop each;
    loopdbg_half_loop halves;
} loopdbg_function_loops;

#define BODY "../elementwise/functions_lanes.h"
#include "../dispatch/foreach_target.h"

/* x^c; a loop of two inputs. */
void loopdbg_power_f32(char **args, npy_intp const *dims, npy_intp const *steps) { DISPATCH(power_each)(args, dims, steps); }

static loopdbg_function_loops const *loopdbg_function_loops_for(char const *name) {
    loopdbg_function_loops const *loops = DISPATCH(functions);
    while (loops->name && strcmp(name, loops->name)) loops++;
    return loops;
}
loopdbg_loop loopdbg_function(char const *name) { return loopdbg_function_loops_for(name)->each; }
loopdbg_half_loop loopdbg_half_function(char const *name) { return loopdbg_function_loops_for(name)->halves; }
