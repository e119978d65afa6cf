from collections.abc import Callable
from threading import RLock
from types import TracebackType

class SessionLock:
    """Whose turn it is to move something that one may move at a time.

    ``ask``: lets what moves stop soon; ``forget``: lets what moves next not stop for that.
    """

    @property
    def is_held(self) -> bool:
        """True while somebody moves it."""

    @property
    def read_lock(self) -> RLock:
        """Held while it is moved, and by others while they read what it has: two of them at once to compare them."""

    def __init__(self, ask: Callable[[], object], forget: Callable[[], object]) -> None: ...
    def hold(self) -> SessionLease:
        """A turn, which is had inside of a ``with``.

        Raises:
            UsageError: on entering it, where somebody else has one.
        """

    def interrupt(self) -> None:
        """Ask what moves to stop; from any thread or a signal handler. Without anything it does nothing."""

class SessionLease:
    def __enter__(self) -> None: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None: ...
