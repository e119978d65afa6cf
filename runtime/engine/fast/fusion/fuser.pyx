"""Looks for groups (plan/fusion/groups.py) in the bodies of running loops, once their nodes are bound, and installs them.

What only members of a group read is written nowhere while it runs. Who looks at it gets it all the same: the members
that make it run once more, by themselves, on what the iteration had. What is looked at again and again is written.
"""

from .group cimport GROUP_SHOWN, make_group, results_are, show_results, take_apart
from ...plain.memory cimport Memory
from ...plain.pieces cimport release
from ...plain.schedule cimport ASKED_OFTEN
from ...plain.state cimport *
from ..fast_state cimport *
from ..views.views cimport Views

import numpy as np

from ....plan.plan import Opcode
from ..views.views import ports_of, tested_first

# Where no value has so many bytes, groups bring nothing. Nodes of the main graph run once a run, and looking at them costs
# more than values that stay in a second-level cache.
cdef npy_intp LARGE = 4096
cdef npy_intp LARGE_OUTSIDE = 1 << 18

# So many plans are kept for shapes that come back.
cdef int MOST_KEPT = 16


cdef inline Group *group_of(State *s, object group) noexcept:
    """A group as C has it."""
    return node_at(s, <int>group.first).group


cdef inline void look_soon(State *s, LoopState *loop) noexcept:
    """Look for groups after the next iteration."""
    fast_loop(s, loop).for_groups.at = loop.boundaries + 1
    schedule(s, loop)


cdef class Fuser:
    """What an engine knows about the groups in its plan."""

    def __init__(self, Memory memory not None, Views views not None):
        self.memory, self.views, self.s = memory, views, &memory.s
        self.groups = []
        self.planned, self.kept, self.inner, self.asked = {}, {}, {}, {}
        self.watched = frozenset()
        self.looked = -1
        outside = [i for i in memory.plan.code if i.kind == Opcode.NODE and i.inside < 0]
        self.has_products = any([i.node.op_type in ("MatMul", "MatMulInteger") for i in outside])
        self.made_outside = tuple([slot for i in outside for slot in i.outputs if slot >= 0])

    cdef int switch(self, bint on) except -1:
        """Let groups run, or their nodes one by one; those that were made stay for later."""
        cdef Group *g
        self.show()
        self.views.copy_for(set() if on else self.views.elided)
        fast(self.s).fusing = on
        for group in self.groups:
            g = group_of(self.s, group)
            g.running = 0
            if not on or g.loop >= 0:
                g.on = on
        if on:
            for k in range(self.memory.nloops):
                # Nodes may have been bound meanwhile.
                look_soon(self.s, self.s.loops + <int>k)

    cdef int begin(self, bint unseen) except -1:
        """An execution begins: none is under way. ``unseen``: nobody looks at its values while it runs, so that chains of the
        main graph may keep theirs."""
        cdef Group *g
        cdef bint outside = unseen and fast(self.s).fusing
        if outside and self.looked != self.s.generation:
            if self.has_products or self.has_large(self.made_outside, LARGE_OUTSIDE):
                self.views.copy_outside(True)
                self.look(-1)
                self.views.copy_for(self.members())
            self.looked = self.s.generation
        for group in self.groups:
            g = group_of(self.s, group)
            g.running = 0
            if g.loop < 0:
                g.on = outside

    cdef int show(self) except -1:
        """Let every slot have its value, as far as it can still be had."""
        for group in self.groups:
            show_results(self.s, group_of(self.s, group))

    cdef int ask(self, int slot) except -1:
        """Somebody reads a slot that only members of a group read."""
        cdef Group *g = node_at(self.s, self.inner[slot]).group
        if results_are(self.s, g) == GROUP_SHOWN:
            return 0
        show_results(self.s, g)
        self.asked[slot] = self.asked.get(slot, 0) + 1
        if self.asked[slot] == ASKED_OFTEN:
            self.plan_again({slot})

    cdef bint is_there(self, int slot) except -1:
        """False where a slot that only members of a group read lacks the value of the last iteration."""
        return results_are(self.s, node_at(self.s, self.inner[slot]).group) == GROUP_SHOWN

    cdef bint is_written_now(self, int slot) except -1:
        """Is a slot one that a group writes which is under way?"""
        cdef Group *g = self.under_way()
        return g != NULL and any([slot in self.memory.plan.code[g.members[k]].outputs for k in range(g.nmembers)])

    cdef Group *under_way(self) noexcept:
        """The group in whose middle the execution stands; NULL: in none."""
        cdef FastNode *n = node_at(self.s, self.s.pc) if self.groups else NULL
        return n.group if n != NULL and n.group != NULL and n.group.running else NULL

    cdef int watch(self, frozenset slots) except -1:
        """These slots, and no others, are read at boundaries."""
        added = slots - self.watched
        self.watched = slots
        self.plan_again(added)

    def plan_again(self, slots):
        """Groups that do not write one of the slots give way to others that do, after the next iteration."""
        cdef Group *g
        self.show()
        for slot in slots:
            if slot in self.inner:
                g = node_at(self.s, self.inner[slot]).group
                g.on = 0
                look_soon(self.s, self.s.loops + g.loop)

    cdef int look(self, int index) except -1:
        """Look at a loop's body. Nodes in a row that are bound as they were the last time keep their groups."""
        cdef list run = []
        cdef FastNode *n
        cdef int first = self.s.loops[index].head if index >= 0 else -1
        for pc, instruction in enumerate(self.memory.plan.code):
            n = node_at(self.s, pc)
            # Nodes that follow an extent change their calls by themselves, and those that count settle their results. Those
            # that decide before an iteration whether it runs are few.
            bound = instruction.inside == index and instruction.kind == Opcode.NODE and pc > first and \
                self.s.code[<int>pc].kind == NATIVE and n.varying == NULL and not n.counts and \
                not self.has_gaps(instruction) and \
                not (instruction.op.sequences and self.has_sequences(instruction))
            if run and not (bound and pc == run[len(run) - 1] + 1):
                self.plan(run)
                run = []
            if bound:
                run.append(pc)

    cdef set members(self):
        """Positions of the nodes that run in groups."""
        found = set()
        for group in self.groups:
            found.update(group.members)
        return found

    def has_gaps(self, instruction):
        """Do the elements of an input not follow each other?"""
        return any([slot >= 0 and self.memory.specs.capacity(self.s.slots[<int>slot].spec) is not None
                    for slot in instruction.inputs])

    def has_sequences(self, instruction):
        cdef int slot
        for slot in (*instruction.inputs, *instruction.outputs):
            if slot >= 0 and self.s.slots[slot].spec == 0:
                return True
        return False

    def plan(self, list run):
        cdef Instr *ins
        cdef FastNode *n
        cdef Group *g
        made = {slot for pc in run for slot in self.memory.plan.code[pc].outputs}
        written = self.watched | {slot for slot, times in self.asked.items() if times >= ASKED_OFTEN}
        key = (tuple([self.s.code[<int>pc].binding for pc in run]), made & written)
        if self.planned.get(run[0]) == key:
            return
        self.planned[run[0]] = key
        # Not at the top: a run whose tensors are all small needs none of it, nor does one without quantised products.
        large = self.has_large(made, LARGE if self.memory.plan.code[run[0]].inside >= 0 else LARGE_OUTSIDE)
        chained = any([self.is_integer_product(self.memory.plan.code[pc]) for pc in run])
        if not (large or chained):
            return
        from ....plan.fusion import groups

        self.show()

        if self.ports is None:
            self.ports = ports_of(self.memory.plan)
        nodes, conditions = [], {loop.condition_input for loop in self.memory.plan.loops} | tested_first(self.memory.plan)
        # A group may go beyond these nodes, where one behind them is not bound any more.
        dropped = {pc for pc in run if node_at(self.s, pc).group != NULL}
        self.inner = {slot: leader for slot, leader in self.inner.items() if leader not in dropped}
        for pc in run:
            ins, n = self.s.code + <int>pc, node_at(self.s, pc)
            if n.group != NULL:
                g = n.group
                take_apart(self.s, g)
                release(g)
            for slot in self.memory.plan.code[pc].outputs:
                self.inner.pop(slot, None)
            instruction = self.memory.plan.code[pc]
            # At a boundary its condition input, and what the condition needs, is no more what an iteration had:
            # ``show_results`` could not run it again.
            fixed = ins.nguards > 0 or not conditions.isdisjoint(instruction.inputs)
            idle = ins.ncalls == 0 and n.elided == 0 and ins.nguards == 0
            nodes.append(groups.Candidate(pc, instruction.op, instruction.inputs, instruction.outputs, fixed, idle,
                                          instruction.node.op_type, n.once >= 0))
        self.groups = [group for group in self.groups if not run[0] <= group.first <= run[len(run) - 1]]
        for group in self.found(nodes, made & written, chained, large):
            g = make_group(self.s, group)
            node_at(self.s, group.first).group = g
            g.loop = self.memory.plan.code[run[0]].inside
            if g.loop >= 0:
                self.inner.update(dict.fromkeys(group.inner, group.first))
            self.groups.append(group)

    def found(self, list nodes, set written, bint chained, bint large):
        """The groups of nodes in a row. What was planned for the same shapes is found again: a loop whose first iteration
        has others than those that follow would plan anew in each run."""
        used = sorted({slot for node in nodes for slot in (*node.inputs, *node.outputs) if slot >= 0})
        known = [self.memory.known[slot] for slot in used]
        readers = tuple([tuple(self.views.readers.of(slot)) for node in nodes for slot in node.outputs if slot >= 0])
        key = (tuple([(node.pc, node.guarded, node.idle, node.once) for node in nodes]),
               tuple([self.memory.specs.kind(self.s.slots[<int>slot].spec) for slot in used]),
               tuple([id(array) for array in known]), readers, frozenset(written))
        if key not in self.kept:
            while len(self.kept) >= MOST_KEPT:
                del self.kept[next(iter(self.kept))]
            # With what is known, so that nothing else is found where it was.
            self.kept[key] = (known, self.search(nodes, written, chained, large))
        return self.kept[key][1]

    def search(self, list nodes, set written, bint chained, bint large):
        from ....plan.fusion import groups

        slots = groups.Slots(lambda slot: self.memory.specs.kind(self.s.slots[<int>slot].spec),
                             lambda slot: self.memory.known[slot], lambda slot: self.views.readers.of(slot),
                             self.ports | written)
        planned = []
        if chained:
            from ....plan.fusion import chains

            planned = chains.plan_chains(nodes, slots)
        if large:
            # Between the chains.
            ends = [nodes[0].pc, *[end for group in planned for end in (group.first, group.end)], nodes[len(nodes) - 1].pc + 1]
            for first, end in zip(ends[::2], ends[1::2]):
                planned += groups.plan_groups([node for node in nodes if first <= node.pc < end], slots)
        return planned

    def has_large(self, slots, npy_intp least):
        return any([slot >= 0 and self.s.slots[<int>slot].nbytes >= least for slot in slots])

    def is_integer_product(self, instruction):
        cdef int slot = instruction.outputs[0] if instruction.outputs else -1
        return slot >= 0 and instruction.node.op_type in ("MatMul", "MatMulInteger") and \
            self.memory.specs.kind(self.s.slots[slot].spec)[0] == np.int32
