"""Space goes to panes with content: on all samples and at three sizes no line loses its result or its operator, and no
pane is empty."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from app_driver import AppDriver, open_app
from loopdbg.debugger.describe.listing import code_text
from loopdbg.debugger.describe.value_names import mask_quoted
from loopdbg.runtime.model import Model
from loopdbg.tui.actions import PANE_KEYS
from loopdbg.tui.render.pane_layout import TABS
from loopdbg.tui.render.source_listing import ListingLines
from loopdbg.tui.render.targets import LineTarget
from text_models import SAMPLES, load_proto, model, sample

SIZES = ((80, 24), (120, 36), (200, 60))
FILES = sorted(
    path.relative_to(SAMPLES).as_posix()
    for pattern in ("*.onnx", "*.xml", "trt/*.py", "lessons/digits.onnxtxt")
    for path in SAMPLES.glob(pattern)
)
Opened = tuple[Model, Mapping[str, Any]]

DEEP = """
deep (int64 A, int64 B, int64 C, float x0) => (float x_last) {
  [outer] x_last = Loop <body = outer (int64 i, bool c, float x) => (bool co, float xo) {
    co = Identity (c)
    one = Constant <value_float: float = 1.0> ()
    xa = Add (x, one)
    [middle] xm = Loop <body = middle (int64 j, bool cj, float y) => (bool cjo, float yo) {
      cjo = Identity (cj)
      yt = Mul (y, one)
      [inner] yi = Loop <body = inner (int64 k, bool ck, float z) => (bool cko, float zo) {
        cko = Identity (ck)
        kf = Cast <to = 1> (k)
        za = Add (z, kf)
        zt = Tanh (za)
        zo = Add (za, zt)
      }> (C, , yt)
      yo = Add (yi, one)
    }> (B, , xa)
    xo = Sub (xm, one)
  }> (A, , x0)
}
"""
FLAT = """
flat (float[4, 8] x, float[8, 8] w) => (float[4, 8] y) {
  h = MatMul (x, w)
  a = Relu (h)
  s = Sigmoid (a)
  y = Mul (a, s)
}
"""


def decoder(nodes: int = 300) -> onnx.ModelProto:
    """A loop as exporters write them: long names, many nodes."""
    now, ops, result = "/model/decoder/hidden", ("Tanh", "Sigmoid", "Neg", "Abs"), []
    for k in range(nodes - 3):
        op = ops[k % 4]
        name = f"/model/decoder/layers.{k // 24}/self_attn/{op}_{k}"
        result.append(helper.make_node(op, [now], [f"{name}_output_0"], name=name))
        now = f"{name}_output_0"
    result += [
        helper.make_node("Add", [now, "/model/decoder/hidden"], ["hidden_next"], name="/model/decoder/Add_residual"),
        helper.make_node("ReduceMax", [now], ["/model/decoder/ReduceMax_output_0"], keepdims=0),
        helper.make_node(
            "Greater", ["/model/decoder/ReduceMax_output_0", "tol"], ["go"], name="/model/decoder/Greater"
        ),
    ]
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        result,
        "body",
        [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("/model/decoder/hidden", 1, [16])],
        [info("go", TensorProto.BOOL, []), info("hidden_next", 1, [16])],
    )
    loop = helper.make_node("Loop", ["M", "", "h0"], ["h_last"], name="/model/decoder/Loop", body=body)
    inputs = [info("M", TensorProto.INT64, []), info("h0", 1, [16]), info("tol", 1, [])]
    graph = helper.make_graph([loop], "main", inputs, [info("h_last", 1, [16])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def of_sample(name: str) -> Callable[[], Opened]:
    return lambda: sample(name)


def long_decoder() -> Opened:
    inputs = {"M": np.array(1000), "h0": np.linspace(-1, 1, 16).astype(np.float32), "tol": np.float32(1e-6)}
    return load_proto(decoder()), inputs


def deep() -> Opened:
    return model(DEEP), {"A": np.array(3), "B": np.array(4), "C": np.array(5), "x0": np.float32(0.5)}


def flat() -> Opened:
    random = np.random.default_rng(1)
    return model(FLAT), {"x": random.normal(size=(4, 8)).astype("f"), "w": random.normal(size=(8, 8)).astype("f")}


MODELS: dict[str, Callable[[], Opened]] = {
    **{name: of_sample(name) for name in FILES},
    "decoder": long_decoder,
    "deep": deep,
    "flat": flat,
}
#: A stop between iterations, one within an iteration, and one in an inner loop if the sample has one.
KEYS = ("s", "s", "n", "i")


@pytest.mark.parametrize("name", MODELS)
async def test_lines_keep_result_and_operator_and_no_pane_is_empty(name: str) -> None:
    async with open_app(*MODELS[name](), size=SIZES[0]) as screen:
        for size in SIZES:
            await screen.pilot.resize_terminal(*size)
            await screen.wait_until_idle()
            for key in KEYS[: None if size == SIZES[0] else 1]:
                await screen.press(key)
                assert_results_and_operators_shown(screen)
                for _ in range(len(TABS) if size == SIZES[0] else 1):
                    assert_no_empty_pane(screen)
                    await screen.press("greater_than_sign")


def assert_results_and_operators_shown(screen: AppDriver) -> None:
    """Every visible source line shows its result and its operator."""
    body = screen.source_pane
    lines = body.lines
    assert isinstance(lines, ListingLines)
    top = body.scroll_offset.y
    for row in range(top, min(top + body.size.height, len(lines))):
        target, text = lines[row].target, lines[row].text
        if not isinstance(target, LineTarget) or lines._layout.is_source_code_row(row):
            continue
        whole = code_text(lines.listing.source.lines[lines._rows[row]])
        whole = whole.replace(lines.prefix, "‥") if lines.prefix else whole
        assigned = mask_quoted(whole).find(" = ")
        if assigned < 0 or target.is_head:
            continue
        result = re.split(r"[\[,]", whole[:assigned])[0].strip()
        assert re.search(rf"(?<![\w.`]){re.escape(result)}(?: = |, |\[)", text), (text, whole)
        assert operator(whole[assigned + 3 :]) in text, (text, whole)


def operator(expression: str) -> str:
    """The operator of an expression: ``Tanh(``, `` + ``, ``-``; empty for a bare name."""
    masked = mask_quoted(expression)
    if called := re.match(r"[^\W\d][\w.]*\(", masked):
        return called.group()
    between = re.search(r" (?:[-+*/@%<>=!&|^]+|and|or) ", masked)
    return between.group() if between else "-" if masked.startswith("-") else ""


def assert_no_empty_pane(screen: AppDriver) -> None:
    """Every bordered pane has content and no more space than the content needs."""
    shown = screen.screen_state
    assert shown is not None
    for name in PANE_KEYS:
        pane = screen.panes[name]
        need = pane.space_request(shown)
        if not pane.display or screen.pane_grid.maximized_pane:
            continue
        assert need is not None
        lines = [line.text for line in pane.lines if line.text.strip()]
        assert lines and (pane.is_one_line or need.min_lines or screen.pane_grid.is_small), (name, lines)
        if name in ("back-edges", "inputs", "stack", "breakpoints", "outputs") and not pane.is_one_line:
            assert pane.size.height - len(lines) <= 3, (name, pane.size, lines)


@pytest.mark.parametrize("name", ["lstm.xml", "newton_sqrt.onnx", "greedy_decoder.onnx"])
async def test_source_has_twelve_rows_on_a_small_screen(name: str) -> None:
    async with open_app(*sample(name), size=SIZES[0]) as screen:
        await screen.press("s", "n")
        assert screen.source_pane.size.height >= 12
        assert all(screen.panes[text].is_one_line for text in ("back-edges", "condition"))
        # A collapsed pane names its subject.
        rows = screen.visible_rows()
        assert any(row.startswith("   2 Back edges  ") and " → ·" in row for row in rows)
        assert any(row.startswith("   3 Condition  ") and len(row.split()) > 4 for row in rows)


@pytest.mark.parametrize("size", SIZES)
async def test_all_results_are_named_if_values_can_shrink(size: tuple[int, int]) -> None:
    async with open_app(*sample("lstm.xml"), size=size) as screen:
        await screen.press("s", "s")
        row = next(row for row in screen.visible_rows() if re.match(r".{0,9} 7 .*LSTMCell\(", row))
        assert re.search(r" h_next, c_next = LSTMCell\(.*?│ +\S*\d", row), row


@pytest.mark.parametrize("size", SIZES)
async def test_loop_progress_is_shown_once(size: tuple[int, int]) -> None:
    async with open_app(*sample("lstm.xml"), size=size) as screen:
        await screen.press(*"ssss")
        message = "\n".join(screen.visible_rows())
        assert len(re.findall(r"\b4 ?(?:of|/) ?25\b", message)) == 1
        assert screen.header.endswith("iteration 4 / 25 ")


@pytest.mark.parametrize("size", SIZES[1:])
@pytest.mark.parametrize("name", ["newton_sqrt.onnx", "greedy_decoder.onnx", "lstm.xml"])
async def test_columns_do_not_move(name: str, size: tuple[int, int]) -> None:
    """Columns keep their largest width: after going back everything is at its last position."""
    async with open_app(*sample(name), size=size) as screen:
        await screen.press(*"ssss")
        stood = columns(screen)
        for key in ("left", "left", "n", "s"):
            await screen.press(key)
            assert columns(screen) == stood, key


def columns(screen: AppDriver) -> list[int]:
    """The first column of the back edges, and of the values next to the source."""
    head = screen.lines("back-edges")[0]
    results = {line.index("│ ") for line in screen.lines("body") if re.match(r".{5,}\S = .*│ ", line)}
    assert "previous" in head and "new" in head
    return [head.find(word) for word in ("previous", "new", "Δ", "hist")] + sorted(results)


async def test_cursor_value_is_shown_next_to_source() -> None:
    async with open_app(*sample("lstm.xml"), size=(200, 60)) as screen:
        await screen.press("s", "n", "n", "n", "slash", *"h_next, c_next", "enter")
        message = screen.value_pane.text
        assert "h_next   float32 [1,256]   256 elements, 1 KB" in message
        for word in ("min ", "max ", "mean ", "std ", "norm ", "NaN 0", "elements  ", "  [0]"):
            assert word in message
        assert re.search(r"made by   7  h_next, c_next = LSTMCell\(", message) and "LSTMCell 'cell'" in message
        assert re.search(r"read by   8  y_slice = Reshape\(h_next, ", message)
        # It follows the cursor of the focused pane.
        await screen.press("2", "home", "down")
        assert "h   float32 [1,256]" in screen.value_pane.text and "history   " in screen.value_pane.text
        await screen.press("up")
        assert "the cursor is on no value" in screen.value_pane.text


async def test_border_shows_no_subtitle_from_before_the_first_layout() -> None:
    async with open_app(*sample("newton_sqrt.onnx"), size=(200, 60)) as screen:
        await screen.press("s")
        assert "p: plot" in "\n".join(screen.visible_rows())
        await screen.press("4")
        assert "p: plot" not in "\n".join(screen.visible_rows())


async def test_graph_is_next_to_source_and_follows() -> None:
    async with open_app(*sample("newton_sqrt.onnx"), size=(200, 60)) as screen:
        await screen.press("s", "n", "n")
        assert screen.graph_overview.display and re.search(r"▶half_q\S*▌", screen.graph_overview.text)
        await screen.press("down", "down")
        assert re.search(r"▐change\S*▌", screen.graph_overview.text)
        places = screen.graph_overview.graph_layout
        assert places is not None
        item = next(k for k, box in enumerate(places.picture.boxes) if box.name == "half" and box.node is not None)
        chip = places.placed_boxes[item]
        left, top = screen.graph_overview.origin
        await screen.pilot.click("#overview", offset=(1 + left + chip.left + 1, 1 + top + chip.top))
        await screen.wait_until_idle()
        assert isinstance(screen.target, LineTarget) and screen.target.code.startswith("half = ")
        await screen.pilot.resize_terminal(120, 36)
        await screen.wait_until_idle()
        assert not screen.graph_overview.display
