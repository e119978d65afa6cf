"""Sequences, as slots hold them."""

cdef class SequenceValue:
    cdef readonly list items         # only ever appended to; longer ones share it
    cdef readonly Py_ssize_t count   # so many of them are this sequence's

cdef SequenceValue make_sequence(list elements)
