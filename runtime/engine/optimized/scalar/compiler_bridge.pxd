"""Compilation of scalar programs."""

from .program_structs cimport Program

cdef object compile_job_for(Program *program, object plan)
cdef bint attach_code(Program *program, object job) except -1
