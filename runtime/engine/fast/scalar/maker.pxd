"""Parts of scalar programs, for who makes C of them."""

from ...plain.state cimport State

cdef enum:
    MAX_LOOPS = 64     # in one program

cdef object lay_out(State *s, object plan, int root)
