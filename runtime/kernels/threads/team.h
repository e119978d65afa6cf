/* Work that threads share. threads.h has the threads, once in the process; whoever has something to share includes this. */
#ifndef LOOPDBG_TEAM_H
#define LOOPDBG_TEAM_H

#include <numpy/npy_common.h>

/* Does one piece of a job. ``worker``: from 0 to one below the number of threads; no two of a number work at the same time. */
typedef void (*loopdbg_piece)(void const *job, npy_intp piece, int worker);

/* Does all pieces, each once, in any order: threads begin at different places, and go backwards if told to, so that each
 * meets again what it met last time. ``work``: of all together, in products that a vector takes one of an element. */
typedef void (*loopdbg_sharing)(loopdbg_piece piece, void const *job, npy_intp pieces, double work, int backwards);

static void loopdbg_share_alone(loopdbg_piece piece, void const *job, npy_intp pieces, double work, int backwards) {
    (void)work;
    for (npy_intp k = 0; k < pieces; k++) piece(job, backwards ? pieces - 1 - k : k, 0);
}

/* How many threads there are, the caller included, and what is less work than this is as soon done by one as by two. */
typedef struct {
    int workers;
    double least;
} loopdbg_members;

/* Of each module that includes this; team.pyx gives it what knows the threads. */
static loopdbg_members const loopdbg_nobody_else = {1, 0};
__attribute__((unused)) static loopdbg_sharing loopdbg_share = loopdbg_share_alone;
__attribute__((unused)) static loopdbg_members const *loopdbg_team = &loopdbg_nobody_else;

/* Whether it pays to cut so much work into pieces. */
static inline int loopdbg_is_shared(double work) { return work >= loopdbg_team->least && loopdbg_team->workers > 1; }

/* How many of ``count`` make a piece where each thread gets ``each``, and how many pieces that are. */
static inline npy_intp loopdbg_in_a_piece(npy_intp count, int each) {
    npy_intp const pieces = each * loopdbg_team->workers;
    return (count + pieces - 1) / pieces;
}
static inline npy_intp loopdbg_pieces(npy_intp count, npy_intp most) { return count ? (count + most - 1) / most : 0; }

#endif
