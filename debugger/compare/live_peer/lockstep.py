"""Compares a model with a live peer in lockstep: each iteration starts from our carried values.

Errors do not accumulate: differences come from the body alone. An iteration with differing results is run again with
all node results, to find the first differing node.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ....runtime.errors import ExecutionError, InterruptError, UnsupportedError
from ....runtime.frame import Frame, frame_reader
from ....runtime.graph import Array, Value
from ....runtime.graph.slicing import entry_parts
from ....runtime.plan.plan import LoopPlan
from ...peers.process import LoadedModel, Peer, PeerError
from ...session.boundary import read_boundary
from ..alignment.model_alignment import SelfAlignment
from ..causes.difference_tracer import DifferenceTracer
from ..causes.quantization_tie_rounding import QuantizationSteps
from ..report.findings import (
    Cause,
    Comparison,
    Difference,
    DivergenceReason,
    IterationDifferences,
    LoopFindings,
    PeerFailure,
)
from ..report.runtime_differences import extreme_value_reasons, reasons_predicting
from ..running.boundary_merge import ComparisonOptions
from ..running.runtime_deviations import has_dynamic_shape
from ..running.sides import ModelSide
from ..running.value_comparison import compare
from ..running.value_readers import DictReader, IterationReader, pre_condition_values, scalar_parameter
from .body_job import BodyJob, BodyJobBuilder, RequestJobBuilder, values_fed_to_body
from .peer_run_profile import RunProfile, exceeds_int32, is_float64, unsupported_value_kind
from .saturating_byte_sums import saturation_reasons


@dataclass
class _LockstepLoop:
    """The state of one loop while it runs."""

    findings: LoopFindings
    body: BodyJobBuilder | RequestJobBuilder
    values_fed_to_body: list[Value]
    random_values: list[Value]
    body_job: BodyJob | None = None
    loaded: LoadedModel | None = None
    #: Feeds of the current iteration.
    feeds: dict[Value, Any] = field(default_factory=dict)
    #: For the current entry: values that are equal in all iterations, and the parts of sliced inputs.
    invariant_feeds: dict[Value, Any] = field(default_factory=dict)
    slice_parts: dict[Value, Array] = field(default_factory=dict)
    invariants_held: bool = False
    #: Variables that the peer initialises in the current iteration.
    unset: Collection[Value] = ()
    #: Not compared any further.
    given_up: bool = False


class Lockstep:
    """One run of ours with a peer in lockstep. ``profile`` is filled during the run, also without a peer."""

    def __init__(self, side: ModelSide, peer: Peer | None, options: ComparisonOptions, profile: RunProfile) -> None:
        self.side, self.peer, self.options, self.profile = side, peer, options, profile
        self.result = Comparison("lockstep", side.label, "" if peer is None else peer.name)
        self._loops: dict[int, _LockstepLoop] = {}
        self._iteration_count = 0
        self._quantization_steps = QuantizationSteps(side.model.graph)
        self._is_openvino = peer is not None and peer.name == "openvino"
        tolerance = options.tolerance
        self._tolerance = replace(tolerance, float64_as_float32=True) if self._is_openvino else tolerance

    @cached_property
    def _self_alignment(self) -> SelfAlignment:
        return SelfAlignment(self.side.model.graph)

    def run(self) -> Comparison:
        """Run the model to its end, or to an interrupt or error."""
        try:
            for frame in self.side.frames():
                self.profile.add_boundary(frame)
                chosen = self.options.loops
                if self.peer is not None and (not chosen or frame.path in chosen or frame.name in chosen):
                    self._handle_boundary(frame)
        except (ExecutionError, InterruptError, KeyboardInterrupt) as error:
            has_compared = any(state.findings.iterations for state in self._loops.values())
            if not self.options.reports_partial or (isinstance(error, ExecutionError) and not has_compared):
                raise
            self.result.error = error if isinstance(error, ExecutionError) else InterruptError("interrupted")
            for state in self._loops.values():
                state.findings.truncated_at_iteration = state.findings.iterations
        if self.side.limit_hit:
            self.result.add_note(f"no loop ran more than {self.side.limit} iterations, the limit that was set")
        for state in self._loops.values():
            state.findings.reasons = self.side.reasons(state.findings.left)
            if state.loaded is not None:
                state.loaded.close()
        return self.result

    # -- one boundary

    def _handle_boundary(self, frame: Frame) -> None:
        plan = frame_reader(frame).engine.plan.loops[frame.index]
        state = self._loops.get(plan.index)
        if state is None:
            findings = LoopFindings(plan.path, plan.path, "path")
            self.result.loops.append(findings)
            is_requests = self.side.model.graph.is_over_requests and plan.loop in self.side.model.graph.nodes
            body = RequestJobBuilder(self.side) if is_requests else BodyJobBuilder(self.side, plan.loop)
            state = _LockstepLoop(findings, body, *values_fed_to_body(plan.loop))
            self._loops[plan.index] = state
        if state.given_up:
            return
        if frame.iteration:
            self._compare_iteration(state, plan, frame)
        else:
            self._enter_loop(state, plan, frame)
        if frame.stopped_by is None and not state.given_up:
            state.feeds = self._make_iteration_feeds(state, plan, frame)

    def _enter_loop(self, state: _LockstepLoop, plan: LoopPlan, frame: Frame) -> None:
        loop, engine = plan.loop, frame_reader(frame).engine
        varying = {edge.param for edge in loop.back_edges} | {loop.iteration, loop.condition_input}
        varying |= {sliced.inner for sliced in loop.sliced_inputs}
        state.slice_parts = {
            sliced.sliced.inner: entry_parts(engine.value(sliced.outer), sliced.sliced, plan.path, frame.trip_count)
            for sliced in plan.slices
            if all(edge.initial is not sliced.sliced for edge in loop.back_edges)
        }
        slots = engine.plan.slot_of
        state.invariant_feeds = {
            value: engine.value(slots[value]) for value in state.values_fed_to_body if value not in varying
        }
        state.invariants_held = False

    def _make_iteration_feeds(self, state: _LockstepLoop, plan: LoopPlan, frame: Frame) -> dict[Value, Any]:
        loop, engine = plan.loop, frame_reader(frame).engine
        feeds = {edge.edge.param: engine.value(edge.param) for edge in plan.edges}
        feeds.update(
            (value, np.array(parts[frame.iteration]))
            for value, parts in state.slice_parts.items()
            if len(parts) > frame.iteration
        )
        if loop.iteration is not None:
            feeds[loop.iteration] = scalar_parameter(frame.iteration, loop.iteration, np.int64)
        if loop.condition_input is not None and loop.condition_input not in feeds:
            feeds[loop.condition_input] = scalar_parameter(
                engine.loop_state(plan.index)[2], loop.condition_input, np.bool_
            )
        if isinstance(state.body, RequestJobBuilder):
            state.unset = set() if frame.iteration else state.body.initial_in_file
        return feeds

    # -- one iteration

    def _compare_iteration(self, state: _LockstepLoop, plan: LoopPlan, frame: Frame) -> None:
        iteration = frame.iteration - 1
        feeds = {**state.invariant_feeds, **state.feeds}
        if state.random_values:
            values = frame.values
            feeds.update((value, values[value.name]) for value in state.random_values)
        reason = self._unsupported_feed_reason(feeds)
        if reason:
            self.result.add_note(f"{plan.path}: not compared {reason}")
            return
        try:
            outputs = self._run_peer(state, plan, feeds)
        except PeerError as error:
            kind = "refused" if error.kind == "failed" and state.loaded is None else error.kind
            location = f"the body of {plan.path}" if kind == "refused" else f"{plan.path}, iteration {iteration}"
            reasons = reasons_predicting(self.side.reasons(plan.path), "failure", self._peer.name)
            self.result.failures.append(PeerFailure(kind, location, error.text, tuple(reasons)))
            state.given_up = True
            return
        except UnsupportedError as error:
            state.given_up = True
            if plan.loop.op_type == "Scan" and plan.loop.version == 8:
                # A Scan-8 has an internal loop over the batch, which the file lacks.
                self.result.loops.remove(state.findings)
                return
            self.result.add_note(f"{plan.path}: not compared iteration by iteration: {error}")
            return
        self._compare_outputs(state, plan, frame, feeds, outputs)

    @property
    def _peer(self) -> Peer:
        assert self.peer is not None
        return self.peer

    def _unsupported_feed_reason(self, feeds: Mapping[Value, Any]) -> str:
        """The reason why the peer cannot be fed; empty if it can."""
        for value, data in feeds.items():
            kind = unsupported_value_kind(data, self._peer.name)
            if kind:
                return f"where '{value.name}' is {kind}, which {self._peer.name} cannot be given"
            if self._is_openvino and exceeds_int32(data):
                return f"where '{value.name}' does not fit 32 bits, to which openvino narrows it (B29)"
            if self._is_openvino and is_float64(data):
                self.result.add_note(
                    f"'{value.name}' is float64, which openvino computes as float32 (B29): compared as float32"
                )
        return ""

    def _run_peer(self, state: _LockstepLoop, plan: LoopPlan, feeds: dict[Value, Any]) -> list[tuple[Value, Any]]:
        """The peer's results, without duplicates."""
        accepted = state.body.accepts(feeds)
        if state.loaded is None or not state.loaded.is_alive or not accepted:
            if state.loaded is not None:
                state.loaded.close()
            state.loaded = None
            state.body_job = state.body.build(feeds)
            state.loaded = self._peer.open(state.body_job.job)
            state.invariants_held = False
        body_job = state.body_job
        assert body_job is not None
        if not state.invariants_held:
            held = {value: data for value, data in state.invariant_feeds.items() if value in body_job.inputs}
            state.loaded.hold({body_job.inputs[value]: data for value, data in held.items()})
            state.invariants_held = True
        return self._run_loaded_job(state, feeds)

    def _run_loaded_job(self, state: _LockstepLoop, feeds: Mapping[Value, Any]) -> list[tuple[Value, Any]]:
        body_job, loaded = state.body_job, state.loaded
        assert body_job is not None and loaded is not None
        omitted = {*state.invariant_feeds, *state.unset}
        results = loaded.run({name: feeds[value] for value, name in body_job.inputs.items() if value not in omitted})
        return list(dict(zip(body_job.outputs, results, strict=True)).items())

    def _compare_outputs(
        self,
        state: _LockstepLoop,
        plan: LoopPlan,
        frame: Frame,
        feeds: dict[Value, Any],
        outputs: list[tuple[Value, Any]],
    ) -> None:
        findings, iteration = state.findings, frame.iteration - 1
        is_request = isinstance(state.body, RequestJobBuilder)
        own_results = _iteration_results(plan, frame, is_request)
        differences = IterationDifferences()
        for value, peer_value in outputs:
            if value not in own_results:
                continue
            role, name, our_value = own_results[value]
            if self._is_openvino and exceeds_int32(our_value):
                self.result.add_note(
                    f"{plan.path}: not compared where '{value.name}' does not fit 32 bits, to which "
                    "openvino narrows it (B29)"
                )
                continue
            if role == "condition":
                our_value, peer_value = _as_bool(our_value), _as_bool(peer_value)
            delta = compare(our_value, peer_value, self._tolerance)
            differences.add(delta)
            if delta.kind:
                step = self._quantization_steps.value_quantization_step(value, our_value)
                difference = Difference(
                    role, name, name, delta, plan.path, frame.entry, iteration, our_value, peer_value, step=step
                )
                findings.add_difference(difference, (self._iteration_count,))
        self._iteration_count += 1
        findings.add_iteration(iteration, differences)
        if differences.beyond_tolerance and findings.cause is None and findings.differing_iterations == 1:
            self._find_self_difference(state, feeds, dict(outputs))
            if is_request:
                self._report_lost_variables(state, dict(outputs), own_results)
            if findings.cause is None:
                self._find_cause(state, plan, frame, feeds)

    def _find_self_difference(
        self, state: _LockstepLoop, feeds: Mapping[Value, Any], first_run: Mapping[Value, Any]
    ) -> None:
        """Run the peer again for a differing iteration, to find out whether it differs from itself."""
        try:
            second_run = self._run_loaded_job(state, feeds)
        except PeerError:
            return
        first = state.findings.first
        for value, data in second_run:
            delta = compare(first_run[value], data, self._tolerance)
            if delta.kind and first is not None and self.result.self_difference is None:
                location = (first.loop, first.entry, first.iteration)
                self.result.self_difference = Difference(
                    "result", value.name, value.name, delta, *location, first_run[value], data
                )

    # -- cause of the first difference

    def _report_lost_variables(
        self, state: _LockstepLoop, outputs: Mapping[Value, Any], own_results: Mapping[Value, tuple[str, str, Any]]
    ) -> None:
        """Rule B80, if a variable of dynamic shape does not keep what a request assigns to it."""
        first = state.findings.first
        for value, (role, name, our_value) in own_results.items():
            if role != "carried" or np.shape(outputs[value]) == np.shape(our_value) or not has_dynamic_shape(value):
                continue
            text = (
                f"{self._peer.name} does not keep what a request assigns to '{name}', a variable that is declared with"
                f" a dynamic shape: its shape is {list(np.shape(outputs[value]))} then, and that of the assigned value"
                f" is {list(np.shape(our_value))}. What reads it may get uninitialised memory."
            )
            self.result.reasons.append(DivergenceReason("B80", text))
            if first is not None and first.role == "carried":
                state.findings.cause = Cause(remark="the outputs of the request are the same; it is not kept")
            return

    def _find_cause(self, state: _LockstepLoop, plan: LoopPlan, frame: Frame, feeds: dict[Value, Any]) -> None:
        loaded = None
        try:
            body_job = state.body.build(feeds, everything=True)
            loaded = self._peer.open(body_job.job)
            run_feeds = {name: feeds[value] for value, name in body_job.inputs.items() if value not in state.unset}
            results = loaded.run(run_feeds)
            peer_values = dict(zip(body_job.outputs, results, strict=True))
        except (PeerError, UnsupportedError) as error:
            self.result.add_note(f"{plan.path}: which node differs could not be found: {error}")
            return
        finally:
            if loaded is not None:
                loaded.close()
        our_reader = IterationReader(feeds, pre_condition_values(plan.loop), frame.values)
        peer_reader = DictReader({**peer_values, **feeds})
        first = state.findings.first
        assert first is not None
        tracer = DifferenceTracer(self._self_alignment, our_reader, peer_reader, self._tolerance, first)
        for value in plan.loop.body.outputs:
            cause = tracer.find_cause(value, value)
            if cause is not None:
                state.findings.cause = cause
                reasons = saturation_reasons(cause.node) + extreme_value_reasons(cause.node)
                self.result.reasons += reasons_predicting(reasons, "values", self._peer.name)
                return
        self.result.add_note(
            f"{plan.path}: node by node, and without its optimisations, {self._peer.name} agrees: "
            "they make the difference"
        )


def _iteration_results(plan: LoopPlan, frame: Frame, is_request: bool) -> dict[Value, tuple[str, str, Any]]:
    """For each result of the last iteration its role, its outer name and its value; for a request those of outputs, and
    for each variable the one before the next request."""
    loop, boundary = plan.loop, read_boundary(frame)
    scans, carried = boundary.scanned, boundary.carried
    results: dict[Value, tuple[str, str, Any]] = {
        scan.result: ("scan", scan.outer.name, scans[scan.outer.name]) for scan in loop.scan_outputs
    }
    for edge in loop.back_edges:
        results[edge.param if is_request else edge.result] = "carried", edge.param.name, carried[edge.param.name]
    if is_request:
        return results
    if loop.condition is not None:
        # A condition evaluated before an iteration already belongs to the next one; the last one was true.
        condition = boundary.condition if loop.condition_node_count is None else True
        results[loop.condition] = "condition", loop.condition.name, condition
    others = [value for value in loop.body.outputs if value not in results and value not in loop.body.inputs]
    # A lookup of values by name is slow, and few loops have such results.
    values = frame.values if others else {}
    results.update((value, ("result", value.name, values[value.name])) for value in others if value.name in values)
    return results


def _as_bool(value: Any) -> bool:
    return bool(np.asarray(value).reshape(-1)[:1].all())
