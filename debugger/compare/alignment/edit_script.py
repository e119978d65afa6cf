"""The edit script of two models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Any

from ....runtime.graph import Graph, Loop, Value
from ....runtime.model import Model
from ..edits import EditScript
from ..normal_form.terms import Term
from ..running.loop_matching import match_loops
from ..running.sides import loops_of_model
from .edit_finder import EditFinder
from .model_alignment import IdenticalModels, ModelAlignment, align_models

#: Each takes as long as an alignment.
_MAX_EXCHANGES = 4


def edit_script(left: Model, right: Model) -> EditScript:
    """What to change in the left model so that it computes what the right one computes."""
    matching = match_loops(loops_of_model(left), loops_of_model(right), {})
    return align_with_fewest_edits(left.graph, right.graph, matching.loop_pairs)[1]


def align_with_fewest_edits(
    left: Graph, right: Graph, loop_pairs: Sequence[tuple[Loop, Loop]], names: Mapping[str, str] | None = None
) -> tuple[IdenticalModels | ModelAlignment, EditScript]:
    """Align two models, and find their edit script.

    Carried values of similar bodies are paired one by one. Where two pairs differ that would begin with the same
    values crosswise, the other pairing is tried, too.

    Args:
        left, right: the models.
        loop_pairs: the pairs of loops.
        names: of values of the left model those in the right one.
    """
    alignment = align_models(left, right, loop_pairs, names)
    exchanges = list(islice(_crosswise_initial_values(alignment), _MAX_EXCHANGES))
    script = build_edit_script(alignment)
    for crosswise in exchanges:
        other = ModelAlignment(left, right, loop_pairs, {**(names or {}), **crosswise})
        other_script = build_edit_script(other)
        if len(other_script.edits) < len(script.edits):
            alignment, script = other, other_script
            for pair in alignment.loops.values():
                pair.edges = [
                    (a, b, "structure" if crosswise.get(a.param.name) == b.param.name else method)
                    for a, b, method in pair.edges
                ]
    return alignment, script


def _crosswise_initial_values(alignment: IdenticalModels | ModelAlignment) -> Iterator[Mapping[str, str]]:
    """Carried values, by name, that would have equal initial values if two pairs of them were exchanged."""
    if isinstance(alignment, IdenticalModels):
        return
    for pair in alignment.loops.values():
        lefts, rights = (
            side.loops[loop].initials for side, loop in zip(alignment.pairs.sides, (pair.left, pair.right), strict=True)
        )
        unequal = [(a, b) for a, b, _ in pair.edges if not alignment.pairs.corresponds(lefts[a], rights[b])]
        for (a, b), (other_a, other_b) in combinations(unequal, 2):
            if alignment.pairs.corresponds(lefts[a], rights[other_b]) and alignment.pairs.corresponds(
                lefts[other_a], rights[b]
            ):
                yield {a.param.name: other_b.param.name, other_a.param.name: b.param.name}


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
