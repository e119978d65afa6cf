"""Where a free-running comparison differs: what comes from before a loop, followed back through the main graph.

The peer runs the model once more with the results of the nodes of its main graph as outputs, and without its own
optimisations; then the first that differs is searched for as in a body. The search enters an If that differs: the peer
runs the branch that was taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ....runtime.errors import UnsupportedError, one_line
from ....runtime.graph import Array, Graph, If, Loop, Node, System, Value, bodies, nodes_in_file
from ...peers.process import Peer, PeerError
from ..align.correspondence import SelfCorrespondence, values_read
from ..align.value_numbering import initial_outer_value
from ..live_peer.model_job import main_graph_job, unavailable_values
from ..live_peer.peer_precision import saturation_reasons
from ..live_peer.run_profile import exceeds_int32, unsupported_by_peer
from ..report.findings import Cause, Comparison, Difference, LoopFindings
from ..report.runtime_rules import reasons_predicting
from ..running.boundary_merge import ComparisonOptions
from ..running.iteration_stream import outputs_by_name
from ..running.sides import ModelSide
from ..running.value_comparison import NO_DIFFERENCE, compare
from ..running.value_readers import DictReader
from .difference_tracer import DifferenceTracer
from .output_causes import MAX_TRACED_OUTPUTS, record_first_output

#: The results of nodes together take no more than this.
_MAX_RESULT_BYTES = 256 << 20
_CAUSE_INSIDE_LOOP = Cause(remark="what the loop is fed is the same: it comes from its iterations")


def localize_before_loops(
    result: Comparison,
    side: ModelSide,
    feeds: Mapping[str, Any],
    peer: Peer,
    options: ComparisonOptions,
    loops: dict[str, Loop],
) -> None:
    """Find where what differs in a free run comes from: of each loop, by path, what it begins with or reads; else of
    outputs the node that runs first."""
    differing = [found for found in result.loops if found.first is not None]
    try:
        search = _MainGraphBisection(side, feeds, peer, options)
        for found in differing:
            search.trace_loop(found, loops[found.left])
        if result.outputs and not differing:
            causes = ((one, search.trace_output(one)) for one in result.outputs[:MAX_TRACED_OUTPUTS])
            record_first_output(result, side.model.graph, ((one, cause) for one, cause in causes if cause is not None))
        told = [result.cause, *(found.cause for found in differing)]
        reasons = [reason for cause in told if cause is not None for reason in saturation_reasons(cause.node)]
        result.reasons += reasons_predicting(list(dict.fromkeys(reasons)), "values", peer.name)
    except (PeerError, UnsupportedError) as error:
        result.add_note(f"free-running: where it comes from could not be found: {one_line(error)}")


class _MainGraphBisection:
    """Both main graphs after their runs."""

    def __init__(self, side: ModelSide, feeds: Mapping[str, Any], peer: Peer, options: ComparisonOptions) -> None:
        self._side = side
        self._feeds = feeds
        self._peer = peer
        self._tolerance = options.tolerance
        self._correspondence = SelfCorrespondence(side.model.graph)
        self._own_values = side.run_to_end()
        self._unavailable_values = unavailable_values(side)
        #: Ifs that the search entered, and the branch that was taken.
        self._taken_branches: dict[If, Graph] = {}
        self._peer_values = self._run_peer()

    def trace_loop(self, found: LoopFindings, loop: Loop) -> None:
        """What a loop that differs begins with, or else reads, where that differs."""
        for edge in loop.back_edges:
            value = initial_outer_value(edge.initial)
            cause = self._trace_value(value, found.left)
            if cause is not None:
                found.first, found.cause = self._difference("initial value", value, found.left), cause
                return
        causes = (self._trace_value(value, found.left) for value in values_read(loop))
        found.cause = next((cause for cause in causes if cause is not None), _CAUSE_INSIDE_LOOP)

    def trace_output(self, difference: Difference) -> Cause | None:
        """Where an output comes from."""
        value = outputs_by_name(self._side.model.graph).get(difference.name)
        return None if value is None else self._trace_value(value, "")

    # -- one value

    def _trace_value(self, value: Value, loop: str) -> Cause | None:
        symptom = Difference("result", value.name, value.name, NO_DIFFERENCE, loop)
        while True:
            found = DifferenceTracer(
                self._correspondence, self._own_values, self._peer_values, self._tolerance, symptom
            ).find_cause(value, value)
            if found is None or not self._enter_branch(found):
                return found
            self._peer_values = self._run_peer()

    def _enter_branch(self, cause: Cause) -> bool:
        """Whether an If is to blame that the search has not entered yet; from now on it has."""
        if cause.node is None or self._side.model.graph.system is not System.ONNX:
            return False
        made = cause.node.name
        blamed = (node for node in self._nodes() if made in [value.name for value in node.outputs if value is not None])
        node = next(blamed, None)
        if not isinstance(node, If) or node in self._taken_branches:
            return False
        assert node.inputs[0] is not None
        there, condition = self._own_values.read(node.inputs[0])
        if there:
            taken = np.asarray(condition).reshape(-1)[:1].all()
            self._taken_branches[node] = bodies(node)[0 if taken else 1][1]
        return there

    def _difference(self, role: str, value: Value, loop: str) -> Difference:
        (_, a), (_, b) = self._own_values.read(value), self._peer_values.read(value)
        return Difference(role, value.name, value.name, compare(a, b, self._tolerance), loop, left=a, right=b)

    # -- what the peer makes of the main graph

    def _run_peer(self) -> DictReader:
        values = list(self._requested_values())
        loaded = self._peer.open(main_graph_job(self._side, values, self._taken_branches))
        given = loaded.run(self._feeds)
        loaded.close()
        fed = {value: self._own_values.read(value)[1] for value in self._side.model.graph.inputs}
        return DictReader({**fed, **dict(zip(values, given[len(given) - len(values) :], strict=True))})

    def _nodes(self) -> Iterator[Node]:
        for graph in (self._side.model.graph, *self._taken_branches.values()):
            yield from nodes_in_file(graph)

    def _requested_values(self) -> Iterator[Value]:
        """What nodes compute, as far as both have it and it fits the memory."""
        room = _MAX_RESULT_BYTES
        for value in (value for node in self._nodes() for value in node.outputs if value is not None):
            _, data = self._own_values.read(value)
            fits = isinstance(data, np.ndarray) and data.nbytes <= room and value not in self._unavailable_values
            if fits and self._peer_can_return(data):
                room -= data.nbytes
                yield value

    def _peer_can_return(self, data: Array) -> bool:
        """Whether the peer can give it as it is."""
        narrowed = self._peer.name == "openvino" and exceeds_int32(data)
        return not narrowed and not unsupported_by_peer(data, self._peer.name)
