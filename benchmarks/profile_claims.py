"""Claims of ``loopdbg profile``, measured: what it adds to a run, whether its parts add up, how it ranks nodes.

python benchmarks/profile_claims.py                      the loops of ``make bench`` and the models in build/real
python benchmarks/profile_claims.py cache MODEL.onnx     these; a file has its inputs in the same folder (inputs.npz)

The LSTM comes in a second size, at which onnxruntime spends most of its time in computing, not in starting nodes.

``every``: nodes are measured in one of N iterations. ``adds``: the CPU time of a run in which they are, relative
to one in which they are not, of many in turn the fastest. ``parts``: the beginning, nodes, branches, boundaries and
outputs of a run, relative to the wall time of the same run (where iterations are sampled, of a run without the clock,
from which follows what the clock adds, up to four of its readings; ``-``: other processes took time from all runs).

Then the nodes that take the most, next to onnxruntime's profile of the model without its optimisations, so that it runs
the same nodes. ``top``: how many of its ten, as far as they have 1% of its time, are among ours; ``why``: the reasons
of the others, as ``profile --against`` states them: e, as long as others; o, computed once here; d, mostly dispatch
there; t, run together here; k, none of these. ``heavy``: of those whose calls take onnxruntime three times as long as
the shortest one of a node, which computes next to nothing and takes ``call`` microseconds (its profiler describes
operands within the time of a node). ``pairs``: of the pairs in both tens that onnxruntime can order, as they differ by
two such calls, and by three times what a second profile of it differs, how many are in this order here. ``self``: the
second profile in place of ours. Behind the line: the same where each node here runs by itself in each iteration, as it
does in onnxruntime, with all optimisations of the engine off; where shapes change in each iteration, nodes then run in
Python. Nodes that run together count together, an LSTM is one node, and nodes of constants, which loopdbg computes when
it loads a model, count in ``top`` alone.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

import loopdbg  # noqa: E402
from case_table import CASES as SMALL_CASES  # noqa: E402
from cell_models import lstm  # noqa: E402
from loopdbg.debugger.peers.process import Peer  # noqa: E402
from loopdbg.debugger.profiling.measure import Measurement, measure_run  # noqa: E402
from loopdbg.debugger.profiling.peer_profile import PeerRuns, match_peer, measure_peer  # noqa: E402
from loopdbg.debugger.profiling.profile import Profile, RankReason  # noqa: E402
from loopdbg.debugger.profiling.ranking import (  # noqa: E402
    DISPATCH_FACTOR,
    LEAST_SHARE,
    RankedNode,
    positions_with_most,
    rank_nodes,
    ranked_nodes,
)
from loopdbg.runtime.engine import engine as engines  # noqa: E402
from loopdbg.runtime.engine.engine import Engine  # noqa: E402
from loopdbg.runtime.model import Model  # noqa: E402

CASES = SMALL_CASES | {"lstm, batch 256": lambda: lstm(iterations=40, batch=256)}
BUILT = Path(__file__).resolve().parents[1] / "build" / "real"
LEAST_ROUNDS, MOST_ROUNDS, TURN_SECONDS, ROUND_SECONDS = 5, 100, 0.01, 3.0
SECONDS, PEER_SECONDS = 2.0, 4.0
#: Of the turns, the one that counts: caches that other processes use make some longer.
QUANTILE = 0.1
MOST_CALLS = 200_000
ROW = "{:22}{:>10}{:>6}{:>7}{:>8}{:>7}{:>10}{:>7}{:>7}{:>7}{:>8}{:>7}{:>7}{:>6}"
HEADINGS = (
    *("", "run, us", "every", "adds", "parts", "top", "why", "heavy", "pairs", "self"),
    *("| top", "heavy", "pairs", "call"),
)
#: Two profiles of onnxruntime tell nodes apart that differ by this many times what they differ themselves.
NOISE_FACTOR = 3
LETTERS = {
    RankReason.TIE: "e",
    RankReason.FEWER_CALLS: "o",
    RankReason.DISPATCH: "d",
    RankReason.TOGETHER: "t",
    RankReason.KERNEL: "k",
}


@dataclass(frozen=True)
class NodeTimes:
    """A node, or several that run together, and the seconds that a second profile of the peer found."""

    node: RankedNode
    again: float

    @property
    def peer(self) -> float:
        return self.node.peer_seconds


def main(names: list[str]) -> int:
    """Print the table."""
    print(ROW.format(*HEADINGS))
    for name in names or [*CASES, *map(str, sorted(BUILT.glob("*/fp32.onnx")))]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(name)
            if name in CASES:
                case = CASES[name]()
                path, inputs = Path(folder) / "model.onnx", case.inputs()
                path.write_bytes(case.build().SerializeToString())
            else:
                inputs = dict(np.load(path.with_name("inputs.npz")).items())
                name = path.parent.name
            print(claims_line(name, loopdbg.load(path), inputs), flush=True)
    return 0


def claims_line(name: str, model: Model, inputs: Mapping[str, Any]) -> str:
    """The row of a model."""
    measurement = Measurement(Engine(model.plan), model.check(inputs), None, None)
    measurement.measure_for(SECONDS)
    added = measure_clock_cost(measurement.engine, model, inputs, measurement.every)
    parts = measurement.measured_share()
    own = [
        name[:21], f"{measurement.least.seconds * 1e6:.1f}", measurement.every, f"{added:.1%}",
        "-" if parts is None else f"{parts:.1%}",
    ]  # fmt: skip
    profile = measure_run(model, inputs, SECONDS, None)
    calls = sum(node.calls * max(1, len(node.members)) for node in profile.nodes)
    try:
        if calls > MOST_CALLS:
            raise loopdbg.UsageError(f"{calls} calls are too many to measure in onnxruntime")
        with Peer("onnxruntime", options={"graph_optimization_level": "ORT_DISABLE_ALL"}) as peer:
            runs = [measure_peer(model, inputs, peer, PEER_SECONDS) for _ in range(2)]
    except loopdbg.UsageError as error:
        return ROW.format(*own, *"-" * 9) + f"  {str(error)[:60]}"
    with patch.object(engines, "optimizer_enabled", False):
        unoptimized = measure_run(model, inputs, SECONDS, None)
    ranking = rank_nodes(match_peer(profile, runs[0]))
    reasons = Counter(LETTERS[node.reason] for node in ranking.missing)
    agreement, single = (
        rank_agreement_cells(node_times(side, runs), ranking.call_seconds) for side in (profile, unoptimized)
    )
    return ROW.format(
        *own, f"{ranking.common}/{ranking.count}", " ".join(f"{n}{letter}" for letter, n in reasons.items()) or "-",
        *agreement[1:], *single[:-1], f"{ranking.call_seconds * 1e6:.1f}",
    )  # fmt: skip


def measure_clock_cost(engine: Engine, model: Model, inputs: Mapping[str, Any], every: int) -> float:
    """What the clocks add to the CPU time of a run."""
    checked = model.check(inputs)

    def run() -> None:
        engine.start(checked, outputs_only=True)
        engine.resume()
        engine.results()

    for plan in model.plan.loops:
        engine.set_breaks(plan.index, ())
    for _ in range(3):
        run()
    started = time.process_time()
    run()
    repeats = max(1, int(TURN_SECONDS / max(time.process_time() - started, 1e-6)))
    turns: dict[bool, list[float]] = {False: [], True: []}
    begun = time.perf_counter()
    while len(turns[True]) < LEAST_ROUNDS or (
        len(turns[True]) < MOST_ROUNDS and time.perf_counter() - begun < ROUND_SECONDS
    ):
        for is_timed in turns:  # in turn, so that other work on this machine slows both
            engine.time_nodes(is_timed, every)
            started = time.process_time()
            for _ in range(repeats):
                run()
            turns[is_timed].append(time.process_time() - started)
    engine.time_nodes(False)
    return float(np.quantile(turns[True], QUANTILE) / np.quantile(turns[False], QUANTILE)) - 1


def node_times(profile: Profile, runs: list[PeerRuns]) -> list[NodeTimes]:
    """The nodes of a profile of which the peer has times, in two of its profiles, without those of constants."""
    first, second = (ranked_nodes(match_peer(profile, run)) for run in runs)
    return [NodeTimes(node, other.peer_seconds) for node, other in zip(first, second, strict=True) if node.calls]


def rank_agreement_cells(nodes: list[NodeTimes], call_seconds: float) -> list[str]:
    """Of the nodes that take the peer longest: how many do here, how many of the heavy ones, how many pairs of them are
    in the same order, and how many take longest in the second profile."""
    total = sum(node.peer for node in nodes)
    ours, theirs, again = (
        positions_with_most(times)
        for times in ([n.node.seconds for n in nodes], [n.peer for n in nodes], [n.again for n in nodes])
    )
    ranked = {k for k in theirs if nodes[k].peer >= LEAST_SHARE * total}
    heavy = {k for k in ranked if not nodes[k].node.is_mostly_dispatch(call_seconds)}
    unsure = [
        max(NOISE_FACTOR * abs(node.peer - node.again), (DISPATCH_FACTOR - 1) * call_seconds * node.node.peer_calls)
        for node in nodes
    ]
    decided = [
        (nodes[i], nodes[j])
        for i, j in combinations(sorted({*ours, *theirs}), 2)
        if abs(nodes[i].peer - nodes[j].peer) > max(unsure[i], unsure[j])
    ]
    alike = [(a, b) for a, b in decided if (a.peer > b.peer) == (a.node.seconds > b.node.seconds)]
    parts = [(ranked.intersection(ours), ranked), (heavy.intersection(ours), heavy), (alike, decided)]
    return [f"{len(part)}/{len(whole)}" for part, whole in (*parts, (ranked.intersection(again), ranked))]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
