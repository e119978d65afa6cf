"""A comparison as one JSON object."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ....debugger.compare.live_peer.peer_comparison import PeerComparison
from ....debugger.compare.report.findings import (
    BodyHeadroom,
    BoundaryHeadroom,
    Cause,
    Comparison,
    Demonstration,
    Difference,
    DivergenceReason,
    LoopFindings,
    NodeDifference,
    OutOfRangeResult,
    PeerFailure,
    Saturation,
    StaticDifference,
    TripDifference,
)
from ....debugger.value_json import json_element, json_number, json_with_elements
from ....runtime.errors import LoopdbgError
from ....runtime.graph import UNKNOWN_ORIGIN
from ..remedies import error_text, match_method_name


def comparison_json(result: Comparison | PeerComparison) -> dict[str, Any]:
    """Strict JSON: non-finite numbers are null.

    ``comparisons`` has one object for two sides, and one for each mode (lockstep, free) of a live peer.
    """
    comparisons = result.comparisons if isinstance(result, PeerComparison) else [result]
    report: dict[str, Any] = {
        "same": result.same,
        "verdict": result.verdict.value,
        "left": comparisons[0].left,
        "right": comparisons[0].right,
    }
    if isinstance(result, PeerComparison):
        report["peer"] = {
            "name": result.peer,
            "version": result.version,
            "configuration": dict(result.configuration),
            "usual_precision": result.usual_precision or None,
        }
    first = next((c.first_difference for c in comparisons if c.first_difference is not None), None)
    report["first"] = None if first is None else _difference_json(first)
    report["comparisons"] = [_one_comparison_json(c) for c in comparisons]
    return report


def _one_comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "mode": comparison.mode,
        "same": comparison.same,
        "verdict": comparison.verdict.value,
        "written": [_static_difference_json(item) for item in comparison.static_differences],
        "demonstration": None if comparison.demonstration is None else _demonstration_json(comparison.demonstration),
        "loops": [_loop_json(loop) for loop in comparison.loops],
        "quantised": [_saturation_json(item) for item in comparison.saturations],
        "outputs": {
            "compared": comparison.compared_outputs,
            "other_values": comparison.compared_values,
            "differing": [_difference_json(difference) for difference in comparison.outputs],
            "node": None
            if comparison.cause is None or comparison.cause.node is None
            else _node_json(comparison.cause.node),
            "source": None if comparison.cause is None else _cause_json(comparison.cause),
        },
        "unstable": None if comparison.self_difference is None else _difference_json(comparison.self_difference),
        "failures": [_failure_json(failure) for failure in comparison.failures],
        "reasons": [_reason_json(reason) for reason in comparison.reasons],
        "error": None if comparison.error is None else _error_json(comparison.error),
        "notes": comparison.notes,
    }


def _error_json(error: LoopdbgError) -> dict[str, Any]:
    """What ended a run, and where."""
    return {
        "text": error_text(error),
        "node": error.node,
        "op_type": error.op_type,
        "loop": error.loop,
        "iteration": error.iteration,
    }


def _loop_json(loop: LoopFindings) -> dict[str, Any]:
    return {
        "left": loop.left,
        "right": loop.right,
        "matched_by": match_method_name(loop.match_method),
        "matched_values": [
            {"left": a, "right": b, "by": match_method_name(method)} for a, b, method in loop.renamed_values
        ],
        "only_left": loop.only_left,
        "only_right": loop.only_right,
        "same": loop.same,
        "values": loop.compared_values,
        "iterations": loop.iterations,
        "differing": loop.differing_iterations,
        "trip_count": {"left": loop.left_trips, "right": loop.right_trips},
        "trip_difference": None if loop.trips is None else _trip_difference_json(loop.trips),
        "first": None if loop.first is None else _difference_json(loop.first),
        "node": None if loop.node is None else _node_json(loop.node),
        "source": None if loop.cause is None else _cause_json(loop.cause),
        "growth": {
            "first_beyond": loop.growth.first_beyond,
            "largest": json_number(loop.growth.largest),
            "factor": json_number(loop.growth.factor),
            "points": [[p.first, p.last, json_number(p.absolute), json_number(p.relative)] for p in loop.growth.points],
        },
        "unended": loop.truncated_at_iteration,
        "ranges": [_range_json(item) for item in loop.boundary_headrooms],
        "reach": None if loop.body_headroom is None else _dynamic_range_json(loop.body_headroom),
        "quantised": [_saturation_json(item) for item in loop.saturations],
        "reasons": [_reason_json(reason) for reason in loop.reasons],
    }


def _range_json(headroom: BoundaryHeadroom) -> dict[str, Any]:
    return {
        "name": headroom.name,
        "dtypes": list(headroom.dtypes),
        "narrow": headroom.dtypes[headroom.side],
        "limit": json_number(headroom.limit),
        **_range_use_json(headroom),
        "first_not_finite": headroom.first_nonfinite_iteration,
    }


def _dynamic_range_json(headroom: BodyHeadroom) -> dict[str, Any]:
    return {
        "dtype": headroom.dtype,
        "limit": json_number(headroom.limit),
        "node": headroom.node,
        "op_type": headroom.op_type,
        **_range_use_json(headroom),
        "first_not_finite": _out_of_range_json(headroom.first_nonfinite),
        "until": headroom.untested_from_iteration,
    }


def _saturation_json(saturation: Saturation) -> dict[str, Any]:
    return {
        "node": saturation.node,
        "op_type": saturation.op_type,
        "dtype": saturation.dtype,
        "low": json_number(saturation.low),
        "high": json_number(saturation.high),
        **_range_use_json(saturation),
        "first_saturated": _out_of_range_json(saturation.first_saturated),
    }


def _range_use_json(use: BoundaryHeadroom | BodyHeadroom | Saturation) -> dict[str, Any]:
    """The used range of a type, and the iteration of the maximum."""
    return {"largest": json_number(use.largest), "iteration": use.iteration, "headroom": json_number(use.headroom)}


def _out_of_range_json(result: OutOfRangeResult | None) -> dict[str, Any] | None:
    if result is None:
        return None
    return {
        "entry": list(result.entry),
        "iteration": result.iteration,
        "node": result.node,
        "output": result.name,
        "op_type": result.op_type,
        "count": result.count,
        "size": result.size,
    }


def _static_difference_json(difference: StaticDifference) -> dict[str, Any]:
    constant = difference.delta is not None
    return {
        "kind": difference.kind,
        "place": difference.loop_path,
        "left_name": difference.name or None,
        "right_name": difference.other or None,
        "decides": difference.deciding,
        "code": difference.source_line or None,
        "left": json_with_elements(difference.left) if constant else difference.left_text,
        "right": json_with_elements(difference.right) if constant else difference.right_text,
        "likeness": difference.likeness or None,
        "detail": difference.detail or None,
        "effect": difference.effect.value,
    }


def _demonstration_json(demonstration: Demonstration) -> dict[str, Any]:
    tipped = demonstration.tipped
    return {
        "method": demonstration.method or None,
        "verdict": demonstration.verdict or None,
        "text": demonstration.text,
        "reruns": demonstration.reruns,
        "minimal": demonstration.is_minimal,
        "bit_identical": demonstration.bit_identical,
        "amplification": json_number(demonstration.amplification),
        "tipped": None if tipped is None else {**asdict(tipped), "entry": list(tipped.entry)},
    }


def _cause_json(cause: Cause) -> dict[str, Any] | None:
    if cause.source is None:
        return None
    return {**_difference_json(cause.source), "remark": cause.remark or None, "code": cause.reader_source_line or None}


def _trip_difference_json(trips: TripDifference) -> dict[str, Any]:
    return {
        "entry": list(trips.entry),
        "left": trips.left,
        "right": trips.right,
        "left_ended": None if trips.left_ended is None else trips.left_ended.value,
        "right_ended": None if trips.right_ended is None else trips.right_ended.value,
        "entries": trips.entries,
        "because": trips.explanation or None,
        "reasons": [_reason_json(reason) for reason in trips.reasons],
    }


def _reason_json(reason: DivergenceReason) -> dict[str, str]:
    return {"rule": reason.rule, "text": reason.text}


def _failure_json(failure: PeerFailure) -> dict[str, Any]:
    return {
        "what": failure.kind,
        "where": failure.activity,
        "text": failure.text,
        "reasons": [_reason_json(reason) for reason in failure.reasons],
    }


def _node_json(node: NodeDifference) -> dict[str, Any]:
    return {
        "node": node.node,
        "output": node.name,
        "op_type": node.op_type,
        "other": {"node": node.other, "op_type": node.other_op_type},
        "code": _origin_json(node),
        "inputs": {name: json_with_elements(value) for name, value in node.inputs},
        "difference": _difference_json(node.difference),
    }


def _origin_json(node: NodeDifference) -> dict[str, Any] | None:
    """The origin of the node, if known."""
    origin = node.origin
    if origin == UNKNOWN_ORIGIN:
        return None
    return {
        "text": node.source_line or None,
        "file": origin.file or None,
        "line": origin.line or None,
        "function": origin.function or None,
        "scopes": list(origin.scopes),
        "framework_node": origin.framework_node or None,
        "traced": origin.traced or None,
    }


def _difference_json(difference: Difference) -> dict[str, Any]:
    delta = difference.delta
    return {
        "role": difference.role,
        "left_name": difference.name,
        "right_name": difference.other,
        "loop": difference.loop or None,
        "entry": list(difference.entry),
        "iteration": difference.iteration,
        "kind": delta.kind,
        "text": delta.text or None,
        "index": list(delta.worst_index),
        "left_element": json_element(delta.left),
        "right_element": json_element(delta.right),
        "max_absolute": json_number(delta.absolute),
        "max_relative": json_number(delta.relative),
        "count": delta.count,
        "size": delta.size,
        "step": json_number(difference.step) if difference.step else None,
        "left": json_with_elements(difference.left),
        "right": json_with_elements(difference.right),
        "made_at": difference.source or None,
        "made_by": difference.maker or None,
    }
