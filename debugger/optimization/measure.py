"""How much faster a rewritten model is: the same runs of both, one after the other, in one process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

from ...runtime.errors import UnsupportedError, UsageError
from ...runtime.graph import System
from ...runtime.model import Data, Model
from ..compare.live_peer.free_running import peer_feeds
from ..compare.live_peer.model_job import model_job
from ..compare.running.sides import ModelSide
from ..peers.process import Peer, PeerError

#: How often the two models take turns.
_TURNS = 10


def measure_gain(original: Model, rewritten: Model, inputs: Mapping[str, Data], seconds: float) -> float:
    """The time of the fastest run of a model, divided by that of the rewritten one."""
    return _measure_time_ratio(
        lambda share: _fastest_run_time(original, inputs, share),
        lambda share: _fastest_run_time(rewritten, inputs, share),
        seconds,
    )


def measure_peer_gain(
    peer: Peer, original: Model, rewritten: Model, inputs: Mapping[str, Data], seconds: float
) -> float | None:
    """The same in a peer; None: it cannot run one of them. Both models have files."""
    loaded = []
    try:
        for model in (original, rewritten):
            side = ModelSide(model, inputs)
            loaded.append((peer.open(model_job(side)), peer_feeds(side)))
        (first, first_feeds), (second, second_feeds) = loaded
        return _measure_time_ratio(
            lambda share: min(first.measure(first_feeds, share).runs),
            lambda share: min(second.measure(second_feeds, share).runs),
            seconds,
        )
    except (PeerError, UnsupportedError):
        return None
    finally:
        for peer_model, _ in loaded:
            peer_model.close()


def open_peer(system: System) -> Peer | None:
    """The runtime that a format is from, in a process of its own; None: it is not installed."""
    name = {System.ONNX: "onnxruntime", System.OPENVINO: "openvino"}.get(system)
    try:
        return None if name is None else Peer(name)
    except UsageError:
        return None


def _measure_time_ratio(first: Callable[[float], float], second: Callable[[float], float], seconds: float) -> float:
    """The ratio of two times that are measured in turns; each function measures for some seconds."""
    share, end = seconds / (2 * _TURNS), time.monotonic() + seconds
    first(0.0), second(0.0)
    turns = [(first(share), second(share))]
    while len(turns) < _TURNS and time.monotonic() < end:
        turns.append((first(share), second(share)))
    return min(turn[0] for turn in turns) / min(turn[1] for turn in turns)


def _fastest_run_time(model: Model, inputs: Mapping[str, Data], seconds: float) -> float:
    end = time.perf_counter() + seconds
    fastest = math.inf
    while fastest == math.inf or time.perf_counter() < end:
        start = time.perf_counter()
        model.run(inputs)
        fastest = min(fastest, time.perf_counter() - start)
    return fastest
