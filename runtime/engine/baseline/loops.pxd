"""Loops, for the modules that read their state."""

from libc.stdint cimport int64_t

from .optimizer_base cimport BoundaryObserver, OptimizerBase
from .binder cimport NodeBinder
from .memory cimport Memory
from .state cimport BackEdgeState, Slice, ExecutionState
from .scan_outputs cimport ScanOutputs

cdef class Loops:
    cdef readonly Memory memory
    cdef NodeBinder binder
    cdef readonly ScanOutputs scans
    cdef OptimizerBase optimizer_base
    cdef BoundaryObserver boundary_observer
    cdef ExecutionState *s
    cdef readonly object plan
    cdef object checks           # selfcheck.py, in builds with bounds checks
    cdef dict slice_arrays       # (loop, k) -> rearranged parts

    cdef int materialize_all(self) except -1
    cdef int load(self, int index) except -1
    cdef int64_t prepare_entry(self, int index) except? -2
    cdef int prepare_sliced_input(self, int index, int k, int64_t trip) except -1
    cdef int locate_segments(self, Slice *c, array, part_count, int axis) except -1
    cdef int show_part(self, int index, int k, int64_t part) except -1
    cdef int show_parts(self, int index) except -1
    cdef int set_back_buffer(self, BackEdgeState *e, object owner, int spec) except -1
    cdef int preserve_results(self, int index, int param) except -1
    cdef int prepare_boundary(self, int index) except -1
    cdef int prepare_back_edge(self, BackEdgeState *e) except -1
    cdef int check_carried_value(self, int index, int k) except -1
    cdef int assign_branch_output(self, int source, int target) except -1
    cdef int exit_loop_slow(self, int index) except -1
    cdef int run_control_in_python(self, int pc) except -2
