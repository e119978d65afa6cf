"""Cost of carried values that grow by 4 MB per step, beyond writing the new data once, in each way of running.

python benchmarks/growing_values.py [CASE ...] [--steps N]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import loopdbg
from case import Inputs, i64, parse
from loopdbg.debugger.trace.recorder import Recorder
from loopdbg.runtime.frontends.onnx import reader as frontend
from loopdbg.runtime.model import Model

STEP_BYTES = 4 << 20
#: Elements of what a step appends.
_CHUNK = STEP_BYTES // 4


def _growing_loop_model(
    body: str, chunk: str, grown: str, more: str = "", scanned: str = "", last: str = "v_last"
) -> onnx.ModelProto:
    text = f"""
        growing (int64 M, bool cond, float[{grown}] v0, float[{chunk}] chunk) => (float[{grown}] v_last{scanned})
        {{
          {last} = Loop (M, cond, v0) <
            body: graph = step (int64 i, bool more_in, float[{grown}] v) => (bool more, float[{grown}] v_next{more}) {{
              more = Identity (more_in)
              {body}
            }}>
        }}
    """
    return parse(text)


def _inputs_factory(*chunk: int, axis: int = 0) -> Callable[[int], Inputs]:
    def inputs(steps: int) -> Inputs:
        empty = tuple(0 if k == axis else extent for k, extent in enumerate(chunk))
        number = np.full(chunk, 0.5, np.float32)
        return {"M": i64(steps), "cond": np.array(True), "v0": np.zeros(empty, np.float32), "chunk": number}

    return inputs


_ROWS = f"4,{_CHUNK // 4}"
_SUM = "rows = Shape (v_next) s = ReduceSum <keepdims = 0> (rows)"
_NEXT_CHUNK = "fi = Cast <to = 1> (i) new = Add (chunk, fi)"

#: Name -> model, and its inputs for a number of steps.
CASES: dict[str, tuple[Callable[[], onnx.ModelProto], Callable[[int], Inputs]]] = {
    "append": (
        lambda: _growing_loop_model(f"{_NEXT_CHUNK} v_next = Concat <axis = 0> (v, new)", _ROWS, f"n,{_CHUNK // 4}"),
        _inputs_factory(4, _CHUNK // 4),
    ),
    "append a constant": (
        lambda: _growing_loop_model("v_next = Concat <axis = 0> (v, chunk)", _ROWS, f"n,{_CHUNK // 4}"),
        _inputs_factory(4, _CHUNK // 4),
    ),
    "append on an inner axis": (
        lambda: _growing_loop_model(
            f"{_NEXT_CHUNK} v_next = Concat <axis = 1> (v, new)", f"8,1,{_CHUNK // 8}", f"8,n,{_CHUNK // 8}"
        ),
        _inputs_factory(8, 1, _CHUNK // 8, axis=1),
    ),
    "append in front": (
        lambda: _growing_loop_model(f"{_NEXT_CHUNK} v_next = Concat <axis = 0> (new, v)", _ROWS, f"n,{_CHUNK // 4}"),
        _inputs_factory(4, _CHUNK // 4),
    ),
    "append, read its length": (
        lambda: _growing_loop_model(
            f"{_NEXT_CHUNK} v_next = Concat <axis = 0> (v, new) {_SUM}",
            _ROWS,
            f"n,{_CHUNK // 4}",
            ", int64 s",
            ", int64[k] sums",
            "v_last, sums",
        ),
        _inputs_factory(4, _CHUNK // 4),
    ),
    "append in a branch": (
        lambda: _growing_loop_model(
            f"""{_NEXT_CHUNK} limit = Constant <value_int = 0> () b = GreaterOrEqual (i, limit)
            v_next = If (b) <
              then_branch: graph = yes () => (float[n,{_CHUNK // 4}] joined) {{ joined = Concat <axis = 0> (v, new) }},
              else_branch: graph = no () => (float[n,{_CHUNK // 4}] same) {{ same = Identity (v) }}>""",
            _ROWS,
            f"n,{_CHUNK // 4}",
        ),
        _inputs_factory(4, _CHUNK // 4),
    ),
    "scan output": (
        lambda: _growing_loop_model(
            f"{_NEXT_CHUNK} v_next = Identity (v)",
            f"{_CHUNK}",
            "n",
            f", float[{_CHUNK}] new",
            f", float[k,{_CHUNK}] rows",
            "v_last, rows",
        ),
        _inputs_factory(_CHUNK),
    ),
}


def headless(model: Model, inputs: Inputs) -> Any:
    return model.run(inputs)


def hooked(model: Model, inputs: Inputs) -> Any:
    return model.run(inputs, on_iteration=lambda frame: frame.iteration)


def run_by_stepping(model: Model, inputs: Inputs) -> Any:
    session = loopdbg.debug(model, inputs)
    while not session.done:
        session.step()
    return session.outputs


def run_by_continuing(model: Model, inputs: Inputs) -> Any:
    session = loopdbg.debug(model, inputs)
    while not session.done:
        session.continue_()
    return session.outputs


def recorded(model: Model, inputs: Inputs) -> Any:
    with tempfile.TemporaryDirectory() as folder, Recorder(Path(folder) / "run.loopdb", model, inputs) as recorder:
        run = model.execute(inputs, on_iteration=recorder)
        recorder.finish(run)
    return run.outputs


WAYS = {way.__name__: way for way in (headless, hooked, run_by_continuing, run_by_stepping, recorded)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--ways", nargs="*", default=["headless"], choices=list(WAYS))
    arguments = parser.parse_args()
    print(f"{arguments.steps} steps of {STEP_BYTES >> 20} MB, processor seconds; 'copy': the new data, written once")
    print(f"{'case':28} {'way':>10} {'run':>7} {'copy':>7} {'beyond':>7} {'wall':>7} {'faults':>7} {'peak':>9}")
    # The first use of memory is slower still in a virtual machine.
    time_copy(arguments.steps)
    for name in arguments.cases or CASES:
        for way in arguments.ways:
            print(line(name, way, arguments.steps), flush=True)


def time_copy(steps: int) -> float:
    """Processor seconds of writing the new data into fresh memory."""
    chunk = np.ones(_CHUNK, np.float32)
    start = time.process_time()
    memory = np.empty((steps, _CHUNK), np.float32)
    for k in range(steps):
        memory[k] = chunk
    return time.process_time() - start


def line(name: str, way: str, steps: int) -> str:
    """The row of a case."""
    build, inputs = CASES[name]
    model = Model(frontend.from_proto(build(), name))
    feeds = inputs(steps)
    copy = time_copy(steps)
    faults, started, wall = _resource_usage().ru_minflt, time.process_time(), time.perf_counter()
    WAYS[way](model, feeds)
    seconds, wall = time.process_time() - started, time.perf_counter() - wall
    usage = _resource_usage()
    return (
        f"{name:28} {way:>10} {seconds:7.2f} {copy:7.2f} {seconds - copy:+7.2f} {wall:7.2f} "
        f"{(usage.ru_minflt - faults) / 1000:6.0f}k {usage.ru_maxrss >> 10:6} MB"
    )


def _resource_usage() -> resource.struct_rusage:
    return resource.getrusage(resource.RUSAGE_SELF)


if __name__ == "__main__":
    main()
