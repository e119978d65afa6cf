"""Claims of ``loopdbg profile``, measured: what it adds to a run, whether its parts add up, how it ranks nodes.

python benchmarks/profile_claims.py                      the loops of ``make bench`` and the models in build/real
python benchmarks/profile_claims.py cache MODEL.onnx     these; a file has its inputs in the same folder (inputs.npz)

``every``: nodes are measured in one of N iterations. ``adds``: the CPU time of a run in which they are, relative
to one in which they are not. ``parts``: the beginning, nodes, branches, boundaries and outputs of a run, relative
to the wall time of the same run.

Then the nodes that take the most, next to onnxruntime's profile of the model without its optimisations, so that it runs
the same nodes. ``top``: how many of its ten, as far as they have 1% of its time, are among ours; ``share``: the time of
our ten in its profile, relative to that of its ten; ``rho``: Spearman's coefficient over both tens; ``each``:
microseconds of a call of the shortest of its ten, which counts whole ones. ``self`` and ``rho`` behind it: a second
profile of onnxruntime instead of ours, what it agrees with itself. ``pairs``: of the pairs in both tens that it can
order, as they differ by more than a microsecond a call and three times what its two profiles differ, those that are in
this order here; a call of a node that does nothing (the shortest of all) is subtracted from its times. Nodes that run
together here count together, an LSTM is one node, and nodes of constants, which loopdbg computes when it loads a model,
do not count.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

import loopdbg  # noqa: E402
from case_table import CASES  # noqa: E402
from loopdbg.debugger.peers.process import Peer  # noqa: E402
from loopdbg.debugger.profiling.measure import Measurement, measure_run  # noqa: E402
from loopdbg.debugger.profiling.peer_profile import add_peer, node_path_in_file  # noqa: E402
from loopdbg.debugger.profiling.profile import Profile  # noqa: E402
from loopdbg.runtime.engine.engine import Engine  # noqa: E402
from loopdbg.runtime.model import Model  # noqa: E402

BUILT = Path(__file__).resolve().parents[1] / "build" / "real"
ROUNDS, TURN_SECONDS, SECONDS, PEER_SECONDS = 15, 0.02, 2.0, 4.0
MOST, LEAST_SHARE, MOST_CALLS = 10, 0.01, 200_000
ROW = "{:22}{:>10}{:>6}{:>7}{:>8}{:>7}{:>6}{:>7}{:>7}{:>7}{:>7}{:>8}"
#: onnxruntime counts whole microseconds.
RESOLUTION_SECONDS, NOISE_FACTOR = 1e-6, 3


@dataclass(frozen=True)
class RankAgreement:
    """``common`` of the ``count`` most expensive nodes of a profile are among the most expensive ones of another."""

    common: int
    count: int
    share: float
    rho: float


@dataclass(frozen=True)
class NodeTimes:
    """The seconds of a node, or of several that run together, here and in two profiles of the peer."""

    here: float
    peer: float
    again: float
    calls: int


def main(names: list[str]) -> int:
    """Print the table."""
    print(ROW.format("", "run, us", "every", "adds", "parts", "top", "share", "rho", "each", "self", "rho", "pairs"))
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
    measurement = Measurement(Engine(model.plan), model.check(inputs), None, None)
    measurement.measure_for(SECONDS)
    added = clock_cost(measurement.engine, model, inputs, measurement.every)
    own = [
        name[:21], f"{measurement.least.seconds * 1e6:.1f}", measurement.every, f"{added:.1%}",
        f"{measurement.measured_share():.1%}",
    ]  # fmt: skip
    profile = measure_run(model, inputs, SECONDS, None)
    calls = sum(node.calls * max(1, len(node.members)) for node in profile.nodes)
    try:
        if calls > MOST_CALLS:
            raise loopdbg.UsageError(f"{calls} calls are too many to measure in onnxruntime")
        with Peer("onnxruntime", options={"graph_optimization_level": "ORT_DISABLE_ALL"}) as peer:
            profiles = [add_peer(profile, model, inputs, peer, PEER_SECONDS) for _ in range(2)]
    except loopdbg.UsageError as error:
        return ROW.format(*own, *"-------") + f"  {str(error)[:60]}"
    nodes = node_times(*profiles, constant_nodes(model))
    assert profiles[0].peer is not None
    total = profiles[0].peer.node_seconds
    agreement = compare_ranks([node.here for node in nodes], [node.peer for node in nodes], total)
    itself = compare_ranks([node.again for node in nodes], [node.peer for node in nodes], total)
    most = sorted(nodes, key=lambda node: -node.peer)[:MOST]
    alike, decided = ordered_pairs(nodes)
    return ROW.format(
        *own, f"{agreement.common}/{agreement.count}", f"{agreement.share:.0%}", f"{agreement.rho:.2f}",
        f"{min(node.peer / max(1, node.calls) for node in most) * 1e6:.1f}" if most else "-",
        f"{itself.common}/{itself.count}", f"{itself.rho:.2f}", f"{alike}/{decided}",
    )  # fmt: skip


def clock_cost(engine: Engine, model: Model, inputs: Mapping[str, Any], every: int) -> float:
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
    for _ in range(ROUNDS):
        for is_timed in turns:  # in turn, so that other work on this machine slows both
            engine.time_nodes(is_timed, every)
            started = time.process_time()
            for _ in range(repeats):
                run()
            turns[is_timed].append(time.process_time() - started)
    engine.time_nodes(False)
    return min(turns[True]) / min(turns[False]) - 1


def constant_nodes(model: Model) -> set[str]:
    """The names of the nodes whose results are constants."""
    constants = model.plan.constant_values
    nodes = [step.node for step in model.plan.code if step.node is not None]
    return {node.name for node in nodes if node.outputs and all(value in constants for value in node.outputs)}


def node_times(first: Profile, second: Profile, ignored: Collection[str] = ()) -> list[NodeTimes]:
    """The nodes of two profiles of the same run here, of which each has one of the peer, without the ``ignored``."""
    whole = {node_path_in_file(loop.path) for loop in first.loops if loop.peer_seconds is not None}
    loops = [pair for pair in zip(first.loops, second.loops, strict=True) if node_path_in_file(pair[0].path) in whole]
    times = []
    for path in sorted(whole):
        inside = [pair for pair in loops if node_path_in_file(pair[0].path) == path]
        peer, again = (sum(pair[k].peer_seconds or 0.0 for pair in inside) for k in range(2))
        times.append(NodeTimes(sum(loop.seconds for loop, _ in inside), peer, again, 1))
    return times + [
        NodeTimes(node.seconds, node.peer_seconds, other.peer_seconds or 0.0, node.calls * max(1, len(node.members)))
        for node, other in zip(first.nodes, second.nodes, strict=True)
        if node.peer_seconds is not None
        and node.name not in ignored
        and not any(f"{node.loop} ▸ ".startswith(f"{loop.path} ▸ ") for loop, _ in loops)
    ]


def compare_ranks(ours: list[float], theirs: list[float], total: float) -> RankAgreement:
    """Compare the nodes that take the most with those of the peer, of which all nodes take ``total``."""
    count = min(MOST, len(ours))
    our_most, their_most = (sorted(range(len(ours)), key=lambda k: -side[k])[:count] for side in (ours, theirs))
    both = sorted({*our_most, *their_most})
    seconds = [sum(theirs[k] for k in chosen) for chosen in (our_most, their_most)]
    heavy = [k for k in their_most if theirs[k] >= LEAST_SHARE * total]
    return RankAgreement(
        len({*our_most} & {*heavy}), len(heavy), seconds[0] / seconds[1] if seconds[1] else 1.0,
        spearman([ours[k] for k in both], [theirs[k] for k in both]),
    )  # fmt: skip


def ordered_pairs(nodes: list[NodeTimes]) -> tuple[int, int]:
    """Of the nodes that take the most in either runtime: the pairs in the same order in both, and those that the peer
    can order."""
    floor = min((min(node.peer, node.again) / node.calls for node in nodes if node.calls), default=0.0)
    net = [(node.peer + node.again) / 2 - floor * node.calls for node in nodes]
    noise = [NOISE_FACTOR * abs(node.peer - node.again) + RESOLUTION_SECONDS * node.calls for node in nodes]
    chosen = {
        k for side in (net, [n.here for n in nodes]) for k in sorted(range(len(nodes)), key=lambda k: -side[k])[:MOST]
    }
    decided = [(i, j) for i, j in combinations(sorted(chosen), 2) if abs(net[i] - net[j]) > max(noise[i], noise[j])]
    return sum((net[i] > net[j]) == (nodes[i].here > nodes[j].here) for i, j in decided), len(decided)


def spearman(left: list[float], right: list[float]) -> float:
    """The correlation of the ranks."""
    if len(left) < 2:
        return 1.0
    ranks = [np.argsort(np.argsort(values)) for values in (left, right)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
