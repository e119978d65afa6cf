"""Where a free-running comparison differs: what comes from before a loop, followed back through the main graph.

The peer runs the model once more with the results of the nodes of its main graph as outputs, and without its own
optimisations; then the first that differs is searched for as in a body. The search enters an If that differs: the peer
runs the branch that was taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...runtime.errors import UnsupportedError, one_line
from ...runtime.graph import Array, Graph, If, Loop, Node, System, Value, bodies, nodes_of_file
from ..peers.process import Peer, PeerError
from .cause import Tracer
from .correspondence import Itself, read_by
from .findings import Cause, Comparison, Difference, LoopFindings
from .halves import begun
from .iteration_values import Computed
from .main_graph import MOST_OUTPUTS, tell_first
from .precision import saturation
from .profile import cannot_be_handed_over, is_wide
from .rules import fitting
from .sides import ModelSide
from .steps import named_outputs
from .streams import Options
from .values import SAME, compare
from .whole import not_shown, showing

#: The results of nodes together take no more than this.
_MOST_BYTES = 256 << 20
_INSIDE = Cause(remark="what the loop is fed is the same: it comes from its iterations")


def follow_back(
    result: Comparison, side: ModelSide, feeds: Mapping[str, Any], peer: Peer, options: Options, loops: dict[str, Loop]
) -> None:
    """Find where what differs in a free run comes from: of each loop, by path, what it begins with or reads; else of
    outputs the node that runs first."""
    differing = [found for found in result.loops if found.first is not None]
    try:
        search = _Search(side, feeds, peer, options)
        for found in differing:
            search.before(found, loops[found.left])
        if result.outputs and not differing:
            causes = ((one, search.output(one)) for one in result.outputs[:MOST_OUTPUTS])
            tell_first(result, side.model.graph, ((one, cause) for one, cause in causes if cause is not None))
        told = [result.cause, *(found.cause for found in differing)]
        reasons = [reason for cause in told if cause is not None for reason in saturation(cause.node)]
        result.reasons += fitting(list(dict.fromkeys(reasons)), "values", peer.name)
    except (PeerError, UnsupportedError) as error:
        result.note(f"free-running: where it comes from could not be found: {one_line(error)}")


class _Search:
    """Both main graphs after their runs."""

    def __init__(self, side: ModelSide, feeds: Mapping[str, Any], peer: Peer, options: Options) -> None:
        self._side = side
        self._feeds = feeds
        self._peer = peer
        self._tolerance = options.tolerance
        self._aligned = Itself(side.model.graph)
        self._ours = side.end()
        self._left_out = not_shown(side)
        #: Ifs that the search entered, and the branch that was taken.
        self._taken: dict[If, Graph] = {}
        self._theirs = self._asked()

    def before(self, found: LoopFindings, loop: Loop) -> None:
        """What a loop that differs begins with, or else reads, where that differs."""
        for edge in loop.back_edges:
            value = begun(edge.initial)
            cause = self._cause(value, found.left)
            if cause is not None:
                found.first, found.cause = self._difference("initial value", value, found.left), cause
                return
        causes = (self._cause(value, found.left) for value in read_by(loop))
        found.cause = next((cause for cause in causes if cause is not None), _INSIDE)

    def output(self, difference: Difference) -> Cause | None:
        """Where an output comes from."""
        value = named_outputs(self._side.model.graph).get(difference.name)
        return None if value is None else self._cause(value, "")

    # -- one value

    def _cause(self, value: Value, loop: str) -> Cause | None:
        symptom = Difference("result", value.name, value.name, SAME, loop)
        while True:
            found = Tracer(self._aligned, self._ours, self._theirs, self._tolerance, symptom).cause(value, value)
            if found is None or not self._look_into(found):
                return found
            self._theirs = self._asked()

    def _look_into(self, cause: Cause) -> bool:
        """Whether an If is to blame that the search has not entered yet; from now on it has."""
        if cause.node is None or self._side.model.graph.system is not System.ONNX:
            return False
        made = cause.node.name
        blamed = (node for node in self._nodes() if made in [value.name for value in node.outputs if value is not None])
        node = next(blamed, None)
        if not isinstance(node, If) or node in self._taken:
            return False
        assert node.inputs[0] is not None
        there, condition = self._ours.read(node.inputs[0])
        if there:
            taken = np.asarray(condition).reshape(-1)[:1].all()
            self._taken[node] = bodies(node)[0 if taken else 1][1]
        return there

    def _difference(self, role: str, value: Value, loop: str) -> Difference:
        (_, a), (_, b) = self._ours.read(value), self._theirs.read(value)
        return Difference(role, value.name, value.name, compare(a, b, self._tolerance), loop, left=a, right=b)

    # -- what the peer makes of the main graph

    def _asked(self) -> Computed:
        values = list(self._wanted())
        loaded = self._peer.open(showing(self._side, values, self._taken))
        given = loaded.run(self._feeds)
        loaded.close()
        fed = {value: self._ours.read(value)[1] for value in self._side.model.graph.inputs}
        return Computed({**fed, **dict(zip(values, given[len(given) - len(values) :], strict=True))})

    def _nodes(self) -> Iterator[Node]:
        for graph in (self._side.model.graph, *self._taken.values()):
            yield from nodes_of_file(graph)

    def _wanted(self) -> Iterator[Value]:
        """What nodes compute, as far as both have it and it fits the memory."""
        room = _MOST_BYTES
        for value in (value for node in self._nodes() for value in node.outputs if value is not None):
            _, data = self._ours.read(value)
            fits = isinstance(data, np.ndarray) and data.nbytes <= room and value not in self._left_out
            if fits and self._can_be_had(data):
                room -= data.nbytes
                yield value

    def _can_be_had(self, data: Array) -> bool:
        """Whether the peer can give it as it is."""
        narrowed = self._peer.name == "openvino" and is_wide(data)
        return not narrowed and not cannot_be_handed_over(data, self._peer.name)
