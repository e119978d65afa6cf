"""A session that stands still: what it would show is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...runtime.errors import UsageError
from ...runtime.model import Data, Model
from ...runtime.turns import Turns
from ..session.session import Session
from ..session.stop import Stop

#: Why it does not move.
WHY = "covered until the question is answered: answer X, hint, or scene for what may be run"
#: Commands that tell nothing of what is asked.
HARMLESS = frozenset({"help", "quit", "print", "frame", "up", "down"})


class StillSession(Session):
    """Stands before iteration 0 until :meth:`release`; whatever would move it, or change it, is refused."""

    _gate: _Gate | None = None

    def __init__(self, model: Model, inputs: Mapping[str, Data], *, attended: bool = True) -> None:
        super().__init__(model, inputs, attended=attended)
        self._gate = _Gate(self._inside.turns)
        self._inside.turns = self._gate  # type: ignore[assignment]

    @property
    def still(self) -> bool:
        """It does not move."""
        return self._gate is not None and self._gate.closed

    def release(self) -> None:
        """From now on it is a session like any other."""
        if self._gate is not None:
            self._gate.closed = False

    def restart(self, inputs: Mapping[str, Data] | None = None) -> Stop:
        """See :meth:`Session.restart`; as long as it stands still, it stands at its beginning already."""
        return self.stop if self.still and not inputs else super().restart(inputs)


class _Gate:
    """Turns that nobody gets while it is closed."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.closed = True

    def turn(self) -> Any:
        """See :meth:`Turns.turn`.

        Raises:
            UsageError: it is closed.
        """
        if self.closed:
            raise UsageError(WHY)
        return self._turns.turn()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._turns, name)
