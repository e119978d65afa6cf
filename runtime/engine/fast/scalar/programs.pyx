"""Scalar programs: a loop whose values are all single numbers, run by an interpreter over registers.

``make_program`` looks at a loop whose instructions are all bound and turns its body, inner loops and Ifs included, into
a program (see scalar_program.h), or finds that it cannot. It is a region that the loop's HEAD leads: the engine gets the loop
back at the boundary where something happens; from there on it is as if the engine had run every iteration itself. A loop of
Mul, Add and Less takes 15 ns an iteration instead of 40.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ....kernels.call cimport Call
from ....kernels.drivers cimport is_gather, is_single
from ....kernels.kernel cimport opcode
from ...plain.pieces cimport release, take
from ...plain.interpreter cimport next_break
from ...plain.state cimport *
from ...time.history_state cimport *
from ..nodes cimport lead, lead_no_more
from ..fast_state cimport *

cdef extern from "scalar_run.h" nogil:
    int scalar_run(scalar_program *p, const int *watch, int64_t *budget)


cdef enum:
    MAX_LOOPS = 64     # in one program


class NotScalar(Exception):
    """The loop is none that a scalar program can run."""


cdef class Maker:
    """Collects a program's parts as Python lists; ``build`` makes C of them."""

    cdef State *s
    cdef object plan
    cdef dict registers      # ("slot", k) or ("temp", address) -> byte offset of the register
    cdef list values         # (slot, cell address, nbytes) a register
    cdef set written         # slots that the loop writes
    cdef list code           # (op, d, a, b, c)
    cdef list positions      # instruction -> position in the plan
    cdef list once           # positions of nodes that are left out
    cdef list calls
    cdef list loads
    cdef list loops
    cdef dict starts         # position in the plan -> instruction
    cdef list patches        # (instruction, position) of jumps
    cdef int branches        # how many Ifs the instruction stands in
    cdef dict instead        # slot -> register that has its value at the boundary ahead, while predicates are laid out

    def __init__(self, plan):
        self.plan = plan
        self.registers, self.values, self.written = {}, [], set()
        self.code, self.positions, self.calls, self.loads, self.loops, self.once = [], [], [], [], [], []
        self.starts, self.patches, self.instead = {}, [], {}

    cdef int slot(self, int k) except -1:
        """The register of a slot."""
        cdef Slot *slot = self.s.slots + k
        if k in self.instead:
            if self.instead[k] < 0:
                raise NotScalar
            return self.instead[k]
        if k >= len(self.plan.slots):
            raise NotScalar     # derived from another loop, and not followed here
        if slot.spec == 0 or slot.data == NULL or not 0 < slot.nbytes <= 8:
            raise NotScalar
        return self.register(("slot", k), k, 0, slot.nbytes)

    cdef int maybe(self, int k) except -2:
        return -1 if k < 0 else self.slot(k)

    cdef int register(self, tuple key, int slot, size_t cell, Py_ssize_t nbytes) except -1:
        if key not in self.registers:
            self.registers[key] = 8 * len(self.values)
            self.values.append((slot, cell, nbytes))
        return self.registers[key]

    cdef int slot_of_cell(self, char **cell):
        """The slot whose memory a call's argument is in; -1: a temp."""
        cdef size_t first = <size_t>&self.s.slots[0].data
        cdef size_t address = <size_t>cell
        cdef size_t end = first + self.s.nslots * sizeof(Slot)
        return <int>((address - first) // sizeof(Slot)) if first <= address < end else -1

    cdef int argument(self, Call *call, int j) except -1:
        """The register of a call's argument."""
        cdef int slot = self.slot_of_cell(call.cell[j])
        if call.offset[j]:
            raise NotScalar     # a part of something larger, which other calls may see at other offsets
        if slot < 0:
            # Temps have at least 8 bytes.
            return self.register(("temp", <size_t>call.cell[j]), -1, <size_t>call.cell[j], 8)
        return self.slot(slot)

    def emit(self, int position, int op, int d=0, int a=0, int b=0, int c=0):
        """Append an instruction; returns its number."""
        self.code.append((op, d, a, b, c))
        self.positions.append(position)
        return len(self.code) - 1

    cdef int body(self, int first, int last, int current) except -1:
        """Instructions of the plan from first to before last; ``current``: index of the loop around them."""
        cdef Instr *ins
        cdef FastNode *n
        cdef int k, pc = first
        while pc < last:
            ins, n = self.s.code + pc, node_at(self.s, pc)
            self.starts[pc] = len(self.code)
            if ins.trap:
                raise NotScalar
            # Inside branches and inner loops it may not have run yet.
            if current == 0 and n.once >= 0 and not self.branches and ran_once(self.s, n):
                self.once.append(pc)
                pc += 1
                continue
            if ins.kind == NATIVE:
                if ins.nguards or n.varying != NULL:
                    raise NotScalar
                for k in range(ins.ncalls):
                    self.call(pc, ins.calls + k)
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
                    self.emit(pc, OP_copy_8, d=self.slot(ins.moves[k].target), a=self.slot(ins.moves[k].source))
                    self.written.add(ins.moves[k].target)
                self.branches -= ins.kind == JOIN
                if ins.kind == JUMP:
                    self.patches.append((self.emit(pc, OP_JUMP), ins.target))
            else:
                raise NotScalar
            pc += 1
        self.starts[last] = len(self.code)
        return 0

    cdef int call(self, int pc, Call *call) except -1:
        cdef int op = opcode(call)
        cdef int j
        if op >= 0:
            registers = [self.argument(call, j) for j in range(call.nargs)]
            inputs = (registers[: call.nargs - 1] + [0, 0, 0])[:3]
            self.emit(pc, op, registers[call.nargs - 1], inputs[0], inputs[1], inputs[2])
        elif is_single(call):
            self.calls.append((<size_t>call.loop, <size_t>call.data, [self.argument(call, j) for j in range(call.nargs)],
                               [call.steps[j] for j in range(call.nargs)]))
            self.emit(pc, OP_CALL, a=len(self.calls) - 1)
        elif is_gather(call) and call.extra[0] == 1 and call.extra[3] == 1 and 0 < call.extra[2] <= 8:
            # extra: outer count, axis length, block bytes, number of indices, bytes of an index
            source = self.slot_of_cell(call.cell[0])
            base = 0 if source >= 0 else <size_t>call.cell[0][0]
            self.loads.append((source, call.offset[0], call.extra[2], call.extra[1], base, self.argument(call, 1),
                               call.extra[4] == 8))
            self.emit(pc, OP_LOAD, d=self.argument(call, 2), a=len(self.loads) - 1)
        else:
            raise NotScalar
        return 0

    cdef dict ports(self, int index, int parent):
        """What a loop in the program needs besides its body."""
        cdef LoopState *loop = self.s.loops + index
        cdef Edge *e
        cdef int k
        moves = []
        for k in range(loop.nkept):
            if self.s.slots[loop.kept[k].source].spec != self.s.slots[loop.kept[k].target].spec:
                raise NotScalar
            moves.append((self.slot(loop.kept[k].source), self.slot(loop.kept[k].target)))
            self.written.add(loop.kept[k].target)
        for k in range(loop.nedges):
            e = loop.edges + k
            if self.s.slots[e.param].spec != self.s.slots[e.result].spec:
                raise NotScalar
            if not e.identity:
                moves.append((self.slot(e.result), self.slot(e.param)))
                self.written.add(e.param)
        if loop.condition_input >= 0 and loop.yielded >= 0:
            moves.append((self.slot(loop.yielded), self.slot(loop.condition_input)))
        for slot in (loop.iteration, loop.condition_input):
            if slot >= 0:
                self.written.add(slot)
        params = {to for _, to in moves}
        staged = any(source in params for source, _ in moves)
        before = None
        if parent < 0 and loop.top != loop.head:
            # It may end behind its boundary, by its test: what was carried before is then to be seen.
            before = [self.before(loop.edges + k) for k in range(loop.nedges)]
            moves = [(self.slot(loop.edges[k].param), at) for k, at in enumerate(before) if at >= 0] + moves
        if staged and len(moves) > SCALAR_STAGED:
            raise NotScalar
        return {"index": index, "parent": parent, "moves": moves, "staged": staged, "before": before, "init": [],
                "outs": [], "records": self.records(index), "notes": self.notes(index)}

    cdef int before(self, Edge *e) except -2:
        """The register for what a back edge carried before; -1: that is still in its parameter."""
        if e.identity:
            return -1
        # Its cell is read where the program is entered, and says nothing.
        return self.register(("before", e.param), -1, <size_t>&self.s.slots[e.param].data, self.s.slots[e.param].nbytes)

    cdef list notes(self, int index):
        """(column, register of the result, of the parameter) of the series that a history has of the loop."""
        cdef loop_history *h = history_of(self.s.loops + index)
        cdef history_series *q
        cdef int k
        found = []
        for k in range(0 if h == NULL else h.nseries):
            q = h.series + k
            if q.kind == KIND_UNKNOWN or (q.kind != KIND_NONE and self.s.slots[q.result].nbytes != q.itemsize):
                raise NotScalar
            if q.kind != KIND_NONE and not q.steady:
                found.append((k * HISTORY_COLUMNS * HISTORY_ROWS, self.slot(q.result), self.maybe(q.param)))
        return found

    cdef list records(self, int index):
        """(record, registers) of what is recorded at the loop's boundaries, of values that a program has then."""
        cdef LoopState *loop = self.s.loops + index
        cdef int j, k = loop.first_record
        found = []
        later = {loop.iteration, *[loop.slices[j].inner for j in range(loop.nslices)]}
        while k >= 0:
            if self.s.records[k].enabled:
                slots = [self.s.records[k].slots[j] for j in range(self.s.records[k].nvalues)]
                if not self.s.records[k].row or any([s in later or s >= len(self.plan.slots) for s in slots]):
                    raise NotScalar
                found.append((k, [self.slot(s) for s in slots]))
            k = self.s.records[k].next
        return found

    cdef int predicates(self, int index, int position, bint entering) except -1:
        """Ask a loop's predicates before a boundary is crossed: the engine then does that, asks again and stops there."""
        cdef LoopState *loop = self.s.loops + index
        cdef Predicate *p
        cdef Instr *ins
        cdef int j, k = loop.first_predicate
        counted = False
        while k >= 0:
            p = self.s.predicates + k
            k = p.next
            if not p.enabled or (entering and p.needs_body):
                continue
            ins = self.s.code + p.pc
            if ins.kind != NATIVE or ins.nguards or p.offset:
                raise NotScalar
            if not counted:
                counted = True
                self.look_ahead(index, position, entering)
            for j in range(ins.ncalls):
                self.call(position, ins.calls + j)
            slot = self.slot_of_cell(p.cell)
            answer = self.slot(slot) if slot >= 0 else self.register(("temp", <size_t>p.cell), -1, <size_t>p.cell, 8)
            self.emit(position, OP_STOP_IF, a=answer)
        self.instead = {}
        return 0

    cdef int look_ahead(self, int index, int position, bint entering) except -1:
        """Which registers have the values of the boundary ahead; -1 for what no register has."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k, condition, derived = loop.first_derived
        instead = {}
        for k in range(loop.nslices):
            instead[loop.slices[k].inner] = -1
        for k in range(loop.nedges):
            instead[derived + k] = -1 if entering else self.slot(loop.edges[k].param)
            instead[loop.edges[k].param] = self.slot(loop.edges[k].initial if entering else loop.edges[k].result)
        for slot, wide in ((derived + loop.nedges, 1), (loop.iteration, loop.iteration_wide)):
            if slot >= 0:
                # Its cell is read where the program is entered, and says nothing.
                instead[slot] = self.register(("count", index, slot), -1,
                                              <size_t>&self.s.slots[derived + loop.nedges].data, 8)
                self.emit(position, OP_COUNT, d=instead[slot], a=-1 if entering else 1, b=wide)
        for slot, later in ((derived + loop.nedges + 1, loop.condition), (loop.condition_input, loop.yielded)):
            condition = loop.initial_slot if entering else later
            if slot >= 0 and (condition >= 0 or index != self.loops[0]["index"]):
                instead[slot] = self.slot(condition) if condition >= 0 else -1
        if index == self.loops[0]["index"]:
            # Nothing changes them in the program.
            for slot, nbytes in ((derived + loop.nedges + 1, 1), (derived + loop.nedges + 2, 8)):
                if slot not in instead:
                    instead[slot] = self.register(("slot", slot), slot, 0, nbytes)
        self.instead = instead
        return 0

    cdef int inner(self, int pc, int parent) except -1:
        """An inner loop from its ENTER; returns the position after its EXIT."""
        cdef int index = self.s.code[pc].loop
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        plan = self.plan.loops[index]
        if not loop.fast_enter or loop.nscans or loop.nslices or loop.counted or loop.event_at_end:
            raise NotScalar
        ports = self.ports(index, parent)
        for k in range(loop.nedges):
            if self.s.slots[loop.edges[k].initial].spec != self.s.slots[loop.edges[k].param].spec:
                raise NotScalar
            ports["init"].append((self.slot(loop.edges[k].initial), self.slot(loop.edges[k].param)))
            self.written.add(loop.edges[k].param)
        for k in range(loop.nlasts):
            if loop.lasts[k].edge < 0 or \
                    self.s.slots[loop.lasts[k].outer].spec != self.s.slots[loop.lasts[k].source].spec:
                raise NotScalar
            ports["outs"].append((self.slot(loop.lasts[k].source), self.slot(loop.lasts[k].outer)))
            self.written.add(loop.lasts[k].outer)
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
        """What decides before an iteration whether it runs, where there is such."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k = loop.first_predicate
        self.loops[number]["test"] = -1
        if loop.top == loop.head:
            return 0
        while k >= 0:
            if self.s.predicates[k].enabled:
                raise NotScalar     # they are asked once the condition is known
            k = self.s.predicates[k].next
        self.loops[number]["test"] = len(self.code)
        self.body(loop.top, loop.head - 1, number)
        self.emit(loop.head - 1, OP_TEST, a=self.slot(loop.condition))
        return 0

    cdef int root(self, int index) except -1:
        plan = self.plan.loops[index]
        ports = self.ports(index, -1)
        self.loops.append(ports)
        ports["body"] = 0
        ports["after"] = 0
        self.body(plan.head + 1, plan.next, 0)
        self.predicates(index, plan.next, False)
        self.emit(plan.next, OP_NEXT, a=0)
        self.test(index, 0)
        for load in self.loads:
            if load[0] in self.written:
                raise NotScalar
        for position, target in self.patches:
            op, _, a, b, c = self.code[position]
            self.code[position] = (op, self.starts[target], a, b, c)
        return 0


cdef Program *make_program(State *s, object plan, int root) except? NULL:
    """A program for the loop ``root``, whose instructions are bound; NULL where it cannot be one."""
    cdef Maker maker = Maker(plan)
    cdef Program *program
    maker.s = s
    try:
        maker.root(root)
        program = <Program *>take(s.own, 1, sizeof(Program))
        try:
            fill(program, maker, root)
        except BaseException:
            release(program)
            raise
    except NotScalar:
        return NULL
    program.region.fits, program.region.run = may_enter, run_program
    program.region.materialise, program.region.invalidate = show, forget
    lead(s.code + s.loops[root].head, &program.region)
    return program


cdef void drop_program(State *s, Program *program) noexcept:
    """It is no region any more."""
    if program != NULL:
        lead_no_more(s.code + s.loops[program.root].head, &program.region)
        release(program)


cdef scalar_move *moves_of(Program *program, list pairs) except NULL:
    cdef scalar_move *moves = <scalar_move *>take(program, len(pairs), sizeof(scalar_move))
    cdef int k
    for k, (source, target) in enumerate(pairs):
        moves[k].source, moves[k].to = source, target
    return moves


cdef int fill(Program *program, Maker maker, int root) except -1:
    cdef scalar_program *core = &program.core
    cdef int k, j
    program.root = root
    program.generation = maker.s.generation
    program.ncode = len(maker.code)
    core.code = <scalar_insn *>take(program, program.ncode, sizeof(scalar_insn))
    program.positions = <int *>take(program, len(maker.code), sizeof(int))
    for k, (op, d, a, b, c) in enumerate(maker.code):
        core.code[k].op, core.code[k].d = op, d
        core.code[k].a, core.code[k].b, core.code[k].c = a, b, c
        program.positions[k] = maker.positions[k]
    core.calls = <scalar_call *>take(program, len(maker.calls), sizeof(scalar_call))
    for k, (loop_address, data, args, steps) in enumerate(maker.calls):
        core.calls[k].loop, core.calls[k].data = <inner_loop><size_t>loop_address, <void *><size_t>data
        core.calls[k].nargs = len(args)
        for j, register in enumerate(args):
            core.calls[k].args[j] = register
            core.calls[k].steps[j] = steps[j]
    program.nonce = len(maker.once)
    program.once = <int *>take(program, program.nonce, sizeof(int))
    for k, position in enumerate(maker.once):
        program.once[k] = position
    program.nloads = len(maker.loads)
    core.loads = <scalar_load *>take(program, program.nloads, sizeof(scalar_load))
    for k, (slot, offset, block, length, base, index, wide) in enumerate(maker.loads):
        core.loads[k].slot, core.loads[k].offset, core.loads[k].block = slot, offset, block
        core.loads[k].length, core.loads[k].index, core.loads[k].wide = length, index, wide
        address = base + offset if slot < 0 else 0
        core.loads[k].base = <const char *><size_t>address
    program.nloops = len(maker.loops)
    core.loops = <scalar_loop *>take(program, program.nloops, sizeof(scalar_loop))
    for k, ports in enumerate(maker.loops):
        fill_loop(program, core.loops + k, maker, ports)
    # Last: filling the loops may have added registers.
    program.nregisters = len(maker.values)
    core.registers = <char *>take(program, program.nregisters, 8)
    program.values = <ProgramValue *>take(program, program.nregisters, sizeof(ProgramValue))
    for k, (slot, cell, nbytes) in enumerate(maker.values):
        program.values[k].slot, program.values[k].cell = slot, <char **><size_t>cell
        program.values[k].nbytes = nbytes
        program.values[k].written = slot in maker.written
    return 0


cdef int fill_loop(Program *program, scalar_loop *loop, Maker maker, dict ports) except -1:
    cdef LoopState *state = maker.s.loops + <int>ports["index"]
    cdef int k, j
    cdef bint nested = ports["parent"] >= 0
    loop.index, loop.parent = ports["index"], ports["parent"]
    loop.body, loop.after, loop.test = ports["body"], ports["after"], ports["test"]
    loop.trip = maker.maybe(state.trip_slot) if nested else -1
    loop.initial = maker.maybe(state.initial_slot) if nested else -1
    loop.trip_wide = nested and state.trip_slot >= 0 and maker.s.slots[state.trip_slot].nbytes == 8
    # One that is tested before an iteration is OP_TEST's.
    loop.cond = -1 if loop.test >= 0 else maker.maybe(state.condition)
    loop.cond_in = maker.maybe(state.condition_input)
    loop.iteration, loop.iteration_wide = maker.maybe(state.iteration), state.iteration_wide
    loop.negative, loop.fixed_trips = state.negative, state.fixed_trips
    loop.counted = state.counted
    loop.iterations, loop.entries = &state.iterations, &state.entries
    loop.by_reason = &state.by_reason[0]
    loop.staged = ports["staged"]
    if ports["before"] is not None:
        loop.before = <int *>take(program, len(ports["before"]), sizeof(int))
        for k, register in enumerate(ports["before"]):
            loop.before[k] = register
    loop.init, loop.ninit = moves_of(program, ports["init"]), len(ports["init"])
    loop.moves, loop.nmoves = moves_of(program, ports["moves"]), len(ports["moves"])
    loop.outs, loop.nouts = moves_of(program, ports["outs"]), len(ports["outs"])
    loop.scans = <scalar_scan *>take(program, state.nscans, sizeof(scalar_scan))
    loop.nscans = state.nscans
    for k in range(state.nscans):
        loop.scans[k].source = maker.slot(state.scans[k].result)
        if maker.s.slots[state.scans[k].result].spec != state.scans[k].spec:
            raise NotScalar
        loop.scans[k].nbytes = state.scans[k].nbytes
    loop.recorders = <scalar_recorder *>take(program, len(ports["records"]), sizeof(scalar_recorder))
    for k, (number, registers) in enumerate(ports["records"]):
        loop.recorders[k].record = maker.s.records[<int>number]
        loop.recorders[k].source = <int *>take(program, len(registers), sizeof(int))
        loop.nrecorders = k + 1
        for j, register in enumerate(registers):
            loop.recorders[k].source[j] = register
    loop.history, loop.nnotes = history_of(state), len(ports["notes"])
    loop.notes = <scalar_note *>take(program, loop.nnotes, sizeof(scalar_note))
    for k, (column, result, param) in enumerate(ports["notes"]):
        loop.notes[k].column, loop.notes[k].result, loop.notes[k].param = column, result, param
    loop.slices = <scalar_slice *>take(program, state.nslices, sizeof(scalar_slice))
    loop.nslices = state.nslices
    for k in range(state.nslices):
        loop.slices[k].to = maker.slot(state.slices[k].inner)
        loop.slices[k].nbytes = maker.s.slots[state.slices[k].inner].nbytes
    return 0


cdef int64_t bound(const LoopState *loop) noexcept nogil:
    """The first boundary of a loop at which the engine has to look itself."""
    cdef int64_t first = min(loop.limit, loop.next_event, next_break(loop, loop.i + 1))
    return loop_limit(first, loop.endless_at, loop.trip)


cdef int may_enter(State *s, Region *r) noexcept nogil:
    """May a loop's program run from the loop's head on? Not where it is out of date."""
    cdef Program *program = <Program *>r
    cdef scalar_loop *root = program.core.loops
    cdef LoopState *loop = s.loops + program.root
    cdef loop_history *history = history_of(loop)
    cdef int k
    if program.generation != s.generation:
        if program.generation >= 0:
            program.generation = -1        # never again; another is made once the loop is hot again
            fast_loop(s, loop).for_program.at = loop.boundaries + fast(s).hot_after
            schedule(s, loop)
        return 0
    if loop.i + 1 >= bound(loop) or (root.before != NULL and not can_show_previous(s, loop)):
        return 0
    for k in range(0 if history == NULL else history.nseries):
        if history.now.wide[k]:
            return 0
    for k in range(program.nonce):
        if not ran_once(s, node_at(s, program.once[k])):
            return 0
    for k in range(1, program.nloops):
        if s.loops[program.core.loops[k].index].event_at_end:
            return 0
    return 1


cdef int run_program(State *s, Region *r) noexcept nogil:
    """Enter a program that fits, or go on with the one that is suspended."""
    if s.suspended != r:
        enter(s, <Program *>r)
    return run_on(s, <Program *>r)


cdef int show(State *s, Region *r) noexcept nogil:
    """Write back what a suspended program holds: the engine then stands before a boundary."""
    if s.suspended == r:
        leave_program(s, <Program *>r, SCALAR_AT_NEXT)
    return 1


cdef void forget(State *s, Region *r) noexcept nogil:
    """The values that a suspended program holds are of another moment."""
    if s.suspended == r:
        s.suspended = NULL


cdef void enter(State *s, Program *program) noexcept nogil:
    """Take the values of now into the registers of a program."""
    cdef scalar_program *core = &program.core
    cdef scalar_loop *root = core.loops
    cdef LoopState *loop = s.loops + program.root
    cdef ProgramValue *v
    cdef LoopState *inner
    cdef int k
    for k in range(1, program.nloops):
        inner = s.loops + core.loops[k].index
        core.loops[k].stop = min(inner.limit, inner.next_event, next_break(inner, 0))
        core.loops[k].endless_at = inner.endless_at
    for k in range(program.nregisters):
        v = program.values + k
        if v.slot >= 0:
            memcpy(core.registers + 8 * k, s.slots[v.slot].data, v.nbytes)
        else:
            memcpy(core.registers + 8 * k, v.cell[0], v.nbytes)
    for k in range(program.nloads):
        if core.loads[k].slot >= 0:
            core.loads[k].base = s.slots[core.loads[k].slot].data + core.loads[k].offset
    root.i, root.trips, root.parts, root.keep = loop.i, loop.trip, loop.parts, loop.keep
    root.stop_before = bound(loop)
    for k in range(root.nscans):
        root.scans[k].buffer = loop.scans[k].buffer
        root.scans[k].count, root.scans[k].capacity = loop.scans[k].count, loop.scans[k].capacity
    for k in range(root.nslices):
        root.slices[k].base, root.slices[k].step = loop.slices[k].base, loop.slices[k].step
    for k in range(1, program.nloops):
        core.loops[k].ended = 0
    core.at_loop = core.suspended = 0
    fast(s).program_runs += 1


cdef int run_on(State *s, Program *program) noexcept nogil:
    """Run on from where the program is, and write everything back unless only the time slice is over."""
    cdef int status = scalar_run(&program.core, &s.watch, &s.budget)
    s.loops[program.core.loops[0].index].i = program.core.loops[0].i
    if status == SCALAR_TICK:
        s.suspended = &program.region
        return REGION_TICK
    leave_program(s, program, status)
    return REGION_RAN


cdef void leave_program(State *s, Program *program, int status) noexcept nogil:
    """Write everything back, and stand where the program stood."""
    cdef scalar_program *core = &program.core
    cdef scalar_loop *root = core.loops
    cdef LoopState *loop
    cdef ProgramValue *v
    cdef int k, at
    cdef int chain[MAX_LOOPS]
    cdef int depth = 0
    s.suspended = NULL
    for k in range(program.nregisters):
        v = program.values + k
        if v.written:
            memcpy(s.slots[v.slot].data, core.registers + 8 * k, v.nbytes)
    loop = s.loops + root.index
    loop.keep = root.keep
    for k in range(root.nscans):
        loop.scans[k].count = root.scans[k].count
    for k in range(root.nslices):
        s.slots[loop.slices[k].inner].data = <char *>root.slices[k].base + loop.i * loop.slices[k].step
    for k in range(program.ncode):
        if core.code[k].op == OP_BRANCH:
            s.code[program.positions[k]].taken = core.registers[core.code[k].a] != 0
    for k in range(1, program.nloops):
        if core.loops[k].ended:
            loop = s.loops + core.loops[k].index
            loop.i, loop.trip = core.loops[k].i, core.loops[k].trips
            loop.keep, loop.ended = core.loops[k].keep, core.loops[k].ended
    # The inner loops that were running become frames of the engine.
    at = core.at_loop
    while core.loops[at].parent >= 0:
        chain[depth] = at
        depth += 1
        at = core.loops[at].parent
    while depth > 0:
        depth -= 1
        loop = s.loops + core.loops[chain[depth]].index
        loop.i, loop.trip = core.loops[chain[depth]].i, core.loops[chain[depth]].trips
        loop.keep, loop.parts = core.loops[chain[depth]].keep, -1
        loop.ended, loop.reported, loop.edited, loop.checked, loop.active = RUNNING, 0, 0, 0, 1
        s.stack[s.depth] = core.loops[chain[depth]].index
        s.depth += 1
    if status == SCALAR_AT_INSN:
        if root.before != NULL and core.at_insn >= root.test:
            show_what_was_before(s, program)     # its test, which stands last, is the engine's to finish
        s.pc = program.positions[core.at_insn]
    elif status == SCALAR_AT_NEXT:
        s.pc = next_of(s, core.loops[core.at_loop].index)
    elif status == SCALAR_AT_TEST:
        show_what_was_before(s, program)
        s.pc = s.loops[root.index].head
    else:
        # Only before iteration 0 of an inner loop, which the program entered: predicates and records are done.
        loop = s.loops + core.loops[core.at_loop].index
        loop.checked, loop.hit = 1, 0
        s.pc = loop.head


cdef int can_show_previous(State *s, LoopState *loop) noexcept nogil:
    """Is there capacity where ``show_what_was_before`` puts it? A boundary that the engine crosses makes it."""
    cdef Edge *e
    cdef int k
    for k in range(loop.nedges):
        e = loop.edges + k
        if not e.identity and takes_copy(e, s.slots + e.result) and \
                (e.back.owner == NULL or e.back.capacity < s.slots[e.result].nbytes):
            return 0
    return 1


cdef void show_what_was_before(State *s, Program *program) noexcept nogil:
    """A program crossed the boundary at which its loop ends: leave what back edges carried before where ``cross`` does."""
    cdef scalar_loop *root = program.core.loops
    cdef LoopState *loop = s.loops + root.index
    cdef Edge *e
    cdef Slot *param
    cdef int k
    for k in range(loop.nedges):
        e = loop.edges + k
        if e.identity:
            continue
        param = s.slots + e.param
        e.in_back = takes_copy(e, s.slots + e.result)
        if e.in_back:
            e.back.spec, e.back.nbytes, e.back.version = param.spec, param.nbytes, 0
        memcpy(previous_of(s, e).data, program.core.registers + root.before[k], param.nbytes)


cdef int next_of(State *s, int index) noexcept nogil:
    """The NEXT of a loop: the instruction before its EXIT."""
    return s.loops[index].exit - 1
