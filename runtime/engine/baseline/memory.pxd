"""The engine's memory, which all its parts share."""

from cpython.object cimport PyObject

from .spec_table cimport SpecTable
from .state cimport ExecutionState, Slot

# A large output is written into the array of the previous execution if only the engine holds it. New memory of
# REUSED_OUTPUT_MIN_BYTES or more comes from the system page by page: 1 ms for 2 MB. Arrays of more than
# KEPT_ARRAY_MAX_BYTES are not kept between executions.
cdef enum:
    REUSED_OUTPUT_MIN_BYTES = 0x20000  # 128 KiB; Cython's overflow checks do not compile a shift here
    KEPT_ARRAY_MAX_BYTES = 0x2000000  # 32 MiB

cdef class Memory:
    cdef ExecutionState s
    cdef readonly object plan
    cdef int nslots              # slots of the plan
    cdef int ncode               # instructions, including those of predicates
    cdef int nloops
    cdef SpecTable specs             # spec -> (dtype, shape)
    cdef list known              # slot -> array that is known without running, or None
    cdef list consumers          # slot -> positions of nodes that read it
    cdef dict producers          # slot -> position of the node that writes it
    cdef dict aliases            # slot -> (slot whose memory may hold its value, byte offset there)
    cdef bint outputs_only       # only the outputs of this execution are read

    cdef int load_consumers(self) except -1
    cdef int spec(self, dtype, tuple shape, object capacity=?) except -1
    cdef int put_owner(self, int k, object owner, int spec, int flags) except -1
    cdef int put_buffer(self, int k, object owner, int spec, Py_ssize_t nbytes, int flags) except -1
    cdef int replace_owner(self, Slot *slot, object owner) except -1
    cdef int put_value(self, int k, object owner, int spec, Py_ssize_t nbytes, char *data, int flags) except -1
    cdef bint move_buffer(self, int source, int target) except -1
    cdef int put_input(self, int k, object value) except -1
    cdef int unbind_consumers(self, int k) except -1
    cdef int unbind_producer(self, int k) except -1
    cdef int set_known(self, int k, object array) except -1
    cdef int own(self, int k, int spec) except -1
    cdef int set_constant(self, int k, object array) except -1
    cdef int store_known_value(self, int k) except -1
    cdef int store(self, int k, object value) except -1
    cdef int forward_value(self, int source, int target) except -1
    cdef bint is_sequence(self, int k)
    cdef int ensure_sequence(self, int k) except -1
    cdef object tensor(self, char *data, int spec)
    cdef object array_of(self, object dtype, tuple shape, char *data)
    cpdef object value(self, int slot)
    cdef object value_reusing_array(self, int slot, object before)
    cdef object copied_value(self, object value)
    cdef object look(self, int k)

cdef object python_value(PyObject *owner)
