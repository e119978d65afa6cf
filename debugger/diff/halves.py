"""One of two models: where its values come from, what they are called and a number for each.

A value has the same number on both sides where it is the same thing: an input that both are given, a constant by what
it holds, a node's result by the number of the node and its place among the results.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from ...runtime import dtypes
from ...runtime.errors import UnsupportedError
from ...runtime.graph import (
    Array,
    Graph,
    Loop,
    Node,
    Operation,
    SlicedInput,
    System,
    TensorType,
    Value,
    bodies,
    captured,
    walk,
)
from ...runtime.graph.origins import Origins
from ...runtime.ops.constants import Constants
from ..words.node_text import SIGNS, Phrases, rank
from .eight_bits import at_work, folded, is_quantised, unquantised
from .normal import Form, Operand, digest, form, keeps_rank
from .ranges import largest_of, type_named
from .values import kind_of


class Table:
    """A number for each key, the same for the same key."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def of(self, key: Hashable) -> int:
        """The number of a key."""
        return self._numbers.setdefault(key, len(self._numbers))


class Half:
    """One of two models. ``loose``: axes of length 1 do not count; ``floats``: conversions between floats do not;
    ``narrow``: the float type of one of them, to which its constants were rounded; ``bits``: one of them computes in 8
    bits what the other computes in floats."""

    def __init__(
        self,
        graph: Graph,
        table: Table,
        loose: bool,
        floats: bool = False,
        narrow: str | None = None,
        bits: bool = False,
    ) -> None:
        self.graph = graph
        self.origins = Origins.of(graph)
        self.phrases = Phrases(self.origins)
        self._table = table
        self._loose = loose
        self._floats = floats
        self._narrow = None if narrow is None else type_named(narrow)
        self._bits = bits
        #: Constants that hold quantised weights.
        self.weights: set[Value] = set()
        self._constants = Constants(self.origins, graph.system)
        self._declared = Constants(self.origins, graph.system, declared=True)
        #: Of what was paired, and of what a model is given.
        self.fixed: dict[Value, int] = {}
        #: Of what follows from that.
        self.found: dict[Value, int] = {}
        self.params: dict[Value, tuple[Loop, str]] = {}
        #: Nodes that the file does not have -> the operator of the file that they stand for.
        self.opened: dict[Node, Operation] = dict(graph.opened)
        self._left_out = set(graph.constants)
        self._invariants: dict[Value, Value] = {}
        #: What is asked for time and again, and stays what it is.
        self._sources: dict[Value, Value] = {}
        self._arrays: dict[Value, Array | None] = {}
        self._captured: dict[Node, Sequence[Value]] = {}
        self._numbers: dict[Hashable, int] = {}
        self._digests: dict[Operand, Hashable] = {}
        self._forms: dict[Node, Form] = {}
        self._named: dict[str, list[Value]] | None = None
        self._holding: dict[int, list[Value]] | None = None
        for inner in (inner for node in walk(graph) for _, inner in bodies(node)):
            self.opened.update(inner.opened)
        for loop in (node for node in walk(graph) if isinstance(node, Loop)):
            self._left_out.update(loop.body.constants)
            self._invariants.update((port.inner, port.outer) for port in loop.invariants)
            self.params.update((edge.param, (loop, "carried")) for edge in loop.back_edges)
            self.params.update((port.inner, (loop, "sliced")) for port in loop.sliced_inputs)
            for value, role in ((loop.iteration, "iteration"), (loop.condition_input, "condition")):
                if value is not None:
                    self.params.setdefault(value, (loop, role))

    def origin(self, value: Value) -> Value:
        """The value itself, or what Identity nodes and invariant inputs hand on as it."""
        if value not in self._sources:
            self._sources[value] = self._source(value)
        return self._sources[value]

    def _source(self, value: Value) -> Value:
        while True:
            source = self.origins.origin(value)
            outer = self._invariants.get(source) or self._converted(source)
            if outer is None:
                return source
            value = outer

    def _converted(self, value: Value) -> Value | None:
        """What a conversion between floats converts, and what quantising it gives back, where those do not count."""
        if self._bits:
            back = unquantised(self.origins.maker(value), lambda one: self.origins.maker(self.origins.origin(one)))
            if back is not None:
                return back
        node = self.origins.maker(value) if self._floats else None
        if node is None or kind_of(converts_to(node)) != "f" or len(node.inputs) != 1:
            return None
        source = node.inputs[0]
        return source if source is not None and is_float(source) else None

    def conversions(self, value: Value) -> list[Node]:
        """The conversions between a value and its origin, the first one first."""
        found: list[Node] = []
        while True:
            source = self.origins.origin(value)
            outer = self._invariants.get(source)
            if outer is None:
                outer = self._converted(source)
                node = self.origins.maker(source)
                if outer is None or node is None:
                    return found[::-1]
                found.append(node)
            value = outer

    def at_work(self, node: Node) -> Node:
        """The node to name for one that ends what several nodes do together."""
        return at_work(self, node) if self._bits else node

    def outer(self, value: Value) -> Value:
        """What an invariant input stands for; any other value itself."""
        while value in self._invariants:
            value = self._invariants[value]
        return value

    def maker(self, value: Value) -> Node | None:
        """The node that computes a value; None for parameters, inputs and constants."""
        node = self.origins.maker(value)
        return None if node is not None and self.constant(value) is not None else node

    def folded(self, value: Value) -> Node | None:
        """The node that computes a value, also where that follows from constants alone; None for what is written as a
        constant."""
        return None if self.phrases.constant(value) is not None else self.origins.maker(value)

    def constant(self, value: Value) -> Array | None:
        """The data of a constant, also of what follows from constants alone."""
        if value not in self._arrays:
            data = self.phrases.constant(value)
            self._arrays[value] = self._constants.of(value) if data is None else data
        return self._arrays[value]

    def declared(self, value: Value) -> Array | None:
        """The data of what follows from constants and declared shapes alone, which some tools fold."""
        return self._declared.of(self.origin(value))

    def is_constant(self, value: Value) -> bool:
        """Whether a value is a constant; its data may be left out, as in a trace."""
        return value in self._left_out or self.constant(value) is not None

    def captured(self, node: Node) -> Sequence[Value]:
        """What the graphs inside a node take from outside, each once."""
        if node not in self._captured:
            self._captured[node] = captured_by(node)
        return self._captured[node]

    def form(self, node: Node) -> Form:
        """The normal form of a node."""
        if node not in self._forms:
            found = form(node, self.graph.system, self.data, self.source, self.rank)
            self._forms[node] = folded(self, node, found) if self._bits else found
        return self._forms[node]

    def rank(self, value: Value | None, depth: int = 20) -> int | None:
        """How many dimensions a value has, as far as declared types, and operators that keep them, tell."""
        found = rank(value)
        node = None if value is None or found is not None else self.source(value)
        if node is None or not depth or not keeps_rank(node):
            return found
        ranks = [self.rank(one, depth - 1) for one in node.inputs[: 2 if node.op_type in SIGNS else 1]]
        known = [one for one in ranks if one is not None]
        return max(known) if len(known) == len(ranks) else None

    def data(self, value: Value) -> Array | None:
        """The data of a constant, behind Identity nodes and invariant inputs too."""
        return self.constant(self.origin(value))

    def source(self, value: Value) -> Node | None:
        """The node that computes a value, behind Identity nodes and invariant inputs too."""
        return self.maker(self.origin(value))

    def called(self, name: str) -> Sequence[Value]:
        """The constants with a name, and what nodes compute under it."""
        if self._named is None:
            self._named = {}
            for graph in (self.graph, *(inner for node in walk(self.graph) for _, inner in bodies(node))):
                made = [v for node in graph.nodes for v in node.outputs if v is not None]
                for value in (*graph.constants, *made):
                    self._named.setdefault(value.name, []).append(value)
        return self._named.get(name, ())

    def holding(self, number: int) -> Sequence[Value]:
        """The constants of the model that have a number."""
        if self._holding is None:
            self._holding = {}
            for graph in (self.graph, *(inner for node in walk(self.graph) for _, inner in bodies(node))):
                made = [v for node in graph.nodes for v in node.outputs if v is not None and self.folded(v) is None]
                for value in (*graph.constants, *made):
                    self._holding.setdefault(self.number(value), []).append(value)
        return self._holding.get(number, ())

    def number(self, operand: Operand | Value, relaxed: bool = False) -> int:
        """What stands for a value on both sides."""
        if isinstance(operand, Value):
            operand = Operand(operand)
        value = self.origin(operand.value)
        known = self.fixed.get(value)
        if known is None and self.is_constant(value):
            key = value, operand.turned, relaxed, value in self.weights
            if key not in self._numbers:
                self._numbers[key] = self._table.of(self._constant(Operand(value, operand.turned), relaxed))
            return self._numbers[key]
        if known is None:
            known = self.found.get(value)
        if known is None:
            known = self._table.of(("unknown", id(value)))
        return self._table.of(("turned", known)) if operand.turned else known

    def _constant(self, operand: Operand, relaxed: bool) -> Hashable:
        data = self.constant(operand.value)
        kind: Hashable
        if data is None:
            declared = operand.value.type if isinstance(operand.value.type, TensorType) else TensorType()
            kind = (kind_of(declared.dtype), self._dims(declared.shape or ()), operand.turned)
            return ("constant", kind) if relaxed else ("constant", kind, id(operand.value))
        data = operand.of(data)
        kind = ("f" if operand.value in self.weights else kind_of(data.dtype), self._dims(data.shape))
        if relaxed:
            return "constant", kind
        if operand not in self._digests:
            self._digests[operand] = digest(self._rounded(data))
        return "constant", kind, self._digests[operand]

    def _rounded(self, data: Array) -> Array:
        """Constants as the narrower model has them; a number that gets lost in it stays another one."""
        if self._narrow is None or kind_of(data.dtype) != "f":
            return data
        with np.errstate(all="ignore"):
            rounded = data.astype(self._narrow)
        lost = data.size == 1 and (not rounded.any() or not np.isfinite(rounded.astype(np.float64)).all())
        return data if lost else rounded

    def _dims(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        # Two systems write one number as [] and as [1,1].
        return tuple(dim for dim in shape if not (self._loose and dim == 1))


def captured_by(node: Node) -> list[Value]:
    """What the graphs inside a node take from outside, each once."""
    return list(dict.fromkeys(value for _, body in bodies(node) for value in captured(body)))


def converts_to(node: Node) -> np.dtype[Any] | None:
    """The type that a conversion gives; None for any other node."""
    if not isinstance(node, Operation) or node.foreign or node.op_type not in ("Cast", "Convert"):
        return None
    to = node.attributes.get("to", node.attributes.get("destination_type"))
    with contextlib.suppress(UnsupportedError):
        return dtypes.from_onnx(to) if isinstance(to, int) else dtypes.from_openvino(str(to))
    return None


def is_float(value: Value) -> bool:
    """Whether a value is declared as a tensor of floats."""
    return isinstance(value.type, TensorType) and kind_of(value.type.dtype) == "f"


def float_types(graph: Graph) -> set[str]:
    """The float types of a model's inputs, constants and carried values."""
    found: set[str] = set()
    graphs = [graph, *(inner for node in walk(graph) for _, inner in bodies(node))]
    for value in (value for one in graphs for value in (*one.inputs, *one.constants)):
        dtype = value.type.dtype if isinstance(value.type, TensorType) else None
        if kind_of(dtype) == "f":
            assert dtype is not None
            found.add(dtype.name)
    return found


def narrower(left: Graph, right: Graph) -> tuple[int, str] | None:
    """The side (0: the left one) with the narrower floats, and the narrowest of them; None where neither has any."""
    names = [min(float_types(graph), key=largest_of, default="") for graph in (left, right)]
    if "" in names or names[0] == names[1]:
        return None
    side = int(largest_of(names[1]) < largest_of(names[0]))
    return side, names[side]


def quantised_side(left: Graph, right: Graph) -> int | None:
    """The side (0: the left one) that computes in 8 bits what the other computes in floats; None where none does.

    An IR can have been converted from a quantised ONNX model and not show it: those two are held to what floats tell.
    """
    # An IR has no operators for products of bytes, but it goes over to them.
    converts = System.OPENVINO in (left.system, right.system)
    found = [any(_is_sign(node, converts) for node in _operators(graph)) for graph in (left, right)]
    if found[0] is found[1]:
        return None
    side = int(found[1])
    shows = left.system is right.system or (left, right)[side].system is System.OPENVINO
    return side if shows else None


def _is_sign(node: Node, converts: bool) -> bool:
    return is_quantised(node) or (converts and converts_to(node) in (np.int8, np.uint8))


def _operators(graph: Graph) -> Iterator[Node]:
    """All nodes, and the operators of the file that some were made of."""
    yield from walk(graph)
    for one in (graph, *(inner for node in walk(graph) for _, inner in bodies(node))):
        yield from one.opened.values()


def begun(port: Value | SlicedInput) -> Value:
    """The outer value that a back edge begins with, or with a part of which."""
    return port.outer if isinstance(port, SlicedInput) else port
