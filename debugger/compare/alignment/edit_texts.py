"""The texts of edits: how each model spells what differs. The two texts of an edit are never the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ....runtime.graph import BackEdge, LastValueOutput, Loop, Node, ScanOutput, SlicedInput, Value
from ....runtime.graph.producers import ProducerMap
from ...describe.node_text import NodeFormatter
from ...describe.subscripts import slice_text
from ...describe.value_names import display_name
from ...value_text import scalar_text
from ..normal_form.terms import LoopPortTerms, Term
from .term_pairs import TermPairs

#: The most elements of a constant that are written out.
_MAX_ELEMENTS = 8
#: How far operands are followed to tell two texts apart.
_MAX_DEPTH = 10
Texts = tuple[str, str]
_TermPair = tuple[Term | None, Term | None]
#: What terms are that no node computes.
LEAF_WORDS: Mapping[str, str] = {
    "input": "an input",
    "carried": "a carried value",
    "slice": "a sliced input",
    "iteration": "the iteration number",
    "condition input": "the condition",
    "constant": "a constant",
}


class EditTexts:
    """Writes the texts of both models."""

    def __init__(self, pairs: TermPairs) -> None:
        self._pairs = pairs
        self._formatters = tuple(NodeFormatter(ProducerMap.for_graph(side.graph)) for side in pairs.sides)

    def assignment(self, side: int, term: Term | None) -> str:
        """The node of a term as the file spells it; of a term without a node its name."""
        if term is None:
            return ""
        node = self._source_node(side, term)
        return constant_text(term) if node is None else self._formatters[side].assignment(node)

    def assignments(self, terms: _TermPair) -> Texts:
        """The nodes of two terms."""
        return self.assignment(0, terms[0]), self.assignment(1, terms[1])

    def text_with_extra_nodes(self, side: int, texts: Texts, terms: Sequence[Term]) -> Texts:
        """Texts of a reader, of which one reads nodes that the other model lacks."""
        assignments = dict.fromkeys(self.assignment(side, term) for term in terms)
        own = f"{texts[side]}, where {' and '.join(assignments)}"
        return (texts[0], own) if side else (own, texts[1])

    def branches(self, side: int, term: Term) -> str:
        """The results of both branches of an If."""
        return ", ".join(
            f"{word}: {self.assignment(side, result)}" for word, result in zip(("then", "else"), term.port, strict=True)
        )

    # -- texts that would be the same

    def disambiguate(
        self, texts: Texts, terms: _TermPair, operands: _TermPair | None = None, attribute: str = ""
    ) -> Texts:
        """The texts, with what tells them apart if they are the same.

        Args:
            texts: of both sides.
            terms: the terms that differ, or the readers of the operands that do.
            operands: those that differ.
            attribute: the name of the attribute that differs.
        """
        if texts[0] != texts[1]:
            if operands is None:
                return texts
            left, right = (self._name_missing_in_text(text, term) for text, term in zip(texts, operands, strict=True))
            return _append_notes(texts, (left, self._counterpart_text(operands[1]) or right))
        notes = next(
            (pair for pair in self._distinguishing_notes(terms, operands, attribute) if pair[0] != pair[1]), None
        )
        return _append_notes(texts, self._position_texts(terms) if notes is None else notes)

    def _name_missing_in_text(self, text: str, operand: Term | None) -> str:
        """The name of a constant that a text writes out."""
        if operand is None or operand.value is None or not operand.is_constant:
            return ""
        name = display_name(operand.value)
        return "" if name in text else name

    def _position_texts(self, terms: _TermPair) -> Texts:
        """The places of two terms in their models."""
        left, right = (
            f"value {side.terms.index(term) if term in side.terms else 0} of the {word} model"
            for side, term, word in zip(self._pairs.sides, terms, ("left", "right"), strict=True)
        )
        return left, right

    def _distinguishing_notes(self, terms: _TermPair, operands: _TermPair | None, attribute: str) -> Iterator[Texts]:
        """Pairs of remarks that may tell two texts apart, the most telling first."""
        if operands is not None:
            yield self._operand_notes(operands)
        nodes = [None if term is None else self._source_node(k, term) for k, term in enumerate(terms)]
        if nodes[0] is not None and nodes[1] is not None:
            yield f"opset {nodes[0].version}", f"opset {nodes[1].version}"
        if attribute:
            values = ["" if term is None else term.attribute(attribute, "default") for term in terms]
            yield f"{attribute}={values[0]}", f"{attribute}={values[1]}"
        yield from self._operand_difference_notes(terms, _MAX_DEPTH)
        if operands is not None:
            yield "", self._counterpart_text(operands[1])
        yield "", self._counterpart_text(terms[1])

    def _operand_difference_notes(self, terms: _TermPair, depth: int) -> Iterator[Texts]:
        """Remarks on the operands that differ, and on what these are computed from."""
        left, right = terms
        if left is None or right is None or not depth:
            return
        for pair in zip(left.operands, right.operands, strict=False):
            if not self._pairs.corresponds(*pair):
                yield self._operand_notes(pair)
                yield from self._operand_difference_notes(pair, depth - 1)

    def _operand_notes(self, operands: _TermPair) -> Texts:
        left, right = (self._operand_note(k, operand) for k, operand in enumerate(operands))
        counterpart = self._pairs.counterpart_text(operands[1])
        return left, f"{right}, which {counterpart}" if counterpart else right

    def _operand_note(self, side: int, operand: Term | None) -> str:
        """What identifies an operand."""
        if operand is None:
            return "without that operand"
        if operand.is_constant and operand.data is not None and operand.data.size <= _MAX_ELEMENTS:
            return constant_text(operand)
        name = "it" if operand.value is None else display_name(operand.value)
        node = self._source_node(side, operand)
        if node is None or operand.value is None:
            word = LEAF_WORDS.get(operand.operator, f"the result of {operand.operator}")
            return f"{name} is {word}"
        if operand.value in node.outputs and len(node.outputs) > 1:
            return f"{name} is output {node.outputs.index(operand.value)} of {node.op_type} '{node.name}'"
        return f"{name} is the result of {node.op_type} '{node.name}'"

    def _counterpart_text(self, operand: Term | None) -> str:
        """The left counterpart of a right operand in words; empty if it has the same name."""
        text = self._pairs.counterpart_text(operand)
        return f"{display_name(operand.value)} {text}" if text and operand is not None else ""

    def _source_node(self, side: int, term: Term) -> Node | None:
        return self._pairs.sides[side].source_node(term.node)


def _append_notes(texts: Texts, notes: Texts) -> Texts:
    left, right = (f"{text} ({note})" if note else text for text, note in zip(texts, notes, strict=True))
    return left, right


# -- values and ports


def constant_text(term: Term) -> str:
    """The name of a term, with the numbers of a small constant."""
    name = "" if term.value is None else display_name(term.value)
    if term.data is None or term.data.size > _MAX_ELEMENTS:
        return name
    return f"{name} = {term.data.tolist()}" if name else str(term.data.tolist())


def changed_constant_texts(left: Term, right: Term) -> Texts:
    """The texts of two constants that differ: all numbers of small ones, otherwise the first that differs."""
    texts = constant_text(left), constant_text(right)
    a, b = left.data, right.data
    if texts[0] != texts[1] or a is None or b is None:
        return texts
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{texts[0]} is {a.dtype} {list(a.shape)}", f"{texts[1]} is {b.dtype} {list(b.shape)}"
    different = np.atleast_1d(a != b)
    if not different.any():
        return texts
    index = tuple(int(position[0]) for position in np.nonzero(different))
    place = list(index[: a.ndim])
    first, second = (scalar_text(np.atleast_1d(data)[index]) for data in (a, b))
    return f"{texts[0]}{place} = {first}", f"{texts[1]}{place} = {second}"


def initial_text(edge: BackEdge) -> str:
    """What a carried value begins with."""
    initial = edge.initial
    text = slice_text(initial, None) if isinstance(initial, SlicedInput) else display_name(initial)
    return f"{display_name(edge.param)} = {text}"


def back_edge_text(edge: BackEdge) -> str:
    """What a carried value becomes."""
    return f"{display_name(edge.result)} → {display_name(edge.param)}"


def sliced_input_text(port: SlicedInput) -> str:
    """What an iteration receives."""
    return f"{display_name(port.inner)} = {slice_text(port, 'i')}"


def scan_text(scan: ScanOutput) -> str:
    """What a scan output collects."""
    order = ", the last iteration first" if scan.reverse else ""
    return f"{display_name(scan.outer)} collects {display_name(scan.result)} on axis {scan.axis}{order}"


def scan_length_text(scan: ScanOutput) -> str:
    """The length to which a scan output is padded."""
    return f"{display_name(scan.outer)} is padded to {display_name(scan.length)}"


def last_value_text(last: LastValueOutput) -> str:
    """What a last value is."""
    edge = last.edge
    carried = "" if edge is None else f", or what {display_name(edge.param)} begins with"
    return f"{display_name(last.outer)} is the last {display_name(last.result)}{carried}"


def trip_count_text(loop: Loop, terms: LoopPortTerms) -> str:
    """The trip count of a loop."""
    count = terms.trip_count
    if loop.fixed_trips is not None and count is None:
        return str(loop.fixed_trips)
    if count is None:
        return "the number of slices" if loop.counted_by_slices else "none"
    if count.data is not None and count.data.size == 1:
        return f"{count.data.item()}"
    return "" if count.value is None else display_name(count.value)


def condition_text(value: Value | None) -> str:
    """The condition that a body computes."""
    return "the body has no condition" if value is None else f"{display_name(value)} is the condition"


def operand_name(term: Term) -> str:
    """The name of a term; for a result on the way what it is."""
    return constant_text(term) if term.value is not None else f"the result of {term.operator}"
