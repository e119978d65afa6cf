"""What commands print: frames, stacks, breakpoints, branches and values as lines of text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..runtime.errors import UsageError
from ..runtime.frame import Frame
from .boundary import Boundary
from .breakpoints import Breakpoint
from .session import Session
from .text import printable, value_text
from .timeline import Branch

_WIDTH = 60


def frame_lines(frame: Frame) -> list[str]:
    """A frame: where it is, what each back edge carries, the condition, what the scan outputs have."""
    if frame.loop is None:
        return [f"{printable(frame.path)} (no loop is running)"]
    limit = "no trip count" if frame.trip_count is None else f"trip count {frame.trip_count}"
    told = [f"{printable(frame.path)}, iteration {frame.iteration} ({limit})"]
    if frame.condition is not None:
        told[0] += f", condition {str(frame.condition).lower()}"
    if frame.stopped_by is not None:
        told[0] += f", ended by {frame.stopped_by.value.replace('_', ' ')}"
    edges = frame.back_edges
    width = max((len(printable(edge.param)) for edge in edges), default=0)
    for edge in edges:
        now = value_text(edge.value, _WIDTH) if edge.ready else "·"
        before = "" if edge.previous is None else f"{value_text(edge.previous, _WIDTH)} → "
        told.append(f"  {printable(edge.param):<{width}}  {before}{now}")
    for k, port in enumerate(frame.loop.scan_outputs):
        count, shape, dtype, tail = frame.scan_tail(k, 1)
        last = f", last {value_text(tail[-1], _WIDTH)}" if tail else ""
        told.append(f"  {printable(port.outer.name)}: {dtype} {list(shape)}, {count} so far{last}")
    return told


def stack_lines(session: Session, selected: int = 0) -> list[str]:
    """The running loops and the Ifs that were taken on the way, innermost first."""
    told = []
    position = session.position
    # What runs next in each frame: the loop inside it, or the instruction that the session stands at.
    running = [*position[0:-1:2], position[-1]]
    for number, (frame, pc) in enumerate(zip(reversed(session.frames), reversed(running), strict=True)):
        for node, branch in session.places.ifs(pc) if not frame.at_boundary else ():
            told.append(f"     If '{printable(node.name)}' ({branch})")
        where = "main" if frame.loop is None else f"{frame.loop.op_type} '{printable(frame.name)}'"
        count = "" if frame.loop is None else f", iteration {frame.iteration}"
        told.append(f"{'▸' if number == selected else ' '} #{number} {where}{count}")
    return told


def breakpoint_lines(breakpoints: Iterable[Breakpoint], session: Session) -> list[str]:
    """One line a breakpoint, and one for each of its commands."""
    told = []
    for one in breakpoints:
        loops = {session.places.loops[k].loop.name for k in one.loops}
        where = f"  in {', '.join(sorted(loops))}" if loops and len(loops) < len(session.places.loops) else ""
        parts = [f"{one.word} {one.number}: {one.text}{where}"]
        if one.condition is not None and " if " not in one.text:
            parts.append(f"if {one.condition.text}")
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


def loop_lines(session: Session) -> list[str]:
    """How often each loop ran so far."""
    told = []
    for total in session.totals:
        ended = "" if total.stopped_by is None else f", last stopped by {total.stopped_by.value.replace('_', ' ')}"
        entries = f" in {total.entries} entries" if total.entries > 1 else ""
        told.append(f"{printable(total.path)}: {total.iterations} iterations{entries}{ended}")
    return told or ["the model has no loop"]


def branch_lines(session: Session) -> list[str]:
    """One line a branch: where it began, and what was set there."""
    told = []
    for branch in session.branches:
        mark = "▸" if branch is session.branch else " "
        began = "the run" if branch.parent is None else f"from {branch.parent.number} {_at(session, branch)}"
        edits = f": {', '.join(branch.edits)}" if branch.edits else ""
        told.append(f"{mark} {branch.number} {began}{edits}")
    return told


def _at(session: Session, branch: Branch) -> str:
    assert branch.fork is not None
    pairs = branch.fork[:-1]
    code = session.model.plan.code
    loops = [f"iteration {pairs[k + 1]} of '{_name(code[pairs[k]].node)}'" for k in range(0, len(pairs), 2)]
    return f"at {', '.join(loops)}" if loops else "before the loops"


def _name(node: Any) -> str:
    return printable(node.name)


def history_lines(session: Session) -> list[str]:
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
    statistics = f"  {value_text(array, 80)}" if array.size > 8 and array.dtype.kind in "biufc" else ""
    return [f"{kind}{statistics}", *text.splitlines()[:40]]


def compare_lines(session: Session, number: int) -> list[str]:
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
                    f"  {printable(name)}  {first.number}: {value_text(value, _WIDTH)}   "
                    f"{second.number}: {value_text(other.carried.get(name), _WIDTH)}",
                ]
        if one.ended != other.ended:
            ends = first if one.ended else second
            return [f"branch {ends.number} ends at iteration {one.iteration}, the other goes on with equal values"]
    return [f"branches {first.number} and {second.number} are equal over {compared} boundaries"]


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b, strict=True))
    return a is b or bool(np.array_equal(a, b))
