"""Recorded runs for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import loopdbg
from comparable_values import all_exact_bits
from loopdbg.debugger.session.boundary import Boundary, read_boundary
from loopdbg.debugger.trace.reader import Trace
from loopdbg.debugger.trace.recorder import Recorder, RecordOptions
from loopdbg.runtime.model import Run


def record_run(
    path: Path, model: loopdbg.Model, inputs: Mapping[str, Any], max_iterations: int | None = None, **options: Any
) -> tuple[Trace, list[Boundary], Run]:
    """Record a run; returns the trace, the boundaries that the run showed, and how the run ended."""
    seen: list[Boundary] = []
    nodes, only = options.get("nodes", False), options.get("only")
    with Recorder(path, model, inputs, RecordOptions(**options)) as recorder:

        def hook(frame: loopdbg.Frame) -> None:
            seen.append(read_boundary(frame, computed=nodes, only=only))
            recorder(frame)

        run = model.execute(inputs, on_iteration=hook, max_iterations=max_iterations)
        recorder.finish(run)
    return Trace.open(path), seen, run


def assert_same_boundary(a: Boundary, b: Boundary) -> None:
    """Compare two records of one boundary."""
    where = a.loop, a.entry, a.iteration
    assert where == (b.loop, b.entry, b.iteration)
    assert (a.condition, a.ended) == (b.condition, b.ended), where
    assert all_exact_bits(a.carried) == all_exact_bits(b.carried), where
    assert all_exact_bits(a.scanned) == all_exact_bits(b.scanned), where
    assert all_exact_bits(a.computed) == all_exact_bits(b.computed), where
