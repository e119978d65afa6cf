"""A comparison as one JSON object."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
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
    TippedValue,
    TripDifference,
)
from ....debugger.value_json import json_element, json_number, json_with_elements
from ....runtime.graph import UNKNOWN_ORIGIN, Origin
from ..remedies import error_text, match_method_name

#: By type of record the keys of its object: ``key``, or ``key=attribute`` where the record calls it otherwise. With
#: ``?`` an empty value is null, with ``!`` it is a tensor.
_KEYS = {
    PeerComparison: "name=peer version configuration usual_precision?",
    Comparison: "mode same verdict written=static_differences demonstration loops quantised=saturations outputs"
    " unstable=self_difference failures reasons error notes",
    LoopFindings: "left right matched_by matched_values only_left only_right same values=compared_values iterations"
    " differing=differing_iterations trip_count trip_difference=trips first node source=cause growth"
    " unended=truncated_at_iteration ranges=boundary_headrooms reach=body_headroom quantised=saturations reasons",
    BoundaryHeadroom: "name dtypes narrow=narrow_dtype limit largest iteration headroom"
    " first_not_finite=first_nonfinite_iteration",
    BodyHeadroom: "dtype limit node op_type largest iteration headroom first_not_finite=first_nonfinite"
    " until=untested_from_iteration",
    Saturation: "node op_type dtype low high largest iteration headroom first_saturated",
    OutOfRangeResult: "entry iteration node output=name op_type count size",
    StaticDifference: "kind place=loop_path left_name=name? right_name=other? decides=deciding code=source_line?"
    " left right likeness? detail? effect",
    Demonstration: "method? verdict? text reruns minimal=is_minimal bit_identical amplification tipped",
    TippedValue: "loop entry iteration node op_type name count",
    TripDifference: "entry left right left_ended right_ended entries because=explanation? reasons",
    DivergenceReason: "rule text",
    PeerFailure: "what=kind where=activity text reasons",
    NodeDifference: "node output=name op_type other code inputs difference",
    Origin: "file? line? function? scopes framework_node? traced?",
    Difference: "role left_name=name right_name=other loop? entry iteration kind=delta.kind text=delta.text?"
    " index=delta.worst_index left_element=delta.left right_element=delta.right max_absolute=delta.absolute"
    " max_relative=delta.relative count=delta.count size=delta.size step? left! right! made_at=source? made_by=maker?",
}


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
        report["peer"] = _json(result)
    first = next((c.first_difference for c in comparisons if c.first_difference is not None), None)
    return {**report, "first": _json(first), "comparisons": _json(comparisons)}


def _json(value: Any) -> Any:
    """A record, a list of records, or one element."""
    if isinstance(value, Cause):
        return _cause_json(value)
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    if type(value) not in _KEYS:
        return value.value if isinstance(value, Enum) else value if isinstance(value, dict) else json_element(value)
    entries: dict[str, Any] = {}
    special = _SPECIAL[type(value)](value) if type(value) in _SPECIAL else {}
    for item in _KEYS[type(value)].split():
        key, _, path = item.rstrip("?!").partition("=")
        content = special.get(key) if key in special else value
        for attribute in () if key in special else (path or key).split("."):
            content = getattr(content, attribute)
        content = json_with_elements(content) if item.endswith("!") else _json(content)
        entries[key] = content or None if item.endswith("?") else content
    return entries


def _cause_json(cause: Cause) -> dict[str, Any] | None:
    if cause.source is None:
        return None
    return {**_json(cause.source), "remark": cause.remark or None, "code": cause.reader_source_line or None}


def _comparison_entries(comparison: Comparison) -> dict[str, Any]:
    cause, error = comparison.cause, comparison.error
    outputs = {
        "compared": comparison.compared_outputs,
        "other_values": comparison.compared_values,
        "differing": _json(comparison.outputs),
        "node": None if cause is None else _json(cause.node),
        "source": None if cause is None else _json(cause),
    }
    if error is None:
        return {"outputs": outputs}
    location = {name: getattr(error, name) for name in ("node", "op_type", "loop", "iteration")}
    return {"outputs": outputs, "error": {"text": error_text(error), **location}}


def _loop_entries(loop: LoopFindings) -> dict[str, Any]:
    growth = loop.growth
    return {
        "matched_by": match_method_name(loop.match_method),
        "matched_values": [
            {"left": a, "right": b, "by": match_method_name(method)} for a, b, method in loop.renamed_values
        ],
        "trip_count": {"left": loop.left_trips, "right": loop.right_trips},
        "growth": {
            "first_beyond": growth.first_beyond,
            "largest": json_number(growth.largest),
            "factor": json_number(growth.factor),
            "points": [[p.first, p.last, json_number(p.absolute), json_number(p.relative)] for p in growth.points],
        },
    }


def _static_entries(item: StaticDifference) -> dict[str, Any]:
    if item.delta is None:
        return {"left": item.left_text, "right": item.right_text}
    return {"left": json_with_elements(item.left), "right": json_with_elements(item.right)}


def _node_entries(node: NodeDifference) -> dict[str, Any]:
    is_known = node.origin != UNKNOWN_ORIGIN
    return {
        "other": {"node": node.other, "op_type": node.other_op_type},
        "code": {"text": node.source_line or None, **_json(node.origin)} if is_known else None,
        "inputs": {name: json_with_elements(value) for name, value in node.inputs},
    }


#: By type of record what is not just one of its attributes.
_SPECIAL: dict[type, Callable[[Any], dict[str, Any]]] = {
    Comparison: _comparison_entries,
    LoopFindings: _loop_entries,
    StaticDifference: _static_entries,
    NodeDifference: _node_entries,
}
