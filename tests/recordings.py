"""Recorded runs for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import loopdbg
from loopdbg.debugger.recording.reader import Trace
from loopdbg.debugger.recording.recorder import Options, Recorder
from loopdbg.debugger.session.boundary import Boundary, read
from loopdbg.runtime.model import Run


def record(
    path: Path, model: loopdbg.Model, inputs: Mapping[str, Any], max_iterations: int | None = None, **options: Any
) -> tuple[Trace, list[Boundary], Run]:
    """A recorded run: the trace, the same boundaries as the run showed them, and how the run ended."""
    seen: list[Boundary] = []
    nodes, only = options.get("nodes", False), options.get("only")
    with Recorder(path, model, inputs, Options(**options)) as recorder:

        def hook(frame: loopdbg.Frame) -> None:
            seen.append(read(frame, computed=nodes, only=only))
            recorder(frame)

        run = model.execute(inputs, on_iteration=hook, max_iterations=max_iterations)
        recorder.finish(run)
    return Trace.open(path), seen, run


def same(a: Any, b: Any) -> bool:
    """Bit for bit: dtype, shape and every element, strings and sequences as well."""
    if a is None or b is None:
        return a is b
    if isinstance(a, list) or isinstance(b, list):
        return isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.hasobject:
        return a.tolist() == b.tolist()
    return a.tobytes() == b.tobytes()


def all_same(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """The same names, and :func:`same` values."""
    return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)


def assert_same_boundary(a: Boundary, b: Boundary) -> None:
    """Two records of one boundary."""
    where = a.loop, a.entry, a.iteration
    assert where == (b.loop, b.entry, b.iteration)
    assert (a.condition, a.ended) == (b.condition, b.ended), where
    assert all_same(a.carried, b.carried), where
    assert all_same(a.scanned, b.scanned), where
    assert all_same(a.computed, b.computed), where
