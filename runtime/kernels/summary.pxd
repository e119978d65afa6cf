"""What is in a tensor, for other modules."""

cdef int kind_of(dtype)
cdef table_of(dtype)
