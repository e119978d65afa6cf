"""The optimizer: shape ranges, elided copies, fused groups and scalar programs."""

from libc.stdint cimport int64_t

from ..baseline.optimizer_base cimport OptimizerBase
from ..baseline.memory cimport Memory
from ..baseline.arena cimport arena_alloc
from ..baseline.backoff cimport back_off
from ..baseline.state cimport *
from .optimizing_binder cimport OptimizingBinder
from .fusion.fuser cimport Fuser
from .shape_ranges.range_bindings cimport RangeBindings
from .scalar.compiler_bridge cimport attach_code, compile_job_for
from .scalar.program_region cimport drop_program, make_program
from .optimizer_state cimport *
from .copy_elision.copy_elision cimport CopyElision

import os

from ...compiler import llvm_jit

# Iterations after which a loop is worth a scalar program.
cdef int64_t HOT_LOOP_ITERATIONS = 200
# Compile a program when it was interpreted for this multiple of the expected compile time. With a second processor only
# its time is lost; with one, at most a twentieth.
cdef double COMPILE_COST_RATIO = 1 if len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else [0]) > 1 else 20
# The same for a loop of which another program was compiled before.
cdef double RECOMPILE_COST_RATIO = 0.25


cdef class Optimizer(OptimizerBase):
    """All optimizations of one engine."""

    cdef Memory memory
    cdef ExecutionState *s
    cdef OptimizerState *f
    cdef RangeBindings range_bindings
    cdef readonly OptimizingBinder binder
    cdef readonly CopyElision copy_elision
    cdef Fuser fuser
    cdef dict compile_jobs                   # loop -> CompileJob of its program, which keeps the code
    cdef public double compile_after # as COMPILE_COST_RATIO; 0: at once, in this thread; -1: never

    def __init__(self, Memory memory not None):
        OptimizerBase.__init__(self)
        self.memory, self.s = memory, &memory.s
        self.allocate_state()
        self.range_bindings = RangeBindings(memory)
        self.binder = OptimizingBinder(memory, self.range_bindings)
        self.copy_elision = CopyElision(memory, self.binder)
        self.fuser = Fuser(memory, self.copy_elision)
        self.compile_jobs, self.compile_after = {}, 0 if llvm_jit.eager else COMPILE_COST_RATIO if llvm_jit.enabled else -1

    cdef int allocate_state(self) except -1:
        self.f = <OptimizerState *>arena_alloc(self.s.own, 1, sizeof(OptimizerState))
        self.f.nodes = <OptimizerNode *>arena_alloc(self.s.own, self.memory.ncode, sizeof(OptimizerNode))
        self.f.loops = <OptimizerLoop *>arena_alloc(self.s.own, self.memory.nloops, sizeof(OptimizerLoop))
        self.f.nnodes = self.memory.ncode
        self.f.hot_after, self.f.fusion_enabled = HOT_LOOP_ITERATIONS, 1
        self.s.optimizer = self.f

    # -- calls of the baseline tier

    cdef int begin(self, bint outputs_only) except -1:
        """If only outputs are read, nodes of the main graph may omit values and alias memory."""
        cdef bint fuse_main_graph = outputs_only and self.f.fusion_enabled
        self.range_bindings.begin(outputs_only)
        self.fuser.begin(outputs_only)
        self.reset_timers()
        self.copy_elision.discard_values()
        self.copy_elision.shown_iterations.clear()
        self.f.program_runs = 0
        self.on_time_slice_end()
        if fuse_main_graph:
            return self.copy_elision.alias(self.fuser.members())
        return self.copy_elision.restore_aliases(True)

    cdef int reset_timers(self) except -1:
        """Schedule pending work after the first iteration. Elided copies stay from execution to execution."""
        cdef LoopState *loop
        cdef OptimizerLoop *f
        cdef int k
        for k in range(self.memory.nloops):
            loop, f = self.s.loops + k, self.f.loops + k
            f.groups_timer.due_at, f.groups_timer.wait = f.groups_timer.due_at > loop.boundaries, 1
            if f.views_timer.due_at:
                f.views_timer.due_at = max(f.views_timer.due_at - loop.boundaries, -1) or -1
            f.program_timer.due_at = self.f.hot_after
            loop.boundaries = 0
            schedule(self.s, loop)

    cdef int look(self, int index) except -1:
        cdef LoopState *loop = self.s.loops + index
        cdef OptimizerLoop *f = self.f.loops + index
        if self.f.fusion_enabled and loop.boundaries in (f.groups_timer.due_at, f.views_timer.due_at):
            self.update_groups(index)
        if loop.boundaries == f.program_timer.due_at:
            self.build_programs()
        schedule(self.s, loop)

    cdef int update_groups(self, int index) except -1:
        """Update groups before copy elision: their inputs must be copied."""
        self.fuser.look(index)
        members = self.fuser.members()
        self.copy_elision.stop_eliding_inputs_of(members)
        return self.copy_elision.look(index, members)

    cdef int build_programs(self) except -1:
        """Make scalar programs for the running loops; retry later where that fails."""
        cdef LoopState *loop
        cdef OptimizerLoop *f
        cdef int k, index
        for k in range(self.s.depth):
            index = self.s.stack[k]
            loop, f = self.s.loops + index, self.f.loops + index
            if f.program != NULL and f.program.generation == self.s.generation:
                continue
            self.drop_loop_program(index)
            f.program = make_program(self.s, self.memory.plan, index) if self.binder.native_enabled else NULL
            if f.program == NULL:
                f.program_timer.wait = 8 * loop.boundaries
                back_off(&f.program_timer, loop.boundaries)
                schedule(self.s, loop)
            elif self.compile_after == 0:
                self.compile(index, f.program)

    cdef int drop_loop_program(self, int index) except -1:
        cdef OptimizerLoop *f = self.f.loops + index
        drop_program(self.s, f.program)
        f.program = NULL
        self.compile_jobs.pop(index, None)

    cdef int on_time_slice_end(self) except -1:
        """Compile programs that were interpreted long enough."""
        cdef Program *program
        cdef int k
        if self.compile_after < 0:
            return 0
        for k in range(self.memory.nloops):
            program = self.f.loops[k].program
            if program != NULL and program.compiled == NULL and program.generation == self.s.generation:
                self.compile(k, program)

    cdef int compile(self, int index, Program *program) except -1:
        job = self.compile_jobs.get(index)
        if job is None:
            # A loop that has run long runs on: what it needs after a change is not interpreted as long, and may be known.
            ratio = min(self.compile_after, RECOMPILE_COST_RATIO) if self.f.loops[index].was_compiled else self.compile_after
            if program.interpreted_cost * 1e-9 < ratio * llvm_jit.expected_compile_seconds():
                return 0
            job = self.compile_jobs[index] = compile_job_for(program, self.memory.plan)
            if self.compile_after:
                job.start()
            else:
                job.run()
        if job.done:
            self.f.loops[index].was_compiled = attach_code(program, job)

    cdef int watch(self, int64_t generation, frozenset slots) except -1:
        """Values read at boundaries are written by groups, and copied."""
        self.fuser.watch(slots)
        self.copy_elision.watch(slots)
        self.watched_generation = self.s.generation

    cdef int materialize(self, int slot) except -1:
        if slot in self.fuser.internal_slots:
            return self.fuser.materialize(slot)
        self.copy_elision.is_available(slot)

    cdef bint is_available(self, int slot) except -1:
        if self.fuser.is_being_written(slot):
            return False
        return self.fuser.is_available(slot) if slot in self.fuser.internal_slots else self.copy_elision.is_available(slot)

    cdef int materialize_all(self) except -1:
        return self.copy_elision.materialize_all()

    cdef set unavailable_slots(self):
        return {slot for slot in self.fuser.internal_slots if not self.is_available(slot)} | self.copy_elision.unavailable_slots()

    cdef int on_jump(self) except -1:
        """Execution jumped (restore/goto): make programs for the loops that run from here on."""
        cdef OptimizerLoop *f
        cdef int k
        self.copy_elision.restore_aliases(True)
        self.copy_elision.discard_values()
        for k in range(self.memory.nloops):
            f = self.f.loops + k
            if f.program_timer.due_at <= self.s.loops[k].boundaries and self.f.hot_after >= 0:
                f.program_timer.due_at = self.s.loops[k].boundaries + self.f.hot_after
                schedule(self.s, self.s.loops + k)

    cdef int before_edit(self) except -1:
        return self.copy_elision.stop_eliding_all()

    cdef bint is_mid_region(self) except -1:
        return self.fuser.running_group() != NULL

    cdef Family *back_edge_family(self, BackEdgeState *e) except? NULL:
        return self.range_bindings.back_edge_family(e)

    # -- for tests and benchmarks

    @property
    def fuse(self):
        """Run nodes over large tensors together, block by block (plan/fusion/groups.py); off: each by itself."""
        return bool(self.f.fusion_enabled)

    @fuse.setter
    def fuse(self, bint enabled):
        if enabled != self.f.fusion_enabled:
            self.fuser.set_enabled(enabled)

    @property
    def groups(self):
        """The active groups, as :class:`~...plan.fusion.groups.GroupPlan`, with their number of runs."""
        return [(group, optimizer_node(self.s, <int>group.first).group.runs) for group in self.fuser.groups
                if optimizer_node(self.s, <int>group.first).group.enabled]

    @property
    def hot_after(self):
        """Iterations after which a loop gets a scalar program; -1: never. Takes effect at the next start."""
        return self.f.hot_after

    @hot_after.setter
    def hot_after(self, int64_t iterations):
        self.f.hot_after = iterations

    @property
    def programs(self):
        """The loops that have a program, compiled or interpreted."""
        return [k for k in range(self.memory.nloops) if self.f.loops[k].program != NULL]

    @property
    def compiled(self):
        """The loops whose programs are compiled."""
        return [k for k in range(self.memory.nloops) if self.f.loops[k].program != NULL and
                self.f.loops[k].program.compiled != NULL]

    @property
    def program_runs(self):
        """Number of entries of scalar programs in this execution."""
        return self.f.program_runs
