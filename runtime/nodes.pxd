"""Nodes, for the classes above them."""

from .varying cimport Varied

cdef class Nodes(Varied):
    cdef list keep               # position -> arrays that its calls use
    cdef public bint native      # False: every node runs in Python, for comparison
    cdef object quiet            # the context that operators run in, without warnings

    cdef int load_code(self) except -1
    cdef int bind_node(self, int pc) except -1
    cdef int install(self, int pc, object instruction, object bound) except -1
    cdef int is_general(self, int pc)
    cdef int run_node(self, int pc) except -1
    cdef int run_in_python(self, int pc, object instruction) except -1
