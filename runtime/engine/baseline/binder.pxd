"""The binder, for modules that run nodes or bind more than those of the plan."""

from libc.stdint cimport int64_t

from .memory cimport Memory
from .state cimport Instr, ExecutionState

cdef class NodeBinder:
    cdef Memory memory
    cdef ExecutionState *s
    cdef object plan
    cdef list keep               # position -> arrays used by its calls
    cdef public bint native_enabled      # False: every node runs in Python (for comparison)
    cdef object silent_context            # context without NumPy warnings, in which operators run
    cdef dict constant_overrides           # slot -> value that replaces a constant; the dict is never modified
    cdef public int64_t seed     # of random operators without a seed of their own

    cdef set dependency_slots(self, object instruction)
    cdef int set_edited(self, bint user_edited) except -1
    cdef int invalidate(self) except -1
    cdef int materialize(self) except -1
    cdef int bind_node(self, int pc) except -1
    cdef list input_descriptors(self, object instruction)
    cdef int allocate_results(self, object instruction, object bound) except -1
    cdef object input(self, int slot)
    cdef int add_instruction(self) except -1
    cdef int unbind(self, int pc) except -1
    cdef int release_binding(self, int pc) except -1
    cdef int install_binding(self, int pc, object instruction, object bound, int around=?) except -1
    cdef int run_node(self, int pc) except -1
    cdef int run_cached_binding(self, int pc) except -1
    cdef int on_python_fallback(self, int pc) except -1
    cdef int is_reusable_binding(self, int pc) except -1
    cdef int replace_constant(self, int pc, int slot) except -1
    cdef int run_in_python(self, int pc, object instruction) except -1

cdef int call_native(ExecutionState *s, Instr *ins) except -1
