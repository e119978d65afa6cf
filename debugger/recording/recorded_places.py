"""Where a recording can stop: at its boundaries, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NoReturn

from ...runtime.errors import Remedy, UsageError
from ...runtime.graph import Node
from ..expression.language import Expression
from ..session.places import Places
from .outline import Outline

if TYPE_CHECKING:
    from .replay import Replay


class RecordedPlaces(Places):
    """The places of a recording."""

    def __init__(self, outline: Outline, replay: Callable[[], Replay]) -> None:
        super().__init__(outline.graph, outline.loops)
        self._outline = outline
        self._replay = replay

    def here(self) -> int:
        index = self._replay().frame.index
        return index if index >= 0 else 0 if self.loops else -1

    def at_boundary(self) -> bool:
        replay = self._replay()
        return not replay.done and replay.frame.at_boundary

    def check(self, expression: Expression, index: int) -> None:
        super().check(expression, index)
        scope = self._outline.scope(index)
        for name in sorted(expression.names):
            if index < 0 and name in scope and scope[name].name in self._outline.outputs:
                # Known at the end, where it is tested.
                continue
            if name in scope and not self._outline.holds(index, scope[name]):
                raise UsageError(f"the recording holds no value '{name}' (in '{expression.text}')", Remedy.RECORD_NODES)
        every = self._outline.trace.every
        if expression.uses_history and every > 1:
            raise UsageError(
                f"'{expression.text}' looks at other iterations, and only every {every}th was recorded; "
                f"watch compares with the recorded boundary before"
            )

    def check_nodes(self) -> None:
        self._refuse()

    def nodes(self, index: int | None = None) -> Iterator[tuple[int, Node]]:
        """None: a recording has boundaries only."""
        return iter(())

    def node_at(self, position: int) -> Node:
        self._refuse()

    def inside(self, position: int) -> int:
        self._refuse()

    def before_loops(self, position: int) -> bool:
        self._refuse()

    def node_of_line(self, number: int) -> int:
        self._refuse()

    def node_here(self) -> int:
        self._refuse()

    @staticmethod
    def _refuse() -> NoReturn:
        raise UsageError(
            "a recording has boundaries only, and no nodes to stop before; break takes: iter N, if EXPRESSION, end, nan"
        )
