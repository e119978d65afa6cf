/* Products of BLAS, and forks.
 *
 * OpenBLAS ends its threads before a process forks, also those that another thread waits for: of a product that is shared
 * among them at that time, nobody computes the rest, and it never ends. So a fork waits for the products that have begun, and
 * products that begin wait for the fork. Handlers of forks run in the order opposite to that in which they were registered:
 * loopdbg_blas_install_fork_handlers is to be called once, when NumPy is loaded. */
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

/* First inside, then look whether somebody forks: who forks looks for those inside afterwards. */
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

/* A forked process has the thread that forked alone. */
static void loopdbg_blas_after_fork_in_child(void) { loopdbg_blas.inside = loopdbg_blas.forks = 0; }

static void loopdbg_blas_install_fork_handlers(void) {
    pthread_atfork(loopdbg_blas_before_fork, loopdbg_blas_after_fork_in_parent, loopdbg_blas_after_fork_in_child);
}
#endif

#endif
