"""Memory locations of the elements that a call computes."""

from ....kernels.call cimport Call

cdef class ElementAccess:
    cdef readonly int op, n          # opcode; number of elements
    cdef readonly list arguments     # indices of the call's arguments, the result last
    cdef readonly list sizes         # bytes of an element of each of them
    cdef readonly list places        # of each of them: byte offsets of the elements in the argument's memory

cdef int operation_of(const Call *call) noexcept nogil
cdef ElementAccess elements_of_call(const Call *call)
cdef tuple matrix_product_offsets(Call *call)
cdef tuple extremum_search_offsets(Call *call, int size)
cdef tuple reduction_offsets(const Call *begin, const Call *call)
cdef ElementAccess gather_access(const Call *call, bytes indices)
