"""The line stated to have made a value is the one that made it in the iteration that is shown."""

from __future__ import annotations

import re

import numpy as np
import pytest

from app_driver import AppDriver, open_app
from text_models import model, sample

#: `a` comes from a branch of an If, `b` is what the iteration before got as `a`.
BRANCHES = """
branches (float s) => (float ra, float rb) {
  M = Constant <value = int64 {4}> ()
  two = Constant <value = float {2}> ()
  ra, rb = Loop <body = step (int64 i, bool c, float a, float b) => (bool keep, float a_next, float a) {
    keep = Identity (c)
    big = Less (two, a)
    a_next = If (big) <then_branch = then_b () => (float t) { t = Sub (a, two) },
                       else_branch = else_b () => (float e) { e = Add (a, two) }>
  }> (M, , s, s)
}
"""


def made_by(screen: AppDriver) -> str:
    """The statement of the pane, without the number of the line."""
    return re.search(r"made by +(?:\d+  )?(.*?)\s*(?:\n|$)", screen.value_pane.text).group(1)  # type: ignore[union-attr]


async def on_back_edge(screen: AppDriver, name: str) -> None:
    """Put the cursor on a row of the back edges."""
    await screen.press("2", "slash", *name, "enter")


async def test_carried_value_is_defined_by_back_edge_after_first_iteration() -> None:
    async with open_app(*sample("newton_sqrt.onnx"), size=(200, 60)) as screen:
        await screen.press("2", "home", "down")
        assert made_by(screen).startswith("x = ")
        for iteration in (0, 1):
            await screen.press("s")
            assert re.fullmatch(rf"x_new = .*   in iteration {iteration}", made_by(screen))
        # Within the iteration it is still what the one before made.
        await screen.press("n", "2", "home", "down")
        assert re.fullmatch(r"x_new = .*   in iteration 1", made_by(screen))
        await screen.press("left", "left", "left", "2", "home", "down")
        assert made_by(screen).startswith("x = ")


async def test_edited_value_has_no_defining_line() -> None:
    async with open_app(*sample("newton_sqrt.onnx"), size=(200, 60)) as screen:
        await screen.press("s", "s", "colon")
        await screen.type("set x = 3")
        await screen.press("escape", "2", "home", "down")
        assert made_by(screen) == "set by hand"
        await screen.press("s")
        assert made_by(screen).startswith("x_new = ")


@pytest.mark.parametrize(
    ("start", "steps", "line"),
    [(1.0, 1, "e = a + 2.0   in iteration 0"), (1.0, 2, "t = a - 2.0   in iteration 1")],
)
async def test_if_output_is_defined_by_taken_branch(start: float, steps: int, line: str) -> None:
    async with open_app(model(BRANCHES), {"s": np.float32(start)}, size=(200, 60)) as screen:
        await screen.press(*["s"] * steps, "2", "home", "down")
        assert made_by(screen) == line
        await screen.press("down")
        assert made_by(screen) == "a, b = a_next, a"
