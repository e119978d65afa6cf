"""Nodes: bound to kernels at their first execution for the dtypes and shapes of their inputs; or run in Python."""

from cpython.object cimport PyObject
from libc.string cimport memcpy
cimport numpy as np
from numpy cimport npy_intp

from ...kernels.call cimport Call
from ...kernels.loop_nest cimport set_call
from .bound_node cimport run_bound_node
from .memory cimport Memory
from .arena cimport arena_free_tree, arena_grow, arena_alloc
from .backoff cimport MAX_CONSECUTIVE_BINDINGS, on_unbindable, on_inputs_changed, binding_is_due, on_python_run, on_binding_attempt, on_bound
from .state cimport *

cdef extern from "Python.h":
    PyObject *PyList_GET_ITEM(object, Py_ssize_t)   # borrowed

import contextvars

import numpy as np

from ...plan.operator_binder import bind
from ...plan.binding_result import KernelBinding, DynamicExtentBuffer, InputDescriptor, SequenceBuffer, SequenceInput
from ...errors import ExecutionError, LoopdbgError, one_line
from ...graph import MAIN
from ...kernels.memory_guard import refusal_text, install_guarded_allocator
from .memory import as_aligned, allocate_buffer, describe_values
from ...ops.eager import EagerPrimitives
from ...ops.primitive_types import NoNativeKernel
from ...ops.random_source import RandomSource
from ...ops.fixed_dimension_detection import violated_fixed_size
from ...plan.plan import Opcode

np.import_array()

_EAGER = EagerPrimitives()

#: Set by tests: a failure to bind other than NoNativeKernel, of an operator that runs, is reported as a bug.
strict_binding = False


cdef class NodeBinder:
    """Binds and runs the nodes of a plan. The optimizer's binder (optimized/optimizing_binder.pyx) extends it."""

    def __init__(self, Memory memory not None):
        self.memory, self.s, self.plan = memory, &memory.s, memory.plan
        self.keep = [None] * memory.ncode
        self.native_enabled = True
        self.constant_overrides = {}
        # A context with NumPy's warnings off: np.errstate takes 1.5 us a node, this 0.05.
        self.silent_context = contextvars.copy_context()
        self.silent_context.run(np.seterr, all="ignore")
        self.silent_context.run(install_guarded_allocator)
        self.load_code()

    def load_code(self):
        cdef Instr *ins
        cdef int k, j
        for k, instruction in enumerate(self.plan.code):
            ins = self.s.code + k
            ins.kind = <int>instruction.kind
            ins.loop, ins.target = instruction.loop, instruction.target
            ins.condition = instruction.inputs[0] if instruction.kind == Opcode.BRANCH else -1
            if instruction.kind == Opcode.NODE:
                for slot in self.dependency_slots(instruction):
                    if slot >= 0:
                        self.memory.consumers[slot].append(k)
                for slot in instruction.outputs:
                    self.memory.producers[slot] = k
            ins.nmoves = len(instruction.moves)
            if ins.nmoves:
                ins.moves = <SlotCopy *>arena_alloc(self.s.own, ins.nmoves, sizeof(SlotCopy))
                for j, (source, target) in enumerate(instruction.moves):
                    ins.moves[j].source, ins.moves[j].target = source, target
        self.memory.load_consumers()

    cdef set dependency_slots(self, object instruction):
        """Slots whose values a binding may depend on."""
        return set(instruction.inputs)

    cdef int set_edited(self, bint user_edited) except -1:
        """Set whether the user edited this execution."""
        self.s.user_edited = user_edited

    cdef int invalidate(self) except -1:
        """The execution jumped: regions drop their state."""
        cdef Region *r
        cdef int k
        for k in range(self.memory.ncode):
            r = self.s.code[k].region
            while r != NULL:
                r.invalidate(self.s, r)
                r = r.next

    cdef int materialize(self) except -1:
        """Write the values that regions omitted into their slots, as far as they are available."""
        cdef Region *r
        cdef int k
        for k in range(self.memory.ncode):
            r = self.s.code[k].region
            while r != NULL:
                if r.materialize != NULL:
                    r.materialize(self.s, r)
                r = r.next

    cdef int bind_node(self, int pc) except -1:
        """Bind the node at pc for its present inputs. 0: it has to run in Python."""
        instruction = self.plan.code[pc]
        inputs = self.input_descriptors(instruction)
        if inputs is None:
            return 0
        bound = bind(instruction.op, inputs)
        if any([isinstance(out, DynamicExtentBuffer) for out in bound.outputs]) or not self.allocate_results(instruction, bound):
            return 0
        try:
            self.install_binding(pc, instruction, bound)
        except BaseException:
            self.unbind(pc)     # the binding may be incomplete for lack of memory
            raise
        return 1

    cdef list input_descriptors(self, object instruction):
        """Descriptors of a node's inputs, for binding; None: it has to run in Python."""
        cdef int slot
        if not instruction.op.native:
            return None
        inputs = []
        for slot in instruction.inputs:
            if slot >= 0 and self.s.slots[slot].spec == 0 and \
                    not (instruction.op.sequences and self.memory.is_sequence(slot)):
                return None
            inputs.append(None if slot < 0 else self.input(slot))
        return inputs

    cdef int allocate_results(self, object instruction, object bound) except -1:
        """Memory for the results of a bound node; 0: run it in Python, which also reports what is wrong."""
        if len(bound.outputs) < len(instruction.outputs):
            return 0
        for slot, out in zip(instruction.outputs, bound.outputs):
            if isinstance(out, SequenceBuffer):
                if slot < 0:
                    return 0
                self.memory.ensure_sequence(slot)
            if slot < 0 or isinstance(out, SequenceBuffer):
                continue
            if out.known is not None and out.dtype.hasobject:
                return 0
            if out.known is None and not isinstance(out, DynamicExtentBuffer):
                self.memory.own(slot, self.memory.spec(out.dtype, out.shape, getattr(out, "capacity", None)))
            self.memory.set_known(slot, out.known)
            if out.known is not None:
                self.memory.store_known_value(slot)
        return 1

    cdef object input(self, int slot):
        """Descriptor of a slot that holds a tensor or a sequence."""
        if self.s.slots[slot].spec == 0:
            return SequenceInput(slot, None, (), None, lambda: self.memory.look(slot))
        dtype, shape = self.memory.specs.kind(self.s.slots[slot].spec)
        return InputDescriptor(slot, dtype, shape, self.memory.known[slot], lambda: self.memory.look(slot).copy(),
                     capacity=self.memory.specs.capacity(self.s.slots[slot].spec))

    cdef int add_instruction(self) except -1:
        """Append an instruction that the plan does not have; returns its position."""
        cdef int pc = self.memory.ncode
        self.s.code = <Instr *>arena_grow(self.s.own, self.s.code, pc, pc + 1, sizeof(Instr))
        self.keep.append(None)
        self.memory.ncode = pc + 1
        return pc

    cdef int unbind(self, int pc) except -1:
        """Drop the binding at pc; it is bound again at its next execution."""
        self.release_binding(pc)
        self.keep[pc] = None
        self.s.code[pc].kind = UNBOUND

    cdef int release_binding(self, int pc) except -1:
        """Free the present binding of a node."""
        cdef Instr *ins = self.s.code + pc
        arena_free_tree(ins.calls)
        ins.calls, ins.guards, ins.cells, ins.outer = NULL, NULL, NULL, NULL
        ins.ncalls = ins.nguards = ins.follows = 0

    cdef int install_binding(self, int pc, object instruction, object bound, int around=0) except -1:
        """Convert a KernelBinding to C. ``around``: number of extra calls before its own, and after them."""
        cdef Instr *ins = self.s.code + pc
        cdef Call *call
        cdef int k, j, rows = 0
        self.s.generation += 1
        self.release_binding(pc)
        ins.ncalls = len(bound.calls) + 2 * around
        ins.calls = <Call *>arena_alloc(self.s.own, ins.ncalls, sizeof(Call))
        ins.cells = <char **>arena_alloc(ins.calls, len(bound.temps), sizeof(char *))
        ins.guards = <InputGuard *>arena_alloc(ins.calls, len(bound.guards), sizeof(InputGuard))
        for spec in bound.calls:
            rows += len(spec.outer) * (1 + len(spec.buffers))
        ins.outer = <npy_intp *>arena_alloc(ins.calls, rows, sizeof(npy_intp))
        slot_of_temp = slot_by_temp(instruction, bound)
        arrays = []
        for k, temp in enumerate(bound.temps):
            if k not in slot_of_temp:
                array = temp_memory(temp)
                arrays.append(array)
                ins.cells[k] = np.PyArray_BYTES(array)
        self.keep[pc] = arrays
        rows = 0
        for k, spec in enumerate(bound.calls):
            call = ins.calls + around + k
            for j, buffer in enumerate(spec.buffers):
                call.offset[j] = buffer.offset
                if isinstance(buffer, SequenceBuffer):
                    slot = buffer.index if buffer.kind == "slot" else slot_of_temp[buffer.index]
                    call.cell[j] = <char **>&self.s.slots[<int>slot].owner
                elif buffer.kind == "slot":
                    call.cell[j] = &self.s.slots[<int>buffer.index].data
                elif buffer.index in slot_of_temp:
                    call.cell[j] = &self.s.slots[<int>slot_of_temp[buffer.index]].data
                else:
                    call.cell[j] = &ins.cells[<int>buffer.index]
            rows += set_call(call, spec, ins.outer + rows)
        for k, (position, expected) in enumerate(bound.guards.items()):
            expected = np.ascontiguousarray(expected)
            ins.guards[k].slot = instruction.inputs[position]
            ins.guards[k].nbytes = expected.nbytes
            ins.guards[k].expected = <char *>arena_alloc(ins.calls, expected.nbytes, 1)
            memcpy(ins.guards[k].expected, np.PyArray_BYTES(expected), expected.nbytes)
        ins.nguards = len(bound.guards)
        ins.cost = bound.cost
        ins.kind = NATIVE
        ins.binding = self.s.generation

    cdef int run_node(self, int pc) except -1:
        """Run the node at pc, bound if possible, and advance."""
        cdef Instr *ins = self.s.code + pc
        cdef bint was_native
        instruction = self.plan.code[pc]
        binding_error = None
        was_native = ins.kind == NATIVE
        if self.run_cached_binding(pc):
            self.s.pc = pc + 1
            return 0
        if was_native:
            on_inputs_changed(&ins.again)     # a guard or the kernel's own check failed
        ins.kind = UNBOUND
        if self.constant_overrides and instruction.outputs and instruction.outputs[0] in self.constant_overrides:
            self.replace_constant(pc, instruction.outputs[0])
            self.s.pc = pc + 1
            return 0
        if self.native_enabled and binding_is_due(&ins.again):
            on_binding_attempt(&ins.again)
            try:
                if self.bind_node(pc):
                    on_bound(&ins.again, self.is_reusable_binding(pc))
                    if call_native(self.s, ins):
                        self.s.pc = pc + 1
                        return 0
                else:
                    on_unbindable(&ins.again)
            except NoNativeKernel:
                on_unbindable(&ins.again)
                ins.again.bound += 1
            except Exception as error:
                binding_error = error
                ins.again.bound = MAX_CONSECUTIVE_BINDINGS
        on_python_run(&ins.again)
        self.on_python_fallback(pc)
        ins.kind = UNBOUND
        self.run_in_python(pc, instruction)
        if binding_error is not None and strict_binding:
            raise binding_error
        self.s.pc = pc + 1

    cdef int run_cached_binding(self, int pc) except -1:
        """Run a node with an earlier binding if that fits its inputs; 0: none does."""

    cdef int on_python_fallback(self, int pc) except -1:
        """Called before a node runs in Python because its binding does not fit."""

    cdef int is_reusable_binding(self, int pc) except -1:
        """Does the node's binding serve many shapes?"""

    cdef int replace_constant(self, int pc, int slot) except -1:
        """Store the user's value for a constant in its slot, and keep it there."""
        value = self.constant_overrides[slot]
        self.memory.store(slot, value)
        if self.s.slots[slot].spec and self.native_enabled:
            self.s.slots[slot].flags |= FOLDED
            self.memory.set_known(slot, value)
            self.install_binding(pc, self.plan.code[pc], KernelBinding([], [], [], {}, 1))
        else:
            self.memory.set_known(slot, None)

    cdef int run_in_python(self, int pc, object instruction) except -1:
        cdef int slot
        arguments = []
        for slot in instruction.inputs:
            if slot < 0:
                arguments.append(None)
            elif self.s.slots[slot].spec:
                # NumPy sums in another order where elements are not contiguous.
                arguments.append(as_contiguous(self.memory.tensor(self.s.slots[slot].data, self.s.slots[slot].spec)))
            else:
                arguments.append(self.memory.look(slot))
        try:
            if instruction.op.random:
                results = self.silent_context.run(self.run_seeded_operator, pc, instruction, arguments)
            else:
                results = self.silent_context.run(instruction.op.function, _EAGER, *arguments, **instruction.op.keywords)
                if not isinstance(results, tuple):
                    results = (results,)
        except LoopdbgError as error:
            message = f"{self.memory.describe_node(pc)}: {error.what}{self.fixed_size_hint(instruction, arguments)}"
            raise ExecutionError(message, error.remedy, **{**error.fields, **self.memory.node_fields(pc)}) from error
        except Exception as error:
            cause = one_line(error) + (refusal_text() if isinstance(error, MemoryError) else "")
            hint = self.fixed_size_hint(instruction, arguments)
            raise self.memory.node_error(pc, f"{cause} (inputs: {describe_values(arguments)}){hint}") from error
        if any(slot >= 0 for slot in instruction.outputs[len(results):]):
            outputs, available = len(instruction.outputs), len(results)
            raise self.memory.node_error(pc, f"it has {outputs} outputs, but the operator gives only {available}",
                                         expected=f"{outputs} outputs", got=str(available))
        try:
            for slot, result in zip(instruction.outputs, results):
                if slot < 0:
                    continue
                if isinstance(result, list):
                    result = detach_elements(result, arguments)
                self.memory.store(slot, result)
                self.memory.set_known(slot, None)
        except MemoryError as error:
            raise self.memory.node_error(pc, f"{one_line(error)}{refusal_text()}") from error

    def fixed_size_hint(self, instruction, arguments):
        """The end of an error message where a constant in the file excludes the shapes of a node's inputs."""
        shapes = [x.shape if isinstance(x, np.ndarray) else None for x in arguments]
        fixed = violated_fixed_size(self.plan.graph, instruction.node, shapes)
        return "" if fixed is None else f"; {fixed}"

    def run_seeded_operator(self, int pc, instruction, arguments):
        """Run an operator that draws random numbers, seeded by node and iterations: running again gives the same."""
        cdef int index = instruction.inside
        path = self.plan.loops[index].path if index >= 0 else MAIN
        iterations = []
        while index >= 0:
            iterations.append(self.s.loops[index].i)
            index = self.plan.loops[index].parent
        node = instruction.node
        name = "/".join([path, node.name, *(value.name for value in node.outputs[:1] if value is not None)])
        return instruction.op.apply(_EAGER, arguments, draws=RandomSource(name, tuple(iterations[::-1]), self.seed))

    def is_native(self, int pc):
        """True while the node at pc is bound to kernels."""
        return self.s.code[pc].kind == NATIVE


cdef int call_native(ExecutionState *s, Instr *ins) except -1:
    """Run a bound node; 0: its guards or calls failed."""
    cdef int failed
    with nogil:
        failed = run_bound_node(s, ins)
    return not failed


cdef object as_contiguous(np.ndarray array):
    return array if np.PyArray_ISCARRAY_RO(array) else array.copy()


cdef list detach_elements(list result, list arguments):
    """A sequence without elements in engine memory, which is overwritten. Optimized for long sequences: it runs at each
    insertion."""
    cdef int k
    cdef Py_ssize_t j
    cdef PyObject *element
    cdef list arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    cdef list copied = None
    for j in range(len(result)):
        element = PyList_GET_ITEM(result, j)
        if not np.PyArray_Check(<object>element):
            continue
        foreign = np.PyArray_BASE(<object>element) != NULL
        for k in range(len(arrays)):
            foreign = foreign or element == <PyObject *>arrays[k]
        if foreign:
            if copied is None:
                copied = list(result)
            copied[j] = (<object>element).copy()
    if copied is not None:
        return copied
    # Operators may return their argument.
    return list(result) if any([result is a for a in arguments]) else result


def slot_by_temp(instruction, bound):
    """Temp -> slot: a temp that is a result is the slot's own buffer."""
    return {out.index: slot for slot, out in zip(instruction.outputs, bound.outputs)
            if slot >= 0 and out.kind == "temp" and out.known is None}


def temp_memory(temp):
    """Memory for a temp: the constant's own, or that many bytes. At least 8, the size that scalar programs read."""
    nbytes = temp.nbytes if isinstance(temp, np.ndarray) else temp
    if isinstance(temp, np.ndarray) and nbytes >= 8:
        return as_aligned(temp)
    memory = allocate_buffer(max(nbytes, 8))
    memory[:] = 0
    if isinstance(temp, np.ndarray):
        memory[:nbytes] = np.frombuffer(temp.tobytes(), np.uint8)
    return memory
