"""A comparison for a person: the first screen tells whether it is the same, and where not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Iterator, Sequence

import numpy as np

from ...runtime.graph import MAIN
from ...runtime.text import counted, printable
from ..text import NOT_FINITE, number_text, scalar_text, value_text
from ..words.endings import stopper
from .findings import (
    Cause,
    Comparison,
    Difference,
    LoopFindings,
    NodeDifference,
    OutOfRange,
    Reach,
    Reason,
    Saturation,
    Written,
)
from .growth import Growth
from .live import Live
from .values import Tolerance, compare

_WIDTH = 72
_SPARK = 48
_FAILURE = 300
_BARS = "▁▂▃▄▅▆▇█"
_MODES = {"lockstep": "iteration by iteration", "free": "free-running"}
#: Differing outputs, and iterations of a table, that are listed.
_LISTED = 8


def lines(found: Comparison | Live) -> Iterator[str]:
    """All of it."""
    comparisons = found.comparisons if isinstance(found, Live) else [found]
    names = comparisons[0].left, comparisons[0].right
    right = f"{found.peer} {found.version}".strip() if isinstance(found, Live) else names[1]
    yield f"{found.verdict.value}: {printable(names[0])} and {printable(right)}"
    if isinstance(found, Live) and found.configuration:
        yield f"  {found.peer}: {', '.join(f'{name}={value}' for name, value in found.configuration.items())}"
    for comparison in comparisons:
        yield from _comparison(comparison)
    yield from (f"  note: {printable(note)}" for note in notes(comparisons))


def notes(comparisons: Sequence[Comparison]) -> list[str]:
    """What else there is to say, each thing once."""
    return list(dict.fromkeys(note for comparison in comparisons for note in comparison.notes))


def _comparison(comparison: Comparison) -> Iterator[str]:
    mode = _MODES.get(comparison.mode)
    if mode:
        yield f"  {mode}: {'nothing compared' if _is_silent(comparison) else comparison.verdict.value}"
    for failure in comparison.failures:
        yield f"    {comparison.right} {failure.what}: {printable(failure.where)}"
        yield f"      {printable(failure.text[:_FAILURE])}"
        yield from _reasons(failure.reasons, "      ")
    yield from _written(comparison, _sides(comparison))
    if comparison.unstable is not None:
        yield from _unstable(comparison.unstable, comparison.right)
    first = comparison.first
    if first is not None and first.first is not None:
        yield from _first(first, first.first, _sides(comparison))
    for loop in comparison.loops:
        yield from _loop(loop, _sides(comparison), loop is first, comparison.mode)
    if comparison.quantised:
        yield "    main graph:"
        yield from _quantised(comparison.quantised, _sides(comparison))
    yield from _outputs(comparison)
    yield from _reasons(_told_nowhere(comparison), "    ")


def _is_silent(comparison: Comparison) -> bool:
    return comparison.empty and not comparison.failures


def _sides(comparison: Comparison) -> tuple[str, str]:
    if comparison.mode in ("streams", "reference"):
        return comparison.left, comparison.right
    return "loopdbg", comparison.right


def _unstable(found: Difference, peer: str) -> Iterator[str]:
    """Two runs of a peer on the same inputs."""
    where = "" if not found.loop else f" of {_place(found)}"
    yield f"    {printable(peer)} gives something else each time it runs: {_role(found)}{where}"
    yield from _pair(found, ("once", "again"), "      ")


# -- what differs before anything runs


def _written(comparison: Comparison, sides: tuple[str, str]) -> Iterator[str]:
    if not comparison.written:
        return
    yield "    written otherwise:"
    for one in comparison.written[:_LISTED]:
        yield f"      {written_text(one)}"
        if one.code:
            yield f"        {one.code}"
        if one.delta is None:
            wide = max(map(len, sides))
            for side, text in zip(sides, (one.left_text, one.right_text), strict=True):
                yield f"        {printable(side):<{wide}}  {printable(text)}"
        else:
            difference = Difference(one.kind, one.name, one.other, one.delta, left=one.left, right=one.right)
            yield from _pair(difference, sides, "        ")
            if one.likeness:
                yield f"        {one.likeness}"
    more = len(comparison.written) - _LISTED
    if more > 0:
        yield f"      ... and {more} more"


def written_text(one: Written) -> str:
    """What is written otherwise, and where."""
    where = "main graph" if one.place == MAIN else f"loop '{one.place}'"
    name = f" '{one.name}'" if one.name else ""
    deciding = ", which the condition depends on" if one.deciding and one.name else ""
    return printable(f"{where}: {one.kind}{name}{deciding}")


# -- the first difference


def _first(loop: LoopFindings, first: Difference, sides: tuple[str, str]) -> Iterator[str]:
    yield f"    first difference: {_place(first)}, {_role(first)}"
    told = yield from _cause(loop.cause, first, sides)
    if not told:
        yield from _pair(first, sides, "      ")


def _cause(cause: Cause | None, first: Difference, sides: tuple[str, str]) -> Generator[str, None, bool]:
    """Where a difference comes from; whether that told its values."""
    if cause is None:
        return False
    if cause.source is not None:
        yield from _source(cause.source, cause, first, sides)
    if cause.node is not None:
        yield from _blamed(cause.node, cause.remark, first, sides)
        return _same_pair(cause.node.difference, first)
    if cause.source is not None:
        return _same_pair(cause.source, first)
    yield f"      {printable(cause.remark)}"
    return False


def _blamed(node: NodeDifference, remark: str, first: Difference, sides: tuple[str, str]) -> Iterator[str]:
    what = f"{node.op_type} '{node.node}'"
    if node.other_op_type != node.op_type:
        what += f", in its place in {sides[1]} {node.other_op_type} '{node.other}'"
    yield f"      first node that differs: {printable(what)}{_at_another(node.difference, first)}"
    yield from (f"        {code}" for code in dict.fromkeys((node.code, node.other_code)) if code)
    if remark:
        yield f"        {printable(remark)}"
    for name, value in node.inputs:
        yield f"        {printable(name)} = {value_text(value, _WIDTH)}"
    yield from _pair(node.difference, sides, "        ")


def _source(source: Difference, cause: Cause, first: Difference, sides: tuple[str, str]) -> Iterator[str]:
    known = source.role != "result"
    what = f"it comes from the {source.role} " if known else "it can be followed back to "
    yield f"      {what}'{printable(source.name)}'{_at_another(source, first)}"
    if cause.code:
        yield f"        read by {cause.code}"
    if cause.node is not None:
        return  # what the node made is told with it, and stands for what came of it
    yield from _pair(source, sides, "        ")
    if cause.remark:
        yield f"        {printable(cause.remark)}"


def _at_another(found: Difference, first: Difference) -> str:
    """When something was, where that is not when the difference was first found."""
    return f", {_when(found)}" if found.iteration != first.iteration else ""


def _same_pair(one: Difference, other: Difference) -> bool:
    """Whether two differences are of the same values, which need not be told twice."""
    pairs = ((one.left, other.left), (one.right, other.right))
    return all(not compare(a, b, Tolerance(0.0, 0.0)).kind for a, b in pairs)


def _place(difference: Difference) -> str:
    entry = f" (entered in iteration {'/'.join(map(str, difference.entry))})" if difference.entry else ""
    return f"loop '{printable(difference.loop)}'{entry}, {_when(difference)}"


def _when(difference: Difference) -> str:
    return "before iteration 0" if difference.iteration is None else f"iteration {difference.iteration}"


def _role(difference: Difference) -> str:
    words = {"carried": "carried value", "scan": "scan output", "condition": "condition", "result": "body result"}
    name = f"'{printable(difference.name)}'"
    if difference.other != difference.name and difference.role in ("carried", "scan"):
        name += f" ('{printable(difference.other)}')"
    return f"{words.get(difference.role, difference.role)} {name}"


def _pair(difference: Difference, sides: tuple[str, str], indent: str) -> Iterator[str]:
    wide = max(map(len, sides))
    names = difference.name, difference.other
    for side, name, value in zip(sides, names, (difference.left, difference.right), strict=True):
        yield f"{indent}{printable(side):<{wide}}  {printable(name)} = {value_text(value, _WIDTH)}"
    yield f"{indent}{delta_text(difference)}"
    if difference.maker or difference.source:
        maker = f" by {difference.maker}" if difference.maker else ""
        place = f" at {difference.source}" if difference.source else ""
        yield f"{indent}{printable(f'{sides[1]} has it{maker}{place}')}"


def delta_text(difference: Difference) -> str:
    """How two values differ, in one line."""
    delta = difference.delta
    if not delta.kind:
        return f"difference {_short(delta.absolute)}, within the tolerance"
    if delta.kind != "value":
        what = {"kind": "not the same kind", "length": "lengths"}.get(delta.kind, f"{delta.kind}s")
        return f"{what}: {delta.text}"
    if delta.left is None or isinstance(delta.left, str | bytes) or np.asarray(delta.left).dtype == bool:
        where = f"{delta.count} of {delta.size} elements differ" if delta.size > 1 else "not the same"
        return where
    where = f"{delta.count} of {delta.size} elements differ, most at {list(delta.index)}: " if delta.size > 1 else ""
    pair = f"{scalar_text(delta.left)} and {scalar_text(delta.right)}, " if where else ""
    absolute, ratio = delta.at_index
    relative = f", relative {_short(ratio)}" if ratio < math.inf else ""
    step = f", a step of {_short(difference.step)}" if difference.within_step else ""
    return f"{where}{pair}difference {_short(absolute)}{relative}{step}"


def _short(number: float) -> str:
    return number_text(number) if math.isfinite(number) else "inf"


# -- a loop


def _loop(loop: LoopFindings, sides: tuple[str, str], told: bool, mode: str) -> Iterator[str]:
    name = f"'{printable(loop.left)}'"
    if loop.matched not in ("path", "name") or loop.left != loop.right:
        name += f" and '{printable(loop.right)}' (matched by {loop.matched})"
    iterations = f"{counted(loop.count, 'value')} of {counted(loop.iterations, 'iteration')} compared"
    how = f"largest difference {_short(loop.growth.largest)}"
    if loop.differing:
        how = counted(loop.differing, "iteration differs", "iterations differ")
    yield f"    {name}: {iterations}, {how}{_end_text(loop, mode)}"
    if loop.unmatched and loop.trips is None:
        yield f"      {counted(loop.unmatched, 'boundary is', 'boundaries are')} on one side alone"
    pairs = [f"{printable(a)} and {printable(b)} ({how})" for a, b, how in loop.values]
    if pairs:
        yield f"      matched: {', '.join(pairs)}"
    for side, alone in zip(sides, (loop.only_left, loop.only_right), strict=True):
        if alone:
            yield f"      only in {printable(side)}: {', '.join(map(printable, alone))}"
    if loop.unended is not None:
        yield f"      not compared to its end: a run was over after {counted(loop.unended, 'iteration')}"
    if loop.trips is not None:
        yield from _trips(loop, sides, mode)
    yield from _ranges(loop, sides)
    if loop.reach is not None:
        yield from _reach(loop.reach, sides)
    yield from _quantised(loop.quantised, sides)
    if loop.first is not None:
        if not told:
            yield f"      first difference: {_place(loop.first)}, {_role(loop.first)}"
            yield f"        {delta_text(loop.first)}"
        yield from _growth(loop.growth)


def _ranges(loop: LoopFindings, sides: tuple[str, str]) -> Iterator[str]:
    """Of values of two types: what their narrower type holds, and how much of that they use."""
    for one in loop.ranges[:_LISTED]:
        narrow = one.dtypes[one.side]
        told = f"'{printable(one.name)}' is {one.dtypes[0]} and {one.dtypes[1]}: "
        told += f"largest {one.largest:.6g} of the {one.limit:.6g} that {narrow} holds"
        if one.largest:
            told += f", headroom {_short(one.headroom)}x"
        if one.infinite is not None:
            at = "before iteration 0" if one.infinite < 0 else f"in iteration {one.infinite}"
            told += f"; first Inf or NaN {at}"
        yield f"      {told}"


def _reach(reach: Reach, sides: tuple[str, str]) -> Iterator[str]:
    """How far a body reaches into the narrower type, whatever of that is carried."""
    side = printable(sides[reach.side])
    if reach.largest:
        when = "before the loop" if reach.at is None else f"in iteration {reach.at}"
        where = f"{reach.op_type} '{printable(reach.node)}' {when}"
        yield (
            f"      nodes of {side}: largest {reach.largest:.6g} of the {reach.limit:.6g} that {reach.dtype} holds, "
            f"{where}, headroom {_short(reach.headroom)}x"
        )
    found = reach.infinite
    if found is not None:
        node = f"{found.op_type} '{printable(found.node)}'"
        yield (
            f"      first Inf or NaN in {side} alone: {_out_of_range(found)}, {node}, {found.count} of "
            f"{counted(found.size, 'element')}"
        )
    if reach.until is not None:
        yield f"      nodes were not looked at from iteration {reach.until} on"


def _out_of_range(found: OutOfRange) -> str:
    entry = f" (entered in iteration {'/'.join(map(str, found.entry))})" if found.entry else ""
    return "before the loop" if found.iteration is None else f"iteration {found.iteration}{entry}"


def _quantised(found: Sequence[Saturation], sides: tuple[str, str]) -> Iterator[str]:
    """What is quantised, and what of that is cut off, those with the least headroom first."""
    first = min((one for one in found if one.first is not None), key=_when_cut_off, default=None)
    if first is not None and first.first is not None:
        at = first.first
        where = "main graph" if at.iteration is None else _out_of_range(at)
        yield (
            f"      first saturated in {printable(sides[first.side])}: {where}, {at.op_type} "
            f"'{printable(at.node)}', {at.count} of {counted(at.size, 'element')}"
        )
    for one in sorted(found, key=lambda one: one.headroom)[:_LISTED]:
        when = "" if one.at is None else f" in iteration {one.at}"
        yield (
            f"      {one.op_type} '{printable(one.node)}' holds {one.low:.4g} to {one.high:.4g} in {one.dtype}: got "
            f"{one.largest:.4g}{when}, headroom {_short(one.headroom)}x"
        )
    if len(found) > _LISTED:
        yield f"      ... and {len(found) - _LISTED} more that quantise, with more headroom"


def _when_cut_off(one: Saturation) -> tuple[tuple[int, ...], int]:
    return (one.first.entry, one.first.iteration or 0) if one.first is not None else ((), 0)


def _end_text(loop: LoopFindings, mode: str) -> str:
    """How both sides ended, where they did alike."""
    if loop.trips is not None or not loop.entries:
        return ""
    if loop.entries > 1:
        return f", each of its {loop.entries} entries as long on both sides"
    # What a peer ended by it does not say.
    why = f" by {stopper(loop.ended)}" if loop.ended is not None and mode == "streams" else ""
    return f", both ended{why} after {counted(loop.left_trips or 0, 'iteration')}"


def _trips(loop: LoopFindings, sides: tuple[str, str], mode: str) -> Iterator[str]:
    trips = loop.trips
    assert trips is not None
    entry = f" of the entry in iteration {'/'.join(map(str, trips.entry))}" if trips.entry else ""
    told = []
    for side, count, ended in ((sides[0], trips.left, trips.left_ended), (sides[1], trips.right, trips.right_ended)):
        why = f" (ended by {stopper(ended)})" if ended is not None else ""
        told.append(f"{printable(side)} {count}{why}")
    more = f"; {trips.entries} entries differ in it" if trips.entries > 1 else ""
    yield f"      iterations{entry}: {', '.join(told)}{more}"
    if trips.because:
        yield f"        {printable(trips.because)}"
    if trips.reasons:
        yield from _reasons(trips.reasons, "        ")
    elif not trips.because and mode in _MODES:
        yield "        no rule predicts it"


def _growth(growth: Growth) -> Iterator[str]:
    points = growth.points
    if len(points) < 2:
        return
    parts = []
    if growth.first_beyond is not None:
        parts.append(f"beyond the tolerance from iteration {growth.first_beyond} on")
    top = max(points, key=lambda point: point.absolute)
    parts.append(f"largest {_short(top.absolute)} in iteration {top.first}")
    if growth.factor is not None:
        parts.append(f"× {growth.factor:.3g} an iteration")
    yield f"      growth {_spark([point.absolute for point in points])}  {', '.join(parts)}"


def _spark(values: Sequence[float]) -> str:
    """Bars of logarithmic height; a dot where there is no difference at all."""
    if len(values) > _SPARK:
        edges = [len(values) * k // _SPARK for k in range(_SPARK + 1)]
        values = [max(values[a:b]) for a, b in itertools.pairwise(edges)]
    logs = [math.log10(v) for v in values if v > 0 and math.isfinite(v)]
    low, high = (min(logs), max(logs)) if logs else (0.0, 0.0)
    cells = []
    for value in values:
        if value <= 0:
            cells.append("·")
        elif not math.isfinite(value):
            cells.append(NOT_FINITE)
        else:
            part = (math.log10(value) - low) / (high - low) if high > low else 1.0
            cells.append(_BARS[round(part * (len(_BARS) - 1))])
    return "".join(cells)


# -- outputs and reasons


def _outputs(comparison: Comparison) -> Iterator[str]:
    if not (comparison.compared_outputs or comparison.compared_values):
        return
    if not comparison.outputs:
        outputs, others = comparison.compared_outputs, comparison.compared_values
        values = counted(others, "value of the main graph", "values of the main graph")
        yield f"    {' and '.join([counted(outputs, 'output')] * bool(outputs) + [values] * bool(others))} the same"
        return
    left, right = _sides(comparison)
    first = comparison.first_output
    if first is not None and comparison.cause is not None:
        begin = "first difference: " if comparison.first is None else ""
        yield f"    {begin}main graph, {'value' if first.role == 'result' else first.role} '{printable(first.name)}'"
        yield from _cause(comparison.cause, first, (left, right))
    for difference in comparison.outputs[:_LISTED]:
        what = "main graph, value" if difference.role == "result" else difference.role
        yield f"    {what} '{printable(difference.name)}': {delta_text(difference)}"
        if difference.delta.kind != "dtype":
            yield f"      {printable(left)}: {value_text(difference.left, _WIDTH)}"
            yield f"      {printable(right)}: {value_text(difference.right, _WIDTH)}"
    more = len(comparison.outputs) - _LISTED
    if more > 0:
        yield f"    ... and {more} more of {comparison.compared_outputs} outputs"


def _told_nowhere(comparison: Comparison) -> list[Reason]:
    told = [reason for loop in comparison.loops if loop.trips for reason in loop.trips.reasons]
    rules = {reason.rule for reason in told}
    return [reason for reason in comparison.reasons if reason.rule not in rules]


def _reasons(reasons: Sequence[Reason], indent: str) -> Iterator[str]:
    for reason in reasons:
        text = f"rule {reason.rule}: {reason.text}" if reason.text else f"rule {reason.rule}"
        yield f"{indent}{printable(text)}"
