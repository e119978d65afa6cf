"""The two sides of a comparison: streams of boundaries in execution order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ....runtime.engine.engine import Engine
from ....runtime.errors import ExecutionError, InterruptError
from ....runtime.frame import BranchPath, Frame, frame_reader
from ....runtime.frontends import is_sqlite_file
from ....runtime.graph import MAIN, Graph, Loop, Value
from ....runtime.input_validation import resolve_aliases
from ....runtime.model import Data, LoopNode, Model, load
from ....runtime.modelfile.scratch_folder import ScratchFolder
from ....runtime.run_result import run_totals
from ....runtime.runtime_deviation_notes import notes_for_run
from ...breakpoints.breakpoint import MAIN_GRAPH
from ...session.boundary import Boundary, read_boundary
from ...trace.graph_index import GraphIndex
from ...trace.recorded_frames import frame_at, main_frame
from ..report.findings import DivergenceReason
from ..report.runtime_differences import reasons_from_notes
from .progress import OnTick, ProgressReporter, ReadProgress
from .value_readers import (
    DictReader,
    IterationReader,
    PostIterationReader,
    ValueReader,
    iteration_inputs,
    post_iteration_values,
    pre_condition_values,
)


@dataclass(frozen=True)
class LoopInfo:
    """A loop of one side and its nested loops in execution order.

    ``loop``: the loop in the graph of its side; None if unknown.
    """

    path: str
    name: str
    children: tuple[LoopInfo, ...] = ()
    loop: Loop | None = None


def walk_loops(loops: Sequence[LoopInfo]) -> Iterator[LoopInfo]:
    """Loops and their nested loops, outer before inner."""
    for loop in loops:
        yield loop
        yield from walk_loops(loop.children)


class ComparisonSide(Protocol):
    """One side of a comparison."""

    @property
    def label(self) -> str:
        """The name of the side."""

    @property
    def loops(self) -> Sequence[LoopInfo]:
        """The outermost loops."""

    @property
    def graph(self) -> Graph | None:
        """The loop graph; None if unknown."""

    @property
    def outputs(self) -> Mapping[str, Data] | None:
        """The outputs of the run; None until its boundaries are read to the end, or if it did not end."""

    def boundaries(self) -> Iterator[Boundary]:
        """All boundaries, from the start."""

    def reader_at(self, loop: str, entry: tuple[int, ...], iteration: int | None) -> ValueReader | None:
        """The values of one iteration; None as iteration: of the boundary before iteration 0."""

    def reasons(self, loop: str) -> list[DivergenceReason]:
        """Known deviations of runtimes for a loop."""


class ModelSide:
    """A model that runs boundary by boundary while they are read.

    ``limit`` ends the run once any loop entry reaches that many iterations, and sets ``limit_hit``.
    """

    def __init__(self, model: Model, inputs: Mapping[str, Data], limit: int | None = None, label: str = "") -> None:
        self.model = model
        self.label = label or model.name
        self.loops = loops_of_model(model)
        self.graph = model.graph
        self.outputs: Mapping[str, Data] | None = None
        self.limit = limit
        self.limit_hit = False
        #: Large tensors of this model, for all jobs of peers.
        self.scratch = ScratchFolder()
        #: The most iterations that any entry of a loop had.
        self.most_iterations = 0
        self._bound_inputs = model.check(inputs)
        ports = zip(model.plan.inputs, model.inputs, strict=False)
        names = resolve_aliases(model.graph, inputs)
        #: The inputs by name, in their declared types.
        self.inputs = {port.name: self._bound_inputs[slot] for (_, slot), port in ports if port.name in names}
        self._observed: dict[str, list[str]] = {}
        #: Paths of loops whose values are read at boundaries; the main graph's path for its final values.
        self._watched_paths: set[str] = set()
        self._requested_values: Mapping[str, Collection[Value]] = {}
        #: The final values of the main graph, if watched; incomplete after a limited run.
        self.final_reader: ValueReader | None = None
        self._current_frame: Frame | None = None
        self._on_tick: OnTick | None = None
        self._reports_first_run = True
        #: For each watched loop, what was known before the iteration; all values that are, and those to read.
        self._known_by_path: dict[str, dict[Value, Any]] = {}
        self._early_by_path: dict[str, tuple[list[Value], list[Value]]] = {}
        #: For each watched loop, the values that its nodes compute.
        self._readable_by_path: dict[str, dict[Value, BranchPath]] = {}

    def boundaries(self) -> Iterator[Boundary]:
        """Run the model."""
        for frame in self.frames():
            self._current_frame = frame
            yield read_boundary(frame)
            if frame.path in self._watched_paths:
                # Not by ``frame.values``, which inspects all nodes first: this is called at every boundary.
                self._known_by_path[frame.path] = frame_reader(frame).read_filled_slots(self._early_values(frame)[1])

    def watch(self, paths: Collection[str], requested: Mapping[str, Collection[Value]] | None = None) -> None:
        """Let the values of loops be read at their boundaries from now on. ``requested``: by path those to read of the
        values that are known before an iteration; of other loops all are."""
        self._watched_paths, self._requested_values, self._early_by_path = set(paths), requested or {}, {}

    def _early_values(self, frame: Frame) -> tuple[list[Value], list[Value]]:
        """The values of a loop that are known before an iteration, and those to read."""
        if frame.path not in self._early_by_path:
            assert frame.loop is not None
            early = [*frame.loop.body.inputs, *pre_condition_values(frame.loop)]
            requested = set(self._requested_values.get(frame.path, early))
            self._early_by_path[frame.path] = early, [value for value in early if value in requested]
        return self._early_by_path[frame.path]

    def reader_at_boundary(self) -> ValueReader | None:
        """The iteration of a watched loop that ended at the last boundary, valid until the next one is read."""
        frame = self._current_frame
        if frame is None or frame.path not in self._watched_paths:
            return None
        if frame.path not in self._readable_by_path:
            self._readable_by_path[frame.path] = post_iteration_values(frame)
        after = PostIterationReader(frame, self._readable_by_path[frame.path])
        return IterationReader(self._known_by_path.get(frame.path, {}), self._early_values(frame)[0], after)

    def frames(self) -> Iterator[Frame]:
        """Run the model; each frame is valid until the next one is read.

        Raises:
            ExecutionError: a node failed.
            LimitError: a loop is infinite and there is no limit.
        """
        return self._run_frames(self._start_engine(), is_rerun=False)

    def bound_inputs(self) -> Iterator[tuple[Value, Any]]:
        """The inputs of the graph, variables included, with their data."""
        for value in self.model.graph.inputs:
            slot = self.model.plan.slot_of.get(value)
            if slot in self._bound_inputs:
                yield value, self._bound_inputs[slot]

    def report_progress(self, on_tick: OnTick | None, *, leads: bool) -> None:
        """Report progress from now on; a side that does not lead reports only repeated runs."""
        self._on_tick, self._reports_first_run = on_tick, leads

    def run_to_end(self) -> ValueReader:
        """Run the model again to its end; return the values of the main graph."""
        engine = self._start_engine()
        for _ in self._run_frames(engine, is_rerun=True):
            pass
        return Frame(engine, MAIN_GRAPH).values

    def _start_engine(self) -> Engine:
        engine = Engine(self.model.plan)
        engine.start(self._bound_inputs)
        engine.set_limits(self.limit, refuse_endless=True)
        return engine

    def _run_frames(self, engine: Engine, is_rerun: bool) -> Iterator[Frame]:
        tick = ProgressReporter(
            self._on_tick if is_rerun or self._reports_first_run else None,
            is_rerun,
            lambda: run_totals(engine),
        )
        engine.on_tick = tick
        while True:
            tick()
            engine.clear_stops()
            engine.stop_anywhere()
            try:
                stop_kind, index = engine.resume()
            except ExecutionError as error:
                raise ExecutionError(f"{self.label}: {error.what}", error.remedy, **error.fields) from None
            if stop_kind == "boundary":
                frame = Frame(engine, index)
                self.most_iterations = max(self.most_iterations, frame.iteration)
                yield frame
                continue
            if stop_kind == "interrupt":
                raise InterruptError("interrupted")
            self.final_reader = Frame(engine, MAIN_GRAPH).values if MAIN in self._watched_paths else None
            if stop_kind == "limit":
                self.limit_hit = True
            else:
                self.outputs = engine.results()
                self._observed = {
                    plan.path: list(notes_for_run(plan, engine))
                    for plan in self.model.plan.loops
                    if engine.loops.totals(plan.index)[1]
                }
            return

    def reader_at(self, loop: str, entry: tuple[int, ...], iteration: int | None) -> ValueReader | None:
        """Run the model again up to an iteration; the values are those of that run."""
        inputs: dict[Value, Any] = {}
        for frame in self._run_frames(self._start_engine(), is_rerun=True):
            if (frame.path, frame.entry) != (loop, entry):
                continue
            if frame.iteration == (0 if iteration is None else iteration + 1):
                assert frame.loop is not None
                # The frame is valid until the next one is requested.
                params = [*frame.loop.body.inputs, *pre_condition_values(frame.loop)]
                return frame.values if iteration is None else IterationReader(inputs, params, frame.values)
            if frame.iteration == iteration:
                inputs = iteration_inputs(frame)
        return None

    def reasons(self, loop: str) -> list[DivergenceReason]:
        """The notes on the model and on the numbers of its last run."""
        plan = next(plan for plan in self.model.plan.loops if plan.path == loop)
        return reasons_from_notes([*self.model.graph.notes, *plan.loop.notes, *self._observed.get(loop, ())])


def loops_of_model(model: Model) -> list[LoopInfo]:
    """The outermost loops of a model."""
    return [_make_loop_info(loop) for loop in model.loops]


def _make_loop_info(loop: LoopNode) -> LoopInfo:
    return LoopInfo(loop.path, loop.name, tuple(_make_loop_info(child) for child in loop.children), loop.loop)


class TraceSide:
    """A recorded run."""

    def __init__(self, trace: Any) -> None:
        self.label = Path(trace.path).name
        self.outline = GraphIndex(trace)
        self.loops = _recorded_loops(self.outline, -1)
        self.graph = self.outline.graph
        self.outputs: Mapping[str, Data] | None = trace.outputs
        self.trace = trace
        #: The most iterations that any entry of a loop had, as far as it was read.
        self.most_iterations = 0
        self._on_tick: OnTick | None = None
        self._last_boundary: Boundary | None = None

    def boundaries(self) -> Iterator[Boundary]:
        """The recorded boundaries, with body values if they were recorded."""
        progress, totals = ReadProgress(), self.trace.totals
        tick = ProgressReporter(self._on_tick, False, lambda: progress.totals(totals))
        for boundary in self.trace.boundaries():
            progress.count_boundary(boundary)
            tick()
            self.most_iterations = max(self.most_iterations, boundary.iteration)
            self._last_boundary = boundary
            yield boundary

    def reader_at_boundary(self) -> ValueReader | None:
        """The iteration that ended at the last boundary."""
        last = self._last_boundary
        return (
            None
            if last is None
            else self.reader_at(last.loop, last.entry, last.iteration - 1 if last.iteration else None)
        )

    def report_progress(self, on_tick: OnTick | None, *, leads: bool) -> None:
        """Report reading progress from now on, if the side leads."""
        self._on_tick = on_tick if leads else None

    @property
    def final_reader(self) -> ValueReader | None:
        """The recorded values of the main graph; None if the run did not end."""
        if self.outputs is None:
            return None
        last = self.trace.boundary_ref(newest=True)
        return main_frame(self.outline, last, model_ended=True)

    def reader_at(self, loop: str, entry: tuple[int, ...], iteration: int | None) -> ValueReader | None:
        """The recorded values and those derived from them."""
        index = next(body.index for body in self.outline.loops if body.path == loop)
        start = self.outline.entry_start(index, entry)
        if start is None:
            return None
        first = frame_at(self.outline, start[1])
        if iteration is None:
            return first
        before, after = first.boundary_ref(iteration), first.boundary_ref(iteration + 1)
        if after is None:
            return None
        inputs = {} if before is None else iteration_inputs(frame_at(self.outline, before))
        params = [] if first.loop is None else [*first.loop.body.inputs, *pre_condition_values(first.loop)]
        return IterationReader(inputs, params, frame_at(self.outline, after))

    def reasons(self, loop: str) -> list[DivergenceReason]:
        """No reasons."""
        return []


def iterate_side(
    side: ModelSide | TraceSide, requested: Mapping[str, Collection[Value]]
) -> Iterator[tuple[Boundary, ValueReader]]:
    """Run or read a side to its end: the boundaries of some loops, each with the values of the iteration that ended
    there, and at last one of the main graph, without a loop. ``requested``: the values to read by loop path."""
    if isinstance(side, ModelSide):
        side.watch({MAIN, *requested}, requested)
    for boundary in side.boundaries():
        if boundary.loop in requested:
            yield boundary, side.reader_at_boundary() or DictReader({})
    if side.final_reader is not None:
        yield Boundary("", (), 0, None, None, {}), side.final_reader


def iteration_key(boundary: Boundary) -> tuple[int, ...]:
    """The iterations of all loops around the values computed before a boundary."""
    return (*boundary.entry, boundary.iteration - 1) if boundary.loop else ()


def _recorded_loops(outline: GraphIndex, parent: int) -> tuple[LoopInfo, ...]:
    return tuple(
        LoopInfo(body.path, body.loop.name, _recorded_loops(outline, body.index), body.loop)
        for body in outline.child_loops(parent)
    )


def open_side(path: str | Path, weights: str | None = None) -> Model | TraceSide:
    """Open a file: a trace, recognised by its header, is a side itself; a model still needs inputs. ``weights``: the
    file with the constants of an IR, by default the ``.bin`` in the same folder.

    Raises:
        ModelError: the file is neither a model nor a readable trace.
    """
    if is_sqlite_file(path):
        from ...trace.trace_store import TraceStore

        return TraceSide(TraceStore.open(path))
    return load(path, weights)
