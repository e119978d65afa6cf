/* Parallel loops. thread_pool.h has the threads, once per process; modules with parallel work include this header. */
#ifndef LOOPDBG_TEAM_H
#define LOOPDBG_TEAM_H

#include <numpy/npy_common.h>

/* Runs one task of a job. `worker`: from 0 to the number of threads less one; unique among running tasks. */
typedef void (*loopdbg_task)(void const *job, npy_intp piece, int worker);

/* Runs all tasks, each once, in any order: threads begin at different places, and go backwards if requested, so that
 * each finds its data of the last job in the cache. `work`: of all tasks, in products of a vector's element. */
typedef void (*loopdbg_parallel_for_fn)(loopdbg_task piece, void const *job, npy_intp pieces, double work, int backwards);

static void loopdbg_serial_for(loopdbg_task piece, void const *job, npy_intp pieces, double work, int backwards) {
    (void)work;
    for (npy_intp k = 0; k < pieces; k++) piece(job, backwards ? pieces - 1 - k : k, 0);
}

/* Number of threads, including the caller, and the minimum work for sharing. */
typedef struct {
    int workers;
    double least;
} loopdbg_thread_pool_info;

/* One per including module, set from thread_pool.pyx. */
static loopdbg_thread_pool_info const loopdbg_single_thread = {1, 0};
__attribute__((unused)) static loopdbg_parallel_for_fn loopdbg_parallel_for = loopdbg_serial_for;
__attribute__((unused)) static loopdbg_thread_pool_info const *loopdbg_thread_pool = &loopdbg_single_thread;

/* Is so much work worth cutting into tasks? */
static inline int loopdbg_is_worth_sharing(double work) {
    return work >= loopdbg_thread_pool->least && loopdbg_thread_pool->workers > 1;
}

/* Number of the `count` items per task where each thread gets `each`, and number of tasks. */
static inline npy_intp loopdbg_items_per_task(npy_intp count, int each) {
    npy_intp const pieces = each * loopdbg_thread_pool->workers;
    return (count + pieces - 1) / pieces;
}
static inline npy_intp loopdbg_task_count(npy_intp count, npy_intp most) { return count ? (count + most - 1) / most : 0; }

#endif
