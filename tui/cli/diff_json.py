"""A comparison as one JSON object, for programs."""

from __future__ import annotations

from typing import Any

from ...debugger.diff.findings import (
    Cause,
    Comparison,
    Difference,
    Failure,
    LoopFindings,
    NodeDifference,
    OutOfRange,
    Range,
    Reach,
    Reason,
    Saturation,
    TripDifference,
    Written,
)
from ...debugger.diff.live import Live
from ...runtime.graph import NOWHERE
from .remedies import matched
from .value_json import element, number, with_elements


def as_json(found: Comparison | Live) -> dict[str, Any]:
    """Strict JSON: what is not finite is null.

    ``comparisons`` has one object for two sides, and one for each mode (lockstep, free) of a live peer.
    """
    comparisons = found.comparisons if isinstance(found, Live) else [found]
    told: dict[str, Any] = {
        "same": found.same,
        "verdict": found.verdict.value,
        "left": comparisons[0].left,
        "right": comparisons[0].right,
    }
    if isinstance(found, Live):
        told["peer"] = {
            "name": found.peer,
            "version": found.version,
            "configuration": dict(found.configuration),
        }
    first = next((c.begins for c in comparisons if c.begins is not None), None)
    told["first"] = None if first is None else _difference(first)
    told["comparisons"] = [_comparison(comparison) for comparison in comparisons]
    return told


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "mode": comparison.mode,
        "same": comparison.same,
        "verdict": comparison.verdict.value,
        "written": [_written(one) for one in comparison.written],
        "loops": [_loop(loop) for loop in comparison.loops],
        "quantised": [_saturation(one) for one in comparison.quantised],
        "outputs": {
            "compared": comparison.compared_outputs,
            "other_values": comparison.compared_values,
            "differing": [_difference(difference) for difference in comparison.outputs],
            "node": None if comparison.cause is None or comparison.cause.node is None else _node(comparison.cause.node),
            "source": None if comparison.cause is None else _source(comparison.cause),
        },
        "unstable": None if comparison.unstable is None else _difference(comparison.unstable),
        "failures": [_failure(failure) for failure in comparison.failures],
        "reasons": [_reason(reason) for reason in comparison.reasons],
        "notes": comparison.notes,
    }


def _loop(loop: LoopFindings) -> dict[str, Any]:
    return {
        "left": loop.left,
        "right": loop.right,
        "matched_by": matched(loop.matched),
        "matched_values": [{"left": a, "right": b, "by": matched(how)} for a, b, how in loop.values],
        "only_left": loop.only_left,
        "only_right": loop.only_right,
        "same": loop.same,
        "values": loop.count,
        "iterations": loop.iterations,
        "differing": loop.differing,
        "trip_count": {"left": loop.left_trips, "right": loop.right_trips},
        "trip_difference": None if loop.trips is None else _trips(loop.trips),
        "first": None if loop.first is None else _difference(loop.first),
        "node": None if loop.node is None else _node(loop.node),
        "source": None if loop.cause is None else _source(loop.cause),
        "growth": {
            "first_beyond": loop.growth.first_beyond,
            "largest": number(loop.growth.largest),
            "factor": number(loop.growth.factor),
            "points": [[p.first, p.last, number(p.absolute), number(p.relative)] for p in loop.growth.points],
        },
        "unended": loop.unended,
        "ranges": [_range(one) for one in loop.ranges],
        "reach": None if loop.reach is None else _reach(loop.reach),
        "quantised": [_saturation(one) for one in loop.quantised],
        "reasons": [_reason(reason) for reason in loop.reasons],
    }


def _range(one: Range) -> dict[str, Any]:
    return {
        "name": one.name,
        "dtypes": list(one.dtypes),
        "narrow": one.dtypes[one.side],
        "limit": number(one.limit),
        **_used(one),
        "first_not_finite": one.infinite,
    }


def _reach(one: Reach) -> dict[str, Any]:
    return {
        "dtype": one.dtype,
        "limit": number(one.limit),
        "node": one.node,
        "op_type": one.op_type,
        **_used(one),
        "first_not_finite": _out_of_range(one.infinite),
        "until": one.until,
    }


def _saturation(one: Saturation) -> dict[str, Any]:
    return {
        "node": one.node,
        "op_type": one.op_type,
        "dtype": one.dtype,
        "low": number(one.low),
        "high": number(one.high),
        **_used(one),
        "first_saturated": _out_of_range(one.first),
    }


def _used(one: Range | Reach | Saturation) -> dict[str, Any]:
    """How much of a type is used, and when most."""
    return {"largest": number(one.largest), "iteration": one.at, "headroom": number(one.headroom)}


def _out_of_range(at: OutOfRange | None) -> dict[str, Any] | None:
    if at is None:
        return None
    return {
        "entry": list(at.entry),
        "iteration": at.iteration,
        "node": at.node,
        "output": at.name,
        "op_type": at.op_type,
        "count": at.count,
        "size": at.size,
    }


def _written(one: Written) -> dict[str, Any]:
    constant = one.delta is not None
    return {
        "kind": one.kind,
        "place": one.place,
        "left_name": one.name or None,
        "right_name": one.other or None,
        "decides": one.deciding,
        "code": one.code or None,
        "left": with_elements(one.left) if constant else one.left_text,
        "right": with_elements(one.right) if constant else one.right_text,
        "likeness": one.likeness or None,
    }


def _source(cause: Cause) -> dict[str, Any] | None:
    if cause.source is None:
        return None
    return {**_difference(cause.source), "remark": cause.remark or None, "code": cause.code or None}


def _trips(trips: TripDifference) -> dict[str, Any]:
    return {
        "entry": list(trips.entry),
        "left": trips.left,
        "right": trips.right,
        "left_ended": None if trips.left_ended is None else trips.left_ended.value,
        "right_ended": None if trips.right_ended is None else trips.right_ended.value,
        "entries": trips.entries,
        "because": trips.because or None,
        "reasons": [_reason(reason) for reason in trips.reasons],
    }


def _reason(reason: Reason) -> dict[str, str]:
    return {"rule": reason.rule, "text": reason.text}


def _failure(failure: Failure) -> dict[str, Any]:
    return {
        "what": failure.what,
        "where": failure.where,
        "text": failure.text,
        "reasons": [_reason(reason) for reason in failure.reasons],
    }


def _node(node: NodeDifference) -> dict[str, Any]:
    return {
        "node": node.node,
        "output": node.name,
        "op_type": node.op_type,
        "other": {"node": node.other, "op_type": node.other_op_type},
        "code": _code(node),
        "inputs": {name: with_elements(value) for name, value in node.inputs},
        "difference": _difference(node.difference),
    }


def _code(node: NodeDifference) -> dict[str, Any] | None:
    """Where the node comes from, as far as the model tells."""
    origin = node.origin
    if origin == NOWHERE:
        return None
    return {
        "text": node.code or None,
        "file": origin.file or None,
        "line": origin.line or None,
        "function": origin.function or None,
        "scopes": list(origin.scopes),
        "framework_node": origin.framework_node or None,
        "traced": origin.traced or None,
    }


def _difference(difference: Difference) -> dict[str, Any]:
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
        "index": list(delta.index),
        "left_element": element(delta.left),
        "right_element": element(delta.right),
        "max_absolute": number(delta.absolute),
        "max_relative": number(delta.relative),
        "count": delta.count,
        "size": delta.size,
        "step": number(difference.step) if difference.step else None,
        "left": with_elements(difference.left),
        "right": with_elements(difference.right),
        "made_at": difference.source or None,
        "made_by": difference.maker or None,
    }
