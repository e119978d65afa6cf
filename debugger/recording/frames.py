"""Frames of a recording: what a running loop showed at a recorded boundary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...runtime.boundary import public_class
from ...runtime.dtypes import dtype as dtype_of
from ...runtime.engine.time.history import GAP, numbers_of
from ...runtime.extensions import extension
from ...runtime.frame import BodyNode, CarriedValue, NodeState
from ...runtime.graph import MAIN, Array, If, Loop, Node, ScanOutput, StoppedBy, TensorType, Value, bodies, walk
from ...runtime.graph.slices import join, joined_shape
from ..expression.language import parse
from ..statistics.history import NOTHING, Evolution
from ..values.followed import rows_as_seen
from ..values.iterations import Iterations
from ..values.scope import FrameScope
from ..words.moments import when
from .outline import Body, Outline
from .ports import PortKind
from .queries import Which
from .trace_inside import Entry, Mark
from .values import PortValues, RecordedValues


class RecordedInside:
    """What is behind a recorded frame.

    A frame around the innermost one stands inside an iteration: ``running`` is the loop that runs there. ``now``: the
    boundary at which the recording stands.
    """

    def __init__(
        self,
        outline: Outline,
        index: int,
        now: int,
        entry: Entry | None = None,
        mark: Mark | None = None,
        iteration: int = 0,
        inside: int | None = None,
        over: bool = False,
    ) -> None:
        self.outline = outline
        self.index = index
        self.now = now
        self.mark = mark
        #: The model has ended.
        self.over = over
        self.body: Body | None = outline.loops[index] if index >= 0 else None
        self.loop: Loop | None = self.body.loop if self.body else None
        self.trace = outline.trace
        self.entry = entry
        self.iteration = iteration
        self.running = None if inside is None else outline.loops[inside].loop
        self._recorded: dict[tuple[PortKind, int], PortValues] = {}

    @property
    def ended(self) -> StoppedBy | None:
        """Why the loop ends at this boundary; None while it goes on."""
        return self.mark.ended if self.mark else None

    def around(self) -> RecordedInside | None:
        """The same of the frame in which this loop runs; None of the main graph."""
        if self.body is None or self.entry is None:
            return None
        outline, parent, around = self.outline, self.body.parent, self.entry.around
        if parent < 0:
            return RecordedInside(outline, -1, self.now, inside=self.index, over=self.over)
        started = outline.started(parent, around[:-1])
        entry = None if started is None else started[0]
        found = RecordedInside(outline, parent, self.now, entry, None, around[-1], self.index)
        found.mark = found.mark_at(around[-1])
        return found

    @property
    def entry_id(self) -> int | None:
        """The number of the entry in the trace; None of the main graph."""
        return self.entry.id if self.entry else None

    def mark_at(self, iteration: int) -> Mark | None:
        """The boundary of this entry before an iteration, where it was recorded."""
        return self._find(Which(entry=self.entry_id, iteration=iteration))

    def _find(self, which: Which) -> Mark | None:
        return None if which.entry is None else self.trace.mark(which, newest=True)

    def before(self) -> RecordedFrame | None:
        """The frame at the recorded boundary of this entry before this one."""
        return self._before

    @cached_property
    def _before(self) -> RecordedFrame | None:
        mark = self._find(Which(entry=self.entry_id, below=self.iteration))
        return None if mark is None else frame_at(self.outline, mark)

    def recorded(self, kind: PortKind, mark: Mark | None = None) -> PortValues:
        """What was recorded of a kind at a boundary of this loop: at the one before the iteration that runs."""
        mark = mark or self.mark
        key = (kind, 0 if mark is None else mark.id)
        if key not in self._recorded:
            self._recorded[key] = PortValues(self.trace, self.index, mark, kind)
        return self._recorded[key]

    def scope(self) -> Mapping[str, Value]:
        """The values of the graph by name. Names as the body sees them: its own before those of enclosing graphs."""
        return self.outline.scope(self.index)

    def scan_tail(self, k: int, length: int) -> tuple[int, tuple[int, ...], str, list[Array]]:
        """As :meth:`~...runtime.frame.Frame.scan_tail`, of the elements that were recorded."""
        assert self.loop is not None
        port = self.loop.scan_outputs[k]
        tail = self.elements(port, length)
        if tail:
            shape = joined_shape(tail[-1].shape, port, self.iteration)
            return self.iteration, shape, tail[-1].dtype.name, tail
        declared = port.result.type if isinstance(port.result.type, TensorType) else TensorType()
        dtype = "float32" if declared.dtype is None else declared.dtype.name
        shape = joined_shape(tuple(d if isinstance(d, int) else 0 for d in declared.shape or ()), port, self.iteration)
        return self.iteration, shape, dtype, []

    def elements(self, port: ScanOutput, length: int) -> list[Array]:
        """The newest recorded elements, oldest first."""
        if self.mark is None or self.entry is None:
            return []
        rows = self.trace.newest(self.entry, PortKind.SCAN, port.outer.name, self.iteration, length)
        return [row for row in rows if isinstance(row, np.ndarray)]

    @cached_property
    def nodes(self) -> list[BodyNode]:
        """The body's nodes in order; of those before an inner loop that runs it is known that they are done."""
        graph = self.loop.body if self.loop else self.outline.graph
        flat = list(_flat(graph.nodes, 0, "", ()))
        path: tuple[Node, ...] = ()
        ahead = 0
        if self.running is None:
            # At a boundary nothing of the next iteration is computed; once the model has ended, all is.
            ahead = self._tested(flat)
            position = len(flat) if self.over and self.body is None else ahead if self.ended is None else -1
        else:
            position, path = next((k, path) for k, (node, _, _, path) in enumerate(flat) if node is self.running)
        return [
            BodyNode(
                k,
                node,
                depth,
                branch,
                self._tested_state(node, branch) if k < ahead else self._state(k, node, branch, around, position, path),
            )
            for k, (node, depth, branch, around) in enumerate(flat)
        ]

    def _tested(self, flat: Sequence[tuple[Any, ...]]) -> int:
        """How many nodes at the front were run before the boundary, to decide about the iteration."""
        if self.body is None or self.ended is StoppedBy.TRIP_COUNT:
            return 0
        return sum(any(value in self.body.tested for value in entry[0].outputs) for entry in flat)

    def _tested_state(self, node: Node, branch: str) -> NodeState:
        """Of a node that ran before the boundary; the recorded values tell which branch of an If did."""
        if not branch:
            return NodeState.DONE
        known = self.recorded(PortKind.NODE)
        if not known:
            return NodeState.TODO
        names = [value.name for value in node.outputs if value is not None]
        return NodeState.DONE if any(name in known for name in names) else NodeState.SKIPPED

    def _state(
        self, k: int, node: Node, branch: str, around: tuple[Node, ...], position: int, path: tuple[Node, ...]
    ) -> NodeState:
        if k == position:
            return NodeState.NEXT
        if k > position:
            return NodeState.TODO
        if node in path:
            # The Ifs around the loop that runs: their outputs are written where the branches join.
            return NodeState.TODO
        if branch and not set(around) <= set(path):
            # Which branch an earlier If took shows in what it computed.
            after = self.mark_at(self.iteration + 1)
            yielded = self.recorded(PortKind.NODE, after) if after is not None else {}
            if not yielded:
                return NodeState.TODO
            names = [value.name for value in node.outputs if value is not None]
            return NodeState.DONE if any(name in yielded for name in names) else NodeState.SKIPPED
        if branch and around:
            # In the other branch of an If that the running loop is in.
            inside = self.running
            for word, graph in bodies(around[-1]):
                if word == branch and inside is not None:
                    return NodeState.DONE if any(n is inside for n in walk(graph)) else NodeState.SKIPPED
        return NodeState.DONE

    def state_of(self, value: Value) -> NodeState | None:
        """Where the node stands that computes a value; None where none of this body does."""
        return self._states.get(value)

    @cached_property
    def _states(self) -> dict[Value, NodeState]:
        return {value: entry.state for entry in self.nodes for value in entry.node.outputs if value is not None}


class RecordedFrame:
    """One loop of a recording, or the main graph, as :class:`~..session.frames.Frame` shows it of a run.

    What was not recorded is not there: where not every boundary is, a back edge has no previous value, and a scan
    output only the elements that were recorded.
    """

    def __init__(self, inside: RecordedInside) -> None:
        #: For our own readers: what is in there may change with any version.
        self._inside = inside

    def __repr__(self) -> str:
        return f"<RecordedFrame {self.path}{'' if self.loop is None else f', {when(self)}'}>"

    def _repr_html_(self) -> str:
        drawn: str = extension("html")("frame", self)
        return drawn

    def __getitem__(self, expression: str) -> Any:
        """The value of an expression, as ``frame["max(abs(h))"]``.

        Raises:
            UsageError: it is no expression, or something in it has no value here.
        """
        return parse(expression).evaluate(FrameScope(self, self.history))

    def iteration_of(self, name: str) -> int | None:
        """The iteration that the value of a name is of; None for what is the same in all of them.

        Raises:
            UsageError: the loop has no value of that name.
        """
        return FrameScope(self).iteration_of(name)

    @property
    def index(self) -> int:
        return self._inside.index

    @property
    def loop(self) -> Loop | None:
        return self._inside.loop

    @property
    def name(self) -> str:
        return self.loop.name if self.loop else MAIN

    @property
    def path(self) -> str:
        return self._inside.body.path if self._inside.body else MAIN

    @property
    def entry(self) -> tuple[int, ...]:
        entry = self._inside.entry
        return entry.around if entry else ()

    @property
    def iteration(self) -> int:
        return self._inside.iteration

    @property
    def trip_count(self) -> int | None:
        entry = self._inside.entry
        return entry.trip_count if entry else None

    @property
    def condition(self) -> bool | None:
        mark = self._inside.mark
        return mark.condition if mark else None

    @property
    def stopped_by(self) -> StoppedBy | None:
        return self._inside.ended

    @property
    def at_boundary(self) -> bool:
        return self.loop is not None and self._inside.running is None

    # -- other moments

    @property
    def around(self) -> RecordedFrame | None:
        """The frame in which this loop runs; None of the main graph."""
        return self._around

    @cached_property
    def _around(self) -> RecordedFrame | None:
        around = self._inside.around()
        return None if around is None else RecordedFrame(around)

    @property
    def history(self) -> RecordedIterations:
        """The values of this entry of the loop at other recorded boundaries."""
        return RecordedIterations(self)

    @cached_property
    def evolution(self) -> Evolution:
        """What was recorded of this entry's values so far, as numbers."""
        inside = self._inside
        body, trace, entry, until = inside.body, inside.trace, inside.entry, inside.iteration
        if body is None or entry is None:
            return NOTHING
        followed = inside.outline.followed(inside.index)
        found = [trace.numbers(entry, PortKind.CARRIED, edge.param.name, until) for edge in body.loop.back_edges]
        rows = sorted({iteration for one, _ in found for iteration in one})
        for side in followed.sides:
            one, wide = trace.numbers(entry, PortKind.NODE, side.name, until)
            there, data = self.values.read(side) if not one and side not in body.own else (False, 0)
            if there and isinstance(data, np.ndarray) and (same := numbers_of(data)) is not None:
                # What comes from outside is the same all the time.
                one, wide = dict.fromkeys(rows, same), data.size != 1
            found.append((one, wide))
        rows = sorted({iteration for one, _ in found for iteration in one})
        missing = (GAP,) * 4  # a tensor without elements, too, has no numbers in a recording
        numbers = [np.array([one.get(k, missing) for k in rows]) if one else np.empty((0, 4)) for one, _ in found]
        return followed.evolution(rows_as_seen(np.array(rows, np.int64), numbers, [wide for _, wide in found]))

    # -- values

    @property
    def carried(self) -> Mapping[str, Any]:
        return self._inside.recorded(PortKind.CARRIED)

    @property
    def back_edges(self) -> list[CarriedValue]:
        last = self._inside.before() if self._inside.iteration and self.at_boundary else None
        known = {} if last is None or last.iteration != self._inside.iteration - 1 else last.carried
        edges = []
        for edge in self.loop.back_edges if self.loop else ():
            name = edge.param.name
            names = (name, edge.result.name, edge.param.type)
            now = self.carried.get(name)
            if self.at_boundary:
                edges.append(CarriedValue(*names, known.get(name), now, name in self.carried))
            else:
                ready = edge.result is edge.param or self._inside.state_of(edge.result) is NodeState.DONE
                there, value = self.values.read(edge.result) if ready else (False, None)
                edges.append(CarriedValue(*names, now, value, there))
        return edges

    @cached_property
    def values(self) -> RecordedValues:
        """Every value that is known here by name."""
        return RecordedValues(self)

    @property
    def scan_outputs(self) -> Mapping[str, Any]:
        """What each scan output has collected so far; those of which every element was recorded."""
        found = {}
        for k, port in enumerate(self.loop.scan_outputs if self.loop else ()):
            if not self._inside.iteration:
                _, shape, dtype, _ = self._inside.scan_tail(k, 1)
                found[port.outer.name] = np.zeros(shape, dtype_of(dtype))
                continue
            rows = self._inside.elements(port, self._inside.iteration)
            if rows and len(rows) == self._inside.iteration:
                found[port.outer.name] = join(np.stack(rows), port).copy()
        return found

    # -- the body

    @property
    def nodes(self) -> list[BodyNode]:
        """The body's nodes in order; of those before an inner loop that runs it is known that they are done."""
        return self._inside.nodes


def frame_at(outline: Outline, mark: Mark, *, over: bool = False) -> RecordedFrame:
    """The loop that a boundary is one of, standing at it."""
    entry = outline.trace.entry(mark.entry)
    return RecordedFrame(RecordedInside(outline, entry.loop, mark.id, entry, mark, mark.iteration, over=over))


@public_class
class RecordedIterations(Iterations):
    """What the values of one entry of a loop were at the boundaries that were recorded."""

    frame: RecordedFrame

    def boundary(self, iteration: int) -> RecordedFrame | None:
        mark = self.frame._inside.mark_at(iteration)
        return None if mark is None else frame_at(self.frame._inside.outline, mark)


def _flat(nodes: Sequence[Node], depth: int, branch: str, around: tuple[Node, ...]) -> Iterator[tuple[Any, ...]]:
    for node in nodes:
        yield node, depth, branch, around
        if isinstance(node, If):
            for word, graph in bodies(node):
                yield from _flat(graph.nodes, depth + 1, word, (*around, node))
