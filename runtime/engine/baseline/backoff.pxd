"""Retry expensive work (rebinding, fusion, code generation) with exponential back-off."""

from libc.stdint cimport int64_t

# When to retry, in boundaries of a loop.
cdef struct BackoffTimer:
    int64_t due_at       # boundary count of the next attempt; -1: never
    int64_t wait         # boundaries to wait after a failed attempt

# When to bind a node again whose inputs change their dtype or shape.
cdef struct RebindPolicy:
    int bound            # consecutive bindings
    int stable           # executions in Python since its inputs last changed; -1: not bindable with the present inputs
    int64_t waited       # executions in Python since the last attempt
    int64_t pause        # executions to wait before the next

cdef enum:
    # After this many bindings a node runs in Python until its inputs are stable for STABLE_AFTER_EXECUTIONS executions.
    MAX_CONSECUTIVE_BINDINGS = 3
    STABLE_AFTER_EXECUTIONS = 8
    FIRST_PAUSE_EXECUTIONS = 32
    # At this pause, attempts that fail take about 1 % of the time of the executions in Python between them.
    MAX_PAUSE_EXECUTIONS = 8192
    # Number of requests for an omitted value after which a region writes it.
    MATERIALIZE_LIMIT = 3


cdef inline void back_off(BackoffTimer *timer, int64_t now) noexcept nogil:
    """Failed attempt: retry after ``wait`` boundaries; the caller sets the growth."""
    timer.due_at = now + timer.wait


cdef inline int64_t earliest_due(int64_t next, const BackoffTimer *timer, int64_t now) noexcept nogil:
    """The earlier of two due counts that are after ``now``; -1: none is."""
    if timer.due_at <= now:
        return next
    return timer.due_at if next < 0 or timer.due_at < next else next


cdef inline void on_inputs_changed(RebindPolicy *b) noexcept nogil:
    """Allow another attempt."""
    b.stable = 0


cdef inline int binding_is_due(const RebindPolicy *b) noexcept nogil:
    return b.stable >= 0 and (b.bound < MAX_CONSECUTIVE_BINDINGS or b.stable >= STABLE_AFTER_EXECUTIONS or b.waited >= b.pause)


cdef inline void on_binding_attempt(RebindPolicy *b) noexcept nogil:
    if b.bound >= MAX_CONSECUTIVE_BINDINGS:
        # Attempts come in pairs: a binding for a range follows from two shapes in one execution of the plan.
        b.bound = MAX_CONSECUTIVE_BINDINGS - 2
        b.pause = min(4 * b.pause, <int64_t>MAX_PAUSE_EXECUTIONS)
    b.pause = max(b.pause, <int64_t>FIRST_PAUSE_EXECUTIONS)
    b.waited = 0


cdef inline void on_bound(RebindPolicy *b, int lasting) noexcept nogil:
    """``lasting``: the binding serves many shapes."""
    if b.stable >= STABLE_AFTER_EXECUTIONS or lasting:
        b.bound, b.pause = 0, FIRST_PAUSE_EXECUTIONS
    else:
        b.bound += 1


cdef inline void on_unbindable(RebindPolicy *b) noexcept nogil:
    """Run in Python until the inputs change."""
    b.stable = -1


cdef inline void on_python_run(RebindPolicy *b) noexcept nogil:
    if b.stable >= 0:
        b.stable += 1
        b.waited += 1
