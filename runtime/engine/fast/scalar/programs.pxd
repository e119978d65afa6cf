"""Scalar programs, for the floor that has them."""

from ...plain.state cimport State
from ..fast_state cimport Program

cdef Program *make_program(State *s, object plan, int root) except? NULL
cdef void drop_program(State *s, Program *program) noexcept
