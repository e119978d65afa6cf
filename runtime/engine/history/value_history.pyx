"""Histories: carried values and operands of conditions at every boundary.

A boundary writes one row (value_history.h); rows are reduced once in hundreds of iterations. Only followed loops are
recorded. Restoring a checkpoint also restores the history.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset
cimport numpy as np

from ...kernels.processor cimport loopdbg_cpu, current_processor
from ...kernels.tensor_summary cimport number_kind, byte_value_table
from ..baseline.memory cimport Memory
from ..baseline.arena cimport arena_free_tree, arena_alloc
from ..baseline.optimizer_base cimport BoundaryObserver
from ..baseline.state cimport *
from .value_history_structs cimport *

from collections import namedtuple

import numpy as np

np.import_array()
loopdbg_cpu = current_processor()

cdef extern from "value_history.h" nogil:
    void history_begin(loop_history *h, int64_t entry, int64_t origin)
    int history_entry_index(const loop_history *h)
    void history_flush(loop_history *h, history_entry *e)
    int history_grow(const loop_history *h, history_entry *e, int64_t more)
    uint64_t *history_row(loop_history *h)
    void history_widen(loop_history *h, history_entry *e, int k)
    void history_view(const loop_history *h, const history_entry *e, int64_t width, history_stat *out)
    int64_t history_uniform_width(int64_t rows)

cdef extern from "tensor_stats.h" nogil:
    double history_empty_value()
    void history_tensor_stats(const history_series *q, const char *data, int64_t count, double *stats)
    void history_write_tensor(loop_history *h, int series, uint64_t *row, const char *data, int64_t count)

# History of an entry of a loop: ``stats[bucket, series, norm minimum maximum mean, low high first last nonfinite]``, of
# ``width`` boundaries per bucket, from that before iteration ``origin`` on. ``has_numbers``: the numeric series;
# ``is_summarized``: those of more than one element; ``is_complete``: False after memory ran out.
HistoryView = namedtuple("HistoryView", "entry origin rows width stats has_numbers is_summarized is_complete")


cdef void write_row(ExecutionState *s, loop_history *h, int entering) noexcept nogil:
    """Append a row: the values at an entry, or the results of an iteration before any is overwritten."""
    cdef uint64_t *row = history_row(h)
    cdef history_entry *e = h.now
    cdef history_series *series
    cdef Slot *slot
    cdef uint64_t *cell
    cdef int k, slot_read
    for k in range(h.nseries):
        series = h.series + k
        if series.kind <= KIND_NONE or series.steady:
            continue
        slot_read = series.param if entering else series.result
        if slot_read < 0:
            continue
        slot = s.slots + slot_read
        cell = row + k * HISTORY_COLUMNS * HISTORY_ROWS
        if not e.wide[k]:
            if slot.spec and slot.nbytes == series.itemsize and slot.nbytes <= 8:
                if slot.nbytes == 4:
                    memcpy(cell, slot.data, 4)
                elif slot.nbytes == 8:
                    memcpy(cell, slot.data, 8)
                else:
                    memcpy(cell, slot.data, slot.nbytes)
                continue
        history_write_tensor(h, k, row, slot.data, slot.nbytes // series.itemsize if slot.spec else 0)


cdef void write_boundary_row(ExecutionState *s, LoopState *loop, int entering) noexcept nogil:
    """Called by the interpreter."""
    cdef loop_history *h = history_of_loop(loop)
    if entering:
        history_begin(h, loop.entries - 1, 0)
    write_row(s, h, entering)


cdef class HistoryRows:
    """Reduced rows, shared by checkpoints: those of ``before``, then its own."""


cdef class EntrySnapshot:
    """History of an entry in a checkpoint."""


cdef class ValueHistories(BoundaryObserver):
    """The histories of followed loops."""

    def __init__(self, Memory memory not None):
        self.memory, self.s, self.plan = memory, &memory.s, memory.plan
        self.logs, self.frozen = {}, {}
        self.all = <loop_history **>arena_alloc(NULL, memory.nloops + 1, sizeof(loop_history *))

    def __dealloc__(self):
        # ``all`` ends with a NULL: the Memory that knows the number of loops may be gone.
        cdef loop_history **h = self.all
        cdef int k
        while h != NULL and h[0] != NULL:
            for k in range(HISTORY_ENTRIES):
                free(h[0].entries[k].log)
            arena_free_tree(h[0])
            h += 1
        arena_free_tree(self.all)

    def record_values(self, int index, sides=()):
        """Record from now on the carried values of a loop (its first series, in the order of back edges), and the
        values of these slots at the end of iterations: one more series each, empty before iteration 0.

        Values computed outside of all loops are read when rows are reduced: only the user changes them.
        """
        cdef LoopState *loop = self.s.loops + index
        cdef loop_history *h
        cdef history_entry *e
        cdef history_series *q
        cdef HistoryLog *log
        cdef int k, columns
        if loop.log != NULL:
            return
        h = <loop_history *>arena_alloc(NULL, 1, sizeof(loop_history))
        h.nseries = loop.nedges + len(sides)
        h.series = <history_series *>arena_alloc(h, h.nseries, sizeof(history_series))
        for k in range(h.nseries):
            q = h.series + k
            if k < loop.nedges:
                q.param, q.result, q.identity = loop.edges[k].param, loop.edges[k].result, loop.edges[k].identity
            else:
                q.param, q.result = -1, sides[k - loop.nedges]
                q.steady = self.is_loop_invariant(q.result)
            q.cell, q.nbytes = &self.s.slots[q.result].data, &self.s.slots[q.result].nbytes
        columns = h.nseries * HISTORY_COLUMNS
        h.nentries = 1 if self.plan.loops[index].parent < 0 else HISTORY_ENTRIES
        for k in range(HISTORY_ENTRIES):
            e = h.entries + k
            e.entry = -1
            if k >= h.nentries:
                continue
            e.ring = <uint64_t *>arena_alloc(h, columns * HISTORY_ROWS, sizeof(uint64_t))
            e.pending = <history_stat *>arena_alloc(h, columns, sizeof(history_stat))
            e.wide = <char *>arena_alloc(h, h.nseries, 1)
        h.now = h.entries
        log = <HistoryLog *>arena_alloc(h, 1, sizeof(HistoryLog))
        log.history, log.log.write_row = h, write_boundary_row
        log.log.entry_unready = log.log.boundary_unready = 1
        loop.log = &log.log
        k = 0
        while self.all[k] != NULL:
            k += 1
        self.all[k] = h
        self.s.generation += 1
        if loop.active:
            self.restart_log_at(index)

    def is_loop_invariant(self, int slot):
        """Is it never written in a loop?"""
        if slot in {k for _, k in self.plan.inputs} or slot in {k for k, _ in self.plan.constants}:
            return True
        if slot not in self.memory.producers:
            return False
        instruction = self.plan.code[self.memory.producers[slot]]
        return instruction.inside < 0 or (not instruction.inputs and instruction.op.pure)

    cdef set slots_read(self):
        """The slots read at boundaries that no port reads."""
        cdef loop_history *h
        cdef int index, k
        slots = set()
        for index in range(self.memory.nloops):
            h = history_of_loop(self.s.loops + index)
            for k in range(0 if h == NULL else h.nseries):
                if h.series[k].param < 0:
                    slots.add(h.series[k].result)
        return slots

    cdef int begin(self) except -1:
        """Clear the histories before another execution begins."""
        cdef loop_history *h
        cdef int index, k
        self.logs.clear()
        self.frozen.clear()
        for index in range(self.memory.nloops):
            h = history_of_loop(self.s.loops + index)
            if h == NULL:
                continue
            self.s.loops[index].log.entry_unready = self.s.loops[index].log.boundary_unready = 1
            for k in range(HISTORY_ENTRIES):
                h.entries[k].entry = -1
                h.entries[k].n = h.entries[k].rows = h.entries[k].nlog = 0

    cdef int prepare_log(self, int index, bint crossing) except -1:
        """Determine the types of values, as far as they are available, before an entry or a boundary."""
        cdef loop_history *h = history_of_loop(self.s.loops + index)
        cdef history_series *q
        cdef int k, slot, kind
        cdef BoundaryLog *log = self.s.loops[index].log
        if h == NULL or not (log.boundary_unready if crossing else log.entry_unready):
            return 0
        for k in range(h.nseries):
            q = h.series + k
            if (q.param < 0) != crossing:
                continue
            slot = q.result if q.param < 0 else q.param
            dtype = self.memory.specs.kind(self.s.slots[slot].spec)[0] if self.s.slots[slot].spec else None
            kind = KIND_NONE if dtype is None else number_kind(dtype)
            if kind == q.kind and kind != KIND_TABLE:
                continue
            q.kind = kind
            if dtype is not None:
                q.itemsize = dtype.itemsize
            if kind == KIND_TABLE:
                q.table = <double *>np.PyArray_DATA(byte_value_table(dtype))
            self.s.generation += 1
        log.entry_unready = 0
        if crossing:
            log.boundary_unready = 0

    cdef int restart_log_at(self, int index) except -1:
        """A loop was placed at a boundary; nothing is known of the boundaries before."""
        cdef LoopState *loop = self.s.loops + index
        if loop.log == NULL:
            return 0
        self.prepare_log(index, False)
        history_begin(history_of_loop(loop), loop.entries - 1, loop.i)
        write_row(self.s, history_of_loop(loop), 1)

    cdef int rewrite_newest_row(self, int index) except -1:
        """The user edited an input of the next iteration at this boundary."""
        cdef loop_history *h = history_of_loop(self.s.loops + index)
        cdef history_entry *e
        if h == NULL or h.now.entry < 0 or h.now.n == 0:
            return 0
        e = h.now
        # The row keeps the operands of conditions; only carried values are rewritten.
        if e.n > 1:
            history_flush(h, e)
        e.n = 0
        write_row(self.s, h, 1)

    cdef int mark_mutable(self, int slot) except -1:
        """A slot that no loop writes is about to be edited."""
        cdef loop_history *h
        cdef history_series *q
        cdef int index, k, place
        for index in range(self.memory.nloops):
            h = history_of_loop(self.s.loops + index)
            for k in range(0 if h == NULL else h.nseries):
                q = h.series + k
                if not q.steady or q.result != slot:
                    continue
                for place in range(HISTORY_ENTRIES):
                    self.sample_steady_value(h, h.entries + place, k)
                q.steady = 0
                self.s.generation += 1

    cdef int sample_steady_value(self, loop_history *h, history_entry *e, int k) except -1:
        """Write the present value of a steady series to the newest row."""
        cdef history_series *q = h.series + k
        cdef uint64_t *cell = e.ring + k * HISTORY_COLUMNS * HISTORY_ROWS
        if e.entry < 0 or e.n == 0:
            return 0
        history_flush(h, e)
        if q.cell[0] != NULL and q.nbytes[0] == q.itemsize and q.itemsize <= 8:
            memcpy(cell, q.cell[0], q.itemsize)

    # -- checkpoints

    cdef tuple snapshot_history(self, int index):
        """The history of a loop for a checkpoint; None: there is none."""
        cdef loop_history *h = history_of_loop(self.s.loops + index)
        if h == NULL:
            return None
        return (history_entry_index(h), h.nseries, *[self.snapshot_entry(index, place) for place in range(HISTORY_ENTRIES)])

    cdef EntrySnapshot snapshot_entry(self, int index, int place):
        cdef loop_history *h = history_of_loop(self.s.loops + index)
        cdef history_entry *e = h.entries + place
        cdef EntrySnapshot frozen = self.frozen.get((index, place))
        cdef HistoryRows log, more
        cdef int columns = h.nseries * HISTORY_COLUMNS, k
        cdef Py_ssize_t added = 0
        cdef Py_ssize_t row = columns * sizeof(history_stat)
        cdef uint64_t *cells
        if e.entry < 0:
            return None
        if frozen is not None and frozen.entry == e.entry and e != h.now:
            return frozen
        history_flush(h, e)
        entry, log = self.logs.get((index, place), (-1, None))
        if entry != e.entry:
            log = None
        if e.nlog > (0 if log is None else log.count):
            more = HistoryRows.__new__(HistoryRows)
            more.before, more.first, more.count = log, 0 if log is None else log.count, e.nlog
            more.data = PyBytes_FromStringAndSize(<char *>(e.log + more.first * columns), (e.nlog - more.first) * row)
            log = more
            added = len(more.data)
        self.logs[index, place] = e.entry, log
        frozen = EntrySnapshot.__new__(EntrySnapshot)
        frozen.entry, frozen.origin, frozen.rows, frozen.n, frozen.out_of_memory = e.entry, e.origin, e.rows, e.n, e.out_of_memory
        frozen.log = log
        frozen.pending = PyBytes_FromStringAndSize(<char *>e.pending, row)
        for k in range(h.nseries if e.n else 0):
            if h.series[k].steady:
                self.sample_steady_value(h, e, k)
        frozen.newest = PyBytes_FromStringAndSize(NULL, columns * sizeof(uint64_t))
        cells = <uint64_t *>PyBytes_AS_STRING(frozen.newest)
        for k in range(columns):
            cells[k] = e.ring[k * HISTORY_ROWS]
        frozen.is_summarized = PyBytes_FromStringAndSize(e.wide, h.nseries)
        frozen.nbytes = 200 + row + columns * sizeof(uint64_t) + 2 * h.nseries + added
        # An ended entry does not change.
        if e != h.now:
            self.frozen[index, place] = frozen
        return frozen

    cdef int restore_history(self, int index, tuple mark) except -1:
        """Restore the result of ``snapshot_history``."""
        cdef LoopState *loop = self.s.loops + index
        cdef loop_history *h = history_of_loop(loop)
        cdef int place
        if h == NULL:
            return 0
        if mark is None or mark[1] != h.nseries:
            # The checkpoint's engine followed nothing, or something else.
            for place in range(HISTORY_ENTRIES):
                self.restore_entry(index, place, None)
            if loop.active:
                self.restart_log_at(index)
            return 0
        for place in range(HISTORY_ENTRIES):
            self.restore_entry(index, place, mark[2 + place])
        h.now = h.entries + <int>mark[0]

    cdef int restore_entry(self, int index, int place, EntrySnapshot frozen) except -1:
        cdef loop_history *h = history_of_loop(self.s.loops + index)
        cdef history_entry *e = h.entries + place
        cdef int columns = h.nseries * HISTORY_COLUMNS, k
        cdef HistoryRows log
        cdef uint64_t *cells
        if frozen is None:
            e.entry = -1
            e.n = e.rows = e.nlog = 0
            self.logs.pop((index, place), None)
            self.frozen.pop((index, place), None)
            return 0
        if self.frozen.get((index, place)) is frozen and e.entry == frozen.entry:
            return 0
        self.frozen.pop((index, place), None)
        e.entry, e.origin, e.rows, e.n, e.out_of_memory = frozen.entry, frozen.origin, frozen.rows, frozen.n, frozen.out_of_memory
        log = frozen.log
        e.nlog = 0
        if log is not None:
            if not history_grow(h, e, log.count):
                raise MemoryError
            e.nlog = log.count
        self.logs[index, place] = e.entry, log
        while log is not None:
            memcpy(e.log + log.first * columns, PyBytes_AS_STRING(log.data), len(log.data))
            log = log.before
        memcpy(e.pending, PyBytes_AS_STRING(frozen.pending), columns * sizeof(history_stat))
        cells = <uint64_t *>PyBytes_AS_STRING(frozen.newest)
        for k in range(columns):
            e.ring[k * HISTORY_ROWS] = cells[k]
        memcpy(e.wide, PyBytes_AS_STRING(frozen.is_summarized), h.nseries)

    # -- inspection; from the thread that runs the engine

    def entries(self, int index):
        """The numbers of the entries that are kept, oldest first."""
        cdef loop_history *h = history_of_loop(self.s.loops + index)
        if h == NULL:
            return []
        return sorted([h.entries[k].entry for k in range(HISTORY_ENTRIES) if h.entries[k].entry >= 0])

    def view(self, int index, entry=None):
        """The history of an entry of a loop (the running or last one), as :class:`HistoryView`; None: there is none."""
        cdef loop_history *h = history_of_loop(self.s.loops + index)
        cdef history_entry *e
        cdef int64_t width, rows
        cdef int k
        if h == NULL:
            return None
        e = h.now
        if entry is not None:
            for k in range(HISTORY_ENTRIES):
                if h.entries[k].entry == entry:
                    e = h.entries + k
        if e.entry < 0 or (entry is not None and e.entry != entry):
            return None
        rows = e.rows + e.n
        width = history_uniform_width(rows)
        stats = np.empty(((rows + width - 1) // width, h.nseries, HISTORY_COLUMNS, 5))
        history_view(h, e, width, <history_stat *>np.PyArray_DATA(stats))
        stats.flags.writeable = False
        return HistoryView(e.entry, e.origin, rows, width, stats,
                    tuple([h.series[k].kind > KIND_NONE for k in range(h.nseries)]),
                    tuple([e.wide[k] != 0 for k in range(h.nseries)]),
                    not e.out_of_memory)


#: Represents a tensor without elements: a NaN that is not counted as one.
EMPTY_VALUE = history_empty_value()


def is_empty_value(numbers):
    """Where float64 numbers are EMPTY_VALUE; other NaN are not."""
    return numbers.view(np.uint64) == np.float64(EMPTY_VALUE).view(np.uint64)


def tensor_statistics(value):
    """Norm, minimum, maximum and mean of an array, as in a history; None: not numeric."""
    cdef history_series q
    cdef double stats[4]
    memset(&q, 0, sizeof(q))
    kind = number_kind(value.dtype)
    if kind == KIND_NONE:
        return None
    value = np.ascontiguousarray(value)
    table = byte_value_table(value.dtype) if kind == KIND_TABLE else None
    q.kind, q.itemsize = kind, value.dtype.itemsize
    if table is not None:
        q.table = <double *>np.PyArray_DATA(table)
    history_tensor_stats(&q, np.PyArray_BYTES(value), value.size, stats)
    return stats[0], stats[1], stats[2], stats[3]
