"""What the ways to be fast keep of an execution, beside the plain state."""

from libc.stdint cimport int64_t
from numpy cimport npy_intp

from ...kernels.call cimport Call, inner_loop
from ...kernels.renewal cimport Journal
from ..plain.schedule cimport Turn, next_turn
from ..plain.state cimport Family, Guard, Instr, LoopState, Region, State, boundary_record
from ..time.history_state cimport loop_history

cdef extern from "scalar_program.h" nogil:
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

    ctypedef struct scalar_recorder:
        boundary_record *record
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
    int data_dependent   # outputs: the calls say how long it is
    int seen              # inputs: other memory is read in place of the slot's (views.pyx)
    int axis              # that varies
    Family *family        # NULL: the spec does not vary
    Py_ssize_t nbytes     # where it does not
    int64_t base
    int64_t slope

cdef struct VaryingTemp:
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
    int copies           # it only copies: its node's copies may be elided
    int through           # it reads what inputs are copies of
    int ninputs           # with what decides how that lies
    int noutputs
    int nnumbers
    int ntemps
    Port *inputs
    Port *outputs
    Number *numbers
    VaryingTemp *temps
    # while it waits in the node's inline cache: the rest of the binding
    Varying *next
    int64_t key           # its arrays are kept under this
    int ncalls
    int nguards
    int counts
    Call *calls           # all memory of a binding belongs to this piece
    Guard *guards
    char **cells
    npy_intp *outer

# A result that is as long as the calls that made it say (nodes.pyx).
cdef struct Tally:
    State *state
    int slot
    Family *family       # of the specs that it may have
    npy_intp most        # bytes that it may take

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
    Region region        # first
    int on               # it runs; off: its nodes run one by one
    int leader           # position of its first node
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

# A loop's body as a scalar program. It is good as long as nothing was bound or unbound since it was made.
cdef struct Program:
    Region region        # first
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

# What is known of a node of the plan besides its instruction.
cdef struct FastNode:
    Region region        # first: of the node alone
    int pc
    int once             # index of the loop in whose entries it runs once; -1: it runs whenever it is met
    int64_t done         # the entry of that loop in which it ran last; -1: none
    Varying *varying     # NULL: bound on one spec
    Varying *cache       # bindings for other ranges of the extent: an inline cache
    int ncached
    int counts           # results that are as long as the calls say; as many calls come before, and after
    int renews           # it was bound to a call that gives versions
    int elided           # 1 and the calls that are left out: who reads the results reads what they are copies of (views.pyx)
    int through          # it is bound to read what inputs are copies of
    int looks            # it was so in one of its bindings; others ask for what nodes with elided copies would give
    Group *group         # the group that it leads, NULL: none

cdef struct FastLoop:
    Program *program     # NULL: none
    Turn for_program
    Turn for_groups
    Turn for_views       # of nodes whose readers follow an extent; at 0: there were none

cdef struct FastState:
    FastNode *nodes      # of the plan's instructions
    int nnodes
    FastLoop *loops
    Journal *journal     # what was written on top of copies; NULL: nothing ever
    int64_t hot_after    # a loop that ran this often is worth a scalar program; -1: none is
    int fusing           # nodes run in groups
    int eliding          # copies are elided (views.pyx)
    int64_t program_runs # how often a program was entered in this execution


cdef inline FastState *fast(const State *s) noexcept nogil:
    return <FastState *>s.above


cdef inline FastNode *node_at(const State *s, int pc) noexcept nogil:
    """What is known of the node at pc; NULL for an instruction that is not the plan's."""
    cdef FastState *f = <FastState *>s.above
    return f.nodes + pc if pc < f.nnodes else NULL


cdef inline FastLoop *fast_loop(const State *s, const LoopState *loop) noexcept nogil:
    return (<FastState *>s.above).loops + loop.index


cdef inline int ran_once(const State *s, const FastNode *n) noexcept nogil:
    """Did a node whose inputs stay as they are run in this entry of its loop?"""
    return n.done == s.loops[n.once].entries and not s.by_hand


cdef inline void schedule(State *s, LoopState *loop) noexcept nogil:
    """When the loop is looked at next: where the first of all that wait for it is due."""
    cdef FastLoop *f = fast_loop(s, loop)
    loop.look_at = next_turn(-1, &f.for_program, loop.boundaries)
    loop.look_at = next_turn(loop.look_at, &f.for_groups, loop.boundaries)
    loop.look_at = next_turn(loop.look_at, &f.for_views, loop.boundaries)
