"""The picture in the README is what the app draws, and asks no server for anything."""

from __future__ import annotations

import importlib.util
import re
from html import unescape
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).parents[2] / "docs"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_screenshot", DOCS / "make_screenshot.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text(svg: str) -> str:
    return unescape(" ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))).replace("\xa0", " ")


async def test_the_picture_is_made_and_says_what_the_screen_says() -> None:
    svg = await script().screenshot()
    assert svg.count("http") == 1 and 'xmlns="http://www.w3.org/2000/svg"' in svg
    assert "@font-face" not in svg
    for wanted in ("newton_sqrt.onnx", "iteration 4 / no limit", "keep = err_new > tol", "Back edges", "T T T T T ·"):
        assert wanted in text(svg)
    assert await script().screenshot() == svg


def test_the_committed_picture_is_of_this_app() -> None:
    committed = text((DOCS / "screenshot.svg").read_text(encoding="utf-8"))
    for wanted in ("iteration 4 / no limit", "keep = err_new > tol", "Back edges", "Scan outputs"):
        assert wanted in committed
