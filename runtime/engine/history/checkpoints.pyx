"""Checkpoints: the complete state of a stopped execution, which can be restored any number of times.

A checkpoint holds a copy of every tensor that the engine writes, and references to immutable values: constants, inputs,
sequences, strings. Tensors equal to those of the previous checkpoint are shared with it. Scan outputs only grow: their
elements are in logs shared by all checkpoints of one entry of a loop; a checkpoint knows how many are its own.
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int64_t
from libc.string cimport memcmp, memcpy
cimport numpy as np

from ..baseline.binder cimport NodeBinder
from ..baseline.optimizer_base cimport OptimizerBase
from .value_history cimport EntrySnapshot, ValueHistories
from ..baseline.clock cimport now
from ..baseline.loops cimport Loops
from ..baseline.memory cimport Memory
from ..baseline.arena cimport arena_alloc, arena_free_tree
from ..baseline.spec_table cimport SpecTable
from ..baseline.state cimport *
from ..baseline.scan_outputs cimport ScanOutputs

import weakref

import numpy as np

from ...errors import UsageError
from ...plan.plan import Opcode
from ...graph.slicing import slice_parts, parts_for_trips
from ..baseline.memory import allocate_buffer

np.import_array()

# Tensors up to this size are stored in one block of bytes.
cdef Py_ssize_t SMALL_TENSOR_MAX_BYTES = 256

# Values of at least this size that a checkpoint does not have are freed before it is restored.
cdef Py_ssize_t RELEASE_FIRST_MIN_BYTES = 1 << 20

# How the value of a slot is stored.
cdef enum StorageKind:
    EMPTY = 0
    REFERENCE = 1     # a Python object, or memory that is never written
    KNOWN = 2         # the result of a folded node
    SMALL = 3         # in the block
    LARGE = 4
    PART = 5          # a part of a sliced input: located by the loop
    STALE = 6         # a part of a sliced input that no longer exists

cdef struct LoopSnapshot:
    int64_t i, trip, parts, first_parts, iterations, entries
    int64_t by_reason[4]
    int64_t by_length[3]
    double seconds, elapsed
    int keep, ended, reported, edited, active

cdef struct EdgeSnapshot:
    int previous_in_back, spec, storage
    Py_ssize_t nbytes

cdef struct SliceSnapshot:
    int direct, outer_spec, part_spec, shown_spec
    Py_ssize_t offset, step
    int64_t parts, part

cdef struct ScanSnapshot:
    int spec
    Py_ssize_t nbytes
    int64_t nsegments
    int64_t count
    int64_t length


@cython.final
cdef class SlotLayout:
    """The slots of a checkpoint, without their values; shared while nothing is rebound."""

    cdef object specs              # the engine's append-only table
    cdef list known
    cdef int *spec
    cdef int *flags
    cdef int *storage
    cdef int *value_index               # REFERENCE, LARGE: index into the checkpoint's ``values``, where slots come first
    cdef int nvalues

    def __cinit__(self, int nslots):
        self.spec = <int *>arena_alloc(NULL, nslots, sizeof(int))
        self.flags = <int *>arena_alloc(self.spec, nslots, sizeof(int))
        self.storage = <int *>arena_alloc(self.spec, nslots, sizeof(int))
        self.value_index = <int *>arena_alloc(self.spec, nslots, sizeof(int))

    def __dealloc__(self):
        arena_free_tree(self.spec)

    cdef bint same(self, SlotLayout other, int nslots):
        cdef Py_ssize_t n = nslots * sizeof(int)
        cdef int k
        if other is None or self.specs is not other.specs or memcmp(self.spec, other.spec, n) or \
                memcmp(self.flags, other.flags, n) or memcmp(self.storage, other.storage, n):
            return False
        for k in range(nslots):
            if self.known[k] is not other.known[k]:
                return False
        return True


@cython.final
cdef class ScanLog:
    """The elements of a scan output in iteration order: those of ``parent`` up to ``start``, then its own.

    Append-only. After going back and diverging, a new log begins.
    """

    cdef ScanLog parent
    cdef int64_t start, count
    cdef Py_ssize_t nbytes       # of a row
    cdef bytearray rows
    cdef list objects            # rows that are not tensors of fixed-size elements

    cdef int add(self, const char *rows, int64_t last) except -1:
        """Append up to row ``last`` of ``rows``."""
        cdef Py_ssize_t used = (self.count - self.start) * self.nbytes, added = (last - self.count) * self.nbytes
        cdef Py_ssize_t capacity = len(self.rows)
        if used + added > capacity:
            PyByteArray_Resize(self.rows, max(used + added, used + used // 2))
        if added:
            memcpy(PyByteArray_AS_STRING(self.rows) + used, rows + self.count * self.nbytes, added)
        self.count = last

    cdef bint rows_equal(self, const char *rows, int64_t first, int64_t last) noexcept:
        """Are its own rows first..last equal to those in ``rows``?"""
        cdef Py_ssize_t n = (last - first) * self.nbytes
        cdef char *own = PyByteArray_AS_STRING(self.rows) + (first - self.start) * self.nbytes
        return n == 0 or memcmp(own, rows + first * self.nbytes, n) == 0

    cdef bint object_rows_equal(self, list rows, int64_t first, int64_t last):
        own = self.objects[first - self.start:last - self.start]
        return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(rows[first:last], own))

    cdef int copy(self, char *target, int64_t first, int64_t last) except -1:
        """Copy rows first..last; ``target`` is the address of row 0."""
        cdef ScanLog log = self
        cdef int64_t begin
        while log is not None and last > first:
            begin = max(first, log.start)
            if last > begin and log.nbytes:
                memcpy(target + begin * log.nbytes, PyByteArray_AS_STRING(log.rows) + (begin - log.start) * log.nbytes,
                       (last - begin) * log.nbytes)
            last = min(last, log.start)
            log = log.parent

    cdef list all_objects(self, int64_t last):
        if self.parent is None:
            return self.objects[:last]
        return self.parent.all_objects(min(self.start, last)) + self.objects[: max(last - self.start, 0)]


cdef ScanLog new_scan_log(ScanLog parent, int64_t start, Py_ssize_t nbytes, bint objects):
    cdef ScanLog log = ScanLog.__new__(ScanLog)
    log.parent, log.nbytes, log.rows = parent, nbytes, bytearray()
    log.start = log.count = start
    log.objects = [] if objects else None
    return log


@cython.final
cdef class Checkpoint:
    """The state of one moment of an execution. Immutable; any engine of the same plan can restore it."""

    cdef object __weakref__
    cdef object plan
    cdef readonly tuple position     # orders all moments of an execution
    cdef readonly Py_ssize_t nbytes  # approximate size of what is not shared
    cdef SlotLayout layout
    cdef list values
    cdef bytes block                 # values of small tensors: slots, then previous values of back edges
    cdef dict constant_overrides               # constants edited by the user
    cdef bint user_edited                # something was edited
    cdef tuple taken                 # of each If: its last branch
    cdef tuple histories             # of each loop, or None
    cdef tuple logs                  # of each scan output of each loop: its log, or None
    cdef LoopSnapshot *loops
    cdef EdgeSnapshot *edges
    cdef SliceSnapshot *slices
    cdef ScanSnapshot *scans
    cdef int *stack
    cdef int depth
    cdef int pc

    def __dealloc__(self):
        arena_free_tree(self.loops)

    def __repr__(self):
        return f"<Checkpoint {self.position}, {self.nbytes} bytes>"


@cython.final
cdef class CheckpointReader:
    """Read position in a checkpoint during its restoration."""

    cdef Checkpoint c
    cdef const char *block
    cdef int next_value, slice, edge, scan


cdef inline void empty(Slot *slot):
    """Clear a slot."""
    Py_XDECREF(slot.owner)
    slot.owner, slot.data, slot.spec, slot.flags, slot.nbytes = NULL, NULL, 0, 0, 0
    slot.capacity = 0


cdef inline bint keeps_part_array(int storage, int active, int direct) noexcept:
    """Does a checkpoint refer to the rearranged parts of a sliced input?"""
    return (active or storage == PART) and not direct


cdef class Checkpoints:
    """Saves and restores checkpoints of an execution."""

    cdef Memory memory
    cdef NodeBinder binder
    cdef Loops loops
    cdef ScanOutputs scans
    cdef OptimizerBase optimizer_base
    cdef ValueHistories histories
    cdef ExecutionState *s
    cdef object plan
    cdef set read_only_slots               # slots with foreign memory, never written: inputs and constants
    cdef readonly set unavailable_slots       # slots without a value, whatever is in their memory
    cdef list branches           # positions of the Ifs
    cdef dict scan_logs          # (loop, k) -> (log, number of rows known to be in it, entry of the loop)
    cdef object latest           # weak reference to the checkpoint that was saved or restored last

    def __init__(self, Memory memory not None, NodeBinder binder not None, Loops loops not None, ScanOutputs scans not None,
                 OptimizerBase optimizer_base not None, ValueHistories histories not None):
        self.memory, self.binder, self.loops, self.scans, self.optimizer_base = memory, binder, loops, scans, optimizer_base
        self.histories = histories
        self.s, self.plan = &memory.s, memory.plan
        plan = memory.plan
        self.read_only_slots = {slot for _, slot in plan.inputs} | {slot for slot, _ in plan.constants}
        self.branches = [pc for pc, instruction in enumerate(plan.code) if instruction.kind == Opcode.BRANCH]
        self.scan_logs = {}
        self.unavailable_slots = set()

    def begin(self):
        """Another execution begins: it shares nothing with earlier checkpoints."""
        self.scan_logs.clear()
        self.latest = None

    # -- saving

    def save(self):
        """The present state as a :class:`Checkpoint`, without stops and limits."""
        cdef Checkpoint c = Checkpoint.__new__(Checkpoint)
        cdef Checkpoint previous = None if self.latest is None else self.latest()
        cdef SlotLayout layout = SlotLayout.__new__(SlotLayout, self.memory.nslots)
        cdef int k
        self.loops.materialize_all()
        self.unavailable_slots = self.optimizer_base.unavailable_slots()
        c.plan, c.position, c.constant_overrides = self.plan, self.loops.position, self.binder.constant_overrides
        c.user_edited = self.s.user_edited
        c.pc, c.depth = self.s.pc, self.s.depth
        self.allocate_snapshots(c)
        for k in range(self.s.depth):
            c.stack[k] = self.s.stack[k]
        c.taken = tuple([self.s.code[<int>pc].taken for pc in self.branches])
        for k in range(self.memory.nloops):
            self.snapshot_loop(c, k)
        # First, since it marks the slots that are parts of sliced inputs.
        self.snapshot_slices(c, layout)
        self.snapshot_slots(layout)
        if previous is not None and layout.same(previous.layout, self.memory.nslots):
            layout = previous.layout
        else:
            c.nbytes += self.memory.nslots * (4 * sizeof(int) + sizeof(void *))
        c.layout = layout
        self.snapshot_edges(c)
        self.snapshot_scans(c)
        self.copy_values(c, previous)
        self.snapshot_histories(c)
        self.latest = weakref.ref(c)
        return c

    cdef int allocate_snapshots(self, Checkpoint c) except -1:
        cdef int nedges = 0, nslices = 0, nscans = 0, k
        for k in range(self.memory.nloops):
            nedges += self.s.loops[k].nedges
            nslices += self.s.loops[k].nslices
            nscans += self.s.loops[k].nscans
        c.loops = <LoopSnapshot *>arena_alloc(NULL, self.memory.nloops, sizeof(LoopSnapshot))
        c.edges = <EdgeSnapshot *>arena_alloc(c.loops, nedges, sizeof(EdgeSnapshot))
        c.slices = <SliceSnapshot *>arena_alloc(c.loops, nslices, sizeof(SliceSnapshot))
        c.scans = <ScanSnapshot *>arena_alloc(c.loops, nscans, sizeof(ScanSnapshot))
        c.stack = <int *>arena_alloc(c.loops, self.s.depth, sizeof(int))
        c.nbytes = 400 + sizeof(LoopSnapshot) * self.memory.nloops + sizeof(EdgeSnapshot) * nedges + \
            sizeof(SliceSnapshot) * nslices + sizeof(ScanSnapshot) * nscans

    cdef void snapshot_loop(self, Checkpoint c, int index) noexcept:
        cdef LoopState *loop = self.s.loops + index
        cdef LoopSnapshot *mark = c.loops + index
        cdef int k
        mark.i, mark.trip, mark.parts = loop.i, loop.trip, loop.parts
        mark.iterations, mark.entries = loop.iterations, loop.entries
        for k in range(4):
            mark.by_reason[k] = loop.by_reason[k]
        for k in range(3):
            mark.by_length[k] = loop.by_length[k]
        mark.seconds = loop.seconds
        mark.elapsed = now() - loop.entered if self.s.depth and self.s.stack[0] == index else 0
        mark.keep, mark.ended, mark.reported, mark.edited = loop.keep, loop.ended, loop.reported, loop.edited
        mark.active, mark.first_parts = loop.active, loop.first_parts

    cdef int snapshot_slices(self, Checkpoint c, SlotLayout layout) except -1:
        """Find the part that the inner slot of each sliced input shows; an edited one is stored like other values."""
        cdef LoopState *loop
        cdef Slice *s
        cdef Slot *slot
        cdef SliceSnapshot *mark = c.slices
        cdef Py_ssize_t from_base
        cdef bint valid
        cdef int index, k
        for index in range(self.memory.nloops):
            loop = self.s.loops + index
            for k in range(loop.nslices):
                s = loop.slices + k
                slot = self.s.slots + s.inner
                mark.direct, mark.outer_spec = s.direct, s.outer_spec
                mark.part_spec, mark.shown_spec = s.part_spec, slot.spec
                mark.offset, mark.step, mark.parts = s.offset, s.step, s.parts
                if slot.owner != NULL and slot.spec != 0 and not slot.flags & OWN and not loop.edited:
                    valid = loop.active or not s.direct or (self.s.slots[s.outer].spec == s.outer_spec and
                                                            self.s.slots[s.outer].data + s.offset == s.base)
                    from_base = <Py_ssize_t>slot.data - <Py_ssize_t>s.base
                    mark.part = from_base // s.step if s.step and valid else 0
                    if not valid:
                        layout.storage[s.inner] = STALE
                    elif mark.part * s.step == from_base and (0 <= mark.part < s.parts or s.parts == 0):
                        layout.storage[s.inner] = PART
                mark += 1

    cdef int snapshot_slots(self, SlotLayout layout) except -1:
        cdef Slot *slot
        cdef int k
        layout.specs, layout.known = self.memory.specs, self.memory.known[:]
        for k in range(self.memory.nslots):
            slot = self.s.slots + k
            # Slots that share a buffer get separate ones at restoration.
            layout.spec[k], layout.flags[k], layout.value_index[k] = slot.spec, slot.flags & ~SHARED, -1
            if k in self.unavailable_slots:
                layout.spec[k] = layout.flags[k] = 0
                continue
            if slot.owner == NULL or layout.storage[k]:
                continue
            if slot.spec == 0:
                layout.storage[k] = REFERENCE
            elif slot.flags & FOLDED and self.memory.known[k] is not None and (slot.flags & OWN or k not in self.read_only_slots):
                layout.storage[k] = KNOWN
            elif not slot.flags & OWN and k in self.read_only_slots and np.PyArray_BYTES(<object>slot.owner) == slot.data:
                layout.storage[k] = REFERENCE
            else:
                layout.storage[k] = SMALL if slot.nbytes <= SMALL_TENSOR_MAX_BYTES else LARGE
            if layout.storage[k] == REFERENCE or layout.storage[k] == LARGE:
                layout.value_index[k] = layout.nvalues
                layout.nvalues += 1

    cdef int snapshot_edges(self, Checkpoint c) except -1:
        cdef EdgeSnapshot *mark = c.edges
        cdef BackEdgeState *e
        cdef int index, k
        for index in range(self.memory.nloops):
            for k in range(self.s.loops[index].nedges):
                e = self.s.loops[index].edges + k
                mark.previous_in_back, mark.spec, mark.storage = e.previous_in_back, e.back.spec, EMPTY
                if e.previous_in_back and not e.identity and e.back.owner != NULL:
                    mark.storage = SMALL if e.back.spec else REFERENCE
                    mark.nbytes = e.back.nbytes
                mark += 1

    cdef int snapshot_scans(self, Checkpoint c) except -1:
        cdef ScanSnapshot *mark = c.scans
        cdef Scan *scan
        cdef int index, k
        logs = []
        for index in range(self.memory.nloops):
            for k in range(self.s.loops[index].nscans):
                scan = self.s.loops[index].scans + k
                mark.count, mark.spec, mark.nsegments, mark.nbytes = scan.count, scan.spec, scan.nsegments, scan.nbytes
                mark.length = scan.length
                # After the loop the elements are in its output.
                logs.append(self.log_scan_elements(c, index, k) if self.s.loops[index].active else None)
                mark += 1
        c.logs = tuple(logs)

    cdef int snapshot_histories(self, Checkpoint c) except -1:
        cdef EntrySnapshot entry
        c.histories = tuple([self.histories.snapshot_history(index) for index in range(self.memory.nloops)])
        for mark in c.histories:
            for entry in () if mark is None else mark[2:]:
                # An ended entry is shared by all later checkpoints.
                if entry is not None:
                    c.nbytes += entry.nbytes if entry is mark[2 + mark[0]] else 8

    cdef ScanLog log_scan_elements(self, Checkpoint c, int index, int k):
        """The log of the elements of a running loop's scan output."""
        cdef LoopState *loop = self.s.loops + index
        cdef Scan *scan = loop.scans + k
        cdef ScanLog log = None
        cdef int64_t verified = 0, common
        rows = self.scans.arrays.get((index, k))
        objects = isinstance(rows, list)
        entry = self.scan_logs.get((index, k))
        if entry is not None and entry[2] == loop.entries:
            log, verified = entry[0], entry[1]
            if log.count == 0:
                # Only now the type of the elements is known.
                log.nbytes, log.objects = scan.nbytes, [] if objects else None
            elif scan.count and (log.nbytes != scan.nbytes or (log.objects is not None) != objects):
                log = None
        if log is None:
            log, verified = new_scan_log(None, 0, scan.nbytes, objects), 0
        common = min(scan.count, log.count)
        # Running on from an earlier moment repeats the same elements, unless something was edited.
        if common > verified and not (log.object_rows_equal(rows, verified, common) if objects else
                                log.rows_equal(scan.buffer, verified, common)):
            log = new_scan_log(log, verified, log.nbytes, objects)
        if scan.count > log.count:
            if objects:
                c.nbytes += sum(200 if row.dtype.hasobject else row.nbytes for row in rows[log.count:])
                log.objects += rows[log.count:]
                log.count = scan.count
            else:
                c.nbytes += (scan.count - log.count) * scan.nbytes
                log.add(scan.buffer, scan.count)
        self.scan_logs[index, k] = (log, scan.count, loop.entries)
        return log

    cdef int copy_values(self, Checkpoint c, Checkpoint previous) except -1:
        """Copy the values, after the storage of all slots was chosen."""
        cdef SlotLayout layout = c.layout
        cdef Slot *slot
        cdef Slice *s
        cdef BackEdgeState *e
        cdef EdgeSnapshot *edge = c.edges
        cdef Py_ssize_t small = 0
        cdef char *block
        cdef int index, k
        for k in range(self.memory.nslots):
            if layout.storage[k] == SMALL:
                small += self.s.slots[k].nbytes
        for index in range(self.memory.nloops):
            for _ in range(self.s.loops[index].nedges):
                small += edge.nbytes
                edge += 1
        c.block = PyBytes_FromStringAndSize(NULL, small)
        c.nbytes += small
        block = PyBytes_AS_STRING(c.block)
        c.values = []
        for k in range(self.memory.nslots):
            slot = self.s.slots + k
            if layout.storage[k] == SMALL:
                memcpy(block, slot.data, slot.nbytes)
                block += slot.nbytes
            elif layout.storage[k] == LARGE:
                c.values.append(self.large_tensor_data(c, previous, k))
            elif layout.storage[k] == REFERENCE:
                c.values.append(<object>slot.owner)
        edge = c.edges
        for index in range(self.memory.nloops):
            for k in range(self.s.loops[index].nslices):
                s = self.s.loops[index].slices + k
                if keeps_part_array(layout.storage[s.inner], self.s.loops[index].active, s.direct):
                    c.values.append(self.loops.slice_arrays[index, k])
            for k in range(self.s.loops[index].nedges):
                e = self.s.loops[index].edges + k
                if edge.storage == REFERENCE:
                    c.values.append(<object>e.back.owner)
                elif edge.storage == SMALL:
                    memcpy(block, e.back.data, edge.nbytes)
                    block += edge.nbytes
                edge += 1

    cdef bytes large_tensor_data(self, Checkpoint c, Checkpoint previous, int k):
        """The bytes of a large tensor, shared with the previous checkpoint if equal."""
        cdef Slot *slot = self.s.slots + k
        cdef bytes stored
        if previous is not None and previous.layout.storage[k] == LARGE:
            stored = previous.values[previous.layout.value_index[k]]
            if len(stored) == slot.nbytes and memcmp(PyBytes_AS_STRING(stored), slot.data, slot.nbytes) == 0:
                return stored
        c.nbytes += slot.nbytes
        return PyBytes_FromStringAndSize(slot.data, slot.nbytes)

    # -- restoring

    def restore(self, Checkpoint checkpoint):
        """Go back (or forward) to a checkpoint of this or another engine of the same plan.

        The engine is then as if it had just arrived there. Stops and limits stay.
        """
        cdef CheckpointReader reader = CheckpointReader.__new__(CheckpointReader)
        cdef Checkpoint c = checkpoint
        cdef int k
        if self.s.running:
            raise RuntimeError("this engine is running; stop it before restoring a checkpoint")
        if c.plan is not self.plan:
            raise UsageError("the checkpoint is one of another model; restore those of this one")
        self.s.suspended = NULL
        self.s.epoch += 1
        self.binder.constant_overrides = c.constant_overrides
        reader.c, reader.block, reader.next_value = c, PyBytes_AS_STRING(c.block), c.layout.nvalues
        self.release_stale_values(c)
        for k in range(self.memory.nslots):
            self.restore_slot(reader, k)
        self.s.pc, self.s.depth = c.pc, c.depth
        for k in range(c.depth):
            self.s.stack[k] = c.stack[k]
        for k in range(self.memory.nloops):
            self.restore_loop(reader, k)
        for k, pc in enumerate(self.branches):
            self.s.code[<int>pc].taken = c.taken[k]
        for k in range(self.memory.nloops):
            self.histories.restore_history(k, c.histories[k])
        self.binder.set_edited(c.user_edited)
        self.binder.invalidate()
        self.optimizer_base.on_jump()
        self.latest = weakref.ref(c)

    cdef int translate_spec(self, SlotLayout layout, int spec) except -2:
        """Translate a spec of a checkpoint to this engine's number."""
        if spec <= 0 or layout.specs is self.memory.specs:
            return spec
        dtype, shape = layout.specs[spec]
        return self.memory.spec(dtype, shape, (<SpecTable>layout.specs).capacity(spec))

    cdef int release_stale_values(self, Checkpoint c) except -1:
        """Free large values that the checkpoint does not have before its own are copied: an iteration that ran out of
        memory may occupy what earlier iterations need."""
        cdef SlotLayout layout = c.layout
        cdef EdgeSnapshot *mark = c.edges
        cdef BackEdgeState *e
        cdef Slot *slot
        cdef int index, k
        for k in range(self.memory.nslots):
            slot = self.s.slots + k
            if slot.owner == NULL or not slot.flags & OWN or slot.nbytes < RELEASE_FIRST_MIN_BYTES:
                continue
            if layout.storage[k] != PART and layout.storage[k] != STALE and \
                    self.translate_spec(layout, layout.spec[k]) != slot.spec:
                empty(slot)
                # Unbind here: restore_slot sees no change of an empty slot.
                self.memory.unbind_consumers(k)
                self.memory.unbind_producer(k)
        for index in range(self.memory.nloops):
            for k in range(self.s.loops[index].nedges):
                e = self.s.loops[index].edges + k
                if mark.storage == EMPTY and e.back.owner != NULL and e.back.nbytes >= RELEASE_FIRST_MIN_BYTES:
                    empty(&e.back)
                mark += 1
        return 0

    cdef int restore_slot(self, CheckpointReader reader, int k) except -1:
        cdef SlotLayout layout = reader.c.layout
        cdef Slot *slot = self.s.slots + k
        cdef int storage = layout.storage[k], flags = layout.flags[k]
        cdef int spec = self.translate_spec(layout, layout.spec[k])
        cdef bint changed = slot.spec != spec or slot.flags & ~SHARED != flags
        known = layout.known[k]
        if storage == EMPTY:
            empty(slot)
        elif storage == REFERENCE:
            self.memory.put_owner(k, reader.c.values[layout.value_index[k]], spec, flags)
        elif storage == PART or storage == STALE:
            return 0     # restore_slice does it
        elif storage == KNOWN and not flags & OWN:
            self.memory.put_owner(k, known, spec, flags)
        elif storage == KNOWN:
            self.memory.store(k, known)     # it may be broadcast
            slot.flags = flags
        else:
            if flags & OWN:
                self.memory.own(k, spec)
            else:
                dtype, shape = self.memory.specs.kind(spec)
                self.memory.put_owner(k, np.empty(shape, dtype), spec, flags)
            slot.flags = flags
            if storage == SMALL:
                memcpy(slot.data, reader.block, slot.nbytes)
                reader.block += slot.nbytes
            else:
                memcpy(slot.data, PyBytes_AS_STRING(<bytes>reader.c.values[layout.value_index[k]]), slot.nbytes)
        if known is not self.memory.known[k]:
            old_generation = self.s.generation
            self.memory.set_known(k, known)
            changed = changed or self.s.generation != old_generation
        if changed:
            self.memory.unbind_consumers(k)
            self.memory.unbind_producer(k)
        return 0

    cdef int restore_loop(self, CheckpointReader reader, int index) except -1:
        cdef LoopState *loop = self.s.loops + index
        cdef LoopSnapshot *mark = reader.c.loops + index
        cdef int k
        old_entry = loop.entries
        loop.i, loop.trip, loop.parts = mark.i, mark.trip, mark.parts
        loop.iterations, loop.entries = mark.iterations, mark.entries
        for k in range(4):
            loop.by_reason[k] = mark.by_reason[k]
        for k in range(3):
            loop.by_length[k] = mark.by_length[k]
        loop.seconds, loop.entered = mark.seconds, now() - mark.elapsed
        loop.keep, loop.ended, loop.reported, loop.edited = mark.keep, mark.ended, mark.reported, mark.edited
        # Check the next entry in Python.
        loop.active, loop.native_entry, loop.checked = mark.active, 0, 0
        loop.first_parts = mark.first_parts
        for k in range(loop.nslices):
            self.restore_slice(reader, index, k)
        for k in range(loop.nedges):
            self.restore_edge(reader, index, k)
        for k in range(loop.nscans):
            self.restore_scan(reader, index, k, old_entry)

    cdef int restore_slice(self, CheckpointReader reader, int index, int k) except -1:
        cdef Slice *s = self.s.loops[index].slices + k
        cdef Slot *slot = self.s.slots + s.inner
        cdef SliceSnapshot *mark = reader.c.slices + reader.slice
        cdef SlotLayout layout = reader.c.layout
        cdef int storage = layout.storage[s.inner]
        reader.slice += 1
        s.direct, s.outer_spec = mark.direct, self.translate_spec(layout, mark.outer_spec)
        s.part_spec = self.translate_spec(layout, mark.part_spec)
        s.offset, s.step, s.parts = mark.offset, mark.step, mark.parts
        if keeps_part_array(storage, reader.c.loops[index].active, mark.direct):
            self.loops.slice_arrays[index, k] = reader.c.values[reader.next_value]
            reader.next_value += 1
        if storage == PART or self.s.loops[index].active:
            self.rebase_slice(index, k)
        if storage == PART:
            self.memory.put_owner(s.inner, self.loops.slice_arrays[index, k], self.translate_spec(layout, mark.shown_spec), 0)
            slot.nbytes = self.memory.specs.nbytes(slot.spec)
            slot.data = s.base + mark.part * s.step
        elif storage == STALE and slot.owner != NULL and slot.spec != 0:
            slot.data = np.PyArray_BYTES(<object>slot.owner)

    cdef int rebase_slice(self, int index, int k) except -1:
        """Point a slice to its parts: in the outer tensor, or rearranged."""
        cdef Slice *s = self.s.loops[index].slices + k
        if s.direct:
            plan = self.plan.loops[index]
            outer = self.memory.look(s.outer)
            sliced = plan.slices[k].sliced
            parts = slice_parts(outer, sliced, plan.loop.describe)
            self.loops.slice_arrays[index, k] = parts_for_trips(parts, sliced, s.parts)
        s.base = NULL if s.part_spec == 0 else np.PyArray_BYTES(self.loops.slice_arrays[index, k])

    cdef int restore_edge(self, CheckpointReader reader, int index, int k) except -1:
        cdef BackEdgeState *e = self.s.loops[index].edges + k
        cdef EdgeSnapshot *mark = reader.c.edges + reader.edge
        cdef int spec = self.translate_spec(reader.c.layout, mark.spec)
        reader.edge += 1
        e.previous_in_back = mark.previous_in_back
        if mark.storage == REFERENCE:
            self.loops.set_back_buffer(e, reader.c.values[reader.next_value], 0)
            reader.next_value += 1
        elif mark.storage == SMALL:
            if e.back.spec != spec or e.back.owner == NULL:
                dtype, shape = self.memory.specs.kind(spec)
                self.loops.set_back_buffer(e, np.empty(shape, dtype), spec)
            memcpy(e.back.data, reader.block, mark.nbytes)
            reader.block += mark.nbytes

    cdef int restore_scan(self, CheckpointReader reader, int index, int k, int64_t old_entry) except -1:
        cdef LoopState *loop = self.s.loops + index
        cdef Scan *scan = loop.scans + k
        cdef ScanSnapshot *mark = reader.c.scans + reader.scan
        cdef ScanLog log = reader.c.logs[reader.scan]
        cdef int64_t valid = 0
        reader.scan += 1
        logged = self.scan_logs.pop((index, k), None)
        rows = self.scans.arrays.get((index, k))
        if logged is not None and logged[0] is log and logged[2] == old_entry and isinstance(rows, np.ndarray):
            valid = min(<int64_t>logged[1], mark.count)
        scan.count, scan.nsegments, scan.nbytes = mark.count, mark.nsegments, mark.nbytes
        scan.objects = log is not None and log.objects is not None and mark.count > 0
        scan.spec = self.translate_spec(reader.c.layout, mark.spec)
        scan.out_count = -1
        if log is None or mark.count == 0 or log.objects is not None:
            self.scans.arrays.pop((index, k), None)
            scan.buffer, scan.capacity = NULL, 0
            if log is not None and log.objects is not None and mark.count:
                self.scans.arrays[index, k] = log.all_objects(mark.count)
        else:
            if not isinstance(rows, np.ndarray) or len(rows) < mark.count * mark.nbytes:
                rows = allocate_buffer((mark.count + mark.count // 2 + 16) * mark.nbytes)
                self.scans.arrays[index, k] = rows
                valid = 0
            log.copy(np.PyArray_BYTES(rows), valid, mark.count)
            scan.buffer = np.PyArray_BYTES(rows)
            scan.capacity = len(rows) // mark.nbytes if mark.nbytes else mark.count + 16
        scan.length = mark.length
        self.scans.limit_capacity(scan)
        if log is not None:
            self.scan_logs[index, k] = (log, mark.count, loop.entries)
