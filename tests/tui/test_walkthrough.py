"""The walk-through of the docs: its keys are pressed, and the screen shows what it promises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
from app_driver import AppDriver, open_app
from walkthrough_keys import WalkthroughStep, key_for_span, read_chapters

ROOT = Path(__file__).parents[2]
CHAPTERS = list(read_chapters(ROOT / "docs" / "walkthrough.md"))


def squeezed(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


async def press(screen: AppDriver, span: str) -> None:
    """Press the keys that a code span represents."""
    name = key_for_span(span)
    for item in [name] if name else list(span):
        await screen.pilot.press(
            {" ": "space", "=": "equals_sign", ".": "full_stop", "<": "less_than_sign"}.get(item, item)
        )
    await screen.wait_until_idle()


def test_walkthrough_has_two_models_and_enough_keys() -> None:
    assert [model for model, _ in CHAPTERS] == ["sample_models/newton_sqrt.onnx", "sample_models/lstm.xml"]
    assert sum(len(row.keys) for _, rows in CHAPTERS for row in rows) > 30
    assert all(row.visible_texts for _, rows in CHAPTERS for row in rows)


@pytest.mark.parametrize(("model", "rows"), CHAPTERS, ids=[model for model, _ in CHAPTERS])
@pytest.mark.parametrize("size", [(120, 36), (200, 60)])
async def test_walkthrough_keys_show_what_it_promises(
    model: str, rows: list[WalkthroughStep], size: tuple[int, int]
) -> None:
    path = ROOT / model
    with np.load(path.with_suffix(".inputs.npz")) as archive:
        inputs = dict(archive)
    async with open_app(loopdbg.load(path), inputs, size) as screen:
        for row in rows:
            for span in row.keys:
                await press(screen, span)
            await screen.pilot.pause()
            drawn = squeezed("\n".join(screen.visible_rows()))
            for text in row.visible_texts:
                assert squeezed(text) in drawn, f"docs/walkthrough.md, line {row.line}: {text}"
