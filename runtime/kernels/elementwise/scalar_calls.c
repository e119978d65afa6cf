/* Calls on single elements: operations of scalar_ops.h in the form of bound calls. */
#include <string.h>

#include "scalar_ops.h"
#include "scalar_calls.h"

#define ONE_BINARY(ID, NAME, C, T, R, EXPRESSION)                                                             \
    static int scalar_##ID(loopdbg_call *call) {                                                                 \
        T a = *(T const *)LOOPDBG_ARG(call, 0), b = *(T const *)LOOPDBG_ARG(call, 1);                         \
        *(R *)LOOPDBG_ARG(call, 2) = (R)(EXPRESSION);                                                         \
        return 0;                                                                                             \
    }
#define ONE_UNARY(ID, NAME, C, T, R, EXPRESSION)                                                              \
    static int scalar_##ID(loopdbg_call *call) {                                                                 \
        T a = *(T const *)LOOPDBG_ARG(call, 0);                                                               \
        *(R *)LOOPDBG_ARG(call, 1) = (R)(EXPRESSION);                                                         \
        return 0;                                                                                             \
    }
#define ONE_DIVISION(ID, NAME, C, T, R, EXPRESSION)                                                           \
    static int scalar_##ID(loopdbg_call *call) {                                                                 \
        T a = *(T const *)LOOPDBG_ARG(call, 0), b = *(T const *)LOOPDBG_ARG(call, 1);                         \
        if (b == 0) return 1;                                                                                 \
        *(R *)LOOPDBG_ARG(call, 2) = (R)(EXPRESSION);                                                         \
        return 0;                                                                                             \
    }
#define ONE_CHOICE(ID, SIZE, T)                                                                               \
    static int scalar_##ID(loopdbg_call *call) {                                                                 \
        *(T *)LOOPDBG_ARG(call, 3) = *(T const *)LOOPDBG_ARG(call, *LOOPDBG_ARG(call, 0) ? 1 : 2);            \
        return 0;                                                                                             \
    }
SCALAR_BINARY(ONE_BINARY)
SCALAR_UNARY(ONE_UNARY)
SCALAR_DIVISIONS(ONE_DIVISION)
SCALAR_CHOICES(ONE_CHOICE)

typedef struct {
    char const *name; /* a ufunc's, that of one of our own loops, "copy", "where" or "cast" with the target's type */
    char type;        /* NumPy's type character of the inputs; for copy and where the element's size */
    loopdbg_run run;
} loopdbg_scalar;

#define SCALAR_ENTRY(ID, NAME, C, T, R, EXPRESSION) {NAME, C, scalar_##ID},
#define SCALAR_CHOICE_ENTRY(ID, SIZE, T) {"where", SIZE, scalar_##ID},
/* In the order of the opcodes of scalar programs. */
static loopdbg_scalar const loopdbg_scalars[] = {
    SCALAR_BINARY(SCALAR_ENTRY) SCALAR_UNARY(SCALAR_ENTRY) SCALAR_DIVISIONS(SCALAR_ENTRY)
        SCALAR_CHOICES(SCALAR_CHOICE_ENTRY){NULL, 0, NULL},
};

loopdbg_run loopdbg_scalar_call_for(char const *name, char type) {
    for (loopdbg_scalar const *s = loopdbg_scalars; s->name; s++)
        if (s->type == type && !strcmp(s->name, name)) return s->run;
    return NULL;
}

int loopdbg_opcode(loopdbg_run run) {
    for (int k = 0; loopdbg_scalars[k].name; k++)
        if (loopdbg_scalars[k].run == run) return k;
    return -1;
}
