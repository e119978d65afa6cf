"""The known differences between runtimes as reasons of a comparison.

The notes, with the labels of their rules, come from the front ends (about the model) and from
``runtime/runtime_deviation_notes.py`` (about the numbers of a run).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...portability.known_differences import KNOWN_DIFFERENCES
from .findings import DivergenceReason, NodeDifference

#: Operators whose results rules B94 to B96 are about: extremes of NaN, of infinities, and of equal numbers.
_REDUCTIONS = ("ReduceMax", "ReduceMin")
_OPERATORS = (*_REDUCTIONS, "ArgMax", "ArgMin", "TopK")


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


def extreme_value_reasons(node: NodeDifference | None) -> list[DivergenceReason]:
    """The rule that explains what the other side has as the extreme of some numbers, if one does."""
    if node is None or node.op_type not in _OPERATORS or not node.inputs:
        return []
    x, name = np.asarray(node.inputs[0][1]), f"{node.op_type} '{node.node}'"
    ours, theirs = np.asarray(node.difference.left), np.asarray(node.difference.right)
    if x.dtype.kind != "f" or ours.shape != theirs.shape:
        return []
    if np.isnan(x).any() and (node.op_type not in _REDUCTIONS or np.isnan(ours[ours != theirs]).all()):
        return [DivergenceReason("B94", f"{name} reads NaN, whose place decides what the runtime takes.")]
    if node.op_type in _REDUCTIONS and _is_largest_for_infinity(ours, theirs):
        return [DivergenceReason("B96", f"{name} of infinities only is a finite number in the runtime.")]
    if node.op_type == "TopK" and _is_another_equal(x, ours, theirs):
        return [DivergenceReason("B95", f"{name} selects another one of equal numbers than the first in the runtime.")]
    return []


def _is_largest_for_infinity(ours: Any, theirs: Any) -> bool:
    """Whether all elements that differ are infinite here, and the finite number next to that there."""
    differs = ours != theirs
    limits = np.copysign(np.finfo(ours.dtype).max, ours)
    return bool(np.all(np.isinf(ours[differs]) & (theirs[differs] == limits[differs])))


def _is_another_equal(x: Any, ours: Any, theirs: Any) -> bool:
    """Whether these are indices of equal numbers, one of each row."""
    if not x.ndim or ours.dtype.kind != "i" or ours.size * x.shape[-1] != x.size:
        return False
    rows = x.reshape(-1, x.shape[-1])
    picked = [rows[range(len(rows)), indices.reshape(-1).clip(0, x.shape[-1] - 1)] for indices in (ours, theirs)]
    return bool(np.array_equal(*picked))
