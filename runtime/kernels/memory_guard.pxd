"""Check of available memory before large allocations (memory_guard.pyx)."""

cdef bint reserve_bytes(size_t nbytes) noexcept nogil
