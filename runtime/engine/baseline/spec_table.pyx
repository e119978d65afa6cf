"""Specs: dtype, shape and memory layout of slot values, as numbers that C can compare.

Elements are in row-major order, contiguous. A value that grows along an axis behind others may have spare capacity
there: it is the beginning of a value with a larger extent in memory. Its spec records that (``capacity``: the axis, and
the extent that there is memory for).

Shapes that differ in the extent of one axis can form a family. It reserves runs of numbers: the spec of the next extent
is found without Python, and thousands of shapes take no memory. Each shape has exactly one number; a number assigned
before the family was created stays.
"""

from bisect import bisect_right

from libc.stdint cimport int64_t

from .arena cimport arena_free_tree, arena_grow, arena_alloc
from .state cimport Family, SpecRun

import math

from ...plan.binding_result import shape_with_capacity

# Numbers are C ints.
cdef int64_t MAX_SPEC = 2**31 - 2**20


cdef class SpecFamily:
    """One dtype and one shape, except for the extent of an axis; ``capacity``: the extent that there is memory for
    along it."""

    def __init__(self, dtype, tuple before, tuple after, capacity):
        self.dtype, self.before, self.after, self.capacity = dtype, before, after, capacity
        self.c.unit = math.prod((*before, *after)) * dtype.itemsize
        if capacity is not None:
            self.c.capacity_nbytes, self.c.unit = self.c.unit * <Py_ssize_t>capacity, 0
        # An empty run, for lookups before the first reservation.
        self.c.segments = <SpecRun *>arena_alloc(NULL, 0, sizeof(SpecRun))

    def __dealloc__(self):
        arena_free_tree(self.c.segments)


cdef class SpecTable:
    """Number -> (dtype, shape); 0 -> None, for any value that is not a tensor of fixed-size elements."""

    def __init__(self):
        self.end = 1
        self.ids, self.shapes, self.kin = {}, {0: None}, {}
        self.has_capacity_specs = False
        self.starts, self.segments = [], []

    def __len__(self):
        return self.end

    @property
    def count(self):
        """Number of shapes and families with an entry of their own."""
        return len(self.ids) + len(self.kin)

    def __getitem__(self, int spec):
        return self.kind(spec)

    cdef object kind(self, int spec):
        """(dtype, shape) of a spec: ``specs[spec]`` for callers in C."""
        entry = self.shapes.get(spec, self)
        if entry is not self:
            return entry
        cdef int k = bisect_right(self.starts, spec) - 1
        if k < 0 or spec >= self.end:
            raise IndexError(spec)
        cdef SpecFamily family
        family, low = self.segments[k]
        return family.dtype, (*family.before, low + spec - self.starts[k], *family.after)

    cdef object capacity(self, int spec):
        """The axis along which a value has spare capacity, and the extent that there is memory for; None: none has."""
        cdef SpecFamily family
        if not self.has_capacity_specs or spec in self.shapes:
            return None
        family = self.segments[bisect_right(self.starts, spec) - 1][0]
        return None if family.capacity is None else (len(family.before), family.capacity)

    cdef Py_ssize_t nbytes(self, int spec) except -1:
        """Bytes of memory of a value, with its capacity."""
        if spec == 0:
            return 0
        dtype, shape = self.kind(spec)
        capacity = self.capacity(spec)
        return math.prod(shape if capacity is None else shape_with_capacity(shape, capacity)) * dtype.itemsize

    cdef int find_or_add(self, object dtype, tuple shape) except -1:
        """The number of a dtype and shape, a new one if there is none."""
        cdef int axis
        cdef SpecFamily family
        key = (dtype, shape)
        spec = self.ids.get(key)
        if spec is not None:
            return spec
        if self.kin:
            for axis in range(len(shape)):
                family = self.kin.get((dtype, shape[:axis], shape[axis + 1:], None))
                if family is not None:
                    spec = spec_of(&family.c, shape[axis])
                    if spec:
                        return spec
        spec = self.end
        self.shapes[spec] = key     # without memory for the next line, the number stays unused
        self.ids[key] = spec
        self.end += 1
        return spec

    cdef Family *family(self, object dtype, tuple shape, int axis, object capacity=None) except NULL:
        """The family of a shape whose axis varies, with numbers reserved for the next extents. ``capacity``: the extent
        that there is memory for along that axis, if more than the value takes."""
        cdef SpecFamily kin
        key = (dtype, shape[:axis], shape[axis + 1:], capacity)
        kin = self.kin.get(key)
        if kin is None:
            kin = SpecFamily(*key)
            self.kin[key] = kin
            self.has_capacity_specs = self.has_capacity_specs or capacity is not None
        self.reserve_extents(kin, shape[axis])
        return &kin.c

    cdef int ensure_extent(self, Family *family, int64_t extent) except -1:
        """Reserve a number for an extent of a family; 0: impossible."""
        cdef SpecFamily kin
        for kin in self.kin.values():
            if &kin.c == family:
                self.reserve_extents(kin, extent)
        return spec_of(family, extent)

    cdef int reserve_extents(self, SpecFamily kin, int64_t extent) except -1:
        """Reserve numbers for extents up to twice this one, if enough are left."""
        cdef Family *f = &kin.c
        cdef SpecRun *last = f.segments + f.nsegments - 1
        cdef int64_t low = last.low + last.count if f.nsegments else 0
        cdef int64_t high = 2 * extent + 64
        if kin.capacity is not None:
            # A value that fills its capacity is laid out as any other.
            high = kin.capacity
        if extent < low or high <= low or high - low > MAX_SPEC - self.end:
            return 0
        for start, stop, spec in self.runs_of_extents(kin, low, high):
            f.segments = <SpecRun *>arena_grow(NULL, f.segments, f.nsegments, f.nsegments + 1, sizeof(SpecRun))
            if not spec:
                self.register_segment(kin, start)
            last = f.segments + f.nsegments
            f.nsegments += 1
            last.low, last.count = start, stop - start
            if spec:
                last.first = spec
                continue
            last.first = self.end
            self.end += stop - start

    def register_segment(self, SpecFamily kin, start):
        """Assign the numbers from ``end`` on to a family; without memory for the entry they stay unused."""
        self.segments.append((kin, start))
        try:
            self.starts.append(self.end)
        except MemoryError:
            self.segments.pop()
            raise

    def runs_of_extents(self, SpecFamily kin, int64_t low, int64_t high):
        """A range of extents as runs (first, end, number); number 0: no spec yet."""
        cdef int axis = len(kin.before)
        cdef int rank = axis + 1 + len(kin.after)
        cdef int other_axis
        cdef SpecFamily other
        existing = {}
        if kin.capacity is not None:
            return [(low, high, 0)]     # specs with capacity belong to one family
        for (dtype, shape), spec in self.ids.items():
            if dtype == kin.dtype and len(shape) == rank and shape[:axis] == kin.before and \
                    shape[axis + 1:] == kin.after and low <= shape[axis] < high:
                existing[shape[axis]] = spec
        for other in self.kin.values():
            other_axis = len(other.before)
            if other.capacity is not None or other.dtype != kin.dtype or other_axis == axis or \
                    other_axis + 1 + len(other.after) != rank:
                continue
            # Two families of one rank share at most one shape.
            mine = (*kin.before, None, *kin.after)
            theirs = (*other.before, None, *other.after)
            if all(a == b or d in (axis, other_axis) for d, (a, b) in enumerate(zip(mine, theirs))) and \
                    low <= theirs[axis] < high:
                spec = spec_of(&other.c, mine[other_axis])
                if spec:
                    existing.setdefault(theirs[axis], spec)
        runs = []
        for extent in sorted(existing):
            if low < extent:
                runs.append((low, extent, 0))
            runs.append((extent, extent + 1, existing[extent]))
            low = extent + 1
        if low < high:
            runs.append((low, high, 0))
        return runs
