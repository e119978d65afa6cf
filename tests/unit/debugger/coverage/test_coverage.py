"""What runs of loops cover, against what their inputs make them do."""

from __future__ import annotations

import json

import numpy as np
import pytest

import coverage_oracle
import loopdbg
from loopdbg.debugger.coverage.points import PointKind, points
from loopdbg.debugger.coverage.recorder import CoverageRecorder
from loopdbg.debugger.coverage.report import Coverage
from optimizer_access import set_optimizer_options
from text_models import SAMPLES, model

#: Counts x down to 0; halves it while it is even.
_LOOP = """
g (int64 x, int64 M) => (int64 y) {
  zero = Constant <value_int = 0> () one = Constant <value_int = 1> () two = Constant <value_int = 2> ()
  start = Greater (x, zero)
  y = Loop <body = b (int64 i, bool c, int64 v) => (bool go, int64 w) {
    rest = Mod (v, two)
    odd = Cast <to = 9> (rest)
    w = If (odd) <
      then_branch = t () => (int64 a) { a = Sub (v, one) },
      else_branch = e () => (int64 h) { h = Div (v, two) }>
    go = Greater (w, zero)
  }> (M, start, x)
}"""
_CLAMPS = """
g (float[N] X, int64[N] I, float[3] table) => (float y, float[N] picked) {
  zero = Constant <value_float = 0.0> () one = Constant <value_float = 1.0> ()
  y, picked = Scan <num_scan_inputs = 2, body = b (float s, float x, int64 i) => (float t, float p) {
    p = Gather <axis = 0> (table, i)
    kept = Clip (x, zero, one)
    is_low = Less (p, x)
    chosen = Where (is_low, kept, p)
    t = Max (s, chosen)
  }> (zero, X, I)
}"""

#: Element by element x + S, compared with bounds from 0 to 9.
_RARE = """
g (T[N] X, T[N] S, T L, T H, T[N] K, int64 M) => (T[N] y) {
  y = Loop <body = b (int64 i, bool c, T[N] x) => (bool go, T[N] next) {
    go = Identity (c)
    clipped = Clip (x, L, H)
    least = Min (x, K)
    both = Sub (clipped, least)
    none = Sub (both, both)
    moved = Add (x, S)
    next = Add (moved, none)
  }> (M, , X)
}"""


def covered(coverage: Coverage) -> set[str]:
    """The points that were hit, without nodes, by kind and way."""
    hit = (point for point in coverage.points if point.id in coverage.hits and point.kind is not PointKind.NODE)
    return {f"{point.kind.value} {point.way}" for point in hit}


@pytest.mark.parametrize(
    ("x", "limit", "wanted"),
    [
        (0, 9, {"iterations zero", "termination condition"}),
        (3, 0, {"iterations zero", "termination trip_count"}),
        (1, 9, {"iterations one", "termination condition", "branch then first", "branch then last"}),
        (
            4,
            9,
            {"iterations many", "termination condition", "branch else first", "branch else later", "branch then later",
             "branch then last"},
        ),
        (
            6,
            2,
            {"iterations many", "termination trip_count", "branch else first", "branch then later", "branch then last"},
        ),
    ],
)  # fmt: skip
def test_branches_iterations_and_terminations(x: int, limit: int, wanted: set[str]) -> None:
    coverage = model(_LOOP).coverage({"x": np.int64(x), "M": np.int64(limit)})
    assert covered(coverage) == wanted


@pytest.mark.parametrize(
    ("row", "index", "wanted"),
    [
        (-1.0, 0, {"clamp below", "index first", "select false", "clamp chosen"}),
        (0.5, -1, {"clamp inside", "index last", "select false", "clamp chosen"}),
        (7.0, 1, {"clamp above", "select true", "clamp chosen"}),
        (np.nan, -3, {"index first", "select false", "clamp chosen"}),
    ],
)
def test_operands(row: float, index: int, wanted: set[str]) -> None:
    feeds = {"X": np.float32([row]), "I": np.int64([index]), "table": np.float32([1, 2, 3])}
    coverage = model(_CLAMPS).coverage(feeds)
    assert covered(coverage) == wanted | {"iterations one", "termination input_exhausted"}


@pytest.mark.parametrize("compile_after", [-1, 0], ids=["interpreted", "compiled"])
@pytest.mark.parametrize("size", [2, 8, 9, 33])
@pytest.mark.parametrize("dtype", ["float", "double", "int32", "int64"])
def test_rare_elements_of_small_tensors(dtype: str, size: int, compile_after: float) -> None:
    """One element is outside of its bounds, in one of many iterations: scalar programs see it, too."""
    m = model(_RARE.replace("T", dtype).replace("N", str(size)))
    recorder = CoverageRecorder(m)
    set_optimizer_options(recorder.engine, hot_after=2, compile_after=compile_after)
    start, step = np.zeros(size), np.zeros(size)
    step[-1] = 1
    for limit, wanted in ((10, set()), (11, {"above", "K"}), (10, set()), (12, {"above", "K"})):
        numbers = {"X": start, "S": step, "L": np.array(-1), "H": np.array(9), "K": np.full(size, 9)}
        dtypes = {port.name: port.dtype for port in m.inputs}
        feeds = {name: value.astype(dtypes[name]) for name, value in numbers.items()}
        m.execute({**feeds, "M": np.int64(limit)}, observer=recorder)
        ways = {point.way for point in recorder.points if point.id in recorder.hits and point.kind is PointKind.CLAMP}
        assert ways - {"inside", "x"} == wanted
    if recorder.engine.optimizer is not None:
        assert recorder.engine.optimizer.programs == [0]


def test_coverage_of_several_runs_is_added_up() -> None:
    loop = model(_LOOP)
    parts = [loop.coverage({"x": np.int64(x), "M": np.int64(9)}) for x in (0, 1, 4, 6)]
    total = parts[0] | parts[1] | parts[2] | parts[3]
    recorder = CoverageRecorder(loop, accumulate=True)
    for x in (0, 1, 4, 6):
        loop.execute({"x": np.int64(x), "M": np.int64(9)}, observer=recorder)
    assert recorder.coverage == total
    assert total.runs == 4
    assert [str(point) for point in total.missed] == [
        "main ▸ Loop_4: termination trip_count",
        "main ▸ Loop_4 If 'If_2': branch else last",
    ]
    assert total.idle_nodes == ()
    with pytest.raises(loopdbg.UsageError, match="another model"):
        _ = total | loopdbg.load(SAMPLES / "newton_sqrt.onnx").coverage({"a": 2.0, "tol": 1e-6})


def test_json_round_trip() -> None:
    coverage = model(_LOOP).coverage({"x": np.int64(4), "M": np.int64(9)})
    data = json.loads(json.dumps(coverage.to_json()))
    assert Coverage.from_json(data) == coverage
    assert data["covered"] == coverage.covered == 6


def test_a_loop_that_never_ends_is_a_fault_and_not_a_point() -> None:
    endless = model(
        "g (int64 x) => (int64 y) { t = Constant <value = bool {1}> () y = Loop <body = b (int64 i, bool c, "
        "int64 v) => (bool go, int64 w) { w = Identity (v) go = Equal (w, w) }> (, t, x) }"
    )
    recorder = CoverageRecorder(endless)
    run = endless.execute({"x": np.int64(1)}, max_iterations=5, observer=recorder)
    assert run.stopped_by is loopdbg.StoppedBy.LIMIT
    assert [point.way for point in recorder.coverage.faults] == ["never"]
    assert "never" not in {point.way for point in recorder.coverage.missed}


def test_points_are_those_that_can_happen() -> None:
    counted = model(
        "g (int64 x) => (int64 y) { n = Constant <value_int = 3> () t = Constant <value = bool {1}> () y = Loop "
        "<body = b (int64 i, bool c, int64 v) => (bool go, int64 w) { w = Add (v, i) go = Identity (c) }> (n, t, x) }"
    )
    counts = [str(point) for point in points(counted.graph) if point.kind is not PointKind.NODE]
    assert counts == ["main ▸ Loop_2: iterations many", "main ▸ Loop_2: termination trip_count"]


def test_ids_do_not_depend_on_where_a_model_was_read() -> None:
    ids = [point.id for point in points(model(_LOOP).graph)]
    assert ids == [point.id for point in points(model(_LOOP).graph)]
    assert len(set(ids)) == len(ids)
    assert "main ▸ Loop_4/If_2/branch/then first" in ids


@pytest.mark.parametrize("name", coverage_oracle.case_names(range(500, 530)))
def test_coverage_is_what_stepping_shows(name: str) -> None:
    assert coverage_oracle.judge_case(name) in ("equal", "fails")
