"""Where the elements are that a call computes, for scalar programs.

A call walks over its arguments by steps. Written down element by element, broadcasting, transposing, cutting and joining
are the same thing: each element of the result, and where its operands are.
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
    """One operation, the same on each element."""


cdef int operation_of(const Call *call) noexcept nogil:
    """The opcode of what a call does on each element; -1: none."""
    cdef int op = opcode(call)
    return op if op >= 0 else call.operation - 1


cdef list element_offsets(const Call *call, int j):
    """Where argument j of a call is at each of its steps."""
    cdef int d, width = call.nargs + 1
    places = [call.offset[j]]
    for d in range(call.nouter):
        places = [at + k * call.outer[d * width + 1 + j] for at in places for k in range(call.outer[d * width])]
    return [at + k * call.steps[j] for at in places for k in range(call.dims[0])]


cdef int64_t step_count(const Call *call) noexcept:
    cdef int64_t n = call.dims[0]
    cdef int d
    for d in range(call.nouter):
        n *= call.outer[d * (call.nargs + 1)]
    return n


cdef ElementAccess elements_of(const Call *call):
    """Those of a call that does an operation of the list; None for others, and where a result is operand as well."""
    cdef ElementAccess found = ElementAccess.__new__(ElementAccess)
    cdef int last = call.nargs - 1
    cdef int64_t n = 1 if opcode(call) >= 0 else step_count(call)
    found.op = operation_of(call)
    if found.op < 0 or not 0 < n <= REGISTER_BYTES:
        return None
    if any([call.cell[j] == call.cell[last] for j in range(last)]):
        return None
    found.n, found.arguments = n, list(range(call.nargs))
    found.sizes = [scalar_elementwise_kinds[found.op].sizes[j] for j in range(call.nargs)]
    found.places = [[call.offset[j]] if opcode(call) >= 0 else element_offsets(call, j) for j in range(call.nargs)]
    return found if is_aligned(found) else None


cdef ElementAccess gather_access(const Call *call, bytes indices):
    """Those of a Gather by these indices, which copies; None where there are none, or one of them is outside."""
    # extra: outer count, axis length, block bytes, number of indices, bytes of an index
    cdef ElementAccess found
    cdef int64_t length = call.extra[1], block = call.extra[2]
    cdef const char *port_bytes = indices
    cdef int size = block & -block if block & 7 else 8
    if not indices or not 0 < call.extra[0] * call.extra[3] * block <= REGISTER_BYTES:
        return None
    chosen = [(<const int64_t *>port_bytes)[k] if call.extra[4] == 8 else (<const int32_t *>port_bytes)[k]
              for k in range(call.extra[3])]
    if not all([-length <= k < length for k in chosen]):
        return None
    found = ElementAccess.__new__(ElementAccess)
    found.op = {1: OP_copy_1, 2: OP_copy_2, 4: OP_copy_4, 8: OP_copy_8}[size]
    found.arguments, found.sizes = [0, 2], [size, size]
    found.places = [[call.offset[0] + (outer * length + k % length) * block + at for outer in range(call.extra[0])
                     for k in chosen for at in range(0, block, size)],
                    [call.offset[2] + at for at in range(0, call.extra[0] * call.extra[3] * block, size)]]
    found.n = len(found.places[0])
    return found if is_aligned(found) else None


cdef tuple product_offsets(Call *call):
    """Where the numbers of a product of matrices are: of a and b for each summand, one for each element of the result; and
    these."""
    # dims: batch, m, k, n; steps: of the batch for each argument, then rows and columns of a, b and the result
    cdef const npy_intp *s = call.steps
    at = [(r, c) for r in range(call.dims[1]) for c in range(call.dims[3])]
    a = [[call.offset[0] + r * s[3] + k * s[4] for r, _ in at] for k in range(call.dims[2])]
    b = [[call.offset[1] + k * s[5] + c * s[6] for _, c in at] for k in range(call.dims[2])]
    return a, b, [call.offset[2] + r * s[7] + c * s[8] for r, c in at]


cdef tuple search_offsets(Call *call, int size):
    """Where the numbers are that a search for extremes looks through: of each place in its rows one for each result; and
    the results."""
    # extra: type character, outer, axis length, inner, is max, is last
    cdef npy_intp n = call.extra[2], inner = call.extra[3]
    at = [(o, k) for o in range(call.extra[1]) for k in range(inner)]
    x = [[call.offset[0] + size * ((o * n + j) * inner + k) for o, k in at] for j in range(n)]
    return x, [call.offset[1] + 8 * k for k in range(len(at))]


cdef tuple fold_offsets(const Call *begin, const Call *call):
    """How a copy begins results into which numbers are folded one after the other: the opcode, how many of them are summed
    by themselves first (0: none), and where these and the rest are: where the copy takes them from, of each number one for
    each result, and the results. None for other calls."""
    cdef ElementAccess first = elements_of(begin)
    cdef int op = abs(call.operation) - 1
    cdef bint inner = call.steps[2] == 0
    if first is None or op < 0 or call.nargs != 3 or begin.cell[1] != call.cell[2] or call.cell[0] != call.cell[2] or \
            call.cell[1] == call.cell[2] or begin.cell[0] == call.cell[2] or \
            call.offset[0] != call.offset[2] or step_count(call) > REGISTER_BYTES:
        return None
    into = {}
    for x, result in zip(element_offsets(call, 1), element_offsets(call, 2)):
        into.setdefault(result, []).append(x)
    starts = dict(zip(first.places[1], first.places[0]))
    at = sorted(into)
    if sorted(starts) != at:
        return None
    return op, call.dims[0] if inner else 0, first.sizes[0], [starts[result] for result in at], \
        [list(row) for row in zip(*[into[result] for result in at])], at


cdef bint is_aligned(ElementAccess found):
    """Does each element stand at a multiple of its size, and each of the result in a place of its own?"""
    if len(set(found.places[len(found.places) - 1])) < found.n:
        return False
    return all([at >= 0 and at % size == 0 for size, places in zip(found.sizes, found.places) for at in places])
