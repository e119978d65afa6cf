"""Sequences, as slots hold them."""

cdef class Sequence:
    cdef readonly list items         # only ever appended to; longer ones share it
    cdef readonly Py_ssize_t count   # so many of them are this sequence's

cdef Sequence sequence_of(list elements)
