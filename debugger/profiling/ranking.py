"""The nodes that take the most time in a peer: which of them do so here, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .profile import MissingNode, NodeKind, PeerNode, Profile, Ranking, RankReason

#: Number of nodes that are ranked, as far as they have this share of the time of all.
MOST_RANKED, LEAST_SHARE = 10, 0.01
#: A call that takes a peer at most this many times what its shortest one does is mostly dispatch. onnxruntime's
#: profiler describes operands within the time of a node: a Split into 8 numbers takes 2.4 times as long as an Identity.
DISPATCH_FACTOR = 3
#: A node that takes this part of what the last one of the ten does here, or little more than the first one behind the
#: ten there, could as well be among the others: which of several equal products takes longest is chance.
TIE_SHARE = 0.9
#: onnxruntime and OpenVINO count whole microseconds.
RESOLUTION_SECONDS = 1e-6


@dataclass(frozen=True)
class RankedNode:
    """A node, several that run together here, or a loop that is one node in the peer; ``calls`` are those of all."""

    name: str
    op_type: str
    loop: str
    seconds: float
    calls: int
    peer_seconds: float
    peer_calls: int
    kind: NodeKind = NodeKind.KERNEL

    def is_mostly_dispatch(self, call_seconds: float) -> bool:
        """Whether its calls take the peer little more than the shortest one, which takes ``call_seconds``."""
        return self.peer_seconds <= DISPATCH_FACTOR * call_seconds * self.peer_calls


def rank_nodes(profile: Profile) -> Ranking:
    """Compare the nodes with the most time in the peer of a profile with those here."""
    assert profile.peer is not None
    nodes, call_seconds = list(ranked_nodes(profile)), shortest_call_seconds(profile.peer.nodes)
    times, own_times = [node.peer_seconds for node in nodes], [node.seconds for node in nodes]
    longest, own_longest = positions_with_most(times), positions_with_most(own_times)
    next_seconds = max((times[k] for k in range(len(nodes)) if k not in longest), default=0.0)
    tie_seconds = TIE_SHARE * min((own_times[k] for k in own_longest), default=0.0)
    longest = [k for k in longest if times[k] >= LEAST_SHARE * profile.peer.node_seconds]
    missing = [
        MissingNode(
            nodes[k].name, nodes[k].op_type, nodes[k].loop,
            RankReason.TIE if own_times[k] >= tie_seconds
            else _rank_reason(nodes[k], call_seconds, is_tie=TIE_SHARE * times[k] <= next_seconds),
        )
        for k in longest
        if k not in own_longest
    ]  # fmt: skip
    return Ranking(len(longest) - len(missing), len(longest), call_seconds, tuple(missing))


def ranked_nodes(profile: Profile) -> Iterator[RankedNode]:
    """The nodes and loops that have a time in the peer."""
    whole = {node_path_in_file(loop.path): loop for loop in profile.loops if loop.peer_seconds is not None}
    inside = [loop for loop in profile.loops if node_path_in_file(loop.path) in whole]
    for path, loop in whole.items():
        seconds = sum(part.seconds for part in inside if node_path_in_file(part.path) == path)
        place, _, name = path.rpartition(" ▸ ")
        yield RankedNode(name, loop.op_type, place, seconds, loop.entries, loop.peer_seconds or 0.0, loop.entries)
    for node in profile.nodes:
        if node.peer_seconds is not None and not any(
            f"{node.loop} ▸ ".startswith(f"{loop.path} ▸ ") for loop in inside
        ):
            calls = node.calls * max(1, len(node.members))
            yield RankedNode(
                node.name, node.op_type, node.loop, node.seconds, calls, node.peer_seconds, node.peer_calls, node.kind
            )


def shortest_call_seconds(nodes: Sequence[PeerNode]) -> float:
    """The time of a call of the node of a peer that takes the least, or what the peer can count."""
    return max(RESOLUTION_SECONDS, min((node.seconds / node.calls for node in nodes if node.calls), default=0.0))


def node_path_in_file(path: str) -> str:
    """The path of the node in the file: of an LSTM in two directions, each is a loop."""
    return path.removesuffix("/forward").removesuffix("/reverse")


def positions_with_most(seconds: Sequence[float]) -> list[int]:
    """The positions of the longest times, the longest first."""
    return sorted(range(len(seconds)), key=lambda k: -seconds[k])[:MOST_RANKED]


def _rank_reason(node: RankedNode, call_seconds: float, is_tie: bool) -> RankReason:
    if node.calls < node.peer_calls:
        return RankReason.FEWER_CALLS
    if node.is_mostly_dispatch(call_seconds):
        return RankReason.DISPATCH
    if is_tie:
        return RankReason.TIE
    together = (NodeKind.GROUP, NodeKind.PROGRAM, NodeKind.BATCH)
    return RankReason.TOGETHER if node.kind in together else RankReason.KERNEL
