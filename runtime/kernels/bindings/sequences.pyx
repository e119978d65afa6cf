"""Sequences, and the routines that make and read them.

A sequence is immutable, and shares its elements with sequences appended to it: a shared list of items, and the number
of them in this sequence. The elements are arrays that are never written.

Unlike other routines these hold the GIL: elements are Python objects. A sequence argument is the address of a slot's
object, not of memory; a resulting sequence is stored there.
"""

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy
cimport numpy as np
from numpy cimport npy_intp

from ..call cimport Call, MAX_EXTRA, run_call

import numpy as np

cdef extern from "Python.h":
    PyObject *PyList_GET_ITEM(object, Py_ssize_t)   # borrowed

cdef extern from "kernels/data_movement/fast_memcpy.h" nogil:
    void loopdbg_memcpy(char *target, const char *source, size_t n) noexcept

np.import_array()

# Before its extents each tensor has two numbers: its type and its rank.
MAX_AXES = MAX_EXTRA - 6


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class SequenceValue:
    """The first ``count`` of ``items``."""

    def to_list(self):
        """The elements as a new list."""
        return self.items[:self.count]


cdef SequenceValue _prefix_view(list items, Py_ssize_t count):
    cdef SequenceValue sequence = SequenceValue.__new__(SequenceValue)
    sequence.items, sequence.count = items, count
    return sequence


cdef SequenceValue make_sequence(list elements):
    """A sequence of a list's present elements. Numeric tensors are stored in the layout that kernels read."""
    cdef list items = list(elements)
    cdef int k
    for k in range(<int>len(items)):
        element = items[k]
        if isinstance(element, np.ndarray) and not (np.PyArray_ISCARRAY_RO(element) or element.dtype.hasobject):
            items[k] = np.array(element, element.dtype.newbyteorder("="), order="C")
    return _prefix_view(items, len(items))


# -- arguments

cdef inline char *_argument_address(Call *c, int k) noexcept:
    return c.cell[k][0] + c.offset[k]


cdef SequenceValue _sequence_argument(Call *c, int k):
    """The sequence of an argument; None: it is not a sequence."""
    cdef PyObject *owner = <PyObject *>c.cell[k][0]
    return <SequenceValue>owner if owner != NULL and type(<object>owner) is SequenceValue else None


cdef int _store_sequence(Call *c, int k, SequenceValue sequence) except -1:
    cdef PyObject *previous = <PyObject *>c.cell[k][0]
    Py_INCREF(sequence)
    c.cell[k][0] = <char *><void *>sequence
    Py_XDECREF(previous)
    return 0


cdef Py_ssize_t _read_position(Call *c, int k, npy_intp size, Py_ssize_t length, Py_ssize_t last) noexcept:
    """A normalized position up to ``last``; -1: out of range. ``size``: its bytes."""
    cdef int64_t position = (<int64_t *>_argument_address(c, k))[0] if size == 8 else (<int32_t *>_argument_address(c, k))[0]
    if position < -length or position > last:
        return -1
    return position + length if position < 0 else position


cdef bint _matches_tensor(object element, const npy_intp *tensor_type):
    """Does an element have a type, a rank and extents?"""
    cdef int k
    if not np.PyArray_CheckExact(element) or np.PyArray_TYPE(element) != tensor_type[0] or \
            np.PyArray_NDIM(element) != tensor_type[1]:
        return False
    for k in range(<int>tensor_type[1]):
        if np.PyArray_DIM(element, k) != tensor_type[2 + k]:
            return False
    return np.PyArray_ISCARRAY_RO(element)


cdef object _empty_tensor(const npy_intp *tensor_type):
    return np.PyArray_EMPTY(<int>tensor_type[1], <npy_intp *>tensor_type + 2, <int>tensor_type[0], 0)


# -- routines: 0, or 1 where the node has to run in Python, which reports what is wrong

cdef int _insert(Call *c) except -1:
    """Sequence, tensor, position if there is one -> sequence. extra: bytes of the position (0: none), the tensor."""
    cdef SequenceValue sequence = _sequence_argument(c, 0)
    cdef npy_intp *tensor_type = c.extra + 1
    cdef Py_ssize_t position
    if sequence is None:
        return 1
    position = sequence.count
    if c.extra[0]:
        position = _read_position(c, 2, c.extra[0], sequence.count, sequence.count)
    if position < 0:
        return 1
    if sequence.count:
        first = sequence.items[0]
        if not np.PyArray_CheckExact(first) or np.PyArray_TYPE(first) != tensor_type[0]:
            return 1
    element = _empty_tensor(tensor_type)
    memcpy(np.PyArray_BYTES(element), _argument_address(c, 1), np.PyArray_NBYTES(element))
    items = sequence.items
    # Not an append, or another sequence was appended here: copy on write.
    if position < sequence.count or len(items) > sequence.count:
        items = items[:sequence.count]
    items.insert(position, element)
    _store_sequence(c, c.nargs - 1, _prefix_view(items, sequence.count + 1))
    return 0


cdef int _erase(Call *c) except -1:
    """Sequence, position if there is one -> sequence. extra: bytes of the position (0: none)."""
    cdef SequenceValue sequence = _sequence_argument(c, 0)
    cdef Py_ssize_t position
    if sequence is None or not sequence.count:
        return 1
    position = sequence.count - 1
    if c.extra[0]:
        position = _read_position(c, 1, c.extra[0], sequence.count, position)
    if position < 0:
        return 1
    items = sequence.items
    if position < sequence.count - 1:
        items = items[:sequence.count]
        del items[position]
    _store_sequence(c, c.nargs - 1, _prefix_view(items, sequence.count - 1))
    return 0


cdef int _element(Call *c) except -1:
    """Sequence, position -> tensor. extra: bytes of the position, the tensor."""
    cdef SequenceValue sequence = _sequence_argument(c, 0)
    cdef Py_ssize_t position
    if sequence is None:
        return 1
    position = _read_position(c, 1, c.extra[0], sequence.count, sequence.count - 1)
    if position < 0:
        return 1
    element = sequence.items[position]
    if not _matches_tensor(element, c.extra + 1):
        return 1
    memcpy(_argument_address(c, 2), np.PyArray_BYTES(element), np.PyArray_NBYTES(element))
    return 0


cdef int _length(Call *c) except -1:
    """Sequence -> int64."""
    cdef SequenceValue sequence = _sequence_argument(c, 0)
    if sequence is None:
        return 1
    (<int64_t *>_argument_address(c, 1))[0] = sequence.count
    return 0


cdef int _same(Call *c) except -1:
    """Sequence -> sequence."""
    cdef SequenceValue sequence = _sequence_argument(c, 0)
    if sequence is None:
        return 1
    return _store_sequence(c, 1, sequence)


cdef int _empty(Call *c) except -1:
    """-> sequence."""
    return _store_sequence(c, 0, _prefix_view([], 0))


cdef int _concat(Call *c) except -1:
    """Sequence -> its elements, of one shape, concatenated. extra: number of elements, extent before the axis, bytes of
    an element behind it, the tensor type of each."""
    cdef SequenceValue sequence = _sequence_argument(c, 0)
    cdef npy_intp outer = c.extra[1], block = c.extra[2], k, _
    cdef char *out
    cdef const char *x
    if sequence is None or sequence.count != c.extra[0]:
        return 1
    for k in range(sequence.count):
        if not _matches_tensor(<object>PyList_GET_ITEM(sequence.items, k), c.extra + 3):
            return 1
    for k in range(sequence.count):
        x = np.PyArray_BYTES(<object>PyList_GET_ITEM(sequence.items, k))
        out = _argument_address(c, 1) + k * block
        for _ in range(outer):
            loopdbg_memcpy(out, x, block)
            x += block
            out += sequence.count * block
    return 0


cdef int _split(Call *c) except -1:
    """Tensor, sizes (int64) -> sequence. extra: number of parts, extent before the axis, bytes of one index behind it,
    which of the extents is the size (-1: none, each part is one index without the axis), the tensor type of a part."""
    cdef npy_intp outer = c.extra[1], index_bytes = c.extra[2], o, k, block, start = 0, total = 0
    cdef npy_intp tensor_type[MAX_EXTRA]
    cdef const int64_t *sizes = <const int64_t *>_argument_address(c, 1)
    cdef list items = []
    cdef char *out
    for k in range(c.extra[0]):
        total += sizes[k]
    memcpy(tensor_type, c.extra + 4, (2 + c.extra[5]) * sizeof(npy_intp))
    for k in range(c.extra[0]):
        if c.extra[3] >= 0:
            tensor_type[2 + c.extra[3]] = sizes[k]
        element = _empty_tensor(tensor_type)
        out, block = np.PyArray_BYTES(element), sizes[k] * index_bytes
        for o in range(outer):
            loopdbg_memcpy(out + o * block, _argument_address(c, 0) + (o * total + start) * index_bytes, block)
        items.append(element)
        start += sizes[k]
    return _store_sequence(c, 2, _prefix_view(items, len(items)))


cdef int _with_gil(int (*routine)(Call *) except -1, Call *c) noexcept nogil:
    with gil:
        try:
            return routine(c)
        except Exception:
            return 1


cdef int insert(Call *c) noexcept nogil:
    return _with_gil(_insert, c)


cdef int erase(Call *c) noexcept nogil:
    return _with_gil(_erase, c)


cdef int element(Call *c) noexcept nogil:
    return _with_gil(_element, c)


cdef int length(Call *c) noexcept nogil:
    return _with_gil(_length, c)


cdef int same(Call *c) noexcept nogil:
    return _with_gil(_same, c)


cdef int empty(Call *c) noexcept nogil:
    return _with_gil(_empty, c)


cdef int joined(Call *c) noexcept nogil:
    return _with_gil(_concat, c)


cdef int split(Call *c) noexcept nogil:
    return _with_gil(_split, c)


ROUTINES = {
    "insert": <size_t><run_call>insert,
    "erase": <size_t><run_call>erase,
    "element": <size_t><run_call>element,
    "length": <size_t><run_call>length,
    "same": <size_t><run_call>same,
    "empty": <size_t><run_call>empty,
    "joined": <size_t><run_call>joined,
    "split": <size_t><run_call>split,
}
