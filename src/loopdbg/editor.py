"""Attaches an editor to an existing session: the editor steps it, and leaves it at its position.

session = loopdbg.debug(model, inputs)
loopdbg.editor.wait_for_editor(session)      # in VS Code: attach with "port": 5680, and the "token" that this prints
print(session.frame.carried["h"])            # goes on here, once the editor disconnects
"""

from __future__ import annotations

# The adapter is imported lazily.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .debugger.session.session import Session

__all__ = ["PORT", "wait_for_editor"]

#: Default port.
PORT = 5680


def wait_for_editor(
    session: Session,
    port: int = PORT,
    *,
    token: str | None = None,
    timeout: float | None = None,
    on_port: Callable[[int], object] | None = None,
) -> None:
    """Hand a session to an editor, by the Debug Adapter Protocol, until it disconnects.

    Args:
        session: the result of :func:`loopdbg.debug`, or a :class:`loopdbg.Replay`; must not be used meanwhile.
        port: local port; 0: a free one.
        token: the ``"token"`` that the editor has to send with ``attach``, at least 16 characters. None: the value of
        the environment variable ``LOOPDBG_DAP_TOKEN``, else a random one, which is printed to stderr.
        timeout: seconds to wait for an editor; None: no limit.
        on_port: called with the port, once an editor can connect.

    Raises:
        UsageError: the port is in use, the token is too short, or no editor connected in time.
    """
    from .debugger.frontends.dap.attach_session import serve_attached_session

    serve_attached_session(session, port, token, timeout, on_port)
