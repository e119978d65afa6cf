"""Parts of scalar programs, for who makes C of them."""

from ...baseline.state cimport ExecutionState

cdef enum:
    MAX_LOOPS = 64     # in one program

cdef object build_parts(ExecutionState *s, object plan, int root)
