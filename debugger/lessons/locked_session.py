"""A session that refuses to run while its behaviour is the subject of an open question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...runtime.errors import UsageError
from ...runtime.model import Data, Model
from ...runtime.session_lock import SessionLock
from ..session.session import Session
from ..session.stop import Stop

#: The message that explains why the session is locked.
LOCKED_MESSAGE = "covered until the question is answered: answer X, hint, or scene for what may be run"
#: Commands that reveal nothing of the loop, and those that reveal only its initial state.
COMMANDS_WHILE_HIDDEN = frozenset({"help", "quit"})
COMMANDS_WHILE_LOCKED = COMMANDS_WHILE_HIDDEN | {"print", "frame", "up", "down"}


class LockedSession(Session):
    """Stays before iteration 0 until :meth:`unlock`; refuses commands that would move or change it."""

    _gate: _ClosableLock | None = None

    def __init__(self, model: Model, inputs: Mapping[str, Data], *, attended: bool = True) -> None:
        super().__init__(model, inputs, attended=attended)
        self._gate = _ClosableLock(self.controller.session_lock)
        self.controller.session_lock = self._gate  # type: ignore[assignment]

    @property
    def locked(self) -> bool:
        """Whether the session is locked."""
        return self._gate is not None and self._gate.closed

    def unlock(self) -> None:
        """Make it a regular session."""
        if self._gate is not None:
            self._gate.closed = False

    def restart(self, inputs: Mapping[str, Data] | None = None) -> Stop:
        """See :meth:`Session.restart`; a locked session is already at its beginning."""
        return self.stop if self.locked and not inputs else super().restart(inputs)


class _ClosableLock:
    """A session lock that cannot be acquired while it is closed."""

    def __init__(self, lock: SessionLock) -> None:
        self._lock = lock
        self.closed = True

    def hold(self) -> Any:
        """See :meth:`SessionLock.hold`.

        Raises:
            UsageError: the lock is closed.
        """
        if self.closed:
            raise UsageError(LOCKED_MESSAGE)
        return self._lock.hold()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)
