"""Where the elements are that a call computes."""

from ....kernels.call cimport Call

cdef class ElementAccess:
    cdef readonly int op, n          # opcode; how many there are
    cdef readonly list arguments     # which of the call's arguments it takes, the result last
    cdef readonly list sizes         # bytes of an element of each of them
    cdef readonly list places        # of each of them: byte offsets from where the argument's memory begins

cdef int operation_of(const Call *call) noexcept nogil
cdef ElementAccess elements_of(const Call *call)
cdef tuple product_offsets(Call *call)
cdef tuple search_offsets(Call *call, int size)
cdef tuple fold_offsets(const Call *begin, const Call *call)
cdef ElementAccess gather_access(const Call *call, bytes indices)
