"""Loops whose condition is tested before each iteration, on the screen."""

from __future__ import annotations

import numpy as np
import pytest

from app_driver import open_app, sample
from loopdbg.runtime.frontends.tensorrt.enums import TripLimit
from loopdbg.runtime.model import Model
from tensorrt_networks import NetworkBuilder, Op, output_of

FEEDS = {"x": np.float32(4), "n": np.int32(5), "rows": np.arange(10, dtype=np.float32).reshape(5, 2)}


def doubling() -> Model:
    """A loop that doubles x while it is below 32, and slices an input from its end."""
    net = NetworkBuilder()
    loop = net.counted_loop(net.input_tensor("n", "int32"))
    r, doubled = net.add_carried(loop, net.input_tensor("x"), lambda r: net.elementwise(r, r))
    below = net.elementwise(r, net.const(32.0), Op.LESS)
    loop.add_trip_limit(below, TripLimit.WHILE)
    row = output_of(loop.add_iterator(net.input_tensor("rows", shape=(-1, 2)), 0, True))
    r.name, doubled.name, below.name, row.name = "r", "doubled", "below", "row"
    net.last(loop, r, "last")
    net.stack(loop, row, "back", 5)
    return net.model()


async def test_screen_shows_the_condition_of_the_next_iteration() -> None:
    async with open_app(doubling(), FEEDS) as screen:
        assert screen.value_next_to("below") == "true"
        assert screen.value_next_to("doubled") == "·"
        assert "4.0 < 32.0" in screen.text("condition")
        await screen.press("s")
        # The slice that iteration 0 received, counted back from the trip count.
        assert screen.value_next_to("row") == "[8.0, 9.0]"
        assert "8.0 < 32.0" in screen.text("condition")
        await screen.press("s", "s")
        assert "ended after 3 / 5" in screen.header
        assert (screen.value_next_to("below"), screen.value_next_to("doubled")) == ("false", "32.0")
        assert "32.0 < 32.0" in screen.text("condition")
        assert "at index 3 only below was computed" in screen.text("body")
        assert screen.marked_line.startswith("▶ last = r")


SIZES = [(80, 24), (120, 36), (200, 60)]


@pytest.mark.parametrize("size", SIZES)
async def test_recurrences_are_shown_as_sequences(size: tuple[int, int]) -> None:
    async with open_app(*sample("trt/halving.py"), size=size) as screen:
        # On a small screen they have a tab.
        await screen.press("2")
        assert screen.lines("back-edges")[2] == "  <1000.0, ...>"
        await screen.press("s", "s")
        assert screen.lines("back-edges")[2] == "  <1000.0, 500.0, 250.0, ...>"
        assert any("<1000.0, 500.0, 250.0, ...>" in row for row in screen.visible_rows())
        # Within an iteration the next element is shown once it is computed.
        await screen.press("n", "n")
        assert screen.lines("back-edges")[2] == "  <1000.0, 500.0, 250.0, 125.0, ...>"
        await screen.press("f")
        # A long sequence shows both ends, and unused elements are not truncated.
        message = screen.lines("back-edges")[2]
        assert message.startswith("  <1000.0, ") and message.endswith(", 1.953125>   x_half not needed at 9")
        assert any("x_half not needed at 9" in row for row in screen.visible_rows())


@pytest.mark.parametrize("size", SIZES)
async def test_sequences_are_distinguished_by_norms(size: tuple[int, int]) -> None:
    async with open_app(*sample("trt/char_rnn.py"), size=size) as screen:
        await screen.press("2", "2", "s", "s")
        frame = screen.session.frame
        lines = screen.lines("back-edges")
        for k, edge in enumerate(frame.back_edges):
            item = next(i for i, row in enumerate(lines) if row.startswith(edge.param))
            message = lines[item + 1].removeprefix("  norms <").removesuffix(", ...>").split(", ")
            norms = [float(np.linalg.norm(frame.history.value(edge.param, i))) for i in range(3)]
            np.testing.assert_allclose([float(x) for x in message], norms, rtol=5e-3, err_msg=str(k))
        assert sum("norms <" in row for row in screen.visible_rows()) == len(frame.back_edges)


async def test_other_runtimes_have_no_sequence_pane() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "s")
        assert "<" not in screen.text("back-edges")
