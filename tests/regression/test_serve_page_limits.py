"""A server left its debuggers behind, took any message and any number of pages, and fetched a font elsewhere."""

from __future__ import annotations

import asyncio
import signal
from typing import Any, cast

import pytest

pytest.importorskip("textual_serve")

from loopdbg.tui.cli.servers import page_processes


class RecordingDebugger:
    """A debugger and a page that note what reaches them."""

    def __init__(self) -> None:
        self.got: list[Any] = []

    async def send_bytes(self, data: bytes) -> None:
        self.got.append(data)

    async def set_terminal_size(self, width: int, height: int) -> None:
        self.got.append((width, height))


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '["stdin"]', "null", '["resize", {"width": "x"}]', '["stdin", 3]', '["stdin", ""]', "[" * 100000],
)
async def test_messages_that_are_none_are_ignored(text: str) -> None:
    seen = RecordingDebugger()
    await page_processes.handle_page_message(text, cast(Any, seen), cast(Any, seen))
    assert seen.got == []


async def test_keys_and_sizes_reach_the_debugger_within_bounds() -> None:
    seen = RecordingDebugger()
    for text in ('["stdin", "s"]', '["resize", {"width": 1000000, "height": 0}]'):
        await page_processes.handle_page_message(text, cast(Any, seen), cast(Any, seen))
    assert seen.got == [b"s", (500, 5)]


async def test_the_page_asks_no_other_host() -> None:
    page = (page_processes.Server("x").templates_path / "app_index.html").read_text(encoding="utf-8")
    assert "googleapis" not in page_processes.EXTERNAL_FONT_PATTERN.sub(page_processes.LOCAL_FONT_STYLE, page)


async def test_a_debugger_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_processes, "STOP_TIMEOUT_SECONDS", 0.1)

    debugger = page_processes.PageProcess("sleep 60", page_processes.Server("x").download_manager)
    await debugger.start(80, 24)
    await debugger.stop()
    assert debugger._process is not None
    assert await debugger._process.wait() == -signal.SIGKILL


class SilentPage:
    """A page that sends nothing more."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def __aiter__(self) -> SilentPage:
        return self

    async def __anext__(self) -> Any:
        raise StopAsyncIteration

    async def send_bytes(self, data: bytes) -> None:
        self.sent.append(data)

    async def send_str(self, data: str) -> None:
        self.sent.append(data)

    async def send_json(self, data: Any) -> None:
        self.sent.append(data)

    async def close(self) -> None:
        self.sent.append("closed")


async def test_a_debugger_waits_for_its_page_and_then_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page without a name cannot come back: its debugger ends with it."""
    monkeypatch.setattr(page_processes, "STOP_TIMEOUT_SECONDS", 0.1)
    server = page_processes.PageServer("cat")
    for name, waits in (("", False), ("0" * 32, True)):
        await server._serve_page(cast(Any, SilentPage()), name, (80, 24))
        assert (name in server._detached) is waits
    assert page_processes.DETACHED_TIMEOUT_SECONDS == 60, "as docs/guide.md and SECURITY.md say"
    ((debugger, timer),) = server._detached.values()
    left = timer.when() - asyncio.get_running_loop().time()
    assert 0 < left <= page_processes.DETACHED_TIMEOUT_SECONDS
    timer.cancel()
    server._stop_detached("0" * 32)
    await asyncio.gather(*server._stop_tasks)
    assert not server._detached and debugger._process is not None
    assert await debugger._process.wait() is not None


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("sh -c 'echo first >&2; echo last >&2; exit 1'", "last"),
        ("sh -c 'exit 3'", "the debugger ended with status 3"),
        ("sh -c 'kill -9 $$'", "the debugger ended with status -9"),
        ("sh -c 'printf \"a\\033[31mb\" >&2'", r"a\x1b[31mb"),
        ("sh -c 'yes | head -c 1000000 >&2; echo end >&2'", "end"),
    ],
)
async def test_a_page_says_why_its_debugger_ended(command: str, reason: str) -> None:
    debugger = page_processes.PageProcess(command, page_processes.Server("x").download_manager)
    page = SilentPage()
    await debugger.attach_page(cast(Any, page), (80, 24))
    assert debugger._task is not None
    await debugger._task
    (kind, text), closed = page.sent
    assert kind == "ended" and text.startswith("loopdbg: ") and text.endswith(reason) and closed == "closed"
    assert len(debugger._stderr_tail) <= page_processes.MAX_ERROR_BYTES


async def test_a_page_says_why_its_debugger_cannot_be_started() -> None:
    debugger = page_processes.PageProcess("/nowhere/loopdbg", page_processes.Server("x").download_manager)
    page = SilentPage()
    await debugger.attach_page(cast(Any, page), (80, 24))
    (kind, text), closed = page.sent
    assert (kind, closed) == ("ended", "closed")
    assert text == "loopdbg: the debugger cannot be started: No such file or directory"


def test_the_page_gets_the_terminal_that_it_provides(monkeypatch: pytest.MonkeyPatch) -> None:
    for terminal in ("dumb", "vt100", ""):
        monkeypatch.setenv("TERM", terminal)
        debugger = page_processes.PageProcess("x", page_processes.Server("x").download_manager)
        assert debugger._build_environment()["TERM"] == "xterm-256color"
