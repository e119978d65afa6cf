"""Nodes bound in ways that are fast: for a range of shapes, for a block of iterations, to memory instead of its copy."""

from ...kernels.call cimport Call
from ...kernels.renewal cimport Journal, Renewal, loopdbg_forget
from ..plain.binder cimport Binder, call_native
from ..plain.memory cimport Memory
from ..plain.pieces cimport take
from ..plain.state cimport *
from .fusion.group cimport ask_for_groups
from .nodes cimport follow_node, load_node
from .ranges.varying cimport MOST, Growing
from .fast_state cimport *
from .views.elision cimport close, copy_again, elide_copies, show_inputs, show_slot

from ...ops.primitives import NotNative
from ...plan import ranges
from ...plan.bound import DataDependent
from ...plan.through import bind_to_memory
from ..plain import binder as plain
from ..plain.binder import slots_of_temps


cdef class FastBinder(Binder):
    """Binds and runs the nodes of a plan, with all that makes them fast."""

    def __init__(self, Memory memory not None, Growing growing not None):
        self.growing, self.hoisted = growing, []
        self.views = [()] * memory.ncode
        Binder.__init__(self, memory)
        for pc, instruction in enumerate(self.plan.code):
            load_node(self.s, pc, instruction.once)
            if instruction.hoisted is not None:
                self.hoisted.append(pc)
            if instruction.once >= 0 or instruction.hoisted is not None:
                follow_node(self.s, node_at(self.s, pc))

    cdef set read_by(self, object instruction):
        """Those of what it is computed from for a block of iterations, too."""
        return set(instruction.inputs if instruction.hoisted is None else (*instruction.inputs, *instruction.hoisted.inputs))

    cdef int note_hand(self, bint by_hand) except -1:
        """Whether something was changed by hand. Then no node uses what was computed for a block of iterations: the change
        could be of what it would have read."""
        if self.s.by_hand != by_hand:
            self.s.by_hand = by_hand
            self.s.generation += 1
            for pc in self.hoisted:
                self.growing.forget(pc)
                unbind_node(self.s.code + <int>pc)

    cdef int bind_node(self, int pc) except -1:
        """Bind the node at pc on what its inputs are now. 0: it has to run in Python."""
        instruction = self.plan.code[pc]
        bound = False
        if instruction.hoisted is not None and not self.s.by_hand:
            last = self.growing.last_bound[pc]
            try:
                bound = self.bind_as(pc, instruction.hoisted)
            except NotNative:
                pass
            except Exception:
                # It is bound as it stands.
                if plain.strict_binding:
                    raise
            if not bound:
                self.growing.last_bound[pc] = last
        if not bound and not self.bind_as(pc, instruction):
            return 0
        self.read_anew(instruction, node_at(self.s, pc), self.was_elided)
        return 1

    cdef int bind_as(self, int pc, object instruction) except -1:
        """Bind what runs at pc: on the shapes of now, or where others came before, for a range of them."""
        varied = None
        inputs = self.inputs_of(instruction)
        if inputs is None:
            return 0
        if all([i is None or self.s.slots[<int>i.slot].spec for i in inputs]):
            varied = self.growing.varied(pc, instruction, inputs)
        if varied is None:
            bound = bind_to_memory(instruction.op, inputs)
        else:
            followed, bound, appended = varied
            loose, bound = bound, ranges.settled(bound, inputs)
        if bound.looked:
            self.growing.note_looks(pc, inputs, bound.looked)
        if any([isinstance(out, DataDependent) and not self.growing.can_count(out)
                for slot, out in zip(instruction.outputs, bound.outputs) if slot >= 0]):
            return 0
        if not self.make_results(instruction, bound):
            return 0
        self.growing.put_aside(pc)
        try:
            self.install(pc, instruction, bound)
            # Where there is nothing to copy yet, it is what it is a copy of later on.
            self.views[pc] = bound.views if varied is None else loose.views or self.views[pc]
            if varied is not None:
                self.growing.vary(pc, instruction, followed, loose, appended, self.keep[pc], {}, {})
                self.keep[pc] = None
                return self.growing.provide(pc)
            self.growing.reserve(pc)
            return 1
        except BaseException:
            self.unbind(pc)     # half of it may be there, and no memory for the rest
            raise

    cdef int drop(self, int pc) except -1:
        """Nothing is left of what a node is bound to now."""
        cdef FastNode *n = node_at(self.s, pc)
        Binder.drop(self, pc)
        if n != NULL:
            if n.renews:
                # Buffers with versions that it gave may be written in other ways now.
                loopdbg_forget(fast(self.s).journal)
            n.varying = NULL
            n.counts = n.elided = n.through = n.renews = 0

    cdef int install(self, int pc, object instruction, object bound, int around=0) except -1:
        """Turn a Bound into C, with calls around its own for results that are as long as they say."""
        cdef Instr *ins = self.s.code + pc
        cdef FastNode *n = node_at(self.s, pc)
        cdef int k
        if n == NULL:
            return Binder.install(self, pc, instruction, bound)
        dependent = [(slot, out) for slot, out in zip(instruction.outputs, bound.outputs)
                     if slot >= 0 and isinstance(out, DataDependent)]
        Binder.install(self, pc, instruction, bound, len(dependent))
        n.counts = len(dependent)
        if dependent:
            ins.follows = SETS_OUTPUTS
        slot_of_temp = slots_of_temps(instruction, bound)
        for k, spec in enumerate(bound.calls):
            if spec.onto >= 0:
                self.renew(pc, ins.calls + n.counts + k, spec, slot_of_temp)
        for k, (slot, out) in enumerate(dependent):
            self.growing.count(n, k, slot, out)
        ask_for_groups(self.s, instruction.inside)
        return 0

    cdef int renew(self, int pc, Call *call, object spec, dict slot_of_temp) except -1:
        """Let a call bring its result up to what it begins with, where that is less than to copy it."""
        cdef FastState *f = fast(self.s)
        cdef Renewal *renewal
        source, target = spec.buffers[0], spec.buffers[<int>spec.onto]
        if target.kind != "temp" or target.index not in slot_of_temp:
            return 0
        if f.journal == NULL:
            f.journal = <Journal *>take(self.s.own, 1, sizeof(Journal))
        renewal = <Renewal *>take(self.s.code[pc].calls, 1, sizeof(Renewal))
        renewal.journal = f.journal
        renewal.target = &self.s.slots[<int>slot_of_temp[target.index]].version
        if source.kind == "slot" and source.offset == 0 and \
                self.s.slots[<int>source.index].nbytes == source.size * source.dtype.itemsize:
            renewal.source = &self.s.slots[<int>source.index].version
        call.renewal = renewal
        node_at(self.s, pc).renews = 1

    cdef int run_node(self, int pc) except -1:
        cdef FastNode *n = node_at(self.s, pc)
        Binder.run_node(self, pc)
        if n.once >= 0:
            n.done = self.s.loops[n.once].entries

    cdef int run_as_bound(self, int pc) except -1:
        """Run a node by the binding in its cache that fits, or with more memory."""
        cdef Instr *ins = self.s.code + pc
        cdef FastNode *n = node_at(self.s, pc)
        cdef bint was_native = ins.kind == NATIVE
        instruction = self.plan.code[pc]
        self.was_elided = n.elided and n.varying != NULL and not n.region.stale
        # One that goes on with what it was bound to for a range is read as before.
        if n.varying == NULL or n.region.stale or not self.native:
            self.open(instruction, n)
        if n.region.stale:
            self.growing.forget(pc)
        if not self.native:
            return 0
        if n.varying != NULL or n.cache != NULL:
            if n.varying == NULL:
                self.drop(pc)       # of no use any more: one from the cache may take its place
            if self.growing.provide(pc):
                if (n.elided or not n.looks or not show_inputs(self.s, n)) and call_native(self.s, ins):
                    return 1
                self.growing.forget(pc)
            self.open(instruction, n)
            self.growing.put_aside(pc)
        return was_native and self.growing.reserve(pc) and call_native(self.s, ins)

    cdef int unfit(self, int pc) except -1:
        self.growing.put_aside(pc)
        return self.read_anew(self.plan.code[pc], node_at(self.s, pc), False)

    cdef int is_lasting(self, int pc) except -1:
        """Is the node bound for a range, and are there only so many of them?"""
        cdef FastNode *n = node_at(self.s, pc)
        return n.varying != NULL and n.varying.low < n.varying.high and n.ncached < MOST

    cdef int open(self, object instruction, FastNode *n) except -1:
        """Before a node is bound or run in Python: it reads copies, and so do those who read its results."""
        cdef int slot
        if not fast(self.s).eliding:
            return 0
        copy_again(self.s, n)
        for slot in instruction.outputs:
            if slot >= 0:
                close(self.s, slot, n.region.stale)
        for slot in instruction.inputs:
            if slot >= 0:
                show_slot(self.s, slot)

    cdef int read_anew(self, object instruction, FastNode *n, bint elided) except -1:
        """A node was bound anew, or runs in Python: those for a range ask for the copies that they read, and leave their own
        out as before (``elided``), but else whoever writes what it reads runs again."""
        cdef int slot
        if n.varying != NULL and n.varying.copies and elided:
            elide_copies(self.s, n)
        for slot in instruction.inputs if fast(self.s).eliding and (n.varying == NULL or not n.looks) else ():
            if slot >= 0 and self.s.writer[slot] >= 0:
                copy_again(self.s, node_at(self.s, self.s.writer[slot]))
