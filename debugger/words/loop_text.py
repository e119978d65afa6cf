"""What is said of a loop at every stop, though it follows from the graph alone: made once for each loop."""

from __future__ import annotations

from dataclasses import dataclass

from ...runtime.graph import Loop
from .condition import Decision, compared, condition_text, decision
from .endings import ending
from .ends import ends
from .node_text import Phrases


@dataclass(frozen=True, eq=False)
class LoopText:
    """``decides``: the body's condition can end the loop; ``condition``: what yields it, ``decision``: taken apart.

    ``ends``: the sentences on what ends the loop. ``sides``: what the one comparison behind the condition compares.
    """

    decides: bool
    condition: str
    decision: Decision | None
    ends: tuple[str, ...]
    sides: tuple[str, str] | None

    @classmethod
    def of(cls, loop: Loop, phrases: Phrases) -> LoopText:
        """The texts of a loop, with operands as its model's pseudo-code writes them."""
        one = compared(loop)
        return cls(
            ending(loop, phrases.origins).known is not True,
            condition_text(loop, phrases),
            None if loop.condition is None else decision(loop.condition, phrases.origins),
            tuple(ends(loop, phrases)),
            None if one is None else (phrases.operand(one.left, bare=True), phrases.operand(one.right, bare=True)),
        )
