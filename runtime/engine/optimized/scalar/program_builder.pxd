"""Assembly of scalar programs from Python parts."""

from ...baseline.state cimport ExecutionState

cdef enum:
    MAX_LOOPS = 64     # in one program

cdef object build_program_parts(ExecutionState *s, object plan, int root)
