"""Finds the smallest set of nodes between the values that match a reference and the first one that does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ....runtime.graph import Loop, Node, Value, bodies, captured_values
from ...reference.reference import Key, Track
from ..report.findings import Cause, Difference, NodeDifference
from ..running.sides import ModelSide, TraceSide
from .track_candidates import TrackCandidate
from .value_locations import LocationIndex, ValueLocation

#: The most nodes named in a message.
_MAX_NAMED_NODES = 8


@dataclass(eq=False)
class ComparedTrack:
    """One track that is compared during the run. ``name``: the name of the value in the report."""

    candidate: TrackCandidate
    track: Track
    location: ValueLocation
    role: str
    name: str
    #: The numbers of compared iterations and of iterations that the reference lacks.
    compared: int = 0
    missing: int = 0
    #: Whether the final value of a loop was compared.
    compared_at_end: bool = False
    #: Differences beyond the tolerance by iteration.
    differences: dict[Key, Difference] = field(default_factory=dict)

    @property
    def requires_exact_shape(self) -> bool:
        """Whether axes of length 1 count: a node converted from one node of a program has its shape. [256,1,64] has the
        numbers of [1,256,64] in the same order, but its readers compute something else."""
        return self.candidate.method in ("metadata", "position")


def find_root_cause(
    side: ModelSide | TraceSide, layout: LocationIndex, tracks: Sequence[ComparedTrack], first: Difference
) -> Cause | None:
    """The root cause of a difference: if another differing value causes it, the cause of that one."""
    compared = next(item for item in tracks if any(difference is first for difference in item.differences.values()))
    by_value = {item.location.value: item for item in tracks}
    cause = _DivergenceSearch(layout, by_value, compared, first).find_cause(side)
    root = None if cause is None or cause.source is None else find_root_cause(side, layout, tracks, cause.source)
    return cause if root is None or cause is None else replace(root, source=cause.source)


class _DivergenceSearch:
    """A backward search from a differing value in one iteration to matching values. ``tracks``: by value."""

    def __init__(
        self, layout: LocationIndex, tracks: Mapping[Value, ComparedTrack], compared: ComparedTrack, first: Difference
    ) -> None:
        self._layout, self._tracks, self._location, self._first = layout, tracks, compared.location, first
        self._key = next(key for key, difference in compared.differences.items() if difference is first)
        self._position = self._location.order_in_iteration(self._key)
        self._nodes: list[Node] = []
        #: Carried values that the reference lacks.
        self._unrecorded: list[str] = []
        self._source: Difference | None = None

    def find_cause(self, side: ModelSide | TraceSide) -> Cause | None:
        """The cause; None if it is unknown."""
        first, branch = self._first, self._location.branch
        if branch is not None and first.left is None and first.delta.kind == "kind":
            condition = branch.inputs[0]
            suffix = "" if condition is None else f", by its condition '{condition.name}'"
            return Cause(remark=f"the If '{branch.name}' takes the other branch here{suffix}")
        self._search()
        if self._source is not None:
            return Cause(self._source)
        operators, order = self._layout.operators, self._layout.node_order
        nodes = list(dict.fromkeys(operators.get(node, node) for node in sorted(self._nodes, key=order)))
        if len(nodes) > 1 or (nodes and self._unrecorded):
            return Cause(
                remark=_producing_nodes_text(nodes, self._unrecorded),
                candidate_nodes=tuple(node.name for node in nodes),
            )
        if nodes and isinstance(nodes[0], Loop):
            return Cause(remark=f"the loop '{nodes[0].name}' computes it", candidate_nodes=(nodes[0].name,))
        return Cause(None, self._node_difference(nodes[0], side)) if nodes else None

    def _node_difference(self, node: Node, side: ModelSide | TraceSide) -> NodeDifference:
        first, path = self._first, self._location.path
        reader = side.final_reader
        if path:
            reader = None if first.iteration is None else side.reader_at(path, first.entry, first.iteration)
        operands = [value for value in node.inputs if value is not None]
        values = [(value, reader.read(value)) for value in operands] if reader is not None else []
        inputs = [(value.name, data) for value, (is_known, data) in values if is_known]
        tracks = (self._tracks.get(value) for value in node.outputs if value is not None)
        other = next((track.track.name for track in tracks if track is not None), "")
        return NodeDifference(node.name, first.name, node.op_type, inputs, first, other, node.op_type)

    def _search(self) -> None:
        # In earlier iterations, each value is visited once.
        seen: set[tuple[Value, bool]] = set()
        queue = [(self._location, self._key)]
        while queue and self._source is None:
            current, current_key = queue.pop(0)
            for value, source_key in self._operand_values(current, current_key):
                visit = value, source_key == self._key[: len(source_key)]
                if visit in seen or value.constant is not None:
                    continue
                seen.add(visit)
                next_step = self._continue_at(current, value, source_key)
                if next_step is not None:
                    queue.append(next_step)

    def _is_recorded(self, value: Value, key: Key) -> bool:
        """Whether the reference has a value in an iteration, before the difference."""
        track = self._tracks.get(value)
        if track is None or not (track.compared and track.candidate.is_unambiguous) or key not in track.track.values:
            return False
        return track.location.order_in_iteration(key) < self._position

    def _operand_values(self, location: ValueLocation, key: Key) -> list[tuple[Value, Key]]:
        """The values that a value is computed from."""
        source = self._layout.parameter_source(location, key)
        if source is not None:
            return [source]
        node = location.node
        if node is None or (node.op_type == "Constant" and self._nodes):
            return []
        self._nodes.append(node)
        operands = [*node.inputs, *(value for _, inner in bodies(node) for value in captured_values(inner))]
        # Weights of a recurrent operator are preprocessed.
        operator = self._layout.operators.get(node)
        operands += [] if operator is None else operator.inputs
        return [(value, key) for value in operands if value is not None]

    def _continue_at(self, reader: ValueLocation, value: Value, key: Key) -> tuple[ValueLocation, Key] | None:
        """The next location of the search; None where it ends."""
        location = self._layout.locations.get(value)
        if location is None:
            return None
        key = key[: location.depth]
        if self._is_recorded(value, key):
            self._source = self._source or self._tracks[value].differences.get(key)
            return None
        if isinstance(location.node, Loop) and self._has_recorded_iterations(location.node, value, key):
            return None
        if location.role == "carried" and key[-1] and reader.node is not None:
            # Computed by an earlier iteration: unless the reference has it, the divergence may be there.
            source = self._layout.parameter_source(location, key)
            if source is not None and self._is_recorded(*source):
                return None
            self._unrecorded.append(location.name)
        return location, key

    def _has_recorded_iterations(self, loop: Loop, value: Value, key: Key) -> bool:
        """Whether the reference has the per-iteration values behind a result of a loop."""
        results = [last.result for last in loop.last_values if last.outer is value]
        results += [scan.result for scan in loop.scan_outputs if scan.outer is value]
        return any(self._is_recorded(result, (*key, 0)) for result in results)


def _producing_nodes_text(nodes: list[Node], unknown: list[str]) -> str:
    head = ", ".join(_node_text(node) for node in nodes[:_MAX_NAMED_NODES])
    others = nodes[_MAX_NAMED_NODES:]
    lines = ", ".join(dict.fromkeys(line for node in others if (line := str(node.origin))))
    tail = f" and {len(others)} more{f' ({lines})' if lines else ''}" if others else ""
    text = f"made by {head}{tail}" if len(nodes) == 1 else f"made by one of these nodes, in this order: {head}{tail}"
    if not unknown:
        return f"{text}; what goes into them agrees"
    names = ", ".join(f"'{name}'" for name in dict.fromkeys(unknown))
    return f"{text}; there or in an iteration before, since the reference does not have what is carried as {names}"


def _node_text(node: Node) -> str:
    """A node with its source line if known."""
    location = str(node.origin)
    return f"{node.op_type} '{node.name}'{f' ({location})' if location else ''}"
