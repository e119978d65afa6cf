"""An editor that attaches to a session which a Python program has."""

from __future__ import annotations

import socket
from collections.abc import Callable

from ....runtime.errors import UsageError
from ...session.debuggee import Debuggee
from .adapter import Adapter
from .messages import Messages


def serve(session: Debuggee, port: int, timeout: float | None, on_port: Callable[[int], object] | None) -> None:
    """Wait for one editor on a port of this machine, and answer it until it leaves.

    Raises:
        UsageError: the port is taken, or no editor came in time.
    """
    try:
        server = socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        raise UsageError(f"port {port} cannot be listened on: {getattr(error, 'strerror', None) or error}") from None
    with server:
        server.settimeout(timeout)
        if on_port is not None:
            on_port(server.getsockname()[1])
        try:
            connection, _ = server.accept()
        except TimeoutError:
            raise UsageError(f"no editor came to port {port} within {timeout:g} s") from None
    connection.settimeout(None)
    breakpoints = {one.number for one in session.breakpoints}
    with connection, connection.makefile("rwb") as stream:
        Adapter(Messages(stream, stream), lambda arguments: session).serve()  # type: ignore[arg-type]
    # Those of the editor go with it.
    for number in {one.number for one in session.breakpoints} - breakpoints:
        session.breakpoints.delete(number)
