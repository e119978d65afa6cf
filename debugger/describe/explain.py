"""Explanations of loops: ports in the terms of a loop system, pseudo-code, termination and notes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from ...runtime.errors import UsageError
from ...runtime.graph import MAIN, Graph, If, Loop, System, Value, bodies, loops, own_values
from ...runtime.graph.producers import ProducerMap
from ...runtime.lazy_function_registry import load_plugin
from ...runtime.model import LoopNode, Model
from ...runtime.text import did_you_mean, escape_lines
from .node_text import NodeFormatter
from .pseudo_code import PseudoCode, build_pseudo_code
from .termination import LoopKind
from .termination_text import termination_sentences
from .trip_count_bound import iterations_text, says_more_than_rule
from .value_names import short_name_rows, short_names
from .vocabulary import LoopTerms, TermsContext, TermsSection, loop_terms

_TEXT_WIDTH = 100
_TITLE_WIDTH = 11


@dataclass(frozen=True, eq=False)
class Explanation:
    """The explanation of one loop. ``ends``: sentences on its termination; ``notes``: differences between runtimes;
    ``source``: its pseudo-code; ``terms``: its ports in the terms of a system. ``str()`` is the complete text.

    >>> (one,) = model.explain()
    >>> one.path, str(one.kind), one.source.lines[3].text
    ('main ▸ sqrt', 'while', 'while keep:')
    """

    name: str
    path: str
    title: str
    loop: Loop
    terms: LoopTerms
    source: PseudoCode
    kind: LoopKind
    ends: tuple[str, ...]
    notes: tuple[str, ...]
    #: Short names in the explanation -> full names.
    names: Mapping[str, str] = field(default_factory=dict)
    #: How often the loop runs, as far as that is known before a run.
    iterations: str = ""

    def lines(self) -> Iterator[str]:
        """The explanation as text.

        >>> next(model.explain()[0].lines())
        "Loop 'sqrt' (ONNX Loop...) at main"
        """
        yield self.title
        for section in (*self.terms.sections, TermsSection("names", tuple(short_name_rows(self.names)))):
            yield from _section_lines(section)
        yield ""
        for line in self.source.text():
            yield f"  {line}"
        yield ""
        if self.loop.derived_from:
            yield from _paragraph_lines("made of", self.loop.derived_from)
        yield from _paragraph_lines("ends", " ".join(self.ends))
        if self.iterations:
            yield from _paragraph_lines("runs", self.iterations)
        for title, texts in (
            ("needs", self.terms.requirements),
            ("cannot", self.terms.unsupported),
            ("note", self.notes),
        ):
            for text in texts:
                yield from _paragraph_lines(title, text)
                title = ""

    def __str__(self) -> str:
        return escape_lines(self.lines())

    def _repr_html_(self) -> str:
        html: str = load_plugin("html")("text", self)
        return html

    def json(self) -> dict[str, Any]:
        """The explanation as a JSON object.

        >>> model.explain()[0].json()["kind"]
        'while'
        """
        return {
            "name": self.name,
            "path": self.path,
            "op_type": self.loop.op_type,
            "opset": self.loop.version,
            "line": str(self.loop.origin) or None,
            "made_of": self.loop.derived_from or None,
            "words": self.terms.operator_name,
            "kind": self.kind.value,
            "ports": [
                {"title": section.title, "rows": [list(row) for row in section.rows]} for section in self.terms.sections
            ],
            "source": lines_as_json(self.source),
            "ends": " ".join(self.ends),
            "iterations": self.iterations or None,
            "needs": list(self.terms.requirements),
            "cannot": list(self.terms.unsupported),
            "notes": list(self.notes),
            "names": dict(self.names),
        }


class ExplanationList(Sequence[Explanation]):
    """Explanations of the loops of a model, outer before inner. ``str()`` is the output of ``explain``."""

    def __init__(self, model: Model, explanations: Sequence[Explanation]) -> None:
        self._model = model
        self._explanations = tuple(explanations)

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Explanation]: ...
    def __getitem__(self, index: int | slice) -> Explanation | Sequence[Explanation]:
        return self._explanations[index]

    def __len__(self) -> int:
        return len(self._explanations)

    def lines(self) -> Iterator[str]:
        """The explanations as text; for a model without loops its main graph."""
        if not self._explanations:
            yield f"{self._model.name} has no loop; its main graph:"
            yield ""
            yield from (f"  {line}" for line in build_pseudo_code(self._model.graph).text())
        for k, explanation in enumerate(self._explanations):
            yield from [""] if k else []
            yield from explanation.lines()

    def __str__(self) -> str:
        return escape_lines(self.lines())

    def __repr__(self) -> str:
        return f"<{len(self)} loops of {self._model.name} explained>"

    def _repr_html_(self) -> str:
        html: str = load_plugin("html")("text", self)
        return html


def lines_as_json(lines: PseudoCode) -> list[dict[str, Any]]:
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
    """Explain every loop of a model, outer before inner, in the terms of a system; by default the model's own."""
    origins = ProducerMap.for_graph(model.graph)
    scopes: dict[Value, str] = {}
    _collect_scopes(model.graph, MAIN, scopes)
    source = build_pseudo_code(model.graph, origins)

    def visit(nodes: tuple[LoopNode, ...] | list[LoopNode]) -> Iterator[Explanation]:
        for node in nodes:
            yield _explain_loop(node, system, TermsContext(node.loop, NodeFormatter(origins), scopes), source)
            yield from visit(node.children)

    return list(visit(model.loops))


def explain_loops(model: Model, loop: str | None = None, system: str | None = None) -> ExplanationList:
    """Explain the loops of a model, or those with a name or path, in the terms of a system given by its name.

    Raises:
        UsageError: there is no such loop, or no such system.
    """
    systems = [item.value for item in System]
    if system is not None and system not in systems:
        raise UsageError(
            f"loops are explained in the words of {', '.join(systems)}, not of '{system}'",
            name="system",
            expected=", ".join(systems),
            got=system,
        )
    explanations = explain(model, None if system is None else System(system))
    if loop is not None:
        matches = [item for item in explanations if loop in (item.name, item.path)]
        if not matches:
            names = [item.name for item in explanations]
            listing = f"its loops are {', '.join(repr(item) for item in names)}" if names else "it has no loop at all"
            raise UsageError(
                f"{model.name} has no loop '{loop}'{did_you_mean(loop, names) or f'; {listing}'}", loop=loop
            )
        explanations = matches
    return ExplanationList(model, explanations)


def _explain_loop(node: LoopNode, system: System | None, context: TermsContext, source: PseudoCode) -> Explanation:
    loop = node.loop
    own = loop_terms(context, loop.system)
    terms = own if system is None or system is loop.system else loop_terms(context, system)
    parent = node.path.rpartition(" ▸ ")[0]
    kind = f"{own.operator_name if loop.op_type in own.operator_name else loop.op_type}, {loop.location_text()}"
    title = f"Loop '{node.name}' ({kind}) at {parent}" + ("" if terms is own else f", as {terms.operator_name}")
    iterations = iterations_text(loop, context.formatter)
    return Explanation(
        node.name,
        node.path,
        title,
        loop,
        terms,
        source.lines_of_loop(loop),
        context.termination.kind,
        tuple(termination_sentences(loop, context.formatter, (system or loop.system) is System.TENSORRT)),
        tuple(loop.notes),
        short_names(_mentioned_values(context)),
        iterations if says_more_than_rule(iterations, loop, context.formatter.origins) else "",
    )


def _mentioned_values(context: TermsContext) -> Iterator[Value]:
    """Every value that an explanation mentions."""
    loop = context.loop
    yield from (value for value in (*loop.inputs, *loop.outputs, *context.captures) if value is not None)
    for inner in (loop, *loops(loop.body)):
        yield from own_values(inner.body)


def _collect_scopes(graph: Graph, name: str, scopes: dict[Value, str]) -> None:
    for value in (*graph.inputs, *graph.constants):
        scopes.setdefault(value, name)
    for node in graph.nodes:
        scopes.update((value, name) for value in node.outputs if value is not None)
        for _, body in bodies(node):
            _collect_scopes(body, name if isinstance(node, If) else node.name, scopes)


def _section_lines(section: TermsSection) -> Iterator[str]:
    title = section.title
    width = min(max((len(left) for left, right in section.rows if right), default=0), 44)
    for left, right in section.rows:
        yield f"  {title:<{_TITLE_WIDTH}} {f'{left:<{width}}   {right}' if right else left}".rstrip()
        title = ""


def _paragraph_lines(title: str, text: str) -> Iterator[str]:
    indent = f"  {title:<{_TITLE_WIDTH}} "
    yield from textwrap.wrap(text, _TEXT_WIDTH, initial_indent=indent, subsequent_indent=" " * len(indent))
