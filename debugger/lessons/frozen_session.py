"""A session that stands still: what it would show is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...runtime.errors import UsageError
from ...runtime.model import Data, Model
from ...runtime.ownership import SessionLock
from ..session.session import Session
from ..session.stop import Stop

#: Why it does not move.
FROZEN_MESSAGE = "covered until the question is answered: answer X, hint, or scene for what may be run"
#: Commands that tell nothing of the loop, and those that tell nothing but what stands at its beginning.
COMMANDS_WHILE_HIDDEN = frozenset({"help", "quit"})
COMMANDS_WHILE_FROZEN = COMMANDS_WHILE_HIDDEN | {"print", "frame", "up", "down"}


class FrozenSession(Session):
    """Stands before iteration 0 until :meth:`release`; whatever would move it, or change it, is refused."""

    _gate: _FrozenLock | None = None

    def __init__(self, model: Model, inputs: Mapping[str, Data], *, attended: bool = True) -> None:
        super().__init__(model, inputs, attended=attended)
        self._gate = _FrozenLock(self._internals.session_lock)
        self._internals.session_lock = self._gate  # type: ignore[assignment]

    @property
    def frozen(self) -> bool:
        """It does not move."""
        return self._gate is not None and self._gate.closed

    def unfreeze(self) -> None:
        """From now on it is a session like any other."""
        if self._gate is not None:
            self._gate.closed = False

    def restart(self, inputs: Mapping[str, Data] | None = None) -> Stop:
        """See :meth:`Session.restart`; as long as it stands still, it stands at its beginning already."""
        return self.stop if self.frozen and not inputs else super().restart(inputs)


class _FrozenLock:
    """Turns that nobody gets while it is closed."""

    def __init__(self, turns: SessionLock) -> None:
        self._lock = turns
        self.closed = True

    def hold(self) -> Any:
        """See :meth:`Turns.turn`.

        Raises:
            UsageError: it is closed.
        """
        if self.closed:
            raise UsageError(FROZEN_MESSAGE)
        return self._lock.hold()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)
