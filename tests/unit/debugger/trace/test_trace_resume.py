"""Runs that resume from a trace give what an uninterrupted run gives, bit for bit, wherever they were cut off."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from cli_runner import run_cli as command
from comparable_values import all_exact_bits
from error_fields import raises_error
from loopdbg.debugger.session.boundary import Boundary
from loopdbg.debugger.trace import resume_checkpoints
from loopdbg.debugger.trace.recorder import Recorder, RecordOptions, ResumedRecorder
from loopdbg.debugger.trace.resume import find_resume_point, model_hash, restore_engine
from loopdbg.debugger.trace.trace_store import TraceStore
from loopdbg.runtime.errors import TraceError, UsageError
from loopdbg.runtime.model import LoopTotals, Run
from recordings import assert_same_boundary, record_run
from text_models import BRANCHES, COUNT, NESTED, SAMPLES, model, sample


class KillingHook(Exception):
    """Aborts a run."""


def record_truncated(
    path: Path, loaded: loopdbg.Model, inputs: dict[str, Any], after: int, limit: int | None, options: Any
) -> None:
    """Record a run up to and including boundary ``after``, and leave the trace as a kill does."""
    count = 0
    recorder = Recorder(path, loaded, inputs, options)

    def hook(frame: loopdbg.Frame) -> None:
        nonlocal count
        recorder(frame)
        count += 1
        if count == after:
            raise KillingHook

    with pytest.raises(KillingHook):
        loaded.execute(inputs, on_iteration=hook, max_iterations=limit)
    recorder.close()


def resume_run(path: Path, loaded: loopdbg.Model, limit: int | None, records: bool) -> Run:
    with TraceStore.open(path) as trace:
        assert not trace.complete
        position = find_resume_point(trace, loaded)

        def begin(engine: Any) -> None:
            restore_engine(engine, position, trace)

        inputs = trace.inputs
        if not records:
            return loaded.execute(inputs, max_iterations=limit, begin=begin)
        with ResumedRecorder(path, loaded, position) as recorder:
            run = loaded.execute(inputs, on_iteration=recorder, max_iterations=limit, begin=begin)
            recorder.finish(run)
        return run


def counted(totals: list[LoopTotals]) -> list[Any]:
    """Totals without times, and without the last reason of inner loops, which scalar programs do not record."""
    inner = [t.path.count(" ▸ ") > 1 for t in totals]
    return [
        (t.path, t.iterations, t.entries, None if i else t.stopped_by, t.reasons, t.trip_count)
        for i, t in zip(inner, totals, strict=True)
    ]


#: Cut, then triply nested loops; an inner loop in a branch; two consecutive loops, one of them without iterations.
DEEP = """
deep (int64 M, float[2] v0) => (float[2] w, float[A,B,C] s, float[D] z, float[2] never) {
  zero = Constant <value = int64 {0}> ()
  v, s = Loop <body = outer (int64 i, bool c, float[2] x) => (bool c, float[2] x3, float[B,C] e) {
    x3, e = Loop <body = middle (int64 j, bool d, float[2] y) => (bool d, float[2] y3, float[C] f) {
      one = Constant <value = int64 {1}> ()
      two = Constant <value = int64 {2}> ()
      rest = Mod (j, two)
      odd = Equal (rest, one)
      y3 = If <then_branch = yes () => (float[2] y2) {
          three = Constant <value = int64 {3}> ()
          y2, g = Loop <body = inner (int64 k, bool h, float[2] u) => (bool h, float[2] u2, float[2] u2) {
            kf = Cast <to = 1> (k)
            u1 = Add (u, kf)
            u2 = Sin (u1)
          }> (three, , y)
        }, else_branch = no () => (float[2] ny) {
          ny = Neg (y)
        }> (odd)
      f = Exp (y3)
    }> (M, , x)
  }> (M, , v0)
  never = Loop <body = none (int64 n, bool o, float[2] p) => (bool o, float[2] p) {
  }> (zero, , v)
  w, z = Loop <body = last (int64 q, bool r, float[2] t) => (bool r, float[2] t2, float e2) {
    t2 = Mul (t, t)
    e2 = ReduceSum <keepdims = 0> (t2)
  }> (M, , never)
}
"""

STRINGS = """
s (int64 M, seq(float[K]) words) => (seq(float[K]) all, string[N] names) {
  all, names = Loop <body = body (int64 i, bool c, seq(float[K]) got) => (bool c, seq(float[K]) more, string name) {
    zero = Constant <value = int64 {0}> ()
    first = SequenceAt (got, zero)
    more = SequenceInsert (got, first)
    name = Cast <to = 8> (i)
  }> (M, , words)
}
"""

GROWING = """
g (int64 M, float[N] v0) => (float[N] v, float[A] s) {
  v, s = Loop <body = body (int64 i, bool c, float[N] x) => (bool c, float[N] y, float e) {
    y = Concat <axis = 0> (x, x)
    e = ReduceMean <keepdims = 0> (y)
  }> (M, , v0)
}
"""

RANDOM = """
r (int64 M, float[2] v0) => (float[2] v, float[A,B,2] s) {
  start = RandomNormal <shape = [2]> ()
  v1 = Add (v0, start)
  v, s = Loop <body = outer (int64 i, bool c, float[2] x) => (bool c, float[2] x3, float[B,2] e) {
    n = RandomUniformLike (x)
    x1 = Add (x, n)
    x3, e = Loop <body = inner (int64 j, bool d, float[2] y) => (bool d, float[2] y2, float[2] f) {
      f = RandomNormalLike (y)
      y2 = Add (y, f)
    }> (M, , x1)
  }> (M, , v1)
}
"""

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "nested": (NESTED, {"M": 4, "K": 3}),
    "branches": (BRANCHES, {"M": 6, "v0": 1.25}),
    "deep": (DEEP, {"M": 4, "v0": np.array([0.3, 0.7], np.float32)}),
    "strings": (STRINGS, {"M": 5, "words": [np.ones(2, np.float32)]}),
    "random": (RANDOM, {"M": 3, "v0": np.zeros(2, np.float32)}),
    "growing": (GROWING, {"M": 6, "v0": np.ones(1, np.float32)}),
}
NAMES = sorted(path.name for pattern in ("*.onnx", "*.xml") for path in SAMPLES.glob(pattern))
#: A checkpoint at each boundary is expensive: two thousand iterations add nothing that two hundred lack.
FEWER = {"mandelbrot.onnx": {"height": 4, "width": 7}}
RECORDINGS = {
    "whole": RecordOptions(),
    "nodes": RecordOptions(nodes=True),
    "every": RecordOptions(every=3),
    "only": RecordOptions(only=()),
}


@pytest.mark.parametrize("word", RECORDINGS)
@pytest.mark.parametrize("name", [*MODELS, *NAMES])
def test_truncated_run_resumes_from_any_boundary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, word: str
) -> None:
    monkeypatch.setattr(resume_checkpoints, "CHECKPOINT_INTERVAL_SECONDS", 0)
    monkeypatch.setattr(resume_checkpoints, "_MAX_TIME_SHARE", 1e9)
    if name in MODELS:
        text, inputs = MODELS[name]
        loaded = model(text)
    else:
        loaded, inputs = sample(name, **FEWER.get(name, {}))
        if name == "vanishing_scale.onnx":
            inputs["scale"] = inputs["scale"][:100]
    limit = 40 if name == "loop_infinite.xml" else None
    options = RECORDINGS[word]
    whole, seen, unbroken = record_run(
        tmp_path / "whole", loaded, inputs, limit, nodes=options.nodes, every=options.every, only=options.only
    )
    with whole:
        expected: list[Boundary] = list(whole.boundaries())
    count = len(seen)
    places = (
        range(1, count + 1) if count <= 12 else sorted({1, 2, count, *np.linspace(3, count, 6).astype(int).tolist()})
    )
    for after in places:
        path = tmp_path / f"cut{after}"
        record_truncated(path, loaded, inputs, after, limit, options)
        for records in (False, True):
            run = resume_run(path, loaded, limit, records)
            assert all_exact_bits(run.outputs) == all_exact_bits(unbroken.outputs), (after, records)
            assert counted(run.loops) == counted(unbroken.loops), (after, records)
            assert (run.stopped_by, run.message) == (unbroken.stopped_by, unbroken.message)
        # The resumed recording is the trace of an uninterrupted run.
        with TraceStore.open(path) as trace:
            for a, b in zip(trace.boundaries(), expected, strict=True):
                assert_same_boundary(a, b)
            assert trace.outputs is None or all_exact_bits(trace.outputs) == all_exact_bits(unbroken.outputs)


def test_resumed_run_can_be_cut_off_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resume_checkpoints, "CHECKPOINT_INTERVAL_SECONDS", 0)
    monkeypatch.setattr(resume_checkpoints, "_MAX_TIME_SHARE", 1e9)
    text, inputs = MODELS["deep"]
    loaded = model(text)
    expected = loaded.execute(inputs)
    for word, options in RECORDINGS.items():
        path = tmp_path / word
        record_truncated(path, loaded, inputs, 7, None, options)
        for _ in range(8):
            with TraceStore.open(path) as trace:
                position = find_resume_point(trace, loaded)
                recorder = ResumedRecorder(path, loaded, position)
                seen = 0

                def hook(frame: loopdbg.Frame, recorder: Recorder = recorder) -> None:
                    nonlocal seen
                    recorder(frame)
                    seen += 1
                    if seen == 5:
                        raise KillingHook

                with pytest.raises(KillingHook):
                    loaded.execute(
                        inputs, on_iteration=hook, begin=lambda e, p=position, t=trace: restore_engine(e, p, t)
                    )
                recorder.close()
        run = resume_run(path, loaded, None, True)
        assert all_exact_bits(run.outputs) == all_exact_bits(expected.outputs)
        assert counted(run.loops) == counted(expected.loops)


def test_checkpoint_of_a_partial_recording_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scan elements are written once; all else only for the newest two checkpoints."""
    monkeypatch.setattr(resume_checkpoints, "CHECKPOINT_INTERVAL_SECONDS", 0)
    monkeypatch.setattr(resume_checkpoints, "_MAX_TIME_SHARE", 1e9)
    loaded = model(COUNT)
    record_truncated(
        tmp_path / "t", loaded, {"M": 500, "cond": True, "v0": 0, "bound": 9999}, 300, None, RecordOptions(every=100)
    )
    with TraceStore.open(tmp_path / "t") as trace:
        assert next(trace.rows("SELECT count(*) FROM checkpoint"))[0] == 2
        assert next(trace.rows("SELECT count(*) FROM checkpoint_part"))[0] == 2
        assert next(trace.rows("SELECT sum(count) FROM checkpoint_scan"))[0] == 299
        assert find_resume_point(trace, loaded).label == "iteration 299"


def test_unsuitable_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.loopdb"
    loaded, inputs = sample("newton_sqrt.onnx")
    record_truncated(path, loaded, inputs, 3, None, RecordOptions())
    other, _ = sample("fibonacci.onnx")
    with (
        TraceStore.open(path) as trace,
        raises_error(UsageError, name="model", expected="newton_sqrt.onnx", got="fibonacci.onnx"),
    ):
        find_resume_point(trace, other)
    resume_run(path, loaded, None, True)
    with (
        TraceStore.open(path) as trace,
        pytest.raises(UsageError, match="this run came to its end; there is nothing to go on"),
    ):
        find_resume_point(trace, loaded)


def test_other_weights_make_another_model(tmp_path: Path) -> None:
    path = Path(shutil.copy(SAMPLES / "lstm.xml", tmp_path))
    weights = Path(shutil.copy(SAMPLES / "lstm.bin", tmp_path / "a.weights"))
    other = tmp_path / "b.weights"
    other.write_bytes(weights.read_bytes() + b"\x00")
    hashes = [model_hash(loopdbg.load(path, item)) for item in (weights, other)]
    assert hashes[0] == model_hash(loopdbg.load(SAMPLES / "lstm.xml")) != hashes[1]


def test_trace_of_another_run_is_not_taken_for_an_endless_loop(tmp_path: Path) -> None:
    path = tmp_path / "t.loopdb"
    loaded = model(COUNT)
    record_truncated(path, loaded, {"M": 5, "cond": True, "v0": 0, "bound": 99}, 3, None, RecordOptions())
    with TraceStore.open(path) as trace:
        position = find_resume_point(trace, loaded)
        position.loop_states[0].outer_iterations = (3,)
        with pytest.raises(TraceError, match="does not come by where the recorded one was"):
            loaded.execute(trace.inputs, begin=lambda engine: restore_engine(engine, position, trace))


def test_resume_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, model_path = tmp_path / "t.loopdb", SAMPLES / "loop_infinite.xml"
    first = command(capsys, "run", model_path, "--max-iterations", 20, "--record", path)
    assert first.status == 4 and "recorded 21 boundaries in" in first.out
    more = command(capsys, "run", model_path, "--resume", path, "--max-iterations", 50)
    assert more.status == 4 and "50 iterations of 'leibniz'" in more.out
    assert "whose run goes on at iteration 20" in more.err
    more = command(capsys, "run", model_path, "--resume", path, "--record", path, "--max-iterations", 50, "--json")
    assert more.status == 4 and '"boundaries": 30' in more.out
    with TraceStore.open(path) as trace:
        assert len(trace) == 51
    for options, message in (
        (("--input", "x=1"), "--input: --resume goes on with the inputs of the recorded run"),
        (("--every", "2"), "--every: --resume goes on as the run was recorded"),
        (("--record", tmp_path / "u"), "with --resume the run is recorded on in"),
    ):
        ran = command(capsys, "run", model_path, "--resume", path, *options)
        assert ran.status == 2 and message in ran.error_line
    assert "no such file" in command(capsys, "run", model_path, "--resume", tmp_path / "none").error_line
