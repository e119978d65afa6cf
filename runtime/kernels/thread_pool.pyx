"""The threads that share large products and convolutions (thread_pool.h)."""

from libc.stdint cimport uint64_t

import os

cdef extern from "kernels/threads/thread_pool.h" nogil:
    enum:
        LOOPDBG_MAX_WORKERS
    PoolInfo loopdbg_thread_pool_threads
    uint64_t loopdbg_thread_pool_jobs_shared
    parallel_for_fn loopdbg_thread_pool_parallel_for
    void loopdbg_thread_pool_reset_backoff() noexcept

_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def allowed_threads():
    """How many threads a run may use: as many as there are cores, unless a variable that BLAS heeds allows fewer."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    allowed = [int(text) for text in map(os.environ.get, _VARIABLES) if text and text.isdecimal() and int(text)]
    return min(allowed + [cores])


def pool_size():
    """How many threads share, the caller's included."""
    return loopdbg_thread_pool_threads.workers


def configure(int count, double least=loopdbg_thread_pool_threads.least):
    """Let so many share what is at least so much work (products) from now on. Nobody may share anything meanwhile."""
    loopdbg_thread_pool_threads.workers, loopdbg_thread_pool_threads.least = min(max(count, 1), LOOPDBG_MAX_WORKERS), least
    loopdbg_thread_pool_reset_backoff()


def shared_job_count():
    """How many jobs were shared so far."""
    return loopdbg_thread_pool_jobs_shared


cdef parallel_for_fn pool_parallel_for() noexcept:
    return loopdbg_thread_pool_parallel_for


cdef const PoolInfo *pool_info() noexcept:
    return &loopdbg_thread_pool_threads


configure(allowed_threads())
