"""The same run in another runtime, with the times of its nodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from ...runtime.errors import UnsupportedError, UsageError
from ...runtime.graph import MAIN
from ...runtime.kernels.thread_pool import allowed_threads
from ...runtime.model import Data, Model
from ..compare.live_peer.free_running import peer_feeds
from ..compare.live_peer.model_job import model_job
from ..compare.running.sides import ModelSide
from ..peers.jobs import IrJob, Job, NodeTime, OnnxJob, RunTimes
from ..peers.process import Peer, PeerError
from .profile import PeerNode, PeerProfile, Profile
from .ranking import node_path_in_file, rank_nodes

#: The share of the time for runs without measuring nodes.
_PLAIN_SHARE = 0.5


@dataclass(frozen=True)
class PeerRuns:
    """Runs of a peer: ``plain`` without measuring nodes. ``is_qualified``: names of nodes contain the loop."""

    name: str
    version: str
    plain: RunTimes
    measured: RunTimes
    is_qualified: bool


def measure_peer(model: Model, inputs: Mapping[str, Data], peer: Peer, seconds: float) -> PeerRuns:
    """Run a model in a peer for about ``seconds``, without and with measuring nodes.

    Raises:
        UsageError: the peer is not installed, or cannot run the model.
    """
    side = ModelSide(model, inputs)
    try:
        job, is_qualified = _job_with_unique_node_names(model_job(side))
        plain, measured = (
            _measure_in_peer(peer, side, replace(job, measure_nodes=measure_nodes), seconds * share)
            for measure_nodes, share in ((False, _PLAIN_SHARE), (True, 1 - _PLAIN_SHARE))
        )
    except UnsupportedError as error:
        raise UsageError(f"{peer.name} cannot be given this model: {error}") from None
    except PeerError as error:
        verb = {"failed": "refuses the model", "crashed": "crashes", "hung": "does not end"}[error.kind]
        raise UsageError(f"{peer.name} {verb}: {error.text}") from None
    return PeerRuns(peer.name, peer.version, plain, measured, is_qualified)


def match_peer(profile: Profile, runs: PeerRuns) -> Profile:
    """Add runs of a peer to a profile of the same run, with the time of each node."""
    is_qualified = runs.is_qualified

    def full_names(loop: str, own_names: Sequence[str]) -> list[str]:
        return [f"{loop} ▸ {name}" if is_qualified else name for name in own_names]

    node_names = [full_names(node.loop, node.members or (node.name,)) for node in profile.nodes]
    paths = [node_path_in_file(loop.path) for loop in profile.loops]
    loop_names = [path if is_qualified else path.rpartition(" ▸ ")[2] for path in dict.fromkeys(paths)]
    # A name that occurs twice says nothing.
    counts = Counter([*loop_names, *chain.from_iterable(node_names)])
    names = {name for name, count in counts.items() if count == 1}
    by_name: dict[str, list[NodeTime]] = defaultdict(list)
    nodes = []
    for node in sorted(runs.measured.nodes, key=lambda node: -node.seconds):
        name = _original_name(node.name, names)
        by_name[name].append(node)
        own_name = node.name.rpartition(" ▸ ")[2] if is_qualified else node.name
        nodes.append(PeerNode(own_name, node.op_type, node.seconds, node.calls, name in names))
    result = PeerProfile(
        runs.name,
        runs.version,
        min(runs.plain.runs),
        min(runs.measured.runs),
        tuple(nodes),
        nodes_include_loops=runs.name == "onnxruntime",
    )

    def matched_nodes(own_names: Sequence[str]) -> list[NodeTime]:
        return [node for name in own_names if name in names and name in by_name for node in by_name[name]]

    def peer_seconds(own_names: Sequence[str]) -> float | None:
        matched = matched_nodes(own_names)
        return sum(node.seconds for node in matched) if matched else None

    own_nodes = tuple(
        replace(node, peer_seconds=peer_seconds(own_names), peer_calls=sum(n.calls for n in matched_nodes(own_names)))
        for node, own_names in zip(profile.nodes, node_names, strict=True)
    )
    # Of a node in two directions, the first loop has its time.
    firsts = dict(zip(dict.fromkeys(paths), loop_names, strict=True))
    loops = tuple(
        replace(loop, peer_seconds=peer_seconds([firsts.pop(path)]) if path in firsts else None)
        for loop, path in zip(profile.loops, paths, strict=True)
    )
    notes = profile.notes
    if allowed_threads() > 1:
        notes += (
            f"large products use {allowed_threads()} threads here, and {runs.name} has one: "
            "OMP_NUM_THREADS=1 measures both with one",
        )
    profile = replace(profile, nodes=own_nodes, loops=loops, peer=result, notes=notes)
    return replace(profile, peer=replace(result, ranking=rank_nodes(profile)))


def _job_with_unique_node_names(job: Job) -> tuple[OnnxJob | IrJob, bool]:
    """The job; where nodes have no names, or the same in two loops, with names that contain the loop: onnxruntime
    numbers nodes without one in its own way."""
    assert isinstance(job, OnnxJob | IrJob)
    if isinstance(job, IrJob):
        return job, False
    import onnx

    from ...runtime.modelfile.onnx_graph import node_names, qualify_node_names
    from ...runtime.modelfile.onnx_storage import OnnxModel, read_model
    from ..peers.onnx_writer import make_onnx_job

    model = OnnxModel(onnx.load_model_from_string(job.data)) if job.data else read_model(Path(job.path))
    names = list(node_names(model.proto.graph))
    if all(names) and len({*names}) == len(names):
        return job, False
    qualify_node_names(model.proto.graph, MAIN)
    return make_onnx_job(model), True


def _original_name(name: str, names: Collection[str]) -> str:
    """The name of the node that onnxruntime fused others into: ``a/MatMul`` for ``a/MatMul/MatMulAddFusion``."""
    original, _, fusion = name.rpartition("/")
    return original if fusion.endswith("Fusion") and original in names else name


def _measure_in_peer(peer: Peer, side: ModelSide, job: OnnxJob | IrJob, seconds: float) -> RunTimes:
    loaded = peer.open(job)
    try:
        return loaded.measure(peer_feeds(side), seconds)
    finally:
        loaded.close()
