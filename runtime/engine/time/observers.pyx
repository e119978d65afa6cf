"""Predicates and records: looking at every boundary of a loop without leaving native code.

A predicate is an operator over slots that gives one boolean. It is bound to kernels as a node is, asked at each boundary
of its loop (in scalar programs as well), and stops the engine where it is true. A record appends the values of slots at
each boundary to a buffer.
"""

from libc.stdint cimport int64_t
cimport numpy as np

from ..plain.binder cimport Binder
from ..plain.interpreter cimport append_records, show_previous
from ..plain.loops cimport Loops
from ..plain.bound cimport run_bound
from ..plain.memory cimport Memory
from ..plain.pieces cimport release, retake, take
from ..plain.schedule cimport cannot_bind
from ..plain.state cimport *

import numpy as np

from ...plan import bind as binding
from ...errors import ExecutionError, LoopdbgError, UsageError, one_line
from ...ops.eager import Eager
from ...ops.primitives import NotNative

np.import_array()

_EAGER = Eager()
# Of a record, in one piece of memory.
cdef int64_t CHUNK_ROWS = 1 << 16


class Question:
    """What an instruction of the plan is to the binder."""

    outputs = ()
    inside = -1

    def __init__(self, op, inputs):
        self.op, self.inputs = op, tuple(inputs)


class Recording:
    """A record as Python sees it: rows of ``full`` chunks, then those of the one that is written.

    ``keep``: how many of the newest rows are wanted. Chunks are never written again, nor copied, so that a record costs
    what writing it costs.
    """

    def __init__(self, entry, index, slots, keep):
        self.entry, self.index, self.slots, self.keep = entry, index, tuple(slots), keep
        self.full = []
        self.chunk = None
        self.whole = True


cdef class Observers:
    """Asks predicates and keeps records."""

    cdef Memory memory
    cdef Binder binder
    cdef Loops loops
    cdef State *s
    cdef object plan
    cdef int npredicates         # entries of the state's array
    cdef int nrecords
    cdef dict questions          # key -> (entry, operator, slots, otherwise)
    cdef dict recordings         # key -> Recording
    cdef int next_key
    cdef public tuple hits       # keys of the predicates that are true where the engine stopped by one

    def __init__(self, Memory memory not None, Binder binder not None, Loops loops not None):
        self.memory, self.binder, self.loops = memory, binder, loops
        self.s, self.plan = &memory.s, memory.plan
        self.questions, self.recordings, self.hits = {}, {}, ()

    def begin(self):
        """Another execution begins: records do so with it."""
        self.hits = ()
        for key in self.recordings:
            self.forget_recorded(key)

    def slots_read(self):
        """What predicates and records read."""
        slots = {slot for _, question, _ in self.questions.values() for slot in question.inputs}
        return slots.union(*[recording.slots for recording in self.recordings.values()])

    # -- what can be read at a boundary

    def previous_slot(self, int index, int k):
        """The slot that, at a boundary after an iteration, shows what back edge k carried into that iteration."""
        return self.s.loops[index].first_derived + k

    def iteration_slot(self, int index):
        """The slot that shows a loop's iteration number (int64), whether its body has one or not."""
        return self.s.loops[index].first_derived + self.s.loops[index].nedges

    def condition_slot(self, int index):
        """The slot that shows the execution condition in force at a boundary."""
        return self.s.loops[index].first_derived + self.s.loops[index].nedges + 1

    def trip_count_slot(self, int index):
        """The slot that shows a loop's trip count (int64); -1: no limit."""
        return self.s.loops[index].first_derived + self.s.loops[index].nedges + 2

    def slot_at_boundary(self, int index, int slot):
        """The slot that has a body value at a boundary after an iteration that computed it.

        A result that a back edge carries may have moved to the edge's parameter by then. What an iteration gets stays
        where it is, also where it is the result of another back edge: at a boundary it is what the next one gets.
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

    def add_predicate(self, int index, op, slots, bint needs_body=False, otherwise=None):
        """Ask ``op`` about the values of ``slots`` at every boundary of a loop from now on; returns a key.

        ``op`` has ``apply(p, inputs)`` over primitives and gives one boolean. Where it is true, ``Engine.resume`` returns
        ``("predicate", index)`` at that boundary, the one at which the loop ends included. ``needs_body``: it reads what
        an iteration computed or carried before, and is not asked before iteration 0.

        A value that changes its dtype or shape binds it anew. Where it cannot be bound to kernels, ``otherwise(index)``
        is called at the boundary, or without that NumPy runs ``op``; a slot that has no value makes it false.
        """
        cdef int k
        cdef Predicate *p
        self.loops.settle()
        self.must_be_readable(index, slots)
        taken = {entry for entry, _, _ in self.questions.values()}
        k = next((j for j in range(self.npredicates) if j not in taken), -1)
        if k < 0:
            k = self.grow_predicates()
        p = self.s.predicates + k
        p.loop, p.enabled, p.needs_body, p.hit = index, 1, needs_body, 0
        p.next = self.s.loops[index].first_predicate
        self.s.loops[index].first_predicate = k
        question = Question(op, slots)
        for slot in set(question.inputs):
            self.memory.consumers[slot].append(p.pc)
        self.memory.load_consumers()
        unbind_node(self.s.code + p.pc)
        self.next_key += 1
        self.questions[self.next_key] = (k, question, otherwise)
        self.derive()
        self.count_observers(index)
        return self.next_key

    def grow_predicates(self):
        """One more entry, with an instruction of its own behind those of the plan."""
        self.s.predicates = <Predicate *>retake(self.s.own, self.s.predicates, self.npredicates, self.npredicates + 1,
                                                sizeof(Predicate))
        self.s.predicates[self.npredicates].pc = self.binder.add_instruction()
        self.npredicates += 1
        return self.npredicates - 1

    def remove_predicate(self, int key):
        """Ask it no more."""
        cdef int k, index
        cdef int *link
        entry, question, _ = self.question(key)
        k = entry
        index = self.s.predicates[k].loop
        self.loops.settle()
        link = &self.s.loops[index].first_predicate
        while link[0] != k:
            link = &self.s.predicates[link[0]].next
        link[0] = self.s.predicates[k].next
        for slot in set(question.inputs):
            self.memory.consumers[slot].remove(self.s.predicates[k].pc)
        self.memory.load_consumers()
        self.binder.unbind(self.s.predicates[k].pc)
        del self.questions[key]
        self.count_observers(index)

    def question(self, int key):
        if key not in self.questions:
            raise UsageError(f"there is no predicate {key}")
        return self.questions[key]

    def enable_predicate(self, int key, bint enabled=True):
        """Ask it, or keep it without asking."""
        cdef int k = self.question(key)[0]
        self.loops.settle()
        self.s.predicates[k].enabled = enabled
        self.count_observers(self.s.predicates[k].loop)

    def is_fast(self, int key):
        """True while kernels answer it, without Python. It is bound where it is asked first."""
        cdef int k = self.question(key)[0]
        return self.s.code[self.s.predicates[k].pc].kind == NATIVE

    def is_refused(self, int key):
        """True where no kernels could be found for it as its values are now, so that Python answers it."""
        cdef int k = self.question(key)[0]
        return self.s.code[self.s.predicates[k].pc].kind != NATIVE and self.s.code[self.s.predicates[k].pc].again.stable < 0

    def true_predicates(self, int index):
        """Keys of the predicates that are true at the boundary where a loop stands, in the order of their keys."""
        return tuple(key for key, (entry, _, _) in self.questions.items()
                     if self.s.predicates[<int>entry].loop == index and self.s.predicates[<int>entry].enabled and
                     self.s.predicates[<int>entry].hit)

    cdef int count_observers(self, int index) except -1:
        """After a change: what the hot path has to look at, and programs that look at something else are no more."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        loop.observers = loop.wants_previous = 0
        derived = range(loop.first_derived, loop.first_derived + loop.nedges)
        for entry, question, _ in self.questions.values():
            k = entry
            if self.s.predicates[k].loop == index and self.s.predicates[k].enabled:
                loop.observers += 1
                loop.wants_previous |= any(slot in derived for slot in question.inputs)
        for recording in self.recordings.values():
            if recording.index == index and self.s.records[<int>recording.entry].enabled:
                loop.observers += 1
                loop.wants_previous |= any(slot in derived for slot in recording.slots)
        self.s.generation += 1

    def derive(self):
        """Let the derived slots show where iterations, conditions and trip counts are."""
        cdef LoopState *loop
        cdef Slot *slot
        cdef int index, k
        for index in range(self.memory.nloops):
            loop = self.s.loops + index
            values = ((<size_t>&loop.i, np.dtype(np.int64)), (<size_t>&loop.keep, np.dtype(np.bool_)),
                      (<size_t>&loop.trip, np.dtype(np.int64)))
            for k, (address, dtype) in enumerate(values):
                slot = self.s.slots + loop.first_derived + loop.nedges + k
                slot.data, slot.spec, slot.nbytes = <char *><size_t>address, self.memory.spec(dtype, ()), dtype.itemsize

    def must_be_readable(self, int index, slots):
        """What a back edge carried before shows only at the boundaries of its own loop."""
        cdef LoopState *loop
        cdef int k
        for k in range(self.memory.nloops):
            loop = self.s.loops + k
            if k != index and any(loop.first_derived <= slot < loop.first_derived + loop.nedges for slot in slots):
                raise UsageError(f"previous values of {self.plan.loops[k].loop.describe()} can be read only at its own "
                                 f"boundaries")

    def observe_slowly(self, int index):
        """Whatever the predicates and records of a boundary need, then all of them."""
        cdef LoopState *loop = self.s.loops + index
        cdef Slot *slot
        cdef Edge *e
        cdef int k, spec
        if loop.wants_previous and loop.i > 0:
            for k in range(loop.nedges):
                e = loop.edges + k
                slot = self.s.slots + loop.first_derived + k
                spec = previous_of(self.s, e).spec
                if slot.spec != spec:
                    slot.spec, slot.nbytes = spec, self.memory.specs.nbytes(spec)
                    self.memory.unbind_consumers(loop.first_derived + k)
            show_previous(self.s, loop)
        for recording in list(self.recordings.values()):
            if recording.index == index and self.s.records[<int>recording.entry].enabled:
                self.record_slowly(index, recording)
        loop.hit = 0
        for key, (entry, _, _) in list(self.questions.items()):
            k = entry
            if self.s.predicates[k].loop == index:
                self.s.predicates[k].hit = 0
                if self.s.predicates[k].enabled and (loop.i > 0 or not self.s.predicates[k].needs_body):
                    hit = self.ask_slowly(index, key)
                    self.s.predicates[k].hit = hit
                    loop.hit |= hit
        append_records(self.s, loop)
        loop.checked = 1

    cdef int ask_slowly(self, int index, int key) except -1:
        """Bind a predicate and ask it, or ask it in Python."""
        cdef Instr *ins
        cdef Predicate *p
        entry, question, otherwise = self.questions[key]
        p = self.s.predicates + <int>entry
        ins = self.s.code + p.pc
        if ins.kind == NATIVE and ins.nguards or ins.kind != NATIVE and ins.again.stable >= 0:
            try:
                self.bind_predicate(<int>entry, question)
            except NotNative:
                ins.kind = UNBOUND
                cannot_bind(&ins.again)
        if ins.kind == NATIVE:
            if not run_bound(self.s, ins):
                return (p.cell[0] + p.offset)[0] != 0
        if otherwise is not None:
            return bool(otherwise(index))
        values = [self.seen(index, slot) for slot in question.inputs]
        if any(value is None for value in values):
            return 0
        where = f"a predicate at {self.memory.at(index)}"
        try:
            (answer,) = self.binder.quiet.run(question.op.apply, _EAGER, values)
        except LoopdbgError as error:
            raise ExecutionError(f"{where}: {one_line(error)}") from error
        except Exception as error:
            raise ExecutionError(f"{where}: {one_line(error)}") from error
        return _truth(answer, where)

    def seen(self, int index, int slot):
        """A slot's value for NumPy; derived ones too."""
        cdef LoopState *loop = self.s.loops + index
        if loop.first_derived <= slot < loop.first_derived + loop.nedges:
            return self.loops.previous(index, slot - loop.first_derived)
        return self.memory.look(slot)

    def bind_predicate(self, int entry, question):
        """Bind a predicate on what its inputs are now.

        Raises:
            NotNative: that is not possible.
        """
        cdef Predicate *p = self.s.predicates + entry
        cdef Instr *ins
        cdef int pc = p.pc
        inputs = []
        for slot in question.inputs:
            if self.s.slots[<int>slot].spec == 0 or self.s.slots[<int>slot].data == NULL:
                raise NotNative
            inputs.append(self.binder.input(slot))
        bound = binding.bind(question.op, inputs)
        (answer,) = bound.outputs
        if answer.dtype != np.bool_ or answer.size != 1:
            raise UsageError(f"a predicate must give one boolean, and this one gives {answer.dtype.name} "
                             f"{list(answer.shape)}")
        self.binder.install(pc, question, bound)
        ins = self.s.code + pc
        p.cell = &self.s.slots[<int>answer.index].data if answer.kind == "slot" else &ins.cells[<int>answer.index]
        p.offset = answer.offset

    # -- records

    def record(self, int index, slots, keep=None):
        """Append the values of ``slots`` at every boundary of a loop from now on; returns a key.

        Values must be tensors of numbers; one that changes its dtype or shape ends the record. ``keep``: how many of the
        newest rows are wanted, None: all; about twice as many are held. ``Engine.start`` begins them anew.
        """
        cdef boundary_record *record
        cdef int n = len(slots), k
        self.loops.settle()
        self.must_be_readable(index, slots)
        taken = {recording.entry for recording in self.recordings.values()}
        k = next((j for j in range(self.nrecords) if j not in taken), -1)
        if k < 0:
            self.s.records = <boundary_record **>retake(
                self.s.own, self.s.records, self.nrecords, self.nrecords + 1, sizeof(boundary_record *))
            k = self.nrecords
            self.nrecords += 1
        record = self.s.records[k] = <boundary_record *>take(self.s.own, 1, sizeof(boundary_record))
        record.slots, record.specs = <int *>take(record, n, sizeof(int)), <int *>take(record, n, sizeof(int))
        record.nbytes = <np.npy_intp *>take(record, n, sizeof(np.npy_intp))
        record.offsets = <np.npy_intp *>take(record, n, sizeof(np.npy_intp))
        record.loop, record.enabled, record.nvalues = index, 1, n
        record.next = self.s.loops[index].first_record
        self.s.loops[index].first_record = k
        for j, slot in enumerate(slots):
            record.slots[<int>j] = slot
        self.next_key += 1
        self.recordings[self.next_key] = Recording(k, index, slots, keep)
        self.derive()
        self.count_observers(index)
        return self.next_key

    cdef int record_slowly(self, int index, object recording) except -1:
        """Capacity for a row; the first time, what a row is. A value that is another than before ends the record."""
        cdef boundary_record *record = self.s.records[<int>recording.entry]
        cdef int j
        cdef Slot *slot
        for j in range(record.nvalues):
            slot = self.s.slots + record.slots[j]
            if slot.spec == 0 or slot.data == NULL or (record.row and slot.spec != record.specs[j]):
                recording.whole = False
                record.enabled = 0
                self.count_observers(index)
                return 0
        if not record.row:
            record.row = 16
            for j in range(record.nvalues):
                record.specs[j] = self.s.slots[record.slots[j]].spec
                record.nbytes[j] = self.memory.specs.nbytes(record.specs[j])
                record.offsets[j] = record.row
                record.row += (record.nbytes[j] + 7) // 8 * 8
            self.s.generation += 1
        if record.count < record.capacity:
            return 0
        if recording.chunk is not None:
            recording.full.append(recording.chunk[:record.count])
        capacity = min(max(256, 2 * record.capacity), CHUNK_ROWS)
        if recording.keep is not None:
            capacity = max(min(capacity, recording.keep), 16)
            while sum(map(len, recording.full[1:])) >= recording.keep:
                del recording.full[0]
        recording.chunk = np.empty((capacity, record.row), np.uint8)
        record.buffer, record.capacity, record.count = np.PyArray_BYTES(recording.chunk), capacity, 0

    def recording(self, int key):
        if key not in self.recordings:
            raise UsageError(f"there is no record {key}")
        return self.recordings[key]

    def recorded(self, int key):
        """What a record has: iterations, entries of the loop (0, 1 ...) and for each slot its values, ``[rows, ...]``.

        Read-only, and they stay as they are while the engine goes on.
        """
        cdef boundary_record *record
        recording = self.recording(key)
        record = self.s.records[<int>recording.entry]
        self.loops.settle()
        if not record.row:
            return np.empty(0, np.int64), np.empty(0, np.int64), [np.empty(0) for _ in recording.slots]
        rows = self.all_rows(recording)
        if recording.keep is not None:
            rows = rows[max(len(rows) - recording.keep, 0):]
        rows = rows.view()
        rows.flags.writeable = False
        values = []
        for j in range(record.nvalues):
            dtype, shape = self.memory.specs.kind(record.specs[<int>j])
            first, n = record.offsets[<int>j], record.nbytes[<int>j]
            values.append(rows[:, first:first + n].view(dtype).reshape((len(rows), *shape)) if n
                          else np.empty((len(rows), *shape), dtype))
        return rows[:, :8].view(np.int64)[:, 0], rows[:, 8:16].view(np.int64)[:, 0], values

    def record_is_whole(self, int key):
        """False once a value changed its dtype or shape, which ended the record."""
        return self.recording(key).whole

    def forget_recorded(self, int key, int64_t count=0):
        """Keep the first ``count`` rows of a record only: after a checkpoint was restored, say."""
        cdef boundary_record *record
        recording = self.recording(key)
        record = self.s.records[<int>recording.entry]
        self.loops.settle()
        rows = self.all_rows(recording)[:max(count, 0)]
        recording.full = [rows] if len(rows) else []
        # What was given out stays as it is: a new chunk is begun at the next boundary.
        recording.chunk = None
        record.count = record.capacity = 0

    def all_rows(self, recording):
        cdef boundary_record *record = self.s.records[<int>recording.entry]
        if recording.chunk is None and not recording.full:
            return np.empty((0, record.row), np.uint8)
        rows = [*recording.full, *([] if recording.chunk is None else [recording.chunk[:record.count]])]
        return rows[0] if len(rows) == 1 else np.concatenate(rows)

    def stop_recording(self, int key):
        """Record no more, and forget what there is; views of it stay."""
        cdef int k
        cdef int *link
        recording = self.recording(key)
        k = recording.entry
        self.loops.settle()
        link = &self.s.loops[<int>recording.index].first_record
        while link[0] != k:
            link = &self.s.records[link[0]].next
        link[0] = self.s.records[k].next
        del self.recordings[key]
        self.count_observers(recording.index)
        release(self.s.records[k])
        self.s.records[k] = NULL


def _truth(answer, where):
    answer = np.asarray(answer)
    if answer.dtype != np.bool_ or answer.size != 1:
        raise UsageError(f"{where} must give one boolean, and gives {answer.dtype.name} {list(answer.shape)}")
    return bool(answer.reshape(()))
