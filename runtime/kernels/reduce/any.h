/* Does a relation hold between any element of one tensor and that of another, or one number? */
#ifndef LOOPDBG_ANY_H
#define LOOPDBG_ANY_H

#include <stdint.h>
#include <string.h>
#include "../call.h"
#include "../dispatch/processor.h"

typedef int (*loopdbg_any_function)(void const *a, void const *b, npy_intp n);

#define BODY "../reduce/any_lanes.h"
#include "../dispatch/foreach_target.h"

/* type: 0 to 4: float32, float64, int32, int64, bool, which is compared with False; relation: <, <=, >, >=, ==, !=;
 * is_scalar: b is one number. */
static loopdbg_any_function loopdbg_any_for(npy_intp type, npy_intp relation, npy_intp is_scalar) {
    return DISPATCH(any_functions)[type][relation][is_scalar];
}

/* extra: type, relation, is_scalar, the number of elements. Arguments: a, b if the type is not bool, the result. */
static int loopdbg_any(loopdbg_call *call) {
    npy_intp const *extra = call->extra;
    char const *a = LOOPDBG_ARG(call, 0), *b = LOOPDBG_ARG(call, call->nargs - 2);
    *LOOPDBG_ARG(call, call->nargs - 1) = (char)loopdbg_any_for(extra[0], extra[1], extra[2])(a, b, extra[3]);
    return 0;
}

#endif
