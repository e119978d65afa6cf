"""Scan outputs: buffers for the elements that a loop collects, and views of the elements so far."""

from cpython.ref cimport Py_REFCNT
from libc.stdint cimport int64_t
from libc.string cimport memcpy
cimport numpy as np

from .memory cimport KEPT_ARRAY_MAX_BYTES, Memory
from .state cimport *

import math

import numpy as np

from ...errors import ExecutionError
from ...graph import TensorType
from ...graph.slicing import normalize_axis, join_scan_output, scan_output_shape, pad_scan_output, split_scan_output, unpad_scan_output
from .memory import allocate_buffer, allocate_mapped, allocate_or_raise, as_aligned, describe_values, resize_array_in_dict

np.import_array()

# Larger outputs take over the buffer that collected them. Smaller ones are copied, which is faster than to hand over
# and to collect into a new buffer: 256 KB in 6 us instead of 11.
cdef Py_ssize_t HAND_OVER_MIN_BYTES = 1 << 20


cdef class ScanOutputs:
    """The scan outputs of all loops; ``k`` is an index among those of one loop."""

    def __init__(self, Memory memory not None):
        self.memory, self.s, self.plan = memory, &memory.s, memory.plan
        self.arrays, self.handed_over, self.spare = {}, {}, {}

    cdef int begin(self) except -1:
        """An execution begins: free the large buffers that loops of the previous one left when they did not end."""
        cdef Scan *c
        for index, k in list(self.arrays):
            c = self.s.loops[<int>index].scans + <int>k
            if not c.objects and c.capacity * c.nbytes > KEPT_ARRAY_MAX_BYTES:
                del self.arrays[index, k]
                c.buffer, c.count, c.capacity, c.out_count = NULL, 0, 0, -1

    cdef int begin_entry(self, int index) except -1:
        """A loop is entered."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        for k in range(loop.nscans):
            if loop.scans[k].objects:
                self.arrays.pop((index, k), None)
                loop.scans[k].objects = 0
            if loop.scans[k].length_slot >= 0:
                self.read_length(index, k)

    def read_length(self, int index, int k):
        """Read the required length of a scan output."""
        cdef Scan *c = self.s.loops[index].scans + k
        port = self.plan.loops[index].scans[k].output
        loop, length = self.plan.loops[index].loop, port.length.name
        where = f"{loop.describe()}: the length of '{port.outer.name}', '{length}'"
        array = self.memory.look(c.length_slot)
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu" or array.size != 1:
            got = describe_values([array])
            raise ExecutionError(f"{where}, is {got}; it must be one integer", loop=loop.name, name=length,
                                 expected="one integer", got=got)
        if not 0 <= int(array.reshape(())) < 1 << 62:
            got = str(array.reshape(()))
            raise ExecutionError(f"{where}, is {got}; it must be 0 or more", loop=loop.name, name=length,
                                 expected="0 or more", got=got)
        c.length = int(array.reshape(()))
        # Other dtypes are read here at each entry.
        c.length_spec = self.s.slots[c.length_slot].spec if array.dtype.kind == "i" and array.itemsize >= 4 else -1
        self.limit_capacity(c)

    cdef int limit_capacity(self, Scan *c) except -1:
        """Limit the capacity to the required length, so that the hot path returns there."""
        if c.length >= 0:
            c.capacity = min(c.capacity, c.length)

    cdef int check(self, int index, int k) except -1:
        """Elements of a scan output have one shape and dtype (docs/semantics.md 2.2)."""
        cdef Scan *c = self.s.loops[index].scans + k
        cdef Slot *r = self.s.slots + c.result
        port = self.plan.loops[index].scans[k].output
        value = self.memory.look(c.result) if r.spec == 0 else None
        if r.spec == 0 and not isinstance(value, np.ndarray):
            got = describe_values([value])
            raise self.memory.loop_error(index, f"scan output '{port.outer.name}' got {got}; only tensors can be scan outputs",
                                         name=port.outer.name, expected="a tensor", got=got)
        after = (value.dtype, value.shape) if r.spec == 0 else self.memory.specs.kind(r.spec)
        if c.count:
            rows = self.arrays.get((index, k))
            before = (rows[0].dtype, rows[0].shape) if c.objects else self.memory.specs.kind(c.spec)
            if before != after:
                raise self._shape_change_error(index, port, before, after)
        else:
            rank = len(after[1]) + (1 if port.stack else 0)
            if not -rank <= port.axis < rank:
                raise self.memory.loop_error(index, f"scan output '{port.outer.name}' has axis {port.axis}, but its rank is {rank}",
                                             name=port.outer.name, got=f"axis {port.axis}")

    def _shape_change_error(self, int index, port, before, after):
        word = "stacked" if port.stack else "concatenated"
        if before[0] != after[0]:
            before, after = (f"{'string' if dtype.hasobject else dtype.name} {list(shape)}" for dtype, shape in (before, after))
        else:
            before, after = str(list(before[1])), str(list(after[1]))
        return self.memory.loop_error(
            index, f"scan output '{port.outer.name}' got {after} from '{port.result.name}', after {before} in earlier "
            f"iterations; {word} elements must all have one shape and dtype",
            name=port.outer.name, expected=before, got=after)

    cdef int reserve_element(self, int index, int k) except -1:
        """Reserve capacity for one more element of a scan output; a Python object is appended here."""
        cdef Scan *c = self.s.loops[index].scans + k
        cdef Slot *r = self.s.slots + c.result
        if r.spec == 0:
            if c.count == 0:
                self.arrays[index, k] = []
                c.objects, c.spec, c.capacity, c.buffer, c.out_count = 1, -1, 0, NULL, -1
            self.arrays[index, k].append(self.memory.look(c.result).copy())
            c.count += 1
            return 0
        if c.spec != r.spec:
            self.set_element_spec(index, k, r.spec)
        if c.count == c.capacity:
            self.grow_buffer(index, k)

    def set_element_spec(self, int index, int k, int spec):
        """Handle the first element, which sets the spec of all. An existing buffer is reused."""
        cdef Scan *c = self.s.loops[index].scans + k
        port = self.plan.loops[index].scans[k].output
        dtype, shape = self.memory.specs.kind(spec)
        rank = len(shape) + (1 if port.stack else 0)
        axis = normalize_axis(port.axis, rank)
        c.spec, c.nbytes, c.out_count = spec, math.prod(shape) * dtype.itemsize, -1
        c.nsegments = math.prod(shape[:axis])
        rows = self.arrays.get((index, k))
        c.capacity = 0 if rows is None or not c.nbytes else len(rows) // c.nbytes
        self.limit_capacity(c)

    cdef int grow_buffer(self, int index, int k) except -1:
        """Grow to all iterations if their number is known and small, else double the capacity."""
        cdef LoopState *loop = self.s.loops + index
        cdef Scan *c = loop.scans + k
        port = self.plan.loops[index].scans[k].output
        if c.length >= 0 and c.count >= c.length:
            raise self.memory.loop_error(
                index, f"the length of '{port.outer.name}' is {c.length}, and this iteration gives one element more; "
                f"'{port.length.name}' must be as large as the trips are many",
                name=port.length.name, got=str(c.length))
        expected = loop.trip if loop.trip >= 0 else loop.parts if loop.counted else -1
        capacity = max(16, 2 * c.capacity)
        if 0 <= expected and expected * c.nbytes <= max(1 << 26, 2 * c.capacity * c.nbytes):
            capacity = max(expected, c.count + 1)
        if c.length >= 0:
            capacity = min(capacity, c.length)
        if resize_array_in_dict(self.arrays, (index, k), capacity * c.nbytes):
            array = self.arrays[index, k]
        else:
            array = self.spare.pop((index, k), None)
            if array is None or len(array) != capacity * c.nbytes:
                array, capacity = self.allocate_larger_buffer(index, k, capacity)
            if c.count:
                memcpy(np.PyArray_BYTES(array), c.buffer, c.count * c.nbytes)
        self.arrays[index, k] = array
        c.buffer, c.capacity = np.PyArray_BYTES(array), capacity

    def allocate_larger_buffer(self, int index, int k, Py_ssize_t capacity):
        """A larger buffer for a scan output, and its capacity in elements: ``capacity``, or fewer if memory is
        short."""
        cdef Scan *c = self.s.loops[index].scans + k
        name = self.plan.loops[index].scans[k].output.outer.name
        array = allocate_mapped(capacity * c.nbytes)
        if array is not None:
            return array, capacity
        while True:
            try:
                array = allocate_or_raise(capacity * c.nbytes, lambda: f"{self.memory.describe_loop(index)}: scan output '{name}'")
                return array, capacity
            except ExecutionError:
                if capacity <= c.count + max(1, c.count // 16):
                    raise
                capacity = c.count + (capacity - c.count + 1) // 2

    cdef int restore_elements(self, int index, int k, object rows) except -1:
        """Replace the elements of a scan output by ``rows``, stacked elements."""
        cdef Scan *c = self.s.loops[index].scans + k
        c.count, c.spec, c.capacity, c.objects = 0, -1, 0, 0
        self.arrays.pop((index, k), None)
        if not len(rows):
            return 0
        if rows.dtype.hasobject:
            c.objects = 1
            self.arrays[index, k] = [rows[j : j + 1].reshape(rows.shape[1:]).copy() for j in range(len(rows))]
        else:
            rows = as_aligned(rows)
            self.set_element_spec(index, k, self.memory.spec(rows.dtype, rows.shape[1:]))
            array = allocate_buffer(len(rows) * c.nbytes)
            memcpy(np.PyArray_BYTES(array), np.PyArray_BYTES(rows), len(rows) * c.nbytes)
            self.arrays[index, k] = array
            c.buffer, c.capacity = np.PyArray_BYTES(array), len(rows)
            self.limit_capacity(c)
        c.count = len(rows)

    cdef int store(self, int index, int k) except -1:
        cdef Scan *c = self.s.loops[index].scans + k
        if is_output_layout(c) and c.count < c.capacity and resize_array_in_dict(self.arrays, (index, k), c.count * c.nbytes):
            c.buffer, c.capacity = np.PyArray_BYTES(self.arrays[index, k]), c.count
        value = pad_scan_output(self.output_so_far(index, k), self.plan.loops[index].scans[k].output, c.length)
        if is_output_layout(c) and has_output_length(c) and value.base is not None and value.nbytes > HAND_OVER_MIN_BYTES and c.count == c.capacity:
            # Hand over the large buffer as the output instead of copying it.
            value = value.reshape(value.shape)
            self.memory.put_owner(c.outer, value, self.memory.spec(value.dtype, value.shape), OWN)
            self.hand_over_buffer(index, k)
            c.buffer, c.capacity, c.out_count = NULL, 0, -1
        else:
            self.memory.store(c.outer, value)
            c.out_spec, c.out_count = self.s.slots[c.outer].spec, c.count
        self.memory.set_known(c.outer, None)

    cdef int hand_over_buffer(self, int index, int k) except -1:
        """After the buffer became the output: keep its predecessor for the next elements, if nothing else refers to it
        and it has at most KEPT_ARRAY_MAX_BYTES."""
        array = self.arrays.pop((index, k))
        cdef np.ndarray previous = self.handed_over.pop((index, k), None)
        if len(array) <= KEPT_ARRAY_MAX_BYTES:
            self.handed_over[index, k] = array
            # Views of it refer to its base, as it does itself.
            if previous is not None and Py_REFCNT(previous) == 1 and Py_REFCNT(<object>np.PyArray_BASE(previous)) == 1:
                self.spare[index, k] = previous

    def output_so_far(self, int index, int k):
        """The scan output so far, as its loop would return it; a view, valid until the engine resumes."""
        rows = self.elements(index, k)
        port = self.plan.loops[index].scans[k].output
        return self.empty(index, k) if rows is None else join_scan_output(rows, port)

    cdef object empty(self, int index, int k):
        """Zero elements: the declared dims of the element (0 where unknown), with the scan axis of length 0. A value
        that the body returns without computing it supplies the dtype, and dims where none are declared."""
        cdef LoopState *loop = self.s.loops + index
        cdef int slot = loop.scans[k].result, producer = self.s.writer[slot]
        port = self.plan.loops[index].scans[k].output
        declared = port.result.type if isinstance(port.result.type, TensorType) else TensorType()
        dtype, shape = declared.dtype, declared.shape
        if not loop.top <= producer < loop.exit and not self.is_computed(index, port.result):
            value = self.memory.look(slot)
            if isinstance(value, np.ndarray):
                dtype, shape = value.dtype, value.shape if shape is None else shape
        if dtype is None:
            dtype = port.outer.type.dtype if isinstance(port.outer.type, TensorType) else None
        dims = [d if isinstance(d, int) else 0 for d in shape or ()]
        return np.empty(scan_output_shape(dims, port, 0), dtype if dtype is not None else np.float32)

    def is_computed(self, int index, value):
        """Does a node of the body compute the value? No single instruction writes the output of an If."""
        return any([value in node.outputs for node in self.plan.loops[index].loop.body.nodes])

    cpdef object elements(self, int index, int k):
        """The elements of a scan output in iteration order, ``[count, *shape]``; None while there are none. A view,
        valid until the engine resumes, unless they are Python objects. After the loop they are read from its output."""
        cdef LoopState *loop = self.s.loops + index
        cdef Scan *c = loop.scans + k
        if c.count == 0:
            return None
        port = self.plan.loops[index].scans[k].output
        rows = self.arrays.get((index, k))
        if rows is None:
            output = self.memory.look(c.outer)
            return split_scan_output(output if has_output_length(c) else unpad_scan_output(output, port, c.count), port, c.count)
        if isinstance(rows, list):
            return np.stack(rows)
        dtype, shape = self.memory.specs.kind(c.spec)
        stacked = rows[: c.count * c.nbytes].view(dtype) if c.nbytes else np.empty(0, dtype)
        return stacked.reshape((c.count, *shape))

    def view(self, int index, int k, int64_t newest):
        """(number of elements, the output so far as a view, the newest elements in order) of a scan output."""
        cdef int64_t count = self.s.loops[index].scans[k].count
        rows = self.elements(index, k)
        return count, self.output_so_far(index, k), [] if rows is None else rows[max(count - newest, 0):]
