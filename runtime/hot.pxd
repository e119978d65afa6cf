"""The hot path, for the engine."""

from libc.stdint cimport int32_t, int64_t

from .state cimport LoopState, State

cdef extern from "bytes.h" nogil:
    void loopdbg_bytes(char *target, const char *source, size_t n) noexcept

cdef double now() noexcept nogil
cdef int decide(const LoopState *loop) noexcept nogil
cdef void enter_loop(State *s, int index) noexcept nogil
cdef void leave_loop(State *s, LoopState *loop) noexcept nogil
cdef int show_previous(State *s, LoopState *loop) noexcept nogil
cdef int observe(State *s, LoopState *loop) noexcept nogil
cdef void append_records(State *s, LoopState *loop) noexcept nogil
cdef void swap_slots(State *s, int a, int b) noexcept nogil
cdef int run_plan(State *s) noexcept nogil


cdef inline void put(char *target, const char *source, Py_ssize_t nbytes) noexcept nogil:
    """memcpy with the sizes of scalars spelled out: a call of unknown size costs more than the copy."""
    if nbytes == 4:
        (<int32_t *>target)[0] = (<const int32_t *>source)[0]
    elif nbytes == 8:
        (<int64_t *>target)[0] = (<const int64_t *>source)[0]
    elif nbytes == 1:
        target[0] = source[0]
    else:
        loopdbg_bytes(target, source, nbytes)
