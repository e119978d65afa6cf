"""Sequences, and the routines that make and read them.

A sequence never changes once it is made, and what appends to it shares its elements: a list that all of one line have,
and how many of that are one's own. The elements are arrays that nobody writes to.

Unlike other routines these hold the GIL: elements are Python objects. The argument of a sequence is where a slot has
its object, and not memory; a result that is one is put there.
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
        """The elements as a list of its own."""
        return self.items[:self.count]


cdef SequenceValue _prefix_view(list items, Py_ssize_t count):
    cdef SequenceValue made = SequenceValue.__new__(SequenceValue)
    made.items, made.count = items, count
    return made


cdef SequenceValue make_sequence(list elements):
    """A sequence of what a list holds now. Tensors of numbers are kept as kernels read them."""
    cdef list items = list(elements)
    cdef int k
    for k in range(<int>len(items)):
        element = items[k]
        if isinstance(element, np.ndarray) and not (np.PyArray_ISCARRAY_RO(element) or element.dtype.hasobject):
            items[k] = np.array(element, element.dtype.newbyteorder("="), order="C")
    return _prefix_view(items, len(items))


# -- arguments

cdef inline char *_at(Call *c, int k) noexcept:
    return c.cell[k][0] + c.offset[k]


cdef SequenceValue _sequence_argument(Call *c, int k):
    """The sequence that an argument is; None: it is none."""
    cdef PyObject *held = <PyObject *>c.cell[k][0]
    return <SequenceValue>held if held != NULL and type(<object>held) is SequenceValue else None


cdef int _store_sequence(Call *c, int k, SequenceValue made) except -1:
    cdef PyObject *before = <PyObject *>c.cell[k][0]
    Py_INCREF(made)
    c.cell[k][0] = <char *><void *>made
    Py_XDECREF(before)
    return 0


cdef Py_ssize_t _position(Call *c, int k, npy_intp size, Py_ssize_t length, Py_ssize_t last) noexcept:
    """A position from the front, up to ``last``; -1: it is outside. ``size``: its bytes."""
    cdef int64_t at = (<int64_t *>_at(c, k))[0] if size == 8 else (<int32_t *>_at(c, k))[0]
    if at < -length or at > last:
        return -1
    return at + length if at < 0 else at


cdef bint _matches_tensor(object element, const npy_intp *like):
    """Is an element a tensor of a type, a rank and extents?"""
    cdef int k
    if not np.PyArray_CheckExact(element) or np.PyArray_TYPE(element) != like[0] or np.PyArray_NDIM(element) != like[1]:
        return False
    for k in range(<int>like[1]):
        if np.PyArray_DIM(element, k) != like[2 + k]:
            return False
    return np.PyArray_ISCARRAY_RO(element)


cdef object _tensor(const npy_intp *like):
    return np.PyArray_EMPTY(<int>like[1], <npy_intp *>like + 2, <int>like[0], 0)


# -- routines: 0, or 1 where the node has to run in Python, which says what is wrong

cdef int _insert(Call *c) except -1:
    """Sequence, tensor, position if there is one -> sequence. extra: bytes of the position (0: none), the tensor."""
    cdef SequenceValue given = _sequence_argument(c, 0)
    cdef npy_intp *like = c.extra + 1
    cdef Py_ssize_t at
    if given is None:
        return 1
    at = given.count
    if c.extra[0]:
        at = _position(c, 2, c.extra[0], given.count, given.count)
    if at < 0:
        return 1
    if given.count:
        first = given.items[0]
        if not np.PyArray_CheckExact(first) or np.PyArray_TYPE(first) != like[0]:
            return 1
    element = _tensor(like)
    memcpy(np.PyArray_BYTES(element), _at(c, 1), np.PyArray_NBYTES(element))
    items = given.items
    # Somebody else went on from here, or it is no append: a line of its own.
    if at < given.count or len(items) > given.count:
        items = items[:given.count]
    items.insert(at, element)
    _store_sequence(c, c.nargs - 1, _prefix_view(items, given.count + 1))
    return 0


cdef int _erase(Call *c) except -1:
    """Sequence, position if there is one -> sequence. extra: bytes of the position (0: none)."""
    cdef SequenceValue given = _sequence_argument(c, 0)
    cdef Py_ssize_t at
    if given is None or not given.count:
        return 1
    at = given.count - 1
    if c.extra[0]:
        at = _position(c, 1, c.extra[0], given.count, at)
    if at < 0:
        return 1
    items = given.items
    if at < given.count - 1:
        items = items[:given.count]
        del items[at]
    _store_sequence(c, c.nargs - 1, _prefix_view(items, given.count - 1))
    return 0


cdef int _element(Call *c) except -1:
    """Sequence, position -> tensor. extra: bytes of the position, the tensor."""
    cdef SequenceValue given = _sequence_argument(c, 0)
    cdef Py_ssize_t at
    if given is None:
        return 1
    at = _position(c, 1, c.extra[0], given.count, given.count - 1)
    if at < 0:
        return 1
    element = given.items[at]
    if not _matches_tensor(element, c.extra + 1):
        return 1
    memcpy(_at(c, 2), np.PyArray_BYTES(element), np.PyArray_NBYTES(element))
    return 0


cdef int _length(Call *c) except -1:
    """Sequence -> int64."""
    cdef SequenceValue given = _sequence_argument(c, 0)
    if given is None:
        return 1
    (<int64_t *>_at(c, 1))[0] = given.count
    return 0


cdef int _same(Call *c) except -1:
    """Sequence -> sequence."""
    cdef SequenceValue given = _sequence_argument(c, 0)
    if given is None:
        return 1
    return _store_sequence(c, 1, given)


cdef int _empty(Call *c) except -1:
    """-> sequence."""
    return _store_sequence(c, 0, _prefix_view([], 0))


cdef int _concat(Call *c) except -1:
    """Sequence -> its elements, which are alike, beside one another. extra: how many, before the axis, bytes of an
    element behind it, the tensor that each of them is."""
    cdef SequenceValue given = _sequence_argument(c, 0)
    cdef npy_intp outer = c.extra[1], block = c.extra[2], k, _
    cdef char *out
    cdef const char *x
    if given is None or given.count != c.extra[0]:
        return 1
    for k in range(given.count):
        if not _matches_tensor(<object>PyList_GET_ITEM(given.items, k), c.extra + 3):
            return 1
    for k in range(given.count):
        x = np.PyArray_BYTES(<object>PyList_GET_ITEM(given.items, k))
        out = _at(c, 1) + k * block
        for _ in range(outer):
            loopdbg_memcpy(out, x, block)
            x += block
            out += given.count * block
    return 0


cdef int _split(Call *c) except -1:
    """Tensor, sizes (int64) -> sequence. extra: how many parts, before the axis, bytes of one place behind it, which of
    the extents is the size (-1: none, each part is one place without the axis), a part."""
    cdef npy_intp outer = c.extra[1], place = c.extra[2], o, k, block, before = 0, whole = 0
    cdef npy_intp like[MAX_EXTRA]
    cdef const int64_t *sizes = <const int64_t *>_at(c, 1)
    cdef list items = []
    cdef char *out
    for k in range(c.extra[0]):
        whole += sizes[k]
    memcpy(like, c.extra + 4, (2 + c.extra[5]) * sizeof(npy_intp))
    for k in range(c.extra[0]):
        if c.extra[3] >= 0:
            like[2 + c.extra[3]] = sizes[k]
        element = _tensor(like)
        out, block = np.PyArray_BYTES(element), sizes[k] * place
        for o in range(outer):
            loopdbg_memcpy(out + o * block, _at(c, 0) + (o * whole + before) * place, block)
        items.append(element)
        before += sizes[k]
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
