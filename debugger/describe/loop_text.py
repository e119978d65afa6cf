"""Descriptions of a loop that depend only on the graph, cached per loop."""

from __future__ import annotations

from dataclasses import dataclass

from ...runtime.graph import Loop
from .condition_analysis import Decision, condition_text, deciding_comparison, decompose_condition
from .node_text import NodeFormatter
from .termination import termination_rule
from .termination_text import termination_sentences


@dataclass(frozen=True, eq=False)
class LoopText:
    """``condition_decides``: the body's condition can end the loop; ``condition``: its expression; ``decision``: its

    decomposition. ``sides``: the operands of its single comparison.
    """

    condition_decides: bool
    condition: str
    decision: Decision | None
    termination_sentences: tuple[str, ...]
    sides: tuple[str, str] | None

    @classmethod
    def from_loop(cls, loop: Loop, formatter: NodeFormatter) -> LoopText:
        """The texts of a loop, with operands in the format of its model's pseudo-code."""
        pair = deciding_comparison(loop)
        return cls(
            termination_rule(loop, formatter.origins).constant_condition is not True,
            condition_text(loop, formatter),
            None if loop.condition is None else decompose_condition(loop.condition, formatter.origins),
            tuple(termination_sentences(loop, formatter)),
            None
            if pair is None
            else (formatter.operand(pair.left, bare=True), formatter.operand(pair.right, bare=True)),
        )
