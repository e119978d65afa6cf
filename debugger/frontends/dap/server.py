"""Protocol server on a local port, for one authenticated client at a time."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Mapping
from typing import Any, BinaryIO, cast

from ....runtime.errors import LoopdbgError, UsageError, one_line
from ...session.session import Session
from ..access_token import new_token, validate_token
from .adapter import DapAdapter
from .editor_session import SessionOpener
from .messages import DapMessageStream

#: Only local clients can connect.
HOST = "127.0.0.1"
_MAX_PORT = 65535
#: The environment variable with the user's token, for servers and editors.
TOKEN_VARIABLE = "LOOPDBG_DAP_TOKEN"
#: A client without a token is disconnected after this time, so that it does not block others.
TOKEN_TIMEOUT_SECONDS = 30.0


def resolve_token(token: str | None = None) -> str:
    """The token that clients must send: the argument, else that of the environment, else a random one.

    Raises:
        UsageError: it is too short to be secret.
    """
    if token is not None:
        return validate_token(token, "token")
    variable = os.environ.get(TOKEN_VARIABLE)
    return validate_token(variable, TOKEN_VARIABLE) if variable else new_token()


def token_notice(token: str) -> str:
    """The notice about the required token: a random one is shown, one of the environment is named."""
    return f"the token of {TOKEN_VARIABLE}" if token == os.environ.get(TOKEN_VARIABLE) else f'"token": "{token}"'


def listen(port: int) -> socket.socket:
    """A socket that listens on a local port; 0: a free one.

    Raises:
        UsageError: the port is in use, or invalid.
    """
    try:
        # Where the number is no port, create_server leaves its socket open.
        if not 0 <= port <= _MAX_PORT:
            raise OSError(None, f"a port is a number from 0 to {_MAX_PORT}")
        return socket.create_server((HOST, port))
    except OSError as error:
        raise UsageError(
            f"port {port} cannot be listened on: {error.strerror}", name=str(port), expected="a free port"
        ) from None


def disconnect_message(reason: str) -> str:
    """The message about a client that was rejected or disconnected."""
    return f"a client was disconnected: {reason or 'it sent no token'}"


def serve_client(connection: socket.socket, open_session: SessionOpener, token: str) -> tuple[bool, str]:
    """Serve one client until it disconnects; the connection is always closed.

    Args:
        connection: the client's socket.
        open_session: opens the model or trace of ``launch`` and ``attach``.
        token: required with ``launch`` or ``attach``.

    Returns:
        Whether the client had the token, and why the server closed the connection; "" if the client did.
    """
    connection.settimeout(None)
    alarm = threading.Timer(TOKEN_TIMEOUT_SECONDS, _disconnect, (connection,))
    alarm.daemon = True

    def admit(arguments: Mapping[str, Any]) -> Session:
        alarm.cancel()
        return open_session(arguments)

    reason = ""
    incoming, outgoing = connection.makefile("rb"), connection.makefile("wb")
    adapter = DapAdapter(DapMessageStream(cast(BinaryIO, incoming), cast(BinaryIO, outgoing)), admit, token)
    alarm.start()
    try:
        adapter.serve()
    except LoopdbgError as error:
        reason = str(error)
    except Exception as error:  # errors of one client do not end the server
        reason = f"internal error: {type(error).__name__}: {one_line(error)}"
    finally:
        alarm.cancel()
        for stream in (outgoing, incoming, connection):
            with contextlib.suppress(OSError, ValueError):  # the client is gone
                stream.close()
    return adapter.authenticated, reason or adapter.refusal_reason


def _disconnect(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
