"""Localizes the first difference of a free-running comparison in the main graph before a loop.

The peer runs the model again with the node results of the main graph as outputs and without optimisations; then the
first differing node is traced as in a body. The search enters an If that differs: the peer runs the branch that was
taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ....runtime.errors import UnsupportedError, one_line
from ....runtime.graph import Graph, If, Loop, Node, System, Value, bodies, captured_values, nodes_in_file
from ...peers.process import Peer, PeerError
from ..alignment.model_alignment import SelfAlignment
from ..alignment.port_alignment import initial_outer_value
from ..live_peer.model_job import main_graph_job, unavailable_values
from ..live_peer.peer_run_profile import exceeds_int32, unsupported_value_kind
from ..live_peer.saturating_byte_sums import saturation_reasons
from ..report.findings import Cause, Comparison, Difference, LoopFindings
from ..report.runtime_differences import extreme_value_reasons, reasons_predicting
from ..running.boundary_merge import ComparisonOptions
from ..running.output_comparison import outputs_by_name
from ..running.sides import ModelSide
from ..running.value_comparison import NO_DIFFERENCE, compare
from ..running.value_readers import DictReader
from .difference_tracer import DifferenceTracer
from .output_causes import MAX_TRACED_OUTPUTS, record_first_differing_output

#: Limit of the total size of node results.
_MAX_RESULT_BYTES = 256 << 20
_CAUSE_INSIDE_LOOP = Cause(remark="what the loop is fed is the same: it comes from its iterations")


def localize_difference_before_loops(
    result: Comparison,
    side: ModelSide,
    feeds: Mapping[str, Any],
    peer: Peer,
    options: ComparisonOptions,
    loops: dict[str, Loop],
) -> None:
    """Find the origin of differences in a free run: for each loop, by path, its initial and outer values; else for the
    outputs, the first node in execution order."""
    differing = [findings for findings in result.loops if findings.first is not None]
    try:
        search = _MainGraphBisection(side, feeds, peer, options)
        for findings in differing:
            search.trace_loop_inputs(findings, loops[findings.left])
        if result.outputs and not differing:
            values, traced = outputs_by_name(side.model.graph), result.outputs[:MAX_TRACED_OUTPUTS]
            causes = ((item, search.trace_value(values[item.name], "")) for item in traced if item.name in values)
            record_first_differing_output(result, side.model.graph, causes)
        all_causes = [result.cause, *(findings.cause for findings in differing)]
        nodes = [cause.node for cause in all_causes if cause is not None]
        reasons = [reason for node in nodes for reason in saturation_reasons(node) + extreme_value_reasons(node)]
        result.reasons += reasons_predicting(list(dict.fromkeys(reasons)), "values", peer.name)
    except (PeerError, UnsupportedError) as error:
        result.add_note(f"free-running: where it comes from could not be found: {one_line(error)}")


class _MainGraphBisection:
    """Compares the main graph's values of both runs."""

    def __init__(self, side: ModelSide, feeds: Mapping[str, Any], peer: Peer, options: ComparisonOptions) -> None:
        self._side = side
        self._feeds = feeds
        self._peer = peer
        self._tolerance = options.tolerance
        self._alignment = SelfAlignment(side.model.graph)
        self._own_values = side.run_to_end()
        self._unavailable_values = unavailable_values(side)
        #: Ifs that the search entered, with the branch that was taken.
        self._taken_branches: dict[If, Graph] = {}
        self._peer_values = self._run_peer_for_values()

    def trace_loop_inputs(self, findings: LoopFindings, loop: Loop) -> None:
        """Trace the initial values of a differing loop, or else the outer values that it reads."""
        for edge in loop.back_edges:
            value = initial_outer_value(edge.initial)
            cause = self.trace_value(value, findings.left)
            if cause is not None:
                findings.first, findings.cause = (
                    self._make_value_difference("initial value", value, findings.left),
                    cause,
                )
                return
        read = dict.fromkeys([*(value for value in loop.inputs if value is not None), *captured_values(loop.body)])
        causes = (self.trace_value(value, findings.left) for value in read)
        findings.cause = next((cause for cause in causes if cause is not None), _CAUSE_INSIDE_LOOP)

    # -- one value

    def trace_value(self, value: Value, loop: str) -> Cause | None:
        """The cause of a difference of a value; ``loop``: the path of the loop that it is about."""
        symptom = Difference("result", value.name, value.name, NO_DIFFERENCE, loop)
        while True:
            cause = DifferenceTracer(
                self._alignment, self._own_values, self._peer_values, self._tolerance, symptom
            ).find_cause(value, value)
            if cause is None or not self._mark_causing_branch(cause):
                return cause
            self._peer_values = self._run_peer_for_values()

    def _mark_causing_branch(self, cause: Cause) -> bool:
        """Mark the branch of an If that causes the difference as entered; returns whether it is a new one."""
        if cause.node is None or self._side.model.graph.system is not System.ONNX:
            return False
        name = cause.node.name
        nodes = (
            node
            for node in self._walk_file_nodes()
            if name in [value.name for value in node.outputs if value is not None]
        )
        node = next(nodes, None)
        if not isinstance(node, If) or node in self._taken_branches:
            return False
        assert node.inputs[0] is not None
        is_known, condition = self._own_values.read(node.inputs[0])
        if is_known:
            is_true = np.asarray(condition).reshape(-1)[:1].all()
            self._taken_branches[node] = bodies(node)[0 if is_true else 1][1]
        return is_known

    def _make_value_difference(self, role: str, value: Value, loop: str) -> Difference:
        (_, a), (_, b) = self._own_values.read(value), self._peer_values.read(value)
        return Difference(role, value.name, value.name, compare(a, b, self._tolerance), loop, left=a, right=b)

    # -- the peer's values of the main graph

    def _run_peer_for_values(self) -> DictReader:
        values = list(self._comparable_node_results())
        loaded = self._peer.open(main_graph_job(self._side, values, self._taken_branches))
        results = loaded.run(self._feeds)
        loaded.close()
        inputs = {value: self._own_values.read(value)[1] for value in self._side.model.graph.inputs}
        return DictReader({**inputs, **dict(zip(values, results[len(results) - len(values) :], strict=True))})

    def _walk_file_nodes(self) -> Iterator[Node]:
        for graph in (self._side.model.graph, *self._taken_branches.values()):
            yield from nodes_in_file(graph)

    def _comparable_node_results(self) -> Iterator[Value]:
        """Node results that both sides have and that fit the memory limit."""
        budget = _MAX_RESULT_BYTES
        for value in (value for node in self._walk_file_nodes() for value in node.outputs if value is not None):
            _, data = self._own_values.read(value)
            fits = isinstance(data, np.ndarray) and data.nbytes <= budget and value not in self._unavailable_values
            narrowed = self._peer.name == "openvino" and exceeds_int32(data)
            if fits and not narrowed and not unsupported_value_kind(data, self._peer.name):
                budget -= data.nbytes
                yield value
