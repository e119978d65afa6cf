"""Text output of commands: frames, stacks, breakpoints, branches and values."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ....runtime.frame import BodyNode, NodeState
from ....runtime.text import count_text, escape_unprintable, plural, size_text
from ...breakpoints.collection import Breakpoint, Trigger
from ...describe.frame_text import back_edge_labels, declared_trip_count, no_limit_reason, position_text
from ...describe.termination import loop_end_cause
from ...describe.value_names import display_name, quote, scan_names, short_name_rows, short_names
from ...describe.vocabulary.glossary import glossary, glossary_entry
from ...expression.expression import format_value
from ...frame_protocol import FrameReader
from ...scope.frame_scope import FrameScope
from ...session.session import Session
from ...session.timeline import Branch
from ...value_text import value_text
from .command_registry import ALIASES, COMMANDS, ConsoleCommand, find_command

_VALUE_WIDTH_CHARS = 60
#: A breakpoint at more lines shows only their number.
_MAX_LISTED_LINES = 6


def frame_lines(frame: FrameReader) -> list[str]:
    """Lines of a frame: position, carried values, condition and scan outputs."""
    if frame.loop is None:
        return [f"{escape_unprintable(frame.path)}: the graph around the loops"]
    trips = declared_trip_count(frame)
    limit = f"trip count {trips}" if trips is not None else no_limit_reason(frame)
    lines = [f"{escape_unprintable(frame.path)}, {position_text(frame)} ({limit})"]
    if frame.condition is not None:
        lines[0] += f", condition {str(frame.condition).lower()}"
    if frame.stopped_by is not None:
        lines[0] += f", ended by {loop_end_cause(frame.stopped_by)}"
    edges = frame.back_edges
    names = [display_name(edge.param) for edge in frame.loop.back_edges]
    width = max(map(len, names), default=0)
    if edges:
        lines.append(f"  carried: {' → '.join(words for words in back_edge_labels(frame) if words)}")
    for name, edge in zip(names, edges, strict=True):
        current = value_text(edge.value, _VALUE_WIDTH_CHARS) if edge.ready else "·"
        previous = "" if edge.previous is None else f"{value_text(edge.previous, _VALUE_WIDTH_CHARS)} → "
        lines.append(f"  {name:<{width}}  {previous}{current}")
    for index, name in enumerate(scan_names(frame.loop)):
        count, shape, dtype, tail = frame.scan_tail(index, 1)
        newest = f", last {value_text(tail[-1], _VALUE_WIDTH_CHARS)}" if tail else ""
        lines.append(f"  {quote(name)}: {dtype} {list(shape)}, {count} so far{newest}")
    return lines


def stack_lines(session: Session, selected: int = 0) -> list[str]:
    """Lines of the running loops and the enclosing Ifs, innermost first."""
    lines = []
    for number, frame in enumerate(reversed(session.controller.frames)):
        for pair in _enclosing_ifs(frame.nodes) if not frame.at_boundary else ():
            lines.append(f"     If '{escape_unprintable(pair[0].node.name)}' ({pair[1]})")
        loop_text = "main" if frame.loop is None else f"{frame.loop.op_type} '{escape_unprintable(frame.name)}'"
        count = "" if frame.loop is None else f", iteration {frame.iteration}"
        lines.append(f"{'▸' if number == selected else ' '} #{number} {loop_text}{count}")
    return lines


def _enclosing_ifs(nodes: Sequence[BodyNode]) -> Iterator[tuple[BodyNode, str]]:
    """The Ifs that contain the next node, with the branch, innermost first."""
    position = next((k for k, entry in enumerate(nodes) if entry.state is NodeState.NEXT), None)
    if position is None:
        return
    for k in reversed(range(position)):
        # The nodes of an If's branches follow it, one level deeper.
        if nodes[k].depth == nodes[position].depth - 1:
            yield nodes[k], nodes[position].branch
            position = k


def breakpoint_lines(breakpoints: Iterable[Breakpoint], session: Session) -> list[str]:
    """One line per breakpoint, and one for each of its commands."""
    lines = []
    for b in breakpoints:
        parts = [f"{b.kind_name} {b.number}: {b.title}", *_location_notes(b, session)]
        if b.log is not None:
            parts.append(f"prints '{b.log}'")
        if b.temporary:
            parts.append("once")
        if not b.enabled:
            parts.append("disabled")
        if b.hits:
            parts.append(f"hit {count_text(b.hits, 'time')}")
        if b.ignore:
            parts.append(f"passes {b.ignore} more")
        if session.controller.is_tested_in_python(b):
            parts.append("slow: tested in Python at every boundary")
        lines.append(", ".join(parts))
        lines += [f"    {line}" for line in b.commands]
    return lines


def _location_notes(b: Breakpoint, session: Session) -> list[str]:
    """The lines or the loop of a breakpoint, if its text does not contain them."""
    symbols = session.controller.symbols
    if b.nodes:
        code_lines = {symbols.pseudo_code.line_of(node) for node in b.nodes}
        numbers = sorted(line.number for line in code_lines if line is not None)
        if not numbers or b.text in (f"line {numbers[0]}", str(numbers[0])):
            notes = []
        elif len(numbers) > _MAX_LISTED_LINES:
            notes = [f"{len(numbers)} lines"]
        else:
            notes = [f"{plural(len(numbers), 'line')} {', '.join(map(str, numbers))}"]
        if reason := symbols.unreachable_reason_of_all(b.nodes):
            notes.append(f"never: {reason}")
        return notes
    if b.is_in_main_graph:
        return ["the main graph, once"]
    if b.kind is Trigger.BOUNDARY:
        lines = [symbols.pseudo_code.line_of(symbols.loops[k].loop) for k in b.loops]
        notes = [f"line {line.number}" for line in lines if line is not None and b.text != f"line {line.number}"]
        return [*notes, "every boundary"]
    loops = {symbols.loops[k].loop.name for k in b.loops}
    if len(loops) == 1 and len(symbols.loops) > 1 and " in " not in b.text:
        return [f"loop '{escape_unprintable(loops.pop())}'"]
    return []


def help_lines(word: str, more: Mapping[str, ConsoleCommand]) -> list[str]:
    """Help on a command, a glossary term, or both; ``words`` lists the terms. ``more``: additional commands of this
    console.

    Raises:
        UsageError: it is neither.
    """
    if word == "words":
        return textwrap.wrap(f"words: {', '.join(glossary())}; help WORD explains one", 76)
    entry = glossary_entry(word)
    lines = [] if entry is None else textwrap.wrap(entry, 76, subsequent_indent="  ")
    if entry is not None and word not in ALIASES and word not in COMMANDS:
        return lines
    found_command = find_command(word, more)
    aliases = f"   (also: {', '.join(found_command.aliases)})" if found_command.aliases else ""
    return [f"{found_command.usage}   {found_command.summary}{aliases}", *lines]


def next_statement_lines(session: Session) -> list[str]:
    """The next line of the pseudo-code if a session is inside a body, below its source line (except for scripts)."""
    if session.done or session.controller.is_at_boundary():
        return []
    node = next((entry.node for entry in session.controller.frame.nodes if entry.state is NodeState.NEXT), None)
    source = session.controller.symbols.pseudo_code
    line = None if node is None else source.line_of(node)
    if node is None or line is None:
        return []
    code = "" if node.origin.script else source.code_lines.describe_node(node)
    return [*([f"       # {code}"] if code else []), f"▶ {line.number:>3}  {line.text}"]


def values_lines(frame: FrameReader) -> list[str]:
    """Lines of all values of a frame, by name."""
    lines, scope = [], FrameScope(frame)
    for name, value in sorted(frame.scope().items()):
        # A value with a short name is listed only by that.
        is_present, content = frame.read(value) if not value.short_name or name != value.name else (False, None)
        if is_present:
            lines.append(f"{quote(name)} = {format_value(content, 80)}{scope.iteration_remark([name])}")
    return lines or ["nothing has a value yet"]


def short_name_lines(frame: FrameReader) -> list[str]:
    """Lines of the short names of a frame, and their full names."""
    rows = short_name_rows(short_names(frame.scope().values()))
    width = max((len(short) for short, _ in rows), default=0)
    return [f"{short:<{width}}  {name}" for short, name in rows] or ["no name is long enough to have a short one"]


def loop_lines(session: Session) -> list[str]:
    """Lines of the totals of each loop so far."""
    lines = []
    for total in session.totals:
        ended = "" if total.stopped_by is None else f", last stopped by {loop_end_cause(total.stopped_by)}"
        entries = f" in {total.entries} entries" if total.entries > 1 else ""
        lines.append(f"{escape_unprintable(total.path)}: {count_text(total.iterations, 'iteration')}{entries}{ended}")
    return lines or ["the model has no loop"]


def branch_lines(session: Session) -> list[str]:
    """One line per branch: its fork and its edits."""
    lines = []
    for branch in session.branches:
        marker = "▸" if branch is session.branch else " "
        origin = (
            "the run" if branch.parent is None else f"from {branch.parent.number} {_fork_point_text(session, branch)}"
        )
        edits = f": {', '.join(branch.edits)}" if branch.edits else ""
        lines.append(f"{marker} {branch.number} {origin}{edits}")
    return lines


def _fork_point_text(session: Session, branch: Branch) -> str:
    assert branch.fork is not None
    pairs = branch.fork[:-1]
    code = session.model.plan.code
    loops = [f"iteration {pairs[k + 1]} of '{_node_name(code[pairs[k]].node)}'" for k in range(0, len(pairs), 2)]
    return f"at {', '.join(loops)}" if loops else "before the loops"


def _node_name(node: Any) -> str:
    return escape_unprintable(node.name)


def checkpoint_lines(session: Session) -> list[str]:
    """The number and size of the checkpoints."""
    timeline = session.controller.timeline
    return [
        f"{count_text(len(timeline), 'checkpoint')}, {size_text(timeline.nbytes)} of {size_text(timeline.limit_bytes)},"
        f" on {count_text(len(timeline.branches), 'branch', 'branches')}"
    ]


def value_lines(value: Any) -> list[str]:
    """A short value in full, else its type, statistics and corner elements."""
    if isinstance(value, list):
        return [f"sequence of {len(value)}", *(f"  [{k}] {value_text(x, 100)}" for k, x in enumerate(value[:8]))]
    array = np.asarray(value) if value is not None and not isinstance(value, str) else None
    if array is None or array.ndim == 0:
        return [value_text(value, 200)]
    type_ = f"{'string' if array.dtype.hasobject else array.dtype.name} {list(array.shape)}"
    if array.size <= 1:
        return [f"{type_}  {value_text(array, 200)}"]
    text = np.array2string(array, max_line_width=110, threshold=100, edgeitems=3)
    summary = value_text(array, 0)
    statistics = f"  {summary}" if array.size > 8 and array.dtype.kind in "biufc" else ""
    return [f"{type_}{statistics}", *text.splitlines()[:40]]
