"""Scalar programs as regions, for the optimizer."""

from ...baseline.state cimport ExecutionState
from ..optimizer_state cimport Program

cdef Program *make_program(ExecutionState *s, object plan, int root) except? NULL
cdef void drop_program(ExecutionState *s, Program *program) noexcept
