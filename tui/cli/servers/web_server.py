"""Implements ``loopdbg serve``: a web server that starts a debugger for each page."""

from __future__ import annotations

import argparse
import hmac
import secrets
import shlex
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....runtime.child_process import command_calling_function
from ....runtime.errors import ModelError, UsageError
from ....runtime.frontends import is_sqlite_file, split_model_path
from .. import terminal
from ..model_inputs.gather import gather_inputs, load_runnable_model

if TYPE_CHECKING:
    from aiohttp import web


def run_web_server(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C; returns the exit status."""
    file, _ = split_model_path(options.model)
    if not file.exists():
        raise ModelError(f"{file}: no such file; give the path of a model file")
    if not is_sqlite_file(options.model):
        # Report errors here, not in the browser.
        gather_inputs(load_runnable_model(options.model, options.weights, options), options)
    try:
        import textual_serve  # noqa: F401
    except ModuleNotFoundError:
        raise UsageError(
            "serve needs textual-serve, which is not installed: pip install 'loopdbg[serve]'", name="textual-serve"
        ) from None
    token = "" if options.no_token else secrets.token_urlsafe(24)
    server = _make_server(options, token, options.port or _free_port(options.host))
    terminal.out(f"{Path(options.model).name} is served at {server.address}; Ctrl-C ends it")
    sys.stdout.flush()
    server.serve()
    return 0


def _page_command(options: argparse.Namespace) -> str:
    """The command line of the debugger of a page."""
    words = command_calling_function("loopdbg.__main__", "main", options.model)
    for option in ("weights", "inputs", "case", "requests", "seed", "max_iterations", "allow_write"):
        if getattr(options, option) is not None:
            words += [f"--{option.replace('_', '-')}", str(getattr(options, option))]
    for option in ("input", "dim", "state", "operators"):
        for word in getattr(options, option):
            words += [f"--{option}", word]
    for option in ("batched", "trust_script"):
        if getattr(options, option):
            words.append(f"--{option.replace('_', '-')}")
    return shlex.join(words)


def _free_port(host: str) -> int:
    try:
        with socket.create_server((host, 0)) as server:
            port: int = server.getsockname()[1]
            return port
    except OSError as error:
        raise UsageError(f"--host {host}: cannot listen there: {error.strerror or error}") from None


def _make_server(options: argparse.Namespace, token: str, port: int) -> Any:
    """A textual-serve server that requires the token."""
    from aiohttp import web

    from .page_processes import PageServer

    host = f"[{options.host}]" if ":" in options.host else options.host
    hosts = {f"{name}:{port}" for name in (host, "localhost", "127.0.0.1")}
    any_host = options.host in ("0.0.0.0", "::")
    # The port is in the name, since browsers share cookies between all ports of a host.
    cookie = f"loopdbg-token-{port}"

    @web.middleware
    async def guard(request: web.Request, handler: Any) -> web.StreamResponse:
        """Reject other hosts and origins (DNS rebinding, cross-site requests) and wrong tokens."""
        if not any_host and request.host not in hosts:
            raise web.HTTPForbidden(text="loopdbg: this address is not served")
        origin = request.headers.get("Origin")
        if origin is not None and origin.partition("://")[2] != request.host:
            raise web.HTTPForbidden(text="loopdbg: not for other pages")
        presented = request.query.get("token", "") or request.cookies.get(cookie, "")
        if token and not hmac.compare_digest(presented.encode(), token.encode()):
            raise web.HTTPForbidden(text="loopdbg: open the address that was printed, with its token")
        if token and request.path == "/" and "token" in request.query:
            # Move the token to a cookie: an address is visible in the history and to other sites.
            redirect = web.HTTPFound("/")
            redirect.set_cookie(cookie, token, httponly=True, samesite="Strict")
            raise redirect
        response: web.StreamResponse = await handler(request)
        return response

    class Guarded(PageServer):
        """Requires the token."""

        address = f"http://{host}:{port}/" + (f"?token={token}" if token else "")

        async def _make_app(self) -> web.Application:
            app: web.Application = await super()._make_app()
            app.middlewares.append(guard)
            return app

    return Guarded(_page_command(options), host=options.host, port=port, title=f"loopdbg {Path(options.model).name}")
