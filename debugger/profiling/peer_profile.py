"""The same run in another runtime, with the times of its nodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace

from ...runtime.errors import UnsupportedError, UsageError
from ...runtime.kernels.thread_pool import allowed_threads
from ...runtime.model import Data, Model
from ..compare.live_peer.free_running import peer_feeds
from ..compare.live_peer.model_job import model_job
from ..compare.running.sides import ModelSide
from ..peers.jobs import IrJob, OnnxJob, RunTimes
from ..peers.process import Peer, PeerError
from .profile import PeerNode, PeerProfile, Profile

#: The share of the time for runs without measuring nodes.
_PLAIN_SHARE = 0.5


def add_peer(profile: Profile, model: Model, inputs: Mapping[str, Data], peer: Peer, seconds: float = 1.0) -> Profile:
    """Add the same run in a peer, measured for about ``seconds``, to a profile.

    Raises:
        UsageError: the peer is not installed, or cannot run the model.
    """
    side = ModelSide(model, inputs)
    try:
        job = model_job(side)
        assert isinstance(job, OnnxJob | IrJob)
        plain, measured = (
            _measure(peer, side, replace(job, measure_nodes=measure_nodes), seconds * share)
            for measure_nodes, share in ((False, _PLAIN_SHARE), (True, 1 - _PLAIN_SHARE))
        )
    except UnsupportedError as error:
        raise UsageError(f"{peer.name} cannot be given this model: {error}") from None
    except PeerError as error:
        verb = {"failed": "refuses the model", "crashed": "crashes", "hung": "does not end"}[error.kind]
        raise UsageError(f"{peer.name} {verb}: {error.text}") from None
    # A name that occurs twice says nothing.
    counts = Counter(node.name for node in profile.nodes)
    names = {name for name, count in counts.items() if count == 1}
    by_name: dict[str, float] = defaultdict(float)
    nodes = []
    for node in sorted(measured.nodes, key=lambda node: -node.seconds):
        name = _original_name(node.name, names)
        by_name[name] += node.seconds
        nodes.append(PeerNode(node.name, node.op_type, node.seconds, node.calls, name in names))
    result = PeerProfile(
        peer.name,
        peer.version,
        min(plain.runs),
        min(measured.runs),
        tuple(nodes),
        nodes_include_loops=peer.name == "onnxruntime",
    )
    own_nodes = tuple(
        replace(node, peer_seconds=by_name.get(node.name)) if node.name in names else node for node in profile.nodes
    )
    notes = profile.notes
    if allowed_threads() > 1:
        notes += (
            f"large products use {allowed_threads()} threads here, and {peer.name} has one: "
            "OMP_NUM_THREADS=1 measures both with one",
        )
    return replace(profile, nodes=own_nodes, peer=result, notes=notes)


def _original_name(name: str, names: Collection[str]) -> str:
    """The name of the node that onnxruntime fused others into: ``a/MatMul`` for ``a/MatMul/MatMulAddFusion``."""
    original, _, fusion = name.rpartition("/")
    return original if fusion.endswith("Fusion") and original in names else name


def _measure(peer: Peer, side: ModelSide, job: OnnxJob | IrJob, seconds: float) -> RunTimes:
    loaded = peer.open(job)
    try:
        return loaded.measure(peer_feeds(side, side.inputs), seconds)
    finally:
        loaded.close()
