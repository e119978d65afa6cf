"""What makes an execution fast, as one accelerator of the plain engine: ranges of shapes, elided copies, groups of nodes and
scalar programs, each asked in turn.
"""

from libc.stdint cimport int64_t

from ..plain.accelerator cimport Accelerator
from ..plain.memory cimport Memory
from ..plain.pieces cimport take
from ..plain.schedule cimport wait_for
from ..plain.state cimport *
from .binding cimport FastBinder
from .fusion.fuser cimport Fuser
from .ranges.varying cimport Growing
from .scalar.machine_code cimport attach, job_of
from .scalar.programs cimport drop_program, make_program
from .fast_state cimport *
from .views.views cimport Views

import os

from ...compiler import llvm

# Iterations after which a loop is worth a scalar program.
cdef int64_t HOT_AFTER = 200
# How long a program is interpreted before it is compiled, as a multiple of what that costs: where another processor does it,
# nothing is lost but its time; where there is none, at most a twentieth.
cdef double PAYS_AFTER = 1 if len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else [0]) > 1 else 20


cdef class Fast(Accelerator):
    """All that is fast in one engine."""

    cdef Memory memory
    cdef State *s
    cdef FastState *f
    cdef Growing growing
    cdef readonly FastBinder binder
    cdef readonly Views views
    cdef Fuser fuser
    cdef dict jobs                   # loop -> what compiles its program, and keeps the code
    cdef public double compile_after # see above; 0: at once, and in this thread; -1: never

    def __init__(self, Memory memory not None):
        Accelerator.__init__(self)
        self.memory, self.s = memory, &memory.s
        self.load()
        self.growing = Growing(memory)
        self.binder = FastBinder(memory, self.growing)
        self.views = Views(memory, self.binder)
        self.fuser = Fuser(memory, self.views)
        self.jobs, self.compile_after = {}, 0 if llvm.eager else PAYS_AFTER if llvm.wanted else -1

    cdef int load(self) except -1:
        self.f = <FastState *>take(self.s.own, 1, sizeof(FastState))
        self.f.nodes = <FastNode *>take(self.s.own, self.memory.ncode, sizeof(FastNode))
        self.f.loops = <FastLoop *>take(self.s.own, self.memory.nloops, sizeof(FastLoop))
        self.f.nnodes = self.memory.ncode
        self.f.hot_after, self.f.fusing = HOT_AFTER, 1
        self.s.above = self.f

    # -- what the plain floor tells

    cdef int begin(self, bint unseen) except -1:
        """Where nobody looks, nodes of the main graph may leave values out, and alias memory."""
        cdef bint outside = unseen and self.f.fusing
        self.growing.begin(unseen)
        self.fuser.begin(unseen)
        self.begin_turns()
        self.views.forget()
        self.views.shown.clear()
        self.f.program_runs = 0
        self.tick()
        return self.views.alias(self.fuser.members()) if outside else self.views.copy_outside(True)

    cdef int begin_turns(self) except -1:
        """What was to be looked at is so after the first iteration. Elided copies go on from execution to execution."""
        cdef LoopState *loop
        cdef FastLoop *f
        cdef int k
        for k in range(self.memory.nloops):
            loop, f = self.s.loops + k, self.f.loops + k
            f.for_groups.at, f.for_groups.wait = f.for_groups.at > loop.boundaries, 1
            if f.for_views.at:
                f.for_views.at = max(f.for_views.at - loop.boundaries, -1) or -1
            f.for_program.at = self.f.hot_after
            loop.boundaries = 0
            schedule(self.s, loop)

    cdef int look(self, int index) except -1:
        cdef LoopState *loop = self.s.loops + index
        cdef FastLoop *f = self.f.loops + index
        if self.f.fusing and (loop.boundaries == f.for_groups.at or loop.boundaries == f.for_views.at):
            self.look_for_groups(index)
        if loop.boundaries == f.for_program.at:
            self.make_programs()
        schedule(self.s, loop)

    cdef int look_for_groups(self, int index) except -1:
        """Groups first: what they read is copied."""
        self.fuser.look(index)
        members = self.fuser.members()
        self.views.copy_for(members)
        return self.views.look(index, members)

    cdef int make_programs(self) except -1:
        """Make scalar programs for the running loops where that is possible; the others are looked at again later."""
        cdef LoopState *loop
        cdef FastLoop *f
        cdef int k, index
        for k in range(self.s.depth):
            index = self.s.stack[k]
            loop, f = self.s.loops + index, self.f.loops + index
            if f.program != NULL and f.program.generation == self.s.generation:
                continue
            self.drop(index)
            f.program = make_program(self.s, self.memory.plan, index) if self.binder.native else NULL
            if f.program == NULL:
                f.for_program.wait = 8 * loop.boundaries
                wait_for(&f.for_program, loop.boundaries)
                schedule(self.s, loop)
            elif self.compile_after == 0:
                self.compile(index, f.program)

    cdef int drop(self, int index) except -1:
        cdef FastLoop *f = self.f.loops + index
        drop_program(self.s, f.program)
        f.program = NULL
        self.jobs.pop(index, None)

    cdef int tick(self) except -1:
        """Have programs compiled that were interpreted for so long that it pays."""
        cdef Program *program
        cdef int k
        if self.compile_after < 0:
            return 0
        for k in range(self.memory.nloops):
            program = self.f.loops[k].program
            if program != NULL and program.compiled == NULL and program.generation == self.s.generation:
                self.compile(k, program)

    cdef int compile(self, int index, Program *program) except -1:
        job = self.jobs.get(index)
        if job is None:
            if program.spent * 1e-9 < self.compile_after * llvm.cost():
                return 0
            job = self.jobs[index] = job_of(program, self.memory.plan)
            if self.compile_after:
                job.start()
            else:
                job.run()
        if job.done:
            attach(program, job)

    cdef int watch(self, int64_t generation, frozenset slots) except -1:
        """Groups write what is read at boundaries, and copies of it are made."""
        self.fuser.watch(slots)
        self.views.watch(slots)
        self.watched_at = self.s.generation

    cdef int ask(self, int slot) except -1:
        if slot in self.fuser.inner:
            return self.fuser.ask(slot)
        self.views.is_there(slot)

    cdef bint is_there(self, int slot) except -1:
        if self.fuser.is_written_now(slot):
            return False
        return self.fuser.is_there(slot) if slot in self.fuser.inner else self.views.is_there(slot)

    cdef int show_all(self) except -1:
        return self.views.show_all()

    cdef set gone(self):
        return {slot for slot in self.fuser.inner if not self.is_there(slot)} | self.views.gone()

    cdef int leave(self) except -1:
        """The execution is elsewhere: programs are made for what runs from here on."""
        cdef FastLoop *f
        cdef int k
        self.views.copy_outside(True)
        self.views.forget()
        for k in range(self.memory.nloops):
            f = self.f.loops + k
            if f.for_program.at <= self.s.loops[k].boundaries and self.f.hot_after >= 0:
                f.for_program.at = self.s.loops[k].boundaries + self.f.hot_after
                schedule(self.s, self.s.loops + k)

    cdef int change(self) except -1:
        return self.views.copy_all()

    cdef bint is_busy(self) except -1:
        return self.fuser.under_way() != NULL

    cdef Family *family_of(self, Edge *e) except? NULL:
        return self.growing.family_of(e)

    # -- for tests and measurements

    @property
    def fuse(self):
        """Nodes over large tensors run together, block by block (plan/fusion/groups.py); off: each by itself."""
        return bool(self.f.fusing)

    @fuse.setter
    def fuse(self, bint on):
        if on != self.f.fusing:
            self.fuser.switch(on)

    @property
    def groups(self):
        """The groups that run, as :class:`~...plan.fusion.groups.Group`, with how often each ran."""
        return [(group, node_at(self.s, <int>group.first).group.runs) for group in self.fuser.groups
                if node_at(self.s, <int>group.first).group.on]

    @property
    def hot_after(self):
        """Iterations after which a loop is worth a scalar program; -1: none is. Takes effect at the next start."""
        return self.f.hot_after

    @hot_after.setter
    def hot_after(self, int64_t iterations):
        self.f.hot_after = iterations

    @property
    def compiled(self):
        """The loops whose programs are compiled."""
        return [k for k in range(self.memory.nloops) if self.f.loops[k].program != NULL and
                self.f.loops[k].program.compiled != NULL]

    @property
    def program_runs(self):
        """How often a scalar program was entered in this execution."""
        return self.f.program_runs
