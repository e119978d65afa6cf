"""Symbol table for breakpoints: a model's loops and nodes by name, and the names in scope of each loop body.

It is built from the loop graph alone and thus serves live runs and recordings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...runtime.errors import UsageError
from ...runtime.graph import (
    MAIN,
    Graph,
    If,
    Loop,
    Node,
    TensorType,
    Value,
    bodies,
    own_nodes,
    own_values,
    visible_values,
)
from ...runtime.text import close_matches, did_you_mean
from ..describe.pseudo_code import PseudoCode, build_pseudo_code
from ..describe.value_names import quote, scan_names
from ..expression.expression import Expression
from .line_table import LineTable


@dataclass(frozen=True, eq=False)
class LoopSymbol:
    """A loop and its path; ``parent``: the index of the enclosing loop, -1 in the main graph."""

    index: int
    parent: int
    path: str
    loop: Loop


class SymbolTable:
    """The symbols of one model.

    ``loops``: outer before inner; plans and recordings use the same indices.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.loops: list[LoopSymbol] = []
        #: The nodes in execution order, each with the loop whose body holds it (-1: the main graph).
        self._loop_of_node: dict[Node, int] = {}
        self._add_graph(graph, -1, MAIN)
        self._names: dict[int, frozenset[str]] = {}

    def _add_graph(self, graph: Graph, inside: int, path: str) -> None:
        for node in graph.nodes:
            self._loop_of_node[node] = inside
            if isinstance(node, Loop):
                symbol = LoopSymbol(len(self.loops), inside, f"{path} ▸ {node.name}", node)
                self.loops.append(symbol)
                self._add_graph(node.body, symbol.index, symbol.path)
            for label, branch in bodies(node) if isinstance(node, If) else ():
                self._add_graph(branch, inside, f"{path} ▸ {node.name} ({label})")

    # -- loops

    def enclosing_loops(self, index: int) -> list[int]:
        """The enclosing loops of a loop, innermost first."""
        enclosing = []
        while (index := self.loops[index].parent) >= 0:
            enclosing.append(index)
        return enclosing

    def loop_named(self, name: str) -> int:
        """The index of a loop by its name or its path.

        Raises:
            UsageError: no loop has that name, or several have it.
        """
        matches = [symbol.index for symbol in self.loops if name in (symbol.loop.name, symbol.path)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            paths = ", ".join(f"'{self.loops[k].path}'" for k in matches)
            raise UsageError(f"several loops are called '{name}': {paths}; give the path in quotes", loop=name)
        names = [symbol.loop.name for symbol in self.loops]
        hint = did_you_mean(name, names, "'{}'", 1) or f"; there are {', '.join(names) or 'none'}"
        raise UsageError(f"there is no loop '{name}'{hint}", loop=name)

    def loop_label(self, index: int) -> str:
        """The name of a loop; its path if several have that name."""
        names = [symbol.loop.name for symbol in self.loops]
        symbol = self.loops[index]
        return symbol.loop.name if names.count(symbol.loop.name) == 1 else symbol.path

    # -- names

    def names_in_scope(self, index: int) -> frozenset[str]:
        """Every name that has a value in a loop's body (-1: the main graph), scan outputs included; values that are
        computed after the loop are excluded."""
        if index not in self._names:
            loops = self._loop_chain(index)
            known = None if index < 0 else self._values_at_entry(loops)
            visible = self._visible_values(index)
            names = {name for name, value in visible.items() if known is None or value in known}
            for loop in loops[:1]:
                names.update(scan_names(loop))
            self._names[index] = frozenset(names)
        return self._names[index]

    def _loop_chain(self, index: int) -> list[Loop]:
        return [] if index < 0 else [self.loops[k].loop for k in (index, *self.enclosing_loops(index))]

    def _visible_values(self, index: int) -> dict[str, Value]:
        return visible_values([*(loop.body for loop in self._loop_chain(index)), self.graph])

    def _values_at_entry(self, loops: Sequence[Loop]) -> set[Value]:
        """The values of the first loop's body, and those that the enclosing graphs have when it is entered."""
        known = set(own_values(loops[0].body))
        for loop, graph in zip(loops, [*(outer.body for outer in loops[1:]), self.graph], strict=True):
            known |= _values_before(graph, loop)[0]
        return known

    def scope_text(self, name: str) -> str:
        """Description of the scopes where a name has a value; "" for an unknown name."""
        scopes = [
            f"the body of loop '{self.loop_label(p.index)}'" for p in self.loops if name in self._names_in_body(p.loop)
        ]
        if name not in self.names_in_scope(-1):
            return " and ".join(scopes)
        later_loops = [
            self.loop_label(p.index) for p in self.loops if p.parent < 0 and name not in self.names_in_scope(p.index)
        ]
        where = f"the main graph, computed by or after loop '{later_loops[-1]}'" if later_loops else "the main graph"
        return " and ".join([*scopes, where])

    @staticmethod
    def _names_in_body(loop: Loop) -> set[str]:
        return {*(name for value in own_values(loop.body) for name in value.names), *scan_names(loop)}

    def expression_scopes_text(self, expression: Expression) -> str:
        """The scopes of the names of an expression: ``y is of the body of loop 'inner'``."""
        scopes = [
            f"{quote(name)} is of {self.scope_text(name)}" for name in sorted(expression.names) if self.scope_text(name)
        ]
        return ", ".join(scopes) or "it is about a running loop"

    def check_names(self, expression: Expression, index: int) -> None:
        """Check that a loop's body has all names of an expression.

        Raises:
            UsageError: it does not; the message suggests similar names.
        """
        names = self.names_in_scope(index)
        for name in sorted(expression.names - names):
            if name in self._visible_values(index):
                raise UsageError(
                    f"'{expression.text}' cannot be tested at the boundaries of loop '{self.loop_label(index)}': "
                    f"{quote(name)} is of {self.scope_text(name)}",
                    loop=self.loop_label(index),
                    name=name,
                )
            similar = close_matches(name, names)
            hint = f"; did you mean {' or '.join(map(quote, similar))}?" if similar else ""
            loop = self.loops[index].loop.name if index >= 0 else None
            where = "the main graph" if loop is None else f"loop '{loop}'"
            raise UsageError(f"{where} has no value '{name}' (in '{expression.text}'){hint}", loop=loop, name=name)

    @cached_property
    def _last_value_types(self) -> dict[Value, TensorType]:
        """Types of undeclared loop outputs of back edges: the dtype that the body declares."""
        types: dict[Value, TensorType] = {}
        for loop in (plan.loop for plan in self.loops):
            for last_value in loop.last_values:
                inner_type = last_value.result.type if last_value.edge is None else last_value.edge.param.type
                undeclared = not isinstance(last_value.outer.type, TensorType) or last_value.outer.type.dtype is None
                if undeclared and isinstance(inner_type, TensorType) and inner_type.dtype is not None:
                    types[last_value.outer] = TensorType(inner_type.dtype)
        return types

    def declared_type(self, index: int, name: str) -> TensorType | None:
        """The declared type of a value if it is the same everywhere in a loop's body (-1: in the main graph); None: it
        is unknown, or no tensor."""
        loops = self._loop_chain(index)
        value = self._visible_values(index).get(name)
        declared = None if value is None else self._last_value_types.get(value, value.type)
        if not isinstance(declared, TensorType):
            return None
        # Branches of an If may use one name for different values.
        same = [v for v in own_values(loops[0].body if loops else self.graph) if name in v.names]
        if len(same) > 1 and (
            declared.dtype is None or any(self._last_value_types.get(v, v.type) != declared for v in same)
        ):
            return None
        # A scan output grows while its loop runs, so its length is unknown.
        grows = any(value is port.outer for loop in loops for port in loop.scan_outputs)
        return TensorType(declared.dtype) if grows else declared

    # -- nodes

    @cached_property
    def pseudo_code(self) -> PseudoCode:
        """The model as pseudo-code; ``break 9`` refers to its lines."""
        return build_pseudo_code(self.graph)

    @cached_property
    def line_table(self) -> LineTable:
        """The source lines of the nodes."""
        return LineTable(self.graph)

    def nodes(self, index: int | None = None) -> Iterator[Node]:
        """The nodes in execution order; ``index``: only those directly in that loop's body."""
        return (node for node, inside in self._loop_of_node.items() if index in (None, inside))

    def loop_of(self, node: Node) -> int:
        """The loop whose body holds a node; -1: the main graph."""
        return self._loop_of_node[node]

    def precedes_loops(self, node: Node) -> bool:
        """True for a node that runs before the first loop."""
        for other in self._loop_of_node:
            if isinstance(other, Loop):
                return False
            if other is node:
                return bool(self.loops)
        return False

    def unreachable_reason(self, node: Node) -> str:
        """Why a session never reaches a node; "" if it may.

        A session begins before the first loop: earlier nodes have run. A branch with a constant condition is taken
        always or never.
        """
        if self.precedes_loops(node):
            return "it runs before the first loop, and a session begins after it"
        line = self.pseudo_code.line_of(node)
        for condition, required in () if line is None else line.branches:
            constant = self.pseudo_code.formatter.origins.constant_scalar(condition)
            if constant is not None and bool(constant) != required:
                return f"its branch is never taken: the condition of the If is always {str(bool(constant)).lower()}"
        return ""

    def unreachable_reason_of_all(self, nodes: Collection[Node]) -> str:
        """Why none of these nodes is ever reached; "" if one may be."""
        reasons = [self.unreachable_reason(node) for node in nodes]
        return reasons[0] if reasons and all(reasons) else ""

    def nodes_after(self, expression: Expression) -> frozenset[Node]:
        """The nodes of the main graph that run after all values of an expression are computed."""
        scope = visible_values([self.graph])
        values = {scope[name] for name in expression.names}
        order = list(self.nodes(-1))
        # Outputs of an If are computed after its branches, whose nodes follow it in the order.
        ends = [k + len(_branch_nodes(node)) for k, node in enumerate(order) if values.intersection(node.outputs)]
        return frozenset(order[max(ends, default=-1) + 1 :])

    def node_of_line(self, number: int) -> Node:
        """The node of a line of the pseudo-code, or of the first later line with a node.

        Raises:
            UsageError: there is none.
        """
        for line in self.pseudo_code.lines:
            if line.number >= number and line.node is not None:
                return line.node
        raise UsageError(
            f"there is no node on line {number} or after it; the model has {len(self.pseudo_code.lines)} lines",
            name=f"line {number}",
        )


def _branch_nodes(node: Node) -> list[Node]:
    """The nodes in the branches of an If, without those inside loops."""
    return [inner for _, branch in bodies(node) for inner in own_nodes(branch)] if isinstance(node, If) else []


def _values_before(graph: Graph, loop: Loop) -> tuple[set[Value], bool]:
    """The values of a graph that are computed when a loop in it is entered, and whether the graph contains the loop; a
    loop in the branch of an If has the values of that branch as well."""
    known = {*graph.inputs, *graph.constants}
    for node in graph.nodes:
        if node is loop:
            return known, True
        if isinstance(node, If):
            for _, branch in bodies(node):
                branch_values, contains_loop = _values_before(branch, loop)
                if contains_loop:
                    return known | branch_values, True
                known |= branch_values
        known.update(value for value in node.outputs if value is not None)
    return known, False
