"""How much memory a run may still ask for.

Linux grants memory that it does not have, and kills the process that uses it: a value that grows in a loop would end the
session and all that it holds. So what is large is compared with what is available before it is asked for, and a refusal
is a MemoryError like any other.
"""

from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset, strcpy
cimport numpy as np

import os
import resource

import numpy as _numpy

from ..text import size_text

np.import_array()

cdef extern from "kernels/available.h" nogil:
    char *available_root
    const size_t AVAILABLE_PATH
    int64_t available_memory()
    int64_t available_private()
    void available_limit(int64_t all, uint64_t most)
    double available_seconds()

cdef extern from "numpy/arrayobject.h":
    ctypedef struct Allocator "PyDataMemAllocator":
        void *ctx
        void *(*malloc)(void *ctx, size_t size) noexcept nogil
        void *(*calloc)(void *ctx, size_t count, size_t size) noexcept nogil
        void *(*realloc)(void *ctx, void *memory, size_t size) noexcept nogil
        void (*free)(void *ctx, void *memory, size_t size) noexcept nogil
    ctypedef struct Handler "PyDataMem_Handler":
        char name[127]
        unsigned char version
        Allocator allocator
    PyObject *numpys_own "PyDataMem_DefaultHandler"
    object get_handler "PyDataMem_GetHandler"()
    object set_handler "PyDataMem_SetHandler"(object handler)

# So much may be asked for between two looks at what is available: a look takes 0.1 ms, to write so much 20 ms or more.
cdef int64_t MOST = 1 << 27
# So much stays for everybody else, and at most 1 / 16 of what there is.
cdef int64_t SPARE = 1 << 28
cdef int64_t _all_memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

# Where the whole process is limited, so much of what is available is not for arrays but for all else, and the system lets
# it have all of it but a margin for page tables and the like.
cdef int64_t RESERVE = 1 << 24
cdef int64_t MARGIN = 1 << 22
# After so many seconds the limit is set again.
cdef double LIMIT_SECONDS = 0.05

# Whether the whole process is limited, by how much at most, and when that was last set.
cdef bint _limited = False
cdef uint64_t _most_data = 0
cdef double _limited_at = 0

# What may be asked for without another look, and what there was when something was refused (-1: nothing was).
cdef int64_t _allowance = MOST // 8
cdef int64_t _there_was = -1


cdef bint may_have(size_t nbytes) noexcept nogil:
    """May so much be asked for?"""
    global _allowance
    if _allowance > 0 and nbytes <= <size_t>_allowance:
        _allowance -= <int64_t>nbytes
        return 1
    return is_there(<int64_t>nbytes)


cdef bint is_there(int64_t nbytes) noexcept nogil:
    global _allowance, _there_was
    # Read first: what another thread gets meanwhile then counts as taken, not as there to be had.
    cdef int64_t private = available_private() if _limited else -1
    cdef int64_t there = available_memory()
    if there < 0:
        there = _all_memory
    cdef int64_t spare = min(SPARE, there // 16)
    if _limited:
        set_limit(private, there)
        spare = max(spare, RESERVE)
    there = max(there - spare, 0)
    cdef int64_t left = there - nbytes
    if nbytes < 0 or left < 0:
        _allowance, _there_was = 0, there
        return 0
    # Near the end a look is due more often: others ask for memory too.
    _allowance = min(MOST, left // 4)
    return 1


cdef void set_limit(int64_t private, int64_t there) noexcept nogil:
    global _limited_at
    if private >= 0:
        available_limit(private + max(there - MARGIN, 0), _most_data)
    _limited_at = available_seconds()


def limit_process():
    """Let this whole process have no more memory than is available, from now on: what it asks for beyond that is refused
    with an error (MemoryError of Python), where Linux would kill it later. Called again, it looks again. For programs of
    our own, which nobody else shares; where the system does not say what is available nothing changes."""
    global _limited, _most_data
    if not _limited:
        # NumPy's BLAS ends the process where it gets no memory for its buffers: it asks for them at its first product.
        square = _numpy.ones((128, 128))
        square @ square
    cdef int64_t private = available_private()
    there = available_memory()
    if there < 0:
        return
    if not _limited:
        soft = resource.getrlimit(resource.RLIMIT_DATA)[0]
        _limited, _most_data = True, <uint64_t>-1 if soft == resource.RLIM_INFINITY else soft
    set_limit(private, there)


cdef Handler _watched
cdef Allocator *_own = &(<Handler *>PyCapsule_GetPointer(<object>numpys_own, "mem_handler")).allocator


cdef void *_malloc(void *ctx, size_t size) noexcept nogil:
    return _own.malloc(_own.ctx, size) if may_have(size) else NULL


cdef void *_calloc(void *ctx, size_t count, size_t size) noexcept nogil:
    return _own.calloc(_own.ctx, count, size) if may_have(count * size) else NULL


cdef void *_realloc(void *ctx, void *memory, size_t size) noexcept nogil:
    return _own.realloc(_own.ctx, memory, size) if may_have(size) else NULL


cdef void _free(void *ctx, void *memory, size_t size) noexcept nogil:
    _own.free(_own.ctx, memory, size)


memset(&_watched, 0, sizeof(Handler))
strcpy(_watched.name, "loopdbg")
_watched.version = 1
_watched.allocator = Allocator(NULL, _malloc, _calloc, _realloc, _free)
_handler = PyCapsule_New(&_watched, "mem_handler", NULL)


def watch_allocations():
    """In the context that calls this (``contextvars``), memory of NumPy's arrays is asked for only where it is
    available, until ``leave_allocations`` gets what this returns. Where somebody has set an allocator, that one stays."""
    if _limited and available_seconds() - _limited_at > LIMIT_SECONDS:
        private = available_private()
        set_limit(private, max(available_memory(), 0))
    if get_handler() is <object>numpys_own:
        return set_handler(_handler)
    return None


def leave_allocations(before):
    """Leave them to the allocator that was there, if ``watch_allocations`` has put another one in its place."""
    if before is not None:
        set_handler(before)


def available():
    """The bytes that this process can still have; None: the system does not say."""
    there = available_memory()
    return there if there >= 0 else None


def refused():
    """What there was when something was refused since this was asked last, in words for the end of a message."""
    global _there_was
    there, _there_was = _there_was, -1
    return f"; only {size_text(there)} are available" if there >= 0 else ""


def figures_of(str root):
    """Read what is available below another root than ``/`` from now on (tests)."""
    global _allowance
    name = os.fsencode(root)
    if len(name) >= AVAILABLE_PATH:
        raise ValueError(f"the name of {root} is too long")
    strcpy(available_root, name)
    _allowance = 0
