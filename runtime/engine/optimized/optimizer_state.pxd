"""What the ways to be fast keep of an execution, beside the plain state."""

from libc.stdint cimport int64_t
from numpy cimport npy_intp

from ...kernels.call cimport Call
from ...kernels.dirty_range_journal cimport DirtyJournal
from ..baseline.backoff cimport BackoffTimer, earliest_due
from ..baseline.state cimport Family, InputGuard, LoopState, Region, ExecutionState
from .scalar.program_structs cimport Program

# How a bound node follows an extent that varies (varying.pyx): each number below is base + slope * it.
cdef struct VaryingNumber:
    npy_intp *where
    int narrow           # it has 32 bits there
    npy_intp base
    npy_intp slope

cdef struct VaryingPort:
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

cdef struct VaryingBinding:
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
    VaryingPort *inputs
    VaryingPort *outputs
    VaryingNumber *numbers
    VaryingTemp *temps
    # while it waits in the node's inline cache: the rest of the binding
    VaryingBinding *next
    int64_t key           # its arrays are kept under this
    int ncalls
    int nguards
    int counts
    Call *calls           # all memory of a binding belongs to this piece
    InputGuard *guards
    char **cells
    npy_intp *outer

# A result that is as long as the calls that made it say (nodes.pyx).
cdef struct DynamicResult:
    ExecutionState *state
    int slot
    Family *family       # of the specs that it may have
    npy_intp most        # bytes that it may take

# Where an argument is in the block that runs.
cdef struct OperandAddress:
    char *at
    char **cell          # NULL: in the group's own memory, where it stays
    npy_intp offset
    npy_intp steps[8]    # bytes from block to block along each axis

# Nodes that run together, block by block (plan/fusion/groups.py). Good as long as they are bound as they were, on the same
# specs.
cdef struct FusedGroup:
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
    OperandAddress *places
    Call *calls
    Call *tail           # of a shorter last block along the last axis; NULL: there is none
    npy_intp *outer      # outer axes of all calls
    char **constants
    int64_t cost         # of a block
    int running          # a time slice ended between two blocks
    int64_t runs
    int64_t ran          # the iteration that it ran in last, while the results that only members read lack that one; -1: none
    int64_t entry        # and the entry of its loop

# What is known of a node of the plan besides its instruction.
cdef struct OptimizerNode:
    Region region        # first: of the node alone
    int pc
    int once             # index of the loop in whose entries it runs once; -1: it runs whenever it is met
    int64_t done         # the entry of that loop in which it ran last; -1: none
    VaryingBinding *varying     # NULL: bound on one spec
    VaryingBinding *cache       # bindings for other ranges of the extent: an inline cache
    int ncached
    int counts           # results that are as long as the calls say; as many calls come before, and after
    int renews           # it was bound to a call that gives versions
    int elided           # 1 and the calls that are left out: who reads the results reads what they are copies of (views.pyx)
    int through          # it is bound to read what inputs are copies of
    int looks            # it was so in one of its bindings; others ask for what nodes with elided copies would give
    FusedGroup *group         # the group that it leads, NULL: none

cdef struct OptimizerLoop:
    Program *program     # NULL: none
    BackoffTimer program_timer
    BackoffTimer groups_timer
    BackoffTimer views_timer       # of nodes whose readers follow an extent; at 0: there were none

cdef struct OptimizerState:
    OptimizerNode *nodes      # of the plan's instructions
    int nnodes
    OptimizerLoop *loops
    DirtyJournal *journal     # what was written on top of copies; NULL: nothing ever
    int64_t hot_after    # a loop that ran this often is worth a scalar program; -1: none is
    int fusion_enabled           # nodes run in groups
    int elision_active          # copies are elided (views.pyx)
    int64_t program_runs # how often a program was entered in this execution


cdef inline OptimizerState *fast(const ExecutionState *s) noexcept nogil:
    return <OptimizerState *>s.above


cdef inline OptimizerNode *optimizer_node(const ExecutionState *s, int pc) noexcept nogil:
    """What is known of the node at pc; NULL for an instruction that is not the plan's."""
    cdef OptimizerState *f = <OptimizerState *>s.above
    return f.nodes + pc if pc < f.nnodes else NULL


cdef inline OptimizerLoop *optimizer_loop(const ExecutionState *s, const LoopState *loop) noexcept nogil:
    return (<OptimizerState *>s.above).loops + loop.index


cdef inline int already_ran_in_entry(const ExecutionState *s, const OptimizerNode *n) noexcept nogil:
    """Did a node whose inputs stay as they are run in this entry of its loop?"""
    return n.done == s.loops[n.once].entries and not s.user_edited


cdef inline void schedule(ExecutionState *s, LoopState *loop) noexcept nogil:
    """When the loop is looked at next: where the first of all that wait for it is due."""
    cdef OptimizerLoop *f = optimizer_loop(s, loop)
    loop.optimizer_due_at = earliest_due(-1, &f.program_timer, loop.boundaries)
    loop.optimizer_due_at = earliest_due(loop.optimizer_due_at, &f.groups_timer, loop.boundaries)
    loop.optimizer_due_at = earliest_due(loop.optimizer_due_at, &f.views_timer, loop.boundaries)
