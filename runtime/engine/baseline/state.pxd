"""The state of an execution: plain C structs, so that a run needs neither the GIL nor an allocation.

The optimizer keeps its own state (optimized/optimizer_state.pxd); the structs here know only its ``Region``.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t
cimport numpy as np
from numpy cimport npy_intp

from ...kernels.call cimport Call
from .backoff cimport RebindPolicy, on_inputs_changed

cdef extern from "termination.h" nogil:
    # Why a loop ended.
    enum:
        RUNNING
        BY_TRIP_COUNT
        BY_CONDITION
        BY_INPUT
    # What a negative trip count is.
    enum:
        NO_LIMIT
        NO_ITERATION
        REFUSED
    int loop_end_reason(int keep, int64_t trips, int counted, int64_t parts, int64_t i)
    int loop_tests_condition(int64_t trips, int64_t i)
    int64_t loop_iteration_limit(int64_t limit, int64_t endless_at, int64_t trips)
    int normalize_trip_count(int negative, int64_t *trips)

cdef extern from "boundary_record.h" nogil:
    ctypedef struct boundary_record:
        int loop, enabled, nvalues, next
        int *slots
        int *specs
        npy_intp *nbytes
        npy_intp *offsets
        npy_intp row
        char *buffer
        int64_t count, capacity
        int64_t *traced
        int64_t tag

    void publish_row(boundary_record *record)
    int64_t load_count(const int64_t *count)

# Work before each instruction: stops before nodes, and timing.
cdef enum:
    STEPPING = 1
    TRAPS = 2
    TIMING = 4

# Larger values are not used in scalar programs.
cdef enum:
    REGISTER_BYTES = 512

# Flags of a slot.
cdef enum:
    OWN = 1       # the buffer belongs to this slot alone and may be written
    FOLDED = 2    # holds a constant that its instruction does not write again
    SHARED = 4    # with OWN: parameter and result of a back edge share one buffer, the smaller a prefix or suffix of the
                  # larger; only the appending node writes there

cdef struct Slot:
    char *data            # NULL where the value is not a tensor of fixed-size elements
    PyObject *owner       # owned reference: the array with the memory, or the value itself
    int spec              # index of (dtype, shape); 0: a Python object (sequence, optional, strings) or nothing
    int flags
    Py_ssize_t nbytes
    Py_ssize_t capacity   # bytes of the buffer from the value on; 0: the slot does not own it

cdef struct InputGuard:
    int slot
    Py_ssize_t nbytes
    char *expected

# A family: specs that differ in the extent of one axis (spec_table.pyx), as runs of numbers: extents from ``low`` on
# have the numbers from ``first`` on.
cdef struct SpecRun:
    int64_t low
    int64_t count
    int first

cdef struct Family:
    int nsegments
    int last_hit          # segment of the last successful lookup
    Py_ssize_t unit       # bytes per unit of extent; 0 with capacity
    Py_ssize_t capacity_nbytes # bytes of all memory, with capacity
    SpecRun *segments

# A node's instruction is NATIVE when bound; UNBOUND ones go through Python, which binds or runs them.
cdef enum InstrKind:
    UNBOUND = 0
    ENTER = 1
    HEAD = 2
    NEXT = 3
    EXIT = 4
    BRANCH = 5
    JUMP = 6
    JOIN = 7
    END = 8
    NATIVE = 9
    TEST = 11

cdef struct SlotCopy:
    int source
    int target

# Result of running a region.
cdef enum RegionStatus:
    REGION_RAN = 0       # its instructions ran; s.pc is the next one
    REGION_TICK = 1      # the time slice is over: run it again
    REGION_PYTHON = 2    # its first instruction needs Python
    REGION_NONE = 3      # it did not run: interpret the instructions

# A region runs in place of one or more instructions, from its leader on: a node or a loop's HEAD. The optimizer makes
# regions; this is all that the baseline tier knows of them.
cdef struct Region:
    int (*fits)(ExecutionState *s, Region *r) noexcept nogil                    # may it run now? NULL: always
    int (*run)(ExecutionState *s, Region *r) noexcept nogil                     # run or resume: a RegionStatus
    int (*materialize)(ExecutionState *s, Region *r) noexcept nogil             # write omitted values to slots; 0: they are
                                                                                # lost. NULL: none is omitted
    void (*invalidate)(ExecutionState *s, Region *r) noexcept nogil             # the execution jumped: drop state
    Region *next         # of the same leader, tried after this one
    int stale            # an assumption no longer holds

# What an instruction handles by itself when specs change.
cdef enum Follows:
    FOLLOWS_INPUTS = 1   # no rebinding when the spec of an input changes
    SETS_OUTPUTS = 2     # nor of a result: its calls set the spec

cdef struct Instr:
    # the hot fields, in one cache line
    int kind
    int ncalls
    int nguards
    int nmoves
    Region *region       # the first that it leads; NULL: none
    Call *calls          # block that owns all memory of the binding
    InputGuard *guards
    int64_t cost
    SlotCopy *moves
    int loop
    int target
    int taken            # BRANCH: 1 then, 0 else, at its last execution
    int condition        # BRANCH: its slot
    int trap             # stop before it
    int follows          # a Follows
    RebindPolicy again        # when to rebind
    char **cells         # addresses of temps
    npy_intp *outer      # outer axes of all calls
    int64_t binding      # number of the binding, unique

cdef struct BackEdgeState:
    int initial          # -1: part 0 of a sliced input
    int param
    int result
    int swap
    int identity         # passed through unchanged
    int previous_in_back          # place of the previous value: the back buffer, else (swapped) the result's slot
    Slot back            # second buffer for the parameter, if the edge copies
    Family *family       # specs of the carried values so far; NULL: they have one spec

cdef struct Slice:
    int outer
    int inner
    int outer_spec
    int part_spec        # 0: strings, which Python puts into the inner slot
    int direct           # parts are contiguous in the outer tensor
    char *base
    Py_ssize_t offset    # of part 0
    Py_ssize_t step
    int64_t parts
    int64_t nsegments    # segments of a part in the outer tensor, if gathered without Python; else 0
    Py_ssize_t segment_nbytes # bytes of one
    Py_ssize_t first     # offset of part 0 there
    Py_ssize_t part_stride # distance between parts there
    Py_ssize_t segment_stride # distance between segments there

cdef struct Scan:
    int result
    int outer
    int spec             # of the elements; while there are none, of the last ones; -1: none yet, or Python objects
    int objects          # the elements are Python objects
    int64_t nsegments    # separate segments of an element in the output: the axes before the scan axis
    int reverse          # the output begins with the last element
    char *buffer
    Py_ssize_t nbytes    # of an element
    int64_t count
    int64_t capacity
    int length_slot      # required length of the output; -1: none
    int length_spec
    int64_t length       # -1: none
    int out_spec         # spec of the output when last stored, and its number of elements
    int64_t out_count

cdef struct LastValueState:
    int source
    int outer
    int edge

# A predicate at a boundary, bound to kernels as nodes are; its instruction is behind those of the plan.
cdef struct Predicate:
    int pc
    int loop
    int key
    int enabled
    int latched          # where it is true it is disabled, without a stop
    int needs_body       # not evaluated before iteration 0
    int reads_previous   # the previous value of a back edge
    int hit
    int next             # of the same loop, -1: none
    char **cell          # address of the result
    Py_ssize_t offset

# Log of the carried values of a loop at all boundaries (history/value_history.pyx).
cdef struct BoundaryLog:
    int entry_unready    # prepare it before the loop is entered, or a boundary crossed
    int boundary_unready
    void (*write_row)(ExecutionState *s, LoopState *loop, int entering) noexcept nogil

cdef struct LoopState:
    int index            # in the plan
    int top              # start of an iteration: the code of its own condition, else the head
    int head
    int exit
    # slots, -1 where absent
    int trip_slot
    int initial_slot
    int condition        # decides whether the next iteration runs
    int condition_input
    int yielded          # feeds the next condition input: the condition, even if ignored
    int iteration
    int trip_spec
    int initial_spec
    int yielded_spec     # -1: not read yet
    int iteration_wide   # the iteration number is int64 (else int32)
    int negative         # meaning of a negative trip count
    int counted          # the number of parts of the sliced inputs limits the iterations
    int64_t fixed_trips  # -1: none
    int native_entry       # the last entry needed no Python; valid for the same specs
    int64_t first_parts  # parts of sliced inputs with a back edge; -1: none
    int nedges
    int nslices
    int nscans
    int nlasts
    int nsaved
    BackEdgeState *edges
    Slice *slices
    Scan *scans
    LastValueState *last_values
    SlotCopy *saved_inputs # inputs of an iteration that outputs take, saved before the boundary is crossed
    # the running loop
    int active
    int64_t i
    int64_t trip         # -1: no limit
    int64_t parts        # least number of parts of the sliced inputs; -1: none
    int keep             # the condition
    int ended            # end reason
    int reported         # this boundary was reported
    int retest           # stop after testing the condition, before the boundary is reported
    int edited           # the user edited a part or the iteration number at this boundary
    # records and predicates
    int observers        # number of records and predicates
    int checked          # those of this boundary are done
    int hit              # a predicate is true
    int first_predicate  # -1: none
    int first_record
    int reads_previous   # one of them reads the previous value of a back edge
    int first_derived_slot    # behind the plan's: previous value of each edge, then iteration, condition, trip count
    # stops and limits
    int64_t stop_at_iteration
    int stop_at_exit
    BoundaryLog *log             # NULL: none
    int64_t *breaks      # iterations at which every entry stops, ascending
    int nbreaks
    int64_t limit
    int64_t endless_from # of the plan; -1: something can end the loop
    int64_t endless_at   # refuse to pass this iteration where nothing can end the loop; -1: allowed
    # boundaries of this execution, and at which of them the optimizer looks at the loop; -1: never again
    int64_t boundaries
    int64_t optimizer_due_at
    # totals of the run
    int64_t iterations
    int64_t entries
    int64_t by_reason[4]
    int64_t by_length[3]     # of ended entries: those of no, one and more iterations
    double entered
    double seconds

# Why run_plan returned.
cdef enum Status:
    S_END = 0
    S_PYTHON = 1         # the instruction at pc needs Python: to be bound or run
    S_SLOW = 2           # the control instruction at pc needs Python
    S_BOUNDARY = 3
    S_NODE = 4
    S_TICK = 5
    S_LIMIT = 6
    S_NO_SLICE = 7
    S_OPTIMIZE = 8           # the optimizer is due at a loop
    S_OBSERVE = 9        # records or predicates of the loop at pc need Python
    S_CONDITION_TESTED = 10        # a condition was tested again

# Argument of a C hook at a boundary (docs/hooks.md). ``carried``: addresses of the carried values, in port order.
cdef struct BoundaryView:
    int loop
    int ended
    int64_t iteration
    int ncarried
    char **carried

ctypedef int (*boundary_hook)(void *context, const BoundaryView *view) noexcept nogil

cdef struct NodeTime:
    # both times the weight of the iterations that were timed
    int64_t ticks        # of a clock that is faster to read than that of seconds
    int64_t starts       # how often it was run: each reads the clock once

cdef struct ExecutionState:
    void *own            # arena block that owns all memory of the engine
    Slot *slots
    Instr *code
    LoopState *loops
    int *stack
    char **carried       # scratch for BoundaryView
    int depth
    int pc
    int64_t budget
    # stops before nodes: the hot path tests only ``stepping``
    int stepping         # STEPPING, TRAPS and TIMING
    int step_depth
    int moved
    int just_resumed            # nothing ran since the engine was resumed
    NodeTime *node_times        # with TIMING: of each instruction
    int timed_pc            # the instruction being timed, -1: none
    int64_t timed_since
    # boundaries: the hot path tests only ``watch``
    int watch
    int stop_any
    int hook_any
    # readers of slot k: reader[readers[k]] to before reader[readers[k + 1]]; its writer (-1: no node)
    int *readers
    int *reader
    int *writer
    # incremented when an instruction is bound or unbound, or a slot's spec changes
    int64_t generation
    int user_edited          # the user edited this execution: no result is reused
    Region *suspended    # region in which a time slice ended, with values that are in no slot yet; NULL: none
    void *optimizer      # state of the optimizer
    int interrupt
    int running          # the engine was resumed and has not returned
    int64_t epoch        # incremented when the engine resumes: values read before may be stale
    int stop_reasons              # 1: a stop, 2: the Python hook, 4: a predicate
    int nslots           # including derived ones
    Predicate *predicates
    boundary_record **records
    boundary_hook c_hook
    void *c_context
    # with TIMING: one of ``sample_every`` iterations is timed; 0: all are
    int sample_every
    int sample_wait      # iterations until the next one is
    uint32_t sample_random
    int64_t timed_weight    # how many iterations the present one represents
    int64_t *loop_weights   # of the present iteration of each loop; 0: it is not timed

cdef inline int iteration_start(const LoopState *loop) noexcept nogil:
    """First instruction of the next iteration. The condition is not tested where the trip count ends the loop."""
    return loop.top if loop_tests_condition(loop.trip, loop.i) else loop.head


cdef inline int has_output_length(const Scan *c) noexcept nogil:
    """Does a scan output have its required length, if any?"""
    return c.length < 0 or c.length == c.count


cdef inline int is_output_layout(const Scan *c) noexcept nogil:
    """Is the buffer of a scan output laid out as the output?"""
    return c.nsegments == 1 and not c.reverse


cdef inline void unbind_node(Instr *ins) noexcept nogil:
    """Rebind the node at its next execution."""
    ins.kind = UNBOUND
    on_inputs_changed(&ins.again)


cdef inline void flush_suspended(ExecutionState *s) noexcept nogil:
    """Write the values of a suspended region into their slots; the engine is then at a boundary."""
    if s.suspended != NULL:
        s.suspended.materialize(s, s.suspended)


cdef inline void on_spec_changed(ExecutionState *s, int k, Py_ssize_t min_nbytes) noexcept nogil:
    """Unbind the readers of a slot whose spec changed, except nodes that follow changes. ``min_nbytes``: the smaller of
    its sizes before and after."""
    cdef int j
    cdef Instr *ins
    # Scalar programs depend on larger values only through nodes that are unbound here.
    cdef int matters = min_nbytes <= REGISTER_BYTES
    for j in range(s.readers[k], s.readers[k + 1]):
        ins = s.code + s.reader[j]
        if not ins.follows & FOLLOWS_INPUTS:
            matters = 1
            unbind_node(ins)
    s.generation += matters


cdef inline void change_spec(ExecutionState *s, int k, int spec, Py_ssize_t nbytes) noexcept nogil:
    """Give a slot a value of another spec in its present memory."""
    cdef Slot *slot = s.slots + k
    cdef Py_ssize_t min_nbytes = min(slot.nbytes, nbytes)
    slot.spec, slot.nbytes = spec, nbytes
    on_spec_changed(s, k, min_nbytes)


cdef inline Py_ssize_t bytes_in_front(const Slot *slot) noexcept nogil:
    """The bytes of a slot's buffer in front of its value."""
    return slot.data - np.PyArray_BYTES(<np.ndarray>slot.owner)


cdef inline int edge_copies(const BackEdgeState *e, const Slot *result) noexcept nogil:
    """Is the result of a back edge copied, instead of moved by exchanging buffers? Sequences, optionals and strings are
    immutable and always move."""
    return not e.swap or (result.spec != 0 and result.flags & ~SHARED != OWN)


cdef inline int needs_back_buffer(const BackEdgeState *e, const Slot *result) noexcept nogil:
    """Is the buffer missing into which a back edge copies? Values of 0 bytes need one, too: NULL means no value."""
    return edge_copies(e, result) and (e.back.owner == NULL or e.back.capacity < result.nbytes)


cdef inline Slot *previous_value_slot(ExecutionState *s, BackEdgeState *e) noexcept nogil:
    """Slot with the previous value of a back edge after a boundary."""
    if e.identity:
        return s.slots + e.param
    return &e.back if e.previous_in_back else s.slots + e.result
