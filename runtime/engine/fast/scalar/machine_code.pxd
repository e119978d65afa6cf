"""Compiled programs, for the floor that has them."""

from .program cimport Program

cdef object job_of(Program *program, object plan)
cdef bint attach(Program *program, object job) except -1
