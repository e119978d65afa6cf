"""Saves the edits of a branch into a copy of the model file.

A file holds the initial state: constants, initial values of loops, trip counts, initial conditions. An edit can be
saved if no node had read the old value: then the branch and the saved model, run from the start, give the same bits.
Other edits are rejected by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...runtime.errors import UsageError, missing_folder_error
from ...runtime.graph import Array, SlicedInput, System, Value
from ...runtime.model import Model
from ...runtime.modelfile.edited_copy import write_edited_copy
from ...runtime.modelfile.model_file import ModelEdits
from ...runtime.plan.plan import LoopPlan, Plan
from .positions import Position, loop_levels
from .timeline import Branch, EditRecord


class NotExpressible(Exception):
    """A model file cannot express an edit; the message has the reason and a remedy."""


def save_edits(model: Model, branch: Branch, target: Path, force: bool = False) -> list[Path]:
    """Write a copy of a model's file with the edits of a branch; returns the written files.

    Raises:
        UsageError: there is no edit, a file cannot express one, or ``target`` cannot be written.
        ModelError: the model's file changed since it was opened.
    """
    edits = [edit for b in reversed(branch.ancestry()) for edit in b.edit_records]
    if not edits:
        raise UsageError("nothing was changed on this branch: set changes a value")
    path = _check_target(model, target, force)
    translator = _EditTranslator(model.plan)
    for edit in edits:
        try:
            translator.add_edit(edit)
        except NotExpressible as error:
            raise UsageError(
                f"'{edit.text}' {_position_text(model.plan, edit)} cannot be saved in a file: {error}", name=edit.text
            ) from None
    return write_edited_copy(path, model.graph.weights, model.graph, translator.edits, target)


def _check_target(model: Model, target: Path, force: bool) -> Path:
    """The path of the model's file, if it can be copied to the target."""
    if model.path is None or model.graph.system is System.TENSORRT or model.graph.is_over_requests:
        reason = "is a script" if model.graph.system is System.TENSORRT else "came from no file of its own"
        raise UsageError(f"{model.name} {reason}, so no copy of it can be saved", name=model.name)
    suffix = ".xml" if model.graph.system is System.OPENVINO else ".onnx"
    if target.suffix != suffix:
        raise UsageError(f"{target}: name it {suffix}, as the model is", name=str(target), expected=suffix)
    folder = target.absolute().parent
    if not folder.is_dir():
        raise missing_folder_error(target, folder)
    files = [target, *([target.with_suffix(".bin")] if suffix == ".xml" else [])]
    sources = [model.path, model.graph.weights or model.path.with_suffix(".bin")]
    for file in files:
        if file.exists() and any(source.exists() and file.samefile(source) for source in sources):
            raise UsageError(f"{file}: is the model itself; give another name", name=str(file), got="the model")
        if file.exists() and not force:
            raise UsageError(f"{file}: is there already; give another name", name=str(file), expected="a new file")
    return model.path


class _EditTranslator:
    """Translates edits into changes of a model file."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        #: The translated edits; the last edit of each item wins.
        self.edits = ModelEdits()

    def add_edit(self, edit: EditRecord) -> None:
        """Add an edit.

        Raises:
            NotExpressible: a file cannot express it.
        """
        if edit.kind == "variable":
            raise NotExpressible("a variable has its value from the run; give it as the state of a run")
        if edit.kind == "trip count":
            self._add_trip_count(self._outermost_loop(edit), int(edit.new_value), edit)
        elif edit.kind == "condition":
            self._add_condition(self._outermost_loop(edit), bool(edit.new_value), edit)
        else:
            assert edit.value is not None
            self._add_value_edit(edit.value, edit)

    def _outermost_loop(self, edit: EditRecord) -> LoopPlan:
        """The loop of an edit, if it is entered only once."""
        loop = self.plan.loops[edit.loop]
        if loop.parent >= 0:
            outer = self.plan.loops[loop.parent].loop.name
            raise NotExpressible(
                f"loop '{loop.loop.name}' is entered again in each iteration of '{outer}', and this is one entry"
            )
        return loop

    def _add_trip_count(self, loop: LoopPlan, count: int, edit: EditRecord) -> None:
        if loop.loop.op_type != "Loop" or loop.loop.derived_from:
            raise NotExpressible(f"{loop.loop.op_type} '{loop.loop.name}' has no trip count in the file")
        # A loop that has run more iterations ends at its current one.
        self.edits.trip_counts[loop.loop] = max(count, _edit_iteration(edit))

    def _add_condition(self, loop: LoopPlan, new_value: bool, edit: EditRecord) -> None:
        if not _edit_iteration(edit):
            self.edits.initial_conditions[loop.loop] = new_value
        elif not new_value:
            self._add_trip_count(loop, _edit_iteration(edit), edit)
        else:
            raise NotExpressible(
                "what the body computes says that the loop ends there; change what it computes that from"
            )

    def _add_value_edit(self, value: Value, edit: EditRecord) -> None:
        loop = self._loop_at_boundary(edit)
        edge = None if loop is None else next((port for port in loop.loop.back_edges if port.param is value), None)
        invariant = None if loop is None else next((port for port in loop.loop.invariants if port.inner is value), None)
        if loop is not None and (edge is not None or invariant is not None):
            if edge is not None and isinstance(edge.initial, SlicedInput):
                raise NotExpressible("the loop begins with a part of a sliced input")
            self._add_initial_value(self._outermost_loop(edit), value, edit)
            return
        if not self._is_constant(value):
            raise NotExpressible(self._not_constant_message(value))
        reader = next(self._earlier_readers(value, edit), None)
        if reader is not None:
            raise NotExpressible(f"{reader} has read it by then; go back to where nothing has, and set it there")
        self.edits.constants[value] = _edit_array(edit)

    def _add_initial_value(self, loop: LoopPlan, value: Value, edit: EditRecord) -> None:
        iteration = _edit_iteration(edit)
        if iteration:
            raise NotExpressible(
                f"a file says what loop '{loop.loop.name}' begins with, and nothing of iteration {iteration}; go to"
                " iteration 0 and set it there, or extract that iteration as a model of its own"
            )
        reader = next(self._later_readers(value, loop), None)
        if reader is not None and any(port.inner is value for port in loop.loop.invariants):
            raise NotExpressible(f"{reader} reads it as well, after the loop; change what both are given")
        self.edits.initial_values[loop.loop, value] = _edit_array(edit)

    def _loop_at_boundary(self, edit: EditRecord) -> LoopPlan | None:
        """The loop at whose boundary the edit was made."""
        stack = loop_levels(edit.position)
        loop = self.plan.loops[self.plan.code[stack[-1][0]].loop] if stack else None
        return loop if loop is not None and edit.position[-1] == loop.head else None

    def _is_constant(self, value: Value) -> bool:
        if value.constant is not None:
            return True
        node = next((i.node for i in self.plan.code if i.node is not None and value in i.node.outputs), None)
        return node is not None and node.op_type == "Constant" and not node.is_custom_operator and not node.inputs

    def _not_constant_message(self, value: Value) -> str:
        """Why a value that is no constant cannot be saved."""
        if value in self.plan.graph.inputs:
            return "it is an input of the model, and no part of its file; give it as one"
        node = next((i.node for i in self.plan.code if i.node is not None and value in i.node.outputs), None)
        reason = "it is recomputed in each iteration" if node is None else f"{node.op_type} '{node.name}' computes it"
        return f"{reason}; change a constant, or what a loop begins with"

    # -- earlier readers

    def _earlier_readers(self, value: Value, edit: EditRecord) -> Iterator[str]:
        slot = self.plan.slot_of[value]
        loop_at_boundary = self._loop_at_boundary(edit)
        for pc in self._read_positions(slot):
            if self._may_have_run(pc, edit.position):
                yield self._node_label(pc)
        for loop in self.plan.loops:
            for port in loop.slices:
                # Before iteration 0 the slices are recomputed.
                is_recomputed = loop is loop_at_boundary and not _edit_iteration(edit) and loop.parent < 0
                if port.outer == slot and not is_recomputed and self._may_have_run(loop.enter, edit.position):
                    yield self._node_label(loop.enter)

    def _later_readers(self, value: Value, loop: LoopPlan) -> Iterator[str]:
        """Readers of a value after a loop: an invariant input shares the slot of the outer value."""
        slot = self.plan.slot_of[value]
        pcs = [
            *self._read_positions(slot),
            *(loop_.enter for loop_ in self.plan.loops for port in loop_.slices if port.outer == slot),
        ]
        yield from (self._node_label(pc) for pc in pcs if pc > loop.exit)
        yield from (f"the output '{name}'" for name, output in self.plan.outputs if output == slot)

    def _read_positions(self, slot: int) -> Iterator[int]:
        """Instructions that read a slot, except for sliced inputs."""
        for pc, instruction in enumerate(self.plan.code):
            if slot in instruction.inputs or any(slot == source for source, _ in instruction.moves):
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
        enclosing = [loop for loop in self.plan.loops if loop.enter < pc < loop.exit]
        stack, current_pc = loop_levels(position), position[-1]
        for depth, loop in enumerate(enclosing):
            if depth >= len(stack):
                return loop.enter < current_pc
            enter, iteration = stack[depth]
            if enter != loop.enter:
                return loop.enter < enter
            if iteration:
                return True
        if len(enclosing) < len(stack):
            return pc <= stack[len(enclosing)][0]
        return pc < current_pc


def _edit_iteration(edit: EditRecord) -> int:
    stack = loop_levels(edit.position)
    return stack[-1][1] if stack else 0


def _edit_array(edit: EditRecord) -> Array:
    if not isinstance(edit.new_value, np.ndarray):
        raise NotExpressible("it is no tensor, and a file has no such constants")
    return edit.new_value


def _position_text(plan: Plan, edit: EditRecord) -> str:
    stack = loop_levels(edit.position)
    if not stack:
        return "outside of the loops"
    loop = plan.loops[plan.code[stack[-1][0]].loop]
    word = "before" if edit.position[-1] == loop.head else "in"
    return f"{word} iteration {stack[-1][1]} of loop '{loop.loop.name}'"
