"""The screen in a browser: access control, and keys pressed in a real browser."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.cookiejar
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli_runner import run_cli
from text_models import SAMPLES

pytest.importorskip("textual_serve")
import aiohttp

from browser import BROWSER, BrowserPage, open_page

PLAIN = re.compile(r"\x1b\[[0-9;?<>=:]*[A-Za-z]|\x1b[()=>P][^\x1b]*")


SERVERS: list[subprocess.Popen[str]] = []  # the last one is the newest


@contextlib.contextmanager
def served(*options: str, model: Path = SAMPLES / "newton_sqrt.onnx", **environment: str) -> Iterator[str]:
    """The address of a running server."""
    code = "import sys; from loopdbg.tui.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", code, "serve", str(model), *options]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", env={**os.environ, **environment}
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        match = re.search(r"http://\S+?(?=;)", line)
        assert match, line
        SERVERS.append(process)
        yield match[0]
    finally:
        process.terminate()
        process.wait(60)
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        process.stderr.close()


def get(address: str, opener: urllib.request.OpenerDirector | None = None, **headers: str) -> tuple[int, str]:
    """The status and text of a page; retries until the server listens."""
    for _ in range(600):
        try:
            request = urllib.request.Request(address, headers=headers)
            with (opener or urllib.request.build_opener()).open(request, timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except urllib.error.URLError:
            import time

            time.sleep(0.1)
    raise AssertionError("nothing listens")


def test_server_requires_the_token() -> None:
    with served() as address:
        assert address.startswith("http://127.0.0.1:")
        bare = address.partition("?")[0]
        assert get(bare)[0] == 403 and get(f"{bare}?token=wrong")[0] == 403
        assert get(f"{bare}ws")[0] == 403 and get(f"{bare}static/js/textual.js")[0] == 403
        # A page of another host, or this host under another name.
        assert get(address, Origin="http://elsewhere.example")[0] == 403
        assert get(address, Host="elsewhere.example")[0] == 403
        jar = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        status, page = get(address, jar)
        assert status == 200 and "newton_sqrt.onnx" in page and "token" not in page
        assert get(f"{bare}static/js/textual.js", jar)[0] == 200


async def test_server_shutdown_is_immediate_with_open_page() -> None:
    with socket.create_server(("127.0.0.1", 0)) as result:
        port = result.getsockname()[1]
    with served("--no-token", "--port", str(port)) as address:
        assert await asyncio.to_thread(get, address)
        async with aiohttp.ClientSession() as session, session.ws_connect(f"{address}ws") as page:
            await page.receive(60)
            os.kill(SERVERS[-1].pid, signal.SIGTERM)
            async with asyncio.timeout(120):
                async for _ in page:
                    pass
            assert page.close_code == aiohttp.WSCloseCode.GOING_AWAY
            assert await asyncio.to_thread(SERVERS[-1].wait, 60) == 0


async def test_reloaded_page_finds_its_debugger() -> None:
    with served("--no-token") as address:
        assert await asyncio.to_thread(get, address)
        async with aiohttp.ClientSession() as session:
            name = "0123456789abcdef" * 2
            for seen, key in (("before iteration 0", "s"), ("before iteration 1", "s"), ("before iteration 2", "q")):
                async with session.ws_connect(f"{address}ws/{name}?width=100&height=30") as page:
                    await _drawn(page, seen)
                    await page.send_json(["stdin", key])
                    if key == "s":
                        await _drawn(page, f"before iteration {int(seen[-1]) + 1}")
                        continue
                    async for _ in page:  # A debugger lives until the user quits it.
                        pass
            # The user quit with q: the next page gets a new one.
            async with session.ws_connect(f"{address}ws/{name}?width=100&height=30") as page:
                await _drawn(page, "before iteration 0")


async def test_page_that_reloads_before_its_connection_ends_finds_its_debugger() -> None:
    with served("--no-token") as address:
        assert await asyncio.to_thread(get, address)
        url = f"{address}ws/{'0123456789abcdef' * 2}?width=100&height=30"
        async with aiohttp.ClientSession() as session:
            last = await session.ws_connect(url)
            await _drawn(last, "before iteration 0")
            await last.send_json(["stdin", "s"])
            await _drawn(last, "before iteration 1")
            async with session.ws_connect(url) as page:
                await last.close()
                await _drawn(page, "before iteration ")
                await page.send_json(["stdin", "s"])
                await _drawn(page, "before iteration 2")


async def _drawn(page: aiohttp.ClientWebSocketResponse, text: str) -> None:
    screen = ""
    async with asyncio.timeout(120):
        while text not in screen:
            screen += PLAIN.sub("", (await page.receive_bytes()).decode(errors="replace"))


async def _ended(page: aiohttp.ClientWebSocketResponse) -> str:
    """The reason why a page was closed, as its dialog states it."""
    async with asyncio.timeout(120):
        async for message in page:
            if message.type == aiohttp.WSMsgType.TEXT:
                kind, text = json.loads(message.data)
                assert kind == "ended"
                return str(text)
    raise AssertionError("no message arrived")


@pytest.mark.parametrize("terminal", ["dumb", "unknown", "vt100", ""])
async def test_page_terminal_is_independent_of_the_server_terminal(terminal: str) -> None:
    """A server started by cron, Emacs or CI must not serve an empty page."""
    with served("--no-token", TERM=terminal) as address:
        assert await asyncio.to_thread(get, address)
        async with aiohttp.ClientSession() as session, session.ws_connect(f"{address}ws?width=100&height=30") as page:
            await _drawn(page, "before iteration 0")


async def test_page_shows_why_its_debugger_cannot_start(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    shutil.copy(SAMPLES / "newton_sqrt.onnx", model)
    with served("--no-token", model=model) as address:
        assert await asyncio.to_thread(get, address)
        model.unlink()
        async with aiohttp.ClientSession() as session, session.ws_connect(f"{address}ws") as page:
            assert await _ended(page) == f"loopdbg: {model}: no such file; give the path of a model file"


async def test_page_beyond_the_limit_shows_why_it_is_refused() -> None:
    with served("--no-token") as address:
        assert await asyncio.to_thread(get, address)
        async with aiohttp.ClientSession() as session, contextlib.AsyncExitStack() as stack:
            pages = [await stack.enter_async_context(session.ws_connect(f"{address}ws")) for _ in range(8)]
            async with session.ws_connect(f"{address}ws") as page:
                assert await _ended(page) == "loopdbg: 8 pages are open; close one, then restart this one"
            await pages[0].close()
            async with asyncio.timeout(120):
                kind = None
                while kind is not aiohttp.WSMsgType.BINARY:  # The debugger of the closed page ends first.
                    async with session.ws_connect(f"{address}ws") as page:
                        kind = (await page.receive()).type


async def _typed(address: str, line: str, seen: str) -> None:
    """Type a line into the console of a page, and return what was drawn by then."""
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{address}ws?width=160&height=50") as page:
        await _drawn(page, "before iteration 0")
        await page.send_json(["stdin", ":"])
        for key in line:
            await page.send_json(["stdin", key])
        await page.send_json(["stdin", "\r"])
        await _drawn(page, seen)


@pytest.mark.parametrize("line", ["plot x {}.svg", "extract {}", "repro {} if x > 0", "source {}"])
async def test_page_writes_no_file(line: str, tmp_path: Path) -> None:
    settings = tmp_path / "settings"
    folder = tmp_path / "folder"
    folder.mkdir()
    with served("--no-token", LOOPDBG_CONFIG_DIR=str(settings)) as address:
        assert await asyncio.to_thread(get, address)
        await _typed(address, line.format(folder / "a"), "this server may not")
    assert not list(folder.iterdir())
    assert not settings.exists(), "nor what it remembers of the screen"


async def test_page_writes_files_only_in_the_allow_write_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with served("--no-token", "--allow-write", str(folder)) as address:
        assert await asyncio.to_thread(get, address)
        await _typed(address, "extract part", "wrote ")
        await _typed(address, "extract ../other", "is outside")
    assert [path.name for path in folder.iterdir()] == ["part"]
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_one_browser_opens_two_models() -> None:
    """Cookies are shared by all ports of a host."""
    with served() as first, served() as other:
        jar = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        assert get(first, jar)[0] == get(other, jar)[0] == 200
        assert get(first.partition("?")[0], jar)[0] == 200


def test_token_can_be_switched_off() -> None:
    with socket.create_server(("127.0.0.1", 0)) as result:
        port = result.getsockname()[1]
    with served("--no-token", "--port", str(port)) as address:
        assert address == f"http://127.0.0.1:{port}/"
        assert get(address)[0] == 200


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere.onnx",), "no such file"),
        ((str(SAMPLES / "newton_sqrt.onnx"), "--input", "a=x"), "cannot read"),
        ((str(SAMPLES / "newton_sqrt.onnx"), "--host", "203.0.113.1"), "cannot listen"),
        ((str(SAMPLES / "newton_sqrt.onnx"), "--allow-write", "nowhere"), "'nowhere' is no folder"),
    ],
)
def test_errors_are_reported_before_serving(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run_cli(capsys, "serve", *words)
    assert ran.status and message in ran.error_line


class DrawnPage:
    """What a server has drawn on a page, collected from the frames that it sent."""

    def __init__(self, page: BrowserPage) -> None:
        self._page = page
        self.screen = ""
        page.heard = self._heard

    def _heard(self, message: dict[str, Any]) -> None:
        if message.get("method") == "Network.webSocketFrameReceived":
            frame = message["params"]["response"]
            data = frame["payloadData"]
            raw = base64.b64decode(data) if frame["opcode"] == 2 else data.encode()
            self.screen += PLAIN.sub("", raw.decode(errors="replace"))

    async def wait_for(self, text: str) -> None:
        """Wait until the server has drawn a text."""
        async with asyncio.timeout(120):
            while text not in self.screen:
                await self._page.next_message()

    async def press(self, key: str) -> None:
        self.screen = ""
        await self._page.press(key, key)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no browser here")
async def test_keys_in_a_real_browser_step_the_loop() -> None:
    with served() as address:
        get(address)
        async with open_page() as opened:
            drawn = DrawnPage(opened)
            await opened.ask("Network.enable")
            await opened.navigate(address)
            await drawn.wait_for("half_q")
            await drawn.wait_for("iteration 0")
            assert await opened.value("location.href") == address.partition("?")[0], "the token is in no address"
            await drawn.press("s")  # no one has clicked
            await drawn.wait_for("before iteration 1")
            drawn.screen = ""
            await opened.ask("Page.reload")
            await drawn.wait_for("before iteration 1")
            await drawn.press("s")
            await drawn.wait_for("before iteration 2")
