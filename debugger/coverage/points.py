"""The coverage points of a model: what a test of its loops should make happen at least once, derived from the graph.

The id of a point is ``LOOP/NODE/KIND/WAY``: the path of the loop with the branches inside it, the node's name (absent
for the loop itself), what is looked at, and the way that it went. Ids depend on the names in the model only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from ...runtime.graph import MAIN, Graph, If, Loop, Node, Operation, System, bodies
from ...runtime.graph.producers import ProducerMap
from ...runtime.plan.trip_count_analysis import condition_can_change
from .operand_conditions import OperandTest, operand_tests


class PointKind(StrEnum):
    """What a point looks at.

    >>> sorted({point.kind.value for point in model.coverage(inputs).points})
    ['iterations', 'node', 'termination']
    """

    #: How many iterations an entry of the loop had: zero, one, many.
    ITERATIONS = "iterations"
    #: Why an entry of the loop ended.
    TERMINATION = "termination"
    #: A branch of an If, in the first, a later, and the last iteration.
    BRANCH = "branch"
    #: A bound of Clip, or the operand that Min or Max took.
    CLAMP = "clamp"
    #: What the condition of Where was for some element.
    SELECTION = "select"
    #: An index at an end of its range: Gather, Scatter, Slice.
    INDEX = "index"
    #: A node ran.
    NODE = "node"


#: The iterations in which a branch is taken; how many iterations there are; why a loop ends.
FIRST, LATER, LAST = "first", "later", "last"
ZERO, SINGLE, MANY = "zero", "one", "many"
CONDITION, TRIP_COUNT, INPUT_EXHAUSTED, NEVER = "condition", "trip_count", "input_exhausted", "never"


@dataclass(frozen=True)
class CoveragePoint:
    """One point. ``loop``: the path of the loop, with the branches inside it in which the node is; ``node``: empty for
    the loop itself.

    >>> str(model.coverage(inputs).points[0])
    'main ▸ sqrt: iterations zero'
    """

    id: str
    loop: str
    node: str
    op_type: str
    kind: PointKind
    way: str

    @property
    def is_fault(self) -> bool:
        """Whether no test should hit it: a loop that never ends. It is not counted.

        >>> [point.way for point in model.coverage(inputs).points if point.is_fault]
        ['never']
        """
        return self.way == NEVER

    def __str__(self) -> str:
        node = f" {self.op_type} '{self.node}'" if self.node else ""
        return f"{self.loop}{node}: {self.kind.value}" + (f" {self.way}" if self.way else "")


#: The branches of Ifs in which a node is, outermost first, and which of them.
Guards = tuple[tuple[If, bool], ...]


@dataclass(frozen=True, eq=False)
class PointSite:
    """Where a point is in the graph. ``node``: None for the loop itself; ``test``: of the node's operands, or None;
    ``taken``: the branch of an If, or None."""

    point: CoveragePoint
    loop: Loop
    node: Node | None
    guards: Guards
    test: OperandTest | None = None
    taken: bool | None = None


_BRANCHES = (("then", True), ("else", False))


def points(graph: Graph) -> tuple[CoveragePoint, ...]:
    """The coverage points of a model's loops, outer loops before inner ones.

    Args:
        graph: the model's main graph.
    """
    return tuple(site.point for site in point_sites(graph))


def point_sites(graph: Graph) -> list[PointSite]:
    """The points with their places in the graph."""
    finder = _Finder(graph)
    finder.visit(graph, MAIN, None, ())
    return finder.sites


class _Finder:
    def __init__(self, graph: Graph) -> None:
        self._system: System = graph.system
        self._producers = ProducerMap.for_graph(graph)
        self._ids: Counter[str] = Counter()
        self.sites: list[PointSite] = []

    def visit(self, graph: Graph, path: str, loop: Loop | None, guards: Guards) -> None:
        for node in graph.nodes:
            if loop is not None and node.op_type != "Constant":
                self._add_node_point(path, loop, node, guards, PointKind.NODE, "")
            if isinstance(node, Loop):
                inner = f"{path} ▸ {node.name}"
                self._visit_loop(inner, node)
                self.visit(node.body, inner, node, ())
            elif isinstance(node, If):
                self._visit_if(path, loop, node, guards)
            elif loop is not None and isinstance(node, Operation):
                for test in operand_tests(node, self._system, self._producers):
                    self._add_node_point(path, loop, node, guards, PointKind(test.kind), test.way, test=test)

    def _visit_if(self, path: str, loop: Loop | None, node: If, guards: Guards) -> None:
        for name, taken in _BRANCHES if loop is not None else ():
            for way in (FIRST, LATER, LAST):
                assert loop is not None
                self._add_node_point(path, loop, node, guards, PointKind.BRANCH, f"{name} {way}", taken=taken)
        for (name, branch), (_, taken) in zip(bodies(node), _BRANCHES, strict=True):
            inside = (*guards, (node, taken)) if loop is not None else ()
            self.visit(branch, f"{path} ▸ {node.name} ({name})", loop, inside)

    def _visit_loop(self, path: str, loop: Loop) -> None:
        trips = self._producers.constant_integer(loop.trip_count) if loop.fixed_trips is None else loop.fixed_trips
        is_limited = trips is not None and trips >= 0 and trips < (1 << 63) - 1
        conditions = _condition_may_end(loop, self._producers)
        for way, count in ((ZERO, 0), (SINGLE, 1), (MANY, 2)):
            if is_limited and trips is not None:
                possible = trips >= count if conditions else count == min(trips, 2)
                if not possible:
                    continue
            # Zero iterations take a condition that is false at the beginning, where the trip count is known.
            if way == ZERO and is_limited and trips and not _may_start_false(loop, self._producers):
                continue
            self._add_loop_point(path, loop, PointKind.ITERATIONS, way)
        ends = (
            (CONDITION, conditions),
            (TRIP_COUNT, is_limited or (trips is None and loop.trip_count is not None)),
            (INPUT_EXHAUSTED, loop.counted_by_slices),
            (NEVER, not loop.counted_by_slices and not is_limited and (trips is not None or loop.trip_count is None)),
        )
        for way, is_possible in ends:
            if is_possible:
                self._add_loop_point(path, loop, PointKind.TERMINATION, way)

    def _add_loop_point(self, path: str, loop: Loop, kind: PointKind, way: str) -> None:
        point = CoveragePoint(self._unique_id(f"{path}/{kind}/{way}"), path, "", loop.op_type, kind, way)
        self.sites.append(PointSite(point, loop, None, ()))

    def _add_node_point(
        self,
        path: str,
        loop: Loop,
        node: Node,
        guards: Guards,
        kind: PointKind,
        way: str,
        test: OperandTest | None = None,
        taken: bool | None = None,
    ) -> None:
        parts = (path, node.name, kind.value, *([way] if way else []))
        point = CoveragePoint(self._unique_id("/".join(parts)), path, node.name, node.op_type, kind, way)
        self.sites.append(PointSite(point, loop, node, guards, test, taken))

    def _unique_id(self, text: str) -> str:
        """An id; a second node of one name gets a number."""
        self._ids[text] += 1
        return text if self._ids[text] == 1 else f"{text}#{self._ids[text]}"


def _may_start_false(loop: Loop, producers: ProducerMap) -> bool:
    if loop.condition_node_count is not None:
        return True
    initial = loop.initial_condition
    return initial is not None and producers.constant_scalar(initial) is not True


def _condition_may_end(loop: Loop, producers: ProducerMap) -> bool:
    """Whether a condition may end the loop."""
    return _may_start_false(loop, producers) or (loop.condition is not None and _can_be_false(loop, producers))


def _can_be_false(loop: Loop, producers: ProducerMap) -> bool:
    assert loop.condition is not None
    if condition_can_change(loop):
        return True
    is_passed_on = producers.skip_identities(loop.condition) is loop.condition_input
    return not is_passed_on and producers.constant_scalar(loop.condition) is not True


def by_loop(selection: Iterable[CoveragePoint]) -> Iterator[tuple[str, list[CoveragePoint]]]:
    """Points by the path of their loop, in order."""
    groups: dict[str, list[CoveragePoint]] = {}
    for point in selection:
        groups.setdefault(point.loop, []).append(point)
    yield from groups.items()
