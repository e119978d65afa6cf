"""The pages of ``loopdbg serve``: a debugger for each, which ends a minute after its page, and with the server."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import logging
import re
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from aiohttp import WSCloseCode, WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.server import Server

from ...runtime.child_process import start_async
from ...runtime.errors import one_line
from ...runtime.text import printable

if TYPE_CHECKING:
    from asyncio.subprocess import Process

PAGES = 8  # open at once: each is a process with the model in memory
WIDTHS, HEIGHTS = (20, 500), (5, 200)  # cells
PATIENCE = 3.0  # seconds that a debugger gets to end by itself
RETURN = 60.0  # seconds that a debugger waits for its page to come back: it is loaded anew, or the network was gone
#: What the terminal of the page understands, whatever the server itself was started in.
TERMINAL = "xterm-256color"
#: Bytes that are kept of what a debugger writes to stderr.
MAX_ERROR_BYTES = 1 << 12
#: What a tab of a browser calls itself.
NAME = re.compile(r"[0-9a-f]{32}")
#: Screen modes that a program sets and a new page does not have: cursor, mouse, paste.
MODE = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
#: The page's own script: a tab keeps its name when it is reloaded, keys go to the screen without a click, and the
#: dialog that a closed connection shows says why it was closed.
SCRIPT = """<script>
window.WebSocket = class extends WebSocket {
  constructor(...words) {
    super(...words);
    this.addEventListener("message", ({data}) => {
      const [kind, text] = typeof data === "string" ? JSON.parse(data) : [];
      if (kind === "ended") document.querySelector(".closed-dialog .message").textContent = text;
    });
  }
};
document.addEventListener("DOMContentLoaded", () => {
  const name = sessionStorage.getItem("loopdbg") ??
    Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("");
  sessionStorage.setItem("loopdbg", name);
  document.getElementById("terminal").dataset.sessionWebsocketUrl += "/" + name;
  const focus = () => document.querySelector(".xterm-helper-textarea")?.focus();
  new MutationObserver(focus).observe(document.body, {attributes: true, attributeFilter: ["class"]});
  window.addEventListener("focus", focus);
});
</script>
</head>"""
DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux's prctl

# The page of textual-serve asks another host for a font that it brings along itself.
FOREIGN = re.compile(r'<link\s+rel="stylesheet"\s+href="https?://fonts\.googleapis\.com[^"]*"\s*/>')
FONT = (
    '<style>@font-face {font-family: "Roboto Mono"; src: url("/static/fonts/RobotoMono-VariableFont_wght.ttf")}</style>'
)


class Debugger(AppService):
    """The process behind one page, or behind none for a while."""

    def __init__(self, command: str, downloads: Any) -> None:
        super().__init__(command, write_bytes=_nowhere, write_str=_nowhere, close=_nowhere, download_manager=downloads)
        self._end_page: Callable[[str], Awaitable[None]] = _nowhere
        self._modes: dict[bytes, bytes] = {}
        self._left = False
        self._errors = b""

    @property
    def runs(self) -> bool:
        """False once it has ended, or is about to."""
        return self._task is not None and not self._task.done() and not self._left

    async def on_data(self, payload: bytes) -> None:
        for numbers, on in MODE.findall(payload):
            self._modes.update(dict.fromkeys(numbers.split(b";"), on))
        await super().on_data(payload)

    async def show_on(self, page: web.WebSocketResponse, cells: tuple[int, int]) -> None:
        """Draw on a page from now on, and take a size."""

        async def close() -> None:
            self._left = True
            await page.close()

        self._end_page = lambda reason: end_page(page, reason)
        self.remote_write_bytes, self.remote_write_str, self.remote_close = page.send_bytes, page.send_str, close
        if not self.runs:
            try:
                await self.start(*cells)
            except OSError as error:
                await self._end_page(f"the debugger cannot be started: {error.strerror or one_line(error)}")
            return
        await page.send_bytes(b"".join(b"\x1b[?%b%b" % mode for mode in self._modes.items()))
        # It draws what has changed alone; of another size all has.
        await self.set_terminal_size(cells[0], cells[1] - 1)
        await asyncio.sleep(0.1)
        await self.set_terminal_size(*cells)

    def show_nowhere(self) -> None:
        """The page is gone."""
        self.remote_write_bytes = self.remote_write_str = self.remote_close = self._end_page = _nowhere

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        environment: dict[str, str] = super()._build_environment(width=width, height=height)
        return {**environment, "TERM": TERMINAL}

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        self._process = await start_async(
            shlex.split(self.command),
            env=self._build_environment(width=width, height=height),
            preexec_fn=_end_with_parent(),
        )
        self._stdin = self._process.stdin
        return self._process

    async def run(self) -> None:
        """Relay what the debugger draws, until it ends; a page is told why where nobody asked for that."""
        process = self._process
        assert process is not None and process.stderr is not None
        errors, process.stderr = process.stderr, asyncio.StreamReader()
        # textual-serve keeps all of this stream in memory and prints it: it gets an empty one.
        process.stderr.feed_eof()
        keeping = asyncio.create_task(self._keep_errors(errors))
        try:
            await self._relay()
            if not self._left:
                await asyncio.wait_for(asyncio.gather(process.wait(), keeping), PATIENCE)
                await self._end_page(self._reason(process))
        except (TimeoutError, ConnectionError):
            pass
        finally:
            keeping.cancel()

    async def _relay(self) -> None:
        """Relay what the debugger draws, to the end of its output."""
        try:
            await super().run()
        except asyncio.CancelledError:
            # textual-serve cancels a task of its own and waits for it: where that never began, this comes of it.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise

    async def _keep_errors(self, errors: asyncio.StreamReader) -> None:
        while part := await errors.read(MAX_ERROR_BYTES):
            self._errors = (self._errors + part)[-MAX_ERROR_BYTES:]

    def _reason(self, process: Process) -> str:
        """Why the debugger ended, in one line."""
        lines = self._errors.decode("utf-8", "replace").strip().splitlines()
        if lines:
            return printable(lines[-1])
        return f"the debugger ended with status {process.returncode}"

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
        #: Debuggers without a page, by the name that it had, the first one gone first, and when each is ended.
        self._waiting: dict[str, tuple[Debugger, asyncio.TimerHandle]] = {}
        self._ended = False
        self._ending: set[asyncio.Task[None]] = set()

    def initialize_logging(self) -> None:
        """Log nothing: a request that is no HTTP would be a traceback on the terminal."""
        log = logging.getLogger("aiohttp")
        log.addHandler(logging.NullHandler())
        log.propagate = False

    async def _make_app(self) -> web.Application:
        app: web.Application = await super()._make_app()
        app.router.add_get(f"/ws/{{name:{NAME.pattern}}}", self.handle_websocket)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """The address is printed already."""

    async def on_shutdown(self, app: web.Application) -> None:
        pages, self._ended = list(self._pages), True
        for page in pages:
            await page.close(code=WSCloseCode.GOING_AWAY, message=b"the server ends")
        await asyncio.gather(*(self._taken(name).stop() for name in list(self._waiting)), *self._ending)

    async def handle_index(self, request: web.Request) -> Any:
        response: Any = await super().handle_index(request)
        response.text = FOREIGN.sub(FONT, response.text).replace("</head>", SCRIPT)
        return response

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        if len(self._pages) >= PAGES:
            # A script sees the text of no response that refuses a web socket: it has to be open for that.
            refused = web.WebSocketResponse()
            await refused.prepare(request)
            await end_page(refused, f"{PAGES} pages are open; close one, then restart this one")
            return refused
        page = web.WebSocketResponse(heartbeat=15)
        self._pages.add(page)
        try:
            await page.prepare(request)
            await self._serve_page(page, request.match_info.get("name", ""), size(dict(request.query)) or (80, 24))
        finally:
            self._pages.discard(page)
        return page

    async def _serve_page(self, page: web.WebSocketResponse, name: str, cells: tuple[int, int]) -> None:
        if name in self._waiting:
            debugger = self._taken(name)
        else:
            if len(self._pages) + len(self._waiting) > PAGES:
                await self._taken(next(iter(self._waiting))).stop()
            debugger = Debugger(self.command, self.download_manager)
        try:
            await debugger.show_on(page, cells)
            async for message in page:
                if message.type == WSMsgType.TEXT:
                    await obey(message.data, page, debugger)
        finally:
            debugger.show_nowhere()
            if self._ended or not debugger.runs or not name or name in self._waiting:
                await debugger.stop()
            else:
                loop = asyncio.get_running_loop()
                self._waiting[name] = debugger, loop.call_later(RETURN, self._forget, name)

    def _taken(self, name: str) -> Debugger:
        """A debugger that waits for its page no longer."""
        debugger, timer = self._waiting.pop(name)
        timer.cancel()
        return debugger

    def _forget(self, name: str) -> None:
        """End a debugger whose page did not come back."""
        ending = asyncio.get_running_loop().create_task(self._taken(name).stop())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)


async def obey(text: str, page: web.WebSocketResponse, debugger: Debugger) -> None:
    """What a page asks; anything else than what textual-serve's page sends is ignored."""
    try:
        match json.loads(text):
            case ["stdin", str(keys)] if keys:  # no keys at all would end its input for good
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


async def end_page(page: web.WebSocketResponse, reason: str) -> None:
    """Close a page, whose dialog then says why."""
    with contextlib.suppress(ConnectionError):  # the page is gone
        await page.send_json(["ended", f"loopdbg: {reason.removeprefix('loopdbg: ')}"])
    await page.close()


async def _nowhere(*_: Any) -> None:
    """What is drawn while there is no page."""


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
