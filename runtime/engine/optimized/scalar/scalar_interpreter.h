/* The interpreter of scalar programs. */
#ifndef LOOPDBG_SCALAR_RUN_H
#define LOOPDBG_SCALAR_RUN_H

#include <string.h>

#include "scalar_records.h"
#include "tensor_stats.h"

#define REG(T, k) (*(T *)(R + (k)))
#define CASE_BINARY(ID, NAME, C, T, Q, EXPRESSION)                                                            \
    case OP_##ID: {                                                                                           \
        T a = REG(T, in->a), b = REG(T, in->b);                                                               \
        REG(Q, in->d) = (Q)(EXPRESSION);                                                                      \
        in++;                                                                                                 \
        continue;                                                                                             \
    }
#define CASE_UNARY(ID, NAME, C, T, Q, EXPRESSION)                                                             \
    case OP_##ID: {                                                                                           \
        T a = REG(T, in->a);                                                                                  \
        REG(Q, in->d) = (Q)(EXPRESSION);                                                                      \
        in++;                                                                                                 \
        continue;                                                                                             \
    }
#define CASE_DIVISION(ID, NAME, C, T, Q, EXPRESSION)                                                          \
    case OP_##ID: {                                                                                           \
        T a = REG(T, in->a), b = REG(T, in->b);                                                               \
        if (b == 0) goto leave_insn;                                                                          \
        REG(Q, in->d) = (Q)(EXPRESSION);                                                                      \
        in++;                                                                                                 \
        continue;                                                                                             \
    }
#define CASE_CHOICE(ID, SIZE, T)                                                                              \
    case OP_##ID:                                                                                             \
        REG(T, in->d) = REG(T, REG(uint8_t, in->a) ? in->b : in->c);                                          \
        in++;                                                                                                 \
        continue;

/* Run a node's kernels; 0: one failed. */
static inline int scalar_run_node(scalar_node const *node) {
    for (loopdbg_call *call = node->calls, *end = call + node->ncalls; call < end;) {
        int status = call->run(call);
        if (status > 0) return 0;
        call += 1 - status; /* below 0: the number of following calls to skip */
    }
    return 1;
}

/* Does loop L test a condition before the next iteration? */
static inline int scalar_tests_condition(scalar_loop const *L) { return L->test >= 0 && loop_tests_condition(L->trips, L->i); }

/* Write one value of a history's newest row. */
static inline void scalar_write_cell(char const *R, scalar_loop const *L, uint64_t *row, scalar_history_cell const *note,
                                     int32_t from) {
    if (note->count == 1) row[note->column] = REG(uint64_t const, from);
    else history_write_tensor(L->history, note->series, row, R + from, note->count);
}

/* Write the row of the next boundary, before it is crossed. */
static inline void scalar_write_result_row(char const *R, scalar_loop const *L) {
    uint64_t *row = history_row(L->history);
    for (int k = 0; k < L->nnotes; k++) scalar_write_cell(R, L, row, L->notes + k, L->notes[k].result);
}

/* Write the row of an entry. */
static void scalar_write_entry_row(char const *R, scalar_loop const *L) {
    history_begin(L->history, *L->entries - 1, 0);
    uint64_t *row = history_row(L->history);
    for (int k = 0; k < L->nnotes; k++)
        if (L->notes[k].param >= 0) scalar_write_cell(R, L, row, L->notes + k, L->notes[k].param);
}

/* Run from the head of loop `at_loop`, or resume. `watch`: set to request a stop. An instruction costs one unit of
 * `budget`. Not inlined: sharing registers with the caller slows an iteration by 4 %. */
__attribute__((noinline, unused)) static int scalar_run(scalar_program *p, int const volatile *watch, int64_t *budget) {
    char *R = p->registers;
    scalar_loop *L = p->loops + p->at_loop;
    scalar_instruction const *in = NULL;
    int64_t fuel = *budget;
    if (!p->suspended) goto head;
    p->suspended = 0;
    in = p->code + p->at_insn;
    for (;;) {
        switch (in->op) {
            SCALAR_BINARY(CASE_BINARY)
            SCALAR_UNARY(CASE_UNARY)
            SCALAR_DIVISIONS(CASE_DIVISION)
            SCALAR_CHOICES(CASE_CHOICE)
            case OP_CALL: {
                scalar_call const *call = p->calls + in->a;
                char *args[LOOPDBG_SCALAR_ARGS];
                npy_intp const one = 1;
                for (int k = 0; k < call->nargs; k++) args[k] = R + call->args[k];
                call->loop(args, &one, call->steps, call->data);
                fuel -= 8;
                in++;
                continue;
            }
            case OP_LOAD: {
                scalar_load const *load = p->loads + in->a;
                int64_t i = load->wide ? REG(int64_t, load->index) : REG(int32_t, load->index);
                if (i < 0) i += load->length;
                if (i < 0 || i >= load->length) goto leave_insn;
                memcpy(R + in->d, load->base + i * load->block, (size_t)load->block);
                in++;
                continue;
            }
            case OP_EACH: {
                scalar_elementwise const *each = p->elementwise_operations + in->a;
                if (!each->run(R, each)) goto leave_insn;
                fuel -= each->n;
                in++;
                continue;
            }
            case OP_NODE:
                if (!scalar_run_node(p->nodes + in->a)) goto leave_insn;
                fuel -= p->nodes[in->a].cost;
                in++;
                continue;
            case OP_ANY:
                /* Often several: a dispatch costs as much as a test of few elements. */
                do {
                    scalar_any const *test = p->any_tests + in->a;
                    int holds = test->holds(R + test->a, R + test->b, test->n);
                    REG(uint8_t, in->d) = (uint8_t)holds;
                    if (holds && in->b) goto leave_insn;
                } while ((++in)->op == OP_ANY);
                continue;
            case OP_BLOCK:
                memcpy(R + in->d, R + in->a, (size_t)in->b);
                in++;
                continue;
            case OP_BRANCH: in = REG(uint8_t, in->a) ? in + 1 : p->code + in->d; continue;
            case OP_JUMP: in = p->code + in->d; continue;
            case OP_COUNT:
                if (in->b) REG(int64_t, in->d) = in->a < 0 ? 0 : L->i + in->a;
                else REG(int32_t, in->d) = in->a < 0 ? 0 : (int32_t)(L->i + in->a);
                in++;
                continue;
            case OP_STOP_IF:
                if (REG(uint8_t, in->a)) goto leave_insn;
                in++;
                continue;
            case OP_ENTER: {
                scalar_loop *inner = p->loops + in->a;
                if (inner->nrecorders && scalar_records_full(inner)) goto leave_insn;
                inner->trips = inner->fixed_trips;
                if (inner->trip >= 0) {
                    int64_t trips = inner->trip_wide ? REG(int64_t, inner->trip) : REG(int32_t, inner->trip);
                    if (!normalize_trip_count(inner->negative, &trips)) goto leave_insn;
                    inner->trips = trips;
                }
                inner->keep = inner->initial < 0 || REG(uint8_t, inner->initial) != 0;
                if (inner->cond_in >= 0) REG(uint8_t, inner->cond_in) = (uint8_t)inner->keep;
                for (int k = 0; k < inner->ninit; k++) REG(uint64_t, inner->init[k].to) = REG(uint64_t, inner->init[k].source);
                inner->i = 0;
                inner->stop_before = loop_iteration_limit(inner->stop, inner->endless_at, inner->trips);
                ++*inner->entries;
                L = inner;
                if (L->history) scalar_write_entry_row(R, L);
                if (scalar_tests_condition(L)) {
                    in = p->code + L->test;
                    continue;
                }
                if (L->nrecorders) scalar_records_add(R, L, 0);
                goto head;
            }
            case OP_NEXT: {
                int keep = L->cond < 0 ? L->keep : REG(uint8_t, L->cond) != 0;
                int64_t i = L->i + 1;
                int k;
                fuel -= 4 + (int64_t)(in - (p->code + L->body));
                if (fuel < 0) {
                    p->at_insn = (int)(in - p->code);
                    p->at_loop = (int)(L - p->loops);
                    p->suspended = 1;
                    *budget = fuel;
                    return SCALAR_TICK;
                }
                if (i >= L->stop_before || *watch) goto leave_next;
                /* The engine handles the end of the outermost loop. */
                if (L->parent < 0 && loop_end_reason(keep, L->trips, L->counted, L->parts, i)) goto leave_next;
                if (L->nslices && i >= L->parts) goto leave_next;
                for (k = 0; k < L->nscans; k++)
                    if (L->scans[k].count == L->scans[k].capacity) goto leave_next;
                if (L->nrecorders && scalar_records_full(L)) goto leave_next;
                for (k = 0; k < L->nscans; k++) {
                    scalar_scan *s = L->scans + k;
                    memcpy(s->buffer + s->count++ * s->nbytes, R + s->source, (size_t)s->nbytes);
                }
                L->keep = keep;
                if (L->history) scalar_write_result_row(R, L);
                if (L->staged) {
                    uint64_t staged[SCALAR_MAX_STAGED_MOVES];
                    for (k = 0; k < L->nmoves; k++) staged[k] = REG(uint64_t, L->moves[k].source);
                    for (k = 0; k < L->nmoves; k++) REG(uint64_t, L->moves[k].to) = staged[k];
                } else
                    for (k = 0; k < L->nmoves; k++) REG(uint64_t, L->moves[k].to) = REG(uint64_t, L->moves[k].source);
                L->i = i;
                if (scalar_tests_condition(L)) {
                    in = p->code + L->test;
                    continue;
                }
                if (L->nrecorders) scalar_records_add(R, L, i);
                goto head;
            }
            case OP_TEST:
                fuel -= (int64_t)(in - (p->code + L->test));
                L->keep = REG(uint8_t, in->a) != 0;
                if (!L->keep && L->parent < 0) goto leave_test;
                if (L->nrecorders) scalar_records_add(R, L, L->i);
                goto head;
        }
        __builtin_unreachable();
    head:
        {
            int ended = loop_end_reason(L->keep, L->trips, L->counted, L->parts, L->i);
            /* Set the iteration number also at the end, as the engine's HEAD does: later readers see it. */
            if (L->iteration >= 0) {
                if (L->iteration_wide) REG(int64_t, L->iteration) = L->i;
                else REG(int32_t, L->iteration) = (int32_t)L->i;
            }
            if (ended) {
                if (L->parent < 0) goto leave_head;
                *L->iterations += L->i;
                ++L->by_reason[ended];
                ++L->by_length[L->i < 2 ? L->i : 2];
                L->ended = ended;
                for (int k = 0; k < L->nouts; k++) REG(uint64_t, L->outs[k].to) = REG(uint64_t, L->outs[k].source);
                in = p->code + L->after;
                L = p->loops + L->parent;
                continue;
            }
            if (L->i >= L->stop_before || (L->nslices && L->i >= L->parts)) goto leave_head;
            for (int k = 0; k < L->nslices; k++) {
                scalar_slice const *s = L->slices + k;
                memcpy(R + s->to, s->base + L->i * s->step, (size_t)s->nbytes);
            }
            in = p->code + L->body;
        }
    }
    /* Separate exits: a common one slows an iteration by 10 %. */
leave_insn:
    p->at_insn = (int)(in - p->code);
    p->at_loop = (int)(L - p->loops);
    *budget = fuel;
    return SCALAR_AT_INSN;
leave_next:
    p->at_loop = (int)(L - p->loops);
    *budget = fuel;
    return SCALAR_AT_NEXT;
leave_test:
    p->at_loop = (int)(L - p->loops);
    *budget = fuel;
    return SCALAR_AT_TEST;
leave_head:
    p->at_loop = (int)(L - p->loops);
    *budget = fuel;
    return SCALAR_AT_HEAD;
}

#endif
