"""Compares a model with a live peer, free-running: each runs the whole model, so that errors accumulate as in use.

The outputs are those of the unchanged model. Carried values come from a second run, of the model with the carried
values of its outermost loops as additional outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from ...peers.jobs import Job
from ...peers.process import LoadedModel, Peer, PeerError
from ...portability.check import match_loop_rules
from ...portability.operator_rules import computes_integers_in_float
from ...portability.rule_context import unread_parameters
from ...session.boundary import Boundary
from ..causes.bisect_main_graph import localize_difference_before_loops
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


class FreeRun:
    """One run of the model on the peer. ``profile``: that of our complete run."""

    def __init__(self, side: ModelSide, peer: Peer, options: ComparisonOptions, profile: RunProfile) -> None:
        self.side, self.peer, self.options, self.profile = side, peer, options, profile
        self.result = Comparison("free", side.label, peer.name)
        self._feeds: Mapping[str, Any] = peer_feeds(side)
        #: The outputs of the peer, in order.
        self._results: list[Any] = []

    def compare(self, seconds: float) -> Comparison:
        """Run the peer and compare. ``seconds``: the time of our run."""
        result, side, peer, profile = self.result, self.side, self.peer, self.profile
        job = self._job()
        if job is None:
            return result
        if peer.name == "openvino":
            doubles = [name for name, value in side.inputs.items() if is_float64(value)]
            doubles += [
                v.name for p in profile.loops.values() for v, t in p.types.items() if t and t.dtype == np.float64
            ]
            for name in doubles[:1]:
                result.add_note(f"'{name}' is float64, which openvino computes as float32 (B29): compared as float32")
            tolerance = replace(self.options.tolerance, float64_as_float32=True)
            self.options = replace(self.options, tolerance=tolerance)
        reasons = self._reasons()
        loaded = None
        try:
            if side.outputs:  # all outputs may be of unsupported types
                loaded = peer.open(job)
                self._results = run_model(loaded, self._feeds, side.model)
        except PeerError as error:
            failure_kind = "refused" if error.kind == "failed" and loaded is None else error.kind
            matching = reasons_predicting(reasons, "failure", peer.name)
            result.failures.append(PeerFailure(failure_kind, "the whole model", error.text, tuple(matching)))
            return result
        if loaded is not None:
            result.self_difference = self._find_peer_self_difference(loaded)
            loaded.close()
        if self.options.loops:
            self._results = []
        trajectories = self._compare_trajectories()
        for loop in () if trajectories is None else trajectories.loops:
            result.loops.append(loop)
            loop.only_left.clear()  # not followed
            if loop.trips is not None:
                # The peer does not report why it stopped.
                loop.trips.right_ended = None
                observed = _ignored_condition_reasons(profile.loops[loop.left], loop.trips.right, peer.name)
                loop.trips.reasons = observed or loop.trips.reasons
        self._compare_outputs()
        note_uncomputed_outputs(result, side.graph, side.label)
        if not result.same:
            effects = ["values"] + ["trips"] * (trajectories is None or any(loop.trips for loop in result.loops))
            predicted = [r for effect in effects for r in reasons_predicting(reasons, effect, peer.name)]
            predicted += [r for loop in result.loops if loop.trips for r in loop.trips.reasons]
            result.reasons = list(dict.fromkeys(predicted))
        if result.verdict is Verdict.DIFFER and self.options.proves_causes and self._results:
            self._find_deviation(Reruns(side, side.most_iterations + 1, seconds, self.options.on_tick))
        if result.verdict is Verdict.DIFFER and not side.model.graph.is_over_requests:
            paths = {path: info.loop for path, info in profile.loops.items()}
            localize_difference_before_loops(result, side, self._feeds, peer, self.options, paths)
        return result

    def _job(self) -> Job | None:
        """The job; None with a note if the peer cannot run the model as we do."""
        side, peer, profile = self.side, self.peer, self.profile
        # Rules of their own are about trip counts.
        trips = {loop.trip_count.name for loop in loops(side.model.graph) if loop.trip_count is not None}
        for name, value in (*side.inputs.items(), *(side.outputs or {}).items()):
            if name not in trips:
                profile.record_integer_magnitudes({name: _as_arrays(value)}, MAIN)
        unsupported = _unsupported_input(side, peer)
        if side.outputs is None:
            obstacle = "ours was ended by the limit of iterations"
        elif peer.name == "openvino" and profile.first_wide_value is not None:
            name, location = profile.first_wide_value
            obstacle = f"'{name}' does not fit 32 bits at {location}, to which openvino narrows it (B29)"
        elif unsupported:
            obstacle = f"{unsupported}, which {peer.name} cannot be given"
        else:
            try:
                return model_job(side)
            except UnsupportedError as error:
                obstacle = str(error)
        self.result.add_note(f"free-running: not compared, since {obstacle}")
        return None

    def _reasons(self) -> list[DivergenceReason]:
        """What may make the runs differ."""
        graph, profile = self.side.model.graph, self.profile
        reasons = [reason for path in profile.loops for reason in self.side.reasons(path)]
        reasons += [reason for info in profile.loops.values() for reason in reasons_from_profile(info)]
        reasons += [DivergenceReason(match.rule, match.text) for match in match_loop_rules(graph)]
        if profile.first_rounded_value is not None and any(map(computes_integers_in_float, walk(graph))):
            name, location = profile.first_rounded_value
            text = f"'{name}' is an integer beyond 2^24 at {location}, which openvino's float32 arithmetic rounds."
            reasons.append(DivergenceReason("B88", text))
        return reasons

    def _peer_outputs(self, results: Sequence[Any]) -> dict[str, Any]:
        return dict(zip((port.name for port in self.side.model.outputs), results, strict=False))

    def _find_deviation(self, reruns: Reruns) -> None:
        """Look for a rule by which the peer departs from the model as a whole."""
        graph, peer_outputs = self.side.model.graph, self._peer_outputs(self._results)

        def agrees(changed: Graph) -> tuple[bool, bool]:
            run = reruns.run(changed) if reruns.count < MAX_RERUNS else None
            outputs = None if run is None else run.outputs
            if outputs is None:
                return False, False
            pairs = [(outputs[name], value) for name, value in peer_outputs.items()]
            is_same, is_identical = (
                not any(compare(a, b, tolerance).kind for a, b in pairs)
                for tolerance in (self.options.tolerance, Tolerance(0.0, 0.0))
            )
            return is_same, is_identical

        more = byte_sum_deviations(graph) if self.peer.name == "onnxruntime" else ()
        deviation = find_deviation(graph, self.peer.name, agrees, more)
        if deviation is not None:
            deviation.record_in(self.result)

    def _find_peer_self_difference(self, loaded: LoadedModel) -> Difference | None:
        """The first differing output that also differs between two runs of the peer. Not for models with variables,
        whose runs continue the previous one."""
        side, tolerance = self.side, self.options.tolerance
        outputs, first = side.outputs, self._peer_outputs(self._results)
        if side.model.graph.variables or outputs is None:
            return None
        differing = [name for name in first if compare(outputs[name], first[name], tolerance).kind]
        try:
            again = self._peer_outputs(run_model(loaded, self._feeds, side.model) if differing else ())
        except PeerError:
            return None
        for name in differing:
            delta = compare(first[name], again[name], tolerance)
            if delta.kind:
                return Difference("output", name, name, delta, left=first[name], right=again[name])
        return None

    def _compare_outputs(self) -> None:
        steps, outputs = QuantizationSteps(self.side.graph), self.side.outputs or {}
        for name, b in self._peer_outputs(self._results).items():
            a = outputs[name]
            delta = compare(a, b, self.options.tolerance)
            self.result.compared_outputs += 1
            if delta.kind:
                step = steps.output_quantization_step(name, a)
                self.result.outputs.append(Difference("output", name, name, delta, left=a, right=b, step=step))

    def _compare_trajectories(self) -> Comparison | None:
        """Compare carried values of the outermost loops; None if the peer cannot return them. The outputs of requests
        are compared request by request."""
        side, peer, profile = self.side, self.peer, self.profile
        requested: Mapping[Loop, Sequence[tuple[Value, TensorType]]] = self._values_to_trace()
        if not requested:
            return None
        scans = self._peer_outputs(self._results) if side.model.graph.is_over_requests else {}
        arrays: list[Any] = []
        try:
            loaded = peer.open(trajectory_job(side, requested))
            results = run_model(loaded, self._feeds, side.model)
            arrays = results[len(results) - sum(len(values) for values in requested.values()) :]
            loaded.close()
        except (PeerError, UnsupportedError) as error:
            self.result.add_note(f"what the loops carry could not be had from {peer.name}: {one_line(error)}")
            if not scans:
                return None
            requested = dict.fromkeys(requested, ())
        rows: dict[Loop, list[tuple[list[str], Any]]] = {}
        for loop, values in requested.items():
            names = ([edge.param.name for edge in loop.back_edges if edge.result is value] for value, _ in values)
            rows[loop] = [(params, arrays.pop(0)) for params in names]
        paths = [(info.loop, path) for path, info in profile.loops.items() if info.loop in rows]
        peer_side = PeerSide(peer.name, paths, rows, scans)
        own_side = _OutermostLoopSide(side, [path for _, path in paths], bool(scans))
        return compare_sides(own_side, peer_side, ComparisonOptions(self.options.tolerance), "free", peer.name)

    def _values_to_trace(self) -> dict[Loop, list[tuple[Value, TensorType]]]:
        """The values to trace: of loops of the main graph, values of constant type within the memory limit."""
        graph, chosen = self.side.model.graph, set(self.options.loops)
        values_by_loop: dict[Loop, list[tuple[Value, TensorType]]] = {}
        free = MAX_TRAJECTORY_BYTES
        for path, info in self.profile.loops.items():
            node = info.loop
            is_chosen = not chosen or {node.name, path} & chosen
            if node not in graph.nodes or node in graph.expanded_from or not is_chosen:
                continue
            if graph.is_over_requests:
                assigned = [variable.assigned for variable in request_variables(graph)]
                if sum(info.nbytes.get(value, 0) for value in assigned) <= free:
                    values_by_loop[node] = [(value, info.types.get(value) or TensorType()) for value in assigned]
                continue
            valid = body_results_in_file(node)
            values: list[tuple[Value, TensorType]] = []
            for value, kind in info.types.items():
                if value not in valid:
                    continue
                if (
                    kind is not None
                    and info.nbytes[value] <= free
                    and kind.dtype is not None
                    and kind.dtype.kind != "V"
                ):
                    free -= info.nbytes[value]
                    values.append((value, kind))
            counter = _iteration_counting_value(node)
            if not values and counter is not None:
                values.append(counter)
            if values:
                values_by_loop[node] = values
        return values_by_loop


def peer_outcome_text(side: ModelSide, peer: Peer) -> str:
    """The peer's result for the whole model where ours fails: ``onnxruntime fails too: ...``."""
    if kind := _unsupported_input(side, peer):
        return f"{peer.name} was not run, since {kind}"
    failure = "refuses the model"
    try:
        loaded = peer.open(model_job(side))
        failure = "fails too"
        run_model(loaded, peer_feeds(side), side.model)
        loaded.close()
    except UnsupportedError as error:
        return f"{peer.name} was not run, since {error}"
    except PeerError as error:
        return f"{peer.name} {failure if error.kind == 'failed' else error.kind}: {error.text}"
    return f"{peer.name} runs the model with these inputs"


def _unsupported_input(side: ModelSide, peer: Peer) -> str:
    """The first input that a peer does not support, and its kind; empty if there is none."""
    kinds = ((name, unsupported_value_kind(value, peer.name)) for name, value in side.inputs.items())
    return next((f"the input '{name}' is {kind}" for name, kind in kinds if kind), "")


def peer_feeds(side: ModelSide) -> dict[str, Any]:
    """The inputs in the form of a peer; inputs of an IR are passed by position."""
    feeds = {name: _as_arrays(value) for name, value in side.inputs.items()}
    if side.model.graph.system is System.OPENVINO:
        return {str(k): feeds[port.name] for k, port in enumerate(side.model.inputs)}
    return feeds


def _ignored_condition_reasons(profile: LoopProfile, trips: int, peer: str) -> list[DivergenceReason]:
    """The rule that the observed trip count indicates."""
    condition = profile.loop.ignored_condition
    if condition is None or profile.first_ignored_stop is None or profile.first_ignored_stop + 1 != trips:
        return []
    text = (
        f"the body's condition '{condition.name}' is false in iteration {profile.first_ignored_stop}, and {peer} stops"
        " there although the loop's cond is absent."
    )
    return [DivergenceReason("B1", text)]


def reasons_from_profile(profile: LoopProfile) -> list[DivergenceReason]:
    """Rules for what a loop did in our run: no iteration, or states that changed their shape."""
    loop = profile.loop
    if loop.system is not System.ONNX or loop.derived_from:
        return []
    reasons = []
    if loop.counted_by_slices and not profile.trips:
        text = "onnxruntime refuses a Scan over nothing, and openvino returns uninitialised memory."
        reasons.append(DivergenceReason("B19", text))
    if loop.counted_by_slices and any(_state_changes_shape(edge, profile) for edge in loop.back_edges):
        text = "the shape of a state changes: onnxruntime fails, and openvino returns uninitialised memory."
        reasons.append(DivergenceReason("B67", text))
    if not profile.trips and (edges := unread_parameters(loop)):
        text = f"openvino does not return the initial value of '{edges[0].param.name}' after no iteration."
        reasons.append(DivergenceReason("B72", text))
    return reasons


def _state_changes_shape(edge: BackEdge, profile: LoopProfile) -> bool:
    """Whether a numeric state had several shapes."""
    first = profile.initial_types.get(edge.result)
    return first is not None and edge.result in profile.types and profile.types[edge.result] != first


def _as_arrays(value: Any) -> Any:
    return [np.asarray(item) for item in value] if isinstance(value, list | tuple) else np.asarray(value)


# -- trajectories of loops


@dataclass
class PeerSide:
    """The carried values of a peer's loops as boundaries. ``scans``: of a loop over requests its outputs, by name."""

    label: str
    paths: Sequence[tuple[Loop, str]]
    trajectories: Mapping[Loop, Sequence[tuple[list[str], Any]]]
    scans: Mapping[str, Any]
    graph: Graph | None = None
    outputs: Mapping[str, Data] | None = None

    @property
    def loops(self) -> list[LoopInfo]:
        """The outermost loops."""
        return [LoopInfo(path, loop.name) for loop, path in self.paths]

    def boundaries(self) -> Iterator[Boundary]:
        """Boundaries with carried values only; those of iteration 0 are unknown."""
        for loop, path in self.paths:
            trajectories = self.trajectories[loop]
            count = min(len(rows) for rows in (*(rows for _, rows in trajectories), *self.scans.values()))
            for k in range(count + 1):
                carried = {name: rows[k - 1] for names, rows in trajectories for name in names} if k else {}
                scanned = {name: rows[k - 1] for name, rows in self.scans.items()} if k else {}
                yield Boundary(path, (), k, None, StoppedBy.CONDITION if k == count else None, carried, scanned)

    def reader_at(self, loop: str, entry: tuple[int, ...], iteration: int | None) -> None:
        """None: other values are unknown."""

    def reasons(self, loop: str) -> list[DivergenceReason]:
        """No reasons."""
        return []


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


def _iteration_counting_value(loop: Loop) -> tuple[Value, TensorType] | None:
    """A small value whose row count is the trip count of a loop."""
    if loop.system is System.ONNX and loop.iteration is not None:
        return loop.iteration, TensorType(np.dtype(np.int64), ())
    if loop.condition is not None:
        return loop.condition, TensorType(np.dtype(bool), ())
    return None
