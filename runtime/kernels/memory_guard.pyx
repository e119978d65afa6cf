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

cdef extern from "kernels/memory_guard.h" nogil:
    char *memory_guard_root
    const size_t MEMORY_GUARD_PATH_MAX
    int64_t memory_guard_available()
    int64_t memory_guard_private()
    void memory_guard_set_rlimit(int64_t all, uint64_t most)
    double memory_guard_monotonic_seconds()

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
    PyObject *numpy_default_handler "PyDataMem_DefaultHandler"
    object get_handler "PyDataMem_GetHandler"()
    object set_handler "PyDataMem_SetHandler"(object handler)

# So much may be asked for between two looks at what is available: a look takes 0.1 ms, to write so much 20 ms or more.
cdef int64_t MAX_UNCHECKED_BYTES = 1 << 27
# So much stays for everybody else, and at most 1 / 16 of what there is.
cdef int64_t SPARE_BYTES = 1 << 28
cdef int64_t _all_memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

# Where the whole process is limited, so much of what is available is not for arrays but for all else, and the system lets
# it have all of it but a margin for page tables and the like.
cdef int64_t NON_ARRAY_RESERVE_BYTES = 1 << 24
cdef int64_t LIMIT_MARGIN_BYTES = 1 << 22
# After so many seconds the limit is set again.
cdef double LIMIT_REFRESH_SECONDS = 0.05

# Whether the whole process is limited, by how much at most, and when that was last set.
cdef bint _limited = False
cdef uint64_t _data_limit = 0
cdef double _limit_set_seconds = 0

# What may be asked for without another look, and what there was when something was refused (-1: nothing was).
cdef int64_t _unchecked_bytes = MAX_UNCHECKED_BYTES // 8
cdef int64_t _refused_available = -1


cdef bint reserve_bytes(size_t nbytes) noexcept nogil:
    """May so much be asked for?"""
    global _unchecked_bytes
    if _unchecked_bytes > 0 and nbytes <= <size_t>_unchecked_bytes:
        _unchecked_bytes -= <int64_t>nbytes
        return 1
    return check_available(<int64_t>nbytes)


cdef bint check_available(int64_t nbytes) noexcept nogil:
    global _unchecked_bytes, _refused_available
    # Read first: what another thread gets meanwhile then counts as taken, not as there to be had.
    cdef int64_t private = memory_guard_private() if _limited else -1
    cdef int64_t there = memory_guard_available()
    if there < 0:
        there = _all_memory
    cdef int64_t spare = min(SPARE_BYTES, there // 16)
    if _limited:
        set_limit(private, there)
        spare = max(spare, NON_ARRAY_RESERVE_BYTES)
    there = max(there - spare, 0)
    cdef int64_t left = there - nbytes
    if nbytes < 0 or left < 0:
        _unchecked_bytes, _refused_available = 0, there
        return 0
    # Near the end a look is due more often: others ask for memory too.
    _unchecked_bytes = min(MAX_UNCHECKED_BYTES, left // 4)
    return 1


cdef void set_limit(int64_t private, int64_t there) noexcept nogil:
    global _limit_set_seconds
    if private >= 0:
        memory_guard_set_rlimit(private + max(there - LIMIT_MARGIN_BYTES, 0), _data_limit)
    _limit_set_seconds = memory_guard_monotonic_seconds()


def limit_process_memory():
    """Let this whole process have no more memory than is available, from now on: what it asks for beyond that is refused
    with an error (MemoryError of Python), where Linux would kill it later. Called again, it looks again. For programs of
    our own, which nobody else shares; where the system does not say what is available nothing changes."""
    global _limited, _data_limit
    if not _limited:
        # NumPy's BLAS ends the process where it gets no memory for its buffers: it asks for them at its first product.
        square = _numpy.ones((128, 128))
        square @ square
    cdef int64_t private = memory_guard_private()
    there = memory_guard_available()
    if there < 0:
        return
    if not _limited:
        soft = resource.getrlimit(resource.RLIMIT_DATA)[0]
        _limited, _data_limit = True, <uint64_t>-1 if soft == resource.RLIM_INFINITY else soft
    set_limit(private, there)


cdef Handler _guarded_handler
cdef Allocator *_numpy_allocator = &(<Handler *>PyCapsule_GetPointer(<object>numpy_default_handler, "mem_handler")).allocator


cdef void *_malloc(void *ctx, size_t size) noexcept nogil:
    return _numpy_allocator.malloc(_numpy_allocator.ctx, size) if reserve_bytes(size) else NULL


cdef void *_calloc(void *ctx, size_t count, size_t size) noexcept nogil:
    return _numpy_allocator.calloc(_numpy_allocator.ctx, count, size) if reserve_bytes(count * size) else NULL


cdef void *_realloc(void *ctx, void *memory, size_t size) noexcept nogil:
    return _numpy_allocator.realloc(_numpy_allocator.ctx, memory, size) if reserve_bytes(size) else NULL


cdef void _free(void *ctx, void *memory, size_t size) noexcept nogil:
    _numpy_allocator.free(_numpy_allocator.ctx, memory, size)


memset(&_guarded_handler, 0, sizeof(Handler))
strcpy(_guarded_handler.name, "loopdbg")
_guarded_handler.version = 1
_guarded_handler.allocator = Allocator(NULL, _malloc, _calloc, _realloc, _free)
_handler = PyCapsule_New(&_guarded_handler, "mem_handler", NULL)


def install_guarded_allocator():
    """In the context that calls this (``contextvars``), memory of NumPy's arrays is asked for only where it is
    available, until ``restore_allocator`` gets what this returns. Where somebody has set an allocator, that one stays."""
    if _limited and memory_guard_monotonic_seconds() - _limit_set_seconds > LIMIT_REFRESH_SECONDS:
        private = memory_guard_private()
        set_limit(private, max(memory_guard_available(), 0))
    if get_handler() is <object>numpy_default_handler:
        return set_handler(_handler)
    return None


def restore_allocator(before):
    """Leave them to the allocator that was there, if ``install_guarded_allocator`` has put another one in its place."""
    if before is not None:
        set_handler(before)


def available_bytes():
    """The bytes that this process can still have; None: the system does not say."""
    there = memory_guard_available()
    return there if there >= 0 else None


def refusal_text():
    """What there was when something was refused since this was asked last, in words for the end of a message."""
    global _refused_available
    there, _refused_available = _refused_available, -1
    return f"; only {size_text(there)} are available" if there >= 0 else ""


def read_figures_below(str root):
    """Read what is available below another root than ``/`` from now on (tests)."""
    global _unchecked_bytes
    name = os.fsencode(root)
    if len(name) >= MEMORY_GUARD_PATH_MAX:
        raise ValueError(f"the name of {root} is too long")
    strcpy(memory_guard_root, name)
    _unchecked_bytes = 0
