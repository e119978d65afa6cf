"""One side of a comparison as the iterations that it ran, in the order of time, each with its values."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...runtime.frame import Frame, Way
from ...runtime.graph import MAIN, Graph, StoppedBy, Value
from ..reference.reference import Key
from .iteration_values import Computed, Iteration, Left, Moment, asked_before, left_by
from .sides import LoopInfo, ModelSide, Side


@dataclass(frozen=True)
class Step:
    """One iteration that ran. ``iteration`` -1: the loop was entered, and nothing ran yet. The last step of a run, of
    the main graph, has no ``loop``, and ``entry`` is empty.

    ``carried``: what the loop carries behind the iteration. ``ended``: why the loop ended with it.
    """

    loop: str
    entry: Key
    iteration: int
    moment: Moment
    carried: Mapping[Value, Any]
    ended: StoppedBy | None = None

    @property
    def key(self) -> Key:
        """The iterations of all loops around what was computed."""
        return (*self.entry, self.iteration) if self.loop else ()


def steps_of(side: Side, wanted: Mapping[str, Collection[Value]]) -> Iterator[Step]:
    """Run or read a side to its end. ``wanted``: of each loop, by path, the values that are asked for; loops that are
    not in there have no steps."""
    yield from _of_model(side, wanted) if isinstance(side, ModelSide) else _of_trace(side, wanted)


def _of_model(side: ModelSide, wanted: Mapping[str, Collection[Value]]) -> Iterator[Step]:
    side.watched = {MAIN}
    params = {path: _before(side, path, values) for path, values in wanted.items()}
    made: dict[str, dict[Value, Way]] = {}
    got: dict[str, dict[Value, Any]] = {}
    for frame in side.frames():
        if frame.path not in wanted:
            continue
        before = params[frame.path]
        if frame.path not in made:
            made[frame.path] = left_by(frame)
        left = Left(frame, made[frame.path])
        moment = Iteration(got.get(frame.path, {}), before, left) if frame.iteration else Computed({})
        now = _there(frame, before)
        carried = _carried(frame, now)
        yield Step(frame.path, frame.entry, frame.iteration - 1, moment, carried, frame.stopped_by)
        got[frame.path] = now
    if side.ended is not None:
        yield Step("", (), -1, side.ended, {})


def _there(frame: Frame, values: Sequence[Value]) -> dict[Value, Any]:
    """Those values that are there at a boundary, read without looking at the nodes of the body."""
    engine = frame._inside.engine
    slots = ((value, engine.plan.slot_of.get(value)) for value in values)
    return {value: engine.value(slot) for value, slot in slots if slot is not None and engine.has_value(slot)}


def _before(side: ModelSide, path: str, wanted: Collection[Value]) -> list[Value]:
    """Of the values that are wanted, those that are there before an iteration runs."""
    loop = next(plan.loop for plan in side.model.plan.loops if plan.path == path)
    there = {*loop.body.inputs, *asked_before(loop)}
    return [value for value in wanted if value in there]


def _carried(frame: Frame, now: Mapping[Value, Any]) -> dict[Value, Any]:
    loop = frame.loop
    return {} if loop is None else {edge.param: now[edge.param] for edge in loop.back_edges if edge.param in now}


def _of_trace(side: Side, wanted: Mapping[str, Collection[Value]]) -> Iterator[Step]:
    loops = {info.path: info.loop for info in every_loop(side.loops)}
    for boundary in side.boundaries():
        loop = loops.get(boundary.loop)
        if boundary.loop not in wanted or loop is None:
            continue
        k = boundary.iteration - 1
        moment = side.moment(boundary.loop, boundary.entry, k) if k >= 0 else None
        params = [edge.param for edge in loop.back_edges if edge.param.name in boundary.carried]
        carried = {value: boundary.carried[value.name] for value in params}
        yield Step(boundary.loop, boundary.entry, k, moment or Computed({}), carried, boundary.ended)
    graph, outputs = side.graph, side.outputs
    if graph is not None and outputs is not None:
        found = {value: outputs[name] for name, value in named_outputs(graph).items() if name in outputs}
        yield Step("", (), -1, Computed(found), {})


def named_outputs(graph: Graph) -> dict[str, Value]:
    """The outputs of a model by the names that a run gives them."""
    return dict(zip(graph.output_names or [value.name for value in graph.outputs], graph.outputs, strict=False))


def every_loop(loops: Sequence[LoopInfo]) -> Iterator[LoopInfo]:
    """Loops and those inside them, outer before inner."""
    for loop in loops:
        yield loop
        yield from every_loop(loop.children)
