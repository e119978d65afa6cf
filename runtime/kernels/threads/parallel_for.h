/* Work that threads share. threads.h has the threads, once in the process; whoever has something to share includes this. */
#ifndef LOOPDBG_TEAM_H
#define LOOPDBG_TEAM_H

#include <numpy/npy_common.h>

/* Does one piece of a job. ``worker``: from 0 to one below the number of threads; no two of a number work at the same time. */
typedef void (*loopdbg_task)(void const *job, npy_intp piece, int worker);

/* Does all pieces, each once, in any order: threads begin at different places, and go backwards if told to, so that each
 * meets again what it met last time. ``work``: of all together, in products that a vector takes one of an element. */
typedef void (*loopdbg_parallel_for_fn)(loopdbg_task piece, void const *job, npy_intp pieces, double work, int backwards);

static void loopdbg_serial_for(loopdbg_task piece, void const *job, npy_intp pieces, double work, int backwards) {
    (void)work;
    for (npy_intp k = 0; k < pieces; k++) piece(job, backwards ? pieces - 1 - k : k, 0);
}

/* How many threads there are, the caller included, and what is less work than this is as soon done by one as by two. */
typedef struct {
    int workers;
    double least;
} loopdbg_thread_pool_info;

/* Of each module that includes this; team.pyx gives it what knows the threads. */
static loopdbg_thread_pool_info const loopdbg_single_thread = {1, 0};
__attribute__((unused)) static loopdbg_parallel_for_fn loopdbg_parallel_for = loopdbg_serial_for;
__attribute__((unused)) static loopdbg_thread_pool_info const *loopdbg_thread_pool = &loopdbg_single_thread;

/* Whether it pays to cut so much work into pieces. */
static inline int loopdbg_is_worth_sharing(double work) {
    return work >= loopdbg_thread_pool->least && loopdbg_thread_pool->workers > 1;
}

/* How many of ``count`` make a piece where each thread gets ``each``, and how many pieces that are. */
static inline npy_intp loopdbg_items_per_task(npy_intp count, int each) {
    npy_intp const pieces = each * loopdbg_thread_pool->workers;
    return (count + pieces - 1) / pieces;
}
static inline npy_intp loopdbg_task_count(npy_intp count, npy_intp most) { return count ? (count + most - 1) / most : 0; }

#endif
