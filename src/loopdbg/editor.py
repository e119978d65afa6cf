"""For a session that is there already: an editor attaches to it, steps it, and leaves it where it stands.

session = loopdbg.debug(model, inputs)
loopdbg.editor.wait_for_editor(session)      # in VS Code: attach with "port": 5680, and the "token" that this prints
print(session.frame.carried["h"])            # goes on here, once the editor disconnects
"""

from __future__ import annotations

# The adapter is imported when it is waited for one.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .debugger.session.session_base import SessionBase

__all__ = ["PORT", "wait_for_editor"]

#: Where an editor finds the session, if nothing else is said.
PORT = 5680


def wait_for_editor(
    session: SessionBase,
    port: int = PORT,
    *,
    token: str | None = None,
    timeout: float | None = None,
    on_port: Callable[[int], object] | None = None,
) -> None:
    """Let an editor have a session, by the Debug Adapter Protocol, until it disconnects.

    Args:
        session: what :func:`loopdbg.debug` gave, or a :class:`loopdbg.Replay`; nobody else may drive it meanwhile.
        port: of this machine alone; 0: a free one.
        token: what the editor has to send as ``"token"`` of ``attach``, 16 characters or more. None: that of the
            environment variable ``LOOPDBG_DAP_TOKEN``, else a random one; stderr says which.
        timeout: seconds to wait for an editor; None: for as long as it takes.
        on_port: called with the port, once an editor can connect.

    Raises:
        UsageError: the port is taken, the token is too short, or no editor came in time.
    """
    from .debugger.frontends.dap.attach_session import serve_attached_session

    serve_attached_session(session, port, token, timeout, on_port)
