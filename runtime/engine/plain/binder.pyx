"""Nodes: bound to kernels when they are first met, on the dtypes and shapes that their inputs then have; or run in Python."""

from cpython.object cimport PyObject
from libc.string cimport memcpy
cimport numpy as np
from numpy cimport npy_intp

from ...kernels.call cimport Call
from ...kernels.drivers cimport drop_block, follow_stream, set_call
from ...kernels.renewal cimport Journal, Renewal, loopdbg_forget
from ...kernels.stream cimport Stream
from ..fast.fusion.group cimport ask_for_groups
from ..fast.ranges.varying cimport MOST, Growing
from .bound cimport run_bound
from .memory cimport Memory
from ..fast.views.passed cimport close, pass_node, show_inputs, show_slot, wake_node
from .pieces cimport release, retake, take
from .state cimport *

cdef extern from "Python.h":
    PyObject *PyList_GET_ITEM(object, Py_ssize_t)   # borrowed

import contextvars

import numpy as np

from ...plan import ranges
from ...plan.bound import Bound, Counted, Input, Listed, ListInput, Roomy
from ...errors import ExecutionError, LoopdbgError, one_line
from ...graph import MAIN
from .memory import aligned, shapes_of
from ...ops.eager import Eager
from ...ops.primitives import NotNative
from ...ops.draws import Draws
from ...plan.plan import Opcode
from ...plan.through import bind_to_memory

np.import_array()

_EAGER = Eager()
# A node that had to be bound this often runs in Python until its shapes have stayed the same for CALM executions.
cdef int RESTLESS = 3
cdef int CALM = 8

#: Tests set this: an operator that fails to bind for any other reason than NotNative, but runs, is a bug of ours.
strict_binding = False


cdef class Binder:
    """Binds and runs the nodes of a plan."""

    def __init__(self, Memory memory not None, Growing growing not None):
        self.memory, self.growing, self.s, self.plan = memory, growing, &memory.s, memory.plan
        self.keep = [None] * memory.ncode
        self.views = [()] * memory.ncode
        self.native = True
        self.replaced = {}
        self.aheads, self.streams = [], {}
        # NumPy's warnings off in a context of its own: np.errstate takes 1.5 us a node, this 0.05.
        self.quiet = contextvars.copy_context()
        self.quiet.run(np.seterr, all="ignore")
        self.load_code()

    cdef int load_code(self) except -1:
        cdef Instr *ins
        cdef int k, j
        for k, instruction in enumerate(self.plan.code):
            ins = self.s.code + k
            ins.kind = <int>instruction.kind
            ins.loop, ins.target = instruction.loop, instruction.target
            ins.condition = instruction.inputs[0] if instruction.kind == Opcode.BRANCH else -1
            ins.once, ins.done = instruction.once, -1
            if instruction.kind == Opcode.NODE:
                read = set(instruction.inputs)
                if instruction.ahead is not None:
                    read.update(instruction.ahead.inputs)
                    self.aheads.append(k)
                for slot in read:
                    if slot >= 0:
                        self.memory.consumers[slot].append(k)
                for slot in instruction.outputs:
                    self.memory.producers[slot] = k
            ins.nmoves = len(instruction.moves)
            if ins.nmoves:
                ins.moves = <Move *>take(self.s.own, ins.nmoves, sizeof(Move))
                for j, (source, target) in enumerate(instruction.moves):
                    ins.moves[j].source, ins.moves[j].target = source, target
        return self.memory.load_consumers()

    cdef int note_hand(self, bint by_hand) except -1:
        """Whether something was changed by hand. Then no node uses what was computed for a block of iterations: the change
        could be of what it would have read."""
        if self.s.by_hand != by_hand:
            self.s.by_hand = by_hand
            self.s.generation += 1
            for pc in self.aheads:
                self.growing.forget(pc)
                self.s.code[<int>pc].kind = UNBOUND
                self.s.code[<int>pc].calm = 0
        return 0

    cdef int drop_blocks(self) except -1:
        """The execution was put elsewhere: what was computed for a block of iterations, or once an entry, is of others."""
        cdef Instr *ins
        cdef int k
        for k in range(self.memory.ncode):
            self.s.code[k].done = -1
        for pc in self.aheads:
            ins = self.s.code + <int>pc
            for k in range(ins.ncalls):
                drop_block(ins.calls + k)
        return 0

    cdef int bind_node(self, int pc) except -1:
        """Bind the node at pc on what its inputs are now. 0: it has to run in Python."""
        instruction = self.plan.code[pc]
        if instruction.ahead is not None and not self.s.by_hand:
            last = self.growing.last_bound[pc]
            try:
                if self.bind_as(pc, instruction.ahead):
                    return 1
            except NotNative:
                pass
            except Exception:
                # It is bound as it stands.
                if strict_binding:
                    raise
            self.growing.last_bound[pc] = last
        return self.bind_as(pc, instruction)

    cdef int bind_as(self, int pc, object instruction) except -1:
        """Bind what runs at pc."""
        if not instruction.op.native:
            return 0
        inputs, varied, lists = [], None, False
        for slot in instruction.inputs:
            if slot >= 0 and self.s.slots[<int>slot].spec == 0:
                if not instruction.op.sequences or not self.memory.is_sequence(slot):
                    return 0
                lists = True
            inputs.append(None if slot < 0 else self.input(slot))
        if not lists:
            varied = self.growing.varied(pc, instruction, inputs, self.block)
        if varied is None:
            bound = bind_to_memory(instruction.op, inputs, self.block)
        else:
            followed, bound, appended = varied
            loose, bound = bound, ranges.settled(bound, inputs)
        if bound.looked:
            self.growing.note_looks(pc, inputs, bound.looked)
        if len(bound.outputs) < len(instruction.outputs):
            return 0     # where it runs says so
        for slot, out in zip(instruction.outputs, bound.outputs):
            if isinstance(out, Listed):
                if slot < 0:
                    return 0
                self.memory.hold_sequence(slot)
            if slot < 0 or isinstance(out, Listed):
                continue
            if (out.known is not None and out.dtype.hasobject) or \
                    (isinstance(out, Counted) and not self.growing.can_count(out)):
                return 0
            if out.known is None and not isinstance(out, Counted):
                room = out.room if isinstance(out, Roomy) else None
                self.memory.own(slot, self.memory.spec(out.dtype, out.shape, room))
            self.memory.set_known(slot, out.known)
            if out.known is not None:
                self.memory.show_known(slot)
        self.growing.put_aside(pc)
        try:
            self.install(pc, instruction, bound)
            # Where there is nothing to copy yet, it is what it is a copy of later on.
            self.views[pc] = bound.views if varied is None else loose.views or self.views[pc]
            if varied is not None:
                self.growing.vary(pc, instruction, followed, loose, appended, self.keep[pc], {}, {})
                self.keep[pc] = None
                return self.growing.provide(pc)
            self.growing.make_room(pc)
            return 1
        except BaseException:
            self.unbind(pc)     # half of it may be there, and no memory for the rest
            raise

    cdef object input(self, int slot):
        """A slot that holds a tensor or a sequence, as an input to bind on."""
        if self.s.slots[slot].spec == 0:
            return ListInput(slot, None, (), None, lambda: self.memory.look(slot))
        dtype, shape = self.memory.specs[self.s.slots[slot].spec]
        return Input(slot, dtype, shape, self.memory.known[slot], lambda: self.memory.look(slot).copy(),
                     room=self.memory.specs.room(self.s.slots[slot].spec))

    cdef int add_instruction(self) except -1:
        """Room for one more bound instruction, which the plan does not have; its position."""
        cdef int pc = self.memory.ncode
        self.s.code = <Instr *>retake(self.s.own, self.s.code, pc, pc + 1, sizeof(Instr))
        self.keep.append(None)
        self.views.append(())
        self.memory.ncode = pc + 1
        return pc

    cdef int unbind(self, int pc) except -1:
        """Nothing is left of what was bound at pc."""
        free_calls(self.s.code + pc)
        self.keep[pc] = None
        self.s.code[pc].kind = UNBOUND
        return 0

    cdef int install(self, int pc, object instruction, object bound) except -1:
        """Turn a Bound into C."""
        cdef Instr *ins = self.s.code + pc
        cdef Call *call
        cdef int k, j, d, rows = 0
        self.s.generation += 1
        free_calls(ins)
        if ins.renews:
            # Buffers with versions that it gave may be written in other ways now.
            loopdbg_forget(self.s.journal)
            ins.renews = 0
        counted = [(slot, out) for slot, out in zip(instruction.outputs, bound.outputs)
                   if slot >= 0 and isinstance(out, Counted)]
        ins.counts = len(counted)
        ins.ncalls = len(bound.calls) + 2 * ins.counts
        ins.calls = <Call *>take(self.s.own, ins.ncalls, sizeof(Call))
        ins.cells = <char **>take(ins.calls, len(bound.temps), sizeof(char *))
        ins.guards = <Guard *>take(ins.calls, len(bound.guards), sizeof(Guard))
        for spec in bound.calls:
            rows += len(spec.outer) * (1 + len(spec.buffers))
        ins.outer = <npy_intp *>take(ins.calls, rows, sizeof(npy_intp))
        # A temp that is an output is the slot's own buffer.
        slot_of_temp = {out.index: slot for slot, out in zip(instruction.outputs, bound.outputs)
                        if slot >= 0 and out.kind == "temp" and out.known is None}
        arrays = []
        for k, temp in enumerate(bound.temps):
            if k not in slot_of_temp:
                array = room(temp)
                arrays.append(array)
                ins.cells[k] = np.PyArray_BYTES(array)
        self.keep[pc] = arrays
        rows = 0
        for k, spec in enumerate(bound.calls):
            call = ins.calls + ins.counts + k
            for j, buffer in enumerate(spec.buffers):
                call.offset[j] = buffer.offset
                if isinstance(buffer, Listed):
                    slot = buffer.index if buffer.kind == "slot" else slot_of_temp[buffer.index]
                    call.cell[j] = <char **>&self.s.slots[<int>slot].owner
                elif buffer.kind == "slot":
                    call.cell[j] = &self.s.slots[<int>buffer.index].data
                elif buffer.index in slot_of_temp:
                    call.cell[j] = &self.s.slots[<int>slot_of_temp[buffer.index]].data
                else:
                    call.cell[j] = &ins.cells[<int>buffer.index]
            rows += set_call(call, spec, ins.outer + rows)
            if spec.onto >= 0:
                self.renew(pc, call, spec, slot_of_temp)
            for slot in instruction.inputs if self.streams else ():
                if slot in self.streams:
                    follow_stream(call, &(<Stream>self.streams[slot]).c)
        for k, (slot, out) in enumerate(counted):
            self.growing.count(ins, k, slot, out)
        for k, (position, expected) in enumerate(bound.guards.items()):
            expected = np.ascontiguousarray(expected)
            ins.guards[k].slot = instruction.inputs[position]
            ins.guards[k].nbytes = expected.nbytes
            ins.guards[k].expected = <char *>take(ins.calls, expected.nbytes, 1)
            memcpy(ins.guards[k].expected, np.PyArray_BYTES(expected), expected.nbytes)
        ins.nguards = len(bound.guards)
        ins.cost = bound.cost
        ins.kind = NATIVE
        ins.binding = self.s.generation
        ask_for_groups(self.s, instruction.inside)
        return 0

    cdef int renew(self, int pc, Call *call, object spec, dict slot_of_temp) except -1:
        """Let a call bring its result up to what it begins with, where that is less than to copy it."""
        cdef Instr *ins = self.s.code + pc
        cdef Renewal *renewal
        source, target = spec.buffers[0], spec.buffers[<int>spec.onto]
        if target.kind != "temp" or target.index not in slot_of_temp:
            return 0
        if self.s.journal == NULL:
            self.s.journal = <Journal *>take(self.s.own, 1, sizeof(Journal))
        renewal = <Renewal *>take(ins.calls, 1, sizeof(Renewal))
        renewal.journal = self.s.journal
        renewal.target = &self.s.slots[<int>slot_of_temp[target.index]].version
        if source.kind == "slot" and source.offset == 0 and \
                self.s.slots[<int>source.index].nbytes == source.size * source.dtype.itemsize:
            renewal.source = &self.s.slots[<int>source.index].version
        call.renewal = renewal
        ins.renews = 1
        return 0

    cdef int run_node(self, int pc) except -1:
        """Run the node at pc, bound if that is possible, and move on."""
        cdef int once = self.s.code[pc].once
        self.run_anyhow(pc)
        if once >= 0:
            self.s.code[pc].done = self.s.loops[once].entries
        return 0

    cdef int run_anyhow(self, int pc) except -1:
        cdef Instr *ins = self.s.code + pc
        cdef bint passed = ins.passed and ins.varying != NULL and not ins.stale
        instruction = self.plan.code[pc]
        trouble = None
        was_native = ins.kind == NATIVE
        # One that goes on with what it was bound to for a range is looked through as before.
        if ins.varying == NULL or ins.stale or not self.native:
            self.open(instruction, pc)
        if ins.stale:
            self.growing.forget(pc)
        if self.native and (ins.varying != NULL or ins.shelf != NULL):
            if ins.varying == NULL:
                free_calls(ins)     # of no use any more: one from the shelf may take its place
            if self.growing.provide(pc):
                if (ins.passed or not ins.looks or not show_inputs(self.s, ins)) and call_native(self.s, ins):
                    self.s.pc = pc + 1
                    return 0
                self.growing.forget(pc)
            self.open(instruction, pc)
            self.growing.put_aside(pc)
        if was_native and self.native and self.growing.make_room(pc) and call_native(self.s, ins):
            self.s.pc = pc + 1
            return 0
        ins.kind = UNBOUND
        if was_native:
            ins.calm = 0     # guards or a kernel's own check failed
        if self.replaced and instruction.outputs and instruction.outputs[0] in self.replaced:
            self.replace_constant(pc, instruction.outputs[0])
            self.s.pc = pc + 1
            return 0
        if self.native and ins.calm >= 0 and (ins.rebound < RESTLESS or ins.calm >= CALM or ins.waited >= ins.pause):
            ins.pause = 32 if ins.rebound < RESTLESS else 4 * ins.pause
            ins.waited = 0
            try:
                if self.bind_node(pc):
                    self.look_anew(instruction, ins, passed)
                    ins.rebound = 0 if ins.calm >= CALM or self.is_general(pc) else ins.rebound + 1
                    if call_native(self.s, ins):
                        self.s.pc = pc + 1
                        return 0
                else:
                    ins.calm = -1
            except NotNative:
                ins.calm = -1
                ins.rebound += 1
            except Exception as error:
                trouble = error
                ins.rebound = RESTLESS
        if ins.calm >= 0:
            ins.calm += 1
            ins.waited += 1
        self.growing.put_aside(pc)
        ins.kind = UNBOUND
        self.look_anew(instruction, ins, False)
        self.run_in_python(pc, instruction)
        if trouble is not None and strict_binding:
            raise trouble
        self.s.pc = pc + 1
        return 0

    cdef int open(self, object instruction, int pc) except -1:
        """Before a node is bound or run in Python: it looks through no other, and nobody through it."""
        cdef Instr *ins = self.s.code + pc
        cdef int slot
        if not self.s.passing or pc >= len(self.plan.code):
            return 0
        wake_node(ins)
        for slot in instruction.outputs:
            if slot >= 0:
                close(self.s, slot, ins.stale)
        for slot in instruction.inputs:
            if slot >= 0:
                show_slot(self.s, slot)
        return 0

    cdef int look_anew(self, object instruction, Instr *ins, bint passed) except -1:
        """A node was bound anew, or runs in Python: those for a range ask for what they read and are ``passed`` over as they
        were, but else whoever writes what it reads runs again."""
        cdef int slot
        if ins.varying != NULL and ins.varying.shows and passed:
            pass_node(ins)
        for slot in instruction.inputs if self.s.passing and (ins.varying == NULL or not ins.looks) else ():
            if slot >= 0 and self.s.writer[slot] >= 0:
                wake_node(self.s.code + self.s.writer[slot])
        return 0

    cdef int replace_constant(self, int pc, int slot) except -1:
        """Give a constant's slot the value that was set by hand, from now on."""
        value = self.replaced[slot]
        self.memory.store(slot, value)
        if self.s.slots[slot].spec and self.native:
            self.s.slots[slot].flags |= FOLDED
            self.memory.set_known(slot, value)
            self.install(pc, self.plan.code[pc], Bound([], [], [], {}, 1))
        else:
            self.memory.set_known(slot, None)
        return 0

    cdef int is_general(self, int pc):
        """Is the node bound for a range, and are there only so many of them?"""
        cdef Varying *v = self.s.code[pc].varying
        return v != NULL and v.low < v.high and self.s.code[pc].nshelf < MOST

    cdef int run_in_python(self, int pc, object instruction) except -1:
        cdef int slot
        arguments = []
        for slot in instruction.inputs:
            if slot < 0:
                arguments.append(None)
            elif self.s.slots[slot].spec:
                # Sums in NumPy go another way where elements do not follow each other.
                arguments.append(without_gaps(self.memory.tensor(self.s.slots[slot].data, self.s.slots[slot].spec)))
            else:
                arguments.append(self.memory.look(slot))
        try:
            if instruction.op.random:
                results = self.quiet.run(self.apply_random, pc, instruction, arguments)
            else:
                results = self.quiet.run(instruction.op.function, _EAGER, *arguments, **instruction.op.keywords)
                if not isinstance(results, tuple):
                    results = (results,)
        except LoopdbgError as error:
            raise ExecutionError(f"{self.memory.where(pc)}: {one_line(error)}") from error
        except Exception as error:
            raise ExecutionError(f"{self.memory.where(pc)}: {one_line(error)} (inputs: {shapes_of(arguments)})") from error
        if any(slot >= 0 for slot in instruction.outputs[len(results):]):
            raise ExecutionError(f"{self.memory.where(pc)}: it has {len(instruction.outputs)} outputs, but the operator "
                                 f"gives only {len(results)}")
        for slot, result in zip(instruction.outputs, results):
            if slot < 0:
                continue
            if isinstance(result, list):
                result = kept_elements(result, arguments)
            self.memory.store(slot, result)
            self.memory.set_known(slot, None)
        return 0

    def apply_random(self, int pc, instruction, arguments):
        """Run an operator that draws random numbers: by node and iterations, so that running again gives the same."""
        cdef int index = instruction.inside
        path = self.plan.loops[index].path if index >= 0 else MAIN
        iterations = []
        while index >= 0:
            iterations.append(self.s.loops[index].i)
            index = self.plan.loops[index].parent
        node = instruction.node
        name = "/".join([path, node.name, *(value.name for value in node.outputs[:1] if value is not None)])
        return instruction.op.apply(_EAGER, arguments, draws=Draws(name, tuple(iterations[::-1]), self.seed))

    def is_native(self, int pc):
        """True while the node at pc is bound to kernels."""
        return self.s.code[pc].kind == NATIVE or self.s.code[pc].kind == FUSED


cdef void free_calls(Instr *ins) noexcept:
    release(ins.calls)
    ins.calls, ins.guards, ins.cells, ins.outer, ins.varying = NULL, NULL, NULL, NULL, NULL
    ins.ncalls = ins.nguards = ins.counts = ins.passed = ins.through = 0


cdef int call_native(State *s, Instr *ins) except -1:
    """Run a bound node; 0: it could not be run as bound."""
    cdef int failed
    with nogil:
        failed = run_bound(s, ins)
    return not failed


cdef object without_gaps(np.ndarray array):
    return array if np.PyArray_ISCARRAY_RO(array) else array.copy()


cdef list kept_elements(list result, list arguments):
    """A sequence without elements that are engine memory, which changes under them. Written for long ones: it runs at
    each insertion."""
    cdef int k
    cdef Py_ssize_t j
    cdef PyObject *element
    cdef list given = [a for a in arguments if isinstance(a, np.ndarray)]
    cdef list kept = None
    for j in range(len(result)):
        element = PyList_GET_ITEM(result, j)
        if not np.PyArray_Check(<object>element):
            continue
        foreign = np.PyArray_BASE(<object>element) != NULL
        for k in range(len(given)):
            foreign = foreign or element == <PyObject *>given[k]
        if foreign:
            if kept is None:
                kept = list(result)
            kept[j] = (<object>element).copy()
    if kept is not None:
        return kept
    # Operators may give what they got.
    return list(result) if any([result is a for a in arguments]) else result


def room(temp):
    """Memory for a temp: a constant's own, or as many bytes. At least 8, which is what scalar programs read."""
    nbytes = temp.nbytes if isinstance(temp, np.ndarray) else temp
    if isinstance(temp, np.ndarray) and nbytes >= 8:
        return aligned(temp)
    memory = np.zeros(max(nbytes, 8), np.uint8)
    if isinstance(temp, np.ndarray):
        memory[:nbytes] = np.frombuffer(temp.tobytes(), np.uint8)
    return memory
