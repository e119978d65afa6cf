"""What ``optimizations`` returns, as a record, text and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...runtime.lazy_function_registry import load_plugin
from ...runtime.text import count_text, escape_unprintable

#: A gain below this is no noise.
SLOWER = 0.95


@dataclass(frozen=True)
class Optimization:
    """One rewrite, verified and measured.

    ``kind``: as in docs/optimize.md; ``loop``: the path of the loop, or ``main``; ``node``: the names of nodes, or of
    the loop; ``reason``: what is there; ``why``: why it is valid; ``inputs``: on how many the results are the same;
    ``largest``: their largest absolute difference (0.0: bit-identical); ``gain``: the time of a run divided by that of
    the rewritten model; ``peer_gain``: the same in the peer (None: not measured).
    """

    kind: str
    loop: str
    node: str
    reason: str
    why: str
    inputs: int
    largest: float
    gain: float
    peer_gain: float | None = None


@dataclass(frozen=True)
class Rejected:
    """A rewrite that is not offered. ``difference``: why, one sentence."""

    kind: str
    loop: str
    node: str
    difference: str


@dataclass(frozen=True)
class Optimizations:
    """The rewrites that make a model faster. ``str()`` is a report.

    ``peer``: the runtime in which ``peer_gain`` is measured; empty without. ``saved``: the files written with all of
    them, and ``saved_kinds`` the kinds applied, one after another. ``interrupted``: Ctrl-C ended the search.

    >>> print(model.optimizations(inputs, count=60, seconds=1, peer=False))
    newton_sqrt.onnx: ...optimization...
    """

    model: str
    offered: tuple[Optimization, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    peer: str = ""
    saved: tuple[Path, ...] = ()
    saved_kinds: tuple[str, ...] = ()
    interrupted: bool = False

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object.

        >>> model.optimizations(inputs, count=60, seconds=1, peer=False).to_json()["model"]
        'newton_sqrt.onnx'
        """
        return {**asdict(self), "saved": [str(path) for path in self.saved]}

    def __str__(self) -> str:
        return "\n".join(optimization_lines(self))

    def _repr_html_(self) -> str:
        html: str = load_plugin("html")("text", self)
        return html


def optimization_lines(report: Optimizations) -> Iterator[str]:
    """The lines of a report."""
    yield f"{escape_unprintable(report.model)}: {count_text(len(report.offered), 'optimization')}"
    for item in report.offered:
        rounding = f"within {item.largest:.2g}" if item.largest else "bit for bit"
        yield ""
        yield f"{item.kind} in {escape_unprintable(item.loop)}"
        yield f"  {escape_unprintable(item.reason)}"
        yield f"  valid: {item.why}"
        yield f"  verified: the same results on {count_text(item.inputs, 'input')}, {rounding}"
        yield f"  speed: {gains_text(item.gain, item.peer_gain, report.peer)}"
    for rejected in report.rejected:
        yield ""
        place = escape_unprintable(f"{rejected.kind} in {rejected.loop}: {rejected.difference}")
        yield f"not offered: {place}"
    if report.interrupted:
        yield "interrupted: the rest was not tried"
    if report.saved:
        yield ""
        yield f"saved as {report.saved[0]}, with {count_text(len(report.saved_kinds), 'rewrite')}"


def gains_text(gain: float, peer_gain: float | None, peer: str) -> str:
    """Gains by runtime, those of runtimes in which it is slower behind the others."""
    gains = {"loopdbg": gain} if peer_gain is None else {"loopdbg": gain, peer: peer_gain}
    faster, slower = (
        ", ".join(f"{ratio:.2f}x in {name}" for name, ratio in gains.items() if (ratio < SLOWER) is is_slower)
        for is_slower in (False, True)
    )
    return f"{faster}, but slower: {slower}" if faster and slower else faster or f"slower: {slower}"
