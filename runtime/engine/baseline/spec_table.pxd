"""Specs, for the classes that know slots."""

from libc.stdint cimport int64_t

from .state cimport Family, SpecRun

cdef class SpecFamily:
    cdef Family c
    cdef readonly object dtype
    cdef readonly tuple before   # the axes before the one that varies
    cdef readonly tuple after
    cdef readonly object capacity    # extent that there is memory for; None: no extra capacity

cdef class SpecTable:
    cdef int end                 # the next free number
    cdef dict ids                # (dtype, shape) -> number
    cdef dict shapes             # number -> (dtype, shape)
    cdef dict kin                # (dtype, axes before, axes after, capacity) -> SpecFamily
    cdef bint has_capacity_specs              # some specs have capacity
    cdef list starts             # first numbers of the segments of all families, ascending
    cdef list segments           # for each: (SpecFamily, first extent)

    cdef object kind(self, int spec)
    cdef int find_or_add(self, object dtype, tuple shape) except -1
    cdef Family *family(self, object dtype, tuple shape, int axis, object capacity=?) except NULL
    cdef object capacity(self, int spec)
    cdef Py_ssize_t nbytes(self, int spec) except -1
    cdef int reserve_extents(self, SpecFamily kin, int64_t extent) except -1
    cdef int ensure_extent(self, Family *family, int64_t extent) except -1


cdef inline int64_t extent_of(Family *f, int spec) noexcept nogil:
    """The varying extent of a spec; -1: not of this family."""
    cdef int k
    cdef SpecRun *run = f.segments + f.last_hit
    if 0 <= spec - run.first < run.count:
        return run.low + spec - run.first
    for k in range(f.nsegments):
        run = f.segments + k
        if 0 <= spec - run.first < run.count:
            f.last_hit = k
            return run.low + spec - run.first
    return -1


cdef inline int spec_of(Family *f, int64_t extent) noexcept nogil:
    """The spec for an extent; 0: none yet."""
    cdef int k
    cdef SpecRun *run = f.segments + f.last_hit
    if 0 <= extent - run.low < run.count:
        return <int>(run.first + extent - run.low)
    for k in range(f.nsegments):
        run = f.segments + k
        if 0 <= extent - run.low < run.count:
            f.last_hit = k
            return <int>(run.first + extent - run.low)
    return 0
