"""Terms: the primitive expressions to which the nodes of a model are lowered, each with the node it came from."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from ....runtime.graph import Array, BackEdge, Graph, Loop, Node, SlicedInput, Value
from ....runtime.ops.constant_folding import ConstantFolder

#: Operators of terms that compute nothing: what a scope receives.
LEAVES = frozenset({"constant", "input", "carried", "slice", "iteration", "condition input"})
#: Operators of the results of loops and of Ifs.
LOOP_RESULTS = frozenset({"last", "scan"})
Shape = tuple[Any, ...]


@dataclass(eq=False)
class Term:
    """One result of a primitive operation.

    ``attributes``: without defaults, sorted by name. ``index``: of several results. ``node``: the node it was lowered
    from; ``value``: the value of the model with this result, None for an intermediate result of a node. ``scope``: the
    graph that computes it. ``data``: of a constant, or of a result of constants. ``port``: the port of a loop that it
    is, or the results of an If's branches.
    """

    operator: str
    operands: tuple[Term | None, ...] = ()
    attributes: tuple[tuple[str, Hashable], ...] = ()
    index: int = 0
    node: Node | None = None
    value: Value | None = None
    scope: Graph | None = None
    data: Array | None = None
    dtype: np.dtype[Any] | None = None
    shape: Shape | None = None
    port: Any = None

    @property
    def is_leaf(self) -> bool:
        """Whether it computes nothing."""
        return self.operator in LEAVES

    @property
    def is_constant(self) -> bool:
        """Whether it is written as a constant, or computed from constants."""
        return self.data is not None or self.operator == "constant"

    @property
    def rank(self) -> int | None:
        """The number of axes; None if unknown."""
        return None if self.shape is None else len(self.shape)

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute; a default if it is not set."""
        return dict(self.attributes).get(name, default)

    def __repr__(self) -> str:
        name = "" if self.value is None else f" '{self.value.name}'"
        return f"<{self.operator}{name}>"


@dataclass(eq=False)
class LoopPortTerms:
    """The terms of a loop's ports. ``depth``: the number of loops around it."""

    loop: Loop
    depth: int
    trip_count: Term | None
    initial_condition: Term | None
    initials: Mapping[BackEdge, Term] = field(default_factory=dict)
    params: dict[BackEdge, Term] = field(default_factory=dict)
    slices: dict[SlicedInput, Term] = field(default_factory=dict)
    condition_input: Term | None = None
    condition: Term | None = None
    results: dict[BackEdge, Term] = field(default_factory=dict)
    #: Scan outputs and last values -> the term inside, and the term outside.
    inner: dict[Any, Term] = field(default_factory=dict)
    outer: dict[Any, Term] = field(default_factory=dict)
    #: Scan outputs -> the lengths to which they are padded.
    lengths: dict[Any, Term] = field(default_factory=dict)


class _SubstitutingFolder(ConstantFolder):
    """Folds constants with other data in some of them."""

    constants: Mapping[Value, Array] = MappingProxyType({})

    def value_of(self, value: Value | None) -> Array | None:
        """The data of a constant value; None for any other."""
        data = None if value is None else self.constants.get(value)
        return super().value_of(value) if data is None else data


@dataclass(eq=False)
class LoweredGraph:
    """A model in normal form. ``terms``: in an order in which they can be computed; ``by_value``: of each value of the
    model; ``written``: of each result of an operator, before any rule was applied; ``outputs``: the terms of a graph's
    results; ``rewritten``: the rules that were applied, with the value."""

    graph: Graph
    #: Folds constants that follow from declared shapes.
    declared: ConstantFolder
    terms: list[Term] = field(default_factory=list)
    #: The constants that the model has, read or not.
    constants: list[Term] = field(default_factory=list)
    by_value: dict[Value, Term] = field(default_factory=dict)
    written: dict[Value, Term] = field(default_factory=dict)
    loops: dict[Loop, LoopPortTerms] = field(default_factory=dict)
    outputs: dict[Graph, list[Term]] = field(default_factory=dict)
    opened: dict[Node, Node] = field(default_factory=dict)
    rewritten: list[tuple[str, Value | None]] = field(default_factory=list)
    #: Constants that hold weights in 8 bits.
    quantized_weights: set[Term] = field(default_factory=set)

    def terms_of_graph(self, graph: Graph) -> list[Term]:
        """The terms that a graph itself computes, without leaves."""
        return [term for term in self.terms if term.scope is graph and not term.is_leaf]

    def fold_with_constants(self, value: Value, constants: Mapping[Value, Array]) -> Array | None:
        """What a result of constants would be with other data in some of them; None if it follows from more."""
        folder = _SubstitutingFolder(self.declared.origins, self.declared.system)
        folder.constants = constants
        return folder.value_of(value)

    def source_node(self, node: Node | None) -> Node | None:
        """The node in the file that a node was expanded from, or the node itself."""
        return None if node is None else self.opened.get(node, node)


def operands_and_branch_results(term: Term) -> Iterator[Term]:
    """The operands of a term, those of an If's results included."""
    yield from (operand for operand in term.operands if operand is not None)
    if term.operator == "If":
        yield from term.port
