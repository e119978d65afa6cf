/* BLAS products and forks.
 *
 * OpenBLAS ends its threads before a process forks, even if another thread waits for them: a product shared among them
 * at that time never completes. So a fork waits for running products, and new products wait for the fork. Fork handlers
 * run in reverse order of registration: call loopdbg_blas_install_fork_handlers once, after NumPy was loaded. */
#ifndef LOOPDBG_BLAS_H
#define LOOPDBG_BLAS_H

#if defined(_WIN32)
static void loopdbg_blas_install_fork_handlers(void) {}
static inline void loopdbg_blas_begin_call(void) {}
static inline void loopdbg_blas_end_call(void) {}
#else
#include <pthread.h>
#include <stdint.h>
#include <time.h>

static struct {
    uint32_t inside, forks;
} loopdbg_blas = {0, 0};

static void loopdbg_blas_wait(uint32_t const *what) {
    struct timespec const moment = {0, 20000};
    while (__atomic_load_n(what, __ATOMIC_SEQ_CST)) nanosleep(&moment, NULL);
}

/* Enter first, then check for a fork: the forking thread checks for entered ones afterwards. */
static inline void loopdbg_blas_begin_call(void) {
    for (;;) {
        __atomic_fetch_add(&loopdbg_blas.inside, 1, __ATOMIC_SEQ_CST);
        if (!__atomic_load_n(&loopdbg_blas.forks, __ATOMIC_SEQ_CST)) return;
        __atomic_fetch_sub(&loopdbg_blas.inside, 1, __ATOMIC_SEQ_CST);
        loopdbg_blas_wait(&loopdbg_blas.forks);
    }
}

static inline void loopdbg_blas_end_call(void) { __atomic_fetch_sub(&loopdbg_blas.inside, 1, __ATOMIC_SEQ_CST); }

static void loopdbg_blas_before_fork(void) {
    __atomic_fetch_add(&loopdbg_blas.forks, 1, __ATOMIC_SEQ_CST);
    loopdbg_blas_wait(&loopdbg_blas.inside);
}

static void loopdbg_blas_after_fork_in_parent(void) { __atomic_fetch_sub(&loopdbg_blas.forks, 1, __ATOMIC_SEQ_CST); }

/* A forked process has only the thread that forked. */
static void loopdbg_blas_after_fork_in_child(void) { loopdbg_blas.inside = loopdbg_blas.forks = 0; }

static void loopdbg_blas_install_fork_handlers(void) {
    pthread_atfork(loopdbg_blas_before_fork, loopdbg_blas_after_fork_in_parent, loopdbg_blas_after_fork_in_child);
}
#endif

#endif
