"""One side of a comparison as a stream of executed iterations with their values."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ....runtime.frame import BranchPath, Frame, frame_reader
from ....runtime.graph import MAIN, StoppedBy, Value
from ...reference.reference import Key
from .output_comparison import outputs_by_name
from .sides import ComparisonSide, ModelSide, walk_loops
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
    """One iteration. ``iteration`` -1: the loop was entered, before its first iteration. The last record of a run, for
    the main graph, has an empty ``loop`` and ``entry``.

    ``carried``: the carried values after the iteration. ``stopped_by``: why the loop ended with it.
    """

    loop: str
    entry: Key
    iteration: int
    reader: ValueReader
    carried: Mapping[Value, Any]
    stopped_by: StoppedBy | None = None

    @property
    def key(self) -> Key:
        """The iterations of all loops around the computed values."""
        return (*self.entry, self.iteration) if self.loop else ()


def iterate_side(side: ComparisonSide, requested: Mapping[str, Collection[Value]]) -> Iterator[IterationRecord]:
    """Run or read a side to its end. ``requested``: the values to read by loop path; other loops have no
    records."""
    yield from _iterate_model(side, requested) if isinstance(side, ModelSide) else _iterate_trace(side, requested)


def _iterate_model(side: ModelSide, requested: Mapping[str, Collection[Value]]) -> Iterator[IterationRecord]:
    side.watched_paths = {MAIN}
    params = {path: _pre_iteration_values(side, path, values) for path, values in requested.items()}
    branch_paths: dict[str, dict[Value, BranchPath]] = {}
    inputs: dict[str, dict[Value, Any]] = {}
    for frame in side.frames():
        if frame.path not in requested:
            continue
        values = params[frame.path]
        if frame.path not in branch_paths:
            branch_paths[frame.path] = post_iteration_values(frame)
        after = PostIterationReader(frame, branch_paths[frame.path])
        reader = IterationReader(inputs.get(frame.path, {}), values, after) if frame.iteration else DictReader({})
        available = frame_reader(frame).read_filled_slots(values)
        carried = _carried(frame, available)
        yield IterationRecord(frame.path, frame.entry, frame.iteration - 1, reader, carried, frame.stopped_by)
        inputs[frame.path] = available
    if side.final_reader is not None:
        yield IterationRecord("", (), -1, side.final_reader, {})


def _pre_iteration_values(side: ModelSide, path: str, requested: Collection[Value]) -> list[Value]:
    """The requested values that are available before an iteration runs."""
    loop = next(plan.loop for plan in side.model.plan.loops if plan.path == path)
    available = {*loop.body.inputs, *pre_condition_values(loop)}
    return [value for value in requested if value in available]


def _carried(frame: Frame, values: Mapping[Value, Any]) -> dict[Value, Any]:
    loop = frame.loop
    return {} if loop is None else {edge.param: values[edge.param] for edge in loop.back_edges if edge.param in values}


def _iterate_trace(side: ComparisonSide, requested: Mapping[str, Collection[Value]]) -> Iterator[IterationRecord]:
    loops = {info.path: info.loop for info in walk_loops(side.loops)}
    for boundary in side.boundaries():
        loop = loops.get(boundary.loop)
        if boundary.loop not in requested or loop is None:
            continue
        k = boundary.iteration - 1
        reader = side.reader_at(boundary.loop, boundary.entry, k) if k >= 0 else None
        params = [edge.param for edge in loop.back_edges if edge.param.name in boundary.carried]
        carried = {value: boundary.carried[value.name] for value in params}
        yield IterationRecord(boundary.loop, boundary.entry, k, reader or DictReader({}), carried, boundary.ended)
    graph, outputs = side.graph, side.outputs
    if graph is not None and outputs is not None:
        values = {value: outputs[name] for name, value in outputs_by_name(graph).items() if name in outputs}
        yield IterationRecord("", (), -1, DictReader(values), {})
