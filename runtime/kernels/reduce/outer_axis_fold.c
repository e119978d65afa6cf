/* Reductions of floats, many results at once; each still accumulates number by number. A fold's output is its first
 * input as well, and constant along the folded axes. */
#include <stdint.h>
#include <string.h>
#include <numpy/npy_common.h>

#include "outer_axis_fold.h"
#include "../data_movement/overlaps.h"
#include "../element_types/type_lists.h"
#include "../elementwise/scalar_ops.h"
#include "../dispatch/processor.h"

/* The operations without the choice between NaNs, which costs time at each step. If NaNs occur among results or
 * operands (FOLD_ODD), results are folded again, as in scalar_ops.h. */
#define FOLD_add(a, b) (a) + (b)
#define FOLD_multiply(a, b) (a) * (b)
#define FOLD_maximum(a, b) (b) > (a) ? (b) : (a)
#define FOLD_minimum(a, b) (b) < (a) ? (b) : (a)
#define FOLD_ODD_add(b) 0
#define FOLD_ODD_multiply(b) 0
#define FOLD_ODD_maximum(b) (b) != (b)
#define FOLD_ODD_minimum(b) (b) != (b)

/* Compilers keep few results in memory, which takes longer than the operations. */
#define FOLD_LOOKS_add 0
#define FOLD_LOOKS_multiply 0
#define FOLD_LOOKS_maximum 1
#define FOLD_LOOKS_minimum 1

/* Lengths of rows folded each into its result; contiguous results; rows of results at once; minimum length for gathered
 * results, one or short rows of them. */
enum {
    LOOPDBG_FOLD_UNROLL_MAX = 8,
    LOOPDBG_FOLD_COLUMNS = 64,
    LOOPDBG_FOLD_ROWS_AT_ONCE = 8,
    LOOPDBG_FOLD_GATHER_MIN = 8,
    LOOPDBG_FOLD_GATHER_ROWS_MIN = 16
};

/* m results, into each of which n numbers are folded: any strides, and as scalar_ops.h has it. */
#define FOLD_STRIDED(ID, T, EXPRESSION)                                                                       \
    static void fold_plainly_##ID(char const *x, npy_intp along, npy_intp m, npy_intp step, npy_intp n, char *z, \
                                  npy_intp z_along) {                                                         \
        for (npy_intp i = 0; i < n; i++)                                                                      \
            for (npy_intp r = 0; r < m; r++) {                                                                \
                T a = *(T const *)(z + r * z_along), b = *(T const *)(x + i * step + r * along);              \
                *(T *)(z + r * z_along) = EXPRESSION;                                                         \
            }                                                                                                 \
    }
#define FOLD_EXACT(ID, FUNCTION, C, T, R, EXPRESSION) FOLD_STRIDED(ID, T, EXPRESSION)
SCALAR_FLOATS(FOLD_EXACT)

#define BODY "../reduce/outer_axis_fold_lanes.h"
#include "../dispatch/foreach_target.h"

#define FOLD_PICK(C, N, T)                                                                                    \
    case C:                                                                                                   \
        if (!strcmp(name, "add")) return rows ? DISPATCH(fold_rows_add_##N) : DISPATCH(fold_around_add_##N);      \
        if (!strcmp(name, "multiply")) return rows ? DISPATCH(fold_rows_multiply_##N) : DISPATCH(fold_around_multiply_##N); \
        if (!strcmp(name, "maximum") && !rows) return DISPATCH(fold_around_maximum_##N);                        \
        if (!strcmp(name, "minimum") && !rows) return DISPATCH(fold_around_minimum_##N);                        \
        break;
loopdbg_loop loopdbg_fold(char const *name, char type, int rows) {
    switch (type) { FLOATS(FOLD_PICK) }
    return NULL;
}
