"""Text report of a comparison: verdict, first difference, cause and details."""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Iterator, Sequence

import numpy as np

from ....runtime.graph import MAIN
from ....runtime.text import count_text, escape_unprintable
from ...describe.termination import loop_end_cause
from ...value_text import NOT_FINITE_SYMBOL, number_text, scalar_text, value_text
from ..live_peer.peer_comparison import PeerComparison
from ..running.value_comparison import Tolerance, compare
from .constant_relations import describe_reordering
from .difference_growth import DifferenceGrowth
from .findings import (
    BodyHeadroom,
    Cause,
    Comparison,
    Demonstration,
    Difference,
    DivergenceReason,
    EditEffect,
    LoopFindings,
    NodeDifference,
    OutOfRangeResult,
    Saturation,
    StaticDifference,
)

_VALUE_CHARS = 72
_SPARKLINE_CHARS = 48
_BARS = "▁▂▃▄▅▆▇█"
_EFFECT_HEADINGS = {
    EditEffect.CAUSE: "cause",
    EditEffect.UNKNOWN: "written otherwise",
    EditEffect.NO_EFFECT: "written otherwise, without effect on these inputs",
}
_MODES = {"lockstep": "iteration by iteration", "free": "free-running"}
#: What separates the kind of a static difference from the name, which otherwise is that of a port or a constant.
_NAME_AFTER_KIND = {
    **dict.fromkeys(("operator", "attribute", "dtype", "operand", "branches"), " of "),
    **dict.fromkeys(("node added", "node omitted", "output order"), ": "),
}
#: The most outputs, and the most iterations of a table, that are listed.
_MAX_LISTED = 8


def report_lines(result: Comparison | PeerComparison) -> Iterator[str]:
    """All lines of the report."""
    yield from map(escape_unprintable, _lines(result))


def _lines(result: Comparison | PeerComparison) -> Iterator[str]:
    comparisons = result.comparisons if isinstance(result, PeerComparison) else [result]
    names = comparisons[0].left, comparisons[0].right
    right = f"{result.peer} {result.version}".strip() if isinstance(result, PeerComparison) else names[1]
    yield f"{result.verdict_text}: {names[0]} and {right}"
    if isinstance(result, PeerComparison) and result.configuration:
        yield f"  {result.peer}: {', '.join(f'{name}={value}' for name, value in result.configuration.items())}"
    if isinstance(result, PeerComparison) and result.usual_precision:
        yield (
            f"  without these settings {result.peer} computes in {result.usual_precision} on this processor, and its"
            " numbers may differ from those that were compared"
        )
    for comparison in comparisons:
        yield from _comparison_lines(comparison)
    yield from (f"  note: {note}" for note in unique_notes(comparisons))


def unique_notes(comparisons: Sequence[Comparison]) -> list[str]:
    """Other remarks, without duplicates."""
    return list(dict.fromkeys(note for comparison in comparisons for note in comparison.notes))


def _comparison_lines(comparison: Comparison) -> Iterator[str]:
    mode = _MODES.get(comparison.mode)
    if mode:
        is_empty = comparison.empty and not comparison.failures
        text = "nothing compared" if is_empty else comparison.verdict_text
        yield f"  {mode}: {text}"
    for failure in comparison.failures:
        yield f"    {comparison.right} {failure.kind}: {failure.activity}"
        yield f"      {failure.text}"
        yield from _reason_lines(failure.reasons, "      ")
    yield from _static_difference_lines(comparison, _side_labels(comparison))
    if comparison.self_difference is not None:
        yield from _self_difference_lines(comparison.self_difference, comparison.right)
    first_loop = comparison.first
    if first_loop is not None and first_loop.first is not None:
        yield from _first_difference_lines(first_loop, first_loop.first, _side_labels(comparison))
    for loop in comparison.loops:
        yield from _loop_lines(loop, _side_labels(comparison), loop is first_loop, comparison.mode)
    if comparison.saturations:
        yield "    main graph:"
        yield from _saturation_lines(comparison.saturations, _side_labels(comparison))
    yield from _output_lines(comparison)
    reported = {reason.rule for loop in comparison.loops if loop.trips for reason in loop.trips.reasons}
    yield from _reason_lines([reason for reason in comparison.reasons if reason.rule not in reported], "    ")


def _side_labels(comparison: Comparison) -> tuple[str, str]:
    if comparison.mode in ("streams", "reference"):
        return comparison.left, comparison.right
    return "loopdbg", comparison.right


def _self_difference_lines(difference: Difference, peer: str) -> Iterator[str]:
    """Lines about two runs of a peer on the same inputs."""
    location = "" if not difference.loop else f" of {_location_text(difference)}"
    yield f"    {peer} gives something else each time it runs: {_role_text(difference)}{location}"
    yield from _value_pair_lines(difference, ("once", "again"), "      ")


# -- static differences


def _static_difference_lines(comparison: Comparison, sides: tuple[str, str]) -> Iterator[str]:
    """Causes, what may be one, and what has no effect, each under a heading."""
    by_effect: dict[EditEffect, list[StaticDifference]] = {}
    for difference in comparison.static_differences:
        by_effect.setdefault(difference.effect, []).append(difference)
    demonstration = comparison.demonstration
    for effect, differences in by_effect.items():
        is_plural = effect is EditEffect.CAUSE and len(differences) > 1
        yield f"    {'causes, together' if is_plural else _EFFECT_HEADINGS[effect]}:"
        for difference in differences[:_MAX_LISTED]:
            yield from _one_static_difference_lines(difference, sides)
        if len(differences) > _MAX_LISTED:
            yield f"      ... and {len(differences) - _MAX_LISTED} more"
        if effect is EditEffect.CAUSE and demonstration is not None:
            yield f"      {demonstration_text(demonstration)}"
    if demonstration is not None and EditEffect.CAUSE not in by_effect:
        yield f"{'      ' if by_effect else '    '}{demonstration_text(demonstration)}"


def demonstration_text(demonstration: Demonstration) -> str:
    """How a cause was demonstrated, in one line."""
    word = "shown by" if demonstration.method else "cause not shown"
    return escape_unprintable(f"{word}: {demonstration.text} ({count_text(demonstration.reruns, 'rerun')})")


def _one_static_difference_lines(difference: StaticDifference, sides: tuple[str, str]) -> Iterator[str]:
    yield f"      {static_difference_text(difference)}"
    if difference.source_line:
        yield f"        {difference.source_line}"
    if difference.delta is None:
        width = max(map(len, sides))
        for side, text in zip(sides, (difference.left_text, difference.right_text), strict=True):
            yield f"        {side:<{width}}  {text}"
        return
    values = Difference(
        difference.kind,
        difference.name,
        difference.other,
        difference.delta,
        left=difference.left,
        right=difference.right,
    )
    yield from _value_pair_lines(values, sides, "        ")
    if difference.likeness:
        yield f"        {difference.likeness}"


def static_difference_text(difference: StaticDifference) -> str:
    """A static difference and its location, in one line."""
    location = "main graph" if difference.loop_path == MAIN else f"loop '{difference.loop_path}'"
    subject = f"{difference.kind} {difference.detail}" if difference.detail else difference.kind
    name = f"{_NAME_AFTER_KIND.get(difference.kind, ' ')}'{difference.name}'" if difference.name else ""
    deciding = ", which the condition depends on" if difference.deciding and difference.name else ""
    return escape_unprintable(f"{location}: {subject}{name}{deciding}")


# -- the first difference


def _first_difference_lines(loop: LoopFindings, first: Difference, sides: tuple[str, str]) -> Iterator[str]:
    yield f"    first difference: {_location_text(first)}, {_role_text(first)}"
    has_values = yield from _cause_lines(loop.cause, first, sides)
    if not has_values:
        yield from _value_pair_lines(first, sides, "      ")


def _cause_lines(cause: Cause | None, first: Difference, sides: tuple[str, str]) -> Generator[str, None, bool]:
    """Lines about the cause; returns whether they include the values of the difference."""
    if cause is None:
        return False
    if cause.source is not None:
        yield from _cause_source_lines(cause.source, cause, first, sides)
    if cause.node is not None:
        yield from _node_lines(cause.node, cause.remark, first, sides)
        return _have_same_values(cause.node.difference, first)
    if cause.source is not None:
        return _have_same_values(cause.source, first)
    yield f"      {cause.remark}"
    return False


def _node_lines(node: NodeDifference, remark: str, first: Difference, sides: tuple[str, str]) -> Iterator[str]:
    text = f"{node.op_type} '{node.node}'"
    if node.other_op_type != node.op_type:
        text += f", in its place in {sides[1]} {node.other_op_type} '{node.other}'"
    yield f"      first node that differs: {text}{_iteration_if_different(node.difference, first)}"
    yield from (f"        {code}" for code in dict.fromkeys((node.source_line, node.other_source_line)) if code)
    if remark:
        yield f"        {remark}"
    for name, value in node.inputs:
        yield f"        {name} = {value_text(value, _VALUE_CHARS)}"
    yield from _value_pair_lines(node.difference, sides, "        ")


def _cause_source_lines(source: Difference, cause: Cause, first: Difference, sides: tuple[str, str]) -> Iterator[str]:
    is_known = source.role != "result"
    text = f"it comes from the {source.role} " if is_known else "it can be followed back to "
    yield f"      {text}'{source.name}'{_iteration_if_different(source, first)}"
    if cause.reader_source_line:
        yield f"        read by {cause.reader_source_line}"
    if cause.node is not None:
        return  # reported with the node
    yield from _value_pair_lines(source, sides, "        ")
    if cause.remark:
        yield f"        {cause.remark}"


def _iteration_if_different(difference: Difference, first: Difference) -> str:
    """The iteration of a difference, if it is not that of the first one."""
    return f", {_iteration_text(difference)}" if difference.iteration != first.iteration else ""


def _have_same_values(left: Difference, right: Difference) -> bool:
    """Whether two differences have the same values, which are then reported once."""
    pairs = ((left.left, right.left), (left.right, right.right))
    return all(not compare(a, b, Tolerance(0.0, 0.0)).kind for a, b in pairs)


def _location_text(difference: Difference) -> str:
    entry = f" (entered in iteration {'/'.join(map(str, difference.entry))})" if difference.entry else ""
    return f"loop '{difference.loop}'{entry}, {_iteration_text(difference)}"


def _iteration_text(difference: Difference) -> str:
    return "before iteration 0" if difference.iteration is None else f"iteration {difference.iteration}"


def _role_text(difference: Difference) -> str:
    words = {"carried": "carried value", "scan": "scan output", "condition": "condition", "result": "body result"}
    name = f"'{difference.name}'"
    if difference.other != difference.name and difference.role in ("carried", "scan"):
        name += f" ('{difference.other}')"
    return f"{words.get(difference.role, difference.role)} {name}"


def _value_pair_lines(difference: Difference, sides: tuple[str, str], indent: str) -> Iterator[str]:
    width = max(map(len, sides))
    names = difference.name, difference.other
    for side, name, value in zip(sides, names, (difference.left, difference.right), strict=True):
        yield (f"{indent}{side:<{width}}  {name} = {value_text(value, _VALUE_CHARS)}")
    yield f"{indent}{delta_text(difference)}"
    reordering = describe_reordering(difference.left, difference.right)
    if reordering:
        yield f"{indent}{reordering}"
    if difference.maker or difference.source:
        maker = f" by {difference.maker}" if difference.maker else ""
        location = f" at {difference.source}" if difference.source else ""
        yield f"{indent}{f'{sides[1]} has it{maker}{location}'}"


def delta_text(difference: Difference) -> str:
    """The difference of two values in one line."""
    delta = difference.delta
    if not delta.kind:
        return f"difference {_number_text(delta.absolute)}, within the tolerance"
    if delta.kind != "value":
        kind = {"kind": "not the same kind", "length": "lengths"}.get(delta.kind, f"{delta.kind}s")
        return f"{kind}: {delta.text}"
    if delta.left is None or isinstance(delta.left, str | bytes) or np.asarray(delta.left).dtype == bool:
        count_text = f"{delta.count} of {delta.size} elements differ" if delta.size > 1 else "not the same"
        return count_text
    count_text = (
        f"{delta.count} of {delta.size} elements differ, most at {list(delta.worst_index)}: " if delta.size > 1 else ""
    )
    pair = f"{scalar_text(delta.left)} and {scalar_text(delta.right)}, " if count_text else ""
    absolute, ratio = delta.worst_difference
    relative = f", relative {_number_text(ratio)}" if ratio < math.inf else ""
    step = f", a step of {_number_text(difference.step)}" if difference.differs_within_step else ""
    return f"{count_text}{pair}difference {_number_text(absolute)}{relative}{step}"


def _number_text(number: float) -> str:
    return number_text(number) if math.isfinite(number) else "inf"


# -- a loop


def _loop_lines(loop: LoopFindings, sides: tuple[str, str], is_reported: bool, mode: str) -> Iterator[str]:
    name = f"'{loop.left}'"
    if loop.match_method not in ("path", "name") or loop.left != loop.right:
        name += f" and '{loop.right}' (matched by {loop.match_method})"
    iterations = f"{count_text(loop.compared_values, 'value')} of {count_text(loop.iterations, 'iteration')} compared"
    method = f"largest difference {_number_text(loop.growth.largest)}"
    if loop.differing_iterations:
        method = count_text(loop.differing_iterations, "iteration differs", "iterations differ")
    yield f"    {name}: {iterations}, {method}{_end_text(loop, mode)}"
    if loop.unmatched_boundaries and loop.trips is None:
        yield f"      {count_text(loop.unmatched_boundaries, 'boundary is', 'boundaries are')} on one side alone"
    pairs = [f"{a} and {b} ({method})" for a, b, method in loop.renamed_values]
    if pairs:
        yield f"      matched: {', '.join(pairs)}"
    for side, names in zip(sides, (loop.only_left, loop.only_right), strict=True):
        if names:
            yield f"      only in {side}: {', '.join(names)}"
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
        if not is_reported:
            yield f"      first difference: {_location_text(loop.first)}, {_role_text(loop.first)}"
            yield f"        {delta_text(loop.first)}"
        yield from _growth_lines(loop.growth)


def _boundary_headroom_lines(loop: LoopFindings, sides: tuple[str, str]) -> Iterator[str]:
    """Headroom of values in their narrower type."""
    for item in loop.boundary_headrooms[:_MAX_LISTED]:
        text = f"'{item.name}' is {item.dtypes[0]} and {item.dtypes[1]}: "
        text += f"largest {item.largest:.6g} of the {item.limit:.6g} that {item.narrow_dtype} holds"
        if item.largest:
            text += f", headroom {_number_text(item.headroom)}x"
        if item.first_nonfinite_iteration is not None:
            time_text = (
                "before iteration 0"
                if item.first_nonfinite_iteration < 0
                else f"in iteration {item.first_nonfinite_iteration}"
            )
            text += f"; first Inf or NaN {time_text}"
        yield f"      {text}"


def _body_headroom_lines(record: BodyHeadroom, sides: tuple[str, str]) -> Iterator[str]:
    """Headroom of all results of a body in the narrower type."""
    side = sides[record.side]
    if record.largest:
        time_text = "before the loop" if record.iteration is None else f"in iteration {record.iteration}"
        node_text = f"{record.op_type} '{record.node}' {time_text}"
        yield (
            f"      nodes of {side}: largest {record.largest:.6g} of the {record.limit:.6g} that {record.dtype} holds, "
            f"{node_text}, headroom {_number_text(record.headroom)}x"
        )
    result = record.first_nonfinite
    if result is not None:
        node = f"{result.op_type} '{result.node}'"
        yield (
            f"      first Inf or NaN in {side} alone: {_result_time_text(result)}, {node}, {result.count} of "
            f"{count_text(result.size, 'element')}"
        )
    if record.untested_from_iteration is not None:
        yield f"      nodes were not looked at from iteration {record.untested_from_iteration} on"


def _result_time_text(result: OutOfRangeResult) -> str:
    entry = f" (entered in iteration {'/'.join(map(str, result.entry))})" if result.entry else ""
    return "before the loop" if result.iteration is None else f"iteration {result.iteration}{entry}"


def _saturation_lines(values: Sequence[Saturation], sides: tuple[str, str]) -> Iterator[str]:
    """Saturation of quantised values, least headroom first."""
    clipped = [(s.side, s.first_saturated) for s in values if s.first_saturated is not None]
    for side, result in sorted(clipped, key=lambda item: (item[1].entry, item[1].iteration or 0))[:1]:
        location = "main graph" if result.iteration is None else _result_time_text(result)
        yield (
            f"      first saturated in {sides[side]}: {location}, {result.op_type} "
            f"'{result.node}', {result.count} of {count_text(result.size, 'element')}"
        )
    for s in sorted(values, key=lambda s: s.headroom)[:_MAX_LISTED]:
        time_text = "" if s.iteration is None else f" in iteration {s.iteration}"
        yield (
            f"      {s.op_type} '{s.node}' holds {s.low:.4g} to {s.high:.4g} in"
            f" {s.dtype}: got {s.largest:.4g}{time_text}, headroom {_number_text(s.headroom)}x"
        )
    if len(values) > _MAX_LISTED:
        yield f"      ... and {len(values) - _MAX_LISTED} more that quantise, with more headroom"


def _end_text(loop: LoopFindings, mode: str) -> str:
    """The end of both sides, if they ended alike."""
    if loop.trips is not None or not loop.completed_entries:
        return ""
    if loop.completed_entries > 1:
        return f", each of its {loop.completed_entries} entries as long on both sides"
    # The peer does not report why it stopped.
    cause = f" by {loop_end_cause(loop.stopped_by)}" if loop.stopped_by is not None and mode == "streams" else ""
    return f", both ended{cause} after {count_text(loop.left_trips or 0, 'iteration')}"


def _trip_count_lines(loop: LoopFindings, sides: tuple[str, str], mode: str) -> Iterator[str]:
    trips = loop.trips
    assert trips is not None
    entry = f" of the entry in iteration {'/'.join(map(str, trips.entry))}" if trips.entry else ""
    counts = []
    for side, count, ended in ((sides[0], trips.left, trips.left_ended), (sides[1], trips.right, trips.right_ended)):
        cause = f" (ended by {loop_end_cause(ended)})" if ended is not None else ""
        counts.append(f"{side} {count}{cause}")
    suffix = f"; {trips.entries} entries differ in it" if trips.entries > 1 else ""
    yield f"      iterations{entry}: {', '.join(counts)}{suffix}"
    if trips.explanation:
        yield f"        {trips.explanation}"
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
    peak = max(points, key=lambda point: point.absolute)
    parts.append(f"largest {_number_text(peak.absolute)} in iteration {peak.first}")
    if growth.factor is not None:
        parts.append(f"× {growth.factor:.3g} an iteration")
    yield f"      growth {_sparkline([point.absolute for point in points])}  {', '.join(parts)}"


def _sparkline(values: Sequence[float]) -> str:
    """Bars of logarithmic height; a dot for no difference."""
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
        prefix = "first difference: " if comparison.first is None else ""
        yield (f"    {prefix}main graph, {'value' if first.role == 'result' else first.role} '{first.name}'")
        yield from _cause_lines(comparison.cause, first, (left, right))
    for difference in comparison.outputs[:_MAX_LISTED]:
        role = "main graph, value" if difference.role == "result" else difference.role
        yield f"    {role} '{difference.name}': {delta_text(difference)}"
        if difference.delta.kind != "dtype":
            yield f"      {left}: {value_text(difference.left, _VALUE_CHARS)}"
            yield f"      {right}: {value_text(difference.right, _VALUE_CHARS)}"
            reordering = describe_reordering(difference.left, difference.right)
            if reordering:
                yield f"      {reordering}"
    rest = len(comparison.outputs) - _MAX_LISTED
    if rest > 0:
        yield f"    ... and {rest} more of {comparison.compared_outputs} outputs"


def _reason_lines(reasons: Sequence[DivergenceReason], indent: str) -> Iterator[str]:
    for reason in reasons:
        label = f"rule {reason.rule}" if reason.rule else ""
        yield f"{indent}{': '.join(filter(None, (label, reason.text)))}"
