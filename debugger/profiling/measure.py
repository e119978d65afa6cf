"""Measures a run: several runs without and with a clock around each instruction, of which the fastest counts. Where the
clock would take long next to the instructions, it measures some of the iterations, chosen at random."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import TypeVar

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.errors import InterruptError, LimitError
from ...runtime.graph import MAIN, Operation, StoppedBy
from ...runtime.graph.producers import ProducerMap
from ...runtime.model import Data, Model
from ...runtime.plan.plan import LoopPlan, Opcode, Plan
from ..describe.node_text import NodeFormatter
from ..describe.value_names import display_name, scan_names
from .profile import LoopCosts, NodeKind, NodeProfile, Profile, Segment, ValueMemory
from .roofline import MachineLimits, NodeRoofline, NodeWork, group_work, node_work

_T = TypeVar("_T")

#: Instructions at the boundaries of a loop.
_BOUNDARY_OPCODES = (Opcode.ENTER, Opcode.TEST, Opcode.HEAD, Opcode.NEXT, Opcode.EXIT)
#: Instructions of an If.
_BRANCH_OPCODES = (Opcode.BRANCH, Opcode.JUMP, Opcode.JOIN)
#: The most segments that the iterations of a loop are divided into.
_MAX_SEGMENTS = 64
#: A run that takes longer is measured once, not several times.
_LONG_RUN_SECONDS = 1.0
#: Where the clock adds more than the first part to a run, iterations are sampled so that it adds about the second part;
#: where it still adds more than the first, fewer are, but one in N at least.
_MOST_CLOCK_SHARE, _CLOCK_SHARE, _MOST_BETWEEN_SAMPLES = 0.06, 0.03, 128
#: What timing an instruction adds, in readings of the clock one after another: at least, as they overlap with what
#: instructions do, and at most, as they keep instructions from overlapping.
_LEAST_READINGS, _MOST_READINGS = 0.25, 4
#: Of the processor times of several runs, the one that counts: caches that other processes use make some longer.
_CPU_QUANTILE = 0.1
#: Where a run takes more than its processor time, times this, other processes took time from it.
_MOST_DISTURBANCE = 1.02
#: A run that takes this many times the median was slowed by something else.
_MOST_SLOWDOWN = 1.2
#: Iterations of each loop that are measured before their mean is a time, as far as runs last.
_LEAST_SAMPLES = 32


def measure_run(
    model: Model,
    inputs: Mapping[str, Data],
    seconds: float,
    max_iterations: int | None,
    machine: MachineLimits | None = None,
) -> Profile:
    """Measure where a run spends its time and memory, for about ``seconds``. A run that reaches ``max_iterations`` is
    measured up to there. ``machine``: compare nodes with what this machine reaches.

    Raises:
        InputError: the inputs do not match the signature.
        ExecutionError: a node or boundary failed.
        LimitError: nothing ends a loop, and there is no limit.
        InterruptError: Ctrl-C.
    """
    # Ends in the right error where a run does not end.
    run = model.execute(inputs, max_iterations=max_iterations)
    is_limited = run.stopped_by is StoppedBy.LIMIT and max_iterations is not None
    if run.stopped_by is not None and not is_limited:
        raise (InterruptError if run.stopped_by is StoppedBy.INTERRUPT else LimitError)(run.message)
    measurement = Measurement(Engine(model.plan), model.check(inputs), max_iterations, machine)
    measurement.measure_for(seconds)
    return _build_profile(model, measurement, (*run.notes, *([f"{run.message}: measured up to there"] * is_limited)))


@dataclass(eq=False)
class _Stop:
    """What is known at a boundary at which a segment of a loop begins, or at the end of the run."""

    loop: int
    iteration: int
    node_seconds: np.ndarray
    #: Of each carried value and scan output: dtype, shape and bytes.
    sizes: list[tuple[str, tuple[int, ...], int]] = field(default_factory=list)
    #: What the last call of each node did, by position.
    works: Mapping[int, NodeWork] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _PlainRun:
    """The seconds of a run and its parts; ``loop_seconds``: of each outermost loop. ``cpu_seconds``: processor time."""

    seconds: float
    cpu_seconds: float
    begin_seconds: float
    output_seconds: float
    loop_seconds: list[float]


@dataclass(frozen=True, eq=False)
class _TimedRun:
    """The seconds of a run, of its beginning and outputs, and of its instructions, with a clock around them, and how
    often each was run. ``plain``: the run without it right before."""

    plain: _PlainRun
    seconds: float
    cpu_seconds: float
    ends: float
    node_seconds: np.ndarray
    node_starts: np.ndarray

    @property
    def parts_seconds(self) -> float:
        """The time of all instructions."""
        return float(self.node_seconds.sum())

    @property
    def starts(self) -> int:
        """How often any instruction was run."""
        return int(self.node_starts.sum())


_Run = TypeVar("_Run", _PlainRun, _TimedRun)


def _undisturbed(runs: Sequence[_Run]) -> list[_Run]:
    """The runs that used the processor all the time, and not at a much lower rate than most."""
    alone = [run for run in runs if run.seconds <= _MOST_DISTURBANCE * run.cpu_seconds]
    usual = median(run.seconds for run in alone) if alone else 0.0
    return [run for run in alone if run.seconds <= _MOST_SLOWDOWN * usual]


def _added_share(runs: Sequence[_TimedRun], plain_runs: Sequence[_PlainRun] = ()) -> float:
    """What the clock adds to the processor time of runs, next to those before each, or to others."""
    timed, plain = (
        float(np.quantile([run.cpu_seconds for run in group], _CPU_QUANTILE))
        for group in (runs, plain_runs or [run.plain for run in runs])
    )
    return timed / plain - 1


@dataclass(eq=False)
class Measurement:
    """The measurements of a model. Times in seconds, arrays by position of the instruction."""

    engine: Engine
    inputs: Mapping[int, Data]
    max_iterations: int | None
    #: With it, what nodes do is compared with what this machine reaches.
    machine: MachineLimits | None
    plain_runs: list[_PlainRun] = field(default_factory=list)
    #: One of N iterations was measured.
    every: int = 1
    #: Runs with a clock around instructions, the seconds of each instruction, of which the clock is a part (of several
    #: runs the least: other processes take time from some runs, but seldom from the same part of all), and how often it
    #: was run. ``clock_seconds``: what the clock adds to an instruction.
    timed_runs: list[_TimedRun] = field(default_factory=list)
    node_seconds: np.ndarray = field(default_factory=lambda: np.zeros(0))
    node_starts: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    clock_seconds: float = 0.0
    stops: list[_Stop] = field(default_factory=list)
    #: The loops that have a program.
    _programs: list[int] = field(default_factory=list)
    #: The seconds of each instruction between two stops.
    segment_seconds: list[np.ndarray] = field(default_factory=list)
    #: Loops with segments: the iterations at which each begins.
    segmented: dict[int, list[int]] = field(default_factory=dict)

    @property
    def plan(self) -> Plan:
        return self.engine.plan

    @property
    def least(self) -> _PlainRun:
        """The least time of a run without a clock around instructions, and of each of its parts."""
        loops = zip(*(run.loop_seconds for run in self.plain_runs), strict=True)
        return _PlainRun(
            min(run.seconds for run in self.plain_runs),
            min(run.cpu_seconds for run in self.plain_runs),
            min(run.begin_seconds for run in self.plain_runs),
            min(run.output_seconds for run in self.plain_runs),
            [min(seconds) for seconds in loops],
        )

    def measure_for(self, seconds: float) -> None:
        """Measure for about ``seconds``, and at least three runs of each kind, or one if they are long."""
        self._run()
        complete = self._choose_samples(seconds * 0.1)
        self.timed_runs = list(self._repeat(lambda: self._timed_run(self.every), seconds * 0.6))
        # Next to all runs without it: those of the first moments may all have been slow.
        share = self._possible_share(complete[-1].starts, _added_share(complete, self.plain_runs))
        self.clock_seconds = share * self.least.seconds / max(1, complete[-1].starts)
        self.node_seconds = self._mean_seconds(self.timed_runs)
        if self.every > 1:
            self.clock_seconds = self._clock_seconds_of_samples(self.clock_seconds)
        self._programs = [] if self.engine.optimizer is None else self.engine.optimizer.programs
        self.segmented = dict(self._segment_starts())
        for index, iterations in self.segmented.items():
            self.engine.set_breaks(index, iterations)
        if self.least.seconds < _LONG_RUN_SECONDS:
            self._run()  # with breaks, nodes are bound again
        runs = list(self._repeat(self._segmented_run, seconds * 0.2))
        self.stops = runs[0]
        self.segment_seconds = [
            np.min([end.node_seconds - begin.node_seconds for begin, end in pairs], axis=0)
            for pairs in zip(*map(pairwise, runs), strict=True)
        ]
        nodes = [pc for pc, step in enumerate(self.plan.code) if step.kind is Opcode.NODE]
        if self.every == 1 and np.array_equal(np.array(self.engine.node_starts)[nodes], self.node_starts[nodes]):
            # Of a few long runs, other processes take time from each, but seldom from the same segments.
            first = np.min([stops[0].node_seconds for stops in runs], axis=0)
            self.node_seconds = np.minimum(self.node_seconds, sum(self.segment_seconds, first))
        ran = self.node_starts > 0
        # No instruction takes less than the clock around it: that is most of the time of one that has nothing to do.
        self.clock_seconds = np.min(self.node_seconds[ran] / self.node_starts[ran], initial=self.clock_seconds)

    def _choose_samples(self, seconds: float) -> list[_TimedRun]:
        """Choose in which part of the iterations nodes are measured, by what that adds to runs. Returns runs in which
        all were."""
        runs = list(self._repeat(lambda: self._timed_run(1), seconds))  # in the first ones nodes may be bound
        if _added_share(runs) > _MOST_CLOCK_SHARE:
            runs += self._repeat(lambda: self._timed_run(1), seconds)  # it may be chance
        self.node_seconds, self.node_starts = runs[-1].node_seconds, runs[-1].node_starts
        share = self._possible_share(runs[-1].starts, _added_share(runs))
        while share > _MOST_CLOCK_SHARE and self.every < _MOST_BETWEEN_SAMPLES:
            factor = max(2, math.ceil(share / _CLOCK_SHARE))
            self.every = min(_MOST_BETWEEN_SAMPLES, factor * self.every)
            share = _added_share(list(self._repeat(lambda: self._timed_run(self.every), seconds)))
        return runs

    def _possible_share(self, starts: int, share: float) -> float:
        """What the clock adds to a run in which it is read so often: a few runs say little."""
        least = self.engine.clock_seconds * starts / self.least.seconds
        return min(max(share, _LEAST_READINGS * least), _MOST_READINGS * least)

    def _clock_seconds_of_samples(self, estimate: float) -> float:
        """What the clock adds to an instruction of a sampled iteration: what all parts exceed the run by. It is more
        than where all iterations are measured, since the processor does not predict which are. ``estimate``: if no run
        was undisturbed."""
        totals = self._undisturbed_totals()
        if totals is None:
            return estimate
        (parts, seconds), reading = totals, self.engine.clock_seconds
        added = (parts - seconds) / max(1, int(self.node_starts.sum()))
        return min(max(added, _LEAST_READINGS * reading), _MOST_READINGS * reading)

    def _undisturbed_totals(self) -> tuple[float, float] | None:
        """The mean seconds of all parts, with the clock, and of a run without it; None: no run was undisturbed."""
        runs, plain_runs = _undisturbed(self.timed_runs), _undisturbed([run.plain for run in self.timed_runs])
        if not runs or not plain_runs:
            return None
        means = sum(run.node_seconds for run in runs) / np.maximum(1, sum(run.node_starts for run in runs))
        parts = float(means @ self.node_starts) + sum(run.ends for run in runs) / len(runs)
        return parts, sum(run.seconds for run in plain_runs) / len(plain_runs)

    def _mean_seconds(self, runs: list[_TimedRun]) -> np.ndarray:
        """The seconds of each instruction, from runs that sampled iterations: the least mean of as many runs as contain
        enough samples of each loop, times how often it was run."""
        heads = [int(self.node_starts[plan.head]) for plan in self.plan.loops if self.node_starts[plan.head]]
        enough = 1 if self.every == 1 else -(-_LEAST_SAMPLES * self.every // min(heads, default=self.every))
        size = max(1, min(enough, len(runs) // 3))
        means = self.node_seconds / np.maximum(1, self.node_starts)
        least = np.full(means.shape, np.inf)
        for first in range(0, len(runs) - size + 1, size):
            starts = sum(run.node_starts for run in runs[first : first + size])
            spent = sum(run.node_seconds for run in runs[first : first + size])
            least = np.where(starts > 0, np.minimum(least, spent / np.maximum(1, starts)), least)
        seconds: np.ndarray = np.where(np.isinf(least), means, least) * self.node_starts
        return seconds

    def _repeat(self, measure: Callable[[], _T], seconds: float) -> Iterator[_T]:
        start = time.perf_counter()
        count = 0
        while count < (3 if time.perf_counter() - start < _LONG_RUN_SECONDS else 1) or (
            time.perf_counter() - start < seconds
        ):
            yield measure()
            count += 1

    def _run(self) -> str:
        """Run to the end or the limit, over the stops at which segments begin; returns which of them.

        Raises:
            InterruptError: Ctrl-C.
        """
        *_, (event, _) = self._run_events()
        return event

    def _run_events(self) -> Iterator[tuple[str, int]]:
        self._start_engine()
        for index in self.segmented:
            self.engine.stop_at_end(index)
        while True:
            event, index = self._resume_engine()
            yield event, index
            if event in ("end", "limit"):
                return

    def _start_engine(self) -> None:
        self.engine.start(self.inputs, outputs_only=True)
        self.engine.set_limits(self.max_iterations, True)

    def _resume_engine(self) -> tuple[str, int]:
        event = self.engine.resume()
        if event[0] == "interrupt":
            raise InterruptError("interrupted while the run was measured")
        return event

    def _plain_run(self) -> _PlainRun:
        cpu_start, start = time.process_time(), time.perf_counter()
        self._start_engine()
        begun = time.perf_counter()
        event, _ = self._resume_engine()
        ended = time.perf_counter()
        if event == "end":
            self.engine.results()
        end, cpu_end = time.perf_counter(), time.process_time()
        loops = [self.engine.loops.totals(plan.index)[3] for plan in self.plan.loops]
        return _PlainRun(end - start, cpu_end - cpu_start, begun - start, end - ended, loops)

    def _timed_run(self, every: int) -> _TimedRun:
        """A run without a clock around instructions, and one with it."""
        plain = self._plain_run()
        self.plain_runs.append(plain)
        self.engine.time_nodes(True, every)
        run = self._plain_run()
        node_seconds, node_starts = np.array(self.engine.node_seconds), np.array(self.engine.node_starts)
        self.engine.time_nodes(False)
        ends = run.begin_seconds + run.output_seconds
        return _TimedRun(plain, run.seconds, run.cpu_seconds, ends, node_seconds, node_starts)

    def _segment_starts(self) -> Iterator[tuple[int, list[int]]]:
        """The iterations at which segments of the outermost loops begin; loops that run as a program have none."""
        for plan in self.plan.loops:
            iterations = self.engine.loops.totals(plan.index)[0]
            if plan.parent < 0 and iterations and not self.is_program(plan):
                starts = np.linspace(0, iterations, min(iterations, _MAX_SEGMENTS) + 1).astype(int)[:-1]
                yield plan.index, [int(start) for start in starts]

    def _segmented_run(self) -> list[_Stop]:
        self.engine.time_nodes(True)
        stops = []
        for event, index in self._run_events():
            iteration = self.engine.loop_state(index)[0] if event != "end" else 0
            works = {} if self.machine is None else dict(self._work_by_node())
            stops.append(_Stop(index, iteration, np.array(self.engine.node_seconds), self._value_sizes(index), works))
        return stops

    def _work_by_node(self) -> Iterator[tuple[int, NodeWork]]:
        """What the last call of each node did, where it is known."""
        tensor = self.engine.memory.dtype_and_shape
        nodes = {pc: step for pc, step in enumerate(self.plan.code) if isinstance(step.node, Operation)}
        works = {
            pc: node_work(
                step.node, [tensor(k) if k >= 0 else None for k in step.inputs], list(map(tensor, step.outputs))
            )
            for pc, step in nodes.items()
            if isinstance(step.node, Operation) and min(step.outputs, default=-1) >= 0
        }
        for group, _ in self.engine.optimizer.groups if self.engine.optimizer is not None else ():
            slots = {slot for pc in group.members for slot in (*nodes[pc].inputs, *nodes[pc].outputs) if slot >= 0}
            operands = [tensor(slot) for slot in slots.difference(group.internal_slots)]
            works[group.first] = group_work([works.get(pc) for pc in group.members], operands)
        return ((pc, work) for pc, work in works.items() if work is not None)

    def roofline(self, pc: int, seconds: float) -> NodeRoofline | None:
        """What a node reached in ``seconds`` of all calls; None: it is not known what it does."""
        plan = self.outermost_loop(pc)
        ends = [(1, self.stops[-1])] if plan is None else [
            (end.iteration - begin.iteration, end) for begin, end in self._segment_stops(plan)
        ]  # fmt: skip
        works = [(count, end.works[pc]) for count, end in ends if pc in end.works]
        if self.machine is None or not seconds or not works or len(works) < len(ends):
            return None
        total = sum(count for count, _ in works)
        flops = [count * work.flops for count, work in works if work.flops is not None]
        mean = NodeWork(
            sum(flops) / total if flops else None, sum(count * work.nbytes for count, work in works) / total
        )
        return self.machine.compare(mean, seconds / max(1, self.calls(pc)))

    def outermost_loop(self, pc: int) -> LoopPlan | None:
        """The outermost loop around an instruction."""
        return next((loop for loop in self.plan.loops if loop.parent < 0 and loop.enter <= pc <= loop.exit), None)

    def _value_sizes(self, index: int) -> list[tuple[str, tuple[int, ...], int]]:
        """The dtype, shape and bytes of each carried value and scan output of a loop, that are tensors."""
        if index < 0:
            return []
        plan = self.plan.loops[index]
        sizes = [self._tensor_size(edge.param) for edge in plan.edges]
        for k in range(len(plan.scans)):
            _, whole, _ = self.engine.scans.view(index, k, 0)
            sizes.append((whole.dtype.name, tuple(whole.shape), whole.nbytes))
        return sizes

    def _tensor_size(self, slot: int) -> tuple[str, tuple[int, ...], int]:
        dtype_and_shape = self.engine.memory.dtype_and_shape(slot)
        if dtype_and_shape is None:
            return "", (), 0
        dtype, shape = dtype_and_shape
        return dtype.name, shape, dtype.itemsize * int(np.prod(shape, dtype=np.int64))

    def instructions(self, plan: LoopPlan) -> slice:
        """The instructions of a loop and what is in it."""
        return slice(plan.enter, plan.exit + 1)

    def is_program(self, plan: LoopPlan) -> bool:
        """Whether the loop ran as one program, but for its first iterations: most of its time is at its head."""
        return (
            plan.index in self._programs
            and 2 * self.node_seconds[plan.head] > self.node_seconds[self.instructions(plan)].sum()
        )

    def calls(self, pc: int) -> int:
        """How often a node was computed; one whose inputs a loop does not change is once for each entry, and one of
        constants not at all: loading the model did."""
        node, once = self.plan.code[pc].node, self.plan.code[pc].once
        if node is not None and node.outputs and all(value in self.plan.constant_values for value in node.outputs):
            return 0
        if once >= 0 and self.engine.optimizer is not None:
            return min(self.engine.loops.totals(once)[1], int(self.node_starts[pc]))
        return int(self.node_starts[pc])

    def instruction_seconds(self) -> np.ndarray:
        """The time of each instruction in the fastest run, without that of reading the clock. Those of an outermost
        loop add up to what it takes as a whole, and all do not exceed the run."""
        seconds, run = np.maximum(0.0, self.node_seconds - self.clock_seconds * self.node_starts), self.least
        for plan in self.plan.loops:
            inside = slice(plan.enter + 1, plan.exit + 1)  # a loop's time begins when it has been entered
            if plan.parent < 0 and seconds[inside].any():
                seconds[inside] *= run.loop_seconds[plan.index] / seconds[inside].sum()
        rest = run.seconds - run.begin_seconds - run.output_seconds
        return seconds * min(1.0, rest / float(seconds.sum())) if seconds.any() else seconds

    def measured_share(self) -> float | None:
        """The part of the wall time of a run that was measured as a part of it; None: that is not known, as no run was
        undisturbed. Where iterations were sampled, they stand for others without the clock: the runs are those without
        it."""
        if self.every == 1:
            return median((run.ends + run.parts_seconds) / run.seconds for run in self.timed_runs)
        totals = self._undisturbed_totals()
        if totals is None:
            return None
        parts, seconds = totals
        return (parts - self.clock_seconds * int(self.node_starts.sum())) / seconds

    def segments(self, plan: LoopPlan) -> Iterator[tuple[int, int, np.ndarray]]:
        """The first iteration of each segment of a loop, the one after it, and the seconds of each instruction."""
        for begin, end, seconds in zip(self.stops, self.stops[1:], self.segment_seconds, strict=False):
            if begin.loop == end.loop == plan.index:
                yield begin.iteration, end.iteration, seconds

    def _segment_stops(self, plan: LoopPlan) -> list[tuple[_Stop, _Stop]]:
        return [(begin, end) for begin, end in pairwise(self.stops) if begin.loop == end.loop == plan.index]


def _build_profile(model: Model, measurement: Measurement, notes: tuple[str, ...]) -> Profile:
    seconds, run = measurement.instruction_seconds(), measurement.least
    return Profile(
        model.name,
        len(measurement.plain_runs),
        run.seconds,
        median(plain.seconds for plain in measurement.plain_runs),
        min(timed.seconds for timed in measurement.timed_runs),
        measurement.clock_seconds,
        tuple(sorted(_node_profiles(model, measurement, seconds), key=lambda node: -node.seconds)),
        tuple(_loop_profile(measurement, seconds, plan) for plan in measurement.plan.loops),
        notes=notes,
        machine=measurement.machine,
        begin_seconds=run.begin_seconds,
        output_seconds=run.output_seconds,
        branch_seconds=float(
            sum(seconds[pc] for pc, step in enumerate(measurement.plan.code) if step.kind in _BRANCH_OPCODES)
        ),
        every=measurement.every,
    )


def _node_profiles(model: Model, measurement: Measurement, seconds: np.ndarray) -> Iterator[NodeProfile]:
    plan = measurement.plan
    formatter = NodeFormatter(ProducerMap.for_graph(model.graph))
    optimizer = measurement.engine.optimizer
    groups = {group.first: group for group, _ in optimizer.groups} if optimizer is not None else {}
    in_programs: set[int] = set()
    for loop in plan.loops:
        if loop.enter in in_programs or not measurement.is_program(loop):
            continue
        body = range(loop.enter, loop.exit)
        in_programs.update(body)
        nodes = [node for pc in body if isinstance(node := plan.code[pc].node, Operation)]
        yield NodeProfile(
            loop.loop.name, loop.loop.op_type, loop.path, measurement.engine.loops.totals(loop.index)[0],
            float(seconds[loop.head] + sum(seconds[pc] for pc in body if plan.code[pc].kind is Opcode.NODE)),
            loop.head,
            NodeKind.PROGRAM,
            "; ".join(map(formatter.assignment, nodes)),
            tuple(node.name for node in nodes),
        )  # fmt: skip
    for pc, instruction in enumerate(plan.code):
        node = instruction.node
        if not isinstance(node, Operation) or not measurement.node_seconds[pc] or pc in in_programs:
            continue
        # A group whose call refuses the numbers at hand runs its nodes by themselves.
        together = [member for member in groups[pc].members if member == pc or not measurement.node_starts[member]] \
            if pc in groups else []  # fmt: skip
        members = [plan.code[member].node for member in together] if len(together) > 1 else []
        if members:
            kind = NodeKind.GROUP
        elif optimizer is not None and pc in optimizer.binder.batched:
            kind = NodeKind.BATCH
        else:
            kind = NodeKind.KERNEL if measurement.engine.binder.is_native(pc) else NodeKind.PYTHON
        yield NodeProfile(
            node.name, node.op_type, MAIN if instruction.inside < 0 else plan.loops[instruction.inside].path,
            measurement.calls(pc), float(seconds[pc]), pc, kind,
            formatter.assignment(node), tuple(member.name for member in members if member is not None),
            _seconds_by_segment(measurement, pc, seconds), roofline=measurement.roofline(pc, float(seconds[pc])),
        )  # fmt: skip


def _seconds_by_segment(measurement: Measurement, pc: int, seconds: np.ndarray) -> tuple[float, ...]:
    """Seconds per iteration of the outermost loop around an instruction; they add up to its time."""
    loop = measurement.outermost_loop(pc)
    if loop is None:
        return ()
    segments = list(measurement.segments(loop))
    total = sum(segment[pc] for _, _, segment in segments)
    scale = seconds[pc] / total if total else 0.0
    return tuple(float(segment[pc] * scale / (end - begin)) for begin, end, segment in segments)


def _loop_profile(measurement: Measurement, seconds: np.ndarray, plan: LoopPlan) -> LoopCosts:
    iterations, entries = measurement.engine.loops.totals(plan.index)[:2]
    own = measurement.instructions(plan)
    boundary = sum(
        seconds[pc]
        for pc in range(own.start, own.stop)
        if measurement.plan.code[pc].kind in _BOUNDARY_OPCODES and measurement.plan.code[pc].loop == plan.index
    )
    if measurement.is_program(plan):
        boundary -= seconds[plan.head]  # the program, which is among the nodes
    measured = list(measurement.segments(plan))
    total = sum(float(segment[own].sum()) for _, _, segment in measured)
    scale = seconds[own].sum() / total if total else 0.0
    segments = tuple(
        Segment(begin, end, float(segment[own].sum() * scale / (end - begin))) for begin, end, segment in measured
    )
    return LoopCosts(
        plan.path,
        plan.loop.op_type,
        iterations,
        entries,
        float(seconds[own].sum()),
        float(boundary),
        segments,
        tuple(_value_memory(measurement, plan)),
    )


def _value_memory(measurement: Measurement, plan: LoopPlan) -> Iterator[ValueMemory]:
    stops = [stop for stop in measurement.stops if stop.loop == plan.index]
    if len(stops) < 2:
        return
    names = [display_name(edge.edge.param) for edge in plan.edges] + list(scan_names(plan.loop))
    for k, name in enumerate(names):
        is_carried = k < len(plan.edges)
        dtype, first_shape, first_bytes = stops[0 if is_carried else 1].sizes[k]
        last_dtype, last_shape, last_bytes = stops[-1].sizes[k]
        if dtype or last_dtype:
            yield ValueMemory(
                name, "carried" if is_carried else "scan output", last_dtype or dtype, first_shape, last_shape,
                first_bytes, last_bytes,
            )  # fmt: skip
