"""Check of available memory before large allocations.

Linux grants memory that it does not have, and kills the process that uses it: a value that grows in a loop would end
the session. Large requests are therefore compared with the available memory first, and refused with a MemoryError.
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

# Maximum total of requests between two checks: a check takes 0.1 ms, writing as much 20 ms or more.
cdef int64_t MAX_UNCHECKED_BYTES = 1 << 27
# Reserve for other processes, but at most 1 / 16 of the available memory.
cdef int64_t SPARE_BYTES = 1 << 28
cdef int64_t _all_memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

# In a limited process, part of the available memory is reserved for data other than arrays, and the system limit leaves
# a margin for page tables and the like.
cdef int64_t NON_ARRAY_RESERVE_BYTES = 1 << 24
cdef int64_t LIMIT_MARGIN_BYTES = 1 << 22
# Interval between updates of the limit.
cdef double LIMIT_REFRESH_SECONDS = 0.05

# Whether the whole process is limited, its initial limit, and the time of the last update.
cdef bint _limited = False
cdef uint64_t _data_limit = 0
cdef double _limit_set_seconds = 0

# Amount that may be requested without a check, and the available memory at the last refusal (-1: none).
cdef int64_t _unchecked_bytes = MAX_UNCHECKED_BYTES // 8
cdef int64_t _refused_available = -1


cdef bint reserve_bytes(size_t nbytes) noexcept nogil:
    """May ``nbytes`` be requested?"""
    global _unchecked_bytes
    if _unchecked_bytes > 0 and nbytes <= <size_t>_unchecked_bytes:
        _unchecked_bytes -= <int64_t>nbytes
        return 1
    return check_available(<int64_t>nbytes)


cdef bint check_available(int64_t nbytes) noexcept nogil:
    global _unchecked_bytes, _refused_available
    # Read this first: concurrent allocations then count as used, not as available.
    cdef int64_t private = memory_guard_private() if _limited else -1
    cdef int64_t available = memory_guard_available()
    if available < 0:
        available = _all_memory
    cdef int64_t spare = min(SPARE_BYTES, available // 16)
    if _limited:
        set_limit(private, available)
        spare = max(spare, NON_ARRAY_RESERVE_BYTES)
    available = max(available - spare, 0)
    cdef int64_t remaining = available - nbytes
    if nbytes < 0 or remaining < 0:
        _unchecked_bytes, _refused_available = 0, available
        return 0
    # Check more often near the end: other processes allocate too.
    _unchecked_bytes = min(MAX_UNCHECKED_BYTES, remaining // 4)
    return 1


cdef void set_limit(int64_t private, int64_t available) noexcept nogil:
    global _limit_set_seconds
    if private >= 0:
        memory_guard_set_rlimit(private + max(available - LIMIT_MARGIN_BYTES, 0), _data_limit)
    _limit_set_seconds = memory_guard_monotonic_seconds()


def limit_process_memory():
    """Limit the memory of this process to what is available from now on: larger requests fail (MemoryError in Python)
    instead of being killed by Linux later. Call it again to update the limit. For processes that run only our code;
    without effect where the system does not report available memory."""
    global _limited, _data_limit
    if not _limited:
        # NumPy's BLAS aborts if it cannot allocate its buffers: it does so at its first product.
        square = _numpy.ones((128, 128))
        square @ square
    cdef int64_t private = memory_guard_private()
    available = memory_guard_available()
    if available < 0:
        return
    if not _limited:
        soft = resource.getrlimit(resource.RLIMIT_DATA)[0]
        _limited, _data_limit = True, <uint64_t>-1 if soft == resource.RLIM_INFINITY else soft
    set_limit(private, available)


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
    """Guard NumPy's array allocations in the current context (``contextvars``), until ``restore_allocator`` gets
    the result of this call. An allocator set by other code is kept."""
    if _limited and memory_guard_monotonic_seconds() - _limit_set_seconds > LIMIT_REFRESH_SECONDS:
        private = memory_guard_private()
        set_limit(private, max(memory_guard_available(), 0))
    if get_handler() is <object>numpy_default_handler:
        return set_handler(_handler)
    return None


def restore_allocator(previous):
    """Undo ``install_guarded_allocator``; None: nothing to undo."""
    if previous is not None:
        set_handler(previous)


def available_bytes():
    """The bytes that this process can still allocate; None: the system does not report them."""
    available = memory_guard_available()
    return available if available >= 0 else None


def refusal_text():
    """The end of a message about a refusal since the last call: the memory that was available."""
    global _refused_available
    available, _refused_available = _refused_available, -1
    return f"; only {size_text(available)} are available" if available >= 0 else ""


def set_memory_figures_root(str root):
    """Read memory figures below another root than ``/`` from now on (for tests)."""
    global _unchecked_bytes
    name = os.fsencode(root)
    if len(name) >= MEMORY_GUARD_PATH_MAX:
        raise ValueError(f"the name of {root} is too long")
    strcpy(memory_guard_root, name)
    _unchecked_bytes = 0
