"""Input of code generation: a program and its structures, as ``compiler/codegen.py`` reads them."""

from libc.stdint cimport int64_t, uint64_t

from ...baseline.arena cimport arena_alloc, arena_alloc_ints
from ...history.value_history_structs cimport *
from .program_structs cimport *

import numpy as np

from ....compiler.llvm_jit import CompileJob, register_symbols
from ....compiler.program import AnyTest, ProgramDescription, FoldOrder, ProgramLayout, ScalarOperation, ProductOrder, ExtremeSearch

ORDERS = {"product": ProductOrder, "search": ExtremeSearch, "fold": FoldOrder}

cdef extern from "value_history.h" nogil:
    void history_begin(loop_history *h, int64_t entry, int64_t origin)
    void history_flush(loop_history *h, history_entry *e)

cdef extern from "tensor_stats.h" nogil:
    void history_write_tensor(loop_history *h, int series, uint64_t *row, const char *data, int64_t count)

cdef extern from "scalar_records.h" nogil:
    int scalar_records_full(const scalar_loop *loop)
    void scalar_records_add(const char *registers, const scalar_loop *loop, int64_t i)

cdef extern from "scalar_interpreter.h" nogil:
    int scalar_run_node(const scalar_node *node)

cdef extern from "scalar_operation_table.h" nogil:
    enum:
        SCALAR_OPERATIONS, SCALAR_NCHOICES, BY_CONDITION, BY_TRIP_COUNT, NO_ITERATION, NO_LIMIT
    ctypedef struct scalar_operation:
        int op
        const char *name
        const char *argument
        const char *result
        const char *expression
        int binary, divides
    const scalar_operation scalar_operations[]
    const int scalar_choices[][2]

register_symbols({"loopdbg_begin": <size_t>&history_begin, "loopdbg_flush": <size_t>&history_flush,
      "loopdbg_full": <size_t>&scalar_records_full, "loopdbg_record": <size_t>&scalar_records_add,
      "loopdbg_node": <size_t>&scalar_run_node, "loopdbg_note": <size_t>&history_write_tensor})


cdef dict operation_table():
    """Opcode -> its operation."""
    cdef const scalar_operation *row
    cdef int k
    by_opcode = {}
    for k in range(SCALAR_OPERATIONS):
        row = scalar_operations + k
        by_opcode[row.op] = ScalarOperation(row.name.decode(), row.argument.decode(), row.result.decode(),
                                            row.expression.decode(), bool(row.binary), bool(row.divides))
    return by_opcode


cdef dict offsets():
    """Offsets of the fields of C structures."""
    cdef scalar_program *p = NULL
    cdef scalar_loop *loop = NULL
    cdef scalar_scan *scan = NULL
    cdef scalar_slice *part = NULL
    cdef scalar_call *call = NULL
    cdef scalar_load *load = NULL
    cdef loop_history *h = NULL
    cdef history_entry *e = NULL
    return {
        "program.registers": <size_t>&p.registers, "program.loops": <size_t>&p.loops, "program.calls": <size_t>&p.calls,
        "program.loads": <size_t>&p.loads, "program.nodes": <size_t>&p.nodes, "program.at_insn": <size_t>&p.at_insn,
        "program.at_loop": <size_t>&p.at_loop, "program.suspended": <size_t>&p.suspended, "node": sizeof(scalar_node),
        "loop": sizeof(scalar_loop), "loop.i": <size_t>&loop.i, "loop.trips": <size_t>&loop.trips,
        "loop.parts": <size_t>&loop.parts, "loop.stop_before": <size_t>&loop.stop_before,
        "loop.stop": <size_t>&loop.stop, "loop.endless_at": <size_t>&loop.endless_at,
        "loop.keep": <size_t>&loop.keep, "loop.ended": <size_t>&loop.ended, "loop.scans": <size_t>&loop.scans,
        "loop.slices": <size_t>&loop.slices, "loop.history": <size_t>&loop.history,
        "loop.iterations": <size_t>&loop.iterations,
        "loop.entries": <size_t>&loop.entries, "loop.by_reason": <size_t>&loop.by_reason,
        "loop.by_length": <size_t>&loop.by_length,
        "scan": sizeof(scalar_scan), "scan.buffer": <size_t>&scan.buffer, "scan.count": <size_t>&scan.count,
        "scan.capacity": <size_t>&scan.capacity,
        "slice": sizeof(scalar_slice), "slice.base": <size_t>&part.base, "slice.step": <size_t>&part.step,
        "call": sizeof(scalar_call), "call.loop": <size_t>&call.loop, "call.data": <size_t>&call.data,
        "call.steps": <size_t>&call.steps[0],
        "load": sizeof(scalar_load), "load.base": <size_t>&load.base,
        "history.now": <size_t>&h.now, "entry.n": <size_t>&e.n, "entry.ring": <size_t>&e.ring,
    }


cdef object cached_layout = None


cdef object program_layout():
    """The properties common to all programs."""
    global cached_layout
    if cached_layout is None:
        cached_layout = ProgramLayout(
            operation_table(),
            {"CALL": OP_CALL, "LOAD": OP_LOAD, "BRANCH": OP_BRANCH, "JUMP": OP_JUMP, "ENTER": OP_ENTER, "NEXT": OP_NEXT,
             "TEST": OP_TEST, "COUNT": OP_COUNT, "STOP_IF": OP_STOP_IF, "EACH": OP_EACH, "NODE": OP_NODE, "ANY": OP_ANY,
             "BLOCK": OP_BLOCK},
            {scalar_choices[k][0]: scalar_choices[k][1] for k in range(SCALAR_NCHOICES)},
            offsets(),
            {"TICK": SCALAR_TICK, "AT_INSN": SCALAR_AT_INSN, "AT_NEXT": SCALAR_AT_NEXT, "AT_HEAD": SCALAR_AT_HEAD,
             "AT_TEST": SCALAR_AT_TEST, "BY_CONDITION": BY_CONDITION, "BY_TRIP_COUNT": BY_TRIP_COUNT,
             "COLUMNS": HISTORY_COLUMNS, "NO_ITERATION": NO_ITERATION, "NO_LIMIT": NO_LIMIT, "ROWS": HISTORY_ROWS},
        )
    return cached_layout


cdef list register_pairs(const scalar_move *moves, int count, dict numbers):
    """Moves of whole registers: the first of several moves of 8 bytes represents all."""
    return [(numbers[moves[k].source], numbers[moves[k].to]) for k in range(count) if moves[k].to in numbers]


cdef dict describe_loop(const scalar_loop *loop, dict numbers):
    return {
        "parent": loop.parent, "body": loop.body, "after": loop.after, "test": loop.test, "staged": bool(loop.staged),
        "trip": numbers[loop.trip], "initial": numbers[loop.initial], "cond": numbers[loop.cond],
        "cond_in": numbers[loop.cond_in], "iteration": numbers[loop.iteration], "trip_wide": bool(loop.trip_wide),
        "iteration_wide": bool(loop.iteration_wide), "negative": loop.negative, "fixed_trips": loop.fixed_trips,
        "counted": bool(loop.counted), "recorders": loop.nrecorders, "history": loop.history != NULL,
        "init": register_pairs(loop.init, loop.ninit, numbers), "moves": register_pairs(loop.moves, loop.nmoves, numbers),
        "outs": register_pairs(loop.outs, loop.nouts, numbers),
        "scans": [(numbers[loop.scans[k].source], loop.scans[k].nbytes) for k in range(loop.nscans)],
        "slices": [(numbers[loop.slices[k].to], loop.slices[k].nbytes) for k in range(loop.nslices)],
        "recorded": sorted({numbers[loop.recorders[k].source[j]] for k in range(loop.nrecorders)
                            for j in range(loop.recorders[k].record.nvalues)}),
        "notes": [(numbers[loop.notes[k].result], numbers[loop.notes[k].param], loop.notes[k].series, loop.notes[k].count)
                  for k in range(loop.nnotes)],
    }


cdef dict constants(Program *program, object plan):
    """The registers of the plan's integer constants, stored for ``has_constants``."""
    cdef int k
    known = {slot: array for slot, array in plan.constants if isinstance(array, np.ndarray) and array.dtype.kind in "bi"}
    registers = {k: int(known[program.values[k].slot].reshape(()))
             for k in range(program.nregisters) if not program.values[k].written and
             program.values[k].slot in known and known[program.values[k].slot].size == 1}
    program.nconstants, program.constants = len(registers), arena_alloc_ints(program, list(registers))
    program.constant_values = <int64_t *>arena_alloc(program, len(registers), sizeof(int64_t))
    for k, register in enumerate(registers):
        program.constant_values[k] = registers[register]     # its low bytes are the register's
    return registers


cdef tuple elementwise_operands(const scalar_elementwise *each, Program *program, dict numbers):
    """(opcode, for each argument its register and the byte offsets of its elements there)"""
    cdef int j
    arguments = []
    for j in range(each.nargs):
        offsets = [each.offsets[j][k] for k in range(each.n)]
        number = max([k for k in range(program.nregisters) if program.values[k].offset <= min(offsets)])
        arguments.append((number, [offset - program.values[<int>number].offset for offset in offsets]))
    return each.op, arguments


cdef tuple describe_node(const scalar_node *node, dict numbers):
    """(registers, those of results, cost, order) of a node run by its kernels"""
    order = None
    if node.order != NULL:
        kind, options, *tensors = <object>node.order
        order = ORDERS[kind](*options, *[(numbers[register], places) for register, places in tensors])
    return ([numbers[node.arguments[k]] for k in range(node.narguments)], [numbers[node.results[k]] for k in range(node.nresults)],
            node.cost, order)


cdef object describe_program(Program *program, object plan):
    """Everything constant in a program."""
    cdef scalar_program *core = &program.core
    cdef scalar_instruction *ins
    cdef int k
    numbers = {-1: -1, 0: 0, **{program.values[k].offset: k for k in range(program.nregisters)}}
    code = []
    for k in range(program.ncode):
        ins = core.code + k
        is_jump = ins.op == OP_BRANCH or ins.op == OP_JUMP
        is_index = ins.op in (OP_CALL, OP_LOAD, OP_ENTER, OP_NEXT, OP_COUNT, OP_JUMP, OP_EACH, OP_NODE, OP_ANY)
        is_count = ins.op in (OP_COUNT, OP_BLOCK, OP_ANY)
        code.append((ins.op, ins.d if is_jump else numbers[ins.d], ins.a if is_index else numbers[ins.a],
                     ins.b if is_count else numbers[ins.b], numbers[ins.c]))
    return ProgramDescription(
        code,
        [(program.values[k].nbytes, bool(program.values[k].exact)) for k in range(program.nregisters)],
        {k for k in range(program.nregisters) if program.values[k].slot >= 0 and not program.values[k].written},
        [[numbers[core.calls[k].args[j]] for j in range(core.calls[k].nargs)] for k in range(program.ncalls)],
        [(core.loads[k].block, core.loads[k].length, numbers[core.loads[k].index], bool(core.loads[k].wide))
         for k in range(program.nloads)],
        [describe_loop(core.loops + k, numbers) for k in range(program.nloops)],
        constants(program, plan),
        [elementwise_operands(core.elementwise_operations + k, program, numbers) for k in range(program.neaches)],
        [describe_node(core.nodes + k, numbers) for k in range(program.nnodes)],
        [AnyTest(core.any_tests[k].type, core.any_tests[k].relation, numbers[core.any_tests[k].a],
                 numbers[core.any_tests[k].b], bool(core.any_tests[k].is_scalar), core.any_tests[k].n)
         for k in range(program.nany)],
        [program.values[k].offset for k in range(program.nregisters)],
        program_layout(),
    )


cdef object compile_job_for(Program *program, object plan):
    """The job that compiles a program."""
    description = describe_program(program, plan)
    def lower():
        from ....compiler.codegen import lower  # late: a first run may compile nothing

        return lower(description)

    return CompileJob(lower)


cdef bint attach_code(Program *program, object job) except -1:
    """Attach the machine code of a program, if it is ready."""
    if job.code is not None:
        program.compiled = <scalar_function><size_t>job.code.address
        program.constants_hold = has_constants(program)     # it may be suspended
    return program.compiled != NULL
