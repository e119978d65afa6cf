"""Data structures of the graph view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ...runtime.graph import BackEdge, Graph, Loop, Node, ScanOutput, Value


class BoxKind(StrEnum):
    """The kind of a box."""

    #: The parameter of a back edge, or the condition input.
    CARRIED = "carried"
    SLICED = "sliced input"
    ITERATION = "iteration number"
    #: An invariant input, or a value of an enclosing graph.
    CAPTURED = "captured"
    INPUT = "input"
    NODE = "node"
    IF = "if"
    LOOP = "loop"
    #: The source of a back edge.
    RESULT = "back edge"
    SCAN = "scan output"
    CONDITION = "condition"
    LAST = "last value"
    OUTPUT = "output"


#: The inputs of a body or the main graph.
INPUT_KINDS = frozenset({BoxKind.CARRIED, BoxKind.SLICED, BoxKind.ITERATION, BoxKind.CAPTURED, BoxKind.INPUT})
#: The outputs.
OUTPUT_KINDS = frozenset({BoxKind.RESULT, BoxKind.SCAN, BoxKind.CONDITION, BoxKind.LAST, BoxKind.OUTPUT})


@dataclass(frozen=True, eq=False)
class GraphBox:
    """A node or a port. ``op``: the operator, empty for ports; ``description``: its line of pseudo-code.

    ``values``: the values it produces or passes on; ``edge``: the back edge that begins or ends here; ``subgraphs``:
    the views of an expanded loop or If.
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
        """The identity across views of the loop: a node, a back edge, a scan output or a value."""
        return self.node or (self.kind, self.edge or self.scan or next(iter(self.values), None))


@dataclass(frozen=True, eq=False)
class GraphWire:
    """A value from its producing box (``source``) to its readers, by box index."""

    value: Value
    source: int
    readers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class BackEdgeArc:
    """A back edge from the box of its result (``source``) to the box of its parameter (``target``), by index.

    ``edge``: None for the condition that ONNX passes to the next iteration.
    """

    edge: BackEdge | None
    source: int
    target: int


@dataclass(frozen=True, eq=False)
class GraphView:
    """A graph as boxes in topological order.

    ``loop``: the loop whose body it is, None for the main graph and the branches of Ifs; ``frame``: the loop whose
    frame holds its values, None for the main graph. ``hidden_neighbours``: in a restricted view, the number of omitted
    neighbours by box; ``full_view``: the view it was restricted from.
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
        """The index of the box with a key (:attr:`GraphBox.key`), or None."""
        return next((k for k, box in enumerate(self.boxes) if box.key == key), None)
