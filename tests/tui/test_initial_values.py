"""A loop with many initial values: the source pane shows the loop and the number of initial values."""

from __future__ import annotations

import numpy as np
import pytest

import loopdbg
from app_driver import open_app
from text_models import model


def many(count: int = 60) -> loopdbg.Model:
    """A loop that carries N values and negates each of them."""
    rows = range(count)
    outputs = ", ".join(f"r{k}" for k in rows)
    body_in = ", ".join(f"float a{k}" for k in rows)
    body_out = ", ".join(f"float b{k}" for k in rows)
    nodes = "\n".join(f"b{k} = Neg (a{k})" for k in rows)
    return model(f"""
main (float x) => (float r0) {{
  M = Constant <value = int64 {{4}}> ()
  {outputs} = Loop <body = step (int64 i, bool c, {body_in}) => (bool keep, {body_out}) {{
    keep = Identity (c)
    {nodes}
  }}> (M, , {", ".join("x" for _ in rows)})
}}""")


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
async def test_loop_is_visible(size: tuple[int, int]) -> None:
    async with open_app(many(), {"x": np.float32(1)}, size=size) as screen:
        seen = screen.visible_rows()
        assert any("for i in range(4)" in line for line in seen)
        assert any("… 59 more lines" in line for line in seen)
        body = screen.source_pane
        # The next line to run stays visible with its neighbours at later stops too.
        await screen.press(*["n"] * 40)
        assert isinstance(body.cursor, int)
        index, height = body.cursor - body.scroll_offset.y, body._built_size.height
        assert 2 <= index < height - 2


async def test_folded_initial_values_can_be_unfolded() -> None:
    async with open_app(many(), {"x": np.float32(1)}) as screen:
        await screen.press("1", "J", *"30", "enter")
        assert screen.source_pane.target is not None and "line 30 " in screen.source_pane.target.text(
            screen.screen_state
        )
        assert not any("more lines" in line for line in screen.visible_rows())
        # They stay unfolded after a step, until they are folded again.
        await screen.press("s")
        assert not any("more lines" in text for text in screen.lines("body"))
        await screen.press("J", *"30", "enter", "minus")
        assert any("… 59 more lines" in text for text in screen.lines("body"))
        await screen.press("enter")
        assert not any("more lines" in text for text in screen.lines("body"))


async def test_few_initial_values_are_not_folded() -> None:
    async with open_app(many(7), {"x": np.float32(1)}) as screen:
        assert not any("more lines" in text for text in screen.lines("body"))
