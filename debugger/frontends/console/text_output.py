"""What commands print: frames, stacks, breakpoints, branches and values as lines of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ....runtime.frame import BodyNode, NodeState
from ....runtime.text import count_text, escape_unprintable, plural, size_text
from ...breakpoints.collection import Breakpoint, Trigger
from ...describe.frame_text import back_edge_labels, declared_trip_count, no_limit_reason, position_text
from ...describe.termination import stop_cause
from ...describe.value_names import display_name, quote, scan_names, short_name_rows, short_names
from ...describe.vocabulary.glossary import GLOSSARY, glossary_entry
from ...expression.language import format_value
from ...frame_protocol import FrameProtocol
from ...scope.frame_scope import FrameScope
from ...session.branches import Branch
from ...session.session_base import SessionBase
from ...value_text import value_text
from .command_registry import ALIASES, COMMANDS, ConsoleCommand, find_command

_VALUE_WIDTH_CHARS = 60
#: A breakpoint at more lines than this tells only how many there are.
_MAX_LISTED_LINES = 6


def frame_lines(frame: FrameProtocol) -> list[str]:
    """A frame: where it is, what each back edge carries, the condition, what the scan outputs have."""
    if frame.loop is None:
        return [f"{escape_unprintable(frame.path)}: the graph around the loops"]
    trips = declared_trip_count(frame)
    limit = f"trip count {trips}" if trips is not None else no_limit_reason(frame)
    told = [f"{escape_unprintable(frame.path)}, {position_text(frame)} ({limit})"]
    if frame.condition is not None:
        told[0] += f", condition {str(frame.condition).lower()}"
    if frame.stopped_by is not None:
        told[0] += f", ended by {stop_cause(frame.stopped_by)}"
    edges = frame.back_edges
    names = [display_name(edge.param) for edge in frame.loop.back_edges]
    width = max(map(len, names), default=0)
    if edges:
        told.append(f"  carried: {' → '.join(words for words in back_edge_labels(frame) if words)}")
    for name, edge in zip(names, edges, strict=True):
        now = value_text(edge.value, _VALUE_WIDTH_CHARS) if edge.ready else "·"
        before = "" if edge.previous is None else f"{value_text(edge.previous, _VALUE_WIDTH_CHARS)} → "
        told.append(f"  {name:<{width}}  {before}{now}")
    for k, name in enumerate(scan_names(frame.loop)):
        count, shape, dtype, tail = frame._internals.scan_tail(k, 1)
        last = f", last {value_text(tail[-1], _VALUE_WIDTH_CHARS)}" if tail else ""
        told.append(f"  {quote(name)}: {dtype} {list(shape)}, {count} so far{last}")
    return told


def stack_lines(session: SessionBase, selected: int = 0) -> list[str]:
    """The running loops and the Ifs that were taken on the way, innermost first."""
    told = []
    for number, frame in enumerate(reversed(session.frames)):
        for one in _enclosing_ifs(frame.nodes) if not frame.at_boundary else ():
            told.append(f"     If '{escape_unprintable(one[0].node.name)}' ({one[1]})")
        where = "main" if frame.loop is None else f"{frame.loop.op_type} '{escape_unprintable(frame.name)}'"
        count = "" if frame.loop is None else f", iteration {frame.iteration}"
        told.append(f"{'▸' if number == selected else ' '} #{number} {where}{count}")
    return told


def _enclosing_ifs(nodes: Sequence[BodyNode]) -> Iterator[tuple[BodyNode, str]]:
    """The Ifs in whose branches the node stands that runs next, with the branch, innermost first."""
    inside = next((k for k, entry in enumerate(nodes) if entry.state is NodeState.NEXT), None)
    if inside is None:
        return
    for k in reversed(range(inside)):
        # The nodes of an If's branches stand after it, one level deeper.
        if nodes[k].depth == nodes[inside].depth - 1:
            yield nodes[k], nodes[inside].branch
            inside = k


def breakpoint_lines(breakpoints: Iterable[Breakpoint], session: SessionBase) -> list[str]:
    """One line a breakpoint, and one for each of its commands."""
    told = []
    for one in breakpoints:
        parts = [f"{one.kind_name} {one.number}: {one.title}", *_location_notes(one, session)]
        if one.log is not None:
            parts.append(f"prints '{one.log}'")
        if one.temporary:
            parts.append("once")
        if not one.enabled:
            parts.append("disabled")
        if one.hits:
            parts.append(f"hit {count_text(one.hits, 'time')}")
        if one.ignore:
            parts.append(f"passes {one.ignore} more")
        if session._internals.is_tested_in_python(one):
            parts.append("slow: tested in Python at every boundary")
        told.append(", ".join(parts))
        told += [f"    {line}" for line in one.commands]
    return told


def _location_notes(one: Breakpoint, session: SessionBase) -> list[str]:
    """The lines that a breakpoint stops before, or the loop that it is about, where its text does not say so."""
    places = session._internals.symbols
    if one.nodes:
        found = {places.pseudo_code.line_of(node) for node in one.nodes}
        numbers = sorted(line.number for line in found if line is not None)
        if not numbers or one.text in (f"line {numbers[0]}", str(numbers[0])):
            told = []
        elif len(numbers) > _MAX_LISTED_LINES:
            told = [f"{len(numbers)} lines"]
        else:
            told = [f"{plural(len(numbers), 'line')} {', '.join(map(str, numbers))}"]
        if reason := places.unreachable_reason_of_all(one.nodes):
            told.append(f"never: {reason}")
        return told
    if one.is_in_main_graph:
        return ["the main graph, once"]
    if one.kind is Trigger.BOUNDARY:
        lines = [places.pseudo_code.line_of(places.loops[k].loop) for k in one.loops]
        told = [f"line {line.number}" for line in lines if line is not None and one.text != f"line {line.number}"]
        return [*told, "every boundary"]
    loops = {places.loops[k].loop.name for k in one.loops}
    if len(loops) == 1 and len(places.loops) > 1 and " in " not in one.text:
        return [f"loop '{escape_unprintable(loops.pop())}'"]
    return []


def help_lines(word: str, more: Mapping[str, ConsoleCommand]) -> list[str]:
    """A command, a word of the field, or both where a word is both; ``words``: which there are. ``more``: what this
    console has beside the commands of all.

    Raises:
        UsageError: it is neither.
    """
    if word == "words":
        return textwrap.wrap(f"words: {', '.join(GLOSSARY)}; help WORD explains one", 76)
    told = glossary_entry(word)
    lines = [] if told is None else textwrap.wrap(told, 76, subsequent_indent="  ")
    if told is not None and word not in ALIASES and word not in COMMANDS:
        return lines
    one = find_command(word, more)
    also = f"   (also: {', '.join(one.aliases)})" if one.aliases else ""
    return [f"{one.usage}   {one.summary}{also}", *lines]


def next_statement_lines(session: SessionBase) -> list[str]:
    """The line of the pseudo-code that runs next, where a session stands inside of a body, below the line of code that
    it comes from; a script is its own."""
    if session.done or session._internals.is_at_boundary():
        return []
    node = next((entry.node for entry in session.frame.nodes if entry.state is NodeState.NEXT), None)
    source = session._internals.symbols.pseudo_code
    line = None if node is None else source.line_of(node)
    if node is None or line is None:
        return []
    code = "" if node.origin.script else source.code_lines.describe_node(node)
    return [*([f"       # {code}"] if code else []), f"▶ {line.number:>3}  {line.text}"]


def values_lines(frame: FrameProtocol) -> list[str]:
    """Every value of a frame, by name."""
    values, told, scope = frame.values, [], FrameScope(frame)
    for name, value in sorted(frame._internals.scope().items()):
        # A value of a short name stands under that alone.
        there, content = values.read(value) if not value.short_name or name != value.name else (False, None)
        if there:
            told.append(f"{quote(name)} = {format_value(content, 80)}{scope.iteration_remark([name])}")
    return told or ["nothing has a value yet"]


def names_lines(frame: FrameProtocol) -> list[str]:
    """The short names that can be used in a frame, and what they are short for."""
    rows = short_name_rows(short_names(frame._internals.scope().values()))
    width = max((len(short) for short, _ in rows), default=0)
    return [f"{short:<{width}}  {name}" for short, name in rows] or ["no name is long enough to have a short one"]


def loop_lines(session: SessionBase) -> list[str]:
    """How often each loop ran so far."""
    told = []
    for total in session.totals:
        ended = "" if total.stopped_by is None else f", last stopped by {stop_cause(total.stopped_by)}"
        entries = f" in {total.entries} entries" if total.entries > 1 else ""
        told.append(f"{escape_unprintable(total.path)}: {count_text(total.iterations, 'iteration')}{entries}{ended}")
    return told or ["the model has no loop"]


def branch_lines(session: SessionBase) -> list[str]:
    """One line a branch: where it began, and what was set there."""
    told = []
    for branch in session.branches:
        mark = "▸" if branch is session.branch else " "
        began = (
            "the run" if branch.parent is None else f"from {branch.parent.number} {_fork_point_text(session, branch)}"
        )
        edits = f": {', '.join(branch.edits)}" if branch.edits else ""
        told.append(f"{mark} {branch.number} {began}{edits}")
    return told


def _fork_point_text(session: SessionBase, branch: Branch) -> str:
    assert branch.fork is not None
    pairs = branch.fork[:-1]
    code = session.model.plan.code
    loops = [f"iteration {pairs[k + 1]} of '{_node_name(code[pairs[k]].node)}'" for k in range(0, len(pairs), 2)]
    return f"at {', '.join(loops)}" if loops else "before the loops"


def _node_name(node: Any) -> str:
    return escape_unprintable(node.name)


def history_lines(session: SessionBase) -> list[str]:
    """How many checkpoints there are, and what they take."""
    timeline = session._internals.timeline
    return [
        f"{count_text(len(timeline), 'checkpoint')}, {size_text(timeline.nbytes)} of {size_text(timeline.limit_bytes)},"
        f" on {count_text(len(timeline.branches), 'branch', 'branches')}"
    ]


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
