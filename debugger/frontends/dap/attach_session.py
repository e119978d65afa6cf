"""An editor that attaches to a session which a Python program has."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from ....runtime.errors import UsageError
from ...session.session_base import SessionBase
from .server import HOST, disconnect_message, listen, resolve_token, serve_client, token_notice


def serve_attached_session(
    session: SessionBase,
    port: int,
    token: str | None,
    timeout: float | None,
    on_port: Callable[[int], object] | None,
) -> None:
    """Wait for one editor that has the token, and answer it until it leaves. Other clients are disconnected.

    Raises:
        UsageError: the port is taken, the token is too short, or no editor came in time.
    """
    chosen = resolve_token(token)
    until = None if timeout is None else time.monotonic() + timeout
    breakpoints = {one.number for one in session.breakpoints}
    with listen(port) as server:
        number = server.getsockname()[1]
        if token is None:
            print(f'waiting for an editor: attach with "port": {number} and {token_notice(chosen)}', file=sys.stderr)
        if on_port is not None:
            on_port(number)
        while True:
            server.settimeout(None if until is None else max(0.001, until - time.monotonic()))
            try:
                connection, _ = server.accept()
            except TimeoutError:
                raise UsageError(f"no editor came to port {port} within {timeout:g} s") from None
            except ConnectionError:
                continue
            admitted, reason = serve_client(connection, lambda arguments: session, chosen)
            if admitted:
                break
            print(f"{HOST}:{number}: {disconnect_message(reason)}", file=sys.stderr)
    # Those of the editor go with it.
    for number in {one.number for one in session.breakpoints} - breakpoints:
        session.breakpoints.delete(number)
