"""Compiled programs, for the floor that has them."""

from .program_structs cimport Program

cdef object compile_job_for(Program *program, object plan)
cdef bint attach_code(Program *program, object job) except -1
