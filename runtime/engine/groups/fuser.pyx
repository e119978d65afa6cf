"""Looks for groups (fuse.py) in the bodies of running loops, once their nodes are bound, and installs them."""

from .group cimport free_group, make_group
from ..memory cimport Memory
from ..state cimport *

from ...plan.plan import Kind


cdef class Fuser:
    """What an engine knows about the groups in its plan."""

    def __init__(self):
        self.groups = []
        self.planned = {}
        self.unfolded = set()

    cdef int switch(self, Memory m, bint on) except -1:
        """Let groups run, or their nodes one by one; those that were made stay for later."""
        cdef Instr *ins
        m.s.fusing = on
        for group in self.groups:
            ins = m.s.code + <int>group.first
            if ins.group != NULL:
                ins.group.running = 0
                if ins.kind == (NATIVE if on else FUSED):
                    ins.kind = FUSED if on else NATIVE
        if on:
            for k in range(m.nloops):
                # Nodes may have been bound meanwhile.
                m.s.loops[<int>k].fuse_at = m.s.loops[<int>k].heat + 1
        return 0

    cdef int begin(self, Memory m) except -1:
        """An execution begins: none is under way. What was to be looked at is so after its first iteration."""
        cdef int k
        for k in range(m.nloops):
            m.s.loops[k].fuse_wait = 1
            m.s.loops[k].fuse_at = m.s.loops[k].fuse_at > m.s.loops[k].heat
        for group in self.groups:
            if m.s.code[<int>group.first].group != NULL:
                m.s.code[<int>group.first].group.running = 0
        return 0

    cdef int look(self, Memory m, int index) except -1:
        """Look at a loop's body. Nodes in a row that are bound as they were the last time keep their groups."""
        cdef list run = []
        cdef int kind
        for pc, instruction in enumerate(m.plan.code):
            kind = m.s.code[<int>pc].kind
            # Nodes that follow an extent change their calls by themselves.
            bound = instruction.inside == index and instruction.kind == Kind.NODE and \
                (kind == NATIVE or kind == FUSED) and m.s.code[<int>pc].varying == NULL
            if run and not (bound and pc == run[len(run) - 1] + 1):
                self.plan(m, run)
                run = []
            if bound:
                run.append(pc)
        return 0

    cdef int plan(self, Memory m, list run) except -1:
        cdef Instr *ins
        cdef int k
        for pc in run:
            ins = m.s.code + <int>pc
            if ins.group != NULL and ins.group.unfit:
                self.unfolded.update([ins.group.members[k] for k in range(ins.group.nmembers)])
        key = (tuple([m.s.code[<int>pc].binding for pc in run]), len(self.unfolded))
        if self.planned.get(run[0]) == key:
            return 0
        self.planned[run[0]] = key
        # Not at the top: a run whose tensors are all small needs none of it.
        if not any([m.s.slots[<int>slot].nbytes >= 4096 for pc in run for slot in m.plan.code[pc].outputs if slot >= 0]):
            return 0
        from . import fuse

        if self.ports is None:
            self.ports = self.slots_of_ports(m.plan)
        nodes = []
        for pc in run:
            ins = m.s.code + <int>pc
            if ins.kind == FUSED:
                ins.kind = NATIVE
            free_group(ins.group)
            ins.group = NULL
            instruction = m.plan.code[pc]
            nodes.append(fuse.Candidate(pc, instruction.op, instruction.inputs, instruction.outputs, ins.nguards > 0,
                                        ins.ncalls == 0 and ins.nguards == 0))
        self.groups = [group for group in self.groups if not run[0] <= group.first <= run[len(run) - 1]]
        slots = fuse.Slots(lambda slot: m.specs[m.s.slots[<int>slot].spec], lambda slot: m.known[slot],
                           lambda slot: m.consumers[slot], self.ports)
        for group in fuse.plan_groups(nodes, slots, self.unfolded):
            ins = m.s.code + <int>group.first
            ins.group = make_group(&m.s, group)
            ins.group.loop = m.plan.code[run[0]].inside
            ins.kind = FUSED
            self.groups.append(group)
        return 0

    cdef set slots_of_ports(self, object plan):
        """Slots that something other than a node reads."""
        ports = {slot for _, slot in plan.outputs}
        for instruction in plan.code:
            if instruction.kind != Kind.NODE:
                ports.update(instruction.inputs)
                ports.update([source for source, _ in instruction.moves])
        for loop in plan.loops:
            ports.update((loop.trip_count, loop.initial_condition, loop.condition))
            for edge in loop.edges:
                ports.update((edge.initial, edge.param, edge.result))
            ports.update([sliced.outer for sliced in loop.slices])
            ports.update([last.source for last in loop.lasts])
            ports.update([scan.result for scan in loop.scans])
        return ports
