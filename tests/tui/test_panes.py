"""Source, breakpoint and timeline panes: the meaning of their rows, and what keys and the mouse do on them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from onnx import TensorProto, helper
from textual.events import MouseMove

import loopdbg
from app_driver import AppDriver, open_app
from loopdbg.runtime.frontends.onnx import reader
from loopdbg.tui.render.targets import BreakpointTarget, IterationTarget, LineTarget
from text_models import NESTED, model, sample


async def click(screen: AppDriver, pane: str, x: int, line: int, times: int = 1) -> None:
    """Click on a line of a pane, at a column inside the border."""
    await screen.pilot.click(f"#{pane}", offset=(1 + x, 1 + line), times=times)
    await screen.wait_until_idle()


async def test_gutter_click_sets_a_breakpoint() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        item = next(k for k, line in enumerate(screen.lines("body")) if "change = x_new" in line)
        body = screen.panes["body"]
        item -= body.scroll_offset.y
        await click(screen, "body", 2, item)
        assert [breakpoint.text for breakpoint in screen.session.breakpoints] == ["line 15"]
        assert screen.lines("body")[body.cursor].startswith(" ● 15")
        assert "● 1   line 15" in screen.text("breakpoints")
        await screen.press("c")
        assert screen.marked_line.startswith("▶● change")
        assert "hit 1× ⚑" in screen.text("breakpoints")
        # Right of the gutter a click only moves the cursor.
        await click(screen, "body", 20, item)
        assert len(screen.session.breakpoints) == 1
        await click(screen, "body", 2, item)
        assert not len(screen.session.breakpoints)
        assert "none; b sets one" in screen.text("breakpoints")


async def test_coverage_is_next_to_the_source() -> None:
    async with open_app(*sample("collatz.onnx")) as screen:
        await screen.press("colon", *"coverage", "enter")
        assert "6 of 10 points covered" in screen.console_pane.text
        signs = {line[7:].partition("  │")[0].strip("▲│ "): line[1:2] for line in screen.lines("body")}
        assert [signs[text] for text in ("while go_on:", "remainder = n % 2", "if is_even:")] == ["~", "+", "~"]
        await screen.press("s")
        assert any(line[1:2] == "~" for line in screen.lines("body"))


async def test_loop_head_takes_a_breakpoint() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("slash", *"while", "enter", "b", "escape")
        assert [breakpoint.kind for breakpoint in screen.session.breakpoints] == ["boundary"]
        assert any(line.startswith(" ● 10") for line in screen.lines("body"))
        await screen.press("c")
        assert screen.session.frame.iteration == 1
        await screen.press("slash", *"while", "enter", "b")
        assert not len(screen.session.breakpoints)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("newton_sqrt.onnx", "Condition  keep = err_new > tol"),
        ("mandelbrot.onnx", "  3 Condition  none, 288 trips (more is ignored); "),
        ("lstm.xml", "  3 Condition  none, 25 trips; ends after the last part of X"),
        ("loop_infinite.xml", "  3 Condition  none; ends never: there is no trip count"),
    ],
)
async def test_condition_has_one_name_for_every_kind_of_loop(name: str, title: str) -> None:
    async with open_app(*sample(name)) as screen:
        assert screen.text("condition").splitlines()[0].startswith(title)


async def test_loop_has_the_same_name_in_the_header_and_in_the_source() -> None:
    async with open_app(*sample("lstm.xml")) as screen:
        assert "▸ TensorIterator 'rnn'" in screen.header
        assert screen.text("body").startswith("Source  TensorIterator 'rnn'")


async def test_no_breakpoints_message_fits_width() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        assert screen.lines("breakpoints") == ["  5 Breakpoints  none; b sets one on a line, w watches"]
        assert screen.panes["breakpoints"].outer_size.height == 1
        await screen.press("5", "z")
        assert screen.text("breakpoints") == "Breakpoints, watches\nnone; b sets one on a line, w watches"


async def test_results_on_another_tab_show_its_key() -> None:
    async with open_app(*sample("newton_sqrt.onnx"), size=(80, 24)) as screen:
        await screen.press("c")
        assert screen.message == "the model ran to its end; 9 shows what it gave, r restarts it"
        await screen.press("9")
        assert "root" in "\n".join(screen.visible_rows())


async def test_breakpoints_are_disabled_edited_and_deleted() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("B")
        await screen.type("break x_new")
        await screen.press("escape", "w")
        await screen.type("watch err")
        await screen.press("escape", "5", "home")
        assert screen.target == BreakpointTarget(1)
        assert screen.keys.startswith("s step") and "e edit" in screen.keys and "d delete" in screen.keys
        await screen.press("enter")
        assert not screen.session.breakpoints[0].enabled
        assert screen.lines("breakpoints")[0].startswith("○ 1") and " off" in screen.lines("breakpoints")[0]
        assert any(line.startswith(" ○") for line in screen.lines("body"))
        await screen.press("enter", "e")
        await screen.press(*"x > 1.45", "enter")
        assert screen.session.breakpoints[0].title == "x_new if x > 1.45"
        await screen.press("5", "end", "d")
        assert [breakpoint.number for breakpoint in screen.session.breakpoints] == [1]
        await screen.press("c")
        assert "breakpoint 1" in screen.message and "⚑" in screen.text("breakpoints")


async def test_inner_bodies_can_be_folded() -> None:
    inputs = {"M": np.array(3), "K": np.array(2)}
    async with open_app(model(NESTED), inputs) as screen:
        whole = len(screen.lines("body"))
        await screen.press("slash", *"for j", "enter", "escape", "minus")
        folded = screen.lines("body")
        assert len(folded) < whole
        head = next(line for line in folded if "for j" in line)
        hidden = int(head.split("…")[1].split()[0])
        assert len(folded) == whole - hidden
        # The head shows what runs in the folded body.
        await screen.press("i", "i", "i", "escape")
        await screen.press("left_square_bracket")
        assert "for j" in screen.marked_line
        await screen.press("plus")
        assert len(screen.lines("body")) >= whole
        # Enter on the head folds and unfolds, also while the loop inside runs.
        await screen.press("slash", *"for j", "enter", "escape", "enter")
        assert any("… " in line for line in screen.lines("body"))
        await screen.press("enter", "down", "minus")
        assert isinstance(screen.target, LineTarget) and screen.target.is_head
        await screen.press("plus", "end", "minus")
        assert screen.message.startswith("nothing to hide here")


async def test_timeline_shows_branches_and_travels() -> None:
    async with open_app(*sample("collatz.onnx")) as screen:
        await screen.press("s", "s", "s", "e")
        await screen.type("set n = 40")
        assert "2 n = 40" in screen.lines("timeline")[1]
        await screen.press("escape", "s", "s")
        assert "✎" in screen.lines("timeline")[1]
        first, second = screen.lines("timeline")
        assert first.startswith("1 the run") and first.endswith("left at 3")
        assert second.startswith("2 n = 40") and "▼" in second
        # Selecting the row of another branch switches to it.
        await screen.press("8", "home")
        assert screen.target == IterationTarget(3, 1, "")
        await screen.press("enter")
        assert screen.session.branch.number == 1 and screen.session.frame.iteration == 3
        assert screen.lines("timeline")[1].endswith("left at 5")
        await screen.press("f")
        assert "ended after" in screen.lines("timeline")[0]
        total = screen.session.frame.iteration
        # The left end of the bar is iteration 0, the right end the last one.
        timeline = screen.panes["timeline"]
        await click(screen, "timeline", 1 + timeline._label_width, 0)
        assert screen.session.frame.iteration == 0
        await click(screen, "timeline", timeline._label_width + timeline._bar_width, 0)
        assert screen.session.frame.iteration == total


async def test_dragging_on_the_timeline_travels() -> None:
    async with open_app(*sample("two_layer_lstm.onnx")) as screen:
        timeline = screen.panes["timeline"]
        begin = 2 + timeline._label_width
        seen = []
        await screen.pilot.mouse_down("#timeline", offset=(begin, 1))
        for cell in (0, 20, 50, timeline._bar_width - 1):
            await screen.pilot._post_mouse_events(
                [MouseMove],
                "#timeline",
                offset=(begin + cell, 1),
                button=1,
            )
            await screen.wait_until_idle()
            seen.append(screen.session.frame.iteration)
        await screen.pilot.mouse_up("#timeline", offset=(begin, 1))
        assert seen[0] == 0 and seen == sorted(set(seen)) and seen[-1] == screen.session.frame.trip_count


async def test_timeline_marks_hits_and_non_finite_values() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("B")
        await screen.type("break iter 3")
        assert "●" in screen.lines("timeline")[0]
        await screen.press("escape", "c", "s")
        assert "⚑" in screen.lines("timeline")[0]
        await screen.press("e")
        await screen.type("set x = nan")
        # After the position marker has moved on.
        await screen.press("escape", "s")
        assert "×" in screen.lines("timeline")[1]


async def test_edited_values_are_marked() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "e")
        await screen.type("set tol = 1e-3")
        await screen.press("escape")
        assert "✎" in next(line for line in screen.lines("inputs") if line.startswith("tol"))
        await screen.press("s")
        # From there on the value is the edited one.
        assert "✎" in next(line for line in screen.lines("inputs") if line.startswith("tol"))
        await screen.press("left", "left")
        assert "✎" not in screen.text("inputs")
        await screen.press("n", "e")
        await screen.type("set half = 3")
        await screen.press("escape")
        assert screen.value_next_to("half") == "✎ 3.0"
        await screen.press("s", "n")
        assert "✎" not in screen.value_next_to("half")


@pytest.mark.parametrize("width", [120, 80])
async def test_title_shows_the_beginning_of_exporter_names(width: int) -> None:
    names = ["/model/decoder/layers.0/x(1)", "/model/decoder/layers.0/x{1}"]
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["c"], ["c_out"]),
            helper.make_node("Tanh", ["x"], [names[0]]),
            helper.make_node("Sigmoid", [names[0]], [names[1]]),
            helper.make_node("Neg", [names[1]], ["y"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, []),
        ],
        [
            helper.make_tensor_value_info("c_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, []),
        ],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["M", "", "v0"], ["v"], name="l", body=body)],
        "main",
        [
            helper.make_tensor_value_info("M", TensorProto.INT64, []),
            helper.make_tensor_value_info("v0", TensorProto.FLOAT, []),
        ],
        [helper.make_tensor_value_info("v", TensorProto.FLOAT, [])],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    result = loopdbg.Model(reader.from_proto(proto, "test"))
    inputs = {"M": np.array(2), "v0": np.array(1.0, np.float32)}
    async with open_app(result, inputs, size=(width, 36)) as screen:
        assert "‥ = /model/decoder/layers.0/" in screen.panes["body"].heading[0]
        assert any("‥x" in line for line in screen.lines("body"))
        assert not any("/model/decoder" in line for line in screen.lines("body"))


async def test_loop_end_is_shown_in_full_with_space() -> None:
    async with open_app(*sample("greedy_decoder.onnx"), size=(120, 36)) as screen:
        message = "When go_on = token_next != 0 is false, or after max_length iterations, whichever comes first."
        for _ in range(3):
            assert message in re.sub(r"\s+", " ", screen.text("condition"))
            await screen.press("s")
        assert "●" in screen.text("condition")
        # A plot replaces the text that would not fit, and the sentence shows that it is truncated.
        await screen.pilot.resize_terminal(100, 30)
        await screen.wait_until_idle()
        assert "●" in screen.text("condition")
        assert "When go_on = token_next != 0 is false, or…" in screen.text("condition")


async def test_cursor_that_moves_with_the_stop_leaves_no_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_app(*sample("loop_nested.xml")) as screen:
        await screen.press("c", "left", "left", "s", "c")
        body = screen.panes["body"]
        old, regions = body.cursor - body.scroll_offset.y, []
        monkeypatch.setattr(body, "refresh", lambda *parts, **options: regions.extend(parts) or body)
        await screen.press("r")
        rows = {row for region in regions if region.x == 0 for row in range(region.y, region.bottom)}
        assert body.cursor - body.scroll_offset.y != old
        assert {old, body.cursor - body.scroll_offset.y} <= rows
