"""A headless browser, driven by its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable
from html import unescape
from pathlib import Path
from typing import Any

import aiohttp

#: The first installed one; None: there is none.
BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome", "chrome") if (path := shutil.which(name))),
    None,
)


def evaluate_on_svg(svg: str, script: str, folder: Path) -> Any:
    """The result of a JavaScript function ``root => ...`` on an SVG that is alone in a page."""
    assert BROWSER is not None
    page = folder / "page.html"
    page.write_text(
        f"<!doctype html><meta charset=utf-8><body>{svg}<pre id=answer></pre><script>"
        f"document.getElementById('answer').textContent = JSON.stringify(({script})(document.querySelector('svg')));"
        "</script>",
        encoding="utf-8",
    )
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--dump-dom",
        f"--user-data-dir={folder / 'user'}",
    ]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    (answer,) = re.findall(r"<pre id=\"answer\">(.*?)</pre>", done.stdout, re.S)
    return json.loads(unescape(answer))


class BrowserPage:
    """One page."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        #: Errors logged by the page.
        self.errors: list[str] = []
        #: Receives every message that is not a response.
        self.heard: Callable[[dict[str, Any]], object] = lambda message: None

    async def ask(self, method: str, **parameters: Any) -> Any:
        """Send a command of the protocol; returns its response."""
        self._number += 1
        number = self._number
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while (message := await self.next_message()).get("id") != number:
            pass
        assert "error" not in message, message
        return message["result"]

    async def next_message(self) -> dict[str, Any]:
        """The next message of the browser."""
        message: dict[str, Any] = json.loads((await self._socket.receive(timeout=120)).data)
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(message["params"]["exceptionDetails"]))
        self.heard(message)
        return message

    async def navigate(self, address: str) -> None:
        """Open an address."""
        await self.ask("Page.enable")
        await self.ask("Runtime.enable")
        await self.ask("Page.navigate", url=address)

    async def value(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page."""
        result = await self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def wait(self, expression: str, seconds: float = 120) -> Any:
        """Wait until a JavaScript expression is true."""
        async with asyncio.timeout(seconds):
            while not (result := await self.value(expression)):
                await asyncio.sleep(0.05)
        return result

    async def press(self, key: str, text: str = "") -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if kind == "keyDown" and text else {}
            await self.ask("Input.dispatchKeyEvent", type=kind, key=key, **more)

    async def click(self, selector: str) -> None:
        """Click the middle of an element."""
        x, y = await self._middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            await self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def hover(self, selector: str) -> None:
        """Move the mouse over an element."""
        x, y = await self._middle(selector)
        await self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    async def _middle(self, selector: str) -> tuple[float, float]:
        box = f"document.querySelector({json.dumps(selector)})"
        await self.value(f"{box}.scrollIntoView({{block: 'nearest'}})")
        result = await self.value(
            f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({box}.getBoundingClientRect())"
        )
        return float(result[0]), float(result[1])

    async def set_color_scheme(self, scheme: str) -> None:
        """``light`` or ``dark``."""
        await self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def screenshot(self, path: Path) -> None:
        """The page as a PNG."""
        result = await self.ask("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(result["data"]))


@contextlib.asynccontextmanager
async def open_page(width: int = 1200, height: int = 900) -> AsyncIterator[BrowserPage]:
    """Open a page of a new browser."""
    assert BROWSER is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        options += ["--remote-debugging-port=0", f"--user-data-dir={folder}", f"--window-size={width},{height}"]
        process = subprocess.Popen(
            [BROWSER, *options, "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": folder},
        )
        try:
            port = await _port(Path(folder) / "DevToolsActivePort", process)
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                    results = [item for item in await answer.json() if item["type"] == "page"]
                async with session.ws_connect(results[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    yield BrowserPage(socket)
        finally:
            process.terminate()
            process.wait(60)


async def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    for _ in range(1200):
        if file.exists() and file.read_text(encoding="utf-8").strip():
            return int(file.read_text(encoding="utf-8").split()[0])
        assert process.poll() is None, "the browser ended"
        await asyncio.sleep(0.1)
    raise AssertionError("the browser does not answer")
