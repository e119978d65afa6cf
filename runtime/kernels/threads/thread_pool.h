/* The threads of a process that share jobs (parallel_for.h).
 *
 * Each takes the tasks of its own range first, then those left by others (work stealing). The caller does not wait for
 * threads that have not begun when all tasks are taken. Threads spin before they sleep, and are woken only for as much
 * work as that costs: work done alone is accumulated until waking is worthwhile. [1,256] @ [256,1024] takes 6 us with
 * two threads, 12 with one. */
#ifndef LOOPDBG_THREADS_H
#define LOOPDBG_THREADS_H

#include <stdint.h>
#include "../dispatch/processor.h"
#include "parallel_for.h"

enum { LOOPDBG_MAX_WORKERS = 16 };

static loopdbg_thread_pool_info loopdbg_thread_pool_threads = {1, 100e3}; /* some 2 us */
/* Number of shared jobs. */
static uint64_t loopdbg_thread_pool_jobs_shared = 0;

#if defined(_WIN32)
static void loopdbg_thread_pool_reset_backoff(void) {}
static void loopdbg_thread_pool_parallel_for(loopdbg_task piece, void const *job, npy_intp pieces, double work, int backwards) {
    loopdbg_serial_for(piece, job, pieces, work, backwards);
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
    LOOPDBG_SPINS_BEFORE_SLEEP = 1 << 11,      /* some 50 us, before a thread sleeps */
    LOOPDBG_SPINS_BEFORE_YIELD = 1 << 12, /* before a thread that waits for the last task yields */
    LOOPDBG_SPIN_WORK = 2000,     /* the work of a spin */
    LOOPDBG_MAX_WAKE_BACKOFF = 256,
    LOOPDBG_WAKE_COST_FACTOR = 25,          /* cost of waking threads, as a multiple of the minimum shared work */
};

#define GET(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define SET(x, v) __atomic_store_n(&(x), v, __ATOMIC_SEQ_CST)
#define ADD(x, v) __atomic_fetch_add(&(x), v, __ATOMIC_SEQ_CST)

typedef struct {
    npy_intp next, end, first;
    char apart[128 - 3 * sizeof(npy_intp)]; /* a cache line of its own, and the adjacent prefetched line */
} loopdbg_task_range;

static struct {
    /* The job; written while no thread is inside and it is not open. */
    loopdbg_task piece;
    void const *job;
    int workers, backwards;
    unsigned rounding;                                /* the caller's rounding and flush-to-zero modes */
    uint32_t busy;                                    /* a job is running */
    double alone;                                     /* work until other threads may help again */
    double owed, shared;                              /* work done alone since they sleep, and shared since they woke */
    double wake_backoff;                                /* factor on the work that wakes them */
    uint32_t begun;                                   /* number of threads created */
    __attribute__((aligned(128))) uint32_t generation; /* counts jobs */
    uint32_t open, inside, sleeping;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    loopdbg_task_range stretches[LOOPDBG_MAX_WORKERS];
} loopdbg_thread_pool_state = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .wake_backoff = 1};

/* Record that other processes needed the cores. */
static void loopdbg_thread_pool_reset_backoff(void) {
    loopdbg_thread_pool_state.alone = 0, loopdbg_thread_pool_state.wake_backoff = 1;
}

static void loopdbg_thread_pool_run_tasks(int worker) {
    int const workers = loopdbg_thread_pool_state.workers;
    for (int k = 0; k < workers; k++) {
        loopdbg_task_range *s = loopdbg_thread_pool_state.stretches + (worker + k) % workers;
        while (GET(s->next) < s->end) {
            npy_intp at = ADD(s->next, 1);
            if (at >= s->end) break;
            loopdbg_thread_pool_state.piece(loopdbg_thread_pool_state.job,
                                            loopdbg_thread_pool_state.backwards ? s->first + s->end - 1 - at : at, worker);
        }
    }
}

static void *loopdbg_thread_pool_worker(void *number) {
    int const worker = (int)(intptr_t)number;
    for (uint32_t seen = 0;;) {
        int spins = 0;
        while (GET(loopdbg_thread_pool_state.generation) == seen && spins < LOOPDBG_SPINS_BEFORE_SLEEP) {
            LOOPDBG_PAUSE();
            spins++;
        }
        if (spins == LOOPDBG_SPINS_BEFORE_SLEEP) {
            pthread_mutex_lock(&loopdbg_thread_pool_state.lock);
            ADD(loopdbg_thread_pool_state.sleeping, 1);
            while (GET(loopdbg_thread_pool_state.generation) == seen)
                pthread_cond_wait(&loopdbg_thread_pool_state.wake, &loopdbg_thread_pool_state.lock);
            ADD(loopdbg_thread_pool_state.sleeping, -1);
            pthread_mutex_unlock(&loopdbg_thread_pool_state.lock);
        }
        seen = GET(loopdbg_thread_pool_state.generation);
        /* Enter first, then check whether it is open: the closing thread checks for entered ones afterwards. */
        ADD(loopdbg_thread_pool_state.inside, 1);
        if (GET(loopdbg_thread_pool_state.open) && worker < loopdbg_thread_pool_state.workers) {
            LOOPDBG_SET_ROUNDING(loopdbg_thread_pool_state.rounding);
            loopdbg_thread_pool_run_tasks(worker);
        }
        ADD(loopdbg_thread_pool_state.inside, -1);
    }
    return NULL;
}

/* A forked process has none of the threads. */
static void loopdbg_thread_pool_reset_after_fork(void) {
    pthread_mutex_init(&loopdbg_thread_pool_state.lock, NULL);
    pthread_cond_init(&loopdbg_thread_pool_state.wake, NULL);
    loopdbg_thread_pool_state.begun = loopdbg_thread_pool_state.sleeping = loopdbg_thread_pool_state.inside =
        loopdbg_thread_pool_state.open = loopdbg_thread_pool_state.busy = 0;
    loopdbg_thread_pool_state.generation = 0;
}

/* Create the configured number of threads. They block signals. */
static void loopdbg_thread_pool_start(void) {
    static int first = 1;
    sigset_t all, before;
    if (first) pthread_atfork(NULL, NULL, loopdbg_thread_pool_reset_after_fork);
    first = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while ((int)loopdbg_thread_pool_state.begun + 1 < loopdbg_thread_pool_threads.workers) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, loopdbg_thread_pool_worker,
                           (void *)(intptr_t)(loopdbg_thread_pool_state.begun + 1))) {
            loopdbg_thread_pool_threads.workers = (int)loopdbg_thread_pool_state.begun + 1; /* no more can be created */
            break;
        }
        pthread_detach(thread);
        loopdbg_thread_pool_state.begun++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Should threads share so much work? Not while they have no core, nor until waking them is worthwhile. Jobs so rare
 * that threads sleep between them never are, unless they are large. */
static int loopdbg_team_helps(double work, int *wake) {
    double const waking = LOOPDBG_WAKE_COST_FACTOR * loopdbg_thread_pool_threads.least,
                 more = 2 * loopdbg_thread_pool_state.wake_backoff;
    uint32_t sleeping;
    if (loopdbg_thread_pool_state.alone > 0) {
        loopdbg_thread_pool_state.alone -= work;
        return 0;
    }
    if ((int)loopdbg_thread_pool_state.begun + 1 < loopdbg_thread_pool_threads.workers) loopdbg_thread_pool_start();
    sleeping = GET(loopdbg_thread_pool_state.sleeping);
    loopdbg_thread_pool_state.owed = sleeping ? loopdbg_thread_pool_state.owed + work : 0;
    *wake = sleeping && (work >= waking || loopdbg_thread_pool_state.owed >= waking * loopdbg_thread_pool_state.wake_backoff);
    if (*wake) {
        int const seldom = loopdbg_thread_pool_state.shared < waking;
        loopdbg_thread_pool_state.wake_backoff = !seldom                           ? 1
                                                 : more < LOOPDBG_MAX_WAKE_BACKOFF ? more
                                                                                   : LOOPDBG_MAX_WAKE_BACKOFF;
        loopdbg_thread_pool_state.owed = loopdbg_thread_pool_state.shared = 0;
    }
    return loopdbg_thread_pool_state.begun && (sleeping < loopdbg_thread_pool_state.begun || *wake);
}

static void loopdbg_thread_pool_parallel_for(loopdbg_task piece, void const *job, npy_intp pieces, double work, int backwards) {
    int workers = loopdbg_thread_pool_threads.workers, wake = 0;
    int64_t spins = 0, most_spins = LOOPDBG_SPINS_BEFORE_YIELD + (int64_t)(work / LOOPDBG_SPIN_WORK);
    if (workers > pieces) workers = (int)pieces;
    if (workers < 2 || work < loopdbg_thread_pool_threads.least ||
        __atomic_exchange_n(&loopdbg_thread_pool_state.busy, 1, __ATOMIC_SEQ_CST)) {
        loopdbg_serial_for(piece, job, pieces, work, backwards);
        return;
    }
    if (!loopdbg_team_helps(work, &wake)) {
        SET(loopdbg_thread_pool_state.busy, 0);
        loopdbg_serial_for(piece, job, pieces, work, backwards);
        return;
    }
    loopdbg_thread_pool_state.piece = piece, loopdbg_thread_pool_state.job = job;
    loopdbg_thread_pool_state.workers = workers, loopdbg_thread_pool_state.backwards = backwards,
    loopdbg_thread_pool_state.rounding = LOOPDBG_ROUNDING();
    for (int k = 0; k < workers; k++) {
        loopdbg_task_range *s = loopdbg_thread_pool_state.stretches + k;
        s->first = s->next = pieces * k / workers, s->end = pieces * (k + 1) / workers;
    }
    loopdbg_thread_pool_jobs_shared++, loopdbg_thread_pool_state.shared += work;
    SET(loopdbg_thread_pool_state.open, 1);
    ADD(loopdbg_thread_pool_state.generation, 1);
    if (wake) {
        pthread_mutex_lock(&loopdbg_thread_pool_state.lock);
        pthread_cond_broadcast(&loopdbg_thread_pool_state.wake);
        pthread_mutex_unlock(&loopdbg_thread_pool_state.lock);
    }
    loopdbg_thread_pool_run_tasks(0);
    SET(loopdbg_thread_pool_state.open, 0);
    for (; GET(loopdbg_thread_pool_state.inside); spins++) {
        if (spins < LOOPDBG_SPINS_BEFORE_YIELD) LOOPDBG_PAUSE();
        else sched_yield();
    }
    /* A thread was preempted during a task: others need its core, which should take a fifth of the time at most. */
    loopdbg_thread_pool_state.alone = spins > most_spins ? 4.0 * LOOPDBG_SPIN_WORK * (double)spins : 0;
    SET(loopdbg_thread_pool_state.busy, 0);
}
#undef GET
#undef SET
#undef ADD
#endif

#endif
