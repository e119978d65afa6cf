"""What commands print: frames, stacks, breakpoints, branches and values as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ...runtime.errors import UsageError
from ...runtime.frame import BodyNode, NodeState
from ..breakpoints.collection import Breakpoint, Kind
from ..expression.language import show
from ..frame import AnyFrame
from ..session.boundary import Boundary
from ..session.branches import Branch
from ..session.debuggee import Debuggee
from ..text import printable, value_text
from ..values.scope import FrameScope
from ..words.endings import given_trip_count
from ..words.moments import when, whose
from ..words.names import quote, scan_names

_WIDTH = 60
#: A breakpoint at more lines than this tells only how many there are.
_LINES = 6


def frame_lines(frame: AnyFrame) -> list[str]:
    """A frame: where it is, what each back edge carries, the condition, what the scan outputs have."""
    if frame.loop is None:
        return [f"{printable(frame.path)}: the graph around the loops"]
    trips = given_trip_count(frame)
    limit = "no trip count" if trips is None else f"trip count {trips}"
    told = [f"{printable(frame.path)}, {when(frame)} ({limit})"]
    if frame.condition is not None:
        told[0] += f", condition {str(frame.condition).lower()}"
    if frame.stopped_by is not None:
        told[0] += f", ended by {frame.stopped_by.value.replace('_', ' ')}"
    edges = frame.back_edges
    width = max((len(quote(edge.param)) for edge in edges), default=0)
    if edges:
        told.append(f"  carried: {' → '.join(words for words in whose(frame) if words)}")
    for edge in edges:
        now = value_text(edge.value, _WIDTH) if edge.ready else "·"
        before = "" if edge.previous is None else f"{value_text(edge.previous, _WIDTH)} → "
        told.append(f"  {quote(edge.param):<{width}}  {before}{now}")
    for k, name in enumerate(scan_names(frame.loop)):
        count, shape, dtype, tail = frame.scan_tail(k, 1)
        last = f", last {value_text(tail[-1], _WIDTH)}" if tail else ""
        told.append(f"  {quote(name)}: {dtype} {list(shape)}, {count} so far{last}")
    return told


def stack_lines(session: Debuggee, selected: int = 0) -> list[str]:
    """The running loops and the Ifs that were taken on the way, innermost first."""
    told = []
    for number, frame in enumerate(reversed(session.frames)):
        for one in _ifs(frame.nodes) if not frame.at_boundary else ():
            told.append(f"     If '{printable(one[0].node.name)}' ({one[1]})")
        where = "main" if frame.loop is None else f"{frame.loop.op_type} '{printable(frame.name)}'"
        count = "" if frame.loop is None else f", iteration {frame.iteration}"
        told.append(f"{'▸' if number == selected else ' '} #{number} {where}{count}")
    return told


def _ifs(nodes: Sequence[BodyNode]) -> Iterator[tuple[BodyNode, str]]:
    """The Ifs in whose branches the node stands that runs next, with the branch, innermost first."""
    inside = next((k for k, entry in enumerate(nodes) if entry.state is NodeState.NEXT), None)
    if inside is None:
        return
    for k in reversed(range(inside)):
        # The nodes of an If's branches stand after it, one level deeper.
        if nodes[k].depth == nodes[inside].depth - 1:
            yield nodes[k], nodes[inside].branch
            inside = k


def breakpoint_lines(breakpoints: Iterable[Breakpoint], session: Debuggee) -> list[str]:
    """One line a breakpoint, and one for each of its commands."""
    told = []
    for one in breakpoints:
        parts = [f"{one.word} {one.number}: {one.title}", *_places(one, session)]
        if one.log is not None:
            parts.append(f"prints '{one.log}'")
        if one.temporary:
            parts.append("once")
        if not one.enabled:
            parts.append("disabled")
        if one.hits:
            parts.append(f"hit {one.hits} time{'' if one.hits == 1 else 's'}")
        if one.ignore:
            parts.append(f"passes {one.ignore} more")
        if session.is_slow(one):
            parts.append("slow: tested in Python at every boundary")
        told.append(", ".join(parts))
        told += [f"    {line}" for line in one.commands]
    return told


def _places(one: Breakpoint, session: Debuggee) -> list[str]:
    """The lines that a breakpoint stops before, or the loop that it is about, where its text does not say so."""
    places = session.places
    if one.nodes:
        found = {places.source.line_of(node) for node in one.nodes}
        numbers = sorted(line.number for line in found if line is not None)
        if not numbers or one.text in (f"line {numbers[0]}", str(numbers[0])):
            told = []
        elif len(numbers) > _LINES:
            told = [f"{len(numbers)} lines"]
        else:
            told = [f"line{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"]
        # What runs before the first loop has run when a session begins.
        if all(map(places.before_loops, one.nodes)):
            told.append("never: a session begins after it")
        return told
    if one.in_main:
        return ["the main graph, once"]
    if one.kind is Kind.BOUNDARY:
        lines = [places.source.line_of(places.loops[k].loop) for k in one.loops]
        told = [f"line {line.number}" for line in lines if line is not None and one.text != f"line {line.number}"]
        return [*told, "every boundary"]
    loops = {places.loops[k].loop.name for k in one.loops}
    if len(loops) == 1 and len(places.loops) > 1 and " in " not in one.text:
        return [f"loop '{printable(loops.pop())}'"]
    return []


def next_line(session: Debuggee) -> list[str]:
    """The line of the pseudo-code that runs next, where a session stands inside of a body."""
    if session.done or session.at_boundary():
        return []
    node = next((entry.node for entry in session.frame.nodes if entry.state is NodeState.NEXT), None)
    line = None if node is None else session.places.source.line_of(node)
    return [] if line is None else [f"▶ {line.number:>3}  {line.text}"]


def values_lines(frame: AnyFrame) -> list[str]:
    """Every value that a frame shows, by name."""
    values, told, scope = frame.values, [], FrameScope(frame)
    for name, value in sorted(frame.scope().items()):
        there, content = values.read(value)
        if there:
            told.append(f"{quote(name)} = {show(content, 80)}{scope.remark([name])}")
    return told or ["nothing has a value yet"]


def loop_lines(session: Debuggee) -> list[str]:
    """How often each loop ran so far."""
    told = []
    for total in session.totals:
        ended = "" if total.stopped_by is None else f", last stopped by {total.stopped_by.value.replace('_', ' ')}"
        entries = f" in {total.entries} entries" if total.entries > 1 else ""
        many = "" if total.iterations == 1 else "s"
        told.append(f"{printable(total.path)}: {total.iterations} iteration{many}{entries}{ended}")
    return told or ["the model has no loop"]


def branch_lines(session: Debuggee) -> list[str]:
    """One line a branch: where it began, and what was set there."""
    told = []
    for branch in session.branches:
        mark = "▸" if branch is session.branch else " "
        began = "the run" if branch.parent is None else f"from {branch.parent.number} {_at(session, branch)}"
        edits = f": {', '.join(branch.edits)}" if branch.edits else ""
        told.append(f"{mark} {branch.number} {began}{edits}")
    return told


def _at(session: Debuggee, branch: Branch) -> str:
    assert branch.fork is not None
    pairs = branch.fork[:-1]
    code = session.model.plan.code
    loops = [f"iteration {pairs[k + 1]} of '{_name(code[pairs[k]].node)}'" for k in range(0, len(pairs), 2)]
    return f"at {', '.join(loops)}" if loops else "before the loops"


def _name(node: Any) -> str:
    return printable(node.name)


def history_lines(session: Debuggee) -> list[str]:
    """How many checkpoints there are, and what they take."""
    timeline = session.timeline
    return [
        f"{len(timeline)} checkpoints, {size(timeline.nbytes)} of {size(timeline.limit)}, on "
        f"{len(timeline.branches)} branch{'' if len(timeline.branches) == 1 else 'es'}"
    ]


def size(nbytes: int) -> str:
    """Bytes for a person: ``3.1 KB``, ``512 MB``."""
    amount = float(nbytes)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1024 or unit == "GB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if amount >= 100 or unit == "B" else f"{amount:.3g} {unit}"


def value_lines(value: Any) -> list[str]:
    """A value in full where that is short, else its type, statistics and corners."""
    if isinstance(value, list):
        return [f"sequence of {len(value)}", *(f"  [{k}] {value_text(x, 100)}" for k, x in enumerate(value[:8]))]
    array = np.asarray(value) if value is not None and not isinstance(value, str) else None
    if array is None or array.ndim == 0:
        return [value_text(value, 200)]
    kind = f"{'string' if array.dtype.hasobject else array.dtype.name} {list(array.shape)}"
    if array.size <= 1:
        return [f"{kind}  {value_text(array, 200)}"]
    text = np.array2string(array, max_line_width=110, threshold=100, edgeitems=3)
    summary = value_text(array, 0)
    statistics = f"  {summary}" if array.size > 8 and array.dtype.kind in "biufc" else ""
    return [f"{kind}{statistics}", *text.splitlines()[:40]]


def compare_lines(session: Debuggee, number: int) -> list[str]:
    """Where another branch (0: the one that this came from) and the current one first differ."""
    here = session.branch
    other = session.timeline.numbered(number) if number else here.parent
    if other is None or other is here:
        raise UsageError("compare needs another branch; branch lists them")
    return _difference_lines(other, here, session.side_by_side(other, here))


def _difference_lines(first: Branch, second: Branch, pairs: Iterable[tuple[Boundary, Boundary]]) -> list[str]:
    """Where two branches, run over the same boundaries, first carry something else."""
    compared = 0
    for one, other in pairs:
        compared += 1
        for name, value in one.carried.items():
            if not _equal(value, other.carried.get(name)):
                around = f" (entry {', '.join(map(str, one.entry))})" if one.entry else ""
                return [
                    f"branches {first.number} and {second.number} first differ in iteration {one.iteration} of "
                    f"'{printable(one.loop.split(' ▸ ')[-1])}'{around}:",
                    f"  {quote(name)}  {first.number}: {value_text(value, _WIDTH)}   "
                    f"{second.number}: {value_text(other.carried.get(name), _WIDTH)}",
                ]
        if one.ended != other.ended:
            ends = first if one.ended else second
            return [f"branch {ends.number} ends at iteration {one.iteration}, the other goes on with equal values"]
    if compared == 0:
        return [f"branches {first.number} and {second.number} came to no boundary of a loop since they parted"]
    many = "boundary" if compared == 1 else "boundaries"
    return [f"branches {first.number} and {second.number} are equal over {compared} {many}"]


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b, strict=True))
    return a is b or bool(np.array_equal(a, b))
