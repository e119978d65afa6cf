"""Pieces of memory that belong to each other: with one that is released goes all that belongs to it.

The one place where the engine's memory is taken and given back.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

# Stands before the memory. Four pointers: what follows is aligned as malloc aligns.
cdef struct Piece:
    Piece *first          # of those that belong to it
    Piece *next           # of those that belong to the same owner
    Piece **link          # what points to it, NULL: it belongs to none
    PyObject *held        # owned reference, or NULL


cdef inline void *take(void *owner, Py_ssize_t count, size_t size) except NULL:
    """Zeroed memory for so many things, and one more. It belongs to a piece, or with NULL to none."""
    cdef Piece *piece = <Piece *>calloc(1, sizeof(Piece) + (count + 1) * size)
    cdef Piece *other = NULL if owner == NULL else <Piece *>owner - 1
    if piece == NULL:
        raise MemoryError
    if other != NULL:
        piece.link, piece.next = &other.first, other.first
        if piece.next != NULL:
            piece.next.link = &piece.next
        other.first = piece
    return piece + 1


cdef inline void release(void *memory) noexcept:
    """Give a piece back (NULL: nothing), and what belongs to it."""
    cdef Piece *piece
    if memory == NULL:
        return
    piece = <Piece *>memory - 1
    while piece.first != NULL:
        release(piece.first + 1)
    if piece.link != NULL:
        piece.link[0] = piece.next
        if piece.next != NULL:
            piece.next.link = piece.link
    Py_XDECREF(piece.held)
    free(piece)


cdef inline void *retake(void *owner, void *memory, Py_ssize_t have, Py_ssize_t count, size_t size) except NULL:
    """Memory for more things than ``have``, which it begins with, in place of a piece to which nothing belongs."""
    cdef void *more = take(owner, count, size)
    if have:
        memcpy(more, memory, have * size)
    release(memory)
    return more


cdef inline int hold(void *owner, object held) except -1:
    """Let a Python object live as long as a piece."""
    cdef Piece *piece = <Piece *>take(owner, 0, 1) - 1
    Py_INCREF(held)
    piece.held = <PyObject *>held
    return 0


cdef inline int *take_numbers(void *owner, list numbers) except NULL:
    """Memory that holds these numbers, and belongs to a piece."""
    cdef int *array = <int *>take(owner, len(numbers), sizeof(int))
    cdef int k
    for k, number in enumerate(numbers):
        array[k] = number
    return array
