/* When a loop ends, how far it may run, and what its trip count means (docs/semantics.md 2.4, 3.2): one rule, which the
 * interpreter, entries and scalar programs share.
 */
#ifndef LOOPDBG_ENDINGS_H
#define LOOPDBG_ENDINGS_H

#include <stdint.h>

/* Why a loop ended. */
enum { RUNNING = 0, BY_TRIP_COUNT = 1, BY_CONDITION = 2, BY_INPUT = 3 };

/* What a negative trip count is. OpenVINO: with -1 there is no limit, others are refused; ONNX: no iteration runs; TensorRT
 * refuses all. */
enum { NO_LIMIT = 0, NO_ITERATION = 1, REFUSED = 2 };

/* Does a loop end at its boundary before iteration `i`? `trips` < 0: no limit; `counted`: it has as many iterations as sliced
 * inputs have `parts`. The condition is named where it and the trip count fall together. */
static inline int loop_end_reason(int keep, int64_t trips, int counted, int64_t parts, int64_t i) {
    if (!keep) return BY_CONDITION;
    if (trips >= 0 && i >= trips) return BY_TRIP_COUNT;
    if (counted && i >= parts) return BY_INPUT;
    return RUNNING;
}

/* Is a condition that is computed before its iteration (TensorRT's kWHILE) looked at before iteration `i`? Not where the trip
 * count ends the loop. */
static inline int loop_tests_condition(int64_t trips, int64_t i) { return trips < 0 || i < trips; }

/* A trip count that ends nothing: INT64_MAX is how exporters write "no limit". */
static inline int loop_is_endless(int64_t trips) { return trips < 0 || trips == INT64_MAX; }

/* The first iteration that may not run. `endless_at` (-1: none) holds where no trip count ends the loop. */
static inline int64_t loop_iteration_limit(int64_t limit, int64_t endless_at, int64_t trips) {
    return endless_at >= 0 && endless_at < limit && loop_is_endless(trips) ? endless_at : limit;
}

/* Take a trip count as it is given: 0 where the loop's system refuses it. */
static inline int normalize_trip_count(int negative, int64_t *trips) {
    if (*trips >= 0) return 1;
    if (negative == NO_ITERATION) *trips = 0;
    return negative == NO_ITERATION || (negative == NO_LIMIT && *trips == -1);
}

#endif
