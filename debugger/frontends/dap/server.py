"""The protocol on a port of this machine: one client at a time, and only with the token."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Mapping
from typing import Any, BinaryIO, cast

from ....runtime.errors import LoopdbgError, UsageError, one_line
from ...session.session_base import SessionBase
from ..access_token import new_token, validate_token
from .adapter import DapAdapter
from .connection import SessionOpener
from .messages import DapMessageStream

#: Only this machine can connect.
HOST = "127.0.0.1"
#: The variable with a token of the person's own, for servers and for editors.
TOKEN_VARIABLE = "LOOPDBG_DAP_TOKEN"
#: A client that has not sent the token by then is disconnected, so that it keeps no other one out.
TOKEN_TIMEOUT_SECONDS = 30.0


def resolve_token(token: str | None = None) -> str:
    """The token that clients have to send: the one given, else that of the environment, else a random one.

    Raises:
        UsageError: it is too short to be secret.
    """
    if token is not None:
        return validate_token(token, "token")
    variable = os.environ.get(TOKEN_VARIABLE)
    return validate_token(variable, TOKEN_VARIABLE) if variable else new_token()


def token_notice(token: str) -> str:
    """How a server says which token it wants: a random one is shown, one of the environment is named."""
    return f"the token of {TOKEN_VARIABLE}" if token == os.environ.get(TOKEN_VARIABLE) else f'"token": "{token}"'


def listen(port: int) -> socket.socket:
    """A socket that listens on a port of this machine; 0: a free one.

    Raises:
        UsageError: the port is taken, or is none.
    """
    try:
        return socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        raise UsageError(f"port {port} cannot be listened on: {getattr(error, 'strerror', None) or error}") from None


def disconnect_message(reason: str) -> str:
    """The line about a client that was not let in, or not served to its end."""
    return f"a client was disconnected: {reason or 'it sent no token'}"


def serve_client(connection: socket.socket, opens: SessionOpener, token: str) -> tuple[bool, str]:
    """Answer one client until it leaves; the connection is closed then, whatever ended it.

    Args:
        connection: of the client.
        opens: opens what ``launch`` and ``attach`` name.
        token: what the client has to send with ``launch`` or ``attach``.

    Returns:
        Whether the client had the token, and why the server closed the connection; "" where the client left.
    """
    connection.settimeout(None)
    alarm = threading.Timer(TOKEN_TIMEOUT_SECONDS, _disconnect, (connection,))
    alarm.daemon = True

    def let_in(arguments: Mapping[str, Any]) -> SessionBase:
        alarm.cancel()
        return opens(arguments)

    reason = ""
    incoming, outgoing = connection.makefile("rb"), connection.makefile("wb")
    adapter = DapAdapter(DapMessageStream(cast(BinaryIO, incoming), cast(BinaryIO, outgoing)), let_in, token)
    alarm.start()
    try:
        adapter.serve()
    except LoopdbgError as error:
        reason = str(error)
    except Exception as error:  # the server goes on, whatever one client did
        reason = f"internal error: {type(error).__name__}: {one_line(error)}"
    finally:
        alarm.cancel()
        for stream in (outgoing, incoming, connection):
            with contextlib.suppress(OSError, ValueError):  # what could not be sent is lost with its reader
                stream.close()
    return adapter.authenticated, reason or adapter.refusal_reason


def _disconnect(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
