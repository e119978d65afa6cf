"""One side of a comparison as the iterations that it ran, in the order of time, each with its values."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ....runtime.frame import BranchPath, Frame
from ....runtime.graph import MAIN, Graph, StoppedBy, Value
from ...reference.reference import Key
from .sides import ComparisonSide, LoopInfo, ModelSide
from .value_readers import (
    DictReader,
    IterationReader,
    PostIterationReader,
    ValueReader,
    post_iteration_values,
    pre_condition_values,
)


@dataclass(frozen=True)
class IterationRecord:
    """One iteration that ran. ``iteration`` -1: the loop was entered, and nothing ran yet. The last step of a run, of
    the main graph, has no ``loop``, and ``entry`` is empty.

    ``carried``: what the loop carries behind the iteration. ``ended``: why the loop ended with it.
    """

    loop: str
    entry: Key
    iteration: int
    reader: ValueReader
    carried: Mapping[Value, Any]
    stopped_by: StoppedBy | None = None

    @property
    def key(self) -> Key:
        """The iterations of all loops around what was computed."""
        return (*self.entry, self.iteration) if self.loop else ()


def iterate_side(side: ComparisonSide, wanted: Mapping[str, Collection[Value]]) -> Iterator[IterationRecord]:
    """Run or read a side to its end. ``wanted``: of each loop, by path, the values that are asked for; loops that are
    not in there have no steps."""
    yield from _iterate_model(side, wanted) if isinstance(side, ModelSide) else _iterate_trace(side, wanted)


def _iterate_model(side: ModelSide, wanted: Mapping[str, Collection[Value]]) -> Iterator[IterationRecord]:
    side.watched_paths = {MAIN}
    params = {path: _pre_iteration_values(side, path, values) for path, values in wanted.items()}
    made: dict[str, dict[Value, BranchPath]] = {}
    got: dict[str, dict[Value, Any]] = {}
    for frame in side.frames():
        if frame.path not in wanted:
            continue
        before = params[frame.path]
        if frame.path not in made:
            made[frame.path] = post_iteration_values(frame)
        left = PostIterationReader(frame, made[frame.path])
        moment = IterationReader(got.get(frame.path, {}), before, left) if frame.iteration else DictReader({})
        now = _available_values(frame, before)
        carried = _carried(frame, now)
        yield IterationRecord(frame.path, frame.entry, frame.iteration - 1, moment, carried, frame.stopped_by)
        got[frame.path] = now
    if side.final_reader is not None:
        yield IterationRecord("", (), -1, side.final_reader, {})


def _available_values(frame: Frame, values: Sequence[Value]) -> dict[Value, Any]:
    """Those values that are there at a boundary, read without looking at the nodes of the body."""
    engine = frame._internals.engine
    slots = ((value, engine.plan.slot_of.get(value)) for value in values)
    return {value: engine.value(slot) for value, slot in slots if slot is not None and engine.has_value(slot)}


def _pre_iteration_values(side: ModelSide, path: str, wanted: Collection[Value]) -> list[Value]:
    """Of the values that are wanted, those that are there before an iteration runs."""
    loop = next(plan.loop for plan in side.model.plan.loops if plan.path == path)
    there = {*loop.body.inputs, *pre_condition_values(loop)}
    return [value for value in wanted if value in there]


def _carried(frame: Frame, now: Mapping[Value, Any]) -> dict[Value, Any]:
    loop = frame.loop
    return {} if loop is None else {edge.param: now[edge.param] for edge in loop.back_edges if edge.param in now}


def _iterate_trace(side: ComparisonSide, wanted: Mapping[str, Collection[Value]]) -> Iterator[IterationRecord]:
    loops = {info.path: info.loop for info in walk_loops(side.loops)}
    for boundary in side.boundaries():
        loop = loops.get(boundary.loop)
        if boundary.loop not in wanted or loop is None:
            continue
        k = boundary.iteration - 1
        moment = side.reader_at(boundary.loop, boundary.entry, k) if k >= 0 else None
        params = [edge.param for edge in loop.back_edges if edge.param.name in boundary.carried]
        carried = {value: boundary.carried[value.name] for value in params}
        yield IterationRecord(boundary.loop, boundary.entry, k, moment or DictReader({}), carried, boundary.ended)
    graph, outputs = side.graph, side.outputs
    if graph is not None and outputs is not None:
        found = {value: outputs[name] for name, value in outputs_by_name(graph).items() if name in outputs}
        yield IterationRecord("", (), -1, DictReader(found), {})


def outputs_by_name(graph: Graph) -> dict[str, Value]:
    """The outputs of a model by the names that a run gives them."""
    return dict(zip(graph.output_names or [value.name for value in graph.outputs], graph.outputs, strict=False))


def walk_loops(loops: Sequence[LoopInfo]) -> Iterator[LoopInfo]:
    """Loops and those inside them, outer before inner."""
    for loop in loops:
        yield loop
        yield from walk_loops(loop.children)
