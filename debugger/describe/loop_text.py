"""What is said of a loop at every stop, though it follows from the graph alone: made once for each loop."""

from __future__ import annotations

from dataclasses import dataclass

from ...runtime.graph import Loop
from .condition import Decision, condition_text, deciding_comparison, decompose_condition
from .node_text import NodeFormatter
from .termination import termination_rule
from .termination_text import termination_sentences


@dataclass(frozen=True, eq=False)
class LoopText:
    """``decides``: the body's condition can end the loop; ``condition``: what yields it, ``decision``: taken apart.

    ``ends``: the sentences on what ends the loop. ``sides``: what the one comparison behind the condition compares.
    """

    condition_decides: bool
    condition: str
    decision: Decision | None
    termination_sentences: tuple[str, ...]
    sides: tuple[str, str] | None

    @classmethod
    def from_loop(cls, loop: Loop, phrases: NodeFormatter) -> LoopText:
        """The texts of a loop, with operands as its model's pseudo-code writes them."""
        one = deciding_comparison(loop)
        return cls(
            termination_rule(loop, phrases.origins).constant_condition is not True,
            condition_text(loop, phrases),
            None if loop.condition is None else decompose_condition(loop.condition, phrases.origins),
            tuple(termination_sentences(loop, phrases)),
            None if one is None else (phrases.operand(one.left, bare=True), phrases.operand(one.right, bare=True)),
        )
