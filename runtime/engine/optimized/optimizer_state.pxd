"""State of the optimizer, in addition to that of the baseline tier."""

from libc.stdint cimport int64_t
from numpy cimport npy_intp

from ...kernels.call cimport Call
from ..baseline.backoff cimport BackoffTimer, earliest_due
from ..baseline.state cimport Family, InputGuard, LoopState, Region, ExecutionState
from .scalar.program_structs cimport Program

# A number in a binding that follows a varying extent (range_bindings.pyx): base + slope * extent.
cdef struct VaryingNumber:
    npy_intp *where
    int narrow           # it has 32 bits
    npy_intp base
    npy_intp slope

cdef struct VaryingPort:
    int slot
    int spec              # for which the numbers hold now
    int append            # outputs: slot whose buffer this value extends; -1: none
    int in_front          # it does so in front of that value, not behind it
    int data_dependent   # outputs: the calls compute its length
    int seen              # inputs: other memory is read instead of the slot's (copy_elision)
    int axis              # the varying axis
    Family *family        # NULL: the spec is fixed
    Py_ssize_t nbytes     # of a fixed spec
    int64_t base
    int64_t slope

cdef struct VaryingTemp:
    char **cell
    npy_intp base
    npy_intp slope
    npy_intp capacity

cdef struct VaryingBinding:
    int64_t low           # the numbers hold for extents from low to high
    int64_t high
    int64_t extent
    int64_t cost_base
    int64_t cost_slope
    int64_t fitted        # number of changes
    int64_t seen          # changes up to the last execution
    int leading           # the input that defines the extent
    int element           # index of the integer that is the extent; -1: the extent is one of its shape
    int narrow            # that integer has 32 bits, not 64
    int copies           # it only copies: its node's copies may be elided
    int through           # it reads the sources of elided copies
    int ninputs           # including those that decide where such a source is
    int noutputs
    int nnumbers
    int ntemps
    VaryingPort *inputs
    VaryingPort *outputs
    VaryingNumber *numbers
    VaryingTemp *temps
    # while in the node's inline cache: the rest of the binding
    VaryingBinding *next
    int64_t key           # of its arrays
    int ncalls
    int nguards
    int counts
    Call *calls           # block that owns all memory of a binding
    InputGuard *guards
    char **cells
    npy_intp *outer

# A result whose length its calls compute (node_regions.pyx).
cdef struct DynamicResult:
    ExecutionState *state
    int slot
    Family *family       # of its possible specs
    npy_intp max_nbytes  # maximum number of bytes

# Address of an argument in the current block.
cdef struct OperandAddress:
    char *address
    char **cell          # NULL: fixed, in the group's own memory
    npy_intp offset
    npy_intp steps[8]    # bytes between blocks along each axis

# A fused group runs its nodes block by block (plan/fusion/groups.py). It is valid while they keep their bindings and
# specs.
cdef struct FusedGroup:
    Region region        # first
    int enabled          # off: its nodes run one by one
    int leader           # position of its first node
    int loop             # whose body contains it
    int end              # position after it
    int nmembers
    int nbefore
    int nafter
    int nslots
    int naxes
    int nplaces
    int nmoving          # places that change between blocks: the first ones
    int ncalls
    int nproducers
    int *members
    int64_t *bindings    # of the members
    int *before
    int *after
    int *producers         # members with a result that only members read
    int *slots
    int *specs
    npy_intp *blocks     # along each axis
    npy_intp *block      # current block
    OperandAddress *places
    Call *calls
    Call *tail           # calls of a shorter last block along the last axis; NULL: none
    npy_intp *outer      # outer axes of all calls
    char **constants
    int64_t cost         # of a block
    int running          # a time slice ended between two blocks
    int64_t runs
    int64_t last_run    # iteration of the last run, while its internal results lack that iteration; -1: none
    int64_t entry        # entry of its loop in that run

# State of a node of the plan in addition to its instruction.
cdef struct OptimizerNode:
    Region region        # first: of the node alone
    int pc
    int once             # index of the loop in whose entries it runs once; -1: it always runs
    int64_t done         # the entry of its last run; -1: none
    VaryingBinding *varying     # NULL: bound for one spec
    VaryingBinding *cache       # bindings for other ranges of the extent: an inline cache
    int ncached
    int counts           # results whose length the calls compute; as many calls precede and follow its own
    int elided           # 1 + number of omitted calls: readers use the sources of the copies (copy_elision)
    int through          # its binding reads the sources of elided copies
    int looks            # one of its bindings does; others request materialization
    FusedGroup *group         # the group that it leads; NULL: none

cdef struct OptimizerLoop:
    Program *program     # NULL: none
    BackoffTimer program_timer
    BackoffTimer groups_timer
    BackoffTimer views_timer       # of nodes whose readers follow an extent; due at 0: none
    bint was_compiled              # an earlier program of the loop was compiled

cdef struct OptimizerState:
    OptimizerNode *nodes      # of the plan's instructions
    int nnodes
    OptimizerLoop *loops
    int64_t hot_after    # iterations after which a loop gets a scalar program; -1: never
    int fusion_enabled           # nodes run in groups
    int elision_active          # copies are elided
    int64_t program_runs # program entries in this execution


cdef inline OptimizerState *fast(const ExecutionState *s) noexcept nogil:
    return <OptimizerState *>s.optimizer


cdef inline OptimizerNode *optimizer_node(const ExecutionState *s, int pc) noexcept nogil:
    """State of the node at pc; NULL for an instruction that the plan does not have."""
    cdef OptimizerState *f = <OptimizerState *>s.optimizer
    return f.nodes + pc if pc < f.nnodes else NULL


cdef inline OptimizerLoop *optimizer_loop(const ExecutionState *s, const LoopState *loop) noexcept nogil:
    return (<OptimizerState *>s.optimizer).loops + loop.index


cdef inline int already_ran_in_entry(const ExecutionState *s, const OptimizerNode *n) noexcept nogil:
    """Did a node with constant inputs run in this entry of its loop?"""
    return n.done == s.loops[n.once].entries and not s.user_edited


cdef inline void schedule(ExecutionState *s, LoopState *loop) noexcept nogil:
    """Set the next optimizer call of a loop to its earliest timer."""
    cdef OptimizerLoop *f = optimizer_loop(s, loop)
    loop.optimizer_due_at = earliest_due(-1, &f.program_timer, loop.boundaries)
    loop.optimizer_due_at = earliest_due(loop.optimizer_due_at, &f.groups_timer, loop.boundaries)
    loop.optimizer_due_at = earliest_due(loop.optimizer_due_at, &f.views_timer, loop.boundaries)
