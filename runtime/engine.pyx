"""The engine: runs a Plan, stops at any boundary or node of any nesting, and goes on.

``hot.run_plan`` is the hot path: one loop over a flat array of instructions, without the GIL. Everything here prepares
what it runs on, and does what it hands back.

Instructions are bound when they are first met, on the dtypes and shapes that their inputs then have. A slot whose dtype
or shape changes unbinds its consumers, which are bound again when met: loops whose shapes change need nothing special.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_DECREF, Py_XDECREF
from libc.stdint cimport int32_t, int64_t, uintptr_t, INT64_MAX
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy
cimport numpy as np
from numpy cimport npy_intp

from .hot cimport enter_loop, leave_loop, now, put, run_plan
from .kernels cimport Call, set_kernel
from .scalar cimport free_program, make_program
from .state cimport *

import math
import signal
import threading
import time

import numpy as np

from . import bind as binding
from .errors import ExecutionError, LimitError, LoopdbgError, one_line
from .graph import Loop, StoppedBy, System, TensorType
from .ops.eager import Eager
from .ops.primitives import NotNative
from .plan import Kind
from .slices import cut, join, split

np.import_array()

_EAGER = Eager()
_REASONS = {RUNNING: None, BY_TRIP_COUNT: StoppedBy.TRIP_COUNT, BY_CONDITION: StoppedBy.CONDITION,
            BY_INPUT: StoppedBy.INPUT_EXHAUSTED}
# How long run_plan may run before signals and limits are looked at.
cdef double SLICE_SECONDS = 0.01
# A node that had to be bound this often runs in Python until its shapes have stayed the same for CALM executions.
cdef int RESTLESS = 3
cdef int CALM = 8

#: Tests set this: an operator that fails to bind for any other reason than NotNative, but runs, is a bug of ours.
strict_binding = False


# ---------------------------------------------------------------------------------------------- the engine

@cython.final
cdef class Engine:
    """One execution of a plan: memory, bound instructions, the stack of running loops.

    An engine runs one execution at a time, on one thread at a time; only :meth:`interrupt` may be called from another.
    """

    cdef State s
    cdef readonly object plan
    cdef int nslots
    cdef int ncode
    cdef int nloops
    cdef list specs              # spec -> (dtype, shape)
    cdef dict spec_ids
    cdef list known              # slot -> array that is known without running, or None
    cdef list consumers          # slot -> positions of nodes that read it
    cdef dict producers          # slot -> position of the node that writes it
    cdef list keep               # position -> arrays that its calls use
    cdef list churn              # position -> how often it was bound
    cdef list calm               # position -> Python executions since its inputs last changed
    cdef dict scan_arrays        # (loop, k) -> array behind a scan buffer, or list of objects
    cdef dict slice_arrays       # (loop, k) -> rearranged parts
    cdef double tick_time
    cdef int64_t slice_budget
    cdef int overdue
    cdef public bint native      # False: every node runs in Python, for comparison
    cdef public object on_boundary   # called with the loop's index at every boundary while hooks are on
    cdef public object on_tick       # called about every 10 ms of a run
    cdef readonly bint running
    cdef readonly int64_t moment     # grows whenever the engine goes on: what was read before may be stale

    def __cinit__(self, plan):
        self.plan = plan
        self.nslots, self.ncode, self.nloops = len(plan.slots), len(plan.code), len(plan.loops)
        self.s.slots = <Slot *>calloc(self.nslots + 1, sizeof(Slot))
        self.s.code = <Instr *>calloc(self.ncode + 1, sizeof(Instr))
        self.s.loops = <LoopState *>calloc(self.nloops + 1, sizeof(LoopState))
        self.s.stack = <int *>calloc(self.nloops + 1, sizeof(int))
        widest = max((len(p.edges) for p in plan.loops), default=0)
        self.s.carried = <char **>calloc(widest + 1, sizeof(char *))
        if not (self.s.slots and self.s.code and self.s.loops and self.s.stack and self.s.carried):
            raise MemoryError

    def __init__(self, plan):
        self.specs = [None]
        self.spec_ids = {}
        self.known = [None] * self.nslots
        self.consumers = [[] for _ in range(self.nslots)]
        self.producers = {}
        self.keep = [None] * self.ncode
        self.churn = [0] * self.ncode
        self.calm = [0] * self.ncode
        self.scan_arrays, self.slice_arrays = {}, {}
        self.slice_budget = 1_000_000
        self.native = True
        self.load_code()
        for index in range(self.nloops):
            self.load_loop(index)
        self.s.hot_after = 200
        self.set_limits()
        for slot, array in plan.constants:
            self.set_constant(slot, array)

    def __dealloc__(self):
        cdef int k, j
        cdef LoopState *loop
        if self.s.code:
            for k in range(self.ncode):
                self.release_instruction(k)
                free(self.s.code[k].moves)
        if self.s.loops:
            for k in range(self.nloops):
                loop = self.s.loops + k
                for j in range(loop.nedges):
                    Py_XDECREF(loop.edges[j].spare_owner)
                free_program(loop.program)
                free(loop.edges)
                free(loop.slices)
                free(loop.scans)
                free(loop.lasts)
        if self.s.slots:
            for k in range(self.nslots):
                Py_XDECREF(self.s.slots[k].owner)
        free(self.s.slots)
        free(self.s.code)
        free(self.s.loops)
        free(self.s.stack)
        free(self.s.carried)

    # -- from the plan

    cdef int load_code(self) except -1:
        cdef Instr *ins
        cdef int k, j
        for k, instruction in enumerate(self.plan.code):
            ins = self.s.code + k
            ins.kind = <int>instruction.kind
            ins.loop, ins.target = instruction.loop, instruction.target
            ins.condition = instruction.inputs[0] if instruction.kind == Kind.BRANCH else -1
            if instruction.kind == Kind.NODE:
                for slot in set(instruction.inputs):
                    if slot >= 0:
                        self.consumers[slot].append(k)
                for slot in instruction.outputs:
                    self.producers[slot] = k
            ins.nmoves = len(instruction.moves)
            if ins.nmoves:
                ins.moves = <Move *>calloc(ins.nmoves, sizeof(Move))
                if not ins.moves:
                    raise MemoryError
                for j, (source, target) in enumerate(instruction.moves):
                    ins.moves[j].source, ins.moves[j].target = source, target
        return 0

    cdef int load_loop(self, int index) except -1:
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        plan = self.plan.loops[index]
        node = plan.loop
        loop.head, loop.exit = plan.head, plan.exit
        loop.trip_slot, loop.initial_slot = plan.trip_count, plan.initial_condition
        loop.condition, loop.condition_input = plan.condition, plan.condition_input
        loop.iteration = plan.iteration
        loop.negative_is_zero = not node.minus_one_is_no_limit
        loop.counted = node.counted_by_slices
        loop.fixed_trips = -1 if node.fixed_trips is None else node.fixed_trips
        loop.parts = -1
        loop.nedges, loop.nslices = len(plan.edges), len(plan.slices)
        loop.nscans, loop.nlasts = len(plan.scans), len(plan.lasts)
        loop.edges = <Edge *>calloc(loop.nedges + 1, sizeof(Edge))
        loop.slices = <Slice *>calloc(loop.nslices + 1, sizeof(Slice))
        loop.scans = <Scan *>calloc(loop.nscans + 1, sizeof(Scan))
        loop.lasts = <Last *>calloc(loop.nlasts + 1, sizeof(Last))
        if not (loop.edges and loop.slices and loop.scans and loop.lasts):
            raise MemoryError
        for k, edge in enumerate(plan.edges):
            loop.edges[k].initial, loop.edges[k].param = edge.initial, edge.param
            loop.edges[k].result, loop.edges[k].swap = edge.result, edge.swap
            loop.edges[k].identity = edge.param == edge.result
        for k, sliced in enumerate(plan.slices):
            loop.slices[k].outer, loop.slices[k].inner = sliced.outer, sliced.inner
        for k, scan in enumerate(plan.scans):
            loop.scans[k].result, loop.scans[k].outer = scan.result, scan.outer
            loop.scans[k].spec = loop.scans[k].out_spec = -1
        for k, last in enumerate(plan.lasts):
            loop.lasts[k].source, loop.lasts[k].outer, loop.lasts[k].edge = last.source, last.outer, last.edge
        if plan.iteration >= 0:
            declared = plan.loop.iteration.type
            wide = declared.dtype != np.int32
            loop.iteration_wide = wide
            self.own(plan.iteration, self.spec(np.dtype(np.int64 if wide else np.int32), _one(declared)))
        if plan.condition_input >= 0:
            self.own(plan.condition_input, self.spec(np.dtype(np.bool_), _one(plan.loop.condition_input.type)))
        return 0

    # -- slots

    cdef int spec(self, dtype, tuple shape) except -1:
        key = (dtype, shape)
        found = self.spec_ids.get(key)
        if found is None:
            found = len(self.specs)
            self.specs.append(key)
            self.spec_ids[key] = found
        return found

    cdef int put_owner(self, int k, object owner, int spec, int flags) except -1:
        """Give a slot its memory; consumers of a changed spec are unbound."""
        cdef Slot *slot = self.s.slots + k
        cdef int changed = slot.spec != spec
        Py_INCREF(owner)
        Py_XDECREF(slot.owner)
        slot.owner = <PyObject *>owner
        slot.spec, slot.flags = spec, flags
        if spec:
            slot.data = np.PyArray_BYTES(owner)
            slot.nbytes = np.PyArray_NBYTES(owner)
        else:
            slot.data, slot.nbytes = NULL, 0
        if changed:
            self.unbind_consumers(k)
        return 0

    cdef int unbind_consumers(self, int k) except -1:
        self.s.generation += 1
        for pc in self.consumers[k]:
            self.s.code[<int>pc].kind = UNBOUND
            self.calm[pc] = 0
        return 0

    cdef int set_known(self, int k, object array) except -1:
        """Note what a slot holds without running (None: it takes a run); a change unbinds what rests on it."""
        before = self.known[k]
        if before is None and array is None:
            return 0
        if before is not None and array is not None and before.shape == array.shape and \
                before.dtype == array.dtype and before.tobytes() == array.tobytes():
            return 0
        self.known[k] = array
        return self.unbind_consumers(k)

    cdef int own(self, int k, int spec) except -1:
        """Make sure that a slot has a buffer of its own for a spec."""
        cdef Slot *slot = self.s.slots + k
        if slot.spec == spec and slot.flags & OWN:
            slot.flags = OWN
            return 0
        dtype, shape = self.specs[spec]
        return self.put_owner(k, np.empty(shape, dtype), spec, OWN)

    cdef int set_constant(self, int k, object array) except -1:
        if array.dtype.hasobject:
            return self.put_owner(k, array, 0, 0)
        array = _aligned(array)
        self.put_owner(k, array, self.spec(array.dtype, array.shape), FOLDED)
        self.known[k] = array
        return 0

    cdef int store(self, int k, object value) except -1:
        """Copy a value into a slot: tensors into the slot's own buffer, anything else as it is."""
        if isinstance(value, np.generic):
            value = np.asarray(value)
        if not isinstance(value, np.ndarray) or value.dtype.hasobject:
            return self.put_owner(k, value, 0, 0)
        if not value.dtype.isnative:
            value = value.astype(value.dtype.newbyteorder("="))
        self.own(k, self.spec(value.dtype, value.shape))
        np.copyto(<object>self.s.slots[k].owner, value)
        return 0

    cdef object tensor(self, char *data, int spec):
        """An array over memory that stays valid only until the engine goes on."""
        dtype, shape = self.specs[spec]
        cdef np.ndarray raw
        cdef npy_intp n = max(math.prod(shape) * dtype.itemsize, 0)
        raw = np.PyArray_SimpleNewFromData(1, &n, np.NPY_UINT8, data)
        return raw.view(dtype).reshape(shape) if n else np.empty(shape, dtype)

    cdef object look(self, int k):
        """A slot's value without copying: for reading before the engine goes on."""
        cdef Slot *slot = self.s.slots + k
        if slot.spec == 0:
            return <object>slot.owner if slot.owner != NULL else None
        if slot.owner != NULL and np.PyArray_BYTES(<object>slot.owner) == slot.data and \
                self.specs[slot.spec][1] == (<object>slot.owner).shape:
            return <object>slot.owner
        return self.tensor(slot.data, slot.spec)

    # -- binding and running nodes

    cdef int release_instruction(self, int pc) except -1:
        cdef Instr *ins = self.s.code + pc
        cdef int k
        for k in range(ins.nguards):
            free(ins.guards[k].expected)
        free(ins.calls)
        free(ins.guards)
        free(ins.cells)
        free(ins.outer)
        ins.calls, ins.guards, ins.cells, ins.outer = NULL, NULL, NULL, NULL
        ins.ncalls = ins.nguards = 0
        return 0

    cdef int bind_node(self, int pc) except -1:
        """Bind the node at pc on what its inputs are now. 0: it has to run in Python."""
        instruction = self.plan.code[pc]
        inputs = []
        for slot in instruction.inputs:
            if slot < 0:
                inputs.append(None)
            elif self.s.slots[<int>slot].spec == 0:
                return 0
            else:
                dtype, shape = self.specs[self.s.slots[<int>slot].spec]
                inputs.append(binding.Input(slot, dtype, shape, self.known[slot], self.peeker(slot)))
        bound = binding.bind(instruction.op, inputs)
        for slot, out in zip(instruction.outputs, bound.outputs):
            if slot < 0:
                continue
            if out.known is not None and out.dtype.hasobject:
                return 0
            if out.known is not None:
                self.store(slot, out.known)
                self.s.slots[<int>slot].flags |= FOLDED
            else:
                self.own(slot, self.spec(out.dtype, out.shape))
            self.set_known(slot, out.known)
        self.install(pc, instruction, bound)
        return 1

    def peeker(self, slot):
        """A function that reads a slot's numbers now."""
        return lambda: self.look(slot).copy()

    cdef int install(self, int pc, object instruction, object bound) except -1:
        """Turn a Bound into C."""
        cdef Instr *ins = self.s.code + pc
        cdef Call *call
        cdef int k, j, d, rows = 0
        self.s.generation += 1
        self.release_instruction(pc)
        ins.cells = <char **>calloc(len(bound.temps) + 1, sizeof(char *))
        ins.calls = <Call *>calloc(len(bound.calls) + 1, sizeof(Call))
        ins.guards = <Guard *>calloc(len(bound.guards) + 1, sizeof(Guard))
        for spec in bound.calls:
            rows += len(spec.outer) * (1 + len(spec.buffers))
        ins.outer = <npy_intp *>calloc(rows + 1, sizeof(npy_intp))
        if not (ins.cells and ins.calls and ins.guards and ins.outer):
            raise MemoryError
        # A temp that is an output is the slot's own buffer.
        slot_of_temp = {out.index: slot for slot, out in zip(instruction.outputs, bound.outputs)
                        if slot >= 0 and out.kind == "temp" and out.known is None}
        arrays = []
        for k, temp in enumerate(bound.temps):
            if k not in slot_of_temp:
                array = _room(temp)
                arrays.append(array)
                ins.cells[k] = np.PyArray_BYTES(array)
        self.keep[pc] = arrays
        rows = 0
        for k, spec in enumerate(bound.calls):
            call = ins.calls + k
            call.nargs = len(spec.buffers)
            for j, buffer in enumerate(spec.buffers):
                call.offset[j] = buffer.offset
                if buffer.kind == "slot":
                    call.cell[j] = &self.s.slots[<int>buffer.index].data
                elif buffer.index in slot_of_temp:
                    call.cell[j] = &self.s.slots[<int>slot_of_temp[buffer.index]].data
                else:
                    call.cell[j] = &ins.cells[<int>buffer.index]
            for j, value in enumerate(spec.dims):
                call.dims[j] = value
            for j, value in enumerate(spec.steps):
                call.steps[j] = value
            for j, value in enumerate(spec.extra):
                call.extra[j] = value
            call.nouter = len(spec.outer)
            call.outer = ins.outer + rows
            for row in spec.outer:
                for value in row:
                    ins.outer[rows] = value
                    rows += 1
            set_kernel(call, spec.kernel)
        ins.ncalls = len(bound.calls)
        for k, (position, expected) in enumerate(bound.guards.items()):
            expected = np.ascontiguousarray(expected)
            ins.guards[k].slot = instruction.inputs[position]
            ins.guards[k].nbytes = expected.nbytes
            ins.guards[k].expected = <char *>malloc(expected.nbytes + 1)
            if not ins.guards[k].expected:
                raise MemoryError
            memcpy(ins.guards[k].expected, np.PyArray_BYTES(expected), expected.nbytes)
            ins.nguards = k + 1
        ins.cost = bound.cost
        ins.kind = NATIVE
        return 0

    cdef int run_node(self, int pc) except -1:
        """Run the node at pc, bound if that is possible, and move on."""
        cdef Instr *ins = self.s.code + pc
        cdef int k, failed = 0
        instruction = self.plan.code[pc]
        trouble = None
        was_native = ins.kind == NATIVE
        ins.kind = UNBOUND
        if was_native:
            self.calm[pc] = 0     # guards or a kernel's own check failed
        if self.native and (self.churn[pc] < RESTLESS or self.calm[pc] >= CALM):
            try:
                if self.bind_node(pc):
                    self.churn[pc] = 0 if self.calm[pc] >= CALM else self.churn[pc] + 1
                    with nogil:
                        for k in range(ins.ncalls):
                            failed = ins.calls[k].run(ins.calls + k)
                            if failed:
                                break
                    if not failed:
                        self.s.pc = pc + 1
                        return 0
                    ins.kind = UNBOUND
                else:
                    self.calm[pc] = -1_000_000_000   # nothing to bind until its inputs change
                    self.churn[pc] = RESTLESS
            except NotNative:
                self.calm[pc] = -1_000_000_000
                self.churn[pc] = RESTLESS
            except Exception as error:
                trouble = error
                self.churn[pc] = RESTLESS
        self.calm[pc] += 1
        self.run_in_python(pc, instruction)
        if trouble is not None and strict_binding:
            raise trouble
        self.s.pc = pc + 1
        return 0

    cdef int run_in_python(self, int pc, object instruction) except -1:
        arguments = [None if slot < 0 else self.look(slot) for slot in instruction.inputs]
        try:
            with np.errstate(all="ignore"):
                results = instruction.op.apply(_EAGER, arguments)
        except LoopdbgError as error:
            raise ExecutionError(f"{self.where(pc)}: {one_line(error)}") from error
        except Exception as error:
            raise ExecutionError(f"{self.where(pc)}: {one_line(error)} (inputs: {_shapes(arguments)})") from error
        for slot, result in zip(instruction.outputs, results):
            if slot < 0:
                continue
            if isinstance(result, list):
                # Elements must not be engine memory, which changes under them.
                result = [x.copy() if isinstance(x, np.ndarray) and (x.base is not None or any(x is a for a in
                          arguments)) else x for x in result]
            self.store(slot, result)
            self.set_known(slot, None)
        return 0

    # -- loops, the general way

    cdef int enter_slow(self, int index) except -1:
        """Enter a loop whatever its specs are; raises for what the loop's own system rejects."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        cdef Edge *e
        cdef Slice *c
        plan = self.plan.loops[index]
        node = plan.loop
        loop.fast_enter = 1
        loop.trip = loop.fixed_trips
        if loop.trip_slot >= 0:
            array = self.one_element(loop.trip_slot, "iu", "trip count", node)
            count = int(array.reshape(())) if array.dtype.kind == "i" else min(int(array.reshape(())), INT64_MAX)
            if count < 0 and not loop.negative_is_zero and count != -1:
                raise ExecutionError(f"{node.describe()}: its trip count is {count}; it must be -1 (no limit), 0 or more")
            loop.trip = max(count, 0) if loop.negative_is_zero else count
            loop.trip_spec = self.s.slots[loop.trip_slot].spec
            if array.dtype.itemsize < 4 or array.dtype.kind == "u":
                loop.fast_enter = 0
        loop.keep = 1
        if loop.initial_slot >= 0:
            array = self.one_element(loop.initial_slot, "b", "condition", node)
            loop.keep = bool(array.reshape(()))
            loop.initial_spec = self.s.slots[loop.initial_slot].spec
        counts = []
        loop.parts = -1
        for k in range(loop.nedges):
            e = loop.edges + k
            if e.initial >= 0:
                value = self.look(e.initial)
            else:
                sliced = plan.edges[k].sliced
                parts = cut(self.look(self.plan.slot_of[sliced.outer]), sliced, node.describe())
                if len(parts) == 0:
                    raise ExecutionError(f"{node.describe()}: '{sliced.outer.name}' has no slice 0 for '{sliced.inner.name}'")
                value = parts[0]
                # It counts iterations as any sliced input does, though only part 0 is read.
                loop.parts = len(parts)
                counts.append((sliced.outer.name, len(parts)))
                loop.fast_enter = 0
            if isinstance(value, list):
                value = list(value)
            self.store(e.param, value)
            self.set_spare(e)
            if self.s.slots[e.param].spec == 0:
                loop.fast_enter = 0
        for k in range(loop.nslices):
            c = loop.slices + k
            sliced = plan.slices[k].sliced
            array = self.look(c.outer)
            if not isinstance(array, np.ndarray) or array.dtype.hasobject:
                raise ExecutionError(f"{node.describe()}: '{sliced.outer.name}' cannot be sliced; it is no tensor of numbers")
            parts = cut(array, sliced, node.describe())
            c.parts = len(parts)
            counts.append((sliced.outer.name, len(parts)))
            c.outer_spec = self.s.slots[c.outer].spec
            part_spec = self.spec(parts.dtype, parts.shape[1:])
            c.direct = parts.size > 0 and parts[:1].flags.c_contiguous and np.may_share_memory(parts[:1], array)
            if not c.direct:
                parts = np.ascontiguousarray(parts)
                loop.fast_enter = 0
            self.slice_arrays[index, k] = parts
            c.base = np.PyArray_BYTES(parts)
            c.offset = <Py_ssize_t>c.base - <Py_ssize_t>self.s.slots[c.outer].data if c.direct else 0
            c.step = parts.strides[0] if len(parts) else 0
            self.put_owner(c.inner, parts, part_spec, 0)
            self.s.slots[c.inner].nbytes = math.prod(parts.shape[1:]) * parts.dtype.itemsize
            if loop.parts < 0 or c.parts < loop.parts:
                loop.parts = c.parts
        if loop.counted and len({count for _, count in counts}) > 1:
            told = ", ".join(f"'{name}' has {count}" for name, count in counts)
            raise ExecutionError(f"{node.describe()}: its sliced inputs disagree on the number of iterations: {told}")
        for k in range(loop.nscans):
            loop.scans[k].count = 0
            loop.scans[k].spec = -1
            self.scan_arrays.pop((index, k), None)
            loop.scans[k].capacity = 0
        enter_loop(&self.s, index)
        return 0

    cdef object one_element(self, int slot, str kinds, str word, object node):
        array = self.look(slot)
        if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds or array.size != 1:
            have = _shapes([array])
            need = "one integer" if "i" in kinds else "one boolean"
            raise ExecutionError(f"{node.describe()}: its {word} '{self.plan.slots[slot].name}' is {have}; it must be {need}")
        return array

    cdef int set_spare(self, Edge *e) except -1:
        """A second buffer for edges that copy (pass-through values, constants, results with two back edges)."""
        cdef Slot *p = self.s.slots + e.param
        if e.spare_spec == p.spec and e.spare_owner != NULL:
            return 0
        spare = None if p.spec == 0 else np.empty(self.specs[p.spec][1], self.specs[p.spec][0])
        self.put_spare(e, spare, p.spec)
        return 0

    cdef int put_spare(self, Edge *e, object owner, int spec) except -1:
        Py_INCREF(owner)
        Py_XDECREF(e.spare_owner)
        e.spare_owner = <PyObject *>owner
        e.spare = NULL if spec == 0 else np.PyArray_BYTES(owner)
        e.spare_spec = spec
        return 0

    cdef int next_slow(self, int index) except -1:
        """The boundary after an iteration whatever the specs are."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        cdef Edge *e
        plan = self.plan.loops[index]
        for k in range(loop.nscans):
            self.check_scan(index, k)
        for k in range(loop.nedges):
            self.check_edge(index, k)
        if loop.condition >= 0:
            array = self.look(loop.condition)
            if not isinstance(array, np.ndarray) or array.dtype.kind != "b" or array.size != 1:
                raise ExecutionError(f"{self.at(index)}: the body's condition '{plan.loop.condition.name}' is "
                                     f"{_shapes([array])}; it must be one boolean")
        for k in range(loop.nscans):
            self.append_scan(index, k)
        if loop.condition >= 0:
            loop.keep = self.s.slots[loop.condition].data[0] != 0
            if loop.condition_input >= 0:
                self.s.slots[loop.condition_input].data[0] = loop.keep
        taken = []
        for k in range(loop.nedges):
            e = loop.edges + k
            swap = e.swap and self.s.slots[e.result].spec != 0 and self.s.slots[e.param].spec != 0 and \
                self.s.slots[e.result].flags == OWN
            e.in_spare = not swap
            value = None
            if e.in_spare and not e.identity:
                value = self.value(e.result)
            taken.append(value)
        for k in range(loop.nedges):
            e = loop.edges + k
            if e.identity:
                continue
            if e.in_spare:
                # The old value becomes the spare: it is "previous" until the next boundary.
                self.put_spare(e, <object>self.s.slots[e.param].owner, self.s.slots[e.param].spec)
                spec = self.s.slots[e.result].spec
                self.put_owner(e.param, taken[k], spec, OWN if spec else 0)
            else:
                self.swap_slots(e.param, e.result)
        loop.i += 1
        self.s.pc = loop.head
        return 0

    cdef int swap_slots(self, int a, int b) except -1:
        """Exchange the buffers of a parameter and its result, specs included."""
        cdef Slot old = self.s.slots[a]
        self.s.slots[a] = self.s.slots[b]
        self.s.slots[b] = old
        if self.s.slots[a].spec != self.s.slots[b].spec:
            self.unbind_consumers(a)
            self.unbind_consumers(b)
            if b in self.producers:
                self.s.code[<int>self.producers[b]].kind = UNBOUND
        return 0

    cdef int check_edge(self, int index, int k) except -1:
        cdef Edge *e = self.s.loops[index].edges + k
        cdef Slot *p = self.s.slots + e.param
        cdef Slot *r = self.s.slots + e.result
        if p.spec and r.spec and self.specs[p.spec][0] != self.specs[r.spec][0]:
            name = self.plan.loops[index].edges[k].edge.param.name
            raise ExecutionError(
                f"{self.at(index)}: the back edge to '{name}' carries {self.specs[r.spec][0].name}, but the parameter is "
                f"{self.specs[p.spec][0].name}; a carried value keeps its dtype")
        return 0

    cdef int check_scan(self, int index, int k) except -1:
        """Elements of a scan output have one shape and dtype (SEMANTICS 0.7)."""
        cdef Scan *c = self.s.loops[index].scans + k
        cdef Slot *r = self.s.slots + c.result
        port = self.plan.loops[index].scans[k].output
        if r.spec == 0:
            value = self.look(c.result)
            if not isinstance(value, np.ndarray):
                raise ExecutionError(f"{self.at(index)}: scan output '{port.outer.name}' got {_shapes([value])}; "
                                     f"only tensors can be scan outputs")
            rows = self.scan_arrays.get((index, k))
            if rows and rows[0].shape != value.shape:
                raise ExecutionError(_shape_change(self.at(index), port, rows[0].shape, value.shape))
            return 0
        if c.spec >= 0 and c.spec != r.spec:
            before, after = self.specs[c.spec], self.specs[r.spec]
            if before[0] != after[0]:
                before, after = ([f"{d.name} {list(s)}"] for d, s in (before, after))
                raise ExecutionError(_shape_change(self.at(index), port, before[0], after[0]))
            raise ExecutionError(_shape_change(self.at(index), port, before[1], after[1]))
        return 0

    cdef int append_scan(self, int index, int k) except -1:
        cdef LoopState *loop = self.s.loops + index
        cdef Scan *c = loop.scans + k
        cdef Slot *r = self.s.slots + c.result
        port = self.plan.loops[index].scans[k].output
        if r.spec == 0:
            self.scan_arrays.setdefault((index, k), []).append(self.look(c.result).copy())
            c.count += 1
            return 0
        if c.spec < 0:
            dtype, shape = self.specs[r.spec]
            c.spec, c.nbytes = r.spec, r.nbytes
            rank = len(shape) + (1 if port.stack else 0)
            axis = port.axis + rank if port.axis < 0 else port.axis
            if not 0 <= axis < rank:
                raise ExecutionError(f"{self.at(index)}: scan output '{port.outer.name}' has axis {port.axis}, "
                                     f"but its rank is {rank}")
            c.plain = not port.reverse and math.prod(shape[:axis]) == 1
        if c.count == c.capacity:
            self.grow_scan(index, k)
        put(c.buffer + c.count * c.nbytes, r.data, c.nbytes)
        c.count += 1
        return 0

    cdef int grow_scan(self, int index, int k) except -1:
        """Room for all iterations where their number is known and that is not much, else twice as much as before."""
        cdef LoopState *loop = self.s.loops + index
        cdef Scan *c = loop.scans + k
        expected = loop.trip if loop.trip >= 0 else loop.parts if loop.counted else -1
        capacity = max(16, 2 * c.capacity)
        if 0 <= expected and expected * c.nbytes <= max(1 << 26, 2 * c.capacity * c.nbytes):
            capacity = max(expected, c.count + 1)
        array = np.empty(max(capacity * c.nbytes, 1), np.uint8)
        if c.count:
            memcpy(np.PyArray_BYTES(array), c.buffer, c.count * c.nbytes)
        self.scan_arrays[index, k] = array
        c.buffer, c.capacity = np.PyArray_BYTES(array), capacity
        return 0

    cdef int exit_slow(self, int index) except -1:
        """Leave a loop whatever the specs are."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        plan = self.plan.loops[index]
        for k in range(loop.nlasts):
            last = plan.lasts[k]
            if last.edge < 0 and loop.i == 0:
                raise ExecutionError(
                    f"{plan.loop.describe()} ran no iteration, and its output '{last.output.outer.name}' is fed by no back "
                    f"edge, so it has no value")
            self.store(loop.lasts[k].outer, self.look(loop.lasts[k].source))
            self.set_known(loop.lasts[k].outer, None)
        for k in range(loop.nscans):
            self.store_scan(index, k)
        leave_loop(&self.s, loop)
        return 0

    cdef int store_scan(self, int index, int k) except -1:
        cdef Scan *c = self.s.loops[index].scans + k
        value = self.scanned(index, k)
        if c.plain and value.base is not None and value.nbytes > 4096 and c.count == c.capacity:
            # The buffer is the output, and large: hand it over instead of copying it.
            value = value.reshape(value.shape)
            self.put_owner(c.outer, value, self.spec(value.dtype, value.shape), OWN)
            self.scan_arrays.pop((index, k), None)
            c.buffer, c.capacity, c.out_count = NULL, 0, -1
        else:
            self.store(c.outer, value)
            c.out_spec, c.out_count = self.s.slots[c.outer].spec, c.count
        self.set_known(c.outer, None)
        return 0

    def scanned(self, int index, int k):
        """What a scan output has collected so far, as its loop would return it; a view, valid until the engine goes on."""
        rows = self.scan_rows(index, k)
        port = self.plan.loops[index].scans[k].output
        return _empty_scan(port) if rows is None else join(rows, port)

    cdef object scan_rows(self, int index, int k):
        """The elements in order, ``[count, *shape]``; None while there are none. After the loop its output has them."""
        cdef LoopState *loop = self.s.loops + index
        cdef Scan *c = loop.scans + k
        if c.count == 0:
            return None
        port = self.plan.loops[index].scans[k].output
        rows = self.scan_arrays.get((index, k))
        if rows is None:
            return split(self.look(c.outer), port, c.count)
        if isinstance(rows, list):
            return np.stack(rows)
        dtype, shape = self.specs[c.spec]
        stacked = rows[: c.count * c.nbytes].view(dtype) if c.nbytes else np.empty(0, dtype)
        return stacked.reshape((c.count, *shape))

    def scan_view(self, int index, int k, int64_t newest):
        """(number of elements, the whole as a view, the newest elements in order) of a scan output."""
        cdef int64_t count = self.s.loops[index].scans[k].count
        rows = self.scan_rows(index, k)
        return count, self.scanned(index, k), [] if rows is None else rows[max(count - newest, 0):]

    cdef int control_slow(self, int pc) except -1:
        """A control instruction that run_plan handed over."""
        cdef Instr *ins = self.s.code + pc
        cdef int k
        if ins.kind == ENTER:
            self.enter_slow(ins.loop)
        elif ins.kind == NEXT:
            self.next_slow(ins.loop)
        elif ins.kind == EXIT:
            self.exit_slow(ins.loop)
        elif ins.kind == BRANCH:
            array = self.look(ins.condition)
            if not isinstance(array, np.ndarray) or array.size != 1:
                node = self.plan.code[pc].node
                raise ExecutionError(f"{self.where(pc)}: the condition '{node.inputs[0].name}' is {_shapes([array])}; "
                                     f"it must be one boolean")
            ins.taken = bool(array.reshape(()))
            self.s.pc = pc + 1 if ins.taken else ins.target
        else:
            for k in range(ins.nmoves):
                value = self.look(ins.moves[k].source)
                self.store(ins.moves[k].target, list(value) if isinstance(value, list) else value)
                self.set_known(ins.moves[k].target, None)
            self.s.pc = ins.target if ins.kind == JUMP else pc + 1
        return 0

    # -- where we are, in words

    def where(self, int pc):
        """``Add 'h' (opset 13) in 'rnn', iteration 7``."""
        instruction = self.plan.code[pc]
        text = instruction.node.describe()
        return f"{text} in {self.at(instruction.inside)}" if instruction.inside >= 0 else text

    def at(self, int index):
        """``loop 'rnn', iteration 7``."""
        return f"loop '{self.plan.loops[index].loop.name}', iteration {self.s.loops[index].i}"

    # -- running

    def start(self, inputs):
        """Begin an execution, stopped before the first instruction.

        ``inputs``: for each input slot of the plan its value, already checked against the model. Tensors are not
        copied: they must not change while the execution lasts.
        """
        cdef int k
        for slot, value in inputs.items():
            if isinstance(value, np.ndarray) and not value.dtype.hasobject:
                value = _aligned(value)
                self.put_owner(slot, value, self.spec(value.dtype, value.shape), 0)
            else:
                self.put_owner(slot, value, 0, 0)
        for k in range(self.nloops):
            self.s.loops[k].active = 0
            self.s.loops[k].i = 0
            self.s.loops[k].ended = RUNNING
            self.s.loops[k].iterations = self.s.loops[k].entries = 0
            self.s.loops[k].seconds = 0
            self.s.loops[k].heat, self.s.loops[k].hot_at = 0, self.s.hot_after
            for j in range(4):
                self.s.loops[k].by_reason[j] = 0
        self.s.pc = self.s.depth = 0
        self.s.interrupt = 0
        self.s.suspended = NULL
        self.s.program_runs = 0
        self.moment += 1
        self.clear_stops()

    def clear_stops(self):
        """Forget every stop that was asked for; hooks and limits stay."""
        cdef int k
        self.s.stepping = self.s.stop_any = 0
        self.s.watch = self.s.hook_any or self.s.c_hook != NULL or self.s.interrupt
        for k in range(self.nloops):
            self.s.loops[k].next_event = INT64_MAX
            self.s.loops[k].event_at_end = 0

    def stop_at(self, int index, int64_t iteration):
        """Ask for a stop at the first boundary of a loop from this iteration on, and at the loop's end."""
        self.s.loops[index].next_event = iteration
        self.s.loops[index].event_at_end = 1

    def stop_at_end(self, int index):
        """Ask for a stop where a loop ends."""
        self.s.loops[index].event_at_end = 1

    def stop_anywhere(self):
        """Ask for a stop at the next boundary of any loop."""
        self.s.stop_any = self.s.watch = 1

    def stop_before_node(self):
        """Ask for a stop before the very next node."""
        self.s.stepping, self.s.moved, self.s.step_depth = 1, 1, self.s.depth

    def stop_at_node(self):
        """Ask for a stop before the next node of the innermost running loop (or, once that ended, further out)."""
        self.s.stepping, self.s.moved, self.s.step_depth = 1, 0, self.s.depth

    def set_limits(self, max_iterations=None, bint refuse_endless=False):
        """Bound every entry of every loop; ``refuse_endless``: stop loops that nothing can end (SEMANTICS 0.3).

        Where a condition cannot change but its value is known only after iteration 0, that iteration still runs.
        """
        cdef int k
        for k in range(self.nloops):
            plan = self.plan.loops[k]
            self.s.loops[k].limit = INT64_MAX if max_iterations is None else max_iterations
            self.s.loops[k].endless_at = -1
            bounded = plan.loop.counted_by_slices or plan.loop.fixed_trips is not None
            if refuse_endless and max_iterations is None and not bounded and not plan.condition_can_change:
                constant = plan.condition < 0 or (self.known[plan.condition] is not None and
                                                  bool(self.known[plan.condition].reshape(-1)[:1].all()))
                self.s.loops[k].endless_at = 0 if constant else 1

    def raise_limit(self, int index, int64_t more):
        """Let a loop that reached its limit go on for some iterations."""
        self.s.loops[index].limit = self.s.loops[index].i + more

    def set_hook(self, hook):
        """Call ``hook(loop_index)`` at every boundary of every loop; None: no more."""
        self.on_boundary = hook
        self.s.hook_any = hook is not None
        self.s.watch = self.s.watch or self.s.hook_any

    def set_c_hook(self, uintptr_t function, uintptr_t context=0):
        """Call a C function at every boundary of every loop, without the GIL; 0: no more.

        ``int function(void *context, const BoundaryView *view)``; not 0 stops there. See ``engine.pxd`` for the struct.
        """
        self.s.c_hook = <boundary_hook>function
        self.s.c_context = <void *>context
        self.s.watch = self.s.watch or function != 0

    def interrupt(self):
        """Stop at the next boundary; from any thread or a signal handler."""
        self.s.interrupt = 1
        self.s.watch = 1

    def resume(self):
        """Run until a stop.

        Returns: ``("end", -1)``, ``("boundary", loop)``, ``("node", pc)``, ``("limit", loop)`` or ``("interrupt", -1)``.

        Raises:
            ExecutionError: a node or a boundary failed; the engine stays there.
            LimitError: a loop that nothing can end was met, and ``set_limits`` said to refuse those.
        """
        if self.running:
            raise RuntimeError("this engine is running already")
        self.running = True
        self.moment += 1
        handler = None
        on_main = threading.current_thread() is threading.main_thread()
        if on_main:
            handler = signal.getsignal(signal.SIGINT)
            if handler is not signal.default_int_handler:
                on_main = False   # somebody else decides what Ctrl-C means
            else:
                signal.signal(signal.SIGINT, self.on_signal)
        try:
            return self.run()
        finally:
            self.running = False
            if on_main:
                signal.signal(signal.SIGINT, handler)

    def on_signal(self, number, frame):
        """First Ctrl-C: stop at the next boundary. A second one, while a hook hangs, is an ordinary interrupt."""
        if self.s.interrupt:
            raise KeyboardInterrupt
        self.interrupt()

    cdef object run(self):
        cdef int status
        self.tick_time = time.monotonic()
        self.s.budget = self.slice_budget
        self.overdue = 0
        while True:
            with nogil:
                status = run_plan(&self.s)
            if status == S_PYTHON:
                self.run_node(self.s.pc)
                self.s.budget -= 2000
                if self.s.budget < 0:
                    status = S_TICK
            elif status == S_SLOW:
                self.control_slow(self.s.pc)
            elif status == S_BOUNDARY:
                stop = self.at_boundary(self.s.code[self.s.pc].loop)
                if stop is not None:
                    return stop
            elif status == S_NODE:
                return ("node", self.s.pc)
            elif status == S_END:
                return ("end", -1)
            elif status == S_LIMIT:
                return self.at_limit(self.s.code[self.s.pc].loop)
            elif status == S_HOT:
                self.heat_up()
            elif status == S_NO_SLICE:
                self.no_slice(self.s.code[self.s.pc].loop)
            if status == S_TICK and self.tick():
                return ("interrupt", -1)

    cdef int heat_up(self) except -1:
        """Make scalar programs for the running loops where that is possible; the others are looked at again later."""
        cdef int k, index
        cdef LoopState *loop
        for k in range(self.s.depth):
            index = self.s.stack[k]
            loop = self.s.loops + index
            if loop.program != NULL and loop.program.generation == self.s.generation:
                continue
            free_program(loop.program)
            loop.program = make_program(&self.s, self.plan, index) if self.native else NULL
            if loop.program == NULL:
                loop.hot_at = 9 * loop.heat
        return 0

    cdef object at_boundary(self, int index):
        cdef LoopState *loop = self.s.loops + index
        cdef int why = self.s.why
        loop.reported = 1
        if why & 2:
            self.moment += 1
            self.on_boundary(index)
        if self.s.interrupt:
            self.s.interrupt = 0
            return ("interrupt", -1)
        return ("boundary", index) if why & 1 else None

    cdef object at_limit(self, int index):
        cdef LoopState *loop = self.s.loops + index
        if loop.i < loop.limit:
            node = self.plan.loops[index].loop
            raise LimitError(f"{node.describe()} has no trip count, and its condition cannot change: it would never end; "
                             f"give --max-iterations N (max_iterations=N) to run it")
        loop.reported = 1
        return ("limit", index)

    cdef int no_slice(self, int index) except -1:
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        for k in range(loop.nslices):
            if loop.slices[k].parts <= loop.i:
                sliced = self.plan.loops[index].slices[k].sliced
                raise ExecutionError(f"{self.at(index)}: the sliced input '{sliced.outer.name}' has only "
                                     f"{loop.slices[k].parts} parts; the loop wants part {loop.i}")
        return 0

    cdef int tick(self) except -1:
        """Look at signals; adapt how long run_plan may run. True: stop here."""
        PyErr_CheckSignals()
        t = time.monotonic()
        elapsed = max(t - self.tick_time, 1e-6)
        self.slice_budget = <int64_t>min(max(self.slice_budget * min(max(SLICE_SECONDS / elapsed, 0.1), 4.0), 1e4), 1e9)
        self.s.budget, self.tick_time = self.slice_budget, t
        if self.on_tick is not None:
            self.on_tick()
        if self.s.interrupt:
            # A boundary would have stopped by now, unless a body is long: then stop between its nodes.
            self.overdue += 1
            if self.overdue > 3:
                self.s.interrupt = 0
                return 1
        return 0

    # -- looking and changing, while stopped

    @property
    def hot_after(self):
        """Iterations after which a loop is worth a scalar program; -1: none is. Takes effect at the next start."""
        return self.s.hot_after

    @hot_after.setter
    def hot_after(self, int64_t iterations):
        self.s.hot_after = iterations

    @property
    def program_runs(self):
        """How often a scalar program was entered in this execution."""
        return self.s.program_runs

    @property
    def pc(self):
        """Position of the instruction that runs next."""
        return self.s.pc

    @property
    def stack(self):
        """Indices of the running loops, outermost first."""
        return [self.s.stack[k] for k in range(self.s.depth)]

    def taken(self, int pc):
        """Which branch the If at pc took last: True for then."""
        return bool(self.s.code[pc].taken)

    def is_native(self, int pc):
        """True while the node at pc is bound to kernels."""
        return self.s.code[pc].kind == NATIVE

    def value(self, int slot):
        """A copy of what a slot holds: an array, a list, or None. The caller knows whether it was computed."""
        value = self.look(slot)
        return value.copy() if isinstance(value, np.ndarray) else list(value) if isinstance(value, list) else value

    def is_known(self, int slot):
        """True where a slot's value follows from constants and shapes alone."""
        return self.known[slot] is not None

    def has_value(self, int slot):
        """False where a slot was never written."""
        return self.s.slots[slot].owner != NULL

    def set_value(self, int slot, value):
        """Overwrite a slot with a value of any shape."""
        self.store(slot, value)
        self.set_known(slot, None)

    def previous(self, int index, int k):
        """A copy of what back edge k carried into the iteration before; only at a boundary, after an iteration."""
        cdef Edge *e = self.s.loops[index].edges + k
        if e.identity:
            return self.value(e.param)
        if not e.in_spare:
            return self.value(e.result)
        if e.spare_spec == 0:
            return <object>e.spare_owner
        return (<object>e.spare_owner).copy()

    def was_swapped(self, int index, int k):
        """True where the last boundary moved back edge k by exchanging buffers (the result's slot holds the previous)."""
        cdef Edge *e = self.s.loops[index].edges + k
        return not e.in_spare and not e.identity

    def loop_state(self, int index):
        """(iteration, trip count or None, condition, reason it ended or None, active) of a loop."""
        cdef LoopState *loop = self.s.loops + index
        return (loop.i, None if loop.trip < 0 else loop.trip, bool(loop.keep), _REASONS[loop.ended], bool(loop.active))


    def parts(self, int index):
        """How many iterations the sliced inputs allow; None without sliced inputs."""
        return None if self.s.loops[index].parts < 0 else self.s.loops[index].parts

    def totals(self, int index):
        """(iterations, entries, {reason: entries that ended by it}, seconds) of the execution; seconds only for loops
        in the main graph, 0.0 for nested ones. The running entry counts."""
        cdef LoopState *loop = self.s.loops + index
        reasons = {_REASONS[k]: loop.by_reason[k] for k in range(1, 4) if loop.by_reason[k]}
        seconds = loop.seconds + (now() - loop.entered if loop.active and self.s.depth and
                                  self.s.stack[0] == index else 0)
        return loop.iterations + (loop.i if loop.active else 0), loop.entries, reasons, seconds


# ---------------------------------------------------------------------------------------------- helpers

def _one(declared):
    """The shape for a one-element body parameter: the rank that the body declares, scalar where it does not."""
    return (1,) if isinstance(declared, TensorType) and declared.shape is not None and len(declared.shape) == 1 else ()


def _room(temp):
    """Memory for a temp: a constant's own, or as many bytes. At least 8, which is what scalar programs read."""
    nbytes = temp.nbytes if isinstance(temp, np.ndarray) else temp
    if isinstance(temp, np.ndarray) and nbytes >= 8:
        return _aligned(temp)
    memory = np.zeros(max(nbytes, 8), np.uint8)
    if isinstance(temp, np.ndarray):
        memory[:nbytes] = np.frombuffer(temp.tobytes(), np.uint8)
    return memory


def _aligned(array):
    """The array itself where kernels can use its memory, else a copy."""
    if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative and type(array) is np.ndarray:
        return array
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True, subok=False).reshape(array.shape)


def _shapes(values):
    told = []
    for value in values:
        if isinstance(value, np.ndarray):
            told.append(f"{'string' if value.dtype.hasobject else value.dtype.name} {list(value.shape)}")
        elif isinstance(value, list):
            told.append(f"a sequence of {len(value)}")
        else:
            told.append("nothing" if value is None else type(value).__name__)
    return ", ".join(told)


def _shape_change(where, port, before, after):
    word = "stacked" if port.stack else "concatenated"
    before, after = (x if isinstance(x, str) else list(x) for x in (before, after))
    return (f"{where}: scan output '{port.outer.name}' got {after} from '{port.result.name}', after {before} in earlier "
            f"iterations; {word} elements must all have one shape and dtype")


def _empty_scan(port):
    """Zero elements: the declared dims of the element (0 where unknown), with the scan axis of length 0."""
    declared = port.result.type if isinstance(port.result.type, TensorType) else TensorType()
    dtype = declared.dtype
    if dtype is None:
        dtype = port.outer.type.dtype if isinstance(port.outer.type, TensorType) else None
    dims = [d if isinstance(d, int) else 0 for d in declared.shape or ()]
    if port.stack:
        axis = port.axis + len(dims) + 1 if port.axis < 0 else port.axis
        dims.insert(min(max(axis, 0), len(dims)), 0)
    elif dims:
        axis = port.axis + len(dims) if port.axis < 0 else port.axis
        dims[min(max(axis, 0), len(dims) - 1)] = 0
    else:
        dims = [0]
    return np.empty(dims, dtype if dtype is not None else np.float32)
