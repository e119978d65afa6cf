"""What the engine asks of calls."""

from .call cimport Call
from numpy cimport npy_intp

cdef int set_call(Call *call, object spec, npy_intp *outer) except -1
cdef bint is_single(const Call *call) noexcept nogil
cdef void drop_block(Call *call) noexcept nogil
cdef bint is_gather(const Call *call) noexcept nogil
cdef bint stands_alone(const Call *call) noexcept nogil
cdef void copy_call(Call *to, const Call *call) noexcept nogil
cdef bint is_small_product(const Call *call) noexcept nogil
cdef bint is_search(const Call *call) noexcept nogil
cdef bint is_fused() noexcept nogil
