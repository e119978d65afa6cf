"""Specs: dtype, shape and where elements lie, of what slots have, as numbers that C can compare.

Elements lie in row-major order, one after the other. A value that grows along an axis with others before it may have capacity
there: its memory is that of a value with a larger extent, of which it is the beginning. Its spec says so (``capacity``: the
axis, and the extent that there is memory for).

Shapes that differ in the extent of one axis can form a family. It reserves runs of numbers, so that the spec of the next
extent is found without Python, and thousands of shapes take no memory. Each shape has one number, whoever asks: what had
one before its family came keeps it.
"""

from bisect import bisect_right

from libc.stdint cimport int64_t

from .arena cimport arena_free_tree, arena_grow, arena_alloc
from .state cimport Family, SpecRun

import math

from ...plan.kernel_binding import shape_with_capacity

# Numbers are C ints.
cdef int64_t MAX_SPEC = 2**31 - 2**20


cdef class SpecFamily:
    """A family: one dtype, and one shape but for the extent of an axis; with ``capacity``, that for which there is memory
    along it."""

    def __init__(self, dtype, tuple before, tuple after, capacity):
        self.dtype, self.before, self.after, self.capacity = dtype, before, after, capacity
        self.c.unit = math.prod((*before, *after)) * dtype.itemsize
        if capacity is not None:
            self.c.whole, self.c.unit = self.c.unit * <Py_ssize_t>capacity, 0
        # One that is empty, for who looks before there is another.
        self.c.segments = <SpecRun *>arena_alloc(NULL, 0, sizeof(SpecRun))

    def __dealloc__(self):
        arena_free_tree(self.c.segments)


cdef class SpecTable:
    """Number -> (dtype, shape); 0 -> None, which stands for everything that is no tensor of fixed-size elements."""

    def __init__(self):
        self.end = 1
        self.ids, self.shapes, self.kin = {}, {0: None}, {}
        self.has_capacity_specs = False
        self.starts, self.segments = [], []

    def __len__(self):
        return self.end

    @property
    def count(self):
        """How many shapes and families are remembered, each in its own entry."""
        return len(self.ids) + len(self.kin)

    def __getitem__(self, int spec):
        return self.kind(spec)

    cdef object kind(self, int spec):
        """(dtype, shape) of a spec, as ``specs[spec]`` gives it, for who has no need of Python to ask."""
        found = self.shapes.get(spec, self)
        if found is not self:
            return found
        cdef int k = bisect_right(self.starts, spec) - 1
        if k < 0 or spec >= self.end:
            raise IndexError(spec)
        cdef SpecFamily kin
        kin, low = self.segments[k]
        return kin.dtype, (*kin.before, low + spec - self.starts[k], *kin.after)

    cdef object capacity(self, int spec):
        """The axis along which a value has capacity for more, and the extent that there is memory for; None: none has."""
        cdef SpecFamily kin
        if not self.has_capacity_specs or spec in self.shapes:
            return None
        kin = self.segments[bisect_right(self.starts, spec) - 1][0]
        return None if kin.capacity is None else (len(kin.before), kin.capacity)

    cdef Py_ssize_t nbytes(self, int spec) except -1:
        """Bytes of memory that a value takes."""
        if spec == 0:
            return 0
        dtype, shape = self.kind(spec)
        capacity = self.capacity(spec)
        return math.prod(shape if capacity is None else shape_with_capacity(shape, capacity)) * dtype.itemsize

    cdef int find(self, object dtype, tuple shape) except -1:
        """The number of a pair, a new one where it has none."""
        cdef int axis
        cdef SpecFamily kin
        key = (dtype, shape)
        found = self.ids.get(key)
        if found is not None:
            return found
        if self.kin:
            for axis in range(len(shape)):
                kin = self.kin.get((dtype, shape[:axis], shape[axis + 1:], None))
                if kin is not None:
                    found = spec_of(&kin.c, shape[axis])
                    if found:
                        return found
        found = self.end
        self.shapes[found] = key     # where there is no memory for it, nobody finds the number
        self.ids[key] = found
        self.end += 1
        return found

    cdef Family *family(self, object dtype, tuple shape, int axis, object capacity=None) except NULL:
        """The family of a shape with an axis that varies, with numbers for what comes next. ``capacity``: the extent that
        there is memory for along that axis, where it is more than the value takes."""
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
        """Make sure that a family has a number for an extent; 0 where it cannot."""
        cdef SpecFamily kin
        for kin in self.kin.values():
            if &kin.c == family:
                self.reserve_extents(kin, extent)
        return spec_of(family, extent)

    cdef int reserve_extents(self, SpecFamily kin, int64_t extent) except -1:
        """Reserve numbers for extents up to twice this one, if there are that many left."""
        cdef Family *f = &kin.c
        cdef SpecRun *last = f.segments + f.nsegments - 1
        cdef int64_t low = last.low + last.count if f.nsegments else 0
        cdef int64_t high = 2 * extent + 64
        if kin.capacity is not None:
            # What fills its capacity lies as any other value.
            high = kin.capacity
        if extent < low or high <= low or high - low > MAX_SPEC - self.end:
            return 0
        for start, stop, spec in self.existing_runs(kin, low, high):
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
        """Whose numbers are those from the end on; where there is no memory to note it, they stay nobody's."""
        self.segments.append((kin, start))
        try:
            self.starts.append(self.end)
        except MemoryError:
            self.segments.pop()
            raise

    def existing_runs(self, SpecFamily kin, int64_t low, int64_t high):
        """A range of extents as runs (first, end, number); number 0 where the shapes have none yet."""
        cdef int axis = len(kin.before)
        cdef int rank = axis + 1 + len(kin.after)
        cdef int other_axis
        cdef SpecFamily other
        have = {}
        if kin.capacity is not None:
            return [(low, high, 0)]     # nobody else has numbers for these
        for (dtype, shape), spec in self.ids.items():
            if dtype == kin.dtype and len(shape) == rank and shape[:axis] == kin.before and \
                    shape[axis + 1:] == kin.after and low <= shape[axis] < high:
                have[shape[axis]] = spec
        for other in self.kin.values():
            other_axis = len(other.before)
            if other.capacity is not None or other.dtype != kin.dtype or other_axis == axis or \
                    other_axis + 1 + len(other.after) != rank:
                continue
            # Two lines through the shapes of a rank meet in one point at most.
            mine = (*kin.before, None, *kin.after)
            theirs = (*other.before, None, *other.after)
            if all(a == b or d in (axis, other_axis) for d, (a, b) in enumerate(zip(mine, theirs))) and \
                    low <= theirs[axis] < high:
                spec = spec_of(&other.c, mine[other_axis])
                if spec:
                    have.setdefault(theirs[axis], spec)
        runs = []
        for extent in sorted(have):
            if low < extent:
                runs.append((low, extent, 0))
            runs.append((extent, extent + 1, have[extent]))
            low = extent + 1
        if low < high:
            runs.append((low, high, 0))
        return runs
