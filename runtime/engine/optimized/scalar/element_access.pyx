"""Element offsets of the operands and results of calls, for scalar programs.

A call steps over its arguments. Written element by element, broadcasting, transposing, slicing and concatenation are
the same: each element of the result, and the offsets of its operands.
"""

from libc.stdint cimport int32_t, int64_t
from numpy cimport npy_intp

from ....kernels.call cimport Call
from ....kernels.kernel cimport opcode
from ...baseline.state cimport REGISTER_BYTES
from .program_structs cimport OP_copy_1, OP_copy_2, OP_copy_4, OP_copy_8

cdef extern from "scalar_elementwise.h" nogil:
    ctypedef struct scalar_elementwise_kind:
        int sizes[4]
    const scalar_elementwise_kind scalar_elementwise_kinds[]


cdef class ElementAccess:
    """One elementwise operation."""


cdef int operation_of(const Call *call) noexcept nogil:
    """The opcode of a call's elementwise operation; -1: none."""
    cdef int op = opcode(call)
    return op if op >= 0 else call.operation - 1


cdef list element_offsets(const Call *call, int j):
    """Offsets of argument j at each step of a call."""
    cdef int d, width = call.nargs + 1
    offsets = [call.offset[j]]
    for d in range(call.nouter):
        offsets = [start + k * call.outer[d * width + 1 + j] for start in offsets for k in range(call.outer[d * width])]
    return [offset + k * call.steps[j] for offset in offsets for k in range(call.dims[0])]


cdef int64_t step_count(const Call *call) noexcept:
    cdef int64_t n = call.dims[0]
    cdef int d
    for d in range(call.nouter):
        n *= call.outer[d * (call.nargs + 1)]
    return n


cdef ElementAccess elements_of_call(const Call *call):
    """The elements of a call with a listed operation; None for others, or if a result is also an operand."""
    cdef ElementAccess access = ElementAccess.__new__(ElementAccess)
    cdef int last = call.nargs - 1
    cdef int64_t n = 1 if opcode(call) >= 0 else step_count(call)
    access.op = operation_of(call)
    if access.op < 0 or not 0 < n <= REGISTER_BYTES:
        return None
    if any([call.cell[j] == call.cell[last] for j in range(last)]):
        return None
    access.n, access.arguments = n, list(range(call.nargs))
    access.sizes = [scalar_elementwise_kinds[access.op].sizes[j] for j in range(call.nargs)]
    access.places = [[call.offset[j]] if opcode(call) >= 0 else element_offsets(call, j) for j in range(call.nargs)]
    return access if is_aligned(access) else None


cdef ElementAccess gather_access(const Call *call, bytes indices):
    """The elements of a Gather by constant indices, as copies; None without indices, or if one is out of range."""
    # extra: outer count, axis length, block bytes, number of indices, bytes of an index
    cdef ElementAccess access
    cdef int64_t length = call.extra[1], block = call.extra[2]
    cdef const char *index_bytes = indices
    cdef int size = block & -block if block & 7 else 8
    if not indices or not 0 < call.extra[0] * call.extra[3] * block <= REGISTER_BYTES:
        return None
    chosen = [(<const int64_t *>index_bytes)[k] if call.extra[4] == 8 else (<const int32_t *>index_bytes)[k]
              for k in range(call.extra[3])]
    if not all([-length <= k < length for k in chosen]):
        return None
    access = ElementAccess.__new__(ElementAccess)
    access.op = {1: OP_copy_1, 2: OP_copy_2, 4: OP_copy_4, 8: OP_copy_8}[size]
    access.arguments, access.sizes = [0, 2], [size, size]
    access.places = [[call.offset[0] + (outer * length + k % length) * block + byte for outer in range(call.extra[0])
                     for k in chosen for byte in range(0, block, size)],
                    [call.offset[2] + byte for byte in range(0, call.extra[0] * call.extra[3] * block, size)]]
    access.n = len(access.places[0])
    return access if is_aligned(access) else None


cdef tuple matrix_product_offsets(Call *call):
    """Offsets of the numbers in a matrix product: of a and b, for each summand a list with one per element of the
    result; and of the result."""
    # dims: batch, m, k, n; steps: of the batch for each argument, then rows and columns of a, b and the result
    cdef const npy_intp *s = call.steps
    elements = [(r, c) for r in range(call.dims[1]) for c in range(call.dims[3])]
    a = [[call.offset[0] + r * s[3] + k * s[4] for r, _ in elements] for k in range(call.dims[2])]
    b = [[call.offset[1] + k * s[5] + c * s[6] for _, c in elements] for k in range(call.dims[2])]
    return a, b, [call.offset[2] + r * s[7] + c * s[8] for r, c in elements]


cdef tuple extremum_search_offsets(Call *call, int size):
    """Offsets of the numbers that a search for extremes reads: for each position in its rows a list with one per
    result; and the number of results."""
    # extra: type character, outer, axis length, inner, is max, is last
    cdef npy_intp n = call.extra[2], inner = call.extra[3]
    results = [(o, k) for o in range(call.extra[1]) for k in range(inner)]
    x = [[call.offset[0] + size * ((o * n + j) * inner + k) for o, k in results] for j in range(n)]
    return x, len(results)


cdef tuple reduction_offsets(const Call *begin, const Call *call):
    """How a copy followed by a fold accumulates numbers into results: the opcode, the number of leading ones that are
    summed separately (0: none), the element size, offsets of the initial values, for each number a list with one offset
    per result, and offsets of the results. None for other calls."""
    cdef ElementAccess copy = elements_of_call(begin)
    cdef int op = abs(call.operation) - 1
    cdef bint inner = call.steps[2] == 0
    if copy is None or op < 0 or call.nargs != 3 or begin.cell[1] != call.cell[2] or call.cell[0] != call.cell[2] or \
            call.cell[1] == call.cell[2] or begin.cell[0] == call.cell[2] or \
            call.offset[0] != call.offset[2] or step_count(call) > REGISTER_BYTES:
        return None
    operands = {}
    for x, result in zip(element_offsets(call, 1), element_offsets(call, 2)):
        operands.setdefault(result, []).append(x)
    starts = dict(zip(copy.places[1], copy.places[0]))
    results = sorted(operands)
    if sorted(starts) != results:
        return None
    return op, call.dims[0] if inner else 0, copy.sizes[0], [starts[result] for result in results], \
        [list(row) for row in zip(*[operands[result] for result in results])], results


cdef bint is_aligned(ElementAccess access):
    """Is each element aligned to its size, and does each result element have its own place?"""
    if len(set(access.places[len(access.places) - 1])) < access.n:
        return False
    return all([x >= 0 and x % size == 0 for size, places in zip(access.sizes, access.places) for x in places])
