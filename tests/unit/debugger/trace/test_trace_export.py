"""Traces as arrays and as tables."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli_runner import run_cli
from error_fields import raises_error
from loopdbg import UsageError
from loopdbg.debugger.export_formats.format_registry import EXPORT_FORMATS
from loopdbg.debugger.trace.export_formats import write_trace
from loopdbg.debugger.trace.exporter import TraceExporter
from loopdbg.debugger.trace.trace_store import TraceStore
from recordings import record_run
from text_models import COUNT, NESTED, SUM, model, sample


def exported(capsys: pytest.CaptureFixture[str], trace: Path, name: str, *options: object) -> Any:
    target = trace.with_name(name)
    ran = run_cli(capsys, "export", trace, target, *options)
    assert ran.status == 0 and f" to {target}\n" in ran.out, ran
    if name.endswith(".csv"):
        with target.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    with np.load(target, allow_pickle=False) as arrays:
        return dict(arrays)


def test_loop_of_scalars(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.loopdb"
    loaded, inputs = sample("newton_sqrt.onnx")
    record_run(path, loaded, inputs, nodes=True)[0].close()
    arrays = exported(capsys, path, "t.npz")
    xs = loaded.run(inputs)["xs"]
    assert arrays["@iteration"].tolist() == list(range(6))
    assert arrays["@condition"].tolist() == [True] * 5 + [False]
    assert arrays["xs"].dtype == np.float32 and (arrays["xs"] == xs).all()
    assert (arrays["x"][1:] == xs).all() and (arrays["half"] == arrays["x"][:-1] * np.float32(0.5)).all()
    rows = exported(capsys, path, "t.csv")
    assert [row["iteration"] for row in rows] == [str(k) for k in range(6)]
    assert [np.float32(row["x"]) for row in rows[1:]] == xs.tolist() and rows[2]["x"] == "1.4166667"
    assert (rows[0]["half"], rows[0]["ended"], rows[5]["ended"], rows[5]["condition"]) == ("", "", "condition", "false")
    assert rows[1]["loop"] == "main ▸ sqrt" and rows[1]["entry"] == ""


def test_tensors_have_statistics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.loopdb"
    loaded, inputs = sample("power_iteration.onnx")
    trace, seen, _ = record_run(path, loaded, inputs)
    trace.close()
    name = next(name for name, value in seen[0].carried.items() if value.size > 1)
    arrays = exported(capsys, path, "t.npz", "--only", name)
    assert (arrays[name] == np.stack([b.carried[name] for b in seen])).all()
    assert set(arrays) == {name, "@iteration", "@time", "@condition"}
    rows = exported(capsys, path, "t.csv", "--only", name)
    for row, b in zip(rows, seen, strict=True):
        value = b.carried[name].astype(np.float64)
        messages = [float(row[f"{name}.{word}"]) for word in ("min", "max", "mean", "norm")]
        assert messages == pytest.approx([value.min(), value.max(), value.mean(), np.linalg.norm(value)])


def test_nested_loops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.loopdb"
    record_run(path, model(NESTED), {"M": 3, "K": 2})[0].close()
    arrays = exported(capsys, path, "all.npz")
    # Both loops have the same name: their paths distinguish them.
    assert arrays["main ▸ Loop_1.t"].tolist() == [0, 0, 1, 3]
    assert arrays["main ▸ Loop_1 ▸ Loop_1.u"].shape == (9,)
    inner = exported(capsys, path, "inner.npz", "--loop", "main ▸ Loop_1 ▸ Loop_1")
    assert inner["@entry"].tolist() == [[0]] * 3 + [[1]] * 3 + [[2]] * 3
    assert inner["@iteration"].tolist() == [0, 1, 2] * 3
    # Two of three boundaries follow an iteration.
    assert inner["u"].shape == (9,) and inner["inner_seen"].tolist() == [0, 0, 0, 1, 1, 3]
    rows = exported(capsys, path, "all.csv")
    assert [row["entry"] for row in rows[:5]] == ["", "0", "0", "0", ""]
    assert len(rows) == 13


GROWING = """
g (int64 M, float[N] v0, string name) => (float[N] v, string last) {
  v, last = Loop <body = body (int64 i, bool c, float[N] x, string t) => (bool c, float[N] y, string u) {
    y = Concat <axis = 0> (x, x)
    u = Identity (t)
  }> (M, , v0, name)
}
"""


def test_changing_shapes_and_strings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.loopdb"
    inputs = {"M": 3, "v0": np.array([1.5], np.float32), "name": np.array("é,\n", object)}
    record_run(path, model(GROWING), inputs)[0].close()
    arrays = exported(capsys, path, "t.npz")
    assert [arrays[f"x@{k}"].tolist() for k in range(4)] == [[1.5] * n for n in (1, 2, 4, 8)]
    assert str(arrays["t@2"]) == "é,\n"
    rows = exported(capsys, path, "t.csv")
    assert [row["x.max"] for row in rows] == ["1.5"] * 4 and [row["t"] for row in rows] == ["é,\\n"] * 4


SEQUENCE = """
s (int64 M, seq(float[K]) words) => (seq(float[K]) all) {
  all = Loop <body = body (int64 i, bool c, seq(float[K]) got) => (bool c, seq(float[K]) more) {
    zero = Constant <value = int64 {0}> ()
    first = SequenceAt (got, zero)
    more = SequenceInsert (got, first)
  }> (M, , words)
}
"""


def test_sequences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.loopdb"
    record_run(path, model(SEQUENCE), {"M": 2, "words": [np.ones(2, np.float32)]})[0].close()
    arrays = exported(capsys, path, "t.npz")
    assert {name for name in arrays if name.startswith("got")} == {
        "got@0.0",
        "got@1.0",
        "got@1.1",
        "got@2.0",
        "got@2.1",
        "got@2.2",
    }
    assert exported(capsys, path, "t.csv")[1]["got.min"] == ""


BFLOAT = """
b (int64 M, bfloat16[2] v0) => (bfloat16[2] v) {
  v = Loop <body = body (int64 i, bool c, bfloat16[2] x) => (bool c, bfloat16[2] y) {
    y = Add (x, x)
  }> (M, , v0)
}
"""


def test_types_unknown_to_npy_and_non_finite_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import ml_dtypes

    path = tmp_path / "t.loopdb"
    record_run(path, model(BFLOAT), {"M": 2, "v0": np.array([1.5, -2], ml_dtypes.bfloat16)})[0].close()
    result = exported(capsys, path, "t.npz")["x"]
    assert result.dtype == np.float32 and result.tolist() == [[1.5, -2], [3, -4], [6, -8]]
    other = tmp_path / "u.loopdb"
    record_run(other, model(SUM), {"M": 1, "v0": float("nan")})[0].close()
    assert [row["v_in"] for row in exported(capsys, other, "u.csv")] == ["nan", "nan"]
    record_run(other, model(SUM), {"M": 1, "v0": float("-inf")}, force=True)[0].close()
    assert [row["v_in"] for row in exported(capsys, other, "u.csv")] == ["-inf", "-inf"]


def test_partial_recordings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.loopdb"
    record_run(path, model(COUNT), {"M": 10, "cond": True, "v0": 0, "bound": 99}, every=4)[0].close()
    arrays = exported(capsys, path, "t.npz")
    assert arrays["@iteration"].tolist() == [0, 4, 8, 10] and arrays["s"].tolist() == [3, 7, 9]


def test_invalid_exports_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.loopdb"
    record_run(path, model(COUNT), {"M": 2, "cond": True, "v0": 0, "bound": 99})[0].close()
    out = tmp_path / "o.csv"
    for arguments, status, message in (
        ((path, tmp_path / "o.txt"), 2, "a trace is saved in the form that the ending names"),
        ((path, tmp_path), 2, "is a folder; give a file"),
        ((path, tmp_path / "none" / "o.csv"), 2, "there is no folder"),
        ((path, out, "--loop", "x"), 2, "no loop called 'x'; there are 'main ▸ Loop_0'"),
        ((path, out, "--only", "v_in,y"), 2, "'y' was not recorded; there are 's', 'v_in'"),
        ((tmp_path / "no", out), 1, "no such file"),
        ((__file__, out), 1, "is no trace"),
    ):
        ran = run_cli(capsys, "export", *arguments)
        assert ran.status == status and message in ran.error_line
    (tmp_path / "d.csv").mkdir()
    assert "is a folder" in run_cli(capsys, "export", path, tmp_path / "d.csv").error_line
    if os.path.exists("/dev/full"):
        link = tmp_path / "full.csv"
        link.symlink_to("/dev/full")
        assert "is no regular file" in run_cli(capsys, "export", path, link).error_line
        with (
            TraceStore.open(path) as trace,
            raises_error(UsageError, got="No space left on device"),
        ):
            write_trace(TraceExporter(trace), EXPORT_FORMATS[".csv"], link)
