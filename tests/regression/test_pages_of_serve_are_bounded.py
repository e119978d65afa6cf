"""A server left its debuggers behind, took any message and any number of pages, and fetched a font elsewhere."""

from __future__ import annotations

import signal
from typing import Any, cast

import pytest

pytest.importorskip("textual_serve")

from loopdbg.tui.cli import pages


class Recorder:
    """A debugger and a page that note what reaches them."""

    def __init__(self) -> None:
        self.got: list[Any] = []

    async def send_bytes(self, data: bytes) -> None:
        self.got.append(data)

    async def set_terminal_size(self, width: int, height: int) -> None:
        self.got.append((width, height))


@pytest.mark.parametrize(
    "text", ["{", "[]", '["stdin"]', "null", '["resize", {"width": "x"}]', '["stdin", 3]', "[" * 100000]
)
async def test_messages_that_are_none_are_ignored(text: str) -> None:
    seen = Recorder()
    await pages.obey(text, cast(Any, seen), cast(Any, seen))
    assert seen.got == []


async def test_keys_and_sizes_reach_the_debugger_within_bounds() -> None:
    seen = Recorder()
    for text in ('["stdin", "s"]', '["resize", {"width": 1000000, "height": 0}]'):
        await pages.obey(text, cast(Any, seen), cast(Any, seen))
    assert seen.got == [b"s", (500, 5)]


async def test_the_page_asks_no_other_host() -> None:
    page = (pages.Server("x").templates_path / "app_index.html").read_text(encoding="utf-8")
    assert "googleapis" not in pages.FOREIGN.sub(pages.FONT, page)


async def test_a_debugger_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PATIENCE", 0.1)

    debugger = pages.Debugger("sleep 60", pages.Server("x").download_manager)
    await debugger.start(80, 24)
    await debugger.stop()
    assert debugger._process is not None
    assert await debugger._process.wait() == -signal.SIGKILL
