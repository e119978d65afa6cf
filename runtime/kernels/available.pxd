"""How much memory a run may still ask for (available.pyx)."""

cdef bint may_have(size_t nbytes) noexcept nogil
