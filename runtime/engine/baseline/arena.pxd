"""Hierarchical allocator: freeing a block frees its children. All memory of the engine comes from it."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

# Header of a block. Four pointers keep the memory behind it aligned as malloc aligns.
cdef struct ArenaBlock:
    ArenaBlock *first          # its first child
    ArenaBlock *next           # its next sibling
    ArenaBlock **link          # the pointer to this block; NULL: it has no owner
    PyObject *held_object        # owned reference, or NULL


cdef inline void *arena_alloc(void *owner, Py_ssize_t count, size_t size) except NULL:
    """Zeroed memory for ``count`` + 1 items, as a child of ``owner`` (NULL: of none)."""
    cdef ArenaBlock *block = <ArenaBlock *>calloc(1, sizeof(ArenaBlock) + (count + 1) * size)
    cdef ArenaBlock *parent = NULL if owner == NULL else <ArenaBlock *>owner - 1
    if block == NULL:
        raise MemoryError
    if parent != NULL:
        block.link, block.next = &parent.first, parent.first
        if block.next != NULL:
            block.next.link = &block.next
        parent.first = block
    return block + 1


cdef inline void arena_free_tree(void *memory) noexcept:
    """Free a block (NULL: no-op) and its children."""
    cdef ArenaBlock *block
    if memory == NULL:
        return
    block = <ArenaBlock *>memory - 1
    while block.first != NULL:
        arena_free_tree(block.first + 1)
    if block.link != NULL:
        block.link[0] = block.next
        if block.next != NULL:
            block.next.link = block.link
    Py_XDECREF(block.held_object)
    free(block)


cdef inline void *arena_grow(void *owner, void *memory, Py_ssize_t used, Py_ssize_t count, size_t size) except NULL:
    """Replace a block without children by a larger one that begins with its first ``used`` items."""
    cdef void *block = arena_alloc(owner, count, size)
    if used:
        memcpy(block, memory, used * size)
    arena_free_tree(memory)
    return block


cdef inline int arena_hold_object(void *owner, object held_object) except -1:
    """Keep a Python object alive as long as a block."""
    cdef ArenaBlock *block = <ArenaBlock *>arena_alloc(owner, 0, 1) - 1
    Py_INCREF(held_object)
    block.held_object = <PyObject *>held_object
    return 0


cdef inline int *arena_alloc_ints(void *owner, list numbers) except NULL:
    """Copy numbers into a new block."""
    cdef int *array = <int *>arena_alloc(owner, len(numbers), sizeof(int))
    cdef int k
    for k, number in enumerate(numbers):
        array[k] = number
    return array
