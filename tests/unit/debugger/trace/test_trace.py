"""Traces record what the run showed, bit for bit, and each kind of broken file has its own error."""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import ml_dtypes
import numpy as np
import pytest

import loopdbg
from comparable_values import all_exact_bits, exact_bits
from error_fields import raises_error
from loopdbg.debugger.trace import queries
from loopdbg.debugger.trace import recorder as recorders
from loopdbg.debugger.trace import writer as writers
from loopdbg.debugger.trace.reader import store_of
from loopdbg.debugger.trace.recorder import Recorder, RecordOptions
from loopdbg.debugger.trace.row_encoder import BoundaryBatch, RowEncoder, TypeTable
from loopdbg.debugger.trace.trace_store import TraceStore
from loopdbg.debugger.trace.writer import TraceFileWriter, WriteTransaction, is_trace
from loopdbg.runtime.errors import Remedy, TraceError, UsageError
from loopdbg.runtime.graph import StoppedBy
from loopdbg.runtime.graph.value_encoding import decode_value, encode_value
from recordings import assert_same_boundary, record_run
from text_models import BRANCHES, COUNT, NESTED, SAMPLES, SUM, model, sample

NAMES = sorted(path.name for pattern in ("*.onnx", "*.xml") for path in SAMPLES.glob(pattern))
#: A loop that never ends by itself.
LIMITS = {"loop_infinite.xml": 300}

# -- values


def every_value() -> list[Any]:
    small = np.array([0, 1, -1, 2]).reshape(2, 2)
    words = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32"]
    words += ["float64", "complex64", "complex128"]
    odd = ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
    odd += ["float4_e2m1fn", "int4", "uint4", "int2", "uint2"]
    dtypes = [np.dtype(word) for word in words]
    dtypes += [np.dtype(getattr(ml_dtypes, word)) for word in odd if hasattr(ml_dtypes, word)]
    results: list[Any] = [small.astype(dtype) for dtype in dtypes]
    results += [np.zeros((), dtype) for dtype in dtypes] + [np.zeros((0, 3), dtype) for dtype in dtypes]
    strings = np.array(["", "é\x00", "a\nb", "ſ"], object)
    results += [strings, strings.reshape(2, 2), np.array("one", object), np.empty((0,), object)]
    results += [np.array([b"\xff\x00", "text"], object)]
    specials = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 5e-324], np.float64)
    results += [specials, specials.view(np.uint64).view(np.float64), np.float32(-0.0), np.array([1 << 63], np.uint64)]
    results += [None, [], [small, None, strings, [small[0], []]], np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)]
    return results


@pytest.mark.parametrize("value", every_value(), ids=lambda v: f"{type(v).__name__}-{getattr(v, 'dtype', '')}")
def test_any_value_round_trips_bit_for_bit(value: Any) -> None:
    assert exact_bits(decode_value(*encode_value(value))) == exact_bits(value)


def test_big_endian_arrays_are_stored_like_others() -> None:
    assert encode_value(np.array([1, 2], ">i4")) == encode_value(np.array([1, 2], np.int32))


@pytest.mark.parametrize(
    ("dtype", "shape", "data"),
    [
        ("float32", (2,), b"1234"),
        ("float32", (2,), None),
        ("float32", None, b""),
        ("float32", (2,), "text"),
        ("string", (2,), '["one"]'),
        ("string", (1,), "{}"),
        ("sequence", (1,), b"\x02\0\0\0\0\0\0\0[]"),
        ("sequence", (1,), b"junk"),
    ],
)
def test_invalid_value_data_are_an_error(dtype: str, shape: tuple[int, ...] | None, data: bytes | None) -> None:
    with pytest.raises(ValueError):
        decode_value(dtype, shape, data)


def test_values_of_every_kind_in_one_column(tmp_path: Path) -> None:
    """Columns have changing dtypes, shapes and kinds, with each value twice, so that some rows refer to others."""
    values = [value for value in every_value() for _ in range(2)]
    path = tmp_path / "t.loopdb"
    record_run(path, model(SUM), {"M": 1, "v0": 1.0})[0].close()
    store = TraceFileWriter(path)
    first = 100
    ids = range(first, first + len(values))
    count = len(values)
    store.write(
        WriteTransaction(
            [
                BoundaryBatch(
                    0,
                    ids,
                    [1] * count,
                    ids,
                    [None] * count,
                    {},
                    [0.5] * count,
                    {1: values, 2: values},
                    {1: "x", 2: "x"},
                )
            ]
        )
    )
    store.close()
    with TraceStore.open(path) as trace:
        for id_, value in zip(ids, values, strict=True):
            for port in (1, 2):
                (row,) = queries.values_at_boundary(trace.rows, port, id_)
                assert exact_bits(trace.value(*row)) == exact_bits(
                    np.asarray(value) if isinstance(value, np.generic) else value
                )


def test_batch_can_be_passed_as_stacked_arrays() -> None:
    stacked = np.arange(12, dtype=np.float32).reshape(4, 3)
    encoder = RowEncoder(TypeTable())
    batch = BoundaryBatch(0, range(1, 5), [1] * 4, range(4), [True] * 4, {3: "condition"}, [0.0] * 4, {1: stacked})
    listed = BoundaryBatch(
        0, range(1, 5), [1] * 4, range(4), [True] * 4, {3: "condition"}, [0.0] * 4, {1: list(stacked)}
    )
    rows = list(RowEncoder(TypeTable()).value_rows(listed, listed.runs()))
    assert list(encoder.value_rows(batch, batch.runs())) == rows
    assert list(encoder.boundary_rows(batch, batch.runs()))[3] == (4, 1, 3, 1, 1, 1, "condition", "[0]")


# -- runs


@pytest.mark.parametrize("nodes", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_trace_holds_what_the_run_showed(tmp_path: Path, name: str, nodes: bool) -> None:
    loaded, inputs = sample(name)
    trace, seen, run = record_run(tmp_path / "t.loopdb", loaded, inputs, LIMITS.get(name), nodes=nodes)
    with trace:
        for a, b in zip(trace.boundaries(), seen, strict=True):
            assert_same_boundary(a, b)
        assert len(trace) == len(seen) and trace.complete
        assert trace.model == name and len(trace.model_hash) == 64
        assert all_exact_bits(trace.inputs) == all_exact_bits(inputs)
        if run.stopped_by is None:
            assert trace.outputs is not None and all_exact_bits(trace.outputs) == all_exact_bits(run.outputs)
        else:
            assert trace.outputs is None and trace.ended == "limit" and "300 iterations" in trace.error
        kept = [(t.path, t.iterations, t.entries, t.stopped_by, t.reasons) for t in trace.totals]
        assert kept == [(t.path, t.iterations, t.entries, t.stopped_by, t.reasons) for t in run.loops]
        assert [loop.path for loop in trace.loops] == [plan.path for plan in loaded.plan.loops]
    # One regular file.
    assert os.listdir(tmp_path) == ["t.loopdb"]


SEQUENCES = """
s (int64 M, seq(float[K]) words, string[2] text) => (seq(float[K]) all, string[2] kept) {
  all, kept = Loop <body = body (int64 i, bool c, seq(float[K]) got, string[2] t) =>
      (bool c, seq(float[K]) more, string[2] u) {
    zero = Constant <value = int64 {0}> ()
    first = SequenceAt (got, zero)
    more = SequenceInsert (got, first)
    u = Identity (t)
  }> (M, , words, text)
}
"""


def test_sequences_and_strings_are_recorded(tmp_path: Path) -> None:
    inputs = {"M": 3, "words": [np.ones(2, np.float32), np.zeros(3, np.float32)], "text": np.array(["é", ""], object)}
    trace, seen, run = record_run(tmp_path / "t.loopdb", model(SEQUENCES), inputs, nodes=True)
    with trace:
        for a, b in zip(trace.boundaries(), seen, strict=True):
            assert_same_boundary(a, b)
        assert trace.outputs is not None and all_exact_bits(trace.outputs) == all_exact_bits(run.outputs)
        assert len(trace.boundary(0, (), 3).carried["got"]) == 5


SCANS = """
s (int64 M, float v0) => (float v, float w, int64[N] numbers, float[N] passed, float[N] same) {
  v, w, numbers, passed, same = Loop <body = body (int64 i, bool c, float x, float k) =>
      (bool c, float y, float k, int64 i, float x, float y) {
    y = Add (x, k)
  }> (M, , v0, v0)
}
"""


def test_scan_outputs_of_parameters(tmp_path: Path) -> None:
    """A scan output that takes a parameter directly has this iteration's value, not the next one's."""
    trace, seen, run = record_run(tmp_path / "t.loopdb", model(SCANS), {"M": 4, "v0": 1.5})
    with trace:
        results = list(trace.boundaries())
        for a, b in zip(results, seen, strict=True):
            assert_same_boundary(a, b)
    assert [int(b.scanned["numbers"]) for b in results[1:]] == run.outputs["numbers"].tolist() == [0, 1, 2, 3]
    assert [float(b.scanned["passed"]) for b in results[1:]] == run.outputs["passed"].tolist() == [1.5, 3, 4.5, 6]


def test_values_of_the_untaken_branch_are_absent(tmp_path: Path) -> None:
    trace, _, _ = record_run(tmp_path / "t.loopdb", model(BRANCHES), {"M": 4, "v0": 1.0}, nodes=True)
    with trace:
        computed = [b.computed.keys() & {"up", "x2"} for b in trace.boundaries()]
    assert computed == [set(), {"up"}, {"x2"}, {"up"}, {"x2"}]


def test_entries_and_lookups(tmp_path: Path) -> None:
    trace, seen, _ = record_run(tmp_path / "t.loopdb", model(NESTED), {"M": 3, "K": 2})
    with trace:
        outer, inner = trace.loops
        assert (outer.parent, inner.parent, outer.op_type, outer.system) == (None, 0, "Loop", "onnx")
        assert [e.around for e in trace.entries(inner.path)] == [(0,), (1,), (2,)]
        assert [e.trip_count for e in trace.entries()] == [3, 2, 2, 2]
        assert [b.iteration for b in trace.boundaries(inner.path, (1,))] == [0, 1, 2]
        first = trace.boundary(inner.path, [2], 1)
        assert_same_boundary(first, next(b for b in seen if b.entry == (2,) and b.iteration == 1))
        assert first.ended is None and trace.boundary(1, (2,), 2).ended is StoppedBy.TRIP_COUNT
        with raises_error(UsageError, loop="1", iteration=9):
            trace.boundary(1, (2,), 9)
        with pytest.raises(UsageError, match="no loop called 'x'; there are 'main ▸"):
            trace.boundaries("x")
        with pytest.raises(UsageError, match="several loops called 'Loop_1'"):
            store_of(trace).loop_index(inner.name)


def test_every_and_only(tmp_path: Path) -> None:
    inputs = {"M": 10, "cond": True, "v0": 0, "bound": 99}
    trace, _, _ = record_run(tmp_path / "t.loopdb", model(COUNT), inputs, every=4, only=["v_in", "keep"])
    with trace:
        results = list(trace.boundaries())
        assert trace.every == 4
    assert [b.iteration for b in results] == [0, 4, 8, 10]
    assert [int(b.carried["v_in"]) for b in results] == [0, 4, 8, 10]
    assert [dict(b.scanned) for b in results] == [{}] * 4
    # A body value that is requested by name needs no --record-nodes.
    assert [b.computed.keys() for b in results] == [set(), {"keep"}, {"keep"}, {"keep"}]
    with raises_error(UsageError, name="v_inn"):
        record_run(tmp_path / "u.loopdb", model(COUNT), inputs, only=["v_inn"])
    assert not (tmp_path / "u.loopdb").exists()


UNCHANGED = """
u (int64 M, float[1000] a, float[1000] b) => (float[1000] kept, float[1000] moved) {
  kept, moved = Loop <body = body (int64 i, bool c, float[1000] x, float[1000] y) =>
      (bool c, float[1000] x, float[1000] z) {
    z = Add (x, y)
  }> (M, , a, b)
}
"""


def test_unchanged_values_are_stored_once(tmp_path: Path) -> None:
    loaded = model(UNCHANGED)
    inputs = {"M": 50, "a": np.ones(1000, np.float32), "b": np.zeros(1000, np.float32)}
    trace, seen, _ = record_run(tmp_path / "t.loopdb", loaded, inputs, nodes=True)
    with trace:
        for a, b in zip(trace.boundaries(), seen, strict=True):
            assert_same_boundary(a, b)
        stored = dict(
            store_of(trace).rows(
                "SELECT p.name, count(v.data) FROM value v JOIN port p ON p.id = v.port GROUP BY p.name"
            )
        )
        (both,) = next(store_of(trace).rows("SELECT count(DISTINCT coalesce(same, id)) FROM value WHERE boundary > 1"))
    assert stored["x"] == 1
    # A node's result and the value that the back edge carries next are one value.
    assert stored["y"] + stored["z"] == 51
    assert both == 51


def test_statistics_are_of_finite_elements(tmp_path: Path) -> None:
    encoder = RowEncoder(TypeTable())
    values = [
        np.array([1.0, -3.0, 2.0, np.nan], np.float32),
        np.array([np.inf, np.nan]),
        np.array([3 + 4j, 0]),
        np.array([True, False, True, True]),
        np.array(2.5, np.float16),
        np.array([np.nan]),
        np.array([np.uint64((1 << 64) - 1)]),
        np.array(-3).astype(ml_dtypes.int4),
        np.array(True),
        np.zeros((0, 2)),
        np.array(["x"], object),
    ]
    batch = BoundaryBatch(0, range(1, 12), [1] * 11, range(11), [None] * 11, {}, [0.0] * 11, {1: values})
    _, rows = encoder.value_rows(batch, batch.runs())
    messages = [row[4:10] for row in rows]
    assert messages[0] == (None, -3.0, 2.0, 0.0, pytest.approx(np.sqrt(14)), 1)
    assert messages[1] == (None, None, None, None, None, 2)
    assert messages[2] == (None, 0.0, 5.0, 2.5, 5.0, None)
    assert messages[3] == (None, 0.0, 1.0, 0.75, pytest.approx(np.sqrt(3)), None)
    assert messages[4] == (2.5, None, None, None, None, None)
    assert messages[5] == (None, None, None, None, None, 1)
    assert messages[6][0] == float((1 << 64) - 1)
    assert [row[0] for row in messages[7:9]] == [-3, 1] and all(type(row[0]) is int for row in messages[7:9])
    assert messages[9] == messages[10] == (None,) * 6


# -- files


def test_file_is_overwritten_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "t.loopdb"
    loaded, inputs = model(SUM), {"M": 2, "v0": 1.0}
    record_run(path, loaded, inputs)[0].close()
    with raises_error(UsageError, name=path, expected="a new file", remedy=Remedy.OVERWRITE):
        record_run(path, loaded, inputs)
    trace, _, _ = record_run(path, loaded, {"M": 5, "v0": 1.0}, force=True)
    with trace:
        assert len(trace) == 6
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    for force in (False, True):
        with raises_error(UsageError, name=other, expected="a trace"):
            record_run(other, loaded, inputs, force=force)
    assert other.read_text(encoding="utf-8") == "mine"
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE t (a)")
    db.close()
    with raises_error(UsageError, name=foreign, expected="a trace"):
        record_run(foreign, loaded, inputs, force=True)
    with raises_error(UsageError, name=tmp_path, expected="a file", got="a folder"):
        record_run(tmp_path, loaded, inputs)
    with raises_error(UsageError, name=tmp_path / "none", expected="a folder"):
        record_run(tmp_path / "none" / "t.loopdb", loaded, inputs)
    # An empty file, as mktemp makes it, holds nothing that could be lost.
    (tmp_path / "empty").touch()
    record_run(tmp_path / "empty", loaded, inputs)[0].close()
    assert is_trace(tmp_path / "empty")


def test_non_trace_files_are_distinguished(tmp_path: Path) -> None:
    def refused(path: Path, **fields: str | None) -> TraceError:
        with raises_error(TraceError, **fields) as caught, TraceStore.open(path) as trace:
            list(trace.boundaries())
            _ = trace.graph, trace.inputs, trace.outputs
        assert str(path) in str(caught.value)
        return caught.value

    good = tmp_path / "good.loopdb"
    record_run(good, *sample("mandelbrot.onnx"))[0].close()
    refused(tmp_path / "missing", expected="a trace", got="no file")
    refused(tmp_path, expected=None, got="Is a directory")
    (tmp_path / "text").write_text("SQLite format 2")
    refused(tmp_path / "text", expected="a trace", got=None)
    (tmp_path / "empty").touch()
    refused(tmp_path / "empty", expected="a trace", got=None)
    with sqlite3.connect(tmp_path / "db") as db:
        db.execute("CREATE TABLE t (a)")
    db.close()
    refused(tmp_path / "db", expected="a trace", got="an SQLite file")

    newer = tmp_path / "newer.loopdb"
    newer.write_bytes(good.read_bytes())
    with sqlite3.connect(newer) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    refused(newer, expected="2", got="99")

    whole = good.read_bytes()
    cut = tmp_path / "cut.loopdb"
    for length in (100, 4096, len(whole) // 2):
        cut.write_bytes(whole[:length])
        assert "damaged" in str(refused(cut))
    for statement in (
        "DROP TABLE loop",
        "DELETE FROM entry",
        "DELETE FROM type",
        "UPDATE type SET shape = '[7]' WHERE shape = '[]'",
        "UPDATE meta SET value = '{' WHERE key = 'graph'",
        "DELETE FROM meta WHERE key = 'graph'",
    ):
        broken = tmp_path / f"broken{len(statement)}.loopdb"
        broken.write_bytes(whole)
        with sqlite3.connect(broken) as db:
            db.execute(statement)
        db.close()
        refused(broken)


def test_random_damage_never_crashes(tmp_path: Path) -> None:
    good = tmp_path / "good.loopdb"
    record_run(good, model(NESTED), {"M": 20, "K": 5})[0].close()
    whole = bytearray(good.read_bytes())
    random = np.random.default_rng(0)
    bad = tmp_path / "bad.loopdb"
    for _ in range(60):
        damaged = bytearray(whole)
        for place in random.integers(100, len(whole), 40):
            damaged[place] = random.integers(256)
        bad.write_bytes(damaged)
        try:
            with TraceStore.open(bad) as trace:
                list(trace.boundaries())
                _ = trace.graph, trace.inputs, trace.outputs, trace.totals
        except loopdbg.LoopdbgError as error:
            assert "\n" not in str(error)


def test_trace_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "t.loopdb"
    loaded, inputs = model(SUM), {"M": 300, "v0": 1.0}
    lengths: list[int] = []
    with Recorder(path, loaded, inputs) as recorder:

        def hook(frame: loopdbg.Frame) -> None:
            recorder(frame)
            if frame.iteration % 100 == 0:
                recorder._writer.flush()
                with TraceStore.open(path) as trace:
                    assert not trace.complete and trace.outputs is None
                    lengths.append(len(trace))
                    assert [b.iteration for b in trace.boundaries()] == list(range(len(trace)))

        recorder.finish(loaded.execute(inputs, on_iteration=hook))
    assert lengths == [1, 101, 201, 301]


def test_file_is_not_closed_while_its_thread_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of memory, the end of the thread cannot be waited for; SQLite crashes if its file is closed then."""
    store, release = Mock(path=Path("run.loopdb")), threading.Event()

    def take_nothing() -> list[WriteTransaction]:
        release.wait()
        return []

    writer = writers.TraceWriterThread(store, take_nothing)
    with monkeypatch.context() as patch:
        patch.setattr(writer._thread, "join", Mock(side_effect=MemoryError("there is none")))
        with pytest.raises(MemoryError):
            writer.close()
    assert not store.close.called
    release.set()
    writer.close()
    assert store.close.called


def test_run_waits_for_a_slow_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorders, "MAX_PENDING_BYTES", 10_000)
    waiting: list[int] = []
    loaded, inputs = model(SUM), {"M": 500, "v0": 1.0}
    with Recorder(tmp_path / "t.loopdb", loaded, inputs) as recorder:

        def hook(frame: loopdbg.Frame) -> None:
            recorder(frame)
            waiting.append(recorder._pending_bytes)

        recorder.finish(loaded.execute(inputs, on_iteration=hook))
    assert max(waiting) <= 10_000
    with TraceStore.open(tmp_path / "t.loopdb") as trace:
        assert len(trace) == 501


@pytest.mark.parametrize("nodes", [True, False])
@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        (SUM, {"M": 30_000, "v0": 1.0}),
        (NESTED, {"M": 20, "K": 50}),
        (COUNT, {"M": 99, "cond": True, "v0": 0, "bound": 60}),
    ],
    ids=["sum", "nested", "count"],
)
def test_engine_records_what_a_hook_records(text: str, inputs: dict[str, Any], nodes: bool, tmp_path: Path) -> None:
    loaded = model(text)
    recorded = []
    for wrapped in (False, True):
        path = tmp_path / f"{wrapped}.loopdb"
        with Recorder(path, loaded, inputs, RecordOptions(nodes)) as recorder:
            hook = (lambda frame, recorder=recorder: recorder(frame)) if wrapped else recorder
            recorder.finish(loaded.execute(inputs, on_iteration=hook))
        with TraceStore.open(path) as trace:
            refs = list(trace.boundary_refs())
            assert [ref.id for ref in refs] == list(range(1, len(refs) + 1))
            assert [ref.time for ref in refs] == sorted(ref.time for ref in refs)
            assert list(trace.rows("SELECT 1 FROM boundary WHERE count > 1"))
            recorded.append(list(trace.boundaries()))
    for ours, theirs in zip(*recorded, strict=True):
        assert_same_boundary(ours, theirs)


def test_full_disk_ends_the_recording_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.loopdb"
    loaded, inputs = model(SUM), {"M": 30_000, "v0": 1.0}
    messages: list[str] = []
    write = writers.TraceFileWriter.write

    def small(self: TraceFileWriter, portion: WriteTransaction) -> None:
        # SQLite's own limit gives its own "database or disk is full".
        self.execute("PRAGMA max_page_count = 60")
        write(self, portion)

    monkeypatch.setattr(writers.TraceFileWriter, "write", small)
    recorder = Recorder(path, loaded, inputs, on_error=lambda error: messages.append(str(error)))

    def hook(frame: loopdbg.Frame) -> None:
        recorder(frame)
        if frame.iteration % 100 == 0:
            recorder._writer.flush()

    run = loaded.execute(inputs, on_iteration=hook)
    recorder.finish(run)
    with raises_error(TraceError, name=path, got="database or disk is full") as raised:
        recorder.close()
    assert exact_bits(run.outputs["v"]) == exact_bits(loaded.run(inputs)["v"])
    assert len(messages) == 1 and "disk is full" in messages[0]
    with TraceStore.open(path) as trace:
        assert 0 < len(trace) < 30_000
        assert f"the first {len(trace)} boundaries are in the file" in str(raised.value)
        assert recorder.recorded == len(trace)
        assert [b.iteration for b in trace.boundaries()] == list(range(len(trace)))


def test_run_error_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "t.loopdb"
    loaded = model(SUM)
    inputs = {"M": 5, "v0": 1.0}
    recorder = Recorder(path, loaded, inputs)

    def hook(frame: loopdbg.Frame) -> None:
        recorder(frame)
        if frame.iteration == 3:
            raise loopdbg.ExecutionError("node 'x' failed")

    with pytest.raises(loopdbg.ExecutionError), recorder:
        loaded.execute(inputs, on_iteration=hook)
    with TraceStore.open(path) as trace:
        assert (len(trace), trace.error, trace.ended, trace.complete) == (4, "node 'x' failed", None, True)


def test_examples_of_the_documentation(tmp_path: Path) -> None:
    """Every SQL example of docs/traces.md runs on the trace of its first command, and gives the output below it."""
    text = (SAMPLES.parent / "docs" / "traces.md").read_text(encoding="utf-8")
    loaded, inputs = sample("newton_sqrt.onnx")
    path = tmp_path / "run.loopdb"
    record_run(path, loaded, inputs, nodes=True)[0].close()
    examples = re.findall(r"```sql\n(.*?)```\n+```\n(.*?)```", text, re.DOTALL)
    assert len(examples) >= 4
    with sqlite3.connect(path) as db:
        for query, expected in examples:
            rows = db.execute(query).fetchall()
            messages = ["|".join("" if cell is None else str(cell) for cell in row) for row in rows]
            assert messages == expected.strip().splitlines(), query
    db.close()
    # Every view, and what views do not show, is described, with all its columns.
    with sqlite3.connect(path) as db:
        views = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
        assert len(views) == 2
        for name in (*views, "meta", "tensor", "total"):
            assert f"`{name}`" in text, name
            section = text.split(f"`{name}`", 1)[1]
            for row in db.execute(f"PRAGMA table_info({name})"):
                assert f"`{row[1]}`" in section, (name, row[1])
    db.close()
    python = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert python
    for source in python:
        exec(source.replace('"run.loopdb"', repr(str(path))), {})


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 400, 1025])
def test_insert_writes_rows_in_order_with_few_statements(count: int) -> None:
    """Each statement releases the GIL, which it regains late while the run is busy in Python."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute("CREATE TABLE numbers (id INTEGER PRIMARY KEY, square INTEGER)")
    statements: list[str] = []
    db.set_trace_callback(statements.append)
    rows = [(k, k * k) for k in range(count)]
    queries.insert(db, "numbers", iter(rows))
    assert len(statements) <= count // 128 + 7 + 15
    assert db.execute("SELECT * FROM numbers ORDER BY id").fetchall() == rows
    db.close()
