"""When to look again: the one schedule of the engine.

Whatever costs more than an iteration (binding a node anew, planning a group, making a program) is tried when it is due, and
later and later while that is in vain. Everything that waits for its turn waits here.
"""

from libc.stdint cimport int64_t

# Something that is looked at after so many boundaries of a loop.
cdef struct BackoffTimer:
    int64_t at           # the count of boundaries at which it is due; -1: never
    int64_t wait         # how long to wait where that was in vain

# A node whose inputs change their dtype or shape.
cdef struct RebindPolicy:
    int bound            # how often it was bound in a row
    int stable           # executions in Python since its inputs last changed; -1: it cannot be bound until they do
    int64_t waited       # executions in Python since it was last tried
    int64_t pause        # and how many to wait

cdef enum:
    # A node that was bound so often runs in Python until its inputs have stayed the same for so many executions.
    MAX_CONSECUTIVE_BINDINGS = 3
    STABLE_AFTER_EXECUTIONS = 8
    FIRST_PAUSE_EXECUTIONS = 32
    # A value that a region leaves out and that was asked for so often is written from then on.
    MATERIALIZE_LIMIT = 3


cdef inline void back_off(BackoffTimer *turn, int64_t now) noexcept nogil:
    """It was in vain: look again after ``wait`` more; whoever waits says how that grows."""
    turn.at = now + turn.wait


cdef inline int64_t earliest_due(int64_t next, const BackoffTimer *turn, int64_t now) noexcept nogil:
    """The earlier of two counts that are still ahead; -1: none is."""
    if turn.at <= now:
        return next
    return turn.at if next < 0 or turn.at < next else next


cdef inline void on_inputs_changed(RebindPolicy *b) noexcept nogil:
    """It may be tried again."""
    b.stable = 0


cdef inline int binding_is_due(const RebindPolicy *b) noexcept nogil:
    return b.stable >= 0 and (b.bound < MAX_CONSECUTIVE_BINDINGS or b.stable >= STABLE_AFTER_EXECUTIONS or b.waited >= b.pause)


cdef inline void on_binding_attempt(RebindPolicy *b) noexcept nogil:
    b.pause = FIRST_PAUSE_EXECUTIONS if b.bound < MAX_CONSECUTIVE_BINDINGS else 4 * b.pause
    b.waited = 0


cdef inline void on_bound(RebindPolicy *b, int lasting) noexcept nogil:
    """``lasting``: what it was bound to holds for many shapes."""
    b.bound = 0 if b.stable >= STABLE_AFTER_EXECUTIONS or lasting else b.bound + 1


cdef inline void on_unbindable(RebindPolicy *b) noexcept nogil:
    """As its inputs are, it runs in Python."""
    b.stable = -1


cdef inline void on_python_run(RebindPolicy *b) noexcept nogil:
    if b.stable >= 0:
        b.stable += 1
        b.waited += 1
