"""Builds the parts of a scalar program: a loop's body, with inner loops and Ifs, as instructions over registers.

``build_program_parts`` takes a loop whose instructions are all bound, and finds whether it can be a program.
"""

from ...baseline.state cimport *
from ...history.value_history_structs cimport *
from ..optimizer_state cimport OptimizerNode, optimizer_node, already_ran_in_entry
from .node_translator cimport NodeTranslator
from .program_structs cimport *

from .node_translator import NotScalar


cdef class ProgramBuilder(NodeTranslator):
    """Collects the parts of a program."""

    cdef readonly set written        # slots that the loop writes
    cdef readonly list once          # positions of omitted nodes
    cdef readonly list loops         # result of ``ports`` for each loop
    cdef dict starts                 # position in the plan -> instruction
    cdef list patches                # (instruction, position) of jumps
    cdef int branches                # nesting depth of Ifs around the instruction

    def __init__(self, plan, set changing):
        NodeTranslator.__init__(self, plan, changing)
        self.written, self.loops, self.once, self.starts, self.patches = set(), [], [], {}, []

    cdef int body(self, int first, int last, int current) except -1:
        """Translate the plan's instructions from first to before last; ``current``: index of the loop around them."""
        cdef Instr *ins
        cdef OptimizerNode *n
        cdef int k, pc = first
        while pc < last:
            ins, n = self.s.code + pc, optimizer_node(self.s, pc)
            self.starts[pc] = len(self.code)
            if ins.trap:
                raise NotScalar
            # Inside branches and inner loops it may not have run yet.
            if current == 0 and n.once >= 0 and not self.branches and already_ran_in_entry(self.s, n):
                self.once.append(pc)
                pc += 1
                continue
            if ins.kind == NATIVE:
                if ins.nguards or n.varying != NULL or n.elided or n.counts:
                    raise NotScalar
                self.node(pc, ins, NULL)
                if ins.ncalls:
                    self.written.update(slot for slot in self.plan.code[pc].outputs if slot >= 0)
                else:
                    for slot in self.plan.code[pc].outputs:
                        if slot >= 0 and self.s.slots[<int>slot].nbytes <= 8:
                            self.slot(slot)
            elif ins.kind == ENTER:
                pc = self.inner(pc, current)
                continue
            elif ins.kind == BRANCH:
                if self.s.slots[ins.condition].nbytes != 1:
                    raise NotScalar
                self.branches += 1
                self.patches.append((self.emit(pc, OP_BRANCH, a=self.slot(ins.condition)), ins.target))
            elif ins.kind == JUMP or ins.kind == JOIN:
                for k in range(ins.nmoves):
                    if self.s.slots[ins.moves[k].source].spec != self.s.slots[ins.moves[k].target].spec:
                        raise NotScalar
                    self.copy(pc, ins.moves[k].source, ins.moves[k].target)
                self.branches -= ins.kind == JOIN
                if ins.kind == JUMP:
                    self.patches.append((self.emit(pc, OP_JUMP), ins.target))
            else:
                raise NotScalar
            pc += 1
        self.starts[last] = len(self.code)

    cdef int copy(self, int pc, int source, int target) except -1:
        """Copy one slot's value to another of the same spec."""
        cdef Py_ssize_t nbytes = self.s.slots[target].nbytes
        if nbytes <= 8:
            self.emit(pc, OP_copy_8, d=self.slot(target), a=self.slot(source))
        else:
            self.emit(pc, OP_BLOCK, d=self.slot(target), a=self.slot(source), b=nbytes)
        self.written.add(target)

    cdef dict ports(self, int index, int parent):
        """Interface of a loop in the program, without its body."""
        cdef LoopState *loop = self.s.loops + index
        cdef BackEdgeState *edge
        cdef int k
        moves = []
        for k in range(loop.nsaved):
            if self.s.slots[loop.saved_inputs[k].source].spec != self.s.slots[loop.saved_inputs[k].target].spec:
                raise NotScalar
            moves += self.moves(loop.saved_inputs[k].source, loop.saved_inputs[k].target)
            self.written.add(loop.saved_inputs[k].target)
        for k in range(loop.nedges):
            edge = loop.edges + k
            if self.s.slots[edge.param].spec != self.s.slots[edge.result].spec:
                raise NotScalar
            if not edge.identity:
                moves += self.moves(edge.result, edge.param)
                self.written.add(edge.param)
        if loop.condition_input >= 0 and loop.yielded >= 0:
            moves += self.moves(loop.yielded, loop.condition_input)
        for slot in (loop.iteration, loop.condition_input):
            if slot >= 0:
                self.written.add(slot)
        params = {to for _, to in moves}
        staged = any(source in params for source, _ in moves)
        before = None
        if parent < 0 and loop.top != loop.head:
            # Its test may end it behind its boundary, where the previous values are visible.
            before = [self.before(loop.edges + k) for k in range(loop.nedges)]
            saved = [(k, register) for k, register in enumerate(before) if register >= 0]
            moves = [(self.slot(loop.edges[<int>k].param) + j, register + j) for k, register in saved
                     for j in range(0, self.s.slots[loop.edges[<int>k].param].nbytes, 8)] + moves
        if staged and len(moves) > SCALAR_MAX_STAGED_MOVES:
            raise NotScalar
        nested = parent >= 0
        return {
            "index": index, "parent": parent, "moves": moves, "staged": staged, "before": before, "init": [], "outs": [],
            "records": self.records(index), "notes": self.notes(index),
            "trip": self.optional_slot_register(loop.trip_slot) if nested else -1,
            "trip_wide": nested and loop.trip_slot >= 0 and self.s.slots[loop.trip_slot].nbytes == 8,
            "initial": self.optional_slot_register(loop.initial_slot) if nested else -1,
            # A condition tested before the iteration belongs to OP_TEST.
            "cond": self.optional_slot_register(loop.condition) if loop.top == loop.head else -1,
            "cond_in": self.optional_slot_register(loop.condition_input), "iteration": self.optional_slot_register(loop.iteration),
            "scans": [self.scan(loop.scans + k) for k in range(loop.nscans)],
            "slices": [(self.slot(loop.slices[k].inner), self.s.slots[loop.slices[k].inner].nbytes)
                       for k in range(loop.nslices)],
        }

    cdef tuple scan(self, Scan *c):
        """The register of a scan output's element, and its size."""
        if self.s.slots[c.result].spec != c.spec:
            raise NotScalar
        return self.slot(c.result), c.nbytes

    cdef int before(self, BackEdgeState *e) except -2:
        """The register for the previous value of a back edge; -1: its parameter still has it."""
        if e.identity:
            return -1
        # The content read from its cell at entry is unused.
        return self.register(("before", e.param), -1, <size_t>&self.s.slots[e.param].data, self.s.slots[e.param].nbytes,
                             True)

    cdef list notes(self, int index):
        """(column, register of the result, of the parameter, series, number of elements) of each history series."""
        cdef loop_history *h = history_of_loop(self.s.loops + index)
        cdef history_series *q
        cdef int k
        cells = []
        for k in range(0 if h == NULL else h.nseries):
            q = h.series + k
            if q.kind == KIND_UNKNOWN:
                raise NotScalar
            if q.kind != KIND_NONE and not q.steady:
                cells.append((k * HISTORY_COLUMNS * HISTORY_ROWS, self.slot(q.result), self.optional_slot_register(q.param), k,
                              self.s.slots[q.result].nbytes // q.itemsize))
        return cells

    cdef list records(self, int index):
        """(record, registers) of the records of the loop's boundaries, if a program has their values then."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k = loop.first_record
        records = []
        unavailable = {loop.iteration, *[loop.slices[j].inner for j in range(loop.nslices)]}
        while k >= 0:
            if self.s.records[k].enabled:
                slots = [self.s.records[k].slots[j] for j in range(self.s.records[k].nvalues)]
                if not self.s.records[k].row or any([s in unavailable or s >= len(self.plan.slots) for s in slots]):
                    raise NotScalar
                records.append((k, [self.slot(s) for s in slots]))
            k = self.s.records[k].next
        return records

    cdef int predicates(self, int index, int position, bint entering) except -1:
        """Evaluate predicates before a boundary is crossed: if one is true, the engine crosses it and stops there."""
        cdef LoopState *loop = self.s.loops + index
        cdef Predicate *predicate
        cdef Instr *ins
        cdef int k = loop.first_predicate
        is_mapped = False
        while k >= 0:
            predicate = self.s.predicates + k
            k = predicate.next
            if not predicate.enabled or (entering and predicate.needs_body):
                continue
            ins = self.s.code + predicate.pc
            if ins.kind != NATIVE or ins.nguards or predicate.offset:
                raise NotScalar
            if not is_mapped:
                is_mapped = True
                self.map_boundary_registers(index, position, entering)
            self.node(position, ins, predicate.cell)
            slot = self.slot_of_cell(predicate.cell)
            answer = self.slot(slot) if slot >= 0 else \
                self.register(("temp", <size_t>predicate.cell), -1, <size_t>predicate.cell, 8, False)
            op, d, a, _, c = self.code[len(self.code) - 1]
            if op == OP_ANY and d == answer:
                self.code[len(self.code) - 1] = op, d, a, 1, c
            else:
                self.emit(position, OP_STOP_IF, a=answer)
        self.boundary_registers = {}

    cdef int map_boundary_registers(self, int index, int position, bint entering) except -1:
        """Map slots to the registers with their values at the next boundary; -1: no register."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k, condition, derived = loop.first_derived_slot
        boundary_registers = {}
        for k in range(loop.nslices):
            boundary_registers[loop.slices[k].inner] = -1
        for k in range(loop.nedges):
            boundary_registers[derived + k] = -1 if entering else self.slot(loop.edges[k].param)
            boundary_registers[loop.edges[k].param] = self.slot(loop.edges[k].initial if entering else loop.edges[k].result)
        for slot, is_int64 in ((derived + loop.nedges, 1), (loop.iteration, loop.iteration_wide)):
            if slot >= 0:
                # The content read from its cell at entry is unused.
                boundary_registers[slot] = self.register(("count", index, slot), -1,
                                              <size_t>&self.s.slots[derived + loop.nedges].data, 8, False)
                self.emit(position, OP_COUNT, d=boundary_registers[slot], a=-1 if entering else 1, b=is_int64)
        for slot, later in ((derived + loop.nedges + 1, loop.condition), (loop.condition_input, loop.yielded)):
            condition = loop.initial_slot if entering else later
            if slot >= 0 and (condition >= 0 or index != self.loops[0]["index"]):
                boundary_registers[slot] = self.slot(condition) if condition >= 0 else -1
        if index == self.loops[0]["index"]:
            # The program does not change them.
            for slot, nbytes in ((derived + loop.nedges + 1, 1), (derived + loop.nedges + 2, 8)):
                if slot not in boundary_registers:
                    boundary_registers[slot] = self.register(("slot", slot), slot, 0, nbytes, True)
        self.boundary_registers = boundary_registers

    cdef int inner(self, int pc, int parent) except -1:
        """Translate an inner loop from its ENTER; returns the position after its EXIT."""
        cdef int index = self.s.code[pc].loop
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        plan = self.plan.loops[index]
        if not loop.native_entry or loop.nscans or loop.nslices or loop.counted or loop.stop_at_exit:
            raise NotScalar
        ports = self.ports(index, parent)
        for k in range(loop.nedges):
            if self.s.slots[loop.edges[k].initial].spec != self.s.slots[loop.edges[k].param].spec:
                raise NotScalar
            ports["init"] += self.moves(loop.edges[k].initial, loop.edges[k].param)
            self.written.add(loop.edges[k].param)
        for k in range(loop.nlasts):
            if loop.last_values[k].edge < 0 or \
                    self.s.slots[loop.last_values[k].outer].spec != self.s.slots[loop.last_values[k].source].spec:
                raise NotScalar
            ports["outs"] += self.moves(loop.last_values[k].source, loop.last_values[k].outer)
            self.written.add(loop.last_values[k].outer)
        self.loops.append(ports)
        number = len(self.loops) - 1
        if number == MAX_LOOPS:
            raise NotScalar
        self.predicates(index, pc, True)
        self.emit(pc, OP_ENTER, a=number)
        self.test(index, number)
        ports["body"] = len(self.code)
        self.body(plan.head + 1, plan.next, number)
        self.predicates(index, plan.next, False)
        self.emit(plan.next, OP_NEXT, a=number)
        ports["after"] = len(self.code)
        self.starts[plan.exit + 1] = len(self.code)
        return plan.exit + 1

    cdef int test(self, int index, int number) except -1:
        """Translate the code that decides whether an iteration runs, if any."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k = loop.first_predicate
        self.loops[number]["test"] = -1
        if loop.top == loop.head:
            return 0
        while k >= 0:
            if self.s.predicates[k].enabled:
                raise NotScalar     # they are evaluated once the condition is known
            k = self.s.predicates[k].next
        self.loops[number]["test"] = len(self.code)
        self.body(loop.top, loop.head - 1, number)
        self.emit(loop.head - 1, OP_TEST, a=self.slot(loop.condition))

    cdef int root(self, int index) except -1:
        """Translate a whole program: the outermost loop."""
        plan = self.plan.loops[index]
        ports = self.ports(index, -1)
        self.loops.append(ports)
        ports["body"] = 0
        ports["after"] = 0
        self.body(plan.head + 1, plan.next, 0)
        self.predicates(index, plan.next, False)
        self.emit(plan.next, OP_NEXT, a=0)
        self.test(index, 0)
        if self.written & self.large:
            raise NotScalar
        for position, target in self.patches:
            op, _, a, b, c = self.code[position]
            self.code[position] = (op, self.starts[target], a, b, c)


cdef bint is_candidate(ExecutionState *s, int root, int nslots) noexcept:
    """A quick check: each node of the body is bound for good, and its results fit registers. It runs for each loop in
    each execution, and rejects most of those that do not fit."""
    cdef LoopState *loop = s.loops + root
    cdef OptimizerNode *n
    cdef int k, pc
    for pc in range(loop.top, loop.exit):
        n = optimizer_node(s, pc)
        if s.code[pc].kind == UNBOUND and n.once < 0:
            return False
        if s.code[pc].kind == NATIVE and n.once < 0 and (s.code[pc].nguards or n.varying != NULL or n.elided or n.counts):
            return False
    for k in range(nslots):
        pc = s.writer[k]
        if loop.top <= pc < loop.exit and s.code[pc].kind == NATIVE and s.code[pc].ncalls and optimizer_node(s, pc).once < 0 and \
                s.slots[k].nbytes > REGISTER_BYTES and not s.slots[k].flags & FOLDED:
            return False
    return True


cdef object build_program_parts(ExecutionState *s, object plan, int root):
    """The parts of a program for the loop ``root``, as a ``ProgramBuilder``; None: it cannot be one."""
    cdef ProgramBuilder builder
    if not is_candidate(s, root, len(plan.slots)):
        return None
    written = set()
    while True:
        builder = ProgramBuilder(plan, written)
        builder.s = s
        try:
            builder.root(root)
        except NotScalar:
            return None
        if not any([load[0] in builder.written for load in builder.loads]):
            return builder
        written = builder.written     # tensors that loads read must not be in registers
