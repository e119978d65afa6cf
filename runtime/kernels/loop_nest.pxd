"""Functions of calls that the engine uses."""

from .call cimport Call
from numpy cimport npy_intp

cdef int set_call(Call *call, object spec, npy_intp *outer) except -1
cdef bint is_scalar_call(const Call *call) noexcept nogil
cdef void invalidate_iteration_block(Call *call) noexcept nogil
cdef bint is_gather(const Call *call) noexcept nogil
cdef bint is_self_contained(const Call *call) noexcept nogil
cdef void copy_call(Call *to, const Call *call) noexcept nogil
cdef bint is_small_product(const Call *call) noexcept nogil
cdef bint is_arg_reduction(const Call *call) noexcept nogil
cdef bint has_fma() noexcept nogil
