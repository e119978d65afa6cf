"""Compares a model with a live peer, free-running: each runs the whole model, so that errors accumulate as in use.

The outputs are those of the unchanged model. Carried values come from a second run, of the model with the carried
values of its outermost loops as additional outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ....runtime.errors import UnsupportedError, one_line
from ....runtime.graph import (
    MAIN,
    BackEdge,
    Graph,
    Loop,
    StoppedBy,
    System,
    TensorType,
    Value,
    body_results_in_file,
    loops,
    walk,
)
from ....runtime.model import Data
from ...peers.process import LoadedModel, Peer, PeerError
from ...portability.check import match_loop_rules
from ...portability.operator_rules import computes_integers_in_float
from ...portability.rule_context import unread_parameters
from ...session.boundary import Boundary
from ..causes.bisect_main_graph import localize_before_loops
from ..causes.quantization_tie_rounding import QuantizationSteps
from ..proof.intervention import MAX_RERUNS, Reruns
from ..report.findings import Comparison, Difference, DivergenceReason, PeerFailure, Verdict
from ..report.runtime_differences import reasons_predicting
from ..running.boundary_merge import ComparisonOptions, compare_sides
from ..running.output_comparison import note_uncomputed_outputs
from ..running.runtime_deviations import find_deviation
from ..running.sides import LoopInfo, ModelSide
from ..running.value_comparison import Tolerance, compare
from .model_job import model_job, request_variables, run_model, trajectory_job
from .peer_emulation import byte_sum_deviations
from .peer_run_profile import LoopProfile, RunProfile, is_float64, unsupported_value_kind

#: Limit of the total size of trajectories.
MAX_TRAJECTORY_BYTES = 256 << 20


def compare_free_running(
    side: ModelSide,
    inputs: Mapping[str, Data],
    peer: Peer,
    options: ComparisonOptions,
    profile: RunProfile,
    seconds: float,
) -> Comparison:
    """Run the model on the peer and compare.

    Args:
        side: the model, which was run.
        inputs: its inputs.
        peer: the peer.
        options: the options of the comparison.
        profile: that of our complete run.
        seconds: the time of that run.
    """
    result = Comparison("free", side.label, peer.name)
    outputs = side.outputs
    if outputs is None:
        result.add_note("free-running: not compared, since ours was ended by the limit of iterations")
        return result
    # Rules of their own are about trip counts.
    trips = {loop.trip_count.name for loop in loops(side.model.graph) if loop.trip_count is not None}
    for name, value in (*inputs.items(), *outputs.items()):
        if name not in trips:
            profile.add_values({name: _as_arrays(value)}, MAIN)
    if peer.name == "openvino" and profile.first_wide_value is not None:
        name, location = profile.first_wide_value
        result.add_note(
            f"free-running: not compared, since '{name}' does not fit 32 bits at {location}, to "
            "which openvino narrows it (B29)"
        )
        return result
    for name, value in inputs.items():
        kind = unsupported_value_kind(value, peer.name)
        if kind:
            result.add_note(
                f"free-running: not compared, since the input '{name}' is {kind}, which {peer.name} cannot be given"
            )
            return result
    if peer.name == "openvino":
        doubles = [name for name, value in inputs.items() if is_float64(value)]
        doubles += [v.name for p in profile.loops.values() for v, t in p.types.items() if t and t.dtype == np.float64]
        for name in doubles[:1]:
            result.add_note(f"'{name}' is float64, which openvino computes as float32 (B29): compared as float32")
        options = replace(options, tolerance=replace(options.tolerance, float64_as_float32=True))
    reasons = [reason for path in profile.loops for reason in side.reasons(path)]
    reasons += [reason for info in profile.loops.values() for reason in rules_of_profile(info)]
    reasons += [DivergenceReason(match.rule, match.text) for match in match_loop_rules(side.model.graph)]
    if profile.first_rounded_value is not None and any(map(computes_integers_in_float, walk(side.model.graph))):
        name, location = profile.first_rounded_value
        text = f"'{name}' is an integer beyond 2^24 at {location}, which openvino's float32 arithmetic rounds."
        reasons.append(DivergenceReason("B88", text))
    feeds = peer_feeds(side, inputs)
    loaded = None
    try:
        job = model_job(side)
    except UnsupportedError as error:
        result.add_note(f"free-running: not compared, since {error}")
        return result
    results: list[Any] = []
    try:
        if outputs:  # all outputs may be of unsupported types
            loaded = peer.open(job)
            results = run_model(loaded, feeds, side.model)
    except PeerError as error:
        failure_kind = "refused" if error.kind == "failed" and loaded is None else error.kind
        matching = reasons_predicting(reasons, "failure", peer.name)
        result.failures.append(PeerFailure(failure_kind, "the whole model", error.text, tuple(matching)))
        return result
    if loaded is not None:
        result.self_difference = _self_difference(side, loaded, feeds, results, options)
        loaded.close()
    if options.loops:
        results = []
    trajectories = _compare_trajectories(side, feeds, peer, options, profile, result, results)
    if trajectories is not None:
        result.loops = trajectories.loops
        for loop in result.loops:
            loop.only_left.clear()  # not followed
            if loop.trips is not None:
                # The peer does not report why it stopped.
                loop.trips.right_ended = None
                loop.trips.reasons = (
                    _observed_rules(profile.loops[loop.left], loop.trips.right, peer.name) or loop.trips.reasons
                )
    effects = ("values", "trips") if any(loop.trips for loop in result.loops) or trajectories is None else ("values",)
    _compare_outputs(result, side, outputs, results, options)
    note_uncomputed_outputs(result, side.graph, side.label)
    if not result.same:
        result.reasons = list(
            dict.fromkeys(r for effect in effects for r in reasons_predicting(reasons, effect, peer.name))
        )
        result.reasons += [
            r for loop in result.loops if loop.trips for r in loop.trips.reasons if r not in result.reasons
        ]
    if result.verdict is Verdict.DIFFER and options.proves_causes and results:
        _find_deviation(result, Reruns(side, side.most_iterations + 1, seconds, options.on_tick), results, options)
    if result.verdict is Verdict.DIFFER and not side.model.graph.is_over_requests:
        localize_before_loops(
            result, side, feeds, peer, options, {path: info.loop for path, info in profile.loops.items()}
        )
    return result


def _find_deviation(result: Comparison, reruns: Reruns, results: Sequence[Any], options: ComparisonOptions) -> None:
    """Look for a rule by which the peer departs from the model as a whole."""
    model = reruns.side.model
    peer_outputs = dict(zip((port.name for port in model.outputs), results, strict=False))

    def agrees(graph: Graph) -> tuple[bool, bool]:
        run = reruns.run(graph) if reruns.count < MAX_RERUNS else None
        if run is None or run.outputs is None:
            return False, False
        pairs = [(run.outputs[name], value) for name, value in peer_outputs.items()]

        def is_same(tolerance: Tolerance) -> bool:
            return not any(compare(a, b, tolerance).kind for a, b in pairs)

        return is_same(options.tolerance), is_same(Tolerance(0.0, 0.0))

    more = byte_sum_deviations(model.graph) if result.right == "onnxruntime" else ()
    deviation = find_deviation(model.graph, result.right, agrees, more)
    if deviation is not None:
        deviation.record_in(result)


def peer_outcome_text(side: ModelSide, inputs: Mapping[str, Data], peer: Peer) -> str:
    """The peer's result for the whole model where ours fails: ``onnxruntime fails too: ...``."""
    for name, value in inputs.items():
        kind = unsupported_value_kind(value, peer.name)
        if kind:
            return f"{peer.name} was not run, since the input '{name}' is {kind}"
    try:
        loaded = peer.open(model_job(side))
    except UnsupportedError as error:
        return f"{peer.name} was not run, since {error}"
    except PeerError as error:
        return f"{peer.name} {'refuses the model' if error.kind == 'failed' else error.kind}: {error.text}"
    try:
        run_model(loaded, peer_feeds(side, inputs), side.model)
        loaded.close()
    except PeerError as error:
        return f"{peer.name} {'fails too' if error.kind == 'failed' else error.kind}: {error.text}"
    return f"{peer.name} runs the model with these inputs"


def peer_feeds(side: ModelSide, inputs: Mapping[str, Data]) -> dict[str, Any]:
    """Inputs in the form of a peer; inputs of an IR are passed by position."""
    feeds = {name: _as_arrays(value) for name, value in inputs.items()}
    if side.model.graph.system is System.OPENVINO:
        return {str(k): feeds[port.name] for k, port in enumerate(side.model.inputs)}
    return feeds


def _self_difference(
    side: ModelSide, loaded: LoadedModel, feeds: Mapping[str, Any], results: Sequence[Any], options: ComparisonOptions
) -> Difference | None:
    """The first differing output that also differs between two runs of the peer. Not for models with variables, whose
    runs continue the previous one."""
    outputs = side.outputs
    if side.model.graph.variables or outputs is None:
        return None
    names = [port.name for port in side.model.outputs]
    pairs = zip(names, results, strict=False)
    differing = [name for name, peer_value in pairs if compare(outputs[name], peer_value, options.tolerance).kind]
    if not differing:
        return None
    try:
        again = run_model(loaded, feeds, side.model)
    except PeerError:
        return None
    first, second = (dict(zip(names, run, strict=False)) for run in (results, again))
    for name in differing:
        delta = compare(first[name], second[name], options.tolerance)
        if delta.kind:
            return Difference("output", name, name, delta, left=first[name], right=second[name])
    return None


def _compare_outputs(
    result: Comparison, side: ModelSide, outputs: Mapping[str, Data], results: Sequence[Any], options: ComparisonOptions
) -> None:
    steps = QuantizationSteps(side.graph)
    for port, b in zip(side.model.outputs, results, strict=False):
        a = outputs[port.name]
        delta = compare(a, b, options.tolerance)
        result.compared_outputs += 1
        if delta.kind:
            step = steps.output_step(port.name, a)
            result.outputs.append(Difference("output", port.name, port.name, delta, left=a, right=b, step=step))


def _observed_rules(profile: LoopProfile, trips: int, peer: str) -> list[DivergenceReason]:
    """The rule that the observed trip count indicates."""
    condition = profile.loop.ignored_condition
    if condition is None or profile.first_ignored_stop is None or profile.first_ignored_stop + 1 != trips:
        return []
    text = (
        f"the body's condition '{condition.name}' is false in iteration {profile.first_ignored_stop}, and {peer} stops"
        " there although the loop's cond is absent."
    )
    return [DivergenceReason("B1", text)]


def rules_of_profile(profile: LoopProfile) -> list[DivergenceReason]:
    """Rules for what a loop did in our run: no iteration, or states that changed their shape."""
    loop = profile.loop
    if loop.system is not System.ONNX or loop.derived_from:
        return []
    reasons = []
    if loop.counted_by_slices and not profile.trips:
        text = "onnxruntime refuses a Scan over nothing, and openvino returns uninitialised memory."
        reasons.append(DivergenceReason("B19", text))
    if loop.counted_by_slices and any(_changes_shape(edge, profile) for edge in loop.back_edges):
        text = "the shape of a state changes: onnxruntime fails, and openvino returns uninitialised memory."
        reasons.append(DivergenceReason("B67", text))
    if not profile.trips and (edges := unread_parameters(loop)):
        text = f"openvino does not return the initial value of '{edges[0].param.name}' after no iteration."
        reasons.append(DivergenceReason("B72", text))
    return reasons


def _changes_shape(edge: BackEdge, profile: LoopProfile) -> bool:
    """Whether a numeric state had several shapes."""
    first = profile.initial_types.get(edge.result)
    return first is not None and edge.result in profile.types and profile.types[edge.result] != first


def _as_arrays(value: Any) -> Any:
    return [np.asarray(item) for item in value] if isinstance(value, list | tuple) else np.asarray(value)


# -- trajectories of loops


class PeerSide:
    """The carried values of a peer's loops as boundaries."""

    def __init__(
        self,
        label: str,
        loops: Sequence[tuple[Loop, str]],
        rows: Mapping[Loop, Sequence[tuple[list[str], Any]]],
        scans: Mapping[str, Any],
    ) -> None:
        self.label = label
        self.loops = [LoopInfo(path, loop.name) for loop, path in loops]
        self.graph: Graph | None = None
        self.outputs: Mapping[str, Data] | None = None
        self._paths = loops
        self._trajectories = rows
        #: Of a loop over requests: its outputs, by name.
        self._scans = scans

    def boundaries(self) -> Iterator[Boundary]:
        """Boundaries with carried values only; those of iteration 0 are unknown."""
        for loop, path in self._paths:
            trajectories = self._trajectories[loop]
            count = min(len(rows) for rows in (*(rows for _, rows in trajectories), *self._scans.values()))
            for k in range(count + 1):
                carried = {name: rows[k - 1] for names, rows in trajectories for name in names} if k else {}
                scanned = {name: rows[k - 1] for name, rows in self._scans.items()} if k else {}
                yield Boundary(path, (), k, None, StoppedBy.CONDITION if k == count else None, carried, scanned)

    def reader_at(self, loop: str, entry: tuple[int, ...], iteration: int | None) -> None:
        """None: other values are unknown."""

    def reasons(self, loop: str) -> list[DivergenceReason]:
        """No reasons."""
        return []


def _compare_trajectories(
    side: ModelSide,
    feeds: Mapping[str, Any],
    peer: Peer,
    options: ComparisonOptions,
    profile: RunProfile,
    result: Comparison,
    outputs: Sequence[Any],
) -> Comparison | None:
    """Compare carried values of the outermost loops; None if the peer cannot return them. ``outputs``: of the peer;
    those of requests are compared request by request."""
    requested: Mapping[Loop, Sequence[tuple[Value, TensorType]]] = _values_to_follow(side, profile, options)
    if not requested:
        return None
    ports = zip(side.model.outputs, outputs, strict=False)
    scans = {port.name: value for port, value in ports} if side.model.graph.is_over_requests else {}
    arrays: list[Any] = []
    try:
        loaded = peer.open(trajectory_job(side, requested))
        results = run_model(loaded, feeds, side.model)
        arrays = results[len(results) - sum(len(values) for values in requested.values()) :]
        loaded.close()
    except (PeerError, UnsupportedError) as error:
        result.add_note(f"what the loops carry could not be had from {peer.name}: {one_line(error)}")
        if not scans:
            return None
        requested = dict.fromkeys(requested, ())
    rows: dict[Loop, list[tuple[list[str], Any]]] = {}
    for loop, values in requested.items():
        rows[loop] = []
        for value, _ in values:
            names = [edge.param.name for edge in loop.back_edges if edge.result is value]
            rows[loop].append((names, arrays.pop(0)))
    paths = [(profile.loops[path].loop, path) for path in profile.loops if profile.loops[path].loop in rows]
    peer_side = PeerSide(peer.name, paths, rows, scans)
    own_side = _OutermostLoopSide(side, [path for _, path in paths], bool(scans))
    return compare_sides(own_side, peer_side, ComparisonOptions(options.tolerance), "free", peer.name)


class _OutermostLoopSide:
    """Our side, reduced to the carried values of the compared loops, and to the outputs of requests."""

    def __init__(self, side: ModelSide, paths: Sequence[str], has_scans: bool) -> None:
        self.label = side.label
        self.loops = [LoopInfo(loop.path, loop.name) for loop in side.loops if loop.path in paths]
        self.graph: Graph | None = None
        self.outputs: Mapping[str, Data] | None = None
        self._side = side
        self._has_scans = has_scans

    def boundaries(self) -> Iterator[Boundary]:
        """Run the model."""
        paths = {loop.path for loop in self.loops}
        for boundary in self._side.boundaries():
            if boundary.loop in paths:
                yield replace(
                    boundary,
                    condition=None,
                    scanned=boundary.scanned if self._has_scans else {},
                    carried=boundary.carried if boundary.iteration else {},
                )

    def reader_at(self, loop: str, entry: tuple[int, ...], iteration: int | None) -> None:
        """Unused: the other side has no values to compare."""

    def reasons(self, loop: str) -> list[DivergenceReason]:
        """The reasons of the model."""
        return self._side.reasons(loop)


def _values_to_follow(
    side: ModelSide, profile: RunProfile, options: ComparisonOptions
) -> dict[Loop, list[tuple[Value, TensorType]]]:
    """The values to trace: of loops of the main graph, values of constant type within the memory limit."""
    values_by_loop: dict[Loop, list[tuple[Value, TensorType]]] = {}
    free = MAX_TRAJECTORY_BYTES
    for node in side.model.graph.nodes:
        if not isinstance(node, Loop) or node in side.model.graph.expanded_from:
            continue
        info = next((p for p in profile.loops.values() if p.loop is node), None)
        if info is None or (options.loops and not {node.name, _loop_path(profile, node)} & set(options.loops)):
            continue
        if side.model.graph.is_over_requests:
            assigned = [variable.assigned for variable in request_variables(side.model.graph)]
            if sum(info.nbytes.get(value, 0) for value in assigned) <= free:
                values_by_loop[node] = [(value, info.types.get(value) or TensorType()) for value in assigned]
            continue
        valid = body_results_in_file(node)
        values: list[tuple[Value, TensorType]] = []
        for value, kind in info.types.items():
            if value not in valid:
                continue
            if kind is not None and info.nbytes[value] <= free and kind.dtype is not None and kind.dtype.kind != "V":
                free -= info.nbytes[value]
                values.append((value, kind))
        counter = _iteration_counting_value(node)
        if not values and counter is not None:
            values.append(counter)
        if values:
            values_by_loop[node] = values
    return values_by_loop


def _loop_path(profile: RunProfile, loop: Loop) -> str:
    return next(path for path, info in profile.loops.items() if info.loop is loop)


def _iteration_counting_value(loop: Loop) -> tuple[Value, TensorType] | None:
    """A small value whose row count is the trip count of a loop."""
    if loop.system is System.ONNX and loop.iteration is not None:
        return loop.iteration, TensorType(np.dtype(np.int64), ())
    if loop.condition is not None:
        return loop.condition, TensorType(np.dtype(bool), ())
    return None
