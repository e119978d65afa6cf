"""Finds the rewrites of a model on its graph."""

from __future__ import annotations

from collections.abc import Collection

from ...runtime.graph import System
from ..rewriting.rewrite import Rewrite
from .kinds import KINDS
from .model_facts import ModelFacts
from .recurrent_cells import find_recurrent_cell
from .redundant_control_flow import find_constant_control, find_constant_ifs
from .repeated_work import find_repeated_work
from .row_vectorization import LoopRows
from .unused_values import find_unused_values
from .whole_tensor import find_growing_values, find_scan_form, find_whole_tensor_form

#: With one of these the rest of a loop is gone.
_REPLACE_LOOP = frozenset({"single-iteration", "map", "prefix-sum", "reduction", "lstm", "gru", "rnn"})


def find_rewrites(facts: ModelFacts, kinds: Collection[str]) -> list[Rewrite]:
    """The rewrites of some kinds, outer loops first; of those that replace a whole loop only the first."""
    rewrites = find_constant_ifs(facts)
    for loop in facts.paths:
        if loop.derived_from:
            continue
        rewrites += find_unused_values(facts, loop)
        if loop.system is not System.ONNX:
            continue
        rewrites += find_repeated_work(facts, loop)
        rewrites += find_growing_values(facts, loop)
        replacements = find_constant_control(facts, loop)
        if facts.runs_all_iterations(loop):
            rows = LoopRows(facts, loop)
            replacements += find_whole_tensor_form(facts, loop, rows) or find_recurrent_cell(facts, loop, rows)
            if not any(rewrite.kind in _REPLACE_LOOP & set(kinds) for rewrite in replacements):
                replacements += find_scan_form(facts, loop, rows)
        rewrites += replacements
    order = list(KINDS)
    return sorted(
        (rewrite for rewrite in rewrites if rewrite.kind in kinds), key=lambda rewrite: order.index(rewrite.kind)
    )
