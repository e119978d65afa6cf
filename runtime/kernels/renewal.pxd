"""Results that begin as a copy of an input, and are renewed rather than copied (renewal.h)."""

from libc.stdint cimport int64_t

cdef extern from "kernels/data_movement/renewal.h" nogil:
    ctypedef struct Journal "loopdbg_journal":
        pass
    struct loopdbg_renewal:
        Journal *journal
        const int64_t *source
        int64_t *target
    void loopdbg_forget(Journal *journal) noexcept

ctypedef loopdbg_renewal Renewal
