"""Recorded runs for tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import loopdbg
from comparable_values import all_exact_bits
from loopdbg.debugger.session.boundary import Boundary, read_boundary
from loopdbg.debugger.trace.reader import Trace
from loopdbg.debugger.trace.recorder import Recorder, RecordOptions
from loopdbg.runtime.frame import frame_reader, values_with_branch_paths
from loopdbg.runtime.graph import StoppedBy
from loopdbg.runtime.graph.dependence import condition_values
from loopdbg.runtime.model import Run


def record_run(
    path: Path, model: loopdbg.Model, inputs: Mapping[str, Any], max_iterations: int | None = None, **options: Any
) -> tuple[Trace, list[Boundary], Run]:
    """Record a run; returns the trace, the boundaries that the run showed, and how the run ended."""
    seen: list[Boundary] = []
    nodes, only = options.get("nodes", False), options.get("only")
    with Recorder(path, model, inputs, RecordOptions(**options)) as recorder:

        def hook(frame: loopdbg.Frame) -> None:
            boundary = read_computed(frame) if nodes else read_boundary(frame)
            seen.append(boundary if only is None else _select(boundary, only))
            recorder(frame)

        run = model.execute(inputs, on_iteration=hook, max_iterations=max_iterations)
        recorder.finish(run)
    return Trace.open(path), seen, run


def read_computed(frame: loopdbg.Frame) -> Boundary:
    """The record of a boundary, with the values that the body computed in the iteration that just ended."""
    reader = frame_reader(frame)
    plan, test_values, values = reader.engine.plan, condition_values(reader.loop), {}
    for value, branches in values_with_branch_paths(plan, plan.loops[reader.index]):
        # The loop test is computed before its boundary, unless the trip count ends the loop.
        if reader.stopped_by is StoppedBy.TRIP_COUNT if value in test_values else reader.iteration == 0:
            continue
        # Values in a branch that was not taken belong to an earlier iteration.
        if reader.branch_was_taken(branches) and value.name in reader.values:
            values[value.name] = reader.values[value.name]
    return replace(read_boundary(frame), computed=values)


def _select(boundary: Boundary, names: Collection[str]) -> Boundary:
    def selected(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if name in names}

    return replace(
        boundary,
        carried=selected(boundary.carried),
        scanned=selected(boundary.scanned),
        computed=selected(boundary.computed),
    )


def assert_same_boundary(a: Boundary, b: Boundary) -> None:
    """Compare two records of one boundary."""
    where = a.loop, a.entry, a.iteration
    assert where == (b.loop, b.entry, b.iteration)
    assert (a.condition, a.ended) == (b.condition, b.ended), where
    assert all_exact_bits(a.carried) == all_exact_bits(b.carried), where
    assert all_exact_bits(a.scanned) == all_exact_bits(b.scanned), where
    assert all_exact_bits(a.computed) == all_exact_bits(b.computed), where
