"""Scalar programs, for the engine."""

from libc.stdint cimport int64_t

from ...plain.state cimport LoopState, Program, State

cdef Program *make_program(State *s, object plan, int root) except? NULL
cdef int64_t next_break(const LoopState *loop, int64_t first) noexcept nogil
cdef int enter_program(State *s, LoopState *loop) noexcept nogil
cdef void settle_program(State *s) noexcept nogil
cdef int run_program(State *s, Program *program) noexcept nogil
