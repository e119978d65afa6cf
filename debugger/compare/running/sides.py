"""The two sides of a comparison: whatever gives boundaries in the order of time, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ....runtime.engine.engine import Engine
from ....runtime.errors import ExecutionError, InterruptError
from ....runtime.frame import BranchPath, Frame
from ....runtime.frontends import is_sqlite_file
from ....runtime.graph import MAIN, Graph, Loop, Value
from ....runtime.model import Data, LoopNode, Model, load
from ....runtime.run_notes import notes_for_run
from ...breakpoints.breakpoint import MAIN_GRAPH
from ...session.boundary import Boundary, read_boundary
from ...trace.graph_index import GraphIndex
from ...trace.recorded_frames import RecordedFrame, RecordedFrameInternals, frame_at
from ..report.findings import DivergenceReason
from ..report.runtime_rules import reasons_from_notes
from .progress import OnTick, ProgressReporter, ReadProgress
from .value_readers import (
    IterationReader,
    PostIterationReader,
    ValueReader,
    iteration_inputs,
    post_iteration_values,
    pre_condition_values,
)


@dataclass(frozen=True)
class LoopInfo:
    """A loop of one side and the loops inside it, in the order in which they run.

    ``loop``: it in the loop graph of its side; None where that is not known.
    """

    path: str
    name: str
    children: tuple[LoopInfo, ...] = ()
    loop: Loop | None = None


class ComparisonSide(Protocol):
    """What is compared."""

    @property
    def label(self) -> str:
        """What to call it."""

    @property
    def loops(self) -> Sequence[LoopInfo]:
        """The outermost loops."""

    @property
    def graph(self) -> Graph | None:
        """The loop graph; None where it is not known."""

    @property
    def outputs(self) -> Mapping[str, Data] | None:
        """What the run gave; None until its boundaries were read to the end, or where it did not come to one."""

    def boundaries(self) -> Iterator[Boundary]:
        """All boundaries, from the start."""

    def reader_at(self, loop: str, entry: tuple[int, ...], iteration: int | None) -> ValueReader | None:
        """One iteration with all its values; None for the iteration: the boundary before iteration 0."""

    def reasons(self, loop: str) -> list[DivergenceReason]:
        """Where some runtime does something else with a loop."""


class ModelSide:
    """A model that is run, boundary by boundary, as far as somebody reads.

    ``limit`` ends every entry of every loop once it ran that many iterations, and with it the run; ``limited`` tells.
    """

    def __init__(self, model: Model, inputs: Mapping[str, Data], limit: int | None = None, label: str = "") -> None:
        self.model = model
        self.label = label or model.name
        self.loops = [_loop_info(loop) for loop in model.loops]
        self.graph: Graph | None = model.graph
        self.outputs: Mapping[str, Data] | None = None
        self.limit = limit
        self.limit_hit = False
        self._bound_inputs = model.check(inputs)
        ports = zip(model.plan.inputs, model.inputs, strict=False)
        named = model._internals.resolve_aliases(inputs)
        #: What it is given, by name and in the types that it declares.
        self.inputs = {port.name: self._bound_inputs[slot] for (_, slot), port in ports if port.name in named}
        self._observed: dict[str, list[str]] = {}
        #: Paths of loops of which somebody asks what is ``here``, and the main graph's where it is what was there last.
        self.watched_paths: set[str] = set()
        #: The values of the main graph where a run ended, where that is watched; a limited run did not come to all.
        self.final_reader: ValueReader | None = None
        self._current_frame: Frame | None = None
        self._on_tick: OnTick | None = None
        self._reports_first_run = True
        self._parameters_by_path: dict[str, dict[Value, Any]] = {}
        #: Of each loop that was asked for, what its nodes compute.
        self._readable_by_path: dict[str, dict[Value, BranchPath]] = {}

    def boundaries(self) -> Iterator[Boundary]:
        """Run the model."""
        for frame in self.frames():
            self._current_frame = frame
            yield read_boundary(frame)
            if frame.path in self.watched_paths:
                self._parameters_by_path[frame.path] = _available_parameters(frame)

    def reader_at_boundary(self) -> ValueReader | None:
        """The iteration of a watched loop that ended at the boundary given last, until somebody asks for the next."""
        frame = self._current_frame
        if frame is None or frame.loop is None or frame.path not in self.watched_paths:
            return None
        if frame.path not in self._readable_by_path:
            self._readable_by_path[frame.path] = post_iteration_values(frame)
        left = PostIterationReader(frame, self._readable_by_path[frame.path])
        return IterationReader(self._parameters_by_path.get(frame.path, {}), frame.loop.body.inputs, left)

    def frames(self) -> Iterator[Frame]:
        """Run the model; it stands at the boundary of each frame as long as that is compared.

        Raises:
            ExecutionError: a node failed.
            LimitError: a loop that nothing can end, without a limit.
        """
        return self._run(self._start_engine(), again=False)

    def report_progress(self, on_tick: OnTick | None, *, leads: bool) -> None:
        """From now on tell how far it is; one that does not lead, only of what it runs again."""
        self._on_tick, self._reports_first_run = on_tick, leads

    def run_to_end(self) -> ValueReader:
        """Runs the model again, to its end: the values of the main graph."""
        engine = self._start_engine()
        for _ in self._run(engine, again=True):
            pass
        return Frame(engine, MAIN_GRAPH).values

    def _start_engine(self) -> Engine:
        engine = Engine(self.model.plan)
        engine.start(self._bound_inputs)
        engine.set_limits(self.limit, refuse_endless=True)
        return engine

    def _run(self, engine: Engine, again: bool) -> Iterator[Frame]:
        tick = ProgressReporter(
            self._on_tick if again or self._reports_first_run else None,
            again,
            lambda: self.model._internals.totals(engine),
        )
        engine.on_tick = tick
        while True:
            tick()
            engine.clear_stops()
            engine.stop_anywhere()
            try:
                what, index = engine.resume()
            except ExecutionError as error:
                raise ExecutionError(f"{self.label}: {error}") from None
            if what == "boundary":
                yield Frame(engine, index)
                continue
            if what == "interrupt":
                raise InterruptError("interrupted")
            self.final_reader = Frame(engine, MAIN_GRAPH).values if MAIN in self.watched_paths else None
            if what == "limit":
                self.limit_hit = True
            else:
                self.outputs = self.model._internals.results(engine)
                self._observed = {
                    plan.path: list(notes_for_run(plan, engine))
                    for plan in self.model.plan.loops
                    if engine.loops.totals(plan.index)[1]
                }
            return

    def reader_at(self, loop: str, entry: tuple[int, ...], iteration: int | None) -> ValueReader | None:
        """Runs the model again, as far as that; its values are those of the run that stands there."""
        got: dict[Value, Any] = {}
        for frame in self._run(self._start_engine(), again=True):
            if (frame.path, frame.entry) != (loop, entry):
                continue
            if frame.iteration == (0 if iteration is None else iteration + 1):
                assert frame.loop is not None
                # The frame stands as long as nobody asks for the next one.
                params = [*frame.loop.body.inputs, *pre_condition_values(frame.loop)]
                return frame.values if iteration is None else IterationReader(got, params, frame.values)
            if frame.iteration == iteration:
                got = iteration_inputs(frame)
        return None

    def reasons(self, loop: str) -> list[DivergenceReason]:
        """From the notes on the model, and on the numbers of its last run."""
        plan = next(plan for plan in self.model.plan.loops if plan.path == loop)
        return reasons_from_notes([*self.model.graph.notes, *plan.loop.notes, *self._observed.get(loop, ())])


def _available_parameters(frame: Frame) -> dict[Value, Any]:
    """What the next iteration gets, as far as it stands there already."""
    assert frame.loop is not None
    engine = frame._internals.engine
    # Not by ``frame.values``, which look at all nodes first: this is asked at every boundary.
    slots = ((value, engine.plan.slot_of.get(value)) for value in frame.loop.body.inputs)
    return {value: engine.value(slot) for value, slot in slots if slot is not None and engine.has_value(slot)}


def _loop_info(loop: LoopNode) -> LoopInfo:
    return LoopInfo(loop.path, loop.name, tuple(_loop_info(child) for child in loop.children), loop.loop)


class TraceSide:
    """A recorded run."""

    def __init__(self, trace: Any) -> None:
        self.label = Path(trace.path).name
        self.outline = GraphIndex(trace)
        self.loops = _recorded_loops(self.outline, -1)
        self.graph: Graph | None = self.outline.graph
        self.outputs: Mapping[str, Data] | None = trace.outputs
        self.trace = trace
        self._on_tick: OnTick | None = None

    def boundaries(self) -> Iterator[Boundary]:
        """What was recorded, body values included where they were."""
        read, whole = ReadProgress(), self.trace.totals
        tick = ProgressReporter(self._on_tick, False, lambda: read.totals(whole))
        for boundary in self.trace.boundaries():
            read.count_boundary(boundary)
            tick()
            yield boundary

    def report_progress(self, on_tick: OnTick | None, *, leads: bool) -> None:
        """From now on tell how far it is read, if it leads."""
        self._on_tick = on_tick if leads else None

    @property
    def final_reader(self) -> ValueReader | None:
        """What was recorded of the main graph; None where the run did not come to its end."""
        if self.outputs is None:
            return None
        last = self.trace.boundary_ref(newest=True)
        return RecordedFrame(RecordedFrameInternals(self.outline, -1, 0 if last is None else last.id, over=True)).values

    def reader_at(self, loop: str, entry: tuple[int, ...], iteration: int | None) -> ValueReader | None:
        """What was recorded of it, and what follows from that."""
        index = next(body.index for body in self.outline.loops if body.path == loop)
        started = self.outline.entry_start(index, entry)
        if started is None:
            return None
        first = frame_at(self.outline, started[1])
        if iteration is None:
            return first.values
        before, after = first._internals.boundary_at(iteration), first._internals.boundary_at(iteration + 1)
        if after is None:
            return None
        got = {} if before is None else iteration_inputs(frame_at(self.outline, before))
        params = [] if first.loop is None else [*first.loop.body.inputs, *pre_condition_values(first.loop)]
        return IterationReader(got, params, frame_at(self.outline, after).values)

    def reasons(self, loop: str) -> list[DivergenceReason]:
        """A trace has none of its own."""
        return []


def _recorded_loops(outline: GraphIndex, parent: int) -> tuple[LoopInfo, ...]:
    return tuple(
        LoopInfo(body.path, body.loop.name, _recorded_loops(outline, body.index), body.loop)
        for body in outline.child_loops(parent)
    )


def open_side(path: str | Path, weights: str | None = None) -> Model | TraceSide:
    """What a file holds: a trace, told by its header, is a side at once; a model needs inputs first. ``weights``: the
    file with the constants of an IR, if not the ``.bin`` beside it.

    Raises:
        ModelError: neither a model nor a trace that can be read.
    """
    if is_sqlite_file(path):
        from ...trace.trace_store import TraceStore

        return TraceSide(TraceStore.open(path))
    return load(path, weights)
