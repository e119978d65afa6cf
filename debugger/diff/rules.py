"""The rules that docs/diff.md has: what a runtime does otherwise, by its label, and what that changes.

The notes themselves, each with the label of its rule, come from the front ends (what the model alone tells) and
from ``runtime/notes.py`` (what the numbers of a run tell).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .findings import Reason


@dataclass(frozen=True)
class Rule:
    """``peers`` do something else; ``effects``: trips, values, failure."""

    peers: tuple[str, ...]
    effects: tuple[str, ...]


_ORT, _OV = "onnxruntime", "openvino"
_BOTH = (_ORT, _OV)
#: By label.
RULES = {
    "B1": Rule(_BOTH, ("trips",)),
    "B7": Rule((_ORT,), ("values",)),
    "B8": Rule((_OV,), ("values", "failure")),
    "B9": Rule((_ORT,), ("values", "trips")),
    "B10": Rule((_ORT,), ("values",)),
    "B14": Rule((_OV,), ("trips", "values", "failure")),
    "B15": Rule((_OV,), ("trips", "values")),
    "B16": Rule((_OV,), ("values", "failure")),
    "B17": Rule((_ORT,), ("failure",)),
    "B19": Rule(_BOTH, ("values", "failure")),
    "B21": Rule((_OV,), ("failure",)),
    "B22": Rule((_OV,), ("values",)),
    "B23": Rule((_OV,), ("values", "failure")),
    "B24": Rule((_OV,), ("values",)),
    "B28": Rule((_OV,), ("failure",)),
    "B29": Rule((_OV,), ("values", "trips")),
    "B33": Rule((_ORT,), ("values", "trips")),
    "B34": Rule((_OV,), ("values",)),
    "B35": Rule((_OV,), ("values", "trips")),
    "B36": Rule((_ORT,), ("failure",)),
    "B37": Rule((), ()),
    "B38": Rule((_ORT,), ("failure",)),
    "B39": Rule((_OV,), ("values",)),
    "B40": Rule((_ORT,), ("failure",)),
    "B41": Rule((_OV,), ("failure",)),
    "B42": Rule((_OV,), ("values", "trips")),
    "B44": Rule(_BOTH, ("failure",)),
    "B45": Rule((), ()),
    "B46": Rule((_OV,), ("values", "failure")),
    "B47": Rule((_ORT,), ("values", "trips")),
}


def reasons_of(notes: Iterable[str]) -> list[Reason]:
    """Notes with the rules that they are about; those about none keep an empty label."""
    return [Reason(getattr(note, "rule", ""), str(note)) for note in notes]


def fitting(reasons: Sequence[Reason], effect: str, peer: str | None = None) -> list[Reason]:
    """The reasons that predict an effect, for a peer or for any."""
    return [
        reason
        for reason in reasons
        if (rule := RULES.get(reason.rule)) is not None
        and effect in rule.effects
        and (peer is None or peer in rule.peers)
    ]
