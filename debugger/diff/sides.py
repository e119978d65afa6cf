"""The two sides of a comparison: whatever gives boundaries in the order of time, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ...runtime.engine.engine import Engine
from ...runtime.errors import ExecutionError, InterruptError
from ...runtime.frame import Frame, Way
from ...runtime.frontends import is_database
from ...runtime.graph import MAIN, Graph, Loop, Value
from ...runtime.model import Data, LoopNode, Model, load
from ...runtime.notes import observed
from ..breakpoints.breakpoint import MAIN_GRAPH
from ..recording.frames import RecordedFrame, RecordedInside, frame_at
from ..recording.outline import Outline
from ..session.boundary import Boundary, read
from .findings import Reason
from .iteration_values import Iteration, Left, Moment, asked_before, given, left_by
from .rules import reasons_of
from .ticks import OnTick, Read, Ticks


@dataclass(frozen=True)
class LoopInfo:
    """A loop of one side and the loops inside it, in the order in which they run.

    ``loop``: it in the loop graph of its side; None where that is not known.
    """

    path: str
    name: str
    children: tuple[LoopInfo, ...] = ()
    loop: Loop | None = None


class Side(Protocol):
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

    def moment(self, loop: str, entry: tuple[int, ...], iteration: int | None) -> Moment | None:
        """One iteration with all its values; None for the iteration: the boundary before iteration 0."""

    def reasons(self, loop: str) -> list[Reason]:
        """Where some runtime does something else with a loop."""


class ModelSide:
    """A model that is run, boundary by boundary, as far as somebody reads.

    ``limit`` ends every entry of every loop once it ran that many iterations, and with it the run; ``limited`` tells.
    """

    def __init__(self, model: Model, inputs: Mapping[str, Data], limit: int | None = None, label: str = "") -> None:
        self.model = model
        self.label = label or model.name
        self.loops = [_info(loop) for loop in model.loops]
        self.graph: Graph | None = model.graph
        self.outputs: Mapping[str, Data] | None = None
        self.limit = limit
        self.limited = False
        self._given = model.check(inputs)
        ports = zip(model.plan.inputs, model.inputs, strict=False)
        named = model._inside.named(inputs)
        #: What it is given, by name and in the types that it declares.
        self.inputs = {port.name: self._given[slot] for (_, slot), port in ports if port.name in named}
        self._observed: dict[str, list[str]] = {}
        #: Paths of loops of which somebody asks what is ``here``, and the main graph's where it is what was there last.
        self.watched: set[str] = set()
        #: The values of the main graph where a run ended, where that is watched; a limited run did not come to all.
        self.ended: Moment | None = None
        self._at: Frame | None = None
        self._on_tick: OnTick | None = None
        self._leads = True
        self._got: dict[str, dict[Value, Any]] = {}
        #: Of each loop that was asked for, what its nodes compute.
        self._left_by: dict[str, dict[Value, Way]] = {}

    def boundaries(self) -> Iterator[Boundary]:
        """Run the model."""
        for frame in self.frames():
            self._at = frame
            yield read(frame)
            if frame.path in self.watched:
                self._got[frame.path] = _params(frame)

    def here(self) -> Moment | None:
        """The iteration of a watched loop that ended at the boundary given last, until somebody asks for the next."""
        frame = self._at
        if frame is None or frame.loop is None or frame.path not in self.watched:
            return None
        if frame.path not in self._left_by:
            self._left_by[frame.path] = left_by(frame)
        left = Left(frame, self._left_by[frame.path])
        return Iteration(self._got.get(frame.path, {}), frame.loop.body.inputs, left)

    def frames(self) -> Iterator[Frame]:
        """Run the model; it stands at the boundary of each frame as long as that is compared.

        Raises:
            ExecutionError: a node failed.
            LimitError: a loop that nothing can end, without a limit.
        """
        return self._run(self._started(), again=False)

    def report(self, on_tick: OnTick | None, *, leads: bool) -> None:
        """From now on tell how far it is; one that does not lead, only of what it runs again."""
        self._on_tick, self._leads = on_tick, leads

    def end(self) -> Moment:
        """Runs the model again, to its end: the values of the main graph."""
        engine = self._started()
        for _ in self._run(engine, again=True):
            pass
        return Frame(engine, MAIN_GRAPH).values

    def _started(self) -> Engine:
        engine = Engine(self.model.plan)
        engine.start(self._given)
        engine.set_limits(self.limit, refuse_endless=True)
        return engine

    def _run(self, engine: Engine, again: bool) -> Iterator[Frame]:
        tick = Ticks(self._on_tick if again or self._leads else None, again, lambda: self.model._inside.totals(engine))
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
            self.ended = Frame(engine, MAIN_GRAPH).values if MAIN in self.watched else None
            if what == "limit":
                self.limited = True
            else:
                self.outputs = self.model._inside.results(engine)
                self._observed = {
                    plan.path: list(observed(plan, engine))
                    for plan in self.model.plan.loops
                    if engine.loops.totals(plan.index)[1]
                }
            return

    def moment(self, loop: str, entry: tuple[int, ...], iteration: int | None) -> Moment | None:
        """Runs the model again, as far as that; its values are those of the run that stands there."""
        got: dict[Value, Any] = {}
        for frame in self._run(self._started(), again=True):
            if (frame.path, frame.entry) != (loop, entry):
                continue
            if frame.iteration == (0 if iteration is None else iteration + 1):
                assert frame.loop is not None
                # The frame stands as long as nobody asks for the next one.
                params = [*frame.loop.body.inputs, *asked_before(frame.loop)]
                return frame.values if iteration is None else Iteration(got, params, frame.values)
            if frame.iteration == iteration:
                got = given(frame)
        return None

    def reasons(self, loop: str) -> list[Reason]:
        """From the notes on the model, and on the numbers of its last run."""
        plan = next(plan for plan in self.model.plan.loops if plan.path == loop)
        return reasons_of([*self.model.graph.notes, *plan.loop.notes, *self._observed.get(loop, ())])


def _params(frame: Frame) -> dict[Value, Any]:
    """What the next iteration gets, as far as it stands there already."""
    assert frame.loop is not None
    engine = frame._inside.engine
    # Not by ``frame.values``, which look at all nodes first: this is asked at every boundary.
    slots = ((value, engine.plan.slot_of.get(value)) for value in frame.loop.body.inputs)
    return {value: engine.value(slot) for value, slot in slots if slot is not None and engine.has_value(slot)}


def _info(loop: LoopNode) -> LoopInfo:
    return LoopInfo(loop.path, loop.name, tuple(_info(child) for child in loop.children), loop.loop)


class TraceSide:
    """A recorded run."""

    def __init__(self, trace: Any) -> None:
        self.label = Path(trace.path).name
        self.outline = Outline(trace)
        self.loops = _recorded(self.outline, -1)
        self.graph: Graph | None = self.outline.graph
        self.outputs: Mapping[str, Data] | None = trace.outputs
        self.trace = trace
        self._on_tick: OnTick | None = None

    def boundaries(self) -> Iterator[Boundary]:
        """What was recorded, body values included where they were."""
        read, whole = Read(), self.trace.totals
        tick = Ticks(self._on_tick, False, lambda: read.totals(whole))
        for boundary in self.trace.boundaries():
            read.see(boundary)
            tick()
            yield boundary

    def report(self, on_tick: OnTick | None, *, leads: bool) -> None:
        """From now on tell how far it is read, if it leads."""
        self._on_tick = on_tick if leads else None

    @property
    def ended(self) -> Moment | None:
        """What was recorded of the main graph; None where the run did not come to its end."""
        if self.outputs is None:
            return None
        last = self.trace.mark(newest=True)
        return RecordedFrame(RecordedInside(self.outline, -1, 0 if last is None else last.id, over=True)).values

    def moment(self, loop: str, entry: tuple[int, ...], iteration: int | None) -> Moment | None:
        """What was recorded of it, and what follows from that."""
        index = next(body.index for body in self.outline.loops if body.path == loop)
        started = self.outline.started(index, entry)
        if started is None:
            return None
        first = frame_at(self.outline, started[1])
        if iteration is None:
            return first.values
        before, after = first._inside.mark_at(iteration), first._inside.mark_at(iteration + 1)
        if after is None:
            return None
        got = {} if before is None else given(frame_at(self.outline, before))
        params = [] if first.loop is None else [*first.loop.body.inputs, *asked_before(first.loop)]
        return Iteration(got, params, frame_at(self.outline, after).values)

    def reasons(self, loop: str) -> list[Reason]:
        """A trace has none of its own."""
        return []


def _recorded(outline: Outline, parent: int) -> tuple[LoopInfo, ...]:
    return tuple(
        LoopInfo(body.path, body.loop.name, _recorded(outline, body.index), body.loop)
        for body in outline.inside(parent)
    )


def open_side(path: str | Path, weights: str | None = None) -> Model | TraceSide:
    """What a file holds: a trace, told by its header, is a side at once; a model needs inputs first. ``weights``: the
    file with the constants of an IR, if not the ``.bin`` beside it.

    Raises:
        ModelError: neither a model nor a trace that can be read.
    """
    if is_database(path):
        from ..recording.trace_inside import TraceInside

        return TraceSide(TraceInside.open(path))
    return load(path, weights)
