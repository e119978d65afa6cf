"""The profile of a run, what ``model.profile()`` returns, and its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from ...runtime.graph import MAIN
from ...runtime.lazy_function_registry import load_plugin
from ...runtime.text import count_text, duration_text, escape_unprintable, size_text
from .roofline import MachineLimits, NodeRoofline

#: Nodes and values that are listed, and characters of a node's text.
MOST_NODES, _MOST_VALUES, _TEXT_CHARS = 20, 12, 60
#: Operators of which the totals are listed, in models of many nodes.
_MOST_OPERATORS = 6
#: A loop or a node grows if its last iterations take this many times as long as its first ones.
_GROWTH_FACTOR = 1.2
#: A node is named if it has this share of the growth of its loop.
_GROWING_NODE_SHARE, _GROWING_NODES = 0.1, 3
#: A peer whose run takes this many times as long while it measures its nodes measures mostly that.
_MEASURING_FACTOR = 1.5
#: The share of the segments at each end that are compared.
_GROWTH_SHARE = 4


class NodeKind(StrEnum):
    """How the engine ran a node."""

    #: By a compiled kernel.
    KERNEL = "kernel"
    #: By NumPy, in Python.
    PYTHON = "python"
    #: Together with others, block by block.
    GROUP = "group"
    #: For several iterations at once: products of what iterations do not change.
    BATCH = "batch"
    #: All nodes of a loop, as one compiled program.
    PROGRAM = "program"


@dataclass(frozen=True)
class NodeProfile:
    """The time of a node in one run, or of nodes that run together.

    ``position``: nodes with smaller numbers run earlier. ``loop``: the path of the innermost loop around it.
    ``seconds``: of all calls. ``members``: the names of the nodes that run together, ``name`` then is that of the first
    one, or of the loop. ``seconds_by_segment``: seconds per iteration of the outermost loop in each of its segments;
    empty where they were not measured. ``peer_seconds``, ``peer_calls``: of the nodes of these names in the peer; None
    and 0 if it has none. ``roofline``: what it reached, of what this machine does.

    >>> sorted({node.loop for node in model.profile(inputs).nodes})
    ['main', 'main ▸ sqrt']
    """

    name: str
    op_type: str
    loop: str
    calls: int
    seconds: float
    position: int = 0
    kind: NodeKind = NodeKind.KERNEL
    text: str = ""
    members: tuple[str, ...] = ()
    seconds_by_segment: tuple[float, ...] = ()
    peer_seconds: float | None = None
    peer_calls: int = 0
    roofline: NodeRoofline | None = None


@dataclass(frozen=True)
class OperatorProfile:
    """All nodes of one operator."""

    op_type: str
    nodes: tuple[NodeProfile, ...]

    @property
    def seconds(self) -> float:
        """Their time in one run."""
        return sum(node.seconds for node in self.nodes)


@dataclass(frozen=True)
class Segment:
    """Consecutive iterations, from ``first`` to before ``end``; ``seconds``: mean time of one of them."""

    first: int
    end: int
    seconds: float


@dataclass(frozen=True)
class ValueMemory:
    """The memory of a carried value or scan output. ``kind``: ``carried`` or ``scan output``; the shapes and bytes are
    those before the first iteration (of a scan output: after it) and at the end.

    >>> model.profile(inputs).loops[0].values[0].last_bytes
    4
    """

    name: str
    kind: str
    dtype: str
    first_shape: tuple[int, ...]
    last_shape: tuple[int, ...]
    first_bytes: int
    last_bytes: int

    @property
    def grows(self) -> bool:
        """Whether it needs more memory at the end than at the beginning.

        >>> model.profile(inputs).loops[0].values[0].grows
        False
        """
        return self.last_bytes > self.first_bytes


@dataclass(frozen=True)
class LoopCosts:
    """The time and memory of a loop in one run.

    ``iterations``: of all ``entries``. ``seconds``: in the loop, including inner loops. ``boundary_seconds``:
    at its boundaries, for conditions, carried values and scan outputs. ``segments``: time per iteration; only outermost
    loops that do not run as a program have any. ``values``: only outermost loops have any. ``peer_seconds``: of the
    peer's node of this name, where it runs the loop, or an LSTM, as one node; the first one has that of two directions.

    >>> model.profile(inputs).loops[0].iterations
    5
    """

    path: str
    op_type: str
    iterations: int
    entries: int
    seconds: float
    boundary_seconds: float
    segments: tuple[Segment, ...] = ()
    values: tuple[ValueMemory, ...] = ()
    peer_seconds: float | None = None


@dataclass(frozen=True)
class PeerNode:
    """A node as a peer ran it, after its own optimisations. ``is_matched``: a node of the profile has its time."""

    name: str
    op_type: str
    seconds: float
    calls: int
    is_matched: bool = False


class RankReason(StrEnum):
    """Why a node that is among those with the most time in a peer is not among them here."""

    #: It takes as long as one that is among them.
    TIE = "tie"
    #: It does not depend on the iteration, or is constant: it was computed once, or when the model was loaded.
    FEWER_CALLS = "fewer-calls"
    #: A call takes the peer little more than one that computes nothing.
    DISPATCH = "dispatch"
    #: It runs in a group, in a program, or for several iterations at once.
    TOGETHER = "together"
    #: Nothing of that: the kernels differ.
    KERNEL = "kernel"


@dataclass(frozen=True)
class MissingNode:
    """A node that is among those with the most time in a peer, and not here."""

    name: str
    op_type: str
    loop: str
    reason: RankReason


@dataclass(frozen=True)
class Ranking:
    """``common`` of the ``count`` nodes with the most time in a peer are among the ten here; why the others are not.

    ``call_seconds``: the shortest call of a node in the peer, in the mean: what it takes besides computing.
    """

    common: int
    count: int
    call_seconds: float
    missing: tuple[MissingNode, ...] = ()


@dataclass(frozen=True)
class PeerProfile:
    """The same run in another runtime. ``seconds``: of its fastest run without measuring nodes; ``measured_seconds``:
    with it; ``nodes``: those with the most time first. What its nodes do not account for, it spent between them: on
    dispatch and copies.

    ``nodes_include_loops``: whether ``nodes`` has those in the bodies of loops, or one for each loop. ``ranking``: of
    the nodes that take the most in it.
    """

    name: str
    version: str
    seconds: float
    measured_seconds: float
    nodes: tuple[PeerNode, ...]
    nodes_include_loops: bool
    ranking: Ranking | None = None

    @property
    def node_seconds(self) -> float:
        """The time of all nodes."""
        return sum(node.seconds for node in self.nodes)


@dataclass(frozen=True)
class Profile:
    """Where a run of a model spent its time and memory. ``str()`` is a table.

    ``seconds``: the fastest of ``runs`` runs without measuring nodes, ``median_seconds``: their median,
    ``measured_seconds``: the fastest run with it. ``nodes``: those with the most time first. ``clock_seconds``: what
    the clock adds to a call of a node, which is subtracted from its time. ``loops`` are in the order of the file,
    outer ones first. ``begin_seconds``, ``output_seconds``: to begin the run, and to return its outputs;
    ``branch_seconds``: to choose the branches of Ifs. ``every``: nodes were measured in one of N iterations.

    >>> print(model.profile(inputs, seconds=0.1))
    newton_sqrt.onnx: ...
    """

    model: str
    runs: int
    seconds: float
    median_seconds: float
    measured_seconds: float
    clock_seconds: float
    nodes: tuple[NodeProfile, ...]
    loops: tuple[LoopCosts, ...]
    peer: PeerProfile | None = None
    notes: tuple[str, ...] = field(default=())
    machine: MachineLimits | None = None
    begin_seconds: float = 0.0
    output_seconds: float = 0.0
    branch_seconds: float = 0.0
    every: int = 1

    @property
    def operators(self) -> list[OperatorProfile]:
        """The nodes by operator, those with the most time first.

        >>> [operator.op_type for operator in model.profile(inputs, seconds=0.1).operators if len(operator.nodes) > 2]
        ['Mul']
        """
        nodes: dict[str, list[NodeProfile]] = {}
        for node in self.nodes:
            nodes.setdefault(node.op_type, []).append(node)
        operators = [OperatorProfile(op_type, tuple(members)) for op_type, members in nodes.items()]
        return sorted(operators, key=lambda operator: -operator.seconds)

    @property
    def boundary_seconds(self) -> float:
        """The time at the boundaries of all loops.

        >>> profile = model.profile(inputs, seconds=0.1)
        >>> profile.boundary_seconds < profile.seconds
        True
        """
        return sum(loop.boundary_seconds for loop in self.loops)

    @property
    def other_seconds(self) -> float:
        """The time of the run that was not measured as a part of it.

        >>> profile = model.profile(inputs, seconds=0.1)
        >>> profile.other_seconds < profile.seconds / 2
        True
        """
        parts = (self.begin_seconds, self.output_seconds, self.branch_seconds, self.boundary_seconds)
        return max(0.0, self.seconds - sum(parts) - sum(node.seconds for node in self.nodes))

    def seconds_of(self, kind: NodeKind) -> float:
        """The time of all nodes of a kind.

        >>> model.profile(inputs, seconds=0.1).seconds_of("python")
        0
        """
        return sum(node.seconds for node in self.nodes if node.kind == kind)

    def to_json(self) -> dict[str, Any]:
        """The profile as a JSON object, with times in seconds.

        >>> model.profile(inputs, seconds=0.1).to_json()["loops"][0]["iterations"]
        5
        """
        report = {key: value for key, value in asdict(self).items() if key not in ("peer", "notes", "machine")}
        report |= {"boundary_seconds": self.boundary_seconds, "other_seconds": self.other_seconds}
        if self.peer is not None:
            report["peer"] = {**asdict(self.peer), "node_seconds": self.peer.node_seconds}
        if self.machine is not None:
            report["machine"] = {
                "flops": self.machine.flops,
                "bandwidth": [{"bytes": 1024 * size, "per_second": n} for size, n in self.machine.bandwidth.items()],
            }
        return report | {"notes": list(self.notes)}

    def __str__(self) -> str:
        return "\n".join(profile_lines(self))

    def _repr_html_(self) -> str:
        html: str = load_plugin("html")("text", self)
        return html


_KIND_MARKS = {
    NodeKind.KERNEL: "",
    NodeKind.PYTHON: "in Python",
    NodeKind.GROUP: "group",
    NodeKind.BATCH: "batch",
    NodeKind.PROGRAM: "program",
}


def profile_lines(profile: Profile, most: int = MOST_NODES) -> Iterator[str]:
    """The lines of a profile: totals, loops, and the ``most`` nodes that take the most time."""
    yield (
        f"{escape_unprintable(profile.model)}: {duration_text(profile.seconds)} a run, the fastest of {profile.runs} "
        f"(median {duration_text(profile.median_seconds)})"
    )
    yield f"  {_shares_text(profile)}"
    if profile.every > 1:
        yield f"  nodes were measured in one of {profile.every} iterations: the clock takes long next to them"
    repeated = [operator for operator in profile.operators[:_MOST_OPERATORS] if len(operator.nodes) > 1]
    if len(profile.nodes) > most and repeated:
        parts = (f"{o.op_type} {_share_text(o.seconds, profile.seconds)} ({len(o.nodes)} nodes)" for o in repeated)
        yield f"  by operator: {', '.join(parts)}"
    if profile.machine is not None:
        speeds = (f"{size_text(1024 * size)} {n / 1e9:.3g}" for size, n in profile.machine.bandwidth.items())
        flops = f"{profile.machine.flops / 1e9:.3g} GFLOP/s"
        yield f"  this machine: {flops} in products; it reads, in GB/s: {', '.join(speeds)}"
    if profile.peer is not None:
        yield from _peer_lines(profile.peer, profile)
    for loop in profile.loops:
        if loop.entries:
            yield ""
            yield from _loop_lines(loop, profile)
    if profile.nodes:
        yield ""
        yield from _node_lines(profile, most)
    for note in profile.notes:
        yield f"note: {note}"


def _shares_text(profile: Profile) -> str:
    parts = [
        ("kernels", sum(map(profile.seconds_of, (NodeKind.KERNEL, NodeKind.GROUP, NodeKind.BATCH)))),
        ("compiled loops", profile.seconds_of(NodeKind.PROGRAM)),
        ("nodes in Python", profile.seconds_of(NodeKind.PYTHON)),
        ("boundaries of loops", profile.boundary_seconds),
        ("branches", profile.branch_seconds),
        ("begin", profile.begin_seconds),
        ("outputs", profile.output_seconds),
        ("rest", profile.other_seconds),
    ]
    return ", ".join(f"{name} {_share_text(seconds, profile.seconds)}" for name, seconds in parts if seconds)


def _share_text(seconds: float, total: float) -> str:
    return f"{seconds / total:.1%}" if total else "-"


def _peer_lines(peer: PeerProfile, profile: Profile) -> Iterator[str]:
    yield (
        f"{peer.name} {peer.version}: {duration_text(peer.seconds)} a run, {peer.seconds / profile.seconds:.3g} times "
        "as long"
    )
    if peer.measured_seconds > _MEASURING_FACTOR * peer.seconds:
        yield (
            f"  measuring its nodes takes it {duration_text(peer.measured_seconds)} a run: their times show an order, "
            "not shares"
        )
    else:
        between = max(0.0, peer.seconds - peer.node_seconds)
        yield (
            f"  its nodes {_share_text(peer.node_seconds, peer.seconds)}, between them (dispatch, copies) "
            f"{_share_text(between, peer.seconds)}"
        )
    if not peer.nodes_include_loops:
        yield "  it counts each loop as one node"
    if peer.ranking is not None and peer.ranking.count > 1:
        yield f"  {_ranking_text(peer.ranking)}"


_RANK_REASONS = {
    RankReason.TIE: "as long as others",
    RankReason.FEWER_CALLS: "computed once here",
    RankReason.DISPATCH: "mostly dispatch there",
    RankReason.TOGETHER: "run with others here",
    RankReason.KERNEL: "faster here, or slower there",
}


def _ranking_text(ranking: Ranking) -> str:
    verb = "is" if ranking.common == 1 else "are"
    text = (
        f"of the {ranking.count} nodes that take it longest, {ranking.common} {verb} among those that take longest here"
    )
    counts = Counter(node.reason for node in ranking.missing)
    if not counts:
        return text
    reasons = [f"{counts[reason]} {words}" for reason, words in _RANK_REASONS.items() if counts[reason]]
    return f"{text}; the others: {', '.join(reasons)} (its shortest call takes {duration_text(ranking.call_seconds)})"


def _loop_lines(loop: LoopCosts, profile: Profile) -> Iterator[str]:
    entries = "" if loop.entries == 1 else f" in {count_text(loop.entries, 'entry', 'entries')}"
    peer = (
        ""
        if profile.peer is None or loop.peer_seconds is None
        else (f"; {profile.peer.name} {duration_text(loop.peer_seconds)}")
    )
    each = f", {duration_text(loop.seconds / loop.iterations)} each" if loop.iterations else ""
    yield (
        f"loop {escape_unprintable(loop.path)}: {count_text(loop.iterations, 'iteration')}{entries}, "
        f"{duration_text(loop.seconds)} ({_share_text(loop.seconds, profile.seconds)}){each}; "
        f"its boundaries {_share_text(loop.boundary_seconds, loop.seconds)}{peer}"
    )
    growth = significant_growth([segment.seconds for segment in loop.segments])
    if growth is not None:
        least = _GROWING_NODE_SHARE * (growth[1] - growth[0])
        nodes = [node for node in profile.nodes if node.loop.startswith(loop.path) and _growth_seconds(node) >= least]
        nodes.sort(key=lambda node: -_growth_seconds(node))
        reasons = "".join(
            f"; {_node_title(node)} {_growth_text(significant_growth(node.seconds_by_segment))}" for node in nodes[:3]
        )
        yield f"  grows: {_growth_text(growth)} an iteration{reasons}"
    values = sorted(loop.values, key=lambda value: (not value.grows, -value.last_bytes))
    for value in values[:_MOST_VALUES]:
        yield f"  {_value_text(value)}"
    if len(values) > _MOST_VALUES:
        rest = values[_MOST_VALUES:]
        yield f"  and {len(rest)} more, {size_text(sum(value.last_bytes for value in rest))}"


def significant_growth(seconds: Sequence[float]) -> tuple[float, float] | None:
    """The mean of the first and of the last quarter of the segments, if the latter take longer by a fifth or more."""
    count = len(seconds) // _GROWTH_SHARE
    if count == 0:
        return None
    first, last = sum(seconds[:count]) / count, sum(seconds[-count:]) / count
    return (first, last) if last > _GROWTH_FACTOR * first > 0 else None


def _growth_seconds(node: NodeProfile) -> float:
    growth = significant_growth(node.seconds_by_segment)
    return growth[1] - growth[0] if growth is not None else 0.0


def _growth_text(growth: tuple[float, float] | None) -> str:
    assert growth is not None
    return " to ".join(map(duration_text, growth))


def _value_text(value: ValueMemory) -> str:
    name = escape_unprintable(value.name)
    shapes = list(dict.fromkeys(str(list(shape)) for shape in (value.first_shape, value.last_shape)))
    sizes = list(dict.fromkeys(size_text(size) for size in (value.first_bytes, value.last_bytes)))
    return f"{value.kind} {name}: {value.dtype} {' to '.join(shapes)}, {' to '.join(sizes)}"


def _node_title(node: NodeProfile) -> str:
    return escape_unprintable(f"{node.op_type} '{node.name}'")


def _node_lines(profile: Profile, most: int) -> Iterator[str]:
    peer = profile.peer
    measured = ["GFLOP/s", "GB/s", "reached"] if profile.machine is not None else []
    rows = [["time", "share", "calls", "each", *measured, *([peer.name] if peer is not None else []), "node"]]
    for node in profile.nodes[:most]:
        text = node.text if len(node.text) <= _TEXT_CHARS else f"{node.text[: _TEXT_CHARS - 3]}..."
        mark = _KIND_MARKS[node.kind]
        members = f" of {len(node.members)}" if node.members else ""
        place = "" if node.loop == MAIN else f" in {node.loop.rpartition(' ▸ ')[2]}"
        peer_text = "-" if node.peer_seconds is None else duration_text(node.peer_seconds)
        rows.append(
            [
                duration_text(node.seconds),
                _share_text(node.seconds, profile.seconds),
                str(node.calls),
                duration_text(node.seconds / max(1, node.calls)),
                *(_roofline_cells(node.roofline) if measured else []),
                *([peer_text] if peer is not None else []),
                escape_unprintable(f"{node.op_type}{place}: {text}") + (f"  ({mark}{members})" if mark else ""),
            ]
        )
    yield from _aligned_lines(rows)
    rest = profile.nodes[most:]
    if rest:
        seconds = sum(node.seconds for node in rest)
        share = _share_text(seconds, profile.seconds)
        yield f"and {count_text(len(rest), 'node')} more: {duration_text(seconds)} ({share})"
    if peer is not None:
        yield from _peer_node_lines(peer, profile, most)


def _roofline_cells(roofline: NodeRoofline | None) -> list[str]:
    if roofline is None:
        return ["-", "-", "-"]
    flops = "-" if roofline.flops is None else f"{roofline.flops / 1e9:.3g}"
    return [flops, f"{roofline.nbytes / 1e9:.3g}", f"{roofline.share:.0%}"]


def _peer_node_lines(peer: PeerProfile, profile: Profile, most: int) -> Iterator[str]:
    others = [node for node in peer.nodes if not node.is_matched][:most]
    if not others:
        return
    yield ""
    yield f"nodes of {peer.name} without a node of the same name here"
    rows = [["time", "share", "calls", "node"]]
    rows += [
        [
            duration_text(node.seconds),
            _share_text(node.seconds, peer.measured_seconds),
            str(node.calls),
            escape_unprintable(f"{node.op_type} '{node.name}'"),
        ]
        for node in others
    ]
    yield from _aligned_lines(rows)


def _aligned_lines(rows: list[list[str]]) -> Iterator[str]:
    """Rows with all columns but the last one aligned to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]) - 1)]
    for row in rows:
        yield "  ".join([*(text.rjust(width) for text, width in zip(row, widths, strict=False)), row[-1]])
