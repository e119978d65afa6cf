"""Pieces of memory that belong to each other: with one that is released goes all that belongs to it.

The one place where the engine's memory is taken and given back.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

# Stands before the memory. Four pointers: what follows is aligned as malloc aligns.
cdef struct ArenaBlock:
    ArenaBlock *first          # of those that belong to it
    ArenaBlock *next           # of those that belong to the same owner
    ArenaBlock **link          # what points to it, NULL: it belongs to none
    PyObject *held_object        # owned reference, or NULL


cdef inline void *arena_alloc(void *owner, Py_ssize_t count, size_t size) except NULL:
    """Zeroed memory for so many things, and one more. It belongs to a piece, or with NULL to none."""
    cdef ArenaBlock *piece = <ArenaBlock *>calloc(1, sizeof(ArenaBlock) + (count + 1) * size)
    cdef ArenaBlock *other = NULL if owner == NULL else <ArenaBlock *>owner - 1
    if piece == NULL:
        raise MemoryError
    if other != NULL:
        piece.link, piece.next = &other.first, other.first
        if piece.next != NULL:
            piece.next.link = &piece.next
        other.first = piece
    return piece + 1


cdef inline void arena_free_tree(void *memory) noexcept:
    """Give a piece back (NULL: nothing), and what belongs to it."""
    cdef ArenaBlock *piece
    if memory == NULL:
        return
    piece = <ArenaBlock *>memory - 1
    while piece.first != NULL:
        arena_free_tree(piece.first + 1)
    if piece.link != NULL:
        piece.link[0] = piece.next
        if piece.next != NULL:
            piece.next.link = piece.link
    Py_XDECREF(piece.held_object)
    free(piece)


cdef inline void *arena_grow(void *owner, void *memory, Py_ssize_t have, Py_ssize_t count, size_t size) except NULL:
    """Memory for more things than ``have``, which it begins with, in place of a piece to which nothing belongs."""
    cdef void *more = arena_alloc(owner, count, size)
    if have:
        memcpy(more, memory, have * size)
    arena_free_tree(memory)
    return more


cdef inline int arena_hold_object(void *owner, object held_object) except -1:
    """Let a Python object live as long as a piece."""
    cdef ArenaBlock *piece = <ArenaBlock *>arena_alloc(owner, 0, 1) - 1
    Py_INCREF(held_object)
    piece.held_object = <PyObject *>held_object
    return 0


cdef inline int *arena_alloc_ints(void *owner, list numbers) except NULL:
    """Memory that holds these numbers, and belongs to a piece."""
    cdef int *array = <int *>arena_alloc(owner, len(numbers), sizeof(int))
    cdef int k
    for k, number in enumerate(numbers):
        array[k] = number
    return array
