/* Scalar operations as text, for code generation. */
#ifndef LOOPDBG_SCALAR_TABLE_H
#define LOOPDBG_SCALAR_TABLE_H

#include "scalar_program.h"

typedef struct {
    int op;
    char const *name, *argument, *result, *expression;
    int binary, divides;
} scalar_operation;

#define SCALAR_TEXT_OF(...) #__VA_ARGS__
#define SCALAR_TEXT(...) SCALAR_TEXT_OF(__VA_ARGS__) /* with macros expanded */
#define SCALAR_ROW(ID, Q, T, E, BINARY, DIVIDES)                                                              \
    {OP_##ID, #ID, SCALAR_TEXT(T), SCALAR_TEXT(Q), SCALAR_TEXT(E), BINARY, DIVIDES},
#define SCALAR_BINARY_ROW(ID, NAME, C, T, Q, E) SCALAR_ROW(ID, Q, T, E, 1, 0)
#define SCALAR_UNARY_ROW(ID, NAME, C, T, Q, E) SCALAR_ROW(ID, Q, T, E, 0, 0)
#define SCALAR_DIVISION_ROW(ID, NAME, C, T, Q, E) SCALAR_ROW(ID, Q, T, E, 1, 1)
#define SCALAR_CHOICE_ROW(ID, SIZE, T) {OP_##ID, SIZE},

static scalar_operation const scalar_operations[] = {SCALAR_BINARY(SCALAR_BINARY_ROW) SCALAR_UNARY(SCALAR_UNARY_ROW)
                                                         SCALAR_DIVISIONS(SCALAR_DIVISION_ROW)};
static int const scalar_choices[][2] = {SCALAR_CHOICES(SCALAR_CHOICE_ROW)};
enum {
    SCALAR_OPERATIONS = sizeof scalar_operations / sizeof *scalar_operations,
    SCALAR_NCHOICES = sizeof scalar_choices / sizeof *scalar_choices
};

#endif
