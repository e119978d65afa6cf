"""Predicates and records: evaluated at every boundary of a loop in native code.

A predicate is an operator over slots with one boolean result. It is bound to kernels like a node, evaluated at each
boundary of its loop (in scalar programs as well), and stops the engine when it is true. A record appends the values of
slots at each boundary to a buffer. A traced record (of a recorder) takes the place of hooks at the boundaries within an
entry, and another thread takes its rows while the engine runs.
"""

from libc.stdint cimport int64_t
cimport numpy as np

from ..baseline.binder cimport NodeBinder
from ..baseline.clock cimport now
from ..baseline.generations cimport with_predicates
from ..baseline.interpreter cimport append_records, appends_row, update_previous_slots
from ..baseline.loops cimport Loops
from ..baseline.bound_node cimport run_bound_node
from ..baseline.memory cimport Memory
from ..baseline.arena cimport arena_free_tree, arena_grow, arena_alloc
from ..baseline.backoff cimport on_unbindable
from ..baseline.state cimport *

import math

import numpy as np

from ...plan import operator_binder as binding
from ...errors import ExecutionError, UsageError, one_line
from ...ops.eager import EagerPrimitives
from ...ops.primitive_types import NoNativeKernel

np.import_array()

_EAGER = EagerPrimitives()
# Of one chunk of a record.
cdef int64_t MAX_CHUNK_ROWS = 1 << 16
cdef int64_t TRACED_CHUNK_ROWS = 1 << 13


class PredicateInstruction:
    """A predicate in the form in which the binder takes nodes."""

    outputs = ()
    inside = -1

    def __init__(self, op, inputs):
        self.op, self.inputs = op, tuple(inputs)


class RecordBuffer:
    """A record in Python: the rows of ``full_chunks``, then those of the current chunk.

    ``keep``: number of newest rows to keep. Chunks are never rewritten or copied: a record costs only the writes.
    """

    def __init__(self, entry, index, slots, keep):
        self.entry, self.index, self.slots, self.max_rows = entry, index, tuple(slots), keep
        self.full_chunks = []
        self.chunk = None
        self.is_complete = True
        #: Of a traced record: rows of the chunk that were taken; called when it is full; guards both.
        self.taken, self.on_full, self.lock = 0, None, None


cdef class BoundaryMonitor:
    """Evaluates predicates and keeps records."""

    cdef Memory memory
    cdef NodeBinder binder
    cdef Loops loops
    cdef ExecutionState *s
    cdef object plan
    cdef int npredicates         # entries of the state's array
    cdef int nrecords
    cdef dict predicate_table          # key -> (entry, instruction, fallback)
    cdef object enabled            # the enabled predicates, as bits
    cdef dict set_numbers          # sets of enabled predicates -> their number in a generation
    cdef dict record_buffers         # key -> RecordBuffer
    cdef int next_key
    cdef int64_t traced          # number of traced boundaries of the execution
    cdef public tuple hits       # keys of the true predicates where one stopped the engine
    cdef readonly list latched      # keys of latched predicates that were true in this execution

    def __init__(self, Memory memory not None, NodeBinder binder not None, Loops loops not None):
        self.memory, self.binder, self.loops = memory, binder, loops
        self.s, self.plan = &memory.s, memory.plan
        self.predicate_table, self.record_buffers, self.hits = {}, {}, ()
        self.enabled, self.set_numbers = 0, {}
        self.latched = []

    def begin(self):
        """Truncate all records and enable what latched before another execution begins."""
        cdef int k
        self.hits, self.traced = (), 0
        loops = set()
        for key in self.latched:
            k = self.predicate_table[key][0]
            self.set_enabled(k, 1)
            loops.add(self.s.predicates[k].loop)
        self.latched.clear()
        for index in loops:
            self.update_observer_counts(index, True)
        for key in self.record_buffers:
            self.truncate_record(key)

    def slots_read(self):
        """The slots that predicates and records read."""
        slots = {slot for _, instruction, _ in self.predicate_table.values() for slot in instruction.inputs}
        return slots.union(*[recording.slots for recording in self.record_buffers.values()])

    # -- slots that can be read at a boundary

    def previous_slot(self, int index, int k):
        """The slot with the previous value of back edge k at a boundary after an iteration."""
        return self.s.loops[index].first_derived_slot + k

    def iteration_slot(self, int index):
        """The slot with a loop's iteration number (int64), even if its body has none."""
        return self.s.loops[index].first_derived_slot + self.s.loops[index].nedges

    def condition_slot(self, int index):
        """The slot with the current execution condition at a boundary."""
        return self.s.loops[index].first_derived_slot + self.s.loops[index].nedges + 1

    def trip_count_slot(self, int index):
        """The slot with a loop's trip count (int64); -1: no limit."""
        return self.s.loops[index].first_derived_slot + self.s.loops[index].nedges + 2

    def slot_at_boundary(self, int index, int slot):
        """The slot that has a body value at a boundary after an iteration that computed it.

        A result carried by a back edge may have moved to the edge's parameter by then. Inputs of an iteration stay in
        place, even as results of other back edges: at a boundary they are the inputs of the next one.
        """
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        if slot == loop.iteration or slot == loop.condition_input:
            return slot
        for k in range(loop.nedges):
            if loop.edges[k].param == slot:
                return slot
        for k in range(loop.nslices):
            if loop.slices[k].inner == slot:
                return slot
        for k in range(loop.nedges):
            if loop.edges[k].result == slot:
                return loop.edges[k].param
        return slot

    # -- predicates

    def add_predicate(self, int index, op, slots, bint needs_body=False, fallback=None):
        """Evaluate ``op`` on the values of ``slots`` at every boundary of a loop from now on; returns a key.

        ``op`` has ``apply(p, inputs)`` over primitives and returns one boolean. When it is true, ``Engine.resume``
        returns ``("predicate", index)`` at that boundary, which may be the last one. ``needs_body``: it reads results
        of an iteration or previous values, and is not evaluated before iteration 0.

        A change of a value's dtype or shape rebinds it. If it cannot be bound to kernels, ``fallback(index)`` is called
        at the boundary, or without that NumPy runs ``op``; a slot without a value makes it false.
        """
        cdef int k
        cdef Predicate *predicate
        self.loops.materialize_all()
        self.check_readable(index, slots)
        used = {entry for entry, _, _ in self.predicate_table.values()}
        k = next((j for j in range(self.npredicates) if j not in used), -1)
        if k < 0:
            k = self.grow_predicates()
        predicate = self.s.predicates + k
        predicate.loop, predicate.needs_body, predicate.hit, predicate.latched = index, needs_body, 0, 0
        predicate.reads_previous = self.reads_previous(index, slots)
        self.set_enabled(k, 1)
        predicate.next = self.s.loops[index].first_predicate
        self.s.loops[index].first_predicate = k
        instruction = PredicateInstruction(op, slots)
        for slot in set(instruction.inputs):
            self.memory.consumers[slot].append(predicate.pc)
        self.memory.load_consumers()
        unbind_node(self.s.code + predicate.pc)
        self.next_key += 1
        predicate.key = self.next_key
        self.predicate_table[self.next_key] = (k, instruction, fallback)
        self.bind_derived_slots()
        self.update_observer_counts(index)
        return self.next_key

    def grow_predicates(self):
        """Append an entry, with an instruction behind those of the plan."""
        self.s.predicates = <Predicate *>arena_grow(self.s.own, self.s.predicates, self.npredicates, self.npredicates + 1,
                                                sizeof(Predicate))
        self.s.predicates[self.npredicates].pc = self.binder.add_instruction()
        self.npredicates += 1
        return self.npredicates - 1

    def remove_predicate(self, int key):
        """Stop evaluating a predicate and delete it."""
        cdef int k, index
        cdef int *link
        entry, instruction, _ = self.find_predicate(key)
        k = entry
        index = self.s.predicates[k].loop
        self.loops.materialize_all()
        link = &self.s.loops[index].first_predicate
        while link[0] != k:
            link = &self.s.predicates[link[0]].next
        link[0] = self.s.predicates[k].next
        self.set_enabled(k, 0)
        for slot in set(instruction.inputs):
            self.memory.consumers[slot].remove(self.s.predicates[k].pc)
        self.memory.load_consumers()
        self.binder.unbind(self.s.predicates[k].pc)
        del self.predicate_table[key]
        if key in self.latched:
            self.latched.remove(key)
        self.update_observer_counts(index)

    def find_predicate(self, int key):
        if key not in self.predicate_table:
            raise UsageError(f"there is no predicate {key}")
        return self.predicate_table[key]

    def enable_predicate(self, int key, bint enabled=True):
        """Enable or disable a predicate. Scalar programs for a set of enabled predicates are kept."""
        cdef int k = self.find_predicate(key)[0]
        if self.s.predicates[k].enabled == enabled:
            return
        self.loops.materialize_all()
        self.set_enabled(k, enabled)
        self.update_observer_counts(self.s.predicates[k].loop, True)

    def latch_predicate(self, int key):
        """Disable a predicate for the rest of this execution; in later ones it is disabled where it is true, and listed
        in ``latched``, without a stop."""
        self.enable_predicate(key, False)
        self.s.predicates[<int>self.predicate_table[key][0]].latched = 1
        self.latched.append(key)

    def take_hits(self, int index):
        """Disable the latched predicates that are true at the present boundary of a loop; sets ``hits`` to the keys of
        the others that are, ascending, and returns them."""
        cdef Predicate *predicate
        cdef int k = self.s.loops[index].first_predicate
        cdef bint disabled = False
        hits = []
        while k >= 0:
            predicate = self.s.predicates + k
            if predicate.enabled and predicate.hit:
                if predicate.latched:
                    disabled = True
                    self.set_enabled(k, 0)
                    self.latched.append(predicate.key)
                else:
                    hits.append(predicate.key)
            k = predicate.next
        if disabled:
            self.update_observer_counts(index, True)
        self.hits = tuple(sorted(hits))
        return self.hits

    def is_native(self, int key):
        """True while kernels evaluate the predicate. It is bound at its first evaluation."""
        cdef int k = self.find_predicate(key)[0]
        return self.s.code[self.s.predicates[k].pc].kind == NATIVE

    def is_unbindable(self, int key):
        """True while no kernels fit its present values, so that Python evaluates it."""
        cdef int k = self.find_predicate(key)[0]
        return self.s.code[self.s.predicates[k].pc].kind != NATIVE and self.s.code[self.s.predicates[k].pc].again.stable < 0

    cdef int update_observer_counts(self, int index, bint may_return=False) except -1:
        """After a change: update the hot path's counts and invalidate scalar programs; ``may_return``: not for good."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k = loop.first_predicate
        loop.observers = loop.reads_previous = 0
        while k >= 0:
            loop.observers += self.s.predicates[k].enabled
            loop.reads_previous |= self.s.predicates[k].enabled and self.s.predicates[k].reads_previous
            k = self.s.predicates[k].next
        for recording in self.record_buffers.values():
            if recording.index == index and self.s.records[<int>recording.entry].enabled:
                loop.observers += 1
                loop.reads_previous |= self.reads_previous(index, recording.slots)
        if not may_return:
            self.s.generation += 1
            self.set_numbers.clear()
        number = self.set_numbers.setdefault(self.enabled, len(self.set_numbers))
        self.s.generation = with_predicates(self.s.generation, number)

    cdef int set_enabled(self, int k, bint enabled) except -1:
        bit = 1 << <object>k
        self.s.predicates[k].enabled = enabled
        self.enabled = self.enabled | bit if enabled else self.enabled & ~bit

    cdef bint reads_previous(self, int index, slots) except -1:
        """Is one of the slots the previous value of a back edge?"""
        cdef LoopState *loop = self.s.loops + index
        return any([loop.first_derived_slot <= slot < loop.first_derived_slot + loop.nedges for slot in slots])

    def bind_derived_slots(self):
        """Point the derived slots to iteration numbers, conditions and trip counts."""
        cdef LoopState *loop
        cdef Slot *slot
        cdef int index, k
        for index in range(self.memory.nloops):
            loop = self.s.loops + index
            values = ((<size_t>&loop.i, np.dtype(np.int64)), (<size_t>&loop.keep, np.dtype(np.bool_)),
                      (<size_t>&loop.trip, np.dtype(np.int64)))
            for k, (address, dtype) in enumerate(values):
                slot = self.s.slots + loop.first_derived_slot + loop.nedges + k
                slot.data, slot.spec, slot.nbytes = <char *><size_t>address, self.memory.spec(dtype, ()), dtype.itemsize

    def check_readable(self, int index, slots):
        """Reject previous values of other loops: they exist only at the boundaries of their own loop."""
        cdef LoopState *loop
        cdef int k
        for k in range(self.memory.nloops):
            loop = self.s.loops + k
            if k != index and any(loop.first_derived_slot <= slot < loop.first_derived_slot + loop.nedges for slot in slots):
                raise UsageError(f"previous values of {self.plan.loops[k].loop.describe()} can be read only at its own "
                                 f"boundaries")

    def observe_slow(self, int index):
        """Prepare the predicates and records of a boundary in Python, then evaluate them all."""
        cdef LoopState *loop = self.s.loops + index
        cdef Slot *slot
        cdef BackEdgeState *e
        cdef int k, spec
        if loop.reads_previous and loop.i > 0:
            for k in range(loop.nedges):
                e = loop.edges + k
                slot = self.s.slots + loop.first_derived_slot + k
                spec = previous_value_slot(self.s, e).spec
                if slot.spec != spec:
                    slot.spec, slot.nbytes = spec, self.memory.specs.nbytes(spec)
                    self.memory.unbind_consumers(loop.first_derived_slot + k)
            update_previous_slots(self.s, loop)
        for recording in list(self.record_buffers.values()):
            if recording.index == index and appends_row(self.s.records[<int>recording.entry], loop):
                self.append_record_slow(index, recording)
        loop.hit = 0
        for key, (entry, _, _) in list(self.predicate_table.items()):
            k = entry
            if self.s.predicates[k].loop == index:
                self.s.predicates[k].hit = 0
                if self.s.predicates[k].enabled and (loop.i > 0 or not self.s.predicates[k].needs_body):
                    hit = self.evaluate_slow(index, key)
                    self.s.predicates[k].hit = hit
                    loop.hit |= hit
        append_records(self.s, loop)
        loop.checked = 1

    cdef int evaluate_slow(self, int index, int key) except -1:
        """Bind a predicate and evaluate it, in Python if necessary."""
        cdef Instr *ins
        cdef Predicate *predicate
        entry, instruction, fallback = self.predicate_table[key]
        predicate = self.s.predicates + <int>entry
        ins = self.s.code + predicate.pc
        if ins.kind == NATIVE and ins.nguards or ins.kind != NATIVE and ins.again.stable >= 0:
            try:
                self.bind_predicate(<int>entry, instruction)
            except NoNativeKernel:
                ins.kind = UNBOUND
                on_unbindable(&ins.again)
        if ins.kind == NATIVE:
            if not run_bound_node(self.s, ins):
                return (predicate.cell[0] + predicate.offset)[0] != 0
        if fallback is not None:
            return bool(fallback(index))
        values = [self.value_at_boundary(index, slot) for slot in instruction.inputs]
        if any(value is None for value in values):
            return 0
        where = f"a predicate at {self.memory.describe_loop(index)}"
        try:
            (answer,) = self.binder.silent_context.run(instruction.op.apply, _EAGER, values)
        except Exception as error:
            raise ExecutionError(f"{where}: {one_line(error)}", **self.memory.loop_fields(index)) from error
        return _boolean_answer(answer, where)

    def value_at_boundary(self, int index, int slot):
        """A slot's value for NumPy; derived slots too."""
        cdef LoopState *loop = self.s.loops + index
        if loop.first_derived_slot <= slot < loop.first_derived_slot + loop.nedges:
            return self.loops.previous(index, slot - loop.first_derived_slot)
        return self.memory.look(slot)

    def bind_predicate(self, int entry, instruction):
        """Bind a predicate for its present inputs.

        Raises:
            NoNativeKernel: it cannot be bound.
        """
        cdef Predicate *predicate = self.s.predicates + entry
        cdef Instr *ins
        cdef int pc = predicate.pc
        inputs = []
        for slot in instruction.inputs:
            if self.s.slots[<int>slot].spec == 0 or self.s.slots[<int>slot].data == NULL:
                raise NoNativeKernel
            inputs.append(self.binder.input(slot))
        bound = binding.bind(instruction.op, inputs)
        (answer,) = bound.outputs
        if answer.dtype != np.bool_ or answer.size != 1:
            raise UsageError(f"a predicate must give one boolean, and this one gives {answer.dtype.name} "
                             f"{list(answer.shape)}")
        self.binder.install_binding(pc, instruction, bound)
        ins = self.s.code + pc
        index = answer.index
        predicate.cell = &self.s.slots[<int>index].data if answer.kind == "slot" else &ins.cells[<int>index]
        predicate.offset = answer.offset

    # -- records

    @property
    def has_records(self):
        return bool(self.record_buffers)

    def add_record(self, int index, slots, keep=None):
        """Append the values of ``slots`` at every boundary of a loop from now on; returns a key.

        Values must be tensors of numbers; a change of dtype or shape ends the record. ``keep``: number of newest rows
        to keep, None: all; about twice as many are stored. ``Engine.start`` empties records.
        """
        cdef boundary_record *record
        cdef int n = len(slots), k
        self.loops.materialize_all()
        self.check_readable(index, slots)
        used = {recording.entry for recording in self.record_buffers.values()}
        k = next((j for j in range(self.nrecords) if j not in used), -1)
        if k < 0:
            self.s.records = <boundary_record **>arena_grow(
                self.s.own, self.s.records, self.nrecords, self.nrecords + 1, sizeof(boundary_record *))
            k = self.nrecords
            self.nrecords += 1
        record = self.s.records[k] = <boundary_record *>arena_alloc(self.s.own, 1, sizeof(boundary_record))
        record.slots, record.specs = <int *>arena_alloc(record, n, sizeof(int)), <int *>arena_alloc(record, n, sizeof(int))
        record.nbytes = <np.npy_intp *>arena_alloc(record, n, sizeof(np.npy_intp))
        record.offsets = <np.npy_intp *>arena_alloc(record, n, sizeof(np.npy_intp))
        record.loop, record.enabled, record.nvalues = index, 1, n
        record.next = self.s.loops[index].first_record
        self.s.loops[index].first_record = k
        for j, slot in enumerate(slots):
            record.slots[<int>j] = slot
        self.next_key += 1
        self.record_buffers[self.next_key] = RecordBuffer(k, index, slots, keep)
        self.bind_derived_slots()
        self.update_observer_counts(index)
        return self.next_key

    cdef int append_record_slow(self, int index, object recording) except -1:
        """Make space for a row, and at first define its layout. A change of a value's spec ends the record."""
        cdef boundary_record *record = self.s.records[<int>recording.entry]
        cdef int j
        cdef Slot *slot
        for j in range(record.nvalues):
            slot = self.s.slots + record.slots[j]
            if slot.spec == 0 or slot.data == NULL or (record.row and slot.spec != record.specs[j]) or (
                    record.traced != NULL and math.prod(self.memory.specs.kind(slot.spec)[1]) != 1):
                recording.is_complete = False
                record.enabled = 0
                self.update_observer_counts(index)
                return 0
        if not record.row:
            record.row = 16 if record.traced == NULL else 32
            for j in range(record.nvalues):
                record.specs[j] = self.s.slots[record.slots[j]].spec
                record.nbytes[j] = self.memory.specs.nbytes(record.specs[j])
                record.offsets[j] = record.row
                record.row += (record.nbytes[j] + 7) // 8 * 8
            self.s.generation += 1
        if record.count < record.capacity:
            return 0
        if record.traced != NULL:
            recording.on_full()
            with recording.lock:
                recording.chunk, recording.taken = np.empty((TRACED_CHUNK_ROWS, record.row), np.uint8), 0
                record.buffer, record.capacity, record.count = np.PyArray_BYTES(recording.chunk), TRACED_CHUNK_ROWS, 0
            return 0
        if recording.chunk is not None:
            recording.full_chunks.append(recording.chunk[:record.count])
        capacity = min(max(256, 2 * record.capacity), MAX_CHUNK_ROWS)
        if recording.max_rows is not None:
            capacity = max(min(capacity, recording.max_rows), 16)
            while sum(map(len, recording.full_chunks[1:])) >= recording.max_rows:
                del recording.full_chunks[0]
        recording.chunk = np.empty((capacity, record.row), np.uint8)
        record.buffer, record.capacity, record.count = np.PyArray_BYTES(recording.chunk), capacity, 0

    # -- traced records

    def trace(self, int index, slots, on_full, lock):
        """Add a traced record of a loop, of values with one element: hooks are called only at the first and the last
        boundary of an entry, and after the record ended. Returns its key.

        ``on_full`` is called in the engine's thread when a chunk is full and must take the rows. The caller holds
        ``lock`` while it takes rows.
        """
        key = self.add_record(index, slots)
        recording = self.record_buffers[key]
        recording.on_full, recording.lock = on_full, lock
        self.s.records[<int>recording.entry].traced = &self.traced
        return key

    def tag_record(self, int key, int64_t tag):
        """Give the next rows of a traced record this tag."""
        self.s.records[<int>self.recording(key).entry].tag = tag

    def end_record(self, int key):
        """Let hooks be called again instead of a traced record; callable from any thread."""
        self.s.records[<int>self.recording(key).entry].enabled = 0

    def count_traced(self, int64_t more=0):
        """The number of boundaries of the execution that were traced, or counted by a hook: it adds ``more``."""
        self.traced += more
        return load_count(&self.traced)

    def clock(self):
        """The clock of the times in traced records, in seconds."""
        return now()

    def take_rows(self, int key, int64_t before):
        """Take the rows of a traced record of boundaries with lower numbers; callable from any thread.

        Returns iterations, tags, numbers, times, and for each slot its values.
        """
        cdef int64_t count
        recording = self.recording(key)
        cdef boundary_record *record = self.s.records[<int>recording.entry]
        if recording.chunk is None:
            return None
        count = load_count(&record.count)
        rows = recording.chunk[recording.taken:count]
        rows = rows[:np.searchsorted(_int64_column(rows, 16, np.int64), before)]
        recording.taken += len(rows)
        return (_int64_column(rows, 0, np.int64), _int64_column(rows, 8, np.int64), _int64_column(rows, 16, np.int64),
                _int64_column(rows, 24, np.float64), self.row_values(record, rows))

    cdef list row_values(self, boundary_record *record, object rows):
        """The values in rows, for each slot."""
        values = []
        for j in range(record.nvalues):
            dtype, shape = self.memory.specs.kind(record.specs[<int>j])
            first, n = record.offsets[<int>j], record.nbytes[<int>j]
            values.append(rows[:, first:first + n].view(dtype).reshape((len(rows), *shape)) if n
                          else np.empty((len(rows), *shape), dtype))
        return values

    def recording(self, int key):
        if key not in self.record_buffers:
            raise UsageError(f"there is no record {key}")
        return self.record_buffers[key]

    def read_record(self, int key):
        """The contents of a record: iterations, entries of the loop (0, 1 ...) and for each slot its values, ``[rows,
        ...]``.

        Read-only; they do not change when the engine resumes.
        """
        cdef boundary_record *record
        recording = self.recording(key)
        record = self.s.records[<int>recording.entry]
        self.loops.materialize_all()
        if not record.row:
            return np.empty(0, np.int64), np.empty(0, np.int64), [np.empty(0) for _ in recording.slots]
        rows = self.all_rows(recording)
        if recording.max_rows is not None:
            rows = rows[max(len(rows) - recording.max_rows, 0):]
        rows = rows.view()
        rows.flags.writeable = False
        return _int64_column(rows, 0, np.int64), _int64_column(rows, 8, np.int64), self.row_values(record, rows)

    def record_is_complete(self, int key):
        """False once a value changed its dtype or shape, which ended the record."""
        return self.recording(key).is_complete

    def truncate_record(self, int key, int64_t count=0):
        """Keep the first ``count`` rows of a record, for instance after a checkpoint was restored."""
        cdef boundary_record *record
        recording = self.recording(key)
        record = self.s.records[<int>recording.entry]
        self.loops.materialize_all()
        rows = self.all_rows(recording)[:max(count, 0)]
        recording.full_chunks = [rows] if len(rows) else []
        # Rows returned earlier stay valid: the next boundary begins a new chunk.
        recording.chunk = None
        record.count = record.capacity = 0

    def all_rows(self, recording):
        cdef boundary_record *record = self.s.records[<int>recording.entry]
        if recording.chunk is None and not recording.full_chunks:
            return np.empty((0, record.row), np.uint8)
        rows = [*recording.full_chunks, *([] if recording.chunk is None else [recording.chunk[:record.count]])]
        return rows[0] if len(rows) == 1 else np.concatenate(rows)

    def remove_record(self, int key):
        """Stop recording and delete the record; views of it stay valid."""
        cdef int k
        cdef int *link
        recording = self.recording(key)
        k = recording.entry
        self.loops.materialize_all()
        link = &self.s.loops[<int>recording.index].first_record
        while link[0] != k:
            link = &self.s.records[link[0]].next
        link[0] = self.s.records[k].next
        del self.record_buffers[key]
        self.update_observer_counts(recording.index)
        arena_free_tree(self.s.records[k])
        self.s.records[k] = NULL


def _boolean_answer(answer, where):
    answer = np.asarray(answer)
    if answer.dtype != np.bool_ or answer.size != 1:
        raise UsageError(f"{where} must give one boolean, and gives {answer.dtype.name} {list(answer.shape)}")
    return bool(answer.reshape(()))


def _int64_column(rows, int offset, dtype):
    """The numbers at an offset of each row."""
    return rows[:, offset:offset + 8].view(dtype)[:, 0]
