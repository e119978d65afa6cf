"""Compiled programs, for the floor that has them."""

from .program cimport Program

cdef object describe(Program *program)
cdef object job_of(Program *program)
cdef bint attach(Program *program, object job) except -1
