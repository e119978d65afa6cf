"""The rules of docs/diff.md: deviations of runtimes by label, and their effects.

The notes, with the labels of their rules, come from the front ends (about the model) and from
``runtime/run_notes.py`` (about the numbers of a run).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .findings import DivergenceReason


@dataclass(frozen=True)
class RuntimeRule:
    """A deviation of ``peers``; ``effects``: trips, values, failure."""

    peers: tuple[str, ...]
    effects: tuple[str, ...]


_ONNXRUNTIME, _OPENVINO = "onnxruntime", "openvino"
_BOTH = (_ONNXRUNTIME, _OPENVINO)
#: Rules by label.
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
    "B48": RuntimeRule((_ONNXRUNTIME,), ("failure",)),
    "B70": RuntimeRule((_OPENVINO,), ("values",)),
    "B71": RuntimeRule((_OPENVINO,), ("values",)),
    "B72": RuntimeRule(_BOTH, ("values",)),
    "B73": RuntimeRule((_OPENVINO,), ("values",)),
}


def reasons_from_notes(notes: Iterable[str]) -> list[DivergenceReason]:
    """Notes with the labels of their rules; the label is empty for a note without a rule."""
    return [DivergenceReason(getattr(note, "rule", ""), str(note)) for note in notes]


def reasons_predicting(
    reasons: Sequence[DivergenceReason], effect: str, peer: str | None = None
) -> list[DivergenceReason]:
    """The reasons that predict an effect for a peer, or for any peer."""
    return [
        reason
        for reason in reasons
        if (rule := RULES.get(reason.rule)) is not None
        and effect in rule.effects
        and (peer is None or peer in rule.peers)
    ]
