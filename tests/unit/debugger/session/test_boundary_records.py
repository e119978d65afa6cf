"""Boundaries as records."""

from __future__ import annotations

import itertools

import loopdbg
import text_models
from loopdbg.debugger.session.boundary import Boundary
from loopdbg.runtime.graph import StoppedBy
from recordings import read_computed

SAMPLES = "sample_models"


def test_run_as_boundary_records() -> None:
    model = loopdbg.load(f"{SAMPLES}/newton_sqrt.onnx")
    seen: list[Boundary] = []
    outputs = model.run({"a": 2.0, "tol": 1e-6}, on_iteration=lambda frame: seen.append(read_computed(frame)))
    assert [b.iteration for b in seen] == list(range(6))
    assert seen[0].scanned == {} and seen[0].computed == {} and seen[0].ended is None
    assert seen[-1].ended is StoppedBy.CONDITION and seen[-1].condition is False
    assert [float(b.scanned["xs"]) for b in seen[1:]] == outputs["xs"].tolist()
    assert all(float(b.computed["half"]) == float(a.carried["x"]) * 0.5 for a, b in itertools.pairwise(seen))


def test_entries_of_nested_loop_are_distinguished() -> None:
    seen: list[tuple[str, tuple[int, ...], int]] = []
    text_models.model(text_models.NESTED).run(
        {"M": 2, "K": 1}, on_iteration=lambda frame: seen.append((frame.name, frame.entry, frame.iteration))
    )
    outer, inner = seen[0][0], seen[1][0]
    assert seen == [
        (outer, (), 0),
        (inner, (0,), 0),
        (inner, (0,), 1),
        (outer, (), 1),
        (inner, (1,), 0),
        (inner, (1,), 1),
        (outer, (), 2),
    ]
