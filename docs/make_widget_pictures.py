"""Draws the pictures of the widget for notebooks in a browser: ``python docs/make_widget_pictures.py``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import loopdbg

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from browser import open_page
from notebook_widget_server import serve_notebook_widget

DOCS = Path(__file__).parent
COMMANDS = ("break if err < 1e-3", "step 2", "set x = 3", "step 2", "branch 1", "step", "next 4")


async def draw_widget_pictures() -> None:
    """Both pictures of one stop."""
    session = loopdbg.debug(DOCS.parent / "sample_models" / "newton_sqrt.onnx", {"a": 2.0, "tol": 1e-6})
    widget = loopdbg.widget(session)
    for command in COMMANDS:
        widget.do(command)
    async with serve_notebook_widget(widget) as address, open_page(1100, 790) as shown:
        await shown.navigate(address)
        await shown.wait("!!document.querySelector('.next')")
        for scheme in ("light", "dark"):
            await shown.set_color_scheme(scheme)
            await shown.screenshot(DOCS / f"widget-{scheme}.png")


if __name__ == "__main__":
    asyncio.run(draw_widget_pictures())
