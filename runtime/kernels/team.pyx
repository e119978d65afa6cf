"""The threads that share large products and convolutions (threads.h)."""

from libc.stdint cimport uint64_t

import os

cdef extern from "kernels/threads/threads.h" nogil:
    enum:
        LOOPDBG_MOST_WORKERS
    Members loopdbg_everybody
    uint64_t loopdbg_team_shared
    sharing loopdbg_share_job
    void loopdbg_team_forget() noexcept

_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def threads():
    """How many threads a run may use: as many as there are cores, unless a variable that BLAS heeds allows fewer."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    allowed = [int(text) for text in map(os.environ.get, _VARIABLES) if text and text.isdecimal() and int(text)]
    return min(allowed + [cores])


def size():
    """How many threads share, the caller's included."""
    return loopdbg_everybody.workers


def use(int count, double least=loopdbg_everybody.least):
    """Let so many share what is at least so much work (products) from now on. Nobody may share anything meanwhile."""
    loopdbg_everybody.workers, loopdbg_everybody.least = min(max(count, 1), LOOPDBG_MOST_WORKERS), least
    loopdbg_team_forget()


def shared():
    """How many jobs were shared so far."""
    return loopdbg_team_shared


cdef sharing team_share() noexcept:
    return loopdbg_share_job


cdef const Members *team_members() noexcept:
    return &loopdbg_everybody


use(threads())
