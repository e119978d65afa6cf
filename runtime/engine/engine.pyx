"""The engine: runs a Plan, stops at any boundary or node of any nesting, and resumes.

``interpreter.run_plan`` is the hot path: one loop over a flat array of instructions, without the GIL. The engine
decides where it stops, and delegates what needs Python to its parts, which share one ``ExecutionState`` in C:
``Memory`` (owner of the state and its slots), ``NodeBinder`` (nodes), ``ScanOutputs`` (scan outputs), ``Loops``
(entries, boundaries, exits), ``ValueHistories`` (values at all boundaries), ``Checkpoints`` (going back),
``ExecutionEditor`` (what-if) and ``BoundaryMonitor`` (predicates, records). Each names the parts it needs in its
constructor; none depends on the engine. An ``OptimizerBase`` makes it fast (optimized/optimizer.pyx);
``LOOPDBG_FAST=0`` leaves it out.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uintptr_t, INT64_MAX
cimport numpy as np

from .baseline.optimizer_base cimport OptimizerBase
from .baseline.binder cimport NodeBinder
from .baseline.generations cimport differs_by_predicates
from .history.value_history cimport ValueHistories
from .baseline.interpreter cimport LOOPDBG_CHECKED, end_reason, optimizer_is_due, run_plan
from .baseline.loops cimport Loops
from .baseline.clock cimport charge_time_to, now, seconds_per_tick, ticks_per_reading
from .baseline.memory cimport KEPT_ARRAY_MAX_BYTES, REUSED_OUTPUT_MIN_BYTES, Memory
from .baseline.arena cimport arena_free_tree, arena_alloc
from .baseline.state cimport *
from .baseline.scan_outputs cimport ScanOutputs

# Not ``signal``, which wraps every number in an enum: 6 us a run.
import _signal as signal
import math
import os
import threading

import numpy as np

from ..errors import ExecutionError, LimitError, Remedy
from ..graph import System
from ..kernels.memory_guard import restore_allocator, install_guarded_allocator
from .history.edits import ExecutionEditor
from .history.checkpoints import Checkpoints
from .history.boundary_monitor import BoundaryMonitor

np.import_array()

#: Whether new engines have an optimizer; without it they give the same bits.
optimizer_enabled = os.environ.get("LOOPDBG_FAST", "") != "0"
#: Whether this build has bounds checks; it then runs some iterations on a baseline engine as well (selfcheck.py).
is_checked_build = bool(LOOPDBG_CHECKED)

cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX

cdef int _SIGINT = signal.SIGINT
# Time slice of run_plan between checks of signals and limits.
cdef double SLICE_SECONDS = 0.01
# Time that an interrupt waits for a boundary.
cdef double INTERRUPT_PATIENCE_SECONDS = 0.05
# Of the clock of instructions; 0: not measured yet.
cdef double tick_seconds = 0.0

# State of the SIGINT handler.
cdef enum SigintState:
    SIGINT_INACTIVE = 0
    SIGINT_PENDING = 1
    SIGINT_INSTALLED = 2


@cython.final
cdef class Engine:
    """One execution of a plan: memory, bound instructions, the stack of running loops.

    An engine runs one execution at a time, on one thread at a time; only :meth:`interrupt` may be called from another.
    """

    cdef readonly object plan
    cdef readonly Memory memory
    cdef OptimizerBase optimizer_base
    cdef readonly object optimizer        # None: no optimizer
    cdef readonly NodeBinder binder
    cdef readonly ScanOutputs scans
    cdef readonly ValueHistories histories
    cdef readonly Loops loops
    cdef readonly object checkpoints
    cdef readonly object editor
    cdef readonly object monitor
    cdef ExecutionState *s
    cdef double tick_time
    cdef int64_t slice_budget
    cdef double interrupted_at          # time when an interrupt was first seen, 0: none
    cdef public object on_boundary   # called with the loop's index at every boundary while hooks are on
    cdef public object on_tick       # called about every 10 ms of a run
    cdef readonly bint handed_over        # results() gave memory of this engine away: it cannot run again
    cdef dict reusable_outputs                  # output -> its large array from the previous execution
    cdef SigintState sigint_state
    cdef object previous_allocator            # NumPy's, while the guarded one replaces it; else None
    cdef bint self_checking              # a baseline engine runs (selfcheck.py)

    def __init__(self, plan, bint baseline=False):
        """``baseline``: without an optimizer."""
        self.plan = plan
        self.memory = Memory(plan)
        self.s = &self.memory.s
        if optimizer_enabled and not baseline:
            from .optimized.optimizer import Optimizer

            self.optimizer = Optimizer(self.memory)
            self.optimizer_base, self.binder = self.optimizer, self.optimizer.binder
        else:
            self.optimizer_base, self.binder = OptimizerBase(), NodeBinder(self.memory)
        self.scans = ScanOutputs(self.memory)
        self.reusable_outputs = {}
        self.histories = ValueHistories(self.memory)
        self.loops = Loops(self.memory, self.binder, self.scans, self.optimizer_base, self.histories)
        self.checkpoints = Checkpoints(self.memory, self.binder, self.loops, self.scans, self.optimizer_base, self.histories)
        self.editor = ExecutionEditor(self.memory, self.binder, self.loops, self.histories, self.optimizer_base)
        self.monitor = BoundaryMonitor(self.memory, self.binder, self.loops)
        self.slice_budget = 1_000_000
        if LOOPDBG_CHECKED:
            from . import selfcheck

            self.loops.checks = selfcheck
        self.set_limits()
        for slot, array in plan.constants:
            self.memory.set_constant(slot, array)

    # -- running

    def start(self, inputs, bint outputs_only=False):
        """Begin an execution, stopped before the first instruction.

        ``inputs``: for each input slot of the plan its value, already checked against the model. Tensors are not
        copied: they must not change while the execution lasts. ``outputs_only``: only the outputs are read.
        """
        cdef int k
        if self.s.user_edited:
            self.editor.undo_all()
        self.memory.outputs_only = outputs_only
        self.optimizer_base.begin(outputs_only)
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
            for j in range(3):
                self.s.loops[k].by_length[j] = 0
        self.scans.begin()
        self.binder.invalidate()
        self.s.pc = self.s.depth = 0
        self.s.interrupt = 0
        self.s.timed_weight = 1
        if self.s.node_times != NULL:
            self.s.stepping |= TIMING
        self.s.suspended = NULL
        self.s.epoch += 1
        self.checkpoints.begin()
        self.monitor.begin()
        self.histories.begin()
        self.clear_stops()

    def clear_stops(self):
        """Remove all stops; hooks and limits stay."""
        cdef int k
        self.s.stepping &= ~STEPPING
        self.s.stop_any = 0
        self.s.watch = self.s.hook_any or self.s.c_hook != NULL or self.s.interrupt
        for k in range(self.memory.nloops):
            self.s.loops[k].stop_at_iteration = INT64_MAX
            self.s.loops[k].stop_at_exit = 0

    def stop_at(self, int index, int64_t iteration):
        """Stop at the first boundary of a loop from this iteration on, and at the loop's end."""
        self.s.loops[index].stop_at_iteration = iteration
        self.s.loops[index].stop_at_exit = 1

    def stop_at_end(self, int index):
        """Stop where a loop ends."""
        self.s.loops[index].stop_at_exit = 1

    def stop_anywhere(self):
        """Stop at the next boundary of any loop."""
        self.s.stop_any = self.s.watch = 1

    def stop_before_node(self):
        """Stop before the very next node."""
        self.s.stepping |= STEPPING
        self.s.moved, self.s.step_depth = 1, self.s.depth

    def stop_at_node(self, depth=None):
        """Stop before the next node of the innermost running loop (or, once that ended, further out).

        ``depth``: maximum number of running loops around that node, if the present one was left already.
        """
        self.s.stepping |= STEPPING
        self.s.moved = depth is not None and depth < self.s.depth
        self.s.step_depth = self.s.depth if depth is None else depth

    @property
    def stop_requested(self):
        """Does a stop or a hook apply to the next boundary?"""
        return bool(self.s.watch)

    def set_breaks(self, int index, iterations):
        """Stop at these iterations' boundaries in every entry of a loop; replaces earlier ones."""
        cdef LoopState *loop = self.s.loops + index
        ordered = sorted(iterations)
        cdef int64_t *breaks = <int64_t *>arena_alloc(self.s.own, len(ordered), sizeof(int64_t))
        for k, iteration in enumerate(ordered):
            breaks[k] = iteration
        arena_free_tree(loop.breaks)
        loop.breaks, loop.nbreaks = breaks, len(ordered)

    def set_traps(self, positions):
        """Stop before each of these instructions (nodes, Ifs, ENTERs) at every execution; replaces earlier ones."""
        cdef int k
        trapped = frozenset(positions)
        for k in range(self.memory.ncode):
            trap = k in trapped
            if trap != self.s.code[k].trap:
                self.s.code[k].trap = trap
                self.s.generation += 1      # scalar programs do not stop before instructions
        self.s.stepping = self.s.stepping & ~TRAPS | (TRAPS if trapped else 0)

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
        """Let a loop that reached its limit run some more iterations."""
        self.s.loops[index].limit = self.s.loops[index].i + more

    def set_hook(self, hook):
        """Call ``hook(loop_index)`` at every boundary of every loop; a true result stops there. None: remove it."""
        self.on_boundary = hook
        self.s.hook_any = hook is not None
        self.s.watch = self.s.watch or self.s.hook_any

    def set_c_hook(self, uintptr_t function, uintptr_t context=0):
        """Call a C function at every boundary of every loop, without the GIL; 0: remove it.

        ``int function(void *context, const BoundaryView *view)``; nonzero stops there. The struct is in ``state.pxd``.
        """
        self.s.c_hook = <boundary_hook>function
        self.s.c_context = <void *>context
        self.s.watch = self.s.watch or function != 0

    def interrupt(self):
        """Stop at the next boundary; callable from any thread or a signal handler."""
        self.s.interrupt = 1
        self.s.watch = 1

    def clear_interrupt(self):
        """Cancel an interrupt that no stop has answered."""
        self.s.interrupt = 0

    def resume(self):
        """Run until a stop.

        Returns: ``("end", -1)``, ``("boundary", loop)``, ``("predicate", loop)`` (``monitor.hits`` lists the true
        ones), ``("node", pc)``, ``("limit", loop)`` or ``("interrupt", -1)``.

        Raises:
            ExecutionError: a node or a boundary failed; the engine stays there.
            LimitError: a loop that nothing can end was met, which ``set_limits`` refuses.
        """
        if self.s.running:
            raise RuntimeError("this engine is running already")
        self.s.running = 1
        self.s.epoch += 1
        self.s.just_resumed = 1
        self.sigint_state = SIGINT_PENDING
        try:  # all of it may run out of memory
            if not differs_by_predicates(self.optimizer_base.watched_generation, self.s.generation):
                slots = self.monitor.slots_read() | self.histories.slots_read()
                self.optimizer_base.watch(self.s.generation, frozenset(slots))
            if self.s.stepping & STEPPING:
                self.loops.materialize_all()     # inside the next iteration they are lost
            return self.run()
        finally:
            flush_suspended(self.s)
            if self.s.stepping & TIMING:
                charge_time_to(self.s, -1)
            self.s.running = 0
            if self.previous_allocator is not None:
                restore_allocator(self.previous_allocator)
                self.previous_allocator = None
            if self.sigint_state == SIGINT_INSTALLED:
                signal.signal(_SIGINT, signal.default_int_handler)
            self.sigint_state = SIGINT_INACTIVE

    cdef int install_sigint_handler(self) except -1:
        """From here on, Ctrl-C stops the run at its next boundary."""
        self.sigint_state = SIGINT_INACTIVE
        try:
            self.claim_sigint()
        except KeyboardInterrupt:       # pressed since the run began
            if signal.getsignal(_SIGINT) is not signal.default_int_handler:
                raise
            self.interrupt()
            self.claim_sigint()

    cdef int claim_sigint(self) except -1:
        # Another handler for Ctrl-C takes precedence.
        if threading.get_ident() == threading.main_thread().ident and \
                signal.getsignal(_SIGINT) is signal.default_int_handler:
            signal.signal(_SIGINT, self.handle_sigint)
            self.sigint_state = SIGINT_INSTALLED

    def handle_sigint(self, number, frame):
        """First Ctrl-C: stop at the next boundary. A second one, while a hook hangs: KeyboardInterrupt."""
        if self.s.interrupt:
            raise KeyboardInterrupt
        self.interrupt()

    cdef object run(self):
        cdef int status, index
        self.tick_time = now()
        self.s.budget = self.slice_budget
        self.interrupted_at = 0
        while True:
            with nogil:
                status = run_plan(self.s)
            if status == S_END:
                return ("end", -1)
            # Deferred: these cost as much as a short run. Where no more than a predicate may stop it, no Python code runs.
            if self.sigint_state == SIGINT_PENDING and not (status == S_BOUNDARY and self.s.stop_reasons == 4):
                self.previous_allocator = install_guarded_allocator()
                self.install_sigint_handler()
            if status == S_PYTHON:
                self.binder.run_node(self.s.pc)
                # A node in Python may take any time: use the clock, not its cost.
                if self.s.interrupt or now() - self.tick_time > SLICE_SECONDS:
                    status = S_TICK
            elif status == S_SLOW:
                index = self.loops.run_control_in_python(self.s.pc)
                if index >= 0:
                    self.look(index)
            elif status == S_BOUNDARY:
                stop = self.handle_boundary(self.s.code[self.s.pc].loop)
                if stop is not None:
                    return stop
            elif status == S_NODE:
                return ("node", self.s.pc)
            elif status == S_LIMIT:
                return self.handle_limit(self.s.code[self.s.pc].loop)
            elif status == S_OPTIMIZE:
                self.look(self.s.stack[self.s.depth - 1])
            elif status == S_OBSERVE:
                self.monitor.observe_slow(self.s.code[self.s.pc].loop)
                # Python code in it may take any time.
                if self.s.interrupt or now() - self.tick_time > SLICE_SECONDS:
                    status = S_TICK
            elif status == S_CONDITION_TESTED:
                return ("tested", -1)
            elif status == S_NO_SLICE:
                self.handle_missing_part(self.s.code[self.s.pc].loop)
            if status == S_TICK and self.on_time_slice_end():
                return ("interrupt", -1)

    cdef int look(self, int index) except -1:
        """Run the optimizer if it is due at a loop that just crossed a boundary. Builds with bounds checks compare the
        next two iterations with a baseline engine: after an optimization, and where values have grown."""
        cdef LoopState *loop = self.s.loops + index
        cdef bint due = optimizer_is_due(loop)
        if due:
            self.optimizer_base.look(index)
        if LOOPDBG_CHECKED and (due or loop.i in (3, 30)) and self.optimizer is not None and self.can_self_check():
            self.self_checking = True
            try:
                self.loops.checks.check_against_baseline(self, index)
            finally:
                self.self_checking = False

    cdef bint can_self_check(self) noexcept:
        """Is no stop set for the next iterations?"""
        cdef LoopState *loop
        cdef int k
        for k in range(self.memory.nloops):
            loop = self.s.loops + k
            if loop.observers or loop.nbreaks or loop.stop_at_exit or loop.stop_at_iteration != INT64_MAX:
                return False
        return not (self.self_checking or self.stop_requested or self.s.stepping)

    def copy_limits(self, Engine other not None):
        """Take over the limits of another engine of the same plan."""
        cdef int k
        for k in range(self.memory.nloops):
            self.s.loops[k].limit, self.s.loops[k].endless_at = other.s.loops[k].limit, other.s.loops[k].endless_at

    def retest_condition(self):
        """After an edit at a boundary: if the loop tests its condition before the iteration, decide again.

        Raises:
            ExecutionError: the condition cannot be computed; the engine stays there.
        """
        cdef LoopState *loop
        cdef int stepping = self.s.stepping
        if not self.s.depth:
            return
        loop = self.s.loops + self.s.stack[self.s.depth - 1]
        if loop.top == loop.head or self.s.pc != loop.head:
            return
        self.s.epoch += 1
        self.s.pc, loop.keep = iteration_start(loop), 1
        if self.s.pc != loop.head:
            loop.retest, self.s.stepping, self.s.running = 1, 0, 1
            try:
                while self.s.pc != loop.head:
                    self.run()
            finally:
                loop.retest, self.s.stepping, self.s.running = 0, stepping, 0
        loop.ended = end_reason(loop)

    def run_to(self, int index, int64_t iteration):
        """Run to a loop's boundary, or its end, ignoring other stops, which stay set."""
        cdef LoopState *loop = self.s.loops + index
        stops = (loop.stop_at_iteration, loop.stop_at_exit)
        loop.stop_at_iteration, loop.stop_at_exit = min(loop.stop_at_iteration, iteration), 1
        try:
            return self.run()
        finally:
            flush_suspended(self.s)
            loop.stop_at_iteration, loop.stop_at_exit = stops

    cdef object handle_boundary(self, int index):
        cdef LoopState *loop = self.s.loops + index
        cdef int stop_reasons = self.s.stop_reasons
        loop.reported = 1
        self.monitor.hits = ()
        if stop_reasons & 4 and not self.monitor.take_hits(index):
            stop_reasons &= ~4
        if stop_reasons & 2:
            self.s.epoch += 1
            if self.on_boundary(index):
                stop_reasons |= 1
        if self.s.interrupt:
            self.s.interrupt = 0
            return ("interrupt", -1)
        if stop_reasons & 4:
            return ("predicate", index)
        return ("boundary", index) if stop_reasons & 1 else None

    cdef object handle_limit(self, int index):
        cdef LoopState *loop = self.s.loops + index
        if loop.i < loop.limit:
            node = self.plan.loops[index].loop
            trips = "has no trip count" if loop.trip < 0 else f"has the trip count {loop.trip}, which no run comes to"
            raise LimitError(f"{node.describe()} {trips}, and its condition cannot change: it would never end",
                             Remedy.LIMIT_ITERATIONS, loop=node.name)
        loop.reported = 1
        return ("limit", index)

    cdef int handle_missing_part(self, int index) except -1:
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        for k in range(loop.nslices):
            if loop.slices[k].parts <= loop.i and not self.loops.pad_missing_parts(index, k):
                sliced = self.plan.loops[index].slices[k].sliced
                if sliced.from_trip_count and not loop.i:
                    shape = list(self.memory.look(loop.slices[k].outer).shape)
                    raise self.memory.loop_error(
                        index, f"reverse iterator '{sliced.inner.name}' begins at part {loop.trip - 1} (the trip count is "
                        f"{loop.trip}), and '{sliced.outer.name}' {shape} has no such part along axis {sliced.axis}",
                        name=sliced.outer.name, expected=f"part {loop.trip - 1}", got=str(shape))
                word = "iterator over" if self.plan.loops[index].loop.system is System.TENSORRT else "sliced input"
                raise self.memory.loop_error(
                    index, f"the {word} '{sliced.outer.name}' has only {loop.slices[k].parts} parts; the loop wants part "
                    f"{loop.i}", name=sliced.outer.name, expected=f"part {loop.i}", got=f"{loop.slices[k].parts} parts")
        # Missing parts were appended; the boundary was reported already, and runs again.
        loop.parts = min([loop.slices[k].parts for k in range(loop.nslices)])
        loop.reported = 1

    cdef int on_time_slice_end(self) except -1:
        """Check signals and adapt the time slice. True: stop here."""
        PyErr_CheckSignals()
        t = now()
        elapsed = max(t - self.tick_time, 1e-6)
        self.slice_budget = <int64_t>min(max(self.slice_budget * min(max(SLICE_SECONDS / elapsed, 0.1), 4.0), 1e4), 1e9)
        self.s.budget, self.tick_time = self.slice_budget, t
        self.optimizer_base.on_time_slice_end()
        if self.on_tick is not None:
            self.on_tick()
        if self.s.interrupt:
            # The next boundary stops; if the body takes long to get there, stop between its nodes.
            if not self.interrupted_at:
                self.interrupted_at = t
            elif t - self.interrupted_at > INTERRUPT_PATIENCE_SECONDS and not self.optimizer_base.is_mid_region():
                self.s.interrupt = 0
                return 1
        return 0

    # -- timing

    def time_nodes(self, bint enabled, int every=1):
        """Reset the time per instruction and start or stop measuring, in one of ``every`` iterations, chosen at random,
        and in the first one."""
        global tick_seconds
        self.s.stepping &= ~TIMING
        arena_free_tree(self.s.node_times)
        self.s.node_times, self.s.timed_pc, self.s.timed_weight = NULL, -1, 1
        self.s.sample_every = every if enabled and every > 1 else 0
        if enabled:
            if not tick_seconds:
                tick_seconds = seconds_per_tick()
            self.s.node_times = <NodeTime *>arena_alloc(self.s.own, self.memory.ncode, sizeof(NodeTime))
            self.s.loop_weights = <int64_t *>arena_alloc(self.s.node_times, self.memory.nloops, sizeof(int64_t))
            self.s.stepping |= TIMING

    @property
    def node_seconds(self):
        """Seconds of each instruction of the plan: those of a group are charged to its leader, those of a scalar
        program to the boundary. An iteration that was sampled counts for those that were not, here and in
        :attr:`node_starts`."""
        cdef Py_ssize_t k
        if self.s.node_times == NULL:
            return [0.0] * len(self.plan.code)
        return [self.s.node_times[k].ticks * tick_seconds for k in range(len(self.plan.code))]

    @property
    def clock_seconds(self):
        """What reading the clock once takes, which is a part of the time of each instruction."""
        return ticks_per_reading() * tick_seconds

    @property
    def node_starts(self):
        """How often each instruction was run while it was timed; an instruction of a group or program is run by itself
        only where those do not apply."""
        return [self.s.node_times[k].starts if self.s.node_times != NULL else 0 for k in range(len(self.plan.code))]

    # -- inspection, while stopped

    @property
    def spec_count(self):
        """Number of shapes seen in all executions, whose entries are never freed."""
        return self.memory.specs.count

    @property
    def running(self):
        """True while :meth:`resume` runs."""
        return bool(self.s.running)

    @property
    def epoch(self):
        """Incremented when the engine resumes: values read before may be stale."""
        return self.s.epoch

    @property
    def position(self):
        """Where the execution is: see :attr:`Loops.position`."""
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
        """A copy of a slot's value: an array, a list, or None. The caller knows whether it was computed."""
        self.optimizer_base.materialize(slot)
        return self.memory.value(slot)

    def peek(self, int slot):
        """A slot's value, not copied: valid until the engine resumes, read-only."""
        self.optimizer_base.materialize(slot)
        return self.memory.peek(slot)

    def results(self, hand_over_from=None):
        """The outputs of an ended execution, by name, without variables; copies. A large one may reuse the array of the
        previous execution, if the caller no longer refers to it. ``hand_over_from``: those of this size in bytes
        are the engine's own memory; if there are any, the caller must drop the engine (``handed_over``).

        Raises:
            ExecutionError: an output has no value.
        """
        cdef int slot
        cdef Py_ssize_t large = PY_SSIZE_T_MAX if hand_over_from is None else hand_over_from
        results = {}
        owners = set()
        for name, slot in self.plan.outputs:
            if not self.has_value(slot):
                raise ExecutionError(f"output '{name}' has no value", name=name)
            if self.s.slots[slot].nbytes >= large and <size_t>self.s.slots[slot].data not in owners:
                value = self.owned_value(slot)
                if value is not None:
                    owners.add(<size_t>self.s.slots[slot].data)
                    results[name], self.handed_over = value, True
                    continue
            previous = self.reusable_outputs.pop(name, None)
            value = results[name] = self.memory.value(slot) if previous is None else self.memory.value_reusing_array(slot, previous)
            if self.s.slots[slot].spec and REUSED_OUTPUT_MIN_BYTES <= np.PyArray_NBYTES(value) <= KEPT_ARRAY_MAX_BYTES:
                self.reusable_outputs[name] = value
        for variable in self.plan.graph.variables:
            results.pop(variable.output_name, None)
        return results

    cdef object owned_value(self, int slot):
        """A slot's tensor as an array that owns its memory, not copied; None if the engine does not own it."""
        cdef Slot *source = self.s.slots + slot
        owner = <object>source.owner
        if not (source.spec and source.flags & OWN and type(owner) is np.ndarray and np.PyArray_ISCARRAY(owner)):
            return None
        cdef Py_ssize_t first = source.data - np.PyArray_BYTES(owner)
        if not 0 <= first <= np.PyArray_NBYTES(owner) - source.nbytes:
            return None
        dtype, shape = self.memory.specs.kind(source.spec)
        capacity = self.memory.specs.capacity(source.spec)
        if capacity is not None and math.prod(shape[:capacity[0]]) != 1:
            return None
        end = first + dtype.itemsize * math.prod(shape)
        return owner.reshape(-1).view(np.uint8)[first:end].view(dtype).reshape(shape)

    cpdef bint has_value(self, int slot) except -1:
        """False where a slot was never written, or its last value is lost: inside an iteration, for nodes that ran in a
        group and not since."""
        self.optimizer_base.materialize(slot)
        return self.s.slots[slot].owner != NULL and self.optimizer_base.is_available(slot)

    def loop_state(self, int index):
        """(iteration, trip count or None, condition, reason it ended or None, active) of a loop."""
        return self.loops.state(index)
