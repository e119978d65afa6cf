"""kill -9 at random moments of a recorded run: the file opens, lacks at most the last second, and the run resumes.

LOOPDBG_KILLS=200 kills as often as that; LOOPDBG_KILL_SEED=N picks other moments.
"""

from __future__ import annotations

import mmap
import os
import random
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from cli_runner import save_text_model, start_python
from comparable_values import all_exact_bits
from loopdbg.debugger.trace.resume import find_resume_point, restore_engine
from loopdbg.debugger.trace.trace_store import TraceStore
from text_models import COUNT, NESTED

KILLS = int(os.environ.get("LOOPDBG_KILLS", "12"))
SEED = int(os.environ.get("LOOPDBG_KILL_SEED", str(random.SystemRandom().randrange(1 << 30))))
#: Maximum loss in seconds of the run's computation: a busy machine delays the run, and its writer too.
LOST = 1.0

#: Records a run; writes to a file that the test watches the boundaries seen by its hook, and its thread's CPU time.
CHILD = """
import mmap, struct, sys, time
from pathlib import Path
import numpy as np
import loopdbg
from loopdbg.debugger.trace.recorder import RecordOptions, Recorder

model_path, inputs_path, trace_path, counter_path, every, pause = sys.argv[1:]
model = loopdbg.load(model_path)
with np.load(inputs_path) as file:
    inputs = dict(file)
model.plan
with open(counter_path, "r+b") as file:
    counter = mmap.mmap(file.fileno(), 16)
pause = float(pause)
seen = 0

def hook(frame):
    global seen
    recorder(frame)
    seen += 1
    counter[:] = struct.pack("qd", seen, time.thread_time() - began)
    until = time.thread_time() + pause
    while time.thread_time() < until:
        pass

print("begins", flush=True)
began = time.thread_time()
with Recorder(Path(trace_path), model, inputs, RecordOptions(every=int(every))) as recorder:
    recorder.finish(model.execute(inputs, on_iteration=hook))
"""

TENSORS = """
t (int64 M, float[2000] a) => (float[2000] b, float[N,500] s) {
  start = Constant <value = int64[1] {0}> ()
  stop = Constant <value = int64[1] {500}> ()
  b, s = Loop <body = body (int64 i, bool c, float[2000] x) => (bool c, float[2000] z, float[500] e) {
    y = Sin (x)
    z = Add (y, a)
    e = Slice (z, start, stop)
  }> (M, , a)
}
"""

#: Text, inputs, recording interval, and delay per iteration: about two seconds in all.
CASES: dict[str, tuple[str, dict[str, Any], int, float]] = {
    "scalars": (COUNT, {"M": 40_000, "cond": True, "v0": 5, "bound": 1 << 40}, 1, 40e-6),
    "as fast as it can": (COUNT, {"M": 150_000, "cond": True, "v0": 5, "bound": 1 << 40}, 1, 0.0),
    "nested": (NESTED, {"M": 100, "K": 120}, 1, 150e-6),
    "tensors": (TENSORS, {"M": 2000, "a": np.linspace(0, 1, 2000, dtype=np.float32)}, 1, 1e-3),
    "slow": (COUNT, {"M": 8, "cond": True, "v0": 5, "bound": 1 << 40}, 1, 0.25),
    "every": (NESTED, {"M": 100, "K": 200}, 7, 80e-6),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_killed_recording_opens_loses_at_most_a_second_and_resumes(tmp_path: Path, name: str) -> None:
    text, feeds, every, pause = CASES[name]
    model_path = save_text_model(tmp_path, text)
    loaded = loopdbg.load(model_path)
    inputs = {port.name: np.asarray(feeds[port.name], port.dtype) for port in loaded.inputs}
    np.savez(tmp_path / "inputs.npz", **inputs)
    unbroken = loaded.run(inputs)
    moments = random.Random(f"{SEED} {name}")
    worst = 0.0
    cut = finished = 0
    kills = max(1, -(-KILLS // len(CASES)))
    for kill in range(kills):
        path = tmp_path / f"run{kill}.loopdb"
        # Some kills while the file is created, the others at any time of the run.
        after = moments.uniform(0, 0.06) if moments.random() < 0.15 else moments.uniform(0, 2.4)
        index = f"LOOPDBG_KILL_SEED={SEED}, kill {kill} after {after:.3f} s"
        lengths = run_until_killed(tmp_path, model_path, path, every, pause, after)
        if not path.exists():
            assert lengths[-1][1] == 0, index
            continue
        with TraceStore.open(path) as trace:
            if trace.ended == "end":
                finished += 1
                assert trace.outputs is not None and all_exact_bits(trace.outputs) == all_exact_bits(unbroken), index
                continue
            cut += 1
            # The recorded part has no gaps, and all of it can be read.
            have = len(trace)
            ids = [mark.id for mark in trace.boundary_refs()]
            assert ids == list(range(1, have + 1)), index
            for boundary in list(trace.boundaries())[-50:]:
                assert boundary.carried, index
            if every == 1:
                lost = next((lengths[-1][0] - when for when, count in lengths if count > have), 0.0)
                worst = max(worst, lost)
                assert lost <= LOST, index
            position = find_resume_point(trace, loaded)

            def begin(engine: Any) -> None:
                restore_engine(engine, position, trace)  # noqa: B023 - called before the next round

            assert all_exact_bits(loaded.execute(trace.inputs, begin=begin).outputs) == all_exact_bits(unbroken), index
        path.unlink()
    print(f"{name}: {kills} kills, {cut} while it ran, {finished} after; at most {worst:.2f} s lost")


def run_until_killed(
    folder: Path, model: Path, path: Path, every: int, pause: float, after: float
) -> list[tuple[float, int]]:
    """The number of boundaries that its hook had seen, and its CPU time, when the run was killed."""
    counter = folder / "counter"
    counter.write_bytes(bytes(16))
    child = start_python("-c", CHILD, model, folder / "inputs.npz", path, counter, every, pause, stderr=None)
    assert child.stdout is not None
    lengths: list[tuple[float, int]] = []
    with counter.open("r+b") as file, mmap.mmap(file.fileno(), 16, access=mmap.ACCESS_READ) as seen:

        def observe() -> None:
            count, ran = struct.unpack("qd", seen[:])
            lengths.append((ran, count))

        assert child.stdout.readline() == "begins\n"
        until = time.monotonic() + after
        while (left := until - time.monotonic()) > 0 and child.poll() is None:
            observe()
            time.sleep(min(0.01, left))
        child.kill()
        child.wait()
        observe()
    child.stdout.close()
    return lengths
