"""What a loop is and how it ends, for a person: its ports in the words of a loop system, pseudo-code, a paragraph."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...runtime.graph import MAIN, Graph, If, Loop, System, Value, bodies, loops, own_values
from ...runtime.graph.origins import Origins
from ...runtime.model import LoopNode, Model
from .endings import LoopKind
from .ends import ends
from .names import short_name_rows, short_names
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
    #: Short names that stand in all this, and what they are short for.
    names: Mapping[str, str] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """All of it as text."""
        yield self.title
        for section in (*self.terms.sections, Section("names", tuple(short_name_rows(self.names)))):
            yield from _section(section)
        yield ""
        for line in self.source.text():
            yield f"  {line}"
        yield ""
        if self.loop.made_of:
            yield from _paragraph("made of", self.loop.made_of)
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
            "line": str(self.loop.origin) or None,
            "made_of": self.loop.made_of or None,
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
            "names": dict(self.names),
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
    kind = f"{own.what if loop.op_type in own.what else loop.op_type}, {loop.where()}"
    title = f"Loop '{node.name}' ({kind}) at {at}" + ("" if found is own else f", as {found.what}")
    return Explanation(
        node.name,
        node.path,
        title,
        loop,
        found,
        whole.within(loop),
        context.ending.kind,
        tuple(ends(loop, context.phrases, (system or loop.system) is System.TENSORRT)),
        tuple(loop.notes),
        short_names(_values(context)),
    )


def _values(context: Context) -> Iterator[Value]:
    """Every value that is told of with a loop."""
    loop = context.loop
    yield from (value for value in (*loop.inputs, *loop.outputs, *context.captures) if value is not None)
    for inner in (loop, *loops(loop.body)):
        yield from own_values(inner.body)


def _scopes(graph: Graph, name: str, found: dict[Value, str]) -> None:
    for value in (*graph.inputs, *graph.constants):
        found.setdefault(value, name)
    for node in graph.nodes:
        found.update((value, name) for value in node.outputs if value is not None)
        for _, inner in bodies(node):
            _scopes(inner, name if isinstance(node, If) else node.name, found)


def _section(section: Section) -> Iterator[str]:
    title = section.title
    wide = min(max((len(left) for left, right in section.rows if right), default=0), 44)
    for left, right in section.rows:
        yield f"  {title:<{_TITLE}} {f'{left:<{wide}}   {right}' if right else left}".rstrip()
        title = ""


def _paragraph(title: str, text: str) -> Iterator[str]:
    first = f"  {title:<{_TITLE}} "
    yield from textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=" " * len(first))
