"""What a loop is and how it ends, for a person: its ports in the words of a loop system, pseudo-code, a paragraph."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...runtime.graph import MAIN, Graph, If, Loop, System, Value, bodies
from ...runtime.graph.origins import Origins
from ...runtime.model import LoopNode, Model
from .condition import condition_slice, decision, decision_text
from .endings import Ending, LoopKind, ending
from .names import named
from .node_text import Phrases
from .source import Source, source
from .vocabulary import Context, Section, Terms, terms

_WIDTH = 100
_TITLE = 11


@dataclass(frozen=True, eq=False)
class Explanation:
    """One loop explained. ``ends``: sentences on what ends it; ``notes``: where real runtimes differ."""

    name: str
    path: str
    title: str
    loop: Loop
    terms: Terms
    source: Source
    kind: LoopKind
    ends: tuple[str, ...]
    notes: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """All of it as text."""
        yield self.title
        for section in self.terms.sections:
            yield from _section(section)
        yield ""
        for line in self.source.text():
            yield f"  {line}"
        yield ""
        yield from _paragraph("ends", " ".join(self.ends))
        for title, told in (("needs", self.terms.needs), ("cannot", self.terms.cannot), ("note", self.notes)):
            for text in told:
                yield from _paragraph(title, text)
                title = ""

    def json(self) -> dict[str, Any]:
        """The same as an object that can be written as JSON."""
        return {
            "name": self.name,
            "path": self.path,
            "op_type": self.loop.op_type,
            "opset": self.loop.version,
            "words": self.terms.what,
            "kind": self.kind.value,
            "ports": [
                {"title": section.title, "rows": [list(row) for row in section.rows]} for section in self.terms.sections
            ],
            "source": json_lines(self.source),
            "ends": " ".join(self.ends),
            "needs": list(self.terms.needs),
            "cannot": list(self.terms.cannot),
            "notes": list(self.notes),
        }


def json_lines(lines: Source) -> list[dict[str, Any]]:
    """Pseudo-code as objects."""
    return [
        {
            "line": line.number,
            "indent": line.indent,
            "text": line.text,
            "comment": line.comment,
            "kind": line.kind.value,
            "node": None if line.node is None else line.node.name,
        }
        for line in lines.lines
    ]


def explain(model: Model, system: System | None = None) -> list[Explanation]:
    """Every loop of a model, outer before inner, in the words of a system; by default the model's own."""
    origins = Origins.of(model.graph)
    scopes: dict[Value, str] = {}
    _scopes(model.graph, MAIN, scopes)
    whole = source(model.graph, origins)

    def visit(nodes: tuple[LoopNode, ...] | list[LoopNode]) -> Iterator[Explanation]:
        for node in nodes:
            yield _explain(node, system, Context(node.loop, Phrases(origins), scopes), whole)
            yield from visit(node.children)

    return list(visit(model.loops))


def _explain(node: LoopNode, system: System | None, context: Context, whole: Source) -> Explanation:
    loop = node.loop
    own = terms(context, loop.system)
    found = own if system is None or system is loop.system else terms(context, system)
    at = node.path.rpartition(" ▸ ")[0]
    kind = f"{own.what if loop.op_type in own.what else loop.op_type}, opset {loop.version}"
    title = f"Loop '{node.name}' ({kind}) at {at}" + ("" if found is own else f", as {found.what}")
    return Explanation(
        node.name,
        node.path,
        title,
        loop,
        found,
        whole.within(loop),
        context.ending.kind,
        tuple(ends(loop, context.phrases)),
        tuple(loop.notes),
    )


def _scopes(graph: Graph, name: str, found: dict[Value, str]) -> None:
    for value in (*graph.inputs, *graph.constants):
        found.setdefault(value, name)
    for node in graph.nodes:
        found.update((value, name) for value in node.outputs if value is not None)
        for _, inner in bodies(node):
            _scopes(inner, name if isinstance(node, If) else node.name, found)


def ends(loop: Loop, phrases: Phrases) -> Iterator[str]:
    """Sentences on what ends a loop."""
    found = ending(loop, phrases.origins)
    name = "" if loop.condition is None else phrases.operand(loop.condition, bare=True)
    text = "" if loop.condition is None else decision_text(decision(loop.condition, phrases.origins), phrases)
    condition = name if text in ("", name) else f"{name} = {text}"
    if found.initial is False:
        yield "It never starts: the initial condition is the constant false."
        return
    if found.uneven:
        told = ", ".join(f"{named(port.outer)} has {count}" for port, count in found.uneven)
        yield f"Nothing runs: the sliced inputs disagree on the number of parts ({told}), which is an error."
        return
    if found.trips == 0:
        if found.slices:
            why = f"{', '.join(named(port.outer) for port in found.slices)} has no part"
        else:
            given = found.trips if found.given is None else found.given
            why = f"the trip count is {given}" + (", and a negative one is none" if given < 0 else "")
        yield f"Nothing runs: {why}. The carried values come out as they went in."
        return
    if found.decides and found.known is False:
        yield "After one iteration: the body's condition is always false."
    elif found.decides and found.limited:
        yield f"When {condition} is false, or after {_count(found)}, whichever comes first."
    elif found.decides:
        yield f"When {condition} is false; there is no trip count."
    elif found.limited:
        yield f"After {'' if found.slices else 'exactly '}{_count(found)}."
    else:
        yield f"Never: there is no trip count, and {_why_always(loop, found)}. A run of it needs a limit of iterations."
    if found.decides and found.known is None:
        yield "The iteration that yields false still counts."
        if not condition_slice(loop).can_change:
            yield "The condition depends on nothing that changes between iterations: what it is first, it stays."
    yield from _zero(loop, found)


def _why_always(loop: Loop, found: Ending) -> str:
    if loop.condition is None:
        return "the condition is absent"
    return "the condition stays what it was at the entry" if found.passed else "the condition is always true"


def _count(found: Ending) -> str:
    if found.slices:
        names = ", ".join(named(port.outer) for port in found.slices)
        many = "" if found.trips is None else f" ({_iterations(found.trips)})"
        return f"the last part of {names}{many}"
    if found.count is not None:
        return f"{named(found.count)} iterations"
    return _iterations(found.trips or 0)


def _iterations(count: int) -> str:
    return f"{count} iteration{'' if count == 1 else 's'}"


def _zero(loop: Loop, found: Ending) -> Iterator[str]:
    """Whether it can be that nothing runs."""
    reasons = []
    if found.count is not None:
        least = "0" if loop.minus_one_is_no_limit else "0 or negative"
        reasons.append(f"{named(found.count)} is {least}")
        if loop.minus_one_is_no_limit:
            yield f"-1 in {named(found.count)} means no limit."
    elif found.slices and found.trips is None:
        reasons.append(f"{named(found.slices[0].outer)} has no part")
    if found.initial is None:
        reasons.append(f"{named(loop.initial_condition)} is false")
    if reasons:
        yield f"Nothing runs where {' or '.join(reasons)}."
    elif found.decides:
        yield "The first iteration always runs."


def _section(section: Section) -> Iterator[str]:
    title = section.title
    wide = min(max((len(left) for left, right in section.rows if right), default=0), 44)
    for left, right in section.rows:
        yield f"  {title:<{_TITLE}} {f'{left:<{wide}}   {right}' if right else left}".rstrip()
        title = ""


def _paragraph(title: str, text: str) -> Iterator[str]:
    first = f"  {title:<{_TITLE}} "
    yield from textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=" " * len(first))
