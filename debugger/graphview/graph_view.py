"""What a picture of a loop holds, before anything is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ...runtime.graph import BackEdge, Graph, Loop, Node, ScanOutput, Value


class BoxKind(StrEnum):
    """What a box is."""

    #: A parameter that a back edge, or the condition, comes to.
    CARRIED = "carried"
    SLICED = "sliced input"
    ITERATION = "iteration number"
    #: An invariant input, or a value of a graph around.
    CAPTURED = "captured"
    INPUT = "input"
    NODE = "node"
    IF = "if"
    LOOP = "loop"
    #: Where a back edge begins.
    RESULT = "back edge"
    SCAN = "scan output"
    CONDITION = "condition"
    LAST = "last value"
    OUTPUT = "output"


#: What a body, or the main graph, gets.
INPUT_KINDS = frozenset({BoxKind.CARRIED, BoxKind.SLICED, BoxKind.ITERATION, BoxKind.CAPTURED, BoxKind.INPUT})
#: What it gives.
OUTPUT_KINDS = frozenset({BoxKind.RESULT, BoxKind.SCAN, BoxKind.CONDITION, BoxKind.LAST, BoxKind.OUTPUT})


@dataclass(frozen=True, eq=False)
class GraphBox:
    """One box. ``name``: what it is called; ``op``: the operator, empty for ports; ``told``: its line of pseudo-code.

    ``values``: what it makes, or what a port hands on. ``decides``: the loop's condition depends on it. ``edge``: the
    back edge that begins or ends here; ``scan``: the scan output that it is. ``inside``: the graphs of a loop or an If
    that is open.
    """

    kind: BoxKind
    name: str
    op: str
    description: str
    values: tuple[Value, ...] = ()
    node: Node | None = None
    affects_condition: bool = False
    edge: BackEdge | None = None
    scan: ScanOutput | None = None
    subgraphs: tuple[GraphView, ...] = ()

    @property
    def key(self) -> object:
        """What it is of, the same in every picture of the loop: a node, a back edge, a scan output, a value."""
        return self.node or (self.kind, self.edge or self.scan or next(iter(self.values), None))


@dataclass(frozen=True, eq=False)
class GraphWire:
    """A value on its way from the box that makes it (``source``) to those that read it, by index."""

    value: Value
    source: int
    readers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class BackEdgeArc:
    """A back edge: from the box of its result (``source``) to the box of its parameter (``target``), by index.

    ``edge``: None for what ONNX hands on of the condition.
    """

    edge: BackEdge | None
    source: int
    target: int


@dataclass(frozen=True, eq=False)
class GraphView:
    """A graph as boxes, in an order in which each stands behind those that it reads.

    ``loop``: whose body the graph is, None for the main graph and the branches of Ifs; ``frame``: the loop whose frame
    has its values, None for the main graph. ``hidden``: of a part of a picture, by box, how many of its neighbours are
    left out; ``whole``: the picture that it is a part of.
    """

    graph: Graph
    loop: Loop | None
    frame: Loop | None
    title: str
    boxes: tuple[GraphBox, ...]
    wires: tuple[GraphWire, ...]
    arcs: tuple[BackEdgeArc, ...]
    hidden_neighbours: Mapping[int, int] = field(default_factory=dict)
    full_view: GraphView | None = None

    def find_box(self, key: object) -> int | None:
        """The box of a key (:attr:`Box.key`); None where there is none."""
        return next((k for k, box in enumerate(self.boxes) if box.key == key), None)
