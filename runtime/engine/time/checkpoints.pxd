"""Checkpoints, for the engine."""

cimport cython
from libc.stdint cimport int64_t

from ..plain.accelerator cimport Accelerator
from ..plain.binder cimport Binder
from .history cimport Histories
from ..plain.loops cimport Loops
from ..plain.memory cimport Memory
from ..plain.state cimport State
from ..plain.scans cimport Scans

cdef struct LoopMark:
    int64_t i, trip, parts, first_parts, iterations, entries
    int64_t by_reason[4]
    double seconds, elapsed
    int keep, ended, reported, edited, active

cdef struct EdgeMark:
    int in_back, spec, keeping
    Py_ssize_t nbytes

cdef struct SliceMark:
    int direct, outer_spec, part_spec, shown_spec
    Py_ssize_t offset, step
    int64_t parts, at

cdef struct ScanMark:
    int spec
    Py_ssize_t nbytes
    int64_t pieces
    int64_t count
    int64_t length

@cython.final
cdef class Layout:
    cdef object specs              # the engine's table, which only grows
    cdef list known
    cdef int *spec
    cdef int *flags
    cdef int *keeping
    cdef int *kept               # REFERENCE, LARGE: index into the checkpoint's ``kept``, where slots stand first
    cdef int nkept

    cdef bint same(self, Layout other, int nslots)

@cython.final
cdef class Log:
    cdef Log parent
    cdef int64_t start, count
    cdef Py_ssize_t nbytes       # of a row
    cdef bytearray rows
    cdef list objects            # rows that are no tensors of fixed-size elements

    cdef int add(self, const char *rows, int64_t last) except -1
    cdef bint equals(self, const char *rows, int64_t first, int64_t last) noexcept
    cdef bint equal_objects(self, list rows, int64_t first, int64_t last)
    cdef int copy(self, char *target, int64_t first, int64_t last) except -1
    cdef list all_objects(self, int64_t last)

@cython.final
cdef class Checkpoint:
    cdef object __weakref__
    cdef object plan
    cdef readonly tuple position     # orders all moments of an execution
    cdef readonly Py_ssize_t nbytes  # about what it alone holds
    cdef Layout layout
    cdef list kept
    cdef bytes block                 # numbers of small tensors: slots, then back edges' previous values
    cdef dict replaced               # constants set by hand
    cdef bint by_hand                # something was
    cdef tuple taken                 # of each If: its last branch
    cdef tuple histories             # of each loop, or None
    cdef tuple logs                  # of each scan output of each loop: its log, or None
    cdef LoopMark *loops
    cdef EdgeMark *edges
    cdef SliceMark *slices
    cdef ScanMark *scans
    cdef int *stack
    cdef int depth
    cdef int pc

@cython.final
cdef class Reader:
    cdef Checkpoint c
    cdef const char *block
    cdef int kept, slice, edge, scan

cdef class Checkpoints:
    cdef Memory memory
    cdef Binder binder
    cdef Loops loops
    cdef Scans scans
    cdef Accelerator accelerator
    cdef Histories histories
    cdef State *s
    cdef object plan
    cdef set given               # slots whose memory the engine gets and never writes: inputs and constants
    cdef readonly set gone       # slots without a value, whatever is in their memory
    cdef list branches           # positions of the Ifs
    cdef dict scan_logs          # (loop, k) -> (log, rows that are sure to be in it, entry of the loop)
    cdef object latest           # weak reference to the checkpoint that was saved or restored last

    cdef int begin(self) except -1
    cdef int allocate(self, Checkpoint c) except -1
    cdef void mark_loop(self, Checkpoint c, int index) noexcept
    cdef int mark_slices(self, Checkpoint c, Layout layout) except -1
    cdef int mark_slots(self, Layout layout) except -1
    cdef int mark_edges(self, Checkpoint c) except -1
    cdef int mark_scans(self, Checkpoint c) except -1
    cdef int mark_histories(self, Checkpoint c) except -1
    cdef Log log_scan(self, Checkpoint c, int index, int k)
    cdef int copy_values(self, Checkpoint c, Checkpoint before) except -1
    cdef bytes large(self, Checkpoint c, Checkpoint before, int k)
    cdef int translate(self, Layout layout, int spec) except -2
    cdef int restore_slot(self, Reader reader, int k) except -1
    cdef int restore_loop(self, Reader reader, int index) except -1
    cdef int restore_slice(self, Reader reader, int index, int k) except -1
    cdef int base_of(self, int index, int k) except -1
    cdef int restore_edge(self, Reader reader, int index, int k) except -1
    cdef int restore_scan(self, Reader reader, int index, int k, int64_t entry_before) except -1
