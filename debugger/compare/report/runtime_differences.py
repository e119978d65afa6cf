"""The known differences between runtimes as reasons of a comparison.

The notes, with the labels of their rules, come from the front ends (about the model) and from
``runtime/runtime_deviation_notes.py`` (about the numbers of a run).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...portability.known_differences import KNOWN_DIFFERENCES
from .findings import DivergenceReason


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
        if (rule := KNOWN_DIFFERENCES.get(reason.rule)) is not None
        and effect in rule.effects
        and (peer is None or peer in rule.peers)
    ]
