"""The edit script of two models."""

from __future__ import annotations

from typing import Any

from ....runtime.graph import Value
from ....runtime.model import Model
from ..edits import EditScript
from ..normal_form.terms import Term
from ..running.loop_matching import match_loops
from ..running.sides import loops_of_model
from .edit_finder import EditFinder
from .model_alignment import IdenticalModels, ModelAlignment, align_models


def edit_script(left: Model, right: Model) -> EditScript:
    """What to change in the left model so that it computes what the right one computes."""
    matching = match_loops(loops_of_model(left), loops_of_model(right), {})
    return build_edit_script(align_models(left.graph, right.graph, matching.loop_pairs))


def build_edit_script(alignment: IdenticalModels | ModelAlignment) -> EditScript:
    """The edit script of two aligned models."""
    if isinstance(alignment, IdenticalModels):
        return EditScript((), alignment.values)
    edits = tuple(EditFinder(alignment).find())
    matched, aligned = _matched_and_aligned_values(alignment)
    return EditScript(edits, matched, aligned)


def _matched_and_aligned_values(alignment: ModelAlignment) -> tuple[dict[Value, Value], dict[Value, Value]]:
    """Left values with their right counterparts: those that are provably the same, and the others."""
    pairs, numbers = alignment.pairs, alignment.numbers
    right_values: dict[int, list[Value]] = {}
    by_term: dict[object, list[Value]] = {}
    for value, term in pairs.right.by_value.items():
        right_values.setdefault(numbers.numbers.get(term, -1), []).append(value)
        by_term.setdefault(term, []).append(value)
    matched: dict[Value, Value] = {}
    aligned: dict[Value, Value] = {}
    for value, term in pairs.left.by_value.items():
        twin = pairs.twins.get(term)
        if twin is not None and twin in by_term:
            is_own = value is term.value and twin.value in by_term[twin]
            other = twin.value if is_own and twin.value is not None else _same_named_or_first(value, by_term[twin])
            (matched if numbers.equal(term, twin) else aligned)[value] = other
        else:
            equal = right_values.get(numbers.numbers.get(term, -1), [])
            if term.is_constant and not alignment.different_float_types:
                # Equal numbers of two types have one number.
                equal = [
                    other for other in equal if _constant_type(pairs.right.by_value[other]) == _constant_type(term)
                ]
            if equal:
                matched[value] = _same_named_or_first(value, equal)
    return matched, aligned


def _constant_type(constant: Term) -> Any:
    return None if constant.data is None else (constant.data.dtype, constant.data.shape)


def _same_named_or_first(value: Value, others: list[Value]) -> Value:
    """The value of that name, or the first one."""
    return next((other for other in others if other.name == value.name), others[0])
