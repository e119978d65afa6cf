"""Sequences, as slots hold them."""

cdef class SequenceValue:
    cdef readonly list items         # append-only; longer sequences share it
    cdef readonly Py_ssize_t count   # number of items of this sequence

cdef SequenceValue make_sequence(list elements)
