"""Scalar programs: a loop over single numbers and small tensors, run by an interpreter over registers.

``make_program`` converts a loop's body into a program (program_structs.pxd), if possible (program_builder.pyx). It is a
region led by the loop's HEAD: at the boundary of an event the engine takes over, as if it had run every iteration
itself. A loop of Mul, Add and Less takes 15 ns an iteration instead of 40.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp, memcpy

from ....kernels.call cimport Call, inner_loop
from ....kernels.loop_nest cimport copy_call
from ...baseline.generations cimport differs_by_predicates
from ...baseline.interpreter cimport next_break
from ...baseline.arena cimport arena_hold_object, arena_free_tree, arena_alloc, arena_alloc_ints
from ...baseline.state cimport *
from ...history.value_history_structs cimport *
from ..optimizer_state cimport *
from ..node_regions cimport add_region, remove_region
from .program_builder cimport MAX_LOOPS, build_program_parts
from .program_structs cimport *

cdef extern from "scalar_interpreter.h" nogil:
    int scalar_run(scalar_program *p, const int *watch, int64_t *budget)

cdef extern from "scalar_elementwise.h" nogil:
    ctypedef struct scalar_elementwise_kind:
        int (*run)(char *registers, const scalar_elementwise *each) noexcept nogil
    const scalar_elementwise_kind scalar_elementwise_kinds[]
    int elementwise_by_kernel(char *registers, const scalar_elementwise *each)

# From this many elements on a kernel is faster than one by one.
cdef enum:
    MIN_KERNEL_ELEMENTS = 12


cdef Program *make_program(ExecutionState *s, object plan, int root) except? NULL:
    """A program for the loop ``root``, whose instructions are bound; NULL: it cannot be one."""
    cdef Program *program
    parts = build_program_parts(s, plan, root)
    if parts is None:
        return NULL
    program = <Program *>arena_alloc(s.own, 1, sizeof(Program))
    try:
        fill_program(s, program, parts, root)
    except BaseException:
        arena_free_tree(program)
        raise
    program.region.fits, program.region.run = can_enter_program, run_program
    program.region.materialize, program.region.invalidate = show, discard_suspended
    add_region(s.code + s.loops[root].head, &program.region)
    return program


cdef void drop_program(ExecutionState *s, Program *program) noexcept:
    """Remove and free its region."""
    if program != NULL:
        remove_region(s.code + s.loops[program.root].head, &program.region)
        arena_free_tree(program)


cdef scalar_move *make_moves(Program *program, list pairs) except NULL:
    cdef scalar_move *moves = <scalar_move *>arena_alloc(program, len(pairs), sizeof(scalar_move))
    cdef int k
    for k, (source, target) in enumerate(pairs):
        moves[k].source, moves[k].to = source, target
    return moves


cdef int fill_program(ExecutionState *s, Program *program, object parts, int root) except -1:
    """Convert the parts of a program to C."""
    cdef scalar_program *core = &program.core
    cdef int k, j
    program.root = root
    program.generation = s.generation
    core.registers = <char *>arena_alloc(program, parts.nbytes + REGISTER_ALIGNMENT_BYTES, 1)
    core.registers += -<size_t>core.registers % REGISTER_ALIGNMENT_BYTES
    program.ncode = len(parts.code)
    core.code = <scalar_instruction *>arena_alloc(program, program.ncode, sizeof(scalar_instruction))
    program.positions = arena_alloc_ints(program, parts.positions)
    for k, (op, d, a, b, c) in enumerate(parts.code):
        core.code[k].op, core.code[k].d = op, d
        core.code[k].a, core.code[k].b, core.code[k].c = a, b, c
    program.ncalls = len(parts.calls)
    core.calls = <scalar_call *>arena_alloc(program, program.ncalls, sizeof(scalar_call))
    for k, (loop_address, data, args, steps) in enumerate(parts.calls):
        core.calls[k].loop, core.calls[k].data = <inner_loop><size_t>loop_address, <void *><size_t>data
        core.calls[k].nargs = len(args)
        for j, register in enumerate(args):
            core.calls[k].args[j] = register
            core.calls[k].steps[j] = steps[j]
    program.nonce, program.once = len(parts.once), arena_alloc_ints(program, parts.once)
    program.nloads = len(parts.loads)
    core.loads = <scalar_load *>arena_alloc(program, program.nloads, sizeof(scalar_load))
    for k, (slot, offset, block, length, base, index, is_int64) in enumerate(parts.loads):
        core.loads[k].slot, core.loads[k].offset, core.loads[k].block = slot, offset, block
        core.loads[k].length, core.loads[k].index, core.loads[k].wide = length, index, is_int64
        address = base + offset if slot < 0 else 0
        core.loads[k].base = <const char *><size_t>address
    fill_elementwise_operations(program, parts.elementwise_operations)
    fill_nodes(program, parts.nodes)
    program.nany = len(parts.any_tests)
    core.any_tests = <scalar_any *>arena_alloc(program, program.nany, sizeof(scalar_any))
    for k, (holds, type, relation, is_scalar, a, b, n) in enumerate(parts.any_tests):
        core.any_tests[k].holds, core.any_tests[k].type = <any_holds><size_t>holds, type
        core.any_tests[k].relation, core.any_tests[k].is_scalar = relation, is_scalar
        core.any_tests[k].a, core.any_tests[k].b, core.any_tests[k].n = a, b, n
    program.nfixed = len(parts.fixed)
    program.fixed = <ProgramConstant *>arena_alloc(program, program.nfixed, sizeof(ProgramConstant))
    for k, (slot, data) in enumerate(parts.fixed.items()):
        program.fixed[k].slot, program.fixed[k].nbytes = slot, len(data)
        program.fixed[k].data = <char *>arena_alloc(program, len(data), 1)
        memcpy(program.fixed[k].data, <const char *>data, len(data))
    program.nloops = len(parts.loops)
    core.loops = <scalar_loop *>arena_alloc(program, program.nloops, sizeof(scalar_loop))
    for k, ports in enumerate(parts.loops):
        fill_loop(s, program, core.loops + k, s.loops + <int>ports["index"], ports)
    program.nregisters = len(parts.values)
    program.values = <ProgramRegister *>arena_alloc(program, program.nregisters, sizeof(ProgramRegister))
    for k, (slot, cell, offset, nbytes, exact) in enumerate(parts.values):
        program.values[k].slot, program.values[k].cell = slot, <char **><size_t>cell
        program.values[k].offset, program.values[k].nbytes, program.values[k].exact = offset, nbytes, exact
        program.values[k].written = slot in parts.written


cdef int fill_elementwise_operations(Program *program, list elementwise_operations) except -1:
    cdef scalar_elementwise *each
    cdef Call *call
    cdef int k, j
    program.neaches = len(elementwise_operations)
    program.core.elementwise_operations = <scalar_elementwise *>arena_alloc(program, program.neaches, sizeof(scalar_elementwise))
    for k, (op, registers, places, address) in enumerate(elementwise_operations):
        each, call = program.core.elementwise_operations + k, <Call *><size_t>address
        each.op, each.n, each.nargs = op, len(places[0]), len(places)
        each.run = scalar_elementwise_kinds[each.op].run
        for j in range(each.nargs):
            each.offsets[j] = <int32_t *>arena_alloc_ints(program, places[j])
        if call != NULL and each.n >= MIN_KERNEL_ELEMENTS:
            each.call, each.run = <Call *>arena_alloc(program, 1, sizeof(Call)), elementwise_by_kernel
            copy_call(each.call, call)
            redirect_call_to_registers(program, each.call, registers)


cdef int fill_nodes(Program *program, list nodes) except -1:
    cdef scalar_node *node
    cdef const Call *calls
    cdef int k, j
    program.nnodes = len(nodes)
    program.core.nodes = <scalar_node *>arena_alloc(program, program.nnodes, sizeof(scalar_node))
    for k, (address, ncalls, cost, registers, results, order) in enumerate(nodes):
        node, calls = program.core.nodes + k, <const Call *><size_t>address
        node.ncalls, node.cost = ncalls, cost
        arguments = sorted({register for call in registers for register in call if register >= 0})
        node.arguments, node.narguments = arena_alloc_ints(program, arguments), len(arguments)
        node.results, node.nresults = arena_alloc_ints(program, results), len(results)
        if order is not None:
            arena_hold_object(program, order)
            node.order = <void *>order
        node.calls = <Call *>arena_alloc(program, ncalls, sizeof(Call))
        for j in range(node.ncalls):
            copy_call(node.calls + j, calls + j)
            redirect_call_to_registers(program, node.calls + j, registers[j])


cdef int redirect_call_to_registers(Program *program, Call *call, list registers) except -1:
    """Point a call's arguments to registers, except those of -1."""
    cdef char **cells = <char **>arena_alloc(program, call.nargs, sizeof(char *))
    cdef int j, register
    for j in range(call.nargs):
        register = registers[j]
        if register >= 0:
            cells[j] = program.core.registers + register
            call.cell[j] = cells + j


cdef int fill_loop(ExecutionState *s, Program *program, scalar_loop *loop, LoopState *state, dict ports) except -1:
    cdef int k
    loop.index, loop.parent = ports["index"], ports["parent"]
    loop.body, loop.after, loop.test = ports["body"], ports["after"], ports["test"]
    loop.trip, loop.trip_wide, loop.initial = ports["trip"], ports["trip_wide"], ports["initial"]
    loop.cond, loop.cond_in = ports["cond"], ports["cond_in"]
    loop.iteration, loop.iteration_wide = ports["iteration"], state.iteration_wide
    loop.negative, loop.fixed_trips = state.negative, state.fixed_trips
    loop.counted = state.counted
    loop.iterations, loop.entries = &state.iterations, &state.entries
    loop.by_reason, loop.by_length = &state.by_reason[0], &state.by_length[0]
    loop.staged = ports["staged"]
    if ports["before"] is not None:
        loop.before = arena_alloc_ints(program, ports["before"])
    loop.init, loop.ninit = make_moves(program, ports["init"]), len(ports["init"])
    loop.moves, loop.nmoves = make_moves(program, ports["moves"]), len(ports["moves"])
    loop.outs, loop.nouts = make_moves(program, ports["outs"]), len(ports["outs"])
    loop.nscans, loop.nslices, loop.nrecorders = state.nscans, state.nslices, len(ports["records"])
    loop.scans = <scalar_scan *>arena_alloc(program, loop.nscans, sizeof(scalar_scan))
    for k, (register, nbytes) in enumerate(ports["scans"]):
        loop.scans[k].source, loop.scans[k].nbytes = register, nbytes
    loop.slices = <scalar_slice *>arena_alloc(program, loop.nslices, sizeof(scalar_slice))
    for k, (register, nbytes) in enumerate(ports["slices"]):
        loop.slices[k].to, loop.slices[k].nbytes = register, nbytes
    loop.recorders = <scalar_recorder *>arena_alloc(program, loop.nrecorders, sizeof(scalar_recorder))
    for k, (number, registers) in enumerate(ports["records"]):
        loop.recorders[k].record = s.records[<int>number]
        loop.recorders[k].source = arena_alloc_ints(program, registers)
    loop.history, loop.nnotes = history_of_loop(state), len(ports["notes"])
    loop.notes = <scalar_history_cell *>arena_alloc(program, loop.nnotes, sizeof(scalar_history_cell))
    for k, (column, result, param, series, count) in enumerate(ports["notes"]):
        loop.notes[k].column, loop.notes[k].result, loop.notes[k].param = column, result, param
        loop.notes[k].series, loop.notes[k].count = series, count


cdef int64_t bound(const LoopState *loop) noexcept nogil:
    """The first boundary of a loop that the engine has to handle."""
    cdef int64_t first = min(loop.limit, loop.stop_at_iteration, next_break(loop, loop.i + 1))
    return loop_iteration_limit(first, loop.endless_at, loop.trip)


cdef int can_enter_program(ExecutionState *s, Region *r) noexcept nogil:
    """May a loop's program run from the loop's head? Not if it is outdated."""
    cdef Program *program = <Program *>r
    cdef scalar_loop *root = program.core.loops
    cdef LoopState *loop = s.loops + program.root
    cdef const scalar_history_cell *note
    cdef int k
    cdef bint is_kept
    if program.generation != s.generation:
        if program.generation >= 0:
            is_kept = differs_by_predicates(program.generation, s.generation)
            if not is_kept:
                program.generation = -1        # it is dead; a hot loop gets another
            if not is_kept or optimizer_loop(s, loop).program_timer.due_at <= loop.boundaries:
                optimizer_loop(s, loop).program_timer.due_at = loop.boundaries + fast(s).hot_after
                schedule(s, loop)
        return 0
    for k in range(program.nfixed):
        if memcmp(s.slots[program.fixed[k].slot].data, program.fixed[k].data, program.fixed[k].nbytes):
            return 0        # the user edited it
    if loop.i + 1 >= bound(loop) or (root.before != NULL and not can_restore_previous_values(s, loop)):
        return 0
    for k in range(root.nnotes):
        note = root.notes + k
        if note.count == 1 and root.history.now.wide[note.series]:
            return 0        # earlier in this entry it had another shape
    for k in range(program.nonce):
        if not already_ran_in_entry(s, optimizer_node(s, program.once[k])):
            return 0
    for k in range(1, program.nloops):
        if s.loops[program.core.loops[k].index].stop_at_exit:
            return 0
    return 1


cdef int run_program(ExecutionState *s, Region *r) noexcept nogil:
    """Enter a program, or resume the suspended one."""
    if s.suspended != r:
        enter_program(s, <Program *>r)
    return continue_program(s, <Program *>r)


cdef int show(ExecutionState *s, Region *r) noexcept nogil:
    """Write back the values of a suspended program; the engine is then before a boundary."""
    if s.suspended == r:
        leave_program(s, <Program *>r, SCALAR_AT_NEXT)
    return 1


cdef void discard_suspended(ExecutionState *s, Region *r) noexcept nogil:
    """Discard the values of a suspended program."""
    if s.suspended == r:
        s.suspended = NULL


cdef void enter_program(ExecutionState *s, Program *program) noexcept nogil:
    """Load the present values into a program's registers."""
    cdef scalar_program *core = &program.core
    cdef scalar_loop *root = core.loops
    cdef LoopState *loop = s.loops + program.root
    cdef ProgramRegister *register
    cdef LoopState *inner
    cdef int k
    for k in range(1, program.nloops):
        inner = s.loops + core.loops[k].index
        core.loops[k].stop = min(inner.limit, inner.stop_at_iteration, next_break(inner, 0))
        core.loops[k].endless_at = inner.endless_at
    for k in range(program.nregisters):
        register = program.values + k
        if register.slot >= 0:
            memcpy(core.registers + register.offset, s.slots[register.slot].data, register.nbytes)
        else:
            memcpy(core.registers + register.offset, register.cell[0], register.nbytes)
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
    program.constants_hold = has_constants(program)
    fast(s).program_runs += 1


cdef int continue_program(ExecutionState *s, Program *program) noexcept nogil:
    """Run a program, and write back everything unless only the time slice is over."""
    cdef int64_t old_budget = s.budget
    cdef int status
    if program.compiled != NULL and program.constants_hold:
        status = program.compiled(&program.core, &s.watch, &s.budget)
    else:
        status = scalar_run(&program.core, &s.watch, &s.budget)
        program.interpreted_cost += old_budget - s.budget
    s.loops[program.core.loops[0].index].i = program.core.loops[0].i
    if status == SCALAR_TICK:
        s.suspended = &program.region
        return REGION_TICK
    leave_program(s, program, status)
    return REGION_RAN


cdef void leave_program(ExecutionState *s, Program *program, int status) noexcept nogil:
    """Write back everything; the engine continues where the program stopped."""
    cdef scalar_program *core = &program.core
    cdef scalar_loop *root = core.loops
    cdef LoopState *loop
    cdef ProgramRegister *register
    cdef int k, number
    cdef int chain[MAX_LOOPS]
    cdef int depth = 0
    s.suspended = NULL
    for k in range(program.nregisters):
        register = program.values + k
        if register.written:
            memcpy(s.slots[register.slot].data, core.registers + register.offset, register.nbytes)
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
    # The running inner loops become active in the engine.
    number = core.at_loop
    while core.loops[number].parent >= 0:
        chain[depth] = number
        depth += 1
        number = core.loops[number].parent
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
            restore_previous_values(s, program)     # the engine completes its test, the last code
        s.pc = program.positions[core.at_insn]
    elif status == SCALAR_AT_NEXT:
        s.pc = position_of_next(s, core.loops[core.at_loop].index)
    elif status == SCALAR_AT_TEST:
        restore_previous_values(s, program)
        s.pc = s.loops[root.index].head
    else:
        # Only before iteration 0 of an inner loop that the program entered: predicates and records are done.
        loop = s.loops + core.loops[core.at_loop].index
        loop.checked, loop.hit = 1, 0
        s.pc = loop.head


cdef int can_restore_previous_values(ExecutionState *s, LoopState *loop) noexcept nogil:
    """Are there buffers for ``restore_previous_values``? A boundary that the engine crosses allocates them."""
    cdef BackEdgeState *e
    cdef int k
    for k in range(loop.nedges):
        e = loop.edges + k
        if not e.identity and needs_back_buffer(e, s.slots + e.result):
            return 0
    return 1


cdef void restore_previous_values(ExecutionState *s, Program *program) noexcept nogil:
    """A program crossed the boundary at which its loop ends: put the previous values where ``cross_boundary`` does."""
    cdef scalar_loop *root = program.core.loops
    cdef LoopState *loop = s.loops + root.index
    cdef BackEdgeState *e
    cdef Slot *param
    cdef int k
    for k in range(loop.nedges):
        e = loop.edges + k
        if e.identity:
            continue
        param = s.slots + e.param
        e.previous_in_back = edge_copies(e, s.slots + e.result)
        if e.previous_in_back:
            e.back.spec, e.back.nbytes = param.spec, param.nbytes
        memcpy(previous_value_slot(s, e).data, program.core.registers + root.before[k], param.nbytes)


cdef int position_of_next(ExecutionState *s, int index) noexcept nogil:
    """The NEXT of a loop: the instruction before its EXIT."""
    return s.loops[index].exit - 1
