"""Claims of ``loopdbg profile``, measured: what it adds to a run, whether its parts add up, how it ranks nodes.

python benchmarks/profile_claims.py                      the loops of ``make bench`` and the models in build/real
python benchmarks/profile_claims.py cache MODEL.onnx     these; a file has its inputs in the same folder (inputs.npz)

``adds``: the CPU time of a run with a clock around each node, relative to one without. ``parts``: the nodes and
boundaries of a run, relative to the wall time of the same run; the rest begins it and returns its outputs.

Then the nodes that take the most, next to onnxruntime's profile of the model without its optimisations, so that it runs
the same nodes. ``top``: how many of its ten, as far as they have 1% of its time, are among ours; ``share``: the time of
our ten in its profile, relative to that of its ten; ``rho``: Spearman's coefficient over both tens; ``each``:
microseconds of a call of the shortest of its ten, which counts whole ones. Nodes that run together here count together,
an LSTM is one node, and nodes of constants, which loopdbg computes when it loads a model, do not count.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

import loopdbg  # noqa: E402
from case_table import CASES  # noqa: E402
from loopdbg.debugger.peers.process import Peer  # noqa: E402
from loopdbg.debugger.profiling.measure import measure_run  # noqa: E402
from loopdbg.debugger.profiling.peer_profile import add_peer, file_path  # noqa: E402
from loopdbg.debugger.profiling.profile import Profile  # noqa: E402
from loopdbg.runtime.engine.engine import Engine  # noqa: E402
from loopdbg.runtime.model import Model  # noqa: E402

BUILT = Path(__file__).resolve().parents[1] / "build" / "real"
ROUNDS, TURN_SECONDS, SECONDS, PEER_SECONDS = 15, 0.02, 2.0, 6.0
MOST, LEAST_SHARE, MOST_CALLS = 10, 0.01, 200_000
ROW = "{:26}{:>11}{:>8}{:>8}{:>8}{:>8}{:>7}{:>8}"


@dataclass(frozen=True)
class RankAgreement:
    """``common`` of the ``count`` most expensive nodes of the peer are among the most expensive ones here."""

    common: int
    count: int
    share: float
    rho: float
    shortest_call: float


def main(names: list[str]) -> int:
    """Print the table."""
    print(ROW.format("", "run, us", "adds", "parts", "top", "share", "rho", "each"))
    for name in names or [*CASES, *map(str, sorted(BUILT.glob("*/fp32.onnx")))]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(name)
            if name in CASES:
                case = CASES[name]()
                path, inputs = Path(folder) / f"{name}.onnx", case.inputs()
                path.write_bytes(case.build().SerializeToString())
            else:
                inputs = dict(np.load(path.with_name("inputs.npz")).items())
                name = path.parent.name
            print(claims_line(name, loopdbg.load(path), inputs), flush=True)
    return 0


def claims_line(name: str, model: Model, inputs: Mapping[str, Any]) -> str:
    """The row of a model."""
    added, parts = measure_engine(model, inputs)
    profile = measure_run(model, inputs, SECONDS, None)
    calls = sum(node.calls * max(1, len(node.members)) for node in profile.nodes)
    try:
        if calls > MOST_CALLS:
            raise loopdbg.UsageError(f"{calls} calls are too many to measure in onnxruntime")
        with Peer("onnxruntime", options={"graph_optimization_level": "ORT_DISABLE_ALL"}) as peer:
            agreement = compare_ranks(add_peer(profile, model, inputs, peer, PEER_SECONDS), constant_nodes(model))
    except loopdbg.UsageError as error:
        return ROW.format(name[:25], f"{profile.seconds * 1e6:.1f}", f"{added:.1%}", f"{parts:.1%}", *"----") + (
            f"  {str(error)[:60]}"
        )
    return ROW.format(
        name[:25], f"{profile.seconds * 1e6:.1f}", f"{added:.1%}", f"{parts:.1%}",
        f"{agreement.common}/{agreement.count}", f"{agreement.share:.0%}", f"{agreement.rho:.2f}",
        f"{agreement.shortest_call * 1e6:.1f}",
    )  # fmt: skip


def measure_engine(model: Model, inputs: Mapping[str, Any]) -> tuple[float, float]:
    """What the clocks add to the CPU time of a run, and the part of a run's wall time that instructions account for."""
    engine, checked = Engine(model.plan), model.check(inputs)

    def run() -> None:
        engine.start(checked, outputs_only=True)
        engine.resume()
        engine.results()

    for _ in range(3):
        run()
    started = time.process_time()
    run()
    repeats = max(1, int(TURN_SECONDS / max(time.process_time() - started, 1e-6)))
    turns: dict[bool, list[float]] = {False: [], True: []}
    shares = []
    for _ in range(ROUNDS):
        for is_timed in turns:  # in turn, so that other work on this machine slows both
            engine.time_nodes(is_timed)
            wall, started = time.perf_counter(), time.process_time()
            for _ in range(repeats):
                run()
            turns[is_timed].append(time.process_time() - started)
            if is_timed:
                shares.append(sum(engine.node_seconds) / (time.perf_counter() - wall))
    engine.time_nodes(False)
    return min(turns[True]) / min(turns[False]) - 1, float(np.median(shares))


def constant_nodes(model: Model) -> set[str]:
    """The names of the nodes whose results are constants."""
    constants = model.plan.constant_values
    nodes = [step.node for step in model.plan.code if step.node is not None]
    return {node.name for node in nodes if node.outputs and all(value in constants for value in node.outputs)}


def compare_ranks(profile: Profile, ignored: Collection[str] = ()) -> RankAgreement:
    """Compare the nodes that take the most with those of the peer, without the ``ignored`` ones."""
    assert profile.peer is not None
    whole = {file_path(loop.path) for loop in profile.loops if loop.peer_seconds is not None}
    inside = [loop for loop in profile.loops if file_path(loop.path) in whole]
    pairs = [
        (
            sum(loop.seconds for loop in inside if file_path(loop.path) == path),
            sum(loop.peer_seconds or 0.0 for loop in inside if file_path(loop.path) == path),
            1,
        )
        for path in sorted(whole)
    ]
    pairs += [
        (node.seconds, node.peer_seconds, node.calls)
        for node in profile.nodes
        if node.peer_seconds is not None
        and node.name not in ignored
        and not any(f"{node.loop} ▸ ".startswith(f"{loop.path} ▸ ") for loop in inside)
    ]
    count = min(MOST, len(pairs))
    ours, theirs = (sorted(range(len(pairs)), key=lambda k: -pairs[k][side])[:count] for side in (0, 1))
    both = sorted({*ours, *theirs})
    seconds = [sum(pairs[k][1] for k in chosen) for chosen in (ours, theirs)]
    heavy = [k for k in theirs if pairs[k][1] >= LEAST_SHARE * profile.peer.node_seconds]
    return RankAgreement(
        len({*ours} & {*heavy}), len(heavy), seconds[0] / seconds[1] if seconds[1] else 1.0,
        spearman([pairs[k][0] for k in both], [pairs[k][1] for k in both]),
        min((pairs[k][1] / max(1, pairs[k][2]) for k in theirs), default=0.0),
    )  # fmt: skip


def spearman(left: list[float], right: list[float]) -> float:
    """The correlation of the ranks."""
    if len(left) < 2:
        return 1.0
    ranks = [np.argsort(np.argsort(values)) for values in (left, right)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
