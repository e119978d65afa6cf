"""Demonstrates the cause of a difference: edits are applied to one model until the difference to the other is gone.

An edit is a cause only if the difference stays without it. What is left over has no effect on these inputs. Where no
edit is left, rounding is tested: it is the cause if inputs that move by one unit in the last place move the outputs as
far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ....runtime.errors import InterruptError, UsageError
from ....runtime.text import count_text
from ..alignment.apply_edits import apply_edits
from ..edits import Edit, EditKind, EditScript
from ..report.findings import Comparison, Demonstration, EditEffect, TippedValue
from ..running.sides import ModelSide
from ..running.value_comparison import Tolerance, compare, dtype_kind
from .delta_debugging import smaller_sufficient_subsets
from .flipped_quantized_values import TippedValueSearch
from .intervention import MAX_RERUNS, Interventions, RerunsExhaustedError
from .rounding_sensitivity import RoundingResponse, rounding_demonstration, rounding_response

#: With at most this many edits each is tried alone first: most often one of them is the cause.
_MAX_TRIED_ALONE = 3
#: Numbers within these units in the last place are rounded differently; by type, the bits of its mantissa.
_ROUNDING_UNITS, _MANTISSA_BITS = 8.0, {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}


class CauseProof:
    """The search for the smallest set of edits that makes the left side behave like the right one; rounding is tested
    where edits do not explain the difference.

    Args:
        result: what differs.
        script: the edits between the models of both sides.
        interventions: the test whether the difference is gone.
    """

    def __init__(self, result: Comparison, script: EditScript, interventions: Interventions) -> None:
        self._result, self._script = result, script
        self._interventions = interventions
        self._reruns = interventions.reruns
        self._labels = self._reruns.side.label, interventions.right.label
        #: Edits at the same places are applied together: each makes its value be computed as on the right.
        self._units = list(_group_by_places(script.edits).values())
        self._tried: dict[frozenset[Edit], bool] = {}
        self._causes: list[Edit] = []
        self._bit_identical = False
        self._is_minimal = False
        self._obstacle = ""
        self._rounding: RoundingResponse | None = None
        self._tipped: TippedValue | None = None

    def search(self) -> bool:
        """Search; afterwards the best result so far is there, even if the search did not end. Returns whether Ctrl-C
        ended it."""
        try:
            self._search_edits()
            if all(_is_rounding(edit) for edit in self._causes) or _begins_with_rounding(self._result):
                self._search_rounding()
        except RerunsExhaustedError:
            self._obstacle = f"the search ended after {MAX_RERUNS} reruns"
        except (InterruptError, KeyboardInterrupt):
            self._obstacle = "interrupted"
            return True
        return False

    def _search_edits(self) -> None:
        units = self._units
        if 1 < len(units) <= _MAX_TRIED_ALONE:
            alone = next(([unit] for unit in units if self._suffices([unit])), None)
            if alone is not None:
                self._record_causes(alone)
                self._is_minimal = True
                return
        if not units or not (self._suffices(units) or self._suffices_for_outputs(units)):
            return
        self._record_causes(units)
        for smaller in smaller_sufficient_subsets(units, self._suffices):
            self._record_causes(smaller)
        self._is_minimal = True

    def _suffices_for_outputs(self, units: Sequence[Sequence[Edit]]) -> bool:
        """Whether edits explain the outputs, though not how often loops run: a tool may have unrolled or folded one."""
        if not self._interventions.ignore_iterations():
            return False
        self._tried.clear()
        return self._suffices(units)

    def _search_rounding(self) -> None:
        """Test whether rounding alone explains the difference, or what the edits leave of it."""
        outputs = self._reruns.side.outputs
        if outputs is None or any(item.delta.kind != "value" for item in self._result.outputs):
            return
        response = rounding_response(self._reruns, outputs, self._result.outputs)
        if response is None:
            return
        if response.explains(self._result.outputs):
            self._rounding = response
            self._tipped = self._find_tipped_value()
        elif self._script.edits and not self._causes:
            self._interventions.slack = response.moved
            self._tried.clear()
            self._search_edits()
            self._rounding = response if self._causes else None

    def _find_tipped_value(self) -> TippedValue | None:
        left, right = self._reruns.side, self._interventions.right
        if not isinstance(right, ModelSide):
            return None  # a recording need not have the values of bodies
        sides = [ModelSide(side.model, side.inputs, side.limit, side.label) for side in (left, right)]
        twins = {**self._script.aligned, **self._script.matched}
        paths = {loop.left: loop.right for loop in self._result.loops}
        return TippedValueSearch(sides[0], sides[1], twins, paths).find()

    def _record_causes(self, causes: Sequence[Sequence[Edit]]) -> None:
        self._causes = [edit for unit in causes for edit in unit]

    def _suffices(self, chosen: Sequence[Sequence[Edit]]) -> bool:
        edits = [edit for unit in chosen for edit in unit]
        key = frozenset(edits)
        if key not in self._tried:
            self._tried[key] = self._removes_difference(edits)
        return self._tried[key]

    def _removes_difference(self, chosen: Sequence[Edit]) -> bool:
        left, other = self._reruns.side.model.graph, self._interventions.right
        right_inputs = dict(other.bound_inputs()) if isinstance(other, ModelSide) else {}
        try:
            changed = apply_edits(left, other.graph, self._script, chosen, right_inputs)
        except UsageError:
            return False  # not without other edits
        removed = self._interventions.removes_difference(changed)
        if removed:
            self._bit_identical = self._interventions.bit_identical
        return removed

    # -- what was shown

    def effects(self) -> dict[Edit, EditEffect]:
        """What each edit does."""
        rest = EditEffect.NO_EFFECT if self._is_minimal else EditEffect.UNKNOWN
        return {edit: EditEffect.CAUSE if edit in self._causes else rest for edit in self._script.edits}

    def demonstration(self) -> Demonstration:
        """How the cause was shown, or why it was not."""
        response, count = self._rounding, self._reruns.count
        if not self._causes and response is not None:
            shown = rounding_demonstration(response, self._result.outputs, self._reruns)
            return replace(shown, tipped=self._tipped)
        if not self._causes:
            return Demonstration("", self._obstacle or self._not_shown_reason(), count)
        left, right = self._labels
        applied = "this edit" if len(self._causes) == 1 else f"these {count_text(len(self._causes), 'edit')}"
        text = f"with {applied} applied to {left}, {self._interventions.subject} are those of {right}"
        if self._bit_identical:
            text += ", bit for bit"
        elif self._interventions.slack:
            text += ", except for what one unit in the last place of an input changes"
        else:
            text += ", within the tolerance"
        if self._interventions.ignores_iterations:
            text += ", but not how often the loops run"
        if len(_group_by_places(self._causes)) > 1:
            text += "; with fewer they are not" if self._is_minimal else f"; fewer may suffice: {self._obstacle}"
        shown = Demonstration("edits", text, count, self._is_minimal, self._bit_identical)
        if response is None or self._interventions.slack:
            return shown
        rounding = rounding_demonstration(response, self._result.outputs, self._reruns)
        text = f"{text}; {rounding.text}"
        return replace(shown, text=text, amplification=rounding.amplification, tipped=self._tipped)

    def _not_shown_reason(self) -> str:
        left, right = self._labels
        edits = self._script.edits
        if not edits:
            return (
                "the files have no difference that could cause it, and one unit in the last place of an input does not"
            )
        all_edits = "the edit" if len(edits) == 1 else f"all {len(edits)} edits"
        return f"with {all_edits} applied to {left}, {self._interventions.subject} are not those of {right}"


def _group_by_places(edits: Sequence[Edit]) -> dict[Any, list[Edit]]:
    units: dict[Any, list[Edit]] = {}
    for edit in edits:
        units.setdefault(edit.places or edit, []).append(edit)
    return units


def _is_rounding(edit: Edit) -> bool:
    """Whether an edit only rounds a constant differently."""
    left, right = edit.left_data, edit.right_data
    if edit.kind is not EditKind.CONSTANT or left is None or right is None or left.shape != right.shape:
        return False
    return _differ_by_rounding(left, right)


def _begins_with_rounding(result: Comparison) -> bool:
    """Whether the difference begins with the last bits: of the first node that differs, or of the first iteration in
    which anything does."""
    loop = result.first
    cause = result.cause if loop is None else loop.cause
    node = None if cause is None else cause.node
    if node is not None and node.difference.delta.kind in ("", "value"):
        begins = _differ_by_rounding(node.difference.left, node.difference.right)
    else:
        begins = False
    if begins or loop is None or loop.first is None or isinstance(loop.first.left, list | tuple):
        return begins
    relative = next((point.relative for point in loop.growth.points if point.absolute), math.inf)
    return relative <= _rounding_rtol(np.asarray(loop.first.left).dtype)


def _differ_by_rounding(left: Any, right: Any) -> bool:
    """Whether two arrays of floats differ by a few units in the last place of their largest number."""
    a, b = np.asarray(left), np.asarray(right)
    if a.dtype != b.dtype or dtype_kind(a.dtype) != "f" or not a.size:
        return False
    return not compare(a, b, Tolerance(0.0, 0.0, peak_fraction=_rounding_rtol(a.dtype))).kind


def _rounding_rtol(dtype: np.dtype[Any]) -> float:
    return _ROUNDING_UNITS * 2.0 ** -_MANTISSA_BITS[dtype.name] if dtype.name in _MANTISSA_BITS else 0.0
