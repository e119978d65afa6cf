"""Gain of each optimization of the engine: a model with it, and the same model with this one switched off.

python benchmarks/optimization_gains.py                     a small loop for each
python benchmarks/optimization_gains.py --real [PATTERN...] all of them on real models: names, or patterns such as
                                                            llama/onnx/int8 (benchmarks/run.py --real --check
                                                            builds the models)

Each can be switched off with bitwise equal results, except for the panels, which define the order of sums. The figure
is the minimum of many short turns, in CPU time of one thread.
"""

from __future__ import annotations

import argparse
import os
import sys

if __name__ == "__main__":
    # Before the import of NumPy, which fixes the number of BLAS threads.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    # JIT compilation happens before the measurement.
    os.environ.setdefault("LOOPDBG_COMPILE", "now")

from typing import Any

import optimization_switches
from case import BenchmarkCase, Inputs, f32, parse, trip_count_inputs, weight
from cell_models import lstm
from loopdbg.runtime.frontends.onnx import reader
from loopdbg.runtime.model import Model
from real import optimization_gains
from scalar_models import scalar
from switch_comparison import WarmModel, compare_switch
from tensor_models import cache, grow, heat
from vector_models import beams, hashing, newton, quaternion, rk4, rotation


def transposed(hidden: int = 256, iterations: int = 500) -> BenchmarkCase:
    """A product with a matrix that the body transposes, as exporters write it."""

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
        return {**trip_count_inputs(iterations), "W": weight(3, hidden, hidden), "h0": f32([[0.01] * hidden])}

    return BenchmarkCase("transposed", "Transpose, MatMul, Tanh", iterations, build, inputs)


#: Each with loops that benefit from it.
LOOPS_BY_OPTIMIZATION = {
    "scalar programs": (scalar, newton, rk4, quaternion, rotation, hashing, beams),
    "panels": (lstm,),
    "batched hoisting": (lstm,),
    "invariants": (transposed,),
    "fusion": (heat,),
    "ranges of shapes": (grow,),
    "appends in place": (grow,),
    "capacity for more": (cache,),
}


def measure_row(switch: optimization_switches.OptimizationSwitch, case: BenchmarkCase) -> str:
    """Return a line of the table of small loops."""

    def load() -> tuple[Model, Inputs]:
        return Model(reader.from_proto(case.build(), case.name)), case.inputs()

    comparison = compare_switch(WarmModel(load), load, switch)
    fast, slow = (seconds / case.iterations * 1e6 for seconds in (comparison.with_it, comparison.without))
    remark = "" if comparison.same else "  other bits"
    return f"{switch.name:22}{case.name:14}{fast:>10.3g}{slow:>10.3g}{comparison.gain:>8.2f}x{remark}"


def print_small_loops() -> None:
    """Print the table, each row as soon as it is measured."""
    print(f"{'us an iteration':22}{'loop':14}{'with it':>10}{'without':>10}", flush=True)
    for name, cases in LOOPS_BY_OPTIMIZATION.items():
        for case in cases:
            print(measure_row(optimization_switches.SWITCHES[name], case()), flush=True)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", nargs="*", metavar="PATTERN", help="real models, all or these")
    parser.add_argument("--only", action="append", metavar="WAY", help="with --real: this way, and no others")
    parser.add_argument("--json", metavar="FILE", help="with --real: also append the rows, a line of JSON each")
    options = parser.parse_args()
    if options.real is None:
        print_small_loops()
        return 0
    switches = [
        switch for switch in optimization_switches.SWITCHES.values() if not options.only or switch.name in options.only
    ]
    return optimization_gains.main(options.real, switches, options.json) if switches else 0


if __name__ == "__main__":
    sys.exit(main())
