"""The engine: runs a Plan, stops at any boundary or node of any nesting, and goes on.

``interpreter.run_plan`` is the hot path: one loop over a flat array of instructions, without the GIL. The engine says where it
stops, and hands what needs Python to its parts, which work on one ``State`` in C: ``Memory`` (slots, and all that the
state stands in), ``Binder`` (nodes), ``Scans`` (scan outputs), ``Loops`` (entries, boundaries, exits), ``Histories`` (what was at
all boundaries), ``Checkpoints`` (going back), ``Changes`` (what-if) and ``Observers`` (predicates, records). Each says in its
constructor which parts it needs; none knows the engine. All that is fast is an ``Accelerator`` above them (fast/floor.pyx);
``LOOPDBG_FAST=0`` leaves it out.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uintptr_t, INT64_MAX
cimport numpy as np

from .plain.accelerator cimport Accelerator
from .plain.binder cimport Binder
from .time.history cimport Histories
from .plain.interpreter cimport LOOPDBG_CHECKED, decide, is_due, run_plan
from .plain.loops cimport Loops
from .plain.clock cimport clock_in, now
from .plain.memory cimport HELD, MAPPED, Memory
from .plain.pieces cimport release, take
from .plain.state cimport *
from .plain.scans cimport Scans

# Not the module around it, which makes an enum of every number: 6 us a run.
import _signal as signal
import os
import threading

import numpy as np

from ..errors import ExecutionError, LimitError, Remedy
from ..graph import System
from ..kernels.available import leave_allocations, watch_allocations
from .time.changes import Changes
from .time.checkpoints import Checkpoints
from .time.observers import Observers

np.import_array()

#: Whether new engines have what makes them fast; without it they give the same bits.
fast = os.environ.get("LOOPDBG_FAST", "") != "0"
#: Whether this is a build with bounds checks, which runs some iterations on a plain engine as well (selfcheck.py).
checked = bool(LOOPDBG_CHECKED)

cdef int _SIGINT = signal.SIGINT
# How long run_plan may run before signals and limits are looked at.
cdef double SLICE_SECONDS = 0.01
# How long an interrupt waits for a boundary.
cdef double PATIENCE_SECONDS = 0.05

# Whether Ctrl-C stops a run at its next boundary.
cdef enum Ears:
    CLOSED = 0
    WANTED = 1
    OPEN = 2


@cython.final
cdef class Engine:
    """One execution of a plan: memory, bound instructions, the stack of running loops.

    An engine runs one execution at a time, on one thread at a time; only :meth:`interrupt` may be called from another.
    """

    cdef readonly object plan
    cdef readonly Memory memory
    cdef Accelerator accelerator
    cdef readonly object fast        # the accelerator as Python has it; None: there is none
    cdef readonly Binder binder
    cdef readonly Scans scans
    cdef readonly Histories histories
    cdef readonly Loops loops
    cdef readonly object checkpoints
    cdef readonly object changes
    cdef readonly object observers
    cdef State *s
    cdef double tick_time
    cdef int64_t slice_budget
    cdef double interrupted          # when an interrupt was first seen, 0: none was
    cdef public object on_boundary   # called with the loop's index at every boundary while hooks are on
    cdef public object on_tick       # called about every 10 ms of a run
    cdef dict given                  # output -> the array that the execution before gave, if it is large
    cdef Ears ears
    cdef object allocator            # NumPy's, which another one stands in for; None: none does
    cdef bint comparing              # with a plain engine (selfcheck.py)

    def __init__(self, plan, bint plain=False):
        """``plain``: without what makes it fast."""
        self.plan = plan
        self.memory = Memory(plan)
        self.s = &self.memory.s
        if fast and not plain:
            from .fast.floor import Fast

            self.fast = Fast(self.memory)
            self.accelerator, self.binder = self.fast, self.fast.binder
        else:
            self.accelerator, self.binder = Accelerator(), Binder(self.memory)
        self.scans = Scans(self.memory)
        self.given = {}
        self.histories = Histories(self.memory)
        self.loops = Loops(self.memory, self.binder, self.scans, self.accelerator, self.histories)
        self.checkpoints = Checkpoints(self.memory, self.binder, self.loops, self.scans, self.accelerator, self.histories)
        self.changes = Changes(self.memory, self.binder, self.loops, self.histories, self.accelerator)
        self.observers = Observers(self.memory, self.binder, self.loops)
        self.slice_budget = 1_000_000
        if LOOPDBG_CHECKED:
            from . import selfcheck

            self.loops.checks = selfcheck
        self.set_limits()
        for slot, array in plan.constants:
            self.memory.set_constant(slot, array)

    # -- running

    def start(self, inputs, bint unseen=False):
        """Begin an execution, stopped before the first instruction.

        ``inputs``: for each input slot of the plan its value, already checked against the model. Tensors are not
        copied: they must not change while the execution lasts. ``unseen``: nobody looks at anything but the outputs.
        """
        cdef int k
        if self.s.by_hand:
            self.changes.undo()
        self.accelerator.begin(unseen)
        for slot, value in inputs.items():
            self.memory.put_input(slot, value)
        for k in range(self.memory.nloops):
            self.s.loops[k].active = self.s.loops[k].keep = 0
            self.s.loops[k].i = 0
            self.s.loops[k].trip = self.s.loops[k].parts = -1
            self.s.loops[k].ended = RUNNING
            self.s.loops[k].edited = 0
            self.s.loops[k].iterations = self.s.loops[k].entries = 0
            self.s.loops[k].seconds = 0
            for j in range(4):
                self.s.loops[k].by_reason[j] = 0
        self.binder.invalidate()
        self.s.pc = self.s.depth = 0
        self.s.interrupt = 0
        self.s.suspended = NULL
        self.s.epoch += 1
        self.checkpoints.begin()
        self.observers.begin()
        self.histories.begin()
        self.clear_stops()

    def clear_stops(self):
        """Forget every stop that was asked for; hooks and limits stay."""
        cdef int k
        self.s.stepping &= ~STEPPING
        self.s.stop_any = 0
        self.s.watch = self.s.hook_any or self.s.c_hook != NULL or self.s.interrupt
        for k in range(self.memory.nloops):
            self.s.loops[k].next_event = INT64_MAX
            self.s.loops[k].event_at_end = 0

    def stop_at(self, int index, int64_t iteration):
        """Ask for a stop at the first boundary of a loop from this iteration on, and at the loop's end."""
        self.s.loops[index].next_event = iteration
        self.s.loops[index].event_at_end = 1

    def stop_at_end(self, int index):
        """Ask for a stop where a loop ends."""
        self.s.loops[index].event_at_end = 1

    def stop_anywhere(self):
        """Ask for a stop at the next boundary of any loop."""
        self.s.stop_any = self.s.watch = 1

    def stop_before_node(self):
        """Ask for a stop before the very next node."""
        self.s.stepping |= STEPPING
        self.s.moved, self.s.step_depth = 1, self.s.depth

    def stop_at_node(self, depth=None):
        """Ask for a stop before the next node of the innermost running loop (or, once that ended, further out).

        ``depth``: the number of running loops that the node may have around it, where the present one was left already.
        """
        self.s.stepping |= STEPPING
        self.s.moved = depth is not None and depth < self.s.depth
        self.s.step_depth = self.s.depth if depth is None else depth

    @property
    def stop_is_asked(self):
        """Does somebody want a stop at the next boundary, or look at every boundary?"""
        return bool(self.s.watch)

    def set_breaks(self, int index, iterations):
        """Stop at these iterations' boundaries in every entry of a loop; replaces those set before."""
        cdef LoopState *loop = self.s.loops + index
        wanted = sorted(iterations)
        cdef int64_t *breaks = <int64_t *>take(self.s.own, len(wanted), sizeof(int64_t))
        for k, iteration in enumerate(wanted):
            breaks[k] = iteration
        release(loop.breaks)
        loop.breaks, loop.nbreaks = breaks, len(wanted)

    def set_traps(self, positions):
        """Stop before each of these instructions (nodes, Ifs, ENTERs) whenever it is met; replaces those set before."""
        cdef int k
        wanted = frozenset(positions)
        for k in range(self.memory.ncode):
            trap = k in wanted
            if trap != self.s.code[k].trap:
                self.s.code[k].trap = trap
                self.s.generation += 1      # scalar programs do not stop before instructions
        self.s.stepping = self.s.stepping & ~TRAPS | (TRAPS if wanted else 0)

    def set_limits(self, max_iterations=None, bint refuse_endless=False):
        """Bound every entry of every loop; ``refuse_endless``: stop loops that nothing can end (docs/semantics.md 3.2).

        Where a condition cannot change but its value is known only after iteration 0, that iteration still runs.
        """
        cdef int k
        cdef int64_t limit = INT64_MAX if max_iterations is None else max_iterations
        for k in range(self.memory.nloops):
            self.s.loops[k].limit = limit
            self.s.loops[k].endless_at = self.s.loops[k].endless_from if refuse_endless and max_iterations is None else -1

    def raise_limit(self, int index, int64_t more):
        """Let a loop that reached its limit go on for some iterations."""
        self.s.loops[index].limit = self.s.loops[index].i + more

    def set_hook(self, hook):
        """Call ``hook(loop_index)`` at every boundary of every loop; a true result stops there. None: no more."""
        self.on_boundary = hook
        self.s.hook_any = hook is not None
        self.s.watch = self.s.watch or self.s.hook_any

    def set_c_hook(self, uintptr_t function, uintptr_t context=0):
        """Call a C function at every boundary of every loop, without the GIL; 0: no more.

        ``int function(void *context, const BoundaryView *view)``; not 0 stops there. The struct is in ``state.pxd``.
        """
        self.s.c_hook = <boundary_hook>function
        self.s.c_context = <void *>context
        self.s.watch = self.s.watch or function != 0

    def interrupt(self):
        """Stop at the next boundary; from any thread or a signal handler."""
        self.s.interrupt = 1
        self.s.watch = 1

    def clear_interrupt(self):
        """Forget an interrupt that no stop has answered."""
        self.s.interrupt = 0

    def resume(self):
        """Run until a stop.

        Returns: ``("end", -1)``, ``("boundary", loop)``, ``("predicate", loop)`` (``observers.hits`` says which are true),
        ``("node", pc)``, ``("limit", loop)`` or ``("interrupt", -1)``.

        Raises:
            ExecutionError: a node or a boundary failed; the engine stays there.
            LimitError: a loop that nothing can end was met, and ``set_limits`` said to refuse those.
        """
        if self.s.running:
            raise RuntimeError("this engine is running already")
        self.s.running = 1
        self.s.epoch += 1
        self.s.fresh = 1
        self.ears = WANTED
        try:                          # all of it may want memory that there is not
            if self.accelerator.watched_at != self.s.generation:
                slots = self.observers.slots_read() | self.histories.slots_read()
                self.accelerator.watch(self.s.generation, frozenset(slots))
            if self.s.stepping & STEPPING:
                self.loops.settle()     # inside the iteration that follows it cannot be had any more
            return self.run()
        finally:
            settle_slots(self.s)
            if self.s.stepping & TIMING:
                clock_in(self.s, -1)
            self.s.running = 0
            if self.allocator is not None:
                leave_allocations(self.allocator)
                self.allocator = None
            if self.ears == OPEN:
                signal.signal(_SIGINT, signal.default_int_handler)
            self.ears = CLOSED

    cdef int listen(self) except -1:
        """Let Ctrl-C stop the run at its next boundary, from now on."""
        self.ears = CLOSED
        try:
            self.take_signal()
        except KeyboardInterrupt:       # it was pressed since the run began
            if signal.getsignal(_SIGINT) is not signal.default_int_handler:
                raise
            self.interrupt()
            self.take_signal()

    cdef int take_signal(self) except -1:
        # Where somebody else decides what Ctrl-C means, that holds.
        if threading.get_ident() == threading.main_thread().ident and \
                signal.getsignal(_SIGINT) is signal.default_int_handler:
            signal.signal(_SIGINT, self.on_signal)
            self.ears = OPEN

    def on_signal(self, number, frame):
        """First Ctrl-C: stop at the next boundary. A second one, while a hook hangs, is an ordinary interrupt."""
        if self.s.interrupt:
            raise KeyboardInterrupt
        self.interrupt()

    cdef object run(self):
        cdef int status, index
        self.tick_time = now()
        self.s.budget = self.slice_budget
        self.interrupted = 0
        while True:
            with nogil:
                status = run_plan(self.s)
            if status == S_END:
                return ("end", -1)
            if self.ears == WANTED:     # a run that ends at once asks for neither: both took as long as a short run
                self.allocator = watch_allocations()
                self.listen()
            if status == S_PYTHON:
                self.binder.run_node(self.s.pc)
                # A node in Python may take any time: the clock decides, not its cost.
                if self.s.interrupt or now() - self.tick_time > SLICE_SECONDS:
                    status = S_TICK
            elif status == S_SLOW:
                index = self.loops.control_slow(self.s.pc)
                if index >= 0:
                    self.look(index)
            elif status == S_BOUNDARY:
                stop = self.at_boundary(self.s.code[self.s.pc].loop)
                if stop is not None:
                    return stop
            elif status == S_NODE:
                return ("node", self.s.pc)
            elif status == S_LIMIT:
                return self.at_limit(self.s.code[self.s.pc].loop)
            elif status == S_LOOK:
                self.look(self.s.stack[self.s.depth - 1])
            elif status == S_OBSERVE:
                self.observers.observe_slowly(self.s.code[self.s.pc].loop)
                # What it asked of Python may take any time.
                if self.s.interrupt or now() - self.tick_time > SLICE_SECONDS:
                    status = S_TICK
            elif status == S_TESTED:
                return ("tested", -1)
            elif status == S_NO_SLICE:
                self.no_slice(self.s.code[self.s.pc].loop)
            if status == S_TICK and self.tick():
                return ("interrupt", -1)

    cdef int look(self, int index) except -1:
        """A loop that just crossed a boundary may be due for the floor above. Builds with bounds checks run the two iterations
        that follow on a plain engine as well: where something new was made, and where values have grown."""
        cdef LoopState *loop = self.s.loops + index
        cdef bint due = is_due(loop)
        if due:
            self.accelerator.look(index)
        if LOOPDBG_CHECKED and (due or loop.i in (3, 30)) and self.fast is not None and self.may_compare():
            self.comparing = True
            try:
                self.loops.checks.against_plain(self, index)
            finally:
                self.comparing = False

    cdef bint may_compare(self) noexcept:
        """Does nobody want a stop in these iterations?"""
        cdef LoopState *loop
        cdef int k
        for k in range(self.memory.nloops):
            loop = self.s.loops + k
            if loop.observers or loop.nbreaks or loop.event_at_end or loop.next_event != INT64_MAX:
                return False
        return not (self.comparing or self.stop_is_asked or self.s.stepping)

    def limit_like(self, Engine other not None):
        """Take over the limits of another engine of the same plan."""
        cdef int k
        for k in range(self.memory.nloops):
            self.s.loops[k].limit, self.s.loops[k].endless_at = other.s.loops[k].limit, other.s.loops[k].endless_at

    def retest(self):
        """Something was changed at a boundary: where the condition is that of the iteration itself, decide again.

        Raises:
            ExecutionError: what the condition needs cannot be computed; the engine stays there.
        """
        cdef LoopState *loop
        cdef int stepping = self.s.stepping
        if not self.s.depth:
            return
        loop = self.s.loops + self.s.stack[self.s.depth - 1]
        if loop.top == loop.head or self.s.pc != loop.head:
            return
        self.s.epoch += 1
        self.s.pc, loop.keep = top_of(loop), 1
        if self.s.pc != loop.head:
            loop.retest, self.s.stepping, self.s.running = 1, 0, 1
            try:
                while self.s.pc != loop.head:
                    self.run()
            finally:
                loop.retest, self.s.stepping, self.s.running = 0, stepping, 0
        loop.ended = decide(loop)

    def run_to(self, int index, int64_t iteration):
        """Run on to a loop's boundary, or its end, whatever stops were asked for; they stay."""
        cdef LoopState *loop = self.s.loops + index
        asked = (loop.next_event, loop.event_at_end)
        loop.next_event, loop.event_at_end = min(loop.next_event, iteration), 1
        try:
            return self.run()
        finally:
            settle_slots(self.s)
            loop.next_event, loop.event_at_end = asked

    cdef object at_boundary(self, int index):
        cdef LoopState *loop = self.s.loops + index
        cdef int why = self.s.why
        loop.reported = 1
        self.observers.hits = self.observers.true_predicates(index) if why & 4 else ()
        if why & 2:
            self.s.epoch += 1
            if self.on_boundary(index):
                why |= 1
        if self.s.interrupt:
            self.s.interrupt = 0
            return ("interrupt", -1)
        if why & 4:
            return ("predicate", index)
        return ("boundary", index) if why & 1 else None

    cdef object at_limit(self, int index):
        cdef LoopState *loop = self.s.loops + index
        if loop.i < loop.limit:
            node = self.plan.loops[index].loop
            trips = "has no trip count" if loop.trip < 0 else f"has the trip count {loop.trip}, which no run comes to"
            raise LimitError(f"{node.describe()} {trips}, and its condition cannot change: it would never end",
                             Remedy.LIMIT_ITERATIONS)
        loop.reported = 1
        return ("limit", index)

    cdef int no_slice(self, int index) except -1:
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        for k in range(loop.nslices):
            if loop.slices[k].parts <= loop.i and not self.loops.fill_up(index, k):
                sliced = self.plan.loops[index].slices[k].sliced
                if sliced.from_trip_count and not loop.i:
                    raise ExecutionError(f"{self.memory.at(index)}: reverse iterator '{sliced.inner.name}' begins at part "
                                         f"{loop.trip - 1} (the trip count is {loop.trip}), and '{sliced.outer.name}' "
                                         f"{list(self.memory.look(loop.slices[k].outer).shape)} has no such part along axis "
                                         f"{sliced.axis}")
                word = "iterator over" if self.plan.loops[index].loop.system is System.TENSORRT else "sliced input"
                raise ExecutionError(f"{self.memory.at(index)}: the {word} '{sliced.outer.name}' has only "
                                     f"{loop.slices[k].parts} parts; the loop wants part {loop.i}")
        # Parts that nothing needs were made up: the boundary, which was told of, is gone over again.
        loop.parts = min([loop.slices[k].parts for k in range(loop.nslices)])
        loop.reported = 1

    cdef int tick(self) except -1:
        """Look at signals; adapt how long run_plan may run. True: stop here."""
        PyErr_CheckSignals()
        t = now()
        elapsed = max(t - self.tick_time, 1e-6)
        self.slice_budget = <int64_t>min(max(self.slice_budget * min(max(SLICE_SECONDS / elapsed, 0.1), 4.0), 1e4), 1e9)
        self.s.budget, self.tick_time = self.slice_budget, t
        self.accelerator.tick()
        if self.on_tick is not None:
            self.on_tick()
        if self.s.interrupt:
            # The next boundary stops; where a body takes long to get there, stop between its nodes.
            if not self.interrupted:
                self.interrupted = t
            elif t - self.interrupted > PATIENCE_SECONDS and not self.accelerator.is_busy():
                self.s.interrupt = 0
                return 1
        return 0

    # -- where the time goes

    def time_nodes(self, bint on):
        """Add up from here on what each instruction takes; what was added up before is forgotten."""
        self.s.stepping &= ~TIMING
        release(self.s.spent)
        self.s.spent, self.s.timed = NULL, -1
        if on:
            self.s.spent = <double *>take(self.s.own, self.memory.ncode, sizeof(double))
            self.s.stepping |= TIMING

    @property
    def node_seconds(self):
        """Seconds of each instruction of the plan: those of a group are its leader's, those of a scalar program the
        boundary's."""
        return [self.s.spent[k] if self.s.spent != NULL else 0.0 for k in range(len(self.plan.code))]

    # -- looking, while stopped

    @property
    def shapes_met(self):
        """How many shapes it knows from all its executions: what it keeps of each is never forgotten."""
        return self.memory.specs.count

    @property
    def running(self):
        """True while somebody's :meth:`resume` lasts."""
        return bool(self.s.running)

    @property
    def epoch(self):
        """Grows whenever the engine goes on: what was read before may be stale."""
        return self.s.epoch

    @property
    def position(self):
        """Where the execution stands: see :attr:`Loops.position`."""
        return self.loops.position

    @property
    def pc(self):
        """Position of the instruction that runs next."""
        return self.s.pc

    @property
    def stack(self):
        """Indices of the running loops, outermost first."""
        return [self.s.stack[k] for k in range(self.s.depth)]

    def value(self, int slot):
        """A copy of what a slot holds: an array, a list, or None. The caller knows whether it was computed."""
        self.accelerator.ask(slot)
        return self.memory.value(slot)

    def peek(self, int slot):
        """What a slot holds, not copied: good until the engine goes on, and never to be written."""
        self.accelerator.ask(slot)
        return self.memory.peek(slot)

    def results(self):
        """The outputs of an execution that ended, by name; copies. A large one may be the array of the execution before, if
        nobody else holds it.

        Raises:
            ExecutionError: an output that nothing wrote.
        """
        cdef int slot
        results = {}
        for name, slot in self.plan.outputs:
            if not self.is_there(slot):
                raise ExecutionError(f"output '{name}' has no value")
            before = self.given.pop(name, None)
            value = results[name] = self.memory.value(slot) if before is None else self.memory.value_again(slot, before)
            if self.s.slots[slot].spec and MAPPED <= np.PyArray_NBYTES(value) <= HELD:
                self.given[name] = value
        return results

    def has_value(self, int slot):
        """False where a slot was never written, or what the last iteration gave cannot be had any more: inside an
        iteration, of nodes that ran in a group and did not run again yet."""
        return self.is_there(slot)

    cdef bint is_there(self, int slot) except -1:
        self.accelerator.ask(slot)
        return self.s.slots[slot].owner != NULL and self.accelerator.is_there(slot)

    def loop_state(self, int index):
        """(iteration, trip count or None, condition, reason it ended or None, active) of a loop."""
        return self.loops.state(index)
