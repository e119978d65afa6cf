"""A comparison for a person: the first screen tells whether it is the same, and where not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Iterator, Sequence

import numpy as np

from ....runtime.graph import MAIN
from ....runtime.text import count_text, escape_unprintable
from ...describe.termination import stop_cause
from ...value_text import NOT_FINITE_SYMBOL, number_text, scalar_text, value_text
from ..live_peer.peer_comparison import PeerComparison
from ..running.value_comparison import Tolerance, compare
from .difference_growth import DifferenceGrowth
from .findings import (
    BodyHeadroom,
    Cause,
    Comparison,
    Difference,
    DivergenceReason,
    LoopFindings,
    NodeDifference,
    OutOfRangeResult,
    Saturation,
    StaticDifference,
)

_VALUE_CHARS = 72
_SPARKLINE_CHARS = 48
_FAILURE_CHARS = 300
_BARS = "▁▂▃▄▅▆▇█"
_MODES = {"lockstep": "iteration by iteration", "free": "free-running"}
#: Differing outputs, and iterations of a table, that are listed.
_MAX_LISTED = 8


def report_lines(found: Comparison | PeerComparison) -> Iterator[str]:
    """All of it."""
    comparisons = found.comparisons if isinstance(found, PeerComparison) else [found]
    names = comparisons[0].left, comparisons[0].right
    right = f"{found.peer} {found.version}".strip() if isinstance(found, PeerComparison) else names[1]
    yield f"{found.verdict.value}: {escape_unprintable(names[0])} and {escape_unprintable(right)}"
    if isinstance(found, PeerComparison) and found.configuration:
        yield f"  {found.peer}: {', '.join(f'{name}={value}' for name, value in found.configuration.items())}"
    for comparison in comparisons:
        yield from _comparison_lines(comparison)
    yield from (f"  note: {escape_unprintable(note)}" for note in unique_notes(comparisons))


def unique_notes(comparisons: Sequence[Comparison]) -> list[str]:
    """What else there is to say, each thing once."""
    return list(dict.fromkeys(note for comparison in comparisons for note in comparison.notes))


def _comparison_lines(comparison: Comparison) -> Iterator[str]:
    mode = _MODES.get(comparison.mode)
    if mode:
        yield f"  {mode}: {'nothing compared' if _has_nothing_compared(comparison) else comparison.verdict.value}"
    for failure in comparison.failures:
        yield f"    {comparison.right} {failure.kind}: {escape_unprintable(failure.activity)}"
        yield f"      {escape_unprintable(failure.text[:_FAILURE_CHARS])}"
        yield from _reason_lines(failure.reasons, "      ")
    yield from _static_difference_lines(comparison, _side_labels(comparison))
    if comparison.self_difference is not None:
        yield from _self_difference_lines(comparison.self_difference, comparison.right)
    first = comparison.first
    if first is not None and first.first is not None:
        yield from _first_difference_lines(first, first.first, _side_labels(comparison))
    for loop in comparison.loops:
        yield from _loop_lines(loop, _side_labels(comparison), loop is first, comparison.mode)
    if comparison.saturations:
        yield "    main graph:"
        yield from _saturation_lines(comparison.saturations, _side_labels(comparison))
    yield from _output_lines(comparison)
    yield from _reason_lines(_unreported_reasons(comparison), "    ")


def _has_nothing_compared(comparison: Comparison) -> bool:
    return comparison.empty and not comparison.failures


def _side_labels(comparison: Comparison) -> tuple[str, str]:
    if comparison.mode in ("streams", "reference"):
        return comparison.left, comparison.right
    return "loopdbg", comparison.right


def _self_difference_lines(found: Difference, peer: str) -> Iterator[str]:
    """Two runs of a peer on the same inputs."""
    where = "" if not found.loop else f" of {_location_text(found)}"
    yield f"    {escape_unprintable(peer)} gives something else each time it runs: {_role_text(found)}{where}"
    yield from _value_pair_lines(found, ("once", "again"), "      ")


# -- what differs before anything runs


def _static_difference_lines(comparison: Comparison, sides: tuple[str, str]) -> Iterator[str]:
    if not comparison.static_differences:
        return
    yield "    written otherwise:"
    for one in comparison.static_differences[:_MAX_LISTED]:
        yield f"      {static_difference_text(one)}"
        if one.source_line:
            yield f"        {one.source_line}"
        if one.delta is None:
            wide = max(map(len, sides))
            for side, text in zip(sides, (one.left_text, one.right_text), strict=True):
                yield f"        {escape_unprintable(side):<{wide}}  {escape_unprintable(text)}"
        else:
            difference = Difference(one.kind, one.name, one.other, one.delta, left=one.left, right=one.right)
            yield from _value_pair_lines(difference, sides, "        ")
            if one.likeness:
                yield f"        {one.likeness}"
    more = len(comparison.static_differences) - _MAX_LISTED
    if more > 0:
        yield f"      ... and {more} more"


def static_difference_text(one: StaticDifference) -> str:
    """What is written otherwise, and where."""
    where = "main graph" if one.loop_path == MAIN else f"loop '{one.loop_path}'"
    name = f" '{one.name}'" if one.name else ""
    deciding = ", which the condition depends on" if one.deciding and one.name else ""
    return escape_unprintable(f"{where}: {one.kind}{name}{deciding}")


# -- the first difference


def _first_difference_lines(loop: LoopFindings, first: Difference, sides: tuple[str, str]) -> Iterator[str]:
    yield f"    first difference: {_location_text(first)}, {_role_text(first)}"
    told = yield from _cause_lines(loop.cause, first, sides)
    if not told:
        yield from _value_pair_lines(first, sides, "      ")


def _cause_lines(cause: Cause | None, first: Difference, sides: tuple[str, str]) -> Generator[str, None, bool]:
    """Where a difference comes from; whether that told its values."""
    if cause is None:
        return False
    if cause.source is not None:
        yield from _source_lines(cause.source, cause, first, sides)
    if cause.node is not None:
        yield from _node_lines(cause.node, cause.remark, first, sides)
        return _same_values(cause.node.difference, first)
    if cause.source is not None:
        return _same_values(cause.source, first)
    yield f"      {escape_unprintable(cause.remark)}"
    return False


def _node_lines(node: NodeDifference, remark: str, first: Difference, sides: tuple[str, str]) -> Iterator[str]:
    what = f"{node.op_type} '{node.node}'"
    if node.other_op_type != node.op_type:
        what += f", in its place in {sides[1]} {node.other_op_type} '{node.other}'"
    yield f"      first node that differs: {escape_unprintable(what)}{_time_if_different(node.difference, first)}"
    yield from (f"        {code}" for code in dict.fromkeys((node.source_line, node.other_source_line)) if code)
    if remark:
        yield f"        {escape_unprintable(remark)}"
    for name, value in node.inputs:
        yield f"        {escape_unprintable(name)} = {value_text(value, _VALUE_CHARS)}"
    yield from _value_pair_lines(node.difference, sides, "        ")


def _source_lines(source: Difference, cause: Cause, first: Difference, sides: tuple[str, str]) -> Iterator[str]:
    known = source.role != "result"
    what = f"it comes from the {source.role} " if known else "it can be followed back to "
    yield f"      {what}'{escape_unprintable(source.name)}'{_time_if_different(source, first)}"
    if cause.reader_source_line:
        yield f"        read by {cause.reader_source_line}"
    if cause.node is not None:
        return  # what the node made is told with it, and stands for what came of it
    yield from _value_pair_lines(source, sides, "        ")
    if cause.remark:
        yield f"        {escape_unprintable(cause.remark)}"


def _time_if_different(found: Difference, first: Difference) -> str:
    """When something was, where that is not when the difference was first found."""
    return f", {_iteration_text(found)}" if found.iteration != first.iteration else ""


def _same_values(one: Difference, other: Difference) -> bool:
    """Whether two differences are of the same values, which need not be told twice."""
    pairs = ((one.left, other.left), (one.right, other.right))
    return all(not compare(a, b, Tolerance(0.0, 0.0)).kind for a, b in pairs)


def _location_text(difference: Difference) -> str:
    entry = f" (entered in iteration {'/'.join(map(str, difference.entry))})" if difference.entry else ""
    return f"loop '{escape_unprintable(difference.loop)}'{entry}, {_iteration_text(difference)}"


def _iteration_text(difference: Difference) -> str:
    return "before iteration 0" if difference.iteration is None else f"iteration {difference.iteration}"


def _role_text(difference: Difference) -> str:
    words = {"carried": "carried value", "scan": "scan output", "condition": "condition", "result": "body result"}
    name = f"'{escape_unprintable(difference.name)}'"
    if difference.other != difference.name and difference.role in ("carried", "scan"):
        name += f" ('{escape_unprintable(difference.other)}')"
    return f"{words.get(difference.role, difference.role)} {name}"


def _value_pair_lines(difference: Difference, sides: tuple[str, str], indent: str) -> Iterator[str]:
    wide = max(map(len, sides))
    names = difference.name, difference.other
    for side, name, value in zip(sides, names, (difference.left, difference.right), strict=True):
        yield (
            f"{indent}{escape_unprintable(side):<{wide}}  {escape_unprintable(name)} ="
            f" {value_text(value, _VALUE_CHARS)}"
        )
    yield f"{indent}{delta_text(difference)}"
    if difference.maker or difference.source:
        maker = f" by {difference.maker}" if difference.maker else ""
        place = f" at {difference.source}" if difference.source else ""
        yield f"{indent}{escape_unprintable(f'{sides[1]} has it{maker}{place}')}"


def delta_text(difference: Difference) -> str:
    """How two values differ, in one line."""
    delta = difference.delta
    if not delta.kind:
        return f"difference {_number_text(delta.absolute)}, within the tolerance"
    if delta.kind != "value":
        what = {"kind": "not the same kind", "length": "lengths"}.get(delta.kind, f"{delta.kind}s")
        return f"{what}: {delta.text}"
    if delta.left is None or isinstance(delta.left, str | bytes) or np.asarray(delta.left).dtype == bool:
        where = f"{delta.count} of {delta.size} elements differ" if delta.size > 1 else "not the same"
        return where
    where = (
        f"{delta.count} of {delta.size} elements differ, most at {list(delta.worst_index)}: " if delta.size > 1 else ""
    )
    pair = f"{scalar_text(delta.left)} and {scalar_text(delta.right)}, " if where else ""
    absolute, ratio = delta.worst_difference
    relative = f", relative {_number_text(ratio)}" if ratio < math.inf else ""
    step = f", a step of {_number_text(difference.step)}" if difference.within_step else ""
    return f"{where}{pair}difference {_number_text(absolute)}{relative}{step}"


def _number_text(number: float) -> str:
    return number_text(number) if math.isfinite(number) else "inf"


# -- a loop


def _loop_lines(loop: LoopFindings, sides: tuple[str, str], told: bool, mode: str) -> Iterator[str]:
    name = f"'{escape_unprintable(loop.left)}'"
    if loop.match_method not in ("path", "name") or loop.left != loop.right:
        name += f" and '{escape_unprintable(loop.right)}' (matched by {loop.match_method})"
    iterations = f"{count_text(loop.compared_values, 'value')} of {count_text(loop.iterations, 'iteration')} compared"
    how = f"largest difference {_number_text(loop.growth.largest)}"
    if loop.differing_iterations:
        how = count_text(loop.differing_iterations, "iteration differs", "iterations differ")
    yield f"    {name}: {iterations}, {how}{_end_text(loop, mode)}"
    if loop.unmatched_boundaries and loop.trips is None:
        yield f"      {count_text(loop.unmatched_boundaries, 'boundary is', 'boundaries are')} on one side alone"
    pairs = [f"{escape_unprintable(a)} and {escape_unprintable(b)} ({how})" for a, b, how in loop.renamed_values]
    if pairs:
        yield f"      matched: {', '.join(pairs)}"
    for side, alone in zip(sides, (loop.only_left, loop.only_right), strict=True):
        if alone:
            yield f"      only in {escape_unprintable(side)}: {', '.join(map(escape_unprintable, alone))}"
    if loop.truncated_at_iteration is not None:
        yield (
            "      not compared to its end: a run was over after"
            f" {count_text(loop.truncated_at_iteration, 'iteration')}"
        )
    if loop.trips is not None:
        yield from _trip_count_lines(loop, sides, mode)
    yield from _boundary_headroom_lines(loop, sides)
    if loop.body_headroom is not None:
        yield from _body_headroom_lines(loop.body_headroom, sides)
    yield from _saturation_lines(loop.saturations, sides)
    if loop.first is not None:
        if not told:
            yield f"      first difference: {_location_text(loop.first)}, {_role_text(loop.first)}"
            yield f"        {delta_text(loop.first)}"
        yield from _growth_lines(loop.growth)


def _boundary_headroom_lines(loop: LoopFindings, sides: tuple[str, str]) -> Iterator[str]:
    """Of values of two types: what their narrower type holds, and how much of that they use."""
    for one in loop.boundary_headrooms[:_MAX_LISTED]:
        narrow = one.dtypes[one.side]
        told = f"'{escape_unprintable(one.name)}' is {one.dtypes[0]} and {one.dtypes[1]}: "
        told += f"largest {one.largest:.6g} of the {one.limit:.6g} that {narrow} holds"
        if one.largest:
            told += f", headroom {_number_text(one.headroom)}x"
        if one.first_nonfinite_iteration is not None:
            at = (
                "before iteration 0"
                if one.first_nonfinite_iteration < 0
                else f"in iteration {one.first_nonfinite_iteration}"
            )
            told += f"; first Inf or NaN {at}"
        yield f"      {told}"


def _body_headroom_lines(reach: BodyHeadroom, sides: tuple[str, str]) -> Iterator[str]:
    """How far a body reaches into the narrower type, whatever of that is carried."""
    side = escape_unprintable(sides[reach.side])
    if reach.largest:
        when = "before the loop" if reach.iteration is None else f"in iteration {reach.iteration}"
        where = f"{reach.op_type} '{escape_unprintable(reach.node)}' {when}"
        yield (
            f"      nodes of {side}: largest {reach.largest:.6g} of the {reach.limit:.6g} that {reach.dtype} holds, "
            f"{where}, headroom {_number_text(reach.headroom)}x"
        )
    found = reach.first_nonfinite
    if found is not None:
        node = f"{found.op_type} '{escape_unprintable(found.node)}'"
        yield (
            f"      first Inf or NaN in {side} alone: {_out_of_range_time(found)}, {node}, {found.count} of "
            f"{count_text(found.size, 'element')}"
        )
    if reach.untested_from_iteration is not None:
        yield f"      nodes were not looked at from iteration {reach.untested_from_iteration} on"


def _out_of_range_time(found: OutOfRangeResult) -> str:
    entry = f" (entered in iteration {'/'.join(map(str, found.entry))})" if found.entry else ""
    return "before the loop" if found.iteration is None else f"iteration {found.iteration}{entry}"


def _saturation_lines(found: Sequence[Saturation], sides: tuple[str, str]) -> Iterator[str]:
    """What is quantised, and what of that is cut off, those with the least headroom first."""
    first = min((one for one in found if one.first_saturated is not None), key=_saturation_time, default=None)
    if first is not None and first.first_saturated is not None:
        at = first.first_saturated
        where = "main graph" if at.iteration is None else _out_of_range_time(at)
        yield (
            f"      first saturated in {escape_unprintable(sides[first.side])}: {where}, {at.op_type} "
            f"'{escape_unprintable(at.node)}', {at.count} of {count_text(at.size, 'element')}"
        )
    for one in sorted(found, key=lambda one: one.headroom)[:_MAX_LISTED]:
        when = "" if one.iteration is None else f" in iteration {one.iteration}"
        yield (
            f"      {one.op_type} '{escape_unprintable(one.node)}' holds {one.low:.4g} to {one.high:.4g} in"
            f" {one.dtype}: got {one.largest:.4g}{when}, headroom {_number_text(one.headroom)}x"
        )
    if len(found) > _MAX_LISTED:
        yield f"      ... and {len(found) - _MAX_LISTED} more that quantise, with more headroom"


def _saturation_time(one: Saturation) -> tuple[tuple[int, ...], int]:
    return (
        (one.first_saturated.entry, one.first_saturated.iteration or 0) if one.first_saturated is not None else ((), 0)
    )


def _end_text(loop: LoopFindings, mode: str) -> str:
    """How both sides ended, where they did alike."""
    if loop.trips is not None or not loop.completed_entries:
        return ""
    if loop.completed_entries > 1:
        return f", each of its {loop.completed_entries} entries as long on both sides"
    # What a peer ended by it does not say.
    why = f" by {stop_cause(loop.stopped_by)}" if loop.stopped_by is not None and mode == "streams" else ""
    return f", both ended{why} after {count_text(loop.left_trips or 0, 'iteration')}"


def _trip_count_lines(loop: LoopFindings, sides: tuple[str, str], mode: str) -> Iterator[str]:
    trips = loop.trips
    assert trips is not None
    entry = f" of the entry in iteration {'/'.join(map(str, trips.entry))}" if trips.entry else ""
    told = []
    for side, count, ended in ((sides[0], trips.left, trips.left_ended), (sides[1], trips.right, trips.right_ended)):
        why = f" (ended by {stop_cause(ended)})" if ended is not None else ""
        told.append(f"{escape_unprintable(side)} {count}{why}")
    more = f"; {trips.entries} entries differ in it" if trips.entries > 1 else ""
    yield f"      iterations{entry}: {', '.join(told)}{more}"
    if trips.explanation:
        yield f"        {escape_unprintable(trips.explanation)}"
    if trips.reasons:
        yield from _reason_lines(trips.reasons, "        ")
    elif not trips.explanation and mode in _MODES:
        yield "        no rule predicts it"


def _growth_lines(growth: DifferenceGrowth) -> Iterator[str]:
    points = growth.points
    if len(points) < 2:
        return
    parts = []
    if growth.first_beyond is not None:
        parts.append(f"beyond the tolerance from iteration {growth.first_beyond} on")
    top = max(points, key=lambda point: point.absolute)
    parts.append(f"largest {_number_text(top.absolute)} in iteration {top.first}")
    if growth.factor is not None:
        parts.append(f"× {growth.factor:.3g} an iteration")
    yield f"      growth {_sparkline([point.absolute for point in points])}  {', '.join(parts)}"


def _sparkline(values: Sequence[float]) -> str:
    """Bars of logarithmic height; a dot where there is no difference at all."""
    if len(values) > _SPARKLINE_CHARS:
        edges = [len(values) * k // _SPARKLINE_CHARS for k in range(_SPARKLINE_CHARS + 1)]
        values = [max(values[a:b]) for a, b in itertools.pairwise(edges)]
    logs = [math.log10(v) for v in values if v > 0 and math.isfinite(v)]
    low, high = (min(logs), max(logs)) if logs else (0.0, 0.0)
    cells = []
    for value in values:
        if value <= 0:
            cells.append("·")
        elif not math.isfinite(value):
            cells.append(NOT_FINITE_SYMBOL)
        else:
            part = (math.log10(value) - low) / (high - low) if high > low else 1.0
            cells.append(_BARS[round(part * (len(_BARS) - 1))])
    return "".join(cells)


# -- outputs and reasons


def _output_lines(comparison: Comparison) -> Iterator[str]:
    if not (comparison.compared_outputs or comparison.compared_values):
        return
    if not comparison.outputs:
        outputs, others = comparison.compared_outputs, comparison.compared_values
        values = count_text(others, "value of the main graph", "values of the main graph")
        yield f"    {' and '.join([count_text(outputs, 'output')] * bool(outputs) + [values] * bool(others))} the same"
        return
    left, right = _side_labels(comparison)
    first = comparison.first_output
    if first is not None and comparison.cause is not None:
        begin = "first difference: " if comparison.first is None else ""
        yield (
            f"    {begin}main graph, {'value' if first.role == 'result' else first.role}"
            f" '{escape_unprintable(first.name)}'"
        )
        yield from _cause_lines(comparison.cause, first, (left, right))
    for difference in comparison.outputs[:_MAX_LISTED]:
        what = "main graph, value" if difference.role == "result" else difference.role
        yield f"    {what} '{escape_unprintable(difference.name)}': {delta_text(difference)}"
        if difference.delta.kind != "dtype":
            yield f"      {escape_unprintable(left)}: {value_text(difference.left, _VALUE_CHARS)}"
            yield f"      {escape_unprintable(right)}: {value_text(difference.right, _VALUE_CHARS)}"
    more = len(comparison.outputs) - _MAX_LISTED
    if more > 0:
        yield f"    ... and {more} more of {comparison.compared_outputs} outputs"


def _unreported_reasons(comparison: Comparison) -> list[DivergenceReason]:
    told = [reason for loop in comparison.loops if loop.trips for reason in loop.trips.reasons]
    rules = {reason.rule for reason in told}
    return [reason for reason in comparison.reasons if reason.rule not in rules]


def _reason_lines(reasons: Sequence[DivergenceReason], indent: str) -> Iterator[str]:
    for reason in reasons:
        text = f"rule {reason.rule}: {reason.text}" if reason.text else f"rule {reason.rule}"
        yield f"{indent}{escape_unprintable(text)}"
