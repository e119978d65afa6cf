"""Streams, for the engine."""

cimport cython
from libc.stdint cimport int64_t

cdef extern from "kernels/stream.h" nogil:
    ctypedef struct CStream "loopdbg_stream":
        const int64_t *count
        int64_t rows
        int gone
    void loopdbg_append(int64_t *count) noexcept
    int loopdbg_wait(const CStream *stream, int64_t rows) noexcept

@cython.final
cdef class Stream:
    cdef CStream c
    cdef object source           # whose count it is
