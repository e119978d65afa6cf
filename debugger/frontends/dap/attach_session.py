"""Attaches an editor to a session of a Python program."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from ....runtime.errors import UsageError
from ...session.session import Session
from .server import HOST, disconnect_message, listen, resolve_token, serve_client, token_notice


def serve_attached_session(
    session: Session,
    port: int,
    token: str | None,
    timeout: float | None,
    on_port: Callable[[int], object] | None,
) -> None:
    """Wait for one editor with the token, and serve it until it disconnects. Other clients are disconnected.

    Raises:
        UsageError: the port is in use, the token is too short, or no editor connected in time.
    """
    secret = resolve_token(token)
    deadline = None if timeout is None else time.monotonic() + timeout
    breakpoints = {b.number for b in session.breakpoints}
    with listen(port) as server:
        bound = server.getsockname()[1]
        if token is None:
            print(f'waiting for an editor: attach with "port": {bound} and {token_notice(secret)}', file=sys.stderr)
        if on_port is not None:
            on_port(bound)
        while True:
            server.settimeout(None if deadline is None else max(0.001, deadline - time.monotonic()))
            try:
                connection, _ = server.accept()
            except TimeoutError:
                raise UsageError(f"no editor came to port {port} within {timeout:g} s", name=str(port)) from None
            except ConnectionError:
                continue
            admitted, reason = serve_client(connection, lambda arguments: session, secret)
            if admitted:
                break
            print(f"{HOST}:{bound}: {disconnect_message(reason)}", file=sys.stderr)
    # Delete the editor's breakpoints.
    for bound in {b.number for b in session.breakpoints} - breakpoints:
        session.breakpoints.delete(bound)
