"""Where one can stop: the loops and the nodes of a model by name, and the names that a loop's body knows.

All of this the loop graph tells, for a run as for a recording of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...runtime.errors import UsageError
from ...runtime.graph import MAIN, Graph, If, Loop, Node, TensorType, Value, bodies, own_values, visible_values
from ...runtime.text import close_matches, did_you_mean
from ..describe.pseudo_code import PseudoCode, build_pseudo_code
from ..describe.value_names import quote, scan_names
from ..expression.language import Expression
from .line_table import LineTable


@dataclass(frozen=True, eq=False)
class LoopSymbol:
    """A loop and where it stands; ``parent``: the index of the loop around it, -1 for one of the main graph."""

    index: int
    parent: int
    path: str
    loop: Loop


class SymbolTable:
    """The places of one model.

    ``loops``: outer before inner; a plan and a recording number them in the same way.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.loops: list[LoopSymbol] = []
        #: Every node in the order in which they run, and the loop whose body holds it (-1: the main graph).
        self._loop_of_node: dict[Node, int] = {}
        self._add_graph(graph, -1, MAIN)
        self._names: dict[int, frozenset[str]] = {}

    def _add_graph(self, graph: Graph, inside: int, path: str) -> None:
        for node in graph.nodes:
            self._loop_of_node[node] = inside
            if isinstance(node, Loop):
                place = LoopSymbol(len(self.loops), inside, f"{path} ▸ {node.name}", node)
                self.loops.append(place)
                self._add_graph(node.body, place.index, place.path)
            for word, branch in bodies(node) if isinstance(node, If) else ():
                self._add_graph(branch, inside, f"{path} ▸ {node.name} ({word})")

    # -- loops

    def enclosing_loops(self, index: int) -> list[int]:
        """The loops around one, innermost first."""
        found = []
        while (index := self.loops[index].parent) >= 0:
            found.append(index)
        return found

    def loop_named(self, name: str) -> int:
        """The index of a loop by its name or its path.

        Raises:
            UsageError: there is none of that name, or several.
        """
        found = [place.index for place in self.loops if name in (place.loop.name, place.path)]
        if len(found) == 1:
            return found[0]
        if found:
            paths = ", ".join(f"'{self.loops[k].path}'" for k in found)
            raise UsageError(f"several loops are called '{name}': {paths}; give the path in quotes")
        have = [place.loop.name for place in self.loops]
        hint = did_you_mean(name, have, "'{}'", 1) or f"; there are {', '.join(have) or 'none'}"
        raise UsageError(f"there is no loop '{name}'{hint}")

    def loop_label(self, index: int) -> str:
        """The name of a loop; its path where several have that name."""
        names = [place.loop.name for place in self.loops]
        place = self.loops[index]
        return place.loop.name if names.count(place.loop.name) == 1 else place.path

    # -- names

    def names_in_scope(self, index: int) -> frozenset[str]:
        """Every name that has a value somewhere in a loop's body (-1: the main graph), scan outputs included; what is
        computed after the loop has none there."""
        if index not in self._names:
            loops = self._loop_chain(index)
            known = None if index < 0 else self._values_at_entry(loops)
            seen = self._visible_values(index)
            names = {name for name, value in seen.items() if known is None or value in known}
            for loop in loops[:1]:
                names.update(scan_names(loop))
            self._names[index] = frozenset(names)
        return self._names[index]

    def _loop_chain(self, index: int) -> list[Loop]:
        return [] if index < 0 else [self.loops[k].loop for k in (index, *self.enclosing_loops(index))]

    def _visible_values(self, index: int) -> dict[str, Value]:
        return visible_values([*(loop.body for loop in self._loop_chain(index)), self.graph])

    def _values_at_entry(self, loops: Sequence[Loop]) -> set[Value]:
        """The values of the first loop's body, and those of the graphs around that were there when it was entered."""
        known = set(own_values(loops[0].body))
        for loop, graph in zip(loops, [*(around.body for around in loops[1:]), self.graph], strict=True):
            known |= _values_before(graph, loop)[0]
        return known

    def scope_text(self, name: str) -> str:
        """Where a name has a value, in words; "" of one that the model does not have."""
        found = [
            f"the body of loop '{self.loop_label(p.index)}'" for p in self.loops if name in self._own_names(p.loop)
        ]
        if name not in self.names_in_scope(-1):
            return " and ".join(found)
        after = [
            self.loop_label(place.index)
            for place in self.loops
            if place.parent < 0 and name not in self.names_in_scope(place.index)
        ]
        where = f"the main graph, computed by or after loop '{after[-1]}'" if after else "the main graph"
        return " and ".join([*found, where])

    @staticmethod
    def _own_names(loop: Loop) -> set[str]:
        return {*(name for value in own_values(loop.body) for name in value.names), *scan_names(loop)}

    def scopes_text(self, expression: Expression) -> str:
        """Where the names of an expression have their values: ``y is of the body of loop 'inner'``."""
        told = [
            f"{quote(name)} is of {self.scope_text(name)}" for name in sorted(expression.names) if self.scope_text(name)
        ]
        return ", ".join(told) or "it is about a running loop"

    def check_names(self, expression: Expression, index: int) -> None:
        """See that a loop's body has all the names of an expression.

        Raises:
            UsageError: it does not; the text says what is near.
        """
        names = self.names_in_scope(index)
        for name in sorted(expression.names - names):
            if name in self._visible_values(index):
                raise UsageError(
                    f"'{expression.text}' cannot be tested at the boundaries of loop '{self.loop_label(index)}': "
                    f"{quote(name)} is of {self.scope_text(name)}"
                )
            similar = close_matches(name, names)
            hint = f"; did you mean {' or '.join(map(quote, similar))}?" if similar else ""
            where = f"loop '{self.loops[index].loop.name}'" if index >= 0 else "the main graph"
            raise UsageError(f"{where} has no value '{name}' (in '{expression.text}'){hint}")

    @cached_property
    def _last_value_types(self) -> dict[Value, TensorType]:
        """What a loop gives of a back edge, where nothing is declared of it: the dtype that the body declares."""
        found: dict[Value, TensorType] = {}
        for loop in (plan.loop for plan in self.loops):
            for last in loop.last_values:
                inside = last.result.type if last.edge is None else last.edge.param.type
                undeclared = not isinstance(last.outer.type, TensorType) or last.outer.type.dtype is None
                if undeclared and isinstance(inside, TensorType) and inside.dtype is not None:
                    found[last.outer] = TensorType(inside.dtype)
        return found

    def declared_type(self, index: int, name: str) -> TensorType | None:
        """The type that a value is declared with, as far as it is one everywhere in a loop's body (-1: in the main
        graph); None: nothing is known of it, or it is no tensor."""
        loops = self._loop_chain(index)
        value = self._visible_values(index).get(name)
        told = None if value is None else self._last_value_types.get(value, value.type)
        if not isinstance(told, TensorType):
            return None
        # Branches of an If may call different values the same.
        same = [one for one in own_values(loops[0].body if loops else self.graph) if name in one.names]
        if len(same) > 1 and (
            told.dtype is None or any(self._last_value_types.get(one, one.type) != told for one in same)
        ):
            return None
        # What a running loop has collected so far is of any length.
        grows = any(value is port.outer for loop in loops for port in loop.scan_outputs)
        return TensorType(told.dtype) if grows else told

    # -- nodes

    @cached_property
    def pseudo_code(self) -> PseudoCode:
        """The model as pseudo-code; its lines are what ``break 9`` means."""
        return build_pseudo_code(self.graph)

    @cached_property
    def line_table(self) -> LineTable:
        """The lines of code that the nodes come from."""
        return LineTable(self.graph)

    def nodes(self, index: int | None = None) -> Iterator[Node]:
        """The nodes in the order in which they run; ``index``: only those directly in that loop's body."""
        return (node for node, inside in self._loop_of_node.items() if index in (None, inside))

    def loop_of(self, node: Node) -> int:
        """The loop whose body holds a node; -1: the main graph."""
        return self._loop_of_node[node]

    def precedes_loops(self, node: Node) -> bool:
        """True for a node that runs before the first loop."""
        for one in self._loop_of_node:
            if isinstance(one, Loop):
                return False
            if one is node:
                return bool(self.loops)
        return False

    def unreachable_reason(self, node: Node) -> str:
        """Why no execution that a session controls comes to a node; "" where one may.

        A session begins before the first loop: what stands before it has run. A branch whose condition is a constant is
        taken always or never.
        """
        if self.precedes_loops(node):
            return "it runs before the first loop, and a session begins after it"
        line = self.pseudo_code.line_of(node)
        for condition, wanted in () if line is None else line.branches:
            known = self.pseudo_code.formatter.origins.constant_scalar(condition)
            if known is not None and bool(known) != wanted:
                return f"its branch is never taken: the condition of the If is always {str(bool(known)).lower()}"
        return ""

    def unreachable_reason_of_all(self, nodes: Collection[Node]) -> str:
        """Why nothing that stops before these nodes ever does; "" where it may."""
        reasons = [self.unreachable_reason(node) for node in nodes]
        return reasons[0] if reasons and all(reasons) else ""

    def nodes_after(self, expression: Expression) -> frozenset[Node]:
        """The nodes of the main graph that run once all values of an expression are there."""
        scope = visible_values([self.graph])
        made = {scope[name] for name in expression.names}
        order = list(self.nodes(-1))
        # What an If gives is there after its branches, whose nodes stand after it.
        ends = [k + len(_branch_nodes(node)) for k, node in enumerate(order) if made.intersection(node.outputs)]
        return frozenset(order[max(ends, default=-1) + 1 :])

    def node_of_line(self, number: int) -> Node:
        """The node of a line of the pseudo-code, or of the first after it.

        Raises:
            UsageError: there is none.
        """
        for line in self.pseudo_code.lines:
            if line.number >= number and line.node is not None:
                return line.node
        raise UsageError(
            f"there is no node on line {number} or after it; the model has {len(self.pseudo_code.lines)} lines"
        )


def _branch_nodes(node: Node) -> list[Node]:
    """The nodes in the branches of an If, without those inside loops."""
    found: list[Node] = []
    for _, branch in bodies(node) if isinstance(node, If) else ():
        for inner in branch.nodes:
            found += [inner, *_branch_nodes(inner)]
    return found


def _values_before(graph: Graph, loop: Loop) -> tuple[set[Value], bool]:
    """The values of a graph that are there when a loop in it is entered, and whether it is in it at all; a loop in the
    branch of an If has those of that branch as well."""
    known = {*graph.inputs, *graph.constants}
    for node in graph.nodes:
        if node is loop:
            return known, True
        if isinstance(node, If):
            for _, branch in bodies(node):
                inside, found = _values_before(branch, loop)
                if found:
                    return known | inside, True
                known |= inside
        known.update(value for value in node.outputs if value is not None)
    return known, False
