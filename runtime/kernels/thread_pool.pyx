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
    """Number of threads for a run: the cores, unless a variable that BLAS uses allows fewer."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    allowed = [int(text) for text in map(os.environ.get, _VARIABLES) if text and text.isdecimal() and int(text)]
    return min(allowed + [cores])


def pool_size():
    """Number of threads, including the caller's."""
    return loopdbg_thread_pool_threads.workers


def configure(int count, double min_work=loopdbg_thread_pool_threads.least):
    """Set the number of threads and the minimum work (products) of shared jobs. No job may run meanwhile."""
    loopdbg_thread_pool_threads.workers = min(max(count, 1), LOOPDBG_MAX_WORKERS)
    loopdbg_thread_pool_threads.least = min_work
    loopdbg_thread_pool_reset_backoff()


def shared_job_count():
    """Number of jobs shared so far."""
    return loopdbg_thread_pool_jobs_shared


cdef parallel_for_fn pool_parallel_for() noexcept:
    return loopdbg_thread_pool_parallel_for


cdef const PoolInfo *pool_info() noexcept:
    return &loopdbg_thread_pool_threads


configure(allowed_threads())
