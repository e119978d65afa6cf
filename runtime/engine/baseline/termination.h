/* When a loop ends, its iteration limit, and the meaning of its trip count (docs/semantics.md 2.4, 3.2): shared by the
 * interpreter, loop entries and scalar programs.
 */
#ifndef LOOPDBG_ENDINGS_H
#define LOOPDBG_ENDINGS_H

#include <stdint.h>

/* End reason. */
enum { RUNNING = 0, BY_TRIP_COUNT = 1, BY_CONDITION = 2, BY_INPUT = 3 };

/* Meaning of a negative trip count. OpenVINO: -1 is no limit, others are refused; ONNX: no iteration runs; TensorRT
 * refuses all. */
enum { NO_LIMIT = 0, NO_ITERATION = 1, REFUSED = 2 };

/* Does a loop end at its boundary before iteration `i`? `trips` < 0: no limit; `counted`: the `parts` of sliced inputs
 * limit the iterations. Where condition and trip count coincide, the reason is the condition. */
static inline int loop_end_reason(int keep, int64_t trips, int counted, int64_t parts, int64_t i) {
    if (!keep) return BY_CONDITION;
    if (trips >= 0 && i >= trips) return BY_TRIP_COUNT;
    if (counted && i >= parts) return BY_INPUT;
    return RUNNING;
}

/* Is a condition computed before its iteration (TensorRT's kWHILE) tested before iteration `i`? Not where the trip
 * count ends the loop. */
static inline int loop_tests_condition(int64_t trips, int64_t i) { return trips < 0 || i < trips; }

/* Is a trip count no limit? Exporters write "no limit" as INT64_MAX. */
static inline int loop_is_endless(int64_t trips) { return trips < 0 || trips == INT64_MAX; }

/* The first iteration that may not run. `endless_at` (-1: none) applies where no trip count ends the loop. */
static inline int64_t loop_iteration_limit(int64_t limit, int64_t endless_at, int64_t trips) {
    return endless_at >= 0 && endless_at < limit && loop_is_endless(trips) ? endless_at : limit;
}

/* Normalize a trip count; 0: the loop's system refuses it. */
static inline int normalize_trip_count(int negative, int64_t *trips) {
    if (*trips >= 0) return 1;
    if (negative == NO_ITERATION) *trips = 0;
    return negative == NO_ITERATION || (negative == NO_LIMIT && *trips == -1);
}

#endif
