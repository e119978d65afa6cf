from collections.abc import Callable
from threading import RLock
from types import TracebackType

class SessionLock:
    """Exclusive ownership of a session while a command runs.

    ``request_stop``: asks the running command to stop soon; ``clear_stop_request``: discards a pending request.
    """

    @property
    def is_held(self) -> bool:
        """True while a command runs."""

    @property
    def read_lock(self) -> RLock:
        """Held while a command runs, and by readers of the session; a comparison holds those of two sessions."""

    def __init__(self, request_stop: Callable[[], object], clear_stop_request: Callable[[], object]) -> None: ...
    def hold(self) -> SessionLease:
        """A context manager that owns the session.

        Raises:
            UsageError: on entering, if another command runs.
        """

    def interrupt(self) -> None:
        """Ask the running command, if any, to stop; callable from any thread or a signal handler."""

class SessionLease:
    def __enter__(self) -> None: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None: ...
