"""How much memory a run may still ask for (available.pyx)."""

cdef bint reserve_bytes(size_t nbytes) noexcept nogil
