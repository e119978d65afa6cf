"""The pages of ``loopdbg serve``: each has a debugger, which ends a minute after its page, or with the server."""

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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import WSCloseCode, WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.server import Server

from ....runtime.child_process import start_child_async
from ....runtime.errors import one_line
from ....runtime.text import escape_unprintable

if TYPE_CHECKING:
    from asyncio.subprocess import Process

PAGES_MAX = 8  # open at once: each is a process with the model in memory
WIDTH_RANGE_CELLS, HEIGHT_RANGE_CELLS = (20, 500), (5, 200)  # cells
STOP_TIMEOUT_SECONDS = 3.0  # seconds before a stopping debugger is killed
DETACHED_TIMEOUT_SECONDS = (
    60.0  # seconds that a debugger waits for its page to reconnect after a reload or a network failure
)
RELOAD_WAIT_SECONDS = 2.0  # seconds that a page waits for the end of its tab's last connection
#: The terminal type of a page, independent of the server's.
PAGE_TERM = "xterm-256color"
#: Size of the kept tail of a debugger's stderr.
MAX_ERROR_BYTES = 1 << 12
#: The name of a browser tab.
TAB_NAME_PATTERN = re.compile(r"[0-9a-f]{32}")
#: Terminal modes that a program sets and a new page must restore: cursor, mouse, paste.
TERMINAL_MODE_PATTERN = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
#: Script of the page: a tab keeps its name on reload, the terminal gets the keyboard focus, and the dialog of a closed
#: connection shows the reason.
PAGE_SCRIPT = Path(__file__).with_name("page_script.html").read_text(encoding="utf-8")
PR_SET_PDEATHSIG = 1  # PR_SET_PDEATHSIG of Linux's prctl

# textual-serve's page loads from another host a font that it also bundles.
EXTERNAL_FONT_PATTERN = re.compile(r'<link\s+rel="stylesheet"\s+href="https?://fonts\.googleapis\.com[^"]*"\s*/>')
LOCAL_FONT_STYLE = (
    '<style>@font-face {font-family: "Roboto Mono"; src: url("/static/fonts/RobotoMono-VariableFont_wght.ttf")}</style>'
)


class PageProcess(AppService):
    """The debugger process of a page, which may be detached for a while."""

    def __init__(self, command: str, downloads: Any) -> None:
        super().__init__(
            command,
            write_bytes=_discard_output,
            write_str=_discard_output,
            close=_discard_output,
            download_manager=downloads,
        )
        self._end_page: Callable[[str], Awaitable[None]] = _discard_output
        self._terminal_modes: dict[bytes, bytes] = {}
        self._closing = False
        self._stderr_tail = b""

    @property
    def is_running(self) -> bool:
        """False once it has ended or is closing."""
        return self._task is not None and not self._task.done() and not self._closing

    async def on_data(self, payload: bytes) -> None:
        for numbers, state in TERMINAL_MODE_PATTERN.findall(payload):
            self._terminal_modes.update(dict.fromkeys(numbers.split(b";"), state))
        await super().on_data(payload)

    async def attach_page(self, page: web.WebSocketResponse, cells: tuple[int, int]) -> None:
        """Attach to a page and resize to its size."""

        async def close() -> None:
            self._closing = True
            await page.close()

        self._end_page = lambda reason: end_page(page, reason)
        self.remote_write_bytes, self.remote_write_str, self.remote_close = page.send_bytes, page.send_str, close
        if not self.is_running:
            try:
                await self.start(*cells)
            except OSError as error:
                await self._end_page(f"the debugger cannot be started: {error.strerror or one_line(error)}")
            return
        await page.send_bytes(b"".join(b"\x1b[?%b%b" % mode for mode in self._terminal_modes.items()))
        # The app draws only changes; resizing forces a full redraw.
        await self.set_terminal_size(cells[0], cells[1] - 1)
        await asyncio.sleep(0.1)
        await self.set_terminal_size(*cells)

    def detach_page(self) -> None:
        """Detach from a closed page."""
        self.remote_write_bytes = self.remote_write_str = self.remote_close = self._end_page = _discard_output

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        environment: dict[str, str] = super()._build_environment(width=width, height=height)
        return {**environment, "TERM": PAGE_TERM}

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        self._process = await start_child_async(
            shlex.split(self.command),
            env=self._build_environment(width=width, height=height),
            preexec_fn=_parent_death_hook(),
        )
        self._stdin = self._process.stdin
        return self._process

    async def run(self) -> None:
        """Relay the debugger's output until it ends; an unexpected end is reported to the page."""
        process = self._process
        assert process is not None and process.stderr is not None
        errors, process.stderr = process.stderr, asyncio.StreamReader()
        # textual-serve buffers and prints this stream: give it an empty one.
        process.stderr.feed_eof()
        collector = asyncio.create_task(self._collect_stderr(errors))
        try:
            await self._relay_output()
            if not self._closing:
                await asyncio.wait_for(asyncio.gather(process.wait(), collector), STOP_TIMEOUT_SECONDS)
                await self._end_page(self._exit_reason(process))
        except (TimeoutError, ConnectionError):
            pass
        finally:
            collector.cancel()

    async def _relay_output(self) -> None:
        """Relay the debugger's output to its end."""
        try:
            await super().run()
        except asyncio.CancelledError:
            # textual-serve cancels its own task and awaits it, which raises this if the task never started.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise

    async def _collect_stderr(self, errors: asyncio.StreamReader) -> None:
        while chunk := await errors.read(MAX_ERROR_BYTES):
            self._stderr_tail = (self._stderr_tail + chunk)[-MAX_ERROR_BYTES:]

    def _exit_reason(self, process: Process) -> str:
        """The reason why the debugger ended, in one line."""
        lines = self._stderr_tail.decode("utf-8", "replace").strip().splitlines()
        if lines:
            return escape_unprintable(lines[-1])
        return f"the debugger ended with status {process.returncode}"

    async def stop(self) -> None:
        """Stop the debugger; kill it after a timeout."""
        try:
            await asyncio.wait_for(super().stop(), STOP_TIMEOUT_SECONDS)
        except TimeoutError:
            pass
        finally:
            if self._process is not None and self._process.returncode is None:
                self._process.kill()


class PageServer(Server):
    """A server with limits on pages, screen sizes and messages."""

    def __init__(self, *words: Any, **options: Any) -> None:
        super().__init__(*words, **options)
        self._pages: set[web.WebSocketResponse] = set()
        #: Detached debuggers by tab name, oldest first, with their timeouts.
        self._detached: dict[str, tuple[PageProcess, asyncio.TimerHandle]] = {}
        #: For each open tab, the event that its connection ended.
        self._connection_ends: dict[str, asyncio.Event] = {}
        self._shutting_down = False
        self._stop_tasks: set[asyncio.Task[None]] = set()

    def initialize_logging(self) -> None:
        """Disable logging: an invalid HTTP request would print a traceback."""
        log = logging.getLogger("aiohttp")
        log.addHandler(logging.NullHandler())
        log.propagate = False

    async def _make_app(self) -> web.Application:
        app: web.Application = await super()._make_app()
        app.router.add_get(f"/ws/{{name:{TAB_NAME_PATTERN.pattern}}}", self.handle_websocket)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """No-op: the address is already printed."""

    async def on_shutdown(self, app: web.Application) -> None:
        pages, self._shutting_down = list(self._pages), True
        for page in pages:
            await page.close(code=WSCloseCode.GOING_AWAY, message=b"the server ends")
        await asyncio.gather(*(self._take_detached(name).stop() for name in list(self._detached)), *self._stop_tasks)

    async def handle_index(self, request: web.Request) -> Any:
        response: Any = await super().handle_index(request)
        response.text = EXTERNAL_FONT_PATTERN.sub(LOCAL_FONT_STYLE, response.text).replace("</head>", PAGE_SCRIPT)
        return response

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        if len(self._pages) >= PAGES_MAX:
            # Open the socket first: a script cannot read the body of a rejected handshake.
            rejected = web.WebSocketResponse()
            await rejected.prepare(request)
            await end_page(rejected, f"{PAGES_MAX} pages are open; close one, then restart this one")
            return rejected
        page = web.WebSocketResponse(heartbeat=15)
        self._pages.add(page)
        try:
            await page.prepare(request)
            await self._serve_page(
                page, request.match_info.get("name", ""), parse_size(dict(request.query)) or (80, 24)
            )
        finally:
            self._pages.discard(page)
        return page

    async def _serve_page(self, page: web.WebSocketResponse, name: str, cells: tuple[int, int]) -> None:
        if name in self._connection_ends:
            # A reload may come before the end of the last connection. A copied tab gets a debugger of its own.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._connection_ends[name].wait(), RELOAD_WAIT_SECONDS)
        if name in self._detached:
            debugger = self._take_detached(name)
        else:
            if len(self._pages) + len(self._detached) > PAGES_MAX:
                await self._take_detached(next(iter(self._detached))).stop()
            debugger = PageProcess(self.command, self.download_manager)
        ended = asyncio.Event()
        if name:
            self._connection_ends[name] = ended
        try:
            await debugger.attach_page(page, cells)
            async for message in page:
                if message.type == WSMsgType.TEXT:
                    await handle_page_message(message.data, page, debugger)
        finally:
            if self._connection_ends.get(name) is ended:
                del self._connection_ends[name]
            debugger.detach_page()
            if self._shutting_down or not debugger.is_running or not name or name in self._detached:
                await debugger.stop()
            else:
                loop = asyncio.get_running_loop()
                self._detached[name] = debugger, loop.call_later(DETACHED_TIMEOUT_SECONDS, self._stop_detached, name)
            ended.set()

    def _take_detached(self, name: str) -> PageProcess:
        """Remove a detached debugger and cancel its timeout."""
        debugger, timer = self._detached.pop(name)
        timer.cancel()
        return debugger

    def _stop_detached(self, name: str) -> None:
        """Stop a debugger whose page did not reconnect."""
        task = asyncio.get_running_loop().create_task(self._take_detached(name).stop())
        self._stop_tasks.add(task)
        task.add_done_callback(self._stop_tasks.discard)


async def handle_page_message(text: str, page: web.WebSocketResponse, debugger: PageProcess) -> None:
    """Handle a message of a page; unknown messages are ignored."""
    try:
        match json.loads(text):
            case ["stdin", str(keys)] if keys:  # an empty message would close its input
                await debugger.send_bytes(keys.encode("utf-8", "replace"))
            case ["resize", dict(size)] if cells := parse_size(size):
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
    """Close a page with a reason for its dialog."""
    with contextlib.suppress(ConnectionError):  # the page is gone
        await page.send_json(["ended", f"loopdbg: {reason.removeprefix('loopdbg: ')}"])
    await page.close()


async def _discard_output(*_: Any) -> None:
    """Discard output while there is no page."""


def parse_size(size: dict[str, Any]) -> tuple[int, int] | None:
    """Width and height in cells, clamped; None if they are no numbers."""
    try:
        width, height = int(size["width"]), int(size["height"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return min(max(width, WIDTH_RANGE_CELLS[0]), WIDTH_RANGE_CELLS[1]), min(
        max(height, HEIGHT_RANGE_CELLS[0]), HEIGHT_RANGE_CELLS[1]
    )


def _parent_death_hook() -> Any:
    """A preexec hook: on Linux the kernel kills the process when the server dies."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
