"""The pages of ``loopdbg serve``: a debugger for each, which ends with its page and with the server."""

from __future__ import annotations

import asyncio
import ctypes
import json
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.server import Server

PAGES = 8  # open at once: each is a process with the model in memory
WIDTHS, HEIGHTS = (20, 500), (5, 200)  # cells
PATIENCE = 3.0  # seconds that a debugger gets to end by itself
DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux's prctl

# The page of textual-serve asks another host for a font that it brings along itself.
FOREIGN = re.compile(r'<link\s+rel="stylesheet"\s+href="https?://fonts\.googleapis\.com[^"]*"\s*/>')
FONT = (
    '<style>@font-face {font-family: "Roboto Mono"; src: url("/static/fonts/RobotoMono-VariableFont_wght.ttf")}</style>'
)


class Debugger(AppService):
    """The process behind one page."""

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        self._process = await asyncio.create_subprocess_shell(
            f"exec {self.command}",  # no shell in between, which would be ended in its place
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=self._build_environment(width=width, height=height),
            preexec_fn=_end_with_parent(),
        )
        self._stdin = self._process.stdin
        return self._process

    async def run(self) -> None:
        # Their reader wants a stream of errors; what a debugger writes there is of no use here.
        if self._process is not None and self._process.stderr is None:
            self._process.stderr = asyncio.StreamReader()
            self._process.stderr.feed_eof()
        await super().run()

    async def stop(self) -> None:
        """Ask it to end, and end it where it does not."""
        try:
            await asyncio.wait_for(super().stop(), PATIENCE)
        except TimeoutError:
            pass
        finally:
            if self._process is not None and self._process.returncode is None:
                self._process.kill()


class PageServer(Server):
    """A server whose pages, screens and messages are bounded."""

    def __init__(self, *words: Any, **options: Any) -> None:
        super().__init__(*words, **options)
        self._pages: set[web.WebSocketResponse] = set()

    def initialize_logging(self) -> None:
        """What it logs is of no use here."""

    async def on_startup(self, app: web.Application) -> None:
        """The address is printed already."""

    async def on_shutdown(self, app: web.Application) -> None:
        for page in list(self._pages):
            await page.close(code=WSCloseCode.GOING_AWAY, message=b"the server ends")

    async def handle_index(self, request: web.Request) -> Any:
        response: Any = await super().handle_index(request)
        response.text = FOREIGN.sub(FONT, response.text)
        return response

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        if len(self._pages) >= PAGES:
            raise web.HTTPServiceUnavailable(text=f"loopdbg: {PAGES} pages are open; close one")
        page = web.WebSocketResponse(heartbeat=15)
        self._pages.add(page)
        try:
            await page.prepare(request)
            await self._serve_page(page, size(dict(request.query)) or (80, 24))
        finally:
            self._pages.discard(page)
        return page

    async def _serve_page(self, page: web.WebSocketResponse, cells: tuple[int, int]) -> None:
        async def close() -> None:
            await page.close()

        debugger = Debugger(
            self.command,
            write_bytes=page.send_bytes,
            write_str=page.send_str,
            close=close,
            download_manager=self.download_manager,
        )
        try:
            await debugger.start(*cells)
            async for message in page:
                if message.type == WSMsgType.TEXT:
                    await obey(message.data, page, debugger)
        finally:
            await debugger.stop()


async def obey(text: str, page: web.WebSocketResponse, debugger: Debugger) -> None:
    """What a page asks; anything else than what textual-serve's page sends is ignored."""
    try:
        match json.loads(text):
            case ["stdin", str(keys)]:
                await debugger.send_bytes(keys.encode("utf-8", "replace"))
            case ["resize", dict(asked)] if cells := size(asked):
                await debugger.set_terminal_size(*cells)
            case ["ping", data]:
                await page.send_json(["pong", data])
            case ["blur", *_]:
                await debugger.blur()
            case ["focus", *_]:
                await debugger.focus()
    except (ValueError, RecursionError):  # no JSON
        return


def size(asked: dict[str, Any]) -> tuple[int, int] | None:
    """Width and height in cells, within bounds; None where they are no numbers."""
    try:
        width, height = int(asked["width"]), int(asked["height"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return min(max(width, WIDTHS[0]), WIDTHS[1]), min(max(height, HEIGHTS[0]), HEIGHTS[1])


def _end_with_parent() -> Any:
    """What a new process does first: on Linux the kernel ends it with the server, however that ends."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(DIES_WITH_PARENT, signal.SIGKILL)
