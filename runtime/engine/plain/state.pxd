"""The engine's state. Plain C structs, so that a run needs neither the GIL nor an allocation."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from numpy cimport npy_intp

from ...kernels.call cimport Call, inner_loop
from ...kernels.renewal cimport Journal
from ...kernels.stream cimport CStream

cdef extern from "history.h" nogil:
    enum:
        HISTORY_ROWS
        HISTORY_COLUMNS
        HISTORY_ENTRIES
        KIND_UNKNOWN
        KIND_NONE
        KIND_TABLE

    ctypedef struct history_stat:
        double low
        double high
        double first
        double last
        double odd

    ctypedef struct history_series:
        int result
        int param
        int kind
        int itemsize
        int steady
        int identity
        char **cell
        const Py_ssize_t *nbytes
        double *table

    ctypedef struct history_entry:
        int64_t entry
        int64_t origin
        int64_t rows
        int n
        int lost
        uint64_t *ring
        history_stat *log
        history_stat *pending
        int64_t nlog
        int64_t capacity
        char *wide
        char *sampled

    ctypedef struct loop_history:
        int nseries
        int nentries
        int unknown_carried
        int unknown
        history_series *series
        history_entry *entries
        history_entry *now

cdef extern from "scalar_program.h" nogil:
    int64_t scalar_stop(int64_t stop, int64_t endless_at, int64_t trips)

    enum:
        SCALAR_TICK
        SCALAR_AT_INSN
        SCALAR_AT_NEXT
        SCALAR_AT_HEAD
        SCALAR_AT_TEST
        SCALAR_STAGED
        OP_CALL
        OP_LOAD
        OP_BRANCH
        OP_JUMP
        OP_ENTER
        OP_NEXT
        OP_TEST
        OP_COUNT
        OP_STOP_IF
        OP_copy_8

    ctypedef struct scalar_insn:
        int op
        int d
        int a
        int b
        int c

    ctypedef struct scalar_move:
        int source "from"
        int to

    ctypedef struct scalar_call:
        inner_loop loop
        void *data
        int nargs
        int args[4]
        npy_intp steps[4]

    ctypedef struct scalar_load:
        int slot
        npy_intp offset
        npy_intp block
        int64_t length
        const char *base
        int index
        int wide

    ctypedef struct scalar_scan:
        int source "from"
        npy_intp nbytes
        char *buffer
        int64_t count
        int64_t capacity

    ctypedef struct scalar_slice:
        int to
        npy_intp nbytes
        npy_intp step
        const char *base

    ctypedef struct scalar_record:
        int loop
        int enabled
        int nvalues
        int next
        int *slots
        int *specs
        npy_intp *nbytes
        npy_intp *offsets
        npy_intp row
        char *buffer
        int64_t count
        int64_t capacity

    ctypedef struct scalar_recorder:
        scalar_record *record
        int *source "from"

    ctypedef struct scalar_note:
        int column
        int result
        int param

    ctypedef struct scalar_loop:
        int index
        int parent
        int body
        int after
        int test
        int trip
        int initial
        int cond
        int cond_in
        int iteration
        int trip_wide
        int iteration_wide
        int negative
        int64_t fixed_trips
        int staged
        int ninit
        int nmoves
        int nouts
        int nscans
        int nslices
        int nrecorders
        scalar_move *init
        scalar_move *moves
        scalar_move *outs
        int *before
        scalar_scan *scans
        scalar_slice *slices
        scalar_recorder *recorders
        loop_history *history
        int nnotes
        scalar_note *notes
        int64_t i
        int64_t trips
        int64_t parts
        int64_t stop_before
        int64_t stop
        int64_t endless_at
        int keep
        int counted
        int ended
        int64_t *iterations
        int64_t *entries
        int64_t *by_reason

    ctypedef struct scalar_program:
        char *registers
        scalar_insn *code
        scalar_call *calls
        scalar_load *loads
        scalar_loop *loops
        int at_insn
        int at_loop
        int suspended

# What is done before each instruction: stops before nodes, and who wants to know where the time goes.
cdef enum:
    STEPPING = 1
    TRAPS = 2
    TIMING = 4

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

cdef struct Guard:
    int slot
    Py_ssize_t nbytes
    char *expected

# Specs that differ in the extent of one axis (specs.pyx), and runs of their numbers: extents from ``low`` on have the
# numbers from ``first`` on.
cdef struct Segment:
    int64_t low
    int64_t count
    int first

cdef struct Family:
    int nsegments
    int at                # where a number was found last
    Py_ssize_t unit       # bytes of an extent of 1
    Py_ssize_t whole      # and of all, where there is room for more
    Segment *segments

# How a bound node follows an extent that varies (varying.pyx): each number below is base + slope * it.
cdef struct Number:
    npy_intp *where
    int narrow           # it has 32 bits there
    npy_intp base
    npy_intp slope

cdef struct Port:
    int slot
    int spec              # for which the numbers are right now
    int append            # outputs: the slot whose buffer this value goes on in; -1: none
    int counted           # outputs: the calls say how long it is
    int seen              # inputs: other memory is read in place of the slot's (views.pyx)
    int axis              # that varies
    Family *family        # NULL: the spec does not vary
    Py_ssize_t nbytes     # where it does not
    int64_t base
    int64_t slope

cdef struct Room:
    char **cell
    npy_intp base
    npy_intp slope
    npy_intp capacity

cdef struct Varying:
    int64_t low           # the numbers hold for extents from low to high
    int64_t high
    int64_t extent
    int64_t cost_base
    int64_t cost_slope
    int64_t fitted        # how often they were changed
    int64_t seen          # how often of that in executions before
    int leading           # the input whose extent it is
    int element           # or in which it is this element, an integer; -1: an extent
    int narrow            # which has 32 bits, not 64
    int shows             # it only copies: its node may be passed over
    int through           # it reads what inputs are copies of
    int ninputs           # with what decides how that lies
    int noutputs
    int nnumbers
    int nrooms
    Port *inputs
    Port *outputs
    Number *numbers
    Room *rooms
    # while it waits on the instruction's shelf: the rest of the binding
    Varying *next
    int64_t key           # its arrays are kept under this
    int ncalls
    int nguards
    int counts
    Call *calls           # all memory of a binding belongs to this piece
    Guard *guards
    char **cells
    npy_intp *outer

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
    FUSED = 10           # a bound node that leads a group: it and others run block by block

cdef struct Move:
    int source
    int target

# Where an argument is in the block that runs.
cdef struct Place:
    char *at
    char **cell          # NULL: in the group's own memory, where it stays
    npy_intp offset
    npy_intp steps[8]    # bytes from block to block along each axis

# The extremes of floats that a group may not leave behind: see fuse.Check.
cdef struct Check:
    int slot
    int size             # bytes of an element
    Py_ssize_t count

# Nodes that run together, block by block (fuse.py). Good as long as its nodes are bound as they were, on the same specs.
cdef struct Group:
    int loop             # in whose body it is
    int end              # position after it
    int nmembers
    int nbefore
    int nafter
    int nslots
    int naxes
    int nplaces
    int nmoving          # places that change from block to block: the first ones
    int ncalls
    int nchecks
    int nmakers
    int *members
    int64_t *bindings    # of the members
    int *before
    int *after
    int *makers         # members with a result that only members read
    int *slots
    int *specs
    npy_intp *blocks     # along each axis
    npy_intp *at         # the block that runs next
    Place *places
    Call *calls
    Call *tail           # of a shorter last block along the last axis; NULL: there is none
    char *once           # calls for the first block only
    Check *checks
    npy_intp *outer      # outer axes of all calls
    char **constants
    int64_t cost         # of a block
    int running          # a time slice ended between two blocks
    int unfit            # a check failed
    int64_t runs
    int64_t ran          # the iteration that it ran in last, while the results that only members read lack that one; -1: none
    int64_t entry        # and the entry of its loop

cdef struct Instr:
    # what each execution looks at, in one cache line
    int kind
    int ncalls
    int nguards
    int nmoves
    int once             # index of the loop in whose entries it runs once; -1: it runs whenever it is met
    Call *calls          # all memory of the binding belongs to this piece
    Varying *varying     # NULL: bound on one spec
    Guard *guards
    int64_t cost
    Move *moves
    int loop
    int target
    int taken            # BRANCH: 1 then, 0 else, as of its last execution
    int condition        # BRANCH: its slot
    int rebound          # how often it was bound
    int calm             # Python executions since its inputs last changed; -1: nothing to bind until they do
    int trap             # stop before it
    int64_t done         # the entry of that loop in which it ran last; -1: none
    char **cells         # addresses of temps
    npy_intp *outer      # outer axes of all calls
    int64_t binding      # differs whenever the node is bound anew
    Group *group         # the group that it leads, NULL: none
    Varying *shelf       # bindings for other ranges of the extent
    int nshelf
    int renews           # it was bound to a call that gives versions
    int passed           # 1 and the calls that are left out: who reads the results looks through them (views.pyx)
    int through          # it is bound to read what inputs are copies of
    int looks            # it was so in one of its bindings; others ask for what nodes that are passed over would give
    int stale            # what they rest on changed: none of them holds any more
    int counts           # results that are as long as the calls say; as many calls come before, and after
    int64_t waited       # Python executions since it was last bound, and how many to wait before it is tried again
    int64_t pause

cdef struct Edge:
    int initial          # -1: part 0 of a sliced input
    int param
    int result
    int swap
    int identity         # passed through unchanged
    int in_spare         # where the previous value is: the spare, or (swapped) the result's slot
    Slot spare           # a second buffer for the parameter of an edge that copies
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

cdef struct Last:
    int source
    int outer
    int edge

# A loop's body as a scalar program. It is good as long as nothing was bound or unbound since it was made.
cdef struct Program:
    scalar_program core
    int root             # index of the loop
    int64_t generation
    int nregisters
    int ncode
    int nloops
    int nloads
    int nonce
    ProgramValue *values
    int *positions       # instruction of the program -> position in the plan
    int *once            # positions of nodes that are left out: they ran in this entry

# A register and where its value lives. ``written``: the loop changes it, so that leaving the program writes it back.
cdef struct ProgramValue:
    int slot             # -1: a temp
    char **cell
    Py_ssize_t nbytes
    int written

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

# What a negative trip count is: ONNX, OpenVINO (-1; others are an error), TensorRT.
cdef enum Negative:
    NO_LIMIT = 0
    NO_ITERATION = 1
    REFUSED = 2

cdef struct LoopState:
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
    int fast_enter       # the last entry was one that needs no Python on the same specs
    int64_t first_parts  # parts of sliced inputs that have a back edge; -1: there are none
    int nedges
    int nslices
    int nscans
    int nlasts
    int nkept
    const CStream *stream # what tells how many iterations have their rows; NULL: all have them
    Edge *edges
    Slice *slices
    Scan *scans
    Last *lasts
    Move *kept           # outputs that take what an iteration got: it is gone once the boundary is crossed
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
    int wants_previous   # one of them reads what a back edge carried before
    int first_derived    # slots behind the plan's: previous value of each edge, then iteration, condition, trip count
    # stops and limits
    int64_t next_event
    int event_at_end
    loop_history *history # what it did at all its boundaries; NULL: nobody asked
    int64_t *breaks      # iterations at which every entry stops, in order
    int nbreaks
    int64_t limit
    int64_t endless_from # the plan's; -1: something can end the loop
    int64_t endless_at   # refuse to go past this iteration where nothing can end the loop; -1: may go on
    # scalar programs (scalar/programs.pyx)
    Program *program     # NULL: none
    int64_t boundaries   # since it was last looked at
    int64_t hot_at
    # groups: as for hot_at, after nodes were bound; how long to wait, for binding may go on
    int64_t fuse_at
    int64_t fuse_wait
    int64_t views_at     # as for fuse_at: for those who look through nodes whose extents vary; 0: there were none
    # totals of the run
    int64_t iterations
    int64_t entries
    int64_t by_reason[4]
    double entered
    double seconds

cdef enum Reason:
    RUNNING = 0
    BY_TRIP_COUNT = 1
    BY_CONDITION = 2
    BY_INPUT = 3

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
    S_HOT = 8            # loops ran long enough to be worth a scalar program
    S_OBSERVE = 9        # records or predicates of the loop at pc need Python
    S_TESTED = 10        # a condition was tested again

# What a C hook is shown at a boundary (docs/hooks.md). ``carried``: addresses of the carried values, in port order.
cdef struct BoundaryView:
    int loop
    int ended
    int64_t iteration
    int ncarried
    char **carried

ctypedef int (*boundary_hook)(void *context, const BoundaryView *view) noexcept nogil

cdef struct State:
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
    int fresh            # nothing was run since the engine was resumed
    double *spent        # with TIMING: seconds of each instruction
    int timed            # the one whose time runs, -1: none
    double timed_from
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
    int64_t hot_after    # a loop that ran this often is worth a scalar program; -1: none is
    int fusing           # nodes run in groups
    int resting          # no program is entered
    int passing          # nodes were passed over (views.pyx)
    int by_hand          # something of this execution was changed by hand: everything runs whenever it is met
    int64_t program_runs # how often one was entered in this execution
    Program *suspended   # the one that a time slice ended in, NULL: none
    int interrupt
    int running          # somebody resumed it
    int64_t moment       # grows whenever the engine goes on: what was read before may be stale
    int why              # 1: a stop, 2: the Python hook, 4: a predicate
    int nslots           # derived ones included
    Journal *journal     # what was written on top of copies; NULL: nothing ever
    Predicate *predicates
    scalar_record **records
    boundary_hook c_hook
    void *c_context

# A result that is as long as the calls that made it say (growing/follow.pyx).
cdef struct Tally:
    State *state
    int slot
    Family *family       # of the specs that it may have
    npy_intp most        # bytes that it may take


cdef inline int top_of(const LoopState *loop) noexcept nogil:
    """Where the iteration ahead begins. Where the trip count ends the loop, its condition is not looked at any more."""
    return loop.head if loop.trip >= 0 and loop.i >= loop.trip else loop.top


cdef inline int is_long_enough(const Scan *c) noexcept nogil:
    """A scan output is as long as it has elements."""
    return c.length < 0 or c.length == c.count


cdef inline int is_plain(const Scan *c) noexcept nogil:
    """Is the buffer of a scan output the output?"""
    return c.pieces == 1 and not c.reverse


cdef inline int ran_once(const State *s, const Instr *ins) noexcept nogil:
    """Did a node whose inputs stay as they are run in this entry of its loop?"""
    return ins.done == s.loops[ins.once].entries and not s.by_hand


cdef inline void spec_changed(State *s, int k, Py_ssize_t least) noexcept nogil:
    """Unbind who reads a slot whose spec changed, but for nodes that follow by themselves. ``least``: its bytes, before
    or after, whichever are fewer."""
    cdef int j
    cdef Instr *ins
    # No scalar program rests on larger values but through nodes that are unbound here.
    cdef int matters = least <= 8
    for j in range(s.readers[k], s.readers[k + 1]):
        ins = s.code + s.reader[j]
        if ins.varying == NULL:
            matters = 1
            ins.kind = UNBOUND
            ins.calm = 0
    s.generation += matters


cdef inline int takes_copy(const Edge *e, const Slot *result) noexcept nogil:
    """Does the parameter of a back edge get a copy of the result, and not its buffer? Sequences, optionals and strings
    are never changed once they are made: they move."""
    return not e.swap or (result.spec != 0 and result.flags & ~SHARED != OWN)


cdef inline Slot *previous_of(State *s, Edge *e) noexcept nogil:
    """Where a boundary left what a back edge carried before."""
    if e.identity:
        return s.slots + e.param
    return &e.spare if e.in_spare else s.slots + e.result
