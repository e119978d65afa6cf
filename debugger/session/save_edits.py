"""What a branch changed, and which of it a model file can say.

A file says what holds from the beginning: constants, what a loop begins with, its trip count, its initial condition.
So a change can be saved where nothing had read what it changed: its branch, and the saved model run from the start,
then give the same bits. All else is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...runtime.errors import UsageError
from ...runtime.frontends.model_edits import ModelEdits
from ...runtime.frontends.rewrite import rewrite
from ...runtime.graph import Array, Loop, SlicedInput, System, Value
from ...runtime.model import Model
from ...runtime.plan.plan import LoopPlan, Plan
from .branches import Branch
from .edit_record import EditRecord
from .positions import Position, loop_levels


class NotExpressible(Exception):
    """A file has no words for a change; the text says why and what to do."""


def save_edits(model: Model, branch: Branch, target: Path, force: bool = False) -> list[Path]:
    """Write a copy of a model's file with the changes of a branch; returns the files that were written.

    Raises:
        UsageError: nothing was changed, something cannot be said in a file, or ``target`` cannot be written.
        ModelError: the model's file changed since it was opened.
    """
    changes = [change for one in reversed(branch.ancestry()) for change in one.edit_records]
    if not changes:
        raise UsageError("nothing was changed on this branch: set changes a value")
    path = _check_target(model, target, force)
    found = _EditTranslator(model.plan)
    for change in changes:
        try:
            found.add_edit(change)
        except NotExpressible as why:
            raise UsageError(
                f"'{change.text}' {_position_text(model.plan, change)} cannot be said in a file: {why}"
            ) from None
    return rewrite(path, model._internals.weights, model.graph, found.changes, target)


def _check_target(model: Model, target: Path, force: bool) -> Path:
    """The model's file, if it can be copied to the target."""
    if model.path is None or model.graph.system is System.TENSORRT or model._internals.is_over_requests:
        what = "is a script" if model.graph.system is System.TENSORRT else "came from no file of its own"
        raise UsageError(f"{model.name} {what}, so no copy of it can be saved")
    suffix = ".xml" if model.graph.system is System.OPENVINO else ".onnx"
    if target.suffix != suffix:
        raise UsageError(f"{target}: name it {suffix}, as the model is")
    folder = target.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"{target}: there is no folder '{folder}'")
    files = [target, *([target.with_suffix(".bin")] if suffix == ".xml" else [])]
    sources = [model.path, model._internals.weights or model.path.with_suffix(".bin")]
    for file in files:
        if file.exists() and any(one.exists() and file.samefile(one) for one in sources):
            raise UsageError(f"{file}: is the model itself; give another name")
        if file.exists() and not force:
            raise UsageError(f"{file}: is there already; give another name")
    return model.path


class _EditTranslator:
    """Changes as a file says them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.constants: dict[Value, Array] = {}
        self.initial_values: dict[tuple[Loop, Value], Array] = {}
        self.trip_counts: dict[Loop, int] = {}
        self.conditions: dict[Loop, bool] = {}

    @property
    def changes(self) -> ModelEdits:
        """All of them; of several to one thing the last one counts."""
        return ModelEdits(self.constants, self.initial_values, self.trip_counts, self.conditions)

    def add_edit(self, change: EditRecord) -> None:
        """Add one.

        Raises:
            Cannot: a file has no words for it.
        """
        if change.kind == "variable":
            raise NotExpressible("a variable has its value from the run; give it as the state of a run")
        if change.kind == "trip count":
            self._add_trip_count(self._outermost_loop(change), int(change.new_value), change)
        elif change.kind == "condition":
            self._add_condition(self._outermost_loop(change), bool(change.new_value), change)
        else:
            assert change.value is not None
            self._add_value(change.value, change)

    def _outermost_loop(self, change: EditRecord) -> LoopPlan:
        """The loop of a change, which is entered once."""
        loop = self.plan.loops[change.loop]
        if loop.parent >= 0:
            outer = self.plan.loops[loop.parent].loop.name
            raise NotExpressible(
                f"loop '{loop.loop.name}' is entered again in each iteration of '{outer}', and this is one entry"
            )
        return loop

    def _add_trip_count(self, loop: LoopPlan, count: int, change: EditRecord) -> None:
        if loop.loop.op_type != "Loop" or loop.loop.derived_from:
            raise NotExpressible(f"{loop.loop.op_type} '{loop.loop.name}' has no trip count in the file")
        # It ends where it stands if it has run more often.
        self.trip_counts[loop.loop] = max(count, _edit_iteration(change))

    def _add_condition(self, loop: LoopPlan, holds: bool, change: EditRecord) -> None:
        if not _edit_iteration(change):
            self.conditions[loop.loop] = holds
        elif not holds:
            self._add_trip_count(loop, _edit_iteration(change), change)
        else:
            raise NotExpressible(
                "what the body computes says that the loop ends there; change what it computes that from"
            )

    def _add_value(self, value: Value, change: EditRecord) -> None:
        loop = self._loop_at_boundary(change)
        edge = None if loop is None else next((one for one in loop.loop.back_edges if one.param is value), None)
        invariant = None if loop is None else next((one for one in loop.loop.invariants if one.inner is value), None)
        if loop is not None and (edge is not None or invariant is not None):
            if edge is not None and isinstance(edge.initial, SlicedInput):
                raise NotExpressible("the loop begins with a part of a sliced input")
            self._add_initial_value(self._outermost_loop(change), value, change)
            return
        if not self._is_constant(value):
            raise NotExpressible(self._not_constant_message(value))
        reader = next(self._readers_before(value, change), None)
        if reader is not None:
            raise NotExpressible(f"{reader} has read it by then; go back to where nothing has, and set it there")
        self.constants[value] = _edit_array(change)

    def _add_initial_value(self, loop: LoopPlan, value: Value, change: EditRecord) -> None:
        iteration = _edit_iteration(change)
        if iteration:
            raise NotExpressible(
                f"a file says what loop '{loop.loop.name}' begins with, and nothing of iteration {iteration}; go to"
                " iteration 0 and set it there, or extract that iteration as a model of its own"
            )
        later = next(self._readers_after(value, loop), None)
        if later is not None and any(one.inner is value for one in loop.loop.invariants):
            raise NotExpressible(f"{later} reads it as well, after the loop; change what both are given")
        self.initial_values[loop.loop, value] = _edit_array(change)

    def _loop_at_boundary(self, change: EditRecord) -> LoopPlan | None:
        """The loop at whose boundary it was made."""
        stack = loop_levels(change.position)
        loop = self.plan.loops[self.plan.code[stack[-1][0]].loop] if stack else None
        return loop if loop is not None and change.position[-1] == loop.head else None

    def _is_constant(self, value: Value) -> bool:
        if value.constant is not None:
            return True
        node = next((one.node for one in self.plan.code if one.node is not None and value in one.node.outputs), None)
        return node is not None and node.op_type == "Constant" and not node.is_custom_operator and not node.inputs

    def _not_constant_message(self, value: Value) -> str:
        """Why a value that is no constant cannot be written."""
        if value in self.plan.graph.inputs:
            return "it is an input of the model, and no part of its file; give it as one"
        node = next((one.node for one in self.plan.code if one.node is not None and value in one.node.outputs), None)
        made = "it is made anew in each iteration" if node is None else f"{node.op_type} '{node.name}' computes it"
        return f"{made}; change a constant, or what a loop begins with"

    # -- who has read it by then

    def _readers_before(self, value: Value, change: EditRecord) -> Iterator[str]:
        slot = self.plan.slot_of[value]
        begun = self._loop_at_boundary(change)
        for pc in self._read_positions(slot):
            if self._may_have_run(pc, change.position):
                yield self._node_label(pc)
        for loop in self.plan.loops:
            for port in loop.slices:
                # Where it stands before iteration 0 its parts are cut anew.
                fresh = loop is begun and not _edit_iteration(change) and loop.parent < 0
                if port.outer == slot and not fresh and self._may_have_run(loop.enter, change.position):
                    yield self._node_label(loop.enter)

    def _readers_after(self, value: Value, loop: LoopPlan) -> Iterator[str]:
        """What reads a value once a loop has ended: an invariant input is one with what it is outside."""
        slot = self.plan.slot_of[value]
        pcs = [
            *self._read_positions(slot),
            *(one.enter for one in self.plan.loops for port in one.slices if port.outer == slot),
        ]
        yield from (self._node_label(pc) for pc in pcs if pc > loop.exit)
        yield from (f"the output '{name}'" for name, output in self.plan.outputs if output == slot)

    def _read_positions(self, slot: int) -> Iterator[int]:
        """Where the plan reads a slot, but for sliced inputs."""
        for pc, one in enumerate(self.plan.code):
            if slot in one.inputs or any(slot == source for source, _ in one.moves):
                yield pc
        for loop in self.plan.loops:
            lengths = [scan.length for scan in loop.scans]
            if slot in (loop.trip_count, loop.initial_condition, *(edge.initial for edge in loop.edges), *lengths):
                yield loop.enter
            results = [*(edge.result for edge in loop.edges), *(scan.result for scan in loop.scans)]
            if slot in (loop.condition, loop.yielded, *results, *(last.source for last in loop.last_values)):
                yield loop.head

    def _node_label(self, pc: int) -> str:
        node = self.plan.code[pc].node
        if node is None:
            node = next(loop.loop for loop in self.plan.loops if loop.enter <= pc <= loop.exit)
        return f"{node.op_type} '{node.name}'"

    def _may_have_run(self, pc: int, position: Position) -> bool:
        """Whether an instruction may have run before a position."""
        around = [loop for loop in self.plan.loops if loop.enter < pc < loop.exit]
        stack, now = loop_levels(position), position[-1]
        for depth, loop in enumerate(around):
            if depth >= len(stack):
                return loop.enter < now
            enter, iteration = stack[depth]
            if enter != loop.enter:
                return loop.enter < enter
            if iteration:
                return True
        if len(around) < len(stack):
            return pc <= stack[len(around)][0]
        return pc < now


def _edit_iteration(change: EditRecord) -> int:
    stack = loop_levels(change.position)
    return stack[-1][1] if stack else 0


def _edit_array(change: EditRecord) -> Array:
    if not isinstance(change.new_value, np.ndarray):
        raise NotExpressible("it is no tensor, and a file has no such constants")
    return change.new_value


def _position_text(plan: Plan, change: EditRecord) -> str:
    stack = loop_levels(change.position)
    if not stack:
        return "outside of the loops"
    loop = plan.loops[plan.code[stack[-1][0]].loop]
    word = "before" if change.position[-1] == loop.head else "in"
    return f"{word} iteration {stack[-1][1]} of loop '{loop.loop.name}'"
