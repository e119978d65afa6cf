"""Tensor summaries, for other modules."""

cdef int number_kind(dtype)
cdef byte_value_table(dtype)
