"""Plans groups (plan/fusion/groups.py) for the bodies of running loops, once their nodes are bound, and installs them.

A group does not write its internal results, which only members read. A reader gets one all the same: the members that
produce it run again by themselves, on the inputs of the iteration. Frequently read results are written.
"""

from .group_region cimport GROUP_MATERIALIZED, make_group, internal_results_state, materialize_results, dissolve_group
from ...baseline.memory cimport Memory
from ...baseline.arena cimport arena_free_tree
from ...baseline.backoff cimport MATERIALIZE_LIMIT
from ...baseline.state cimport *
from ..optimizer_state cimport *
from ..copy_elision.copy_elision cimport CopyElision

import numpy as np

from ....plan.plan import Opcode
from ..copy_elision.copy_elision import externally_used_slots, condition_prologue_slots

# Groups do not pay if all values are smaller. Nodes of the main graph run once a run, and planning costs more than is
# gained for values that fit the second-level cache.
cdef npy_intp MIN_GROUPED_BYTES = 4096
cdef npy_intp MIN_MAIN_GRAPH_GROUPED_BYTES = 1 << 18

# Cached plans, for recurring shapes.
cdef int MAX_CACHED_PLANS = 16


cdef inline FusedGroup *group_of(ExecutionState *s, object group) noexcept:
    """The C struct of a group."""
    return optimizer_node(s, <int>group.first).group


cdef inline void request_group_update(ExecutionState *s, LoopState *loop) noexcept:
    """Plan groups after the next iteration."""
    optimizer_loop(s, loop).groups_timer.due_at = loop.boundaries + 1
    schedule(s, loop)


cdef class Fuser:
    """The groups of an engine's plan."""

    def __init__(self, Memory memory not None, CopyElision copy_elision not None):
        self.memory, self.copy_elision, self.s = memory, copy_elision, &memory.s
        self.groups = []
        self.planned, self.plan_cache, self.internal_slots, self.materialize_counts = {}, {}, {}, {}
        self.watched = frozenset()
        self.main_graph_generation = -1
        main_graph_nodes = [i for i in memory.plan.code if i.kind == Opcode.NODE and i.inside < 0]
        self.has_products = any([i.node.op_type in ("MatMul", "MatMulInteger") for i in main_graph_nodes])
        self.main_graph_results = tuple([slot for i in main_graph_nodes for slot in i.outputs if slot >= 0])

    cdef int set_enabled(self, bint enabled) except -1:
        """Let groups run, or their nodes one by one; existing groups are kept."""
        cdef FusedGroup *g
        self.show()
        self.copy_elision.stop_eliding_inputs_of(set() if enabled else self.copy_elision.elided)
        fast(self.s).fusion_enabled = enabled
        for group in self.groups:
            g = group_of(self.s, group)
            g.running = 0
            if not enabled or g.loop >= 0:
                g.enabled = enabled
        if enabled:
            for k in range(self.memory.nloops):
                # Nodes may have been bound while groups were off.
                request_group_update(self.s, self.s.loops + <int>k)

    cdef int begin(self, bint outputs_only) except -1:
        """An execution begins. ``outputs_only``: values are not read while it runs, so that chains of the main graph
        may omit theirs."""
        cdef FusedGroup *g
        cdef bint fuse_main_graph = outputs_only and fast(self.s).fusion_enabled
        if fuse_main_graph and self.main_graph_generation != self.s.generation:
            if self.has_products or self.has_large_value(self.main_graph_results, MIN_MAIN_GRAPH_GROUPED_BYTES):
                self.copy_elision.restore_aliases(True)
                self.look(-1)
                self.copy_elision.stop_eliding_inputs_of(self.members())
            self.main_graph_generation = self.s.generation
        for group in self.groups:
            g = group_of(self.s, group)
            g.running = 0
            if g.loop < 0:
                g.enabled = fuse_main_graph

    cdef int show(self) except -1:
        """Write the values of all slots that are available."""
        for group in self.groups:
            materialize_results(self.s, group_of(self.s, group))

    cdef int materialize(self, int slot) except -1:
        """Write a slot that only members of a group read."""
        cdef FusedGroup *g = optimizer_node(self.s, self.internal_slots[slot]).group
        if internal_results_state(self.s, g) == GROUP_MATERIALIZED:
            return 0
        materialize_results(self.s, g)
        self.materialize_counts[slot] = self.materialize_counts.get(slot, 0) + 1
        if self.materialize_counts[slot] == MATERIALIZE_LIMIT:
            self.replan_groups({slot})

    cdef bint is_available(self, int slot) except -1:
        """False where a slot that only members of a group read lacks its last value."""
        return internal_results_state(self.s, optimizer_node(self.s, self.internal_slots[slot]).group) == GROUP_MATERIALIZED

    cdef bint is_being_written(self, int slot) except -1:
        """Does a suspended group write a slot?"""
        cdef FusedGroup *g = self.running_group()
        return g != NULL and any([slot in self.memory.plan.code[g.members[k]].outputs for k in range(g.nmembers)])

    cdef FusedGroup *running_group(self) noexcept:
        """The group in which the execution is suspended; NULL: none."""
        cdef OptimizerNode *n = optimizer_node(self.s, self.s.pc) if self.groups else NULL
        return n.group if n != NULL and n.group != NULL and n.group.running else NULL

    cdef int watch(self, frozenset slots) except -1:
        """These slots, and no others, are read at boundaries."""
        added = slots - self.watched
        self.watched = slots
        self.replan_groups(added)

    def replan_groups(self, slots):
        """Replace groups that do not write one of the slots, after the next iteration."""
        cdef FusedGroup *g
        self.show()
        for slot in slots:
            if slot in self.internal_slots:
                g = optimizer_node(self.s, self.internal_slots[slot]).group
                g.enabled = 0
                request_group_update(self.s, self.s.loops + g.loop)

    cdef int look(self, int index) except -1:
        """Plan a loop's body. Runs of nodes whose bindings are unchanged keep their groups."""
        cdef list run = []
        cdef OptimizerNode *n
        cdef int first = self.s.loops[index].head if index >= 0 else -1
        for pc, instruction in enumerate(self.memory.plan.code):
            n = optimizer_node(self.s, pc)
            # Nodes that follow an extent update their calls, and those with dynamic lengths their results. Code before
            # HEAD that decides whether an iteration runs is short.
            bound = instruction.inside == index and instruction.kind == Opcode.NODE and pc > first and \
                self.s.code[<int>pc].kind == NATIVE and n.varying == NULL and not n.counts and \
                not self.has_noncontiguous_input(instruction) and \
                not (instruction.op.sequences and self.has_sequences(instruction))
            if run and not (bound and pc == run[len(run) - 1] + 1):
                self.plan(run)
                run = []
            if bound:
                run.append(pc)

    cdef set members(self):
        """Positions of the nodes that run in groups."""
        positions = set()
        for group in self.groups:
            positions.update(group.members)
        return positions

    def has_noncontiguous_input(self, instruction):
        """Is an input not contiguous?"""
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
        cdef OptimizerNode *n
        cdef FusedGroup *g
        outputs = {slot for pc in run for slot in self.memory.plan.code[pc].outputs}
        written = self.watched | {slot for slot, times in self.materialize_counts.items() if times >= MATERIALIZE_LIMIT}
        key = (tuple([self.s.code[<int>pc].binding for pc in run]), outputs & written)
        if self.planned.get(run[0]) == key:
            return
        self.planned[run[0]] = key
        # A local import: not needed if all tensors are small and nothing is quantized.
        min_nbytes = MIN_GROUPED_BYTES if self.memory.plan.code[run[0]].inside >= 0 else MIN_MAIN_GRAPH_GROUPED_BYTES
        large = self.has_large_value(outputs, min_nbytes)
        chained = any([self.is_integer_product(self.memory.plan.code[pc]) for pc in run])
        if not (large or chained):
            return
        from ....plan.fusion import groups

        self.show()

        if self.ports is None:
            self.ports = externally_used_slots(self.memory.plan)
        nodes, conditions = [], {loop.condition_input for loop in self.memory.plan.loops} | condition_prologue_slots(self.memory.plan)
        # A group may extend beyond this run, if a node after it is no longer bound.
        leaders = {pc for pc in run if optimizer_node(self.s, pc).group != NULL}
        self.internal_slots = {slot: leader for slot, leader in self.internal_slots.items() if leader not in leaders}
        for pc in run:
            ins, n = self.s.code + <int>pc, optimizer_node(self.s, pc)
            if n.group != NULL:
                g = n.group
                dissolve_group(self.s, g)
                arena_free_tree(g)
            for slot in self.memory.plan.code[pc].outputs:
                self.internal_slots.pop(slot, None)
            instruction = self.memory.plan.code[pc]
            # At a boundary the condition input, and what feeds the condition, differ from the iteration's:
            # ``materialize_results`` could not run the node again.
            fixed = ins.nguards > 0 or not conditions.isdisjoint(instruction.inputs)
            idle = ins.ncalls == 0 and n.elided == 0 and ins.nguards == 0
            nodes.append(groups.Candidate(pc, instruction.op, instruction.inputs, instruction.outputs, fixed, idle,
                                          instruction.node.op_type, n.once >= 0))
        self.groups = [group for group in self.groups if not run[0] <= group.first <= run[len(run) - 1]]
        for group in self.cached_groups_for(nodes, outputs & written, chained, large):
            g = make_group(self.s, group)
            optimizer_node(self.s, group.first).group = g
            g.loop = self.memory.plan.code[run[0]].inside
            if g.loop >= 0:
                self.internal_slots.update(dict.fromkeys(group.internal_slots, group.first))
            self.groups.append(group)

    def cached_groups_for(self, list nodes, set written, bint chained, bint large):
        """The groups of a run of nodes. Plans are cached by shapes: a loop whose first iteration has others than the
        rest would plan again in each run."""
        used = sorted({slot for node in nodes for slot in (*node.inputs, *node.outputs) if slot >= 0})
        known = [self.memory.known[slot] for slot in used]
        readers = tuple([tuple(self.copy_elision.readers.of(slot)) for node in nodes for slot in node.outputs if slot >= 0])
        key = (tuple([(node.pc, node.guarded, node.idle, node.once) for node in nodes]),
               tuple([self.memory.specs.kind(self.s.slots[<int>slot].spec) for slot in used]),
               tuple([id(array) for array in known]), readers, frozenset(written))
        if key not in self.plan_cache:
            while len(self.plan_cache) >= MAX_CACHED_PLANS:
                del self.plan_cache[next(iter(self.plan_cache))]
            # The known arrays are kept alive, so that their ids stay unique.
            self.plan_cache[key] = (known, self.search(nodes, written, chained, large))
        return self.plan_cache[key][1]

    def search(self, list nodes, set written, bint chained, bint large):
        from ....plan.fusion import groups

        slots = groups.SlotInfo(lambda slot: self.memory.specs.kind(self.s.slots[<int>slot].spec),
                             lambda slot: self.memory.known[slot], lambda slot: self.copy_elision.readers.of(slot),
                             self.ports | written)
        planned = []
        if chained:
            from ....plan.fusion import quantized_chains

            planned = quantized_chains.plan_chains(nodes, slots)
        if large:
            # Plan the nodes between the chains.
            ends = [nodes[0].pc, *[end for group in planned for end in (group.first, group.end)], nodes[len(nodes) - 1].pc + 1]
            for first, end in zip(ends[::2], ends[1::2]):
                planned += groups.plan_groups([node for node in nodes if first <= node.pc < end], slots)
        return planned

    def has_large_value(self, slots, npy_intp min_nbytes):
        return any([slot >= 0 and self.s.slots[<int>slot].nbytes >= min_nbytes for slot in slots])

    def is_integer_product(self, instruction):
        cdef int slot = instruction.outputs[0] if instruction.outputs else -1
        return slot >= 0 and instruction.node.op_type in ("MatMul", "MatMulInteger") and \
            self.memory.specs.kind(self.s.slots[slot].spec)[0] == np.int32
