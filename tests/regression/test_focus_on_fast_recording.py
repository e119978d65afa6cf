"""A recording is open so quickly that its panes were not seen yet when the focus was asked for: none had it then."""

from __future__ import annotations

from pathlib import Path

from app_driver import open_recording


async def test_the_source_has_the_focus(tmp_path: Path) -> None:
    async with open_recording(tmp_path / "t.loopdb", "newton_sqrt.onnx") as screen:
        await screen.press("s")
        assert screen.app.focused is screen.panes["body"]
