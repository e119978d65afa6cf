"""The state of an execution. Plain C structs, so that a run needs neither the GIL nor an allocation.

What makes an execution fast keeps its own state (fast/fast_state.pxd). Of it the structs here know a ``Region`` alone: what
runs in place of instructions.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t
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

# What is done before each instruction: stops before nodes, and who wants to know where the time goes.
cdef enum:
    STEPPING = 1
    TRAPS = 2
    TIMING = 4

# Values of more bytes are in no scalar program.
cdef enum:
    REGISTER_BYTES = 512

# What a slot's flags say.
cdef enum:
    OWN = 1       # the buffer belongs to the slot alone and may be written
    FOLDED = 2    # holds a constant that its instruction does not write again
    SHARED = 4    # with OWN: a back edge's parameter and result are in one buffer, the one a prefix of the other;
                  # only the node that appends writes there

cdef struct Slot:
    char *data            # NULL where the value is no tensor of fixed-size elements
    PyObject *owner       # owned reference: the array that holds the memory, or the value itself
    int spec              # index of (dtype, shape); 0: a Python object (sequence, optional, strings) or nothing
    int flags
    Py_ssize_t nbytes
    Py_ssize_t capacity   # bytes that the buffer has; 0: it is not the slot's own
    int64_t version       # of the buffer, as the journal has it; 0: it has none (renewal.h)

cdef struct InputGuard:
    int slot
    Py_ssize_t nbytes
    char *expected

# Specs that differ in the extent of one axis (specs.pyx), and runs of their numbers: extents from ``low`` on have the
# numbers from ``first`` on.
cdef struct SpecRun:
    int64_t low
    int64_t count
    int first

cdef struct Family:
    int nsegments
    int at                # where a number was found last
    Py_ssize_t unit       # bytes of an extent of 1
    Py_ssize_t whole      # and of all, where there is capacity for more
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

# How a region ended.
cdef enum RegionStatus:
    REGION_RAN = 0       # what it stands for ran; s.pc says where to go on
    REGION_TICK = 1      # the time slice is over: run it again
    REGION_PYTHON = 2    # the instruction that it begins with needs Python
    REGION_NONE = 3      # it did not run: go on as without it

# What runs in place of one instruction or more, from the one on that leads it: a node or a loop's HEAD. The floor above makes
# regions, and all that the plain floor knows of them is this.
cdef struct Region:
    int (*fits)(ExecutionState *s, Region *r) noexcept nogil                    # may it run here and now? NULL: always
    int (*run)(ExecutionState *s, Region *r) noexcept nogil                     # run, or go on: a RegionStatus
    int (*materialize)(ExecutionState *s, Region *r) noexcept nogil             # let slots have the values that were left out; 0:
                                                                       # they cannot be had any more. NULL: none ever is
    void (*invalidate)(ExecutionState *s, Region *r) noexcept nogil             # the execution is elsewhere: keep nothing of before
    Region *next         # led by the same instruction, asked after this one
    int stale            # something is not known any more that it was made on

# What an instruction does by itself where specs change.
cdef enum Follows:
    FOLLOWS_INPUTS = 1   # it need not be bound anew where an input's spec changes
    SETS_OUTPUTS = 2     # nor where a result's is another: its calls say what it is

cdef struct Instr:
    # what each execution looks at, in one cache line
    int kind
    int ncalls
    int nguards
    int nmoves
    Region *region       # the first that it leads, NULL: none
    Call *calls          # all memory of the binding belongs to this piece
    InputGuard *guards
    int64_t cost
    SlotCopy *moves
    int loop
    int target
    int taken            # BRANCH: 1 then, 0 else, as of its last execution
    int condition        # BRANCH: its slot
    int trap             # stop before it
    int follows          # a Follows
    RebindPolicy again        # when to bind it anew
    char **cells         # addresses of temps
    npy_intp *outer      # outer axes of all calls
    int64_t binding      # differs whenever the node is bound anew

cdef struct BackEdgeState:
    int initial          # -1: part 0 of a sliced input
    int param
    int result
    int swap
    int identity         # passed through unchanged
    int previous_in_back          # where the previous value is: the back buffer, or (swapped) the result's slot
    Slot back            # a second buffer for the parameter of an edge that copies
    Family *family       # of the specs that the carried value had so far, where they differed; NULL: they did not

cdef struct Slice:
    int outer
    int inner
    int outer_spec
    int part_spec        # 0: strings, which Python has to put where they are read
    int direct           # parts are contiguous in the outer tensor itself
    char *base
    Py_ssize_t offset    # of part 0
    Py_ssize_t step
    int64_t parts
    int64_t pieces       # that a part has in the outer tensor, where they can be gathered without Python; else 0
    Py_ssize_t piece     # bytes of one
    Py_ssize_t first     # where part 0 begins there
    Py_ssize_t along     # from part to part there
    Py_ssize_t apart     # from piece to piece there

cdef struct Scan:
    int result
    int outer
    int spec             # of the elements, or while there are none of those seen last; -1: none ever, or Python objects
    int objects          # the elements are Python objects
    int64_t pieces       # of an element, which lie apart in the output: its axes before the one that grows
    int reverse          # the output begins with the last element
    char *buffer
    Py_ssize_t nbytes    # of an element
    int64_t count
    int64_t capacity
    int length_slot      # how long the output is to be; -1: as long as there are elements
    int length_spec
    int64_t length       # -1: none
    int out_spec         # of the output when it was last stored, and for how many elements
    int64_t out_count

cdef struct LastValueState:
    int source
    int outer
    int edge

# A question about a boundary, bound to kernels as nodes are: its instruction stands behind the plan's.
cdef struct Predicate:
    int pc
    int loop
    int enabled
    int needs_body       # not asked before iteration 0
    int hit
    int next             # of the same loop, -1: none
    char **cell          # where the answer is
    Py_ssize_t offset

# Who notes what a loop carries at all its boundaries (time/history.pyx).
cdef struct BoundaryLog:
    int entry_unready    # it has to be prepared before the loop is entered, and before a boundary is crossed
    int boundary_unready
    void (*write_row)(ExecutionState *s, LoopState *loop, int entering) noexcept nogil

cdef struct LoopState:
    int index            # in the plan
    int top              # where an iteration begins: what its own condition needs, else the head
    int head
    int exit
    # slots, -1 where absent
    int trip_slot
    int initial_slot
    int condition        # what decides whether the next iteration runs
    int condition_input
    int yielded          # what an iteration gives the next one's condition input: the condition, also where it is ignored
    int iteration
    int trip_spec
    int initial_spec
    int yielded_spec     # -1: not looked at yet
    int iteration_wide   # the iteration number is int64 (else int32)
    int negative         # what a negative trip count is: a Negative
    int counted          # as many iterations as sliced inputs have parts
    int64_t fixed_trips  # -1: none
    int native_entry       # the last entry was one that needs no Python on the same specs
    int64_t first_parts  # parts of sliced inputs that have a back edge; -1: there are none
    int nedges
    int nslices
    int nscans
    int nlasts
    int nkept
    BackEdgeState *edges
    Slice *slices
    Scan *scans
    LastValueState *last_values
    SlotCopy *kept           # outputs that take what an iteration got: it is gone once the boundary is crossed
    # the running loop
    int active
    int64_t i
    int64_t trip         # -1: no limit
    int64_t parts        # least of the sliced inputs; -1: none
    int keep             # the condition
    int ended            # a Reason
    int reported         # this boundary was shown to whoever asked
    int retest           # stop once its condition was tested, before the boundary is looked at
    int edited           # a part or the iteration number was set by hand at this boundary
    # records and predicates
    int observers        # how many there are
    int checked          # those of this boundary are done
    int hit              # a predicate is true
    int first_predicate  # -1: none
    int first_record
    int reads_previous   # one of them reads what a back edge carried before
    int first_derived_slot    # slots behind the plan's: previous value of each edge, then iteration, condition, trip count
    # stops and limits
    int64_t stop_at_iteration
    int stop_at_exit
    BoundaryLog *log             # NULL: nobody asked
    int64_t *breaks      # iterations at which every entry stops, in order
    int nbreaks
    int64_t limit
    int64_t endless_from # the plan's; -1: something can end the loop
    int64_t endless_at   # refuse to go past this iteration where nothing can end the loop; -1: may go on
    # when the floor above looks at it: after so many boundaries of this execution; -1: not again
    int64_t boundaries
    int64_t optimizer_due_at
    # totals of the run
    int64_t iterations
    int64_t entries
    int64_t by_reason[4]
    double entered
    double seconds

# Why run_plan returned.
cdef enum Status:
    S_END = 0
    S_PYTHON = 1         # the instruction at pc needs Python: to be bound, or run
    S_SLOW = 2           # the control instruction at pc needs Python
    S_BOUNDARY = 3
    S_NODE = 4
    S_TICK = 5
    S_LIMIT = 6
    S_NO_SLICE = 7
    S_OPTIMIZE = 8           # a loop is to be looked at by the floor above
    S_OBSERVE = 9        # records or predicates of the loop at pc need Python
    S_CONDITION_TESTED = 10        # a condition was tested again

# What a C hook is shown at a boundary (docs/hooks.md). ``carried``: addresses of the carried values, in port order.
cdef struct BoundaryView:
    int loop
    int ended
    int64_t iteration
    int ncarried
    char **carried

ctypedef int (*boundary_hook)(void *context, const BoundaryView *view) noexcept nogil

cdef struct ExecutionState:
    void *own            # the piece that all memory of the engine belongs to
    Slot *slots
    Instr *code
    LoopState *loops
    int *stack
    char **carried       # scratch for BoundaryView
    int depth
    int pc
    int64_t budget
    # stops before nodes: stepping is the one flag the hot path looks at
    int stepping         # STEPPING, TRAPS and TIMING
    int step_depth
    int moved
    int just_resumed            # nothing was run since the engine was resumed
    double *node_seconds        # with TIMING: seconds of each instruction
    int timed_pc            # the one whose time runs, -1: none
    double timed_since
    # boundaries: watch is the one flag the hot path looks at
    int watch
    int stop_any
    int hook_any
    # who reads a slot (readers[k] to before readers[k + 1]) and who writes it (-1: no node)
    int *readers
    int *reader
    int *writer
    # grows whenever an instruction is bound or unbound, or a slot's spec changes
    int64_t generation
    int user_edited          # something of this execution was changed by hand: everything runs whenever it is met
    Region *suspended    # the one that a time slice ended in and that has values which are in no slot; NULL: none
    void *above          # what the floor above keeps of this execution
    int interrupt
    int running          # somebody resumed it
    int64_t epoch        # grows whenever the engine goes on: what was read before may be stale
    int stop_reasons              # 1: a stop, 2: the Python hook, 4: a predicate
    int nslots           # derived ones included
    Predicate *predicates
    boundary_record **records
    boundary_hook c_hook
    void *c_context

cdef inline int iteration_start(const LoopState *loop) noexcept nogil:
    """Where the iteration ahead begins. Where the trip count ends the loop, its condition is not looked at any more."""
    return loop.top if loop_tests_condition(loop.trip, loop.i) else loop.head


cdef inline int has_output_length(const Scan *c) noexcept nogil:
    """A scan output is as long as it has elements."""
    return c.length < 0 or c.length == c.count


cdef inline int is_output_layout(const Scan *c) noexcept nogil:
    """Is the buffer of a scan output the output?"""
    return c.pieces == 1 and not c.reverse


cdef inline void unbind_node(Instr *ins) noexcept nogil:
    """It is bound anew when it is met."""
    ins.kind = UNBOUND
    on_inputs_changed(&ins.again)


cdef inline void flush_suspended(ExecutionState *s) noexcept nogil:
    """Let every slot have what a suspended region holds: the engine then stands before a boundary."""
    if s.suspended != NULL:
        s.suspended.materialize(s, s.suspended)


cdef inline void on_spec_changed(ExecutionState *s, int k, Py_ssize_t least) noexcept nogil:
    """Unbind who reads a slot whose spec changed, but for nodes that follow by themselves. ``least``: its bytes, before
    or after, whichever are fewer."""
    cdef int j
    cdef Instr *ins
    # No scalar program rests on larger values but through nodes that are unbound here.
    cdef int matters = least <= REGISTER_BYTES
    for j in range(s.readers[k], s.readers[k + 1]):
        ins = s.code + s.reader[j]
        if not ins.follows & FOLLOWS_INPUTS:
            matters = 1
            unbind_node(ins)
    s.generation += matters


cdef inline void change_spec(ExecutionState *s, int k, int spec, Py_ssize_t nbytes) noexcept nogil:
    """Let a slot have a value of another spec in the memory that it has."""
    cdef Slot *slot = s.slots + k
    cdef Py_ssize_t least = min(slot.nbytes, nbytes)
    slot.spec, slot.nbytes = spec, nbytes
    on_spec_changed(s, k, least)


cdef inline int edge_copies(const BackEdgeState *e, const Slot *result) noexcept nogil:
    """Does the parameter of a back edge get a copy of the result, and not its buffer? Sequences, optionals and strings
    are never changed once they are made: they move."""
    return not e.swap or (result.spec != 0 and result.flags & ~SHARED != OWN)


cdef inline int needs_back_buffer(const BackEdgeState *e, const Slot *result) noexcept nogil:
    """Is there no buffer for the copy that a back edge takes? Values of no bytes need one, too: none holds no value."""
    return edge_copies(e, result) and (e.back.owner == NULL or e.back.capacity < result.nbytes)


cdef inline Slot *previous_value_slot(ExecutionState *s, BackEdgeState *e) noexcept nogil:
    """Where a boundary left what a back edge carried before."""
    if e.identity:
        return s.slots + e.param
    return &e.back if e.previous_in_back else s.slots + e.result
