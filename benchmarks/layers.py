"""What each layer brings that makes something fast: a loop with it, and the same loop with this layer switched off.

python benchmarks/layers.py

Each can be taken out of a run without another result, to the bit, but for the panels, which settle the order of sums.
The least of the rounds counts: processor time of one thread, and for layers side by side the clock, on all cores.
"""

from __future__ import annotations

import os
import sys

#: Runs itself with this for what needs several threads.
SIDE_BY_SIDE = "--side-by-side"
if __name__ == "__main__" and SIDE_BY_SIDE not in sys.argv:
    # Before NumPy is imported, which settles how many threads BLAS has.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"

import subprocess  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from contextlib import contextmanager  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from typing import Any  # noqa: E402
from unittest.mock import patch  # noqa: E402

import loopdbg.runtime.model  # noqa: E402
from case import Case, Inputs, Outputs, f32, parse, trips, weight  # noqa: E402
from cell_models import lstm, two_lstm  # noqa: E402
from loopdbg.runtime.engine.engine import Engine  # noqa: E402
from loopdbg.runtime.engine.fast.ranges import varying  # noqa: E402
from loopdbg.runtime.frontends.onnx import reader  # noqa: E402
from loopdbg.runtime.graph import Graph  # noqa: E402
from loopdbg.runtime.model import Model  # noqa: E402
from loopdbg.runtime.ops import weights  # noqa: E402
from loopdbg.runtime.plan.plan import Plan, compile_graph  # noqa: E402
from scalar_models import scalar  # noqa: E402
from tensor_models import grow, heat  # noqa: E402

ROUNDS = 9
#: A turn lasts at least this long.
TURN_SECONDS = 0.05


def transposed(hidden: int = 256, iterations: int = 500) -> Case:
    """A product with a matrix that the body transposes, as exporters leave it there."""

    state = f"float[1,{hidden}]"

    def build() -> Any:
        return parse(
            f"""
            g (int64 M, bool cond, float[{hidden},{hidden}] W, {state} h0) => ({state} h_last) {{
              h_last = Loop (M, cond, h0) <body = b (int64 i, bool c, {state} h) => (bool c2, {state} h2) {{
                c2 = Identity (c)
                w = Transpose (W)
                t = MatMul (h, w)
                h2 = Tanh (t)
              }}>
            }}"""
        )

    def inputs() -> Inputs:
        return {**trips(iterations), "W": weight(3, hidden, hidden), "h0": f32([[0.01] * hidden])}

    return Case("transposed", "Transpose, MatMul, Tanh", iterations, build, inputs)


@dataclass(frozen=True)
class Layer:
    """``off`` takes it out of the models that are loaded, and of the engines that are made, within it."""

    name: str
    case: Case
    off: Callable[[], Any]
    clock: Callable[[], float] = time.process_time


@contextmanager
def _plans(change: Callable[[Plan], None]) -> Iterator[None]:
    """Models get plans that were changed."""

    def changed(graph: Graph) -> Plan:
        plan = compile_graph(graph)
        change(plan)
        return plan

    with patch.object(loopdbg.runtime.model, "compile_graph", changed):
        yield


def _nothing_once(plan: Plan) -> None:
    for instruction in plan.code:
        instruction.once = -1


def _nothing_ahead(plan: Plan) -> None:
    for instruction in plan.code:
        instruction.hoisted = None


@contextmanager
def _engines(**knobs: Any) -> Iterator[None]:
    """Engines of models have some of their knobs turned."""
    borrow = Model._borrow

    def turned(model: Model) -> Engine:
        engine = borrow(model)
        for name, value in knobs.items():
            setattr(engine, name, value)
        return engine

    with patch.object(Model, "_borrow", turned):
        yield


def layers() -> list[Layer]:
    """Those that run on one thread, each with a loop that lives by it."""
    return [
        Layer("scalar programs", scalar(), lambda: _engines(hot_after=-1)),
        Layer("panels, with blocks", lstm(), lambda: patch.object(weights, "WEIGHTED", frozenset())),
        Layer("products in blocks", lstm(), lambda: _plans(_nothing_ahead)),
        Layer("invariants", transposed(), lambda: _plans(_nothing_once)),
        Layer("groups", heat(), lambda: _engines(fuse=False)),
        Layer("growing values", grow(), lambda: patch.object(varying, "follow", lambda *_: None)),
    ]


def side_by_side() -> Layer:
    """The one that needs several threads."""
    off = lambda: patch.object(Model, "_side_by_side", lambda model, engine: (*engine.resume(), ()))  # noqa: E731
    return Layer("layers side by side", two_lstm(), off, time.perf_counter)


def _model(case: Case) -> tuple[Model, Outputs]:
    model = Model(reader.from_proto(case.build(), case.name))
    return model, model.run(case.inputs())


def _seconds(layer: Layer, model: Model, inputs: Any, repeats: int) -> float:
    started = layer.clock()
    for _ in range(repeats):
        model.run(inputs)
    return (layer.clock() - started) / repeats


def measure(layer: Layer) -> tuple[float, float, bool]:
    """(microseconds per iteration with it, without it, whether both gave the same bits)."""
    inputs = layer.case.inputs()
    model, outputs = _model(layer.case)
    with layer.off():
        without, others = _model(layer.case)
    repeats = max(1, int(TURN_SECONDS / _seconds(layer, model, inputs, 1)))
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        times[0].append(_seconds(layer, model, inputs, repeats))
        with layer.off():
            times[1].append(_seconds(layer, without, inputs, repeats))
    same = all(outputs[name].tobytes() == others[name].tobytes() for name in outputs)
    fast, slow = (min(t) / layer.case.iterations * 1e6 for t in times)
    return fast, slow, same


def row(layer: Layer) -> str:
    """A line of the table."""
    fast, slow, same = measure(layer)
    bits = "" if same else "  other bits"
    return f"{layer.name:22}{layer.case.name:14}{fast:>10.3g}{slow:>10.3g}{slow / fast:>8.2f}x{bits}"


def main() -> None:
    """Print the table, a row as soon as it is measured."""
    print(f"{'us an iteration':22}{'loop':14}{'with it':>10}{'without':>10}", flush=True)
    for layer in layers():
        print(row(layer), flush=True)
    several = {
        name: value for name, value in os.environ.items() if name not in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    }
    subprocess.run([sys.executable, __file__, SIDE_BY_SIDE], check=True, env=several)


if __name__ == "__main__":
    if SIDE_BY_SIDE in sys.argv:
        print(row(side_by_side()))
    else:
        main()
