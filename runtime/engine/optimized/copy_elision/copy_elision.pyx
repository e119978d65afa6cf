"""Copy elision: nodes that only show memory in another layout need not run.

A Reshape, a Transpose or a Slice copies. If all readers of its result are kernels that can read the source with other
strides (plan/copy_elision.py), they are bound to the source and the node leaves its calls out. This applies to nodes of a
loop's body that run in each iteration and whose results only nodes of that body read.

Where extents vary, one binding of a reader may read the source while those for other ranges read the copy
(view_readers.pyx); such a reader requests the copy when it runs (elided_calls.pxd).

Any other reader of such a value gets it: the calls run then, on the inputs of the iteration. Where a reader is bound again,
or runs in Python, the node runs again too.

In the main graph loops may read a value as well. In runs of which only outputs are read, a node there whose result has the
bytes of an input is an alias of the input's memory: nodes of the main graph run once, so that no node writes to it while it
is read.
"""

from libc.stdint cimport uintptr_t
cimport numpy as np

from ..optimizing_binder cimport OptimizingBinder
from ...baseline.memory cimport Memory
from .elided_calls cimport restore_copies, elide_copies, run_elided, detach_reader
from ...baseline.state cimport *
from ...baseline.backoff cimport BackoffTimer, back_off
from ..node_regions cimport add_node_region, shift_body_iteration
from ..optimizer_state cimport *
from .view_readers cimport ViewReaders
from ....kernels.call cimport Call

from ....plan.plan import Opcode
from ..shape_ranges.range_bindings import slots_read_outside_nodes

np.import_array()

#: Results of fewer bytes are copied in no time.
MIN_ELIDED_BYTES = 256
#: Growing values of at most this extent count as small.
SMALL_EXTENT = 16
#: Boundaries before readers are bound for ranges again, to read the sources of copies: 0.3 ms each, for one microsecond an
#: iteration.
range_retry_boundaries = 200

# Whether what a node would have given can be had.
cdef enum ResultAvailability:
    UNAVAILABLE = 0
    PREVIOUS_ITERATION = 1       # of the iteration before the boundary
    CURRENT_ITERATION = 2          # of the iteration that runs


cdef int result_availability(const ExecutionState *s, int pc, int inside) noexcept nogil:
    """As seen from the position of the execution."""
    cdef const LoopState *loop = s.loops + inside
    if s.code[pc].kind != NATIVE:
        return UNAVAILABLE
    if not loop.active:
        return UNAVAILABLE if s.depth or not loop.i else PREVIOUS_ITERATION
    if loop.top <= s.pc <= loop.head and s.stack[s.depth - 1] == inside:
        return PREVIOUS_ITERATION if loop.i else UNAVAILABLE
    return CURRENT_ITERATION if s.pc > pc else UNAVAILABLE


ctypedef int (*call_function)(Call *call) noexcept nogil


cdef int alias_memory(Call *call) noexcept nogil:
    """In place of a call that copies its input."""
    call.cell[1][0] = call.cell[0][0] + call.offset[0]
    return 0


cdef class CopyElision:
    """Knows whose copies are elided, and who reads their sources."""

    def __init__(self, Memory memory not None, OptimizingBinder binder not None):
        self.memory, self.binder, self.s = memory, binder, &memory.s
        self.readers = ViewReaders(memory, binder)
        self.elided, self.shown_iterations = set(), {}
        self.watched = frozenset()
        self.aliases, self.aliased_at, self.refused = {}, -1, {}

    # -- whose copies are elided

    cdef int look(self, int index, set members) except -1:
        """Look at the body of a running loop, at a boundary; ``index`` -1, the main graph, has none. ``members``: nodes
        that run in groups."""
        cdef OptimizerState *f = fast(self.s)
        cdef int fusion_enabled = f.fusion_enabled
        if index < 0 or self.s.user_edited:
            return 0
        if self.fixed is None:
            self.fixed, self.branch_positions = externally_used_slots(self.memory.plan), positions_in_branches(self.memory.plan)
        cdef int pc
        f.fusion_enabled = 0       # what is bound here is no reason to look again
        self.readers.range_attempts.clear()
        try:
            positions = [pc for pc in self.memory.plan.body_positions(index)
                     if self.binder.views[pc] and pc > self.s.loops[index].head and pc not in members and
                     self.can_be_elided(pc) and self.is_worth_eliding(pc, members)]
            # Readers for a range are bound when it is known what all the others see.
            varied = [pc for pc in positions if any([optimizer_node(self.s, k).varying != NULL for k in self.readers_of(pc)])]
            positions = [pc for pc in positions if pc not in varied] + self.nodes_due_for_range_binding(index, varied)
            self.readers.candidates = set(positions)
            for pc in positions:
                self.elide_copy(pc)
        finally:
            f.fusion_enabled = fusion_enabled

    def nodes_due_for_range_binding(self, int index, list varied):
        """Nodes whose readers are bound for ranges that last, where the loop ran often enough. For others it is looked at
        again."""
        cdef LoopState *loop = self.s.loops + index
        cdef BackoffTimer *turn = &optimizer_loop(self.s, loop).views_timer
        if varied and not turn.due_at:
            turn.due_at = loop.boundaries + range_retry_boundaries
        if turn.due_at > loop.boundaries:
            return []
        positions = [pc for pc in varied if not any([is_bound_to_one_extent(optimizer_node(self.s, k)) for k in (pc, *self.readers_of(pc))])]
        if len(positions) < len(varied):
            turn.wait = max(3 * turn.wait, 3)
            back_off(turn, loop.boundaries)
        return positions

    def is_worth_eliding(self, int pc, set members):
        """Might all who read a copy read its source, and gain by that?"""
        readers = self.readers_of(pc)
        # What lies apart is slower to read: once, it takes no longer than the copy.
        if len(readers) > 1 and any([has_strided_last_axis(view) for view in self.binder.views[pc]]):
            return False
        return all([self.can_rebind_reader(reader, pc, members) for reader in readers])

    def readers_of(self, int pc):
        return sorted({reader for slot in self.memory.plan.code[pc].outputs for reader in self.memory.consumers[slot]})

    def elide_copy(self, int pc):
        """Bind all who read what a node gives to what it is a copy of, if that is possible."""
        cdef Instr *ins = self.s.code + pc
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        cdef int reader
        if not self.binder.views[pc]:
            return        # what it reads now lies so that it has to compute
        readers = self.readers_of(pc)
        key = (ins.binding, [self.s.code[reader].binding for reader in readers])
        if self.refused.get(pc) == key:
            return
        bindings = []
        for reader in readers:
            if optimizer_node(self.s, reader).elided:
                return
            if optimizer_node(self.s, reader).varying == NULL:
                if n.elided:
                    continue
                bound = self.readers.bind_to_source(reader, pc)
            elif self.readers.reads_sources(reader, self.memory.plan.code[pc].outputs):
                continue
            else:
                bound = self.readers.bind_for_range(reader, pc)
            if bound is None:
                self.refused[pc] = key
                return
            bindings.append((reader, bound))
        for reader, bound in bindings:
            if optimizer_node(self.s, reader).varying == NULL:
                self.readers.install_binding(reader, bound)
            else:
                self.readers.install_for_range(reader, bound)
        if n.elided:
            return
        for reader in readers:
            optimizer_node(self.s, reader).looks = 1
            add_node_region(self.s, optimizer_node(self.s, reader))
        add_node_region(self.s, n)
        elide_copies(self.s, n)
        self.elided.add(pc)
        self.shown_iterations[pc] = self.iteration_of(pc)
        fast(self.s).elision_active = 1
        self.s.generation += 1
        return

    def can_be_elided(self, int pc):
        cdef Instr *ins = self.s.code + pc
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        cdef int slot
        if ins.kind != NATIVE or n.once >= 0 or ins.nguards or pc in self.branch_positions:
            return False
        if n.varying != NULL and (n.varying.element >= 0 or not n.varying.copies):
            return False
        for slot in self.memory.plan.code[pc].outputs:
            if slot < 0 or self.is_small(pc, slot) or self.memory.known[slot] is not None or \
                    slot in self.fixed or slot in self.watched or not self.memory.consumers[slot]:
                return False
        return True

    def is_small(self, int pc, int slot):
        cdef VaryingBinding *v = optimizer_node(self.s, pc).varying
        cdef int k
        for k in range(0 if v == NULL else v.noutputs):
            if v.outputs[k].slot == slot and v.outputs[k].family != NULL:
                return SMALL_EXTENT * v.outputs[k].family.unit < MIN_ELIDED_BYTES
        return self.s.slots[slot].nbytes < MIN_ELIDED_BYTES

    def can_rebind_reader(self, int reader, int pc, set members):
        """May a reader be bound again, to run at the same position?"""
        cdef Instr *ins = self.s.code + reader
        cdef OptimizerNode *n = optimizer_node(self.s, reader)
        instruction = self.memory.plan.code[reader] if reader < len(self.memory.plan.code) else None
        if instruction is None or instruction.inside != self.memory.plan.code[pc].inside or instruction.hoisted is not None:
            return False
        if ins.kind != NATIVE or n.once >= 0 or ins.nguards or n.elided or reader <= pc or reader in members:
            return False
        return n.varying == NULL or n.varying.element < 0

    # -- aliases, in the main graph

    cdef int alias(self, set members) except -1:
        """An execution begins of which only the outputs are looked at. ``members``: nodes that run in groups."""
        cdef int pc, slot
        if self.aliased_at == self.s.generation:
            return self.restore_aliases(False)
        self.restore_aliases(True)
        for pc, views in enumerate(self.binder.views):
            if not views or pc in members or not self.can_alias(pc):
                continue
            slot = self.memory.plan.code[pc].outputs[0]
            call = self.s.code[pc].calls
            self.aliases[pc] = slot, self.s.code[pc].binding, <uintptr_t>call.run
            self.memory.aliases[slot] = views[0].index, views[0].offset
            call.run = alias_memory
            # Whoever is to write to the slot makes capacity first.
            self.s.slots[slot].flags = 0
        self.aliased_at = self.s.generation

    def can_alias(self, int pc):
        cdef Instr *ins = self.s.code + pc
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        cdef Slot *slot
        cdef Slot *source
        instruction = self.memory.plan.code[pc] if pc < len(self.memory.plan.code) else None
        if instruction is None or instruction.inside >= 0 or len(instruction.outputs) != 1 or instruction.outputs[0] < 0:
            return False
        view = self.binder.views[pc][0]
        if view.kind != "slot" or view.index not in instruction.inputs or not is_contiguous(view):
            return False
        if ins.kind != NATIVE or n.varying != NULL or n.cache != NULL or ins.ncalls != 1 or ins.nguards:
            return False
        slot, source = self.s.slots + <int>instruction.outputs[0], self.s.slots + <int>view.index
        return slot.spec != 0 and slot.flags == OWN and slot.nbytes >= MIN_ELIDED_BYTES and source.spec != 0 and \
            self.memory.known[instruction.outputs[0]] is None and ins.calls.nargs == 2 and \
            ins.calls.cell[0] == &source.data and ins.calls.cell[1] == &slot.data and ins.calls.offset[1] == 0 and \
            self.memory.specs.kind(source.spec)[0] == self.memory.specs.kind(slot.spec)[0] and \
            view.size * view.dtype.itemsize == slot.nbytes and view.offset + slot.nbytes <= source.nbytes

    cdef int restore_aliases(self, bint for_good) except -1:
        """No slot shows what another one held in the execution before. ``for_good``: nodes copy again."""
        cdef Instr *ins
        cdef Slot *slot
        for pc, (k, binding, function) in self.aliases.items():
            ins, slot = self.s.code + <int>pc, self.s.slots + <int>k
            # A node that was bound again has memory of its own.
            if slot.flags == 0 and slot.spec != 0 and slot.owner != NULL:
                slot.data = np.PyArray_BYTES(<object>slot.owner)
                slot.flags = OWN if for_good else 0
            if for_good and ins.calls != NULL and ins.binding == binding:
                ins.calls.run = <call_function><uintptr_t>function
        if for_good:
            self.aliases.clear()
            self.memory.aliases.clear()
            self.aliased_at = -1

    # -- who wants the values

    cdef tuple iteration_of(self, int pc):
        """The iteration before the current boundary, or the one that runs."""
        cdef int inside = self.memory.plan.code[pc].inside
        cdef LoopState *loop = self.s.loops + inside
        return loop.entries, loop.i - (result_availability(self.s, pc, inside) != CURRENT_ITERATION)

    @property
    def aliased(self):
        """The nodes of the main graph that alias memory in place of copying."""
        return sorted(self.aliases)

    @property
    def elided_positions(self):
        """The nodes whose copies are elided."""
        return sorted([pc for pc in self.elided if optimizer_node(self.s, pc).elided])

    cdef bint show(self, int pc) except -1:
        """Let the slots of a node have their values; False where they cannot be had."""
        cdef int inside = self.memory.plan.code[pc].inside
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        cdef LoopState *loop = self.s.loops + inside
        cdef int status = result_availability(self.s, pc, inside)
        iteration = self.iteration_of(pc)
        if self.shown_iterations.get(pc) == iteration:
            return True
        if status == UNAVAILABLE or not n.elided:
            return False
        if status == PREVIOUS_ITERATION:
            shift_body_iteration(self.s, loop, 1)
        # The extent may be another since it ran: the execution was taken elsewhere.
        failed = n.varying != NULL and not self.binder.range_bindings.adapt_to_extent(pc)
        failed = failed or not n.elided or run_elided(self.s, n)
        if status == PREVIOUS_ITERATION:
            shift_body_iteration(self.s, loop, 0)
        if failed:
            return False
        self.shown_iterations[pc] = iteration
        return True

    cdef int materialize_all(self) except -1:
        for pc in self.elided:
            if optimizer_node(self.s, pc).elided:
                self.show(pc)

    cdef bint is_available(self, int slot) except -1:
        """Does a slot have its value? It gets it where it can still be had."""
        cdef int pc = self.s.writer[slot] if slot < self.memory.nslots else -1
        if pc not in self.elided:
            return True
        if optimizer_node(self.s, pc).elided:
            return self.show(pc)
        # It runs again; its slot may lack what it gave before.
        if result_availability(self.s, pc, self.memory.plan.code[pc].inside) == UNAVAILABLE and self.shown_iterations.get(pc, ()) is None:
            return False
        self.elided.discard(pc)
        return True

    cdef set unavailable_slots(self):
        """The slots that lack their values."""
        slots = set()
        for pc in list(self.elided):
            slots.update([slot for slot in self.memory.plan.code[pc].outputs if not self.is_available(slot)])
        return slots

    cdef int copy(self, int pc) except -1:
        """Let a node run again."""
        if not optimizer_node(self.s, pc).elided:
            return 0
        if not self.show(pc):
            self.shown_iterations[pc] = None
        restore_copies(self.s, optimizer_node(self.s, pc))
        self.s.generation += 1

    cdef int stop_eliding_inputs_of(self, members) except -1:
        """Nodes run in a group: what they read is written, if not by themselves."""
        cdef int pc, slot
        for pc in members:
            self.copy(pc)
            for slot in self.memory.plan.code[pc].inputs:
                if slot >= 0 and self.s.writer[slot] >= 0:
                    self.copy(self.s.writer[slot])

    cdef int stop_eliding_all(self) except -1:
        """Something is to be changed: what was computed before does not follow it. Those whose turn has not come read what
        was shown before them."""
        cdef int reader
        passed = [pc for pc in self.elided if optimizer_node(self.s, pc).elided]
        for pc in passed:
            if not self.show(pc):
                self.shown_iterations[pc] = None
        for pc in passed:
            restore_copies(self.s, optimizer_node(self.s, pc))
        for reader in (*self.readers.seen, *self.readers.sources):
            detach_reader(self.s, reader, True)

    cdef int watch(self, frozenset slots) except -1:
        """These slots, and no others, are read at boundaries."""
        cdef int slot
        self.watched = slots
        for slot in slots:
            if slot < self.memory.nslots and self.s.writer[slot] >= 0:
                self.copy(self.s.writer[slot])

    cdef int discard_values(self) except -1:
        """The execution is elsewhere now, with the values that slots had there."""
        cdef int pc
        self.shown_iterations.clear()
        for pc in self.elided:
            if self.s.code[pc].kind != NATIVE:
                restore_copies(self.s, optimizer_node(self.s, pc))
            if all([self.s.slots[<int>slot].owner != NULL for slot in self.memory.plan.code[pc].outputs]):
                self.shown_iterations[pc] = self.iteration_of(pc)


cdef bint is_bound_to_one_extent(const OptimizerNode *n) noexcept:
    """Is it bound for one extent alone?"""
    return n.varying != NULL and n.varying.low == n.varying.high


def has_strided_last_axis(view):
    """Are neighbours along the last axis none in memory?"""
    last = view.ndim - 1
    return last >= 0 and view.shape[last] > 1 and view.strides[last] != view.dtype.itemsize


def is_contiguous(view):
    """Are the bytes one after the other, in order? Where an axis of extent 1 would go on does not matter."""
    step = view.dtype.itemsize
    for extent, stride in zip(view.shape[::-1], view.strides[::-1]):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True


def externally_used_slots(plan):
    """Slots that something other than a node reads, and those that a boundary writes where they are."""
    last_values = [last.source for loop in plan.loops for last in loop.last_values]
    return {*slots_read_outside_nodes(plan), *last_values, *condition_prologue_slots(plan)}


def condition_prologue_slots(plan):
    """What is computed before an iteration to decide whether it runs."""
    return {slot for loop in plan.loops for i in plan.code[loop.top:loop.head] for slot in i.outputs}


def positions_in_branches(plan):
    """Positions of what does not run in each iteration."""
    positions = set()
    for pc, instruction in enumerate(plan.code):
        if instruction.kind == Opcode.BRANCH:
            end = next(k for k in range(instruction.target, len(plan.code))
                       if plan.code[k].kind == Opcode.JOIN and plan.code[k].node is instruction.node)
            positions.update(range(pc, end))
    return positions
