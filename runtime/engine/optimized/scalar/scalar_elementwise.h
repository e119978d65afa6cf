/* Elementwise operations of the scalar interpreter. */
#ifndef LOOPDBG_SCALAR_EACH_H
#define LOOPDBG_SCALAR_EACH_H

#include "scalar_program.h"

#define AT(T, j) (*(T *)(registers + each->offsets[j][k]))
#define FOR_EACH for (int k = 0; k < each->n; k++)
#define EACH_BINARY(ID, NAME, C, T, Q, EXPRESSION)                                                            \
    static int each_##ID(char *registers, scalar_elementwise const *each) {                                          \
        FOR_EACH {                                                                                            \
            T a = AT(T, 0), b = AT(T, 1);                                                                     \
            AT(Q, 2) = (Q)(EXPRESSION);                                                                       \
        }                                                                                                     \
        return 1;                                                                                             \
    }
#define EACH_UNARY(ID, NAME, C, T, Q, EXPRESSION)                                                             \
    static int each_##ID(char *registers, scalar_elementwise const *each) {                                          \
        FOR_EACH {                                                                                            \
            T a = AT(T, 0);                                                                                   \
            AT(Q, 1) = (Q)(EXPRESSION);                                                                       \
        }                                                                                                     \
        return 1;                                                                                             \
    }
#define EACH_DIVISION(ID, NAME, C, T, Q, EXPRESSION)                                                          \
    static int each_##ID(char *registers, scalar_elementwise const *each) {                                          \
        FOR_EACH {                                                                                            \
            T a = AT(T, 0), b = AT(T, 1);                                                                     \
            if (b == 0) return 0;                                                                             \
            AT(Q, 2) = (Q)(EXPRESSION);                                                                       \
        }                                                                                                     \
        return 1;                                                                                             \
    }
#define EACH_CHOICE(ID, SIZE, T)                                                                              \
    static int each_##ID(char *registers, scalar_elementwise const *each) {                                          \
        FOR_EACH AT(T, 3) = AT(uint8_t, 0) ? AT(T, 1) : AT(T, 2);                                             \
        return 1;                                                                                             \
    }
SCALAR_BINARY(EACH_BINARY)
SCALAR_UNARY(EACH_UNARY)
SCALAR_DIVISIONS(EACH_DIVISION)
SCALAR_CHOICES(EACH_CHOICE)

/* By opcode: the function, and the element size of each argument, the result last (0: no argument). */
typedef struct {
    int (*run)(char *, scalar_elementwise const *);
    int sizes[LOOPDBG_SCALAR_ARGS];
} scalar_elementwise_kind;

#define EACH_BINARY_ROW(ID, NAME, C, T, Q, EXPRESSION) {each_##ID, {sizeof(T), sizeof(T), sizeof(Q)}},
#define EACH_UNARY_ROW(ID, NAME, C, T, Q, EXPRESSION) {each_##ID, {sizeof(T), sizeof(Q)}},
#define EACH_CHOICE_ROW(ID, SIZE, T) {each_##ID, {1, SIZE, SIZE, SIZE}},
static scalar_elementwise_kind const scalar_elementwise_kinds[] = {SCALAR_BINARY(EACH_BINARY_ROW) SCALAR_UNARY(
    EACH_UNARY_ROW) SCALAR_DIVISIONS(EACH_BINARY_ROW) SCALAR_CHOICES(EACH_CHOICE_ROW)};

/* For many elements: the kernel, which is vectorized. */
static inline int elementwise_by_kernel(char *registers, scalar_elementwise const *each) {
    (void)registers;
    return each->call->run(each->call) == 0;
}

#endif
