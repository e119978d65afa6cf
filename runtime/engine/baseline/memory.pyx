"""The engine's memory: slots, the specs (dtype and shape) of their values, and their readers.

A slot whose spec changes unbinds its consumers, which are bound again at their next execution, except those that follow
the change: loops whose shapes change need no special handling.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_REFCNT, Py_XDECREF
from libc.string cimport memcpy
cimport numpy as np
from numpy cimport npy_intp

from .arena cimport arena_free_tree, arena_alloc
from ...kernels.memory_guard cimport reserve_bytes
from ...kernels.bindings.sequences cimport SequenceValue, make_sequence
from .spec_table cimport SpecTable, spec_of
from .state cimport *

import numpy as np

from ...errors import ExecutionError
from ...graph import node_in_file
from ...kernels.memory_guard import refusal_text
from ...plan.binding_result import shape_with_capacity
from ...text import size_text

cdef extern from "mapped_memory.h" nogil:
    char *map_memory(size_t nbytes)
    char *remap_memory(char *memory, size_t nbytes, size_t new_nbytes)
    char *reserve_address_space(size_t nbytes)
    int commit_memory(char *memory, size_t nbytes)
    void unmap_memory(char *memory, size_t nbytes)

cdef extern from "numpy/arrayobject.h":
    # Steals the reference to the dtype.
    object new_array "PyArray_NewFromDescr"(void *type, void *dtype, int rank, const npy_intp *dims,
                                            const npy_intp *strides, void *data, int flags, PyObject *like)

np.import_array()

# Buffers of at least this size are aligned to cache lines. Vectors that straddle two lines slow a loop by up to 6 %;
# for smaller buffers the alignment costs more than it gains.
cdef Py_ssize_t ALIGN_MIN_BYTES = 1 << 10
cdef Py_ssize_t CACHE_LINE_BYTES = 64
# Known arrays of at least this size are borrowed, not copied into their slot.
cdef Py_ssize_t BORROW_MIN_BYTES = 1 << 12
#: Larger buffers that grow have a mapping of their own. Malloc reuses smaller ones, and new pages cost more than a copy.
min_mapped_bytes = KEPT_ARRAY_MAX_BYTES
# Address space that is reserved for a buffer that grows in front, and the unit in which it gets memory.
cdef Py_ssize_t RESERVED_BYTES = 1 << 36
cdef Py_ssize_t COMMIT_BYTES = 1 << 21


cdef class Mapping:
    """Memory of its own, which grows without being copied. Exactly one array of bytes shows it; of memory that grows in
    front, any array shows what it had then, from ``first`` on."""

    cdef char *data
    cdef Py_ssize_t nbytes
    cdef char *first
    cdef bint grows_in_front

    def __dealloc__(self):
        if self.data != NULL:
            unmap_memory(self.data, self.nbytes)


cdef class Memory:
    """The slots of one execution. ``known`` values follow from constants and shapes alone."""

    def __cinit__(self, plan):
        self.plan = plan
        self.nslots, self.ncode, self.nloops = len(plan.slots), len(plan.code), len(plan.loops)
        # Behind the plan's slots, for each loop: previous values of its back edges, iteration, condition, trip count.
        self.s.nslots = self.nslots + sum(len(p.edges) + 3 for p in plan.loops)
        self.s.own = arena_alloc(NULL, 0, 1)
        self.s.slots = <Slot *>arena_alloc(self.s.own, self.s.nslots, sizeof(Slot))
        self.s.code = <Instr *>arena_alloc(self.s.own, self.ncode, sizeof(Instr))
        self.s.loops = <LoopState *>arena_alloc(self.s.own, self.nloops, sizeof(LoopState))
        self.s.stack = <int *>arena_alloc(self.s.own, self.nloops, sizeof(int))
        widest = max((len(p.edges) for p in plan.loops), default=0)
        self.s.carried = <char **>arena_alloc(self.s.own, widest, sizeof(char *))
        self.s.readers = <int *>arena_alloc(self.s.own, self.s.nslots, sizeof(int))
        self.s.writer = <int *>arena_alloc(self.s.own, self.s.nslots, sizeof(int))
        self.specs = SpecTable()
        self.known = [None] * self.s.nslots
        self.consumers = [[] for _ in range(self.s.nslots)]
        self.producers, self.aliases = {}, {}

    def __dealloc__(self):
        cdef int k, j
        if self.s.loops != NULL:
            for k in range(self.nloops):
                for j in range(self.s.loops[k].nedges):
                    Py_XDECREF(self.s.loops[k].edges[j].back.owner)
        if self.s.slots != NULL:
            for k in range(self.nslots):
                Py_XDECREF(self.s.slots[k].owner)
        arena_free_tree(self.s.own)

    cdef int load_consumers(self) except -1:
        """Copy the readers and the writer of each slot to C arrays."""
        cdef int k, n = 0
        arena_free_tree(self.s.reader)
        self.s.reader = NULL
        self.s.reader = <int *>arena_alloc(self.s.own, sum(map(len, self.consumers)), sizeof(int))
        for k in range(self.s.nslots):
            self.s.readers[k] = n
            for pc in self.consumers[k]:
                self.s.reader[n] = pc
                n += 1
            self.s.writer[k] = self.producers.get(k, -1)
        self.s.readers[self.s.nslots] = n

    cdef int spec(self, dtype, tuple shape, object capacity=None) except -1:
        """The spec of a value; ``capacity``: as in ``SpecTable.capacity``."""
        if capacity is None:
            return self.specs.find_or_add(dtype, shape)
        return spec_of(self.specs.family(dtype, shape, capacity[0], capacity[1]), shape[capacity[0]])

    cdef int put_owner(self, int k, object owner, int spec, int flags) except -1:
        """Give a slot its value: an array, or with spec 0 any other object."""
        return self.put_buffer(k, owner, spec, np.PyArray_NBYTES(owner) if spec else 0, flags)

    cdef int put_buffer(self, int k, object owner, int spec, Py_ssize_t nbytes, int flags) except -1:
        """Give a slot a buffer, which may be larger than its value; consumers of a changed spec are unbound."""
        cdef Slot *slot = self.s.slots + k
        cdef int changed = slot.spec != spec
        cdef Py_ssize_t old_nbytes = slot.nbytes
        Py_INCREF(owner)
        Py_XDECREF(slot.owner)
        slot.owner = <PyObject *>owner
        slot.spec, slot.flags = spec, flags
        slot.data, slot.nbytes = np.PyArray_BYTES(owner) if spec else NULL, nbytes
        slot.capacity = np.PyArray_NBYTES(owner) if spec and flags & OWN else 0
        if changed:
            on_spec_changed(&self.s, k, min(old_nbytes, nbytes))

    cdef int put_input(self, int k, object value) except -1:
        """Let a slot show an input, without a copy where kernels can read it directly."""
        cdef Slot *slot = self.s.slots + k
        if not isinstance(value, np.ndarray) or value.dtype.hasobject:
            return self.store(k, value)
        if not np.PyArray_ISCARRAY_RO(value):
            value = as_aligned(value)
        if slot.spec and not slot.flags and same_dtype_and_shape(<object>slot.owner, value):
            return self.put_owner(k, value, slot.spec, 0)
        return self.put_owner(k, value, self.spec(value.dtype, value.shape), 0)

    cdef int unbind_consumers(self, int k) except -1:
        self.s.generation += 1
        cdef Region *r
        for pc in self.consumers[k]:
            unbind_node(self.s.code + <int>pc)
            r = self.s.code[<int>pc].region
            while r != NULL:
                r.stale = 1
                r = r.next

    cdef int unbind_producer(self, int k) except -1:
        """Unbind the node that writes a slot: the terms of its binding changed, or the slot was folded."""
        if k in self.producers:
            self.s.generation += 1
            unbind_node(self.s.code + <int>self.producers[k])

    cdef int set_known(self, int k, object array) except -1:
        """Set the known value of a slot (None: it is computed); a change unbinds its readers."""
        previous = self.known[k]
        if previous is None and array is None:
            return 0
        if previous is not None and array is not None and previous.shape == array.shape and \
                previous.dtype == array.dtype and previous.tobytes() == array.tobytes():
            return 0
        self.known[k] = array
        return self.unbind_consumers(k)

    cdef int own(self, int k, int spec) except -1:
        """Give a slot its own buffer for a spec."""
        cdef Slot *slot = self.s.slots + k
        if slot.spec == spec and slot.flags & OWN and not slot.flags & SHARED:
            slot.flags = OWN
            return 0
        dtype, shape = self.specs.kind(spec)
        nbytes = self.specs.nbytes(spec)
        if self.specs.capacity(spec) is not None:
            return self.put_buffer(k, allocate_or_raise(nbytes, lambda: self.describe_value(k)), spec, nbytes, OWN)
        if nbytes < ALIGN_MIN_BYTES:
            return self.put_owner(k, np.empty(shape, dtype), spec, OWN)
        return self.put_owner(k, allocate_or_raise(nbytes, lambda: self.describe_value(k)).view(dtype).reshape(shape), spec, OWN)

    def extend_buffer(self, int k, Py_ssize_t nbytes):
        """Enlarge the buffer of a slot, which others may have too, without copying it; False: impossible."""
        cdef PyObject *owner = self.s.slots[k].owner
        cdef Py_ssize_t in_front, references = 0
        cdef char *data
        cdef Slot *slot
        cdef int j
        array = <object>owner
        if not is_mapped(array):
            return False
        data = np.PyArray_BYTES(array)
        nbytes += bytes_in_front(self.s.slots + k)
        for j in range(self.s.nslots):
            slot = self.s.slots + j
            references += slot.owner == owner
            if slot.owner != owner and slot.data != NULL and 0 <= slot.data - data < np.PyArray_NBYTES(array):
                return False
        extended = resize_mapped(array, nbytes + nbytes // 2, references)
        if extended is None:
            extended = resize_mapped(array, nbytes, references)
        if extended is None:
            return False
        for j in range(self.s.nslots):
            slot = self.s.slots + j
            if slot.owner == owner:
                in_front = slot.data - data
                slot.data = np.PyArray_BYTES(extended) + in_front
                slot.capacity = np.PyArray_NBYTES(extended) - in_front if slot.capacity else 0
                self.replace_owner(slot, extended)
        return True

    def extend_buffer_in_front(self, int k, Py_ssize_t nbytes):
        """As ``extend_buffer``, by ``nbytes`` in front of a value in reserved address space. Nothing moves: slots that
        have the buffer, too, keep theirs."""
        cdef Py_ssize_t spare = self.s.slots[k].nbytes // 2
        array = <object>self.s.slots[k].owner
        if not is_mapped(array) or not (<Mapping>np.PyArray_BASE(array)).grows_in_front:
            return False
        extended = commit_in_front(<Mapping>np.PyArray_BASE(array), max(nbytes, spare))
        if extended is None:
            extended = commit_in_front(<Mapping>np.PyArray_BASE(array), nbytes)
        if extended is None:
            return False
        self.replace_owner(self.s.slots + k, extended)
        return True

    cdef int replace_owner(self, Slot *slot, object owner) except -1:
        Py_INCREF(owner)
        Py_XDECREF(slot.owner)
        slot.owner = <PyObject *>owner

    cdef int put_value(self, int k, object owner, int spec, Py_ssize_t nbytes, char *data, int flags) except -1:
        """As ``put_buffer``, for a value at ``data`` without spare capacity."""
        self.put_buffer(k, owner, spec, nbytes, flags)
        self.s.slots[k].data, self.s.slots[k].capacity = data, nbytes

    cdef bint move_buffer(self, int source, int target) except -1:
        """Give ``target`` the buffer of a large grown value instead of a copy. The slots that shared the buffer still
        show it, but do not own it any more."""
        cdef Slot *slot = self.s.slots + source
        cdef PyObject *owner = slot.owner
        cdef int j
        if slot.flags != OWN | SHARED or slot.spec == 0 or slot.nbytes <= min_mapped_bytes or \
                self.specs.capacity(slot.spec) is not None:
            return False
        self.put_value(target, <object>owner, slot.spec, slot.nbytes, slot.data, OWN)
        for j in range(self.s.nslots):
            if self.s.slots[j].owner == owner and j != target:
                self.s.slots[j].flags = 0
        return True

    def describe_value(self, int k, prefix=""):
        """Describe a slot's value for a message, after ``prefix``."""
        if k in self.producers:
            return f"{self.describe_node(self.producers[k])}: {prefix}its result"
        return f"{prefix}'{self.plan.slots[k].name}'"

    cdef int set_constant(self, int k, object array) except -1:
        if array.dtype.hasobject:
            return self.put_owner(k, array, 0, 0)
        array = as_aligned(array)
        self.put_owner(k, array, self.spec(array.dtype, array.shape), FOLDED)
        self.known[k] = array

    cdef int store_known_value(self, int k) except -1:
        """Store the known value of a slot; large arrays are borrowed, since they are never written."""
        array = self.known[k]
        if array.nbytes < BORROW_MIN_BYTES or not np.PyArray_ISCARRAY_RO(array):
            self.store(k, array)
            self.s.slots[k].flags |= FOLDED
            return 0
        return self.put_owner(k, array, self.spec(array.dtype, array.shape), FOLDED)

    cdef int store(self, int k, object value) except -1:
        """Copy a value into a slot: tensors into the slot's own buffer, other values by reference."""
        if isinstance(value, np.generic):
            value = np.asarray(value)
        elif isinstance(value, str):
            value = np.array(value, object)     # a 0-d string tensor, as NumPy returns it
        elif isinstance(value, list):
            value = make_sequence(value)
        if not isinstance(value, np.ndarray) or value.dtype.hasobject:
            return self.put_owner(k, value, 0, 0)
        if not value.dtype.isnative:
            value = value.astype(value.dtype.newbyteorder("="))
        self.own(k, self.spec(value.dtype, value.shape))
        if np.PyArray_IS_C_CONTIGUOUS(value):
            memcpy(self.s.slots[k].data, np.PyArray_BYTES(value), np.PyArray_NBYTES(value))
        else:
            np.copyto(self.look(k), value)

    cdef int forward_value(self, int source, int target) except -1:
        """Copy the value of a slot into another; immutable values are shared."""
        cdef Slot *slot = self.s.slots + source
        if slot.spec == 0 and slot.owner != NULL:
            return self.put_owner(target, <object>slot.owner, 0, 0)
        return self.store(target, self.look(source))

    cdef bint is_sequence(self, int k):
        cdef Slot *slot = self.s.slots + k
        return slot.owner != NULL and type(<object>slot.owner) is SequenceValue

    cdef int ensure_sequence(self, int k) except -1:
        """Put a sequence into a slot, for a call to fill."""
        return 0 if self.s.slots[k].spec == 0 and self.is_sequence(k) else self.put_owner(k, make_sequence([]), 0, 0)

    cdef object tensor(self, char *data, int spec):
        """An array over memory, valid only until the engine resumes."""
        dtype, shape = self.specs.kind(spec)
        capacity = self.specs.capacity(spec)
        if capacity is None:
            return self.array_of(dtype, shape, data)
        axis = capacity[0]
        padded = self.array_of(dtype, shape_with_capacity(shape, capacity), data)
        return padded[(slice(None),) * axis + (slice(0, shape[axis]),)]

    cdef object array_of(self, object dtype, tuple shape, char *data):
        """An array over memory; with its own memory where that is NULL."""
        cdef npy_intp dims[64]
        cdef npy_intp n = 1
        cdef int k
        for k in range(<int>len(shape)):
            dims[k] = shape[k]
            n *= dims[k]
        if n == 0:
            data = NULL
        Py_INCREF(dtype)
        return new_array(<void *>np.ndarray, <void *>dtype, <int>len(shape), dims, NULL, data,
                         0 if data == NULL else np.NPY_ARRAY_CARRAY, NULL)

    cdef object look(self, int k):
        """A slot's value without copying, valid until the engine resumes."""
        cdef Slot *slot = self.s.slots + k
        if slot.spec == 0:
            return python_value(slot.owner)
        if self.specs.capacity(slot.spec) is not None:
            return self.tensor(slot.data, slot.spec)
        if slot.owner != NULL and np.PyArray_BYTES(<object>slot.owner) == slot.data:
            owner = <object>slot.owner
            dtype, shape = self.specs.kind(slot.spec)
            if owner.shape == shape and owner.dtype == dtype:
                return owner
            if slot.flags & OWN and slot.nbytes:
                return owner.reshape(-1).view(np.uint8)[:slot.nbytes].view(dtype).reshape(shape)
        elif k in self.aliases:
            source, offset = self.aliases[k]
            if slot.data == self.s.slots[<int>source].data + <npy_intp>offset:
                # The view keeps the memory alive.
                dtype, shape = self.specs.kind(slot.spec)
                array = self.look(source).reshape(-1).view(np.uint8)[offset:offset + slot.nbytes]
                return array.view(dtype).reshape(shape)
        return self.tensor(slot.data, slot.spec)

    cpdef object value(self, int slot):
        """A copy of a slot's value: an array, a list, or None. The caller knows whether it was computed."""
        cdef Slot *source = self.s.slots + slot
        if source.spec == 0:
            return self.copied_value(self.look(slot))
        dtype, shape = self.specs.kind(source.spec)
        if source.nbytes >= ALIGN_MIN_BYTES and not reserve_bytes(source.nbytes):
            raise ExecutionError(f"{self.describe_value(slot, 'a copy of ')} {out_of_memory_text(source.nbytes)}")
        array = self.array_of(dtype, shape, NULL)
        if self.specs.capacity(source.spec) is not None:
            np.copyto(array, self.look(slot))
        elif source.nbytes:
            memcpy(np.PyArray_BYTES(array), source.data, source.nbytes)
        return array

    cdef object value_reusing_array(self, int slot, object previous):
        """As ``value``, but written into ``previous``, the array of an earlier value, if only the caller refers to it
        and dtype and shape match."""
        cdef Slot *source = self.s.slots + slot
        if source.spec == 0 or Py_REFCNT(previous) > 1 or not np.PyArray_ISCARRAY(previous) or \
                self.specs.capacity(source.spec) is not None or \
                self.specs.kind(source.spec) != (previous.dtype, previous.shape):
            return self.value(slot)
        memcpy(np.PyArray_BYTES(previous), source.data, source.nbytes)
        return previous

    def peek(self, int slot):
        """A slot's value, not copied: valid until the engine resumes, read-only."""
        return read_only_view(self.look(slot))

    cdef object copied_value(self, object value):
        return value.copy() if isinstance(value, np.ndarray) else list(value) if isinstance(value, list) else value

    def is_known(self, int slot):
        """True where a slot's value follows from constants and shapes alone."""
        return self.known[slot] is not None

    def has_value(self, int slot):
        """False where a slot was never written."""
        return self.s.slots[slot].owner != NULL

    def dtype_and_shape(self, int slot):
        """Dtype and shape of the tensor in a slot; None: it holds none."""
        cdef Slot *source = self.s.slots + slot
        return self.specs.kind(source.spec) if source.spec and source.owner != NULL else None

    def capacity(self, int slot):
        """The axis along which a slot's buffer has spare capacity, and its extent; None: the tensor is contiguous."""
        return self.specs.capacity(self.s.slots[slot].spec)

    def describe_node(self, int pc):
        """``Add 'h' (opset 13) in 'rnn', iteration 7``."""
        instruction = self.plan.code[pc]
        text = node_in_file(self.plan.graph, instruction.node).describe()
        return f"{text} in {self.describe_loop(instruction.inside)}" if instruction.inside >= 0 else text

    def describe_loop(self, int index):
        """``loop 'rnn', iteration 7``."""
        return f"loop '{self.plan.loops[index].loop.name}', iteration {self.s.loops[index].i}"

    def node_fields(self, int pc):
        """The fields of an error at a node: what ``describe_node`` says."""
        instruction = self.plan.code[pc]
        node = node_in_file(self.plan.graph, instruction.node)
        fields = self.loop_fields(instruction.inside) if instruction.inside >= 0 else {}
        return {**fields, "node": node.name, "op_type": node.op_type}

    def loop_fields(self, int index):
        """The fields of an error in an iteration: what ``describe_loop`` says."""
        return {"loop": self.plan.loops[index].loop.name, "iteration": self.s.loops[index].i}

    def node_error(self, int pc, str problem, **fields):
        """The error of a node, with its location in the message and the fields."""
        return ExecutionError(f"{self.describe_node(pc)}: {problem}", **self.node_fields(pc), **fields)

    def loop_error(self, int index, str problem, **fields):
        """The error of a loop's boundary, with its location in the message and the fields."""
        return ExecutionError(f"{self.describe_loop(index)}: {problem}", **self.loop_fields(index), **fields)


cdef bint same_dtype_and_shape(np.ndarray a, np.ndarray b):
    """Have two arrays the same dtype and shape?"""
    return np.PyArray_DESCR(a) == np.PyArray_DESCR(b) and np.PyArray_SAMESHAPE(a, b)


def match_inputs(list fitted, inputs):
    """Arrays by slot if exactly the inputs in ``fitted`` (name, slot, dtype, shape) are given; else None."""
    cdef int d
    cdef tuple shape
    cdef np.ndarray array
    if len(fitted) != len(inputs):
        return None
    checked = {}
    for name, slot, dtype, shape in fitted:
        value = inputs.get(name)
        if type(value) is not np.ndarray:
            return None
        array = value
        if np.PyArray_DESCR(array) != <np.PyArray_Descr *>dtype or np.PyArray_NDIM(array) != len(shape):
            return None
        for d in range(<int>len(shape)):
            if np.PyArray_DIM(array, d) != <npy_intp>shape[d]:
                return None
        checked[slot] = array
    return checked


cdef object python_value(PyObject *owner):
    """The Python value of a slot that holds no numeric tensor; a sequence becomes a new list."""
    if owner != NULL and type(<object>owner) is SequenceValue:
        return (<SequenceValue>owner).items[:(<SequenceValue>owner).count]
    return <object>owner if owner != NULL else None


def read_only_view(value):
    """A read-only view of an array; other values unchanged."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def allocate_buffer(Py_ssize_t nbytes):
    """A uint8 array of ``nbytes`` (at least 1), aligned to a cache line if it is large.

    Raises:
        MemoryError: not enough memory.
    """
    if nbytes < ALIGN_MIN_BYTES:
        return np.empty(max(nbytes, 1), np.uint8)
    try:
        if not reserve_bytes(nbytes):
            raise MemoryError
        memory = np.empty(nbytes + CACHE_LINE_BYTES, np.uint8)
    except MemoryError:
        raise MemoryError(out_of_memory_text(nbytes)) from None
    cdef Py_ssize_t first = -<size_t>np.PyArray_BYTES(memory) % CACHE_LINE_BYTES
    return memory[first:first + nbytes]


def out_of_memory_text(nbytes):
    """The end of an out-of-memory message."""
    return f"needs {size_text(nbytes)}{refusal_text() or ', which the system does not give'}"


def allocate_or_raise(nbytes, describe):
    """As ``allocate_buffer``. ``describe()`` names the purpose, for the error message.

    Raises:
        ExecutionError: not enough memory.
    """
    try:
        return allocate_buffer(nbytes)
    except (MemoryError, OverflowError) as error:
        reason = error if isinstance(error, MemoryError) else out_of_memory_text(nbytes)
        raise ExecutionError(f"{describe()} {reason}; run fewer iterations, or smaller tensors") from None


def allocate_growable(nbytes, describe, in_front=False):
    """As ``allocate_or_raise``, for a value that grows: with half as much spare capacity if possible, which amortizes
    copying. A large one can be extended (``resize_mapped``, or ``commit_in_front``)."""
    capacity = nbytes + max(nbytes // 2, 256)
    mapped = allocate_reserved(capacity) if in_front else None
    if mapped is None:
        mapped = allocate_mapped(capacity)
    if mapped is not None:
        return mapped
    try:
        return allocate_buffer(capacity)
    except (MemoryError, OverflowError):
        return allocate_or_raise(nbytes, describe)


def allocate_mapped(Py_ssize_t nbytes):
    """An array of bytes over memory that can be extended; None where that gains nothing, or there is none."""
    if nbytes <= min_mapped_bytes or not reserve_bytes(nbytes):
        return None
    mapping = Mapping()
    mapping.data = mapping.first = map_memory(nbytes)
    mapping.nbytes = nbytes
    return None if mapping.data == NULL else mapped_array(mapping)


cdef object allocate_reserved(Py_ssize_t nbytes):
    """As ``allocate_mapped``, for a value at the end of memory that can be extended in front."""
    if nbytes <= min_mapped_bytes:
        return None
    mapping = Mapping()
    mapping.nbytes = max(RESERVED_BYTES, 4 * nbytes) // COMMIT_BYTES * COMMIT_BYTES
    mapping.data = reserve_address_space(mapping.nbytes)
    if mapping.data == NULL:
        return None
    mapping.first, mapping.grows_in_front = mapping.data + mapping.nbytes, True
    return commit_in_front(mapping, nbytes)


cdef object commit_in_front(Mapping mapping, Py_ssize_t nbytes):
    """An array of a mapping's memory, with at least ``nbytes`` more in front; None: there is no more."""
    cdef Py_ssize_t more = (nbytes + COMMIT_BYTES - 1) // COMMIT_BYTES * COMMIT_BYTES
    if more > mapping.first - mapping.data or not reserve_bytes(more) or not commit_memory(mapping.first - more, more):
        return None
    mapping.first -= more
    return mapped_array(mapping)


cdef object mapped_array(Mapping mapping):
    cdef npy_intp n = mapping.data + mapping.nbytes - mapping.first
    dtype = np.dtype(np.uint8)
    Py_INCREF(dtype)
    array = new_array(<void *>np.ndarray, <void *>dtype, 1, &n, NULL, mapping.first, np.NPY_ARRAY_CARRAY, NULL)
    np.set_array_base(array, mapping)
    return array


cdef bint is_mapped(object array):
    return type(array) is np.ndarray and np.PyArray_BASE(array) != NULL and type(<object>np.PyArray_BASE(array)) is Mapping


cdef object resize_mapped(object array, Py_ssize_t nbytes, Py_ssize_t references):
    """The memory of an array, with another size; None: impossible, as where more than ``references`` and the caller's
    own reference exist. The array itself must not be read again."""
    if not is_mapped(array) or Py_REFCNT(array) > references + 1:
        return None
    mapping = <Mapping>np.PyArray_BASE(array)
    if mapping.grows_in_front:
        return None
    if nbytes > mapping.nbytes and not reserve_bytes(nbytes - mapping.nbytes):
        return None
    cdef char *moved = remap_memory(mapping.data, mapping.nbytes, nbytes)
    if moved == NULL:
        return None
    mapping.data, mapping.first, mapping.nbytes = moved, moved, nbytes
    return mapped_array(mapping)


def resize_array_in_dict(dict arrays, key, Py_ssize_t nbytes):
    """Change the size of an array to which only a dictionary refers, without copying it; False: impossible."""
    array = arrays.get(key)
    resized = resize_mapped(array, nbytes, 1)
    if resized is not None:
        arrays[key] = resized
    return resized is not None


def as_aligned(array):
    """The array itself where kernels can use its memory, else a copy."""
    if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative and type(array) is np.ndarray:
        return array
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True, subok=False).reshape(array.shape)


def describe_values(values):
    """Values in words, for messages: ``float32 [3], a sequence of 2``."""
    texts = []
    for value in values:
        if isinstance(value, np.ndarray):
            texts.append(f"{'string' if value.dtype.hasobject else value.dtype.name} {list(value.shape)}")
        elif isinstance(value, list):
            texts.append(f"a sequence of {len(value)}")
        else:
            texts.append("nothing" if value is None else type(value).__name__)
    return ", ".join(texts)
