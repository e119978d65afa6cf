"""Cython declarations of histories: see value_history_structs.h."""

from libc.stdint cimport int64_t, uint64_t

from ..baseline.state cimport BoundaryLog, LoopState

cdef extern from "value_history_structs.h" nogil:
    enum:
        HISTORY_ROWS, HISTORY_COLUMNS, HISTORY_ENTRIES
        KIND_UNKNOWN, KIND_NONE, KIND_TABLE

    ctypedef struct history_stat:
        double low, high, first, last, nonfinite

    ctypedef struct history_series:
        int result, param, kind, itemsize, steady, identity
        char **cell
        const Py_ssize_t *nbytes
        double *table

    ctypedef struct history_entry:
        int64_t entry, origin, rows
        int n, out_of_memory
        uint64_t *ring
        history_stat *log
        history_stat *pending
        int64_t nlog, capacity
        char *wide

    ctypedef struct loop_history:
        int nseries, nentries
        history_series *series
        history_entry *entries
        history_entry *now

# The ``log`` of a followed loop.
cdef struct HistoryLog:
    BoundaryLog log              # first
    loop_history *history


cdef inline loop_history *history_of_loop(const LoopState *loop) noexcept nogil:
    """The history of a loop; NULL: it is not followed."""
    return NULL if loop.log == NULL else (<HistoryLog *>loop.log).history
