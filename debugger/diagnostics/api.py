"""Diagnoses of runs and sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...runtime.engine.engine import Engine
from ...runtime.errors import ExecutionError, LimitError, UsageError
from ...runtime.frame_internals import FrameInternals
from ...runtime.graph import Loop, Node, Operation, StoppedBy
from ...runtime.model import Data, Model
from ...runtime.plan.plan import Plan
from .graph_facts import GraphFacts
from .iteration_run import IterationRun, IterationRuns, NodeRun
from .loop_checks import FixedPoint, LoopCheck, LoopEvidence, UnreachableTolerance, UnwrittenRow
from .node_checks import FLOAT16_CHECKS, NODE_CHECKS, DiagnosticKind
from .report import Diagnosis, Diagnostic

#: Types that a model can be judged for.
TARGET_TYPES = ("float16",)


def diagnose_model(
    model: Model,
    inputs: Mapping[str, Data] | None = None,
    *,
    target_type: str | None = None,
    max_iterations: int | None = None,
    until: tuple[int, ...] | None = None,
) -> Diagnosis:
    """Judge a run of a model; see :meth:`Model.diagnose`. ``until``: the position of an engine at which to end."""
    if target_type not in (None, *TARGET_TYPES):
        raise UsageError(
            f"a run cannot be judged for '{target_type}', only for {', '.join(TARGET_TYPES)}",
            name="target_type",
            expected=", ".join(TARGET_TYPES),
            got=str(target_type),
        )
    engine = Engine(model.plan)
    engine.start(model.check(inputs or {}))
    # A session may be inside a loop that nothing ends; it is left at its position.
    engine.set_limits(max_iterations, until is None)
    judge = _Judge(model.plan, target_type)
    runs = IterationRuns(engine, until)
    stopped = ""
    try:
        for run in runs:
            judge.add(run)
            if judge.never_ends:
                stopped = f"{run.path} never ends"
                break
    except (ExecutionError, LimitError) as error:
        judge.judge_failed_node(engine)
        stopped = str(error)
    if runs.stopped_by is StoppedBy.LIMIT:
        stopped = f"the limit of {max_iterations} iterations"
    elif runs.stopped_by is StoppedBy.INTERRUPT:
        stopped = "interrupted"
    return Diagnosis(
        model.name, tuple(judge.findings()), judge.iterations, stopped, runs.stopped_by is StoppedBy.INTERRUPT
    )


def diagnose_session(session: Any) -> Diagnosis:
    """Judge the run of a session from its start to its position, with its inputs; the session does not move.

    Raises:
        UsageError: it is a recording.
    """
    if not session.controller.has_branches:
        raise UsageError("a recording cannot be run; diagnose needs the model: open it in place of the recording")
    until = None if session.done else session.controller.timeline.engine.position
    return diagnose_model(session.model, session.inputs, max_iterations=session.max_iterations, until=until)


@dataclass(frozen=True)
class _Location:
    """Where something was seen: a loop (None: the main graph), its path, the iterations of the loops around it."""

    path: str
    loop: Loop | None
    entry: tuple[int, ...]


class _Judge:
    """Applies all checks to the iterations of a run, and counts what they see."""

    def __init__(self, plan: Plan, target_type: str | None) -> None:
        self._facts = GraphFacts(plan.graph, plan.constant_values)
        self._checks = [*NODE_CHECKS.items(), *(FLOAT16_CHECKS.items() if target_type else ())]
        #: By index: the running entry of each loop, and its checks.
        self._entries: dict[int, tuple[_Location, list[LoopCheck]]] = {}
        self._findings: dict[tuple[DiagnosticKind, str, Node | None], Diagnostic] = {}
        self.iterations = 0
        self.never_ends = False

    def add(self, run: IterationRun) -> None:
        """Judge an iteration."""
        executions: dict[Node, NodeRun] = {execution.node: execution for execution in run.node_runs()}
        location = _Location(run.path, run.loop, run.frame.entry)
        for execution in executions.values():
            self._check_node(execution, location, run.iteration)
        if run.loop is None:
            return
        self.iterations += 1
        for check in self._checks_of_entry(run.frame.index, location):
            check.add(run, executions)
            self.never_ends |= isinstance(check, FixedPoint) and check.never_ends
        if not run.goes_on:
            self._end_entry(run.frame.index)

    def judge_failed_node(self, engine: Engine) -> None:
        """Judge the operands of the node at which a run failed."""
        node = engine.plan.code[engine.pc].node
        if not isinstance(node, Operation):
            return
        slots = [None if value is None else engine.plan.slot_of.get(value) for value in node.inputs]
        inputs = [engine.peek(slot) if slot is not None and engine.has_value(slot) else None for slot in slots]
        frame = FrameInternals(engine, engine.stack[-1] if engine.stack else -1)
        self._check_node(NodeRun(node, inputs, []), _Location(frame.path, frame.loop, frame.entry), frame.iteration)

    def findings(self) -> list[Diagnostic]:
        """All findings, in the order in which they were seen."""
        for index in list(self._entries):
            self._end_entry(index)
        return list(self._findings.values())

    def _check_node(self, run: NodeRun, location: _Location, iteration: int) -> None:
        for kind, check in self._checks:
            evidence = check(run, location.loop, self._facts)
            if evidence is not None:
                self._record_finding(LoopEvidence(kind, run.node, iteration, 1, evidence), location)

    def _checks_of_entry(self, index: int, location: _Location) -> list[LoopCheck]:
        known = self._entries.get(index)
        if known is None or known[0] != location:
            self._end_entry(index)
            assert location.loop is not None
            checks: list[LoopCheck] = [
                FixedPoint(location.loop, self._facts),
                UnreachableTolerance(location.loop, self._facts),
                UnwrittenRow(location.loop, self._facts),
            ]
            self._entries[index] = known = location, checks
        return known[1]

    def _end_entry(self, index: int) -> None:
        entry = self._entries.pop(index, None)
        if entry is not None:
            location, checks = entry
            for check in checks:
                for seen in check.evidence_at_end():
                    self._record_finding(seen, location)

    def _record_finding(self, seen: LoopEvidence, location: _Location) -> None:
        node = seen.node or location.loop
        assert node is not None
        key = seen.kind, location.path, node
        first = self._findings.get(key)
        if first is not None:
            self._findings[key] = replace(first, count=first.count + seen.count)
            return
        code = self._facts.text(node) if isinstance(node, Operation) else ""
        iteration = None if location.loop is None else seen.iteration
        self._findings[key] = Diagnostic(
            seen.kind, location.path, node.name, node.op_type, code, iteration, location.entry, seen.count,
            seen.evidence.text, seen.evidence.values,
        )  # fmt: skip
