"""Writes docs/screenshot.svg, the picture in the README: newton_sqrt in its fifth iteration, the same bytes each time.

python docs/make_screenshot.py [FILE]
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import numpy as np

import loopdbg
from loopdbg.tui.app import LoopdbgApp
from loopdbg.tui.driver import Driver

ROOT = Path(__file__).parents[1]
KEYS = ("s",) * 4 + ("n",) * 6
#: The export names fonts on a server; a picture should ask nobody.
FONTS = re.compile(r"\s*@font-face \{.*?\}|\s*<!--.*?-->", re.DOTALL)
FAMILY = re.compile(r"font-family: ?[^;]*Fira Code[^;]*;")


async def screenshot(size: tuple[int, int] = (120, 36)) -> str:
    """The screen as SVG, with whatever monospace font the reader has."""
    model = loopdbg.load(ROOT / "sample_models" / "newton_sqrt.onnx")
    with np.load(ROOT / "sample_models" / "newton_sqrt.inputs.npz") as inputs:
        app = LoopdbgApp(Driver(model, dict(inputs), None), "newton_sqrt.inputs.npz")
    async with app.run_test(size=size) as pilot:
        await app.idle()
        for key in KEYS:
            await pilot.press(key)
            await app.idle()
        await pilot.pause()
        svg = app.export_screenshot(title="loopdbg newton_sqrt.onnx")
    svg = FAMILY.sub("font-family: 'DejaVu Sans Mono', Menlo, Consolas, monospace;", FONTS.sub("", svg))
    return "".join(f"{line.rstrip()}\n" for line in svg.splitlines())


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "screenshot.svg"
    target.write_text(asyncio.run(screenshot()), encoding="utf-8")
    print(target)
