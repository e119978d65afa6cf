/* The threads of a process that share jobs (team.h).
 *
 * Each takes the pieces of a stretch of its own first, then what others have left. Whoever has a job does not wait for
 * threads that have not begun when all pieces are taken. Threads spin for a while before they sleep, and are woken only for
 * as much work as that costs: what was done alone is added up until it is worth it. [1,256] @ [256,1024] takes 6 us with two
 * threads, and 12 with one. */
#ifndef LOOPDBG_THREADS_H
#define LOOPDBG_THREADS_H

#include <stdint.h>
#include "../dispatch/processor.h"
#include "team.h"

enum { LOOPDBG_MOST_WORKERS = 16 };

static loopdbg_members loopdbg_everybody = {1, 100e3}; /* some 2 us */
/* How often a job was shared. */
static uint64_t loopdbg_team_shared = 0;

#if defined(_WIN32)
static void loopdbg_team_forget(void) {}
static void loopdbg_share_job(loopdbg_piece piece, void const *job, npy_intp pieces, double work, int backwards) {
    loopdbg_share_alone(piece, job, pieces, work, backwards);
}
#else
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#if defined(LOOPDBG_X86)
#define LOOPDBG_PAUSE() __builtin_ia32_pause()
#define LOOPDBG_ROUNDING() __builtin_ia32_stmxcsr()
#define LOOPDBG_SET_ROUNDING(how) __builtin_ia32_ldmxcsr(how)
#elif defined(__aarch64__)
#define LOOPDBG_PAUSE() __asm__ volatile("yield")
#else
#define LOOPDBG_PAUSE() (void)0
#endif

#ifndef LOOPDBG_ROUNDING
#define LOOPDBG_ROUNDING() 0
#define LOOPDBG_SET_ROUNDING(how) (void)(how)
#endif

enum {
    LOOPDBG_SPINS = 1 << 11,      /* some 50 us, before a thread sleeps */
    LOOPDBG_WAIT_SPINS = 1 << 12, /* before who waits for the last piece lets others run */
    LOOPDBG_SPIN_WORK = 2000,     /* the work of a spin */
    LOOPDBG_MOST_RELUCTANT = 256,
    LOOPDBG_WAKING = 25,          /* times the least work that is shared: what it costs to wake threads */
};

#define GET(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define SET(x, v) __atomic_store_n(&(x), v, __ATOMIC_SEQ_CST)
#define ADD(x, v) __atomic_fetch_add(&(x), v, __ATOMIC_SEQ_CST)

typedef struct {
    npy_intp next, end, first;
    char apart[128 - 3 * sizeof(npy_intp)]; /* a cache line of its own, and the one that is fetched beside it */
} loopdbg_stretch;

static struct {
    /* The job; written while nobody is inside and it is not open. */
    loopdbg_piece piece;
    void const *job;
    int workers, backwards;
    unsigned rounding;                                /* how the caller rounds, and what it flushes to zero */
    uint32_t busy;                                    /* somebody has a job */
    double alone;                                     /* work until others may help again */
    double owed, shared;                              /* work alone since threads sleep, and shared since they were woken */
    double reluctance;                                /* how many times as much is owed before they are woken */
    uint32_t begun;                                   /* threads that there are */
    __attribute__((aligned(128))) uint32_t generation; /* counts jobs */
    uint32_t open, inside, sleeping;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    loopdbg_stretch stretches[LOOPDBG_MOST_WORKERS];
} loopdbg_threads = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .reluctance = 1};

/* That somebody else needed the cores. */
static void loopdbg_team_forget(void) { loopdbg_threads.alone = 0, loopdbg_threads.reluctance = 1; }

static void loopdbg_team_work(int worker) {
    int const workers = loopdbg_threads.workers;
    for (int k = 0; k < workers; k++) {
        loopdbg_stretch *s = loopdbg_threads.stretches + (worker + k) % workers;
        while (GET(s->next) < s->end) {
            npy_intp at = ADD(s->next, 1);
            if (at >= s->end) break;
            loopdbg_threads.piece(loopdbg_threads.job, loopdbg_threads.backwards ? s->first + s->end - 1 - at : at, worker);
        }
    }
}

static void *loopdbg_team_thread(void *number) {
    int const worker = (int)(intptr_t)number;
    for (uint32_t seen = 0;;) {
        int spins = 0;
        while (GET(loopdbg_threads.generation) == seen && spins < LOOPDBG_SPINS) {
            LOOPDBG_PAUSE();
            spins++;
        }
        if (spins == LOOPDBG_SPINS) {
            pthread_mutex_lock(&loopdbg_threads.lock);
            ADD(loopdbg_threads.sleeping, 1);
            while (GET(loopdbg_threads.generation) == seen) pthread_cond_wait(&loopdbg_threads.wake, &loopdbg_threads.lock);
            ADD(loopdbg_threads.sleeping, -1);
            pthread_mutex_unlock(&loopdbg_threads.lock);
        }
        seen = GET(loopdbg_threads.generation);
        /* First inside, then look whether it is open: who closes it looks for those inside afterwards. */
        ADD(loopdbg_threads.inside, 1);
        if (GET(loopdbg_threads.open) && worker < loopdbg_threads.workers) {
            LOOPDBG_SET_ROUNDING(loopdbg_threads.rounding);
            loopdbg_team_work(worker);
        }
        ADD(loopdbg_threads.inside, -1);
    }
    return NULL;
}

/* A forked process has none of the threads. */
static void loopdbg_team_forked(void) {
    pthread_mutex_init(&loopdbg_threads.lock, NULL);
    pthread_cond_init(&loopdbg_threads.wake, NULL);
    loopdbg_threads.begun = loopdbg_threads.sleeping = loopdbg_threads.inside = loopdbg_threads.open = loopdbg_threads.busy = 0;
    loopdbg_threads.generation = 0;
}

/* As many threads as there should be. Signals are for others. */
static void loopdbg_team_begin(void) {
    static int first = 1;
    sigset_t all, before;
    if (first) pthread_atfork(NULL, NULL, loopdbg_team_forked);
    first = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while ((int)loopdbg_threads.begun + 1 < loopdbg_everybody.workers) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, loopdbg_team_thread, (void *)(intptr_t)(loopdbg_threads.begun + 1))) {
            loopdbg_everybody.workers = (int)loopdbg_threads.begun + 1; /* there are no more to be had */
            break;
        }
        pthread_detach(thread);
        loopdbg_threads.begun++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Whether others take part in so much work: not while they have no core, nor as long as it is not worth waking them. Jobs
 * that come so seldom that threads fall asleep between them never are, unless they are large. */
static int loopdbg_team_helps(double work, int *wake) {
    double const waking = LOOPDBG_WAKING * loopdbg_everybody.least, more = 2 * loopdbg_threads.reluctance;
    uint32_t sleeping;
    if (loopdbg_threads.alone > 0) {
        loopdbg_threads.alone -= work;
        return 0;
    }
    if ((int)loopdbg_threads.begun + 1 < loopdbg_everybody.workers) loopdbg_team_begin();
    sleeping = GET(loopdbg_threads.sleeping);
    loopdbg_threads.owed = sleeping ? loopdbg_threads.owed + work : 0;
    *wake = sleeping && (work >= waking || loopdbg_threads.owed >= waking * loopdbg_threads.reluctance);
    if (*wake) {
        int const seldom = loopdbg_threads.shared < waking;
        loopdbg_threads.reluctance = !seldom ? 1 : more < LOOPDBG_MOST_RELUCTANT ? more : LOOPDBG_MOST_RELUCTANT;
        loopdbg_threads.owed = loopdbg_threads.shared = 0;
    }
    return loopdbg_threads.begun && (sleeping < loopdbg_threads.begun || *wake);
}

static void loopdbg_share_job(loopdbg_piece piece, void const *job, npy_intp pieces, double work, int backwards) {
    int workers = loopdbg_everybody.workers, wake = 0;
    int64_t spins = 0, most_spins = LOOPDBG_WAIT_SPINS + (int64_t)(work / LOOPDBG_SPIN_WORK);
    if (workers > pieces) workers = (int)pieces;
    if (workers < 2 || work < loopdbg_everybody.least || __atomic_exchange_n(&loopdbg_threads.busy, 1, __ATOMIC_SEQ_CST)) {
        loopdbg_share_alone(piece, job, pieces, work, backwards);
        return;
    }
    if (!loopdbg_team_helps(work, &wake)) {
        SET(loopdbg_threads.busy, 0);
        loopdbg_share_alone(piece, job, pieces, work, backwards);
        return;
    }
    loopdbg_threads.piece = piece, loopdbg_threads.job = job;
    loopdbg_threads.workers = workers, loopdbg_threads.backwards = backwards, loopdbg_threads.rounding = LOOPDBG_ROUNDING();
    for (int k = 0; k < workers; k++) {
        loopdbg_stretch *s = loopdbg_threads.stretches + k;
        s->first = s->next = pieces * k / workers, s->end = pieces * (k + 1) / workers;
    }
    loopdbg_team_shared++, loopdbg_threads.shared += work;
    SET(loopdbg_threads.open, 1);
    ADD(loopdbg_threads.generation, 1);
    if (wake) {
        pthread_mutex_lock(&loopdbg_threads.lock);
        pthread_cond_broadcast(&loopdbg_threads.wake);
        pthread_mutex_unlock(&loopdbg_threads.lock);
    }
    loopdbg_team_work(0);
    SET(loopdbg_threads.open, 0);
    for (; GET(loopdbg_threads.inside); spins++) {
        if (spins < LOOPDBG_WAIT_SPINS) LOOPDBG_PAUSE();
        else sched_yield();
    }
    /* Where a thread was stopped with a piece in hand, others need its core: that should take a fifth of the time at most. */
    loopdbg_threads.alone = spins > most_spins ? 4.0 * LOOPDBG_SPIN_WORK * (double)spins : 0;
    SET(loopdbg_threads.busy, 0);
}
#undef GET
#undef SET
#undef ADD
#endif

#endif
