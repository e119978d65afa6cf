"""The rules that docs/diff.md has: what a runtime does otherwise, by its label, and what that changes.

The notes themselves, each with the label of its rule, come from the front ends (what the model alone tells) and
from ``runtime/run_notes.py`` (what the numbers of a run tell).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .findings import DivergenceReason


@dataclass(frozen=True)
class RuntimeRule:
    """``peers`` do something else; ``effects``: trips, values, failure."""

    peers: tuple[str, ...]
    effects: tuple[str, ...]


_ONNXRUNTIME, _OPENVINO = "onnxruntime", "openvino"
_BOTH = (_ONNXRUNTIME, _OPENVINO)
#: By label.
RULES = {
    "B1": RuntimeRule(_BOTH, ("trips",)),
    "B7": RuntimeRule((_ONNXRUNTIME,), ("values",)),
    "B8": RuntimeRule((_OPENVINO,), ("values", "failure")),
    "B9": RuntimeRule((_ONNXRUNTIME,), ("values", "trips")),
    "B10": RuntimeRule((_ONNXRUNTIME,), ("values",)),
    "B14": RuntimeRule((_OPENVINO,), ("trips", "values", "failure")),
    "B15": RuntimeRule((_OPENVINO,), ("trips", "values")),
    "B16": RuntimeRule((_OPENVINO,), ("values", "failure")),
    "B17": RuntimeRule((_ONNXRUNTIME,), ("failure",)),
    "B19": RuntimeRule(_BOTH, ("values", "failure")),
    "B21": RuntimeRule((_OPENVINO,), ("failure",)),
    "B22": RuntimeRule((_OPENVINO,), ("values",)),
    "B23": RuntimeRule((_OPENVINO,), ("values", "failure")),
    "B24": RuntimeRule((_OPENVINO,), ("values",)),
    "B28": RuntimeRule((_OPENVINO,), ("failure",)),
    "B29": RuntimeRule((_OPENVINO,), ("values", "trips")),
    "B33": RuntimeRule((_ONNXRUNTIME,), ("values", "trips")),
    "B34": RuntimeRule((_OPENVINO,), ("values",)),
    "B35": RuntimeRule((_OPENVINO,), ("values", "trips")),
    "B36": RuntimeRule((_ONNXRUNTIME,), ("failure",)),
    "B37": RuntimeRule((), ()),
    "B38": RuntimeRule((_ONNXRUNTIME,), ("failure",)),
    "B39": RuntimeRule((_OPENVINO,), ("values",)),
    "B40": RuntimeRule((_ONNXRUNTIME,), ("failure",)),
    "B41": RuntimeRule((_OPENVINO,), ("failure",)),
    "B42": RuntimeRule((_OPENVINO,), ("values", "trips")),
    "B44": RuntimeRule(_BOTH, ("failure",)),
    "B45": RuntimeRule((), ()),
    "B46": RuntimeRule((_OPENVINO,), ("values", "failure")),
    "B47": RuntimeRule((_ONNXRUNTIME,), ("values", "trips")),
}


def reasons_from_notes(notes: Iterable[str]) -> list[DivergenceReason]:
    """Notes with the rules that they are about; those about none keep an empty label."""
    return [DivergenceReason(getattr(note, "rule", ""), str(note)) for note in notes]


def reasons_predicting(
    reasons: Sequence[DivergenceReason], effect: str, peer: str | None = None
) -> list[DivergenceReason]:
    """The reasons that predict an effect, for a peer or for any."""
    return [
        reason
        for reason in reasons
        if (rule := RULES.get(reason.rule)) is not None
        and effect in rule.effects
        and (peer is None or peer in rule.peers)
    ]
