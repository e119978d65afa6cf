"""Nodes that only show memory in another way, and need not run.

A Reshape, a Transpose or a Slice copies. Where all who read its result are kernels that can read the memory itself, with
other strides (plan/through.py), they are bound so, and the node is passed over: it leaves its calls out. That is so for
nodes of a loop's body that run in each iteration, and whose results only nodes of that body read.

Where extents vary, a reader is bound for a range of them (growing/), and one binding may look through a node while those
for other ranges do not. Such a one asks for the value when its turn comes, and the calls run then (memory/passed.pxd).

Who else wants such a value gets it all the same: the calls run then, on what the iteration had. Where a reader is bound
anew, or runs in Python, the node runs again as any other does (memory/passed.pxd).

In the main graph a value may be read by loops, too, which take it as it lies. Where nobody looks at anything but the
outputs, a node there that gives an input's bytes as they are lends its slot the input's memory: nodes of the main graph
run once, so that nobody writes there while it is read. Else it copies.
"""

from libc.stdint cimport uintptr_t
cimport numpy as np

from .binder cimport Binder
from .groups.group cimport turn_back, turn_forth
from .memory.memory cimport Memory
from .memory.passed cimport pass_node, run_passed, shut, wake_node
from .memory.state cimport *
from ..kernels.call cimport Call

from ..kernels.extents import Extent, Followed, Span, varies
from ..plan import ranges
from ..plan.bound import Input
from ..plan.plan import Opcode
from ..plan.through import bind_through, views_through

np.import_array()

#: Results of fewer bytes are copied in no time.
LEAST_BYTES = 256
#: So many of what an extent counts are a small value, where it grows.
FEW = 16
#: Rows of so many elements take longer by a call each than a copy does: 16 turned [8,8] are added in 0.3 us, and were in 1.4.
SHORT_ROW = 32

#: So often has a loop to run before readers are bound for ranges once more, to look through nodes: 0.3 ms each, for one
#: microsecond an iteration.
patience = 200

# Whether what a node would have given can be had.
cdef enum ResultIs:
    GONE = 0
    BEFORE = 1       # of the iteration before the boundary
    NOW = 2          # of the iteration that runs


cdef int result_is(const State *s, int pc, int inside) noexcept nogil:
    """As seen from where the execution stands."""
    cdef const LoopState *loop = s.loops + inside
    if s.code[pc].kind != NATIVE:
        return GONE
    if not loop.active:
        return GONE if s.depth or not loop.i else BEFORE
    if loop.top <= s.pc <= loop.head and s.stack[s.depth - 1] == inside:
        return BEFORE if loop.i else GONE
    return NOW if s.pc > pc else GONE


ctypedef int (*call_function)(Call *call) noexcept nogil


cdef int lend_memory(Call *call) noexcept nogil:
    """In place of a call that copies its input."""
    call.cell[1][0] = call.cell[0][0] + call.offset[0]
    return 0


cdef class Views:
    """Knows which nodes are passed over, and who looks through them."""

    def __init__(self, Memory memory not None, Binder binder not None):
        self.memory, self.binder, self.s = memory, binder, &memory.s
        self.seen, self.passed, self.shown, self.sources = {}, set(), {}, {}
        self.watched = frozenset()
        self.lenders, self.lending, self.refused = {}, -1, {}
        self.candidates, self.tried, self.waits = set(), {}, {}

    # -- who is passed over

    cdef int look(self, int index, set members) except -1:
        """Look at the body of a running loop, at a boundary; ``index`` -1, the main graph, has none. ``members``: nodes
        that run in groups."""
        cdef int fusing = self.s.fusing
        if index < 0 or self.s.by_hand or self.binder.streams:
            return 0
        if self.fixed is None:
            self.fixed, self.within = ports_of(self.memory.plan), within_branches(self.memory.plan)
        cdef int pc
        self.s.fusing = 0       # what is bound here is no reason to look again
        self.tried.clear()
        try:
            found = [pc for pc in self.memory.plan.inside(index)
                     if self.binder.views[pc] and pc > self.s.loops[index].head and pc not in members and
                     self.can_be_passed(pc) and self.is_worth_it(pc, members)]
            # Readers for a range are bound when it is known what all the others see.
            varied = [pc for pc in found if any([self.s.code[<int>k].varying != NULL for k in self.readers_of(pc)])]
            found = [pc for pc in found if pc not in varied] + self.timely(index, varied)
            self.candidates = set(found)
            for pc in found:
                self.pass_over(pc)
        finally:
            self.s.fusing = fusing
        return 0

    cdef list timely(self, int index, list varied):
        """Nodes whose readers are bound for ranges that last, where the loop ran often enough. For others it is looked at
        again."""
        cdef LoopState *loop = self.s.loops + index
        if varied and not loop.views_at:
            loop.views_at = loop.boundaries + patience
        if loop.views_at > loop.boundaries:
            return []
        found = [pc for pc in varied if not any([is_pinned(self.s.code + <int>k) for k in (pc, *self.readers_of(pc))])]
        if len(found) < len(varied):
            self.waits[index] = 3 * self.waits.get(index, 1)
            loop.views_at = loop.boundaries + <int64_t>self.waits[index]
        return found

    cdef bint is_worth_it(self, int pc, set members) except -1:
        """Might all who read what a node gives look through it, and gain by that?"""
        cdef int reader
        readers = self.readers_of(pc)
        # What lies apart is slower to read: once, it takes no longer than the copy.
        if any([lies_apart(view) and (len(readers) > 1 or is_turned_fast(view)) for view in self.binder.views[pc]]):
            return False
        return all([self.looks_alike(reader, pc, members) for reader in readers])

    cdef list readers_of(self, int pc):
        return sorted({reader for slot in self.memory.plan.code[pc].outputs for reader in self.memory.consumers[slot]})

    cdef int pass_over(self, int pc) except -1:
        """Bind all who read what a node gives to what it is a copy of, if that is possible."""
        cdef Instr *ins = self.s.code + pc
        cdef int reader
        if not self.binder.views[pc]:
            return 0        # what it reads now lies so that it has to compute
        readers = self.readers_of(pc)
        key = (ins.binding, [self.s.code[reader].binding for reader in readers])
        if self.refused.get(pc) == key:
            return 0
        found = []
        for reader in readers:
            if self.s.code[reader].passed:
                return 0
            if self.s.code[reader].varying == NULL:
                if ins.passed:
                    continue
                bound = self.bind_reader(reader, pc)
            elif self.looks_through(reader, self.memory.plan.code[pc].outputs):
                continue
            else:
                bound = self.bind_for_range(reader, pc)
            if bound is None:
                self.refused[pc] = key
                return 0
            found.append((reader, bound))
        for reader, bound in found:
            if self.s.code[reader].varying == NULL:
                self.install(reader, bound)
            else:
                self.install_for_range(reader, bound)
        if ins.passed:
            return 0
        for reader in readers:
            self.s.code[reader].looks = 1
        pass_node(ins)
        self.passed.add(pc)
        self.shown[pc] = self.moment(pc)
        self.s.passing = 1
        self.s.generation += 1
        return 0

    cdef bint can_be_passed(self, int pc) except -1:
        cdef Instr *ins = self.s.code + pc
        cdef int slot
        if ins.kind != NATIVE or ins.once >= 0 or ins.nguards or pc in self.within:
            return False
        if ins.varying != NULL and (ins.varying.element >= 0 or not ins.varying.shows):
            return False
        for slot in self.memory.plan.code[pc].outputs:
            if slot < 0 or self.is_small(pc, slot) or self.memory.known[slot] is not None or \
                    slot in self.fixed or slot in self.watched or not self.memory.consumers[slot]:
                return False
        return True

    cdef bint is_small(self, int pc, int slot) except -1:
        cdef Varying *v = self.s.code[pc].varying
        cdef int k
        for k in range(0 if v == NULL else v.noutputs):
            if v.outputs[k].slot == slot and v.outputs[k].family != NULL:
                return FEW * v.outputs[k].family.unit < LEAST_BYTES
        return self.s.slots[slot].nbytes < LEAST_BYTES

    cdef bint looks_alike(self, int reader, int pc, set members) except -1:
        """May a reader be bound anew, to run where and when it does?"""
        cdef Instr *ins = self.s.code + reader
        instruction = self.memory.plan.code[reader] if reader < len(self.memory.plan.code) else None
        if instruction is None or instruction.inside != self.memory.plan.code[pc].inside or instruction.ahead is not None:
            return False
        if ins.kind != NATIVE or ins.once >= 0 or ins.nguards or ins.passed or reader <= pc or reader in members:
            return False
        return ins.varying == NULL or ins.varying.element < 0

    cdef bint looks_through(self, int reader, outputs) except -1:
        """Does the binding in use of a reader, one for a range, read other memory in place of a node's results?"""
        cdef Varying *v = self.s.code[reader].varying
        cdef int k
        for k in range(v.ninputs):
            if v.inputs[k].slot in outputs and not v.inputs[k].seen:
                return False
        return True

    cdef object bind_reader(self, int reader, int pc):
        """A reader bound to look through a node, too: (what it sees, Bound); None where it cannot be."""
        cdef int slot
        if self.s.code[pc].varying != NULL:
            return None
        instruction = self.memory.plan.code[reader]
        seen = dict(self.seen[reader]) if self.s.code[reader].through else {}
        for slot, view in zip(self.memory.plan.code[pc].outputs, self.binder.views[pc]):
            if slot in instruction.inputs:
                seen[slot] = view
        for slot in instruction.inputs:
            if slot >= 0 and self.s.slots[slot].spec == 0:
                return None
        inputs = [None if slot < 0 else self.binder.input(slot) for slot in instruction.inputs]
        bound = bind_through(instruction.op, inputs, seen, self.binder.block)
        if bound is None or len(bound.outputs) < len(instruction.outputs):
            return None
        for slot, out in zip(instruction.outputs, bound.outputs):
            if slot >= 0 and (self.s.slots[slot].flags != OWN or
                              self.s.slots[slot].spec != self.memory.spec(out.dtype, out.shape)):
                return None
        return seen, bound

    cdef int install(self, int reader, object found) except -1:
        seen, bound = found
        self.binder.install(reader, self.memory.plan.code[reader], bound)
        self.binder.views[reader] = bound.views
        self.s.code[reader].through = 1
        self.seen[reader] = seen
        return 0

    # -- readers that are bound for a range

    cdef object bind_for_range(self, int reader, int pc):
        """The same for one that follows an extent: bound for a range, to look through all nodes that may be passed over or,
        where that cannot be, through this one more."""
        if reader not in self.tried:
            self.tried[reader] = self.bind_through_all(reader, self.candidates)
        if self.tried[reader] is None and self.candidates.intersection(self.writers_of(reader)) != {pc}:
            return self.bind_through_all(reader, {pc})
        return self.tried[reader]

    cdef list writers_of(self, int reader):
        return [self.s.writer[<int>slot] for slot in self.memory.plan.code[reader].inputs if slot >= 0]

    cdef object bind_through_all(self, int reader, set candidates):
        cdef Varying *v = self.s.code[reader].varying
        cdef int slot, leading = -1
        instruction = self.memory.plan.code[reader]
        span = Span(v.extent)
        given, seen, rests = [], {}, {}
        for k, slot in enumerate(instruction.inputs):
            if slot < 0:
                given.append(None)
                continue
            found = self.input_at(v, slot, Extent(span))
            if found is None:
                return None
            given.append(found)
            if slot == v.inputs[v.leading].slot and leading < 0:
                leading = k
            if self.is_passed(slot, candidates):
                seen[slot] = self.view_of(self.s.writer[slot], slot, found.shape, rests, candidates)
                if seen[slot] is None:
                    return None
        place = self.binder.growing.place_for(instruction, given)
        bound = bind_through(instruction.op, given, seen, self.binder.block, place)
        if bound is None or len(bound.outputs) < len(instruction.outputs):
            return None
        followed = Followed(span, leading, [None if i is None else i.shape for i in given], {}, -1)
        followed.rooms = [None if i is None else i.room for i in given]
        ready = self.binder.growing.finished(instruction, followed, given, bound)
        own = {slot: (i.shape, i.room) for slot, i in zip(instruction.inputs, given) if i is not None}
        if ready is None or any([own.get(slot, lies) != lies for slot, lies in rests.items()]):
            return None
        # Where the range begins later, the binding of now stays for what is before. Where it ends earlier, who goes beyond
        # is bound anew.
        if span.high < min(v.high, v.extent + FEW) or not span.low <= v.extent <= span.high:
            return None
        beyond = {slot: lies for slot, lies in rests.items() if slot not in own}
        return ready, given, seen, beyond

    cdef bint is_passed(self, int slot, set candidates) except -1:
        """Is a slot written by a node that is passed over, or may be?"""
        cdef int writer = self.s.writer[slot]
        return writer >= 0 and (writer in candidates or self.s.code[writer].passed)

    cdef object input_at(self, Varying *v, int slot, object number):
        """An input of a node that is bound for a range, where ``number`` is what it follows; None: it cannot be told."""
        cdef Port *p = NULL
        cdef int k
        for k in range(v.ninputs):
            if v.inputs[k].slot == slot:
                p = v.inputs + k
        if p == NULL or p.spec == 0:
            return None
        dtype, shape = self.memory.specs[p.spec]
        if p.family == NULL:
            return self.binder.input(slot)
        if self.memory.known[slot] is not None:
            return None
        shape = (*shape[:p.axis], p.base + p.slope * number, *shape[p.axis + 1:])
        room = self.memory.specs.room(p.spec)
        return Input(slot, dtype, shape, None, lambda: self.memory.look(slot).copy(), room=room)

    cdef object view_of(self, int pc, int slot, tuple shape, dict rests, set candidates):
        """What a node shows in a result of this shape, some of which may vary; None: it cannot be told. ``rests`` gets the
        shapes and rooms of the slots that this follows from."""
        cdef Varying *v = self.s.code[pc].varying
        cdef int other
        instruction = self.memory.plan.code[pc]
        if v == NULL and not varies(shape) and self.rests_on(pc, rests, candidates):
            return self.binder.views[pc][instruction.outputs.index(slot)]
        number = None if v == NULL else number_at(v, slot, shape)
        if (v != NULL and number is None) or (v == NULL and varies(shape)):
            return None
        given, seen = [], {}
        for other in instruction.inputs:
            if other < 0:
                given.append(None)
                continue
            found = self.binder.input(other) if v == NULL else self.input_at(v, other, number)
            if found is None or rests.setdefault(other, (found.shape, found.room)) != (found.shape, found.room):
                return None
            given.append(found)
            if self.is_passed(other, candidates):
                seen[other] = self.view_of(self.s.writer[other], other, found.shape, rests, candidates)
                if seen[other] is None:
                    return None
        views = views_through(instruction.op, given, seen)
        return views[instruction.outputs.index(slot)] if views else None

    cdef bint rests_on(self, int pc, dict rests, set candidates) except -1:
        """Collect what the view of a node whose shapes do not vary follows from; False: it is to be passed over in another
        way than it was bound."""
        cdef int slot
        for slot in self.memory.plan.code[pc].inputs:
            if slot < 0:
                continue
            if self.s.code[pc].through and slot in self.seen[pc]:
                if not self.rests_on(self.s.writer[slot], rests, candidates):
                    return False
            elif self.is_passed(slot, candidates):
                return False
            found = self.binder.input(slot)
            if rests.setdefault(slot, (found.shape, found.room)) != (found.shape, found.room):
                return False
        return True

    cdef int install_for_range(self, int reader, object found) except -1:
        """In place of the binding in use."""
        cdef Instr *ins = self.s.code + reader
        cdef int64_t fitted = ins.varying.fitted, before = ins.varying.seen
        (followed, bound, appended), given, seen, beyond = found
        if followed.span.low > ins.varying.low:
            ins.varying.high = followed.span.low - 1
            self.binder.growing.put_aside(reader)
        else:
            self.binder.growing.arrays.pop((reader, ins.varying.key), None)
        instruction = self.memory.plan.code[reader]
        self.binder.install(reader, instruction, ranges.settled(bound, given))
        self.binder.views[reader] = bound.views
        self.binder.growing.vary(reader, instruction, followed, bound, appended, self.binder.keep[reader], seen, beyond)
        self.binder.keep[reader] = None
        ins.varying.fitted, ins.varying.seen = fitted, before
        ins.through = ins.looks = 1
        self.sources.setdefault(reader, set()).update([view.index for view in seen.values()])
        return 0

    cdef list readers(self, int slot):
        """Positions of the nodes that read a slot, through other nodes too."""
        cdef int reader
        found = list(self.memory.consumers[slot])
        for reader, seen in self.seen.items():
            if self.s.code[reader].through and any([view.index == slot for view in seen.values()]):
                found.append(reader)
        found += [reader for reader, sources in self.sources.items() if slot in sources]
        return found

    # -- who lends

    cdef int lend(self, set members) except -1:
        """An execution begins of which only the outputs are looked at. ``members``: nodes that run in groups."""
        cdef int pc, slot
        if self.lending == self.s.generation:
            return self.take_back(False)
        self.take_back(True)
        if self.binder.streams:
            return 0
        for pc, views in enumerate(self.binder.views):
            if not views or pc in members or not self.can_lend(pc):
                continue
            slot = self.memory.plan.code[pc].outputs[0]
            call = self.s.code[pc].calls
            self.lenders[pc] = slot, self.s.code[pc].binding, <uintptr_t>call.run
            self.memory.lent[slot] = views[0].index, views[0].offset
            call.run = lend_memory
            # Whoever is to write to the slot makes room first.
            self.s.slots[slot].flags = 0
        self.lending = self.s.generation
        return 0

    cdef bint can_lend(self, int pc) except -1:
        cdef Instr *ins = self.s.code + pc
        cdef Slot *slot
        cdef Slot *source
        instruction = self.memory.plan.code[pc] if pc < len(self.memory.plan.code) else None
        if instruction is None or instruction.inside >= 0 or len(instruction.outputs) != 1 or instruction.outputs[0] < 0:
            return False
        view = self.binder.views[pc][0]
        if view.kind != "slot" or view.index not in instruction.inputs or not lies_whole(view):
            return False
        if ins.kind != NATIVE or ins.varying != NULL or ins.shelf != NULL or ins.ncalls != 1 or ins.nguards or ins.renews:
            return False
        slot, source = self.s.slots + <int>instruction.outputs[0], self.s.slots + <int>view.index
        return slot.spec != 0 and slot.flags == OWN and slot.nbytes >= LEAST_BYTES and source.spec != 0 and \
            self.memory.known[instruction.outputs[0]] is None and ins.calls.nargs == 2 and \
            ins.calls.cell[0] == &source.data and ins.calls.cell[1] == &slot.data and ins.calls.offset[1] == 0 and \
            self.memory.specs[source.spec][0] == self.memory.specs[slot.spec][0] and \
            view.size * view.dtype.itemsize == slot.nbytes and view.offset + slot.nbytes <= source.nbytes

    cdef int take_back(self, bint for_good) except -1:
        """No slot shows what another one held in the execution before. ``for_good``: nodes copy again."""
        cdef Instr *ins
        cdef Slot *slot
        for pc, (k, binding, function) in self.lenders.items():
            ins, slot = self.s.code + <int>pc, self.s.slots + <int>k
            # One that was bound anew has memory of its own.
            if slot.flags == 0 and slot.spec != 0 and slot.owner != NULL:
                slot.data = np.PyArray_BYTES(<object>slot.owner)
                slot.flags = OWN if for_good else 0
            if for_good and ins.calls != NULL and ins.binding == binding:
                ins.calls.run = <call_function><uintptr_t>function
        if for_good:
            self.lenders.clear()
            self.memory.lent.clear()
            self.lending = -1
        return 0

    # -- who wants the values

    cdef tuple moment(self, int pc):
        """The iteration before the boundary where the execution stands, or the one that runs."""
        cdef int inside = self.memory.plan.code[pc].inside
        cdef LoopState *loop = self.s.loops + inside
        return loop.entries, loop.i - (result_is(self.s, pc, inside) != NOW)

    @property
    def lent(self):
        """The nodes of the main graph that lend memory in place of copying."""
        return sorted(self.lenders)

    @property
    def positions(self):
        """The nodes that are passed over."""
        return sorted([pc for pc in self.passed if self.s.code[<int>pc].passed])

    cdef bint show(self, int pc) except -1:
        """Let the slots of a node have their values; False where they cannot be had."""
        cdef int inside = self.memory.plan.code[pc].inside
        cdef Instr *ins = self.s.code + pc
        cdef LoopState *loop = self.s.loops + inside
        cdef int status = result_is(self.s, pc, inside)
        moment = self.moment(pc)
        if self.shown.get(pc) == moment:
            return True
        if status == GONE or not ins.passed:
            return False
        if status == BEFORE:
            turn_back(self.s, loop, loop.i - 1)
        # The extent may be another since it ran: the execution was taken elsewhere.
        failed = ins.varying != NULL and not self.binder.growing.provide(pc)
        failed = failed or not ins.passed or run_passed(self.s, ins)
        if status == BEFORE:
            turn_forth(self.s, loop)
        if failed:
            return False
        self.shown[pc] = moment
        return True

    cdef int show_all(self) except -1:
        for pc in self.passed:
            if self.s.code[<int>pc].passed:
                self.show(pc)
        return 0

    cdef bint is_there(self, int slot) except -1:
        """Does a slot have its value? It gets it where it can still be had."""
        cdef int pc = self.s.writer[slot] if slot < self.memory.nslots else -1
        if pc not in self.passed:
            return True
        if self.s.code[pc].passed:
            return self.show(pc)
        # It runs again; its slot may lack what it gave before.
        if result_is(self.s, pc, self.memory.plan.code[pc].inside) == GONE and self.shown.get(pc, ()) is None:
            return False
        self.passed.discard(pc)
        return True

    cdef set gone(self):
        """The slots that lack their values."""
        found = set()
        for pc in list(self.passed):
            found.update([slot for slot in self.memory.plan.code[pc].outputs if not self.is_there(slot)])
        return found

    cdef int wake(self, int pc) except -1:
        """Let a node run again."""
        if not self.s.code[pc].passed:
            return 0
        if not self.show(pc):
            self.shown[pc] = None
        wake_node(self.s.code + pc)
        self.s.generation += 1
        return 0

    cdef int wake_for(self, members) except -1:
        """Nodes run in a group: what they read is written, if not by themselves."""
        cdef int pc, slot
        for pc in members:
            self.wake(pc)
            for slot in self.memory.plan.code[pc].inputs:
                if slot >= 0 and self.s.writer[slot] >= 0:
                    self.wake(self.s.writer[slot])
        return 0

    cdef int wake_by_hand(self) except -1:
        """Something is to be changed: what was computed before does not follow it. Those whose turn has not come read what
        was shown before them."""
        cdef int reader
        passed = [pc for pc in self.passed if self.s.code[<int>pc].passed]
        for pc in passed:
            if not self.show(pc):
                self.shown[pc] = None
        for pc in passed:
            wake_node(self.s.code + <int>pc)
        for reader in (*self.seen, *self.sources):
            shut(self.s, reader, True)
        return 0

    cdef int watch(self, frozenset slots) except -1:
        """These slots, and no others, are read at boundaries."""
        cdef int slot
        self.watched = slots
        for slot in slots:
            if slot < self.memory.nslots and self.s.writer[slot] >= 0:
                self.wake(self.s.writer[slot])
        return 0

    cdef int begin(self) except -1:
        """Another execution begins: nothing of it was shown."""
        self.shown.clear()
        return 0

    cdef int forget(self) except -1:
        """The execution is elsewhere now, with the values that slots had there."""
        cdef int pc, slot
        self.shown.clear()
        for pc in self.passed:
            if self.s.code[pc].kind != NATIVE:
                wake_node(self.s.code + pc)
            if all([self.s.slots[<int>slot].owner != NULL for slot in self.memory.plan.code[pc].outputs]):
                self.shown[pc] = self.moment(pc)
        return 0


cdef bint is_pinned(Instr *ins) noexcept:
    """Is it bound for one extent alone?"""
    return ins.varying != NULL and ins.varying.low == ins.varying.high


cdef object number_at(Varying *v, int slot, tuple shape):
    """The number that a node follows, as it follows from the shape of a result; None: it does not."""
    cdef Port *p
    cdef int k
    for k in range(v.noutputs):
        p = v.outputs + k
        if p.slot == slot and p.family != NULL:
            extent = shape[p.axis]
            if type(extent) is Extent and not (extent.base - p.base) % p.slope and not extent.slope % p.slope:
                number = Extent(extent.span, (extent.base - p.base) // p.slope, extent.slope // p.slope)
                return number if number.now == v.extent else None
    return None


def lies_apart(view):
    """Are neighbours along the last axis none in memory?"""
    last = view.ndim - 1
    return last >= 0 and view.shape[last] > 1 and view.strides[last] != view.dtype.itemsize


def is_turned_fast(view):
    """Small matrices turned: the copy turns blocks in registers, and to read them takes a call a row."""
    return view.ndim > 1 and 4 <= view.shape[view.ndim - 1] < SHORT_ROW and view.shape[view.ndim - 2] >= 4 and \
        view.strides[view.ndim - 2] == view.dtype.itemsize and view.dtype.itemsize in (2, 4)


def lies_whole(view):
    """Are the bytes one after the other, in order? Where an axis of extent 1 would go on does not matter."""
    step = view.dtype.itemsize
    for extent, stride in zip(view.shape[::-1], view.strides[::-1]):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True


def ports_of(plan):
    """Slots that something other than a node reads, and those that a boundary writes where they are."""
    ports = {slot for _, slot in plan.outputs}
    for instruction in plan.code:
        if instruction.kind != Opcode.NODE:
            ports.update(instruction.inputs)
            ports.update([source for source, _ in instruction.moves])
    for loop in plan.loops:
        ports.update((loop.trip_count, loop.initial_condition, loop.condition, loop.yielded))
        for edge in loop.edges:
            ports.update((edge.initial, edge.param, edge.result))
        ports.update([sliced.outer for sliced in loop.slices])
        ports.update([last.source for last in loop.lasts])
        ports.update([scan.result for scan in loop.scans])
        ports.update([source for source, _ in loop.kept])
        ports.update([slot for i in plan.code[loop.top:loop.head] for slot in i.outputs])
    return ports


def within_branches(plan):
    """Positions of what does not run in each iteration."""
    found = set()
    for pc, instruction in enumerate(plan.code):
        if instruction.kind == Opcode.BRANCH:
            end = next(k for k in range(instruction.target, len(plan.code))
                       if plan.code[k].kind == Opcode.JOIN and plan.code[k].node is instruction.node)
            found.update(range(pc, end))
    return found
