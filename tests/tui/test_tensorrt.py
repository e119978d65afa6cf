"""Loops whose condition is asked before each iteration, on the screen."""

from __future__ import annotations

import numpy as np

from loopdbg.runtime.frontends.tensorrt.enums import TripLimit
from loopdbg.runtime.model import Model
from networks import Net, Op, out
from screens import opened

FEEDS = {"x": np.float32(4), "n": np.int32(5), "rows": np.arange(10, dtype=np.float32).reshape(5, 2)}


def doubling() -> Model:
    """Doubles x while it is below 32; a row from the end beside it."""
    net = Net()
    loop = net.counted(net.given("n", "int32"))
    r, doubled = net.carry(loop, net.given("x"), lambda r: net.ew(r, r))
    below = net.ew(r, net.k(32.0), Op.LESS)
    loop.add_trip_limit(below, TripLimit.WHILE)
    row = out(loop.add_iterator(net.given("rows", shape=(-1, 2)), 0, True))
    r.name, doubled.name, below.name, row.name = "r", "doubled", "below", "row"
    net.last(loop, r, "last")
    net.stack(loop, row, "back", 5)
    return net.model()


async def test_the_screen_knows_the_condition_of_the_iteration_ahead() -> None:
    async with opened(doubling(), FEEDS) as screen:
        assert screen.value_beside("below") == "true"
        assert screen.value_beside("doubled") == "·"
        assert "4.0 < 32.0" in screen.text("condition")
        await screen.press("s")
        # The part that iteration 0 got, counted back from the trip count.
        assert screen.value_beside("row") == "[8.0, 9.0]"
        assert "8.0 < 32.0" in screen.text("condition")
        await screen.press("s", "s")
        assert "ended after 3 / 5" in screen.header
        assert (screen.value_beside("below"), screen.value_beside("doubled")) == ("false", "32.0")
        assert "32.0 < 32.0" in screen.text("condition")
        assert "at index 3 only below was computed" in screen.text("body")
        assert screen.marked.startswith("▶ last = r")
