"""The thread pool, for modules with parallel work (threads/thread_pool.h)."""

from numpy cimport npy_intp

cdef extern from "kernels/threads/parallel_for.h" nogil:
    ctypedef void (*task_fn "loopdbg_task")(const void *job, npy_intp task, int worker) noexcept nogil
    ctypedef void (*parallel_for_fn "loopdbg_parallel_for_fn")(task_fn task, const void *job, npy_intp tasks, double work,
                                               int backwards) noexcept nogil
    ctypedef struct PoolInfo "loopdbg_thread_pool_info":
        int workers
        double least
    parallel_for_fn loopdbg_parallel_for
    const PoolInfo *loopdbg_thread_pool

cdef parallel_for_fn pool_parallel_for() noexcept
cdef const PoolInfo *pool_info() noexcept
