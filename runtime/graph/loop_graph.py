"""The loop graph: the common intermediate representation of the loops of all systems.

A :class:`Graph` holds nodes in an order in which they can run. A node is an :class:`Operation`, an :class:`If` or a
:class:`Loop`. Values are compared by identity, as two scopes may each have a value of one name. A capture is a value of
an enclosing graph that is used inside a body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NodeFields
from ..record import record
from ..text import escape_unprintable
from .origin import UNKNOWN_ORIGIN, Origin

#: A dimension: a number, a name (``"N"``), or None where it is unknown.
Dim = int | str | None
#: The same as numpy.typing.NDArray, which takes a millisecond to import.
Array = np.ndarray[tuple[Any, ...], np.dtype[Any]]


class System(StrEnum):
    """The loop system that a model was written for."""

    ONNX = "onnx"
    OPENVINO = "openvino"
    TENSORRT = "tensorrt"


class StoppedBy(StrEnum):
    """The reason why a loop ended (docs/semantics.md 2.4).

    >>> model.execute(inputs).loops[0].stopped_by
    <StoppedBy.CONDITION: 'condition'>
    """

    TRIP_COUNT = "trip_count"
    CONDITION = "condition"
    INPUT_EXHAUSTED = "input_exhausted"
    LIMIT = "limit"
    INTERRUPT = "interrupt"
    BREAKPOINT = "breakpoint"
    ERROR = "error"


@record(frozen=True)
class TensorType:
    """A tensor's declared type. ``dtype`` None: any; ``shape`` None: any rank. Strings have dtype object.

    ``bounds``: by axis, the minimum and maximum size (None: no limit) of an unknown dimension.

    >>> str(model.inputs[0].type), model.inputs[0].type.shape
    ('float32[]', ())
    """

    dtype: np.dtype[Any] | None = None
    shape: tuple[Dim, ...] | None = None
    bounds: Mapping[int, tuple[int, int | None]] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        dtype = "?" if self.dtype is None else "string" if self.dtype == object else self.dtype.name
        return f"{dtype}{self.shape_text()}"

    def shape_text(self) -> str:
        """The shape in messages: ``[2,?,1..5]``, ``[...]`` for any rank.

        >>> loopdbg.TensorType(np.dtype("int64"), (2, None)).shape_text()
        '[2,?]'
        """
        return "[...]" if self.shape is None else f"[{','.join(map(self._dim_text, range(len(self.shape))))}]"

    def excludes(self, other: TensorType) -> bool:
        """Whether no shape can match both types.

        >>> loopdbg.TensorType(None, (2, None)).excludes(loopdbg.TensorType(None, (3, 4)))
        True
        """
        if self.shape is None or other.shape is None:
            return False
        if len(self.shape) != len(other.shape):
            return True
        pairs = zip(self.shape, other.shape, strict=True)
        return any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)

    def _dim_text(self, axis: int) -> str:
        assert self.shape is not None
        if axis in self.bounds:
            minimum, maximum = self.bounds[axis]
            return f"{minimum}..{'' if maximum is None else maximum}"
        dim = self.shape[axis]
        return "?" if dim is None else str(dim)


@record(frozen=True)
class SequenceType:
    """A list of elements of one type.

    >>> str(loopdbg.SequenceType(loopdbg.TensorType(np.dtype("int64"), (2, None))))
    'seq(int64[2,?])'
    """

    element: ValueType

    def __str__(self) -> str:
        return f"seq({self.element})"


@record(frozen=True)
class OptionalType:
    """A value of the element type, or nothing (None).

    >>> str(loopdbg.OptionalType(loopdbg.TensorType(np.dtype("int64"), ())))
    'optional(int64[])'
    """

    element: ValueType

    def __str__(self) -> str:
        return f"optional({self.element})"


#: The name of the model's main graph in paths, as in ``main ▸ outer ▸ inner``.
MAIN = "main"
ValueType = TensorType | SequenceType | OptionalType
ANY_TYPE = TensorType()


@record(eq=False)
class Value:
    """One named value of one scope. ``constant`` holds the data of initializers and Constants.

    ``short_name``: a unique alias for a long name.
    """

    name: str
    type: ValueType = ANY_TYPE
    constant: Array | None = None
    short_name: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Its name, and its short name if it has one."""
        return (self.name, self.short_name) if self.short_name else (self.name,)

    def __repr__(self) -> str:
        return f"Value({self.name!r}, {self.type})"


@record(eq=False, repr=False)
class Node:
    """The base of all nodes. ``name`` is from the model, or derived from type and position where the model has none."""

    name: str
    op_type: str
    #: Operator set: ``""`` is ai.onnx; ``"opset5"`` and the like for OpenVINO.
    domain: str
    #: The opset version of the domain that the model imports (OpenVINO: the number in ``opsetN``).
    version: int
    inputs: list[Value | None]
    outputs: list[Value | None]
    #: Its source location, or a function that returns it on first use.
    source: Origin | Callable[[], Origin] = field(default=UNKNOWN_ORIGIN, kw_only=True)

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    @property
    def origin(self) -> Origin:
        """Its source location, as far as the model contains it."""
        if not isinstance(self.source, Origin):
            self.source = self.source()
        return self.source

    @property
    def is_custom_operator(self) -> bool:
        """Whether its operator is not a standard operator of its system."""
        return bool(self.domain) and not self.domain.startswith("opset")

    @property
    def error_fields(self) -> NodeFields:
        """What an error about this node states of it."""
        return {"node": self.name, "op_type": self.op_type}

    def describe(self) -> str:
        """The name of a node in messages: ``Add 'h_new' (opset 13, model.py:87)``; without an opset for a script."""
        return escape_unprintable(f"{self.op_type} '{self.name}'") + f" ({self.location_text()})"

    def location_text(self) -> str:
        """Operator set and source line, where known: ``opset 13, model.py:87``, ``net.py:4, called from net.py:10``."""
        domain = f"{self.domain} " if self.is_custom_operator else ""
        origin = self.origin
        opset = "" if origin.script else f"{domain}opset {self.version}"
        called_from = origin.called_from
        return ", ".join(filter(None, (opset, str(origin), called_from and f"called from {called_from}")))


@record(eq=False, repr=False)
class Operation(Node):
    """A node without control flow. ONNX attributes are Python values and arrays; OpenVINO's are strings."""

    attributes: Mapping[str, Any] = field(default_factory=dict)


@record(eq=False, repr=False)
class If(Node):
    """``inputs[0]`` is the condition; output k is ``branch.outputs[k]`` of the branch taken."""

    then_branch: Graph
    else_branch: Graph


@record(eq=False)
class SlicedInput:
    """An outer tensor sliced along ``axis``; iteration i gets part i.

    ``start``, ``end``, ``stride`` and ``part_size`` are those of OpenVINO's TensorIterator-1 (docs/semantics.md 6.2):
    negative start and end are ``dim + 1 + v``, end is exclusive, a negative stride goes backwards with the order inside
    a part kept. ``drop_axis``: the part loses the axis (ONNX Scan, TensorRT); otherwise its size is ``part_size``.
    ``from_trip_count``: with a trip count M, iteration i gets part M-1-i of the tensor (TensorRT's reverse iterators,
    docs/semantics.md 8.3); the tensor may have more than M parts.
    """

    outer: Value
    inner: Value
    axis: int
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1
    drop_axis: bool = False
    from_trip_count: bool = False


@record(eq=False)
class BackEdge:
    """``result`` of iteration i becomes ``param`` of iteration i+1.

    ``initial`` is the value in iteration 0: an outer value, or a sliced input's part 0 (a parameter with both a slice
    and a back edge, docs/semantics.md 2.1).
    """

    initial: Value | SlicedInput
    param: Value
    result: Value


@record(eq=False)
class Invariant:
    """``inner`` is ``outer`` in every iteration (OpenVINO's invariant inputs)."""

    outer: Value
    inner: Value


@record(eq=False)
class LastValueOutput:
    """``outer`` is ``result`` of the last iteration; with zero trips the initial value of its back edge.

    ``edge`` names that back edge (ONNX pairs them by position); None: the first one that carries ``result``, if any.
    """

    result: Value
    outer: Value
    edge: BackEdge | None = None


@record(eq=False)
class ScanOutput:
    """``outer`` collects ``result`` of every iteration.

    ``stack``: on a new axis ``axis``; otherwise concatenated along the existing ``axis``. ``reverse``: the last
    iteration comes first. ``length``: an outer integer, the size of the axis; elements that the loop does not produce
    are zeros at the end (TensorRT, docs/semantics.md 8.4). ``valid``: the parameter of a sliced input that masks the
    parts of an element along its first axis that are not padding (``[parts, 1]``), or counts them from the first one:
    sequences of different lengths. ``part_size``: rows of an element according to an IR's port map; nothing depends on
    it here.
    """

    result: Value
    outer: Value
    axis: int = 0
    stack: bool = True
    reverse: bool = False
    length: Value | None = None
    valid: Value | None = None
    part_size: int = 1


class Note(str):
    """One sentence on a deviation of a runtime from the specification.

    ``rule``: the label of the deviation in docs/check.md; empty where it has none.
    """

    rule: str

    def __new__(cls, rule: str, text: str) -> Note:
        """Create a note from its rule and sentence."""
        note = super().__new__(cls, text)
        note.rule = rule
        return note

    def __reduce__(self) -> tuple[type[Note], tuple[str, str]]:
        return Note, (self.rule, str(self))


#: Exporters write the largest int64 for "no trip count".
_UNREACHABLE_TRIP_COUNT = (1 << 63) - 1


def effective_trip_count(trip_count: int | None) -> int | None:
    """The trip count; None where it is too large to limit any loop."""
    return None if trip_count is None or trip_count >= _UNREACHABLE_TRIP_COUNT else trip_count


#: The number of a loop's port that is not in the file.
NO_PORT = -1


@record(eq=False, repr=False)
class Loop(Node):
    """A loop of any system. The fields that are set determine its kind.

    * ``trip_count``: an outer integer value, one element; None = no limit. ONNX: negative runs zero trips; OpenVINO: -1
      is no limit (``minus_one_is_no_limit``), other negatives are an error.
    * ``initial_condition``: an outer boolean; None = true.
    * ``condition``: the body's boolean result that decides whether the next iteration runs; None = nothing in the body
      can end the loop (``for``). ``condition_input`` is the ONNX body parameter that receives the last condition.
    * ``ignored_condition``: a condition result of the body that the spec ignores (ONNX with an absent cond).
    * ``condition_node_count``: TensorRT's kWHILE: ``condition`` decides whether the iteration itself runs. This many
      nodes at the start of the body compute it, and only they run before it is tested. None: it is about the next
      iteration.
    * ``iteration``: the body parameter that receives the iteration number.
    * ``counted_by_slices``: the number of parts of the sliced inputs is the trip count (TensorIterator, Scan).
    * ``fixed_trips``: the trip count of a TensorIterator without sliced inputs.
    """

    body: Graph
    system: System
    trip_count: Value | None = None
    minus_one_is_no_limit: bool = False
    initial_condition: Value | None = None
    condition: Value | None = None
    condition_input: Value | None = None
    ignored_condition: Value | None = None
    condition_node_count: int | None = None
    iteration: Value | None = None
    counted_by_slices: bool = False
    fixed_trips: int | None = None
    sliced_inputs: list[SlicedInput] = field(default_factory=list)
    back_edges: list[BackEdge] = field(default_factory=list)
    invariants: list[Invariant] = field(default_factory=list)
    last_values: list[LastValueOutput] = field(default_factory=list)
    scan_outputs: list[ScanOutput] = field(default_factory=list)
    #: The numbers of the loop's ports in the file (an IR's ``external_port_id``); empty where it has none, ``NO_PORT``
    #: for those of a variable that its body uses.
    input_ports: list[int] = field(default_factory=list)
    output_ports: list[int] = field(default_factory=list)
    #: Deviations of real runtimes with this loop (docs/peers.md), one sentence each.
    notes: list[str] = field(default_factory=list)
    #: The operator that it was expanded from: ``LSTM 'rnn' (ONNX LSTM-14), forward``.
    derived_from: str = ""

    def back_edge_for(self, last: LastValueOutput) -> BackEdge | None:
        """Return the back edge whose value a last-value output returns."""
        return last.edge or next((edge for edge in self.back_edges if edge.result is last.result), None)


@record(eq=False)
class Variable:
    """State that persists between runs of a model (OpenVINO's ReadValue and Assign).

    A graph has it as additional last inputs and outputs: ``state`` is the last assigned value, or the default.
    ``assigned`` is the value that a run assigns (None: nothing). ``initial`` is the computed value before the first
    assignment, if any, and ``known`` then tells whether a value was assigned.
    """

    name: str
    state: Value
    known: Value | None = None
    assigned: Value | None = None
    initial: Value | None = None

    @property
    def output_name(self) -> str:
        """The name of the graph's output for the assigned value."""
        return f"{self.name} (assigned)"

    @property
    def inputs(self) -> list[Value]:
        """The graph inputs that hold it."""
        return [self.state] if self.known is None else [self.state, self.known]


@record(frozen=True)
class ExcludedItem:
    """A node or input of a file that is not in the graph as it needs values of an unsupported type (a map).

    ``subject``: its name in messages; ``reason``: why it is excluded; ``outputs``: model outputs that need it and are
    not in the graph either.
    """

    subject: str
    reason: str
    outputs: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = ", ".join(f"'{name}'" for name in self.outputs)
        effect = {0: "no output of the model needs it", 1: f"the output {names} is not computed"}
        consequence = effect.get(len(self.outputs), f"the outputs {names} are not computed")
        return f"{self.subject} is excluded: {self.reason}, which is not supported; {consequence}."


@record(eq=False, repr=False)
class Graph:
    """Nodes in an order in which they can run, with the graph's own inputs and outputs.

    ``constants``: values of this scope that hold data (initializers, Constants). For the main graph of a model the
    inputs come from the user; for a body they are its parameters. ``defaults``: optional inputs.
    """

    name: str
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    constants: list[Value] = field(default_factory=list)
    #: Names of main-graph outputs, where they differ from the value's name.
    output_names: list[str] = field(default_factory=list)
    system: System = System.ONNX
    opsets: Mapping[str, int] = field(default_factory=dict)
    #: Optional inputs: in ONNX those with an initializer of the same name.
    defaults: Mapping[str, Array] = field(default_factory=dict)
    #: State: neither a user input nor a result.
    variables: list[Variable] = field(default_factory=list)
    #: Nodes that are not in the file -> the operator of the file that they were expanded from.
    expanded_from: dict[Node, Operation] = field(default_factory=dict)
    #: Of the main graph: peculiarities of the file, one sentence each.
    notes: list[str] = field(default_factory=list)
    #: Alias of an input -> the input's own name.
    aliases: Mapping[str, str] = field(default_factory=dict)
    #: Of the main graph: the folder of its file; empty where it has none.
    folder: str = ""
    #: Of the main graph: the builder function of a script, and the constants file of an IR, as named by the caller.
    function: str = ""
    weights: Path | None = None
    #: Of the main graph: a run consists of several runs of the model in the file (stateful_runs_as_loop.py).
    is_over_requests: bool = False
    #: By input name: typical sizes and values (TensorRT's optimisation profiles).
    usual_shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    usual_values: dict[str, Array] = field(default_factory=dict)
    #: Of the main graph: items of the file that need values of unsupported types.
    excluded: list[ExcludedItem] = field(default_factory=list)

    @property
    def missing_outputs(self) -> list[str]:
        """The model's outputs that are not in the graph as they need values of unsupported types."""
        return [name for item in self.excluded for name in item.outputs]

    def __repr__(self) -> str:
        return f"<Graph '{self.name}': {len(self.nodes)} nodes>"


def bodies(node: Node) -> Sequence[tuple[str, Graph]]:
    """The graphs inside a node, each with its role: ``body``, ``then``, ``else``."""
    if isinstance(node, Loop):
        return (("body", node.body),)
    if isinstance(node, If):
        return (("then", node.then_branch), ("else", node.else_branch))
    return ()


def body_results_in_file(loop: Loop) -> Sequence[Value]:
    """The body's results in the file, without the variables of an IR that were added to the body."""
    return loop.body.outputs[: len(loop.body.outputs) - loop.output_ports.count(NO_PORT)]


def nodes_in_file(graph: Graph) -> list[Node]:
    """The nodes in the file: expanded nodes are replaced by the operator they were expanded from."""
    return list(dict.fromkeys([graph.expanded_from.get(node, node) for node in graph.nodes]))


def node_in_file(graph: Graph, node: Node) -> Node:
    """The operator in the file that a node was expanded from, or the node; ``graph``: the main graph."""
    inner = (scope for parent in walk(graph) for _, scope in bodies(parent))
    return next((scope.expanded_from[node] for scope in (graph, *inner) if node in scope.expanded_from), node)


def walk(graph: Graph) -> list[Node]:
    """Every node of a graph and of the graphs inside it, in order, outer before inner."""
    nodes = []
    for node in graph.nodes:
        nodes.append(node)
        if isinstance(node, Loop | If):
            for _, inner in bodies(node):
                nodes += walk(inner)
    return nodes


def walk_graphs(graph: Graph) -> list[Graph]:
    """A graph and the graphs inside it, outer before inner."""
    inner = [body for node in walk(graph) if isinstance(node, Loop | If) for _, body in bodies(node)]
    return [graph, *inner]


def loops(graph: Graph) -> list[Loop]:
    """Every loop of a graph, outer before inner."""
    return [node for node in walk(graph) if isinstance(node, Loop)]


def own_nodes(graph: Graph) -> Iterator[Node]:
    """Every node of a graph and of the branches of its Ifs, but not of inner loops."""
    for node in graph.nodes:
        yield node
        if isinstance(node, If):
            yield from own_nodes(node.then_branch)
            yield from own_nodes(node.else_branch)


def own_values(graph: Graph) -> Iterator[Value]:
    """Every value that a graph itself defines, including branches of its Ifs but not inner loops."""
    yield from (*graph.inputs, *graph.constants)
    for node in graph.nodes:
        yield from (value for value in node.outputs if value is not None)
        if isinstance(node, If):
            for _, branch in bodies(node):
                yield from own_values(branch)


def visible_values(graphs: Iterable[Graph]) -> dict[str, Value]:
    """The values visible in a body, by name; ``graphs``: the body, then the enclosing graphs. Full names take
    precedence over short names, and those over names of model outputs."""
    values: dict[str, Value] = {}
    outputs: dict[str, Value] = {}
    for graph in graphs:
        for value in own_values(graph):
            for name in value.names:
                values.setdefault(name, value)
        outputs.update(zip(graph.output_names, graph.outputs, strict=False))
    return outputs | values


def values_read_in_graph(graph: Graph) -> set[Value]:
    """Every value that a graph reads: its nodes, the graphs inside it, and its outputs."""
    values = set(graph.outputs)
    for node in graph.nodes:
        values.update(filter(None, node.inputs))
        for _, inner in bodies(node):
            values |= values_read_in_graph(inner)
    return values


def captured_values(graph: Graph) -> list[Value]:
    """Values of enclosing graphs that a graph uses, in the order of their first use."""
    captured: dict[Value, None] = {}
    _collect_captured(graph, set(), captured)
    return list(captured)


def _collect_captured(graph: Graph, known: set[Value], captured: dict[Value, None]) -> None:
    known = {*known, *graph.inputs, *graph.constants}
    for node in graph.nodes:
        captured.update((value, None) for value in node.inputs if value is not None and value not in known)
        for _, inner in bodies(node):
            _collect_captured(inner, known, captured)
        known.update(value for value in node.outputs if value is not None)
    captured.update((value, None) for value in graph.outputs if value not in known)
