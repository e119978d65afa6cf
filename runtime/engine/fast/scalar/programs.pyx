"""Scalar programs: a loop whose values are all single numbers or small tensors, run by an interpreter over registers.

``make_program`` turns a loop's body into a program (program.pxd), if it fits (maker.pyx). It is a region that the loop's HEAD
leads: the engine gets the loop back at the boundary where something happens; from there on it is as if the engine had run
every iteration itself. A loop of Mul, Add and Less takes 15 ns an iteration instead of 40.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp, memcpy

from ....kernels.call cimport Call, inner_loop
from ....kernels.drivers cimport copy_call
from ...plain.interpreter cimport next_break
from ...plain.pieces cimport hold, release, take, take_numbers
from ...plain.state cimport *
from ...time.history_state cimport *
from ..fast_state cimport *
from ..nodes cimport lead, lead_no_more
from .maker cimport MAX_LOOPS, lay_out
from .program cimport *

cdef extern from "scalar_run.h" nogil:
    int scalar_run(scalar_program *p, const int *watch, int64_t *budget)

cdef extern from "scalar_each.h" nogil:
    ctypedef struct scalar_each_kind:
        int (*run)(char *registers, const scalar_each *each) noexcept nogil
    const scalar_each_kind scalar_each_kinds[]
    int each_by_kernel(char *registers, const scalar_each *each)

# Elements from which on a kernel is faster than one after the other.
cdef enum:
    MANY = 12


cdef Program *make_program(State *s, object plan, int root) except? NULL:
    """A program for the loop ``root``, whose instructions are bound; NULL where it cannot be one."""
    cdef Program *program
    parts = lay_out(s, plan, root)
    if parts is None:
        return NULL
    program = <Program *>take(s.own, 1, sizeof(Program))
    try:
        fill(s, program, parts, root)
    except BaseException:
        release(program)
        raise
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


cdef int fill(State *s, Program *program, object parts, int root) except -1:
    """Make C of the parts of a program."""
    cdef scalar_program *core = &program.core
    cdef int k, j
    program.root = root
    program.generation = s.generation
    core.registers = <char *>take(program, parts.nbytes + ROOM, 1)
    core.registers += -<size_t>core.registers % ROOM
    program.ncode = len(parts.code)
    core.code = <scalar_insn *>take(program, program.ncode, sizeof(scalar_insn))
    program.positions = take_numbers(program, parts.positions)
    for k, (op, d, a, b, c) in enumerate(parts.code):
        core.code[k].op, core.code[k].d = op, d
        core.code[k].a, core.code[k].b, core.code[k].c = a, b, c
    program.ncalls = len(parts.calls)
    core.calls = <scalar_call *>take(program, program.ncalls, sizeof(scalar_call))
    for k, (loop_address, data, args, steps) in enumerate(parts.calls):
        core.calls[k].loop, core.calls[k].data = <inner_loop><size_t>loop_address, <void *><size_t>data
        core.calls[k].nargs = len(args)
        for j, register in enumerate(args):
            core.calls[k].args[j] = register
            core.calls[k].steps[j] = steps[j]
    program.nonce, program.once = len(parts.once), take_numbers(program, parts.once)
    program.nloads = len(parts.loads)
    core.loads = <scalar_load *>take(program, program.nloads, sizeof(scalar_load))
    for k, (slot, offset, block, length, base, index, wide) in enumerate(parts.loads):
        core.loads[k].slot, core.loads[k].offset, core.loads[k].block = slot, offset, block
        core.loads[k].length, core.loads[k].index, core.loads[k].wide = length, index, wide
        address = base + offset if slot < 0 else 0
        core.loads[k].base = <const char *><size_t>address
    fill_eaches(program, parts.eaches)
    fill_nodes(program, parts.nodes)
    program.nfixed = len(parts.fixed)
    program.fixed = <ProgramFixed *>take(program, program.nfixed, sizeof(ProgramFixed))
    for k, (slot, data) in enumerate(parts.fixed.items()):
        program.fixed[k].slot, program.fixed[k].nbytes = slot, len(data)
        program.fixed[k].data = <char *>take(program, len(data), 1)
        memcpy(program.fixed[k].data, <const char *>data, len(data))
    program.nloops = len(parts.loops)
    core.loops = <scalar_loop *>take(program, program.nloops, sizeof(scalar_loop))
    for k, ports in enumerate(parts.loops):
        fill_loop(s, program, core.loops + k, s.loops + <int>ports["index"], ports)
    program.nregisters = len(parts.values)
    program.values = <ProgramValue *>take(program, program.nregisters, sizeof(ProgramValue))
    for k, (slot, cell, at, nbytes, exact) in enumerate(parts.values):
        program.values[k].slot, program.values[k].cell = slot, <char **><size_t>cell
        program.values[k].at, program.values[k].nbytes, program.values[k].exact = at, nbytes, exact
        program.values[k].written = slot in parts.written


cdef int fill_eaches(Program *program, list eaches) except -1:
    cdef scalar_each *each
    cdef Call *call
    cdef int k, j
    program.neaches = len(eaches)
    program.core.eaches = <scalar_each *>take(program, program.neaches, sizeof(scalar_each))
    for k, (op, registers, places, address) in enumerate(eaches):
        each, call = program.core.eaches + k, <Call *><size_t>address
        each.op, each.n, each.nargs = op, len(places[0]), len(places)
        each.run = scalar_each_kinds[each.op].run
        for j in range(each.nargs):
            each.at[j] = <int32_t *>take_numbers(program, places[j])
        if call != NULL and each.n >= MANY:
            each.call, each.run = <Call *>take(program, 1, sizeof(Call)), each_by_kernel
            copy_call(each.call, call)
            point(program, each.call, registers)


cdef int fill_nodes(Program *program, list nodes) except -1:
    cdef scalar_node *node
    cdef const Call *calls
    cdef int k, j
    program.nnodes = len(nodes)
    program.core.nodes = <scalar_node *>take(program, program.nnodes, sizeof(scalar_node))
    for k, (address, ncalls, cost, registers, results, order) in enumerate(nodes):
        node, calls = program.core.nodes + k, <const Call *><size_t>address
        node.ncalls, node.cost = ncalls, cost
        taken = sorted({at for call in registers for at in call if at >= 0})
        node.taken, node.ntaken = take_numbers(program, taken), len(taken)
        node.given, node.ngiven = take_numbers(program, results), len(results)
        if order is not None:
            hold(program, order)
            node.order = <void *>order
        node.calls = <Call *>take(program, ncalls, sizeof(Call))
        for j in range(node.ncalls):
            copy_call(node.calls + j, calls + j)
            point(program, node.calls + j, registers[j])


cdef int point(Program *program, Call *call, list registers) except -1:
    """Let a call's arguments be registers, where they are not -1."""
    cdef char **cells = <char **>take(program, call.nargs, sizeof(char *))
    cdef int j, at
    for j in range(call.nargs):
        at = registers[j]
        if at >= 0:
            cells[j] = program.core.registers + at
            call.cell[j] = cells + j


cdef int fill_loop(State *s, Program *program, scalar_loop *loop, LoopState *state, dict ports) except -1:
    cdef int k
    loop.index, loop.parent = ports["index"], ports["parent"]
    loop.body, loop.after, loop.test = ports["body"], ports["after"], ports["test"]
    loop.trip, loop.trip_wide, loop.initial = ports["trip"], ports["trip_wide"], ports["initial"]
    loop.cond, loop.cond_in = ports["cond"], ports["cond_in"]
    loop.iteration, loop.iteration_wide = ports["iteration"], state.iteration_wide
    loop.negative, loop.fixed_trips = state.negative, state.fixed_trips
    loop.counted = state.counted
    loop.iterations, loop.entries = &state.iterations, &state.entries
    loop.by_reason = &state.by_reason[0]
    loop.staged = ports["staged"]
    if ports["before"] is not None:
        loop.before = take_numbers(program, ports["before"])
    loop.init, loop.ninit = moves_of(program, ports["init"]), len(ports["init"])
    loop.moves, loop.nmoves = moves_of(program, ports["moves"]), len(ports["moves"])
    loop.outs, loop.nouts = moves_of(program, ports["outs"]), len(ports["outs"])
    loop.nscans, loop.nslices, loop.nrecorders = state.nscans, state.nslices, len(ports["records"])
    loop.scans = <scalar_scan *>take(program, loop.nscans, sizeof(scalar_scan))
    for k, (register, nbytes) in enumerate(ports["scans"]):
        loop.scans[k].source, loop.scans[k].nbytes = register, nbytes
    loop.slices = <scalar_slice *>take(program, loop.nslices, sizeof(scalar_slice))
    for k, (register, nbytes) in enumerate(ports["slices"]):
        loop.slices[k].to, loop.slices[k].nbytes = register, nbytes
    loop.recorders = <scalar_recorder *>take(program, loop.nrecorders, sizeof(scalar_recorder))
    for k, (number, registers) in enumerate(ports["records"]):
        loop.recorders[k].record = s.records[<int>number]
        loop.recorders[k].source = take_numbers(program, registers)
    loop.history, loop.nnotes = history_of(state), len(ports["notes"])
    loop.notes = <scalar_note *>take(program, loop.nnotes, sizeof(scalar_note))
    for k, (column, result, param, series, count) in enumerate(ports["notes"]):
        loop.notes[k].column, loop.notes[k].result, loop.notes[k].param = column, result, param
        loop.notes[k].series, loop.notes[k].count = series, count


cdef int64_t bound(const LoopState *loop) noexcept nogil:
    """The first boundary of a loop at which the engine has to look itself."""
    cdef int64_t first = min(loop.limit, loop.next_event, next_break(loop, loop.i + 1))
    return loop_limit(first, loop.endless_at, loop.trip)


cdef int may_enter(State *s, Region *r) noexcept nogil:
    """May a loop's program run from the loop's head on? Not where it is out of date."""
    cdef Program *program = <Program *>r
    cdef scalar_loop *root = program.core.loops
    cdef LoopState *loop = s.loops + program.root
    cdef const scalar_note *note
    cdef int k
    if program.generation != s.generation:
        if program.generation >= 0:
            program.generation = -1        # never again; another is made once the loop is hot again
            fast_loop(s, loop).for_program.at = loop.boundaries + fast(s).hot_after
            schedule(s, loop)
        return 0
    for k in range(program.nfixed):
        if memcmp(s.slots[program.fixed[k].slot].data, program.fixed[k].data, program.fixed[k].nbytes):
            return 0        # a hand has changed it
    if loop.i + 1 >= bound(loop) or (root.before != NULL and not can_show_previous(s, loop)):
        return 0
    for k in range(root.nnotes):
        note = root.notes + k
        if note.count == 1 and root.history.now.wide[note.series]:
            return 0        # earlier in this entry it had another shape
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
    """The values that a suspended program holds are of before."""
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
            memcpy(core.registers + v.at, s.slots[v.slot].data, v.nbytes)
        else:
            memcpy(core.registers + v.at, v.cell[0], v.nbytes)
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
    program.as_code = has_constants(program)
    fast(s).program_runs += 1


cdef int run_on(State *s, Program *program) noexcept nogil:
    """Run on from where the program is, and write everything back unless only the time slice is over."""
    cdef int64_t before = s.budget
    cdef int status
    if program.compiled != NULL and program.as_code:
        status = program.compiled(&program.core, &s.watch, &s.budget)
    else:
        status = scalar_run(&program.core, &s.watch, &s.budget)
        program.spent += before - s.budget
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
            memcpy(s.slots[v.slot].data, core.registers + v.at, v.nbytes)
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
        if not e.identity and lacks_back(e, s.slots + e.result):
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
