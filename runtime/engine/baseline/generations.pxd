"""The number of a generation: which predicates are enabled, above the count of all other changes.

What was built for one set of predicates is valid again when that set returns.
"""

from libc.stdint cimport int64_t

cdef enum:
    COUNT_BITS = 40     # 20 bits are left for a number


cdef inline int64_t with_predicates(int64_t generation, int64_t number) noexcept nogil:
    """The same generation with another set of enabled predicates."""
    return (generation & ((<int64_t>1 << COUNT_BITS) - 1)) | (number << COUNT_BITS)


cdef inline bint differs_by_predicates(int64_t a, int64_t b) noexcept nogil:
    """Do two generations differ at most by the predicates that are enabled?"""
    return with_predicates(a, 0) == with_predicates(b, 0)
