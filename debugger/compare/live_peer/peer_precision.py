"""Numeric deviations of peers: types computed in other types."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ....runtime.graph import Graph, Note, walk
from ...peers.jobs import PRECISION_OPTION
from ...peers.process import Peer
from ..alignment.numeric_types import conversion_dtype, float_type_names
from ..report.findings import Cause, Comparison, Demonstration, DivergenceReason
from ..running.runtime_deviations import FoundDeviation
from ..running.value_comparison import Tolerance
from .saturating_byte_sums import default_byte_sum_text

#: The significant bits of precisions below float32.
_REDUCED_PRECISIONS = {"bf16": 8, "f16": 11}
#: Relative to the peak: computing float16 as float32 omits the rounding that we perform.
_FLOAT16_PEAK_TOLERANCE = 0.05


def reduced_precision(peer: Peer) -> str:
    """The precision below float32 that the options of a comparison ask for; empty if there is none."""
    precision = peer.configuration.get(PRECISION_OPTION, "")
    return precision if precision in _REDUCED_PRECISIONS else ""


def usual_precision(peer: Peer, graph: Graph) -> str:
    """The lower precision in which a peer computes a model without settings; empty if it does not."""
    if peer.name == "onnxruntime":
        return default_byte_sum_text(peer, graph)
    is_exact = peer.configuration.get(PRECISION_OPTION) == "f32"
    return peer.usual_precision if is_exact and float_type_names(graph) else ""


def record_precision_cause(comparison: Comparison, peer: Peer, precision: str) -> None:
    """Record rule B83: a peer differs only because it computes in another precision. No node is to blame."""
    bits = _REDUCED_PRECISIONS[precision]
    text = f"with {PRECISION_OPTION}=f32 in place of {precision}, {peer.name} gives the same numbers as loopdbg"
    reason = f"{peer.name} rounds to {precision}, which has {bits} significant bits, as {PRECISION_OPTION} says."
    FoundDeviation(DivergenceReason("B83", reason), Demonstration("rule", text, 1)).record_in(comparison)
    rounding = Cause(remark=f"rounding to {precision}")
    for loop in comparison.loops:
        loop.cause = loop.cause and rounding
    comparison.cause = comparison.cause and rounding


def openvino_tolerance(graph: Graph, tolerance: Tolerance) -> tuple[Tolerance, Note | None]:
    """The tolerance for OpenVINO's arithmetic on a model, and a note if it is changed."""
    if "float16" not in float_type_names(graph) and all(conversion_dtype(node) != np.float16 for node in walk(graph)):
        return tolerance, None
    note = Note(
        "B42",
        f"openvino's CPU plugin computes float16 as float32 (B42): compared within {_FLOAT16_PEAK_TOLERANCE:.0%} of"
        " each value's largest number",
    )
    return replace(tolerance, peak_fraction=_FLOAT16_PEAK_TOLERANCE), note
