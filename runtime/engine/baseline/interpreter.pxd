"""The interpreter, for the classes that use it."""

from libc.stdint cimport int32_t, int64_t

from .state cimport BackEdgeState, LoopState, Slot, ExecutionState, boundary_record

cdef extern from *:
    """
    #ifdef LOOPDBG_DEBUG_BUILD
    #define LOOPDBG_CHECKED 1
    #else
    #define LOOPDBG_CHECKED 0
    #endif
    """
    # Builds with bounds checks compare the optimized with the baseline tier.
    enum:
        LOOPDBG_CHECKED

cdef extern from "kernels/data_movement/fast_memcpy.h" nogil:
    void loopdbg_memcpy(char *target, const char *source, size_t n) noexcept
    void loopdbg_prefetch_write(const char *target, size_t n) noexcept

cdef int end_reason(const LoopState *loop) noexcept nogil
cdef int64_t next_break(const LoopState *loop, int64_t first) noexcept nogil
cdef void enter_loop(ExecutionState *s, int index, int64_t trip) noexcept nogil
cdef int can_cross(const ExecutionState *s, const LoopState *loop) noexcept nogil
cdef void cross_boundary(ExecutionState *s, LoopState *loop) noexcept nogil
cdef void leave_loop(ExecutionState *s, LoopState *loop) noexcept nogil
cdef int update_previous_slots(ExecutionState *s, LoopState *loop) noexcept nogil
cdef int observe_boundary(ExecutionState *s, LoopState *loop) noexcept nogil
cdef void append_records(ExecutionState *s, LoopState *loop) noexcept nogil
cdef int run_plan(ExecutionState *s) noexcept nogil


cdef inline void copy_bytes(char *target, const char *source, Py_ssize_t nbytes) noexcept nogil:
    """memcpy with the sizes of scalars spelled out: a call with an unknown size costs more than the copy."""
    if nbytes == 4:
        (<int32_t *>target)[0] = (<const int32_t *>source)[0]
    elif nbytes == 8:
        (<int64_t *>target)[0] = (<const int64_t *>source)[0]
    elif nbytes == 1:
        target[0] = source[0]
    else:
        loopdbg_memcpy(target, source, nbytes)


cdef inline int appends_row(const boundary_record *record, const LoopState *loop) noexcept nogil:
    """Does a record get a row at the present boundary?"""
    return record.enabled and (record.traced == NULL or (loop.i > 0 and not loop.ended))


cdef inline int optimizer_is_due(const LoopState *loop) noexcept nogil:
    """Should the optimizer re-examine this loop?"""
    return loop.boundaries == loop.optimizer_due_at


cdef inline int boundary_is_checked(const LoopState *loop) noexcept nogil:
    """Do debug builds verify the boundary after this iteration? Not every one: that copies all carried values."""
    return loop.i < 100
